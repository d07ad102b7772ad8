//! Scalar video instructions: `vadd vsub vabsdiff vmin vmax vshl vshr vmad vset`.
//!
//! No hardware since sm_70 has them: ptxas makes them of ordinary instructions, and in corner cases the
//! results are not those of the PTX manual. What programs see is what ptxas computes, and so it is here;
//! `docs/interp-arithmetic.md` lists the differences.

use oriole_ptx::ast::{CmpOp, Instruction, Lanes, Opcode, Operand, ScalarType, Selector, Word};

use super::function::{Arithmetic, Bits, Compiled, Unsupported, low, number, saturated, type_of, unsupported};

/// A function of two extended elements.
pub(super) type Operation = fn(i128, i128) -> i128;

/// The scalar video instructions.
pub(super) fn compile(inst: &Instruction) -> Compiled {
    let operation: Operation = match inst.opcode {
        Opcode::Vmad => return multiply_add(inst).map(Some),
        Opcode::Vset => comparison(inst)?,
        Opcode::Vadd => |a, b| a + b,
        Opcode::Vsub => |a, b| a - b,
        Opcode::Vabsdiff => |a, b| (a - b).abs(),
        Opcode::Vmin => |a, b| a.min(b),
        Opcode::Vmax => |a, b| a.max(b),
        Opcode::Vshl => |a, b| a << b,
        Opcode::Vshr => |a, b| a >> b,
        _ => return Ok(None),
    };
    scalar(inst, operation).map(Some)
}

/// The comparison of `vset`, `vset2` and `vset4`, which gives 1 or 0.
pub(super) fn comparison(inst: &Instruction) -> Result<Operation, Unsupported> {
    Ok(match inst.cmp() {
        Some(CmpOp::Eq) => |a, b| (a == b).into(),
        Some(CmpOp::Ne) => |a, b| (a != b).into(),
        Some(CmpOp::Lt) => |a, b| (a < b).into(),
        Some(CmpOp::Le) => |a, b| (a <= b).into(),
        Some(CmpOp::Gt) => |a, b| (a > b).into(),
        Some(CmpOp::Ge) => |a, b| (a >= b).into(),
        _ => return unsupported(inst, "without a comparison"),
    })
}

/// The types of the result and the two sources; `vset` names only the latter, and its result is of the
/// first's.
pub(super) fn types(inst: &Instruction) -> Result<[ScalarType; 3], Unsupported> {
    let (first, second) = (type_of(inst, 0)?, type_of(inst, 1)?);
    Ok(inst.ty(2).map_or([first, first, second], |third| [first, second, third]))
}

/// The lanes that an operand's selector names.
pub(super) fn selector(operand: Option<&Operand>) -> Option<Lanes> {
    match operand? {
        Operand::Part(_, Selector::Lanes(lanes)) => Some(*lanes),
        Operand::Neg(inner, _) => selector(Some(inner)),
        _ => None,
    }
}

/// A part of a register: where it starts and how wide it is.
#[derive(Clone, Copy)]
struct Part {
    start: u32,
    width: u32,
}

impl Part {
    fn of(operand: Option<&Operand>) -> Part {
        match selector(operand) {
            None => Part { start: 0, width: 32 },
            Some(lanes) => {
                let width = if lanes.halves { 16 } else { 8 };
                Part { start: u32::from(lanes.index[0]) * width % 32, width }
            }
        }
    }

    fn read(self, value: Bits, signed: bool) -> i128 {
        number(low(value >> self.start, self.width), self.width, signed)
    }

    /// `value` with this part replaced. The high half-word takes the high half of the result.
    fn merge(self, value: Bits, result: i128) -> Bits {
        let part = if self.start == 16 && self.width == 16 { result >> 16 } else { result };
        let mask = low(Bits::MAX, self.width) << self.start;
        value & !mask | (part as Bits) << self.start & mask
    }

    /// `.sat` for this part of the result. A part of a register takes what is out of range, on either
    /// side, as its greatest value; an unsigned word is kept from below only.
    fn saturated(self, result: i128, signed: bool) -> i128 {
        match (self.width, signed) {
            (32, false) => result.max(0),
            (32, true) => saturated(result, 32, true),
            _ if result < 0 => saturated(i128::MAX, self.width, signed),
            _ => saturated(result, self.width, signed),
        }
    }
}

