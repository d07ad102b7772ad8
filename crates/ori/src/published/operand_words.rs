//! The two words of a published operand: word 0 has the index in bits 0–19, modifiers in 20–27 (24: a pair), the type in
//! 28–30, the sign in 31; word 1 auxiliary data in 0–23, and flags from 24 on. Source: the document on ptxas's
//! IR, "Packed Operand Encoding".

use crate::operand::{Operand, OperandKind};

/// The types that are published. Source: the register model, "Packed Operand Format".
pub const TYPES: [(u32, &str); 3] = [
    (REGISTER, "Register operand"),
    (SYMBOL, "Symbol/constant operand"),
    (SPECIAL, "Special operand (barrier, system register)"),
];

/// Bits of a field: the word, the first bit, how many, what stands there.
pub const FIELDS: [(usize, u32, u32, &str); 9] = [
    (0, 0, 20, "register or symbol index"),
    (0, 20, 8, "modifiers"),
    (0, 24, 1, "pair extension"),
    (0, 28, 3, "type"),
    (0, 31, 1, "sign"),
    (1, 0, 24, "auxiliary: bank of a constant, sense of a guard"),
    (1, 24, 1, "constant bank"),
    (1, 25, 1, "reuse"),
    (1, 26, 1, "absolute value"),
];

const REGISTER: u32 = 1;
const SYMBOL: u32 = 5;
const SPECIAL: u32 = 6;
const PAIR: u32 = 1 << 24;
const CONST_BANK: u32 = 1 << 24;
const REUSE: u32 = 1 << 25;
const ABSOLUTE: u32 = 1 << 26;

/// The words of an operand; `None` for what has no published form (immediates, blocks, physical registers, tuples).
pub fn words(operand: Operand) -> Option<[u32; 2]> {
    let (class, index, modifiers, aux) = match operand.kind() {
        OperandKind::Reg(reg, piece) => (REGISTER, reg.as_u32(), if piece.count == 2 { PAIR } else { 0 }, 0),
        OperandKind::Const { bank, offset } => (SYMBOL, offset, 0, CONST_BANK | u32::from(bank)),
        OperandKind::Symbol(symbol) => (SYMBOL, symbol.as_u32(), 0, 0),
        OperandKind::Special(number) => (SPECIAL, u32::from(number), 0, 0),
        OperandKind::Guard { pred, negated } => (SPECIAL, pred.as_u32(), 0, u32::from(negated)),
        _ => return None,
    };
    let flags = [(operand.is_reuse(), REUSE), (operand.is_abs(), ABSOLUTE)];
    let flags: u32 = flags.into_iter().filter(|(on, _)| *on).map(|(_, bit)| bit).sum();
    Some([u32::from(operand.is_neg()) << 31 | class << 28 | modifiers | index, aux | flags])
}

pub(super) fn section() -> String {
    let types = TYPES.map(|(number, name)| format!("type {number}: {name}"));
    let fields = FIELDS.map(|(word, first, length, name)| {
        let last = first + length - 1;
        let bits = if length == 1 { format!("bit {first}") } else { format!("bits {first}-{last}") };
        format!("word {word}, {bits}: {name}")
    });
    super::titled("Operand words", fields.into_iter().chain(types))
}
