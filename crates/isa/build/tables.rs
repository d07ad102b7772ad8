//! Writes the tables of the engine: forms, dispatch by opcode bits, syntax.

use crate::emit::{camel, kind_name, neutral};
use crate::forms::{FieldSlot, Form, Place, Ranges, Slot};
use crate::model::{Kind, OperandDef, Spec};
use crate::pool::{Numbered, Pool};
use crate::targets::{FORMATS, NAMES};
use crate::template;
use std::collections::BTreeMap;
use std::fmt::Write;

/// `tables.rs`.
pub(crate) fn tables(spec: &Spec, forms: &[Form]) -> Result<String, String> {
    let mut out = String::new();
    let mut shared = Shared::default();
    let _ = writeln!(out, "pub(crate) static FORMS: [Form; {}] = [", forms.len());
    for form in forms {
        form_row(&mut out, spec, form, &mut shared)?;
    }
    let _ = writeln!(out, "];\n");
    shared.write(&mut out);
    by_opcode(&mut out, spec, forms);
    dispatch(&mut out, forms);
    syntax(&mut out, spec)?;
    Ok(out)
}

/// Byte arrays behind each other, each content once.
#[derive(Default)]
struct Arrays {
    bytes: Vec<u8>,
    places: BTreeMap<Vec<u8>, usize>,
}

impl Arrays {
    /// Where the array is.
    fn place(&mut self, array: Vec<u8>) -> usize {
        *self.places.entry(array).or_insert_with_key(|array| {
            let place = self.bytes.len();
            self.bytes.extend(array);
            place
        })
    }

    fn write(&self, out: &mut String) {
        let _ = writeln!(out, "pub(crate) static CODES: [u8; {}] = {:?};", self.bytes.len(), self.bytes);
    }
}

/// What forms have in common.
struct Shared {
    arrays: Arrays,
    slots: Pool,
    unplaced: Pool,
    placed: Pool,
    fields: Pool,
    fixed: Pool,
}

impl Default for Shared {
    fn default() -> Self {
        Shared {
            arrays: Arrays::default(),
            slots: Pool::new("SLOT", "Slot"),
            unplaced: Pool::new("UNPLACED", "Operand"),
            placed: Pool::new("PLACED", "u8"),
            fields: Pool::new("FIELD", "FieldSlot"),
            fixed: Pool::new("FIXED", "(FieldId, u8, u8)"),
        }
    }
}

impl Shared {
    fn write(&self, out: &mut String) {
        self.arrays.write(out);
        for pool in [&self.slots, &self.unplaced, &self.placed, &self.fields, &self.fixed] {
            pool.write(out);
        }
    }
}

fn form_row(out: &mut String, spec: &Spec, form: &Form, shared: &mut Shared) -> Result<(), String> {
    let operands = &spec.instrs[&form.opcode].operands;
    let placed = form.slots.iter().enumerate().filter(|(_, slot)| is_placed(slot)).map(|(index, _)| index.to_string());
    let mut fields = Vec::new();
    let mut by_name: Vec<&FieldSlot> = form.fields.iter().collect();
    by_name.sort_by(|a, b| a.field.cmp(&b.field));
    for field in by_name {
        fields.push(field_slot(spec, &form.opcode, field, &mut shared.arrays)?);
    }
    let (kinds, kinds_mask) = packed_kinds(form);
    let mut fixed = Vec::new();
    for (field, value) in &form.fixed {
        fixed.push(format!("(FieldId::{}, {value}, {})", camel(field), default_of(spec, &form.opcode, field)?));
    }
    let _ = writeln!(
        out,
        "    Form {{ opcode: Opcode::{}, targets: {}, mask: {:#x}, value: {:#x}, kinds: {kinds:#x}, kinds_mask: {kinds_mask:#x}, slots: {}, unplaced: {}, placed: {}, fields: {}, fixed: {}, control: Carries::from_bits({}) }},",
        form.opcode,
        form.targets,
        form.mask,
        form.value,
        shared.slots.list(form.slots.iter().map(slot)),
        shared.unplaced.list(form.slots.iter().zip(operands).map(unplaced)),
        shared.placed.list(placed),
        shared.fields.list(fields),
        shared.fixed.list(fixed),
        form.control
    );
    Ok(())
}

