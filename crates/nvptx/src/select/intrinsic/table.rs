//! Intrinsics that are one PTX instruction, by tables.

use std::sync::{LazyLock, OnceLock};

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::row::{Row, Slot, families, read_line};
use crate::analysis::intrinsics::is_pure_name;
use crate::ir::{Call, Callee, Constant, Op, Value};
use crate::machine::{Address, Base, Operand, PhysReg, Reg};
use crate::select::build::space_name;
use crate::select::error::Error;
use crate::select::legal::Vt;
use crate::select::lower::Lower;
use crate::select::word_table::{Part, Word};

/// The tables, by subject.
const TABLES: [&str; 11] = [
    include_str!("nvvm/special.txt"),
    include_str!("nvvm/threads.txt"),
    include_str!("nvvm/float.txt"),
    include_str!("nvvm/convert.txt"),
    include_str!("nvvm/integer.txt"),
    include_str!("nvvm/memory.txt"),
    include_str!("nvvm/bulk.txt"),
    include_str!("nvvm/matrix.txt"),
    include_str!("nvvm/products.txt"),
    include_str!("nvvm/tcgen05.txt"),
    include_str!("nvvm/texture.txt"),
];

/// The rows whose names begin with one word; read when one of them is asked for.
#[derive(Default)]
struct Family {
    lines: Vec<&'static str>,
    rows: OnceLock<FxHashMap<String, Vec<Row>>>,
}

static FAMILIES: LazyLock<FxHashMap<String, Family>> = LazyLock::new(|| {
    let mut all: FxHashMap<String, Family> = FxHashMap::default();
    for line in TABLES.iter().flat_map(|table| table.lines()).filter(|line| !line.is_empty() && !line.starts_with('#'))
    {
        for family in families(line) {
            all.entry(family).or_default().lines.push(line);
        }
    }
    all
});

impl Family {
    fn rows(&self) -> &FxHashMap<String, Vec<Row>> {
        self.rows.get_or_init(|| {
            let mut all: FxHashMap<String, Vec<Row>> = FxHashMap::default();
            // A line that cannot be read is a mistake in a table: the test of the tables finds it.
            for (name, row) in self.lines.iter().filter_map(|line| read_line(line)).flatten() {
                all.entry(name).or_default().push(row);
            }
            all
        })
    }
}

/// The row of `llvm.nvvm.NAME`, with or without the address spaces and types that its name ends with, whose conditions hold.
fn find(name: &str, holds: impl Fn(&Row) -> bool) -> Option<&'static Row> {
    let rows = FAMILIES.get(name.split('.').next()?)?.rows();
    let mut name = name;
    loop {
        if let Some(row) = rows.get(name).and_then(|rows| rows.iter().find(|row| holds(row))) {
            return Some(row);
        }
        let (rest, last) = name.rsplit_once('.')?;
        let digits = last.trim_start_matches(['p', 'i', 'f', 'v']);
        if digits.len() == last.len() || !digits.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        name = rest;
    }
}

