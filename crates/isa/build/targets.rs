//! The targets, one bit each in the order of `Arch::ALL`, and their word formats.

/// A set of targets, a bit each.
pub(crate) type Targets = u16;

/// The columns of the spec, oldest first.
pub(crate) const NAMES: [&str; 10] =
    ["sm_50", "sm_61", "sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"];

/// How a group of targets lays out an instruction word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Format {
    /// The targets that have it.
    pub targets: Targets,
    /// Bit of the guard predicate.
    pub guard: u8,
    /// First of the 17 scheduling bits that are not reuse bits.
    pub control: u8,
    /// The opcode is in the top 16 of 64 bits; else in the low 12 of 128.
    pub opcode_on_top: bool,
    /// Bits of a uniform register's number.
    pub uniform: u8,
}

/// 64-bit words whose scheduling bits come from a bundle's control word.
const BUNDLED: Format = Format { targets: 0b11, guard: 16, control: 64, opcode_on_top: true, uniform: 6 };
const VOLTA: Format = Format { targets: 0b00_1111_1100, guard: 12, control: 105, opcode_on_top: false, uniform: 6 };
const BLACKWELL: Format = Format { targets: 0b11_0000_0000, uniform: 8, ..VOLTA };

/// Every word format.
pub(crate) const FORMATS: [Format; 3] = [BUNDLED, VOLTA, BLACKWELL];

/// What a paragraph without a list of targets means in a file that has no `targets` line: Ampere to
/// Hopper.
pub(crate) const DEFAULT: Targets = 0b00_1111_0000;

/// `sm_80 sm_90`, `sm_75..sm_89`, `sm_90..`, `..sm_61`, in any combination; `all`, and `-` for none.
pub(crate) fn list(text: &str) -> Result<Targets, String> {
    let at = |name: &str| NAMES.iter().position(|n| *n == name).ok_or_else(|| format!("unknown target '{name}'"));
    let mut set = 0;
    for word in text.split_whitespace() {
        let (first, last) = match word.split_once("..") {
            None if word == "-" => continue,
            None if word == "all" => (0, NAMES.len() - 1),
            None => (at(word)?, at(word)?),
            Some((from, to)) => {
                (if from.is_empty() { 0 } else { at(from)? }, if to.is_empty() { NAMES.len() - 1 } else { at(to)? })
            }
        };
        set |= (first..=last).fold(0, |set, bit| set | 1 << bit);
    }
    Ok(set)
}
