//! Copies and fills of constant length. Those of variable length have become
//! loops before selection.

use crate::ir::{Call, Value};
use crate::machine::Operand;
use crate::select::error::Error;
use crate::select::legal::Vt;
use crate::select::lower::Lower;
use crate::select::word_table::{Part, Word};

/// The longest copy that is written out, in bytes.
pub(crate) const MAX_INLINE: u64 = 1024;

impl Lower<'_> {
    /// `memcpy`, `memmove`, `memset`; false for other names.
    pub(super) fn memory_intrinsic(&mut self, name: &str, call: &Call) -> Result<bool, Error> {
        let kind = name.split('.').next().unwrap_or(name);
        if !matches!(kind, "memcpy" | "memmove" | "memset") {
            return Ok(false);
        }
        let &[to, from, length, ..] = call.args.as_slice() else {
            return Err(Error::new(format!("calls of `llvm.{name}` with other operands")));
        };
        let length = length.constant().and_then(|id| self.ir.constants.as_int(id));
        let length = length.and_then(|length| u64::try_from(length).ok()).filter(|length| *length <= MAX_INLINE);
        let length = length.ok_or_else(|| Error::new(format!("calls of `llvm.{kind}` of a variable or large size")))?;
        let align = |index: usize| {
            let own = call.arg_attributes.iter().find(|(at, _)| *at as usize == index);
            u64::from(own.map_or(1, |(_, attributes)| attributes.align.max(1)))
        };
        let target = self.place(to)?;
        if kind == "memset" {
            let pattern = self.spread(from)?;
            self.fill_memory(target, pattern, length, align(0))?;
            return Ok(true);
        }
        let source = self.place(from)?;
        if kind == "memmove" {
            self.move_memory(source, target, length, align(0).min(align(1)))?;
        } else {
            self.copy_memory(source, target, length, align(0).min(align(1)))?;
        }
        Ok(true)
    }

    /// A byte eight times, in 64 bits.
    fn spread(&mut self, byte: Value) -> Result<Word, Error> {
        let word = self.word(byte)?;
        const EACH: u64 = 0x0101_0101_0101_0101;
        let part = match word.part {
            Part::Bits(byte) => Part::Bits((byte & 0xFF).wrapping_mul(EACH)),
            Part::Undef => Part::Bits(0),
            _ => {
                let src = self.src(word)?;
                let wide = self.value(format_args!("cvt.u64.u8"), Vt::I64, [src])?;
                let factor = Operand::Imm(EACH as i64);
                Part::Reg(self.value(format_args!("mul.lo.s64"), Vt::I64, [wide.into(), factor])?)
            }
        };
        Ok(Word { vt: Vt::I64, part })
    }
}
