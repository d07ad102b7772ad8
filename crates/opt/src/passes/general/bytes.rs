//! Permutations of bytes: two PRMTs in one.

use super::{Cx, Rewrite, source};
use oriole_isa::{Field, Opcode, Prmt, Role};
use oriole_ori::{BuildError, Inst, Operand};
use smallvec::{SmallVec, smallvec};

/// One byte of a result: a byte of an operand, or eight copies of its sign.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Byte {
    operand: Operand,
    number: u32,
    sign: bool,
}

/// The bytes that a PRMT with a constant selector gives, the lowest first.
fn bytes_of(inst: &Inst) -> Option<[Byte; 4]> {
    if inst.opcode != Opcode::PRMT || inst.get(Field::PRMT) != Prmt::IDX {
        return None;
    }
    let (a, c) = (source(inst, Role::A)?, source(inst, Role::C)?);
    let selector = super::constant(source(inst, Role::B)?)?;
    Some(std::array::from_fn(|k| {
        let nibble = selector >> (4 * k) & 15;
        let operand = if nibble & 4 == 0 { a } else { c };
        Byte { operand, number: nibble & 3, sign: nibble & 8 != 0 }
    }))
}

/// A PRMT whose bytes come from another PRMT takes them from that one's sources, if those are two at most.
pub(super) fn permutation(cx: &mut Cx<'_>, inst: &Inst) -> Result<Option<Rewrite>, BuildError> {
    Ok(merged(cx, inst))
}

fn merged(cx: &Cx<'_>, inst: &Inst) -> Option<Rewrite> {
    let outer = bytes_of(inst)?;
    let mut inner: SmallVec<[(Operand, [Byte; 4]); 2]> = SmallVec::new();
    for byte in outer {
        let known = inner.iter().any(|(operand, _)| *operand == byte.operand);
        if let (false, Some(first)) = (known, cx.def_of(byte.operand)) {
            inner.extend(bytes_of(first).map(|bytes| (byte.operand, bytes)));
        }
    }
    let looked_through = |byte: Byte| match inner.iter().find(|(operand, _)| *operand == byte.operand) {
        Some((_, bytes)) => {
            let below = bytes[byte.number as usize];
            cx.is_stable(below.operand).then_some(Byte { sign: byte.sign | below.sign, ..below })
        }
        None => Some(byte),
    };
    let mut bytes = outer;
    for byte in &mut bytes {
        *byte = looked_through(*byte)?;
    }
    let mut sources: SmallVec<[Operand; 4]> = SmallVec::new();
    for byte in bytes {
        if !sources.contains(&byte.operand) {
            sources.push(byte.operand);
        }
    }
    if bytes == outer || sources.len() > 2 {
        return None;
    }
    // The zero register stands last, as it does in what lowering makes.
    sources.sort_by_key(|operand| *operand == Operand::rz());
    let selector = bytes.iter().rev().fold(0, |selector, byte| {
        let place = if byte.operand == sources[0] { 0 } else { 4 };
        selector << 4 | place | byte.number | u32::from(byte.sign) << 3
    });
    let mut new = inst.clone();
    new.operands[inst.opcode.position(Role::A)?] = sources[0];
    new.operands[inst.opcode.position(Role::B)?] = Operand::imm(selector);
    new.operands[inst.opcode.position(Role::C)?] = sources.get(1).copied().unwrap_or(Operand::rz());
    cx.is_legal(&new).then(|| smallvec![new])
}
