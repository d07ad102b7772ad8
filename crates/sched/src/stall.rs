//! Stall counts: how many cycles after each instruction the next one issues.
//!
//! Within a block each instruction issues as early as the fixed latencies of those before it allow. What issued
//! shortly before a block's start counts too, on any path and at the smallest age there ([`Flow`]): an
//! instruction inside the block issues later, or, for the first one, the block before is left later. Delays make
//! others older, so all of it is solved to one fixed point, in which every distance is kept on every path. The paces of slow units are
//! kept within blocks alone, as ptxas does.

use crate::code::{Accesses, ByRegister, Code, Op, succs};
use crate::timing;
use fixedbitset::FixedBitSet;
use oriole_isa::chip::Unit;
use oriole_isa::latency::{Read, Write};
use oriole_isa::{Control, latency};
use oriole_ori::MachineFunction;
use smallvec::{Array, SmallVec};
use std::collections::BTreeSet;

/// What issued this many cycles ago or more matters no longer.
const WINDOW: u32 = latency::LONGEST as u32;
/// The largest stall count.
const MAX_STALL: u32 = 15;

/// Set the stall counts of all instructions; NOPs are put in where one count is too small.
pub(crate) fn assign(code: &mut Code, machine: &mut MachineFunction) {
    let flow = Flow::new(code, machine);
    let times = Solver::new(code, &flow).solve();
    for (block, times) in times.iter().enumerate() {
        write_stalls(code, machine, block, times);
    }
}

/// The ways between the blocks that have instructions: an empty block has nothing that could wait, so it is
/// passed over and whoever leads to it leads to what comes after.
struct Flow {
    succs: Vec<SmallVec<[u32; 2]>>,
    preds: Vec<SmallVec<[u32; 2]>>,
}

impl Flow {
    fn new(code: &Code, machine: &MachineFunction) -> Self {
        let count = code.ops.len();
        let mut flow = Flow { succs: vec![SmallVec::new(); count], preds: vec![SmallVec::new(); count] };
        let mut passed = FixedBitSet::with_capacity(count);
        for block in (0..count).filter(|block| !code.ops[*block].is_empty()) {
            let mut work: SmallVec<[usize; 8]> = succs(machine, block).collect();
            let mut met: SmallVec<[usize; 8]> = SmallVec::new();
            while let Some(next) = work.pop() {
                if passed.put(next) {
                    continue;
                }
                met.push(next);
                if code.ops[next].is_empty() {
                    work.extend(succs(machine, next));
                } else {
                    flow.succs[block].push(next as u32);
                    flow.preds[next].push(block as u32);
                }
            }
            met.into_iter().for_each(|next| passed.set(next, false));
        }
        flow
    }

    /// Whether a block only goes on with the one before it: no jump leads to it, and none ends that one.
    fn goes_on(&self, code: &Code, block: usize) -> bool {
        let before = (0..block).rev().find(|before| !code.ops[*before].is_empty());
        let falls_through = |before: usize| code.ops[before].last().is_some_and(|op| !op.terminator);
        before.is_some_and(|before| self.preds[block][..] == [before as u32] && falls_through(before))
    }
}

/// An instruction, by block and place in it, that issued `age` cycles before a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Recent {
    at: (u32, u32),
    age: u32,
    /// With that age nobody has to keep a distance any more.
    reach: u32,
}

/// When each instruction of a block issues, in cycles from the first.
struct Times {
    issue: Vec<u32>,
    /// When the next block's first instruction may issue.
    end: u32,
    /// The first instruction that may leave the block: of two branches at its end the first.
    first_exit: usize,
}

