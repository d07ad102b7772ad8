//! `mov`: registers, constants, addresses, packing and unpacking.

use super::{Chapter, unknown};
use crate::error::{Lowered, invalid};
use crate::function::{FnLower, Wide};
use oriole_ori::{Operand, RegType, VReg};
use oriole_ptx::ast::{self, Instruction, Opcode, ScalarType};

/// The opcodes of this chapter.
pub(super) const CHAPTER: Chapter = &[(Opcode::Mov, mov)];

/// `mov.type d, a;`
fn mov(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    let ty = instruction.last_type().ok_or_else(|| unknown(cx, instruction))?;
    let (to, from) = (cx.operand(instruction, 0)?, cx.operand(instruction, 1)?);
    match (to, from) {
        (_, ast::Operand::Vector(items, _)) if ty.bits() > 8 => return pack(cx, ty, to, items),
        (ast::Operand::Vector(items, _), _) => return unpack(cx, ty, items, from),
        _ => {}
    }
    if let (ast::Operand::Name(dst), ast::Operand::Name(src)) = (to, from)
        && let (Some((dst, _)), Some((src, _))) = (cx.vector_register(*dst)?, cx.vector_register(*src)?)
    {
        return dst.iter().zip(&src).try_for_each(|(d, s)| copy(cx, *d, *s));
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
    let words = packed_words(cx, bits, items)?;
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

/// The 32-bit words that elements of `bits` bits make.
fn packed_words(cx: &mut FnLower<'_, '_>, bits: u32, items: &[ast::Operand]) -> Lowered<Vec<Operand>> {
    match bits {
        64 => {
            let mut words = Vec::new();
            for item in items {
                let wide = cx.src64(item)?;
                words.extend([wide.lo, wide.hi]);
            }
            Ok(words)
        }
        32 => items.iter().map(|item| cx.src(item)).collect(),
        _ => items.chunks((32 / bits) as usize).map(|chunk| pack_word(cx, bits, chunk)).collect(),
    }
}

/// Narrow elements side by side in one word.
fn pack_word(cx: &mut FnLower<'_, '_>, bits: u32, items: &[ast::Operand]) -> Lowered<Operand> {
    let mut word = match items.first() {
        Some(first) => cx.src(first)?,
        None => Operand::rz(),
    };
    for (index, item) in items.iter().enumerate().skip(1) {
        let part = cx.src(item)?;
        let part = cx.in_reg(part)?;
        let sofar = cx.in_reg(word)?;
        word = cx.temp()?;
        cx.prmt(word, sofar, insert(bits / 8, index as u32), part)?;
    }
    Ok(word)
}

/// PRMT selector that puts the low `bytes` of the second source at element `index` of the first.
fn insert(bytes: u32, index: u32) -> u32 {
    let first = index * bytes;
    (0..4).fold(0, |selector, byte| {
        let source = if (first..first + bytes).contains(&byte) { 4 + byte - first } else { byte };
        selector | source << (4 * byte)
    })
}

/// `mov.b64 {lo, hi}, a;`
fn unpack(cx: &mut FnLower<'_, '_>, ty: ScalarType, items: &[ast::Operand], from: &ast::Operand) -> Lowered {
    let special = matches!(from, ast::Operand::Special { .. });
    if special && ty.bits() == 32 {
        return cx.special_vector(items, from);
    }
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
    for (index, item) in items.iter().enumerate() {
        if matches!(item, ast::Operand::Sink(_)) {
            continue;
        }
        let at = index as u32 * bits;
        let word = words[(at / 32) as usize];
        match bits {
            64 => {
                let to = cx.dst64_direct(item)?;
                cx.mov64(to.pair, Wide::of_halves(word, words[(at / 32) as usize + 1]))?;
            }
            32 => {
                let to = cx.dst(item)?;
                cx.mov(to, word)?;
            }
            _ => unpack_narrow(cx, item, word, bits, at % 32)?,
        }
    }
    Ok(())
}

/// Part of a word; bits above it are left zero. The destination may be the source's register, so
/// results are copied in the end.
fn unpack_narrow(cx: &mut FnLower<'_, '_>, item: &ast::Operand, word: Operand, bits: u32, at: u32) -> Lowered {
    let word = cx.in_reg(word)?;
    let to = cx.dst_early(item, &[word])?;
    let first = at / 8;
    let selector = if bits == 16 { first | (first + 1) << 4 | 0x4400 } else { first | 0x4440 };
    cx.prmt(to, word, selector, Operand::rz())
}
