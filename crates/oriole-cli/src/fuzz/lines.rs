//! PTX text that both kinds of programs print: lines, instructions of the table, and what makes their results agree.

use super::program::{Condition, Operand, Reg};
use super::templates::{Before, Class, FloatFormat};
use std::fmt::{Display, Write};

/// Text that grows by lines.
#[derive(Clone, Debug, Default)]
pub(super) struct Lines {
    /// The text so far.
    pub(super) text: String,
    /// Levels by which lines are indented.
    pub(super) indent: usize,
}

impl Lines {
    /// Adds a line.
    pub(super) fn line(&mut self, line: impl Display) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{:1$}{line}", "", 4 * self.indent);
    }

    /// An instruction of the table, or the few that belong together. `hide`: operands may not be folded with
    /// what makes them.
    pub(super) fn instruction(
        &mut self,
        text: &str,
        operands: &[(Operand, Before)],
        guard: Option<Condition>,
        hide: bool,
    ) {
        let mut names = Vec::new();
        for (operand, before) in operands {
            match operand {
                Operand::Reg(reg) if *before == Before::Odd || *before == Before::Hide && hide => {
                    let (scratch, bits) = match reg.class {
                        Class::Half => ("%sh0", 16),
                        Class::Double => ("%sd0", 64),
                        _ => ("%sw0", 32),
                    };
                    match before {
                        Before::Odd => self.line(format_args!("or.b{bits} {scratch}, {reg}, 1;")),
                        _ => self.line(format_args!("xor.b{bits} {scratch}, {reg}, %zero{bits};")),
                    }
                    names.push(scratch.to_owned());
                }
                _ => names.push(operand.to_string()),
            }
        }
        let guard = guard.map(|condition| format!("@{condition} ")).unwrap_or_default();
        if !text.contains('$') {
            return self.line(format_args!("{guard}{text} {};", names.join(", ")));
        }
        for instruction in text.split(';') {
            let filled = names
                .iter()
                .enumerate()
                .rev()
                .fold(instruction.to_owned(), |text, (number, name)| text.replace(&format!("${number}"), name));
            self.line(format_args!("{guard}{filled};"));
        }
    }

    /// Adds a zero that no compiler knows.
    pub(super) fn hide(&mut self, reg: Reg) {
        if reg.class == Class::Predicate {
            return self.line(format_args!("setp.ne.u32 %sp, %zero32, 0; xor.pred {reg}, {reg}, %sp;"));
        }
        let bits = 8 * reg.class.bytes();
        self.line(format_args!("xor.b{bits} {reg}, {reg}, %zero{bits};"));
    }

    /// Replaces any NaN in `reg` by the one with all bits but the sign set.
    pub(super) fn one_nan(&mut self, reg: Reg, format: FloatFormat) {
        if format.packed {
            self.line(format_args!("mov.b32 {{%sh0, %sh1}}, {reg};"));
            self.one_nan_of("%sh0", format);
            self.one_nan_of("%sh1", format);
            return self.line(format_args!("mov.b32 {reg}, {{%sh0, %sh1}};"));
        }
        self.one_nan_of(&reg.to_string(), format);
    }

    fn one_nan_of(&mut self, reg: &str, format: FloatFormat) {
        let (scratch, bits) = match format.bits {
            16 => ("%sh2", 16),
            32 => ("%sw3", 32),
            _ => ("%sd3", 64),
        };
        let nan = u64::MAX >> (65 - bits);
        self.line(format_args!("and.b{bits} {scratch}, {reg}, {nan:#x};"));
        self.line(format_args!("setp.gt.u{bits} %sp, {scratch}, {:#x};", format.infinity));
        self.line(format_args!("selp.b{bits} {reg}, {nan:#x}, {reg}, %sp;"));
    }
}

/// The type of a reduction: `and`, `or` and `xor` take bits.
pub(super) fn reduction_type(op: &str, wide: bool) -> &'static str {
    match (matches!(op, "and" | "or" | "xor"), wide) {
        (true, false) => "b32",
        (true, true) => "b64",
        (false, false) => "u32",
        (false, true) => "u64",
    }
}
