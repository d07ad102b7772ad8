//! Loops over lanes with the vector instructions of the host.
//!
//! Oriole is compiled for every processor of its architecture. What it executes most, the arithmetic
//! of instructions, is compiled a second time for the vector and fused operations that processors of
//! the last ten years have, and which of the two runs is decided on the machine. Both give the same
//! bits: the operations are those of IEEE 754, and the compiler never contracts or reorders them.

use crate::effect::Compute;
use crate::state::State;

/// The arithmetic of one instruction, with its operands and modifiers resolved.
///
/// Implementations mark `run` and what it calls in its loops `#[inline(always)]`: only what is inlined
/// is compiled for the host's instructions.
pub(super) trait Kernel: Send + Sync + 'static {
    /// Executes it for the active lanes.
    fn run(&self, state: &mut State);
}

/// Anything that is done to the registers; the compiler may or may not inline it.
impl<F: Fn(&mut State) + Send + Sync + 'static> Kernel for F {
    #[inline(always)]
    fn run(&self, state: &mut State) {
        self(state);
    }
}

/// `kernel` as it runs best on this machine.
pub(super) fn compute(kernel: impl Kernel) -> Compute {
    #[cfg(target_arch = "x86_64")]
    if x86::available() {
        // SAFETY: the processor has the instructions that the function is compiled to.
        return Box::new(move |state: &mut State| unsafe { x86::run(&kernel, state) });
    }
    Box::new(move |state: &mut State| kernel.run(state))
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Kernel, State};

    /// The processor has what [`run`] is compiled to.
    pub(super) fn available() -> bool {
        use std::arch::is_x86_feature_detected as has;
        has!("avx2") && has!("fma") && has!("bmi1") && has!("bmi2") && has!("lzcnt") && has!("popcnt")
    }

    /// Runs the kernel with the instructions named here: without them fused operations, which are
    /// then calls of a library function, take a hundred times as long and others twice as long.
    #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
    pub(super) fn run(kernel: &impl Kernel, state: &mut State) {
        kernel.run(state);
    }
}
