//! Integer arithmetic: sums, products, quotients, minima and dot products.

use oriole_ptx::ast::{Instruction, Opcode, ScalarType, Word};

use super::function::{Arithmetic, Bits, Compiled, elements, low, number, saturated, type_of, unsupported};

/// The instructions of this chapter on integer types, packed ones included.
pub(super) fn compile(inst: &Instruction) -> Compiled {
    if matches!(inst.opcode, Opcode::Dp4a | Opcode::Dp2a) {
        return dot_product(inst).map(Some);
    }
    let Some(ty) = inst.ty(0) else { return Ok(None) };
    if !ty.is_integer() || elements(ty).0.bits() > 64 {
        return Ok(None);
    }
    Ok(Some(match inst.opcode {
        Opcode::Mul | Opcode::Mad => product(inst, ty)?,
        Opcode::Mul24 | Opcode::Mad24 => product24(inst, ty)?,
        Opcode::Sad => {
            let (width, signed) = (ty.bits(), ty.is_signed());
            Arithmetic::function(ty, [ty; 3], move |[a, b, c]| {
                number(a, width, signed).abs_diff(number(b, width, signed)) + c
            })
        }
        Opcode::Clmad => {
            let shift = if inst.has(Word::Hi) { 64 } else { 0 };
            Arithmetic::function(ty, [ty; 3], move |[a, b, c]| carryless(a, b) >> shift ^ c)
        }
        Opcode::Neg | Opcode::Abs => {
            let (width, negate) = (elements(ty).0.bits(), inst.opcode == Opcode::Neg);
            Arithmetic::lanewise(ty, move |[a]| {
                let a = number(a, width, true);
                (if negate { -a } else { a.abs() }) as Bits
            })
        }
        _ => match binary(inst.opcode) {
            Some(operation) => two_sources(inst, ty, operation),
            None => return Ok(None),
        },
    }))
}

/// A function of two integers; `None` where there is no quotient.
type Binary = fn(i128, i128) -> Option<i128>;

/// The instructions whose result is a plain function of two integers.
fn binary(opcode: Opcode) -> Option<Binary> {
    Some(match opcode {
        Opcode::Add => |a, b| Some(a + b),
        Opcode::Sub => |a, b| Some(a - b),
        Opcode::Min => |a, b| Some(a.min(b)),
        Opcode::Max => |a, b| Some(a.max(b)),
        Opcode::Div => i128::checked_div,
        Opcode::Rem => i128::checked_rem,
        _ => return None,
    })
}

/// Element by element, with `.sat` and `.relu`. A quotient or remainder by zero is all ones, as
/// ptxas's code computes it; the PTX manual leaves it open.
fn two_sources(inst: &Instruction, ty: ScalarType, operation: Binary) -> Arithmetic {
    let (element, _) = elements(ty);
    let (width, signed) = (element.bits(), ty.is_signed());
    let (sat, relu) = (inst.has(Word::Sat), inst.has(Word::Relu));
    Arithmetic::lanewise(ty, move |[a, b]| {
        let mut result = operation(number(a, width, signed), number(b, width, signed)).unwrap_or(-1);
        if sat {
            result = saturated(result, width, signed);
        }
        if relu {
            result = result.max(0);
        }
        result as Bits
    })
}

/// The product of two integers without carries: the sum of shifted ones is an exclusive or.
fn carryless(a: Bits, b: Bits) -> Bits {
    (0..u64::BITS).filter(|bit| a >> bit & 1 == 1).fold(0, |product, bit| product ^ b << bit)
}

/// The type of twice the width.
fn wide(ty: ScalarType) -> Option<ScalarType> {
    Some(match ty {
        ScalarType::U16 => ScalarType::U32,
        ScalarType::S16 => ScalarType::S32,
        ScalarType::U32 => ScalarType::U64,
        ScalarType::S32 => ScalarType::S64,
        _ => return None,
    })
}

/// `mul` and `mad` with `.lo`, `.hi` and `.wide`.
fn product(inst: &Instruction, ty: ScalarType) -> Result<Arithmetic, crate::arith::function::Unsupported> {
    let (width, signed) = (ty.bits(), ty.is_signed());
    let result = match (inst.has(Word::Wide), wide(ty)) {
        (false, _) => ty,
        (true, Some(wide)) => wide,
        (true, None) => return unsupported(inst, format_args!("`.wide` of type `{ty}`")),
    };
    let shift = if inst.has(Word::Hi) { width } else { 0 };
    let multiply = move |a, b| {
        let product = number(a, width, signed).wrapping_mul(number(b, width, signed)) as Bits;
        low(product >> shift, result.bits())
    };
    if inst.opcode == Opcode::Mul {
        return Ok(Arithmetic::function(result, [ty; 2], move |[a, b]| multiply(a, b)));
    }
    let sat = inst.has(Word::Sat);
    Ok(Arithmetic::function(result, [ty, ty, result], move |[a, b, c]| {
        sum(multiply(a, b), c, result.bits(), signed, sat)
    }))
}

/// `mul24` and `mad24`: the low or high 32 of the 48 bits of the product.
fn product24(inst: &Instruction, ty: ScalarType) -> Result<Arithmetic, crate::arith::function::Unsupported> {
    if ty.bits() != 32 {
        return unsupported(inst, format_args!("of type `{ty}`"));
    }
    let signed = ty.is_signed();
    let shift = if inst.has(Word::Hi) { 16 } else { 0 };
    let multiply = move |a, b| {
        let product = number(low(a, 24), 24, signed) * number(low(b, 24), 24, signed);
        low((product >> shift) as Bits, 32)
    };
    if inst.opcode == Opcode::Mul24 {
        return Ok(Arithmetic::function(ty, [ty; 2], move |[a, b]| multiply(a, b)));
    }
    let sat = inst.has(Word::Sat);
    Ok(Arithmetic::function(ty, [ty; 3], move |[a, b, c]| sum(multiply(a, b), c, 32, signed, sat)))
}

/// The sum of two integers of one width.
fn sum(a: Bits, b: Bits, width: u32, signed: bool, sat: bool) -> Bits {
    let sum = number(a, width, signed) + number(b, width, signed);
    (if sat { saturated(sum, width, signed) } else { sum }) as Bits
}

/// `dp4a` (four products of bytes) and `dp2a` (two products of a half-word of `a` with a byte of the
/// low or high half of `b`), added to `c`.
fn dot_product(inst: &Instruction) -> Result<Arithmetic, crate::arith::function::Unsupported> {
    let (a_type, b_type) = (type_of(inst, 0)?, type_of(inst, 1)?);
    let (a_signed, b_signed) = (a_type.is_signed(), b_type.is_signed());
    let (lanes, a_width) = if inst.opcode == Opcode::Dp4a { (4, 8) } else { (2, 16) };
    let b_shift = if inst.has(Word::Hi) { 16 } else { 0 };
    let ty = if a_signed || b_signed { ScalarType::S32 } else { ScalarType::U32 };
    Ok(Arithmetic::function(ty, [a_type, b_type, ty], move |[a, b, c]| {
        let products = (0..lanes).map(|lane| {
            let a = number(low(a >> (lane * a_width), a_width), a_width, a_signed);
            let b = number(low(b >> (b_shift + lane * 8), 8), 8, b_signed);
            a * b
        });
        (products.sum::<i128>() as Bits).wrapping_add(c)
    }))
}
