//! Which GPU a cubin is for, and how the ELF header says so.

use std::fmt;

/// The suffix of a target name: whether the code is bound to one architecture or family.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Suffix {
    /// `sm_90`: runs on this SM and on later ones of the same major version.
    #[default]
    None,
    /// `sm_90a`: architecture specific.
    Arch,
    /// `sm_100f`: family specific.
    Family,
}

impl Suffix {
    /// The letter that ends the target's name, empty for the plain target.
    pub fn letter(self) -> &'static str {
        match self {
            Suffix::None => "",
            Suffix::Arch => "a",
            Suffix::Family => "f",
        }
    }
}

/// A target SM with its suffix, e.g. `sm_90a`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Target {
    /// Number of the SM: 80 for `sm_80`, 100 for `sm_100`.
    pub sm: u32,
    /// Suffix of the name.
    pub suffix: Suffix,
}

impl Target {
    /// The plain target `sm_SM`.
    pub fn new(sm: u32) -> Self {
        Target { sm, suffix: Suffix::None }
    }

    /// Reads a name such as `sm_80`, `sm_90a` or `sm_100f`.
    pub fn from_name(name: &str) -> Option<Self> {
        let rest = name.strip_prefix("sm_")?;
        let (digits, suffix) = match rest.as_bytes().last()? {
            b'a' => (&rest[..rest.len() - 1], Suffix::Arch),
            b'f' => (&rest[..rest.len() - 1], Suffix::Family),
            _ => (rest, Suffix::None),
        };
        let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        let sm = plain.then(|| digits.parse().ok()).flatten()?;
        Some(Target { sm, suffix })
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}{}", self.sm, self.suffix.letter())
    }
}
