//! One compilation: options and input in, cubin and logs out.

use crate::boundary::catching;
use crate::options::words;
use crate::result::orioleResult;
use oriole::{CompileError, Compiler, CompilerBuilder, DebugInfo, Diagnostic, FpContract, LlvmOptions, SettingError};
use oriole_ptxas::{Host, Kind, Message, Request, Source};
use std::sync::atomic::AtomicBool;

/// What messages and line tables call the input, of which no name is known.
const PTX_NAME: &str = "input.ptx";
const LLVM_NAME: &str = "input.ll";

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
pub(crate) fn compile(input: &[u8], options: &[String], cancelled: &AtomicBool) -> Result<Success, Failure> {
    let internal = |error| Failure { result: orioleResult::ORIOLE_ERROR_INTERNAL, error };
    catching(|| compile_catching_nothing(input, options, cancelled)).map_err(internal)?
}

fn compile_catching_nothing(input: &[u8], options: &[String], cancelled: &AtomicBool) -> Result<Success, Failure> {
    let mut logs = Logs::default();
    let failed = |failure, logs: Logs| Failure { result: result(failure), error: logs.error };
    let request = match Request::read(words(options), &mut logs) {
        Ok(request) => request,
        Err(failure) => return Err(failed(failure, logs)),
    };
    let source = source(input, &request)?;
    match request.compile([Ok(source)], Some(cancelled), &mut logs) {
        Ok(Some(cubin)) => Ok(Success { cubin, info: logs.info }),
        Ok(None) => Err(Failure::invalid("no target to compile for")),
        Err(failure) => Err(failed(failure, logs)),
    }
}

fn result(failure: oriole_ptxas::Failure) -> orioleResult {
    use oriole_ptxas::Failure::{Arguments, Cancelled, Internal, Module, Version};
    match failure {
        Arguments => orioleResult::ORIOLE_ERROR_INVALID_INPUT,
        Version => orioleResult::ORIOLE_ERROR_UNSUPPORTED_PTX_VERSION,
        Module => orioleResult::ORIOLE_ERROR_COMPILATION_FAILURE,
        Cancelled => orioleResult::ORIOLE_ERROR_CANCELLED,
        Internal => orioleResult::ORIOLE_ERROR_INTERNAL,
    }
}

/// The input as PTX.
fn source(input: &[u8], request: &Request) -> Result<Source, Failure> {
    if is_llvm(input) {
        return Ok(Source { name: LLVM_NAME.to_owned(), text: ptx_of_llvm(input, request)? });
    }
    let text = std::str::from_utf8(without_end(input));
    let text =
        text.map_err(|error| Failure::invalid(&format!("the PTX is not UTF-8 from byte {} on", error.valid_up_to())))?;
    Ok(Source { name: PTX_NAME.to_owned(), text: text.to_owned() })
}

fn ptx_of_llvm(input: &[u8], request: &Request) -> Result<String, Failure> {
    let compiler = compiler(request).map_err(|error| Failure::invalid(&error.to_string()))?;
    let contract = if request.fuses() { FpContract::default() } else { FpContract::Off };
    let input = if is_bitcode(input) { input } else { without_end(input) };
    compiler.llvm_to_ptx(input, &LlvmOptions::default().fp_contract(contract)).map_err(|error| match error {
        CompileError::Source(diagnostics) => Failure {
            result: orioleResult::ORIOLE_ERROR_COMPILATION_FAILURE,
            error: diagnostics.iter().map(Diagnostic::render).collect(),
        },
        other => Failure::new(orioleResult::ORIOLE_ERROR_COMPILATION_FAILURE, &other.to_string()),
    })
}

/// The compiler that makes PTX as the options ask for it.
fn compiler(request: &Request) -> Result<Compiler, SettingError> {
    let lines = if request.has_lines() { DebugInfo::Lines } else { DebugInfo::None };
    let builder = Compiler::builder().file_name(LLVM_NAME).debug_info(lines).opt_level(request.opt_level());
    let builder = request.target().into_iter().fold(builder, CompilerBuilder::target);
    request.max_registers().into_iter().fold(builder, CompilerBuilder::max_registers).build()
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
