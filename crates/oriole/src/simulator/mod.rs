//! Running kernels without a GPU.

mod argument;
mod buffer;
mod fault;
mod finding;
mod launch;
mod report;

pub use argument::{Inner as InnerPointer, Scalar};
pub use buffer::{Direction, HostBuffer};
pub use fault::{Fault, FaultKind, LaunchError};
pub use finding::{Finding, MemoryAccess};
pub use launch::{Dim, KernelLaunch};
pub use report::{LaunchReport, Timing};

use crate::compiled::Cubin;
use crate::error::CubinError;
use crate::limits::CancelToken;
use oriole_sim::Options;
use std::fmt;
use std::time::Duration;

/// A cubin, ours or another compiler's, ready to run. Launches do not see each other, and may come from any number of
/// threads at a time.
pub struct Simulator {
    inner: oriole_sim::Simulator,
    cubin: Cubin,
    checks_memory: bool,
    memory: Option<u64>,
}

impl Simulator {
    /// Settings to start from: not strict, no timing, no limits, as many host threads as there are cores.
    pub fn builder() -> SimulatorBuilder {
        SimulatorBuilder { options: Options::default(), checks_memory: false, memory: None }
    }

    /// Loads a cubin with the default settings.
    ///
    /// # Errors
    /// See [`SimulatorBuilder::build`].
    pub fn new(cubin: &Cubin) -> Result<Simulator, CubinError> {
        Simulator::builder().build(cubin)
    }
}

impl fmt::Debug for Simulator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Simulator").field("cubin", &self.cubin).finish_non_exhaustive()
    }
}

/// Settings of a [`Simulator`].
#[derive(Clone, Debug)]
#[must_use]
pub struct SimulatorBuilder {
    options: Options,
    checks_memory: bool,
    memory: Option<u64>,
}

impl SimulatorBuilder {
    /// Faults where a register is read before its producer's latency has passed, or without the scoreboard wait that it
    /// needs: code that passes does not depend on luck.
    pub fn strict(mut self, strict: bool) -> Self {
        self.options.strict = strict;
        self
    }

    /// Under strict simulation, gives what is read too early its old value, as the hardware would, rather than fault.
    pub fn old_values(mut self, old_values: bool) -> Self {
        self.options.old_values = old_values;
        self
    }

    /// Estimates too how long a launch would take on a device ([`LaunchReport::timing`]).
    pub fn timing(mut self, timing: bool) -> Self {
        self.options.timing = timing;
        self
    }

    /// Looks for races in shared memory, reads of what was never written and accesses outside of variables
    /// ([`LaunchReport::findings`]). Findings do not end a launch. The blocks run on one host thread then.
    pub fn check_memory(mut self, check: bool) -> Self {
        self.checks_memory = check;
        self
    }

    /// Host threads that run blocks side by side, 1024 at most; else as many as the host has cores.
    pub fn threads(mut self, threads: std::num::NonZeroUsize) -> Self {
        self.options.threads = threads.get();
        self
    }

    /// One order of all accesses to memory, whatever the number of host threads: the blocks run on one. Without it the results
    /// of blocks that race for global memory with plain loads and stores may differ from launch to launch.
    pub fn deterministic(mut self, deterministic: bool) -> Self {
        self.options.deterministic = deterministic;
        self
    }

    /// Warp instructions that one block may execute before the launch counts as endless, which is a fault.
    pub fn max_instructions(mut self, count: u64) -> Self {
        self.options.max_instructions = count;
        self
    }

    /// How long a launch may take on the host; longer is a fault.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.options.timeout = Some(timeout);
        self
    }

    /// Bytes of the host's memory that one launch may take; more is an error. What counts is what programs make large: buffers,
    /// variables, the device heap, and of each block that is under way registers, shared and local memory. What the cycle model
    /// and the checks of memory write down does not count, nor what kernels print.
    pub fn memory(mut self, bytes: u64) -> Self {
        self.memory = Some(bytes);
        self
    }

    /// Ends launches when the token is cancelled; it is looked at whenever a warp has had its turn, and now and then within.
    pub fn cancel(mut self, token: CancelToken) -> Self {
        self.options.cancelled = Some(token.0);
        self
    }

    /// Loads a cubin.
    ///
    /// # Errors
    /// Its target is not simulated, or it needs symbols that are not there.
    pub fn build(self, cubin: &Cubin) -> Result<Simulator, CubinError> {
        let inner = oriole_sim::Simulator::new(cubin.parsed(), self.options.clone());
        let inner = inner.map_err(|error| CubinError(error.to_string()))?;
        let SimulatorBuilder { checks_memory, memory, .. } = self;
        Ok(Simulator { inner, cubin: cubin.clone(), checks_memory, memory })
    }
}
