//! Addresses as sums: a base, varying parts times numbers of bytes, and a constant.

use smallvec::{SmallVec, smallvec};

use crate::analysis::View;
use crate::analysis::known_bits::known_bits;
use crate::ir::{BinaryOp, CastOp, InstFlags, InstId, Op, Type, Value};

/// Operations of an index that are looked through.
const DEPTH: u32 = 6;
/// Varying parts of one address that need no allocation.
const INLINE_TERMS: usize = 3;

/// How a value becomes as wide as an address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(in crate::opt) enum Extension {
    None,
    Sign,
    Zero,
}

/// A varying part of an address: a value, or the product of two, times a number of bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(in crate::opt) struct Term {
    pub(in crate::opt) value: Value,
    pub(in crate::opt) extension: Extension,
    /// The other factor.
    pub(in crate::opt) times: Option<(Value, Extension)>,
    pub(in crate::opt) scale: i64,
}

pub(in crate::opt) type Terms = SmallVec<[Term; INLINE_TERMS]>;

/// What an address adds to its base.
#[derive(Clone, Default)]
pub(in crate::opt) struct Sum {
    pub(in crate::opt) terms: Terms,
    pub(in crate::opt) constant: i64,
}

/// How far an address is taken apart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(in crate::opt) enum Detail {
    /// Where that finds a constant.
    Constants,
    /// Every sum.
    Sums,
    /// Every sum, and products of sums.
    Products,
}

/// The base of an address computation and what is added to it.
pub(in crate::opt) fn address(view: View<'_>, inst: InstId, detail: Detail) -> Option<(Value, Sum)> {
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
        let part = Split { view, detail }.parts(index, extension, DEPTH)?;
        sum.add(&part, i64::try_from(size).ok()?)?;
    }
    Some((*base, sum))
}

impl Sum {
    /// Adds `scale` times another sum; `None` on overflow.
    pub(in crate::opt) fn add(&mut self, other: &Sum, scale: i64) -> Option<()> {
        for term in &other.terms {
            let scale = term.scale.checked_mul(scale)?;
            match self.terms.iter_mut().find(|own| Term { scale, ..**own } == Term { scale, ..*term }) {
                Some(own) => own.scale = own.scale.checked_add(scale)?,
                None => self.terms.push(Term { scale, ..*term }),
            }
        }
        self.terms.retain(|term| term.scale != 0);
        self.constant = self.constant.checked_add(other.constant.checked_mul(scale)?)?;
        Some(())
    }
}

impl Sum {
    /// The product with another sum; `None` on overflow, and where three values would be multiplied.
    fn times(&self, other: &Sum) -> Option<Sum> {
        let mut product = Sum { terms: Terms::new(), constant: self.constant.checked_mul(other.constant)? };
        let linear = |terms: &Terms| Sum { terms: terms.clone(), constant: 0 };
        product.add(&linear(&self.terms), other.constant)?;
        product.add(&linear(&other.terms), self.constant)?;
        for (a, b) in self.terms.iter().flat_map(|a| other.terms.iter().map(move |b| (a, b))) {
            if a.times.is_some() || b.times.is_some() {
                return None;
            }
            let mut factors = [(a.value, a.extension), (b.value, b.extension)];
            factors.sort_unstable();
            let [(value, extension), second] = factors;
            let term = Term { value, extension, times: Some(second), scale: a.scale.checked_mul(b.scale)? };
            product.add(&Sum { terms: smallvec![term], constant: 0 }, 1)?;
        }
        Some(product)
    }

    /// This sum less another; `None` on overflow.
    pub(in crate::opt) fn less(&self, other: &Sum) -> Option<Sum> {
        let mut difference = self.clone();
        difference.add(other, -1)?;
        Some(difference)
    }
}

struct Split<'a> {
    view: View<'a>,
    detail: Detail,
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
        let split = split.filter(|sum| self.detail > Detail::Constants || sum.constant != 0);
        Some(
            split.unwrap_or_else(|| Sum {
                terms: smallvec![Term { value, extension, times: None, scale: 1 }],
                constant: 0,
            }),
        )
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
            BinaryOp::Mul if constant.is_none() && self.detail == Detail::Products => {
                sum = left.times(&self.parts(b, extension, depth)?)?;
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
