//! Which bits of a register an instruction looks at.

use crate::entity::{InstId, VReg};
use crate::function::Function;
use crate::inst::Inst;
use crate::visit::Slot;
use oriole_isa::{Cmp, Field, Opcode, Prmt, Role, ShiftDir, ShiftType};

/// The bits of `reg` that the results depend on: all, but of instructions that are known to choose.
pub(super) fn read_of(func: &Function, inst: InstId, reg: VReg) -> u32 {
    let data = &func[inst];
    let mut bits = 0;
    func.for_each_use(inst, |read| {
        if read.reg == reg {
            bits |= match read.slot {
                Slot::Operand(at) if data.is_machine() => of_operand(data, at, reg).unwrap_or(u32::MAX),
                _ => u32::MAX,
            };
        }
    });
    bits
}

/// The bits of the operand at a place that the result depends on.
fn of_operand(inst: &Inst, at: usize, reg: VReg) -> Option<u32> {
    if inst.operands[at].as_reg() != Some(reg) {
        return None;
    }
    let role = inst.opcode.signature().get(at)?.role;
    match inst.opcode {
        Opcode::PRMT if inst.get(Field::PRMT) == Prmt::IDX => chosen_bytes(inst, role),
        Opcode::LOP3 => logic_bits(inst, role),
        Opcode::SHF => shifted_bits(inst, role),
        Opcode::ISETP if inst.width(at) == 1 => compared_bits(inst, role),
        _ => None,
    }
}

fn constant(inst: &Inst, role: Role) -> Option<u32> {
    let operand = inst.operand(role)?;
    if operand.is_zero() { Some(0) } else { operand.as_imm() }
}

/// The bytes of A or C that the nibbles of B name.
fn chosen_bytes(inst: &Inst, role: Role) -> Option<u32> {
    let first = match role {
        Role::A => 0,
        Role::C => 4,
        _ => return None,
    };
    let selector = constant(inst, Role::B)?;
    // The fourth bit of a nibble takes the byte's sign alone.
    let bytes = (0..4).map(|k| selector >> (4 * k) & 7).filter(|byte| (first..first + 4).contains(byte));
    Some(bytes.fold(0, |bits, byte| bits | 0xff << (8 * (byte - first))))
}

/// The bits of A, B or C whose value shows in the truth table where the other two are known.
fn logic_bits(inst: &Inst, role: Role) -> Option<u32> {
    const INPUTS: [Role; 3] = [Role::A, Role::B, Role::C];
    let table = constant(inst, Role::Lut)?;
    let input = INPUTS.iter().position(|other| *other == role)?;
    let values = INPUTS.map(|other| constant(inst, other));
    // Rows of the table are numbered by A, B, C, the last the lowest bit.
    let weight = 4 >> input;
    let rows = (0..8).filter(|row| row & weight == 0 && (table >> row ^ table >> (row + weight)) & 1 == 1);
    let reached = |row: u32| {
        let others = (0..3).filter(|other| *other != input);
        others.fold(u32::MAX, |bits, other| {
            let is_one = row & (4 >> other) != 0;
            bits & values[other].map_or(u32::MAX, |value| if is_one { value } else { !value })
        })
    };
    Some(rows.fold(0, |bits, row| bits | reached(row)))
}

/// The bits that are left of a word shifted to the right.
fn shifted_bits(inst: &Inst, role: Role) -> Option<u32> {
    let word = if inst.get(Field::HI) { Role::C } else { Role::A };
    let is_narrow = matches!(inst.get(Field::SHIFT_TYPE), ShiftType::U32 | ShiftType::S32);
    let count = constant(inst, Role::B).filter(|count| *count < u32::BITS)?;
    (is_narrow && role == word && inst.get(Field::SHIFT_DIR) == ShiftDir::R).then_some(u32::MAX << count)
}

/// The bits of A that show in a comparison with a constant: what is less than a multiple of 32 is so by the bits above the
/// lowest five.
fn compared_bits(inst: &Inst, role: Role) -> Option<u32> {
    let bound = constant(inst, Role::B).filter(|_| role == Role::A && !inst.get(Field::EX))?;
    let multiple = match inst.get(Field::CMP) {
        Cmp::LT | Cmp::GE => bound,
        Cmp::GT | Cmp::LE => bound.wrapping_add(1),
        _ => return None,
    };
    // Of zero the sign decides.
    Some(u32::MAX << multiple.trailing_zeros().min(u32::BITS - 1))
}
