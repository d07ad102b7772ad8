//! Which image of a fatbinary a driver takes for a chip.
//!
//! The rules are those of the CUDA programming guide ("binary compatibility", "PTX compatibility") and of nvcc's manual
//! ("architecture-specific and family-specific features"):
//!
//! * A cubin runs on its own chip and on later ones of the same major version. `sm_90a` runs on 9.0 alone, `sm_100f` on what is of its
//!   family. Cubins of desktop and Tegra chips do not run on one another.
//! * If no cubin runs, PTX is compiled: what is not for a later chip. `compute_90a` is compiled for 9.0 alone, `compute_100f` for its
//!   family.
//! * Of several that run the one for the latest chip is taken.

use crate::entry::{Entry, Kind};
use oriole_cubin::{Suffix, Target};
use std::cmp::Reverse;

/// Chips of Tegra that share their major version with others.
const TEGRA: [u32; 4] = [53, 62, 72, 87];

/// Whether an image runs on a chip: a cubin as it is, PTX by being compiled. The chip's suffix does not matter: all chips can do what
/// is specific to them.
pub fn runs(kind: Kind, image: Target, chip: Target) -> bool {
    let is_of_family = image.sm <= chip.sm && image.sm / 10 == chip.sm / 10;
    let share_binaries = image.sm == chip.sm || !TEGRA.contains(&image.sm) && !TEGRA.contains(&chip.sm);
    match (kind, image.suffix) {
        (Kind::Cubin | Kind::Ptx, Suffix::Arch) => image.sm == chip.sm,
        (Kind::Cubin | Kind::Ptx, Suffix::Family) => is_of_family,
        (Kind::Cubin, Suffix::None) => is_of_family && share_binaries,
        (Kind::Ptx, Suffix::None) => image.sm <= chip.sm,
        (Kind::Lto | Kind::Other(_), _) => false,
    }
}

/// The image that a driver takes for a chip: the cubin for the latest chip, or else such PTX. Of those for the same one that which has
/// the chip's suffix, or else the most specific, or else the first.
pub fn select<'e, 'a>(entries: impl IntoIterator<Item = &'e Entry<'a>>, chip: Target) -> Option<&'e Entry<'a>>
where
    'a: 'e,
{
    let rank = |entry: &&Entry<'a>| {
        let Target { sm, suffix } = entry.target;
        let specific = match suffix {
            Suffix::None => 0,
            Suffix::Family => 1,
            Suffix::Arch => 2,
        };
        Reverse((entry.kind == Kind::Cubin, sm, suffix == chip.suffix, specific))
    };
    // The first of equals.
    entries.into_iter().filter(|entry| runs(entry.kind, entry.target, chip)).min_by_key(rank)
}

/// What PTX is compiled for on a chip. Code that is specific to a chip or a family becomes a cubin that says so.
pub fn compiled_for(ptx: Target, chip: Target) -> Target {
    match (ptx.suffix, chip.suffix) {
        (Suffix::Arch, _) => ptx,
        (Suffix::Family, Suffix::None) => Target { suffix: Suffix::Family, ..chip },
        _ => chip,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(name: &str) -> Target {
        Target::from_name(name).unwrap()
    }

    /// The tables of the programming guide and of nvcc's manual: image, chip, whether a cubin runs, whether PTX is compiled.
    #[test]
    fn what_runs_where() {
        let rows = [
            ("sm_80", "sm_80", true, true),
            ("sm_80", "sm_86", true, true),
            ("sm_86", "sm_80", false, false),
            ("sm_80", "sm_90", false, true),
            ("sm_80", "sm_87", false, true),
            ("sm_87", "sm_89", false, true),
            ("sm_87", "sm_87", true, true),
            ("sm_90a", "sm_90", true, true),
            ("sm_90", "sm_90a", true, true),
            ("sm_90a", "sm_100", false, false),
            ("sm_100", "sm_103", true, true),
            ("sm_100a", "sm_103", false, false),
            ("sm_100f", "sm_103", true, true),
            ("sm_100f", "sm_110", false, false),
            ("sm_100f", "sm_120", false, false),
            ("sm_103f", "sm_100", false, false),
            ("sm_120f", "sm_121", true, true),
            ("sm_100", "sm_120", false, true),
        ];
        for (image, chip, cubin, ptx) in rows {
            let (image, chip) = (target(image), target(chip));
            assert_eq!(runs(Kind::Cubin, image, chip), cubin, "cubin for {image} on {chip}");
            assert_eq!(runs(Kind::Ptx, image, chip), ptx, "PTX for {image} on {chip}");
        }
    }

    #[test]
    fn what_ptx_is_compiled_for() {
        let rows = [
            ("sm_80", "sm_90", "sm_90"),
            ("sm_80", "sm_90a", "sm_90a"),
            ("sm_90a", "sm_90", "sm_90a"),
            ("sm_100f", "sm_103", "sm_103f"),
            ("sm_100f", "sm_103a", "sm_103a"),
        ];
        for (ptx, chip, cubin) in rows {
            assert_eq!(compiled_for(target(ptx), target(chip)), target(cubin), "{ptx} on {chip}");
        }
    }
}
