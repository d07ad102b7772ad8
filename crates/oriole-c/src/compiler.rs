//! The compiler's functions, as nvPTXCompiler has them.

use crate::boundary::{copy, guard, put, put_bytes, text};
use crate::compile::{Failure, Success, compile};
use crate::handles::{Handles, lock};
use crate::log::Log;
use crate::result::{Outcome, orioleResult};
use std::ffi::{c_char, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// What a compiler's handle points to for C; there is nothing to see.
pub struct orioleCompiler {
    _private: (),
}

/// A compiler with its input and its results. Functions may be called by any thread. Those on different handles do not
/// wait for one another; those on one handle do, but for `orioleCompilerCancel` and `orioleCompilerDestroy`.
pub type orioleCompilerHandle = *mut orioleCompiler;

/// What a handle stands for.
struct Object {
    input: Vec<u8>,
    cancelled: AtomicBool,
    results: Mutex<Results>,
}

/// What the last compilation left.
#[derive(Default)]
struct Results {
    cubin: Option<Vec<u8>>,
    error: Log,
    info: Log,
}

static COMPILERS: Handles<Object> = Handles::new();

fn object(compiler: orioleCompilerHandle) -> Outcome<Arc<Object>> {
    COMPILERS.get(compiler.addr()).ok_or(orioleResult::ORIOLE_ERROR_INVALID_COMPILER_HANDLE)
}

/// Makes a compiler of a module. The text is copied; nothing is read in it yet.
///
/// `compiler`: where the handle goes; null on an error.
/// `ptxCodeLen`: bytes of the text, with or without the zero at its end.
/// `ptxCode`: PTX, or LLVM IR as text or bitcode.
///
/// Errors: `ORIOLE_ERROR_INVALID_INPUT` for null, `ORIOLE_ERROR_OUT_OF_MEMORY`, `ORIOLE_ERROR_INTERNAL`.
///
/// # Safety
/// `compiler` may be written and `ptxCodeLen` bytes can be read at `ptxCode`, where they are not null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn orioleCompilerCreate(
    compiler: *mut orioleCompilerHandle,
    ptxCodeLen: usize,
    ptxCode: *const c_char,
) -> orioleResult {
    guard(|| {
        // SAFETY: what this function asks of its caller.
        unsafe { put(compiler, ptr::null_mut()) }?;
        if ptxCode.is_null() {
            return Err(orioleResult::ORIOLE_ERROR_INVALID_INPUT);
        }
        // SAFETY: the same.
        let input = unsafe { copy(ptxCode.cast(), ptxCodeLen) }?;
        let number = COMPILERS.insert(Object { input, cancelled: AtomicBool::new(false), results: Mutex::default() });
        // SAFETY: it was not null when null was written there.
        unsafe { put(compiler, ptr::without_provenance_mut(number)) }
    })
}

/// Destroys a compiler. A call on it that is under way in another thread ends as if nothing was.
///
/// `compiler`: where the handle is; null goes there.
///
/// Errors: `ORIOLE_ERROR_INVALID_COMPILER_HANDLE` where it is null or there is none of a compiler.
///
/// # Safety
/// `compiler` is null or may be read and written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn orioleCompilerDestroy(compiler: *mut orioleCompilerHandle) -> orioleResult {
    guard(|| {
        // SAFETY: what this function asks of its caller.
        let handle = unsafe { compiler.as_mut() }.ok_or(orioleResult::ORIOLE_ERROR_INVALID_COMPILER_HANDLE)?;
        if !COMPILERS.remove(handle.addr()) {
            return Err(orioleResult::ORIOLE_ERROR_INVALID_COMPILER_HANDLE);
        }
        *handle = ptr::null_mut();
        Ok(())
    })
}

