//! What an arithmetic instruction becomes: a function of its sources; and the integers and elements in their bits.

use oriole_ptx::ast::{Instruction, ScalarType};
use smallvec::{SmallVec, smallvec};

/// Bits of one operand, zero-extended from its type's width.
pub(crate) type Bits = u128;

/// What an instruction computes from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sources<'a> {
    /// The source operands in order; the elements of a `{…}` operand follow one another. A `!p` is
    /// complemented already; the sign of `-r` and the lanes of `r.b0` and `r.h1` are left to the chapter,
    /// which gets the whole register. An absent source (`_`) is 0.
    pub(crate) values: &'a [Bits],
    /// The carry flag `CC.CF` before the instruction; after a subtraction it says "no borrow".
    pub(crate) carry: bool,
}

/// What an instruction computes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Results {
    /// The destinations in order: both of `p|q`, all elements of `{…}`. Zero-extended from the
    /// width of their types.
    pub(crate) values: SmallVec<[Bits; 2]>,
    /// The carry flag afterwards, where the instruction writes it (`.cc`).
    pub(crate) carry: Option<bool>,
}

/// What a chapter makes of an instruction: `None` if it belongs to another one.
pub(crate) type Compiled = Result<Option<Arithmetic>, Unsupported>;

/// An instruction, made ready to run.
pub(crate) struct Arithmetic {
    /// For each source value: the type that a constant in its place is read as, and whose width a
    /// register's value is cut to.
    pub(crate) sources: SmallVec<[ScalarType; 4]>,
    /// For each destination value: the type whose width is written (zero-extended, or sign-extended
    /// for signed types, where the register is wider, as the PTX manual says for `cvt`).
    pub(crate) destinations: SmallVec<[ScalarType; 2]>,
    /// The function itself. Total: it answers for all bit patterns.
    pub(crate) run: Box<dyn Fn(&Sources<'_>) -> Results + Send + Sync>,
}

impl Arithmetic {
    /// A function of `N` sources with one result, which is cut to its type's width.
    pub(super) fn function<const N: usize>(
        destination: ScalarType,
        sources: [ScalarType; N],
        run: impl Fn([Bits; N]) -> Bits + Send + Sync + 'static,
    ) -> Arithmetic {
        Arithmetic::with_carry(destination, sources, move |values, _| (run(values), None))
    }

    /// The same with the carry flag as further source and result.
    pub(super) fn with_carry<const N: usize>(
        destination: ScalarType,
        sources: [ScalarType; N],
        run: impl Fn([Bits; N], bool) -> (Bits, Option<bool>) + Send + Sync + 'static,
    ) -> Arithmetic {
        Arithmetic {
            sources: SmallVec::from_slice(&sources),
            destinations: smallvec![destination],
            run: Box::new(move |given| {
                let (value, carry) = run(gather(given.values), given.carry);
                Results { values: smallvec![low(value, destination.bits())], carry }
            }),
        }
    }

    /// A function of each element of a packed type (`.f16x2`, `.s16x2`, `.f32x2`), or of a scalar,
    /// whose sources and result have one type.
    pub(super) fn lanewise<const N: usize>(
        ty: ScalarType,
        run: impl Fn([Bits; N]) -> Bits + Send + Sync + 'static,
    ) -> Arithmetic {
        let (element, count) = elements(ty);
        let width = element.bits();
        if count == 1 {
            return Arithmetic::function(ty, [ty; N], run);
        }
        Arithmetic::function(ty, [ty; N], move |values| {
            (0..count).fold(0, |result, lane| {
                let shift = lane * width;
                let element = run(values.map(|value| low(value >> shift, width)));
                result | low(element, width) << shift
            })
        })
    }
}

/// Why an instruction cannot be interpreted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not interpreted: {0}")]
pub(crate) struct Unsupported(
    /// What exactly: an opcode, a modifier, a form of an operand.
    pub(crate) String,
);

/// The first `N` of `values`; what is missing reads as zero.
pub(super) fn gather<const N: usize>(values: &[Bits]) -> [Bits; N] {
    let mut gathered = [0; N];
    for (slot, value) in gathered.iter_mut().zip(values) {
        *slot = *value;
    }
    gathered
}

/// The element type of a packed type and how many there are; any other type is its own element.
pub(super) fn elements(ty: ScalarType) -> (ScalarType, u32) {
    use ScalarType::*;
    match ty {
        U16x2 => (U16, 2),
        S16x2 => (S16, 2),
        U8x4 => (U8, 4),
        S8x4 => (S8, 4),
        F16x2 => (F16, 2),
        Bf16x2 => (Bf16, 2),
        F32x2 => (F32, 2),
        scalar => (scalar, 1),
    }
}

/// The low `width` bits.
pub(super) const fn low(value: Bits, width: u32) -> Bits {
    if width >= Bits::BITS { value } else { value & ((1 << width) - 1) }
}

/// The value of an integer of `width` bits.
pub(super) const fn number(value: Bits, width: u32, signed: bool) -> i128 {
    if width == 0 {
        return 0;
    }
    let unused = Bits::BITS.saturating_sub(width);
    if signed { ((value << unused) as i128) >> unused } else { ((value << unused) >> unused) as i128 }
}

/// The value nearest to `value` that an integer of `width` bits (at most 64) can have.
pub(super) fn saturated(value: i128, width: u32, signed: bool) -> i128 {
    let (least, greatest) = if signed { (-(1 << (width - 1)), (1 << (width - 1)) - 1) } else { (0, (1 << width) - 1) };
    value.clamp(least, greatest)
}

/// An error that names the instruction and what is unknown of it.
pub(super) fn unsupported<T>(inst: &Instruction, what: impl std::fmt::Display) -> Result<T, Unsupported> {
    Err(Unsupported(format!("`{}` {what}", inst.opcode)))
}

/// The type of an instruction that cannot be without.
pub(super) fn type_of(inst: &Instruction, n: usize) -> Result<ScalarType, Unsupported> {
    inst.ty(n).map_or_else(|| unsupported(inst, "without a type"), Ok)
}
