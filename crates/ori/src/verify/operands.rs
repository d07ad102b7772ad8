//! Operands against the opcode's signature: the register-class contract.

use super::Verifier;
use crate::entity::InstId;
use crate::function::Function;
use crate::inst::Inst;
use crate::operand::{Operand, OperandKind};
use oriole_isa::{Kinds, OperandFlags, OperandSpec, RegFile};

pub(super) fn check(v: &mut Verifier<'_>) {
    let func = v.func;
    for (block, inst) in func.iter_insts() {
        let data = &func[inst];
        let mut messages = Vec::new();
        if data.is_phi() {
            messages.extend(bad_phi_types(func, inst));
        } else if data.is_undef() {
            let names_register = matches!(data.operands.as_slice(), [dst] if register_width(func, *dst).is_some());
            messages.extend((!names_register).then(|| "a marker of a value names one register".to_owned()));
            messages.extend(data.guard().map(|_| "a marker of a value has no guard".to_owned()));
        } else if data.is_hold() {
            let names_registers = data.operands.iter().all(|held| register_width(func, *held).is_some());
            messages.extend((!names_registers).then(|| "only registers can be held".to_owned()));
        } else {
            messages.extend(bad_opcode(v, data));
            messages.extend(bad_guard(func, data));
            messages.extend(bad_olds(func, data));
            for (i, (operand, spec)) in data.operands.iter().zip(data.opcode.signature()).enumerate() {
                messages.extend(bad_operand(func, data, i, *operand, spec));
            }
        }
        for message in messages {
            v.fail(Some(block), Some(inst), message);
        }
    }
}

fn bad_opcode(v: &Verifier<'_>, inst: &Inst) -> Vec<String> {
    let mut messages = Vec::new();
    let name = inst.opcode.name();
    if !inst.opcode.exists_on(v.arch) {
        messages.push(format!("{} has no instruction {name}", v.arch));
    }
    let expected = inst.opcode.signature().len();
    let given = inst.operands.len() - inst.olds().len();
    if given != expected {
        messages.push(format!("{name} takes {expected} operands, {given} given"));
    }
    for setting in inst.mods.iter() {
        let (field, value) = (setting.field(), setting.code());
        if !inst.opcode.has_field(field) {
            messages.push(format!("{name} has no modifier '{}'", field.name()));
        } else if field.value(value).is_none() {
            messages.push(format!("modifier '{}' has no value {value}", field.name()));
        }
    }
    messages
}

fn bad_guard(func: &Function, inst: &Inst) -> Option<String> {
    let guard = inst.guard()?;
    let expected = if inst.opcode.info().guard_uniform { RegFile::UP } else { RegFile::P };
    let found = func[guard.pred].file();
    (found != expected)
        .then(|| format!("Bad register class: the guard of {} is a {expected:?}, not a {found:?}", inst.opcode.name()))
}

/// In SSA form a partial write names what stays: for each value that it writes one of the same file and width, or none
/// that matters.
fn bad_olds(func: &Function, inst: &Inst) -> Option<String> {
    let partly = func.first_value().is_some() && inst.writes_partly();
    let writes_values = partly && inst.defs().any(|(_, d)| func.named(d).iter().any(|reg| func.is_value(*reg)));
    let olds = inst.olds();
    if olds.is_empty() && !writes_values {
        return None;
    }
    let counts_differ = !partly || olds.len() != inst.defs().count();
    let differs = inst.defs().zip(olds).any(|((_, new), old)| {
        let is_value = func.named(new).iter().any(|reg| func.is_value(*reg));
        match old.kind() {
            OperandKind::Undef => !is_value,
            OperandKind::None => is_value,
            _ => register_width(func, *old) != register_width(func, new),
        }
    });
    (counts_differ || differs).then(|| "the old values do not fit what is written in part".to_owned())
}

/// The kind of an operand in the signature's terms; `None` for symbols and blocks, which stand for an
/// immediate or a code address.
fn kinds_of(func: &Function, operand: Operand) -> Option<Kinds> {
    Some(match operand.kind() {
        OperandKind::None => Kinds::NONE,
        OperandKind::Reg(reg, _) => Kinds::of_file(func[reg].file()),
        OperandKind::Tuple(tuple) => match func.tuple_values(tuple) {
            [first, ..] => Kinds::of_file(func[*first].file()),
            [] => Kinds::EMPTY,
        },
        OperandKind::Phys { file, .. } => Kinds::of_file(file),
        OperandKind::Imm(..) => Kinds::IMM,
        OperandKind::Const { .. } => Kinds::CONST,
        OperandKind::ConstBindless { .. } => Kinds::CONST_BINDLESS,
        OperandKind::Symbol(_) | OperandKind::Block(_) => return None,
        OperandKind::Rz => Kinds::R,
        OperandKind::Urz => Kinds::UR,
        OperandKind::Pt => Kinds::P,
        OperandKind::Upt => Kinds::UP,
        OperandKind::Special(_) => Kinds::SPECIAL,
        OperandKind::Scoreboard(_) => Kinds::SB,
        OperandKind::Guard { .. } | OperandKind::Undef => Kinds::EMPTY,
    })
}

fn bad_operand(func: &Function, inst: &Inst, i: usize, operand: Operand, spec: &OperandSpec) -> Option<String> {
    let place = || format!("operand {i} ({:?}) of {}", spec.role, inst.opcode.name());
    match kinds_of(func, operand) {
        None if spec.kinds.is_disjoint(Kinds::IMM.with(Kinds::LABEL)) => {
            return Some(format!("{} may not be a symbol or a block", place()));
        }
        Some(kind) if kind == Kinds::EMPTY || !spec.kinds.contains(kind) => {
            let text = crate::text::operand_text(func, operand);
            return Some(format!("Bad register class: {} may not be '{text}'", place()));
        }
        _ => {}
    }
    if let Some((_, found)) = register_width(func, operand) {
        let expected = inst.width(i);
        if found != expected {
            return Some(format!("Bad register class: {} takes {expected} registers, not {found}", place()));
        }
    }
    bad_flags(operand, spec).map(|flag| format!("{} may not be {flag}", place()))
}

fn register_width(func: &Function, operand: Operand) -> Option<(RegFile, u8)> {
    match operand.kind() {
        OperandKind::Reg(reg, piece) => {
            let data = &func[reg];
            Some((data.file(), piece.range(data.components).len() as u8))
        }
        OperandKind::Phys { file, count, .. } => Some((file, count)),
        OperandKind::Tuple(tuple) => {
            let first = func.tuple_values(tuple).first()?;
            Some((func[*first].file(), tuple.len() as u8))
        }
        _ => None,
    }
}

fn bad_flags(operand: Operand, spec: &OperandSpec) -> Option<&'static str> {
    let flags = [
        (operand.is_neg(), OperandFlags::NEG, "negated"),
        (operand.is_abs(), OperandFlags::ABS, "an absolute value"),
        (operand.is_not(), OperandFlags::NOT, "inverted"),
    ];
    flags.into_iter().find(|(set, flag, _)| *set && !spec.flags.contains(*flag)).map(|(_, _, name)| name)
}

/// Registers of a MovPhi share file and width.
fn bad_phi_types(func: &Function, inst: InstId) -> Option<String> {
    let data = &func[inst];
    let class = register_width(func, data.operands[0]);
    let differs = func.phi_inputs(inst).any(|(source, _)| {
        let found = register_width(func, source);
        found.is_some() && found != class
    });
    (class.is_none() || differs)
        .then(|| "Bad register class: the MovPhi's registers differ in file or width".to_owned())
}
