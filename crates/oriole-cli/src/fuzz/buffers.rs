//! Arguments of a launch: how they are written down, and what buffers hold.

use fastrand::Rng;
use std::fmt::{Display, Formatter, Result as Formatted};

/// Names of the element types, and their bytes.
const TYPES: [(&str, usize); 12] = [
    ("u8", 1),
    ("s8", 1),
    ("u16", 2),
    ("s16", 2),
    ("f16", 2),
    ("bf16", 2),
    ("u32", 4),
    ("s32", 4),
    ("f32", 4),
    ("u64", 8),
    ("s64", 8),
    ("f64", 8),
];

/// What arithmetic goes wrong at, as 64 bits; narrower elements take the low ones.
const SPECIAL: [u64; 40] = [
    0,
    1,
    2,
    3,
    7,
    31,
    32,
    33,
    63,
    64,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0x8000,
    0xffff,
    0x3c00_3c00,
    0x7c00_fc00,
    0x7e01_0001,
    0x3f80_4000,
    0x7f80_ff80,
    0x3f80_0000,
    0xbf80_0000,
    0x0000_0001_0000_0000,
    0x0080_0000,
    0x007f_ffff,
    0x7f80_0000,
    0xff80_0000,
    0x7fc0_0000,
    0xffc0_0001,
    0x4f00_0000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x3ff0_0000_0000_0000,
    0x7ff0_0000_0000_0000,
    0x8000_0000_0000_0000,
    0x7fff_ffff_ffff_ffff,
    0xffff_ffff_ffff_ffff,
    0x000f_ffff_ffff_ffff,
];

/// The type of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element {
    name: &'static str,
    bytes: usize,
}

impl Element {
    /// `u32`
    pub const U32: Element = Element { name: "u32", bytes: 4 };
    /// `u64`
    pub const U64: Element = Element { name: "u64", bytes: 8 };

    /// The type of that name.
    pub fn named(name: &str) -> Option<Element> {
        let found = TYPES.iter().find(|(known, _)| *known == name);
        found.map(|&(name, bytes)| Element { name, bytes })
    }

    /// Bytes of an element.
    pub fn bytes(self) -> usize {
        self.bytes
    }

    /// The bits that `text` says: an integer, decimal or hexadecimal, or a decimal number for `f32` and `f64`.
    fn value(self, text: &str) -> Option<u64> {
        let number = text.parse::<f64>();
        match self.name {
            "f32" if !text.starts_with("0x") => return number.ok().map(|value| u64::from((value as f32).to_bits())),
            "f64" if !text.starts_with("0x") => return number.ok().map(f64::to_bits),
            _ => {}
        }
        let (digits, minus) = text.strip_prefix('-').map_or((text, false), |rest| (rest, true));
        let value = match digits.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16).ok()?,
            None => digits.parse().ok()?,
        };
        Some(if minus { value.wrapping_neg() } else { value })
    }

    fn push(self, bits: u64, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&bits.to_le_bytes()[..self.bytes]);
    }
}

/// What a buffer holds at first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fill {
    /// Zeros.
    Zero,
    /// 0, 1, 2 …
    Iota,
    /// Random bits.
    Random {
        /// Seed of the stream.
        seed: u64,
        /// Half of the elements are values that arithmetic goes wrong at.
        special: bool,
    },
    /// These elements.
    Values(
        /// Their bits.
        Vec<u64>,
    ),
}

/// A buffer that is there before the launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// Type of the elements.
    pub element: Element,
    /// How many.
    pub count: usize,
    /// What they are.
    pub fill: Fill,
    /// So many of the last are zero all the same.
    pub zeros: usize,
}

/// An argument of a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// A pointer to a buffer that is only read.
    In(
        /// The buffer.
        Buffer,
    ),
    /// A pointer to a buffer that is compared after the run.
    InOut(
        /// The buffer.
        Buffer,
    ),
    /// A pointer to zeros, compared after the run.
    Out(
        /// Bytes.
        usize,
    ),
    /// A number.
    Value(
        /// Its type.
        Element,
        /// Its bits.
        u64,
    ),
}

impl Argument {
    /// The argument that a `// arg:` line describes (`tests/programs/README.md`).
    pub fn parse(text: &str) -> Result<Argument, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let wrong = || format!("'{text}' is no argument");
        match words[..] {
            ["out", bytes] => bytes.parse().map(Argument::Out).map_err(|_| wrong()),
            ["in", ref rest @ ..] => Buffer::parse(rest).map(Argument::In).ok_or_else(wrong),
            ["inout", ref rest @ ..] => Buffer::parse(rest).map(Argument::InOut).ok_or_else(wrong),
            [ty, value] => {
                let element = Element::named(ty).ok_or_else(wrong)?;
                element.value(value).map(|bits| Argument::Value(element, bits)).ok_or_else(wrong)
            }
            _ => Err(wrong()),
        }
    }

    /// The buffer, if it is one that is there before the launch.
    pub fn buffer(&self) -> Option<&Buffer> {
        match self {
            Argument::In(buffer) | Argument::InOut(buffer) => Some(buffer),
            Argument::Out(_) | Argument::Value(..) => None,
        }
    }

    /// Bytes that are compared after the run.
    pub fn compared(&self) -> usize {
        match self {
            Argument::InOut(buffer) => buffer.count * buffer.element.bytes,
            Argument::Out(bytes) => *bytes,
            Argument::In(_) | Argument::Value(..) => 0,
        }
    }
}

