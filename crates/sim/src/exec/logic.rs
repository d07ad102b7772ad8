//! Bits: logic, shifts, bytes, bit counts, selection and moves.

use super::float::refuse;
use super::host;
use super::integer::is_written;
use super::lanewise::{int1, int2, int2_if, int3, mask_of, sources};
use crate::effect::{Compute, Unsupported};
use crate::lanes::{Mask, map3};
use crate::operand::{Dst, PredSrc, Src, operand};
use crate::state::State;
use oriole_isa::{Field, Inst, Opcode, Prmt, Role, ShiftDir, ShiftType, Sign, Value};

/// The compiled form of `inst` if it is of this family.
pub(super) fn compile(inst: &Inst, opcode: Opcode) -> Result<Option<Compute>, Unsupported> {
    Ok(Some(match opcode {
        Opcode::MOV => mov(inst),
        Opcode::SEL => select(inst),
        Opcode::LOP3 => lop3(inst)?,
        Opcode::SHF => {
            refuse(inst, &[Field::SHIFT_XOR])?;
            shift(inst)
        }
        Opcode::PRMT => permute(inst),
        Opcode::POPC => int1(inst, u32::count_ones),
        Opcode::BREV => int1(inst, u32::reverse_bits),
        Opcode::FLO => find_leading_one(inst)?,
        Opcode::SGXT => extend(inst),
        Opcode::BMSK => {
            let clamp = !inst.get(Field::WRAP);
            int2(inst, move |from, count| bit_mask(from, count, clamp))
        }
        _ => return Ok(None),
    }))
}

/// `MOV`, into the lanes of each quad that the immediate names.
fn mov(inst: &Inst) -> Compute {
    let lanes = match operand(inst, Role::Lanes).value {
        Value::Imm(lanes) if lanes & 15 != 15 => (lanes & 15) as Mask * 0x1111_1111,
        _ => return int1(inst, |b| b),
    };
    let (d, _, b, _) = sources(inst);
    host::compute(move |state: &mut State| {
        let (all, value) = (state.active, b.int(state));
        state.active = all & lanes;
        d.set(state, &value);
        state.active = all;
    })
}

/// `SEL`.
fn select(inst: &Inst) -> Compute {
    int2_if(inst, |a, b, first| if first { a } else { b })
}

/// An immediate that tells which function an instruction applies.
fn table(inst: &Inst, role: Role) -> Result<u8, Unsupported> {
    match operand(inst, role).value {
        Value::Imm(bits) => Ok(bits as u8),
        _ => Err(Unsupported(format!("{} without its table", inst.opcode.name()))),
    }
}

/// A truth table of three variables, each row spread over a word. Bit `4a + 2b + c` of the table is the
/// result for `a`, `b`, `c`.
#[derive(Clone, Copy)]
pub(super) struct Truth([u32; 8]);

impl Truth {
    /// The table that the immediate in `role` holds.
    pub(super) fn of(inst: &Inst, role: Role) -> Result<Self, Unsupported> {
        let bits = table(inst, role)?;
        Ok(Truth(std::array::from_fn(|row| u32::from(bits >> row & 1).wrapping_neg())))
    }

    /// The function applied to each bit.
    #[inline(always)]
    pub(super) fn apply(&self, a: u32, b: u32, c: u32) -> u32 {
        let choose = |by: u32, clear: u32, set: u32| clear ^ (by & (clear ^ set));
        let t = &self.0;
        let low = choose(b, choose(c, t[0], t[1]), choose(c, t[2], t[3]));
        let high = choose(b, choose(c, t[4], t[5]), choose(c, t[6], t[7]));
        choose(a, low, high)
    }
}

