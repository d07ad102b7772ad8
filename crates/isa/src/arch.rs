//! Target architectures: chips and instruction sets.

use std::fmt;
use std::str::FromStr;

/// Number of the uniform zero register `URZ` in operands, whatever the width of its field.
pub(crate) const URZ: u16 = 255;

/// A chip, as compute capabilities tell them apart. Chips that share an instruction set stand side by side; the oldest set comes
/// first, and the first chip of a set gives it its name ([`Arch::set`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Arch {
    /// Maxwell.
    Sm50,
    /// Pascal.
    Sm61,
    /// Volta.
    Sm70,
    /// Turing.
    Sm75,
    /// Ampere GA100.
    Sm80,
    /// Ampere GA10x.
    Sm86,
    /// Ampere GA10B: Jetson Orin.
    Sm87,
    /// A chip of the instruction set of sm_86 that CUDA 13.0 has added; nothing else is published of it.
    Sm88,
    /// Ada.
    Sm89,
    /// Hopper.
    Sm90,
    /// Blackwell of the data centre: B200.
    Sm100,
    /// Blackwell Ultra: B300.
    Sm103,
    /// Blackwell of Jetson Thor, sm_101 before CUDA 13.0.
    Sm110,
    /// A chip of the family of sm_100 that PTX 9.4 has added; nothing else is published of it. Integer arithmetic as on sm_120, tensor memory and floats
    /// as on sm_103, no textures.
    Sm107,
    /// Blackwell of the desktop.
    Sm120,
    /// Blackwell of DGX Spark: GB10.
    Sm121,
}

/// Where an instruction word keeps what all instructions have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WordFormat {
    /// Bytes from one instruction to the next.
    pub bytes: u64,
    /// Lowest of the twelve bits that choose a form.
    pub(crate) opcode: u8,
    /// Bit of the guard's predicate; its negation is three bits higher.
    pub(crate) guard: u8,
    /// First of the scheduling bits: 17 of [`crate::Control`] and four of `.reuse`.
    pub(crate) control: u8,
}

impl WordFormat {
    /// 128-bit words with their own scheduling bits.
    const WIDE: WordFormat = WordFormat { bytes: 16, opcode: 0, guard: 12, control: 105 };
    /// 64-bit words, three to a bundle that begins with their control word (21 bits each). The
    /// engine takes and gives such a word with its scheduling bits in bits 64–84.
    const BUNDLED: WordFormat = WordFormat { bytes: 8, opcode: 52, guard: 16, control: 64 };

    /// First of the four bits of `.reuse`.
    pub(crate) fn reuse(self) -> u8 {
        self.control + 17
    }

    /// Instructions come in bundles of three behind a control word.
    pub fn is_bundled(self) -> bool {
        self.bytes == 8
    }

    /// What a branch to the instruction at an address names: the first of a bundle goes by the bundle's address.
    pub(crate) fn target_of(self, address: i64) -> i64 {
        if self.is_bundled() && address & 31 == 8 { address - 8 } else { address }
    }

    /// The address of the instruction that a branch to `target` goes to.
    pub(crate) fn instruction_at(self, target: i64) -> i64 {
        if self.is_bundled() && target & 31 == 0 { target + 8 } else { target }
    }
}

impl Arch {
    /// Every chip, in the order of the enum.
    pub const ALL: [Arch; 16] = [
        Arch::Sm50,
        Arch::Sm61,
        Arch::Sm70,
        Arch::Sm75,
        Arch::Sm80,
        Arch::Sm86,
        Arch::Sm87,
        Arch::Sm88,
        Arch::Sm89,
        Arch::Sm90,
        Arch::Sm100,
        Arch::Sm103,
        Arch::Sm110,
        Arch::Sm107,
        Arch::Sm120,
        Arch::Sm121,
    ];

