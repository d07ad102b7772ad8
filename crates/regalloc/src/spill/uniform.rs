//! What leaves the uniform files: a predicate goes to a uniform register, a uniform register to general ones, and these go
//! down their own ladder.
//!
//! A general register is each thread's own, and `R2UR` takes what the first active thread has there. That thread has the
//! value: where all threads are together all of them save it, and what is written where they are apart is read in the same block, by
//! the same threads (`docs/uniform.md`). Where it comes back it lives up to the one instruction that reads it, so no other threads
//! of the warp come in between, and marks keep what those hold in other registers.

use super::Home;
use crate::AllocError;
use crate::constants::is_constant;
use oriole_isa::{Arch, Cmp, Field, Mods, Opcode, RegFile, Role, Sign};
use oriole_ori::{Function, Inst, InstFlags, InstId, Operand, RegType, VReg};

/// Where a uniform predicate is kept.
pub(super) fn home_of_predicate(func: &mut Function) -> Result<Home, AllocError> {
    Ok(Home::Uniform(func.new_vreg(RegType::Ur)?))
}

/// Where a uniform register is kept, or how it is computed again if `definition` alone writes it.
pub(super) fn home_of_register(
    func: &mut Function,
    reg: VReg,
    definition: Option<InstId>,
    arch: Arch,
) -> Result<Home, AllocError> {
    let whole = |inst: &Inst| inst.operands[0].as_whole_reg() == Some(reg);
    let cheap = |inst: &Inst| matches!(inst.opcode, Opcode::UMOV | Opcode::ULDC | Opcode::LDCU) && whole(inst);
    if let Some(definition) = definition.filter(|id| cheap(&func[*id]) && is_constant(func, *id, arch)) {
        return Ok(Home::Recompute(func[definition].clone()));
    }
    let lanes = (0..func[reg].components).map(|_| func.new_vreg(RegType::R));
    Ok(Home::Lanes(lanes.collect::<Result<_, _>>()?))
}

/// `USEL to, URZ, 1, !predicate`.
pub(super) fn save_predicate(to: VReg, predicate: VReg) -> Inst {
    let mut select = Inst::neutral(Opcode::USEL, Mods::new());
    select.set_role(Role::D, Operand::reg(to));
    select.set_role(Role::A, Operand::urz());
    select.set_role(Role::B, Operand::imm(1));
    select.set_role(Role::PA, Operand::reg(predicate).not());
    select.flags |= InstFlags::BIT_SPILL;
    select
}

/// `UISETP.NE predicate, from, URZ`.
pub(super) fn refill_predicate(predicate: VReg, from: VReg) -> Inst {
    let mut test = Inst::neutral(Opcode::UISETP, Mods::new());
    test.mods.set(Field::CMP, Cmp::NE);
    test.mods.set(Field::SIGN, Sign::U32);
    test.set_role(Role::PD, Operand::reg(predicate));
    test.set_role(Role::A, Operand::reg(from));
    test.set_role(Role::B, Operand::urz());
    test.flags |= InstFlags::BIT_REFILL;
    test
}

/// `MOV lane, from`.
pub(super) fn save_component(lane: VReg, from: Operand) -> Inst {
    let mut copy = Inst::copy(RegFile::R, Operand::reg(lane), from);
    copy.flags |= InstFlags::SPILL;
    copy
}

/// `R2UR to, lane`.
pub(super) fn refill_component(to: Operand, lane: VReg) -> Inst {
    let mut copy = Inst::neutral(Opcode::R2UR, Mods::new());
    copy.set_role(Role::D, to);
    copy.set_role(Role::A, Operand::reg(lane));
    copy.flags |= InstFlags::REFILL;
    copy
}

/// Reads of single registers by instructions that may as well read where these are kept: what is in all threads need not be
/// brought back for them.
pub(super) fn read_lanes<'h>(func: &mut Function, inst: InstId, arch: Arch, home: impl Fn(VReg) -> Option<&'h Home>) {
    for at in 0..func[inst].operands.len() {
        let operand = func[inst].operands[at];
        let Some((reg, piece)) = operand.as_piece().filter(|_| func[inst].is_use(at)) else { continue };
        let named = piece.range(func[reg].components);
        let Some(Home::Lanes(lanes)) = home(reg).filter(|_| named.len() == 1) else { continue };
        let Some(lane) = lanes.get(usize::from(named.start)) else { continue };
        let mut other = func[inst].clone();
        other.operands[at] = operand.flags_onto(Operand::reg(*lane));
        if func.is_legal(&other, arch) {
            func.edit().replace(inst, other);
        }
    }
}

/// A mark holds no more what has left its register: each thread has it to itself, but for a predicate that is in
/// another uniform register, which is held instead. Whether the mark still holds anything.
pub(super) fn release<'h>(
    func: &mut Function,
    mark: InstId,
    home: impl Fn(VReg) -> Option<&'h Home>,
    new: &mut Vec<InstId>,
) -> bool {
    let (mut stays, mut instead) = (Vec::new(), Vec::new());
    for &held in &func[mark].operands {
        match held.as_reg().filter(|reg| func[*reg].reg_type.is_uniform()).and_then(&home) {
            Some(Home::Uniform(register)) => instead.push(Operand::reg(*register)),
            Some(_) => {}
            None => stays.push(held),
        }
    }
    if !instead.is_empty() {
        new.push(func.edit().add(Inst::hold(&instead)));
    }
    if stays.len() < func[mark].operands.len() {
        func.edit().replace(mark, Inst::hold(&stays));
    }
    !stays.is_empty()
}
