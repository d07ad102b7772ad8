//! Which scoreboard a release gets: one on which nobody waits longer for it, and it for nobody.
//!
//! Who waits for a scoreboard waits for all that is outstanding there. So each release goes where that costs least: by when
//! things are there, and when they are first asked for, as far as the block's data flow says. What is outstanding where a block
//! begins counts, too: in a loop that is what was begun before it, and by the iteration before.

use super::{Assignment, Completion, GROUP_ENDS, GROUPS, OwnReleases, Release, SCOREBOARDS};
use crate::code::{AWAITED, ByRegister, Code, Op, REGISTERS, Reg, succs};
use oriole_isa::Opcode;
use oriole_ori::MachineFunction;
use smallvec::SmallVec;

/// Cycles until a result of fixed latency is there.
const FIXED: u32 = 4;
/// Cycles until an instruction of variable latency has read its registers.
const READ: u32 = 12;
/// Cycles behind a block's end until what is not asked for in it may be.
const BEYOND: u32 = 16;
/// What it costs to put a result on the last scoreboard: sources then have none on which nobody waits long. Measured on
/// the launches of the kernels.
const SPOILED: u32 = 20;
/// Not in this block.
const NOWHERE: u32 = u32::MAX;

/// A release that is outstanding.
#[derive(Clone, Copy)]
struct Open {
    release: u32,
    /// The place of the instruction of the block that first waits for it.
    asked_at: u32,
    /// When it is there, in cycles from the block's start.
    ready: u32,
}

/// What is outstanding by scoreboard.
type Opens = [SmallVec<[Open; 4]>; SCOREBOARDS];

/// The places of the block's instructions that touch a register first, from 1.
#[derive(Clone, Copy, Default)]
struct Touched {
    read: u32,
    written: u32,
}

/// Sets of registers, as bits.
const WORDS: usize = (REGISTERS + AWAITED).div_ceil(64);
type RegSet = [u64; WORDS];

/// What is touched in a block or behind it, on any way.
#[derive(Clone, Default, PartialEq)]
struct Ahead {
    read: RegSet,
    written: RegSet,
    leaves: bool,
}

impl Ahead {
    fn of(ops: &[Op], code: &Code) -> Ahead {
        let mut ahead = Ahead::default();
        for op in ops {
            code.accesses.uses(op).iter().for_each(|access| insert(&mut ahead.read, access.reg));
            code.accesses.defs(op).iter().for_each(|access| insert(&mut ahead.written, access.reg));
            let awaited = Completion::ALL.iter().filter(|completion| completion.is_awaited_by(op));
            awaited.for_each(|completion| insert(&mut ahead.written, completion.reg()));
            ahead.leaves |= waits_for_all(op);
        }
        ahead
    }

    fn union(&mut self, other: &Ahead) {
        self.read.iter_mut().zip(other.read).for_each(|(to, from)| *to |= from);
        self.written.iter_mut().zip(other.written).for_each(|(to, from)| *to |= from);
        self.leaves |= other.leaves;
    }

    /// Whether somebody may ask for a release.
    fn asks_for(&self, release: &Release) -> bool {
        let asks = |reg: &Reg| contains(&self.written, *reg) || release.is_result && contains(&self.read, *reg);
        self.leaves || release.regs.iter().any(asks)
    }
}

fn insert(set: &mut RegSet, reg: Reg) {
    set[reg as usize / 64] |= 1 << (reg % 64);
}

fn contains(set: &RegSet, reg: Reg) -> bool {
    set[reg as usize / 64] >> (reg % 64) & 1 == 1
}

/// Whether an instruction waits for all that is outstanding.
fn waits_for_all(op: &Op) -> bool {
    op.leaves || op.opcode == Opcode::USETMAXREG
}

