//! `HMMA`, `QMMA`: D = A B + C of floats.

use super::dot::{Adder, Path, Sum};
use super::fragment::{Accumulators, COLUMNS, Factors, ROWS, Tile, check_depth, registers};
use super::number::{BF16, E2M1_BYTE, E2M3, E3M2, E4M3, E5M2, F16, Number, TF32, Term};
use super::sparse::Metadata;
use crate::effect::{Compute, Unsupported};
use crate::exec::host;
use crate::exec::rounding::{HALF, SINGLE};
use crate::operand::{PredSrc, Src, operand};
use crate::state::State;
use oriole_isa::{Field, HmmaType, Inst, MmaAcc, MmaFloat, Opcode, Role, Value};

/// The compiled form of `inst`.
pub(super) fn compile(inst: &Inst) -> Result<Compute, Unsupported> {
    let (a_format, b_format) = formats(inst)?;
    let [a, b] = [registers(inst, Role::A)?, registers(inst, Role::B)?];
    let [a_negated, b_negated] = [Role::A, Role::B].map(|role| Src::of(inst, role).negated());
    let metadata = metadata(inst, a_format.bits)?;
    check_depth(a.length(ROWS, a_format.bits), b.length(COLUMNS, b_format.bits), metadata.is_some())?;
    let accumulators = FloatAccumulators::of(inst)?;
    let element = move |format: Number, negated: bool| {
        move |bits: u32| if negated { format.term(bits).negated() } else { format.term(bits) }
    };
    Ok(host::compute(move |state: &mut State| {
        let a = a.lines(state, ROWS, a_format.bits, element(a_format, a_negated));
        let places = metadata.map(|metadata| metadata.places(state, a.line(0).len()));
        let factors = Factors { a, b: b.lines(state, COLUMNS, b_format.bits, element(b_format, b_negated)), places };
        let adder = Adder::of(state.identity.arch, Path::Warp, a_format, accumulators.halves);
        let fraction = a_format.fraction + b_format.fraction;
        let mut tile = accumulators.read(state);
        factors.multiply(&mut tile, |a: &[Term], b, _, c| adder.add(a, b, fraction, 0, c));
        accumulators.write(state, tile, adder);
    }))
}

/// The formats of A and B.
pub(super) fn formats(inst: &Inst) -> Result<(Number, Number), Unsupported> {
    if matches!(inst.opcode, Opcode::HMMA | Opcode::HGMMA) {
        let format = match inst.get(Field::HMMA_TYPE) {
            HmmaType::BF16 => BF16,
            HmmaType::TF32 => TF32,
            _ => F16,
        };
        return Ok((format, format));
    }
    let format = |field| match inst.get(field) {
        MmaFloat::E4M3 => Ok(E4M3),
        MmaFloat::E5M2 => Ok(E5M2),
        MmaFloat::E3M2 => Ok(E3M2),
        MmaFloat::E2M3 => Ok(E2M3),
        MmaFloat::E2M1 => Ok(E2M1_BYTE),
        other => Err(Unsupported(format!("matrix elements of float type {other}"))),
    };
    Ok((format(Field::FLOAT_A)?, format(Field::FLOAT_B)?))
}

/// Where the metadata are, if A, with elements of `bits` bits, is sparse.
pub(super) fn metadata(inst: &Inst, bits: usize) -> Result<Option<Metadata>, Unsupported> {
    if !inst.get(Field::MMA_SP) {
        return Ok(None);
    }
    // With scales, the metadata are in the register before them.
    let role = if inst.opcode.position(Role::Meta).is_some() { Role::Meta } else { Role::ScaleA };
    let register = registers(inst, role)?.first;
    let selector = match operand(inst, Role::MetaId).value {
        Value::Imm(selector) => selector as usize,
        _ => 0,
    };
    Ok(Some(Metadata { register, selector, bits }))
}

/// C and D of an instruction on floats.
#[derive(Clone, Copy, Debug)]
pub(super) struct FloatAccumulators {
    /// D.
    to: Accumulators,
    /// C.
    from: Accumulators,
    /// The sign of C changes.
    negated: bool,
    /// False where C counts as zero.
    counts: PredSrc,
    /// They are `f16`.
    pub(super) halves: bool,
    /// Results are finite numbers.
    finite: bool,
}

impl FloatAccumulators {
    /// The operands `D`, `C` and `PA` of `inst`.
    pub(super) fn of(inst: &Inst) -> Result<Self, Unsupported> {
        let has_type = inst.opcode.has_field(Field::MMA_ACC);
        let halves = has_type && inst.get(Field::MMA_ACC) == MmaAcc::F16;
        Ok(FloatAccumulators {
            to: Accumulators::new(registers(inst, Role::D)?, halves),
            from: Accumulators::new(registers(inst, Role::C)?, halves),
            negated: Src::of(inst, Role::C).negated(),
            counts: PredSrc::of(inst, Role::PA),
            halves,
            finite: inst.get(Field::SATFINITE),
        })
    }

    /// Those of eight columns.
    pub(super) fn tile(self, tile: usize) -> Self {
        FloatAccumulators { to: self.to.tile(tile), from: self.from.tile(tile), ..self }
    }

    /// C.
    pub(super) fn read(self, state: &State) -> Tile {
        if self.counts.mask(state) == 0 {
            return [[0; COLUMNS]; ROWS];
        }
        let sign = match (self.negated, self.halves) {
            (false, _) => 0,
            (true, true) => HALF.sign(),
            (true, false) => SINGLE.sign(),
        };
        self.from.read(state).map(|row| row.map(|c| c ^ sign))
    }

    /// Writes D.
    pub(super) fn write(self, state: &mut State, mut tile: Tile, adder: Adder) {
        if self.finite {
            tile = tile.map(|row| row.map(|value| finite(value, adder.sum)));
        }
        self.to.write(state, &tile);
    }
}

/// An infinity becomes the greatest finite number, a NaN zero.
pub(super) fn finite(bits: u32, sum: Sum) -> u32 {
    let format = if sum == Sum::Half { HALF } else { SINGLE };
    let (sign, magnitude) = (bits & format.sign(), bits & (format.sign() - 1));
    match format.is_nan(bits) {
        true => 0,
        false => sign | magnitude.min(format.greatest()),
    }
}
