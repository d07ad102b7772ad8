//! One compilation: options and input in, cubin and logs out.

use crate::boundary::catching;
use crate::options::words;
use crate::result::orioleResult;
use oriole::{CancelToken, CompileError, Compiler, DebugInfo, Diagnostic, FpContract, LlvmOptions, SettingError};
use oriole_ptxas::{Host, Kind, Limits, Message, Request, Source};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Instant;

/// What messages and line tables call the input, of which no name is known.
const PTX_NAME: &str = "input.ptx";
const LLVM_NAME: &str = "input.ll";

/// A module of LLVM IR of which what is called is linked.
pub(crate) struct Library {
    pub(crate) bytes: Vec<u8>,
    /// What messages call it.
    pub(crate) name: String,
}

/// What is compiled, with what, and how long.
pub(crate) struct Job<'a> {
    pub(crate) input: &'a [u8],
    pub(crate) libraries: &'a [Arc<Library>],
    pub(crate) limits: Limits,
    pub(crate) cancel: CancelToken,
}

/// A module that was compiled.
pub(crate) struct Success {
    pub(crate) cubin: Vec<u8>,
    pub(crate) info: String,
}

/// Why there is no cubin.
pub(crate) struct Failure {
    pub(crate) result: orioleResult,
    pub(crate) error: String,
}

impl Failure {
    pub(crate) fn new(result: orioleResult, error: &str) -> Failure {
        Failure { result, error: format!("error: {error}\n") }
    }

    fn invalid(error: &str) -> Failure {
        Failure::new(orioleResult::ORIOLE_ERROR_INVALID_INPUT, error)
    }
}

/// The texts of both logs.
#[derive(Default)]
struct Logs {
    info: String,
    error: String,
}

impl Host for Logs {
    fn say(&mut self, message: Message) {
        let place = message.place.as_ref().map(|(file, line)| format!("{file}:{line}: ")).unwrap_or_default();
        match (message.kind, &message.quoted) {
            (Kind::Info, _) => self.info += &format!("{message}\n"),
            (Kind::Warning, _) => self.info += &format!("warning: {place}{}\n", message.text),
            (Kind::Error | Kind::Fatal, Some(quoted)) => self.error += quoted,
            (Kind::Error | Kind::Fatal, None) => self.error += &format!("error: {place}{}\n", message.text),
        }
    }
}

/// Compiles the input with ptxas's options.
pub(crate) fn compile(job: &Job<'_>, options: &[String]) -> Result<Success, Failure> {
    let internal = |error| Failure { result: orioleResult::ORIOLE_ERROR_INTERNAL, error };
    catching(|| compile_catching_nothing(job, options)).map_err(internal)?
}

fn compile_catching_nothing(job: &Job<'_>, options: &[String]) -> Result<Success, Failure> {
    let start = Instant::now();
    let mut logs = Logs::default();
    let failed = |failure, logs: Logs| Failure { result: result(failure), error: logs.error };
    let request = match Request::read(words(options), &mut logs) {
        Ok(request) => request,
        Err(failure) => return Err(failed(failure, logs)),
    };
    let source = source(job, &request)?;
    let limits = Limits { time: job.limits.time.map(|limit| limit.saturating_sub(start.elapsed())), ..job.limits };
    match request.compile_within([Ok(source)], Some(job.cancel.flag().clone()), limits, &mut logs) {
        Ok(Some(cubin)) => Ok(Success { cubin, info: logs.info }),
        Ok(None) => Err(Failure::invalid("no target to compile for")),
        // What is left of the time behind LLVM IR's way to PTX is not what the caller set.
        Err(oriole_ptxas::Failure::Time) => {
            let error = job.limits.time.map_or(logs.error, |limit| format!("error: {}\n", CompileError::Time(limit)));
            Err(Failure { result: orioleResult::ORIOLE_ERROR_TIMEOUT, error })
        }
        Err(failure) => Err(failed(failure, logs)),
    }
}

fn result(failure: oriole_ptxas::Failure) -> orioleResult {
    use oriole_ptxas::Failure::{Arguments, Cancelled, Internal, Memory, Module, Time, Version};
    match failure {
        Arguments => orioleResult::ORIOLE_ERROR_INVALID_INPUT,
        Version => orioleResult::ORIOLE_ERROR_UNSUPPORTED_PTX_VERSION,
        Module => orioleResult::ORIOLE_ERROR_COMPILATION_FAILURE,
        Cancelled => orioleResult::ORIOLE_ERROR_CANCELLED,
        Time => orioleResult::ORIOLE_ERROR_TIMEOUT,
        Memory => orioleResult::ORIOLE_ERROR_OUT_OF_MEMORY,
        Internal => orioleResult::ORIOLE_ERROR_INTERNAL,
    }
}

