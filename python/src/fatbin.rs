//! Fatbinaries, as host code hands them to a driver.

use crate::errors::value_error;
use oriole_fatbin::{Container, Entry, Kind};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

/// The cubins in a fatbinary, or in whatever else [`Container`] reads: of each the bytes. `ValueError` if it is damaged or
/// nothing of that kind.
#[pyfunction]
pub(crate) fn cubins<'py>(py: Python<'py>, bytes: PyBackedBytes) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let container = Container::read(&bytes).map_err(value_error)?;
    let container = container.ok_or_else(|| value_error("neither a cubin nor a fatbinary"))?;
    let entries = container.modules.iter().flat_map(|module| &module.entries);
    let image = |entry: &Entry<'_>| Ok(PyBytes::new(py, &entry.image().map_err(value_error)?));
    entries.filter(|entry| entry.kind == Kind::Cubin).map(image).collect()
}
