//! Instruction scheduling and control words.
//!
//! Before allocation the blocks of a function are put in order on virtual registers (`before`). Behind it
//! lines of constants are asked for at a kernel's start (`prefetch`), and
//! the hardware instructions are worked on in five steps: the order of each block by list scheduling
//! (`order`), empty loads before asynchronous copies (`drain`), scoreboards and waits over the whole control-flow graph (`scoreboard`), stall counts
//! (`stall`), and the hints (`.reuse`, the stay bit: `hints`). Latencies are the ISA data's.
//!
//! Why an instruction of finished code stands where it stands says [`Explainer`].

mod backward;
mod before;
mod choice;
mod code;
mod dependence;
mod depth_first;
mod drain;
mod evictions;
mod explain;
mod hints;
mod late_loads;
mod length;
mod list;
mod lives;
mod lower;
mod memory;
mod memory_order;
mod order;
mod pace;
mod pipes;
mod prefetch;
mod runs;
#[cfg(test)]
mod sample;
mod scoreboard;
mod seed;
mod sink;
mod stall;
mod survey;
mod timing;
mod units;
mod values;

pub use before::{MOVE_CYCLES, Ordered, SourceOrder, Usage, order_values};
pub use dependence::Cause;
pub use explain::{BlockOrder, Dependence, Explainer, Passed, Reasons};
pub use length::block_cycles;
pub use lower::{Lower, Lowering, Reordering};
pub use seed::OrderSeed;
pub use survey::Survey;

use code::Code;
use oriole_isa::Arch;
use oriole_ori::{Function, MachineError, MachineFunction};

/// What the caller decides.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Change the order of instructions; without it only control words are made.
    pub reorder: bool,
    /// Lines of constants that are asked for at the start of a kernel, at most.
    pub constant_lines: usize,
    /// Which order is taken.
    pub seed: OrderSeed,
}

/// Order the instructions of an allocated function and give each its control word: the hardware instructions, to be
/// encoded as they are. The function is given the same instructions, order and control words, for those who look at it.
///
/// # Errors
/// An instruction has no hardware form: an internal fault.
pub fn schedule(func: &mut Function, arch: Arch, options: &Options) -> Result<MachineFunction, MachineError> {
    if options.reorder {
        prefetch::prefetch_constants(func, options.constant_lines);
        pipes::balance(func, arch);
    }
    let (mut code, mut machine) = Code::new(func, arch)?;
    if options.reorder {
        order::reorder(&mut code, options.seed);
    }
    drain::insert(&mut code, &mut machine);
    scoreboard::assign(&mut code, &mut machine);
    stall::assign(&mut code, &mut machine);
    hints::assign(&mut code, &mut machine);
    code.write_back(&mut machine);
    machine.write_back(func);
    Ok(machine)
}
