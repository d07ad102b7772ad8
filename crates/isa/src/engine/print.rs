//! Instructions to text, as nvdisasm prints them.

use super::float_text::Format;
use super::table::{Item, OffsetSign, Term, syntax_of};
use crate::arch::URZ;
use crate::{
    Arch, Ffmt, Field, FieldId, HalfFmt, ImmFormat, Inst, Kinds, Mufu, MufuFmt, Operand, OperandFlags, RegFile, Value,
    special_registers,
};
use std::fmt::{self, Write};

/// What follows an immediate with flags (64-bit words have such), in the order of printing.
pub(crate) const FLAGS_OF_IMMEDIATES: [(OperandFlags, &str); 3] =
    [(OperandFlags::NEG, ".NEG"), (OperandFlags::ABS, ".ABS"), (OperandFlags::NOT, ".INV")];

/// How a template has an operand printed; see [`Item::Operand`].
#[derive(Clone, Copy, Default)]
struct Style {
    suffix: Option<FieldId>,
    half: bool,
    /// Of immediates, in place of the signature's.
    format: Option<ImmFormat>,
}

/// Names of code addresses.
type Labels<'a> = &'a dyn Fn(i64) -> Option<String>;

/// Shows an instruction: see [`Inst::display`].
pub struct Display<'a> {
    inst: &'a Inst,
    arch: Arch,
    explicit: bool,
    labels: Option<Labels<'a>>,
}

impl Inst {
    /// The instruction's text, without `;`. Code addresses are hexadecimal byte addresses unless
    /// [`Display::labels`] gives them names.
    pub fn display(&self, arch: Arch) -> Display<'_> {
        Display { inst: self, arch, explicit: false, labels: None }
    }
}

impl<'a> Display<'a> {
    /// Print the code addresses that `labels` knows as `` `(name) ``.
    pub fn labels(self, labels: Labels<'a>) -> Display<'a> {
        Display { labels: Some(labels), ..self }
    }

    /// Show operands that nvdisasm does not print, as `hidden[UR4]`, and NaNs by their bits, so that the
    /// text says all of the instruction. [`crate::parse`] reads it.
    pub fn explicit(self) -> Display<'a> {
        Display { explicit: true, ..self }
    }
}

impl fmt::Display for Display<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::with_capacity(48);
        self.guard(&mut text)?;
        match syntax_of(self.inst.opcode, self.arch).next() {
            Some(syntax) => self.items(&mut text, syntax.items)?,
            None => text.push_str(self.inst.opcode.name()),
        }
        f.write_str(text.trim_end())
    }
}

