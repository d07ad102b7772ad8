//! The way out of SSA: each web of `phi`s becomes one register.
//!
//! After Boissinot and others, "Revisiting Out-of-SSA Translation for Correctness, Code Quality, and
//! Efficiency": every `phi` is first cut off from the rest by copies, at the end of the predecessors
//! and behind the `phi`; then copies are removed wherever their two sides do not interfere (the rules
//! of classes: `webs.rs`). What remains happens at once at its place and is put in order in
//! `parallel.rs`. So no copy is lost and no swap goes wrong, whatever the passes before have made of
//! the `phi`s.

mod copies;
mod parallel;
mod values;
mod webs;

use cranelift_entity::{EntityRef, PrimaryMap};

use copies::{Isolation, Moves};
use parallel::Sequence;
use values::Values;
use webs::Webs;

use super::cfg::{Cfg, DomTree, Loops, successors};
use super::context::Context;
use super::dead_code::remove_unreachable;
use super::liveness::{Liveness, PhiUses};
use crate::machine::{Block, Forms, Function, Inst, Opcode, Operand, Phi, RegClass, Terminator, VReg};

/// Runs the pass; registers have new numbers after it.
pub fn run(cx: &mut Context<'_>) -> bool {
    let function = &mut *cx.function;
    remove_unreachable(function);
    split_loop_exits(function);
    let cfg = Cfg::of_reachable(function);
    let dominators = DomTree::dominators(&cfg);
    let loops = Loops::new(&cfg, &dominators);
    let live = Liveness::new(function, &cfg, PhiUses::InPredecessor);
    let isolation = isolate(function);
    let (values, affinities) = Values::new(function, &isolation, (&dominators, &loops), live);
    let mut webs = Webs::new(values);
    webs.join_phis(function);
    webs.coalesce(affinities);
    let names = webs.names(function);
    rewrite(function, cx.forms, &isolation, &names);
    renumber(function);
    true
}

/// Gives copies that are needed only where a loop is left a block of their own, so that they do not
/// run in the loop. Other critical edges need none: copies at the end of the predecessor are right
/// there too.
fn split_loop_exits(function: &mut Function) {
    let cfg = Cfg::of_reachable(function);
    let loops = Loops::new(&cfg, &DomTree::dominators(&cfg));
    let mut layout = Vec::with_capacity(function.layout.len());
    for from in std::mem::take(&mut function.layout) {
        layout.push(from);
        let targets = successors(function, from);
        if targets.len() < 2 {
            continue;
        }
        for to in targets {
            if function.blocks[to].phis.is_empty() || loops.depth(to) >= loops.depth(from) {
                continue;
            }
            let edge =
                function.blocks.push(Block { phis: Vec::new(), insts: Vec::new(), terminator: Terminator::Goto(to) });
            layout.push(edge);
            function.redirect(from, to, edge);
        }
    }
    function.layout = layout;
}

/// Puts a new register in the place of each result and each operand of a `phi`.
fn isolate(function: &mut Function) -> Isolation {
    let mut isolation = Isolation::default();
    for &block in &function.layout {
        for Phi { dst, incoming } in &mut function.blocks[block].phis {
            let class = function.regs[*dst];
            let result = function.regs.push(class);
            isolation.entry[block].push((*dst, result.into()));
            *dst = result;
            for (from, value) in incoming {
                let fresh = function.regs.push(class);
                let old = std::mem::replace(value, fresh.into());
                isolation.exit[*from].push((fresh, old));
            }
        }
    }
    isolation
}

/// Puts in the copies that remain and the new names, and removes the `phi`s.
fn rewrite(function: &mut Function, forms: &mut Forms, isolation: &Isolation, names: &PrimaryMap<VReg, VReg>) {
    let mut sequence = Sequence::default();
    for at in 0..function.layout.len() {
        let block = function.layout[at];
        let mut insts = Vec::with_capacity(function.blocks[block].insts.len());
        let old = std::mem::take(&mut function.blocks[block].insts);
        function.blocks[block].phis.clear();
        sequence.emit(&renamed(&isolation.entry[block], names), function, forms, &mut insts);
        for mut inst in old {
            inst.for_each_vreg_mut(|reg| *reg = names[*reg]);
            if let Opcode::Asm(asm) = inst.opcode {
                sequence.emit(&tied_moves(&mut inst, &function.asms[asm].ties), function, forms, &mut insts);
            }
            if inst.as_copy().is_none_or(|(from, to)| from != to) {
                insts.push(inst);
            }
        }
        sequence.emit(&renamed(&isolation.exit[block], names), function, forms, &mut insts);
        let content = &mut function.blocks[block];
        content.insts = insts;
        if let Some(reg) = content.terminator.used_mut() {
            *reg = names[*reg];
        }
    }
}

/// The copies of operands to the results of assembly whose registers they live in; the operands name those after it.
fn tied_moves(inst: &mut Inst, ties: &[(u32, u32)]) -> Moves {
    let mut moves = Moves::new();
    for &(output, input) in ties {
        let (output, input) = (output as usize, input as usize);
        let Some(to) = inst.operands[output].vreg() else { continue };
        let from = std::mem::replace(&mut inst.operands[input], to.into());
        if from.vreg() != Some(to) {
            moves.push((to, from));
        }
    }
    moves
}

fn renamed(moves: &Moves, names: &PrimaryMap<VReg, VReg>) -> Moves {
    let rename = |(to, from): &(VReg, Operand)| {
        let mut from = from.clone();
        from.for_each_vreg_mut(&mut |reg| *reg = names[*reg]);
        (names[*to], from)
    };
    moves.iter().map(rename).filter(|(to, from)| from.vreg() != Some(*to)).collect()
}

/// Numbers the registers that are still named in the order of their first appearance; the others go.
fn renumber(function: &mut Function) {
    let mut regs: PrimaryMap<VReg, RegClass> = PrimaryMap::new();
    let mut names: Vec<Option<VReg>> = vec![None; function.regs.len()];
    let old = std::mem::take(&mut function.regs);
    let mut name = |reg: &mut VReg| *reg = *names[reg.index()].get_or_insert_with(|| regs.push(old[*reg]));
    for &block in &function.layout {
        let content = &mut function.blocks[block];
        for inst in &mut content.insts {
            inst.for_each_vreg_mut(&mut name);
        }
        content.terminator.used_mut().into_iter().for_each(&mut name);
    }
    function.regs = regs;
}
