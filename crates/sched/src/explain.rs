//! Why an instruction stands where it stands: what it had to follow, what was taken ahead of it, and what waits for it.
//!
//! All of it is found from the finished code of a block, so that nothing is recorded while compiling: the dependences are those of
//! the list scheduler behind allocation (`dependence`), and its choices are replayed in the order that came out (`order`). What the
//! machine code no longer tells is the order before, which decided between equals, and that an access was volatile where
//! its bits do not say so.

use crate::code::{ByRegister, Facts, Op, Reader, Reg, register};
use crate::dependence::{Cause, Edge, Edges, Graph, RegState, find, is_fence};
use crate::order::{heights, patience, priorities};
use crate::pace::Pace;
use crate::units::Units;
use oriole_graph::Rows;
use oriole_isa::access::Register;
use oriole_isa::chip::Unit;
use oriole_isa::{Arch, Carries, Field, Inst, Mem, Opcode};
use oriole_ori::{InstFlags, MachineId};

/// Reads the code of one function, block by block.
pub struct Explainer {
    reader: Reader,
    regs: ByRegister<RegState>,
}

/// A block in its order, with what the list scheduler knew.
pub struct BlockOrder {
    ops: Vec<Op>,
    /// By instruction: the cycle in which it issues.
    cycles: Vec<u32>,
    /// By instruction: what it follows, and what follows it.
    incoming: Rows<Link>,
    outgoing: Rows<Link>,
    /// By instruction: cycles from the block's start to its issue, and from there to the end, by dependences alone.
    depths: Vec<u32>,
    heights: Vec<u32>,
    priorities: Vec<u32>,
    picks: Vec<Pick>,
}

/// A dependence as it is kept: the other instruction, and why.
#[derive(Clone, Copy)]
struct Link {
    other: u32,
    latency: u32,
    cause: Cause<Reg>,
}

/// What the list scheduler had before it when it took an instruction, by its own clock.
struct Pick {
    clock: u32,
    /// From when on the instruction could have been taken, and the one that it was then still waiting for.
    ready: (u32, Option<u32>),
    units: Units,
    full_until: Option<u32>,
}

/// A dependence on another instruction of the block, named by its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dependence {
    /// The other one.
    pub other: usize,
    /// Why the order of the two is kept; no register for an effect that is awaited like one.
    pub cause: Cause<Option<Register>>,
    /// Cycles from the earlier to the later, at least.
    pub latency: u32,
    /// The first cycle in which the later one could issue for this.
    pub from: u32,
}

/// Why the list scheduler took another instruction first, although this one's operands were there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passed {
    /// The other one was put in when the order was made: a NOP for its control word.
    Filler,
    /// An operand is that of memory, and may take longer than it should: it is not asked for while there is something else to do.
    MayMiss {
        /// Who loads it.
        of: usize,
    },
    /// By the scheduler's clock, on which nothing stalls but for operands and units, this one's were not there yet.
    NotReady {
        /// Whose result came last.
        of: usize,
    },
    /// The other one asks for a line of constants and stops nobody.
    AsksForLine,
    /// The unit was taken for so many cycles more.
    Busy {
        /// Which.
        unit: Unit,
        /// Cycles.
        cycles: u32,
    },
    /// Held back so that no more of its like stand between two of a slow unit than there are on the average.
    Paced {
        /// For so many cycles more.
        cycles: u32,
    },
    /// The other one's way to the end is longer, or its result takes longer.
    LongerWay {
        /// Cycles from the other one's issue.
        theirs: u32,
        /// Cycles from this one's.
        ours: u32,
    },
    /// Both ways are equally long: the order before decided.
    Tie,
    /// The list scheduler would have taken this one: another compiler's order, or that of a seed, or of `-O0`.
    OtherOrder,
}

/// What there is to say of one instruction.
#[derive(Clone, Debug)]
pub struct Reasons {
    /// The cycle in which it issues.
    pub cycle: u32,
    /// The first cycle in which its dependences let it issue.
    pub earliest: u32,
    /// What it follows; what binds it comes first.
    pub follows: Vec<Dependence>,
    /// What follows it, in the order of the code.
    pub followed_by: Vec<Dependence>,
    /// What issued from `earliest` on ahead of it, by position, and why.
    pub passed: Vec<(usize, Passed)>,
    /// Cycles from its issue to the end of the block, by dependences alone.
    pub height: u32,
    /// How many cycles later it could issue by dependences alone, and the block would be as long.
    pub slack: u32,
    /// It is on a longest way through the block.
    pub is_critical: bool,
    /// Nothing moves across it.
    pub is_fence: bool,
    /// It ends the block, or may.
    pub is_terminator: bool,
}