/// The input as PTX.
fn source(job: &Job<'_>, request: &Request) -> Result<Source, Failure> {
    let input = job.input;
    if is_llvm(input) {
        return Ok(Source { name: LLVM_NAME.to_owned(), text: ptx_of_llvm(job, request)? });
    }
    let text = std::str::from_utf8(without_end(input));
    let text =
        text.map_err(|error| Failure::invalid(&format!("the PTX is not UTF-8 from byte {} on", error.valid_up_to())))?;
    Ok(Source { name: PTX_NAME.to_owned(), text: text.to_owned() })
}

fn ptx_of_llvm(job: &Job<'_>, request: &Request) -> Result<String, Failure> {
    let compiler = compiler(job, request).map_err(|error| Failure::invalid(&error.to_string()))?;
    let contract = if request.fuses() { FpContract::default() } else { FpContract::Off };
    let options = LlvmOptions::default().fp_contract(contract);
    let link = |options: LlvmOptions, library: &Arc<Library>| options.library(library.bytes.as_slice(), &library.name);
    let options = job.libraries.iter().fold(options, link);
    let input = if is_bitcode(job.input) { job.input } else { without_end(job.input) };
    compiler.llvm_to_ptx(input, &options).map_err(|error| {
        let result = match error {
            CompileError::Cancelled => orioleResult::ORIOLE_ERROR_CANCELLED,
            CompileError::Time(_) => orioleResult::ORIOLE_ERROR_TIMEOUT,
            CompileError::Memory(_) => orioleResult::ORIOLE_ERROR_OUT_OF_MEMORY,
            _ => orioleResult::ORIOLE_ERROR_COMPILATION_FAILURE,
        };
        match error {
            CompileError::Source(diagnostics) => {
                Failure { result, error: diagnostics.iter().map(Diagnostic::render).collect() }
            }
            other => Failure::new(result, &other.to_string()),
        }
    })
}

/// The compiler that makes PTX as the options ask for it.
fn compiler(job: &Job<'_>, request: &Request) -> Result<Compiler, SettingError> {
    let lines = if request.has_lines() { DebugInfo::Lines } else { DebugInfo::None };
    let mut limits = oriole::Limits::default();
    (limits.time, limits.memory) = (job.limits.time, job.limits.memory);
    let mut builder = Compiler::builder().file_name(LLVM_NAME).debug_info(lines).opt_level(request.opt_level());
    builder = builder.limits(limits).cancel(job.cancel.clone());
    if let Some(target) = request.target() {
        builder = builder.target(target);
    }
    if let Some(count) = request.max_registers() {
        builder = builder.max_registers(count);
    }
    if let Some(jobs) = NonZeroUsize::new(request.jobs()) {
        builder = builder.jobs(jobs);
    }
    builder.build()
}

/// A text as C has it: the zero at its end may be among the bytes that were counted.
fn without_end(input: &[u8]) -> &[u8] {
    let length = input.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    &input[..length]
}

/// Bitcode begins with one of two magic words: its own, or that of the wrapper around it.
fn is_bitcode(input: &[u8]) -> bool {
    input.starts_with(b"BC\xc0\xde") || input.starts_with(b"\xde\xc0\x17\x0b")
}

/// Whether the input is LLVM IR: bitcode, or text whose first words are none of PTX.
fn is_llvm(input: &[u8]) -> bool {
    /// PTX begins with a directive or a comment of another form; these begin lines of LLVM IR.
    const WORDS: [&[u8]; 9] =
        [b"source_filename", b"target ", b"define ", b"declare ", b"@", b"%", b"attributes ", b"$", b"!"];
    let mut lines = input.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_start);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with(b";"));
    is_bitcode(input) || first.is_some_and(|line| WORDS.iter().any(|word| line.starts_with(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn llvm_ir_is_known_by_its_first_words() {
        let llvm: [&[u8]; 4] = [
            b"; ModuleID = 'k'\n\nsource_filename = \"k\"\n",
            b"\n  define ptx_kernel void @k() {\n",
            b"target triple = \"nvptx64-nvidia-cuda\"\n",
            b"BC\xc0\xde\x35\x14",
        ];
        assert!(llvm.iter().all(|input| is_llvm(input)));
        let ptx: [&[u8]; 5] =
            [b"", b"\n// a comment\n.version 8.0\n", b"/* define */ .version 8.0", b".target sm_90", b"\0"];
        assert!(!ptx.iter().any(|input| is_llvm(input)));
    }

    #[test]
    fn the_zeros_at_the_end_of_a_text_are_not_part_of_it() {
        assert_eq!(without_end(b"text\0\0"), b"text");
        assert_eq!(without_end(b"te\0xt"), b"te\0xt");
        assert_eq!(without_end(b"\0"), b"");
    }
}
