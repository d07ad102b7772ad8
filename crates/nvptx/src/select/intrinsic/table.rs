//! The table of intrinsics that are one PTX instruction.

use std::sync::LazyLock;

use oriole_ptx::ast::{Selector, SpecialReg};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::ir::{Call, Value};
use crate::machine::{Operand, PhysReg, Reg};
use crate::select::Error;
use crate::select::legal::Vt;
use crate::select::lower::Lower;
use crate::select::words::{Part, Word};

/// One operand of a template.
#[derive(Clone, PartialEq, Debug)]
enum Slot {
    /// `d`: the next result.
    Result,
    /// `{d}`: all results.
    Results,
    /// `d|d`
    ResultPair,
    /// `_|d`: the result is the second of a pair.
    SinkPair,
    /// `$0`
    Arg(usize),
    /// `[$0]`
    Address(usize),
    /// `{$0..4}`: arguments from one number to before another.
    Args(usize, usize),
    /// `%tid.x`
    Special(SpecialReg, Option<Selector>),
    /// `5`
    Number(i64),
}

/// A row of the table.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Row {
    /// `fma.rn.f32`; with `*` where the space of the first pointer argument stands.
    form: &'static str,
    slots: Vec<Slot>,
    /// May go when nobody reads its results.
    pure: bool,
}

static TABLE: LazyLock<FxHashMap<&'static str, Row>> = LazyLock::new(|| {
    // A line that cannot be read is a mistake in the table: the test of the table finds it.
    include_str!("nvvm.txt").lines().filter_map(read_row).collect()
});

/// `name  form  operands`, with `!` before the form of what must stay.
fn read_row(line: &'static str) -> Option<(&'static str, Row)> {
    let line = line.split('#').next()?.trim();
    let (name, rest) = line.split_once(char::is_whitespace)?;
    let (form, operands) = rest.trim().split_once(char::is_whitespace).unwrap_or((rest.trim(), ""));
    let pure = !form.starts_with('!');
    let mut slots = Vec::new();
    for text in operands.split(',').map(str::trim).filter(|text| !text.is_empty()) {
        slots.push(read_slot(text)?);
    }
    Some((name, Row { form: form.trim_start_matches('!'), slots, pure }))
}

fn read_slot(text: &str) -> Option<Slot> {
    Some(match text {
        "d" => Slot::Result,
        "{d}" => Slot::Results,
        "d|d" => Slot::ResultPair,
        "_|d" => Slot::SinkPair,
        _ => {
            if let Some(number) = text.strip_prefix('$') {
                Slot::Arg(number.parse().ok()?)
            } else if let Some(inner) = text.strip_prefix("[$") {
                Slot::Address(inner.strip_suffix(']')?.parse().ok()?)
            } else if let Some(inner) = text.strip_prefix("{$") {
                let (from, to) = inner.strip_suffix('}')?.split_once("..")?;
                Slot::Args(from.parse().ok()?, to.parse().ok()?)
            } else if let Some(name) = text.strip_prefix('%') {
                let (name, part) = name.split_once('.').map_or((name, None), |(name, part)| (name, Some(part)));
                let part = match part {
                    None => None,
                    Some("x") => Some(Selector::X),
                    Some("y") => Some(Selector::Y),
                    Some("z") => Some(Selector::Z),
                    Some(_) => Some(Selector::W),
                };
                Slot::Special(SpecialReg::from_name(name)?, part)
            } else {
                Slot::Number(text.parse().ok()?)
            }
        }
    })
}

/// The row of `llvm.nvvm.NAME`, with or without the address spaces and types that its name ends with.
pub(super) fn find(name: &str) -> Option<&'static Row> {
    let mut name = name;
    loop {
        if let Some(row) = TABLE.get(name) {
            return Some(row);
        }
        let (rest, last) = name.rsplit_once('.')?;
        let digits = last.trim_start_matches(['p', 'i', 'f', 'v']);
        let suffix = !digits.is_empty() && digits.len() < last.len() && digits.bytes().all(|b| b.is_ascii_digit());
        if !suffix {
            return None;
        }
        name = rest;
    }
}

