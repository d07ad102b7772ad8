//! The text of a machine function, for `--dump-machine` and for tests of passes.

use std::fmt::{self, Write};

use oriole_ptx::ast::SymbolTable;

use super::form::Forms;
use super::function::{Function, Terminator};
use super::inst::{AsmPiece, Base, Inst, Opcode, Operand};
use super::reg::{EncodedReg, PhysReg, Reg, VReg};

/// Writes functions with the names of their module.
#[derive(Clone, Copy, Debug)]
pub struct Dump<'a> {
    /// The function.
    pub function: &'a Function,
    /// The forms of its instructions.
    pub forms: &'a Forms,
    /// The names of variables and functions.
    pub symbols: &'a SymbolTable,
}

impl fmt::Display for Dump<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Function { name, is_entry, frame, .. } = self.function;
        let kind = if *is_entry { "entry" } else { "func" };
        writeln!(f, "{kind} {} frame {} align {}", self.symbols.text(*name), frame.bytes, frame.align)?;
        for &block in &self.function.layout {
            writeln!(f, "{block}:")?;
            let content = &self.function.blocks[block];
            for phi in &content.phis {
                write!(f, "    {} = phi", self.vreg(phi.dst))?;
                for (at, (from, value)) in phi.incoming.iter().enumerate() {
                    write!(f, "{} [{from}: {}]", if at > 0 { "," } else { "" }, self.operand(value))?;
                }
                writeln!(f)?;
            }
            for inst in &content.insts {
                writeln!(f, "    {}", self.inst(inst))?;
            }
            writeln!(f, "    {}", self.terminator(&content.terminator))?;
        }
        Ok(())
    }
}

impl Dump<'_> {
    /// A register by its prefix and its number in the function; its class and bits come from the
    /// encoding. A register without a class that can be encoded prints as the class does.
    #[must_use]
    pub fn vreg(&self, reg: VReg) -> String {
        let class = self.function.regs[reg];
        match EncodedReg::virtual_reg(class, reg.as_u32()) {
            Ok(encoded) => encoded.to_string(),
            Err(_) => class.info().prefix.to_owned(),
        }
    }

    fn reg(&self, reg: Reg) -> String {
        match reg {
            Reg::Virtual(reg) => self.vreg(reg),
            Reg::Physical(PhysReg::Sp) => "%SP".to_owned(),
            Reg::Physical(PhysReg::Spl) => "%SPL".to_owned(),
            Reg::Physical(PhysReg::Special(reg)) => format!("%{reg}"),
        }
    }

    /// One operand.
    #[must_use]
    pub fn operand(&self, operand: &Operand) -> String {
        let list = |items: &[Operand]| items.iter().map(|item| self.operand(item)).collect::<Vec<_>>().join(", ");
        match operand {
            Operand::Reg(reg) => self.reg(*reg),
            Operand::Not(reg) => format!("!{}", self.vreg(*reg)),
            Operand::Imm(value) => value.to_string(),
            Operand::F32(bits) => format!("0f{bits:08X}"),
            Operand::F64(bits) => format!("0d{bits:016X}"),
            Operand::Part(reg, part) => {
                let name = match part {
                    oriole_ptx::ast::Selector::X => "x",
                    oriole_ptx::ast::Selector::Y => "y",
                    oriole_ptx::ast::Selector::Z => "z",
                    _ => "w",
                };
                format!("{}.{name}", self.reg(*reg))
            }
            Operand::Symbol(sym, 0) => self.symbols.text(*sym).to_owned(),
            Operand::Symbol(sym, offset) => format!("{}{offset:+}", self.symbols.text(*sym)),
            Operand::Address(address) => {
                let mut text = "[".to_owned();
                match address.base {
                    Base::Reg(reg) => text += &self.reg(reg),
                    Base::Symbol(sym) => text += self.symbols.text(sym),
                    Base::Absolute => {}
                }
                if address.offset != 0 || address.base == Base::Absolute {
                    let _ = write!(text, "{:+}", address.offset);
                }
                if !address.rest.is_empty() {
                    let _ = write!(text, ", {}", list(&address.rest));
                }
                text + "]"
            }
            Operand::Vector(items) => format!("{{{}}}", list(items)),
            Operand::Pair(items) => format!("{}|{}", self.operand(&items[0]), self.operand(&items[1])),
            Operand::Sink => "_".to_owned(),
        }
    }

    /// One instruction.
    #[must_use]
    pub fn inst(&self, inst: &Inst) -> String {
        let mut text = String::new();
        if let Some((guard, negated)) = inst.guard {
            let _ = write!(text, "@{}{} ", if negated { "!" } else { "" }, self.vreg(guard));
        }
        let list = |items: &[Operand]| items.iter().map(|item| self.operand(item)).collect::<Vec<_>>().join(", ");
        if inst.defs > 0 {
            let _ = write!(text, "{} = ", list(inst.defs()));
        }
        match inst.opcode {
            Opcode::Copy => {
                let classes = inst.as_copy().map(|(from, to)| (self.function.regs[from], self.function.regs[to]));
                let number = classes.map_or(0, |(from, to)| from.copy_opcode(to));
                let _ = write!(text, "copy.{number}");
            }
            Opcode::Form(form) => text += &self.forms[form].text,
            Opcode::Call(call) => {
                let callee = self.function.calls[call].callee;
                let _ = write!(text, "call {}", callee.map_or("(indirect)", |sym| self.symbols.text(sym)));
            }
            Opcode::Asm(asm) => {
                text += "asm \"";
                for piece in &self.function.asms[asm].pieces {
                    match piece {
                        AsmPiece::Text(piece) => text += &piece.escape_debug().to_string(),
                        AsmPiece::Operand(n) => {
                            let _ = write!(text, "${n}");
                        }
                        AsmPiece::Unique => text += "${:uid}",
                    }
                }
                text += "\"";
            }
        }
        if !inst.uses().is_empty() {
            let _ = write!(text, " {}", list(inst.uses()));
        }
        text
    }

    fn terminator(&self, terminator: &Terminator) -> String {
        match terminator {
            Terminator::Goto(to) => format!("goto {to}"),
            Terminator::Branch { pred, negated, then, otherwise } => {
                let not = if *negated { "!" } else { "" };
                format!("branch {not}{} {then}, {otherwise}", self.vreg(*pred))
            }
            Terminator::Table { index, targets } => {
                let names: Vec<_> = targets.iter().map(ToString::to_string).collect();
                format!("table {} [{}]", self.vreg(*index), names.join(", "))
            }
            Terminator::Ret => "ret".to_owned(),
            Terminator::Exit => "exit".to_owned(),
            Terminator::Trap => "trap".to_owned(),
        }
    }
}
