//! `atom`, `red` and `multimem.red`: a place in memory replaced by a function of it and the operands.

use crate::arith::{Bits, Unsupported};
use crate::builder::{Builder, form};
use crate::code::Action;
use crate::lane::Lane;
use crate::operand::{Destination, Source};
use crate::space::{Data, Place};
use oriole_ptx::ast::{Instruction, Opcode, Operand, ScalarType, TypeClass, Word};
use rustc_apfloat::Float;
use rustc_apfloat::ieee::{BFloat, Half};
use smallvec::SmallVec;

/// The new contents of one element from the old ones, the second and the third operand.
pub(super) type Step = Box<dyn Fn(Bits, Bits, Bits) -> Bits + Send + Sync>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Add,
    And,
    Or,
    Xor,
    Exchange,
    CompareAndSwap,
    Increment,
    Decrement,
    Minimum,
    Maximum,
}

const OPERATIONS: [(Word, Operation); 10] = [
    (Word::Add, Operation::Add),
    (Word::And, Operation::And),
    (Word::Or, Operation::Or),
    (Word::Xor, Operation::Xor),
    (Word::Exch, Operation::Exchange),
    (Word::Cas, Operation::CompareAndSwap),
    (Word::Inc, Operation::Increment),
    (Word::Dec, Operation::Decrement),
    (Word::Min, Operation::Minimum),
    (Word::Max, Operation::Maximum),
];

pub(super) fn compile(inst: &Instruction, builder: &mut Builder<'_, '_>) -> Result<Option<Action>, Unsupported> {
    match inst.opcode {
        Opcode::Atom | Opcode::Red if !inst.has(Word::Async) => {}
        Opcode::Multimem if inst.has(Word::Red) => {}
        _ => return Ok(None),
    }
    let wrong = || form(inst.opcode.as_str());
    let ty = inst.last_type().ok_or_else(wrong)?;
    let operation = OPERATIONS.iter().find(|(word, _)| inst.has(*word)).ok_or_else(wrong)?.1;
    let count = inst.vector().map_or(1, |vector| vector.len());
    let (element, bytes) = (ty.bytes(), ty.bytes() * count as u32);
    if bytes as usize > Data::BYTES {
        return Err(wrong());
    }
    let (to, rest) = match (inst.opcode, &inst.operands[..]) {
        (Opcode::Atom, [to, rest @ ..]) => (builder.destinations(to, ty)?, rest),
        (_, rest) => (SmallVec::new(), rest),
    };
    let [place, data, more @ ..] = rest else { return Err(wrong()) };
    let location = builder.location(place, inst.space())?;
    let data: SmallVec<[Source; 4]> = builder.sources(data, ty)?;
    let swap = swapped(operation, more, ty, builder)?;
    // A destination `_` stands for a whole vector too.
    let sink = to.iter().all(|to| *to == Destination::Sink);
    if data.len() != count || !(sink || to.len() == count) {
        return Err(wrong());
    }
    let steps = [step(operation, ty, false)?, step(operation, ty, !inst.has(Word::Noftz))?];
    Ok(Some(Action::Lanes(Box::new(move |lane: &mut Lane<'_, '_>| {
        let place = location.place(lane);
        // The manual: on global memory `add.f32` flushes subnormals to zero, on shared memory it does not.
        let step = &steps[usize::from(matches!(place, Place::Global(_)))];
        let data: SmallVec<[Bits; 8]> = data.iter().map(|data| lane.get(data)).collect();
        let swap = swap.as_ref().map_or(0, |swap| lane.get(swap));
        let old = lane.update(place, bytes, |old| {
            let mut new = Data::default();
            for (index, &data) in data.iter().enumerate() {
                new.set(index, element, step(old.element(index, element), data, swap));
            }
            new
        })?;
        for (index, to) in to.iter().enumerate() {
            lane.set(to, old.element(index, element));
        }
        Ok(())
    }))))
}

/// The operation that a reduction without an old value names; singles keep subnormals.
pub(super) fn combine(inst: &Instruction, ty: ScalarType) -> Result<Step, Unsupported> {
    let found = OPERATIONS.iter().find(|(word, _)| inst.has(*word));
    step(found.ok_or_else(|| form(inst.opcode.as_str()))?.1, ty, false)
}

/// The new contents are the operand.
pub(super) fn replace() -> Step {
    Box::new(|_, data, _| data)
}

/// The third operand of `cas`.
fn swapped(
    operation: Operation,
    more: &[Operand],
    ty: ScalarType,
    builder: &mut Builder<'_, '_>,
) -> Result<Option<Source>, Unsupported> {
    match (operation, more) {
        (Operation::CompareAndSwap, [new, ..]) => builder.source(new, ty).map(Some),
        (Operation::CompareAndSwap, []) => Err(form("atom.cas")),
        _ => Ok(None),
    }
}

