//! The operands of a form: names, types, and where they stand in memory.

/// What a value of an operand is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// A predicate, 0 or 1.
    Predicate,
    /// So many bits: 8, 16, 32, 64 or 128. A byte stands in a register of 16 bits.
    Bits {
        /// The width.
        width: u32,
        /// A byte that its register holds with the sign.
        signed: bool,
        /// Bits of the fraction, where the bits are a float with NaNs.
        fraction: Option<u32>,
    },
}

/// Types that are floats with the NaNs of IEEE 754, and the bits of their fraction.
const FLOATS: [(&str, u32); 4] = [("f16", 10), ("bf16", 7), ("f32", 23), ("f64", 52)];
/// Types whose name does not end with their width.
const PACKED: [(&str, u32); 3] = [("f16x2", 32), ("bf16x2", 32), ("f32x2", 64)];

impl Type {
    /// The type of that name: `pred`, `b8` to `b128`, `s8`, `u32`, `f16`, `bf16x2`…
    pub(crate) fn from_name(name: &str) -> Option<Type> {
        if name == "pred" {
            return Some(Type::Predicate);
        }
        let packed = PACKED.iter().find(|(packed, _)| *packed == name).map(|(_, width)| *width);
        let width = packed.or_else(|| name.trim_start_matches(|c: char| c.is_ascii_alphabetic()).parse().ok())?;
        let fraction = FLOATS.iter().find(|(float, _)| *float == name).map(|(_, bits)| *bits);
        [8, 16, 32, 64, 128].contains(&width).then_some(Type::Bits { width, signed: name == "s8", fraction })
    }

    /// Bytes of a cell of memory for it: a multiple of four, so that every operand can be read as whole words.
    pub(crate) fn cell(self) -> usize {
        match self {
            Type::Predicate => 4,
            Type::Bits { width, .. } => (width as usize / 8).max(4),
        }
    }

    /// Bytes of the value itself.
    pub(crate) fn bytes(self) -> usize {
        match self {
            Type::Predicate => 4,
            Type::Bits { width, .. } => width as usize / 8,
        }
    }

    /// The register's type in PTX.
    pub(crate) fn register(self) -> String {
        match self {
            Type::Predicate => "pred".to_owned(),
            Type::Bits { width, .. } => format!("b{}", width.max(16)),
        }
    }

    /// The type of a load or store of the value alone.
    pub(crate) fn access(self) -> String {
        match self {
            Type::Predicate => "b32".to_owned(),
            Type::Bits { width: 8, signed: true, .. } => "s8".to_owned(),
            Type::Bits { width: 8, .. } => "u8".to_owned(),
            Type::Bits { width, .. } => format!("b{width}"),
        }
    }

    /// Whether the bits are a NaN; not if the type has none.
    pub(crate) fn is_nan(self, bits: u128) -> bool {
        let Type::Bits { width, fraction: Some(fraction), .. } = self else { return false };
        let exponent = (1 << (width - 1 - fraction)) - 1;
        bits >> fraction & exponent == exponent && bits & ((1 << fraction) - 1) != 0
    }

    /// The place of a float among all of its format, in order; both zeros have the same.
    pub(crate) fn order(self, bits: u128) -> i128 {
        let sign = 1 << (8 * self.bytes() - 1);
        let magnitude = (bits & (sign - 1)) as i128;
        if bits & sign == 0 { magnitude } else { -magnitude }
    }
}

/// An operand: its name is that of its register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// The register.
    pub name: String,
    /// What it holds.
    pub kind: Type,
}

/// Where each operand of a row stands, and the bytes of a row.
pub(crate) fn layout(fields: &[Field]) -> (Vec<usize>, usize) {
    let mut end = 0_usize;
    let place = |field: &Field| {
        let at = end.next_multiple_of(field.kind.cell());
        end = at + field.kind.cell();
        at
    };
    let places = fields.iter().map(place).collect();
    (places, end.next_multiple_of(16))
}
