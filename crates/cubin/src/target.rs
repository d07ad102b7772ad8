//! Which GPU a cubin is for, and how the ELF header says so.

use object::LittleEndian;
use object::elf::FileHeader64;
use object::read::elf::FileHeader;
use oriole_isa::Arch;
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

    /// The target that the ELF header's `e_flags` name under an ABI version (`e_ident[EI_ABIVERSION]`). Older
    /// layout: SM in bits 0–7. Newer layout: SM in bits 8–15; CUDA 13 keeps the suffix elsewhere.
    pub fn from_e_flags(flags: u32, abi_version: u8) -> Target {
        let (sm, specific) = if is_new_layout(flags, abi_version) {
            ((flags >> 8) & 0xff, flags & NEW_ARCH_SPECIFIC != 0)
        } else {
            (flags & 0xff, flags & OLD_ARCH_SPECIFIC != 0)
        };
        Target { sm, suffix: if specific { Suffix::Arch } else { Suffix::None } }
    }

    /// The target with its suffix as the header of a cubin tells it. Nothing where it does not: in the newer layout, and of what is no ELF file.
    pub fn of_header(cubin: &[u8]) -> Option<Target> {
        let header = FileHeader64::<LittleEndian>::parse(cubin).ok()?;
        let (flags, abi_version) = (header.e_flags(LittleEndian).0, header.e_ident().abi_version);
        (!is_new_layout(flags, abi_version)).then(|| Target::from_e_flags(flags, abi_version))
    }
}

impl From<Arch> for Target {
    /// The plain target that gives the generation its name.
    fn from(arch: Arch) -> Self {
        Target::new(arch.number())
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}{}", self.sm, self.suffix.letter())
    }
}

/// ABI version from which on `e_flags` has the newer layout (CUDA 13, and sm_100 in CUDA 12).
pub(crate) const ABI_VERSION_NEW: u8 = 8;

/// Whether `e_flags` has the newer layout. A file without ABI, which ptxas 13 makes where a function returns two registers, has it with
/// ABI version 2 up to sm_89; the top byte is zero in the older one.
pub(crate) fn is_new_layout(flags: u32, abi_version: u8) -> bool {
    abi_version >= ABI_VERSION_NEW || flags >> 24 != 0
}

/// Bit of an architecture-specific target in the older and the newer layout of `e_flags`.
const OLD_ARCH_SPECIFIC: u32 = 0x800;
const NEW_ARCH_SPECIFIC: u32 = 0x8;

/// `e_ident[EI_OSABI]` of the newer layout.
pub(crate) const OSABI_CUDA_NEW: u8 = 0x41;

/// What is set in the newer layout beside the SM: a version in the top byte.
const NEW_VERSION: u32 = 0x0600_0000;
/// The file has the code that the chip executes and no other, as all files up to sm_90 and what nvlink 13.0 makes of such files for sm_100 and
/// later. ptxas sets bit 1 instead where it writes each kernel in its encoding for a family as well; nvlink crashes where that is missing then.
const FINAL_CODE_ONLY: u32 = 4;

/// `e_flags` of a target in the newer layout. CUDA 13 tells the suffix in `.nv.compat` instead.
pub(crate) fn to_e_flags(target: Target) -> u32 {
    NEW_VERSION | (target.sm << 8) | FINAL_CODE_ONLY
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_printed() {
        for name in ["sm_75", "sm_90", "sm_90a", "sm_100f"] {
            assert_eq!(Target::from_name(name).unwrap().to_string(), name);
        }
        for name in ["", "sm_", "sm_a", "sm_9x", "compute_90", "sm_99999999999", "sm_+9"] {
            assert_eq!(Target::from_name(name), None, "{name}");
        }
    }

    /// Flags and ABI versions of files made by ptxas 12.9.86 and 13.0.88.
    #[test]
    fn flags_of_both_layouts_are_understood() {
        let rows = [
            (0x4b_054b, 7, "sm_75"),
            (0x4b_0550, 7, "sm_80"),
            (0x4b_055a, 7, "sm_90"),
            (0x4b_0d5a, 7, "sm_90a"),
            (0x600_6402, 8, "sm_100"),
            (0x600_640a, 8, "sm_100a"),
            (0x600_780a, 8, "sm_120a"),
            (0x600_5004, 8, "sm_80"),
            (0x600_5a04, 8, "sm_90"),
            (0x600_5004, 2, "sm_80"),
        ];
        for (flags, abi, name) in rows {
            assert_eq!(Target::from_e_flags(flags, abi).to_string(), name);
        }
        assert_eq!([89, 100, 120].map(|sm| to_e_flags(Target::new(sm))), [0x600_5904, 0x600_6404, 0x600_7804]);
    }
}
