//! `mma.sync` and `mma.sp.sync`.

use crate::chapters::tensor::expand::multiply;
use crate::chapters::tensor::product::{Factors, Product, kind_in, sparsity_of};
use crate::chapters::tensor::{fragment, quads, scaled};
use crate::chapters::warp;
use crate::error::Lowered;
use crate::function::FnLower;
use crate::handler::unknown;
use oriole_isa::{BmmaOp, Rnd};
use oriole_ptx::ast::{Instruction, Rounding, ScalarType, Word};

/// `mma.sync.aligned.shape.alayout.blayout{.satfinite}.dtype.atype.btype.ctype d, a, b, c;`, sparse:
/// with metadata and selector.
pub(crate) fn lower(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    if instruction.has(Word::BlockScale) {
        return scaled::lower(cx, instruction);
    }
    let types: Vec<ScalarType> = instruction.types().collect();
    let ([d_type, a_type, b_type, c_type], [d, a, b, c, extra @ ..]) =
        (types.as_slice(), instruction.operands.as_slice())
    else {
        return Err(unknown(cx, instruction));
    };
    let (Some(shape), Some(kind)) = (instruction.shape(), kind_in(instruction, *a_type)) else {
        return Err(unknown(cx, instruction));
    };
    warp::converge_all(cx)?;
    let product = Product {
        m: shape.m,
        n: shape.n,
        k: shape.k,
        kind,
        a: *a_type,
        b: *b_type,
        d: *d_type,
        saturate: instruction.has(Word::Satfinite),
        bits: if instruction.has(Word::Xor) { BmmaOp::XOR } else { BmmaOp::AND },
        rounding: rounding_of(instruction),
        sparsity: sparsity_of(cx, instruction, extra)?,
    };
    let in_quads = (shape.m, shape.n, shape.k) == (8, 8, 4) && *a_type == ScalarType::F16;
    let [a_words, b_words, c_words] =
        if in_quads { [2, 2, quads::accumulator_words(*c_type)] } else { product.words() };
    let a = fragment::words(cx, a, *a_type, a_words)?;
    let b = fragment::words(cx, b, *b_type, b_words)?;
    let c = fragment::words(cx, c, *c_type, c_words)?;
    let factors = Factors { a: &a, b: &b, c: &c };
    let result = if in_quads {
        Some(quads::multiply(cx, &product, *c_type, quads::Orders::of(instruction), factors)?)
    } else {
        multiply(cx, &product, factors)?
    };
    let result = result.ok_or_else(|| unknown(cx, instruction))?;
    fragment::deliver(cx, d, *d_type, &result)
}

/// The code of a rounding of doubles.
pub(crate) fn rounding_of(instruction: &Instruction) -> Rnd {
    match instruction.rounding() {
        Some(Rounding::Rz) => Rnd::RZ,
        Some(Rounding::Rm) => Rnd::RM,
        Some(Rounding::Rp) => Rnd::RP,
        _ => Rnd::RN,
    }
}
