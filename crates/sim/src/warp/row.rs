//! Instructions in a row: what a group executes up to the next jump or barrier.
//!
//! Nearly all time of a simulation is spent here, so everything that can be done once for a row of
//! instructions is: finding the group and the code, checking limits, counting.

use super::{Pause, Step, Stop, Warp};
use crate::block_state::BlockState;
use crate::halt::Halt;
use crate::instruction::{Action, INSTRUCTION};
use crate::machine::Machine;
use crate::stats::{Counts, Row};
use crate::threads::Wait;

/// How a row of instructions ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowEnd {
    /// The next instruction is not for a row, or nothing more may be executed.
    Stopped,
    /// The next instruction needs the block's turn.
    NeedsTurn,
}

impl Warp {
    /// Runs for up to `left` instructions, and takes those executed from it.
    pub(crate) fn run(
        &mut self,
        machine: &Machine<'_>,
        block: &mut BlockState,
        left: &mut u32,
        counts: &mut Counts,
    ) -> Result<Pause, Stop> {
        let is_watched = self.hazards.is_some() || block.log.is_some();
        while *left > 0 {
            if !is_watched {
                if self.run_row(machine, block, left, counts)? == RowEnd::NeedsTurn {
                    return Ok(Pause::NeedsTurn);
                }
                if *left == 0 {
                    break;
                }
            }
            match self.step_one(machine, block, counts)? {
                Step::Issued(_) => *left -= 1,
                Step::Paused(pause) => return Ok(pause),
            }
        }
        Ok(Pause::Slice)
    }

    /// Executes arithmetic and memory instructions of the current group in a row, up to `left`, and
    /// takes those executed from it.
    pub(super) fn run_row(
        &mut self,
        machine: &Machine<'_>,
        block: &mut BlockState,
        left: &mut u32,
        counts: &mut Counts,
    ) -> Result<RowEnd, Stop> {
        let most = self.most_in_row(machine, block, *left);
        let helpers = self.helpers.lanes();
        let Some(group) = self.threads.group_mut().filter(|group| group.wait == Wait::Nothing) else {
            return Ok(RowEnd::Stopped);
        };
        if group.retries {
            return Ok(RowEnd::Stopped);
        }
        block.retries = false;
        let (first, mask) = (group.pc, group.mask | helpers);
        let Some(section) = machine.program.section(first).filter(|_| first % INSTRUCTION == 0) else {
            return Ok(RowEnd::Stopped);
        };
        let ops = machine.program.ops(section).get(((first - section.base) / INSTRUCTION) as usize..);
        let before = block.instructions;
        let mut env = block.env(&machine.resources, &mut self.local, self.barrier_result);
        let (state, mut row, mut end) = (&mut self.state, Row::default(), Ok(RowEnd::Stopped));
        for op in ops.unwrap_or_default().iter().take(most as usize) {
            let active = op.guard.active(state, mask);
            match &op.action {
                Action::Compute(compute) if active != 0 => {
                    state.active = active;
                    compute(state);
                }
                Action::Effect(effect) if active != 0 => {
                    state.active = active;
                    env.instructions = before + row.instructions;
                    match effect(state, &mut env) {
                        Ok(()) => {}
                        // It waits; that is not for a row.
                        Err(Halt::NotYet(_)) => break,
                        Err(Halt::NeedsTurn) => {
                            end = Ok(RowEnd::NeedsTurn);
                            break;
                        }
                        Err(Halt::Fault { lane, kind }) => {
                            let pc = first + INSTRUCTION * row.instructions;
                            end = Err(Stop { pc, lane, kind });
                            break;
                        }
                    }
                }
                Action::Flow(_) | Action::Impossible(_) | Action::PastBank(..) if active != 0 => break,
                Action::Nothing => row.nothings += 1,
                _ => {}
            }
            state.clock += 1;
            row.instructions += 1;
            row.idle_lanes += u64::from((mask & !active).count_ones());
            counts.opcode(op.opcode);
        }
        group.pc = first + INSTRUCTION * row.instructions;
        let executed = row.instructions as u32;
        counts.record_row(&row, mask);
        block.instructions += row.instructions;
        self.group_slice += executed;
        *left -= executed;
        end
    }

    /// Instructions that the current group may execute before something has to be looked at again.
    fn most_in_row(&self, machine: &Machine<'_>, block: &BlockState, left: u32) -> u32 {
        let until_limit = machine.max_instructions.saturating_sub(block.instructions);
        u64::from(left).min(until_limit) as u32
    }
}
