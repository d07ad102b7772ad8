//! The chips, one bit each in the order of `Arch::ALL`, and the word formats of their instruction sets.

/// A set of chips, a bit each.
pub(crate) type Targets = u32;

/// The chips: those of one instruction set side by side, the oldest set first.
pub(crate) const NAMES: [&str; 16] = [
    "sm_50", "sm_61", "sm_70", "sm_75", "sm_80", "sm_86", "sm_87", "sm_88", "sm_89", "sm_90", "sm_100", "sm_103",
    "sm_110", "sm_107", "sm_120", "sm_121",
];

/// Chips that share the instruction set which another one gives its name, with that one.
const SIBLINGS: [(&str, &str); 5] =
    [("sm_87", "sm_86"), ("sm_88", "sm_86"), ("sm_103", "sm_100"), ("sm_110", "sm_100"), ("sm_121", "sm_120")];

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
const VOLTA: Format =
    Format { targets: 0b0000_0011_1111_1100, guard: 12, control: 105, opcode_on_top: false, uniform: 6 };
const BLACKWELL: Format = Format { targets: 0b1111_1100_0000_0000, uniform: 8, ..VOLTA };

/// Every word format.
pub(crate) const FORMATS: [Format; 3] = [BUNDLED, VOLTA, BLACKWELL];

/// What a paragraph without a list of targets means in a file that has no `targets` line: Ampere to
/// Hopper.
pub(crate) const DEFAULT: Targets = 0b0000_0011_1111_0000;

/// The places of the chips of the instruction set that `name` gives its name, or of the one chip of that name.
fn places(name: &str) -> Result<std::ops::RangeInclusive<usize>, String> {
    let first = NAMES.iter().position(|n| *n == name).ok_or_else(|| format!("unknown target '{name}'"))?;
    Ok(first..=first + SIBLINGS.iter().filter(|(_, set)| *set == name).count())
}

/// The chips that go by what is said of `name` alone: those of its instruction set, or the one chip.
pub(crate) fn members(name: &str) -> Result<Targets, String> {
    Ok(bits(places(name)?))
}

fn bits(places: std::ops::RangeInclusive<usize>) -> Targets {
    places.fold(0, |set, bit| set | 1 << bit)
}

/// `sm_80 sm_90`, `sm_75..sm_89`, `sm_90..`, `..sm_61`, in any combination; `all`, and `-` for none. A name stands for all chips of its
/// instruction set; `sm_103` for that chip alone, and `-sm_103` takes it away again.
pub(crate) fn list(text: &str) -> Result<Targets, String> {
    let mut set = 0;
    for word in text.split_whitespace() {
        match (word, word.strip_prefix('-'), word.split_once("..")) {
            ("-", ..) => {}
            ("all", ..) => set = bits(0..=NAMES.len() - 1),
            (_, Some(name), _) => set &= !members(name)?,
            (_, _, None) => set |= members(word)?,
            (_, _, Some((from, to))) => {
                let from = if from.is_empty() { 0 } else { *places(from)?.start() };
                let to = if to.is_empty() { NAMES.len() - 1 } else { *places(to)?.end() };
                set |= bits(from..=to);
            }
        }
    }
    Ok(set)
}
