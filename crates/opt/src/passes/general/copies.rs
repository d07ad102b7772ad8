//! Copy propagation: sources become what they are copies of, where the target has the form.

use super::{Cx, commute, table};
use oriole_isa::{Family, Field, Kinds, Opcode, Role};
use oriole_ori::terminator::is_terminator;
use oriole_ori::{Function, Guard, Inst, InstFlags, Operand, OperandKind, VReg};
use smallvec::SmallVec;

/// MOV's mask of lanes that takes the whole word.
const ALL_LANES: u32 = 15;
/// Families whose immediates and constants mean what a register with that value means.
const ARITHMETIC: [Family; 5] = [Family::Integer, Family::Float, Family::Half, Family::Double, Family::Move];

/// Other instructions of which the same holds.
const WHOLE_WORDS: [Opcode; 2] = [Opcode::SHFL, Opcode::WARPSYNC];

impl Cx<'_> {
    /// Replace the instruction's sources and guard by what they are copies of.
    pub(super) fn propagate(&mut self, inst: &mut Inst) -> bool {
        let mut changed = self.propagate_guard(inst);
        for at in 0..inst.operands.len() {
            if inst.is_def(at) || !inst.is_use(at) {
                continue;
            }
            changed |= match inst.operands[at].kind() {
                _ if at >= inst.opcode.signature().len() => self.propagate_values(inst, at),
                OperandKind::Reg(..) => self.propagate_single(inst, at),
                OperandKind::Tuple(_) => self.propagate_wide(inst, at),
                _ => false,
            };
        }
        changed
    }

    /// Put copied values in the place of those of an operand: what stays where the instruction does not write, or a wide source.
    fn propagate_values(&mut self, inst: &mut Inst, at: usize) -> bool {
        let old = inst.operands[at];
        let values = self.func.named(old);
        let new: SmallVec<[VReg; 4]> = values.iter().map(|value| self.copied_value(*value).unwrap_or(*value)).collect();
        let changed = new != values;
        if changed {
            inst.operands[at] = old.flags_onto(self.func.tuple(&new));
        }
        changed
    }

    /// The value that a value is a plain copy of.
    pub(super) fn copied_value(&self, value: VReg) -> Option<VReg> {
        self.defs.copied(value).filter(|copied| !copied.has_flags())?.as_reg()
    }

    fn propagate_guard(&self, inst: &mut Inst) -> bool {
        let Some(guard) = inst.guard() else { return false };
        let Some(value) = self.defs.copied(guard.pred) else { return false };
        let negated = guard.negated ^ value.is_not();
        match value.kind() {
            OperandKind::Reg(pred, _) => inst.set_guard(Some(Guard { pred, negated })),
            // A guarded branch's edges are another phase's business.
            OperandKind::Pt if !negated && !is_terminator(inst) => {
                inst.set_guard(None);
                if !inst.writes_partly() {
                    inst.drop_olds();
                }
            }
            _ => return false,
        }
        true
    }

    /// What a register of one component is a copy of; a constant, a register, RZ, PT.
    pub(super) fn copied(&self, operand: Operand) -> Option<Operand> {
        self.defs.copied(operand.as_reg()?)
    }

    /// Put the copied value at `at`, in whichever order of sources is legal.
    fn propagate_single(&self, inst: &mut Inst, at: usize) -> bool {
        let old = inst.operands[at];
        let Some(value) = self.copied(old) else { return false };
        if self.is_like(value, old) {
            inst.operands[at] = old.flags_onto(value);
            return true;
        }
        // A branch whose condition is known has other edges, which are another phase's business.
        if is_terminator(inst) && !matches!(value.kind(), OperandKind::Reg(..)) {
            return false;
        }
        let form = with_value(inst, at, value).and_then(|new| self.legal_form(new));
        form.map(|form| *inst = form).is_some()
    }

    /// Whether one plain register may stand wherever the other may.
    fn is_like(&self, value: Operand, old: Operand) -> bool {
        let file = |operand: Operand| operand.as_reg().map(|reg| self.func[reg].file());
        !value.has_flags() && file(value).is_some() && file(value) == file(old)
    }

    /// The instruction itself or one of its exchanged forms, if one is legal.
    pub(super) fn legal_form(&self, inst: Inst) -> Option<Inst> {
        commute::legal_form(self.func, self.arch, inst)
    }

    /// Of a wide source whose values are copies: other values, zeros, or neighbouring constants in their place.
    fn propagate_wide(&mut self, inst: &mut Inst, at: usize) -> bool {
        let old = inst.operands[at];
        let mut values = old.as_tuple().map_or(&[][..], |tuple| self.func.tuple_values(tuple)).iter();
        if values.all(|value| self.defs.copied(*value).is_none()) {
            return false;
        }
        let takes_constants = ARITHMETIC.contains(&inst.opcode.info().family);
        let constant = self.wide_constant(old).filter(|value| takes_constants || *value == Operand::rz());
        if let Some(value) = constant {
            let mut new = inst.clone();
            new.operands[at] = old.flags_onto(value);
            if let Some(form) = self.legal_form(new) {
                *inst = form;
                return true;
            }
        }
        self.propagate_values(inst, at)
    }

    /// The zero register or the words of a constant bank that all values of a wide operand are copies of.
    pub(super) fn wide_constant(&self, operand: Operand) -> Option<Operand> {
        let values = self.func.tuple_values(operand.as_tuple()?);
        let (first, rest) = values.split_first()?;
        let first = self.copied(Operand::reg(*first))?;
        for (value, k) in rest.iter().zip(1..) {
            if !follows(first, self.copied(Operand::reg(*value))?, k) {
                return None;
            }
        }
        match first.kind() {
            OperandKind::Const { offset, .. } => (values.len() == 2 && offset % 8 == 0).then_some(first),
            _ => first.is_zero().then(Operand::rz),
        }
    }
}

