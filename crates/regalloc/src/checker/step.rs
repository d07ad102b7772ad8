//! The allocated function taken apart, once: what each instruction reads and writes, as values of the function before and
//! places of the function after.

use super::names::{NOWHERE, Place, Value};
use oriole_ori::{Block, CallId, InstId, SecondaryMap};
use std::ops::Range;

/// What a step does to the places. Its reads are judged, then it writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// An instruction of the function before: its results are new values.
    Own,
    /// One that copies: each result is what stood at `from` as well.
    Copy,
    /// One that is gone: its results are new values that stand nowhere, but for their recipe.
    Gone,
    /// A copy that is gone: its result stands where its source, the value `from`, stands.
    GoneCopy,
    /// What allocation put in: `place` gets what stands at `from`; all at once.
    Moves,
}

/// A read, or a write.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    pub(super) value: Value,
    pub(super) place: Place,
    /// Depends on the kind of the step; `NOWHERE` for none.
    pub(super) from: u32,
    /// The old value may stay.
    pub(super) conditional: bool,
}

impl Access {
    pub(super) fn of(value: Value, place: Place) -> Self {
        Access { value, place, from: NOWHERE, conditional: false }
    }

    pub(super) fn from(self, from: u32) -> Self {
        Access { from, ..self }
    }

    /// `place` gets what stands at `from`.
    pub(super) fn transfer(place: Place, from: Place) -> Self {
        Access { value: Value::MAX, place, from, conditional: false }
    }
}

/// One instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) inst: InstId,
    pub(super) kind: Kind,
    /// Of an instruction of the function before: the call whose clobbers are lost.
    pub(super) call: Option<CallId>,
    start: u32,
    reads_end: u32,
    end: u32,
}

/// All steps of a function.
#[derive(Default)]
pub(super) struct Script {
    steps: Vec<Step>,
    accesses: Vec<Access>,
    blocks: SecondaryMap<Block, Range<u32>>,
}

impl Script {
    /// Put a step at the end.
    pub(super) fn push(&mut self, inst: InstId, kind: Kind, call: Option<CallId>, reads: &[Access], writes: &[Access]) {
        let start = self.accesses.len() as u32;
        self.accesses.extend_from_slice(reads);
        let reads_end = self.accesses.len() as u32;
        self.accesses.extend_from_slice(writes);
        let end = self.accesses.len() as u32;
        self.steps.push(Step { inst, kind, call, start, reads_end, end });
    }

    /// How many steps there are.
    pub(super) fn len(&self) -> u32 {
        self.steps.len() as u32
    }

    /// The steps from `start` on are those of `block`.
    pub(super) fn end_block(&mut self, block: Block, start: u32) {
        self.blocks[block] = start..self.len();
    }

    pub(super) fn steps(&self, block: Block) -> &[Step] {
        let range = &self.blocks[block];
        &self.steps[range.start as usize..range.end as usize]
    }

    pub(super) fn reads(&self, step: &Step) -> &[Access] {
        &self.accesses[step.start as usize..step.reads_end as usize]
    }

    pub(super) fn writes(&self, step: &Step) -> &[Access] {
        &self.accesses[step.reads_end as usize..step.end as usize]
    }
}
