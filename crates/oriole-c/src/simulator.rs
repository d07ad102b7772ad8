//! The simulator's functions.

use crate::boundary::{catching, copy, guard, put, put_bytes};
use crate::handles::{Handles, lock};
use crate::launch::{Request, orioleArgument, orioleDim, orioleLaunchReport};
use crate::log::{Log, set_last_error};
use crate::result::{Outcome, orioleResult};
use oriole::{Cubin, LaunchError, LaunchReport, Simulator, SimulatorBuilder};
use std::ffi::{c_char, c_int, c_void};
use std::num::NonZeroUsize;
use std::ptr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What a simulator's handle points to for C; there is nothing to see.
pub struct orioleSimulator {
    _private: (),
}

/// A simulator with a cubin, its settings and what its last launch left. Functions may be called by any thread. Those on
/// different handles do not wait for one another, those on one handle do.
pub type orioleSimulatorHandle = *mut orioleSimulator;

/// What a handle stands for.
struct State {
    cubin: Cubin,
    settings: SimulatorBuilder,
    cluster: [u32; 3],
    /// Made of the cubin and the settings; `None` where they have changed since.
    ready: Option<Simulator>,
    report: Option<orioleLaunchReport>,
    printed: Vec<u8>,
    error: Log,
}

static SIMULATORS: Handles<Mutex<State>> = Handles::new();

fn with_state(simulator: orioleSimulatorHandle, work: impl FnOnce(&mut State) -> Outcome) -> orioleResult {
    guard(|| {
        let state = SIMULATORS.get(simulator.addr());
        let state: Arc<Mutex<State>> = state.ok_or(orioleResult::ORIOLE_ERROR_INVALID_SIMULATOR_HANDLE)?;
        work(&mut lock(&state))
    })
}

/// Makes a simulator of a cubin, Oriole's or another compiler's. It is not strict, has no timing and no limits, and runs
/// as many host threads as there are cores.
///
/// `simulator`: where the handle goes; null on an error.
/// `cubinSize`: bytes of the cubin.
/// `cubin`: the cubin, which is copied.
///
/// Errors: `ORIOLE_ERROR_INVALID_INPUT` for null; `ORIOLE_ERROR_INVALID_CUBIN` where it is none, or its target is not
/// simulated (`orioleGetLastError` says why); `ORIOLE_ERROR_OUT_OF_MEMORY`; `ORIOLE_ERROR_INTERNAL`.
///
/// # Safety
/// `simulator` may be written and `cubinSize` bytes can be read at `cubin`, where they are not null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn orioleSimulatorCreate(
    simulator: *mut orioleSimulatorHandle,
    cubinSize: usize,
    cubin: *const c_void,
) -> orioleResult {
    guard(|| {
        // SAFETY: what this function asks of its caller.
        unsafe { put(simulator, ptr::null_mut()) }?;
        if cubin.is_null() {
            return Err(orioleResult::ORIOLE_ERROR_INVALID_INPUT);
        }
        // SAFETY: the same.
        let bytes = unsafe { copy(cubin.cast(), cubinSize) }?;
        let made = catching(|| State::new(bytes)).map_err(|message| {
            set_last_error(&message);
            orioleResult::ORIOLE_ERROR_INTERNAL
        })?;
        let state = made.map_err(|message| {
            set_last_error(&message);
            orioleResult::ORIOLE_ERROR_INVALID_CUBIN
        })?;
        let number = SIMULATORS.insert(Mutex::new(state));
        // SAFETY: it was not null when null was written there.
        unsafe { put(simulator, ptr::without_provenance_mut(number)) }
    })
}

impl State {
    fn new(bytes: Vec<u8>) -> Result<State, String> {
        let cubin = Cubin::from_bytes(bytes).map_err(|error| error.to_string())?;
        let settings = Simulator::builder();
        let ready = settings.clone().build(&cubin).map_err(|error| error.to_string())?;
        let (report, printed, error) = (None, Vec::new(), Log::default());
        Ok(State { cubin, settings, cluster: [1; 3], ready: Some(ready), report, printed, error })
    }

