//! Compilers: made, set up, at work, cancelled. What nvPTXCompiler has is as there.

use crate::boundary::{copy, guard, put, text};
use crate::cancel::Cancel;
use crate::compile::{Failure, Job, Library, Success, compile};
use crate::handles::{Handles, lock};
use crate::log::Log;
use crate::result::{Outcome, orioleResult};
use oriole_ptxas::Limits;
use std::ffi::{c_char, c_int, c_void};
use std::ptr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What a compiler's handle points to for C; there is nothing to see.
pub struct orioleCompiler {
    _private: (),
}

/// A compiler with its input and its results. Functions may be called by any thread. Those on different handles do not
/// wait for one another. On one handle compilations wait for one another, and what asks for results waits for them; nothing
/// else waits.
pub type orioleCompilerHandle = *mut orioleCompiler;

/// What a handle stands for.
struct Object {
    input: Vec<u8>,
    cancel: Cancel,
    settings: Mutex<Settings>,
    results: Mutex<Results>,
}

/// What compilations that begin from now on are bound by, and what they link.
#[derive(Clone, Default)]
struct Settings {
    limits: Limits,
    libraries: Vec<Arc<Library>>,
}

/// What the last compilation left.
#[derive(Default)]
pub(crate) struct Results {
    pub(crate) cubin: Option<Vec<u8>>,
    pub(crate) error: Log,
    pub(crate) info: Log,
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
        let (cancel, settings, results) = (Cancel::default(), Mutex::default(), Mutex::default());
        let number = COMPILERS.insert(Object { input, cancel, settings, results });
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
/// `ORIOLE_ERROR_TIMEOUT`; `ORIOLE_ERROR_OUT_OF_MEMORY`; `ORIOLE_ERROR_INTERNAL`.
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
        let Settings { limits, libraries } = lock(&object.settings).clone();
        let job = Job { input: &object.input, libraries: &libraries, limits, cancel: object.cancel.token() };
        // SAFETY: what this function asks of its caller.
        let options = unsafe { options(numCompileOptions, compileOptions) };
        match options.and_then(|options| compile(&job, &options)) {
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
/// `ORIOLE_ERROR_CANCELLED`. nvPTXCompiler has no such function. It waits for nothing.
///
/// Errors: `ORIOLE_ERROR_INVALID_COMPILER_HANDLE`.
#[unsafe(no_mangle)]
pub extern "C" fn orioleCompilerCancel(compiler: orioleCompilerHandle) -> orioleResult {
    guard(|| {
        object(compiler)?.cancel.cancel();
        Ok(())
    })
}

/// Lets a compiler compile again that was cancelled. What was cancelled and is still under way ends all the same.
///
/// Errors: `ORIOLE_ERROR_INVALID_COMPILER_HANDLE`.
#[unsafe(no_mangle)]
pub extern "C" fn orioleCompilerResume(compiler: orioleCompilerHandle) -> orioleResult {
    guard(|| {
        object(compiler)?.cancel.resume();
        Ok(())
    })
}

fn set(compiler: orioleCompilerHandle, change: impl FnOnce(&mut Settings)) -> orioleResult {
    guard(|| {
        change(&mut lock(&object(compiler)?.settings));
        Ok(())
    })
}

/// Sets how long a compilation may take on the host; longer is `ORIOLE_ERROR_TIMEOUT`. It is for those that begin later.
///
/// `milliseconds`: 0 for no bound, as it is at first.
///
/// Errors: `ORIOLE_ERROR_INVALID_COMPILER_HANDLE`.
#[unsafe(no_mangle)]
pub extern "C" fn orioleCompilerSetTimeout(compiler: orioleCompilerHandle, milliseconds: u64) -> orioleResult {
    set(compiler, |settings| settings.limits.time = (milliseconds > 0).then(|| Duration::from_millis(milliseconds)))
}

/// Sets by how many bytes the process may grow from the start of a compilation on; more is `ORIOLE_ERROR_OUT_OF_MEMORY`. It is
/// for those that begin later, and on Linux only; docs/c.md says what it can hold and what not.
///
/// `bytes`: 0 for no bound, as it is at first.
///
/// Errors: `ORIOLE_ERROR_INVALID_COMPILER_HANDLE`.
#[unsafe(no_mangle)]
pub extern "C" fn orioleCompilerSetMemoryLimit(compiler: orioleCompilerHandle, bytes: u64) -> orioleResult {
    set(compiler, |settings| settings.limits.memory = (bytes > 0).then_some(bytes))
}

/// Adds a module of LLVM IR, such as libdevice, of which compilations that begin later link what an input of LLVM IR calls.
/// Of several the first that has a function gives it.
///
/// `librarySize`, `library`: its bytes, text or bitcode, which are copied.
/// `name`: what messages call it.
///
/// Errors: `ORIOLE_ERROR_INVALID_COMPILER_HANDLE`, `ORIOLE_ERROR_INVALID_INPUT` for null, `ORIOLE_ERROR_OUT_OF_MEMORY`. What is
/// no module fails when an input is compiled.
///
/// # Safety
/// `librarySize` bytes can be read at `library` and `name` is a string, where they are not null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn orioleCompilerAddLibrary(
    compiler: orioleCompilerHandle,
    librarySize: usize,
    library: *const c_void,
    name: *const c_char,
) -> orioleResult {
    guard(|| {
        let object = object(compiler)?;
        if library.is_null() {
            return Err(orioleResult::ORIOLE_ERROR_INVALID_INPUT);
        }
        // SAFETY: what this function asks of its caller.
        let (bytes, name) = unsafe { (copy(library.cast(), librarySize)?, text(name)?) };
        lock(&object.settings).libraries.push(Arc::new(Library { bytes, name }));
        Ok(())
    })
}

/// What the last compilation of a compiler left; waits for one that is under way.
pub(crate) fn with_results(compiler: orioleCompilerHandle, give: impl FnOnce(&Results) -> Outcome) -> orioleResult {
    guard(|| give(&lock(&object(compiler)?.results)))
}
