//! Checks what every pass may rely on.
//!
//! * targets of terminators are blocks of the layout, each of which is there once;
//! * registers are of a class that can be declared;
//! * copies are between registers of one width;
//! * a `phi` has one value for each predecessor, a register or a constant; the entry has no `phi`s;
//! * before the way out of SSA a register is written once, not counting guarded instructions;
//!   after it there are no `phi`s;
//! * what is read is written on all ways to it.

use cranelift_entity::EntitySet;

use super::cfg::Cfg;
use super::liveness::{Liveness, PhiUses};
use crate::machine::{BlockId, Function, Inst, Opcode, Operand, Phi, RegClass, VReg};

/// What is wrong with a function.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Fault {
    /// A target that is not in the layout, or a block that is there twice.
    #[error("{0} is not in the layout, or twice")]
    Layout(BlockId),
    /// A register that does not exist or cannot be declared.
    #[error("Bad register class: {1} in {0}")]
    Class(BlockId, VReg),
    /// A copy between registers of different widths.
    #[error("the copy of {1} to {2} in {0} is between different widths")]
    Copy(BlockId, VReg, VReg),
    /// A `phi` whose values are not those of the predecessors.
    #[error("the phi of {1} in {0} has not one value for each predecessor")]
    Phi(BlockId, VReg),
    /// A `phi` behind the way out of SSA.
    #[error("the phi of {1} in {0} is still there")]
    PhiLeft(BlockId, VReg),
    /// A second definition in SSA.
    #[error("{1} is written again in {0}")]
    Twice(BlockId, VReg),
    /// A use that some way reaches without a definition.
    #[error("{1} is read in {0} but not written on all ways to it")]
    Undefined(BlockId, VReg),
}

/// Which rules hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// With `phi`s, each register written once.
    Ssa,
    /// Without `phi`s.
    Plain,
}

/// Checks a function.
///
/// # Errors
///
/// The first fault that is found.
pub fn verify(function: &Function, stage: Stage) -> Result<(), Fault> {
    let layout = check_layout(function)?;
    let cfg = Cfg::of_reachable(function);
    let mut written = EntitySet::with_capacity(function.regs.len());
    for &block in &function.layout {
        let content = &function.blocks[block];
        for phi in &content.phis {
            check_phi(function, &cfg, block, phi, stage)?;
            check_written(&mut written, block, phi.dst, stage)?;
        }
        for inst in &content.insts {
            check_inst(function, block, inst)?;
            let mut twice = None;
            inst.for_each_def(|reg| {
                if inst.guard.is_none() && check_written(&mut written, block, reg, stage).is_err() {
                    twice = Some(reg);
                }
            });
            if let Some(reg) = twice {
                return Err(Fault::Twice(block, reg));
            }
        }
        if let Some(reg) = content.terminator.used() {
            check_reg(function, block, reg)?;
        }
        let mut lost = None;
        content.terminator.for_each_successor(|to| {
            if !layout.contains(to) {
                lost = Some(to);
            }
        });
        if let Some(to) = lost {
            return Err(Fault::Layout(to));
        }
    }
    check_definitions(function, &cfg)
}

fn check_layout(function: &Function) -> Result<EntitySet<BlockId>, Fault> {
    let mut layout = EntitySet::with_capacity(function.blocks.len());
    for &block in &function.layout {
        if !function.blocks.is_valid(block) || !layout.insert(block) {
            return Err(Fault::Layout(block));
        }
    }
    Ok(layout)
}

fn check_written(written: &mut EntitySet<VReg>, block: BlockId, reg: VReg, stage: Stage) -> Result<(), Fault> {
    if !written.insert(reg) && stage == Stage::Ssa { Err(Fault::Twice(block, reg)) } else { Ok(()) }
}

fn check_reg(function: &Function, block: BlockId, reg: VReg) -> Result<(), Fault> {
    match function.regs.get(reg) {
        None | Some(RegClass::Special) => Err(Fault::Class(block, reg)),
        Some(_) => Ok(()),
    }
}

fn check_operand(function: &Function, block: BlockId, operand: &Operand) -> Result<(), Fault> {
    let mut result = Ok(());
    operand.for_each_reg(&mut |reg| {
        if let (Some(reg), Ok(())) = (reg.vreg(), &result) {
            result = check_reg(function, block, reg);
        }
    });
    result
}

fn check_inst(function: &Function, block: BlockId, inst: &Inst) -> Result<(), Fault> {
    if let Some((guard, _)) = inst.guard {
        check_reg(function, block, guard)?;
    }
    for operand in &inst.operands {
        check_operand(function, block, operand)?;
    }
    if let (Opcode::Copy, [Operand::Reg(to), Operand::Reg(from)]) = (inst.opcode, inst.operands.as_slice())
        && let (Some(to), Some(from)) = (to.vreg(), from.vreg())
        && function.regs[to].info().width != function.regs[from].info().width
    {
        return Err(Fault::Copy(block, from, to));
    }
    Ok(())
}

fn check_phi(function: &Function, cfg: &Cfg, block: BlockId, phi: &Phi, stage: Stage) -> Result<(), Fault> {
    if stage == Stage::Plain {
        return Err(Fault::PhiLeft(block, phi.dst));
    }
    check_reg(function, block, phi.dst)?;
    for (_, value) in &phi.incoming {
        check_operand(function, block, value)?;
        if value.vreg().is_none() && !value.vregs().is_empty() {
            return Err(Fault::Phi(block, phi.dst));
        }
    }
    let mut from: Vec<BlockId> = phi.incoming.iter().map(|(from, _)| *from).filter(|&b| cfg.is_reachable(b)).collect();
    from.sort_unstable();
    let mut preds = cfg.preds(block).to_vec();
    preds.sort_unstable();
    let is_entry = function.layout.first() == Some(&block);
    if cfg.is_reachable(block) && (is_entry || from != preds) { Err(Fault::Phi(block, phi.dst)) } else { Ok(()) }
}

/// What is live at the entry is read but not written on some way. The place is that of one such use.
fn check_definitions(function: &Function, cfg: &Cfg) -> Result<(), Fault> {
    let live = Liveness::new(function, cfg, PhiUses::OnEdge);
    let Some(&entry) = function.layout.first() else { return Ok(()) };
    let Some(&reg) = live.live_in(entry).first() else { return Ok(()) };
    let reads = |block: &&BlockId| {
        let content = &function.blocks[**block];
        let mut found = content.terminator.used() == Some(reg);
        content.insts.iter().for_each(|inst| inst.for_each_use(|used| found |= used == reg));
        found && (**block == entry || live.live_in(**block).contains(&reg))
    };
    Err(Fault::Undefined(cfg.rpo().iter().find(reads).copied().unwrap_or(entry), reg))
}
