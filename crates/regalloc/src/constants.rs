//! Values that can be computed again wherever they are needed: of what never changes.

use crate::code::{Code, FileCode};
use oriole_isa::{Arch, Field, MemSize, Opcode, Role};
use oriole_ori::{Function, Inst, InstFlags, InstId, Operand, OperandKind};

/// By component of the file: its only definition, if that gives the same wherever it stands.
pub(crate) fn constants(func: &Function, code: &Code, lines: &FileCode, arch: Arch) -> Vec<Option<InstId>> {
    let mut found: Vec<Written> = vec![Written::Never; lines.components as usize];
    for place in 0..func.layout().len() {
        for access in lines.lines(place) {
            let once = is_constant(func, access.line.inst, arch);
            for component in access.writes.iter().flat_map(|write| write.components()) {
                let written = &mut found[component as usize];
                *written = match written {
                    Written::Never if once => Written::Once(access.line.inst),
                    _ => Written::Otherwise,
                };
            }
        }
    }
    let whole = |inst: InstId| {
        let mut same = true;
        func.for_each_def(inst, |write| {
            for k in write.range.clone() {
                let part = code.component(func, lines.file, &lines.nodes, (write.reg, k));
                same &= part.is_some_and(|part| found[part as usize] == Written::Once(inst));
            }
        });
        same
    };
    found.iter().map(|written| written.once().filter(|inst| whole(*inst))).collect()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Written {
    Never,
    /// By this instruction, which may stand anywhere.
    Once(InstId),
    Otherwise,
}

impl Written {
    fn once(self) -> Option<InstId> {
        match self {
            Written::Once(inst) => Some(inst),
            Written::Never | Written::Otherwise => None,
        }
    }
}

/// Whether the instruction does nothing but compute the same value wherever it stands.
pub(crate) fn is_constant(func: &Function, inst: InstId, arch: Arch) -> bool {
    let data = &func[inst];
    data.depends_on_operands_alone(arch)
        && data.uses().all(|(_, operand)| is_still(operand.kind()))
        && data.defs().filter(|(_, to)| to.as_reg().is_some()).count() == 1
}

fn is_still(kind: OperandKind) -> bool {
    matches!(
        kind,
        OperandKind::None
            | OperandKind::Imm(..)
            | OperandKind::Const { .. }
            | OperandKind::Symbol(_)
            | OperandKind::Special(_)
            | OperandKind::Rz
            | OperandKind::Urz
            | OperandKind::Pt
            | OperandKind::Upt
    )
}

/// The constant that `inst` defines once more; of a wide load from a constant bank only what `mask` names of its register,
/// where that is one component.
pub(crate) fn compute_again(func: &Function, inst: InstId, mask: u128) -> Inst {
    let mut again = func[inst].clone();
    again.flags |= InstFlags::REMAT;
    if again.opcode == Opcode::LDC
        && mask.count_ones() == 1
        && let (Some(reg), Some((bank, offset))) = (again.operands[0].as_whole_reg(), constant_bank(&again))
        && func[reg].components > 1
    {
        let k = mask.trailing_zeros();
        again.mods.set(Field::MEM_SIZE, MemSize::B32);
        again.set_role(Role::D, Operand::piece(reg, k as u8, 1));
        again.set_role(Role::Bank, Operand::cbank(bank, offset + 4 * k));
    }
    again
}

fn constant_bank(inst: &Inst) -> Option<(u8, u32)> {
    match inst.operand(Role::Bank)?.kind() {
        OperandKind::Const { bank, offset } => Some((bank, offset)),
        _ => None,
    }
}
