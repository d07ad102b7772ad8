//! The order before allocation: loads ahead of their uses, as far as there are registers.
//!
//! Each block is put in order on virtual registers ([`crate::list`]) with the dependence graph of the order behind
//! allocation. What it may use is what the caller says that costs no warps. Where the source needs more than that, an order
//! that needs few registers is made first ([`crate::backward`]). An order that is not shorter than that of the source, or
//! not nearer to the limit, is not taken.

use crate::backward::backward_order;
use crate::code::{ByRegister, Op};
use crate::dependence::{Graph, RegState, build};
use crate::list::{Order, in_order, list_order};
use crate::lives::{Counts, Lives};
use crate::order::heights;
use crate::survey::{Stretch, Survey, may_gain};
use crate::values::Values;
use oriole_isa::Arch;
use oriole_ori::analysis::Flow;
use oriole_ori::{Block, Function, InstId, VReg};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Registers that an allocation needs beyond those in use at a time: the stack pointer, and gaps before wide values.
const ALLOWANCE: u32 = 3;
/// Predicates of either kind that are in use at a time: one of seven is left for what allocation has to do.
const PREDICATES: i32 = 6;
/// Orders that are tried with fewer and fewer registers.
const ATTEMPTS: u32 = 3;

/// Put the instructions of each block in an order in which results have come when they are needed. `budget` says how many
/// R registers a function may use that needs so many, `in_block` how many at most in a block. Gives what it knows of the
/// function's flow, if it had to look.
pub fn order_values(
    func: &mut Function,
    arch: Arch,
    budget: impl Fn(u32) -> u32,
    in_block: impl Fn(Block) -> u32,
) -> Option<Flow> {
    if !may_gain(func, arch) {
        return None;
    }
    let flow = Flow::new(func);
    let orders: Vec<(Stretch, Vec<InstId>)> = {
        let mut values = Values::new(func, arch);
        let survey = Survey::new(&values, func, &flow.live, arch);
        let limit = limits(survey.peak, arch, budget);
        let mut tables = Tables::new(values.registers());
        let ordered = |stretch| {
            let order = tables.order(&mut values, &stretch, limit.within(in_block(stretch.block)))?;
            Some((stretch, undefined_late(func, order)))
        };
        survey.stretches.into_iter().filter_map(ordered).collect()
    };
    for (stretch, order) in orders {
        func.edit().reorder(stretch.block, stretch.places.start, &order);
    }
    Some(flow)
}

/// The order with each undefined value made where it is needed: it costs nothing, but from there on it is live.
fn undefined_late(func: &Function, order: Vec<InstId>) -> Vec<InstId> {
    if !order.iter().any(|inst| func[*inst].is_undef()) {
        return order;
    }
    let mut late = Vec::with_capacity(order.len());
    let mut held: FxHashMap<VReg, SmallVec<[InstId; 2]>> = FxHashMap::default();
    let mut last: Vec<VReg> = Vec::new();
    for inst in order {
        let mut marked = None;
        func.for_each_reg(inst, |access| {
            if func[inst].is_undef() {
                marked = Some(access.reg);
            } else if let Some(markers) = held.remove(&access.reg) {
                late.extend(markers);
            }
        });
        match marked {
            Some(reg) => {
                held.entry(reg).or_default().push(inst);
                last.push(reg);
            }
            None => late.push(inst),
        }
    }
    late.extend(last.into_iter().filter_map(|reg| held.remove(&reg)).flatten());
    late
}

/// How many values fit so many registers.
fn room(registers: u32) -> i32 {
    i32::try_from(registers.saturating_sub(ALLOWANCE)).unwrap_or(i32::MAX)
}

impl Counts {
    /// The same with no more than `registers` R registers.
    fn within(mut self, registers: u32) -> Counts {
        self.0[0] = self.0[0].min(room(registers));
        self
    }
}

fn limits(peak: Counts, arch: Arch, budget: impl Fn(u32) -> u32) -> Counts {
    // The stack pointer is there in any case.
    let general = room(budget(peak.0[0].max(0) as u32 + 1));
    let uniform = arch.sm().uniform_registers as i32 - ALLOWANCE as i32;
    Counts([general, PREDICATES, uniform, PREDICATES, i32::MAX])
}

/// Tables by register, for one stretch after the other.
struct Tables {
    states: ByRegister<RegState>,
    current: ByRegister<Option<u32>>,
}

impl Tables {
    fn new(registers: usize) -> Self {
        Tables { states: ByRegister::of(registers), current: ByRegister::of(registers) }
    }

    /// The stretch in a better order; `None` where that of the source is as good.
    fn order(&mut self, values: &mut Values<'_>, stretch: &Stretch, limit: Counts) -> Option<Vec<InstId>> {
        let ops: Vec<Op<InstId>> = values.stretch(stretch);
        let graph = build(&ops, &values.accesses, &mut self.states);
        let lives = Lives::new(values, stretch, &ops, &mut self.current);
        let heights = heights(&graph);
        let every = 0..ops.len() as u32;
        let source = in_order(&graph, lives.clone(), every.clone());
        let order = if source.peak.is_within(limit) {
            let ranks: Vec<u32> = every.collect();
            shortest(&graph, &heights, &lives, limit, &ranks).filter(|order| order.cycles < source.cycles)
        } else {
            lowest(&graph, &heights, &lives, limit).filter(|order| order.cost(limit) < source.cost(limit))
        };
        Some(order?.insts.iter().map(|at| ops[*at as usize].id).collect())
    }
}

/// A short order within `limit`, by `ranks` where nothing fits.
fn shortest(graph: &Graph, heights: &[u32], lives: &Lives, limit: Counts, ranks: &[u32]) -> Option<Order> {
    let mut aim = limit;
    for _ in 0..ATTEMPTS {
        let order = list_order(graph, heights, lives.clone(), aim, ranks);
        if order.peak.is_within(limit) {
            return Some(order);
        }
        aim = aim.less(order.peak, limit);
    }
    None
}

/// An order for a stretch that needs more than `limit` as it stands in the source: a short one within it if there is one, or
/// else one that needs little.
fn lowest(graph: &Graph, heights: &[u32], lives: &Lives, limit: Counts) -> Option<Order> {
    let insts = backward_order(graph, lives);
    let mut ranks = vec![0; insts.len()];
    (0..).zip(&insts).for_each(|(rank, at)| ranks[*at as usize] = rank);
    let low = in_order(graph, lives.clone(), insts.into_iter());
    if let Some(order) = shortest(graph, heights, lives, limit, &ranks) {
        return Some(order);
    }
    let mid = list_order(graph, heights, lives.clone(), limit.max(low.peak), &ranks);
    [low, mid].into_iter().min_by_key(|order| order.cost(limit))
}
