//! How a value is computed from what never changes: two instructions with one recipe give the same value wherever they
//! stand.

use oriole_isa::{Arch, Mods, Opcode, Role};
use oriole_ori::{Function, InstId, Operand, OperandKind};
use smallvec::SmallVec;

/// What gives one word.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Recipe {
    /// A mark that says that it may be anything.
    Undefined,
    /// The word of a constant bank.
    Bank { bank: u8, offset: u32 },
    /// Component `k` of the result of an instruction, whose result is left out of the operands.
    Computed { opcode: Opcode, mods: Mods, operands: SmallVec<[Operand; 6]>, k: u8 },
}

/// Operands that have the same value wherever they stand.
fn is_still(operand: Operand) -> bool {
    !matches!(
        operand.kind(),
        OperandKind::Reg(..)
            | OperandKind::Tuple(_)
            | OperandKind::Undef
            | OperandKind::Phys { .. }
            | OperandKind::ConstBindless { .. }
            | OperandKind::Guard { .. }
    )
}

/// By word of its only result: the recipe of what `inst` computes; nothing where it depends on registers, on time or memory.
pub(super) fn recipes(func: &Function, inst: InstId, arch: Arch) -> SmallVec<[Recipe; 2]> {
    let data = &func[inst];
    let mut results = data.defs().filter(|(_, operand)| operand.is_reg());
    let (Some((at, result)), None) = (results.next(), results.next()) else { return SmallVec::new() };
    let count = result.as_piece().map_or(0, |(reg, piece)| piece.range(func[reg].components).len() as u8);
    if data.is_undef() {
        return (0..count).map(|_| Recipe::Undefined).collect();
    }
    if !data.is_machine()
        || !data.depends_on_operands_alone(arch)
        || !data.operands.iter().enumerate().all(|(i, operand)| i == at || is_still(*operand))
    {
        return SmallVec::new();
    }
    let mut rest = data.operands.clone();
    rest[at] = Operand::NONE;
    let computed = |k| Recipe::Computed { opcode: data.opcode, mods: data.mods.clone(), operands: rest.clone(), k };
    let bank = bank_word(func, inst);
    (0..count).map(|k| bank.as_ref().map_or_else(|| computed(k), |word| word(k))).collect()
}

/// Of a move from a constant bank, or a load of whole words from one: the word by component.
fn bank_word(func: &Function, inst: InstId) -> Option<impl Fn(u8) -> Recipe> {
    let data = &func[inst];
    let role = match data.opcode {
        Opcode::MOV => Role::B,
        Opcode::LDC if whole_words(data) && data.operand(Role::Base)?.is_zero() => Role::Bank,
        _ => return None,
    };
    let source = data.operand(role)?;
    match source.kind() {
        OperandKind::Const { bank, offset } if !source.has_flags() => {
            Some(move |k| Recipe::Bank { bank, offset: offset + 4 * u32::from(k) })
        }
        _ => None,
    }
}

fn whole_words(inst: &oriole_ori::Inst) -> bool {
    use oriole_isa::{Field, MemSize};
    matches!(inst.get(Field::MEM_SIZE), MemSize::B32 | MemSize::B64)
        && inst.raw(Field::LDC_MODE.id()) == inst.opcode.default_code(Field::LDC_MODE.id())
}
