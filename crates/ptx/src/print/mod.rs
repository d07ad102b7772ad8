//! Prints a module as PTX text that parses back to an equal tree.

mod body;
mod item;

use std::fmt::{self, Write};

use crate::ast::{Imm, Instruction, Module, Name, Operand, SymbolTable, Variable};

/// Text under construction. Writing to a `String` cannot fail, so the results
/// of [`fmt::Write`] are dropped in one place, [`Printer::put`].
struct Printer<'a> {
    symbols: &'a SymbolTable,
    out: String,
    indent: usize,
}

impl<'a> Printer<'a> {
    fn new(symbols: &'a SymbolTable) -> Printer<'a> {
        Printer { symbols, out: String::new(), indent: 0 }
    }

    fn put(&mut self, text: fmt::Arguments<'_>) {
        let _ = self.out.write_fmt(text);
    }

    fn text(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn name(&mut self, name: Name) {
        self.out.push_str(self.symbols.text(name.sym));
    }

    /// Starts a line at the current indentation.
    fn line(&mut self) {
        for _ in 0..self.indent {
            self.out.push('\t');
        }
    }

    /// Prints items with `, ` between them.
    fn comma_list<T>(&mut self, items: &[T], mut print: impl FnMut(&mut Self, &T)) {
        for (at, item) in items.iter().enumerate() {
            if at > 0 {
                self.text(", ");
            }
            print(self, item);
        }
    }

    /// Prints `+n` or `+-n`, which is all that ptxas reads, and nothing for 0.
    fn offset(&mut self, offset: i64) {
        if offset != 0 {
            self.put(format_args!("+{offset}"));
        }
    }

    fn imm(&mut self, imm: Imm) {
        match imm {
            Imm::S64(i64::MIN) => self.text("(.s64)0x8000000000000000"),
            Imm::S64(value) => self.put(format_args!("{value}")),
            Imm::U64(value) => self.put(format_args!("{value}U")),
            Imm::F32(bits) => self.put(format_args!("0f{bits:08X}")),
            Imm::F64(bits) => self.put(format_args!("0d{bits:016X}")),
        }
    }
}

/// Prints the whole module.
#[must_use]
pub fn print(module: &Module) -> String {
    let mut printer = Printer::new(&module.symbols);
    printer.module(module);
    printer.out
}

/// Prints one instruction, without its `;` (for messages and dumps).
#[must_use]
pub fn print_instruction(instruction: &Instruction, symbols: &SymbolTable) -> String {
    let mut printer = Printer::new(symbols);
    printer.instruction(instruction);
    printer.out
}

/// Prints one operand (for messages and dumps).
#[must_use]
pub fn print_operand(operand: &Operand, symbols: &SymbolTable) -> String {
    let mut printer = Printer::new(symbols);
    printer.operand(operand);
    printer.out
}

/// Prints the declaration of a variable or parameter, without its `;`.
#[must_use]
pub fn print_variable(variable: &Variable, symbols: &SymbolTable) -> String {
    let mut printer = Printer::new(symbols);
    printer.variable(variable);
    printer.out
}

impl fmt::Display for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&print(self))
    }
}
