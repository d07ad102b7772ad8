//! Values packed from elements side by side, as vector operands have them.

use crate::error::Lowered;
use crate::function::operands::Wide;
use crate::function::{FnLower, destinations, ops, sources};
use oriole_ori::Operand;
use oriole_ptx::ast;

/// The 32-bit words that elements of `bits` bits make, the first element lowest.
pub(crate) fn packed_words(cx: &mut FnLower<'_, '_>, bits: u32, items: &[ast::Operand]) -> Lowered<Vec<Operand>> {
    match bits {
        64 => {
            let mut words = Vec::new();
            for item in items {
                let wide = sources::src64(cx, item)?;
                words.extend([wide.lo, wide.hi]);
            }
            Ok(words)
        }
        32 => items.iter().map(|item| sources::src(cx, item)).collect(),
        _ => items.chunks((32 / bits) as usize).map(|chunk| packed_word(cx, bits, chunk)).collect(),
    }
}

/// Narrow elements side by side in one word.
fn packed_word(cx: &mut FnLower<'_, '_>, bits: u32, items: &[ast::Operand]) -> Lowered<Operand> {
    let mut word = match items.first() {
        Some(first) => sources::src(cx, first)?,
        None => Operand::rz(),
    };
    for (index, item) in items.iter().enumerate().skip(1) {
        let part = sources::src(cx, item)?;
        let part = ops::in_reg(cx, part)?;
        let sofar = ops::in_reg(cx, word)?;
        word = cx.temp()?;
        ops::prmt(cx, word, sofar, insert(bits / 8, index as u32), part)?;
    }
    Ok(word)
}

/// Takes words apart into elements of `bits` bits. Where an element's register is one of the words, it is
/// written when all are read.
pub(crate) fn unpack_words(cx: &mut FnLower<'_, '_>, words: &[Operand], bits: u32, items: &[ast::Operand]) -> Lowered {
    for (index, item) in items.iter().enumerate() {
        if matches!(item, ast::Operand::Sink(_)) {
            continue;
        }
        let at = index as u32 * bits;
        let word = words.get((at / 32) as usize).copied().unwrap_or(Operand::rz());
        match bits {
            64 => {
                let high = words.get((at / 32) as usize + 1).copied().unwrap_or(Operand::rz());
                let all: Vec<Wide> =
                    words.chunks(2).map(|pair| Wide::of_halves(pair[0], pair[pair.len() - 1])).collect();
                let to = destinations::dst64(cx, item, &all)?;
                ops::mov64(cx, to.pair, Wide::of_halves(word, high))?;
            }
            32 => {
                let to = destinations::dst_early(cx, item, words)?;
                ops::mov(cx, to, word)?;
            }
            _ => {
                let to = destinations::dst_early(cx, item, words)?;
                let word = ops::in_reg(cx, word)?;
                ops::prmt(cx, to, word, extract(bits, at % 32), Operand::rz())?;
            }
        }
    }
    Ok(())
}

/// PRMT selector that puts the low `bytes` of the second source at element `index` of the first.
fn insert(bytes: u32, index: u32) -> u32 {
    let first = index * bytes;
    (0..4).fold(0, |selector, byte| {
        let source = if (first..first + bytes).contains(&byte) { 4 + byte - first } else { byte };
        selector | source << (4 * byte)
    })
}

/// PRMT selector of the 8 or 16 bits at bit `at`, with zeros above.
fn extract(bits: u32, at: u32) -> u32 {
    let first = at / 8;
    if bits == 16 { first | (first + 1) << 4 | 0x4400 } else { first | 0x4440 }
}
