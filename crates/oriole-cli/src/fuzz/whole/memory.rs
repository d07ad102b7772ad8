//! Loads, stores and atomic operations on memory that a thread has for itself, and on tables.

use super::super::program::{Condition, Reg};
use super::super::templates::Class;
use super::emit::Emitter;
use super::tree::{Cell, INPUT_WORDS, Place, SCRATCH, Statement, TABLE_WORDS};

/// Bytes of the output before a thread's scratch: its cell of atomic operations.
pub(super) const OWN_CELL: u32 = 16;
/// Bytes that the second pointer points further.
pub(super) const ALIAS: u32 = 16;

/// Bytes of an element of a type, from its name.
fn bytes_of(ty: &str) -> u32 {
    let digits = ty.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    digits.parse().map_or(4, |bits: u32| bits / 8)
}

impl Emitter<'_> {
    pub(super) fn memory(&mut self, statement: &Statement) {
        let Statement::Memory { place, store, ty, regs, index, offset, guard } = statement else { return };
        if !self.has_memory() && *place != Place::Local {
            return;
        }
        let guard = guard.map(|condition| self.read_condition(condition));
        let size = bytes_of(ty) * regs.len() as u32;
        let index = index.map(|index| self.read(index));
        let Some(address) = self.address(*place, size, index, *offset) else { return };
        let vector = match regs.len() {
            1 => String::new(),
            count => format!(".v{count}"),
        };
        let space = match place {
            Place::Local => ".local",
            Place::Shared => ".shared",
            Place::Global | Place::Alias => ".global",
            Place::Either(_) => "",
        };
        let named: Vec<String> =
            regs.iter().map(|reg| if *store { self.read(*reg).to_string() } else { reg.to_string() }).collect();
        let list = if regs.len() == 1 { named.concat() } else { format!("{{{}}}", named.join(", ")) };
        let shown = guard.map(|condition| format!("@{condition} ")).unwrap_or_default();
        match store {
            true => self.line(format_args!("{shown}st{space}{vector}.{ty} {address}, {list};")),
            false => {
                self.line(format_args!("{shown}ld{space}{vector}.{ty} {list}, {address};"));
                regs.iter().for_each(|reg| self.written(*reg, guard.is_some()));
            }
        }
    }

    /// The address of `size` bytes of a place.
    fn address(&mut self, place: Place, size: u32, index: Option<Reg>, offset: u32) -> Option<String> {
        let window = if place == Place::Alias { SCRATCH / 2 } else { SCRATCH };
        let slots = window / size;
        let (slots, offset) = match index {
            Some(_) if slots > 1 => (slots / 2, offset % (slots / 2) * size),
            _ => (slots, offset % slots * size),
        };
        let (base, start) = self.base(place)?;
        let offset = start + offset;
        let Some(index) = index.filter(|_| slots > 1) else { return Some(format!("[{base}+{offset}]")) };
        self.line(format_args!("and.b32 %sw0, {index}, {}; mad.wide.u32 %sd0, %sw0, {size}, {base};", slots - 1));
        Some(format!("[%sd0+{offset}]"))
    }

    /// A register with the start of a place, and bytes to be added.
    fn base(&mut self, place: Place) -> Option<(&'static str, u32)> {
        let name = self.tree.name.clone();
        match place {
            Place::Local => {
                let scope = self.scope();
                self.line(format_args!("mov.u64 %sd1, {scope}_local;"));
                Some(("%sd1", 0))
            }
            Place::Shared => {
                self.line(format_args!("mov.u32 %sw1, %tid.x; mov.u64 %sd1, {name}_own;"));
                self.line(format_args!("mad.wide.u32 %sd1, %sw1, {SCRATCH}, %sd1;"));
                Some(("%sd1", 0))
            }
            Place::Global => Some(("%own", OWN_CELL)),
            Place::Alias => {
                self.line("add.u64 %sd1, %own, %zero64;");
                Some(("%sd1", OWN_CELL + ALIAS))
            }
            Place::Either(condition) => {
                let scope = self.scope();
                let condition = self.read_condition(condition);
                let (one, other) = if condition.negated { ("%sd2", "%sd1") } else { ("%sd1", "%sd2") };
                let predicate = Condition { negated: false, ..condition };
                self.line(format_args!("mov.u64 %sd1, {scope}_local; cvta.local.u64 %sd1, %sd1;"));
                self.line(format_args!("add.u64 %sd2, %own, {OWN_CELL}; cvta.global.u64 %sd2, %sd2;"));
                self.line(format_args!("selp.b64 %sd1, {one}, {other}, {predicate};"));
                Some(("%sd1", 0))
            }
        }
    }

    pub(super) fn lookup(&mut self, table: &str, to: Reg, index: Reg) {
        let index = self.read(index);
        let (name, words) = (self.tree.name.clone(), TABLE_WORDS - 1);
        match table {
            "input" if !self.has_memory() => return,
            "input" => {
                self.line(format_args!("and.b32 %sw0, {index}, {}; mad.wide.u32 %sd0, %sw0, 4, %in;", INPUT_WORDS - 1));
                self.line(format_args!("ld.global.nc.b32 {to}, [%sd0];"));
            }
            space => {
                self.line(format_args!("and.b32 %sw0, {index}, {words}; mov.u64 %sd1, {name}_{space};"));
                self.line("mad.wide.u32 %sd0, %sw0, 4, %sd1;");
                self.line(format_args!("ld.{space}.b32 {to}, [%sd0];"));
            }
        }
        self.written(to, false);
    }

    pub(super) fn atomic(&mut self, statement: &Statement) {
        let Statement::Atomic { cell, op, ty, to, value, other } = statement else { return };
        if !self.has_memory() {
            return;
        }
        let (value, other) = (self.read(*value), self.read(*other));
        let Some((space, address)) = self.cell(*cell) else { return };
        let value = match is_float(ty) {
            true => self.small_float(ty, space, address, [value, other]),
            false => value.to_string(),
        };
        let second = if *op == "cas" { format!(", {other}") } else { String::new() };
        self.line(format_args!("atom{space}.{op}.{ty} {to}, [{address}], {value}{second};"));
        self.written(*to, false);
    }

    /// The state space and address of a cell.
    fn cell(&mut self, cell: Cell) -> Option<(&'static str, &'static str)> {
        match cell {
            Cell::Global => Some((".global", "%own")),
            Cell::Shared => Some((".shared", self.base(Place::Shared)?.0)),
            Cell::Either(condition) => {
                let condition = self.read_condition(condition);
                let (shared, _) = self.base(Place::Shared)?;
                let (one, other) = if condition.negated { (shared, "%sd2") } else { ("%sd2", shared) };
                let predicate = Condition { negated: false, ..condition };
                self.line(format_args!("cvta.shared.u64 {shared}, {shared}; cvta.global.u64 %sd2, %own;"));
                self.line(format_args!("selp.b64 %sd2, {one}, {other}, {predicate};"));
                Some(("", "%sd2"))
            }
        }
    }

    /// Puts a small integer into the cell, and gives a register with another: their sum is exact.
    fn small_float(&mut self, ty: &str, space: &str, address: &str, [value, cell]: [Reg; 2]) -> String {
        let to = if ty == "f64" { "%sd3" } else { "%sw1" };
        for (reg, stores) in [(cell, true), (value, false)] {
            match ty.strip_suffix("x2") {
                // A conversion from an integer to bf16 takes more than sm_75 has.
                Some(half) => {
                    self.line(format_args!("cvt.rn.f32.s8 %sw1, {reg}; cvt.rn.{half}.f32 %sh0, %sw1;"));
                    self.line("mov.b32 %sw1, {%sh0, %sh0};");
                }
                None => self.line(format_args!("cvt.rn.{ty}.s8 {to}, {reg};")),
            }
            if stores {
                let bits = if ty == "f64" { 64 } else { 32 };
                self.line(format_args!("st{space}.b{bits} [{address}], {to};"));
            }
        }
        to.to_owned()
    }

    /// Prefix of what belongs to this function.
    pub(super) fn scope(&self) -> String {
        let name = &self.tree.name;
        if self.is_kernel() { name.clone() } else { format!("{name}_f{}", self.number) }
    }
}

/// The type is one of floating-point numbers.
pub(super) fn is_float(ty: &str) -> bool {
    ty.contains('f')
}

/// The class of the results of an atomic operation.
pub(super) fn class_of(ty: &str) -> Class {
    if ty.ends_with("64") { Class::Double } else { Class::Word }
}
