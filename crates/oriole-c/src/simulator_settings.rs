//! What a simulator's launches are bound by. None of these functions waits for a launch: they are for those that begin later.

use crate::launch::orioleDim;
use crate::result::orioleResult;
use crate::simulator::{orioleSimulatorHandle, with_settings};
use oriole::{CancelToken, Simulator, SimulatorBuilder};
use std::ffi::c_int;
use std::num::{NonZeroU32, NonZeroUsize};
use std::time::Duration;

/// Host threads at most: more would only wait for each other.
const MOST_THREADS: u32 = 1024;

/// What a launch is bound by.
#[derive(Clone, PartialEq)]
pub(crate) struct Settings {
    strict: bool,
    timing: bool,
    deterministic: bool,
    /// As many as there are cores where it is not set.
    threads: Option<NonZeroU32>,
    max_instructions: Option<u64>,
    timeout: Option<Duration>,
    /// Bytes of the host.
    memory: Option<u64>,
    pub(crate) cluster: [u32; 3],
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            strict: false,
            timing: false,
            deterministic: false,
            threads: None,
            max_instructions: None,
            timeout: None,
            memory: None,
            cluster: [1; 3],
        }
    }
}

impl Settings {
    /// The settings of a simulator whose launches the token ends.
    pub(crate) fn builder(&self, cancel: &CancelToken) -> SimulatorBuilder {
        let mut builder = Simulator::builder().strict(self.strict).timing(self.timing);
        builder = builder.deterministic(self.deterministic).cancel(cancel.clone());
        if let Some(threads) = self.threads.and_then(|threads| NonZeroUsize::try_from(threads).ok()) {
            builder = builder.threads(threads);
        }
        if let Some(count) = self.max_instructions {
            builder = builder.max_instructions(count);
        }
        if let Some(timeout) = self.timeout {
            builder = builder.timeout(timeout);
        }
        if let Some(bytes) = self.memory {
            builder = builder.memory(bytes);
        }
        builder
    }
}

fn set(simulator: orioleSimulatorHandle, change: impl FnOnce(&mut Settings)) -> orioleResult {
    with_settings(simulator, |settings| {
        change(settings);
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
    set(simulator, |settings| settings.strict = strict != 0)
}

/// Estimates too how many cycles a launch would take on a device: `orioleSimulatorGetReport`.
///
/// `timing`: 0 for no, else yes.
///
/// Errors: `ORIOLE_ERROR_INVALID_SIMULATOR_HANDLE`.
#[unsafe(no_mangle)]
pub extern "C" fn orioleSimulatorSetTiming(simulator: orioleSimulatorHandle, timing: c_int) -> orioleResult {
    set(simulator, |settings| settings.timing = timing != 0)
}

/// Sets how many host threads run blocks side by side.
///
/// `threads`: from 1 on; more than 1024 are 1024.
///
/// Errors: `ORIOLE_ERROR_INVALID_SIMULATOR_HANDLE`, `ORIOLE_ERROR_INVALID_INPUT` for 0.
#[unsafe(no_mangle)]
pub extern "C" fn orioleSimulatorSetThreads(simulator: orioleSimulatorHandle, threads: u32) -> orioleResult {
    with_settings(simulator, |settings| {
        let threads = NonZeroU32::new(threads.min(MOST_THREADS));
        settings.threads = Some(threads.ok_or(orioleResult::ORIOLE_ERROR_INVALID_INPUT)?);
        Ok(())
    })
}

/// Sets how many warp instructions one block may execute before the launch counts as endless, which is a fault.
///
/// Errors: `ORIOLE_ERROR_INVALID_SIMULATOR_HANDLE`.
#[unsafe(no_mangle)]
pub extern "C" fn orioleSimulatorSetMaxInstructions(simulator: orioleSimulatorHandle, count: u64) -> orioleResult {
    set(simulator, |settings| settings.max_instructions = Some(count))
}

/// Sets how long a launch may take on the host; longer is a fault. It is for launches that begin later.
///
/// `milliseconds`: 0 for no bound, as it is at first.
///
/// Errors: `ORIOLE_ERROR_INVALID_SIMULATOR_HANDLE`.
#[unsafe(no_mangle)]
pub extern "C" fn orioleSimulatorSetTimeout(simulator: orioleSimulatorHandle, milliseconds: u64) -> orioleResult {
    set(simulator, |settings| settings.timeout = (milliseconds > 0).then(|| Duration::from_millis(milliseconds)))
}

/// Sets the blocks of a cluster (sm_90 and later) for kernels that do not say it themselves; 1, 1, 1 before it is called.
///
/// Errors: `ORIOLE_ERROR_INVALID_SIMULATOR_HANDLE`.
#[unsafe(no_mangle)]
pub extern "C" fn orioleSimulatorSetCluster(simulator: orioleSimulatorHandle, cluster: orioleDim) -> orioleResult {
    set(simulator, |settings| settings.cluster = cluster.sizes())
}

/// Runs the blocks in one order, whatever the number of host threads: results of blocks that race for global memory are the
/// same each time.
///
/// `deterministic`: 0 for no, else yes.
///
/// Errors: `ORIOLE_ERROR_INVALID_SIMULATOR_HANDLE`.
#[unsafe(no_mangle)]
pub extern "C" fn orioleSimulatorSetDeterministic(
    simulator: orioleSimulatorHandle,
    deterministic: c_int,
) -> orioleResult {
    set(simulator, |settings| settings.deterministic = deterministic != 0)
}

/// Sets how many bytes of the host's memory one launch may take; more is `ORIOLE_ERROR_OUT_OF_MEMORY`. docs/c.md says what
/// counts.
///
/// `bytes`: 0 for no bound but the host's, as it is at first.
///
/// Errors: `ORIOLE_ERROR_INVALID_SIMULATOR_HANDLE`.
#[unsafe(no_mangle)]
pub extern "C" fn orioleSimulatorSetMemoryLimit(simulator: orioleSimulatorHandle, bytes: u64) -> orioleResult {
    set(simulator, |settings| settings.memory = (bytes > 0).then_some(bytes))
}
