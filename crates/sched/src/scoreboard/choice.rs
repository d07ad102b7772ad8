//! Which scoreboard a release gets: one on which nobody waits longer for it, and it for nobody.
//!
//! Who waits for a scoreboard waits for all that is outstanding there. So each release goes where that costs least: by when
//! things are there, and when they are first asked for, as far as the block's data flow says. What is outstanding where a block
//! begins counts, too: in a loop that is what was begun before it, and by the iteration before.

use super::ahead::{Ahead, ahead};
use super::{Assignment, Completion, GROUP_ENDS, GROUPS, OwnReleases, Release, SCOREBOARDS};
use crate::code::{AWAITED, Accesses, Code, Op, REGISTERS, Reg, reg_number, succs};
use crate::order::patience;
use oriole_isa::access::Order;
use oriole_isa::{Guard, RegFile};
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
/// Releases of a scoreboard that nobody asks for in the block and that are looked at: more change no choice.
const MOST: usize = 32;
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

/// What a block does with a register. Of another block, by its number, it says nothing.
#[derive(Clone, Copy, Default)]
struct Touched {
    block: u32,
    /// The places of the instructions that touch it first, from 1.
    read: u32,
    written: u32,
    /// When its value is there.
    there: u32,
}

/// What goes through the blocks.
struct Chooser<'a> {
    code: &'a Code,
    /// The first scoreboard that is given out.
    first: usize,
    /// By register.
    touched: Vec<Touched>,
    /// The number of the block at hand: each look at one is another.
    number: u32,
    /// By place: when the instruction issues, and at the end the block's end.
    issue: Vec<u32>,
    /// By place: where the instruction's results and sources are first asked for.
    asked: Vec<[u32; 2]>,
    /// By place: whether a later instruction of their order stands for the instruction's results and sources.
    covered: Vec<[bool; 2]>,
    /// By place: whether something that is outstanding is asked for there first.
    is_end: Vec<bool>,
    /// The first place at which the block may be left.
    exit: u32,
    /// By scoreboard: when it was last given out.
    given: [u32; SCOREBOARDS],
    clock: u32,
    /// All have been given out once. Who has gone round a loop meanwhile has made room for what he met there, which had better stay.
    again: bool,
}

/// Give each release a scoreboard.
pub(super) fn choose(code: &Code, machine: &MachineFunction, assignment: &mut Assignment) {
    let has_groups = code.ops.iter().flatten().any(|op| GROUP_ENDS.iter().any(|(end, _)| *end == op.opcode));
    let mut chooser = Chooser {
        code,
        first: if has_groups { usize::from(GROUPS) + 1 } else { 0 },
        touched: vec![Touched::default(); REGISTERS + AWAITED],
        number: 0,
        issue: Vec::new(),
        asked: Vec::new(),
        covered: Vec::new(),
        is_end: Vec::new(),
        exit: 0,
        given: [0; SCOREBOARDS],
        clock: 0,
        again: false,
    };
    let ahead = ahead(code, machine, assignment.has_completions);
    let mut entry: Vec<Opens> = vec![Opens::default(); code.ops.len()];
    let mut goes_round = false;
    loop {
        for block in 0..code.ops.len() {
            // Nothing is outstanding, and nothing comes to it.
            if entry[block].iter().all(|opens| opens.is_empty())
                && assignment.own[block].iter().all(|own| own.is_empty())
            {
                continue;
            }
            let mut opens = entry[block].clone();
            chooser.look(block, &mut opens, assignment);
            let comes_round = succs(machine, block).any(|succ| succ == block);
            chooser.block((block, comes_round), &mut opens, assignment, &ahead[block]);
            for succ in succs(machine, block) {
                let is_new = merge(&mut entry[succ], &opens);
                goes_round |= is_new && succ <= block;
            }
        }
        if !goes_round || chooser.again {
            break;
        }
        chooser.again = true;
    }
}

/// What may be outstanding on one way, too. Whether that is more.
fn merge(entry: &mut Opens, opens: &Opens) -> bool {
    let mut any = false;
    for (entry, opens) in entry.iter_mut().zip(opens) {
        for open in opens {
            let has_room = entry.len() < MOST;
            match entry.iter_mut().find(|known| known.release == open.release) {
                Some(known) => known.ready = known.ready.max(open.ready),
                None if has_room => {
                    entry.push(*open);
                    any = true;
                }
                None => {}
            }
        }
    }
    any
}

/// The first of two places from 1, of which 0 is none.
fn first_of(a: u32, b: u32) -> u32 {
    if a == 0 || b != 0 && b < a { b } else { a }
}

/// Where the first of some later instructions is asked for, by order.
struct FirstAsked {
    /// They all have it.
    guard: Guard,
    by_order: [u32; Order::COUNT],
}

