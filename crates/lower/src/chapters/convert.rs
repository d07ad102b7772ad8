//! `cvt`: conversions among integers and floats of all widths.

use super::alu::{flag, lut};
use super::float32::ONE;
use super::integer::operands;
use super::wide::Halves;
use super::{Chapter, convert_packed, unknown};
use crate::error::{Lowered, invalid};
use crate::function::{FnLower, Wide};
use oriole_isa::{Field, Opcode, ffmt, half_fmt, ifmt, pack, pack_dst, pack_src, rnd, rnd_int, swizzle};
use oriole_ori::Operand;
use oriole_ptx::ast::{self, Instruction, Opcode as Ptx, Rounding, ScalarType, Word};

/// The opcodes of this file.
pub(super) const CHAPTER: Chapter = &[(Ptx::Cvt, cvt)];

/// Codes of the float formats.
const FLOAT_FORMATS: [(ScalarType, u8); 4] = [
    (ScalarType::F16, ffmt::F16),
    (ScalarType::F32, ffmt::F32),
    (ScalarType::F64, ffmt::F64),
    (ScalarType::Bf16, ffmt::BF16),
];

/// Codes of the integer formats, by width and signedness.
const INT_FORMATS: [(u32, bool, u8); 8] = [
    (8, false, ifmt::U8),
    (8, true, ifmt::S8),
    (16, false, ifmt::U16),
    (16, true, ifmt::S16),
    (32, false, ifmt::U32),
    (32, true, ifmt::S32),
    (64, false, ifmt::U64),
    (64, true, ifmt::S64),
];

/// A conversion taken apart.
#[derive(Clone, Copy, Debug)]
struct Conversion {
    to: ScalarType,
    from: ScalarType,
    rounding: Option<Rounding>,
    ftz: bool,
    sat: bool,
}

impl Conversion {
    /// Value of [`Field::Rnd`].
    fn rnd(self) -> u8 {
        match self.rounding {
            Some(Rounding::Rz) => rnd::RZ,
            Some(Rounding::Rm) => rnd::RM,
            Some(Rounding::Rp) => rnd::RP,
            _ => rnd::RN,
        }
    }

    /// Value of [`Field::RndInt`] where the conversion rounds to an integer.
    fn rnd_int(self) -> Option<u8> {
        match self.rounding? {
            Rounding::Rni => Some(rnd_int::RN),
            Rounding::Rmi => Some(rnd_int::FLOOR),
            Rounding::Rpi => Some(rnd_int::CEIL),
            Rounding::Rzi => Some(rnd_int::TRUNC),
            _ => None,
        }
    }
}

fn float_format(ty: ScalarType) -> Option<u8> {
    FLOAT_FORMATS.iter().find(|(known, _)| *known == ty).map(|(_, code)| *code)
}

fn int_format(ty: ScalarType) -> Option<u8> {
    let found = INT_FORMATS.iter().find(|(bits, signed, _)| *bits == ty.bits() && *signed == ty.is_signed());
    found.filter(|_| !ty.is_float()).map(|(.., code)| *code)
}

fn cvt(f: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let (Some(to), Some(from)) = (inst.ty(0), inst.ty(1)) else {
        return Err(invalid(inst.span, "a conversion needs two types"));
    };
    let how = Conversion { to, from, rounding: inst.rounding(), ftz: inst.has(Word::Ftz), sat: inst.has(Word::Sat) };
    let special = inst.has(Word::Relu) || inst.has(Word::Satfinite) || inst.has(Word::Pack);
    let known = |ty| float_format(ty).is_some() || int_format(ty).is_some();
    if special || !known(to) || !known(from) {
        return convert_packed::cvt(f, inst);
    }
    let [d, a] = operands(inst)?;
    match (float_format(to), float_format(from)) {
        (None, None) => f.int_to_int(how, d, a),
        (None, Some(format)) => f.float_to_int(how, format, d, a),
        (Some(format), None) => f.int_to_float(how, format, d, a),
        (Some(_), Some(_)) => f.float_to_float(inst, how, d, a),
    }
}

impl FnLower<'_, '_> {
    /// Writes a value of the type to a register that may be wider: PTX extends it.
    fn narrow_result(&mut self, ty: ScalarType, d: &ast::Operand, value: Operand) -> Lowered {
        let declared = self.declared_type(d)?.map_or(32, ScalarType::bits);
        if declared == 64 {
            let d = self.dst64_direct(d)?;
            let word = self.extended(value, ty.bits(), ty.is_signed())?;
            self.mov(d.lo, word)?;
            return self.sign_word(d.hi, word, ty.is_signed());
        }
        let d = self.dst(d)?;
        if ty.bits() < declared.max(16) && ty.bits() < 32 {
            let word = self.extended(value, ty.bits(), ty.is_signed())?;
            return self.mov(d, word);
        }
        self.mov(d, value)
    }