/// By block: what is touched behind it.
fn ahead(code: &Code, machine: &MachineFunction) -> Vec<Ahead> {
    let own: Vec<Ahead> = code.ops.iter().map(|ops| Ahead::of(ops, code)).collect();
    let mut ahead = vec![Ahead::default(); own.len()];
    let mut changed = true;
    while changed {
        changed = false;
        for block in (0..own.len()).rev() {
            let mut now = ahead[block].clone();
            for succ in succs(machine, block) {
                now.union(&own[succ]);
                now.union(&ahead[succ]);
            }
            changed |= now != ahead[block];
            ahead[block] = now;
        }
    }
    ahead
}

/// What goes through the blocks.
struct Chooser<'a> {
    code: &'a Code,
    /// The first scoreboard that is given out.
    first: usize,
    touched: ByRegister<Touched>,
    /// When a register's value is there.
    there: ByRegister<u32>,
    /// By place: when the instruction issues, and at the end the block's end.
    issue: Vec<u32>,
    /// By scoreboard: when it was last given out.
    given: [u32; SCOREBOARDS],
    clock: u32,
}

/// Give each release a scoreboard.
pub(super) fn choose(code: &Code, machine: &MachineFunction, assignment: &mut Assignment) {
    let has_groups = code.ops.iter().flatten().any(|op| GROUP_ENDS.iter().any(|(end, _)| *end == op.opcode));
    let mut chooser = Chooser {
        code,
        first: if has_groups { usize::from(GROUPS) + 1 } else { 0 },
        touched: ByRegister::new(),
        there: ByRegister::new(),
        issue: Vec::new(),
        given: [0; SCOREBOARDS],
        clock: 0,
    };
    let ahead = ahead(code, machine);
    let mut entry: Vec<Opens> = vec![Opens::default(); code.ops.len()];
    let mut goes_round = false;
    for pass in 0..2 {
        for block in 0..code.ops.len() {
            let mut opens = entry[block].clone();
            chooser.block(block, &mut opens, assignment, &ahead[block]);
            for succ in succs(machine, block) {
                let is_new = merge(&mut entry[succ], &opens);
                goes_round |= is_new && succ <= block;
            }
        }
        if !goes_round || pass == 1 {
            break;
        }
    }
}

/// What may be outstanding on one way, too. Whether that is more.
fn merge(entry: &mut Opens, opens: &Opens) -> bool {
    let mut any = false;
    for (entry, opens) in entry.iter_mut().zip(opens) {
        for open in opens {
            match entry.iter_mut().find(|known| known.release == open.release) {
                Some(known) => known.ready = known.ready.max(open.ready),
                None => {
                    entry.push(*open);
                    any = true;
                }
            }
        }
    }
    any
}

/// The first of two places from 1, of which 0 is none.
fn first_of(a: u32, b: u32) -> u32 {
    if a == 0 || b != 0 && b < a { b } else { a }
}

