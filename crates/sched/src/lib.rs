//! Instruction scheduling and control words.
//!
//! Works on allocated functions, in four steps: the order of each block by list scheduling
//! (`order`), scoreboards and waits over the whole control-flow graph (`scoreboard`), stall counts
//! (`stall`), and the hints (`.reuse`, the stay bit: `hints`). Latencies are the ISA data's.

mod code;
mod dependence;
mod hints;
mod memory;
mod order;
mod scoreboard;
mod stall;
mod timing;

use code::Code;
use oriole_isa::Arch;
use oriole_ori::{BuildError, Function, MachineError};

/// What the caller decides.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Change the order of instructions; without it only control words are made.
    pub reorder: bool,
}

/// Scheduling failed.
#[derive(Debug, thiserror::Error)]
pub enum ScheduleError {
    /// An instruction has no hardware form: an internal fault.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// A limit of the IR.
    #[error(transparent)]
    Limit(#[from] BuildError),
}

/// Order the instructions of an allocated function and give each its control word.
pub fn schedule(func: &mut Function, arch: Arch, options: &Options) -> Result<(), ScheduleError> {
    let mut code = Code::new(func, arch)?;
    if options.reorder {
        order::reorder(&mut code);
    }
    scoreboard::assign(&mut code, func);
    stall::assign(&mut code, func);
    hints::assign(&mut code, func);
    code.write_back(func);
    Ok(())
}