/// `LOP3`; `PD` tells whether the result has any bit.
fn lop3(inst: &Inst) -> Result<Compute, Unsupported> {
    let truth = Truth::of(inst, Role::Lut)?;
    let pd = Dst::of(inst, Role::PD);
    if !is_written(pd) {
        return Ok(int3(inst, move |a, b, c| truth.apply(a, b, c)));
    }
    let (d, a, b, c) = sources(inst);
    let (pa, and) = (PredSrc::of(inst, Role::PA), inst.get(Field::PAND));
    Ok(host::compute(move |state: &mut State| {
        let value = map3(&a.int(state), &b.int(state), &c.int(state), |a, b, c| truth.apply(a, b, c));
        let any = mask_of(&value.map(|v| v != 0));
        let pa = pa.mask(state);
        d.set(state, &value);
        pd.set_mask(state, if and { any & pa } else { any | pa });
    }))
}

/// `SHF`: the pair `C:A` is shifted, and one of its words is the result. A shift of 32-bit type counts to
/// 32, one of 64-bit type to 64; more counts as that, or as the rest with `.W`.
fn shift(inst: &Inst) -> Compute {
    let (wide, signed) = match inst.get(Field::SHIFT_TYPE) {
        ShiftType::S64 => (true, true),
        ShiftType::U64 => (true, false),
        ShiftType::S32 => (false, true),
        _ => (false, false),
    };
    let width = if wide { 64 } else { 32 };
    let wrap = inst.get(Field::WRAP);
    let amount = move |b: u32| if wrap { b & (width - 1) } else { b.min(width) };
    let word = if inst.get(Field::HI) { 32 } else { 0 };
    if let Some(by) = Src::of(inst, Role::B).immediate().map(|by| amount(by as u32)).filter(|&by| by <= 32) {
        return shift_by(inst, by, signed);
    }
    let pair = |a: u32, c: u32| u64::from(c) << 32 | u64::from(a);
    match (inst.get(Field::SHIFT_DIR) == ShiftDir::R, signed) {
        (false, _) => int3(inst, move |a, b, c| (pair(a, c).unbounded_shl(amount(b)) >> word) as u32),
        (true, false) => int3(inst, move |a, b, c| (pair(a, c).unbounded_shr(amount(b)) >> word) as u32),
        (true, true) => int3(inst, move |a, b, c| ((pair(a, c) as i64).unbounded_shr(amount(b)) >> word) as u32),
    }
}

/// `SHF` by a number up to 32 that is known, on words: rotations and shifts are mostly that.
fn shift_by(inst: &Inst, by: u32, signed: bool) -> Compute {
    let rest = 32 - by;
    match (inst.get(Field::SHIFT_DIR) == ShiftDir::R, inst.get(Field::HI)) {
        (true, false) => int3(inst, move |a, _, c| a.unbounded_shr(by) | c.unbounded_shl(rest)),
        (true, true) if signed => int3(inst, move |_, _, c| (c as i32).unbounded_shr(by) as u32),
        (true, true) => int3(inst, move |_, _, c| c.unbounded_shr(by)),
        (false, true) => int3(inst, move |a, _, c| c.unbounded_shl(by) | a.unbounded_shr(rest)),
        (false, false) => int3(inst, move |a, _, _| a.unbounded_shl(by)),
    }
}

/// `PRMT`: the selector is `B`, the bytes are those of `C:A`.
fn permute(inst: &Inst) -> Compute {
    let mode = inst.get(Field::PRMT);
    let bytes = |a: u32, c: u32| u64::from(c) << 32 | u64::from(a);
    if let Some(selector) = Src::of(inst, Role::B).immediate().filter(|_| mode == Prmt::IDX) {
        let bytes = Bytes::of(selector as u32);
        return int3(inst, move |a, _, c| bytes.select(a, c));
    }
    if mode == Prmt::IDX {
        return int3(inst, move |a, selector, c| select_bytes(bytes(a, c), selector));
    }
    int3(inst, move |a, b, c| select_bytes(bytes(a, c), special_selector(mode, b & 3)))
}