    /// `d` = the word above `low` when it is extended to 64 bits.
    fn sign_word(&mut self, d: Operand, low: Operand, signed: bool) -> Lowered {
        if signed { self.shift_right(true, d, low, Operand::imm(31)) } else { self.mov(d, Operand::rz()) }
    }

    // ---- integers ----

    fn int_to_int(&mut self, how: Conversion, d: &ast::Operand, a: &ast::Operand) -> Lowered {
        let (to, from) = (how.to, how.from);
        if from.bits() == 64 {
            let mut value = self.src64(a)?;
            if how.sat {
                value = self.clamp_wide(to, from, value)?;
            }
            if to.bits() == 64 {
                let d = self.dst64_direct(d)?;
                return self.mov64(d.pair, value);
            }
            return self.narrow_result(to, d, value.lo);
        }
        let value = self.int_word(a)?;
        let widens = to.bits() > from.bits() || how.sat || to.bits() == 64;
        let mut value = if widens { self.extended(value, from.bits(), from.is_signed())? } else { value };
        if how.sat {
            value = self.clamp_word(to, from, value)?;
        }
        if to.bits() < 64 {
            return self.narrow_result(to, d, value);
        }
        let d = self.dst64_direct(d)?;
        let negative = from.is_signed() && (to.is_signed() || !how.sat);
        let high = self.temp()?;
        self.sign_word(high, value, negative)?;
        self.mov(d.lo, value)?;
        self.mov(d.hi, high)
    }

    /// The low word of a source whose register may be wider than its type.
    fn int_word(&mut self, a: &ast::Operand) -> Lowered<Operand> {
        if self.declared_type(a)?.is_some_and(|ty| ty.bits() == 64) {
            return Ok(self.src64(a)?.lo);
        }
        self.src(a)
    }

    /// The value, extended to 32 bits, clamped to the range of `to`.
    fn clamp_word(&mut self, to: ScalarType, from: ScalarType, mut value: Operand) -> Lowered<Operand> {
        let (from_low, from_high) = range(from);
        let (to_low, to_high) = range(to);
        if from_low < to_low {
            let raised = self.temp()?;
            self.imnmx(true, false, raised, value, Operand::imm(to_low as u32))?;
            value = raised;
        }
        if from_high > to_high {
            let lowered = self.temp()?;
            self.imnmx(from.is_signed(), true, lowered, value, Operand::imm(to_high as u32))?;
            value = lowered;
        }
        Ok(value)
    }

    fn clamp_wide(&mut self, to: ScalarType, from: ScalarType, mut value: Wide) -> Lowered<Wide> {
        let (from_low, from_high) = range(from);
        let (to_low, to_high) = range(to);
        if from_low < to_low {
            let (raised, d) = self.temp_wide()?;
            self.wide_minmax(true, false, d, value, Wide::of_bits(to_low as u64))?;
            value = raised;
        }
        if from_high > to_high {
            let (lowered, d) = self.temp_wide()?;
            self.wide_minmax(from.is_signed(), true, d, value, Wide::of_bits(to_high as u64))?;
            value = lowered;
        }
        Ok(value)
    }

    // ---- between integers and floats ----

    /// A float source of any format as an operand.
    fn float_source(&mut self, ty: ScalarType, a: &ast::Operand) -> Lowered<Operand> {
        match ty {
            ScalarType::F64 => {
                let wide = self.src_f64(a)?;
                self.in_pair(wide)
            }
            ScalarType::F32 => self.src_f32(a),
            _ => {
                let value = self.src(a)?;
                self.in_reg(value)
            }
        }
    }

    fn float_to_int(&mut self, how: Conversion, format: u8, d: &ast::Operand, a: &ast::Operand) -> Lowered {
        let to = how.to;
        let code = int_format(to).ok_or_else(|| invalid(self.span(), "no such integer format"))?;
        let mut a = self.float_source(how.from, a)?;
        // The 64-bit forms give the answer for NaN that PTX asks for, and cannot flush, by themselves.
        let narrow = to.bits() < 64;
        if how.ftz && !narrow {
            a = self.f32_scaled(a, ONE, true)?;
        }
        let fields = [
            (Field::DstInt, code),
            (Field::SrcFmt, format),
            (Field::RndInt, how.rnd_int().unwrap_or(rnd_int::TRUNC)),
            flag(Field::Ntz, narrow && how.from != ScalarType::F64),
            flag(Field::Ftz, narrow && how.ftz),
        ];
        if !narrow {
            let d = self.dst64_direct(d)?;
            return self.op1(Opcode::F2I, &fields, d.whole(), a);
        }
        if to.bits() == 8 || self.declared_type(d)?.is_some_and(|ty| ty.bits() > to.bits()) {
            let value = self.temp()?;
            self.op1(Opcode::F2I, &fields, value, a)?;
            return self.narrow_result(to, d, value);
        }
        let d = self.dst(d)?;
        self.op1(Opcode::F2I, &fields, d, a)
    }