/// How one element is replaced; `flush`: singles flush subnormals.
fn step(operation: Operation, ty: ScalarType, flush: bool) -> Result<Step, Unsupported> {
    use Operation::{Add, Maximum, Minimum};
    let bits = ty.bits();
    let mask = if bits < 128 { (1 << bits) - 1 } else { Bits::MAX };
    Ok(match operation {
        Operation::And => Box::new(|old, data, _| old & data),
        Operation::Or => Box::new(|old, data, _| old | data),
        Operation::Xor => Box::new(|old, data, _| old ^ data),
        Operation::Exchange => Box::new(|_, data, _| data),
        Operation::CompareAndSwap => Box::new(|old, data, swap| if old == data { swap } else { old }),
        Operation::Increment => Box::new(|old, data, _| if old >= data { 0 } else { old + 1 }),
        Operation::Decrement => Box::new(|old, data, _| if old == 0 || old > data { data } else { old - 1 }),
        Add | Minimum | Maximum => match (ty.class(), ty) {
            (TypeClass::Float, _) => float_step(operation, ty, flush)?,
            _ if operation == Add => Box::new(move |old, data, _| old.wrapping_add(data) & mask),
            (class, _) => {
                // Signed numbers compare as unsigned ones with the sign turned.
                let turn = if class == TypeClass::Signed { 1 << (bits - 1) } else { 0 };
                let max = operation == Maximum;
                Box::new(move |old, data, _| if (old ^ turn < data ^ turn) == max { data } else { old })
            }
        },
    })
}

fn float_step(operation: Operation, ty: ScalarType, flush: bool) -> Result<Step, Unsupported> {
    let one: fn(Operation, Bits, Bits) -> Bits = match ty {
        ScalarType::F32 if flush => |operation, a, b| single(operation, flushed(a), flushed(b), true),
        ScalarType::F32 => |operation, a, b| single(operation, a as u32, b as u32, false),
        ScalarType::F64 => double,
        ScalarType::F16 | ScalarType::F16x2 => short::<Half>,
        ScalarType::Bf16 | ScalarType::Bf16x2 => short::<BFloat>,
        other => return Err(Unsupported(format!("an atomic operation on {other}"))),
    };
    Ok(match ty {
        ScalarType::F16x2 | ScalarType::Bf16x2 => Box::new(move |a, b, _| {
            one(operation, a & 0xffff, b & 0xffff) | one(operation, a >> 16 & 0xffff, b >> 16 & 0xffff) << 16
        }),
        _ => Box::new(move |a, b, _| one(operation, a, b)),
    })
}

/// Subnormals become zero of their sign.
fn flushed(bits: Bits) -> u32 {
    let bits = bits as u32;
    if f32::from_bits(bits).is_subnormal() { bits & 0x8000_0000 } else { bits }
}

fn single(operation: Operation, a: u32, b: u32, flush: bool) -> Bits {
    let (x, y) = (f32::from_bits(a), f32::from_bits(b));
    let result = match operation {
        Operation::Add => x + y,
        Operation::Minimum => x.min(y),
        _ => x.max(y),
    };
    let bits = if result.is_nan() { 0x7fff_ffff } else { result.to_bits() };
    if flush { flushed(Bits::from(bits)).into() } else { bits.into() }
}

/// Only `add`. A NaN operand stays, made quiet; infinities of opposite signs give the NaN with its sign
/// set.
fn double(_: Operation, a: Bits, b: Bits) -> Bits {
    const QUIET: u64 = 1 << 51;
    let (a, b) = (a as u64, b as u64);
    let operand = [a, b].into_iter().find(|&bits| f64::from_bits(bits).is_nan());
    let sum = f64::from_bits(a) + f64::from_bits(b);
    Bits::from(match operand {
        Some(nan) => nan | QUIET,
        None if sum.is_nan() => 0xfff8_0000_0000_0000,
        None => sum.to_bits(),
    })
}

/// 16-bit formats; subnormals stay.
fn short<F: Float>(operation: Operation, a: Bits, b: Bits) -> Bits {
    const NAN: Bits = 0x7fff;
    let (x, y) = (F::from_bits(a), F::from_bits(b));
    let (lower, higher) = match (x.is_nan(), y.is_nan()) {
        _ if operation == Operation::Add => {
            let sum = (x + y).value;
            return if sum.is_nan() { NAN } else { sum.to_bits() };
        }
        (true, true) => return NAN,
        (true, false) => return b,
        (false, true) => return a,
        // -0 is below +0.
        (false, false) if x < y || (x == y && x.is_negative()) => (a, b),
        (false, false) => (b, a),
    };
    if operation == Operation::Minimum { lower } else { higher }
}
