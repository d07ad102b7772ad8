//! Products of tiles: one instruction, or, where the target lacks it, made of products that it has.
//!
//! A thread's elements of A and B along K pair up by place, so a product may be taken apart along K in any
//! way that treats both alike: by registers, by halves of bytes, by bits.

use crate::chapters::tensor::product;
use crate::chapters::tensor::product::{Factors, Kind, Product, Sparsity};
use crate::chapters::tensor::{expand, fragment, sparse};
use crate::error::Lowered;
use crate::function::ops::lut;
use crate::function::{FnLower, ops, word_ops};
use oriole_isa::Role::{A, B, C, D, Meta, MetaId};
use oriole_isa::{BmmaOp, Cmp, Field, HalfB, ImmaShape, Opcode as Sass, Pack, PackDst, PackSrc};
use oriole_ori::Operand;
use oriole_ptx::ast::ScalarType;

/// LOP3 tables: `(C ^ A) & (B ^ A)`, the sign of which tells an overflow of `A = B + C`; `A & C | B & !C`.
const OVERFLOW: u8 = (0xaa ^ 0xf0) & (0xcc ^ 0xf0);
const CHOOSE: u8 = 0xf0 & 0xaa | 0xcc & !0xaa;

/// The words of D; `None` where no expansion is known.
pub(crate) fn multiply_in_parts(
    cx: &mut FnLower<'_, '_>,
    product: &Product,
    factors: Factors<'_>,
) -> Lowered<Option<Vec<Operand>>> {
    let shape = (product.m, product.k);
    match product.kind {
        Kind::Nibble => nibbles(cx, product, factors),
        Kind::Bit if product.bits == BmmaOp::XOR => differing_bits(cx, product, factors),
        Kind::Bit => set_bits(cx, product, factors),
        Kind::Float8 => narrow_floats(cx, product, factors),
        Kind::Half if shape == (16, 16) && product.sparsity.is_none() => halves_of_k(cx, product, factors),
        Kind::Byte if shape == (16, 16) => halves_of_rows(cx, product, factors),
        Kind::Byte if shape == (8, 16) && cx.has_with(Sass::IMMA, Field::IMMA_SHAPE.is(ImmaShape::M16N8K16)) => {
            upper_rows(cx, product, factors)
        }
        Kind::Double if shape != (8, 4) => doubles(cx, product, factors),
        _ => Ok(None),
    }
}

fn each(
    cx: &mut FnLower<'_, '_>,
    words: &[Operand],
    mut one: impl FnMut(&mut FnLower<'_, '_>, Operand) -> Lowered<Operand>,
) -> Lowered<Vec<Operand>> {
    words.iter().map(|word| one(cx, *word)).collect()
}

// ---- integers ----

/// The upper and the lower rows each by themselves.
fn halves_of_rows(cx: &mut FnLower<'_, '_>, product: &Product, factors: Factors<'_>) -> Lowered<Option<Vec<Operand>>> {
    let half = product.shaped(8, product.n, product.k);
    let mut result = Vec::new();
    for (a, c) in factors.a.chunks(1).zip(factors.c.chunks(2)) {
        let Some(d) = multiply(cx, &half, Factors { a, b: factors.b, c })? else { return Ok(None) };
        result.extend(d);
    }
    Ok(Some(result))
}

/// A product of half the rows: the lower ones are zero.
fn upper_rows(cx: &mut FnLower<'_, '_>, product: &Product, factors: Factors<'_>) -> Lowered<Option<Vec<Operand>>> {
    let zero = Operand::rz();
    let (a, c) = ([factors.a[0], zero], [factors.c[0], factors.c[1], zero, zero]);
    let tall = product.shaped(16, product.n, product.k);
    let d = multiply(cx, &tall, Factors { a: &a, b: factors.b, c: &c })?;
    Ok(d.map(|words| words[..2].to_vec()))
}

/// Elements of 4 bits: the lower and the upper ones of all bytes, as bytes.
fn nibbles(cx: &mut FnLower<'_, '_>, product: &Product, factors: Factors<'_>) -> Lowered<Option<Vec<Operand>>> {
    let byte = |ty| if ty == ScalarType::S4 { ScalarType::S8 } else { ScalarType::U8 };
    let part = Product { saturate: false, ..*product }.shaped(product.m, product.n, product.k / 2).typed(
        Kind::Byte,
        byte(product.a),
        byte(product.b),
    );
    // Saturation is of the whole sum: it is added to C in the end.
    let mut sum: Vec<Operand> =
        if product.saturate { vec![Operand::rz(); factors.c.len()] } else { factors.c.to_vec() };
    for upper in [false, true] {
        let a = each(cx, factors.a, |cx, word| nibbles_of(cx, word, upper, product.a == ScalarType::S4))?;
        let b = each(cx, factors.b, |cx, word| nibbles_of(cx, word, upper, product.b == ScalarType::S4))?;
        let Some(d) = multiply(cx, &part, Factors { a: &a, b: &b, c: &sum })? else { return Ok(None) };
        sum = d;
    }
    if product.saturate {
        sum = sum.iter().zip(factors.c).map(|(d, c)| saturated_sum(cx, *c, *d)).collect::<Lowered<_>>()?;
    }
    Ok(Some(sum))
}

