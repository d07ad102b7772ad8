//! Arithmetic on either of two pipes. The unit for integers takes an instruction every other cycle: a row of moves waits for it while
//! the one that multiplies has nothing to do. `IMAD.MOV.U32` (`RZ * RZ + x`) does the same there, as with ptxas.

use crate::code::{REGISTERS, reg_numbers};
use crate::units::{NOTHING, Units, demand_of};
use oriole_isa::chip::{Demand, Unit};
use oriole_isa::{Arch, Field, Opcode, Pipe, Role, ShiftDir, ShiftType, Sign};
use oriole_ori::{Function, Inst, InstId, Operand};
use std::ops::Range;

/// Cycles until what arithmetic gives can be read, as a rule: until then nothing waits for a unit.
const RESULT: u32 = 4;

/// Give what would wait for the unit for integers to the one that multiplies, where that is free: by the order in which the instructions
/// stand, one a cycle, each when its operands are there.
pub(crate) fn balance(func: &mut Function, arch: Arch) {
    if arch.chip().is_none() {
        return;
    }
    let mut demands = Demands { arch, known: [None; Opcode::COUNT] };
    let mut others: Vec<(InstId, Inst)> = Vec::new();
    let (mut units, mut clock, mut ready) = (Units::default(), 0, Ready::new());
    for (_, inst) in func.iter_insts().filter(|(_, inst)| func.emits_code(*inst)) {
        let mut demand = demands.of(func[inst].opcode);
        clock = ready.of(func, inst).max(clock);
        let waits = demand.unit == Unit::Alu && units.free(Unit::Alu as usize) > clock;
        if waits
            && units.free(Unit::FmaHeavy as usize) <= clock
            && let Some(other) = multiplied(func, inst, arch)
        {
            demand = demands.of(other.opcode);
            others.push((inst, other));
        }
        clock = clock.max(units.free(demand.unit as usize));
        units.issue(demand, clock);
        ready.written(func, inst, clock);
        clock += 1;
    }
    for (inst, other) in others {
        func.edit().replace(inst, other);
    }
}

/// By physical register: from when on it can be read.
struct Ready(Vec<u32>);

impl Ready {
    fn new() -> Self {
        Ready(vec![0; REGISTERS])
    }

    /// When what an instruction reads is there.
    fn of(&self, func: &Function, inst: InstId) -> u32 {
        let data = &func[inst];
        let latest = |time, operand| self.0[numbers(func, operand)].iter().copied().fold(time, u32::max);
        let there = data.uses().fold(0, |time, (_, operand)| latest(time, operand));
        if data.guard().is_some() { latest(there, data.guard_operand()) } else { there }
    }

    /// An instruction issues.
    fn written(&mut self, func: &Function, inst: InstId, clock: u32) {
        let data = &func[inst];
        let arithmetic = matches!(data.opcode.info().pipe, Pipe::Alu | Pipe::Fma);
        let after = if arithmetic { RESULT } else { data.opcode.estimate() };
        data.defs().for_each(|(_, operand)| self.0[numbers(func, operand)].fill(clock + after));
    }
}

/// The registers that an operand names.
fn numbers(func: &Function, operand: Operand) -> Range<usize> {
    func.physical(operand).map_or(0..0, |(file, first, count)| reg_numbers(file, first, count))
}

/// What opcodes take of the arithmetic units.
struct Demands {
    arch: Arch,
    /// By opcode, once it has been met.
    known: [Option<Demand>; Opcode::COUNT],
}

impl Demands {
    fn of(&mut self, opcode: Opcode) -> Demand {
        let arch = self.arch;
        *self.known[opcode as usize].get_or_insert_with(|| match opcode.info().pipe {
            Pipe::Alu | Pipe::Fma => demand_of(&oriole_isa::Inst::new(opcode), arch),
            _ => NOTHING,
        })
    }
}

/// The same by a multiplication and a sum: a move as `RZ * RZ + x`, a sum as `a * 1 + b`, a shift to the left as `a * 2^n + b`.
fn multiplied(func: &Function, inst: InstId, arch: Arch) -> Option<Inst> {
    let old = &func[inst];
    if !old.is_machine() {
        return None;
    }
    let place = |role| old.operand(role);
    let (to, zero) = (place(Role::D)?, Operand::rz());
    let all = |roles: &[Role], value: Operand| roles.iter().all(|role| place(*role) == Some(value));
    let (a, b, c, sign) = match old.opcode {
        Opcode::MOV => {
            let whole = old.operands.iter().skip(2).all(|operand| operand.as_imm().is_none_or(|mask| mask == 0xf));
            (zero, zero, place(Role::B).filter(|_| whole)?, Sign::U32)
        }
        Opcode::IADD3 if !old.get(Field::X) && all(&[Role::PD, Role::PD2], Operand::pt()) => {
            let (a, b) = (place(Role::A)?, place(Role::B).filter(|_| all(&[Role::C], zero))?);
            match (a == zero, b == zero) {
                (_, true) => (zero, zero, a, Sign::U32),
                (true, _) => (zero, zero, b, Sign::U32),
                _ if a.has_flags() => (b, Operand::imm(1), a, Sign::S32),
                _ => (a, Operand::imm(1), b, Sign::S32),
            }
        }
        Opcode::SHF if is_left_shift(old) && all(&[Role::C], zero) => {
            let count = place(Role::B)?.as_imm().filter(|count| *count < u32::BITS)?;
            (place(Role::A)?, Operand::imm(1 << count), zero, Sign::U32)
        }
        Opcode::LEA if ![Field::HI, Field::X, Field::SX32].iter().any(|field| old.get(*field)) => {
            let count = place(Role::Shift)?.as_imm().filter(|_| all(&[Role::PD], Operand::pt()))?;
            (place(Role::A)?, Operand::imm(1_u32.checked_shl(count)?), place(Role::B)?, Sign::U32)
        }
        _ => return None,
    };
    let mut new = Inst::neutral(Opcode::IMAD, [Field::SIGN.is(sign)].into_iter().collect());
    for (role, operand) in [(Role::D, to), (Role::A, a), (Role::B, b), (Role::C, c)] {
        new.set_role(role, operand);
    }
    new.set_guard(old.guard());
    (new.loc, new.flags) = (old.loc, old.flags);
    func.is_legal(&new, arch).then_some(new)
}

/// Whether it shifts the lower word of a pair to the left.
fn is_left_shift(inst: &Inst) -> bool {
    let words = matches!(inst.get(Field::SHIFT_TYPE), ShiftType::U32 | ShiftType::S32);
    words && inst.get(Field::SHIFT_DIR) == ShiftDir::L && !inst.get(Field::HI)
}
