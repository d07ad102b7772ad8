//! Vector registers, and values packed from elements side by side.

use crate::error::Lowered;
use crate::function::FnLower;
use crate::function::operands::Wide;
use crate::function::scope::Binding;
use oriole_ori::Operand;
use oriole_ptx::ast::{self, Name};

impl FnLower<'_, '_> {
    /// How many elements a vector register has; `None` for all other names.
    pub(super) fn vector_len(&mut self, name: Name) -> Lowered<Option<usize>> {
        Ok(match self.binding(name)? {
            Some(Binding::Reg(register)) if register.elements.len() > 1 => Some(register.elements.len()),
            _ => None,
        })
    }

    /// The 32-bit words that elements of `bits` bits make, the first element lowest.
    pub(crate) fn packed_words(&mut self, bits: u32, items: &[ast::Operand]) -> Lowered<Vec<Operand>> {
        match bits {
            64 => {
                let mut words = Vec::new();
                for item in items {
                    let wide = self.src64(item)?;
                    words.extend([wide.lo, wide.hi]);
                }
                Ok(words)
            }
            32 => items.iter().map(|item| self.src(item)).collect(),
            _ => items.chunks((32 / bits) as usize).map(|chunk| self.packed_word(bits, chunk)).collect(),
        }
    }

    /// Narrow elements side by side in one word.
    fn packed_word(&mut self, bits: u32, items: &[ast::Operand]) -> Lowered<Operand> {
        let mut word = match items.first() {
            Some(first) => self.src(first)?,
            None => Operand::rz(),
        };
        for (index, item) in items.iter().enumerate().skip(1) {
            let part = self.src(item)?;
            let part = self.in_reg(part)?;
            let sofar = self.in_reg(word)?;
            word = self.temp()?;
            self.prmt(word, sofar, insert(bits / 8, index as u32), part)?;
        }
        Ok(word)
    }

    /// Takes words apart into elements of `bits` bits. Where an element's register is one of the words, it is
    /// written when all are read.
    pub(crate) fn unpack_words(&mut self, words: &[Operand], bits: u32, items: &[ast::Operand]) -> Lowered {
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
                    let to = self.dst64(item, &all)?;
                    self.mov64(to.pair, Wide::of_halves(word, high))?;
                }
                32 => {
                    let to = self.dst_early(item, words)?;
                    self.mov(to, word)?;
                }
                _ => {
                    let to = self.dst_early(item, words)?;
                    let word = self.in_reg(word)?;
                    self.prmt(to, word, extract(bits, at % 32), Operand::rz())?;
                }
            }
        }
        Ok(())
    }
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
