//! What a compilation leaves when all of the compiler's own data is gone: the cubin and what is said of it. A cache keeps
//! no more, and a batch has no more of each file in memory.

use crate::commands::Severity;
use oriole_codegen::{Compiled, Report, kernels, memory_warnings, resources};
use serde::{Deserialize, Serialize};

/// A cubin and what is said of it.
pub(crate) struct Product {
    /// Its bytes.
    pub(crate) cubin: Vec<u8>,
    /// What is said of it.
    pub(crate) said: Said,
}

/// What is said of a cubin.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Said {
    /// Warnings and remarks, in the order in which they are printed.
    pub(crate) notes: Vec<(Severity, String)>,
    /// The lines of `-v`.
    #[serde(with = "ReportFields")]
    pub(crate) verbose: Report,
    /// What each kernel needs, in the module's order.
    pub(crate) kernels: Vec<Kernel>,
}

/// The fields of [`Report`], which knows of no file.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Report")]
struct ReportFields {
    module: Vec<String>,
    functions: Vec<[Vec<String>; 2]>,
    names: Vec<String>,
}

/// What a kernel needs.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Kernel {
    /// Its name in the module.
    pub(crate) name: String,
    /// R registers of a thread.
    pub(crate) registers: u32,
    /// Bytes stored to spill slots and loaded from them.
    pub(crate) spills: Spills,
    /// Bytes of static shared memory.
    pub(crate) shared: u32,
    /// Bytes of stack with the deepest chain of calls.
    pub(crate) stack: u32,
}

/// Bytes of spill code.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
pub(crate) struct Spills {
    /// Stored.
    pub(crate) stores: u32,
    /// Loaded.
    pub(crate) loads: u32,
}

impl Product {
    /// Take the cubin out of a compilation, and note what there is to say.
    pub(crate) fn of(compiled: &mut Compiled, warn_on_spills: bool, warn_on_local: bool) -> Product {
        let warning = |text: String| (Severity::Warning, text);
        let of_memory = memory_warnings(compiled, warn_on_spills, warn_on_local);
        let remarks = compiled.counts.remarks().map(|remark| (Severity::Info, remark.to_owned()));
        let notes = compiled.warnings().map(str::to_owned).chain(of_memory).map(warning).chain(remarks);
        let kernel = |(id, func): (_, &oriole_ori::Function)| {
            let needs = resources(compiled, id)?;
            Some(Kernel {
                name: func.name().to_owned(),
                registers: needs.registers,
                spills: Spills { stores: needs.spills.stores, loads: needs.spills.loads },
                shared: needs.shared_bytes,
                stack: needs.stack_bytes,
            })
        };
        let said = Said {
            notes: notes.collect(),
            verbose: Report::of(compiled),
            kernels: kernels(&compiled.module).filter_map(kernel).collect(),
        };
        Product { cubin: std::mem::take(&mut compiled.cubin), said }
    }
}