impl Display for Argument {
    fn fmt(&self, f: &mut Formatter<'_>) -> Formatted {
        match self {
            Argument::In(buffer) => write!(f, "in {buffer}"),
            Argument::InOut(buffer) => write!(f, "inout {buffer}"),
            Argument::Out(bytes) => write!(f, "out {bytes}"),
            Argument::Value(element, bits) => write!(f, "{} {bits:#x}", element.name),
        }
    }
}

impl Buffer {
    fn parse(words: &[&str]) -> Option<Buffer> {
        let (words, zeros) = match *words {
            [ref rest @ .., "zeros", count] => (rest, count.parse().ok()?),
            _ => (words, 0),
        };
        let element = Element::named(words.first()?)?;
        if let ["=", values @ ..] = &words[1..] {
            let values: Option<Vec<u64>> = values.iter().map(|value| element.value(value)).collect();
            let values = values?;
            return Some(Buffer { element, count: values.len(), fill: Fill::Values(values), zeros });
        }
        let count = words.get(1)?.parse().ok()?;
        let fill = match words[2..] {
            ["zero"] => Fill::Zero,
            ["iota"] => Fill::Iota,
            ["seed", seed] => Fill::Random { seed: seed.parse().ok()?, special: false },
            ["seed", seed, "special"] => Fill::Random { seed: seed.parse().ok()?, special: true },
            _ => return None,
        };
        Some(Buffer { element, count, fill, zeros })
    }

    /// What it holds, little-endian.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        match &self.fill {
            Fill::Zero => bytes.resize(self.count * self.element.bytes, 0),
            Fill::Iota => (0..self.count).for_each(|at| self.element.push(at as u64, &mut bytes)),
            Fill::Values(values) => values.iter().for_each(|&bits| self.element.push(bits, &mut bytes)),
            Fill::Random { seed, special } => {
                let mut rng = Rng::with_seed(*seed);
                (0..self.count).for_each(|_| self.element.push(element(&mut rng, *special), &mut bytes));
            }
        }
        let kept = self.count.saturating_sub(self.zeros) * self.element.bytes;
        bytes[kept..].fill(0);
        bytes
    }
}

fn element(rng: &mut Rng, special: bool) -> u64 {
    match rng.u32(0..8) {
        0..2 if special => SPECIAL[rng.usize(..SPECIAL.len())],
        2 if special => rng.u64(0..256),
        // Near one, in single or half precision.
        3 if special => (0x3f80_0000 + rng.u64(0..0x0100_0000)) | (rng.u64(..) << 32),
        4 if special => 0x3c00_3c00 ^ rng.u64(0..0x1000) << 16 ^ rng.u64(0..0x1000),
        _ => rng.u64(..),
    }
}

impl Display for Buffer {
    fn fmt(&self, f: &mut Formatter<'_>) -> Formatted {
        write!(f, "{} ", self.element.name)?;
        match &self.fill {
            Fill::Zero => write!(f, "{} zero", self.count)?,
            Fill::Iota => write!(f, "{} iota", self.count)?,
            Fill::Random { seed, special } => {
                write!(f, "{} seed {seed}{}", self.count, if *special { " special" } else { "" })?;
            }
            Fill::Values(values) => {
                write!(f, "=")?;
                values.iter().try_for_each(|value| write!(f, " {value:#x}"))?;
            }
        }
        if self.zeros > 0 { write!(f, " zeros {}", self.zeros) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_print_as_they_are_read() {
        for text in [
            "in u32 128 seed 7 special",
            "in f64 3 iota zeros 1",
            "inout u16 = 0x1 0xffff",
            "out 512",
            "u32 0x5",
            "in s8 4 zero",
            "in u64 2 seed 9",
        ] {
            let argument = Argument::parse(text).expect(text);
            assert_eq!(argument.to_string(), text);
        }
        for text in ["in", "in u32", "out", "u32", "u33 1", "in u32 4 seed", "u32 x", "in u32 = 1 y"] {
            Argument::parse(text).expect_err(text);
        }
    }

    #[test]
    fn values_are_of_the_type() {
        assert_eq!(Argument::parse("f32 1.5"), Ok(Argument::Value(Element { name: "f32", bytes: 4 }, 0x3fc0_0000)));
        let Ok(Argument::In(buffer)) = Argument::parse("in u16 = -1 0x102") else { panic!("it is one") };
        assert_eq!(buffer.bytes(), [0xff, 0xff, 2, 1]);
        let Ok(Argument::In(buffer)) = Argument::parse("in u32 3 seed 1 zeros 2") else { panic!("it is one") };
        assert_eq!(buffer.bytes()[4..], [0; 8]);
    }
}