/// Compiles the module. It may be called again, with other options: results of before are gone then.
///
/// `numCompileOptions`: how many options there are.
/// `compileOptions`: options of ptxas, each a string: `--name`, `--name=value`, or name and value as two strings; null
/// where there are none. Without `--gpu-name` the module's own target holds.
///
/// Errors: `ORIOLE_ERROR_INVALID_COMPILER_HANDLE`; and, with a text in the error log, `ORIOLE_ERROR_INVALID_INPUT` for an
/// option that is wrong, unknown or not supported, for null, and for PTX that is not UTF-8;
/// `ORIOLE_ERROR_COMPILATION_FAILURE`; `ORIOLE_ERROR_UNSUPPORTED_PTX_VERSION`; `ORIOLE_ERROR_CANCELLED`;
/// `ORIOLE_ERROR_INTERNAL`.
///
/// # Safety
/// `compileOptions` is null or has as many strings as `numCompileOptions` says, each null or ended by a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn orioleCompilerCompile(
    compiler: orioleCompilerHandle,
    numCompileOptions: c_int,
    compileOptions: *const *const c_char,
) -> orioleResult {
    guard(|| {
        let object = object(compiler)?;
        let mut results = lock(&object.results);
        *results = Results::default();
        // SAFETY: what this function asks of its caller.
        let options = unsafe { options(numCompileOptions, compileOptions) };
        match options.and_then(|options| compile(&object.input, &options, &object.cancelled)) {
            Ok(Success { cubin, info }) => {
                *results = Results { cubin: Some(cubin), error: Log::default(), info: Log::new(&info) };
                Ok(())
            }
            Err(Failure { result, error }) => {
                results.error = Log::new(&error);
                Err(result)
            }
        }
    })
}

/// Copies of the options.
///
/// # Safety
/// `options` is null or has `count` strings, each null or ended by a zero.
unsafe fn options(count: c_int, options: *const *const c_char) -> Result<Vec<String>, Failure> {
    let invalid = |error: &str| Failure::new(orioleResult::ORIOLE_ERROR_INVALID_INPUT, error);
    let count = usize::try_from(count).map_err(|_| invalid("there are less than no options"))?;
    if count > 0 && options.is_null() {
        return Err(invalid("the options are a null pointer"));
    }
    let read = |index| {
        // SAFETY: it is not null, so the caller of this function says that there are as many strings.
        let option = unsafe { text(*options.add(index)) };
        option.map_err(|_| invalid(&format!("option {index} is a null pointer")))
    };
    (0..count).map(read).collect()
}

/// Ends the compilation that is under way in another thread, soon, and every later one of this compiler at once, with
/// `ORIOLE_ERROR_CANCELLED`. nvPTXCompiler has no such function.
///
/// Errors: `ORIOLE_ERROR_INVALID_COMPILER_HANDLE`.
#[unsafe(no_mangle)]
pub extern "C" fn orioleCompilerCancel(compiler: orioleCompilerHandle) -> orioleResult {
    guard(|| {
        object(compiler)?.cancelled.store(true, Ordering::Relaxed);
        Ok(())
    })
}

/// How large the cubin is.
///
/// `binaryImageSize`: where its bytes go.
///
/// Errors: `ORIOLE_ERROR_INVALID_COMPILER_HANDLE`, `ORIOLE_ERROR_INVALID_INPUT` for null,
/// `ORIOLE_ERROR_COMPILER_INVOCATION_INCOMPLETE` where nothing was compiled or the last compilation failed.
///
/// # Safety
/// `binaryImageSize` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn orioleCompilerGetCompiledProgramSize(
    compiler: orioleCompilerHandle,
    binaryImageSize: *mut usize,
) -> orioleResult {
    // SAFETY: what this function asks of its caller.
    with_cubin(compiler, |cubin| unsafe { put(binaryImageSize, cubin.len()) })
}

