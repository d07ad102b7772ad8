//! Constant parts of indices become constant offsets: `a[i + 3]` is three elements behind `a[i]`, an offset that an
//! access holds for nothing, and `a[i - 1]`, `a[i]`, `a[i + 1]` share one address.
//!
//! An index is taken apart where that does not change its value: sums and products in the width of addresses, and
//! narrower ones that are extended and cannot overflow. What varies is added first, values of outer blocks before
//! those of inner ones, so that partial sums can be shared and leave loops.

use cranelift_entity::SecondaryMap;
use rustc_hash::FxHashSet;
use smallvec::{SmallVec, smallvec};

use super::Context;
use crate::analysis::known_bits::known_bits;
use crate::analysis::{Cfg, View};
use crate::ir::{BinaryOp, BlockId, Body, CastOp, GepFlags, InstFlags, InstId, Op, Type, TypeId, Value, ValueId};

/// Operations of an index that are looked through.
const DEPTH: u32 = 6;
/// Varying parts of one address, at most.
const MAX_TERMS: usize = 3;
/// Constant offsets that accesses hold: 24 bits with sign.
const REACH: std::ops::Range<i64> = -(1 << 23)..1 << 23;

/// How a value becomes as wide as an address.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Extension {
    None,
    Sign,
    Zero,
}

/// A varying part of an address: a value times a number of bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Term {
    value: Value,
    extension: Extension,
    scale: i64,
}

type Terms = SmallVec<[Term; MAX_TERMS]>;

/// What an address adds to its base.
#[derive(Clone, Default)]
struct Sum {
    terms: Terms,
    constant: i64,
}

/// Runs the pass.
pub(super) fn run(body: &mut Body, cx: &mut Context<'_>) -> bool {
    let cfg = Cfg::new(body);
    let mut place: SecondaryMap<ValueId, u32> = SecondaryMap::new();
    for (number, &block) in (1..).zip(&cfg.rpo) {
        for &inst in &body[block].insts {
            if let Some(result) = body[inst].result.expand() {
                place[result] = number;
            }
        }
    }
    let mut splits: Vec<(BlockId, InstId, Value, Sum)> = Vec::new();
    let mut whole: Vec<(BlockId, InstId, Value)> = Vec::new();
    let mut shared: FxHashSet<(Value, Terms)> = FxHashSet::default();
    for &block in &cfg.rpo {
        for &inst in &body[block].insts {
            let view = cx.view(body);
            let Some((base, mut sum)) = address(view, inst, false) else { continue };
            sort(&mut sum.terms, &place);
            if sum.constant == 0 {
                whole.push((block, inst, base));
            } else if sum.terms.len() <= MAX_TERMS && REACH.contains(&sum.constant) {
                if sum.terms.len() > 1 {
                    shared.insert((base, sum.terms.clone()));
                }
                splits.push((block, inst, base, sum));
            }
        }
    }
    for (block, inst, base) in whole.into_iter().filter(|_| !shared.is_empty()) {
        let Some((_, mut sum)) = address(cx.view(body), inst, true) else { continue };
        sort(&mut sum.terms, &place);
        if shared.contains(&(base, sum.terms.clone())) {
            splits.push((block, inst, base, sum));
        }
    }
    let changed = !splits.is_empty();
    let mut before: SecondaryMap<InstId, Vec<InstId>> = SecondaryMap::new();
    let mut blocks: FxHashSet<BlockId> = FxHashSet::default();
    for (block, inst, base, sum) in splits {
        before[inst] = rewrite(body, cx, inst, base, &sum);
        blocks.insert(block);
    }
    for block in blocks {
        let old = std::mem::take(&mut body[block].insts);
        for inst in old {
            let made = std::mem::take(&mut before[inst]);
            body[block].insts.extend(made.into_iter().chain([inst]));
        }
    }
    changed
}