fn is_placed(slot: &Slot) -> bool {
    !matches!(slot.place, Place::Neutral | Place::Fixed(_))
}

/// The operand where the form has no bits for it; nothing where it has.
fn unplaced((slot, operand): (&Slot, &OperandDef)) -> String {
    let value = match &slot.place {
        Place::Neutral => neutral(&operand.neutral),
        Place::Fixed(value) => neutral(value),
        _ => "None".to_owned(),
    };
    value.strip_prefix("Some(").and_then(|v| v.strip_suffix(')')).unwrap_or("Operand::NONE").to_owned()
}

/// The value that the opcode gives a field by default.
fn default_of(spec: &Spec, opcode: &str, field: &str) -> Result<u8, String> {
    let of = spec.enum_of(field)?;
    let named = spec.instrs[opcode].fields.iter().find(|(f, _)| f == field).and_then(|(_, d)| d.as_ref());
    Ok(named.and_then(|d| of.code(d)).unwrap_or(of.values[0].code))
}

/// Four bits per operand, the first lowest: the kind that the form takes there, as
/// `Kinds::code` numbers them; and which of those bits matter.
fn packed_kinds(form: &Form) -> (u64, u64) {
    let mut kinds = 0;
    let mut mask = 0;
    for (index, slot) in form.slots.iter().enumerate().take(16) {
        if let Place::Bits { kind, .. } | Place::Inverted { file: kind, .. } = &slot.place {
            kinds |= kind_code(kind) << (4 * index);
            mask |= 15 << (4 * index);
        }
    }
    (kinds, mask)
}

fn kind_code(kind: &Kind) -> u64 {
    match kind {
        Kind::R => 1,
        Kind::UR => 2,
        Kind::P => 3,
        Kind::UP => 4,
        Kind::B => 5,
        Kind::SB => 6,
        Kind::Imm(..) => 7,
        Kind::Const => 8,
        Kind::Bindless => 9,
        Kind::Special => 10,
        Kind::Label => 11,
    }
}

/// The ranges with none across the middle of the word, filled up to three.
fn ranges(ranges: &Ranges) -> String {
    let mut parts: Vec<String> = Vec::new();
    for (at, len) in ranges {
        let low = if *at < 64 { (*len).min(64 - at) } else { *len };
        parts.push(format!("({at}, {low})"));
        if low < *len {
            parts.push(format!("(64, {})", len - low));
        }
    }
    // `forms.rs` allows as many pieces as fit.
    parts.resize(3, "(0, 0)".to_owned());
    format!("Ranges([{}])", parts.join(", "))
}

fn slot(slot: &Slot) -> String {
    let place = match &slot.place {
        Place::Neutral | Place::Fixed(_) => "Place::Nowhere".to_owned(),
        Place::Same(other) => format!("Place::Same({other})"),
        Place::Bits { kind, ranges: r, scale } => bits_place(kind, r, *scale),
        Place::Inverted { file, ranges: r } => {
            format!("Place::Inverted(RegFile::{}, {})", kind_name(file), ranges(r))
        }
    };
    let bit = |bit: Option<u8>| bit.unwrap_or(255);
    // In the order of `OperandFlags`.
    let flags = [slot.neg, slot.abs, slot.not, slot.reuse];
    format!(
        "Slot {{ place: {place}, neg: {}, abs: {}, not: {}, reuse: {}, flags: OperandFlags::from_bits({}), nonzero: {} }}",
        bit(slot.neg),
        bit(slot.abs),
        bit(slot.not),
        bit(slot.reuse),
        flags.iter().enumerate().fold(0, |all, (at, flag)| all | u8::from(flag.is_some()) << at),
        slot.nonzero
    )
}

fn bits_place(kind: &Kind, bit_ranges: &Ranges, scale: u32) -> String {
    let shift = scale.trailing_zeros();
    let len: u32 = bit_ranges.iter().map(|r| u32::from(r.1)).sum();
    let ranges = ranges(bit_ranges);
    match kind {
        Kind::Imm(format, _) if format == "H" && len == 20 => format!("Place::HalfTops({ranges})"),
        Kind::Imm(format, _) if format == "D" => format!("Place::HighWord({ranges}, {len})"),
        Kind::Imm(format, bits) => {
            let signed = format == "S" && (len != 32 || *bits > 32);
            let word = signed && *bits == 32;
            format!("Place::Imm {{ ranges: {ranges}, signed: {signed}, word: {word}, shift: {shift} }}")
        }
        Kind::Const => format!("Place::Const {{ ranges: {ranges}, shift: {shift} }}"),
        Kind::UR if len < 8 => format!("Place::Uniform({ranges})"),
        Kind::Bindless => format!("Place::Bindless {{ ranges: {ranges}, shift: {shift} }}"),
        Kind::Special => format!("Place::Special({ranges})"),
        Kind::Label => format!("Place::Label {{ ranges: {ranges}, shift: {shift} }}"),
        file => format!("Place::Reg(RegFile::{}, {ranges})", kind_name(file)),
    }
}

