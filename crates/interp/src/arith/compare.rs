//! Comparison: `set` and `setp`, on integers, floats and packed halves.

use std::cmp::Ordering;

use oriole_ptx::ast::{CmpOp, Instruction, Opcode, Operand, ScalarType, Word};
use smallvec::{SmallVec, smallvec};

use super::float::arithmetic_format;
use super::format::Format;
use super::function::{Arithmetic, Bits, Compiled, Results, Unsupported, elements, low, number, type_of, unsupported};

/// `setp` and `set`, alone or combined with a predicate.
pub(super) fn compile(inst: &Instruction) -> Compiled {
    Ok(Some(match inst.opcode {
        Opcode::Setp => set_predicates(inst)?,
        Opcode::Set => set_value(inst)?,
        _ => return Ok(None),
    }))
}

/// A relation that holds or does not: which outcomes of a comparison satisfy it.
#[derive(Clone, Copy)]
struct Relation {
    less: bool,
    equal: bool,
    greater: bool,
    /// At least one side is NaN.
    unordered: bool,
    /// Integers are compared as unsigned, whatever their type.
    unsigned: bool,
}

impl From<CmpOp> for Relation {
    fn from(op: CmpOp) -> Relation {
        use CmpOp::*;
        Relation {
            less: matches!(op, Ne | Lt | Le | Lo | Ls | Neu | Ltu | Leu | Num),
            equal: matches!(op, Eq | Le | Ge | Ls | Hs | Equ | Leu | Geu | Num),
            greater: matches!(op, Ne | Gt | Ge | Hi | Hs | Neu | Gtu | Geu | Num),
            unordered: matches!(op, Equ | Neu | Ltu | Leu | Gtu | Geu | Nan),
            unsigned: matches!(op, Lo | Ls | Hi | Hs),
        }
    }
}

impl Relation {
    fn holds(self, outcome: Option<Ordering>) -> bool {
        match outcome {
            Some(Ordering::Less) => self.less,
            Some(Ordering::Equal) => self.equal,
            Some(Ordering::Greater) => self.greater,
            None => self.unordered,
        }
    }
}

/// How the outcome is combined with a predicate.
type Combine = fn(bool, bool) -> bool;

/// One comparison with its modifiers.
struct Comparison {
    /// Whether element `lane` of the two sources satisfies the relation.
    test: Box<dyn Fn(Bits, Bits, u32) -> bool + Send + Sync>,
    /// With the third source, if there is one.
    combine: Option<Combine>,
    /// The types of the sources.
    sources: SmallVec<[ScalarType; 4]>,
    /// How many elements are compared.
    lanes: u32,
}

impl Comparison {
    fn of(inst: &Instruction, ty: ScalarType) -> Result<Comparison, Unsupported> {
        const COMBINATIONS: [(Word, Combine); 3] =
            [(Word::And, |t, c| t && c), (Word::Or, |t, c| t || c), (Word::Xor, |t, c| t != c)];
        let Some(op) = inst.cmp() else { return unsupported(inst, "without a comparison") };
        let relation = Relation::from(op);
        let (element, lanes) = elements(ty);
        let width = element.bits();
        let outcome: Box<dyn Fn(Bits, Bits) -> Option<Ordering> + Send + Sync> = match arithmetic_format(element) {
            Some(format) => {
                let ftz = inst.has(Word::Ftz);
                Box::new(move |a, b| compare(format, ftz, a, b))
            }
            None => {
                let signed = ty.is_signed() && !relation.unsigned;
                Box::new(move |a, b| Some(number(a, width, signed).cmp(&number(b, width, signed))))
            }
        };
        let combine = COMBINATIONS.into_iter().find(|(word, _)| inst.has(*word)).map(|(_, combine)| combine);
        let mut sources = smallvec![ty, ty];
        sources.extend(combine.map(|_| ScalarType::Pred));
        let test = Box::new(move |a: Bits, b: Bits, lane: u32| {
            let element = |source: Bits| low(source >> (lane * width), width);
            relation.holds(outcome(element(a), element(b)))
        });
        Ok(Comparison { test, combine, sources, lanes })
    }

    /// The outcome for an element, and for its complement, combined with the predicate.
    fn outcomes(&self, values: &[Bits], lane: u32) -> (bool, bool) {
        let source = |n: usize| values.get(n).copied().unwrap_or(0);
        let test = (self.test)(source(0), source(1), lane);
        match self.combine {
            None => (test, !test),
            Some(combine) => {
                let c = source(2) & 1 == 1;
                (combine(test, c), combine(!test, c))
            }
        }
    }
}

/// Compares two floats; `None` if one is NaN.
fn compare(format: Format, ftz: bool, a: Bits, b: Bits) -> Option<Ordering> {
    if format.is_nan(a) || format.is_nan(b) {
        return None;
    }
    let key = |value: Bits| {
        let value = if ftz { format.flushed(value) } else { value };
        let magnitude = format.magnitude(value) as i128;
        if value & format.sign() == 0 { magnitude } else { -magnitude }
    };
    Some(key(a).cmp(&key(b)))
}

/// `setp`: `p` and, with `p|q`, the complement, or for packed sources the second element.
fn set_predicates(inst: &Instruction) -> Result<Arithmetic, Unsupported> {
    let comparison = Comparison::of(inst, type_of(inst, 0)?)?;
    let count = if matches!(inst.operands.first(), Some(Operand::Pair(_))) { 2 } else { 1 };
    Ok(Arithmetic {
        sources: comparison.sources.clone(),
        destinations: SmallVec::from_elem(ScalarType::Pred, count),
        run: Box::new(move |given| {
            let (first, complement) = comparison.outcomes(given.values, 0);
            let second = if comparison.lanes == 2 { comparison.outcomes(given.values, 1).0 } else { complement };
            let values = [first, second].into_iter().take(count).map(Bits::from).collect();
            Results { values, carry: None }
        }),
    })
}

/// `set`: 1.0 for a float result, all ones for an integer one. Packed sources give packed results, each in
/// its half of the destination.
fn set_value(inst: &Instruction) -> Result<Arithmetic, Unsupported> {
    let result = type_of(inst, 0)?;
    let ty = inst.ty(1).unwrap_or(result);
    let comparison = Comparison::of(inst, ty)?;
    let width = result.bits() / comparison.lanes;
    let hit = match arithmetic_format(elements(result).0) {
        Some(format) => format.one(),
        None => low(Bits::MAX, width),
    };
    Ok(Arithmetic {
        sources: comparison.sources.clone(),
        destinations: smallvec![result],
        run: Box::new(move |given| {
            let value = (0..comparison.lanes)
                .filter(|&lane| comparison.outcomes(given.values, lane).0)
                .fold(0, |value, lane| value | hit << (lane * width));
            Results { values: smallvec![value], carry: None }
        }),
    })
}
