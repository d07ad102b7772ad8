//! Common subexpressions: an instruction that computes what one on all ways to it has computed already
//! goes.
//!
//! The walk follows the dominator tree with one table. What may be shared follows from the effects:
//! instructions without any wherever the first dominates the second; those that read memory, or
//! that threads execute together, within one block with no write between. Guarded instructions and
//! what has more effects (carry flags, clocks, `volatile`) are not touched.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use oriole_ptx::ast;

use super::cfg::{Cfg, DomTree};
use super::context::Context;
use super::defs::Defs;
use super::rename::Renaming;
use crate::machine::{BlockId, Effects, Forms, Function, Inst, Opcode, Operand, RegClass, VReg};

/// What two instructions have in common that compute the same.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    opcode: Opcode,
    /// The classes of the results.
    classes: SmallVec<[RegClass; 2]>,
    operands: SmallVec<[Operand; 4]>,
    /// For what writes and the ends of blocks bound: the block, and how many writes came before in it.
    within: Option<(BlockId, u32)>,
}

/// Runs the pass; true when something went.
pub fn run(cx: &mut Context<'_>) -> bool {
    let (function, forms) = (&mut *cx.function, &*cx.forms);
    let dominators = DomTree::dominators(&Cfg::of_reachable(function));
    let defs = Defs::new(function);
    let mut renaming = Renaming::new(function);
    let mut known: FxHashMap<Key, (BlockId, SmallVec<[VReg; 2]>)> = FxHashMap::default();
    for &block in dominators.preorder() {
        let mut writes = 0;
        let mut insts = std::mem::take(&mut function.blocks[block].insts);
        insts.retain_mut(|inst| {
            renaming.apply_to_uses(inst);
            let effects = function.effects(forms, inst);
            if effects.intersects(Effects::WRITES | Effects::FIXED) {
                writes += 1;
                return true;
            }
            let within = (!effects.is_empty()).then_some((block, writes));
            let Some(key) = key(function, forms, &defs, inst, within) else {
                return true;
            };
            let mut results = SmallVec::new();
            inst.for_each_def(|reg| results.push(reg));
            match known.get(&key) {
                // What does not dominate this block dominates none that comes later.
                Some((first, values)) if dominators.dominates(*first, block) => {
                    results.iter().zip(values).for_each(|(&old, &new)| renaming.set(old, new));
                    false
                }
                _ => {
                    known.insert(key, (block, results));
                    true
                }
            }
        });
        function.blocks[block].insts = insts;
    }
    renaming.apply(function)
}

/// What an instruction has in common with others, if it may be shared.
fn key(function: &Function, forms: &Forms, defs: &Defs, inst: &Inst, within: Option<(BlockId, u32)>) -> Option<Key> {
    let opcode = inst.opcode;
    let mut are_values = inst.guard.is_none() && inst.defs > 0 && matches!(opcode, Opcode::Copy | Opcode::Form(_));
    inst.for_each_def(|reg| are_values &= defs.once(reg).is_some());
    inst.for_each_use(|reg| are_values &= defs.once(reg).is_some());
    // `_` among the results: the shape would have to be compared too.
    are_values &= !inst.defs().iter().any(has_sink);
    if !are_values {
        return None;
    }
    let mut classes = SmallVec::new();
    inst.for_each_def(|reg| classes.push(function.regs[reg]));
    let mut operands: SmallVec<[Operand; 4]> = inst.uses().into();
    if let (Opcode::Form(form), [a, b, ..]) = (opcode, operands.as_mut_slice())
        && is_commutative(forms[form].opcode)
        && let (Some(first), Some(second)) = (a.vreg(), b.vreg())
        && first > second
    {
        std::mem::swap(a, b);
    }
    Some(Key { opcode, classes, operands, within })
}

fn has_sink(operand: &Operand) -> bool {
    match operand {
        Operand::Sink => true,
        Operand::Vector(items) => items.iter().any(has_sink),
        Operand::Pair(items) => items.iter().any(has_sink),
        _ => false,
    }
}

/// True when the first two operands may change places.
fn is_commutative(opcode: ast::Opcode) -> bool {
    use ast::Opcode::*;
    matches!(opcode, Add | Mul | Mul24 | Mad | Mad24 | Fma | And | Or | Xor | Min | Max)
}