    fn int_to_float(&mut self, how: Conversion, format: u8, d: &ast::Operand, a: &ast::Operand) -> Lowered {
        let code = int_format(how.from).ok_or_else(|| invalid(self.span(), "no such integer format"))?;
        let fields = [(Field::DstFmt, format), (Field::SrcInt, code), (Field::Rnd, how.rnd())];
        let a = if how.from.bits() == 64 {
            let wide = self.src64(a)?;
            self.in_pair(wide)?
        } else if how.from.bits() < 32 {
            // Narrow sources have no form with a constant.
            let word = self.int_word(a)?;
            self.in_reg(word)?
        } else {
            self.int_word(a)?
        };
        self.float_result(how, d, |f, to| f.op1(Opcode::I2F, &fields, to, a))
    }

    // ---- floats ----

    /// Emits a conversion to a float and clamps its result to [0, 1] where `.sat` asks for it.
    fn float_result(
        &mut self,
        how: Conversion,
        d: &ast::Operand,
        convert: impl FnOnce(&mut Self, Operand) -> Lowered,
    ) -> Lowered {
        if how.to == ScalarType::F64 {
            let d = self.dst64_direct(d)?;
            if !how.sat {
                return convert(self, d.whole());
            }
            let value = self.temp_pair()?;
            convert(self, value)?;
            let wide = value.as_reg().map_or(Wide::of_bits(0), Wide::of_pair);
            return self.clamp_double(d.into(), wide);
        }
        if !how.sat {
            let d = self.dst(d)?;
            return convert(self, d);
        }
        let value = self.temp()?;
        convert(self, value)?;
        let d = self.dst(d)?;
        self.clamp_float(how, d, value)
    }

    /// `d` = the single or half clamped to [0, 1]; NaN becomes 0.
    fn clamp_float(&mut self, how: Conversion, d: Operand, value: Operand) -> Lowered {
        if how.to == ScalarType::F32 {
            let ftz = how.ftz && how.from == ScalarType::F32;
            let fields = [flag(Field::Sat, true), flag(Field::Ftz, ftz)];
            return self.op2(Opcode::FADD, &fields, d, Operand::rz(), value);
        }
        let low = [(Field::SwzA, swizzle::H0_H0), flag(Field::Sat, true)];
        self.op2(Opcode::HADD2, &low, d, value, Operand::rz().neg())
    }

    /// `d` = the double clamped to [0, 1]; NaN becomes 0.
    fn clamp_double(&mut self, d: Halves, value: Wide) -> Lowered {
        let (raised, raised_d) = self.temp_wide()?;
        self.f64_choose(false, raised_d, Wide::of_bits(0), value)?;
        self.f64_choose(true, d, raised, Wide::of_bits(0x3ff0_0000_0000_0000))
    }

    fn float_to_float(&mut self, inst: &Instruction, how: Conversion, d: &ast::Operand, a: &ast::Operand) -> Lowered {
        use ScalarType::{Bf16, F16, F32, F64};
        let a = self.float_source(how.from, a)?;
        if how.to == how.from {
            return self.same_format(inst, how, d, a);
        }
        match (how.to, how.from) {
            (F32, F16) => self.float_result(how, d, |f, to| {
                let fields = [flag(Field::HalfF32, true), (Field::SwzB, swizzle::H0_H0)];
                f.op2(Opcode::HADD2, &fields, to, Operand::rz().neg(), a)
            }),
            (F32, Bf16) if !how.ftz => self.float_result(how, d, |f, to| f.shift_left(to, a, Operand::imm(16))),
            (F16 | Bf16, F32) if packs(how) && self.has(Opcode::F2FP) => {
                self.float_result(how, d, |f, to| f.pack_single(how, to, a))
            }
            (F32, F64) => self.float_result(how, d, |f, to| f.shorten(to, a, how.rnd(), how.ftz)),
            (F64, F32) if how.ftz => self.float_result(how, d, |f, to| {
                let flushed = f.f32_scaled(a, ONE, true)?;
                f.float_convert(Conversion { ftz: false, ..how }, to, flushed)
            }),
            _ => self.float_result(how, d, |f, to| f.float_convert(how, to, a)),
        }
    }

