//! The special registers that `S2R`, `S2UR` and `CS2R` read, from `spec/special_registers.tsv`.

use crate::Arch;
use std::sync::LazyLock;

/// Over which set of threads a special register has one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Each thread has its own.
    Thread,
    /// One per warp.
    Warp,
    /// One per block.
    Cta,
    /// One per grid.
    Grid,
    /// One per multiprocessor.
    Sm,
    /// One for the device.
    Global,
}

impl Scope {
    /// All threads of a warp read the same value (at the same moment).
    pub fn is_warp_uniform(self) -> bool {
        self != Scope::Thread
    }
}

/// One special register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecialRegister {
    /// The number in the instruction word (bits 72–79).
    pub number: u8,
    /// The name as nvdisasm prints it, such as `SR_TID.X`.
    pub name: &'static str,
    /// The PTX register that is exactly this one (`%tid.x`), if there is one.
    pub ptx: Option<&'static str>,
    /// Who shares the value.
    pub scope: Scope,
    /// Significant low bits; the others read as zero.
    pub bits: u8,
    /// `CS2R` reads it too, with fixed latency. On the others `CS2R` gives zero.
    pub coupled: bool,
    /// The only target that names it; `None`: all.
    only: Option<Arch>,
    /// What it holds.
    pub meaning: &'static str,
}

impl SpecialRegister {
    /// `arch` names this register.
    pub fn exists_on(&self, arch: Arch) -> bool {
        self.only.is_none_or(|only| only == arch)
    }
}

/// Number of the register that reads as zero, `SRZ`.
pub const SRZ: u8 = 255;

static TABLE: LazyLock<Vec<SpecialRegister>> =
    LazyLock::new(|| include_str!("../spec/special_registers.tsv").lines().filter_map(row).collect());

/// Every named special register of any target, by ascending number.
pub fn all() -> &'static [SpecialRegister] {
    &TABLE
}

/// The register with `number`, where `arch` names it.
pub fn by_number(number: u8, arch: Arch) -> Option<&'static SpecialRegister> {
    let at = TABLE.binary_search_by_key(&number, |r| r.number).ok()?;
    Some(&TABLE[at]).filter(|r| r.exists_on(arch))
}

/// The register that `arch` prints as `name`.
pub fn by_name(name: &str, arch: Arch) -> Option<&'static SpecialRegister> {
    TABLE.iter().find(|r| r.name == name && r.exists_on(arch))
}

/// The register that holds exactly the PTX register `name` (with its `%`).
pub fn by_ptx_name(name: &str, arch: Arch) -> Option<&'static SpecialRegister> {
    TABLE.iter().find(|r| r.ptx == Some(name) && r.exists_on(arch))
}

/// The name that `arch` prints for `number`: its own, or `SR<number>` where it has none.
pub fn print(number: u8, arch: Arch) -> String {
    by_number(number, arch).map_or_else(|| format!("SR{number}"), |r| r.name.to_owned())
}

/// The number of a name as [`print()`] gives it.
pub fn parse(name: &str, arch: Arch) -> Option<u8> {
    by_name(name, arch).map(|r| r.number).or_else(|| {
        let number = name.strip_prefix("SR")?.parse().ok()?;
        by_number(number, arch).is_none().then_some(number)
    })
}

/// A row of the table; `None` for comments, the header and malformed rows (a test counts them).
fn row(line: &'static str) -> Option<SpecialRegister> {
    let cells: Vec<&str> = line.split('\t').collect();
    let [number, name, ptx, scope, bits, coupled, targets, meaning] = cells[..] else { return None };
    Some(SpecialRegister {
        number: number.parse().ok()?,
        name,
        ptx: (ptx != "-").then_some(ptx),
        scope: match scope {
            "thread" => Scope::Thread,
            "warp" => Scope::Warp,
            "cta" => Scope::Cta,
            "grid" => Scope::Grid,
            "sm" => Scope::Sm,
            "global" => Scope::Global,
            _ => return None,
        },
        bits: bits.parse().ok()?,
        coupled: coupled == "yes",
        only: match targets {
            "all" => None,
            target => Some(target.parse().ok()?),
        },
        meaning,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_the_table_is_read() {
        let text = include_str!("../spec/special_registers.tsv");
        let rows = text.lines().filter(|l| !l.starts_with('#') && !l.starts_with("number\t")).count();
        assert_eq!(all().len(), rows);
        assert!(all().windows(2).all(|w| w[0].number < w[1].number));
    }

    #[test]
    fn names_print_and_parse_back_for_all_numbers() {
        for arch in Arch::ALL {
            for number in 0..=255 {
                assert_eq!(parse(&print(number, arch), arch), Some(number));
            }
        }
    }

    #[test]
    fn hopper_alone_names_the_cluster_registers() {
        assert_eq!(print(136, Arch::Sm90), "SR_CgaCtaId");
        assert_eq!(print(136, Arch::Sm80), "SR136");
        assert_eq!(by_ptx_name("%tid.x", Arch::Sm80).map(|r| r.number), Some(33));
        assert_eq!(by_number(SRZ, Arch::Sm89).map(|r| r.name), Some("SRZ"));
    }
}
