//! Inline assembly: operands put into the text, the text parsed into statements; and assembly outside of
//! functions.

use std::fmt::Write;

use oriole_ptx::ast::Item;

use super::body::Body;
use super::emitter::{Emitter, Fragment};
use super::error::Error;
use crate::machine::{AsmId, AsmPiece, Inst};

impl Body<'_, '_> {
    pub(super) fn inline_asm(&mut self, inst: &Inst, asm: AsmId) -> Result<(), Error> {
        let function = self.function;
        let mut text = String::new();
        for piece in &function.asms[asm].pieces {
            match piece {
                AsmPiece::Text(piece) => text.push_str(piece),
                AsmPiece::Operand(index) => {
                    let Some(operand) = inst.operands.get(*index as usize) else {
                        return Err(self.internal(format!("inline assembly has no operand {index}")));
                    };
                    let operand = self.operand(operand)?;
                    text.push_str(&oriole_ptx::print_operand(&operand, &self.emitter.symbols));
                }
                AsmPiece::Unique => {
                    let number = self.emitter.fragments.len();
                    // Writing to a `String` cannot fail.
                    let _ = write!(text, "{number}");
                }
            }
        }
        let start = self.emitter.position;
        self.emitter.position += text.len() as u32 + 1;
        let parsed = oriole_ptx::parse_statements(&text, start, &mut self.emitter.symbols);
        match parsed {
            Ok(statements) => {
                self.out.extend(statements);
                self.emitter.fragments.push(Fragment { start, text });
                Ok(())
            }
            Err(diagnostics) => {
                let function = self.emitter.ir.symbols[self.id].name.to_string();
                Err(Error::Asm { function, text, diagnostics })
            }
        }
    }
}

impl Emitter<'_> {
    /// Adds `module asm`. What it declares is not declared again.
    pub(super) fn module_asm(&mut self, items: &mut Vec<Item>) -> Result<(), Error> {
        if self.ir.asm.is_empty() {
            return Ok(());
        }
        let text = self.ir.asm.join("\n");
        let start = self.position;
        self.position += text.len() as u32 + 1;
        match oriole_ptx::parse_items(&text, start, &mut self.symbols) {
            Ok(found) => {
                self.given.extend(found.iter().filter_map(|item| match item {
                    Item::Function(function) => Some(function.name.sym),
                    Item::Variable(variable) => variable.name.map(|name| name.sym),
                    _ => None,
                }));
                items.extend(found);
                self.fragments.push(Fragment { start, text });
                Ok(())
            }
            Err(diagnostics) => Err(Error::Asm { function: self.ir.name.clone(), text, diagnostics }),
        }
    }
}
