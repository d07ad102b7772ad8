//! Textures.
//!
//! | module | subject |
//! |---|---|
//! | `handle` | textures, samplers and surfaces, by name or handle |
//! | `coordinates` | the kinds of textures and what stands between the braces |
//! | `access` | the texture instructions of SASS: which registers hold what |
//! | `fetch` | `tex`, `tld4` |
//! | `gradient` | `tex.grad` where the instruction set takes no derivatives |
//! | `query` | `txq`, `istypep` |

pub(crate) mod access;
pub(crate) mod coordinates;
pub(crate) mod fetch;
pub(crate) mod gradient;
pub(crate) mod query;

use crate::handler::Chapter;
use oriole_ptx::ast::Opcode;

/// The opcodes of this chapter.
pub(crate) const CHAPTER: Chapter = &[
    (Opcode::Tex, fetch::lower),
    (Opcode::Tld4, fetch::gather),
    (Opcode::Txq, query::lower),
    (Opcode::Istypep, query::is_type),
];
