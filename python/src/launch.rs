//! Running a kernel on the simulator.

use crate::compile::seconds;
use crate::errors::{findings, launch_error, value_error};
use crate::interrupt::interruptible;
use crate::module::Module;
use oriole::{CancelToken, Dim, LaunchError, LaunchReport, Simulator, Timing};
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
#[derive(FromPyObject)]
pub(crate) enum Argument {
    /// The bytes of the parameter.
    Value(PyBackedBytes),
    /// The number of a memory, and an offset into it.
    Pointer(usize, u64),
}

/// What is in each memory.
type Contents<'py> = Vec<Bound<'py, PyBytes>>;

/// Runs a kernel: a dictionary with the report, and what is in the memories then. A memory is the name that faults call it,
/// and its contents.
#[pyfunction]
pub(crate) fn launch<'py>(
    py: Python<'py>,
    module: &Module,
    memories: Vec<(String, PyBackedBytes)>,
    arguments: Vec<Argument>,
    settings: Settings,
) -> PyResult<(Bound<'py, PyDict>, Contents<'py>)> {
    let mut memories: Vec<(String, Vec<u8>)> =
        memories.into_iter().map(|(name, contents)| (name, contents.to_vec())).collect();
    let token = CancelToken::new();
    let simulator = settings.simulator(module, &token)?;
    let report = interruptible(py, &token, || run(&simulator, &mut memories, &arguments, &settings))?;
    let report = report.map_err(|error| launch_error(py, &error))?;
    let left = memories.iter().map(|(_, contents)| PyBytes::new(py, contents));
    Ok((describe(py, &report)?, left.collect()))
}

fn run(
    simulator: &Simulator,
    memories: &mut [(String, Vec<u8>)],
    arguments: &[Argument],
    settings: &Settings,
) -> Result<LaunchReport, LaunchError> {
    let mut launch = simulator.kernel(&settings.entry)?.shared_bytes(settings.shared);
    if let Some(cluster) = settings.cluster {
        launch = launch.cluster(cluster);
    }
    for (name, contents) in memories {
        launch = launch.memory(name.as_str(), contents);
    }
    for argument in arguments {
        launch = match argument {
            Argument::Value(bytes) => launch.bytes(&bytes[..]),
            Argument::Pointer(memory, offset) => launch.pointer(*memory, *offset),
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
