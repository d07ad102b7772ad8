//! Textures: `tex`, `tld4`, `txq`, `suq`, `istypep`. Filters, address modes and formats are those of
//! [`oriole_device::texture`], which the simulator has too.
//!
//! | file | what it does |
//! |---|---|
//! | `handle` | what an instruction names: a variable, a parameter, a 64-bit register |
//! | `geometry` | the kinds of textures and what stands between the braces |
//! | `fetch` | `tex`, `tld4` |
//! | `query` | `txq`, `suq`, `istypep` |

mod fetch;
pub(super) mod geometry;
pub(super) mod handle;
mod query;

use crate::arith::Unsupported;
use crate::builder::Builder;
use crate::code::Action;
use oriole_ptx::ast::{Instruction, Opcode};

pub(super) fn compile(inst: &Instruction, builder: &mut Builder<'_, '_>) -> Result<Option<Action>, Unsupported> {
    Ok(Some(match inst.opcode {
        Opcode::Tex => fetch::lookup(inst, builder)?,
        Opcode::Tld4 => fetch::gather(inst, builder)?,
        Opcode::Txq | Opcode::Suq => query::property(inst, builder)?,
        Opcode::Istypep => query::is_type(inst, builder)?,
        _ => return Ok(None),
    }))
}
