//! Targets. The build script reads their names too.

use std::fmt;

/// What a target's suffix says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Variant {
    /// `sm_90`: runs on this and later architectures.
    Plain,
    /// `sm_100f`: may use what its family shares.
    Family,
    /// `sm_90a`: may use everything, runs nowhere else.
    Specific,
}

/// A target such as `sm_90a`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Target {
    pub(crate) number: u32,
    pub(crate) variant: Variant,
}

impl Target {
    /// Reads `sm_90`, `sm_90a`, `sm_100f`.
    pub(crate) fn from_name(name: &str) -> Option<Target> {
        let rest = name.strip_prefix("sm_")?;
        let (digits, variant) = match rest.as_bytes().last()? {
            b'a' => (&rest[..rest.len() - 1], Variant::Specific),
            b'f' => (&rest[..rest.len() - 1], Variant::Family),
            _ => (rest, Variant::Plain),
        };
        let plain = (2..=3).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
        if plain { Some(Target { number: digits.parse().ok()?, variant }) } else { None }
    }

    /// True if a module that says `self` may be compiled for `arch`: plain
    /// targets for all later ones, those of a family within it, specific
    /// ones for themselves only.
    pub(crate) fn compiles_for(self, arch: Target) -> bool {
        match self.variant {
            Variant::Plain => arch.number >= self.number,
            Variant::Family => arch.number >= self.number && arch.number / 10 == self.number / 10,
            Variant::Specific => arch == self,
        }
    }

    /// True if code for `self` may use what needs `needed`. Architectures of
    /// one family share all but the last digit (the PTX manual's `.target`).
    pub(crate) fn has(self, needed: Target) -> bool {
        match needed.variant {
            Variant::Plain => self.number >= needed.number,
            Variant::Specific => self == needed,
            Variant::Family => {
                self.variant != Variant::Plain && self.number / 10 == needed.number / 10 && self.number >= needed.number
            }
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let suffix = match self.variant {
            Variant::Plain => "",
            Variant::Family => "f",
            Variant::Specific => "a",
        };
        write!(f, "sm_{}{suffix}", self.number)
    }
}
