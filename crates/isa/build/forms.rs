//! Turns `encode` lines into forms: which bits of the word each operand and field occupies.

use crate::model::{ALL_CONTROL, InstrDef, Kind, Layout, Line, Neutral, OperandDef, Spec, carries};
use crate::parse::kind;
use crate::targets::{FORMATS, Format, Targets};
use std::collections::BTreeMap;

/// First of the four reuse bits of the 64-bit words.
const REUSE_ON_TOP: u8 = 81;

/// Bit ranges (position, length), low part first.
pub(crate) type Ranges = Vec<(u8, u8)>;

/// Where one operand is.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    /// Nowhere: it must be neutral.
    Neutral,
    /// Nowhere: it must be this value.
    Fixed(Neutral),
    /// That of the operand with this index.
    Same(usize),
    /// A value of this kind; immediates and labels are stored divided by `scale`.
    Bits { kind: Kind, ranges: Ranges, scale: u32 },
    /// A register whose number is stored with all bits inverted.
    Inverted { file: Kind, ranges: Ranges },
}

/// One operand of a form, with its flag bits.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    pub place: Place,
    pub neg: Option<u8>,
    pub abs: Option<u8>,
    pub not: Option<u8>,
    pub reuse: Option<u8>,
    /// It may not be the zero register.
    pub nonzero: bool,
}

impl Slot {
    fn new(place: Place) -> Slot {
        Slot { place, neg: None, abs: None, not: None, reuse: None, nonzero: false }
    }
}

/// One field of a form: raw code of each value code.
#[derive(Clone, Debug)]
pub(crate) struct FieldSlot {
    pub field: String,
    pub ranges: Ranges,
    /// (value code, raw code)
    pub codes: Vec<(u8, u8)>,
}

/// One way to encode an opcode.
#[derive(Clone, Debug)]
pub(crate) struct Form {
    pub opcode: String,
    pub targets: Targets,
    pub mask: u128,
    pub value: u128,
    pub slots: Vec<Slot>,
    pub fields: Vec<FieldSlot>,
    pub fixed: Vec<(String, u8)>,
    /// What the control word may carry.
    pub control: u8,
}

/// All forms, in the order of the spec.
pub(crate) fn forms(spec: &Spec) -> Result<Vec<Form>, String> {
    let mut all = Vec::new();
    for instr in spec.instrs.values() {
        for line in &instr.encode {
            expand(spec, instr, line, &mut all).map_err(|e| format!("{}: {}: {e}", line.place.0, instr.name))?;
        }
    }
    Ok(all)
}

/// The forms of one `encode` line: one per line of its layout.
fn expand(spec: &Spec, instr: &InstrDef, line: &Line, all: &mut Vec<Form>) -> Result<(), String> {
    let mut words = line.text.split_whitespace();
    let layout = words.next().ok_or("no layout")?;
    let opcodes = words.next().ok_or("no opcode")?;
    let items: Vec<&str> = words.collect();
    for format in FORMATS {
        let targets = line.targets & format.targets;
        if targets == 0 {
            continue;
        }
        let line = Expansion { spec, instr, layout, opcodes, items: &items, targets, format };
        if format.opcode_on_top { line.bundled(all)? } else { line.wide(all)? }
    }
    Ok(())
}

/// One `encode` line for the targets of one word format.
struct Expansion<'a> {
    spec: &'a Spec,
    instr: &'a InstrDef,
    layout: &'a str,
    opcodes: &'a str,
    items: &'a [&'a str],
    targets: Targets,
    format: Format,
}

