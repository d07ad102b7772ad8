//! Atomic operations and fences.

use super::Error;
use super::address::Place;
use super::build::space_name;
use super::legal::{Vt, pieces};
use super::lower::Lower;
use super::memory::scope_name;
use super::words::{Part, Word};
use crate::ir::{AddressSpace, DataLayout, InstId, Op, Ordering, RmwOp, SyncScope, TypeId, Types};

/// The ordering word of `atom`; a sequentially consistent one has a fence before it.
const fn semantics(ordering: Ordering) -> &'static str {
    match ordering {
        Ordering::Acquire | Ordering::SeqCst => "acquire",
        Ordering::Release => "release",
        Ordering::AcqRel => "acq_rel",
        _ => "relaxed",
    }
}

/// The PTX name and type of an operation on a type.
fn rmw_name(op: RmwOp, vt: Vt, arch: u32) -> Option<(&'static str, &'static str)> {
    let wide = vt == Vt::I64;
    let int = matches!(vt, Vt::I32 | Vt::I64);
    let pick = |narrow: &'static str, full: &'static str| if wide { full } else { narrow };
    Some(match op {
        RmwOp::Xchg if vt.bits() >= 32 => ("exch", vt.untyped()),
        RmwOp::Add | RmwOp::Sub if int => ("add", pick("u32", "u64")),
        RmwOp::And if int => ("and", pick("b32", "b64")),
        RmwOp::Or if int => ("or", pick("b32", "b64")),
        RmwOp::Xor if int => ("xor", pick("b32", "b64")),
        RmwOp::Max if int => ("max", pick("s32", "s64")),
        RmwOp::Min if int => ("min", pick("s32", "s64")),
        RmwOp::UMax if int => ("max", pick("u32", "u64")),
        RmwOp::UMin if int => ("min", pick("u32", "u64")),
        RmwOp::UIncWrap if vt == Vt::I32 => ("inc", "u32"),
        RmwOp::UDecWrap if vt == Vt::I32 => ("dec", "u32"),
        RmwOp::FAdd | RmwOp::FSub => match vt {
            Vt::F32 => ("add", "f32"),
            Vt::F64 => ("add", "f64"),
            Vt::F16 if arch >= 70 => ("add.noftz", "f16"),
            Vt::F16x2 => ("add.noftz", "f16x2"),
            Vt::Bf16 if arch >= 90 => ("add.noftz", "bf16"),
            Vt::Bf16x2 if arch >= 90 => ("add.noftz", "bf16x2"),
            _ => return None,
        },
        _ => return None,
    })
}

/// True for an `atomicrmw` that PTX has an instruction for, in memory that threads share.
pub(crate) fn has_atomic(op: RmwOp, types: &Types, layout: &DataLayout, ty: TypeId, arch: u32) -> bool {
    match pieces(types, layout, ty).as_deref() {
        Ok([piece]) => rmw_name(op, piece.vt, arch).is_some(),
        _ => false,
    }
}

fn no_atomic(op: RmwOp, vt: Vt) -> Error {
    Error::new(format!("`atomicrmw {}` instructions of {} bits on this target", op.as_str(), vt.bytes() * 8))
}

