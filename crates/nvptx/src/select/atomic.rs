//! Atomic operations and fences.

use super::address::Place;
use super::build::space_name;
use super::error::Error;
use super::legal::{Vt, pieces};
use super::lower::Lower;
use super::word_table::{Part, Word, Words};
use crate::ir::{AddressSpace, DataLayout, InstId, IntPredicate, Op, Ordering, RmwOp, SyncScope, TypeId, Types, Value};
use crate::machine::{Operand, RegClass, VReg};

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

fn no_atomic(op: RmwOp, bits: u32) -> Error {
    Error::new(format!("`atomicrmw {}` instructions of {bits} bits on this target", op.as_str()))
}

/// The scope of an atomic access in PTX.
pub(super) const fn scope_name(scope: SyncScope) -> &'static str {
    match scope {
        SyncScope::System => "sys",
        SyncScope::Device => "gpu",
        SyncScope::Cluster => "cluster",
        SyncScope::Block | SyncScope::Thread => "cta",
    }
}

/// The first target with orders and scopes in its instructions (`ld.acquire.sys`, `fence`), and with `cvta.param`.
pub(super) const ORDERED_SINCE: u32 = 70;
/// The first target with `atom` of 128 bits.
const WIDE_ATOMICS_SINCE: u32 = 90;

/// True for integers of 128 bits on targets that exchange them in one piece.
pub(crate) const fn has_wide_atomics(bits: u64, arch: u32) -> bool {
    bits == 128 && arch >= WIDE_ATOMICS_SINCE
}

