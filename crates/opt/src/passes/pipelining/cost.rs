//! What a round of a loop takes, before and after.
//!
//! A warp issues in order: the next round begins when the last instruction of this one, the branch, has been issued. Within a round
//! the order is taken to be as good as dependences allow. So much is known ahead of registers and units; a load of global memory counts as if
//! the first-level cache did not have it.

use super::slices::Slices;
use super::stage::Load;
use oriole_isa::{Effects, Opcode, Space, latency};
use oriole_ori::{Function, InstFlags, InstId};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

/// What a fixed latency counts, in cycles: that of most arithmetic is 4 or 5.
const FIXED: u32 = 5;
/// What all accesses of memory stay behind, and ahead of.
const WAITS: Effects = Effects::CONVERGENT.with(Effects::SIDE_EFFECT);
/// Rounds until times no longer depend on the first one.
const ROUNDS: usize = 4;

/// What a step of a program waits for.
#[derive(Clone, Copy)]
enum Source {
    /// The result of a step of the same round.
    Now(usize),
    /// The result of a step of the round before.
    Before(usize),
    /// That a step of the same round has been issued.
    Behind(usize),
}

/// An instruction of a round: what it waits for, and how long its result takes.
struct Step {
    sources: SmallVec<[Source; 4]>,
    latency: u32,
}

/// The instructions of a round, in an order in which each stands behind what it reads of its round.
#[derive(Default)]
pub(super) struct Program(Vec<Step>);

impl Program {
    /// Cycles from round to round.
    pub(super) fn interval(&self) -> u32 {
        let mut issued = vec![0u32; self.0.len()];
        let (mut begin, mut interval) = (0, 0);
        for _ in 0..ROUNDS {
            let before = issued.clone();
            let mut last = 0;
            for (at, step) in self.0.iter().enumerate() {
                let ready = |source: &Source| match *source {
                    Source::Now(of) => issued[of] + self.0[of].latency,
                    Source::Before(of) => before[of] + self.0[of].latency,
                    Source::Behind(of) => issued[of] + 1,
                };
                issued[at] = step.sources.iter().map(ready).max().unwrap_or(0).max(begin);
                last = last.max(issued[at]);
            }
            let end = (last + 1).max(begin + self.0.len() as u32);
            (begin, interval) = (end, end - begin);
        }
        interval
    }
}

/// Builds programs.
struct Builder<'a> {
    slices: &'a Slices<'a>,
    program: Program,
    /// Of each instruction in the block, its step.
    steps: FxHashMap<InstId, usize>,
    /// Of each that is copied for the next round, the copy's.
    copies: FxHashMap<InstId, usize>,
    /// Reads of what the round before gave, by reader and instruction.
    late: Vec<(usize, InstId)>,
    /// The last steps that accesses of such memory stay behind: writes, or what waits for others.
    ordered: SmallVec<[(Space, usize); 4]>,
}

/// The round as it is.
pub(super) fn before(slices: &Slices<'_>, insts: &[InstId]) -> Program {
    let mut builder = Builder::new(slices);
    for &inst in insts {
        builder.add(inst, &FxHashSet::default());
    }
    builder.finish(&FxHashSet::default())
}

/// The round with the loads of the next one behind what is in order ahead of `place`.
pub(super) fn after(
    slices: &Slices<'_>,
    insts: &[InstId],
    (loads, again): (&[Load], &[InstId]),
    place: usize,
) -> Program {
    let gone = unneeded(slices.func, insts, loads);
    let moved: FxHashSet<InstId> = loads.iter().map(|load| load.inst).collect();
    let mut builder = Builder::new(slices);
    for (number, &inst) in insts.iter().enumerate() {
        if !gone.contains(&inst) {
            builder.add(inst, &moved);
        }
        if number == place {
            again.iter().for_each(|inst| builder.add(*inst, &moved));
            let reader = builder.steps.get(&inst).copied();
            for load in loads {
                // Where registers are short, addresses are computed where they are needed.
                load.slice.iter().for_each(|inst| builder.copy(*inst, reader));
                builder.copy(load.inst, reader);
            }
        }
    }
    builder.finish(&moved)
}