impl Expansion<'_> {
    /// 128-bit words: nine opcode bits and the layout row's number, or twelve opcode bits.
    fn wide(&self, all: &mut Vec<Form>) -> Result<(), String> {
        let opcode = opcode_bits(self.opcodes)?;
        if self.layout == "-" {
            let mut form = Builder::new(self.spec, self.instr, self.targets, self.format);
            form.constant(0, 12, opcode.into())?;
            all.push(form.finish(self.items)?);
            return Ok(());
        }
        for row in &self.rows()?.lines {
            let mut slots = row.text.split_whitespace();
            let number: u128 = slots.next().and_then(|n| n.parse().ok()).ok_or("bad form number")?;
            let targets = self.targets & row.targets;
            let Some(merged) = self.merged(slots).filter(|_| targets != 0) else { continue };
            let mut form = Builder::new(self.spec, self.instr, targets, self.format);
            form.constant(0, 9, opcode.into())?;
            form.constant(9, 3, number)?;
            all.push(form.finish(&merged)?);
        }
        Ok(())
    }

    /// 64-bit words: per layout row an opcode (or one for all), of which the bits count that no item claims.
    fn bundled(&self, all: &mut Vec<Form>) -> Result<(), String> {
        let rows: Vec<&Line> = if self.layout == "-" { Vec::new() } else { self.rows()?.lines.iter().collect() };
        let mut opcodes: Vec<&str> = self.opcodes.split('/').collect();
        if opcodes.len() == 1 {
            opcodes.resize(rows.len().max(1), opcodes[0]);
        }
        if opcodes.len() != rows.len().max(1) {
            return Err(format!("expected {} opcodes", rows.len().max(1)));
        }
        for (number, opcode) in opcodes.into_iter().enumerate() {
            if opcode == "-" {
                continue;
            }
            let slots = rows.get(number).map_or("", |row| &row.text).split_whitespace();
            let Some(merged) = self.merged(slots) else { continue };
            let targets = self.targets & rows.get(number).map_or(Targets::MAX, |row| row.targets);
            let mut form = Builder::new(self.spec, self.instr, targets, self.format);
            form.opcode_on_top = Some(opcode_bits(opcode)?);
            all.push(form.finish(&merged)?);
        }
        Ok(())
    }

    fn rows(&self) -> Result<&Layout, String> {
        self.spec.layouts.get(self.layout).ok_or_else(|| format!("no layout '{}'", self.layout))
    }

    /// The row's slots and the line's items, unless the signature lacks a kind that the row has.
    fn merged<'a>(&'a self, slots: impl Iterator<Item = &'a str>) -> Option<Vec<&'a str>> {
        let mut merged: Vec<&str> = slots.collect();
        if merged.iter().any(|slot| !has_kind(self.instr, slot)) {
            return None;
        }
        merged.extend(self.items);
        Some(merged)
    }
}

fn opcode_bits(text: &str) -> Result<u16, String> {
    text.strip_prefix("0x").and_then(|h| u16::from_str_radix(h, 16).ok()).ok_or_else(|| format!("bad opcode '{text}'"))
}

/// The signature allows what a layout's slot holds; rows with others are left out.
fn has_kind(instr: &InstrDef, slot: &str) -> bool {
    let Some((role, rest)) = slot.split_once('=') else { return true };
    let Some(operand) = instr.operands.iter().find(|o| o.role == role) else { return true };
    let name = rest.split_once('@').map_or(rest, |(k, _)| k);
    match name {
        "I" | "IS" => operand.kinds.iter().any(|k| matches!(k, Kind::Imm(..))),
        _ => kind(name).is_ok_and(|k| operand.kinds.contains(&k)),
    }
}

struct Builder<'a> {
    spec: &'a Spec,
    instr: &'a InstrDef,
    form: Form,
    format: Format,
    /// The top 16 of 64 bits; items may claim some of them.
    opcode_on_top: Option<u16>,
    /// Bits that something claims.
    used: u128,
    invert: bool,
    placed: BTreeMap<String, Slot>,
}

impl<'a> Builder<'a> {
    fn new(spec: &'a Spec, instr: &'a InstrDef, targets: Targets, format: Format) -> Self {
        let form = Form {
            opcode: instr.name.clone(),
            targets,
            mask: 0,
            value: 0,
            slots: Vec::new(),
            fields: Vec::new(),
            fixed: Vec::new(),
            // ptxas's 64-bit words set scoreboards on anything.
            control: if format.opcode_on_top { ALL_CONTROL } else { instr.control.unwrap_or_default() },
        };
        // What every word has and no form describes.
        let guard = if instr.unguarded { 0 } else { bits(format.guard, 4) };
        let used = guard | bits(format.control, 17);
        Builder { spec, instr, form, format, opcode_on_top: None, used, invert: false, placed: BTreeMap::new() }
    }

