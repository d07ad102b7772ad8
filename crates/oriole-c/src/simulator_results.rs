//! What a launch left besides its buffers.

use crate::boundary::{put, put_bytes, put_text, put_whole};
use crate::launch::orioleLaunchReport;
use crate::result::orioleResult;
use crate::simulator::{orioleSimulatorHandle, with_state};
use std::ffi::c_char;

/// What the last launch has done.
///
/// `report`: where it goes; its `size` says how many bytes of it are written.
///
/// Errors: `ORIOLE_ERROR_INVALID_SIMULATOR_HANDLE`, `ORIOLE_ERROR_INVALID_INPUT` for null and for a `size` that no version has,
/// `ORIOLE_ERROR_COMPILER_INVOCATION_INCOMPLETE` where nothing was launched or the last launch failed.
///
/// # Safety
/// `report` is null, or its `size` may be read and as many bytes may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn orioleSimulatorGetReport(
    simulator: orioleSimulatorHandle,
    report: *mut orioleLaunchReport,
) -> orioleResult {
    with_state(simulator, |state| {
        let done = state.report.as_ref().ok_or(orioleResult::ORIOLE_ERROR_COMPILER_INVOCATION_INCOMPLETE)?;
        // SAFETY: what this function asks of its caller.
        unsafe { done.put(report) }
    })
}

/// How large the error log of the last launch is.
///
/// `errorLogSize`: where its bytes go, with the zero at its end; 0 where there is no text.
///
/// Errors: `ORIOLE_ERROR_INVALID_SIMULATOR_HANDLE`, `ORIOLE_ERROR_INVALID_INPUT` for null.
///
/// # Safety
/// `errorLogSize` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn orioleSimulatorGetErrorLogSize(
    simulator: orioleSimulatorHandle,
    errorLogSize: *mut usize,
) -> orioleResult {
    // SAFETY: what this function asks of its caller.
    with_state(simulator, |state| unsafe { put(errorLogSize, state.error.size()) })
}

/// Why the last launch gave no result: of a fault with block, thread, instruction and its place in the code.
///
/// `errorLog`: where as many bytes go as `orioleSimulatorGetErrorLogSize` says, the last one zero.
///
/// Errors: `ORIOLE_ERROR_INVALID_SIMULATOR_HANDLE`, `ORIOLE_ERROR_INVALID_INPUT` for null.
///
/// # Safety
/// `errorLog` is null or as many bytes may be written there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn orioleSimulatorGetErrorLog(
    simulator: orioleSimulatorHandle,
    errorLog: *mut c_char,
) -> orioleResult {
    // SAFETY: what this function asks of its caller.
    with_state(simulator, |state| unsafe { state.error.put(errorLog) })
}

/// How many bytes the kernel of the last launch has printed; also before a fault.
///
/// `size`: where the number goes.
///
/// Errors: `ORIOLE_ERROR_INVALID_SIMULATOR_HANDLE`, `ORIOLE_ERROR_INVALID_INPUT` for null.
///
/// # Safety
/// `size` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn orioleSimulatorGetPrintedSize(
    simulator: orioleSimulatorHandle,
    size: *mut usize,
) -> orioleResult {
    // SAFETY: what this function asks of its caller.
    with_state(simulator, |state| unsafe { put(size, state.printed.len()) })
}

/// What the kernel of the last launch has printed, block after block, without a zero at the end.
///
/// `printed`: where as many bytes go as `orioleSimulatorGetPrintedSize` says.
///
/// Errors: `ORIOLE_ERROR_INVALID_SIMULATOR_HANDLE`, `ORIOLE_ERROR_INVALID_INPUT` for null.
///
/// # Safety
/// `printed` is null or as many bytes may be written there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn orioleSimulatorGetPrinted(
    simulator: orioleSimulatorHandle,
    printed: *mut c_char,
) -> orioleResult {
    // SAFETY: what this function asks of its caller.
    with_state(simulator, |state| unsafe { put_bytes(&state.printed, printed.cast()) })
}

/// The error log as `orioleSimulatorGetErrorLog` gives it, as far as there is room: no more than that is written, and the last
/// byte is a zero.
///
/// `room`: how many bytes may be written at `errorLog`.
/// `errorLogSize`: where the size of all of it goes, with the zero, 1 where there is no text; may be null.
///
/// Errors: `ORIOLE_ERROR_INVALID_SIMULATOR_HANDLE`, `ORIOLE_ERROR_INVALID_INPUT` for null with room.
///
/// # Safety
/// `room` bytes may be written at `errorLog`, and `errorLogSize` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn orioleSimulatorCopyErrorLog(
    simulator: orioleSimulatorHandle,
    room: usize,
    errorLog: *mut c_char,
    errorLogSize: *mut usize,
) -> orioleResult {
    // SAFETY: what this function asks of its caller.
    with_state(simulator, |state| unsafe { put_text(state.error.bytes(), room, errorLog.cast(), errorLogSize) })
}

/// What the kernel of the last launch has printed, if there is room for it.
///
/// `room`: how many bytes may be written at `printed`.
/// `size`: where the number of bytes goes, also where there is no room for them; may be null.
///
/// Errors: `ORIOLE_ERROR_INVALID_SIMULATOR_HANDLE`, `ORIOLE_ERROR_INVALID_INPUT` for null and where the room is too small.
///
/// # Safety
/// `room` bytes may be written at `printed`, and `size` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn orioleSimulatorCopyPrinted(
    simulator: orioleSimulatorHandle,
    room: usize,
    printed: *mut c_char,
    size: *mut usize,
) -> orioleResult {
    // SAFETY: what this function asks of its caller.
    with_state(simulator, |state| unsafe { put_whole(&state.printed, room, printed.cast(), size) })
}
