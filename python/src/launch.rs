//! Running a kernel on the simulator.

use crate::compile::seconds;
use crate::errors::{findings, launch_error, value_error};
use crate::host::HostMemory;
use crate::interrupt::interruptible;
use crate::module::Module;
use oriole::{CancelToken, Dim, InnerPointer, LaunchError, LaunchReport, Simulator, Timing};
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyDict;
use std::num::NonZeroUsize;

/// How a kernel is launched, by the names of `oriole_gpu.launch`.
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
    deterministic: bool,
    threads: Option<NonZeroUsize>,
    timeout: Option<f64>,
    memory: Option<u64>,
    /// Parameters that the cubin has no record of: offset, and value as of an aggregate.
    hidden: Vec<(u32, PyBackedBytes, Vec<(usize, usize, u64)>)>,
}

impl Settings {
    fn simulator(&self, module: &Module, token: &CancelToken) -> PyResult<Simulator> {
        let mut builder = Simulator::builder()
            .strict(self.strict)
            .timing(self.timing)
            .check_memory(self.check)
            .deterministic(self.deterministic)
            .cancel(token.clone());
        if let Some(threads) = self.threads {
            builder = builder.threads(threads);
        }
        if let Some(timeout) = self.timeout {
            builder = builder.timeout(seconds(timeout)?);
        }
        if let Some(bytes) = self.memory {
            builder = builder.memory(bytes);
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
    /// The bytes of an aggregate, and the pointers in it: place, number of the memory, offset into it.
    Aggregate(PyBackedBytes, Vec<(usize, usize, u64)>),
}

/// Why arrays are as they were before the launch.
enum Failure {
    /// There is not enough memory for copies.
    Memory(String),
    Launch(LaunchError),
    /// The kernel wrote to memory that may not be written: its name, and the first byte that is not as it was.
    ReadOnly(String, usize),
}

impl Failure {
    fn into_error(self, py: Python<'_>, kernel: &str) -> PyErr {
        match self {
            Failure::Memory(name) => PyMemoryError::new_err(format!("{name} of {kernel}: no memory for its copy")),
            Failure::Launch(error) => launch_error(py, &error),
            Failure::ReadOnly(name, at) => PyValueError::new_err(format!(
                "{name} of {kernel}: it is read-only, and the kernel has written to it, first at byte {at}; pass a copy"
            )),
        }
    }
}

/// Runs a kernel and writes its results into the memories, unless the checks have found errors: a dictionary with the report.
#[pyfunction]
pub(crate) fn launch<'py>(
    py: Python<'py>,
    module: &Module,
    memories: Vec<HostMemory>,
    arguments: Vec<Argument>,
    settings: Settings,
) -> PyResult<Bound<'py, PyDict>> {
    let token = CancelToken::new();
    let simulator = settings.simulator(module, &token)?;
    let report = interruptible(py, &token, || launch_on_copies(&simulator, &memories, &arguments, &settings))?;
    describe(py, &report.map_err(|failure| failure.into_error(py, &settings.entry))?)
}

fn launch_on_copies(
    simulator: &Simulator,
    memories: &[HostMemory],
    arguments: &[Argument],
    settings: &Settings,
) -> Result<LaunchReport, Failure> {
    let no_room = |memory: &HostMemory| Failure::Memory(memory.name.clone());
    let copies = memories.iter().map(|memory| memory.read().map_err(|_| no_room(memory)));
    let mut copies = copies.collect::<Result<Vec<_>, _>>()?;
    // What the kernel may not change is kept, since other Python threads may have changed the memory itself by then.
    let kept = memories.iter().zip(&copies).map(|(memory, copy)| memory.kept(copy).map_err(|_| no_room(memory)));
    let kept = kept.collect::<Result<Vec<_>, _>>()?;
    let named = memories.iter().map(|memory| memory.name.as_str()).zip(copies.iter_mut().map(Vec::as_mut_slice));
    let report = run(simulator, named, arguments, settings).map_err(Failure::Launch)?;
    if report.findings.iter().any(|finding| finding.is_error) {
        return Ok(report);
    }
    for ((memory, kept), after) in memories.iter().zip(&kept).zip(&copies) {
        if let Some(at) = memory.first_change(kept, after) {
            return Err(Failure::ReadOnly(memory.name.clone(), at));
        }
    }
    memories.iter().zip(&copies).for_each(|(memory, contents)| memory.write(contents));
    Ok(report)
}

fn run<'a>(
    simulator: &'a Simulator,
    memories: impl Iterator<Item = (&'a str, &'a mut [u8])>,
    arguments: &[Argument],
    settings: &'a Settings,
) -> Result<LaunchReport, LaunchError> {
    let mut launch = simulator.kernel(&settings.entry)?.shared_bytes(settings.shared);
    if let Some(cluster) = settings.cluster {
        launch = launch.cluster(cluster);
    }
    for (name, contents) in memories {
        launch = launch.memory(name, contents);
    }
    for argument in arguments {
        launch = match argument {
            Argument::Value(bytes) => launch.bytes(&bytes[..]),
            Argument::Pointer(memory, offset) => launch.pointer(*memory, *offset),
            Argument::Aggregate(bytes, pointers) => launch.aggregate(bytes.to_vec(), inner(pointers)),
        };
    }
    for (offset, bytes, pointers) in &settings.hidden {
        launch = launch.hidden(*offset, bytes.to_vec(), inner(pointers));
    }
    launch.launch(Dim(settings.grid), Dim(settings.block))
}

/// The addresses within an aggregate: place, number of the memory, offset into it.
fn inner(pointers: &[(usize, usize, u64)]) -> Vec<InnerPointer> {
    pointers.iter().map(|&(at, memory, offset)| InnerPointer { at, memory, offset }).collect()
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
    fields.set_item("advice", timing.advice.clone())?;
    let stalls = PyDict::new(py);
    for (reason, cycles) in &timing.stalls {
        stalls.set_item(reason, cycles)?;
    }
    fields.set_item("stalls", stalls)?;
    Ok(fields)
}