    fn claim(&mut self, at: u8, len: u8, what: &str) -> Result<(), String> {
        if u32::from(at) + u32::from(len) > 128 || len == 0 {
            return Err(format!("{what}: bits {at}+{len} are outside the word"));
        }
        let mask = bits(at, len);
        if self.used & mask != 0 {
            return Err(format!("{what}: bits {at}+{len} are used twice"));
        }
        self.used |= mask;
        Ok(())
    }

    fn constant(&mut self, at: u8, len: u8, value: u128) -> Result<(), String> {
        self.claim(at, len, "constant")?;
        self.form.mask |= bits(at, len);
        if value >> len != 0 {
            return Err(format!("constant {value} does not fit {len} bits"));
        }
        self.form.value |= value << at;
        Ok(())
    }

    fn finish(mut self, items: &[&str]) -> Result<Form, String> {
        self.invert = items.contains(&"invert");
        for item in items.iter().filter(|i| **i != "invert") {
            let result = match (item.strip_prefix('?'), item.strip_prefix("control=")) {
                (Some(optional), _) => self.optional(optional),
                (None, Some(words)) => carries(words.split(',')).map(|bits| self.form.control = bits),
                (None, None) => self.item(item),
            };
            result.map_err(|e| format!("'{item}': {e}"))?;
        }
        let instr = self.instr;
        for operand in &instr.operands {
            let slot = self.placed.remove(&operand.role);
            let slot = match slot {
                Some(slot) => slot,
                None if operand.neutral == Neutral::Required => {
                    return Err(format!("operand {} has no place and no neutral value", operand.role));
                }
                None => Slot::new(Place::Neutral),
            };
            self.form.slots.push(slot);
        }
        self.form.mask |= !self.used;
        if let Some(opcode) = self.opcode_on_top {
            // Reuse bits without an operand are scheduling bits there.
            self.form.mask &= !bits(REUSE_ON_TOP, 4);
            let value = u128::from(opcode) << 48;
            if value & self.used != 0 {
                return Err(format!("bits of opcode {opcode:#06x} are claimed by operands or fields"));
            }
            self.form.value |= value;
        }
        Ok(self.form)
    }

    /// A field that forms lack where something else has its bits.
    fn optional(&mut self, item: &str) -> Result<(), String> {
        let (_, place) = item.split_once('@').ok_or("expected '@'")?;
        let at = number(place.split([':', '{']).next().unwrap_or(place))?;
        if self.used >> at & 1 == 1 { Ok(()) } else { self.item(item) }
    }

    fn item(&mut self, item: &str) -> Result<(), String> {
        if item.starts_with(|c: char| c.is_ascii_digit()) {
            let (place, value) = item.split_once('=').ok_or("expected BIT=VALUE")?;
            let (at, len) = match place.split_once(':') {
                Some((at, len)) => (number(at)?, number(len)?),
                None => (number(place)?, 1),
            };
            return self.constant(at, len, constant_value(value).ok_or("bad value")?);
        }
        let end = item.find(['=', '@', ':', '-', '|', '!', '^']).ok_or("expected '=' or '@'")?;
        let (name, rest) = item.split_at(end);
        let instr = self.instr;
        if let Some(operand) = instr.operands.iter().find(|o| o.role == name) {
            if !rest.starts_with(['-', '|', '!', '^']) {
                return self.operand(operand, rest);
            }
            let mut slot = self.placed.remove(name).ok_or("flags of an operand without a place")?;
            self.flags(operand, &mut slot, rest)?;
            self.insert(operand, slot);
            return Ok(());
        }
        if !instr.fields.iter().any(|(f, _)| f == name) {
            return Err(format!("neither operand nor field of {}", instr.name));
        }
        match rest.strip_prefix('@') {
            Some(place) => self.field(name, place),
            None => self.fixed(name, rest.strip_prefix('=').ok_or("expected '=VALUE'")?),
        }
    }

    fn fixed(&mut self, field: &str, value: &str) -> Result<(), String> {
        let code = self.spec.enum_of(field)?.code(value).ok_or_else(|| format!("no value '{value}'"))?;
        self.form.fixed.push((field.to_owned(), code));
        Ok(())
    }

