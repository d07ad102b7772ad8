//! Textures and surfaces: instructions to requests of the sampler that all engines share ([`oriole_device::texture`]).
//!
//! | file | what it does |
//! |---|---|
//! | `operands` | the words that a texture instruction has besides its results |
//! | `read` | `TEX`, `TLD`, `TLD4`, `TXD`: from operands to requests, and the results |
//! | `query` | `TXQ` |
//! | `surface` | `SULD`, `SUST`, `SURED`, `SUATOM` |

mod operands;
mod query;
mod read;
mod surface;

use crate::effect::{Effect, Env, Unsupported};
use crate::halt::Halt;
use crate::lanes::WARP;
use crate::space::{Place, Words};
use oriole_device::Access;
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

/// The `size` bytes of a texel at `address`, for one lane.
fn load(env: &mut Env<'_>, address: u64, size: u32, lane: usize) -> Result<Words, Halt> {
    let place = Place::Global(address);
    env.report(Access::Read, size, 1 << lane, &[place; WARP]);
    env.spaces.load(place, size, lane).map_err(|kind| Halt::fault(lane, kind))
}
