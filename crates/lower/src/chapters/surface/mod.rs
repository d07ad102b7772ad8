//! Surfaces: `suld`, `sust`, `sured`, `suq`.
//!
//! | module | subject |
//! |---|---|
//! | `access` | what all accesses have: geometry, boundary, coordinates, the surface |
//! | `load` | `suld` |
//! | `store` | `sust` |
//! | `reduce` | `sured` |
//! | `query` | `suq` |

pub(crate) mod access;
pub(crate) mod load;
pub(crate) mod query;
pub(crate) mod reduce;
pub(crate) mod store;

use crate::handler::Chapter;
use oriole_ptx::ast::Opcode;

/// The opcodes of this chapter.
pub(crate) const CHAPTER: Chapter = &[
    (Opcode::Suld, load::lower),
    (Opcode::Sust, store::lower),
    (Opcode::Sured, reduce::lower),
    (Opcode::Suq, query::lower),
];