impl Lower<'_> {
    /// `fence`
    pub(super) fn fence(&mut self, ordering: Ordering, scope: SyncScope) -> Result<(), Error> {
        let kind = if ordering == Ordering::SeqCst { "sc" } else { "acq_rel" };
        match scope {
            SyncScope::Thread => Ok(()),
            _ if self.options.arch < ORDERED_SINCE => {
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

    /// What stands before an atomic access: a fence for sequential consistency; where instructions have no order of their
    /// own, a barrier for what releases.
    pub(super) fn order_before(&mut self, ordering: Ordering, scope: SyncScope) -> Result<(), Error> {
        let without = self.options.arch < ORDERED_SINCE;
        match ordering {
            Ordering::SeqCst => self.fence(ordering, scope),
            Ordering::Release | Ordering::AcqRel if without => self.fence(ordering, scope),
            _ => Ok(()),
        }
    }

    /// What stands behind it where instructions have no order of their own: a barrier for what acquires.
    pub(super) fn order_after(&mut self, ordering: Ordering, scope: SyncScope) -> Result<(), Error> {
        match ordering {
            Ordering::SeqCst | Ordering::Acquire | Ordering::AcqRel if self.options.arch < ORDERED_SINCE => {
                self.fence(ordering, scope)
            }
            _ => Ok(()),
        }
    }

    /// `.relaxed.gpu.global` and the like: what stands between `atom` and the operation.
    fn atom_words(&self, place: Place, ordering: Ordering, scope: SyncScope) -> Result<String, Error> {
        let space = match place.space {
            AddressSpace::GENERIC | AddressSpace::GLOBAL | AddressSpace::SHARED | AddressSpace::SHARED_CLUSTER => {
                space_name(place.space).unwrap_or_default()
            }
            other => return Err(Error::new(format!("atomic operations in address space {}", other.0))),
        };
        let dot = if space.is_empty() { "" } else { "." };
        let scope = scope_name(scope);
        Ok(match self.options.arch < ORDERED_SINCE {
            true => format!(".{scope}{dot}{space}"),
            false => format!(".{}.{scope}{dot}{space}", semantics(ordering)),
        })
    }

    /// Refuses atomic operations that would be torn.
    fn whole(&mut self, ptr: Value, ty: TypeId, align: u32) -> Result<Place, Error> {
        let bytes = self.ir.layout.size(&self.ir.types, ty);
        if u64::from(align) < bytes {
            return Err(Error::new(format!("atomic operations on {bytes} bytes aligned to {align}")));
        }
        self.place(ptr)
    }

    /// `atomicrmw`
    pub(super) fn atomic_rmw(&mut self, inst: InstId, words: &[Word]) -> Result<(), Error> {
        let body = self.body;
        let Op::AtomicRmw { op, ptr, value, align, ordering, scope, .. } = body[inst].op else { return Ok(()) };
        let ty = body[inst].ty;
        let place = self.whole(ptr, ty, align)?;
        let how = self.atom_words(place, ordering, scope)?;
        let bits = self.ir.layout.bits(&self.ir.types, ty);
        self.order_before(ordering, scope)?;
        match *words {
            [word] => {
                let operand = self.word(value)?;
                self.atom(op, &how, place, operand, word, ordering)?;
            }
            [low, high] if op == RmwOp::Xchg && has_wide_atomics(bits, self.options.arch) => {
                let source = self.words_of(value)?;
                let operands = [place.operand(0), self.joined(&source)?.into()];
                let old = self.wide_reg();
                self.op(format_args!("atom{how}.exch.b128"), old, operands)?;
                self.split(old, [low, high])?;
            }
            _ => return Err(no_atomic(op, u32::try_from(bits).unwrap_or(u32::MAX))),
        }
        self.order_after(ordering, scope)
    }

    /// `atom`, or `red` where nobody reads what was there.
    fn atom(
        &mut self,
        op: RmwOp,
        how: &str,
        place: Place,
        operand: Word,
        result: Word,
        ordering: Ordering,
    ) -> Result<(), Error> {
        let vt = operand.vt;
        let (name, t) = rmw_name(op, vt, self.options.arch).ok_or_else(|| no_atomic(op, 8 * vt.bytes()))?;
        let operand = match op {
            RmwOp::Sub => self.integer_negated(operand)?,
            RmwOp::FSub => self.negated(operand)?,
            _ => operand,
        };
        let source = if t == vt.untyped() { self.bits_src(operand)? } else { self.src(operand)? };
        let address = place.operand(0);
        let acquires = matches!(ordering, Ordering::Acquire | Ordering::AcqRel | Ordering::SeqCst);
        match self.dst(result) {
            Some(dst) => self.op(format_args!("atom{how}.{name}.{t}"), dst, [address, source]),
            None if op != RmwOp::Xchg && !acquires => {
                self.emit(format_args!("red{how}.{name}.{t}"), 0, [address, source])
            }
            None => {
                let unused = self.new_reg(vt);
                self.op(format_args!("atom{how}.{name}.{t}"), unused, [address, source])
            }
        }
    }

    /// A new register of 128 bits.
    pub(super) fn wide_reg(&mut self) -> VReg {
        let reg = self.new_class(RegClass::Int128);
        self.demand(Part::Reg(reg));
        reg
    }

    /// Two words of 64 bits in a register of 128.
    pub(super) fn joined(&mut self, words: &[Word]) -> Result<VReg, Error> {
        let halves = words.iter().map(|&word| Ok(self.reg(word)?.into())).collect::<Result<Vec<Operand>, Error>>()?;
        let whole = self.wide_reg();
        self.emit(format_args!("mov.b128"), 1, [whole.into(), Operand::Vector(halves.into())])?;
        Ok(whole)
    }

    /// The two halves of a register of 128 bits, as far as somebody reads them.
    pub(super) fn split(&mut self, whole: VReg, words: [Word; 2]) -> Result<(), Error> {
        let halves = words.map(|word| self.dst(word).map_or(Operand::Sink, Operand::from));
        if halves.iter().all(|half| *half == Operand::Sink) {
            return Ok(());
        }
        self.emit(format_args!("mov.b128"), 1, [Operand::Vector(Box::new(halves)), whole.into()])
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
        let Op::CmpXchg { ptr, expected, new, align, orderings, scope, .. } = body[inst].op else { return Ok(()) };
        let ty = self.type_of(expected);
        let place = self.whole(ptr, ty, align)?;
        let bits = self.ir.layout.bits(&self.ir.types, ty);
        let none = || Error::new(format!("`cmpxchg` instructions of {bits} bits on this target"));
        let Some((&success, old)) = words.split_last() else { return Err(none()) };
        let ordering = orderings[0].max(orderings[1]);
        let how = self.atom_words(place, ordering, scope)?;
        let (expected, new) = (self.words_of(expected)?, self.words_of(new)?);
        self.order_before(ordering, scope)?;
        match *old {
            [old] if matches!(bits, 32 | 64) || bits == 16 && self.options.arch >= 70 => {
                let dst = self.result(old)?;
                let operands = [place.operand(0), self.bits_src(expected[0])?, self.bits_src(new[0])?];
                self.op(format_args!("atom{how}.cas.{}", old.vt.untyped()), dst, operands)?;
                self.order_after(ordering, scope)?;
                if let Some(flag) = self.dst(success) {
                    let operands = [dst.into(), self.src(expected[0])?];
                    self.op(format_args!("setp.eq.s{bits}"), flag, operands)?;
                }
                Ok(())
            }
            [low, high] if has_wide_atomics(bits, self.options.arch) => {
                let flag = self.dst(success);
                if flag.is_some() {
                    self.demand(low.part);
                    self.demand(high.part);
                }
                let operands = [place.operand(0), self.joined(&expected)?.into(), self.joined(&new)?.into()];
                let whole = self.wide_reg();
                self.op(format_args!("atom{how}.cas.b128"), whole, operands)?;
                self.split(whole, [low, high])?;
                match flag {
                    Some(flag) => {
                        let halves = [self.result(low)?, self.result(high)?];
                        let found = halves.map(|half| Word { vt: Vt::I64, part: Part::Reg(half) });
                        self.wide_compare(IntPredicate::Eq, &Words::from_slice(&found), &expected, 128, flag)
                    }
                    None => Ok(()),
                }
            }
            _ => Err(none()),
        }
    }
}