impl Lower<'_> {
    /// The row of a call of `llvm.nvvm.NAME`.
    pub(super) fn table_row(&self, name: &str, call: &Call) -> Option<&'static Row> {
        find(name, |row| row.when.iter().all(|&(at, value)| self.constant_argument(call, at) == Some(value)))
    }

    /// An argument that is a constant integer; one that is not there counts as 0.
    fn constant_argument(&self, call: &Call, at: usize) -> Option<u128> {
        match call.args.get(at).map(|&arg| self.constant_of(arg)) {
            None => Some(0),
            Some(Some(Constant::Int(_, value))) => Some(*value),
            Some(_) => None,
        }
    }

    /// True for intrinsics (without `llvm.`) that may go when nobody reads their result.
    pub(in crate::select) fn is_pure_intrinsic(&self, name: &str, call: &Call) -> bool {
        let row = name.strip_prefix("nvvm.").and_then(|nvvm| self.table_row(nvvm, call));
        row.map_or_else(|| name.starts_with("nvvm.ld") || is_pure_name(name), |row| row.pure)
    }

    /// An intrinsic of a table.
    pub(super) fn table_intrinsic(
        &mut self,
        row: &'static Row,
        name: &str,
        call: &Call,
        words: &[Word],
    ) -> Result<(), Error> {
        let missing = || Error::new(format!("calls of `llvm.nvvm.{name}` with other operands"));
        let arg = |index: &usize| call.args.get(*index).copied().ok_or_else(missing);
        let mut results = words.iter();
        let mut operands: SmallVec<[Operand; 4]> = SmallVec::new();
        let mut space = None;
        for slot in &row.slots {
            operands.push(match slot {
                Slot::Result => self.result(*results.next().ok_or_else(missing)?)?.into(),
                Slot::Results => {
                    let all = words.iter().map(|word| self.result(*word).map(Operand::from));
                    Operand::Vector(all.collect::<Result<_, _>>()?)
                }
                Slot::ResultPair => {
                    let [first, second] = words else { return Err(missing()) };
                    Operand::Pair(Box::new([self.result(*first)?.into(), self.result(*second)?.into()]))
                }
                Slot::ResultsButLast => {
                    let (_, all) = words.split_last().ok_or_else(missing)?;
                    results = words[all.len()..].iter();
                    let all = all.iter().map(|word| self.result(*word).map(Operand::from));
                    Operand::Vector(all.collect::<Result<_, _>>()?)
                }
                Slot::Sink => Operand::Sink,
                Slot::Arg(index) => self.table_arg(arg(index)?)?,
                Slot::ArgIf(index, flag) => match self.constant_argument(call, *flag) {
                    Some(1) => self.table_arg(arg(index)?)?,
                    _ => continue,
                },
                Slot::Args(from, to) => {
                    let to = (*to).min(call.args.len());
                    self.table_list(&call.args[(*from).min(to)..to])?
                }
                Slot::List(list) => {
                    let args = list.iter().map(arg).collect::<Result<Vec<Value>, _>>()?;
                    self.table_list(&args)?
                }
                Slot::Address(index) => {
                    let place = self.place(arg(index)?)?;
                    space.get_or_insert(space_name(place.space).unwrap_or_default());
                    place.operand(0)
                }
                Slot::Handle(handles, coordinates) => {
                    let handles = handles.iter().map(arg).collect::<Result<Vec<Value>, _>>()?;
                    let coordinates = coordinates.iter().map(arg).collect::<Result<Vec<Value>, _>>()?;
                    self.handle(&handles, &coordinates)?
                }
                Slot::Special(reg, part) => {
                    let reg = Reg::Physical(PhysReg::Special(*reg));
                    part.map_or(Operand::Reg(reg), |part| Operand::Part(reg, part))
                }
                Slot::Number(number) => Operand::Imm(*number),
            });
        }
        let is_result = |slot: &&Slot| {
            matches!(slot, Slot::Result | Slot::Results | Slot::ResultsButLast | Slot::ResultPair | Slot::Sink)
        };
        let defs = row.slots.iter().filter(is_result).count() as u16;
        let space = space.filter(|space| !space.is_empty()).map_or_else(String::new, |space| format!(".{space}"));
        let width = words.first().map_or(0, |word| word.vt.bits());
        let form = row.form.replace(".*", &space).replace('#', &width.to_string());
        self.emit(format_args!("{form}"), defs, operands)
    }

    /// An argument: one word, or the words of an aggregate as a vector.
    fn table_arg(&mut self, value: Value) -> Result<Operand, Error> {
        let words = self.words_of(value)?;
        match words.as_slice() {
            [word] if word.vt == Vt::Pred && matches!(word.part, Part::Bits(_)) => Ok(self.reg(*word)?.into()),
            [word] => self.src(*word),
            words if self.ir.types.int_bits(self.type_of(value)) == Some(128) => Ok(self.joined(words)?.into()),
            _ => self.table_list(&[value]),
        }
    }

    /// The words of all values as a vector of registers.
    fn table_list(&mut self, values: &[Value]) -> Result<Operand, Error> {
        let mut items = Vec::new();
        for &value in values {
            for word in self.words_of(value)? {
                items.push(self.reg(word)?.into());
            }
        }
        Ok(Operand::Vector(items.into()))
    }

    /// `[texture, sampler, {coordinates}]`, or an address in the place of the texture.
    fn handle(&mut self, handles: &[Value], coordinates: &[Value]) -> Result<Operand, Error> {
        let mut bases = Vec::with_capacity(handles.len());
        for &value in handles {
            bases.push(self.handle_base(value)?);
        }
        let (&base, others) = bases.split_first().ok_or_else(|| Error::new("texture accesses without a texture"))?;
        let other = |base: &Base| match *base {
            Base::Reg(reg) => Operand::Reg(reg),
            Base::Symbol(sym) => Operand::Symbol(sym, 0),
            Base::Absolute => Operand::Imm(0),
        };
        let mut rest: Vec<Operand> = others.iter().map(other).collect();
        if !coordinates.is_empty() {
            rest.push(self.table_list(coordinates)?);
        }
        Ok(Operand::Address(Box::new(Address { base, offset: 0, rest: rest.into() })))
    }

    /// A variable that is a texture, surface or sampler, by its name; else a register with the handle.
    fn handle_base(&mut self, value: Value) -> Result<Base, Error> {
        if let Some(Op::Call(call)) = self.body.def_op(value)
            && !matches!(call.callee, Callee::Asm(_))
            && self.intrinsic_name(call).is_some_and(|name| name.starts_with("nvvm.texsurf.handle"))
            && let Some(&variable) = call.args.last()
            && let Base::Symbol(sym) = self.place(variable)?.base
        {
            return Ok(Base::Symbol(sym));
        }
        let word = self.word(value)?;
        Ok(Base::Reg(self.reg(word)?.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Forms;

    #[test]
    fn every_row_can_be_read_and_names_a_form() {
        let mut forms = Forms::default();
        let mut names = std::collections::HashSet::new();
        for line in TABLES.iter().flat_map(|table| table.lines()) {
            let Some(rows) = read_line(line) else { panic!("`{line}` cannot be read") };
            for (name, row) in rows {
                let form = row.form.replace(".*", ".shared").replace('#', "32");
                assert!(forms.intern(&form).is_some(), "`{name}`: `{form}`");
                assert!(names.insert((name.clone(), row.when.clone())), "`{name}` {:?} is there twice", row.when);
                assert_eq!(find(&name, |other| other.when == row.when), Some(&row));
            }
        }
    }
}
