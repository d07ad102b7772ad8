//! The general datapath's twin of what brings a constant to a uniform register. A uniform register must not be written just
//! anywhere, and what is computed from one may be needed where it does not live any more; there a general register does as well.

use oriole_isa::{Arch, Field, MemSize, Mods, Opcode, RegFile, Role};
use oriole_ori::{Function, Inst, InstFlags, Operand, RegType, VReg};

/// The twin of a constant, a constant bank's word or a special register on its way to a uniform register, with the same
/// destination.
pub(super) fn twin(inst: &Inst, arch: Arch) -> Option<Inst> {
    if !inst.is_machine() || inst.guard().is_some() || inst.flags.contains(InstFlags::VOLATILE) {
        return None;
    }
    let operand = |role| inst.operand(role);
    let to = operand(Role::D)?;
    let mut new = match inst.opcode {
        Opcode::UMOV => Inst::copy(RegFile::R, to, operand(Role::B).filter(|from| from.as_imm().is_some())?),
        Opcode::ULDC | Opcode::LDCU => load(to, operand(Role::Bank)?, operand(Role::Base), inst, arch)?,
        Opcode::S2UR => {
            let mut new = Inst::neutral(Opcode::S2R, Mods::new());
            new.set_role(Role::D, to);
            new.set_role(Role::A, operand(Role::A)?);
            new.depends_on_operands_alone(arch).then_some(new)?
        }
        _ => return None,
    };
    new.loc = inst.loc;
    Some(new)
}

fn load(to: Operand, bank: Operand, base: Option<Operand>, inst: &Inst, arch: Arch) -> Option<Inst> {
    if bank.as_handle().is_some() || base.is_some_and(|base| base != Operand::urz()) {
        return None;
    }
    let size = inst.get(Field::MEM_SIZE);
    // From sm_90 on operands from constant banks are slower than LDC.
    if arch < Arch::Sm90 && size == MemSize::B32 {
        return Some(Inst::copy(RegFile::R, to, bank));
    }
    let mut new = Inst::neutral(Opcode::LDC, Mods::new());
    new.mods.set(Field::MEM_SIZE, size);
    new.set_role(Role::D, to);
    new.set_role(Role::Bank, bank);
    Some(new)
}

/// The type of what stands for a register on the general datapath: its own, but for uniform registers.
pub(super) fn general_type(func: &Function, reg: VReg) -> Option<RegType> {
    let data = &func[reg];
    if data.file() == RegFile::UR { RegType::of_width(RegFile::R, data.components) } else { None }
}
