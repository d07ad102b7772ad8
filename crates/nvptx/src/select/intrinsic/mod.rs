//! Intrinsics.
//!
//! | file | what it selects |
//! |---|---|
//! | `nvvm/*.txt` | `llvm.nvvm.*` that are one PTX instruction: the name, the form, the operands |
//! | `row`, `table` | how those tables are read, and their instructions |
//! | `nvvm` | the other `llvm.nvvm.*` |
//! | `generic`, `integer`, `float` | `llvm.*` on scalars and vectors |
//! | `memory` | copies and fills |

mod float;
mod generic;
mod integer;
mod memory;
mod nvvm;
mod row;
mod table;

use super::Error;
use super::lower::Lower;
use super::words::Word;
use crate::ir::{Call, InstId};

pub(crate) use memory::MAX_INLINE;

impl Lower<'_> {
    /// A call of `llvm.NAME`.
    pub(super) fn intrinsic(&mut self, name: &str, call: &Call, inst: InstId, words: &[Word]) -> Result<(), Error> {
        if is_ignored(name) {
            return Ok(());
        }
        let known = match name.strip_prefix("nvvm.") {
            Some(nvvm) => match self.table_row(nvvm, call) {
                Some(row) => return self.table_intrinsic(row, nvvm, call, words),
                None => self.nvvm_intrinsic(nvvm, call, inst, words)?,
            },
            None => self.memory_intrinsic(name, call)? || self.generic_intrinsic(name, call, inst, words)?,
        };
        if known { Ok(()) } else { Err(Error::new(format!("calls of `llvm.{name}`"))) }
    }
}

/// What says something to an optimiser only.
fn is_ignored(name: &str) -> bool {
    const PREFIXES: [&str; 12] = [
        "lifetime.",
        "dbg.",
        "assume",
        "donothing",
        "experimental.noalias.scope.decl",
        "invariant.",
        "sideeffect",
        "pseudoprobe",
        "var.annotation",
        "codeview.annotation",
        "fake.use",
        "experimental.convergence.",
    ];
    PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}
