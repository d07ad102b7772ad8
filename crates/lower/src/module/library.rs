//! The library of slow paths: PTX functions that Oriole brings itself, each file parsed when first needed.

use oriole_ptx::ast::{Function, Module};
use std::sync::OnceLock;

/// A PTX file of the library.
struct File {
    text: &'static str,
    /// What it says, once one of its routines has been asked for.
    module: OnceLock<Module>,
}

static FILES: [File; 8] = [
    file(include_str!("../library/int32.ptx")),
    file(include_str!("../library/int64.ptx")),
    file(include_str!("../library/float32.ptx")),
    file(include_str!("../library/float64.ptx")),
    file(include_str!("../library/matrix.ptx")),
    file(include_str!("../library/policy.ptx")),
    file(include_str!("../library/tensor_memory.ptx")),
    file(include_str!("../library/warp.ptx")),
];

const fn file(text: &'static str) -> File {
    File { text, module: OnceLock::new() }
}

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

/// The routine of that name.
pub(crate) fn find(name: &str) -> Option<Routine> {
    // Only a file that has the name as text can have the routine.
    FILES.iter().filter(|file| file.text.contains(name)).find_map(|file| {
        let module = file.module.get_or_init(|| oriole_ptx::parse(file.text).module);
        let function = module.functions().find(|f| f.body.is_some() && module.text(f.name) == name)?;
        Some(Routine { module, function })
    })
}
