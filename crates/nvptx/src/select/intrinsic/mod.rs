//! Intrinsics.
//!
//! What is one PTX instruction is a row of `nvvm.txt`: the name, the form and a
//! template of the operands. The rest is in `generic` (`llvm.*` on scalars and
//! vectors), `memory` (copies and fills) and `mma` (names that spell shapes and
//! types).

mod generic;
mod memory;
mod table;

use super::Error;
use super::lower::Lower;
use super::words::Word;
use crate::ir::{Call, InstId};

pub(crate) use memory::MAX_INLINE;
pub(super) use table::is_pure;

impl Lower<'_> {
    /// A call of `llvm.NAME`.
    pub(super) fn intrinsic(&mut self, name: &str, call: &Call, inst: InstId, words: &[Word]) -> Result<(), Error> {
        if is_ignored(name) {
            return Ok(());
        }
        if let Some(nvvm) = name.strip_prefix("nvvm.")
            && let Some(row) = table::find(nvvm)
        {
            return self.table_intrinsic(row, nvvm, call, words);
        }
        if self.memory_intrinsic(name, call)? || self.generic_intrinsic(name, call, inst, words)? {
            return Ok(());
        }
        Err(Error::new(format!("calls of `llvm.{name}`")))
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
