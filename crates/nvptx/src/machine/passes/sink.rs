//! Moves values towards their uses, where that costs no register: they live shorter, and where the uses
//! are not reached they are not computed.
//!
//! A value without effects that only one other block reads, and no `phi`, goes to where that block
//! begins. The block must not be in a loop that the value is not in; and what the value is made of
//! must be live there anyway, or take no more registers than the value does.

use cranelift_entity::SecondaryMap;
use oriole_ptx::ast;

use super::cfg::{Cfg, DomTree, Loops};
use super::context::Context;
use super::defs::{Defs, count_uses};
use super::liveness::{Liveness, PhiUses};
use super::pressure::units;
use crate::machine::{BlockId, Forms, Function, Inst, Opcode, VReg};

/// Runs the pass; true when something moved.
pub fn run(cx: &mut Context<'_>) -> bool {
    let function = &mut *cx.function;
    let cfg = Cfg::of_reachable(function);
    let mut sink = Sink {
        forms: cx.forms,
        loops: Loops::new(&cfg, &DomTree::dominators(&cfg)),
        live: Liveness::new(function, &cfg, PhiUses::OnEdge),
        defs: Defs::new(function),
        reads: count_uses(function),
        readers: readers(function),
    };
    // What comes to each block, the last first.
    let mut arrivals: SecondaryMap<BlockId, Vec<Inst>> = SecondaryMap::new();
    let mut moved = false;
    for &block in cfg.rpo().iter().rev() {
        let insts = std::mem::take(&mut function.blocks[block].insts);
        let mut kept = Vec::with_capacity(insts.len());
        for inst in insts.into_iter().rev() {
            if let Some(to) = sink.target(function, &inst, block) {
                sink.note_move(&inst, to);
                arrivals[to].push(inst);
                moved = true;
            } else {
                kept.push(inst);
            }
        }
        kept.reverse();
        function.blocks[block].insts = kept;
    }
    for (block, list) in arrivals.iter_mut() {
        function.blocks[block].insts.splice(0..0, list.drain(..).rev());
    }
    moved
}

/// Which block reads a register.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Reader {
    #[default]
    None,
    Block(BlockId),
    /// Several, or a `phi`.
    Many,
}

fn readers(function: &Function) -> SecondaryMap<VReg, Reader> {
    let mut readers = SecondaryMap::with_capacity(function.regs.len());
    for &block in &function.layout {
        let content = &function.blocks[block];
        for (_, value) in content.phis.iter().flat_map(|phi| &phi.incoming) {
            value.for_each_reg(&mut |reg| reg.vreg().into_iter().for_each(|reg| readers[reg] = Reader::Many));
        }
        let mut note = |reg: VReg| {
            readers[reg] = match readers[reg] {
                Reader::None => Reader::Block(block),
                Reader::Block(other) if other == block => Reader::Block(block),
                _ => Reader::Many,
            }
        };
        content.insts.iter().for_each(|inst| inst.for_each_use(&mut note));
        content.terminator.used().into_iter().for_each(note);
    }
    readers
}

struct Sink<'a> {
    forms: &'a Forms,
    loops: Loops,
    live: Liveness,
    defs: Defs,
    /// How often each register is read.
    reads: SecondaryMap<VReg, u32>,
    readers: SecondaryMap<VReg, Reader>,
}

impl Sink<'_> {
    /// The block where an instruction of `block` would better be.
    fn target(&self, function: &Function, inst: &Inst, block: BlockId) -> Option<BlockId> {
        if inst.guard.is_some() || !self.may_move(function, inst) {
            return None;
        }
        let [result] = inst.defs() else { return None };
        let result = result.vreg().filter(|&reg| self.defs.once(reg).is_some())?;
        let Reader::Block(to) = self.readers[result] else { return None };
        if to == block || !self.stays_in_loops(block, to) {
            return None;
        }
        let (mut are_values, mut longer) = (true, 0);
        inst.for_each_use(|reg| {
            are_values &= self.defs.once(reg).is_some();
            if self.live.live_in(to).binary_search(&reg).is_err() {
                longer += units(function.regs[reg]).max(1);
            }
        });
        (are_values && longer <= units(function.regs[result])).then_some(to)
    }

    fn may_move(&self, function: &Function, inst: &Inst) -> bool {
        let is_load = |form| self.forms[form].opcode == ast::Opcode::Ld;
        match inst.opcode {
            Opcode::Copy => true,
            Opcode::Form(form) => function.effects(self.forms, inst).is_empty() && !is_load(form),
            Opcode::Call(_) | Opcode::Asm(_) => false,
        }
    }

    /// True when `to` is in no loop that `from` is not in.
    fn stays_in_loops(&self, from: BlockId, to: BlockId) -> bool {
        self.loops.innermost(to).is_none_or(|around| self.loops.contains(around, from))
    }

    /// Operands that only the moved instruction reads are read where it is now.
    fn note_move(&mut self, inst: &Inst, to: BlockId) {
        inst.for_each_use(|reg| {
            if self.reads[reg] == 1 {
                self.readers[reg] = Reader::Block(to);
            }
        });
    }
}