    fn field(&mut self, field: &str, text: &str) -> Result<(), String> {
        let of = self.spec.enum_of(field)?;
        let (place, map) = match text.split_once('{') {
            Some((place, map)) => (place, Some(map.strip_suffix('}').ok_or("no '}'")?)),
            None => (text, None),
        };
        let mut codes = Vec::new();
        match map {
            None => codes.extend(of.values.iter().map(|v| (v.code, v.code))),
            Some(map) => {
                for pair in map.split(',') {
                    let (value, raw) = match pair.split_once('=') {
                        Some((value, raw)) => (value, Some(number(raw)?)),
                        None => (pair, None),
                    };
                    let code = of.code(value).ok_or_else(|| format!("no value '{value}'"))?;
                    codes.push((code, raw.unwrap_or(code)));
                }
            }
        }
        let top = codes.iter().map(|c| c.1).max().unwrap_or(0);
        let ranges = self.ranges(place, (8 - top.leading_zeros()).max(1) as u8, field)?;
        let len: u32 = ranges.iter().map(|r| u32::from(r.1)).sum();
        if len < 8 && u32::from(top) >> len != 0 {
            return Err(format!("code {top} does not fit {len} bits"));
        }
        self.form.fields.push(FieldSlot { field: field.to_owned(), ranges, codes });
        Ok(())
    }

    /// `16`, `16:8`, `64:2+80:1`; claims the bits.
    fn ranges(&mut self, text: &str, default: u8, what: &str) -> Result<Ranges, String> {
        let mut ranges = Vec::new();
        let default = if text.contains('+') { 1 } else { default };
        for part in text.split('+') {
            let (at, len) = match part.split_once(':') {
                Some((at, len)) => (number(at)?, number(len)?),
                None => (number(part)?, default),
            };
            self.claim(at, len, what)?;
            ranges.push((at, len));
        }
        let across = ranges.iter().filter(|(at, len)| *at < 64 && at + len > 64).count();
        if ranges.len() + across > 3 {
            return Err("more than three bit ranges".to_owned());
        }
        Ok(ranges)
    }

    fn operand(&mut self, operand: &OperandDef, text: &str) -> Result<(), String> {
        if let Some(value) = text.strip_prefix(":=") {
            let place = Place::Fixed(crate::parse::neutral_value(value)?);
            self.insert(operand, Slot::new(place));
            return Ok(());
        }
        let (text, nonzero) = text.strip_suffix('~').map_or((text, false), |text| (text, true));
        if let Some(text) = text.strip_prefix("==") {
            let end = text.find(['-', '|', '!', '^']).unwrap_or(text.len());
            let (role, marks) = text.split_at(end);
            let other = self.instr.operands.iter().position(|o| o.role == role).ok_or("no such operand")?;
            let mut slot = Slot::new(Place::Same(other));
            self.flags(operand, &mut slot, marks)?;
            self.insert(operand, slot);
            return Ok(());
        }
        let (named, place) = text.split_once('@').ok_or("expected '@'")?;
        let kind = operand_kind(operand, named.strip_prefix('=').unwrap_or(""))?;
        let end = place.find(['-', '|', '!', '^', '*']).unwrap_or(place.len());
        let (place, mut marks) = place.split_at(end);
        let mut scale = 1;
        if let Some(rest) = marks.strip_prefix('*') {
            let end = rest.find(['-', '|', '!', '^']).unwrap_or(rest.len());
            scale = rest[..end].parse().map_err(|_| "bad scale")?;
            marks = &rest[end..];
        }
        if matches!(kind, Kind::Const | Kind::Bindless) && !place.contains('+') {
            scale = 4;
        }
        let ranges = self.operand_ranges(&kind, place.trim_start_matches('~'), &operand.role)?;
        let len: u8 = ranges.iter().map(|r| r.1).sum();
        if kind == Kind::Imm("F".to_owned(), 32) && len < 32 {
            // The high bits of the float.
            scale = 1 << (32 - len);
        }
        let place = match (place.starts_with('~'), &kind) {
            (false, _) => Place::Bits { kind, ranges, scale },
            (true, Kind::R | Kind::P | Kind::UP) => Place::Inverted { file: kind, ranges },
            _ => return Err("'@~' is for R, P and UP".to_owned()),
        };
        let mut slot = Slot { nonzero, ..Slot::new(place) };
        self.flags(operand, &mut slot, marks)?;
        self.insert(operand, slot);
        Ok(())
    }