impl Times {
    /// As early as the block's own instructions allow. `recent` is empty before and after. `free` tells from when on each slow unit takes
    /// another instruction, in cycles from the start of the block, and then from its end.
    fn new(ops: &[Op], code: &Code, recent: &mut RecentAccesses, free: &mut [u32; Unit::COUNT]) -> Self {
        let mut issue: Vec<u32> = Vec::with_capacity(ops.len());
        // Those whose own stalls may not be over: what came sooner does not end them.
        let mut stalls: SmallVec<[usize; 4]> = SmallVec::new();
        for (at, op) in ops.iter().enumerate() {
            let own =
                stalls.iter().map(|p| issue[*p] + timing::stall_between(&ops[*p], op, code.arch)).max().unwrap_or(0);
            let mut time = own.max(recent.earliest(&code.accesses, op));
            if op.leaves {
                let near = (0..at).rev().take_while(|p| issue[*p] + WINDOW >= own);
                let needed = near.map(|p| issue[p] + timing::distance(&code.accesses, &ops[p], op));
                time = needed.fold(time, u32::max);
            }
            if let Some(pace) = op.pace {
                let free = &mut free[pace.unit as usize];
                time = time.max(*free);
                *free = time + u32::from(pace.cycles);
            }
            recent.issue(&code.accesses, op, time);
            issue.push(time);
            stalls.retain(|p| issue[*p] + timing::own_stall(&ops[*p], code.arch) > time + 1);
            stalls.push(at);
        }
        recent.forget();
        let end = ops.last().map_or(0, |op| issue[issue.len() - 1] + timing::stall_at_end(op, code.arch));
        let end = stalls.iter().map(|p| issue[*p] + timing::own_stall(&ops[*p], code.arch)).fold(end, u32::max);
        free.iter_mut().for_each(|free| *free = free.saturating_sub(end));
        Times { issue, end, first_exit: ops.iter().position(|op| op.terminator).unwrap_or(ops.len()) }
    }

    /// When the next block's first instruction may issue if the block is left as early as it can be.
    fn leave(&self) -> u32 {
        self.issue.get(self.first_exit + 1).copied().unwrap_or(self.end)
    }

    /// Lets the instruction at place `from` and all after it issue some cycles later.
    fn delay(&mut self, from: usize, cycles: u32) {
        self.issue.iter_mut().skip(from).for_each(|time| *time += cycles);
        self.end += cycles;
    }
}

/// A block begins with its first instruction: what that waits for a slow unit the block before it waits at its end.
fn leave_later(times: &mut [Times], preds: &[u32], block: usize) {
    let Some(late) = times[block].issue.first().copied().filter(|late| *late > 0) else { return };
    times[block].issue.iter_mut().for_each(|time| *time -= late);
    times[block].end -= late;
    preds.iter().for_each(|pred| times[*pred as usize].end += late);
}

/// What the instructions of a block did to one register before: by what distances are looked up, and when last. What issued
/// earlier and has the same distances is farther away from all that comes.
#[derive(Clone, Default)]
struct Recently {
    writes: SmallVec<[(u32, Option<Write>); 2]>,
    reads: SmallVec<[(u32, Option<Read>); 4]>,
}

/// It was done again now.
fn renew<K: PartialEq>(list: &mut SmallVec<impl Array<Item = (u32, K)>>, kind: K, now: u32) {
    match list.iter_mut().find(|(_, other)| *other == kind) {
        Some((issued, _)) => *issued = now,
        None => list.push((now, kind)),
    }
}

/// The same for all registers and scoreboards.
struct RecentAccesses {
    registers: ByRegister<Recently>,
    /// When each scoreboard was last set.
    set: [Option<u32>; Control::NO_SCOREBOARD as usize],
}

impl RecentAccesses {
    fn new() -> Self {
        RecentAccesses { registers: ByRegister::new(), set: Default::default() }
    }