    /// Runs a launch with the settings as they are.
    fn launch(&mut self, request: &mut Request) -> Result<LaunchReport, (orioleResult, String)> {
        let wrong_cubin = |error: oriole::CubinError| (orioleResult::ORIOLE_ERROR_INVALID_CUBIN, error.to_string());
        let ready = match self.ready.take() {
            Some(ready) => ready,
            None => self.settings.clone().build(&self.cubin).map_err(wrong_cubin)?,
        };
        let ran = catching(|| request.run(self.ready.insert(ready), self.cluster));
        let ran = ran.map_err(|message| (orioleResult::ORIOLE_ERROR_INTERNAL, message))?;
        ran.map_err(|error| match error {
            LaunchError::Fault(fault) => {
                self.printed.clone_from(&fault.printed);
                (orioleResult::ORIOLE_ERROR_FAULT, fault.to_string())
            }
            other => (orioleResult::ORIOLE_ERROR_INVALID_LAUNCH, other.to_string()),
        })
    }
}

/// Destroys a simulator. A call on it that is under way in another thread ends as if nothing was.
///
/// `simulator`: where the handle is; null goes there.
///
/// Errors: `ORIOLE_ERROR_INVALID_SIMULATOR_HANDLE` where it is null or there is none of a simulator.
///
/// # Safety
/// `simulator` is null or may be read and written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn orioleSimulatorDestroy(simulator: *mut orioleSimulatorHandle) -> orioleResult {
    guard(|| {
        // SAFETY: what this function asks of its caller.
        let handle = unsafe { simulator.as_mut() }.ok_or(orioleResult::ORIOLE_ERROR_INVALID_SIMULATOR_HANDLE)?;
        if !SIMULATORS.remove(handle.addr()) {
            return Err(orioleResult::ORIOLE_ERROR_INVALID_SIMULATOR_HANDLE);
        }
        *handle = ptr::null_mut();
        Ok(())
    })
}

fn set(
    simulator: orioleSimulatorHandle,
    change: impl FnOnce(SimulatorBuilder) -> Outcome<SimulatorBuilder>,
) -> orioleResult {
    with_state(simulator, |state| {
        state.settings = change(state.settings.clone())?;
        state.ready = None;
        Ok(())
    })
}

/// Makes it a fault to read a register before its producer's latency has passed, or without the scoreboard wait that it
/// needs: code that passes does not depend on luck.
///
/// `strict`: 0 for no, else yes.
///
/// Errors: `ORIOLE_ERROR_INVALID_SIMULATOR_HANDLE`.
#[unsafe(no_mangle)]
pub extern "C" fn orioleSimulatorSetStrict(simulator: orioleSimulatorHandle, strict: c_int) -> orioleResult {
    set(simulator, |settings| Ok(settings.strict(strict != 0)))
}

/// Estimates too how many cycles a launch would take on a device: `orioleSimulatorGetReport`.
///
/// `timing`: 0 for no, else yes.
///
/// Errors: `ORIOLE_ERROR_INVALID_SIMULATOR_HANDLE`.
#[unsafe(no_mangle)]
pub extern "C" fn orioleSimulatorSetTiming(simulator: orioleSimulatorHandle, timing: c_int) -> orioleResult {
    set(simulator, |settings| Ok(settings.timing(timing != 0)))
}

/// Sets how many host threads run blocks side by side.
///
/// `threads`: from 1 on.
///
/// Errors: `ORIOLE_ERROR_INVALID_SIMULATOR_HANDLE`, `ORIOLE_ERROR_INVALID_INPUT` for 0.
#[unsafe(no_mangle)]
pub extern "C" fn orioleSimulatorSetThreads(simulator: orioleSimulatorHandle, threads: u32) -> orioleResult {
    let threads = usize::try_from(threads).ok().and_then(NonZeroUsize::new);
    set(simulator, |settings| Ok(settings.threads(threads.ok_or(orioleResult::ORIOLE_ERROR_INVALID_INPUT)?)))
}

