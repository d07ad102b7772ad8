//! `mov`: registers, constants, addresses, packing and unpacking.

use crate::error::{Lowered, invalid};
use crate::function::operands::Wide;
use crate::function::{FnLower, special};
use crate::handler::{Chapter, unknown};
use oriole_ori::{Operand, RegType, VReg};
use oriole_ptx::ast::{self, Instruction, Opcode, ScalarType};

/// The opcodes of this chapter.
pub(crate) const CHAPTER: Chapter = &[(Opcode::Mov, mov)];

/// `mov.type d, a;`
fn mov(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    let ty = instruction.last_type().ok_or_else(|| unknown(cx, instruction))?;
    let (to, from) = (cx.operand(instruction, 0)?, cx.operand(instruction, 1)?);
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
            let value = cx.pred(from)?;
            let to = cx.dst_pred(to)?;
            cx.mov_pred(to, value)
        }
        ScalarType::F32 => {
            let value = cx.src_f32(from)?;
            let to = cx.dst(to)?;
            cx.mov(to, value)
        }
        _ if ty.bits() <= 32 => {
            let value = cx.src(from)?;
            let to = cx.dst(to)?;
            cx.mov(to, value)
        }
        _ if ty.bits() == 64 => {
            let value = if ty == ScalarType::F64 { cx.src_f64(from)? } else { cx.src64(from)? };
            let to = cx.dst64_direct(to)?;
            cx.mov64(to.pair, value)
        }
        ScalarType::B128 => {
            let value = cx.quad_register(from)?;
            let to = cx.dst128(to)?;
            copy(cx, to, value)
        }
        _ => Err(unknown(cx, instruction)),
    }
}

/// Copies a register of any width to one of the same width.
fn copy(cx: &mut FnLower<'_, '_>, to: VReg, from: VReg) -> Lowered {
    match cx.func.vregs[to].reg_type {
        RegType::R => cx.mov(Operand::reg(to), Operand::reg(from)),
        RegType::P => cx.mov_pred(Operand::reg(to), Operand::reg(from)),
        _ => (0..cx.func.vregs[to].components).try_for_each(|k| cx.mov(Operand::comp(to, k), Operand::comp(from, k))),
    }
}

/// `mov.b64 d, {lo, hi};`: the first element is the lowest.
fn pack(cx: &mut FnLower<'_, '_>, ty: ScalarType, to: &ast::Operand, items: &[ast::Operand]) -> Lowered {
    let bits = element_bits(ty, items.len(), to)?;
    let words = cx.packed_words(bits, items)?;
    match words.as_slice() {
        [word] => {
            let to = cx.dst(to)?;
            cx.mov(to, *word)
        }
        [lo, hi] => {
            let source = Wide::of_halves(*lo, *hi);
            let to = cx.dst64(to, &[source])?;
            cx.mov64(to.pair, source)
        }
        _ => {
            let made = cx.temp_of(RegType::Quad)?;
            for (k, word) in words.into_iter().enumerate() {
                cx.mov(Operand::comp(made, k as u8), word)?;
            }
            let to = cx.dst128(to)?;
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
        ScalarType::F32 => from.iter().map(|item| cx.src_f32(item)).collect::<Lowered<_>>()?,
        ScalarType::F64 => {
            let wide = from.iter().map(|item| cx.src_f64(item)).collect::<Lowered<Vec<_>>>()?;
            wide.iter().flat_map(|wide| [wide.lo, wide.hi]).collect()
        }
        _ => cx.packed_words(bits, from)?,
    };
    cx.unpack_words(&words, bits, to)
}

/// `mov.b64 {lo, hi}, a;`
fn unpack(cx: &mut FnLower<'_, '_>, ty: ScalarType, items: &[ast::Operand], from: &ast::Operand) -> Lowered {
    let bits = element_bits(ty, items.len(), from)?;
    let words: Vec<Operand> = match ty.bits() {
        128 => {
            let quad = cx.quad_register(from)?;
            (0..4).map(|k| Operand::comp(quad, k)).collect()
        }
        64 => {
            let wide = cx.src64(from)?;
            vec![wide.lo, wide.hi]
        }
        _ => vec![cx.src(from)?],
    };
    cx.unpack_words(&words, bits, items)
}