/// Values of outer blocks first; equal sets of terms in one order.
fn sort(terms: &mut Terms, place: &SecondaryMap<ValueId, u32>) {
    terms.sort_unstable_by_key(|term| (term.value.local().map_or(0, |id| place[id]), term.value, term.scale));
}

/// The base of an address computation and what is added to it. `every` sum is taken apart, or those with constants.
fn address(view: View<'_>, inst: InstId, every: bool) -> Option<(Value, Sum)> {
    let Op::Gep { source, base, indices, .. } = &view.body[inst].op else { return None };
    let ty = view.body[inst].ty;
    if view.ty(*base) != ty || view.module.types.as_vector(ty).is_some() || view.index_bits(ty) != 64 {
        return None;
    }
    if indices.iter().all(|index| index.constant().is_some()) {
        return None;
    }
    let (types, layout) = (&view.module.types, &view.module.layout);
    let mut sum = Sum::default();
    let mut ty = *source;
    for (at, &index) in indices.iter().enumerate() {
        let size = if at == 0 {
            layout.size(types, ty)
        } else {
            match types[ty] {
                Type::Struct { .. } => {
                    let field = u64::try_from(view.int(index)?).ok()?;
                    sum.constant = sum.constant.checked_add_unsigned(layout.element_offset(types, ty, field))?;
                    ty = types.element(ty, field)?;
                    continue;
                }
                Type::Array(element, _) => {
                    ty = element;
                    layout.size(types, element)
                }
                _ => return None,
            }
        };
        let bits = types.int_bits(view.ty(index)).filter(|bits| (8..=64).contains(bits))?;
        let extension = if bits < 64 { Extension::Sign } else { Extension::None };
        let part = Split { view, every }.parts(index, extension, DEPTH)?;
        sum.add(&part, i64::try_from(size).ok()?)?;
    }
    Some((*base, sum))
}

impl Sum {
    /// Adds `scale` times another sum; `None` on overflow.
    fn add(&mut self, other: &Sum, scale: i64) -> Option<()> {
        for term in &other.terms {
            let scale = term.scale.checked_mul(scale)?;
            match self.terms.iter_mut().find(|own| own.value == term.value && own.extension == term.extension) {
                Some(own) => own.scale = own.scale.checked_add(scale)?,
                None => self.terms.push(Term { scale, ..*term }),
            }
        }
        self.terms.retain(|term| term.scale != 0);
        self.constant = self.constant.checked_add(other.constant.checked_mul(scale)?)?;
        Some(())
    }
}

struct Split<'a> {
    view: View<'a>,
    every: bool,
}