fn field_slot(spec: &Spec, opcode: &str, slot: &FieldSlot, arrays: &mut Arrays) -> Result<String, String> {
    let len: u32 = slot.ranges.iter().map(|r| u32::from(r.1)).sum();
    let top = slot.codes.iter().map(|c| c.0).max().unwrap_or(0);
    let mut decode = vec![255; 1 << len];
    let mut encode = vec![255; usize::from(top) + 1];
    for (code, raw) in &slot.codes {
        decode[usize::from(*raw)] = *code;
        encode[usize::from(*code)] = *raw;
    }
    let default = default_of(spec, opcode, &slot.field)?;
    let values = encode.len();
    Ok(format!(
        "FieldSlot {{ field: FieldId::{}, ranges: {}, default: {default}, values: {values}, decode: {}, encode: {} }}",
        camel(&slot.field),
        ranges(&slot.ranges),
        arrays.place(decode),
        arrays.place(encode)
    ))
}

/// Forms of an opcode are neighbours: (first, count).
fn by_opcode(out: &mut String, spec: &Spec, forms: &[Form]) {
    let _ = writeln!(out, "pub(crate) static FORMS_OF: [(u16, u16); {}] = [", spec.instrs.len());
    for name in spec.instrs.keys() {
        let first = forms.iter().position(|f| f.opcode == *name).unwrap_or(0);
        let count = forms.iter().filter(|f| f.opcode == *name).count();
        let _ = write!(out, "({first}, {count}), ");
    }
    let _ = writeln!(out, "];\n");
}

/// Per target and 12 opcode bits, the forms to try: a number in `CANDIDATES`, which holds each list once.
fn dispatch(out: &mut String, forms: &[Form]) {
    let mut lists = Numbered::default();
    let _ = writeln!(out, "pub(crate) static DISPATCH: [[u16; 4096]; {}] = [", NAMES.len());
    for target in 0..NAMES.len() {
        let on_top = FORMATS.iter().any(|f| f.opcode_on_top && f.targets >> target & 1 == 1);
        let shift = if on_top { 52 } else { 0 };
        let mut rows: Vec<Vec<usize>> = vec![Vec::new(); 4096];
        for (index, form) in forms.iter().enumerate().filter(|(_, form)| form.targets >> target & 1 == 1) {
            let (mask, value) = ((form.mask >> shift & 0xfff) as usize, (form.value >> shift & 0xfff) as usize);
            rows.iter_mut().enumerate().filter(|(bits, _)| bits & mask == value).for_each(|(_, row)| row.push(index));
        }
        let numbers: Vec<usize> = rows.into_iter().map(|row| lists.number(row)).collect();
        let _ = writeln!(out, "{numbers:?},");
    }
    let _ = writeln!(out, "];\npub(crate) static CANDIDATES: [&[u16]; {}] = [", lists.all.len());
    for list in lists.all {
        let _ = writeln!(out, "&{list:?},");
    }
    let _ = writeln!(out, "];\n");
}

fn syntax(out: &mut String, spec: &Spec) -> Result<(), String> {
    let _ = writeln!(out, "pub(crate) static SYNTAX: [&[Syntax]; {}] = [", spec.instrs.len());
    for instr in spec.instrs.values() {
        let mut rows = Vec::new();
        for line in &instr.syntax {
            let items = template::compile(spec, instr, &line.text)
                .map_err(|e| format!("{}: {}: {e}", line.place.0, instr.name))?;
            rows.push(format!("Syntax {{ targets: {}, items: {items} }}", line.targets));
        }
        let _ = writeln!(out, "    &[{}],", rows.join(", "));
    }
    let _ = writeln!(out, "];");
    Ok(())
}
