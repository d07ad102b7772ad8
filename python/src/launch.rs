//! Running a kernel on the simulator.

use crate::compile::seconds;
use crate::errors::{findings, launch_error, value_error};
use crate::interrupt::interruptible;
use crate::module::Module;
use oriole::{CancelToken, Dim, LaunchError, LaunchReport, Simulator, Timing};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict};
use std::num::NonZeroUsize;

/// How a kernel is launched, by the names of `oriole.launch`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Settings {
    entry: String,
    grid: [u32; 3],
    block: [u32; 3],
    cluster: Option<[u32; 3]>,
    shared: u32,
    strict: bool,
    timing: bool,
    check: bool,
    threads: Option<NonZeroUsize>,
    timeout: Option<f64>,
}

impl Settings {
    fn simulator(&self, module: &Module, token: &CancelToken) -> PyResult<Simulator> {
        let mut builder =
            Simulator::builder().strict(self.strict).timing(self.timing).check_memory(self.check).cancel(token.clone());
        if let Some(threads) = self.threads {
            builder = builder.threads(threads);
        }
        if let Some(timeout) = self.timeout {
            builder = builder.timeout(seconds(timeout)?);
        }
        builder.build(&module.cubin).map_err(value_error)
    }
}

/// An argument, as Python's half of the package has made it.
enum Argument {
    /// The bytes of the parameter.
    Value(Vec<u8>),
    /// A buffer with this in it.
    Buffer(Vec<u8>),
    /// The buffer of the argument at that position.
    Again(usize),
}

impl Argument {
    fn new(kind: &str, bytes: &[u8], index: usize) -> PyResult<Argument> {
        match kind {
            "value" => Ok(Argument::Value(bytes.to_vec())),
            "buffer" => Ok(Argument::Buffer(bytes.to_vec())),
            "again" => Ok(Argument::Again(index)),
            other => Err(PyValueError::new_err(format!("'{other}' is no kind of argument"))),
        }
    }
}

/// By argument: what its buffer has after the launch, if it is one.
type Contents<'py> = Vec<Option<Bound<'py, PyBytes>>>;

/// Runs a kernel: a dictionary with the report, and what is in the buffers then. The arguments are `("value", bytes, 0)`,
/// `("buffer", bytes, 0)` or `("again", b"", index)`.
#[pyfunction]
pub(crate) fn launch<'py>(
    py: Python<'py>,
    module: &Module,
    arguments: Vec<(String, PyBackedBytes, usize)>,
    settings: Settings,
) -> PyResult<(Bound<'py, PyDict>, Contents<'py>)> {
    let arguments = arguments.iter().map(|(kind, bytes, index)| Argument::new(kind, bytes, *index));
    let mut arguments = arguments.collect::<PyResult<Vec<Argument>>>()?;
    let token = CancelToken::new();
    let simulator = settings.simulator(module, &token)?;
    let report = interruptible(py, &token, || run(&simulator, &mut arguments, &settings))?;
    let report = report.map_err(|error| launch_error(py, &error))?;
    let left = arguments.iter().map(|argument| match argument {
        Argument::Buffer(bytes) => Some(PyBytes::new(py, bytes)),
        Argument::Value(_) | Argument::Again(_) => None,
    });
    Ok((describe(py, &report)?, left.collect()))
}

fn run(simulator: &Simulator, arguments: &mut [Argument], settings: &Settings) -> Result<LaunchReport, LaunchError> {
    let mut launch = simulator.kernel(&settings.entry)?.shared_bytes(settings.shared);
    if let Some(cluster) = settings.cluster {
        launch = launch.cluster(cluster);
    }
    for argument in arguments {
        launch = match argument {
            Argument::Value(bytes) => launch.bytes(&bytes[..]),
            Argument::Buffer(bytes) => launch.in_out(bytes),
            Argument::Again(index) => launch.again(*index),
        };
    }
    launch.launch(Dim(settings.grid), Dim(settings.block))
}

fn describe<'py>(py: Python<'py>, report: &LaunchReport) -> PyResult<Bound<'py, PyDict>> {
    let fields = PyDict::new(py);
    fields.set_item("printed", String::from_utf8_lossy(&report.printed))?;
    fields.set_item("blocks", report.blocks)?;
    fields.set_item("warps", report.warps)?;
    fields.set_item("warp_instructions", report.warp_instructions)?;
    fields.set_item("thread_instructions", report.thread_instructions)?;
    fields.set_item("timing", report.timing.as_ref().map(|timing| describe_timing(py, timing)).transpose()?)?;
    fields.set_item("findings", findings(py, &report.findings)?)?;
    Ok(fields)
}

fn describe_timing<'py>(py: Python<'py>, timing: &Timing) -> PyResult<Bound<'py, PyDict>> {
    let fields = PyDict::new(py);
    fields.set_item("chip", timing.chip)?;
    fields.set_item("clock_mhz", timing.clock_mhz)?;
    fields.set_item("cycles", timing.cycles)?;
    fields.set_item("instructions", timing.instructions)?;
    fields.set_item("occupancy", timing.occupancy)?;
    let stalls = PyDict::new(py);
    for (reason, cycles) in &timing.stalls {
        stalls.set_item(reason, cycles)?;
    }
    fields.set_item("stalls", stalls)?;
    Ok(fields)
}
