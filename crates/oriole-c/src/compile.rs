//! One compilation: options and input in, cubin and logs out.

use crate::boundary::catching;
use crate::options::Settings;
use crate::result::orioleResult;
use crate::verbose;
use oriole::{CancelToken, CompileError, Compiled, Compiler, Diagnostic, FpContract, LlvmOptions};

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
}

/// Compiles the input with ptxas's options.
pub(crate) fn compile(input: &[u8], options: &[String], cancel: &CancelToken) -> Result<Success, Failure> {
    let internal = |error| Failure { result: orioleResult::ORIOLE_ERROR_INTERNAL, error };
    catching(|| compile_catching_nothing(input, options, cancel)).map_err(internal)?
}

fn compile_catching_nothing(input: &[u8], options: &[String], cancel: &CancelToken) -> Result<Success, Failure> {
    let invalid = |error: &str| Failure::new(orioleResult::ORIOLE_ERROR_INVALID_INPUT, error);
    let settings = Settings::read(options).map_err(|error| invalid(&error))?;
    let is_llvm = is_llvm(input);
    let builder = settings.compiler(if is_llvm { LLVM_NAME } else { PTX_NAME });
    let compiler = builder.and_then(|builder| builder.cancel(cancel.clone()).build());
    let compiler = compiler.map_err(|error| invalid(&error.to_string()))?;
    let compiled = if is_llvm {
        compile_llvm(&compiler, input, &settings)
    } else {
        let ptx = std::str::from_utf8(without_end(input));
        let ptx =
            ptx.map_err(|error| invalid(&format!("the PTX is not UTF-8 from byte {} on", error.valid_up_to())))?;
        compiler.compile_ptx(ptx)
    };
    let compiled = compiled.map_err(|error| failure(&error, input))?;
    finish(compiled, &settings)
}

fn compile_llvm(compiler: &Compiler, input: &[u8], settings: &Settings) -> Result<Compiled, CompileError> {
    let contract = if settings.no_fusing { FpContract::Off } else { FpContract::default() };
    let input = if is_bitcode(input) { input } else { without_end(input) };
    compiler.compile_llvm_with(input, &LlvmOptions::default().fp_contract(contract))
}

/// Adds what is to be said of the code, which `-Werror` turns into a failure.
fn finish(compiled: Compiled, settings: &Settings) -> Result<Success, Failure> {
    let warnings = if settings.no_warnings { Vec::new() } else { verbose::warnings(&compiled, settings) };
    if settings.warnings_are_errors && !warnings.is_empty() {
        let error = warnings.iter().map(|warning| format!("error: {warning} (--warning-as-error)\n")).collect();
        return Err(Failure { result: orioleResult::ORIOLE_ERROR_COMPILATION_FAILURE, error });
    }
    let mut info: String = warnings.iter().map(|warning| format!("warning: {warning}\n")).collect();
    if settings.verbose {
        info.push_str(&verbose::resources(&compiled));
    }
    Ok(Success { cubin: compiled.cubin.into_bytes(), info })
}

fn failure(error: &CompileError, input: &[u8]) -> Failure {
    let result = match error {
        CompileError::Source(diagnostics) if diagnostics.iter().any(|error| is_of_the_version(error, input)) => {
            orioleResult::ORIOLE_ERROR_UNSUPPORTED_PTX_VERSION
        }
        CompileError::Cancelled => orioleResult::ORIOLE_ERROR_CANCELLED,
        CompileError::Internal(_) => orioleResult::ORIOLE_ERROR_INTERNAL,
        _ => orioleResult::ORIOLE_ERROR_COMPILATION_FAILURE,
    };
    match error {
        CompileError::Source(diagnostics) => {
            Failure { result, error: diagnostics.iter().map(Diagnostic::render).collect() }
        }
        other => Failure::new(result, &other.to_string()),
    }
}

/// Whether the module's `.version` is wrong itself, and not just too low for what stands elsewhere.
fn is_of_the_version(error: &Diagnostic, input: &[u8]) -> bool {
    let place = error.span.as_ref().and_then(|span| input.get(span.bytes.clone()));
    error.rule == Some("version") && place.is_some_and(|text| text.starts_with(b".version"))
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