/// Keeps edges with their causes.
#[derive(Default)]
struct Causes(Vec<(u32, u32, u32, Cause<Reg>)>);

impl Edges for Causes {
    fn add(&mut self, from: u32, to: u32, latency: u32, cause: Cause<Reg>) {
        self.0.push((from, to, latency, cause));
    }
}

impl Explainer {
    /// For a function whose code is for this target.
    pub fn new(arch: Arch) -> Self {
        Explainer { reader: Reader::new(arch), regs: ByRegister::new() }
    }

    /// The next block of the function: its instructions, each with the cycle in which it issues.
    pub fn block<'i>(&mut self, code: impl Iterator<Item = (&'i Inst, u32)>) -> BlockOrder {
        self.reader.accesses.clear();
        let (mut ops, mut cycles): (Vec<Op>, Vec<u32>) = (Vec::new(), Vec::new());
        for (inst, cycle) in code {
            let id = MachineId::from_u32(ops.len() as u32);
            ops.push(self.reader.read(id, inst, facts(inst), |_| ()));
            cycles.push(cycle);
        }
        let mut causes = Causes::default();
        find(&ops, &self.reader.accesses, &mut self.regs, &mut causes);
        BlockOrder::new(ops, cycles, &causes.0)
    }
}

/// What the bits of an instruction tell of the facts that a compiler knows.
fn facts(inst: &Inst) -> Facts {
    let flags = match inst.opcode.has_field(Field::MEM).then(|| inst.get(Field::MEM)) {
        Some(Mem::CONSTANT) => InstFlags::INVARIANT,
        None | Some(Mem::WEAK) => InstFlags::empty(),
        Some(_) => InstFlags::VOLATILE,
    };
    let leaves = matches!(inst.opcode, Opcode::CALL | Opcode::RET);
    Facts { flags, carries: Carries::NOTHING, leaves }
}

impl BlockOrder {
    fn new(ops: Vec<Op>, cycles: Vec<u32>, edges: &[(u32, u32, u32, Cause<Reg>)]) -> Self {
        let count = ops.len();
        let into = |&(other, to, latency, cause): &(u32, u32, u32, Cause<Reg>)| (to, Link { other, latency, cause });
        let from =
            |&(from, other, latency, cause): &(u32, u32, u32, Cause<Reg>)| (from, Link { other, latency, cause });
        let plain = |&(from, to, latency, _): &(u32, u32, u32, Cause<Reg>)| (from, Edge { to, latency });
        let incoming = Rows::new(count, edges.iter().map(into));
        let graph = Graph {
            edges: Rows::new(count, edges.iter().map(plain)),
            incoming: (0..count).map(|at| incoming.row(at).len() as u32).collect(),
            demands: ops.iter().map(|op| op.demand).collect(),
        };
        let heights = heights(&graph);
        let mut depths = vec![0u32; count];
        for at in 0..count {
            depths[at] =
                incoming.row(at).iter().map(|link| depths[link.other as usize] + link.latency).max().unwrap_or(0);
        }
        let priorities = priorities(&graph, &ops, heights.clone());
        let picks = replay(&ops, &incoming);
        let outgoing = Rows::new(count, edges.iter().map(from));
        BlockOrder { ops, cycles, incoming, outgoing, depths, heights, priorities, picks }
    }

    /// How many instructions it has.
    pub fn len(&self) -> usize {
        self.ops.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }

    /// Cycles until the last instruction has issued.
    pub fn length(&self) -> u32 {
        self.cycles.iter().zip(&self.heights).map(|(cycle, height)| cycle + height).max().unwrap_or(0)
    }

    /// Cycles that it would take by dependences alone: those of a longest way.
    pub fn longest(&self) -> u32 {
        self.heights.iter().copied().max().unwrap_or(0)
    }

    /// A longest way through the block, by position.
    pub fn longest_way(&self) -> Vec<usize> {
        let longest = self.longest();
        let mut way: Vec<usize> = self.heights.iter().position(|height| *height == longest).into_iter().collect();
        while let Some(&last) = way.last() {
            let height = self.heights[last];
            let next = self.outgoing.row(last).iter().find(|l| l.latency + self.heights[l.other as usize] == height);
            match next {
                Some(link) => way.push(link.other as usize),
                None => break,
            }
        }
        way
    }