/// The cubin.
///
/// `binaryImage`: where as many bytes go as `orioleCompilerGetCompiledProgramSize` says.
///
/// Errors: `ORIOLE_ERROR_INVALID_COMPILER_HANDLE`, `ORIOLE_ERROR_INVALID_INPUT` for null,
/// `ORIOLE_ERROR_COMPILER_INVOCATION_INCOMPLETE` where nothing was compiled or the last compilation failed.
///
/// # Safety
/// `binaryImage` is null or as many bytes may be written there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn orioleCompilerGetCompiledProgram(
    compiler: orioleCompilerHandle,
    binaryImage: *mut c_void,
) -> orioleResult {
    // SAFETY: what this function asks of its caller.
    with_cubin(compiler, |cubin| unsafe { put_bytes(cubin, binaryImage.cast()) })
}

fn with_cubin(compiler: orioleCompilerHandle, give: impl FnOnce(&[u8]) -> Outcome) -> orioleResult {
    with_results(compiler, |results| {
        give(results.cubin.as_ref().ok_or(orioleResult::ORIOLE_ERROR_COMPILER_INVOCATION_INCOMPLETE)?)
    })
}

fn with_results(compiler: orioleCompilerHandle, give: impl FnOnce(&Results) -> Outcome) -> orioleResult {
    guard(|| give(&lock(&object(compiler)?.results)))
}

/// How large the error log of the last compilation is.
///
/// `errorLogSize`: where its bytes go, with the zero at its end; 0 where there is no text.
///
/// Errors: `ORIOLE_ERROR_INVALID_COMPILER_HANDLE`, `ORIOLE_ERROR_INVALID_INPUT` for null.
///
/// # Safety
/// `errorLogSize` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn orioleCompilerGetErrorLogSize(
    compiler: orioleCompilerHandle,
    errorLogSize: *mut usize,
) -> orioleResult {
    // SAFETY: what this function asks of its caller.
    with_results(compiler, |results| unsafe { put(errorLogSize, results.error.size()) })
}

/// Why the last compilation failed, each error with its line.
///
/// `errorLog`: where as many bytes go as `orioleCompilerGetErrorLogSize` says, the last one zero.
///
/// Errors: `ORIOLE_ERROR_INVALID_COMPILER_HANDLE`, `ORIOLE_ERROR_INVALID_INPUT` for null.
///
/// # Safety
/// `errorLog` is null or as many bytes may be written there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn orioleCompilerGetErrorLog(
    compiler: orioleCompilerHandle,
    errorLog: *mut c_char,
) -> orioleResult {
    // SAFETY: what this function asks of its caller.
    with_results(compiler, |results| unsafe { results.error.put(errorLog) })
}

/// How large the info log of the last compilation is.
///
/// `infoLogSize`: where its bytes go, with the zero at its end; 0 where there is no text.
///
/// Errors: `ORIOLE_ERROR_INVALID_COMPILER_HANDLE`, `ORIOLE_ERROR_INVALID_INPUT` for null.
///
/// # Safety
/// `infoLogSize` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn orioleCompilerGetInfoLogSize(
    compiler: orioleCompilerHandle,
    infoLogSize: *mut usize,
) -> orioleResult {
    // SAFETY: what this function asks of its caller.
    with_results(compiler, |results| unsafe { put(infoLogSize, results.info.size()) })
}

/// The warnings of the last compilation, and with `--verbose` what each kernel uses: registers, spills, memory.
///
/// `infoLog`: where as many bytes go as `orioleCompilerGetInfoLogSize` says, the last one zero.
///
/// Errors: `ORIOLE_ERROR_INVALID_COMPILER_HANDLE`, `ORIOLE_ERROR_INVALID_INPUT` for null.
///
/// # Safety
/// `infoLog` is null or as many bytes may be written there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn orioleCompilerGetInfoLog(
    compiler: orioleCompilerHandle,
    infoLog: *mut c_char,
) -> orioleResult {
    // SAFETY: what this function asks of its caller.
    with_results(compiler, |results| unsafe { results.info.put(infoLog) })
}