/// Whether the constant `value` is what stands `k` words after `first`.
pub(super) fn follows(first: Operand, value: Operand, k: u8) -> bool {
    match (first.kind(), value.kind()) {
        (OperandKind::Const { bank, offset }, OperandKind::Const { bank: other, offset: next }) => {
            bank == other && next == offset + 4 * u32::from(k)
        }
        _ => first.is_zero() && value.is_zero(),
    }
}

/// Whether an instruction of the opcode may be a copy ([`copy_source`]).
pub(super) fn may_copy(opcode: Opcode) -> bool {
    matches!(opcode, Opcode::MOV | Opcode::UMOV | Opcode::PLOP3)
}

/// The source of the copy that an instruction makes to the register.
pub(super) fn copy_source(func: &Function, inst: &Inst, to: Operand) -> Option<Operand> {
    if inst.flags.contains(InstFlags::VOLATILE) {
        return None;
    }
    match inst.opcode {
        Opcode::MOV => {
            let [_, value, lanes] = inst.operands[..] else { return None };
            let whole = lanes.as_imm() == Some(ALL_LANES);
            let copies = match value.kind() {
                OperandKind::Reg(reg, _) => func.is_value(reg) && outlives(func, reg, to),
                OperandKind::Imm(..) | OperandKind::Rz | OperandKind::Const { .. } | OperandKind::Phys { .. } => true,
                _ => false,
            };
            (whole && copies && !value.is_neg() && !value.is_abs() && !value.is_not()).then(|| value.plain())
        }
        Opcode::UMOV => {
            let value = *inst.operands.get(1)?;
            (value.as_reg().is_some_and(|reg| func.is_value(reg)) && !value.has_flags()).then_some(value)
        }
        Opcode::PLOP3 => {
            let role = [Role::PD, Role::PD2]
                .into_iter()
                .find(|role| inst.operand(*role).is_some_and(|given| given.as_reg() == to.as_reg()))?;
            table::predicate_value(func, inst, role)
        }
        _ => None,
    }
}

/// Whether the register may live as long as the copy in `to` does. A general register's copy of a uniform one stays: it
/// may live across calls, where no uniform register is kept.
fn outlives(func: &Function, reg: VReg, to: Operand) -> bool {
    let uniform = |reg: VReg| func[reg].reg_type.is_uniform();
    !uniform(reg) || to.as_reg().is_some_and(uniform)
}

/// The instruction with a copied value in the place of source `at`; its form may not exist.
fn with_value(inst: &Inst, at: usize, value: Operand) -> Option<Inst> {
    let old = inst.operands[at];
    let mut new = inst.clone();
    new.operands[at] = match value.kind() {
        OperandKind::Pt => value.with_not(value.is_not() ^ old.is_not()),
        OperandKind::Reg(..) => old.flags_onto(value).with_not(value.is_not() ^ old.is_not()),
        OperandKind::Phys { .. } | OperandKind::Rz => old.flags_onto(value),
        OperandKind::Imm(0, _) => old.flags_onto(Operand::rz()),
        _ if !takes_words(inst, at) => return None,
        OperandKind::Imm(bits, _) => Operand::imm(with_flags(inst, bits, old)?),
        OperandKind::Const { .. } => old.flags_onto(value),
        _ => return None,
    };
    Some(new)
}

/// Whether an immediate or constant in this place, or another that it may change with, means what a register
/// with the value means.
fn takes_words(inst: &Inst, at: usize) -> bool {
    let in_family = ARITHMETIC.contains(&inst.opcode.info().family);
    let words = Kinds::R.with(Kinds::IMM).with(Kinds::CONST);
    let signature = inst.opcode.signature();
    let shared_slot = signature[at].kinds.contains(Kinds::R) && signature.iter().any(|spec| spec.kinds.contains(words));
    (in_family && shared_slot) || WHOLE_WORDS.contains(&inst.opcode)
}

/// An immediate after the flags of the source whose place it takes; `None` where that is no immediate.
fn with_flags(inst: &Inst, bits: u32, flags: Operand) -> Option<u32> {
    const SIGN: u32 = 0x8000_0000;
    if !flags.is_neg() && !flags.is_abs() && !flags.is_not() {
        return Some(bits);
    }
    match inst.opcode.info().family {
        // The sign that .XORSIGN takes is that of the source before its absolute value.
        Family::Float if inst.get(Field::XORSIGN) => None,
        Family::Float => {
            let bits = if flags.is_abs() { bits & !SIGN } else { bits };
            (!flags.is_not()).then_some(if flags.is_neg() { bits ^ SIGN } else { bits })
        }
        Family::Integer if flags.is_not() => Some(!bits),
        // The carry of a - b and that of a + (-b) differ only for b = 0.
        Family::Integer if inst.opcode == Opcode::IADD3 && !inst.get(Field::X) => Some(bits.wrapping_neg()),
        _ => None,
    }
}