    /// What there is to say of the instruction at a position; `None` where there is none.
    pub fn reasons(&self, at: usize) -> Option<Reasons> {
        let (op, cycle, height) = (self.ops.get(at)?, *self.cycles.get(at)?, *self.heights.get(at)?);
        let of = |other: usize, link: &Link, first: usize| Dependence {
            other,
            cause: link.cause.map(register),
            latency: link.latency,
            from: self.cycles[first] + link.latency,
        };
        let links = |rows: &[Link], into: bool| -> Vec<Dependence> {
            let each = |link: &Link| (link.other as usize, if into { link.other as usize } else { at });
            rows.iter().map(|link| (each(link), link)).map(|((other, first), link)| of(other, link, first)).collect()
        };
        let mut follows = links(self.incoming.row(at), true);
        follows.sort_by_key(|dependence| (std::cmp::Reverse(dependence.from), dependence.other));
        let mut followed_by = links(self.outgoing.row(at), false);
        followed_by.sort_by_key(|dependence| dependence.other);
        let earliest = follows.first().map_or(0, |binding| binding.from);
        // Cycles grow with positions.
        let between = self.cycles[..at].partition_point(|issued| *issued < earliest)..at;
        Some(Reasons {
            cycle,
            earliest,
            follows,
            followed_by,
            passed: between.map(|other| (other, self.passed(at, other))).collect(),
            height,
            slack: self.length().saturating_sub(height + cycle),
            is_critical: self.depths[at] + height == self.longest(),
            is_fence: is_fence(op),
            is_terminator: op.terminator,
        })
    }

    /// Why the list scheduler took the instruction `other` ahead of the one at `at`.
    fn passed(&self, at: usize, other: usize) -> Passed {
        let (op, pick, (ready, of)) = (&self.ops[at], &self.picks[other], self.picks[at].ready);
        if is_filler(&self.ops[other]) {
            return Passed::Filler;
        }
        if let Some(of) = of.filter(|_| ready > pick.clock).map(|of| of as usize) {
            let awaited =
                self.incoming.row(at).iter().filter(|link| link.other as usize == of).map(|link| link.latency);
            let may_miss = awaited.max().is_some_and(|latency| patience(latency) > latency);
            return if may_miss { Passed::MayMiss { of } } else { Passed::NotReady { of } };
        }
        if self.ops[other].asks_for_line {
            return Passed::AsksForLine;
        }
        let free = pick.units.free(op.demand.unit as usize);
        if free > pick.clock {
            return Passed::Busy { unit: op.demand.unit, cycles: free - pick.clock };
        }
        if let Some(until) = pick.full_until.filter(|until| Pace::holds(op) && *until > pick.clock) {
            return Passed::Paced { cycles: until - pick.clock };
        }
        let (theirs, ours) = (self.priorities[other], self.priorities[at]);
        match theirs.cmp(&ours) {
            std::cmp::Ordering::Greater => Passed::LongerWay { theirs, ours },
            std::cmp::Ordering::Equal => Passed::Tie,
            std::cmp::Ordering::Less => Passed::OtherOrder,
        }
    }
}

impl<R> Cause<R> {
    /// The same of another name for the register.
    pub fn map<S>(self, name: impl FnOnce(R) -> S) -> Cause<S> {
        match self {
            Cause::ReadAfterWrite(reg) => Cause::ReadAfterWrite(name(reg)),
            Cause::WriteAfterWrite(reg) => Cause::WriteAfterWrite(name(reg)),
            Cause::WriteAfterRead(reg) => Cause::WriteAfterRead(name(reg)),
            Cause::Memory => Cause::Memory,
            Cause::Effect => Cause::Effect,
            Cause::Behind => Cause::Behind,
            Cause::Ahead => Cause::Ahead,
        }
    }
}

/// The list scheduler never saw it.
fn is_filler(op: &Op) -> bool {
    op.opcode == Opcode::NOP
}

/// The list scheduler's state at each of its choices, if they are those of the code's order.
fn replay(ops: &[Op], incoming: &Rows<Link>) -> Vec<Pick> {
    let of_the_order: Vec<Op> = ops.iter().filter(|op| !is_filler(op)).cloned().collect();
    let (mut units, mut pace) = (Units::default(), Pace::new(&of_the_order));
    let mut picks: Vec<Pick> = Vec::with_capacity(ops.len());
    let mut clock = 0;
    for (at, op) in ops.iter().enumerate() {
        let asked = incoming.row(at).iter().map(|link| {
            let earlier: &Pick = &picks[link.other as usize];
            (earlier.clock + patience(link.latency), Some(link.other))
        });
        let ready = asked.max().unwrap_or((0, None));
        if !is_filler(op) {
            clock = clock.max(ready.0).max(units.free(op.demand.unit as usize));
            clock = pace.full_until(clock).filter(|_| Pace::holds(op)).unwrap_or(clock);
        }
        picks.push(Pick { clock, ready, units: units.clone(), full_until: pace.full_until(clock) });
        if !is_filler(op) {
            pace.issue(op, clock);
            units.issue(op.demand, clock);
            clock += 1;
        }
    }
    picks
}
