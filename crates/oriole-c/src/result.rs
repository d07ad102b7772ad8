//! What functions answer.

use std::ffi::{CStr, c_char, c_int};

/// What a function answers. The numbers up to 9 are those of `nvPTXCompileResult`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum orioleResult {
    /// Done.
    ORIOLE_SUCCESS = 0,
    /// The handle is none of a compiler that exists.
    ORIOLE_ERROR_INVALID_COMPILER_HANDLE = 1,
    /// A pointer that must not be null is, an option is wrong or not supported, or the text is not UTF-8.
    ORIOLE_ERROR_INVALID_INPUT = 2,
    /// The module is wrong, or no code can be made for it: the error log says why.
    ORIOLE_ERROR_COMPILATION_FAILURE = 3,
    /// A fault of Oriole itself.
    ORIOLE_ERROR_INTERNAL = 4,
    /// There is not as much memory as was asked for, or a bound of memory is reached.
    ORIOLE_ERROR_OUT_OF_MEMORY = 5,
    /// There is no result yet: nothing was compiled or launched, or the last try failed.
    ORIOLE_ERROR_COMPILER_INVOCATION_INCOMPLETE = 6,
    /// The module's `.version` is none that is known.
    ORIOLE_ERROR_UNSUPPORTED_PTX_VERSION = 7,
    /// Never given: code that synchronises on the device is compiled. It keeps its number for programs that ask for it.
    ORIOLE_ERROR_UNSUPPORTED_DEVSIDE_SYNC = 8,
    /// `orioleCompilerCancel` ended the compilation, or `orioleSimulatorCancel` the launch.
    ORIOLE_ERROR_CANCELLED = 9,
    /// The handle is none of a simulator that exists.
    ORIOLE_ERROR_INVALID_SIMULATOR_HANDLE = 100,
    /// The bytes are no cubin, or of a target that is not known.
    ORIOLE_ERROR_INVALID_CUBIN = 101,
    /// There is no such kernel, the arguments do not fit it, or no device could run a launch of this shape.
    ORIOLE_ERROR_INVALID_LAUNCH = 102,
    /// The kernel stopped: an illegal address, a deadlock, a trap and the like; the error log says what and where.
    ORIOLE_ERROR_FAULT = 103,
    /// The compilation took longer than `orioleCompilerSetTimeout` allows.
    ORIOLE_ERROR_TIMEOUT = 104,
}

/// What a function gives to who calls it, or why it gives nothing.
pub(crate) type Outcome<T = ()> = Result<T, orioleResult>;

/// All results with their names.
const NAMES: [(orioleResult, &CStr); 15] = {
    use orioleResult::*;
    [
        (ORIOLE_SUCCESS, c"ORIOLE_SUCCESS"),
        (ORIOLE_ERROR_INVALID_COMPILER_HANDLE, c"ORIOLE_ERROR_INVALID_COMPILER_HANDLE"),
        (ORIOLE_ERROR_INVALID_INPUT, c"ORIOLE_ERROR_INVALID_INPUT"),
        (ORIOLE_ERROR_COMPILATION_FAILURE, c"ORIOLE_ERROR_COMPILATION_FAILURE"),
        (ORIOLE_ERROR_INTERNAL, c"ORIOLE_ERROR_INTERNAL"),
        (ORIOLE_ERROR_OUT_OF_MEMORY, c"ORIOLE_ERROR_OUT_OF_MEMORY"),
        (ORIOLE_ERROR_COMPILER_INVOCATION_INCOMPLETE, c"ORIOLE_ERROR_COMPILER_INVOCATION_INCOMPLETE"),
        (ORIOLE_ERROR_UNSUPPORTED_PTX_VERSION, c"ORIOLE_ERROR_UNSUPPORTED_PTX_VERSION"),
        (ORIOLE_ERROR_UNSUPPORTED_DEVSIDE_SYNC, c"ORIOLE_ERROR_UNSUPPORTED_DEVSIDE_SYNC"),
        (ORIOLE_ERROR_CANCELLED, c"ORIOLE_ERROR_CANCELLED"),
        (ORIOLE_ERROR_INVALID_SIMULATOR_HANDLE, c"ORIOLE_ERROR_INVALID_SIMULATOR_HANDLE"),
        (ORIOLE_ERROR_INVALID_CUBIN, c"ORIOLE_ERROR_INVALID_CUBIN"),
        (ORIOLE_ERROR_INVALID_LAUNCH, c"ORIOLE_ERROR_INVALID_LAUNCH"),
        (ORIOLE_ERROR_FAULT, c"ORIOLE_ERROR_FAULT"),
        (ORIOLE_ERROR_TIMEOUT, c"ORIOLE_ERROR_TIMEOUT"),
    ]
};

/// The name of a result, such as "ORIOLE_ERROR_INVALID_INPUT". The text is constant: it is not to be released.
///
/// `result`: what a function answered; of any other number the answer is "unknown result".
#[unsafe(no_mangle)]
pub extern "C" fn orioleGetResultString(result: c_int) -> *const c_char {
    let named = NAMES.iter().find(|(known, _)| *known as c_int == result);
    named.map_or(c"unknown result", |(_, name)| name).as_ptr()
}