/// Of the block, what nobody needs when loads have gone ahead: they themselves, and what computed for them alone.
fn unneeded(func: &Function, insts: &[InstId], loads: &[Load]) -> FxHashSet<InstId> {
    let mut gone: FxHashSet<InstId> = loads.iter().map(|load| load.inst).collect();
    let of_slices: FxHashSet<InstId> = loads.iter().flat_map(|load| load.slice.iter().copied()).collect();
    let Some(lists) = func.def_use() else { return gone };
    for inst in insts.iter().rev().filter(|inst| of_slices.contains(*inst)) {
        let mut needed = false;
        func.for_each_def(*inst, |write| needed |= lists.users(write.reg).any(|user| !gone.contains(&user)));
        if !needed {
            gone.insert(*inst);
        }
    }
    gone
}

impl<'a> Builder<'a> {
    fn new(slices: &'a Slices<'a>) -> Builder<'a> {
        let (steps, copies) = (FxHashMap::default(), FxHashMap::default());
        Builder { slices, program: Program::default(), steps, copies, late: Vec::new(), ordered: SmallVec::new() }
    }

    /// Cycles until the result of an instruction is there.
    fn latency(&self, inst: InstId) -> u32 {
        let opcode = self.slices.func[inst].opcode;
        match opcode {
            _ if !latency::is_variable_opcode(opcode, self.slices.arch) => FIXED,
            Opcode::LDG | Opcode::LD => opcode.estimate() + Opcode::MISS,
            _ => opcode.estimate(),
        }
    }

    /// An instruction of this round, unless it is there.
    fn add(&mut self, inst: InstId, moved: &FxHashSet<InstId>) {
        if self.steps.contains_key(&inst) {
            return;
        }
        let at = self.program.0.len();
        let mut sources = SmallVec::new();
        for value in self.slices.reads(inst) {
            match self.slices.definition(value) {
                Some(def) if moved.contains(&def) => self.late.push((at, def)),
                Some(def) => sources.extend(self.steps.get(&def).map(|step| Source::Now(*step))),
                None => self.late.extend(self.slices.next(value).map(|def| (at, def))),
            }
        }
        sources.extend(self.order(inst, at).into_iter().map(Source::Behind));
        self.push(inst, sources);
        self.steps.insert(inst, at);
    }

    /// What an instruction stays behind because of memory. Others will stay behind it.
    fn order(&mut self, inst: InstId, at: usize) -> SmallVec<[usize; 4]> {
        let data = &self.slices.func[inst];
        let (effects, space) = (data.opcode.info().effects, data.opcode.space());
        let (waits, writes) = (effects.intersects(WAITS), effects.contains(Effects::WRITES_MEMORY));
        let is_loose = data.flags.contains(InstFlags::INVARIANT) && !waits;
        if is_loose || !(waits || writes || effects.contains(Effects::READS_MEMORY)) {
            return SmallVec::new();
        }
        let meets = |of: &Space| waits || of.meets(space);
        let behind = self.ordered.iter().filter(|(of, _)| meets(of)).map(|(_, step)| *step).collect();
        if waits {
            self.ordered = SmallVec::from_slice(&[(Space::Any, at)]);
        } else if writes {
            self.ordered.retain(|(of, _)| *of != space);
            self.ordered.push((space, at));
        }
        behind
    }

    /// A copy for the next round, unless it is there. It is `behind` a step.
    fn copy(&mut self, inst: InstId, behind: Option<usize>) {
        if self.copies.contains_key(&inst) {
            return;
        }
        let at = self.program.0.len();
        let mut sources: SmallVec<[Source; 4]> = behind.map(Source::Now).into_iter().collect();
        for value in self.slices.reads(inst) {
            let of_next = |def| self.steps.get(&def).map(|step| Source::Now(*step));
            let source = match self.slices.definition(value) {
                Some(def) => self.copies.get(&def).map(|step| Source::Now(*step)),
                None => self.slices.next(value).and_then(of_next),
            };
            sources.extend(source);
        }
        self.push(inst, sources);
        self.copies.insert(inst, at);
    }

    fn push(&mut self, inst: InstId, sources: SmallVec<[Source; 4]>) {
        let latency = self.latency(inst);
        self.program.0.push(Step { sources, latency });
    }

    /// Reads of the round before: of what is loaded ahead, the copy's.
    fn finish(mut self, moved: &FxHashSet<InstId>) -> Program {
        for (reader, def) in self.late {
            let steps = if moved.contains(&def) { &self.copies } else { &self.steps };
            let source = steps.get(&def).map(|step| Source::Before(*step));
            self.program.0[reader].sources.extend(source);
        }
        self.program
    }
}
