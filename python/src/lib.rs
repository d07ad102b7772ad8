//! The compiled half of the Python package `oriole_gpu`: [`oriole`]'s compiler and simulator with Python's types.
//!
//! What users see is in `python/oriole_gpu`: it turns arguments into bytes and dictionaries into classes. Nothing here is
//! called by them.

mod compile;
#[cfg(target_os = "linux")]
mod cute;
mod errors;
mod fatbin;
mod host;
mod interrupt;
mod launch;
mod module;
mod panics;
#[cfg(unix)]
mod signals;
mod tensor_map;

use pyo3::prelude::*;

/// The extension module `oriole_gpu._oriole`.
#[pymodule]
mod _oriole {
    #[pymodule_export]
    use super::compile::compile;
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use super::cute::{cute_functions, cute_handle};
    #[pymodule_export]
    use super::fatbin::cubins;
    #[pymodule_export]
    use super::launch::launch;
    #[pymodule_export]
    use super::module::{Module, device, disassemble};
    #[pymodule_export]
    use super::panics::panic;
    #[pymodule_export]
    use super::tensor_map::tensor_map;
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(_module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::panics::keep_quiet();
        Ok(())
    }
}
