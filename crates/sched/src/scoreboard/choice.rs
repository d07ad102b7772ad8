//! Which scoreboard a release gets: one on which nobody waits longer for it, and it for nobody.
//!
//! Who waits for a scoreboard waits for all that is outstanding there. So each release goes where that costs least: by when
//! things are there, and when they are first asked for, as far as the block's data flow says. What is outstanding where a block
//! begins counts, too: in a loop that is what was begun before it, and by the iteration before.

use super::{Assignment, Completion, GROUP_ENDS, GROUPS, OwnReleases, Release, SCOREBOARDS};
use crate::code::{ByRegister, Code, Op, succs};
use oriole_isa::Opcode;
use oriole_ori::MachineFunction;
use smallvec::SmallVec;

/// Cycles until a result of fixed latency is there.
const FIXED: u32 = 4;
/// Cycles until an instruction of variable latency has read its registers.
const READ: u32 = 12;
/// Cycles behind a block's end until what is not asked for in it may be.
const BEYOND: u32 = 16;
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
    let mut entry: Vec<Opens> = vec![Opens::default(); code.ops.len()];
    let mut goes_round = false;
    for pass in 0..2 {
        for block in 0..code.ops.len() {
            let mut opens = entry[block].clone();
            chooser.block(block, &mut opens, assignment);
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
    fn block(&mut self, block: usize, opens: &mut Opens, assignment: &mut Assignment) {
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
            if op.leaves || op.opcode == Opcode::USETMAXREG {
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
            let own = [(result, asked[at].0, op.opcode.estimate()), (source, asked[at].1, READ)];
            for (release, asked_at, latency) in own {
                let Some(release) = release else { continue };
                let open = Open { release, asked_at, ready: issue + latency };
                let scoreboard = self.cheapest(open, opens);
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
    fn cheapest(&self, open: Open, opens: &Opens) -> usize {
        let cost = |scoreboard: &usize| {
            let others = &opens[*scoreboard];
            let cycles: u32 = others.iter().map(|other| self.cost(open, *other)).sum();
            (cycles, others.len(), self.given[*scoreboard])
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
