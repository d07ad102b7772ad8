//! Forms of instructions with uniform registers: the twin of the uniform datapath, and the vector instruction that reads a
//! uniform register.

use crate::passes::general::{commute, is_scaled};
use oriole_isa::{
    Arch, Field, LdcMode, Mods, Opcode, RegFile, Role, Setting, Udenormal, UvmnmxType, Vtype, special_registers,
};
use oriole_ori::{EntitySet, Function, Guard, Inst, InstFlags, Operand, OperandKind, PackedOption, SecondaryMap, VReg};

/// Modifiers that the uniform datapath has in another field than the vector instruction, or in another default.
const TRANSLATIONS: [(Setting, Setting); 7] = [
    (Field::FMZ.is(true), Field::UDENORMAL.is(Udenormal::FMZ)),
    (Field::FTZ.is(true), Field::UDENORMAL.is(Udenormal::FTZ)),
    (Field::IS_A.is(true), Field::UFMNMX_IS_A.is(true)),
    (Field::VTYPE.is(Vtype::U32), Field::UVMNMX_TYPE.is(UvmnmxType::U32)),
    (Field::VTYPE.is(Vtype::S32), Field::UVMNMX_TYPE.is(UvmnmxType::S32)),
    (Field::VTYPE.is(Vtype::U16X2), Field::UVMNMX_TYPE.is(UvmnmxType::U16X2)),
    (Field::VTYPE.is(Vtype::S16X2), Field::UVMNMX_TYPE.is(UvmnmxType::S16X2)),
];

/// The modifiers of an instruction in the fields of its twin; `None` where it has no such.
fn translated(inst: &Inst, twin: Opcode) -> Option<Mods> {
    let mut mods = Mods::new();
    for &(field, default) in inst.opcode.fields() {
        let setting = Setting::raw(field, inst.raw(field));
        let other = TRANSLATIONS.iter().find(|(from, to)| *from == setting && twin.has_field(to.field()));
        if twin.has_field(field) {
            mods.apply(setting);
        } else if let Some((_, to)) = other {
            mods.apply(*to);
        } else if setting.code() != default {
            return None;
        }
    }
    Some(mods)
}

/// What brought a register to the uniform datapath, when it is there; `None` where more is wanted of it.
fn moved(inst: &Inst) -> Option<Inst> {
    let operand = |role| inst.operand(role);
    if operand(Role::PD) != Some(Operand::pt()) || inst.guard().is_some() {
        return None;
    }
    let mut new = Inst::copy(RegFile::UR, operand(Role::D)?, operand(Role::A)?);
    (new.loc, new.flags) = (inst.loc, inst.flags);
    Some(new)
}

/// What brings a constant to the uniform datapath, as a move there.
pub(super) fn constant_move(inst: &Inst) -> Option<Inst> {
    if inst.opcode != Opcode::R2UR || !inst.is_machine() {
        return None;
    }
    let at = inst.position(Role::A)?;
    let bits = if inst.operands[at] == Operand::rz() { 0 } else { inst.operands[at].as_imm()? };
    let mut new = inst.clone();
    new.operands[at] = Operand::imm(bits);
    moved(&new)
}

/// Forms for one function, in which some registers have others in uniform files.
pub(super) struct Forms<'f> {
    pub(super) func: &'f Function,
    pub(super) arch: Arch,
    /// The uniform register of a register, or one that stands for it.
    pub(super) names: &'f SecondaryMap<VReg, PackedOption<VReg>>,
    /// Those of them that are in general registers as well.
    pub(super) both: &'f EntitySet<VReg>,
    /// Those of these that are made there, and brought over from there.
    pub(super) bridged: &'f EntitySet<VReg>,
}