/// All but `vmad`: the operation on the selected parts, saturation, then a second operation with `c`, or
/// the merge into it.
fn scalar(inst: &Instruction, operation: Operation) -> Result<Arithmetic, Unsupported> {
    const SECOND: [(Word, Operation); 3] =
        [(Word::Add, |t, c| t + c), (Word::Min, |t, c| t.min(c)), (Word::Max, |t, c| t.max(c))];
    let [d_type, a_type, b_type] = types(inst)?;
    let [d, a, b] = [0, 1, 2].map(|n| Part::of(inst.operands.get(n)));
    let amount: Option<Operation> = match inst.opcode {
        Opcode::Vshl | Opcode::Vshr if inst.has(Word::Wrap) => Some(|b, _| b & 31),
        Opcode::Vshl | Opcode::Vshr => Some(|b, _| b.min(32)),
        _ => None,
    };
    let signed = d_type.is_signed();
    let sat = inst.has(Word::Sat);
    // Sums and saturated shifts have 32 bits, which are taken as signed.
    let word = matches!(inst.opcode, Opcode::Vadd | Opcode::Vsub) || sat && amount.is_some();
    let compute = move |first, second| {
        let b = b.read(second, b_type.is_signed() && amount.is_none());
        let result = operation(a.read(first, a_type.is_signed()), amount.map_or(b, |limit| limit(b, 0)));
        let result = match sat {
            // Shifts are clamped to a word, whatever part of it is kept; 34 bits of the result are looked at.
            true if amount.is_some() => saturated(number(low(result as Bits, 34), 34, true), 32, signed),
            true => d.saturated(result, signed),
            false => result,
        };
        if word { number(low(result as Bits, 32), 32, true) } else { result }
    };
    let second = SECOND.into_iter().find(|(word, _)| inst.has(*word)).map(|(_, second)| second);
    if inst.operands.len() < 4 {
        return Ok(Arithmetic::function(d_type, [a_type, b_type], move |[a, b]| compute(a, b) as Bits));
    }
    Ok(Arithmetic::function(d_type, [a_type, b_type, d_type], move |[a, b, c]| {
        let result = compute(a, b);
        match second {
            // Both sides have 64 bits, signed or unsigned as the result is.
            Some(second) => second(number(low(result as Bits, 64), 64, signed), number(c, 32, signed)) as Bits,
            None => d.merge(c, result),
        }
    }))
}

/// `vmad`: `a * b + c`, one of the two terms negated or one more added (`.po`), shifted right, saturated.
/// Words are multiplied and added as signed numbers of 64 bits, whatever their types.
fn multiply_add(inst: &Instruction) -> Result<Arithmetic, Unsupported> {
    let [d_type, a_type, b_type] = types(inst)?;
    let [a, b] = [1, 2].map(|n| Part::of(inst.operands.get(n)));
    let negated = |n: usize| matches!(inst.operands.get(n), Some(Operand::Neg(..)));
    let (negate_product, negate_c) = (negated(1) != negated(2), negated(3));
    let signed = a_type.is_signed() || b_type.is_signed() || negate_product || negate_c;
    let plus_one = i128::from(inst.has(Word::Po));
    let scale = [(Word::Shr7, 7), (Word::Shr15, 15)].into_iter().find(|(word, _)| inst.has(*word)).map_or(0, |s| s.1);
    let sat = inst.has(Word::Sat);
    let factor = |part: Part, ty: ScalarType| {
        let signed = ty.is_signed() || part.width == 32;
        move |value| part.read(value, signed)
    };
    let (a, b) = (factor(a, a_type), factor(b, b_type));
    Ok(Arithmetic::function(d_type, [a_type, b_type, d_type], move |[x, y, c]| {
        let product = if negate_product { -(a(x) * b(y)) } else { a(x) * b(y) };
        let c = number(c, 32, true);
        let sum = product + if negate_c { -c } else { c } + plus_one;
        // The shift fills with zeros where the result is unsigned.
        let result = if scale == 0 || signed { sum >> scale } else { number(low(sum as Bits, 64), 64, false) >> scale };
        (if sat { saturated(result, 32, signed) } else { result }) as Bits
    }))
}
