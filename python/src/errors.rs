//! Errors of the library as the exceptions that `oriole_gpu._errors` defines.

use oriole::{CompileError, Diagnostic, Fault, FaultKind, Finding, LaunchError, MemoryAccess, Span};
use pyo3::exceptions::{PyMemoryError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

/// An exception of that class of `oriole_gpu._errors`; if it cannot be made, why.
fn exception(py: Python<'_>, class: &str, arguments: Bound<'_, PyTuple>) -> PyErr {
    let made = py.import("oriole_gpu._errors").and_then(|module| module.getattr(class)?.call1(arguments));
    made.map_or_else(|error| error, PyErr::from_value)
}

/// `text`, with what the class of that name takes besides.
fn raised<'py>(py: Python<'py>, class: &str, text: String, details: PyResult<Bound<'py, PyAny>>) -> PyErr {
    let arguments = details.and_then(|details| (text, details).into_pyobject(py));
    arguments.map_or_else(|error| error, |arguments| exception(py, class, arguments))
}

/// A setting that makes no sense.
pub(crate) fn value_error(error: impl ToString) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// A fault of Oriole itself.
pub(crate) fn internal_error(py: Python<'_>, text: String) -> PyErr {
    let arguments = (text,).into_pyobject(py);
    arguments.map_or_else(|error| error, |arguments| exception(py, "InternalError", arguments))
}

/// Why there is no cubin.
pub(crate) fn compile_error(py: Python<'_>, error: &CompileError) -> PyErr {
    match error {
        CompileError::Internal(text) => return internal_error(py, text.clone()),
        CompileError::Memory(_) => return PyMemoryError::new_err(error.to_string()),
        _ => {}
    }
    let text = match error {
        CompileError::Source(list) if !list.is_empty() => {
            let rendered: Vec<&str> = list.iter().map(|error| error.render().trim_end()).collect();
            rendered.join("\n")
        }
        other => other.to_string(),
    };
    let diagnostics = match error {
        CompileError::Source(list) => diagnostics(py, list),
        _ => Ok(PyList::empty(py)),
    };
    raised(py, "CompileError", text, diagnostics.map(Bound::into_any))
}

/// Dictionaries with the fields of `oriole_gpu.Diagnostic`.
pub(crate) fn diagnostics<'py>(py: Python<'py>, list: &[Diagnostic]) -> PyResult<Bound<'py, PyList>> {
    let out = PyList::empty(py);
    for diagnostic in list {
        let fields = PyDict::new(py);
        fields.set_item("severity", diagnostic.severity.to_string())?;
        fields.set_item("message", &diagnostic.message)?;
        fields.set_item("line", diagnostic.span.as_ref().map(|span| span.line))?;
        fields.set_item("column", diagnostic.span.as_ref().map(|span| span.column))?;
        fields.set_item("rule", diagnostic.rule)?;
        let place = |span: &Span| (span.line, span.column);
        let notes: Vec<_> =
            diagnostic.notes.iter().map(|note| (&note.message, note.span.as_ref().map(place))).collect();
        fields.set_item("notes", notes)?;
        fields.set_item("text", diagnostic.render())?;
        out.append(fields)?;
    }
    Ok(out)
}

/// Why a launch has no result.
pub(crate) fn launch_error(py: Python<'_>, error: &LaunchError) -> PyErr {
    match error {
        LaunchError::Fault(fault) if fault.kind == FaultKind::OutOfMemory => PyMemoryError::new_err(fault.to_string()),
        LaunchError::Fault(fault) => kernel_fault(py, fault),
        LaunchError::OutOfMemory(_) => PyMemoryError::new_err(error.to_string()),
        LaunchError::Unbound(_) => PyRuntimeError::new_err(error.to_string()),
        _ => value_error(error),
    }
}

fn kernel_fault(py: Python<'_>, fault: &Fault) -> PyErr {
    let class = if fault.kind == FaultKind::TimeLimit { "LaunchTimeout" } else { "KernelFault" };
    let fields = || {
        let fields = PyDict::new(py);
        fields.set_item("kind", kind_name(fault.kind))?;
        fields.set_item("message", &fault.message)?;
        fields.set_item("kernel", &fault.kernel)?;
        fields.set_item("block", fault.block)?;
        fields.set_item("thread", fault.thread)?;
        fields.set_item("address", fault.address)?;
        fields.set_item("offset", fault.offset)?;
        fields.set_item("instruction", &fault.instruction)?;
        fields.set_item("file", fault.source.as_ref().map(|(file, _)| file))?;
        fields.set_item("line", fault.source.as_ref().map(|(_, line)| line))?;
        fields.set_item("printed", String::from_utf8_lossy(&fault.printed))?;
        Ok(fields.into_any())
    };
    raised(py, class, fault.to_string(), fields())
}

/// A kind of fault as Python users read it.
fn kind_name(kind: FaultKind) -> &'static str {
    match kind {
        FaultKind::IllegalAddress => "illegal-address",
        FaultKind::MisalignedAddress => "misaligned-address",
        FaultKind::Trap => "trap",
        FaultKind::Assertion => "assertion",
        FaultKind::Deadlock => "deadlock",
        FaultKind::InstructionLimit => "instruction-limit",
        FaultKind::TimeLimit => "time-limit",
        FaultKind::OutputLimit => "output-limit",
        FaultKind::Cancelled => "cancelled",
        FaultKind::Hazard => "hazard",
        FaultKind::BadJump => "bad-jump",
        FaultKind::Unsupported => "unsupported",
        FaultKind::Misuse => "misuse",
        _ => "other",
    }
}

/// Dictionaries with the fields of `oriole_gpu.Finding`.
pub(crate) fn findings<'py>(py: Python<'py>, list: &[Finding]) -> PyResult<Bound<'py, PyList>> {
    let out = PyList::empty(py);
    for finding in list {
        let fields = PyDict::new(py);
        fields.set_item("kind", finding.kind)?;
        fields.set_item("is_error", finding.is_error)?;
        fields.set_item("place", &finding.place)?;
        fields.set_item("times", finding.times)?;
        fields.set_item("access", access(py, &finding.access)?)?;
        fields.set_item("earlier", finding.earlier.as_ref().map(|earlier| access(py, earlier)).transpose()?)?;
        fields.set_item("text", finding.to_string())?;
        out.append(fields)?;
    }
    Ok(out)
}

fn access<'py>(py: Python<'py>, access: &MemoryAccess) -> PyResult<Bound<'py, PyDict>> {
    let fields = PyDict::new(py);
    fields.set_item("access", access.access)?;
    fields.set_item("function", &access.function)?;
    fields.set_item("block", access.block)?;
    fields.set_item("thread", access.thread)?;
    fields.set_item("offset", access.offset)?;
    fields.set_item("instruction", &access.instruction)?;
    fields.set_item("line", access.source.as_ref().map(|(_, line)| line))?;
    Ok(fields)
}