impl Display<'_> {
    fn guard(&self, out: &mut String) -> fmt::Result {
        let guard = self.inst.guard;
        if guard == crate::Guard::ALWAYS {
            return Ok(());
        }
        let file = if self.inst.opcode.info().guard_uniform { RegFile::UP } else { RegFile::P };
        out.push_str(if guard.negated { "@!" } else { "@" });
        register(out, file, guard.predicate.into())?;
        out.push(' ');
        Ok(())
    }

    fn items(&self, out: &mut String, items: &[Item]) -> fmt::Result {
        for item in items {
            match item {
                Item::Text(text) => out.push_str(text),
                Item::Field(field) => out.push_str(&self.suffix(Some(*field))),
                Item::Word(field) => out.push_str(field.value(self.inst.raw(*field)).map_or("", |v| v.text)),
                Item::Operand { index, suffix, half } => {
                    self.operand(out, *index, Style { suffix: *suffix, half: *half, ..Style::default() })?;
                }
                Item::Number(index, format) => {
                    self.operand(out, *index, Style { format: Some(*format), ..Style::default() })?;
                }
                Item::Address { parts, sign } => self.address(out, parts, *sign)?,
                Item::Hidden(index) => {
                    if self.explicit {
                        out.push_str("hidden[");
                        self.operand(out, *index, Style::default())?;
                        out.push(']');
                    }
                }
                Item::Next(index, distance) => {
                    if let Value::Reg(file, number) = self.inst.operands[*index].value {
                        // The zero register stands for a whole group of zeros.
                        let next = if Some(number) == file.zero() { number } else { number + distance };
                        register(out, file, next)?;
                    }
                }
                Item::Set(index) => {
                    let Value::Imm(bits) = self.inst.operands[*index].value else { continue };
                    let numbers: Vec<String> =
                        (0..64).rev().filter(|n| bits >> n & 1 == 1).map(|n| n.to_string()).collect();
                    write!(out, "{{{}}}", numbers.join(","))?;
                }
                Item::Indexed { bank, base, signed } => self.indexed(out, *bank, *base, *signed)?,
                Item::Group { when, items } => {
                    if holds(self.inst, when) {
                        self.items(out, items)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// `.TEXT` of a field's value, or nothing.
    fn suffix(&self, field: Option<FieldId>) -> String {
        let text = field.and_then(|f| f.value(self.inst.raw(f))).map_or("", |v| v.text);
        if text.is_empty() { String::new() } else { format!(".{text}") }
    }

    fn address(&self, out: &mut String, parts: &[(usize, Option<FieldId>)], sign: OffsetSign) -> fmt::Result {
        let signature = self.inst.opcode.signature();
        let present = |index: usize| {
            let operand = self.inst.operands[index];
            operand.value != Value::None && Some(operand) != signature[index].neutral
        };
        let mut shown: Vec<_> =
            parts.iter().filter(|(index, field)| present(*index) || !self.suffix(*field).is_empty()).copied().collect();
        if shown.is_empty() {
            shown.extend(parts.iter().find(|(index, _)| self.inst.operands[*index].value != Value::None));
        }
        let is_general = |index: usize| matches!(self.inst.operands[index].value, Value::Reg(RegFile::R, _));
        let is_signed = match sign {
            OffsetSign::Always => true,
            OffsetSign::UnlessAlone => shown.len() > 1,
            OffsetSign::WithRegister => shown.iter().any(|(index, _)| is_general(*index)),
        };
        for (number, (index, field)) in shown.into_iter().enumerate() {
            if number > 0 {
                out.push('+');
            }
            if let (ImmFormat::Signed(bits), Value::Imm(offset), false) =
                (signature[index].imm, self.inst.operands[index].value, is_signed)
            {
                write!(out, "{:#x}", offset & (u64::MAX >> (64 - bits)))?;
                continue;
            }
            self.operand(out, index, Style { suffix: field, ..Style::default() })?;
        }
        Ok(())
    }

    /// `c[0x0][R2+0x10]`; without a register the offset alone, or `RZ`. Alone in `cx[UR][0x10]` the offset has no sign.
    fn indexed(&self, out: &mut String, bank: usize, base: usize, signed: bool) -> fmt::Result {
        let (offset, signed_alone) = match self.inst.operands[bank].value {
            Value::Const { bank, offset } => {
                write!(out, "c[{bank:#x}][")?;
                (offset, signed)
            }
            Value::ConstBindless { ureg, offset } => {
                out.push_str("cx[");
                register(out, RegFile::UR, ureg)?;
                out.push_str("][");
                (offset, false)
            }
            _ => return Ok(()),
        };
        let base = self.inst.operands[base].value;
        let shown = |file: RegFile, number| file.zero() != Some(number) || offset == 0;
        if let Value::Reg(file, number) = base
            && shown(file, number)
        {
            register(out, file, number)?;
            if offset != 0 {
                out.push('+');
                bank_offset(out, offset, signed)?;
            }
        } else {
            bank_offset(out, offset, signed_alone)?;
        }
        out.push(']');
        Ok(())
    }

    fn operand(&self, out: &mut String, index: usize, style: Style) -> fmt::Result {
        let suffix = self.suffix(style.suffix);
        let operand = self.inst.operands[index];
        let flags = operand.flags;
        if let Value::Imm(bits) = operand.value {
            let format = style.format.unwrap_or(self.inst.opcode.signature()[index].imm);
            self.immediate(out, format, bits)?;
            FLAGS_OF_IMMEDIATES
                .iter()
                .filter(|(flag, _)| flags.contains(*flag))
                .for_each(|(_, name)| out.push_str(name));
            out.push_str(&suffix);
            return Ok(());
        }
        if flags.contains(OperandFlags::NOT) {
            let predicate = matches!(operand.value, Value::Reg(RegFile::P | RegFile::UP, _));
            out.push(if predicate { '!' } else { '~' });
        }
        if flags.contains(OperandFlags::NEG) {
            out.push('-');
        }
        let bars = flags.contains(OperandFlags::ABS);
        let outside = style.half && matches!(operand.value, Value::Reg(RegFile::R, _));
        if bars {
            out.push('|');
        }
        self.value(out, operand, style.suffix.is_some())?;
        if !outside {
            out.push_str(&suffix);
        }
        if bars {
            out.push('|');
        }
        if flags.contains(OperandFlags::REUSE) {
            out.push_str(".reuse");
        }
        if outside {
            out.push_str(&suffix);
        }
        Ok(())
    }

    /// `parts`: some part of the operand could be chosen, which sets constants apart by a space.
    fn value(&self, out: &mut String, operand: Operand, parts: bool) -> fmt::Result {
        match operand.value {
            // `operand` prints immediates.
            Value::None | Value::Imm(_) => Ok(()),
            Value::Reg(file, number) => register(out, file, number),
            Value::Const { bank, offset } => {
                write!(out, "c[{bank:#x}]{}[", if parts { " " } else { "" })?;
                bank_offset(out, offset, true)?;
                out.push(']');
                Ok(())
            }
            Value::ConstBindless { ureg, offset } => {
                out.push_str("cx[");
                register(out, RegFile::UR, ureg)?;
                write!(out, "]{}[{offset:#x}]", if parts { " " } else { "" })
            }
            Value::Special(number) => {
                out.push_str(&special_registers::print(number, self.arch));
                Ok(())
            }
            Value::Label(target) => match self.labels.and_then(|labels| self.label(labels, target)) {
                Some(name) => write!(out, "`({name})"),
                None => signed(out, target),
            },
        }
    }

    /// The name of a branch's target.
    fn label(&self, labels: Labels<'_>, target: i64) -> Option<String> {
        let address = self.arch.word_format().instruction_at(target);
        labels(target).or_else(|| labels(address))
    }

    fn immediate(&self, out: &mut String, format: ImmFormat, bits: u64) -> fmt::Result {
        match format {
            ImmFormat::Signed(32) => signed(out, (bits as u32 as i32).into()),
            ImmFormat::Signed(_) => signed(out, bits as i64),
            ImmFormat::Unsigned(20) => write!(out, "{:#x}", bits & 0xf_ffff),
            ImmFormat::Unsigned(_) => write!(out, "{bits:#x}"),
            ImmFormat::Swizzle => {
                let names = swizzle(self.arch);
                (0..4).rev().try_for_each(|lane| out.write_str(names[(bits >> (2 * lane)) as usize & 3]))
            }
            ImmFormat::F32 => {
                let (format, shift) = float_format(self.inst);
                out.write_str(&self.float(format, bits << shift))
            }
            ImmFormat::F64 => out.write_str(&self.float(Format::F64, bits)),
            ImmFormat::Half => {
                let format = half_format(self.inst);
                write!(out, "{}, {}", self.float(format, bits >> 16 & 0xffff), self.float(format, bits & 0xffff))
            }
        }
    }
    /// The nvdisasm that still reads the targets before sm_75 calls every NaN quiet, except those of doubles.
    /// Explicit text gives a NaN's bits.
    fn float(&self, format: Format, bits: u64) -> String {
        if self.explicit && format.is_nan(bits) {
            return format!("{bits:#x}");
        }
        let quiet = self.arch < Arch::Sm75 && format != Format::F64 && format.is_nan(bits);
        format.print(if quiet { format.quiet(bits) } else { bits })
    }
}

/// The format of a float immediate, and how far its bits are above those of the field: doubles give
/// their high word only.
pub(crate) fn float_format(inst: &Inst) -> (Format, u32) {
    if inst.opcode.has_field(Field::SRC_FMT) {
        return match inst.get(Field::SRC_FMT) {
            Ffmt::F16 => (Format::F16, 0),
            Ffmt::BF16 => (Format::BF16, 0),
            Ffmt::F64 => (Format::F64, 32),
            _ => (Format::F32, 0),
        };
    }
    if !inst.opcode.has_field(Field::MUFU_FMT) {
        return (Format::F32, 0);
    }
    match (inst.get(Field::MUFU_FMT), inst.get(Field::MUFU)) {
        (MufuFmt::F16, _) => (Format::F16, 0),
        (MufuFmt::BF16, _) => (Format::BF16, 0),
        (_, Mufu::RCP64H | Mufu::RSQ64H) => (Format::F64, 32),
        _ => (Format::F32, 0),
    }
}

/// Signs of the two addends by lane code.
pub(crate) fn swizzle(arch: Arch) -> [&'static str; 4] {
    if arch.word_format().is_bundled() { ["PP", "NP", "PN", "ZP"] } else { ["PP", "PN", "NP", "ZP"] }
}

/// The element format of an instruction on halves.
pub(crate) fn half_format(inst: &Inst) -> Format {
    if inst.get(Field::HALF_FMT) == HalfFmt::BF16_V2 { Format::BF16 } else { Format::F16 }
}

fn signed(out: &mut String, value: i64) -> fmt::Result {
    if value < 0 { write!(out, "-{:#x}", value.unsigned_abs()) } else { write!(out, "{value:#x}") }
}

fn bank_offset(out: &mut String, offset: u16, sign: bool) -> fmt::Result {
    signed(out, if sign { (offset as i16).into() } else { offset.into() })
}

/// What the barrier registers from `B16` on are called.
pub(crate) const WARP_STATE: [&str; 17] = [
    "THREAD_STATE_ENUM.0",
    "THREAD_STATE_ENUM.1",
    "THREAD_STATE_ENUM.2",
    "THREAD_STATE_ENUM.3",
    "THREAD_STATE_ENUM.4",
    "TRAP_RETURN_PC.LO",
    "TRAP_RETURN_PC.HI",
    "TRAP_RETURN_MASK",
    "MEXITED",
    "MKILL",
    "MACTIVE",
    "MATEXIT",
    "OPT_STACK",
    "API_CALL_DEPTH",
    "ATEXIT_PC.LO",
    "ATEXIT_PC.HI",
    "MCOLLECTIVE",
];

fn register(out: &mut String, file: RegFile, number: u16) -> fmt::Result {
    match file {
        RegFile::R if number == 255 => out.write_str("RZ"),
        RegFile::R => write!(out, "R{number}"),
        RegFile::UR if number == URZ => out.write_str("URZ"),
        RegFile::UR => write!(out, "UR{number}"),
        RegFile::P if number == 7 => out.write_str("PT"),
        RegFile::P => write!(out, "P{number}"),
        RegFile::UP if number == 7 => out.write_str("UPT"),
        RegFile::UP => write!(out, "UP{number}"),
        RegFile::B => match usize::from(number).checked_sub(16).and_then(|n| WARP_STATE.get(n)) {
            Some(name) => out.write_str(name),
            None => write!(out, "B{number}"),
        },
        RegFile::SB => write!(out, "SB{number}"),
    }
}

/// All terms of one of the lists hold.
pub(crate) fn holds(inst: &Inst, when: &[&[Term]]) -> bool {
    when.iter().any(|all| all.iter().all(|term| term_holds(inst, term)))
}

fn term_holds(inst: &Inst, term: &Term) -> bool {
    match term {
        Term::Field { field, value, equal } => (inst.raw(*field) == *value) == *equal,
        Term::Present { index, present } => {
            let operand = inst.operands[*index];
            let neutral = inst.opcode.signature()[*index].neutral;
            (operand.value != Value::None && Some(operand) != neutral) == *present
        }
        Term::Value { index, value, equal } => (Some(inst.operands[*index].value) == value.map(|v| v.value)) == *equal,
        Term::PowerOfTwo { index, is } => {
            let power = matches!(inst.operands[*index].value, Value::Imm(n @ 2..=0x4000_0000) if n.is_power_of_two());
            power == *is
        }
        Term::Kind { index, kinds, within } => kinds.contains(Kinds::of(inst.operands[*index].value)) == *within,
    }
}
