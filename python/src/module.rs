//! Cubins.

use crate::errors::value_error;
use oriole::Cubin;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

/// A cubin, with what its compilation knows besides: types of parameters, lines of the PTX.
#[pyclass(frozen, module = "oriole._oriole")]
pub(crate) struct Module {
    pub(crate) cubin: Cubin,
}

#[pymethods]
impl Module {
    /// A cubin of whatever compiler; `ValueError` if the bytes are none.
    #[new]
    fn new(cubin: &[u8]) -> PyResult<Module> {
        Ok(Module { cubin: Cubin::from_bytes(cubin).map_err(value_error)? })
    }

    /// The file's bytes.
    #[getter]
    fn cubin<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.cubin.as_bytes())
    }

    /// Name of the target.
    #[getter]
    fn target(&self) -> String {
        self.cubin.target()
    }

    /// Names of the kernels.
    #[getter]
    fn kernels(&self) -> Vec<&str> {
        self.cubin.kernels().collect()
    }

    /// Offset, size and type of each parameter of a kernel; `None` if there is no such kernel.
    fn parameters(&self, kernel: &str) -> Option<Vec<(u32, u32, Option<&'static str>)>> {
        let parameters = self.cubin.parameters(kernel)?;
        Some(parameters.iter().map(|parameter| (parameter.offset, parameter.size, parameter.ty)).collect())
    }

    /// General registers of a thread of a kernel; `None` if there is no such kernel.
    fn registers(&self, kernel: &str) -> Option<u32> {
        self.cubin.registers(kernel)
    }

    /// Byte offsets of a kernel's instructions and the lines of the PTX that they come from.
    fn lines(&self, kernel: &str) -> Vec<(u64, u32)> {
        self.cubin.lines(kernel).to_vec()
    }
}

/// What the device of a target has, by name; `None` if there is no such target.
#[pyfunction]
pub(crate) fn device<'py>(py: Python<'py>, target: &str) -> PyResult<Option<Bound<'py, PyDict>>> {
    let Some(device) = oriole::Device::of(target) else { return Ok(None) };
    let fields = PyDict::new(py);
    fields.set_item("registers_per_sm", device.registers_per_sm)?;
    fields.set_item("warps_per_sm", device.warps_per_sm)?;
    fields.set_item("threads_per_block", device.threads_per_block)?;
    fields.set_item("shared_per_sm", device.shared_per_sm)?;
    fields.set_item("shared_per_block", device.shared_per_block)?;
    fields.set_item("multiprocessors", device.chip.map(|chip| chip.multiprocessors))?;
    fields.set_item("clock_mhz", device.chip.map(|chip| chip.clock_mhz))?;
    Ok(Some(fields))
}

/// The code of all kernels of a cubin as text; `ValueError` if the bytes are none.
#[pyfunction]
pub(crate) fn disassemble(cubin: &[u8]) -> PyResult<String> {
    oriole::disassemble(cubin).map_err(value_error)
}
