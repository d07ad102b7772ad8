//! Removes blocks that nothing reaches and instructions whose results nothing reads.
//!
//! What has to stay follows from its effects: writes to memory and what is fixed. From there on,
//! whatever writes a register that is read stays; circles of `phi`s that only feed each other go.

use fixedbitset::FixedBitSet;

use super::cfg::Cfg;
use super::context::Context;
use super::defs::Defs;
use crate::machine::{BlockId, Effects, Function, VReg};

/// Runs the pass; true when something went.
pub fn run(cx: &mut Context<'_>) -> bool {
    let swept = remove_unreachable(cx.function);
    let alive = Marks::new(cx);
    remove_unmarked(cx.function, &alive) || swept
}

/// Takes unreachable blocks out of the layout, and their values out of `phi`s.
pub(super) fn remove_unreachable(function: &mut Function) -> bool {
    let cfg = Cfg::of_reachable(function);
    if cfg.rpo().len() == function.layout.len() {
        return false;
    }
    function.layout.retain(|&block| cfg.is_reachable(block));
    for &block in &function.layout {
        for phi in &mut function.blocks[block].phis {
            phi.incoming.retain(|(from, _)| cfg.is_reachable(*from));
        }
    }
    true
}

/// Which `phi`s and instructions stay, by block.
struct Marks {
    first: Vec<(BlockId, usize)>,
    alive: FixedBitSet,
}

impl Marks {
    fn new(cx: &Context<'_>) -> Marks {
        let function = &*cx.function;
        let mut first = vec![0; function.blocks.len()];
        let mut total = 0;
        let mut starts = Vec::with_capacity(function.layout.len());
        for &block in &function.layout {
            first[block.as_u32() as usize] = total;
            starts.push((block, total));
            total += function.blocks[block].phis.len() + function.blocks[block].insts.len();
        }
        let mut marks = Marks { first: starts, alive: FixedBitSet::with_capacity(total) };
        let mut wanted = FixedBitSet::with_capacity(function.regs.len());
        let mut work: Vec<VReg> = Vec::new();
        let mut want = |reg: VReg, work: &mut Vec<VReg>| {
            if !wanted.put(reg.as_u32() as usize) {
                work.push(reg);
            }
        };
        for &block in &function.layout {
            let content = &function.blocks[block];
            let base = first[block.as_u32() as usize] + content.phis.len();
            for (at, inst) in content.insts.iter().enumerate() {
                if function.effects(cx.forms, inst).intersects(Effects::WRITES | Effects::FIXED) {
                    marks.alive.insert(base + at);
                    inst.for_each_use(|reg| want(reg, &mut work));
                }
            }
            content.terminator.used().into_iter().for_each(|reg| want(reg, &mut work));
        }
        let defs = Defs::new(function);
        while let Some(reg) = work.pop() {
            for place in defs.of(reg) {
                if marks.alive.put(first[place.block.as_u32() as usize] + place.index as usize) {
                    continue;
                }
                match place.inst(function) {
                    Some(inst) => inst.for_each_use(|reg| want(reg, &mut work)),
                    None => {
                        for (_, value) in &function.blocks[place.block].phis[place.index as usize].incoming {
                            value.for_each_reg(&mut |reg| reg.vreg().into_iter().for_each(|r| want(r, &mut work)));
                        }
                    }
                }
            }
        }
        marks
    }
}

fn remove_unmarked(function: &mut Function, marks: &Marks) -> bool {
    if marks.alive.count_ones(..) == marks.alive.len() {
        return false;
    }
    for &(block, first) in &marks.first {
        let content = &mut function.blocks[block];
        let mut at = first;
        let mut stays = || {
            at += 1;
            marks.alive.contains(at - 1)
        };
        content.phis.retain(|_| stays());
        content.insts.retain(|_| stays());
    }
    true
}