/// The lower or upper half of each byte, extended to a byte.
fn nibbles_of(cx: &mut FnLower<'_, '_>, word: Operand, upper: bool, signed: bool) -> Lowered<Operand> {
    let word = ops::in_reg(cx, word)?;
    let (bytes, low_half) = (cx.temp()?, Operand::imm(0x0f0f_0f0f));
    let shifted = if upper { shifted_right(cx, word, 4)? } else { word };
    ops::lop3(cx, bytes, shifted, low_half, Operand::rz(), lut::AND)?;
    if !signed {
        return Ok(bytes);
    }
    let signs = cx.temp()?;
    let tops = if upper {
        word
    } else {
        let up = cx.temp()?;
        word_ops::shift_left(cx, up, word, Operand::imm(4))?;
        up
    };
    ops::prmt(cx, signs, tops, 0xba98, Operand::rz())?;
    let extended = cx.temp()?;
    ops::lop3(cx, extended, bytes, signs, low_half, CHOOSE)?;
    Ok(extended)
}

fn shifted_right(cx: &mut FnLower<'_, '_>, word: Operand, bits: u32) -> Lowered<Operand> {
    let to = cx.temp()?;
    word_ops::shift_right(cx, false, to, word, Operand::imm(bits))?;
    Ok(to)
}

/// `c + d`, kept in the range of s32.
fn saturated_sum(cx: &mut FnLower<'_, '_>, c: Operand, d: Operand) -> Lowered<Operand> {
    let (sum, overflow, limit, result) = (cx.temp()?, cx.temp()?, cx.temp()?, cx.temp()?);
    let c = ops::in_reg(cx, c)?;
    ops::add(cx, sum, c, d)?;
    ops::lop3(cx, overflow, sum, c, d, OVERFLOW)?;
    // Of two positive numbers the sum came out negative: the limit is the largest number.
    let sign = cx.temp()?;
    word_ops::shift_right(cx, true, sign, sum, Operand::imm(31))?;
    ops::lop3(cx, limit, sign, Operand::imm(0x8000_0000), Operand::rz(), lut::XOR)?;
    let over = cx.temp_pred()?;
    ops::isetp(cx, over, Cmp::LT, true, overflow, Operand::rz())?;
    ops::sel(cx, result, over, limit, sum)?;
    Ok(result)
}

// ---- bits ----

/// Bits that differ are set in one factor and clear in the other.
fn differing_bits(cx: &mut FnLower<'_, '_>, product: &Product, factors: Factors<'_>) -> Lowered<Option<Vec<Operand>>> {
    let both = Product { bits: BmmaOp::AND, ..*product };
    let a = each(cx, factors.a, inverted)?;
    let b = each(cx, factors.b, inverted)?;
    let Some(first) = multiply(cx, &both, Factors { b: &b, ..factors })? else { return Ok(None) };
    multiply(cx, &both, Factors { a: &a, b: factors.b, c: &first })
}

fn inverted(cx: &mut FnLower<'_, '_>, word: Operand) -> Lowered<Operand> {
    let to = cx.temp()?;
    let word = ops::in_reg(cx, word)?;
    ops::lop3(cx, to, word, Operand::imm(u32::MAX), Operand::rz(), lut::XOR)?;
    Ok(to)
}

/// Bits as bytes of 0 and 1: one of eight of all bytes after the other.
fn set_bits(cx: &mut FnLower<'_, '_>, product: &Product, factors: Factors<'_>) -> Lowered<Option<Vec<Operand>>> {
    let part = product.shaped(product.m, product.n, product.k / 8).typed(Kind::Byte, ScalarType::U8, ScalarType::U8);
    let mut sum = factors.c.to_vec();
    for bit in 0..8 {
        let a = each(cx, factors.a, |cx, word| bit_of_bytes(cx, word, bit))?;
        let b = each(cx, factors.b, |cx, word| bit_of_bytes(cx, word, bit))?;
        let Some(d) = multiply(cx, &part, Factors { a: &a, b: &b, c: &sum })? else { return Ok(None) };
        sum = d;
    }
    Ok(Some(sum))
}

fn bit_of_bytes(cx: &mut FnLower<'_, '_>, word: Operand, bit: u32) -> Lowered<Operand> {
    let word = ops::in_reg(cx, word)?;
    let shifted = if bit == 0 { word } else { shifted_right(cx, word, bit)? };
    let to = cx.temp()?;
    ops::lop3(cx, to, shifted, Operand::imm(0x0101_0101), Operand::rz(), lut::AND)?;
    Ok(to)
}

// ---- floats ----

/// The first and the second half of the columns of A.
fn halves_of_k(cx: &mut FnLower<'_, '_>, product: &Product, factors: Factors<'_>) -> Lowered<Option<Vec<Operand>>> {
    let half = product.shaped(product.m, product.n, product.k / 2);
    let mut sum = factors.c.to_vec();
    for (a, b) in factors.a.chunks(2).zip(factors.b.chunks(1)) {
        let Some(d) = multiply(cx, &half, Factors { a, b, c: &sum })? else { return Ok(None) };
        sum = d;
    }
    Ok(Some(sum))
}

