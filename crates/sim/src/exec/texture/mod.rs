//! Textures and surfaces: a software sampler.
//!
//! | file | what it does |
//! |---|---|
//! | `operands` | the words that a texture instruction has besides its results |
//! | `read` | `TEX`, `TLD`, `TLD4`, `TXD`: from operands to requests, and the results |
//! | `sample` | the value of an image at a place: levels, filters, address modes, depth comparison |
//! | `cube` | the face and the place that a direction meets |
//! | `texel` | texels in memory and as numbers |
//! | `query` | `TXQ` |
//! | `surface` | `SULD`, `SUST`, `SURED`, `SUATOM` |

mod cube;
mod operands;
mod query;
mod read;
mod sample;
mod surface;
mod texel;

use crate::effect::{Effect, Unsupported};
use oriole_isa::Inst;

/// The effect of `inst` if it is of this family.
pub(super) fn compile(inst: &Inst) -> Result<Option<Effect>, Unsupported> {
    for family in [read::compile, query::compile, surface::compile] {
        if let Some(effect) = family(inst)? {
            return Ok(Some(effect));
        }
    }
    Ok(None)
}
