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

use super::error::Error;
use super::lower::Lower;
use super::word_table::Word;
use crate::ir::{Call, InstId};

pub(crate) use memory::MAX_INLINE;

impl Lower<'_> {
    /// A call of `llvm.NAME`.
    pub(super) fn intrinsic(&mut self, name: &str, call: &Call, inst: InstId, words: &[Word]) -> Result<(), Error> {
        if is_ignored(name) {
            return Ok(());
        }
        let known = match name.strip_prefix("nvvm.") {
            Some(nvvm) if least_target(nvvm) > self.options.arch => {
                let (least, arch) = (least_target(nvvm), self.options.arch);
                return Err(Error::new(format!(
                    "calls of `llvm.{name}`, which is there from sm_{least} on, for sm_{arch}"
                )));
            }
            Some(nvvm) => match self.table_row(nvvm, call) {
                Some(row) => return self.table_intrinsic(row, nvvm, call, words),
                None => self.nvvm_intrinsic(nvvm, call, inst, words)?,
            },
            None => self.memory_intrinsic(name, call)? || self.generic_intrinsic(name, call, inst, words)?,
        };
        if known { Ok(()) } else { Err(Error::new(format!("calls of `llvm.{name}`"))) }
    }
}

/// Intrinsics of instructions that came between sm_60 and sm_75: how the name starts, what it contains, and the first target
/// that has it. Source: the PTX manual. The grammar of PTX knows later ones, from sm_80 on.
const LATER: [(&str, &str, u32); 14] = [
    ("idp2a", "", 61),
    ("idp4a", "", 61),
    ("wmma", ".s4", 75),
    ("wmma", ".u4", 75),
    ("wmma", ".b1", 75),
    ("wmma", ".s8", 72),
    ("wmma", ".u8", 72),
    ("wmma", "", 70),
    ("mma.m8n8k4.", ".f16", 70),
    ("mma", "", 75),
    ("ldmatrix", "", 75),
    ("match", "", 70),
    ("nanosleep", "", 70),
    ("fence", "", 70),
];

/// The first target that has an intrinsic, as far as it is not among the oldest.
fn least_target(nvvm: &str) -> u32 {
    let found = LATER.iter().find(|(start, part, _)| nvvm.starts_with(start) && nvvm.contains(part));
    found.map_or(0, |(.., arch)| *arch)
}

/// What says something to an optimiser only.
fn is_ignored(name: &str) -> bool {
    const NAMES: [&str; 12] = [
        "lifetime",
        "dbg",
        "assume",
        "donothing",
        "experimental.noalias.scope.decl",
        "invariant",
        "sideeffect",
        "pseudoprobe",
        "var.annotation",
        "codeview.annotation",
        "fake.use",
        "experimental.convergence",
    ];
    let is = |known: &str| name.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    NAMES.into_iter().any(is)
}
