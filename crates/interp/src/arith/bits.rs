//! Bits and bit fields: counting, finding, reversing, extracting, inserting and extending.

use oriole_ptx::ast::{Instruction, Opcode, ScalarType, Word};

use super::function::{Arithmetic, Bits, Compiled, low, number, type_of};

/// `popc clz bfind fns brev bfe bfi bmsk szext`.
pub(super) fn compile(inst: &Instruction) -> Compiled {
    use Opcode::{Bfe, Bfi, Bfind, Bmsk, Brev, Clz, Fns, Popc, Szext};
    use ScalarType::{B32, S32, U32};
    if !matches!(inst.opcode, Bfe | Bfi | Bfind | Bmsk | Brev | Clz | Fns | Popc | Szext) {
        return Ok(None);
    }
    let ty = type_of(inst, 0)?;
    let (width, signed) = (ty.bits(), ty.is_signed());
    let clamp = inst.has(Word::Clamp);
    // The manual allows positions and lengths up to 255: of 32-bit fields greater ones are cut, of 64-bit
    // fields ptxas takes them as they are.
    let operand = move |value| if width == 32 { low(value, 8) } else { value };
    Ok(Some(match inst.opcode {
        Popc => Arithmetic::function(U32, [ty], |[a]| a.count_ones().into()),
        Clz => Arithmetic::function(U32, [ty], move |[a]| (width - significant(a)).into()),
        Brev => Arithmetic::function(ty, [ty], move |[a]| a.reverse_bits() >> (Bits::BITS - width)),
        Bfind => {
            let shiftamt = inst.has(Word::Shiftamt);
            Arithmetic::function(U32, [ty], move |[a]| find(number(a, width, signed), width, shiftamt))
        }
        Fns => Arithmetic::function(B32, [B32, B32, S32], |[mask, base, offset]| {
            nth_set(mask, number(base, 32, true), number(offset, 32, true)).into()
        }),
        Bfe => Arithmetic::function(ty, [ty, U32, U32], move |[a, position, length]| {
            extract(number(a, width, signed), operand(position), operand(length), signed)
        }),
        Bfi => Arithmetic::function(ty, [ty, ty, U32, U32], move |[a, b, position, length]| {
            let position = operand(position).min(127);
            let field = ones(operand(length)) << position;
            b & !field | a << position & field
        }),
        Bmsk => Arithmetic::function(ty, [U32, U32], move |[position, length]| mask(position, length, clamp)),
        Szext => Arithmetic::function(ty, [ty, U32], move |[a, length]| {
            let length = if clamp { length.min(32) } else { low(length, 5) };
            number(low(a, length as u32), length as u32, signed) as Bits
        }),
        _ => return Ok(None),
    }))
}

/// How many bits are left without the leading zeros.
fn significant(value: Bits) -> u32 {
    Bits::BITS - value.leading_zeros()
}

/// `count` ones, all where there are more.
fn ones(count: Bits) -> Bits {
    if count >= 128 { Bits::MAX } else { (1 << count) - 1 }
}

/// `bfind`: the position of the highest bit that is not a copy of the sign, all ones if there is none.
fn find(value: i128, width: u32, shiftamt: bool) -> Bits {
    let magnitude = if value < 0 { !value } else { value } as Bits;
    match significant(magnitude) {
        0 => Bits::MAX,
        bits if shiftamt => (width - bits).into(),
        bits => (bits - 1).into(),
    }
}

/// `fns`: the position of the `|offset|`-th set bit from `base`, upwards or downwards. With an
/// `offset` of 0 `base` itself must be set. The least offset, which PTX does not allow, gives what ptxas's code does.
fn nth_set(mask: Bits, base: i128, offset: i128) -> u32 {
    if offset == i128::from(i32::MIN) {
        return 0;
    }
    let is_set = |position: &i128| (0..32).contains(position) && mask >> *position & 1 == 1;
    let found = match offset {
        0 => Some(base).filter(is_set),
        1.. => (base.max(0)..32).filter(is_set).nth(offset as usize - 1).filter(|_| base >= 0),
        _ => (0..=base.min(31)).rev().filter(is_set).nth(-offset as usize - 1).filter(|_| base < 32),
    };
    found.map_or(u32::MAX, |position| position as u32)
}

/// `bfe`: `length` bits from `position` on, extended by the highest of them; what lies above the value
/// counts as its sign.
fn extract(value: i128, position: Bits, length: Bits, signed: bool) -> Bits {
    let field = (value >> position.min(127)) as Bits;
    let length = length.min(128) as u32;
    number(low(field, length), length, signed) as Bits
}

/// `bmsk`: `length` ones from `position` on.
fn mask(position: Bits, length: Bits, clamp: bool) -> Bits {
    match clamp {
        true if position >= 32 => 0,
        true => ones(length.min(32)) << position,
        false => ones(low(length, 5)) << low(position, 5),
    }
}
