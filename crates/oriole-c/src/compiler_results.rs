//! What a compilation left: the cubin and the logs.

use crate::boundary::{put, put_bytes, put_text, put_whole};
use crate::compiler::{orioleCompilerHandle, with_results};
use crate::result::{Outcome, orioleResult};
use std::ffi::{c_char, c_void};

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

/// The cubin, if there is room for it: also where another thread may compile between a question for the size and this one.
///
/// `room`: how many bytes may be written at `binaryImage`.
/// `binaryImageSize`: where the cubin's size goes, also where there is no room for it; may be null.
///
/// Errors: `ORIOLE_ERROR_INVALID_COMPILER_HANDLE`, `ORIOLE_ERROR_INVALID_INPUT` for null and where the room is too small,
/// `ORIOLE_ERROR_COMPILER_INVOCATION_INCOMPLETE` where nothing was compiled or the last compilation failed.
///
/// # Safety
/// `room` bytes may be written at `binaryImage`, and `binaryImageSize` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn orioleCompilerCopyCompiledProgram(
    compiler: orioleCompilerHandle,
    room: usize,
    binaryImage: *mut c_void,
    binaryImageSize: *mut usize,
) -> orioleResult {
    // SAFETY: what this function asks of its caller.
    with_cubin(compiler, |cubin| unsafe { put_whole(cubin, room, binaryImage.cast(), binaryImageSize) })
}

/// The error log as `orioleCompilerGetErrorLog` gives it, as far as there is room: no more than that is written, and the last
/// byte is a zero.
///
/// `room`: how many bytes may be written at `errorLog`.
/// `errorLogSize`: where the size of all of it goes, with the zero, 1 where there is no text; may be null.
///
/// Errors: `ORIOLE_ERROR_INVALID_COMPILER_HANDLE`, `ORIOLE_ERROR_INVALID_INPUT` for null with room.
///
/// # Safety
/// `room` bytes may be written at `errorLog`, and `errorLogSize` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn orioleCompilerCopyErrorLog(
    compiler: orioleCompilerHandle,
    room: usize,
    errorLog: *mut c_char,
    errorLogSize: *mut usize,
) -> orioleResult {
    // SAFETY: what this function asks of its caller.
    with_results(compiler, |results| unsafe { put_text(results.error.bytes(), room, errorLog.cast(), errorLogSize) })
}

/// The info log as `orioleCompilerGetInfoLog` gives it, as far as there is room: no more than that is written, and the last
/// byte is a zero.
///
/// `room`: how many bytes may be written at `infoLog`.
/// `infoLogSize`: where the size of all of it goes, with the zero, 1 where there is no text; may be null.
///
/// Errors: `ORIOLE_ERROR_INVALID_COMPILER_HANDLE`, `ORIOLE_ERROR_INVALID_INPUT` for null with room.
///
/// # Safety
/// `room` bytes may be written at `infoLog`, and `infoLogSize` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn orioleCompilerCopyInfoLog(
    compiler: orioleCompilerHandle,
    room: usize,
    infoLog: *mut c_char,
    infoLogSize: *mut usize,
) -> orioleResult {
    // SAFETY: what this function asks of its caller.
    with_results(compiler, |results| unsafe { put_text(results.info.bytes(), room, infoLog.cast(), infoLogSize) })
}
