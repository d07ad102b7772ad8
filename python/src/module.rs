//! Cubins.

use crate::errors::value_error;
use crate::panics::caught;
use oriole::{Cubin, CubinError, KernelOrigin};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict, PyType};

/// What is known of a kernel: name, types of its parameters, offsets and lines.
type Known = (String, Vec<Option<String>>, Vec<(u64, u32)>);

/// A cubin, with what its compilation knows besides: types of parameters, lines of the PTX.
#[pyclass(frozen, module = "oriole_gpu._oriole")]
pub(crate) struct Module {
    pub(crate) cubin: Cubin,
}

#[pymethods]
impl Module {
    /// A cubin of whatever compiler; `ValueError` if the bytes are none. `file_name` and `kernels` are what its compilation
    /// knew of it, where it was kept ([`Module::__reduce__`]).
    #[new]
    #[pyo3(signature = (cubin, file_name = "", kernels = Vec::new()))]
    fn new(py: Python<'_>, cubin: PyBackedBytes, file_name: &str, kernels: Vec<Known>) -> PyResult<Module> {
        let kernels = kernels.into_iter().map(|(name, types, lines)| KernelOrigin { name, types, lines });
        let kernels: Vec<_> = kernels.collect();
        let cubin = done(py, || Cubin::from_bytes(&cubin[..])?.with_origin(file_name, kernels))?;
        Ok(Module { cubin })
    }

    /// How it is pickled: by its constructor's arguments.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyType>, (Bound<'py, PyBytes>, String, Vec<Known>)) {
        let cubin = &slf.get().cubin;
        let known = |name: &str| {
            let types =
                cubin.parameters(name).unwrap_or_default().iter().map(|each| each.ty.map(str::to_owned)).collect();
            (name.to_owned(), types, cubin.lines(name).to_vec())
        };
        let kernels = cubin.kernels().map(known).collect();
        (slf.get_type(), (PyBytes::new(slf.py(), cubin.as_bytes()), cubin.file_name().to_owned(), kernels))
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
pub(crate) fn disassemble(py: Python<'_>, cubin: PyBackedBytes) -> PyResult<String> {
    done(py, || oriole::disassemble(&cubin))
}

/// Does `work` on a cubin, while other Python threads run.
fn done<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T, CubinError> + Send) -> PyResult<T> {
    py.detach(|| caught(work)).map_err(|panicked| panicked.into_error(py))?.map_err(value_error)
}
