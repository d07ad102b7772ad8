//! Equal forms of an instruction with its sources in another order.

use super::table;
use oriole_isa::{Field, Opcode, Role, cmp, fcmp};
use oriole_ori::{Inst, Operand, OperandKind};

/// Two sources that may change places, and what else changes then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Swap {
    /// Nothing.
    Plain,
    /// The sense of the predicate that chooses.
    Choice,
    /// The integer comparison is turned round.
    IntCompare,
    /// The float comparison is turned round.
    FloatCompare,
    /// The truth table.
    Table,
}

const SWAPS: [(Opcode, Role, Role, Swap); 25] = [
    (Opcode::IADD3, Role::A, Role::B, Swap::Plain),
    (Opcode::IADD3, Role::A, Role::C, Swap::Plain),
    (Opcode::IADD3, Role::B, Role::C, Swap::Plain),
    (Opcode::IMAD, Role::A, Role::B, Swap::Plain),
    (Opcode::FADD, Role::A, Role::B, Swap::Plain),
    (Opcode::FMUL, Role::A, Role::B, Swap::Plain),
    (Opcode::FFMA, Role::A, Role::B, Swap::Plain),
    (Opcode::DADD, Role::A, Role::B, Swap::Plain),
    (Opcode::DMUL, Role::A, Role::B, Swap::Plain),
    (Opcode::DFMA, Role::A, Role::B, Swap::Plain),
    (Opcode::IMNMX, Role::A, Role::B, Swap::Plain),
    (Opcode::VIMNMX, Role::A, Role::B, Swap::Plain),
    (Opcode::FMNMX, Role::A, Role::B, Swap::Plain),
    (Opcode::SEL, Role::A, Role::B, Swap::Choice),
    (Opcode::FSEL, Role::A, Role::B, Swap::Choice),
    (Opcode::ISETP, Role::A, Role::B, Swap::IntCompare),
    (Opcode::FSETP, Role::A, Role::B, Swap::FloatCompare),
    (Opcode::LOP3, Role::A, Role::B, Swap::Table),
    (Opcode::LOP3, Role::A, Role::C, Swap::Table),
    (Opcode::LOP3, Role::B, Role::C, Swap::Table),
    (Opcode::VABSDIFF, Role::A, Role::B, Swap::Plain),
    (Opcode::VIADD, Role::A, Role::B, Swap::Plain),
    (Opcode::VIMNMX3, Role::A, Role::B, Swap::Plain),
    (Opcode::VIMNMX3, Role::A, Role::C, Swap::Plain),
    (Opcode::VIMNMX3, Role::B, Role::C, Swap::Plain),
];

/// Integer comparisons that are others with the operands exchanged.
const TURNED_INT: [(u8, u8); 4] = [(cmp::LT, cmp::GT), (cmp::GT, cmp::LT), (cmp::LE, cmp::GE), (cmp::GE, cmp::LE)];
/// Float comparisons that are others with the operands exchanged.
const TURNED_FLOAT: [(u8, u8); 8] = [
    (fcmp::LT, fcmp::GT),
    (fcmp::GT, fcmp::LT),
    (fcmp::LE, fcmp::GE),
    (fcmp::GE, fcmp::LE),
    (fcmp::LTU, fcmp::GTU),
    (fcmp::GTU, fcmp::LTU),
    (fcmp::LEU, fcmp::GEU),
    (fcmp::GEU, fcmp::LEU),
];

/// The forms that differ from `inst` by one exchange of sources.
pub(super) fn exchanged(inst: &Inst) -> impl Iterator<Item = Inst> + '_ {
    SWAPS.iter().filter(|(opcode, ..)| *opcode == inst.opcode).filter_map(|(_, a, b, swap)| {
        let (a, b) = (inst.opcode.position(*a)?, inst.opcode.position(*b)?);
        exchange(inst, a, b, *swap)
    })
}

/// The instruction with what is no register where forms and readers expect it: in the last place that
/// a two-operand form has.
pub(super) fn canonical(inst: &Inst) -> Option<Inst> {
    if inst.opcode != Opcode::IADD3 {
        return None;
    }
    let plain = |at: usize| matches!(inst.operands[at].kind(), OperandKind::Reg(..) | OperandKind::Phys { .. });
    let [a, b, c] = [Role::A, Role::B, Role::C].map(|role| inst.opcode.position(role).unwrap_or(0));
    let zero = |at: usize| inst.operands[at] == Operand::rz();
    let order = [(a, b), (b, c), (a, c)];
    let (first, second) = order
        .into_iter()
        .find(|&(first, second)| (zero(first) && !zero(second)) || (!plain(first) && !zero(first) && plain(second)))?;
    exchange(inst, first, second, Swap::Plain)
}

fn exchange(inst: &Inst, a: usize, b: usize, swap: Swap) -> Option<Inst> {
    let mut new = inst.clone();
    new.operands.swap(a, b);
    let turn =
        |table: &[(u8, u8)], value: u8| table.iter().find(|(from, _)| *from == value).map_or(value, |(_, to)| *to);
    match swap {
        Swap::Plain => {}
        Swap::Choice => {
            let choice = inst.opcode.position(Role::PA)?;
            new.operands[choice] = new.operands[choice].not();
        }
        // The extended comparison reads the low words' result, which is for this order.
        Swap::IntCompare if inst.get(Field::Ex) != 0 => return None,
        Swap::IntCompare => new.mods.set(Field::Cmp, turn(&TURNED_INT, inst.get(Field::Cmp))),
        Swap::FloatCompare => new.mods.set(Field::Fcmp, turn(&TURNED_FLOAT, inst.get(Field::Fcmp))),
        Swap::Table => {
            let lut = inst.opcode.position(Role::Lut)?;
            let sources = inst.opcode.position(Role::A)?;
            let value = new.operands[lut].as_imm()?;
            new.operands[lut] = Operand::imm(u32::from(table::exchange(value as u8, a - sources, b - sources)));
        }
    }
    Some(new)
}