    /// When an instruction may issue for all that it touches.
    fn earliest(&self, accesses: &Accesses, op: &Op) -> u32 {
        let mut time = 0;
        for place in accesses.uses(op) {
            for (issued, write) in &self.registers.get(place.reg).writes {
                time = time.max(issued + timing::raw(*write, place.read));
            }
        }
        for def in accesses.defs(op) {
            let Recently { writes, reads } = self.registers.get(def.reg);
            let after_writes = writes.iter().map(|(issued, write)| issued + timing::waw(*write, def.write));
            let after_reads = reads.iter().map(|(issued, read)| issued + timing::war(*read, def.write));
            time = after_writes.chain(after_reads).fold(time, u32::max);
        }
        if op.control.wait_mask == 0 {
            return time;
        }
        let waits = (0..self.set.len()).filter(|scoreboard| op.control.wait_mask >> scoreboard & 1 == 1);
        let set = waits.filter_map(|scoreboard| self.set[scoreboard]);
        set.map(|issued| issued + u32::from(latency::SET_TO_WAIT)).fold(time, u32::max)
    }

    /// An instruction issues.
    fn issue(&mut self, accesses: &Accesses, op: &Op, now: u32) {
        for place in accesses.uses(op) {
            renew(&mut self.registers.touch(place.reg).reads, place.read, now);
        }
        // Of results that come at no fixed time, scoreboards tell.
        for def in accesses.defs(op).iter().filter(|_| !op.variable) {
            renew(&mut self.registers.touch(def.reg).writes, def.write, now);
        }
        for scoreboard in [op.control.write_scoreboard, op.control.read_scoreboard] {
            if let Some(set) = self.set.get_mut(usize::from(scoreboard)) {
                *set = Some(now);
            }
        }
    }

    fn forget(&mut self) {
        self.registers.forget(|recently| {
            recently.writes.clear();
            recently.reads.clear();
        });
        self.set = Default::default();
    }
}

/// Finds issue times that keep every distance: delays only ever grow, each by what some distance lacks, so no
/// gap exceeds [`WINDOW`] and the search ends.
struct Solver<'a> {
    code: &'a Code,
    flow: &'a Flow,
    times: Vec<Times>,
    /// What issued less than [`WINDOW`] cycles before each block is left, at the smallest age, by place.
    out: Vec<Vec<Recent>>,
}

impl<'a> Solver<'a> {
    fn new(code: &'a Code, flow: &'a Flow) -> Self {
        let mut recent = RecentAccesses::new();
        let mut free = [0; Unit::COUNT];
        let mut times = Vec::with_capacity(code.ops.len());
        for (block, ops) in code.ops.iter().enumerate() {
            if !flow.goes_on(code, block) {
                free = [0; Unit::COUNT];
            }
            times.push(Times::new(ops, code, &mut recent, &mut free));
            leave_later(&mut times, &flow.preds[block], block);
        }
        Solver { code, flow, times, out: vec![Vec::new(); code.ops.len()] }
    }

    fn solve(mut self) -> Vec<Times> {
        let count = self.code.ops.len();
        let mut changed: BTreeSet<usize> = (0..count).filter(|block| !self.code.ops[*block].is_empty()).collect();
        let mut last = 0;
        // Round after round in the order of the layout: mostly what comes before a block has been done before it.
        while let Some(block) = changed.range(last..).next().or(changed.first()).copied() {
            changed.remove(&block);
            last = block;
            if self.update(block) {
                changed.extend(self.flow.succs[block].iter().map(|succ| *succ as usize));
            }
        }
        self.times
    }

    /// Makes a block keep all distances that its instructions and those first after it ask for, as far as is
    /// known of what comes before it. Whether what comes after it has to be looked at again.
    fn update(&mut self, block: usize) -> bool {
        let entry = self.recent_at_entry(block);
        self.delay_inside(block, &entry);
        if self.flow.succs[block].is_empty() {
            return false;
        }
        let mut out = self.recent_at_end(block, &entry);
        let firsts = self.flow.succs[block].iter().map(|succ| &self.code.ops[*succ as usize][0]);
        let late = firsts.map(|first| self.lacking(&out, 0, first)).max().unwrap_or(0);
        if late > 0 {
            let after_exit = self.times[block].first_exit + 1;
            self.times[block].delay(after_exit, late);
            out.iter_mut().for_each(|recent| recent.age += late);
            out.retain(|recent| recent.age < recent.reach);
        }
        let differs = self.out[block] != out;
        self.out[block] = out;
        differs
    }