/// True for intrinsics (without `llvm.`) that may go when nobody reads their result.
pub(in crate::select) fn is_pure(name: &str) -> bool {
    match name.strip_prefix("nvvm.") {
        // What is no row is a conversion, or a barrier.
        Some(nvvm) => find(nvvm).map_or(!nvvm.starts_with("barrier"), |row| row.pure),
        None => {
            const EFFECTS: [&str; 8] =
                ["mem", "trap", "debugtrap", "prefetch", "stackrestore", "va_", "ubsantrap", "readcyclecounter"];
            !EFFECTS.iter().any(|prefix| name.starts_with(prefix))
        }
    }
}

impl Lower<'_> {
    /// An intrinsic of the table.
    pub(super) fn table_intrinsic(
        &mut self,
        row: &'static Row,
        name: &str,
        call: &Call,
        words: &[Word],
    ) -> Result<(), Error> {
        let missing = || Error::new(format!("calls of `llvm.nvvm.{name}` with other operands"));
        let mut results = words.iter();
        let mut operands: SmallVec<[Operand; 4]> = SmallVec::new();
        let mut defs = 0;
        let mut space = "";
        for slot in &row.slots {
            let arg = |index: usize| call.args.get(index).copied().ok_or_else(missing);
            match slot {
                Slot::Result => {
                    operands.push(self.result(*results.next().ok_or_else(missing)?)?.into());
                    defs += 1;
                }
                Slot::Results => {
                    let all = words.iter().map(|word| self.result(*word).map(Operand::from));
                    operands.push(Operand::Vector(all.collect::<Result<_, _>>()?));
                    defs += 1;
                }
                Slot::ResultPair => {
                    let [first, second] = words else { return Err(missing()) };
                    let pair = [self.result(*first)?.into(), self.result(*second)?.into()];
                    operands.push(Operand::Pair(Box::new(pair)));
                    defs += 1;
                }
                Slot::SinkPair => {
                    let [word] = words else { return Err(missing()) };
                    operands.push(Operand::Pair(Box::new([Operand::Sink, self.result(*word)?.into()])));
                    defs += 1;
                }
                Slot::Arg(index) => operands.push(self.table_arg(arg(*index)?)?),
                Slot::Args(from, to) => {
                    let mut items = Vec::new();
                    for index in *from..(*to).min(call.args.len()) {
                        for word in self.words_of(arg(index)?)? {
                            items.push(self.reg(word)?.into());
                        }
                    }
                    operands.push(Operand::Vector(items.into()));
                }
                Slot::Address(index) => {
                    let place = self.place(arg(*index)?)?;
                    if space.is_empty() {
                        space = crate::select::build::space_name(place.space).unwrap_or_default();
                    }
                    operands.push(place.operand(0));
                }
                Slot::Special(reg, part) => {
                    let reg = Reg::Physical(PhysReg::Special(*reg));
                    operands.push(part.map_or(Operand::Reg(reg), |part| Operand::Part(reg, part)));
                }
                Slot::Number(number) => operands.push(Operand::Imm(*number)),
            }
        }
        match row.form.split_once(".*") {
            Some((before, after)) if space.is_empty() => self.emit(format_args!("{before}{after}"), defs, operands),
            Some((before, after)) => self.emit(format_args!("{before}.{space}{after}"), defs, operands),
            None => self.emit(format_args!("{}", row.form), defs, operands),
        }
    }

    /// An argument: one word, or the words of an aggregate as a vector.
    fn table_arg(&mut self, value: Value) -> Result<Operand, Error> {
        let words = self.words_of(value)?;
        match words.as_slice() {
            [word] if word.vt == Vt::Pred && matches!(word.part, Part::Bits(_)) => Ok(self.reg(*word)?.into()),
            [word] => self.src(*word),
            _ => {
                let items = words.iter().map(|word| self.reg(*word).map(Operand::from));
                Ok(Operand::Vector(items.collect::<Result<Box<[_]>, _>>()?))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Forms;

    #[test]
    fn every_row_can_be_read_and_names_a_form() {
        let mut forms = Forms::default();
        for line in include_str!("nvvm.txt").lines() {
            if line.split('#').next().is_none_or(|text| text.trim().is_empty()) {
                continue;
            }
            let Some((name, row)) = read_row(line) else { panic!("`{line}` cannot be read") };
            assert!(forms.intern(&row.form.replace(".*", ".shared")).is_some(), "`{name}`: `{}`", row.form);
        }
    }
}
