//! Equal forms of an instruction with its sources in another order.

use super::truth;
use oriole_isa::{Arch, Field, Opcode, Role, Setting, Swap};
use oriole_ori::{Function, Inst, Operand, OperandKind};

/// The forms that differ from `inst` by one exchange of sources.
pub(crate) fn exchanged(inst: &Inst) -> impl Iterator<Item = Inst> + '_ {
    inst.opcode.commuting().filter_map(|(a, b)| exchange(inst, a, b))
}

/// The instruction itself or the first of its exchanged forms that the target has.
pub(crate) fn legal_form(func: &Function, arch: Arch, inst: Inst) -> Option<Inst> {
    if func.is_legal(&inst, arch) {
        return Some(inst);
    }
    exchanged(&inst).find(|form| func.is_legal(form, arch))
}

/// The instruction with what is no register where forms and readers expect it: in the last place that
/// a two-operand form has.
pub(super) fn canonical(inst: &Inst) -> Option<Inst> {
    if inst.opcode != Opcode::IADD3 {
        return None;
    }
    let plain = |at: usize| matches!(inst.operands[at].kind(), OperandKind::Reg(..) | OperandKind::Phys { .. });
    let [a, b, c] = [Role::A, Role::B, Role::C].map(|role| inst.position(role).unwrap_or(0));
    let zero = |at: usize| inst.operands[at] == Operand::rz();
    let order = [(a, b), (b, c), (a, c)];
    let (first, second) = order
        .into_iter()
        .find(|&(first, second)| (zero(first) && !zero(second)) || (!plain(first) && !zero(first) && plain(second)))?;
    exchange(inst, first, second)
}

/// The instruction with two of its commuting sources exchanged; `None` where its modifiers forbid it.
fn exchange(inst: &Inst, a: usize, b: usize) -> Option<Inst> {
    let mut new = inst.clone();
    new.operands.swap(a, b);
    match inst.opcode.swap() {
        Swap::None => return None,
        Swap::Plain => {}
        Swap::MinMax => {
            let names_which = inst.opcode.destinations() & inst.opcode.predicates();
            let absent = |(place, operand): (usize, Operand)| {
                names_which >> place & 1 == 0
                    || operand.is_none()
                    || operand == Operand::pt()
                    || operand == Operand::upt()
            };
            return inst.defs().all(absent).then_some(new);
        }
        Swap::Choice => {
            let choice = inst.position(Role::PA)?;
            new.operands[choice] = new.operands[choice].not();
        }
        // The extended comparison reads the low words' result, which is for this order.
        Swap::Compare(_) if inst.get(Field::EX) || inst.get(Field::X) => return None,
        Swap::Compare(field) => new.mods.apply(Setting::raw(field, field.turned(inst.raw(field))?)),
        Swap::Table => {
            let (first, _) = inst.opcode.commuting().next()?;
            for lut in [Role::Lut, Role::Lut2].into_iter().filter_map(|role| inst.position(role)) {
                let value = new.operands[lut].as_imm()?;
                new.operands[lut] = Operand::imm(u32::from(truth::exchange(value as u8, a - first, b - first)));
            }
        }
    }
    Some(new)
}