    /// Its name in the spec, such as `sm_90`.
    pub fn name(self) -> &'static str {
        match self {
            Arch::Sm50 => "sm_50",
            Arch::Sm61 => "sm_61",
            Arch::Sm70 => "sm_70",
            Arch::Sm75 => "sm_75",
            Arch::Sm80 => "sm_80",
            Arch::Sm86 => "sm_86",
            Arch::Sm87 => "sm_87",
            Arch::Sm88 => "sm_88",
            Arch::Sm89 => "sm_89",
            Arch::Sm90 => "sm_90",
            Arch::Sm100 => "sm_100",
            Arch::Sm103 => "sm_103",
            Arch::Sm110 => "sm_110",
            Arch::Sm107 => "sm_107",
            Arch::Sm120 => "sm_120",
            Arch::Sm121 => "sm_121",
        }
    }

    /// The chip that gives its name to the instruction set.
    pub fn set(self) -> Arch {
        match self {
            Arch::Sm87 | Arch::Sm88 => Arch::Sm86,
            Arch::Sm103 | Arch::Sm110 => Arch::Sm100,
            Arch::Sm121 => Arch::Sm120,
            own => own,
        }
    }

    /// `BSSY` adds its threads to those that the convergence barrier has: it has to be cleared before (`BMOV.32.CLEAR RZ, Bn`). So it is up to
    /// sm_75. ptxas clears it in each of 817 places of its code for sm_75 (`shared/kernels`), and in none for sm_80.
    pub fn adds_to_barriers(self) -> bool {
        self <= Arch::Sm75
    }

    /// The compute capability as one number: 80 for `sm_80`.
    pub fn number(self) -> u32 {
        MEMBERS.iter().find(|(_, arch)| *arch == self).map_or(0, |(number, _)| *number)
    }

    /// The chip of the compute capability `number` (86 for `sm_86`), or the one that stands for it.
    pub fn of_capability(number: u32) -> Option<Arch> {
        MEMBERS.iter().find(|(n, _)| *n == number).map(|(_, arch)| *arch)
    }

    /// The chip is in a set with a bit for each, in the order of [`Arch::ALL`].
    #[inline]
    pub(crate) fn is_in(self, set: u32) -> bool {
        set >> (self as u8) & 1 == 1
    }

    /// Where its instruction words keep guard and scheduling bits.
    #[inline]
    pub fn word_format(self) -> WordFormat {
        if self <= Arch::Sm61 { WordFormat::BUNDLED } else { WordFormat::WIDE }
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Compute capabilities and the chip that stands for each: itself from Turing on, before that one of its generation. The first of a
/// chip gives it its name.
const MEMBERS: [(u32, Arch); 22] = [
    (50, Arch::Sm50),
    (52, Arch::Sm50),
    (53, Arch::Sm50),
    (61, Arch::Sm61),
    (60, Arch::Sm61),
    (62, Arch::Sm61),
    (70, Arch::Sm70),
    (72, Arch::Sm70),
    (75, Arch::Sm75),
    (80, Arch::Sm80),
    (86, Arch::Sm86),
    (87, Arch::Sm87),
    (88, Arch::Sm88),
    (89, Arch::Sm89),
    (90, Arch::Sm90),
    (100, Arch::Sm100),
    (103, Arch::Sm103),
    (107, Arch::Sm107),
    (110, Arch::Sm110),
    (101, Arch::Sm110),
    (120, Arch::Sm120),
    (121, Arch::Sm121),
];

/// The suffixes that the targets of a compute capability have: `a` for all that the chip has, `f` for
/// what its family shares.
fn suffixes(number: u32) -> &'static [&'static str] {
    match number {
        ..90 => &[""],
        90..100 => &["", "a"],
        _ => &["", "f", "a"],
    }
}

/// The names of all targets: `sm_50`, …, `sm_90a`, `sm_100f` …
fn target_names() -> impl Iterator<Item = String> {
    MEMBERS.iter().flat_map(|(number, _)| suffixes(*number).iter().map(move |suffix| format!("sm_{number}{suffix}")))
}

/// A set of chips as the spec lists them: `all`, or runs of instruction sets such as `sm_75..sm_89 sm_100..`, with `-sm_110` for what
/// one of them lacks.
pub(crate) fn target_list(within: impl Fn(Arch) -> bool) -> String {
    if Arch::ALL.into_iter().all(&within) {
        return "all".to_owned();
    }
    let sets: Vec<Arch> = Arch::ALL.into_iter().filter(|arch| arch.set() == *arch).collect();
    let chips = |set: Arch| Arch::ALL.into_iter().filter(move |arch| arch.set() == set);
    let mut words = Vec::new();
    let mut at = 0;
    while at < sets.len() {
        let length = sets[at..].iter().take_while(|set| chips(**set).all(&within)).count();
        match (length, sets[at]) {
            (0, set) if within(set) => {
                words.push(set.name().to_owned());
                words.extend(chips(set).filter(|chip| !within(*chip)).map(|chip| format!("-{chip}")));
            }
            (0, set) => words.extend(chips(set).filter(|chip| within(*chip)).map(|chip| chip.name().to_owned())),
            (1, set) => words.push(set.name().to_owned()),
            (length, first) => {
                let last = sets[at + length - 1];
                words.push(match (at, at + length == sets.len()) {
                    (0, _) => format!("..{last}"),
                    (_, true) => format!("{first}.."),
                    _ => format!("{first}..{last}"),
                });
            }
        }
        at += length.max(1);
    }
    words.join(" ")
}

/// The name is none of the targets that Oriole knows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown target '{name}'{}", meant_or_all(name, target_names()))]
pub struct UnknownArch {
    /// The name as given.
    pub name: String,
}

/// What follows in a message on a name that is no target: the target that was meant, if it differs in how it is written alone
/// (`SM_90`, `90`, `compute_90a`, `9.0`), or all targets.
///
/// ```
/// let targets = || ["sm_90", "sm_90a"].map(str::to_owned).into_iter();
/// assert_eq!(oriole_isa::meant_or_all("compute_90a", targets()), "; did you mean 'sm_90a'?");
/// assert_eq!(oriole_isa::meant_or_all("sm_91", targets()), "; targets: sm_90 sm_90a");
/// ```
pub fn meant_or_all(name: &str, targets: impl Iterator<Item = String>) -> String {
    let targets: Vec<String> = targets.collect();
    let name = name.trim().to_ascii_lowercase().replace(['.', '-', ' '], "");
    let number = ["compute_", "compute", "sm_", "sm", "lto_"].iter().find_map(|prefix| name.strip_prefix(prefix));
    let meant = format!("sm_{}", number.unwrap_or(&name));
    match targets.iter().find(|target| **target == meant) {
        Some(target) => format!("; did you mean '{target}'?"),
        None => format!("; targets: {}", targets.join(" ")),
    }
}

impl FromStr for Arch {
    type Err = UnknownArch;

    /// The chip of the target of that name: of `sm_90a` it is `Sm90`, of `sm_52` `Sm50`.
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let digits = name.strip_prefix("sm_").unwrap_or("");
        let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        let (number, suffix) = digits.split_at(end);
        let member = MEMBERS.iter().find(|(n, _)| number == n.to_string() && suffixes(*n).contains(&suffix));
        member.map(|(_, arch)| *arch).ok_or_else(|| UnknownArch { name: name.to_owned() })
    }
}
