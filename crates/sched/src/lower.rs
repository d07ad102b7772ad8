//! Fewer registers for a function that is in order: what needs more than there shall be is put in order anew, and only that.

use crate::before::{SourceOrder, limit, undefined_late};
use crate::choice::{Few, Looked, Tables};
use crate::lives::{Class, Counts};
use crate::seed::OrderSeed;
use crate::survey::{Stretch, Survey, has_choice};
use crate::values::Values;
use oriole_isa::Arch;
use oriole_ori::analysis::Liveness;
use oriole_ori::{Block, Function, InstId};
use std::cmp::Reverse;

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
    seed: OrderSeed,
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
    pub fn new(func: &Function, arch: Arch, live: &Liveness, seed: OrderSeed) -> Self {
        let survey = Survey::new(&Values::new(func, arch), func, live, has_choice);
        let low = survey.stretches.iter().map(|_| None).collect();
        Lowering { arch, seed, survey, low }
    }

    /// Registers that are missing in each block for an order with so few, those that are better left free included; none
    /// outside of what can be put in order.
    pub fn missing(&mut self, func: &Function, source: &SourceOrder, lower: Lower) -> Vec<(Block, u32)> {
        let limit = lower.limit(self.arch);
        let mut bench = Bench::new(func, self.arch, self.seed, source);
        let mut all = Vec::new();
        for at in self.above(limit.0[GENERAL]) {
            let block = self.survey.stretches[at].block;
            let low = self.look(at, &mut bench);
            let peak = low.few.low(&low.looked, limit).peak.0[GENERAL];
            let missing = u32::try_from(peak - limit.0[GENERAL]).unwrap_or(0);
            all.extend((missing > 0).then_some((block, missing)));
        }
        all
    }

    /// Whether there are orders with so few registers, however long they take.
    pub fn is_possible(&mut self, func: &Function, source: &SourceOrder, lower: Lower) -> bool {
        let most = lower.most();
        if self.survey.peak_elsewhere.0[GENERAL] > most {
            return false;
        }
        // Where one does not do, the others need not be looked at: it is most likely one that needs most.
        let mut above = self.above(most);
        above.sort_by_key(|at| Reverse(self.survey.stretches[*at].peak.0[GENERAL]));
        let mut bench = Bench::new(func, self.arch, self.seed, source);
        above.into_iter().all(|at| {
            let low = self.look(at, &mut bench);
            low.few.reach(&low.looked, most)
        })
    }

    /// What needs more registers in an order that needs fewer: that of the source if it does. `None` if that cannot be.
    pub fn order(&mut self, func: &Function, source: &SourceOrder, lower: Lower) -> Option<Reordering> {
        if !self.is_possible(func, source, lower) {
            return None;
        }
        let (limit, most) = (lower.limit(self.arch), lower.most());
        let mut bench = Bench::new(func, self.arch, self.seed, source);
        let mut longer = 0;
        let mut orders = Vec::new();
        for at in self.above(limit.0[GENERAL]) {
            let stretch = &self.survey.stretches[at];
            let (block, start, peak) = (stretch.block, stretch.places.start, stretch.peak.0[GENERAL]);
            let low = self.look(at, &mut bench);
            let lowest = low.few.low(&low.looked, limit);
            let short = low.looked.shortest(lowest, limit);
            let order = if short.peak.0[GENERAL] <= most { &short } else { lowest };
            if order.peak.0[GENERAL] > most && peak <= most {
                // As it stands it needs no more than there are.
                continue;
            }
            longer += i64::from(order.cycles) - i64::from(low.cycles);
            if lower.cycles.is_some_and(|most| longer > i64::from(most)) {
                return None;
            }
            orders.push((block, start, undefined_late(func, low.looked.in_order(order))));
        }
        Some(Reordering(orders))
    }

    /// What is known of a stretch, which is looked at once.
    fn look(&mut self, at: usize, bench: &mut Bench<'_>) -> &mut Low {
        self.low[at].get_or_insert_with(|| bench.look(&self.survey.stretches[at]))
    }

    /// The stretches that need more general registers.
    fn above(&self, most: i32) -> Vec<usize> {
        let stretches = self.survey.stretches.iter().enumerate();
        stretches.filter(|(_, stretch)| stretch.peak.0[GENERAL] > most).map(|(at, _)| at).collect()
    }
}

/// What looks at stretches of a function, made when the first is looked at.
struct Bench<'f> {
    func: &'f Function,
    arch: Arch,
    seed: OrderSeed,
    source: &'f SourceOrder,
    tables: Option<(Values<'f>, Tables)>,
}

impl<'f> Bench<'f> {
    fn new(func: &'f Function, arch: Arch, seed: OrderSeed, source: &'f SourceOrder) -> Self {
        Bench { func, arch, seed, source, tables: None }
    }

    fn look(&mut self, stretch: &Stretch) -> Low {
        let (values, tables) = self.tables.get_or_insert_with(|| {
            let values = Values::new(self.func, self.arch);
            let tables = Tables::new(values.registers(), 0, self.seed);
            (values, tables)
        });
        let looked = tables.look(values, stretch);
        let few = looked.few(self.source.of(looked.insts.iter().copied()));
        Low { few, cycles: looked.cycles(), looked }
    }
}
