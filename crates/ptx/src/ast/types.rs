//! What types and other closed vocabularies mean that appear in declarations as well as in instructions.

use super::type_class::TypeClass;
use super::vocabulary::{ScalarType, TYPE_BITS, TYPE_CLASSES, VectorLen};

impl ScalarType {
    /// Width in bits of one value; 1 for `.pred`, 64 for opaque references.
    #[must_use]
    pub const fn bits(self) -> u32 {
        TYPE_BITS[self as usize] as u32
    }

    /// Size in bytes in memory, rounded up to a whole byte.
    #[must_use]
    pub const fn bytes(self) -> u32 {
        self.bits().div_ceil(8)
    }

    /// What the bits mean.
    #[must_use]
    pub const fn class(self) -> TypeClass {
        TYPE_CLASSES[self as usize]
    }

    /// True for `.sN`.
    #[must_use]
    pub const fn is_signed(self) -> bool {
        matches!(self.class(), TypeClass::Signed)
    }

    /// True for every floating-point format.
    #[must_use]
    pub const fn is_float(self) -> bool {
        matches!(self.class(), TypeClass::Float)
    }

    /// True for `.uN` and `.sN`.
    #[must_use]
    pub const fn is_integer(self) -> bool {
        matches!(self.class(), TypeClass::Signed | TypeClass::Unsigned)
    }
}

impl VectorLen {
    /// The number of elements.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "never empty")]
    pub const fn len(self) -> usize {
        match self {
            VectorLen::V2 => 2,
            VectorLen::V4 => 4,
            VectorLen::V8 => 8,
        }
    }
}

/// A suffix of a register operand: an element of a vector register, or the
/// bytes or half-words that a video instruction takes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Selector {
    /// `.x` or `.r`
    X,
    /// `.y` or `.g`
    Y,
    /// `.z` or `.b`
    Z,
    /// `.w` or `.a`
    W,
    /// `.b0`, `.b7362`, `.h1`, `.h03`
    Lanes(Lanes),
}

/// Bytes or half-words chosen by a video instruction, as written: the most
/// significant lane first. Indices above those of one register choose from
/// the second source.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Lanes {
    /// True for `.h` (16-bit lanes), false for `.b` (8-bit lanes).
    pub halves: bool,
    /// The chosen lanes; unused entries are 0.
    pub index: [u8; 4],
    /// How many there are, 1 to 4.
    pub count: u8,
}

impl Selector {
    /// The selector spelled `name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Selector> {
        Some(match name {
            "x" | "r" => Selector::X,
            "y" | "g" => Selector::Y,
            "z" | "b" => Selector::Z,
            "w" | "a" => Selector::W,
            _ => Selector::Lanes(Lanes::from_name(name)?),
        })
    }

    /// Index of a vector element, from 0; `None` for [`Selector::Lanes`].
    #[must_use]
    pub const fn element(self) -> Option<usize> {
        match self {
            Selector::X => Some(0),
            Selector::Y => Some(1),
            Selector::Z => Some(2),
            Selector::W => Some(3),
            Selector::Lanes(_) => None,
        }
    }
}

impl Lanes {
    fn from_name(name: &str) -> Option<Lanes> {
        let (halves, digits) = match name.strip_prefix('h') {
            Some(digits) => (true, digits),
            None => (false, name.strip_prefix('b')?),
        };
        let (highest, most) = if halves { (b'3', 2) } else { (b'7', 4) };
        if !(1..=most).contains(&digits.len()) || !digits.bytes().all(|b| (b'0'..=highest).contains(&b)) {
            return None;
        }
        let mut index = [0; 4];
        for (lane, digit) in index.iter_mut().zip(digits.bytes()) {
            *lane = digit - b'0';
        }
        Some(Lanes { halves, index, count: digits.len() as u8 })
    }
}

impl std::fmt::Display for Selector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let lanes = match self {
            Selector::X => return f.write_str("x"),
            Selector::Y => return f.write_str("y"),
            Selector::Z => return f.write_str("z"),
            Selector::W => return f.write_str("w"),
            Selector::Lanes(lanes) => lanes,
        };
        f.write_str(if lanes.halves { "h" } else { "b" })?;
        lanes.index[..usize::from(lanes.count)].iter().try_for_each(|lane| write!(f, "{lane}"))
    }
}
