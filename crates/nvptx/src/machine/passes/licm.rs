//! Moves what is the same in each turn of a loop in front of it.
//!
//! An instruction goes to the block before the loop when it has no effects, all that it reads comes
//! from outside, and running it where it did not run is harmless: loads only from parameters, divisions
//! only from blocks that each turn passes. Predicates stay: there are few of them, and a comparison is
//! cheap. So does everything when as many registers are live in the loop as there may be.

use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;
use oriole_graph::Loop;
use oriole_ptx::ast::{self, Modifier, Space};

use super::cfg::{Cfg, DomTree, Loops};
use super::context::Context;
use super::defs::Defs;
use super::pressure::{MAX_REGISTERS, Pressure, units};
use crate::machine::{Block, BlockId, Forms, Function, Inst, Opcode, RegClass, Terminator, VReg};

/// Runs the pass; true when something moved or a block was put before a loop.
pub fn run(cx: &mut Context<'_>) -> bool {
    let function = &mut *cx.function;
    let cfg = Cfg::of_reachable(function);
    if Loops::new(&cfg, &DomTree::dominators(&cfg)).is_empty() {
        return false;
    }
    let changed = make_preheaders(function, &cfg);
    let cfg = Cfg::of_reachable(function);
    let dominators = DomTree::dominators(&cfg);
    let loops = Loops::new(&cfg, &dominators);
    let pressure = Pressure::new(function);
    // Half of the registers for what lives in loops, unless the caller says how many there are.
    let limit = cx.options.max_reg.unwrap_or(MAX_REGISTERS / 2);
    let mut hoist = Hoist { blocks: home_blocks(function), forms: cx.forms, loops: &loops, dominators: &dominators };
    let mut moved = false;
    for (this, data) in loops.iter() {
        if let Some(preheader) = data.preheader {
            let most = data.blocks.iter().map(|&block| pressure.by_block[block]).max().unwrap_or(0);
            moved |= hoist.run(function, (this, preheader), limit.saturating_sub(most));
        }
    }
    changed | moved
}

/// Puts an empty block on the edge into each loop that has one such edge, from a block with others.
fn make_preheaders(function: &mut Function, cfg: &Cfg) -> bool {
    let loops = Loops::new(cfg, &DomTree::dominators(cfg));
    let mut before: SecondaryMap<BlockId, PackedOption<BlockId>> = SecondaryMap::new();
    for (_, data) in loops.iter().filter(|(_, data)| data.preheader.is_none()) {
        let (header, Some(pred)) = (data.header, data.entrance) else { continue };
        let terminator = Terminator::Goto(header);
        let made = function.blocks.push(Block { phis: Vec::new(), insts: Vec::new(), terminator });
        before[header] = made.into();
        function.redirect(pred, header, made);
    }
    let old = std::mem::take(&mut function.layout);
    let count = old.len();
    function.layout = old.into_iter().flat_map(|block| before[block].expand().into_iter().chain([block])).collect();
    function.layout.len() != count
}

/// The block that writes each register, if only one instruction does.
fn home_blocks(function: &Function) -> SecondaryMap<VReg, PackedOption<BlockId>> {
    let defs = Defs::new(function);
    let mut homes = SecondaryMap::with_capacity(function.regs.len());
    for reg in function.regs.keys() {
        homes[reg] = defs.once(reg).map(|place| place.block).into();
    }
    homes
}

struct Hoist<'a> {
    blocks: SecondaryMap<VReg, PackedOption<BlockId>>,
    forms: &'a Forms,
    loops: &'a Loops,
    dominators: &'a DomTree,
}

impl Hoist<'_> {
    /// Moves what can go from a loop to its preheader, as long as there is room for the results.
    fn run(&mut self, function: &mut Function, (this, preheader): (Loop, BlockId), mut room: u32) -> bool {
        let mut moved = Vec::new();
        let data = &self.loops[this];
        for &block in &data.blocks {
            let in_each_turn = data.latches.iter().all(|&latch| self.dominators.dominates(block, latch));
            let mut insts = std::mem::take(&mut function.blocks[block].insts);
            insts.retain_mut(|inst| {
                let mut needed = 0;
                inst.for_each_def(|reg| needed += units(function.regs[reg]));
                if needed > room || !self.can_move(function, inst, this, in_each_turn) {
                    return true;
                }
                room -= needed;
                inst.for_each_def(|reg| self.blocks[reg] = preheader.into());
                moved.push(inst.clone());
                false
            });
            function.blocks[block].insts = insts;
        }
        let some = !moved.is_empty();
        function.blocks[preheader].insts.extend(moved);
        some
    }

    fn can_move(&self, function: &Function, inst: &Inst, this: Loop, in_each_turn: bool) -> bool {
        if inst.guard.is_some() || inst.defs == 0 || !function.effects(self.forms, inst).is_empty() {
            return false;
        }
        let form = match inst.opcode {
            Opcode::Copy => None,
            Opcode::Form(form) => Some(&self.forms[form]),
            Opcode::Call(_) | Opcode::Asm(_) => return false,
        };
        let mut can = form.is_none_or(|form| match form.opcode {
            ast::Opcode::Ld => form.modifiers.contains(&Modifier::Space(Space::Param)),
            ast::Opcode::Div | ast::Opcode::Rem => in_each_turn,
            _ => true,
        });
        inst.for_each_def(|reg| can &= self.blocks[reg].is_some() && function.regs[reg] != RegClass::Int1);
        let is_outside = |block| !self.loops.contains(this, block);
        inst.for_each_use(|reg| can &= self.blocks[reg].expand().is_some_and(is_outside));
        can
    }
}
