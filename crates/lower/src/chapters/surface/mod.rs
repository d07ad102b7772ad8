//! Surfaces: `suld`, `sust`, `sured`, `suq`.
//!
//! | module | subject |
//! |---|---|
//! | `access` | what all accesses have: geometry, boundary, coordinates, the surface |
//! | `load` | `suld` |
//! | `store` | `sust` |
//! | `reduce` | `sured` |
//! | `query` | `suq` |

mod access;
mod load;
mod query;
mod reduce;
mod store;

use super::Chapter;
use oriole_ptx::ast::Opcode;

/// The opcodes of this chapter.
pub(super) const CHAPTER: Chapter = &[
    (Opcode::Suld, load::lower),
    (Opcode::Sust, store::lower),
    (Opcode::Sured, reduce::lower),
    (Opcode::Suq, query::lower),
];