    /// `F2F`
    fn float_convert(&mut self, how: Conversion, d: Operand, a: Operand) -> Lowered {
        let (Some(to), Some(from)) = (float_format(how.to), float_format(how.from)) else {
            return Err(invalid(self.span(), "no such float format"));
        };
        let ftz = how.ftz && (how.to == ScalarType::Bf16 || how.from == ScalarType::Bf16);
        let fields = [(Field::DstFmt, to), (Field::SrcFmt, from), (Field::Rnd, how.rnd()), flag(Field::Ftz, ftz)];
        self.op1(Opcode::F2F, &fields, d, a)
    }

    /// `F2FP` of one single into the low half.
    fn pack_single(&mut self, how: Conversion, d: Operand, a: Operand) -> Lowered {
        let format = if how.to == ScalarType::F16 { pack_dst::F16 } else { pack_dst::BF16 };
        let fields = [
            (Field::PackDst, format),
            (Field::PackSrc, pack_src::F32),
            (Field::Pack, pack::PACK_AB),
            (Field::Rnd, how.rnd()),
        ];
        self.op2(Opcode::F2FP, &fields, d, Operand::rz(), a)
    }

    /// Rounding to an integer, flushing, clamping, or nothing.
    fn same_format(&mut self, inst: &Instruction, how: Conversion, d: &ast::Operand, a: Operand) -> Lowered {
        let code = float_format(how.to).ok_or_else(|| unknown(self, inst))?;
        if let Some(rounding) = how.rnd_int() {
            let ftz = how.ftz && how.to == ScalarType::F32;
            let fields = [(Field::SrcFmt, code), (Field::RndInt, rounding), flag(Field::Ftz, ftz)];
            return self.float_result(how, d, |f, to| f.op1(Opcode::FRND, &fields, to, a));
        }
        match how.to {
            ScalarType::F64 => {
                let value = a.as_reg().map_or(Wide::of_bits(0), Wide::of_pair);
                let d = self.dst64_direct(d)?;
                if how.sat { self.clamp_double(d.into(), value) } else { self.mov64(d.pair, value) }
            }
            ScalarType::F32 if how.sat => {
                let d = self.dst(d)?;
                self.clamp_float(how, d, a)
            }
            ScalarType::F32 if how.ftz => {
                let d = self.dst(d)?;
                self.op2(Opcode::FADD, &[flag(Field::Ftz, true)], d, a, Operand::rz().neg())
            }
            ScalarType::F32 => {
                let d = self.dst(d)?;
                self.mov(d, a)
            }
            ScalarType::F16 => {
                let fields = [(Field::SwzA, swizzle::H0_H0), flag(Field::Sat, how.sat)];
                let d = self.dst(d)?;
                self.op2(Opcode::HADD2, &fields, d, a, Operand::rz().neg())
            }
            _ => {
                let fields = [(Field::HalfFmt, half_fmt::BF16_V2), (Field::SwzC, swizzle::H0_H0)];
                let d = self.dst(d)?;
                self.op3(Opcode::HFMA2, &fields, d, [Operand::rz().neg(), Operand::rz(), a])
            }
        }
    }

    /// `cvt.rna.tf32.f32`: 13 bits are rounded off, ties away from zero; infinities and NaNs stay.
    pub(super) fn round_tf32(&mut self, d: Operand, a: Operand, satfinite: bool) -> Lowered {
        const INFINITY: u32 = 0x7f80_0000;
        const KEPT: u32 = 0xffff_e000;
        let a = self.in_reg(a)?;
        let special = self.f32_test(oriole_isa::fcmp::GEU, a.abs(), INFINITY, false)?;
        let raised = self.sum(a, Operand::imm(0x1000))?;
        let rounded = self.chosen(a, raised, special)?;
        if !satfinite {
            return self.lop2(d, lut::AND, rounded, Operand::imm(KEPT));
        }
        let rounded = self.logic(lut::AND, rounded, Operand::imm(KEPT))?;
        let infinite = self.f32_test(oriole_isa::fcmp::GEU, rounded.abs(), INFINITY, false)?;
        let below = self.sum(rounded, Operand::imm(KEPT))?;
        self.select(d, below, rounded, infinite)
    }
}

/// Whether the packing unit does the conversion of a single to a half: it rounds to nearest and
/// toward zero, and flushes nothing for bf16.
fn packs(how: Conversion) -> bool {
    matches!(how.rnd(), rnd::RN | rnd::RZ) && !(how.ftz && how.to == ScalarType::Bf16)
}

/// Least and greatest value of an integer type.
fn range(ty: ScalarType) -> (i128, i128) {
    let bits = ty.bits();
    if ty.is_signed() { (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1) } else { (0, (1i128 << bits) - 1) }
}
