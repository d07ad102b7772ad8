//! Target architectures.

use std::fmt;
use std::str::FromStr;

/// A target that the ISA data describes; one column of the spec.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Arch {
    /// Ampere GA100.
    Sm80,
    /// Ampere GA10x.
    Sm86,
    /// Ada.
    Sm89,
    /// Hopper.
    Sm90,
}

impl Arch {
    /// Every target, oldest first.
    pub const ALL: [Arch; 4] = [Arch::Sm80, Arch::Sm86, Arch::Sm89, Arch::Sm90];

    /// The name that `--arch` takes, such as `sm_90`.
    pub fn name(self) -> &'static str {
        match self {
            Arch::Sm80 => "sm_80",
            Arch::Sm86 => "sm_86",
            Arch::Sm89 => "sm_89",
            Arch::Sm90 => "sm_90",
        }
    }

    /// The compute capability as one number: 80 for `sm_80`.
    pub fn number(self) -> u32 {
        match self {
            Arch::Sm80 => 80,
            Arch::Sm86 => 86,
            Arch::Sm89 => 89,
            Arch::Sm90 => 90,
        }
    }

    /// Hardware number of the uniform zero register `URZ`.
    pub fn urz(self) -> u16 {
        63
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The name is none of the targets that Oriole knows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown target '{name}'; known targets: {}", known_targets())]
pub struct UnknownArch {
    /// The name as given.
    pub name: String,
}

fn known_targets() -> String {
    Arch::ALL.map(Arch::name).join(" ")
}

impl FromStr for Arch {
    type Err = UnknownArch;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Arch::ALL.into_iter().find(|arch| arch.name() == name).ok_or_else(|| UnknownArch { name: name.to_owned() })
    }
}