impl Chooser<'_> {
    fn block(&mut self, block: usize, opens: &mut Opens, assignment: &mut Assignment, ahead: &Ahead) {
        let code = self.code;
        let ops = &code.ops[block];
        self.time(ops);
        let mut asked: Vec<(u32, u32)> = vec![(NOWHERE, NOWHERE); ops.len()];
        let mut leaves = NOWHERE;
        for (at, op) in ops.iter().enumerate().rev() {
            let own = assignment.own[block][at];
            asked[at] = (
                self.asked(own.result, leaves, &assignment.releases),
                self.asked(own.source, leaves, &assignment.releases),
            );
            self.touch(at, op);
            if waits_for_all(op) {
                leaves = at as u32;
            }
        }
        for open in opens.iter_mut().flatten() {
            open.asked_at = self.asked(Some(open.release), leaves, &assignment.releases);
        }
        self.touched.forget(|touched| *touched = Touched::default());
        for (at, op) in ops.iter().enumerate() {
            for opens in opens.iter_mut() {
                if opens.iter().any(|open| open.asked_at == at as u32) {
                    opens.clear();
                }
            }
            let OwnReleases { result, source } = assignment.own[block][at];
            let issue = self.issue[at];
            let own = [(result, asked[at].0, op.opcode.estimate(), true), (source, asked[at].1, READ, false)];
            for (release, asked_at, latency, is_result) in own {
                let Some(release) = release else { continue };
                if asked_at == NOWHERE && !ahead.asks_for(&assignment.releases[release as usize]) {
                    let own = &mut assignment.own[block][at];
                    if is_result {
                        own.result = None
                    } else {
                        own.source = None
                    }
                    continue;
                }
                if !is_result && result.is_some() && asked[at].0 <= asked_at && asked[at].0 != NOWHERE {
                    assignment.own[block][at].source = None;
                    continue;
                }
                let open = Open { release, asked_at, ready: issue + latency };
                let scoreboard = self.cheapest(open, opens, is_result);
                self.clock += 1;
                self.given[scoreboard] = self.clock;
                opens[scoreboard].push(open);
                assignment.releases[release as usize].scoreboard = scoreboard as u8;
            }
        }
        let end = self.end();
        for open in opens.iter_mut().flatten() {
            open.ready = open.ready.saturating_sub(end);
        }
    }

    fn end(&self) -> u32 {
        self.issue.last().copied().unwrap_or(0)
    }

    /// When the block's instructions issue if each waits for nothing but what it reads.
    fn time(&mut self, ops: &[Op]) {
        self.issue.clear();
        let mut now = 0;
        for op in ops {
            let time = self.code.accesses.uses(op).iter().map(|access| *self.there.get(access.reg)).fold(now, u32::max);
            self.issue.push(time);
            let latency = if op.variable { op.opcode.estimate() } else { FIXED };
            for def in self.code.accesses.defs(op) {
                *self.there.touch(def.reg) = time + latency;
            }
            now = time + 1;
        }
        self.issue.push(now);
        self.there.forget(|time| *time = 0);
    }

    /// The first place behind which a release is asked for.
    fn asked(&self, release: Option<u32>, leaves: u32, releases: &[Release]) -> u32 {
        let Some(release) = release else { return NOWHERE };
        let Release { regs, is_result, .. } = &releases[release as usize];
        let first = regs.iter().fold(0, |first, reg| {
            let Touched { read, written } = *self.touched.get(*reg);
            let first = first_of(first, written);
            if *is_result { first_of(first, read) } else { first }
        });
        leaves.min(first.wrapping_sub(1))
    }

    fn touch(&mut self, at: usize, op: &Op) {
        let place = at as u32 + 1;
        for access in self.code.accesses.uses(op) {
            self.touched.touch(access.reg).read = place;
        }
        for access in self.code.accesses.defs(op) {
            self.touched.touch(access.reg).written = place;
        }
        for completion in Completion::ALL {
            if completion.is_awaited_by(op) {
                self.touched.touch(completion.reg()).written = place;
            }
        }
    }

    /// The scoreboard on which a release costs least.
    fn cheapest(&self, open: Open, opens: &Opens, is_result: bool) -> usize {
        let cost = |scoreboard: &usize| {
            let others = &opens[*scoreboard];
            let spoiled = if is_result && *scoreboard == SCOREBOARDS - 1 { SPOILED } else { 0 };
            let cycles: u32 = others.iter().map(|other| self.cost(open, *other)).sum();
            (cycles + spoiled, others.len(), self.given[*scoreboard])
        };
        (self.first..SCOREBOARDS).min_by_key(cost).unwrap_or(self.first)
    }

    /// Cycles that somebody waits longer because two releases share a scoreboard.
    fn cost(&self, a: Open, b: Open) -> u32 {
        let time = |open: Open| match open.asked_at {
            NOWHERE => self.end() + BEYOND,
            at => self.issue[at as usize],
        };
        let (first, second) = if a.asked_at <= b.asked_at { (a, b) } else { (b, a) };
        if first.asked_at == second.asked_at {
            return if first.asked_at == NOWHERE { a.ready.abs_diff(b.ready) / 8 } else { 0 };
        }
        second.ready.saturating_sub(time(first).max(first.ready))
    }
}
