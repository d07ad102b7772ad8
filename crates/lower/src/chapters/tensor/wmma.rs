//! `wmma.load`, `wmma.store`, `wmma.mma`.

use crate::chapters::memory::address;
use crate::chapters::tensor::expand::multiply;
use crate::chapters::tensor::mma::rounding_of;
use crate::chapters::tensor::product::{Factors, Kind, Product, kind_of};
use crate::chapters::tensor::tile::{Matrix, Tile};
use crate::chapters::tensor::{fragment, tile};
use crate::chapters::warp;
use crate::error::Lowered;
use crate::function::{FnLower, ops};
use crate::handler::unknown;
use oriole_isa::Role::{A, B, D};
use oriole_isa::{BmmaOp, Ffmt, Field, Opcode as Sass, Pack, PackDst, PackSrc, SwzB};
use oriole_ori::Operand;
use oriole_ptx::ast::{Instruction, ScalarType, Shape, Word};

/// Registers that fragments of halves have in PTX, where the matrix may need fewer: it is repeated.
const HALF_REGISTERS: usize = 8;

/// `wmma`
pub(crate) fn lower(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    let shape = instruction.shape().filter(|shape| SHAPES.contains(&(shape.m, shape.n, shape.k)));
    let shape = shape.ok_or_else(|| unknown(cx, instruction))?;
    warp::converge_all(cx)?;
    match () {
        () if instruction.has(Word::Load) => load(cx, instruction, shape),
        () if instruction.has(Word::Store) => store(cx, instruction, shape),
        () => product(cx, instruction, shape),
    }
}

/// The shapes of PTX.
const SHAPES: [(u16, u16, u16); 7] =
    [(16, 16, 16), (32, 8, 16), (8, 32, 16), (16, 16, 8), (8, 8, 4), (8, 8, 32), (8, 8, 128)];

/// 32-bit words of a fragment in PTX: those of the matrix, or more.
fn listed(matrix: Matrix, ty: ScalarType, words: usize) -> usize {
    if matrix != Matrix::C && ty == ScalarType::F16 { HALF_REGISTERS } else { words }
}

/// `wmma.load.a.sync.aligned.layout.shape{.ss}.type r, [p]{, stride};`
fn load(cx: &mut FnLower<'_, '_>, instruction: &Instruction, shape: Shape) -> Lowered {
    let ([to, from, stride @ ..], Some(ty)) = (instruction.operands.as_slice(), instruction.last_type()) else {
        return Err(unknown(cx, instruction));
    };
    let Some(address) = from.address() else { return Err(unknown(cx, instruction)) };
    let tile = Tile::of(cx, instruction, shape, ty).ok_or_else(|| unknown(cx, instruction))?;
    let addr = address::resolve(cx, instruction.space(), address)?;
    let words = tile::load(cx, instruction, &tile, addr, stride.first())?;
    let count = listed(Matrix::of(instruction), ty, words.len());
    let repeated: Vec<Operand> = words.iter().copied().cycle().take(count).collect();
    fragment::deliver(cx, to, ty, &repeated)
}

/// `wmma.store.d.sync.aligned.layout.shape{.ss}.type [p], r{, stride};`
fn store(cx: &mut FnLower<'_, '_>, instruction: &Instruction, shape: Shape) -> Lowered {
    let ([to, from, stride @ ..], Some(ty)) = (instruction.operands.as_slice(), instruction.last_type()) else {
        return Err(unknown(cx, instruction));
    };
    let Some(address) = to.address() else { return Err(unknown(cx, instruction)) };
    let tile = Tile::of(cx, instruction, shape, ty).ok_or_else(|| unknown(cx, instruction))?;
    let addr = address::resolve(cx, instruction.space(), address)?;
    let words = fragment::words(cx, from, ty, tile.words())?;
    tile::store(cx, instruction, &tile, addr, stride.first(), &words)
}

/// `wmma.mma.sync.aligned.alayout.blayout.shape.dtype{.atype.btype}.ctype{.satfinite} d, a, b, c;`
fn product(cx: &mut FnLower<'_, '_>, instruction: &Instruction, shape: Shape) -> Lowered {
    let types: Vec<ScalarType> = instruction.types().collect();
    let (d_type, a_type, b_type, c_type) = match types[..] {
        // Of halves only D and C are named.
        [d, c] => (d, ScalarType::F16, ScalarType::F16, c),
        [d, a, b, c] => (d, a, b, c),
        _ => return Err(unknown(cx, instruction)),
    };
    let ([d, a, b, c], Some(kind)) = (instruction.operands.as_slice(), kind_of(a_type)) else {
        return Err(unknown(cx, instruction));
    };
    let half_sum = d_type == ScalarType::F16 && c_type == ScalarType::F16;
    let sum_type = if kind == Kind::Half && !half_sum { ScalarType::F32 } else { d_type };
    let whole = Product {
        m: shape.m,
        n: shape.n,
        k: shape.k,
        kind,
        a: a_type,
        b: b_type,
        d: sum_type,
        saturate: instruction.has(Word::Satfinite),
        bits: if instruction.has(Word::Xor) { BmmaOp::XOR } else { BmmaOp::AND },
        rounding: rounding_of(instruction),
        sparsity: None,
    };
    let [a_words, b_words, sum_words] = whole.words();
    let words_of = |ty| if ty == ScalarType::F16 && !half_sum { sum_words / 2 } else { sum_words };
    let a = fragment::words(cx, a, a_type, listed(Matrix::A, a_type, a_words))?;
    let b = fragment::words(cx, b, b_type, listed(Matrix::B, b_type, b_words))?;
    let mut c = fragment::words(cx, c, c_type, words_of(c_type))?;
    if c_type == ScalarType::F16 && !half_sum {
        c = widened(cx, &c)?;
    }
    let factors = Factors { a: &a[..a_words], b: &b[..b_words], c: &c };
    let result = tiled(cx, &whole, tile::is_transposed(cx, shape, a_type), factors)?;
    let mut result = result.ok_or_else(|| unknown(cx, instruction))?;
    if d_type == ScalarType::F16 && !half_sum {
        result = narrowed(cx, &result)?;
    }
    fragment::deliver(cx, d, d_type, &result)
}