/// Sets how many warp instructions one block may execute before the launch counts as endless, which is a fault.
///
/// Errors: `ORIOLE_ERROR_INVALID_SIMULATOR_HANDLE`.
#[unsafe(no_mangle)]
pub extern "C" fn orioleSimulatorSetMaxInstructions(simulator: orioleSimulatorHandle, count: u64) -> orioleResult {
    set(simulator, |settings| Ok(settings.max_instructions(count)))
}

/// Sets how long a launch may take on the host; longer is a fault.
///
/// Errors: `ORIOLE_ERROR_INVALID_SIMULATOR_HANDLE`.
#[unsafe(no_mangle)]
pub extern "C" fn orioleSimulatorSetTimeout(simulator: orioleSimulatorHandle, milliseconds: u64) -> orioleResult {
    set(simulator, |settings| Ok(settings.timeout(Duration::from_millis(milliseconds))))
}

/// Sets the blocks of a cluster (sm_90 and later) for kernels that do not say it themselves; 1, 1, 1 before it is called.
///
/// Errors: `ORIOLE_ERROR_INVALID_SIMULATOR_HANDLE`.
#[unsafe(no_mangle)]
pub extern "C" fn orioleSimulatorSetCluster(simulator: orioleSimulatorHandle, cluster: orioleDim) -> orioleResult {
    with_state(simulator, |state| {
        state.cluster = cluster.sizes();
        Ok(())
    })
}

/// Runs a kernel to its end. Each buffer is device memory of its own as long as the launch; on an error nothing is copied
/// back. Buffers on the host may overlap: of two that are copied back the later argument is what stays.
///
/// `kernel`: its name.
/// `grid`, `block`: how many blocks, and threads of each.
/// `sharedBytes`: bytes of dynamic shared memory.
/// `numArguments`, `arguments`: one for each parameter of the kernel, in their order; null where there are none.
///
/// Errors: `ORIOLE_ERROR_INVALID_SIMULATOR_HANDLE`; `ORIOLE_ERROR_INVALID_INPUT` for null and for an argument of no kind;
/// `ORIOLE_ERROR_OUT_OF_MEMORY`; and, with a text in the error log, `ORIOLE_ERROR_INVALID_LAUNCH`, `ORIOLE_ERROR_FAULT`,
/// `ORIOLE_ERROR_INTERNAL`.
///
/// # Safety
/// `kernel` is a string, `arguments` has as many as said, and the `size` bytes at `data` of each can be read, and written
/// where they are copied back; each where it is not null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn orioleSimulatorLaunch(
    simulator: orioleSimulatorHandle,
    kernel: *const c_char,
    grid: orioleDim,
    block: orioleDim,
    sharedBytes: u32,
    numArguments: usize,
    arguments: *const orioleArgument,
) -> orioleResult {
    with_state(simulator, |state| {
        state.report = None;
        (state.printed, state.error) = (Vec::new(), Log::default());
        // SAFETY: what this function asks of its caller.
        let request = unsafe { Request::copied(kernel, [grid, block], sharedBytes, numArguments, arguments) };
        let mut request = request?;
        let report = state.launch(&mut request).map_err(|(result, message)| {
            state.error = Log::new(&message);
            result
        })?;
        // SAFETY: the same.
        unsafe { request.give_back() }?;
        state.report = Some(orioleLaunchReport::from(&report));
        state.printed = report.printed;
        Ok(())
    })
}

/// What the last launch has done.
///
/// `report`: where it goes.
///
/// Errors: `ORIOLE_ERROR_INVALID_SIMULATOR_HANDLE`, `ORIOLE_ERROR_INVALID_INPUT` for null,
/// `ORIOLE_ERROR_COMPILER_INVOCATION_INCOMPLETE` where nothing was launched or the last launch failed.
///
/// # Safety
/// `report` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn orioleSimulatorGetReport(
    simulator: orioleSimulatorHandle,
    report: *mut orioleLaunchReport,
) -> orioleResult {
    with_state(simulator, |state| {
        let done = state.report.ok_or(orioleResult::ORIOLE_ERROR_COMPILER_INVOCATION_INCOMPLETE)?;
        // SAFETY: what this function asks of its caller.
        unsafe { put(report, done) }
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
