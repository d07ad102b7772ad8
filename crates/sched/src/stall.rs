//! Stall counts: how many cycles after each instruction the next one issues.
//!
//! Within a block each instruction issues as early as the fixed latencies of those before it allow.
//! Across blocks the instructions of the last cycles before a block's start (on any path, at the
//! smallest age) count too; where they demand time before the block's first instruction, the blocks
//! before it end later.

use crate::code::{Code, Op};
use crate::timing;
use oriole_isa::{Mods, Opcode};
use oriole_ori::{Function, Inst, InstFlags};
use std::collections::BTreeMap;

/// No fixed latency is longer than this many cycles.
const WINDOW: u32 = 40;
/// The largest stall count.
const MAX_STALL: u32 = 15;

/// An instruction that issued `age` cycles before a point.
type Recent = BTreeMap<(u32, u32), u32>;

/// Set the stall counts of all instructions; NOPs are put in where one count is too small.
pub(crate) fn assign(code: &mut Code, func: &mut Function) {
    let times: Vec<Times> = (0..code.ops.len()).map(|block| issue_times(code, block, &Recent::new())).collect();
    let entry = recent_at_entry(code, func, &times);
    let mut before_entry = vec![0; code.ops.len()];
    let mut all = Vec::with_capacity(code.ops.len());
    for block in 0..code.ops.len() {
        let times = issue_times(code, block, &entry[block]);
        before_entry[block] = times.before_first;
        all.push(times);
    }
    for (block, times) in all.iter_mut().enumerate() {
        let wanted = code.succs(func, block).map(|succ| before_entry[succ]).max().unwrap_or(0);
        times.leave_later(wanted);
    }
    for (block, times) in all.iter().enumerate() {
        write_stalls(code, func, block, times);
    }
}

/// When each instruction of a block issues, in cycles from the first.
struct Times {
    issue: Vec<u32>,
    /// When the next block's first instruction may issue.
    end: u32,
    /// The first instruction that may leave the block: of two branches at its end the first.
    first_exit: usize,
    /// Cycles that the first instruction would have to wait on entry.
    before_first: u32,
}

impl Times {
    /// When the next block's first instruction may issue if the block is left as early as it can be.
    fn leave(&self) -> u32 {
        self.issue.get(self.first_exit + 1).copied().unwrap_or(self.end)
    }

    /// Keeps control in the block for some more cycles, whichever branch leaves it.
    fn leave_later(&mut self, cycles: u32) {
        self.issue.iter_mut().skip(self.first_exit + 1).for_each(|time| *time += cycles);
        self.end += cycles;
    }
}

fn issue_times(code: &Code, block: usize, entry: &Recent) -> Times {
    let ops = &code.ops[block];
    let mut issue = Vec::with_capacity(ops.len());
    let mut before_first = 0;
    let mut window_start = 0;
    for (at, op) in ops.iter().enumerate() {
        let own = at.checked_sub(1).map_or(0, |p| issue[p] + timing::stall_between(&ops[p], op, code.arch));
        let mut time = own;
        while window_start < at && issue[window_start] + WINDOW < own {
            window_start += 1;
        }
        for earlier in window_start..at {
            time = time.max(issue[earlier] + timing::distance(&ops[earlier], op, code.arch));
        }
        if own < WINDOW {
            for ((b, i), age) in entry {
                let needed = timing::distance(&code.ops[*b as usize][*i as usize], op, code.arch);
                time = time.max(needed.saturating_sub(age + before_first));
            }
        }
        if at == 0 {
            before_first = time;
            time = 0;
        }
        issue.push(time);
    }
    let end = ops.last().map_or(0, |op| issue[issue.len() - 1] + timing::stall_at_end(op, code.arch));
    let first_exit = ops.iter().position(|op| op.terminator).unwrap_or(ops.len());
    Times { issue, end, first_exit, before_first }
}

/// For each block, what issued shortly before its start on any path, at the smallest age.
fn recent_at_entry(code: &Code, func: &Function, times: &[Times]) -> Vec<Recent> {
    let mut entry = vec![Recent::new(); code.ops.len()];
    let mut work: Vec<usize> = (0..code.ops.len()).rev().collect();
    let mut queued = vec![true; code.ops.len()];
    while let Some(block) = work.pop() {
        queued[block] = false;
        let out = recent_at_end(code, block, &entry[block], &times[block]);
        for succ in code.succs(func, block) {
            let mut changed = false;
            for (key, age) in &out {
                let known = entry[succ].entry(*key).or_insert(u32::MAX);
                changed |= *age < *known;
                *known = (*known).min(*age);
            }
            if changed && !queued[succ] {
                queued[succ] = true;
                work.push(succ);
            }
        }
    }
    entry
}

fn recent_at_end(code: &Code, block: usize, entry: &Recent, times: &Times) -> Recent {
    let leave = times.leave();
    let mut recent: Recent = entry.iter().map(|(key, age)| (*key, age + leave)).collect();
    for (at, op) in code.ops[block].iter().enumerate() {
        if !op.defs.is_empty() || !op.uses.is_empty() {
            // What stands behind the first branch is met only by the way through it.
            let end = if at <= times.first_exit { leave } else { times.end };
            recent.insert((block as u32, at as u32), end - times.issue[at]);
        }
    }
    recent.retain(|_, age| *age < WINDOW);
    recent
}

fn write_stalls(code: &mut Code, func: &mut Function, block: usize, times: &Times) {
    let ops = std::mem::take(&mut code.ops[block]);
    let mut new = Vec::with_capacity(ops.len());
    for (at, mut op) in ops.into_iter().enumerate() {
        let next = times.issue.get(at + 1).copied().unwrap_or(times.end);
        let mut gap = next - times.issue[at];
        let mut nops = Vec::new();
        while gap > MAX_STALL {
            let step = (gap - MAX_STALL).min(MAX_STALL);
            nops.push(waiting_nop(func, step));
            gap -= step;
        }
        op.inst.control.stall = gap as u8;
        // A long wait behind a branch goes before it, where it serves both ways.
        if op.terminator {
            new.extend(nops);
            new.push(op);
        } else {
            new.push(op);
            new.extend(nops);
        }
    }
    code.ops[block] = new;
}

fn waiting_nop(func: &mut Function, stall: u32) -> Op {
    let mut inst = Inst::neutral(Opcode::NOP, Mods::new());
    inst.flags |= InstFlags::VOLATILE;
    let mut op = Op::nop(func.add_inst(inst));
    op.inst.control.stall = stall as u8;
    op
}
