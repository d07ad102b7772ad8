//! How often a loop's test is passed, found by running what decides it.
//!
//! What the test depends on is a small program over integers: `phi`s of the header that start with constants, and
//! operations on them. It is run until the test leaves the loop. This finds the count of any such loop, whatever its
//! step (`i += 3`, `i >>= 1`, `i = i * 5 & 63`).

use rustc_hash::FxHashMap;

use super::super::Context;
use super::super::combine::fold_int::{self, Folded};
use crate::analysis::{DomTree, Loop, Loops};
use crate::ir::{BinaryOp, BlockId, Body, CastOp, InstFlags, InstId, IntPredicate, Op, TypeId, Value, ValueId};

/// Operations that decide about a test, at most.
const MAX_STEPS: usize = 24;
/// Runs of them, at most.
const MAX_PASSES: u32 = 1024;

/// A test that ends a loop after a known number of runs.
pub(super) struct TripCount {
    /// The block that ends with the test.
    pub exiting: BlockId,
    /// Where the test goes when it ends the loop.
    pub outside: BlockId,
    /// How often it goes on before that.
    pub passes: u32,
    /// What only serves to count.
    pub counting: Vec<InstId>,
}

/// Finds the test that is the first to end a loop with one latch, if its count is known.
pub(super) fn trip_count(
    body: &Body,
    cx: &Context<'_>,
    loops: &Loops,
    dominators: &DomTree,
    id: Loop,
) -> Option<TripCount> {
    let [latch] = *loops[id].latches.as_slice() else { return None };
    let tests = loops[id].exits.iter().filter(|(from, _)| {
        // A test of each run of this loop, and of no run of another.
        loops.innermost(*from) == Some(id) && dominators.dominates(*from, latch)
    });
    tests.filter_map(|&(exiting, outside)| count(body, cx, loops, id, latch, exiting, outside)).min_by_key(|t| t.passes)
}

fn count(
    body: &Body,
    cx: &Context<'_>,
    loops: &Loops,
    id: Loop,
    latch: BlockId,
    exiting: BlockId,
    outside: BlockId,
) -> Option<TripCount> {
    let Op::CondBr(condition, [yes, no]) = body[body.terminator(exiting)?].op else { return None };
    let leaves_if = u128::from(outside == yes);
    let inside = if outside == yes { no } else { yes };
    if !loops.contains(id, inside) {
        return None;
    }
    let mut slice = Slice { body, cx, loops, id, latch, slots: Vec::new(), known: FxHashMap::default() };
    let condition = slice.source(condition)?;
    slice.close()?;
    let passes = slice.run(condition, leaves_if)?;
    Some(TripCount { exiting, outside, passes, counting: slice.insts() })
}

/// Where a step takes an operand from.
#[derive(Clone, Copy)]
enum Source {
    Constant(u128),
    Slot(usize),
}

/// One value that the test depends on.
enum Slot {
    /// A `phi` of the header: its first value, and where the next comes from once that is known.
    Phi {
        inst: InstId,
        first: u128,
        next: Option<Source>,
    },
    Step {
        inst: InstId,
        step: Step,
    },
}

#[derive(Clone, Copy)]
enum Step {
    Binary(BinaryOp, InstFlags, u32, [Source; 2]),
    Compare(IntPredicate, u32, [Source; 2]),
    /// Extension or truncation from one width to another; true if by the sign.
    Cast(bool, [u32; 2], Source),
    Select([Source; 3]),
}

/// The program behind a test: steps stand after what they read, but for the next values of `phi`s.
struct Slice<'a, 'm> {
    body: &'a Body,
    cx: &'a Context<'m>,
    loops: &'a Loops,
    id: Loop,
    latch: BlockId,
    slots: Vec<Slot>,
    known: FxHashMap<ValueId, usize>,
}

impl Slice<'_, '_> {
    /// Adds what a value depends on.
    fn source(&mut self, value: Value) -> Option<Source> {
        if let Some(constant) = self.cx.view(self.body).int(value) {
            return Some(Source::Constant(constant));
        }
        let id = value.local()?;
        if let Some(&slot) = self.known.get(&id) {
            return Some(Source::Slot(slot));
        }
        let inst = self.body.def_inst(value)?;
        if self.slots.len() >= MAX_STEPS {
            return None;
        }
        let slot = match &self.body[inst].op {
            Op::Phi(incoming) => self.phi(inst, incoming)?,
            op => Slot::Step { inst, step: self.step(op, self.body[inst].ty)? },
        };
        self.slots.push(slot);
        self.known.insert(id, self.slots.len() - 1);
        Some(Source::Slot(self.slots.len() - 1))
    }

    fn bits(&self, ty: TypeId) -> Option<u32> {
        self.cx.module.types.int_bits(ty)
    }