impl FirstAsked {
    /// Of none.
    fn of(guard: Guard) -> Self {
        FirstAsked { guard, by_order: [NOWHERE; Order::COUNT] }
    }

    fn note(&mut self, order: Option<Order>, asked: u32) {
        if let Some(order) = order {
            let first = &mut self.by_order[order.index()];
            *first = asked.min(*first);
        }
    }

    /// Whether it stands for the results (0) or sources (1) of an earlier instruction, which are first asked for there.
    fn covers(&self, op: &Op, of: usize, asked: [u32; 2]) -> bool {
        op.orders[of].is_some_and(|order| asked[of] != NOWHERE && self.by_order[order.index()] <= asked[of])
    }

    /// Whether an instruction changes the guard.
    fn is_changed_by(&self, op: &Op, accesses: &Accesses) -> bool {
        let predicate = u16::from(self.guard.predicate);
        let numbers = [RegFile::P, RegFile::UP].map(|file| reg_number(file, predicate));
        numbers
            .into_iter()
            .flatten()
            .any(|reg| op.def_mask >> (reg % 64) & 1 != 0 && accesses.defs(op).iter().any(|def| def.reg == reg))
    }
}

impl Chooser<'_> {
    /// When the block's instructions issue, and where what they release, and what is outstanding, is asked for.
    fn look(&mut self, block: usize, opens: &mut Opens, assignment: &Assignment) {
        let code = self.code;
        let ops = &code.ops[block];
        self.number += 1;
        self.time(ops);
        self.exit = ops.iter().position(|op| op.terminator).unwrap_or(ops.len()) as u32;
        self.asked.clear();
        let mut all = NOWHERE;
        for (at, op) in ops.iter().enumerate().rev() {
            let own = assignment.own[block][at];
            let asked = |release: Option<u32>| release.map_or(NOWHERE, |number| self.asked(number, all, assignment));
            self.asked.push([asked(own.result), asked(own.source)]);
            self.touch(at, op, assignment.has_completions);
            if op.awaits_all {
                all = at as u32;
            }
        }
        self.asked.reverse();
        self.cover(ops, &assignment.own[block]);
        self.is_end.clear();
        self.is_end.resize(ops.len(), false);
        for open in opens.iter_mut().flatten() {
            open.asked_at = self.asked(open.release, all, assignment);
            self.note_end(*open);
        }
    }

    /// Find out which results and sources need no scoreboard: a later instruction of their order is asked for no later, before the block may
    /// be left. One that is guarded may not be executed, and then its scoreboard says nothing, but to those under the same guard.
    fn cover(&mut self, ops: &[Op], owns: &[OwnReleases]) {
        let (mut always, mut guarded) = (FirstAsked::of(Guard::ALWAYS), FirstAsked::of(Guard::ALWAYS));
        self.covered.clear();
        self.covered.resize(ops.len(), [false; 2]);
        for (at, (op, own)) in ops.iter().zip(owns).enumerate().rev() {
            if guarded.is_changed_by(op, &self.code.accesses) {
                guarded = FirstAsked::of(Guard::ALWAYS);
            }
            if op.orders == [None; 2] || own.is_empty() {
                continue;
            }
            let asked = self.asked[at];
            let by_guarded = op.guarded && op.guard == guarded.guard;
            let covers = |of: usize| always.covers(op, of, asked) || by_guarded && guarded.covers(op, of, asked);
            self.covered[at] = [covers(0), covers(1)];
            if op.guarded && !by_guarded {
                guarded = FirstAsked::of(op.guard);
            }
            let first = if op.guarded { &mut guarded } else { &mut always };
            let within = |is_set: bool, asked: u32| if is_set && asked <= self.exit { asked } else { NOWHERE };
            let (result, source) = (within(own.result.is_some(), asked[0]), within(own.source.is_some(), asked[1]));
            first.note(op.orders[0], result);
            first.note(op.orders[1], result.min(source));
        }
    }

    /// Give scoreboards to what the block's instructions release. What nobody asks for gets none, and sources get none where
    /// somebody waits for the results first: they have been read by then.
    fn block(
        &mut self,
        (block, comes_round): (usize, bool),
        opens: &mut Opens,
        assignment: &mut Assignment,
        ahead: &Ahead,
    ) {
        let code = self.code;
        for (at, op) in code.ops[block].iter().enumerate() {
            if self.is_end[at] {
                let waits = |open: &Open| open.asked_at == at as u32;
                opens.iter_mut().filter(|opens| opens.iter().any(waits)).for_each(|opens| opens.clear());
            }
            if assignment.own[block][at].is_empty() {
                continue;
            }
            let ([results, sources], issue) = (self.asked[at], self.issue[at]);
            let (own, releases) = (&mut assignment.own[block][at], &mut assignment.releases);
            let is_idle = |asked_at, number: &u32| asked_at == NOWHERE && !ahead.asks_for(&releases[*number as usize]);
            let [covers_results, covers_sources] = self.covered[at];
            let are_covered = own.result.is_some() && results <= sources && results <= self.exit || covers_sources;
            own.result = own.result.filter(|number| !covers_results && !is_idle(results, number));
            own.source = own.source.filter(|number| !are_covered && !is_idle(sources, number));
            if let Some(release) = own.result {
                // What was loaded for the next round of a loop may not be in the cache: nobody shall wait for it in this one.
                let estimate = op.opcode.estimate();
                let latency = if results == NOWHERE && comes_round { patience(estimate) } else { estimate };
                let open = Open { release, asked_at: results, ready: issue + latency };
                let scoreboard = &mut releases[release as usize].scoreboard;
                *scoreboard = self.place(open, opens, SPOILED, *scoreboard);
            }
            if let Some(release) = own.source {
                let open = Open { release, asked_at: sources, ready: issue + READ };
                let scoreboard = &mut releases[release as usize].scoreboard;
                *scoreboard = self.place(open, opens, 0, *scoreboard);
            }
        }
        let end = self.end();
        for open in opens.iter_mut().flatten() {
            open.ready = open.ready.saturating_sub(end);
        }
    }

    /// Where the release is asked for, if that is in the block.
    fn note_end(&mut self, open: Open) {
        if let Some(is_end) = self.is_end.get_mut(open.asked_at as usize) {
            *is_end = true;
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
            let uses = self.code.accesses.uses(op).iter();
            let time = uses.map(|access| self.touched(access.reg).there).fold(now, u32::max);
            self.issue.push(time);
            let latency = if op.variable { op.opcode.estimate() } else { FIXED };
            for def in self.code.accesses.defs(op) {
                self.touch_mut(def.reg).there = time + latency;
            }
            now = time + 1;
        }
        self.issue.push(now);
    }

    /// What the block at hand does with a register.
    fn touched(&self, reg: Reg) -> Touched {
        let touched = self.touched[reg as usize];
        if touched.block == self.number { touched } else { Touched::default() }
    }

    /// The same, to be changed.
    fn touch_mut(&mut self, reg: Reg) -> &mut Touched {
        let touched = &mut self.touched[reg as usize];
        if touched.block != self.number {
            *touched = Touched { block: self.number, ..Touched::default() };
        }
        touched
    }

    /// The place of the first instruction of those seen that asks for a release; `all` is that of the first that waits for all.
    fn asked(&self, release: u32, all: u32, assignment: &Assignment) -> u32 {
        let Release { regs, is_result, .. } = &assignment.releases[release as usize];
        let first = regs.iter().fold(0, |first, reg| {
            let Touched { read, written, .. } = self.touched(*reg);
            let first = first_of(first, written);
            if *is_result { first_of(first, read) } else { first }
        });
        all.min(first.wrapping_sub(1))
    }

    fn touch(&mut self, at: usize, op: &Op, has_completions: bool) {
        let place = at as u32 + 1;
        for access in self.code.accesses.uses(op) {
            self.touch_mut(access.reg).read = place;
        }
        for access in self.code.accesses.defs(op) {
            self.touch_mut(access.reg).written = place;
        }
        if has_completions {
            for completion in Completion::ALL.into_iter().filter(|completion| completion.is_awaited_by(op)) {
                self.touch_mut(completion.reg()).written = place;
            }
        }
    }

    /// Put a release on the scoreboard on which it costs least, the last one so much more. Before it was on another one, maybe.
    fn place(&mut self, open: Open, opens: &mut Opens, spoiled: u32, before: u8) -> u8 {
        let cost = |scoreboard: &usize| {
            let others = &opens[*scoreboard];
            let more = if *scoreboard == SCOREBOARDS - 1 { spoiled } else { 0 };
            let cycles: u32 = others.iter().map(|other| self.cost(open, *other)).sum();
            let moves = self.again && *scoreboard != usize::from(before);
            // Who shares it with what is asked for at the same place keeps another one free.
            let is_apart = open.asked_at == NOWHERE || !others.iter().any(|other| other.asked_at == open.asked_at);
            (cycles + more, moves, is_apart, others.len(), self.given[*scoreboard])
        };
        let scoreboard = (self.first..SCOREBOARDS).min_by_key(cost).unwrap_or(self.first);
        self.note_end(open);
        self.clock += 1;
        self.given[scoreboard] = self.clock;
        let others = &mut opens[scoreboard];
        let has_room = open.asked_at != NOWHERE || others.len() < MOST;
        match others.iter_mut().find(|other| open.asked_at != NOWHERE && other.asked_at == open.asked_at) {
            // Nobody has to tell them apart: they are over before the block is.
            Some(other) => other.ready = other.ready.max(open.ready),
            None if has_room => others.push(open),
            None => {}
        }
        scoreboard as u8
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