/// The product tile by tile of 16 (or 8) rows and 8 columns.
fn tiled(
    cx: &mut FnLower<'_, '_>,
    whole: &Product,
    transposed: bool,
    factors: Factors<'_>,
) -> Lowered<Option<Vec<Operand>>> {
    let (tall, flat) = if transposed { (factors.b, factors.a) } else { (factors.a, factors.b) };
    let (rows, columns) = if transposed { (whole.n, whole.m) } else { (whole.m, whole.n) };
    let tile = whole.shaped(rows.min(16), 8, whole.k);
    let (down, across) = (usize::from(rows.div_ceil(16)), usize::from(columns / 8));
    let part = |words: &'_ [Operand], count: usize, at: usize| {
        let share = words.len() / count;
        words[at * share..(at + 1) * share].to_vec()
    };
    let mut result = Vec::new();
    for row in 0..down {
        for column in 0..across {
            let (a, b) = (part(tall, down, row), part(flat, across, column));
            let c = part(factors.c, down * across, row * across + column);
            let Some(d) = along_k(cx, &tile, Factors { a: &a, b: &b, c: &c })? else { return Ok(None) };
            result.extend(d);
        }
    }
    Ok(Some(result))
}

/// One tile. tf32 goes in steps of four columns of A, as ptxas's code does, so that sums round alike.
fn along_k(cx: &mut FnLower<'_, '_>, tile: &Product, factors: Factors<'_>) -> Lowered<Option<Vec<Operand>>> {
    if tile.kind != Kind::Tf32 {
        return multiply(cx, tile, factors);
    }
    let step = tile.shaped(tile.m, tile.n, 4);
    let mut sum = factors.c.to_vec();
    for (a, b) in factors.a.chunks(2).zip(factors.b.chunks(1)) {
        let Some(d) = multiply(cx, &step, Factors { a, b, c: &sum })? else { return Ok(None) };
        sum = d;
    }
    Ok(Some(sum))
}

/// Each pair of halves as two singles.
fn widened(cx: &mut FnLower<'_, '_>, words: &[Operand]) -> Lowered<Vec<Operand>> {
    let mut singles = Vec::new();
    for word in words {
        let word = ops::in_reg(cx, *word)?;
        for half in [SwzB::H0_H0, SwzB::H1_H1] {
            let to = cx.temp()?;
            let mods = [Field::HALF_F32.is(true), Field::SWZ_B.is(half)];
            cx.emit(Sass::HADD2, &mods, &[(D, to), (A, Operand::rz().neg()), (B, word)])?;
            singles.push(to);
        }
    }
    Ok(singles)
}

/// Each pair of singles as two halves, rounded to nearest.
pub(crate) fn narrowed(cx: &mut FnLower<'_, '_>, words: &[Operand]) -> Lowered<Vec<Operand>> {
    let packs = Sass::F2FP.exists_on(cx.arch());
    words
        .chunks_exact(2)
        .map(|pair| {
            let to = cx.temp()?;
            if packs {
                let mods =
                    [Field::PACK.is(Pack::PACK_AB), Field::PACK_DST.is(PackDst::F16), Field::PACK_SRC.is(PackSrc::F32)];
                cx.emit(Sass::F2FP, &mods, &[(D, to), (A, pair[1]), (B, pair[0])])?;
                return Ok(to);
            }
            let (low, high) = (half_of(cx, pair[0])?, half_of(cx, pair[1])?);
            ops::prmt(cx, to, low, 0x5410, high)?;
            Ok(to)
        })
        .collect()
}

fn half_of(cx: &mut FnLower<'_, '_>, single: Operand) -> Lowered<Operand> {
    let to = cx.temp()?;
    let mods = [Field::DST_FMT.is(Ffmt::F16), Field::SRC_FMT.is(Ffmt::F32)];
    cx.emit(Sass::F2F, &mods, &[(D, to), (B, single)])?;
    Ok(to)
}
