//! Encodings as text, for the manual.

use super::table::{Form, Place, Slot, forms_of};
use crate::arch::target_list;
use crate::{Arch, Opcode, Operand, OperandSpec, RegFile};

/// One line per form of the opcode on the target: opcode bits, operands, fields, fixed fields.
pub(crate) fn encodings(opcode: Opcode, arch: Arch) -> impl Iterator<Item = String> {
    forms_of(opcode).iter().filter(move |form| arch.is_in(form.targets)).map(line)
}

/// The same over all targets, with the targets of each.
pub(crate) fn all_encodings(opcode: Opcode) -> impl Iterator<Item = (String, String)> {
    forms_of(opcode).iter().map(|form| (target_list(|arch| arch.is_in(form.targets)), line(form)))
}

fn line(form: &Form) -> String {
    let mut parts = vec![opcode(form)];
    let operands = form.opcode.signature().iter().zip(form.slots).zip(form.unplaced);
    parts.extend(operands.filter_map(|((spec, slot), unplaced)| operand(spec, slot, *unplaced)));
    parts.extend(form.fields.iter().map(|slot| format!("{}@{}", slot.field.name(), slot.ranges)));
    parts.extend(
        form.fixed
            .iter()
            .map(|(field, value, _)| format!("{}={}", field.name(), field.value(*value).map_or("?", |v| v.name))),
    );
    // Unused bits are zero; of the fixed ones those that are set tell the form from its neighbours.
    let opcode_bits = if is_bundled(form) { 0xffff << 48 } else { 0xfff };
    parts.extend((0..128).filter(|bit| form.value & !opcode_bits & 1 << bit != 0).map(|bit| format!("1@{bit}")));
    parts.join(" ")
}

fn is_bundled(form: &Form) -> bool {
    Arch::ALL.into_iter().any(|arch| arch.is_in(form.targets) && arch.word_format().is_bundled())
}

/// The opcode bits: the low 12 of 128, or the top 16 of 64.
fn opcode(form: &Form) -> String {
    if is_bundled(form) {
        format!("{:#06x}", form.value >> 48 & 0xffff)
    } else {
        format!("{:#05x}", form.value & 0xfff)
    }
}

/// `ROLE=KIND@BITS` with flag bits; nothing for operands that have no place.
fn operand(spec: &OperandSpec, slot: &Slot, unplaced: Operand) -> Option<String> {
    let (kind, place) = match slot.place {
        Place::Nowhere if spec.neutral.is_none_or(|neutral| neutral == unplaced) => return None,
        Place::Nowhere => return Some(format!("{}=fixed", spec.role.name())),
        Place::Same(_) => return Some(format!("{}=same", spec.role.name())),
        Place::Reg(file, ranges) => (file_name(file), ranges.to_string()),
        Place::Inverted(file, ranges) => (file_name(file), format!("~{ranges}")),
        Place::Uniform(ranges) => ("UR", ranges.to_string()),
        Place::Imm { ranges, .. } | Place::HighWord(ranges, _) | Place::HalfTops(ranges) => ("imm", ranges.to_string()),
        Place::Const { ranges, .. } => ("c", ranges.to_string()),
        Place::Bindless { ranges, .. } => ("cx", ranges.to_string()),
        Place::Special(ranges) => ("SR", ranges.to_string()),
        Place::Label { ranges, .. } => ("label", ranges.to_string()),
    };
    let mut text = format!("{}={kind}@{place}", spec.role.name());
    for (mark, bit) in [('-', slot.neg), ('|', slot.abs), ('!', slot.not), ('^', slot.reuse)] {
        if bit != 255 {
            text.push_str(&format!("{mark}{bit}"));
        }
    }
    Some(text)
}

fn file_name(file: RegFile) -> &'static str {
    match file {
        RegFile::R => "R",
        RegFile::UR => "UR",
        RegFile::P => "P",
        RegFile::UP => "UP",
        RegFile::B => "B",
        RegFile::SB => "SB",
    }
}
