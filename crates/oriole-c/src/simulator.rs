//! Simulators: made, launching, cancelled.

use crate::boundary::{catching, copy, guard, put};
use crate::cancel::Cancel;
use crate::handles::{Handles, lock};
use crate::launch::{Done, Request, orioleArgument, orioleDim};
use crate::log::{Log, set_last_error};
use crate::result::{Outcome, orioleResult};
use crate::simulator_settings::Settings;
use oriole::{CancelToken, Cubin, Fault, FaultKind, LaunchError, LaunchReport, Simulator};
use std::ffi::{c_char, c_void};
use std::ptr;
use std::sync::{Arc, Mutex};

/// What a simulator's handle points to for C; there is nothing to see.
pub struct orioleSimulator {
    _private: (),
}

/// A simulator with a cubin, its settings and what its last launch left. Functions may be called by any thread. Those on
/// different handles do not wait for one another. On one handle launches wait for one another, and what asks for results waits
/// for them; nothing else waits.
pub type orioleSimulatorHandle = *mut orioleSimulator;

/// What a handle stands for.
struct Object {
    cubin: Cubin,
    cancel: Cancel,
    settings: Mutex<Settings>,
    state: Mutex<State>,
}

/// What launches need and leave.
#[derive(Default)]
pub(crate) struct State {
    /// Made of the cubin for the last launch, with what it was made for.
    ready: Option<(Settings, CancelToken, Simulator)>,
    pub(crate) report: Option<Done>,
    pub(crate) printed: Vec<u8>,
    pub(crate) error: Log,
}

static SIMULATORS: Handles<Object> = Handles::new();

fn object(simulator: orioleSimulatorHandle) -> Outcome<Arc<Object>> {
    SIMULATORS.get(simulator.addr()).ok_or(orioleResult::ORIOLE_ERROR_INVALID_SIMULATOR_HANDLE)
}

/// What the last launch of a simulator left; waits for one that is under way.
pub(crate) fn with_state(simulator: orioleSimulatorHandle, give: impl FnOnce(&State) -> Outcome) -> orioleResult {
    guard(|| give(&lock(&object(simulator)?.state)))
}

/// The settings of launches that begin from now on.
pub(crate) fn with_settings(
    simulator: orioleSimulatorHandle,
    change: impl FnOnce(&mut Settings) -> Outcome,
) -> orioleResult {
    guard(|| change(&mut lock(&object(simulator)?.settings)))
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
        let made = catching(|| Object::new(bytes)).map_err(|message| {
            set_last_error(&message);
            orioleResult::ORIOLE_ERROR_INTERNAL
        })?;
        let object = made.map_err(|message| {
            set_last_error(&message);
            orioleResult::ORIOLE_ERROR_INVALID_CUBIN
        })?;
        let number = SIMULATORS.insert(object);
        // SAFETY: it was not null when null was written there.
        unsafe { put(simulator, ptr::without_provenance_mut(number)) }
    })
}

impl Object {
    fn new(bytes: Vec<u8>) -> Result<Object, String> {
        let cubin = Cubin::from_bytes(bytes).map_err(|error| error.to_string())?;
        let (cancel, settings) = (Cancel::default(), Settings::default());
        let simulator = settings.builder(&cancel.token()).build(&cubin).map_err(|error| error.to_string())?;
        let state = State { ready: Some((settings.clone(), cancel.token(), simulator)), ..State::default() };
        Ok(Object { cubin, cancel, settings: Mutex::new(settings), state: Mutex::new(state) })
    }
}