impl Forms<'_> {
    fn name(&self, reg: VReg) -> Option<VReg> {
        self.names[reg].expand()
    }

    /// The operand on the uniform datapath.
    fn uniform(&self, operand: Operand) -> Option<Operand> {
        Some(match operand.kind() {
            OperandKind::Reg(reg, _) if self.func[reg].reg_type.is_uniform() => operand,
            OperandKind::Reg(reg, _) => operand.with_reg(self.name(reg)?),
            OperandKind::Rz => operand.flags_onto(Operand::urz()),
            OperandKind::Pt => operand.flags_onto(Operand::upt()),
            OperandKind::None | OperandKind::Imm(..) | OperandKind::Urz | OperandKind::Upt => operand,
            _ => return None,
        })
    }

    /// The instruction of the uniform datapath that does the same, with uniform registers for all that it names.
    pub(super) fn twin(&self, inst: &Inst) -> Option<Inst> {
        if !inst.is_machine() {
            return if inst.is_undef() { self.undef(inst) } else { None };
        }
        let stays = |operand: Operand| operand.as_reg().is_some_and(|reg| self.bridged.contains(reg));
        if inst.call.is_some() || inst.flags.contains(InstFlags::VOLATILE) || inst.defs().any(|(_, to)| stays(to)) {
            return None;
        }
        let mut new = match inst.opcode {
            Opcode::MOV if inst.operands.get(1).is_some_and(|from| from.is_const_bank()) => self.load(inst, Role::B)?,
            Opcode::LDC => self.load(inst, Role::Bank)?,
            Opcode::S2R => self.special(inst)?,
            opcode => self.same_roles(inst, opcode.info().uniform?)?,
        };
        if let Some(guard) = inst.guard() {
            new.set_guard(Some(Guard { pred: self.name(guard.pred)?, ..guard }));
        }
        (new.loc, new.flags) = (inst.loc, inst.flags);
        self.legal(new)
    }

    fn undef(&self, inst: &Inst) -> Option<Inst> {
        let mut new = inst.clone();
        new.operands[0] = self.uniform(inst.operands[0])?;
        Some(new)
    }

    /// The form itself or with two sources exchanged, if the target has it.
    fn legal(&self, inst: Inst) -> Option<Inst> {
        commute::legal_form(self.func, self.arch, inst)
    }

    /// Operands go to the places with the same role.
    fn same_roles(&self, inst: &Inst, opcode: Opcode) -> Option<Inst> {
        let mut new = Inst::neutral(opcode, translated(inst, opcode)?);
        new.flags = inst.flags & InstFlags::NOTES;
        for (operand, spec) in inst.operands.iter().zip(inst.opcode.signature()) {
            match opcode.position(spec.role) {
                Some(at) => new.operands[at] = self.uniform(*operand)?,
                None if spec.neutral.is_some_and(|neutral| Operand::from_isa(neutral) == *operand) => {}
                None => return None,
            }
        }
        Some(new)
    }

    /// A load from a constant bank.
    fn load(&self, inst: &Inst, bank: Role) -> Option<Inst> {
        let operand = |role| inst.operand(role);
        let (to, bank) = (self.uniform(operand(Role::D)?)?, operand(bank)?);
        let is_whole = operand(Role::Lanes).is_none_or(|lanes| lanes.as_imm() == Some(15));
        let is_linear = inst.opcode != Opcode::LDC || inst.get(Field::LDC_MODE) == LdcMode::LINEAR;
        if !is_whole || !is_linear || bank.has_flags() || bank.as_handle().is_some() {
            return None;
        }
        let opcode = if self.arch <= Arch::Sm90 { Opcode::ULDC } else { Opcode::LDCU };
        let mut new = Inst::neutral(opcode, Mods::new());
        if inst.opcode == Opcode::LDC {
            new.mods.set(Field::MEM_SIZE, inst.get(Field::MEM_SIZE));
        }
        new.set_role(Role::D, to);
        new.set_role(Role::Bank, bank);
        if let Some(base) = operand(Role::Base) {
            new.set_role(Role::Base, self.uniform(base)?);
        }
        Some(new)
    }

    /// A read of a special register that is the same in the warp as long as it runs.
    fn special(&self, inst: &Inst) -> Option<Inst> {
        let at = inst.position(Role::A)?;
        let OperandKind::Special(number) = inst.operands[at].kind() else { return None };
        let shared = special_registers::by_number(number, self.arch).is_some_and(|s| s.scope.is_warp_uniform());
        if !shared || !special_registers::is_constant(number, self.arch) {
            return None;
        }
        let mut new = Inst::neutral(Opcode::S2UR, Mods::new());
        new.set_role(Role::D, self.uniform(*inst.operands.first()?)?);
        new.set_role(Role::A, inst.operands[at]);
        Some(new)
    }

    /// The vector instruction that reads uniform registers where it names registers that have one; `None` where it has no such form.
    pub(super) fn reader(&self, inst: &Inst) -> Option<Inst> {
        let mut new = inst.clone();
        for (at, operand) in inst.operands.iter().enumerate() {
            if let OperandKind::Reg(reg, _) = operand.kind()
                && let Some(name) = self.name(reg)
                && (!self.both.contains(reg) || inst.is_machine() && inst.opcode == Opcode::R2UR)
            {
                if inst.is_def(at) {
                    return None;
                }
                new.operands[at] = operand.with_reg(name);
            } else if let Some(handle) = operand.as_handle()
                && self.name(handle).is_some()
            {
                return None;
            }
        }
        if !inst.is_machine() {
            return Some(new);
        }
        if inst.guard().is_some_and(|guard| self.name(guard.pred).is_some()) {
            return self.branch(&new);
        }
        match inst.opcode {
            Opcode::R2UR => moved(&new),
            _ => self.addressed(&new).or_else(|| self.legal(new)),
        }
    }

    /// A branch under a uniform predicate.
    fn branch(&self, inst: &Inst) -> Option<Inst> {
        let guard = inst.guard()?;
        let at = inst.position(Role::PA).filter(|_| inst.opcode == Opcode::BRA)?;
        if inst.operands[at] != Operand::pt() {
            return None;
        }
        let pred = Operand::reg(self.name(guard.pred)?);
        let mut new = inst.clone();
        new.set_guard(None);
        new.operands[at] = if guard.negated { pred.not() } else { pred };
        new.mods.apply(Field::BRA_UNIFORM.is(true));
        self.func.is_legal(&new, self.arch).then_some(new)
    }

    /// A 32-bit address whose register is a uniform one. A scale is one of the general register alone.
    fn addressed(&self, inst: &Inst) -> Option<Inst> {
        let (base, ubase) = (inst.position(Role::Base)?, inst.position(Role::UBase)?);
        let is_uniform = |operand: Operand| operand.as_reg().is_some_and(|reg| self.func[reg].file() == RegFile::UR);
        if !is_uniform(inst.operands[base])
            || !inst.operands[ubase].is_none()
            || inst.width(base) != 1
            || is_scaled(inst)
        {
            return None;
        }
        let mut new = inst.clone();
        new.operands[ubase] = std::mem::replace(&mut new.operands[base], Operand::rz());
        self.func.is_legal(&new, self.arch).then_some(new)
    }
}
