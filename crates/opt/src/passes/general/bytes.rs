//! Bytes that change places: PRMT, shifts by whole bytes and masks of whole bytes, one behind the other.

use super::bounds::conjunction;
use super::{Cx, Rewrite, constant, mask_of, mov, shift_of, source};
use oriole_isa::{Field, MemSize, Opcode, Prmt, Role, ShiftDir, ShiftType};
use oriole_ori::{BuildError, Inst, Operand};
use smallvec::{SmallVec, smallvec};

/// What gives bytes.
pub(super) const OPCODES: [Opcode; 3] = [Opcode::PRMT, Opcode::SHF, Opcode::LOP3];
/// What may load bytes and halves.
pub(super) const LOADS: [Opcode; 5] = [Opcode::LD, Opcode::LDG, Opcode::LDS, Opcode::LDL, Opcode::LDC];

/// One byte of a result: a byte of an operand, or eight copies of its sign.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Byte {
    pub(super) operand: Operand,
    pub(super) number: u32,
    pub(super) sign: bool,
}

impl Byte {
    const fn zero() -> Byte {
        Byte { operand: Operand::rz(), number: 0, sign: false }
    }

    const fn of(operand: Operand, number: u32) -> Byte {
        Byte { operand, number, sign: false }
    }

    fn is_zero(self) -> bool {
        self.operand.is_zero()
    }
}

/// The bytes that an instruction gives, the lowest first, if it only puts some in their places.
pub(super) fn bytes_of(inst: &Inst) -> Option<[Byte; 4]> {
    let bytes = match inst.opcode {
        Opcode::PRMT => permuted(inst),
        Opcode::SHF => shifted(inst),
        Opcode::LOP3 => masked(inst),
        _ => None,
    }?;
    let plain = bytes.iter().all(|byte| !byte.operand.has_flags());
    plain.then(|| bytes.map(|byte| if byte.is_zero() { Byte::zero() } else { byte }))
}

/// Bytes that a load of fewer than a word has, and whether their sign stands above them.
pub(crate) fn narrow(size: MemSize) -> Option<(u32, bool)> {
    match size {
        MemSize::U8 => Some((1, false)),
        MemSize::S8 => Some((1, true)),
        MemSize::U16 => Some((2, false)),
        MemSize::S16 => Some((2, true)),
        _ => None,
    }
}

/// The bytes of what a load of fewer gives, in terms of its own result: zeros stand above them, or copies of the sign.
fn loaded(value: Operand, load: &Inst) -> Option<[Byte; 4]> {
    if !LOADS.contains(&load.opcode) || value.has_flags() {
        return None;
    }
    let (bytes, signed) = narrow(load.get(Field::MEM_SIZE))?;
    Some(std::array::from_fn(|k| match (k as u32) < bytes {
        true => Byte::of(value, k as u32),
        false if signed => Byte { operand: value, number: bytes - 1, sign: true },
        false => Byte::zero(),
    }))
}

/// From how many bytes what a register has is extended, by zeros or by their sign, if its definition says so.
pub(super) fn extended_from(cx: &Cx<'_>, value: Operand) -> Option<(u32, bool)> {
    let def = cx.def_of(value)?;
    let bytes = loaded(value, def).or_else(|| bytes_of(def))?;
    [(1, false), (2, false), (1, true), (2, true)].into_iter().find(|(count, signed)| {
        let (own, above) = bytes.split_at(*count as usize);
        let last = own[own.len() - 1];
        above.iter().all(|byte| match signed {
            true => *byte == Byte { sign: true, ..last },
            false => byte.is_zero(),
        })
    })
}

/// PRMT with a constant selector.
fn permuted(inst: &Inst) -> Option<[Byte; 4]> {
    if inst.get(Field::PRMT) != Prmt::IDX {
        return None;
    }
    let (a, c) = (source(inst, Role::A)?, source(inst, Role::C)?);
    let selector = constant(source(inst, Role::B)?)?;
    Some(std::array::from_fn(|k| {
        let nibble = selector >> (4 * k) & 15;
        let operand = if nibble & 4 == 0 { a } else { c };
        Byte { operand, number: nibble & 3, sign: nibble & 8 != 0 }
    }))
}

/// A shift of one word, by a multiple of eight.
fn shifted(inst: &Inst) -> Option<[Byte; 4]> {
    let (a, c) = (source(inst, Role::A)?, source(inst, Role::C)?);
    let bits = constant(source(inst, Role::B)?)?;
    let words = matches!(inst.get(Field::SHIFT_TYPE), ShiftType::U32 | ShiftType::S32);
    if bits % 8 != 0 || bits >= 32 || !words {
        return None;
    }
    let signed = inst.get(Field::SHIFT_TYPE) == ShiftType::S32;
    let by = (bits / 8) as usize;
    match (inst.get(Field::SHIFT_DIR), inst.get(Field::HI)) {
        (ShiftDir::L, false) if c.is_zero() => Some(std::array::from_fn(|k| match k.checked_sub(by) {
            Some(from) => Byte::of(a, from as u32),
            None => Byte::zero(),
        })),
        (ShiftDir::R, true) if a.is_zero() => Some(std::array::from_fn(|k| match k + by {
            from @ 0..4 => Byte::of(c, from as u32),
            _ if signed => Byte { operand: c, number: 3, sign: true },
            _ => Byte::zero(),
        })),
        _ => None,
    }
}