/// Floats of 8 bits as halves, which hold them exactly; C is added to the product in the end, as ptxas's
/// code does. Of sparse products `sparse` has the order of B and the metadata.
fn narrow_floats(cx: &mut FnLower<'_, '_>, product: &Product, factors: Factors<'_>) -> Lowered<Option<Vec<Operand>>> {
    let half = ScalarType::F16;
    let part = product.shaped(product.m, product.n, product.k / 2).typed(Kind::Half, half, half);
    let (b_words, metadata) = match product.sparsity {
        None => (factors.b.to_vec(), None),
        Some(sparsity) => {
            let place = sparse::place(cx)?;
            (sparse::spread(cx, &place, factors.b)?, Some(sparse::metadata(cx, &place, sparsity)?))
        }
    };
    let mut sum = vec![Operand::rz(); factors.c.len()];
    for upper in [false, true] {
        let Some((a_format, b_format)) = unpacked(product.a).zip(unpacked(product.b)) else { return Ok(None) };
        let a = each(cx, factors.a, |cx, word| halves_of(cx, word, upper, a_format))?;
        let b = each(cx, &b_words, |cx, word| halves_of(cx, word, upper, b_format))?;
        let sparsity = metadata.map(|metadata| Sparsity { metadata, selector: u32::from(upper) });
        let part = Product { sparsity, ..part };
        let Some(d) = multiply(cx, &part, Factors { a: &a, b: &b, c: &sum })? else { return Ok(None) };
        sum = d;
    }
    let add = if product.d == half { Sass::HADD2 } else { Sass::FADD };
    let mut result = Vec::new();
    for (d, c) in sum.iter().zip(factors.c) {
        let to = cx.temp()?;
        let c = ops::in_reg(cx, *c)?;
        cx.emit(add, &[], &[(D, to), (A, *d), (B, c)])?;
        result.push(to);
    }
    Ok(Some(result))
}

/// The format of a narrow float as F2FP names it.
fn unpacked(ty: ScalarType) -> Option<PackSrc> {
    Some(match ty {
        ScalarType::E4m3 => PackSrc::E4M3,
        ScalarType::E5m2 => PackSrc::E5M2,
        ScalarType::E3m2 => PackSrc::E3M2,
        ScalarType::E2m3 => PackSrc::E2M3,
        _ => return None,
    })
}

/// Two of the four floats of a word as halves.
fn halves_of(cx: &mut FnLower<'_, '_>, word: Operand, upper: bool, format: PackSrc) -> Lowered<Operand> {
    let to = cx.temp()?;
    let word = ops::in_reg(cx, word)?;
    let mods = [
        Field::PACK.is(Pack::UNPACK_B),
        Field::PACK_DST.is(PackDst::F16),
        Field::PACK_SRC.is(format),
        Field::HALF_B.is(if upper { HalfB::H1 } else { HalfB::H0 }),
    ];
    cx.emit(Sass::F2FP, &mods, &[(D, to), (B, word)])?;
    Ok(to)
}

/// Eight rows and four columns of A at a time. Registers of A go down the rows first.
fn doubles(cx: &mut FnLower<'_, '_>, product: &Product, factors: Factors<'_>) -> Lowered<Option<Vec<Operand>>> {
    let part = product.shaped(8, product.n, 4);
    let blocks = usize::from(product.m / 8);
    let mut result = Vec::new();
    for block in 0..blocks {
        let mut sum = factors.c[4 * block..4 * block + 4].to_vec();
        for step in 0..usize::from(product.k / 4) {
            let at = 2 * (step * blocks + block);
            let (a, b) = (&factors.a[at..at + 2], &factors.b[2 * step..2 * step + 2]);
            let Some(d) = multiply(cx, &part, Factors { a, b, c: &sum })? else { return Ok(None) };
            sum = d;
        }
        result.extend(sum);
    }
    Ok(Some(result))
}

/// The words of D; `None` where neither the target has the product nor an expansion of it is known.
pub(crate) fn multiply(
    cx: &mut FnLower<'_, '_>,
    product: &Product,
    factors: Factors<'_>,
) -> Lowered<Option<Vec<Operand>>> {
    let Some(mut inst) = product::native(cx, product) else {
        return expand::multiply_in_parts(cx, product, factors);
    };
    let (a, b) = (fragment::together(cx, factors.a)?, fragment::together(cx, factors.b)?);
    let c = fragment::together(cx, factors.c)?;
    let (d, words) = fragment::fresh(cx, product.words()[2])?;
    for (role, operand) in [(A, a), (B, b), (C, c), (D, d)] {
        inst.set_role(role, operand);
    }
    if let Some(sparsity) = product.sparsity {
        inst.set_role(Meta, sparsity.metadata);
        inst.set_role(MetaId, Operand::imm(sparsity.selector));
    }
    cx.emit_inst(inst)?;
    Ok(Some(words))
}