    /// Cycles that `op` has to wait until it keeps its distances to all of `recent`, if it issues `since` the point at which they are
    /// so old.
    fn lacking(&self, recent: &[Recent], since: u32, op: &Op) -> u32 {
        let near = recent.iter().filter(|r| r.age + since < r.reach);
        let lacks = |r: &Recent| timing::distance(&self.code.accesses, self.op(r.at), op).saturating_sub(r.age + since);
        near.map(lacks).max().unwrap_or(0)
    }

    fn op(&self, (block, at): (u32, u32)) -> &'a Op {
        &self.code.ops[block as usize][at as usize]
    }

    /// The smallest ages over all blocks before.
    fn recent_at_entry(&self, block: usize) -> Vec<Recent> {
        let preds = &self.flow.preds[block];
        let mut entry: Vec<Recent> = preds.iter().flat_map(|pred| self.out[*pred as usize].iter().copied()).collect();
        keep_youngest(&mut entry);
        entry
    }

    /// The first instruction's distances are the business of the blocks before.
    fn delay_inside(&mut self, block: usize, entry: &[Recent]) {
        let code = self.code;
        for (at, op) in code.ops[block].iter().enumerate().skip(1) {
            let since = self.times[block].issue[at];
            if entry.is_empty() || since >= WINDOW {
                break;
            }
            let late = self.lacking(entry, since, op);
            if late > 0 {
                self.times[block].delay(at, late);
            }
        }
    }

    fn recent_at_end(&self, block: usize, entry: &[Recent]) -> Vec<Recent> {
        let times = &self.times[block];
        let leave = times.leave();
        let accesses = &self.code.accesses;
        let before = entry.iter().map(|recent| Recent { age: recent.age + leave, ..*recent });
        let ops = &self.code.ops[block];
        let late = (0..ops.len()).rev().take_while(|at| times.issue[*at] + WINDOW > leave);
        let own = late.map(|at| {
            // What stands behind the first branch is met only by the way through it.
            let end = if at <= times.first_exit { leave } else { times.end };
            let reach = timing::reach(accesses, &ops[at]);
            Recent { at: (block as u32, at as u32), age: end - times.issue[at], reach }
        });
        let mut recent: Vec<Recent> = before.chain(own).filter(|recent| recent.age < recent.reach).collect();
        keep_youngest(&mut recent);
        recent
    }
}

/// Sort by place; of each instruction only the smallest age stays.
fn keep_youngest(recent: &mut Vec<Recent>) {
    recent.sort_unstable();
    recent.dedup_by_key(|recent| recent.at);
}

fn write_stalls(code: &mut Code, machine: &mut MachineFunction, block: usize, times: &Times) {
    let gap = |at: usize| times.issue.get(at + 1).copied().unwrap_or(times.end) - times.issue[at];
    if (0..times.issue.len()).all(|at| gap(at) <= MAX_STALL) {
        code.ops[block].iter_mut().enumerate().for_each(|(at, op)| op.control.stall = gap(at) as u8);
        return;
    }
    let ops = std::mem::take(&mut code.ops[block]);
    let mut new = Vec::with_capacity(ops.len());
    for (at, mut op) in ops.into_iter().enumerate() {
        let mut gap = gap(at);
        let mut nops = Vec::new();
        while gap > MAX_STALL {
            let step = (gap - MAX_STALL).min(MAX_STALL);
            nops.push(Op::nop(machine, Control { stall: step as u8, ..Control::NONE }));
            gap -= step;
        }
        op.control.stall = gap as u8;
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