impl State {
    /// Runs a launch.
    fn launch(
        &mut self,
        request: Request,
        cubin: &Cubin,
        settings: Settings,
        cancel: CancelToken,
    ) -> Result<LaunchReport, (orioleResult, String)> {
        let is_same = |(of, token, _): &(Settings, CancelToken, Simulator)| {
            *of == settings && Arc::ptr_eq(token.flag(), cancel.flag())
        };
        let simulator = match self.ready.take().filter(is_same) {
            Some((.., simulator)) => simulator,
            None => settings.builder(&cancel).build(cubin).map_err(wrong_cubin)?,
        };
        let outcome = catching(|| request.run(&simulator, settings.cluster));
        self.ready = Some((settings, cancel, simulator));
        let outcome = outcome.map_err(|message| (orioleResult::ORIOLE_ERROR_INTERNAL, message))?;
        outcome.map_err(|error| {
            let text = error.to_string();
            match error {
                LaunchError::Fault(fault) => {
                    let result = result_of(&fault);
                    self.printed = fault.printed;
                    (result, text)
                }
                LaunchError::OutOfMemory(_) => (orioleResult::ORIOLE_ERROR_OUT_OF_MEMORY, text),
                _ => (orioleResult::ORIOLE_ERROR_INVALID_LAUNCH, text),
            }
        })
    }
}

fn wrong_cubin(error: oriole::CubinError) -> (orioleResult, String) {
    (orioleResult::ORIOLE_ERROR_INVALID_CUBIN, error.to_string())
}

fn result_of(fault: &Fault) -> orioleResult {
    match fault.kind {
        FaultKind::Cancelled => orioleResult::ORIOLE_ERROR_CANCELLED,
        FaultKind::OutOfMemory => orioleResult::ORIOLE_ERROR_OUT_OF_MEMORY,
        _ => orioleResult::ORIOLE_ERROR_FAULT,
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

/// Runs a kernel to its end. Each buffer is device memory of its own as long as the launch; on an error nothing is copied
/// back. Buffers on the host may overlap: of two that are copied back the later argument is what stays.
///
/// `kernel`: its name.
/// `grid`, `block`: how many blocks, and threads of each.
/// `sharedBytes`: bytes of dynamic shared memory.
/// `numArguments`, `arguments`: one for each parameter of the kernel, in their order; null where there are none.
///
/// Errors: `ORIOLE_ERROR_INVALID_SIMULATOR_HANDLE`; `ORIOLE_ERROR_INVALID_INPUT` for null and for an argument of no kind;
/// and, with a text in the error log, `ORIOLE_ERROR_OUT_OF_MEMORY`, `ORIOLE_ERROR_INVALID_LAUNCH`, `ORIOLE_ERROR_CANCELLED`,
/// `ORIOLE_ERROR_FAULT`, `ORIOLE_ERROR_INTERNAL`.
///
/// # Safety
/// `kernel` is a string, `arguments` has as many as said, and the `size` bytes at `data` of each can be read, and written
/// where they are copied back; each where it is not null. They stay so, and nobody writes them, until the launch has ended.
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
    guard(|| {
        let object = object(simulator)?;
        let mut state = lock(&object.state);
        (state.report, state.printed, state.error) = (None, Vec::new(), Log::default());
        // SAFETY: what this function asks of its caller.
        let request = unsafe { Request::new(kernel, [grid, block], sharedBytes, numArguments, arguments) };
        let (settings, cancel) = (lock(&object.settings).clone(), object.cancel.token());
        let report = state.launch(request?, &object.cubin, settings, cancel).map_err(|(result, message)| {
            state.error = Log::new(&message);
            result
        })?;
        state.report = Some(Done::from(&report));
        state.printed = report.printed;
        Ok(())
    })
}

/// Ends the launch that is under way in another thread, soon, and every later one of this simulator at once, with
/// `ORIOLE_ERROR_CANCELLED`. It waits for nothing.
///
/// Errors: `ORIOLE_ERROR_INVALID_SIMULATOR_HANDLE`.
#[unsafe(no_mangle)]
pub extern "C" fn orioleSimulatorCancel(simulator: orioleSimulatorHandle) -> orioleResult {
    guard(|| {
        object(simulator)?.cancel.cancel();
        Ok(())
    })
}

/// Lets a simulator launch again that was cancelled. What was cancelled and is still under way ends all the same.
///
/// Errors: `ORIOLE_ERROR_INVALID_SIMULATOR_HANDLE`.
#[unsafe(no_mangle)]
pub extern "C" fn orioleSimulatorResume(simulator: orioleSimulatorHandle) -> orioleResult {
    guard(|| {
        object(simulator)?.cancel.resume();
        Ok(())
    })
}
