//! Making instructions and operands.

use std::fmt::{self, Write};

use cranelift_entity::EntityRef;
use smallvec::SmallVec;

use super::error::Error;
use super::legal::{Vt, immediate};
use super::lower::Lower;
use super::word_table::{Part, Word};
use crate::ir::{AddressSpace, Value};
use crate::machine::{FormId, Inst, Opcode, Operand, RegClass, VReg};

/// The name of a space in instructions; empty for generic addresses.
pub(super) fn space_name(space: AddressSpace) -> Option<&'static str> {
    Some(match space {
        AddressSpace::GENERIC => "",
        AddressSpace::GLOBAL => "global",
        AddressSpace::SHARED => "shared",
        AddressSpace::CONSTANT => "const",
        AddressSpace::LOCAL => "local",
        AddressSpace::SHARED_CLUSTER => "shared::cluster",
        AddressSpace::PARAM => "param",
        _ => return None,
    })
}

impl Lower<'_> {
    /// A new register for a word.
    pub(super) fn new_reg(&mut self, vt: Vt) -> VReg {
        self.new_class(vt.class())
    }

    /// A new register of a class.
    pub(super) fn new_class(&mut self, class: RegClass) -> VReg {
        self.out.regs.push(class)
    }

    /// The form spelled by the arguments.
    pub(super) fn form(&mut self, text: fmt::Arguments<'_>) -> Result<FormId, Error> {
        self.text.clear();
        // Writing to a string cannot fail.
        let _ = self.text.write_fmt(text);
        match self.forms.intern(&self.text) {
            Some(form) => Ok(form),
            None => Err(Error::new(format!("instructions `{}`", self.text))),
        }
    }

    /// Emits an instruction of which the first `defs` operands are results.
    pub(super) fn emit(
        &mut self,
        text: fmt::Arguments<'_>,
        defs: u16,
        operands: impl IntoIterator<Item = Operand>,
    ) -> Result<(), Error> {
        let opcode = Opcode::Form(self.form(text)?);
        self.push(opcode, defs, operands.into_iter().collect());
        Ok(())
    }

    /// Emits an instruction with one result.
    pub(super) fn op(
        &mut self,
        text: fmt::Arguments<'_>,
        dst: VReg,
        args: impl IntoIterator<Item = Operand>,
    ) -> Result<(), Error> {
        self.emit(text, 1, std::iter::once(Operand::from(dst)).chain(args))
    }

    /// Emits an instruction whose result goes to a new register.
    pub(super) fn value(
        &mut self,
        text: fmt::Arguments<'_>,
        vt: Vt,
        args: impl IntoIterator<Item = Operand>,
    ) -> Result<VReg, Error> {
        let dst = self.new_reg(vt);
        self.demanded.grow_and_insert(dst.index());
        self.op(text, dst, args)?;
        Ok(dst)
    }

    pub(super) fn push(&mut self, opcode: Opcode, defs: u16, operands: SmallVec<[Operand; 4]>) {
        self.sequence.push(Inst { opcode, defs, guard: None, operands, loc: None.into(), source: None.into() });
    }

    /// Emits a copy, within a class or across.
    pub(super) fn copy(&mut self, dst: VReg, src: VReg) {
        self.demanded.grow_and_insert(src.index());
        self.push(Opcode::Copy, 1, SmallVec::from_iter([dst.into(), src.into()]));
    }

    /// Notes that something reads the word.
    pub(super) fn demand(&mut self, part: Part) {
        if let Part::Reg(reg) = part {
            self.demanded.grow_and_insert(reg.index());
        }
    }

    pub(super) fn is_demanded(&self, reg: VReg) -> bool {
        self.demanded.contains(reg.index())
    }

    /// The word as an operand where PTX takes constants.
    pub(super) fn src(&mut self, word: Word) -> Result<Operand, Error> {
        self.demand(word.part);
        match word.part {
            Part::Reg(reg) => Ok(reg.into()),
            Part::Bits(bits) if !matches!(word.vt, Vt::Pred | Vt::F16 | Vt::Bf16) && word.vt.lanes() == 1 => {
                Ok(immediate(word.vt, bits))
            }
            Part::Undef if matches!(word.vt, Vt::I8 | Vt::I16 | Vt::I32 | Vt::I64 | Vt::F32 | Vt::F64) => {
                Ok(immediate(word.vt, 0))
            }
            _ => Ok(self.reg(word)?.into()),
        }
    }

    /// The word as an operand of an untyped instruction, where packed constants are numbers too.
    pub(super) fn bits_src(&mut self, word: Word) -> Result<Operand, Error> {
        match word.part {
            Part::Bits(bits) if word.vt != Vt::Pred => Ok(immediate(word.vt, bits)),
            Part::Undef if word.vt != Vt::Pred => Ok(immediate(word.vt, 0)),
            // The copy to another class is not needed for it.
            Part::Reg(reg) => {
                let reg = self.words.bits_of(reg);
                self.demand(Part::Reg(reg));
                Ok(reg.into())
            }
            _ => self.src(word),
        }
    }

    /// The word in a register: constants and addresses are moved there.
    pub(super) fn reg(&mut self, word: Word) -> Result<VReg, Error> {
        self.demand(word.part);
        match word.part {
            Part::Reg(reg) => Ok(reg),
            Part::Bits(bits) => {
                self.value(format_args!("mov.{}", move_type(word.vt)), word.vt, [immediate(word.vt, bits)])
            }
            Part::Undef => self.value(format_args!("mov.{}", move_type(word.vt)), word.vt, [immediate(word.vt, 0)]),
            Part::Symbol(sym, offset, space) => {
                let t = if word.vt == Vt::I32 { "u32" } else { "u64" };
                let address = self.value(format_args!("mov.{t}"), word.vt, [Operand::Symbol(sym, offset)])?;
                match space.and_then(space_name) {
                    Some(name) if !name.is_empty() => {
                        self.value(format_args!("cvta.{name}.{t}"), word.vt, [address.into()])
                    }
                    _ => Ok(address),
                }
            }
        }
    }

    /// Writes a word to a register that is already chosen.
    pub(super) fn assign(&mut self, dst: VReg, word: Word) -> Result<(), Error> {
        match word.part {
            Part::Reg(src) => {
                self.copy(dst, src);
                Ok(())
            }
            Part::Bits(_) | Part::Undef => {
                let bits = if let Part::Bits(bits) = word.part { bits } else { 0 };
                self.op(format_args!("mov.{}", move_type(word.vt)), dst, [immediate(word.vt, bits)])
            }
            Part::Symbol(..) => {
                let src = self.reg(word)?;
                self.copy(dst, src);
                Ok(())
            }
        }
    }

    /// The operand of a scalar value.
    pub(super) fn arg(&mut self, value: Value) -> Result<Operand, Error> {
        let word = self.word(value)?;
        self.src(word)
    }

    /// The register that a result word goes to; none when nobody reads it.
    pub(super) fn dst(&self, word: Word) -> Option<VReg> {
        match word.part {
            Part::Reg(reg) if self.is_demanded(reg) => Some(self.retarget[reg].unwrap_or(reg)),
            _ => None,
        }
    }

    /// The register that a result word goes to, whether it is read or not.
    pub(super) fn result(&self, word: Word) -> Result<VReg, Error> {
        match word.part {
            Part::Reg(reg) => Ok(self.retarget[reg].unwrap_or(reg)),
            _ => Err(Error::new("results that are constants")),
        }
    }

    /// Behind the definition of a packed word: its lanes, if they are read, or the word of its lanes.
    pub(super) fn pack_or_unpack(&mut self, word: Word) -> Result<(), Error> {
        let Part::Reg(reg) = word.part else { return Ok(()) };
        if !self.words.from_lanes[reg] {
            return self.unpack(word);
        }
        match (self.dst(word), self.words.lanes(reg)) {
            (Some(dst), Some(lanes)) => self.pack_lanes(word.vt, dst, &lanes),
            _ => Ok(()),
        }
    }

    /// Takes a packed register apart, if a lane of it is read.
    pub(super) fn unpack(&mut self, word: Word) -> Result<(), Error> {
        let Part::Reg(reg) = word.part else { return Ok(()) };
        match self.words.lanes(reg) {
            Some(lanes) if !self.words.from_lanes[reg] => self.unpack_lanes(word.vt, reg, &lanes),
            _ => Ok(()),
        }
    }
}

/// The type of a `mov`.
pub(super) const fn move_type(vt: Vt) -> &'static str {
    match vt {
        Vt::F32 => "f32",
        Vt::F64 => "f64",
        other => other.untyped(),
    }
}
