//! The special registers that `S2R`, `S2UR` and `CS2R` read, from `spec/special_registers.tsv`.

use crate::Arch;

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

/// Some bits of a special register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BitField {
    /// Its name; empty where the register has one field only.
    pub name: &'static str,
    /// The highest bit.
    pub high: u8,
    /// The lowest bit.
    pub low: u8,
}

/// One special register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpecialRegister {
    /// The number in the instruction word.
    pub number: u8,
    /// The name as nvdisasm prints it, such as `SR_TID.X`.
    pub name: &'static str,
    /// The PTX register that is exactly this one (`%tid.x`), if there is one.
    pub ptx: Option<&'static str>,
    /// Who shares the value.
    pub scope: Scope,
    /// `CS2R` reads it too, with fixed latency. On the others `CS2R` gives zero.
    pub coupled: bool,
    /// The kinds of shader in which it has a value (`all`, or names with commas); it reads as zero in
    /// the others.
    pub shaders: &'static str,
    /// Bit per target that names it.
    targets: u32,
    /// The bits that are implemented.
    pub fields: &'static [BitField],
    /// What it holds.
    pub meaning: &'static str,
}

impl SpecialRegister {
    /// `arch` names this register.
    pub fn exists_on(&self, arch: Arch) -> bool {
        arch.is_in(self.targets)
    }

    /// What tables show of it: number, name, PTX name, scope, `yes` if it is coupled, shaders, targets,
    /// fields (`LaneId 4:0, WarpId 14:8`), meaning.
    pub fn columns(&self) -> [String; 9] {
        let field = |f: &BitField| format!("{} {}:{}", f.name, f.high, f.low).trim_start().to_owned();
        [
            self.number.to_string(),
            self.name.to_owned(),
            self.ptx.unwrap_or_default().to_owned(),
            format!("{:?}", self.scope).to_lowercase(),
            if self.coupled { "yes" } else { "" }.to_owned(),
            self.shaders.to_owned(),
            crate::arch::target_list(|arch| self.exists_on(arch)),
            self.fields.iter().map(field).collect::<Vec<_>>().join(", "),
            self.meaning.to_owned(),
        ]
    }

    /// The bits that are implemented; the others read as zero.
    pub fn mask(&self) -> u32 {
        let bits = |field: &BitField| (u32::MAX >> (31 - field.high)) & (u32::MAX << field.low);
        self.fields.iter().fold(0, |mask, field| mask | bits(field))
    }

    /// The bits that threads of a warp may read differently: where the lane is a field among others, that field alone.
    pub fn varying_bits(&self) -> u32 {
        let lane = self.fields.iter().find(|field| field.name == LANE);
        match lane {
            _ if self.scope.is_warp_uniform() => 0,
            Some(lane) => SpecialRegister { fields: std::slice::from_ref(lane), ..*self }.mask(),
            None => self.mask(),
        }
    }

    /// Who reads the same there at whatever time each reads it: of what changes, not more than a warp.
    pub fn shared_by(&self) -> Scope {
        let settled = CONSTANT.contains(&self.name) || WINDOWS.contains(&self.name) || self.number == SRZ;
        if settled || self.scope == Scope::Thread { self.scope } else { Scope::Warp }
    }
}

/// Name of the field that holds the lane.
const LANE: &str = "LaneId";

/// Where the windows of generic addresses are: no launch changes it.
const WINDOWS: [&str; 4] = ["SR_LWINHI", "SR_LWINLO", "SR_SWINHI", "SR_SWINLO"];

/// Number of the register that reads as zero, `SRZ`.
pub const SRZ: u8 = 255;

/// What is said of a number that none can have.
pub const OUT_OF_RANGE: &str = "S2R register must be between 0 and 255 inclusive";

include!(concat!(env!("OUT_DIR"), "/special_registers.rs"));

/// Every named special register, by ascending number; a number that means different things on
/// different targets has several rows.
pub fn all() -> &'static [SpecialRegister] {
    &TABLE
}

/// The register with `number`, where `arch` names it.
pub fn by_number(number: u8, arch: Arch) -> Option<&'static SpecialRegister> {
    let first = TABLE.partition_point(|r| r.number < number);
    TABLE[first..].iter().take_while(|r| r.number == number).find(|r| r.exists_on(arch))
}

/// The register that `arch` prints as `name`.
pub fn by_name(name: &str, arch: Arch) -> Option<&'static SpecialRegister> {
    TABLE.iter().find(|r| r.name == name && r.exists_on(arch))
}

/// What `S2R` (or, with `coupled`, `CS2R`) reads where the register's circuits hold `value`: zero in
/// bits that are not implemented, in numbers that `arch` does not name, and through `CS2R` from
/// registers that are not coupled.
pub fn read(number: u8, arch: Arch, coupled: bool, value: u32) -> u32 {
    by_number(number, arch).filter(|r| r.coupled || !coupled).map_or(0, |r| value & r.mask())
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

/// Special registers that do not change while a thread runs.
const CONSTANT: [&str; 9] = [
    "SR_TID.X",
    "SR_TID.Y",
    "SR_TID.Z",
    "SR_CTAID.X",
    "SR_CTAID.Y",
    "SR_CTAID.Z",
    "SR_LANEID",
    "SR_CgaCtaId",
    "SR_CgaSize",
];

/// Whether the special register `number` of the target reads the same as long as a thread runs: the thread's place in
/// its block, the block's in the grid and in its cluster, and the shape of the cluster.
pub fn is_constant(number: u8, arch: Arch) -> bool {
    by_number(number, arch).is_some_and(|register| CONSTANT.contains(&register.name))
}
