//! Computes cheap values again where they are read, when too many registers are live.
//!
//! Cheap is what one instruction makes of constants, special registers, addresses of variables and
//! parameters. Where a block needs more registers than there are, such values that live through it
//! are given up: each block that reads one makes it anew before its first reader.

use cranelift_entity::SecondaryMap;
use fixedbitset::FixedBitSet;
use oriole_ptx::ast::{self, Modifier, Space};

use super::cfg::Cfg;
use super::context::Context;
use super::defs::Defs;
use super::liveness::{Liveness, PhiUses};
use super::pressure::{MAX_REGISTERS, Pressure, units};
use crate::machine::{Base, BlockId, Forms, Function, Inst, Opcode, Operand, VReg};

/// Runs the pass; true when something is computed again.
pub fn run(cx: &mut Context<'_>) -> bool {
    let function = &mut *cx.function;
    let limit = cx.options.max_reg.unwrap_or(MAX_REGISTERS).min(MAX_REGISTERS);
    let pressure = Pressure::new(function);
    if pressure.total <= limit {
        return false;
    }
    let cfg = Cfg::of_reachable(function);
    let chosen = choose(function, cx.forms, &cfg, &pressure, limit);
    let mut changed = false;
    for &block in cfg.rpo() {
        changed |= repeat_in_block(function, &chosen, block);
        changed |= repeat_for_phis(function, &chosen, block);
    }
    changed
}

/// The cheap values that live through blocks with too many registers, with the instructions that make them.
fn choose(
    function: &Function,
    forms: &Forms,
    cfg: &Cfg,
    pressure: &Pressure,
    limit: u32,
) -> SecondaryMap<VReg, Option<Inst>> {
    let live = Liveness::new(function, cfg, PhiUses::OnEdge);
    let defs = Defs::new(function);
    let mut chosen: SecondaryMap<VReg, Option<Inst>> = SecondaryMap::new();
    let mut asked = FixedBitSet::with_capacity(function.regs.len());
    for &block in cfg.rpo().iter().filter(|&&block| pressure.by_block[block] > limit) {
        let mut excess = pressure.by_block[block] - limit;
        for &reg in live.live_out(block) {
            if excess == 0 {
                break;
            }
            if live.live_in(block).binary_search(&reg).is_err() {
                continue;
            }
            if !asked.put(reg.as_u32() as usize) {
                let inst = defs.once(reg).and_then(|place| place.inst(function));
                chosen[reg] = inst.filter(|inst| is_cheap(function, forms, inst)).cloned();
            }
            if chosen[reg].is_some() {
                excess = excess.saturating_sub(units(function.regs[reg]));
            }
        }
    }
    chosen
}

fn is_cheap(function: &Function, forms: &Forms, inst: &Inst) -> bool {
    let Opcode::Form(form) = inst.opcode else { return false };
    let form = &forms[form];
    let opcode = match form.opcode {
        ast::Opcode::Mov | ast::Opcode::Cvta | ast::Opcode::Add => true,
        ast::Opcode::Ld => form.modifiers.contains(&Modifier::Space(Space::Param)),
        _ => false,
    };
    let mut reads_registers = inst.guard.is_some();
    inst.for_each_use(|_| reads_registers = true);
    let by_name = |operand: &Operand| match operand {
        Operand::Address(address) => matches!(address.base, Base::Symbol(_)),
        _ => true,
    };
    let result = matches!(inst.defs(), [Operand::Reg(_)]);
    opcode && result && !reads_registers && inst.uses().iter().all(by_name) && function.effects(forms, inst).is_empty()
}

/// Makes the chosen values that a block reads, but does not write, before their first readers.
fn repeat_in_block(function: &mut Function, chosen: &SecondaryMap<VReg, Option<Inst>>, block: BlockId) -> bool {
    let old = std::mem::take(&mut function.blocks[block].insts);
    let mut insts = Vec::with_capacity(old.len());
    let mut again = Again { chosen, names: Vec::new(), made: Vec::new() };
    let before = function.regs.len();
    for mut inst in old {
        // The first maker keeps its result: what it is read for in its own block stays as it was.
        inst.for_each_def(|reg| again.keep(reg));
        let defs = usize::from(inst.defs);
        if let Some((guard, _)) = &mut inst.guard {
            again.read(function, guard);
        }
        inst.operands[defs..].iter_mut().for_each(|operand| {
            operand.for_each_vreg_mut(&mut |reg| again.read(function, reg));
        });
        insts.append(&mut again.made);
        insts.push(inst);
    }
    let mut terminator = function.blocks[block].terminator.clone();
    terminator.used_mut().into_iter().for_each(|reg| again.read(function, reg));
    insts.append(&mut again.made);
    let content = &mut function.blocks[block];
    content.insts = insts;
    content.terminator = terminator;
    function.regs.len() != before
}

/// Makes the chosen values that `phi`s read from `block` where it ends.
fn repeat_for_phis(function: &mut Function, chosen: &SecondaryMap<VReg, Option<Inst>>, block: BlockId) -> bool {
    let mut again = Again { chosen, names: Vec::new(), made: Vec::new() };
    for inst in &function.blocks[block].insts {
        inst.for_each_def(|reg| again.keep(reg));
    }
    for to in super::cfg::successors(function, block) {
        let mut phis = std::mem::take(&mut function.blocks[to].phis);
        let values = phis.iter_mut().flat_map(|phi| &mut phi.incoming).filter(|(from, _)| *from == block);
        values.for_each(|(_, value)| value.for_each_vreg_mut(&mut |reg| again.read(function, reg)));
        function.blocks[to].phis = phis;
    }
    let changed = !again.made.is_empty();
    function.blocks[block].insts.append(&mut again.made);
    changed
}

/// The values that one block makes again.
struct Again<'a> {
    chosen: &'a SecondaryMap<VReg, Option<Inst>>,
    /// What is read in the place of chosen registers.
    names: Vec<(VReg, VReg)>,
    made: Vec<Inst>,
}

impl Again<'_> {
    fn keep(&mut self, reg: VReg) {
        if self.chosen[reg].is_some() {
            self.names.push((reg, reg));
        }
    }

    fn read(&mut self, function: &mut Function, reg: &mut VReg) {
        let Some(inst) = &self.chosen[*reg] else { return };
        if let Some((_, name)) = self.names.iter().find(|(old, _)| old == reg) {
            *reg = *name;
            return;
        }
        let class = function.regs[*reg];
        let fresh = function.regs.push(class);
        self.made.push(Inst {
            operands: std::iter::once(fresh.into()).chain(inst.uses().iter().cloned()).collect(),
            ..inst.clone()
        });
        self.names.push((*reg, fresh));
        *reg = fresh;
    }
}