/// A selector of `PRMT` that is known: of each byte of the result the source, how far it is shifted, and
/// whether its sign is asked for; each as a mask over the byte.
#[derive(Clone, Copy)]
struct Bytes([(u32, u32, u32); 4]);

impl Bytes {
    fn of(selector: u32) -> Self {
        let all = |condition: bool| u32::from(condition).wrapping_neg();
        Bytes(std::array::from_fn(|i| {
            let nibble = selector >> (4 * i);
            (all(nibble & 4 != 0), 8 * (nibble & 3), all(nibble & 8 != 0))
        }))
    }

    #[inline(always)]
    fn select(&self, a: u32, c: u32) -> u32 {
        let byte = |i: usize| {
            let (from_c, shift, sign) = self.0[i];
            let byte = (a & !from_c | c & from_c) >> shift;
            let signs = (byte >> 7 & 1).wrapping_neg();
            ((byte & !sign | signs & sign) & 0xff) << (8 * i)
        };
        byte(0) | byte(1) | byte(2) | byte(3)
    }
}

/// The bytes that the nibbles of `selector` name; bit 3 of a nibble asks for the byte's sign instead.
fn select_bytes(bytes: u64, selector: u32) -> u32 {
    (0..4).fold(0, |word, i| {
        let nibble = selector >> (4 * i);
        let byte = (bytes >> (8 * (nibble & 7))) as u8;
        let byte = if nibble & 8 != 0 { ((byte as i8) >> 7) as u8 } else { byte };
        word | u32::from(byte) << (8 * i)
    })
}

/// The selector that a special mode of `prmt` stands for, as the table of the PTX manual gives it.
fn special_selector(mode: Prmt, by: u32) -> u32 {
    let index = |i: u32| match mode {
        Prmt::F4E => by + i,
        Prmt::B4E => by.wrapping_sub(i) & 7,
        Prmt::RC8 => by,
        Prmt::ECL => by.max(i),
        Prmt::ECR => by.min(i),
        _ => (by & 1) * 2 + (i & 1),
    };
    (0..4).fold(0, |selector, i| selector | index(i) << (4 * i))
}

/// `FLO`: the position of the highest bit that is set, or that differs from the sign.
fn find_leading_one(inst: &Inst) -> Result<Compute, Unsupported> {
    if is_written(Dst::of(inst, Role::PD)) {
        return Err(Unsupported("FLO with a predicate result".into()));
    }
    let (signed, as_shift) = (inst.get(Field::SIGN) == Sign::S32, inst.get(Field::SH));
    Ok(int1(inst, move |b| {
        let b = if signed && (b as i32) < 0 { !b } else { b };
        match b.leading_zeros() {
            32 => u32::MAX,
            zeros if as_shift => zeros,
            zeros => 31 - zeros,
        }
    }))
}

/// `SGXT`: the low `B` bits of `A`.
fn extend(inst: &Inst) -> Compute {
    let wrap = inst.get(Field::WRAP);
    let signed = inst.get(Field::SIGN) == Sign::S32;
    int2(inst, move |a, b| {
        let unused = 32 - if wrap { b & 31 } else { b.min(32) };
        let top = a.unbounded_shl(unused);
        // Nothing is left of a value of no bits, so its sign is 0 too.
        if signed { (top as i32).unbounded_shr(unused) as u32 } else { top.unbounded_shr(unused) }
    })
}

/// `count` ones from bit `from` on, as the PTX manual defines `bmsk`.
fn bit_mask(from: u32, count: u32, clamp: bool) -> u32 {
    let (start, end) = (from & 31, (from & 31) + (count & 31));
    let below_start = if clamp && from >= 32 { 0 } else { u32::MAX << start };
    let below_end = if clamp && count >= 32 { 0 } else { u32::MAX.unbounded_shl(end) };
    below_start & !below_end
}

/// Lanes where the sign bit of a source is set.
pub(super) fn signs(source: &Src, state: &State) -> Mask {
    mask_of(&source.bits(state).map(|v| v >> 31 != 0))
}