/// A mask of whole bytes.
fn masked(inst: &Inst) -> Option<[Byte; 4]> {
    let (a, mask) = conjunction(inst)?;
    let mask = mask.to_le_bytes();
    let whole = mask.iter().all(|byte| matches!(byte, 0 | 0xff));
    whole.then(|| std::array::from_fn(|k| if mask[k] == 0 { Byte::zero() } else { Byte::of(a, k as u32) }))
}

/// Bytes that come from another such instruction come from that one's sources, if those are two at most.
pub(super) fn permutation(cx: &mut Cx<'_>, inst: &Inst) -> Result<Option<Rewrite>, BuildError> {
    Ok(merged(cx, inst))
}

fn merged(cx: &Cx<'_>, inst: &Inst) -> Option<Rewrite> {
    let outer = bytes_of(inst)?;
    if let Some(copy) = extended_before(cx, inst, outer) {
        return Some(smallvec![copy]);
    }
    let mut inner: SmallVec<[(Operand, [Byte; 4]); 2]> = SmallVec::new();
    for byte in outer {
        let known = inner.iter().any(|(operand, _)| *operand == byte.operand);
        if let (false, Some(first)) = (known, cx.def_of(byte.operand)) {
            inner.extend(bytes_of(first).map(|bytes| (byte.operand, bytes)));
        }
    }
    let bytes = seen_through(cx, outer, &inner).filter(|bytes| *bytes != outer)?;
    let new = placed(source(inst, Role::D)?, bytes)?;
    cx.is_legal(&new).then(|| smallvec![new])
}

/// The bytes of operands that are known to come from others, which may be read later.
fn seen_through(cx: &Cx<'_>, mut bytes: [Byte; 4], known: &[(Operand, [Byte; 4])]) -> Option<[Byte; 4]> {
    for byte in &mut bytes {
        if let Some((_, below)) = known.iter().find(|(operand, _)| *operand == byte.operand) {
            let below = below[byte.number as usize];
            if !cx.is_stable(below.operand) {
                return None;
            }
            *byte = Byte { sign: (byte.sign | below.sign) && !below.is_zero(), ..below };
        }
    }
    Some(bytes)
}

/// Who extends what a load has extended reads it as it is.
fn extended_before(cx: &Cx<'_>, inst: &Inst, bytes: [Byte; 4]) -> Option<Inst> {
    let value = bytes[0].operand;
    let own = loaded(value, cx.def_of(value)?)?;
    let is_whole = seen_through(cx, bytes, &[(value, own)])? == own;
    Some(mov(source(inst, Role::D)?, value)).filter(|_| is_whole)
}

/// The instruction that puts bytes in their places, as simple as there is one.
fn placed(d: Operand, bytes: [Byte; 4]) -> Option<Inst> {
    let mut sources: SmallVec<[Operand; 4]> = SmallVec::new();
    for byte in bytes.iter().filter(|byte| !byte.is_zero()) {
        if !sources.contains(&byte.operand) {
            sources.push(byte.operand);
        }
    }
    let has_zeros = bytes.iter().any(|byte| byte.is_zero());
    if sources.len() + usize::from(has_zeros) > 2 {
        return None;
    }
    let first = *sources.first().unwrap_or(&Operand::rz());
    if let ([] | [_], Some(simple)) = (&sources[..], simple(d, first, bytes)) {
        return Some(simple);
    }
    let selector = bytes.iter().rev().fold(0, |selector, byte| {
        let place = if byte.operand == first { 0 } else { 4 };
        selector << 4 | place | byte.number | u32::from(byte.sign) << 3
    });
    let mut new = Inst::neutral(Opcode::PRMT, std::iter::once(Field::PRMT.is(Prmt::IDX)).collect());
    new.set_role(Role::D, d);
    new.set_role(Role::A, first);
    new.set_role(Role::B, Operand::imm(selector));
    new.set_role(Role::C, sources.get(1).copied().unwrap_or(Operand::rz()));
    Some(new)
}

/// The copy, shift or mask of one word that gives the bytes, if there is one.
fn simple(d: Operand, word: Operand, bytes: [Byte; 4]) -> Option<Inst> {
    let at = |k: i32| if (0..4).contains(&k) { Byte::of(word, k as u32) } else { Byte::zero() };
    let is_moved = |by: i32| (0..4).all(|k| bytes[k as usize] == at(k - by));
    if word.is_zero() || is_moved(0) {
        return Some(mov(d, word));
    }
    if let Some(by) = (-3..=3).find(|by| is_moved(*by)) {
        let dir = if by > 0 { ShiftDir::L } else { ShiftDir::R };
        return Some(shift_of(d, word, dir, 8 * by.unsigned_abs()));
    }
    let is_masked = (0..4).all(|k| bytes[k].is_zero() || bytes[k] == at(k as i32));
    is_masked.then(|| {
        let mask = u32::from_le_bytes(bytes.map(|byte| if byte.is_zero() { 0 } else { 0xff }));
        mask_of(d, word, mask)
    })
}