impl Lower<'_> {
    /// `fence`
    pub(super) fn fence(&mut self, ordering: Ordering, scope: SyncScope) -> Result<(), Error> {
        let kind = if ordering == Ordering::SeqCst { "sc" } else { "acq_rel" };
        match scope {
            SyncScope::Thread => Ok(()),
            _ if self.options.arch < 70 => {
                let scope = match scope {
                    SyncScope::System => "sys",
                    SyncScope::Block => "cta",
                    _ => "gl",
                };
                self.emit(format_args!("membar.{scope}"), 0, [])
            }
            _ => self.emit(format_args!("fence.{kind}.{}", scope_name(scope)), 0, []),
        }
    }

    /// `.relaxed.gpu.global` and the like: what stands between `atom` and the operation.
    fn atom_words(&mut self, place: Place, ordering: Ordering, scope: SyncScope) -> Result<String, Error> {
        if ordering == Ordering::SeqCst {
            self.emit(format_args!("fence.sc.{}", scope_name(scope)), 0, [])?;
        }
        let space = match place.space {
            AddressSpace::GENERIC | AddressSpace::GLOBAL | AddressSpace::SHARED | AddressSpace::SHARED_CLUSTER => {
                space_name(place.space).unwrap_or_default()
            }
            other => return Err(Error::new(format!("atomic operations in address space {}", other.0))),
        };
        let dot = if space.is_empty() { "" } else { "." };
        Ok(format!(".{}.{}{dot}{space}", semantics(ordering), scope_name(scope)))
    }

    /// `atomicrmw`
    pub(super) fn atomic_rmw(&mut self, inst: InstId, words: &[Word]) -> Result<(), Error> {
        let body = self.body;
        let Op::AtomicRmw { op, ptr, value, ordering, scope, .. } = body[inst].op else { return Ok(()) };
        let place = self.place(ptr)?;
        let &[word] = words else { return Err(Error::new("atomic operations on more than 64 bits")) };
        let operand = self.word(value)?;
        let how = self.atom_words(place, ordering, scope)?;
        let vt = operand.vt;
        let (name, t) = rmw_name(op, vt, self.options.arch).ok_or_else(|| no_atomic(op, vt))?;
        let operand = match op {
            RmwOp::Sub => self.integer_negated(operand)?,
            RmwOp::FSub => self.negated(operand)?,
            _ => operand,
        };
        let source = if t.starts_with('b') { self.bits_src(operand)? } else { self.src(operand)? };
        let address = place.operand(0);
        match self.dst(word) {
            Some(dst) => self.op(format_args!("atom{how}.{name}.{t}"), dst, [address, source]),
            None if op != RmwOp::Xchg && matches!(semantics(ordering), "relaxed" | "release") => {
                self.emit(format_args!("red{how}.{name}.{t}"), 0, [address, source])
            }
            None => {
                let unused = self.new_reg(vt);
                self.op(format_args!("atom{how}.{name}.{t}"), unused, [address, source])
            }
        }
    }

    fn integer_negated(&mut self, word: Word) -> Result<Word, Error> {
        let part = match word.part {
            Part::Bits(bits) => Part::Bits(bits.wrapping_neg()),
            _ => {
                let src = self.src(word)?;
                Part::Reg(self.value(format_args!("neg.{}", word.vt.typed(true)), word.vt, [src])?)
            }
        };
        Ok(Word { vt: word.vt, part })
    }

    /// `cmpxchg`: the old value, and whether it was the expected one.
    pub(super) fn compare_exchange(&mut self, inst: InstId, words: &[Word]) -> Result<(), Error> {
        let body = self.body;
        let Op::CmpXchg { ptr, expected, new, orderings, scope, .. } = body[inst].op else { return Ok(()) };
        let place = self.place(ptr)?;
        let &[old, success] = words else { return Err(Error::new("`cmpxchg` instructions of more than 64 bits")) };
        let (expected, new) = (self.word(expected)?, self.word(new)?);
        let vt = expected.vt;
        if !(matches!(vt.bits(), 32 | 64) || vt == Vt::I16 && self.options.arch >= 70) {
            return Err(Error::new(format!("`cmpxchg` instructions of {} bits", vt.bytes() * 8)));
        }
        let ordering = orderings[0].max(orderings[1]);
        let how = self.atom_words(place, ordering, scope)?;
        let dst = self.result(old)?;
        let operands = [place.operand(0), self.bits_src(expected)?, self.bits_src(new)?];
        self.op(format_args!("atom{how}.cas.{}", vt.untyped()), dst, operands)?;
        if let Some(flag) = self.dst(success) {
            let operands = [dst.into(), self.src(expected)?];
            let t = if vt.bits() == 64 {
                "s64"
            } else if vt.bits() == 16 {
                "s16"
            } else {
                "s32"
            };
            self.op(format_args!("setp.eq.{t}"), flag, operands)?;
        }
        Ok(())
    }
}