    fn operand_ranges(&mut self, kind: &Kind, place: &str, role: &str) -> Result<Ranges, String> {
        let default = match kind {
            Kind::R | Kind::Special => 8,
            Kind::UR => self.format.uniform,
            Kind::P | Kind::UP | Kind::SB => 3,
            Kind::B => 4,
            Kind::Imm(_, bits) => u8::try_from(*bits).map_err(|_| "too wide")?,
            Kind::Label => 48,
            Kind::Const | Kind::Bindless => return self.constant_ranges(kind, place, role),
        };
        self.ranges(place, default, role)
    }

    /// A constant-bank operand at bit N. In 128-bit words: the uniform register, if any, in 6 bits
    /// from N; the offset in words in 14 bits from N+8; the bank, if any, in 5 bits from N+22. In 64-bit
    /// words: the offset in words in 14 bits from N, the bank in 5 bits from N+14. Other places are
    /// written out: bank or register first, `54:5+38:16`.
    fn constant_ranges(&mut self, kind: &Kind, place: &str, role: &str) -> Result<Ranges, String> {
        if place.contains('+') {
            return self.ranges(place, 1, role);
        }
        let at = number(place)?;
        let ranges = match kind {
            Kind::Bindless => vec![(at, 6), (at + 8, 14)],
            _ if self.format.opcode_on_top => vec![(at + 14, 5), (at, 14)],
            _ => vec![(at + 22, 5), (at + 8, 14)],
        };
        for (at, len) in &ranges {
            self.claim(*at, *len, role)?;
        }
        Ok(ranges)
    }

    fn flags(&mut self, operand: &OperandDef, slot: &mut Slot, marks: &str) -> Result<(), String> {
        let may = |flag: &str| operand.flags.contains(flag);
        let mut rest = marks;
        while let Some(mark) = rest.chars().next() {
            let end = rest[1..].find(['-', '|', '!', '^']).map_or(rest.len(), |e| e + 1);
            let at = number(&rest[1..end])?;
            rest = &rest[end..];
            let target = match mark {
                '-' if may("neg") && !self.invert => &mut slot.neg,
                '-' | '!' if may("not") => &mut slot.not,
                '|' if may("abs") => &mut slot.abs,
                '^' => &mut slot.reuse,
                '-' | '|' => continue,
                _ => return Err(format!("the signature has no flag for '{mark}'")),
            };
            *target = Some(at);
            self.claim(at, 1, "flag")?;
        }
        Ok(())
    }

    fn insert(&mut self, operand: &OperandDef, slot: Slot) {
        self.placed.insert(operand.role.clone(), slot);
    }
}

/// The kind named, or the only one of the signature.
fn operand_kind(operand: &OperandDef, named: &str) -> Result<Kind, String> {
    if named == "IS" {
        return signed_immediate(operand);
    }
    let found = match named {
        "" if operand.kinds.len() == 1 => operand.kinds.first(),
        "" => None,
        "I" => operand.kinds.iter().find(|k| matches!(k, Kind::Imm(..))),
        _ => {
            let kind = kind(named)?;
            operand.kinds.iter().find(|k| **k == kind)
        }
    };
    found.cloned().ok_or_else(|| format!("the signature of {} has no such kind", operand.role))
}

/// The kind of the immediate, which the form keeps sign-extended even where its text has no sign.
fn signed_immediate(operand: &OperandDef) -> Result<Kind, String> {
    match operand_kind(operand, "I")? {
        Kind::Imm(format, bits) if format == "U" => Ok(Kind::Imm("S".to_owned(), bits)),
        kind => Ok(kind),
    }
}

fn bits(at: u8, len: u8) -> u128 {
    if len >= 128 { u128::MAX } else { ((1 << len) - 1) << at }
}

/// A decimal, `0x` or `0b` number.
fn constant_value(text: &str) -> Option<u128> {
    match (text.strip_prefix("0x"), text.strip_prefix("0b")) {
        (Some(hex), _) => u128::from_str_radix(hex, 16).ok(),
        (_, Some(binary)) => u128::from_str_radix(binary, 2).ok(),
        _ => text.parse().ok(),
    }
}

fn number(text: &str) -> Result<u8, String> {
    text.parse().map_err(|_| format!("bad number '{text}'"))
}
