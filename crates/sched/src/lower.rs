//! Fewer registers for a function that is in order: what needs more than there shall be is put in order anew, and only that.

use crate::before::{SourceOrder, limit, undefined_late};
use crate::choice::{Few, Looked, Tables};
use crate::lives::{Class, Counts};
use crate::survey::{Stretch, Survey, has_choice};
use crate::values::Values;
use oriole_isa::Arch;
use oriole_ori::analysis::Liveness;
use oriole_ori::{Block, Function, InstId};

/// What a lower order may cost.
#[derive(Clone, Copy, Debug)]
pub struct Lower {
    /// R registers that are to be in use at most.
    pub registers: u32,
    /// So many of them are better left free: wide values need neighbours.
    pub spare: u32,
    /// Cycles by which the stretches, each once, may take longer, if that matters.
    pub cycles: Option<u32>,
}

/// Values that allocation may find to be constants, which it computes again where they are read.
const CONSTANTS: i32 = 2;
const GENERAL: usize = Class::General as usize;

impl Lower {
    /// General registers that are in use at most.
    fn most(self) -> i32 {
        self.registers as i32 + CONSTANTS
    }

    /// What shall be in use at most.
    fn limit(self, arch: Arch) -> Counts {
        limit(self.registers as i32 - self.spare as i32, arch)
    }
}

/// Instructions in another order, stretch by stretch.
#[derive(PartialEq, Eq)]
pub struct Reordering(Vec<(Block, usize, Vec<InstId>)>);

impl Reordering {
    /// Put them in that order.
    pub fn apply(&self, func: &mut Function) {
        for (block, start, order) in &self.0 {
            func.edit().reorder(*block, *start, order);
        }
    }
}

/// What is known of a function of which orders with fewer and fewer registers are asked: of one that does not change
/// meanwhile, and whose instructions once stood in one order of the source.
pub struct Lowering {
    arch: Arch,
    survey: Survey,
    /// By stretch: orders of few registers, once they have been asked for.
    low: Vec<Option<Low>>,
}

/// A stretch, and how low it can go.
struct Low {
    looked: Looked,
    few: Few,
    /// Cycles that it takes as it stands.
    cycles: u32,
}

impl Lowering {
    /// Of a function as it stands.
    pub fn new(func: &Function, arch: Arch, live: &Liveness) -> Self {
        let survey = Survey::new(&Values::new(func, arch), func, live, has_choice);
        let low = survey.stretches.iter().map(|_| None).collect();
        Lowering { arch, survey, low }
    }

    /// Registers that are missing in each block for an order with so few, those that are better left free included; none
    /// outside of what can be put in order.
    pub fn missing(&mut self, func: &Function, source: &SourceOrder, lower: Lower) -> Vec<(Block, u32)> {
        let limit = lower.limit(self.arch);
        self.look(func, source, limit);
        let missing = |(low, (block, _)): (&mut Low, (Block, usize))| {
            let peak = low.few.low(&low.looked, limit).peak.0[GENERAL];
            (block, u32::try_from(peak - limit.0[GENERAL]).unwrap_or(0))
        };
        self.above(limit).map(missing).filter(|(_, missing)| *missing > 0).collect()
    }

    /// Whether there are orders with so few registers, however long they take.
    pub fn is_possible(&mut self, func: &Function, source: &SourceOrder, lower: Lower) -> bool {
        let (limit, most) = (lower.limit(self.arch), lower.most());
        if self.survey.peak_elsewhere.0[GENERAL] > most {
            return false;
        }
        self.look(func, source, limit);
        self.above(limit).all(|(low, _)| low.few.low(&low.looked, limit).peak.0[GENERAL] <= most)
    }

    /// What needs more registers in an order that needs fewer: that of the source if it does. `None` if that cannot be.
    pub fn order(&mut self, func: &Function, source: &SourceOrder, lower: Lower) -> Option<Reordering> {
        if !self.is_possible(func, source, lower) {
            return None;
        }
        let (limit, most) = (lower.limit(self.arch), lower.most());
        let mut longer = 0;
        let ordered = |(low, (block, start)): (&mut Low, (Block, usize))| {
            let lowest = low.few.low(&low.looked, limit);
            let short = low.looked.shortest(lowest, limit);
            let order = if short.peak.0[GENERAL] <= most { &short } else { lowest };
            longer += i64::from(order.cycles) - i64::from(low.cycles);
            let in_time = lower.cycles.is_none_or(|most| longer <= i64::from(most));
            in_time.then(|| (block, start, undefined_late(func, low.looked.in_order(order))))
        };
        self.above(limit).map(ordered).collect::<Option<_>>().map(Reordering)
    }

    /// Look at the stretches that need more than the limit, each once.
    fn look(&mut self, func: &Function, source: &SourceOrder, limit: Counts) {
        let is_new = |(stretch, low): (&Stretch, &Option<Low>)| needs_more(stretch, limit) && low.is_none();
        if !self.survey.stretches.iter().zip(&self.low).any(is_new) {
            return;
        }
        let mut values = Values::new(func, self.arch);
        let mut tables = Tables::new(values.registers(), 0);
        for (stretch, low) in self.survey.stretches.iter().zip(&mut self.low) {
            if is_new((stretch, low)) {
                let looked = tables.look(&mut values, stretch);
                let few = looked.few(source.of(looked.insts.iter().copied()));
                *low = Some(Low { few, cycles: looked.cycles(), looked });
            }
        }
    }

    /// The stretches that need more than the limit, and where they begin. All of them have been looked at.
    fn above(&mut self, limit: Counts) -> impl Iterator<Item = (&mut Low, (Block, usize))> {
        let stretches = self.survey.stretches.iter().zip(&mut self.low);
        let above = stretches.filter(move |(stretch, _)| needs_more(stretch, limit));
        above.filter_map(|(stretch, low)| Some((low.as_mut()?, (stretch.block, stretch.places.start))))
    }
}

fn needs_more(stretch: &Stretch, limit: Counts) -> bool {
    stretch.peak.0[GENERAL] > limit.0[GENERAL]
}
