//! The library of slow paths: PTX functions that Oriole brings itself, parsed when first needed.

use oriole_ptx::ast::{Function, Module};
use std::sync::LazyLock;

/// The PTX files of the library.
const SOURCES: [&str; 7] = [
    include_str!("../library/int32.ptx"),
    include_str!("../library/int64.ptx"),
    include_str!("../library/float32.ptx"),
    include_str!("../library/float64.ptx"),
    include_str!("../library/matrix.ptx"),
    include_str!("../library/policy.ptx"),
    include_str!("../library/tensor_memory.ptx"),
];

/// A function of the library.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Routine {
    /// The file that it is in.
    pub(crate) module: &'static Module,
    /// Its declaration and body.
    pub(crate) function: &'static Function,
}

impl Routine {
    /// Its name, `__oriole_…`.
    pub(crate) fn name(&self) -> &'static str {
        self.module.text(self.function.name)
    }
}

static MODULES: LazyLock<Vec<Module>> =
    LazyLock::new(|| SOURCES.iter().map(|text| oriole_ptx::parse(text).module).collect());

/// The routine of that name.
pub(crate) fn find(name: &str) -> Option<Routine> {
    MODULES.iter().find_map(|module| {
        let function = module.functions().find(|f| f.body.is_some() && module.text(f.name) == name)?;
        Some(Routine { module, function })
    })
}