impl Split<'_> {
    /// The parts of a value that is extended in a way; the value itself when there is no constant among them.
    fn parts(&self, value: Value, extension: Extension, depth: u32) -> Option<Sum> {
        let (value, extension) = self.peel(value, extension);
        if let Some(constant) = self.view.int(value) {
            let constant = match extension {
                Extension::Zero => i64::try_from(constant).ok()?,
                _ => self.view.signed(value)?,
            };
            return Some(Sum { terms: Terms::new(), constant });
        }
        let split = depth.checked_sub(1).and_then(|depth| self.split(value, extension, depth));
        let split = split.filter(|sum| self.every || sum.constant != 0);
        Some(split.unwrap_or_else(|| Sum { terms: smallvec![Term { value, extension, scale: 1 }], constant: 0 }))
    }

    /// Takes extensions away: what is behind them is extended in the way that both together do.
    fn peel(&self, mut value: Value, mut extension: Extension) -> (Value, Extension) {
        for _ in 0..DEPTH {
            let (from, next) = match self.view.op(value) {
                Some(&Op::Cast(CastOp::SExt, _, from)) if extension != Extension::Zero => (from, Extension::Sign),
                Some(&Op::Cast(CastOp::ZExt, flags, from)) => {
                    let signed = flags.contains(InstFlags::NNEG) && extension != Extension::Zero;
                    (from, if signed { Extension::Sign } else { Extension::Zero })
                }
                _ => break,
            };
            if !self.view.scalar_bits(self.view.ty(from)).is_some_and(|bits| (8..64).contains(&bits)) {
                break;
            }
            (value, extension) = (from, next);
        }
        (value, extension)
    }

    /// The parts of a sum or a product, if it can be taken apart.
    fn split(&self, value: Value, extension: Extension, depth: u32) -> Option<Sum> {
        let Op::Binary(op, flags, [a, b]) = *self.view.op(value)? else { return None };
        let constant = self.view.signed(b);
        let is_exact = match op {
            BinaryOp::Or => is_disjoint(flags, extension, constant),
            _ => self.is_exact(op, flags, extension, a, b),
        };
        if !is_exact {
            return None;
        }
        let mut sum = Sum::default();
        let left = self.parts(a, extension, depth)?;
        match op {
            BinaryOp::Add => {
                sum.add(&left, 1)?;
                sum.add(&self.parts(b, extension, depth)?, 1)?;
            }
            // A factor or subtrahend with the highest bit is negative here, and large where extended by zeros.
            _ if extension == Extension::Zero && constant.is_none_or(|constant| constant < 0) => return None,
            BinaryOp::Or | BinaryOp::Sub => {
                sum.add(&left, 1)?;
                let constant = if op == BinaryOp::Sub { constant?.checked_neg()? } else { constant? };
                sum.constant = sum.constant.checked_add(constant)?;
            }
            BinaryOp::Mul => sum.add(&left, constant.filter(|factor| *factor > 0)?)?,
            BinaryOp::Shl => sum.add(&left, 1 << constant.filter(|by| (0..32).contains(by))?)?,
            _ => return None,
        }
        Some(sum)
    }

    /// True when the operation, done on the extended operands, gives the extended result.
    fn is_exact(&self, op: BinaryOp, flags: InstFlags, extension: Extension, a: Value, b: Value) -> bool {
        match extension {
            Extension::None => true,
            Extension::Sign if flags.contains(InstFlags::NSW) => true,
            Extension::Zero if flags.contains(InstFlags::NUW) => true,
            _ if op != BinaryOp::Add => false,
            _ => {
                // Two sums of what is known to be small.
                let [x, y] = [known_bits(self.view, a), known_bits(self.view, b)];
                let largest = x.max().checked_add(y.max());
                let bits = x.bits - u32::from(extension == Extension::Sign);
                largest.is_some_and(|largest| largest >> bits == 0)
            }
        }
    }
}

/// True for an `or` that adds: no bit is in both operands, and the sign comes from the varying one.
fn is_disjoint(flags: InstFlags, extension: Extension, constant: Option<i64>) -> bool {
    flags.contains(InstFlags::DISJOINT) && constant.is_some_and(|constant| constant > 0 || extension == Extension::None)
}

/// Lets an address computation start from what varies; answers the instructions that must stand before it.
fn rewrite(body: &mut Body, cx: &mut Context<'_>, inst: InstId, base: Value, sum: &Sum) -> Vec<InstId> {
    let ty = body[inst].ty;
    let mut made = Vec::new();
    let mut at = base;
    for term in &sum.terms {
        let mut index = term.value;
        if term.extension == Extension::Zero {
            let wide = cx.cast(body, CastOp::ZExt, index, TypeId::I64, inst);
            index = body.result(wide).into();
            made.push(wide);
        }
        // Sizes and factors are positive.
        let source = match term.scale.unsigned_abs() {
            1 => TypeId::I8,
            scale => cx.module.types.intern(Type::Array(TypeId::I8, scale)),
        };
        let step = Op::Gep { source, flags: GepFlags::empty(), base: at, indices: smallvec![index] };
        let step = cx.make(body, step, ty, inst);
        at = body.result(step).into();
        made.push(step);
    }
    let bytes = cx.int(TypeId::I64, sum.constant as u64 as u128);
    body[inst].op = Op::Gep { source: TypeId::I8, flags: GepFlags::empty(), base: at, indices: smallvec![bytes] };
    made
}