    /// A `phi` of the header, whose next value is asked for later.
    fn phi(&self, inst: InstId, incoming: &[(BlockId, Value)]) -> Option<Slot> {
        let mut first = None;
        let header = self.loops[self.id].header;
        if !self.body[header].insts.contains(&inst) {
            return None;
        }
        for &(from, value) in incoming.iter().filter(|(from, _)| *from != self.latch) {
            let constant = self.cx.view(self.body).int(value)?;
            if self.loops.contains(self.id, from) || first.is_some_and(|first| first != constant) {
                return None;
            }
            first = Some(constant);
        }
        Some(Slot::Phi { inst, first: first?, next: None })
    }

    fn step(&mut self, op: &Op, ty: TypeId) -> Option<Step> {
        Some(match *op {
            Op::Binary(op, flags, [a, b]) if !op.is_float() => {
                Step::Binary(op, flags, self.bits(ty)?, [self.source(a)?, self.source(b)?])
            }
            Op::ICmp(predicate, _, [a, b]) => {
                let bits = self.bits(self.cx.ty(self.body, a))?;
                Step::Compare(predicate, bits, [self.source(a)?, self.source(b)?])
            }
            Op::Cast(op @ (CastOp::ZExt | CastOp::SExt | CastOp::Trunc), _, from) => {
                let widths = [self.bits(self.cx.ty(self.body, from))?, self.bits(ty)?];
                Step::Cast(op == CastOp::SExt, widths, self.source(from)?)
            }
            Op::Select(_, [condition, yes, no]) => {
                self.bits(self.cx.ty(self.body, condition))?;
                self.bits(ty)?;
                Step::Select([self.source(condition)?, self.source(yes)?, self.source(no)?])
            }
            _ => return None,
        })
    }

    /// Adds what the next values of the `phi`s depend on.
    fn close(&mut self) -> Option<()> {
        let mut at = 0;
        while at < self.slots.len() {
            if let Slot::Phi { inst, next: None, .. } = self.slots[at] {
                let Op::Phi(incoming) = &self.body[inst].op else { return None };
                let value = incoming.iter().find(|(from, _)| *from == self.latch)?.1;
                let source = self.source(value)?;
                if let Slot::Phi { next, .. } = &mut self.slots[at] {
                    *next = Some(source);
                }
            }
            at += 1;
        }
        Some(())
    }

    /// How often the test goes on before its condition is `leaves_if`.
    fn run(&self, condition: Source, leaves_if: u128) -> Option<u32> {
        let mut values: Vec<u128> = self
            .slots
            .iter()
            .map(|slot| match slot {
                Slot::Phi { first, .. } => *first,
                Slot::Step { .. } => 0,
            })
            .collect();
        let mut nexts = Vec::new();
        for pass in 0..MAX_PASSES {
            for (at, slot) in self.slots.iter().enumerate() {
                if let Slot::Step { step, .. } = slot {
                    values[at] = step.value(&values)?;
                }
            }
            if condition.value(&values) == leaves_if {
                return Some(pass);
            }
            nexts.clear();
            nexts.extend(self.slots.iter().enumerate().filter_map(|(at, slot)| match slot {
                Slot::Phi { next: Some(next), .. } => Some((at, next.value(&values))),
                _ => None,
            }));
            for &(at, value) in &nexts {
                values[at] = value;
            }
        }
        None
    }

    fn insts(&self) -> Vec<InstId> {
        self.slots
            .iter()
            .map(|slot| match slot {
                Slot::Phi { inst, .. } | Slot::Step { inst, .. } => *inst,
            })
            .collect()
    }
}

impl Source {
    fn value(self, values: &[u128]) -> u128 {
        match self {
            Source::Constant(value) => value,
            Source::Slot(slot) => values[slot],
        }
    }
}

impl Step {
    /// The value of a step; none where it is not defined.
    fn value(self, values: &[u128]) -> Option<u128> {
        Some(match self {
            Step::Binary(op, flags, bits, [a, b]) => {
                match fold_int::binary(op, flags, a.value(values), b.value(values), bits)? {
                    Folded::Value(value) => value,
                    Folded::Poison => return None,
                }
            }
            Step::Compare(predicate, bits, [a, b]) => predicate.holds(a.value(values), b.value(values), bits).into(),
            Step::Cast(true, [from, to], value) => {
                fold_int::sext(value.value(values), from) as u128 & fold_int::mask(to)
            }
            Step::Cast(false, [_, to], value) => value.value(values) & fold_int::mask(to),
            Step::Select([condition, yes, no]) => {
                if condition.value(values) != 0 {
                    yes.value(values)
                } else {
                    no.value(values)
                }
            }
        })
    }
}
