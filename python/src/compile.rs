//! Compiling.

use crate::errors::{compile_error, diagnostics, value_error};
use crate::interrupt::interruptible;
use crate::module::Module;
use oriole::{CancelToken, Compiled, Compiler, DebugInfo, FastCompile, FpContract, Kernel, Limits, LlvmOptions};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyDict, PyList};
use std::num::NonZeroUsize;
use std::time::Duration;

/// The arguments of `oriole_gpu.compile`, by their names.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Settings {
    arch: Option<String>,
    opt_level: u8,
    maxrregcount: Option<u32>,
    lineinfo: bool,
    debug: bool,
    fmad: bool,
    entries: Vec<String>,
    knobs: Vec<(String, String)>,
    disabled_passes: Vec<String>,
    fast_compile: String,
    file_name: String,
    jobs: NonZeroUsize,
    verify: bool,
    relocatable: bool,
    extended_shared: bool,
    live: bool,
    ftz: bool,
    prec_div: bool,
    prec_sqrt: bool,
    libraries: Vec<(PyBackedBytes, String)>,
    timeout: Option<f64>,
    memory: Option<u64>,
}

impl Settings {
    fn compiler(&self, token: &CancelToken) -> PyResult<Compiler> {
        let mut builder = Compiler::builder()
            .opt_level(self.opt_level)
            .fast_compile(self.fast_compile()?)
            .debug_info(self.debug_info())
            .file_name(&self.file_name)
            .jobs(self.jobs)
            .verify(self.verify)
            .relocatable(self.relocatable)
            .extended_shared(self.extended_shared)
            .live_registers(self.live)
            .limits(self.limits()?)
            .cancel(token.clone());
        if let Some(arch) = &self.arch {
            builder = builder.target(arch);
        }
        if let Some(count) = self.maxrregcount {
            builder = builder.max_registers(count);
        }
        if !self.fmad {
            builder = builder.knob("contract", 0);
        }
        builder = self.entries.iter().fold(builder, |builder, entry| builder.entry(entry));
        builder = self.knobs.iter().fold(builder, |builder, (name, value)| builder.knob(name, value));
        builder = self.disabled_passes.iter().fold(builder, |builder, pass| builder.disable_pass(pass));
        builder.build().map_err(value_error)
    }

    fn fast_compile(&self) -> PyResult<FastCompile> {
        match self.fast_compile.as_str() {
            "off" => Ok(FastCompile::Off),
            "min" => Ok(FastCompile::Min),
            "mid" => Ok(FastCompile::Mid),
            "max" => Ok(FastCompile::Max),
            other => Err(PyValueError::new_err(format!("fast_compile: '{other}' is none of off, min, mid, max"))),
        }
    }

    fn debug_info(&self) -> DebugInfo {
        match (self.debug, self.lineinfo) {
            (true, _) => DebugInfo::Full,
            (false, true) => DebugInfo::Lines,
            (false, false) => DebugInfo::None,
        }
    }

    fn limits(&self) -> PyResult<Limits> {
        let mut limits = Limits::default();
        limits.time = self.timeout.map(seconds).transpose()?;
        limits.memory = self.memory;
        Ok(limits)
    }

    fn llvm(&self) -> LlvmOptions {
        let options = LlvmOptions::default()
            .fp_contract(if self.fmad { FpContract::On } else { FpContract::Off })
            .flush_subnormals(self.ftz)
            .precise_division(self.prec_div)
            .precise_square_roots(self.prec_sqrt);
        self.libraries.iter().fold(options, |options, (bytes, name)| options.library(&bytes[..], name))
    }
}

/// A number of seconds, as Python has it.
pub(crate) fn seconds(seconds: f64) -> PyResult<Duration> {
    let wrong = |error| PyValueError::new_err(format!("timeout: {seconds} seconds: {error}"));
    Duration::try_from_secs_f64(seconds).map_err(wrong)
}

/// What is compiled.
enum Source {
    Ptx(PyBackedStr),
    Llvm(PyBackedBytes),
}

/// Compiles PTX (`str`) or LLVM IR (`bytes`): the module and a dictionary of what else is known.
#[pyfunction]
pub(crate) fn compile<'py>(
    py: Python<'py>,
    source: &Bound<'py, PyAny>,
    settings: Settings,
) -> PyResult<(Module, Bound<'py, PyDict>)> {
    let source = match source.extract::<PyBackedBytes>() {
        Ok(bytes) => Source::Llvm(bytes),
        Err(_) => Source::Ptx(source.extract()?),
    };
    let token = CancelToken::new();
    let compiler = settings.compiler(&token)?;
    let compiled = interruptible(py, &token, || match &source {
        Source::Ptx(ptx) => compiler.compile_ptx(ptx),
        Source::Llvm(ir) => compiler.compile_llvm_with(&ir[..], &settings.llvm()),
    })?;
    let compiled = compiled.map_err(|error| compile_error(py, &error))?;
    let described = describe(py, &compiled)?;
    Ok((Module { cubin: compiled.cubin }, described))
}

fn describe<'py>(py: Python<'py>, compiled: &Compiled) -> PyResult<Bound<'py, PyDict>> {
    let kernels = PyList::empty(py);
    for kernel in &compiled.kernels {
        kernels.append(describe_kernel(py, kernel)?)?;
    }
    let described = PyDict::new(py);
    described.set_item("kernels", kernels)?;
    described.set_item("log", &compiled.log)?;
    described.set_item("warnings", diagnostics(py, &compiled.warnings)?)?;
    Ok(described)
}

fn describe_kernel<'py>(py: Python<'py>, kernel: &Kernel) -> PyResult<Bound<'py, PyDict>> {
    let fields = PyDict::new(py);
    fields.set_item("name", &kernel.name)?;
    fields.set_item("registers", kernel.registers.general)?;
    fields.set_item("uniform_registers", kernel.registers.uniform)?;
    fields.set_item("predicates", kernel.registers.predicate)?;
    fields.set_item("uniform_predicates", kernel.registers.uniform_predicate)?;
    fields.set_item("convergence_barriers", kernel.registers.convergence_barrier)?;
    fields.set_item("spill_stores", kernel.spills.stores)?;
    fields.set_item("spill_loads", kernel.spills.loads)?;
    fields.set_item("frame_bytes", kernel.frame_bytes)?;
    fields.set_item("stack_bytes", kernel.stack_bytes)?;
    fields.set_item("shared_bytes", kernel.shared_bytes)?;
    fields.set_item("barriers", kernel.barriers)?;
    fields.set_item("bank0_bytes", kernel.bank0_bytes)?;
    fields.set_item("code_bytes", kernel.code_bytes)?;
    let live = kernel.live.iter().map(|at| {
        let registers = at.registers;
        (at.offset, &at.instruction, at.line, registers.general, registers.uniform, registers.predicate)
    });
    fields.set_item("live", live.collect::<Vec<_>>())?;
    Ok(fields)
}
