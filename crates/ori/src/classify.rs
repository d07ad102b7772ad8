//! The ten kinds of operand that allocation and its verifier tell apart.

use crate::entity::InstId;
use crate::function::Function;
use crate::inst::{Inst, InstFlags};
use crate::operand::OperandKind;
use oriole_isa::Role;

/// What an operand is to the register allocator; the numbers are the published ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum OperandClass {
    /// 1: a general or uniform register.
    Register = 1,
    /// 2: a predicate or uniform predicate.
    Predicate = 2,
    /// 3: a register of any class (barriers, zero and true registers, physical ones).
    AnyRegister = 3,
    /// 4: the offset of an address.
    Offset = 4,
    /// 5: an immediate, constant or other plain value.
    Regular = 5,
    /// 6: the guard predicate.
    Predicated = 6,
    /// 7: a value that is computed again instead of kept.
    Remat = 7,
    /// 8: a register being spilled or refilled.
    SpillRefill = 8,
    /// 9: one side of a pair that moves predicates to a register and back.
    PredicateSave = 9,
    /// 10: a single predicate bit being spilled or refilled.
    BitSpill = 10,
}

impl Function {
    /// The class of operand `i` of an instruction; `None` where it has no such operand, or the form
    /// lacks it.
    pub fn operand_class(&self, inst: InstId, i: usize) -> Option<OperandClass> {
        let data = &self.insts[inst];
        let kind = data.operands.get(i)?.kind();
        let is_register = matches!(kind, OperandKind::Reg(..) | OperandKind::Phys { .. });
        if let Some(class) = marked_class(data).filter(|_| is_register) {
            return Some(class);
        }
        Some(match kind {
            OperandKind::None | OperandKind::Undef => return None,
            OperandKind::Tuple(_) => OperandClass::Register,
            OperandKind::Reg(reg, _) if self.vregs[reg].reg_type.is_predicate() => OperandClass::Predicate,
            OperandKind::Reg(reg, _) if self.vregs[reg].reg_type == crate::RegType::B => OperandClass::AnyRegister,
            OperandKind::Reg(..) | OperandKind::ConstBindless { .. } => OperandClass::Register,
            OperandKind::Guard { .. } => OperandClass::Predicated,
            OperandKind::Rz | OperandKind::Urz | OperandKind::Pt | OperandKind::Upt | OperandKind::Phys { .. } => {
                OperandClass::AnyRegister
            }
            _ if is_offset(data, i) => OperandClass::Offset,
            _ => OperandClass::Regular,
        })
    }
}

fn marked_class(inst: &Inst) -> Option<OperandClass> {
    let marks = [
        (InstFlags::REMAT, OperandClass::Remat),
        (InstFlags::SPILL | InstFlags::REFILL, OperandClass::SpillRefill),
        (InstFlags::PREDICATE_SAVE, OperandClass::PredicateSave),
        (InstFlags::BIT_SPILL | InstFlags::BIT_REFILL, OperandClass::BitSpill),
    ];
    marks.into_iter().find(|(flags, _)| inst.flags.intersects(*flags)).map(|(_, class)| class)
}

fn is_offset(inst: &Inst, i: usize) -> bool {
    inst.opcode.signature().get(i).is_some_and(|spec: &oriole_isa::OperandSpec| role_is_offset(spec.role))
}

fn role_is_offset(role: Role) -> bool {
    role.name().to_ascii_lowercase().contains("off")
}
