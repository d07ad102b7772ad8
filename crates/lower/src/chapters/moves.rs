//! `mov`: registers, constants, addresses, packing and unpacking.

use crate::error::{Lowered, invalid};
use crate::function::operands::Wide;
use crate::function::{FnLower, destinations, operands, ops, sources, special, vectors};
use crate::handler::{Chapter, unknown};
use oriole_ori::{Operand, RegType, VReg};
use oriole_ptx::ast::{self, Instruction, Opcode, ScalarType};

/// The opcodes of this chapter.
pub(crate) const CHAPTER: Chapter = &[(Opcode::Mov, mov)];

/// `mov.type d, a;`
fn mov(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    let ty = instruction.last_type().ok_or_else(|| unknown(cx, instruction))?;
    let (to, from) = (operands::operand(instruction, 0)?, operands::operand(instruction, 1)?);
    match (to, from) {
        (ast::Operand::Vector(to, _), ast::Operand::Vector(from, _)) => return elements(cx, ty, to, from),
        (ast::Operand::Vector(to, _), ast::Operand::Special { .. }) if instruction.vector().is_some() => {
            return special::special_vector(cx, to, from);
        }
        (_, ast::Operand::Vector(items, _)) => return pack(cx, ty, to, items),
        (ast::Operand::Vector(items, _), _) => return unpack(cx, ty, items, from),
        _ => {}
    }
    match ty {
        ScalarType::Pred => {
            let value = sources::pred(cx, from)?;
            let to = destinations::dst_pred(cx, to)?;
            ops::mov_pred(cx, to, value)
        }
        ScalarType::F32 => {
            let value = sources::src_f32(cx, from)?;
            let to = destinations::dst(cx, to)?;
            ops::mov(cx, to, value)
        }
        _ if ty.bits() <= 32 => {
            let value = sources::src(cx, from)?;
            let to = destinations::dst(cx, to)?;
            ops::mov(cx, to, value)
        }
        _ if ty.bits() == 64 => {
            let value = if ty == ScalarType::F64 { sources::src_f64(cx, from)? } else { sources::src64(cx, from)? };
            let to = destinations::dst64_direct(cx, to)?;
            ops::mov64(cx, to.pair, value)
        }
        ScalarType::B128 => {
            let value = sources::quad_register(cx, from)?;
            let to = destinations::dst128(cx, to)?;
            copy(cx, to, value)
        }
        _ => Err(unknown(cx, instruction)),
    }
}

/// Copies a register of any width to one of the same width.
fn copy(cx: &mut FnLower<'_, '_>, to: VReg, from: VReg) -> Lowered {
    match cx.func[to].reg_type {
        RegType::R => ops::mov(cx, Operand::reg(to), Operand::reg(from)),
        RegType::P => ops::mov_pred(cx, Operand::reg(to), Operand::reg(from)),
        _ => (0..cx.func[to].components).try_for_each(|k| ops::mov(cx, Operand::comp(to, k), Operand::comp(from, k))),
    }
}

/// `mov.b64 d, {lo, hi};`: the first element is the lowest.
fn pack(cx: &mut FnLower<'_, '_>, ty: ScalarType, to: &ast::Operand, items: &[ast::Operand]) -> Lowered {
    let bits = element_bits(ty, items.len(), to)?;
    let words = vectors::packed_words(cx, bits, items)?;
    match words.as_slice() {
        [word] => {
            let to = destinations::dst(cx, to)?;
            ops::mov(cx, to, *word)
        }
        [lo, hi] => {
            let source = Wide::of_halves(*lo, *hi);
            let to = destinations::dst64(cx, to, &[source])?;
            ops::mov64(cx, to.pair, source)
        }
        _ => {
            let made = cx.temp_of(RegType::Quad)?;
            for (k, word) in words.into_iter().enumerate() {
                ops::mov(cx, Operand::comp(made, k as u8), word)?;
            }
            let to = destinations::dst128(cx, to)?;
            copy(cx, to, made)
        }
    }
}

/// Bits of each of `count` elements of a value of type `ty`.
fn element_bits(ty: ScalarType, count: usize, at: &ast::Operand) -> Lowered<u32> {
    let bits = ty.bits().checked_div(count as u32).unwrap_or(0);
    if bits >= 8 && bits * count as u32 == ty.bits() {
        return Ok(bits);
    }
    Err(invalid(at.span(), format!("a value of type .{ty} does not have {count} elements")))
}

/// `mov.v2.type {a, b}, {c, d};`: all are read before any is written.
fn elements(cx: &mut FnLower<'_, '_>, ty: ScalarType, to: &[ast::Operand], from: &[ast::Operand]) -> Lowered {
    let bits = ty.bits().max(32);
    let words = match ty {
        ScalarType::F32 => from.iter().map(|item| sources::src_f32(cx, item)).collect::<Lowered<_>>()?,
        ScalarType::F64 => {
            let wide = from.iter().map(|item| sources::src_f64(cx, item)).collect::<Lowered<Vec<_>>>()?;
            wide.iter().flat_map(|wide| [wide.lo, wide.hi]).collect()
        }
        _ => vectors::packed_words(cx, bits, from)?,
    };
    vectors::unpack_words(cx, &words, bits, to)
}

/// `mov.b64 {lo, hi}, a;`
fn unpack(cx: &mut FnLower<'_, '_>, ty: ScalarType, items: &[ast::Operand], from: &ast::Operand) -> Lowered {
    let bits = element_bits(ty, items.len(), from)?;
    let words: Vec<Operand> = match ty.bits() {
        128 => {
            let quad = sources::quad_register(cx, from)?;
            (0..4).map(|k| Operand::comp(quad, k)).collect()
        }
        64 => {
            let wide = sources::src64(cx, from)?;
            vec![wide.lo, wide.hi]
        }
        _ => vec![sources::src(cx, from)?],
    };
    vectors::unpack_words(cx, &words, bits, items)
}
