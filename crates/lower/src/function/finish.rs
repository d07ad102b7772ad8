//! Leaving functions: `ret`, `exit` and the end of the body.

use crate::abi::{Convention, Place};
use crate::error::{Lowered, invalid};
use crate::function::FnLower;
use crate::function::operands::Wide;
use crate::function::scope::Binding;
use crate::module::names;
use oriole_isa::{Mods, Opcode, Role};
use oriole_ori::{CallSite, Callee, Clobbers, Inst, Operand, RegType};
use oriole_ptx::ast::{self, Space};

impl<'a> FnLower<'_, 'a> {
    /// Returns from the function; a kernel ends.
    pub(crate) fn emit_return(&mut self) -> Lowered {
        if self.is_entry() {
            return self.emit_exit();
        }
        let mut args = Vec::new();
        for (variable, passed) in std::mem::take(&mut self.returning.results) {
            self.hand_over(variable, passed.place, &mut args)?;
            self.returning.results.push((variable, passed));
        }
        let address = self.return_address()?;
        if let Some(kept) = self.returning.address {
            self.mov64(address, Wide::of_pair(kept))?;
        }
        let mut inst = Inst::neutral(Opcode::RET, Mods::new());
        let at =
            Opcode::RET.position(Role::Base).ok_or_else(|| invalid(self.span, "internal: RET has no operand Base"))?;
        inst.operands[at] = Operand::reg(address);
        let site = CallSite {
            callee: Callee::Return,
            args,
            results: Vec::new(),
            clobbers: Clobbers::Mask(Default::default()),
        };
        inst.call = self.func.calls.push(site).into();
        self.append(inst)?;
        self.end(&[]);
        Ok(())
    }

    /// Puts one result where the caller expects it; registers used are added to `args`.
    fn hand_over(&mut self, variable: &ast::Variable, place: Place, args: &mut Vec<Operand>) -> Lowered {
        let Some(name) = variable.name else { return Ok(()) };
        let words: Vec<Operand> = match (variable.space, self.binding(name)?) {
            (Space::Reg, _) => {
                let operand = self.register_operand(name)?;
                self.operand_words(&operand, variable.ty)?
            }
            (_, Some(Binding::Param(param))) => param.words.iter().map(|w| Operand::reg(*w)).collect(),
            _ => return Ok(()),
        };
        match place {
            Place::Registers(first) => {
                for (k, word) in words.into_iter().enumerate() {
                    let to = self.fixed(first + k as u16)?;
                    self.mov(to, word)?;
                    args.push(to);
                }
                Ok(())
            }
            Place::Stack(offset) => {
                let base = self.incoming_stack()?;
                self.store_operands(base, offset, &words)
            }
        }
    }

    /// The fixed register `number` as an operand.
    pub(crate) fn fixed(&mut self, number: u16) -> Lowered<Operand> {
        let made = self.func.fixed_vreg(RegType::R, number);
        Ok(Operand::reg(self.built(made)?))
    }

    /// Ends the thread.
    pub(crate) fn emit_exit(&mut self) -> Lowered {
        self.append(Inst::neutral(Opcode::EXIT, Mods::new()))?;
        self.end(&[]);
        Ok(())
    }

    /// After the body: control that reaches its end returns; labels that nothing lays out do not exist.
    pub(super) fn finish(&mut self) -> Lowered {
        if self.is_reachable() {
            self.emit_return()?;
        }
        let frame = &mut self.func.frame;
        frame.local_bytes = frame.local_bytes.next_multiple_of(8);
        Ok(())
    }

    /// Bytes at the bottom of the frame that the calls of the body need.
    pub(super) fn outgoing_area(&mut self, body: &'a ast::Block) -> Lowered<u32> {
        let mut calls = Vec::new();
        names::instructions(body, &mut |instruction| calls.extend(instruction.call()));
        let mut prototypes = Vec::new();
        names::prototypes(body, &mut |prototype| prototypes.push(prototype));
        let mut bytes = 0;
        for call in calls {
            let declared = call.callee.name().and_then(|name| self.module.function(name.sym));
            let convention = match (declared, call.prototype) {
                (Some((_, function)), _) => Convention::of(&function.rets, &function.params)?,
                (None, Some(label)) => match prototypes.iter().find(|p| p.label.sym == label.sym) {
                    Some(prototype) => Convention::of(&prototype.rets, &prototype.params)?,
                    None => continue,
                },
                (None, None) => continue,
            };
            let variadic = variadic_bytes(&convention, body).filter(|most| *most <= self.sm().max_local_per_thread);
            let variadic = variadic.ok_or_else(|| invalid(call.callee.span(), "the arguments are too large"))?;
            bytes = bytes.max(convention.stack_bytes + variadic);
        }
        Ok(bytes)
    }
}

/// Room for the unsized last parameter of a variadic function: at most the largest parameter that
/// the body declares.
fn variadic_bytes(convention: &Convention, body: &ast::Block) -> Option<u32> {
    if convention.params.last().is_none_or(|last| last.size != 0) {
        return Some(0);
    }
    let mut most = 0;
    names::variables(body, &mut |variable| {
        if variable.space == Space::Param {
            most = most.max(variable.size().unwrap_or(u64::MAX));
        }
    });
    u32::try_from(most).ok()?.checked_next_multiple_of(16)
}
