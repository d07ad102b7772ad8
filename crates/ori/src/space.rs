//! Memory spaces and their categories.

/// A memory space with the number that the front end uses for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum MemSpace {
    /// 0: no memory.
    None = 0,
    /// 1: an address in the register file.
    Register = 1,
    /// 2: code, a function's address.
    Code = 2,
    /// 4: `.shared`.
    Shared = 4,
    /// 5: `.const`.
    Const = 5,
    /// 6: `.global`.
    Global = 6,
    /// 7: `.local`.
    Local = 7,
    /// 9: `.local`, alternate encoding.
    LocalAlt = 9,
    /// 12: `.param`.
    Param = 12,
    /// 13: the generic address space.
    Generic = 13,
    /// 14: `.tex`.
    Texture = 14,
    /// 15: `.surf`.
    Surface = 15,
    /// 16: spill slots.
    Spill = 16,
    /// 18: known only from the opcode.
    ByOpcode = 18,
    /// 19: uniform (constant loads through the uniform datapath).
    Uniform = 19,
    /// 20: `.global`, extended.
    GlobalExt = 20,
    /// 21: `.const`, extended.
    ConstExt = 21,
    /// 22: `.const`, alternate extended.
    ConstExtAlt = 22,
    /// 23: surface and tensor, extended.
    SurfaceExt = 23,
}

/// How a scheduler treats accesses of a category.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Heat {
    /// Long latency: schedule early and hide it.
    Hot,
    /// Short latency: treat conservatively.
    Cold,
    /// Neither.
    Neutral,
}

/// Space, its name in the text form, its internal category.
const SPACES: [(MemSpace, &str, Option<u8>); 19] = [
    (MemSpace::None, "none", None),
    (MemSpace::Register, "register", Some(16)),
    (MemSpace::Code, "code", Some(12)),
    (MemSpace::Shared, "shared", Some(1)),
    (MemSpace::Const, "const", Some(3)),
    (MemSpace::Global, "global", Some(11)),
    (MemSpace::Local, "local", Some(2)),
    (MemSpace::LocalAlt, "local_alt", Some(2)),
    (MemSpace::Param, "param", Some(4)),
    (MemSpace::Generic, "generic", Some(0)),
    (MemSpace::Texture, "tex", Some(8)),
    (MemSpace::Surface, "surf", Some(17)),
    (MemSpace::Spill, "spill", Some(7)),
    (MemSpace::ByOpcode, "by_opcode", None),
    (MemSpace::Uniform, "uniform", Some(15)),
    (MemSpace::GlobalExt, "global_ext", Some(6)),
    (MemSpace::ConstExt, "const_ext", Some(5)),
    (MemSpace::ConstExtAlt, "const_ext_alt", Some(5)),
    (MemSpace::SurfaceExt, "surf_ext", Some(18)),
];

impl MemSpace {
    /// Every space, in order of number.
    pub fn all() -> impl Iterator<Item = MemSpace> {
        SPACES.iter().map(|(space, ..)| *space)
    }

    fn row(self) -> &'static (MemSpace, &'static str, Option<u8>) {
        // Every variant has a row (`every_space_has_a_row` proves it); the first stands in otherwise.
        SPACES.iter().find(|(space, ..)| *space == self).unwrap_or(&SPACES[0])
    }

    /// The space with the front end's number; gaps give `None`.
    pub fn from_number(number: u8) -> Option<MemSpace> {
        MemSpace::all().find(|space| *space as u8 == number)
    }

    /// Its name in the text form.
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// The space of that name.
    pub fn from_name(name: &str) -> Option<MemSpace> {
        SPACES.iter().find(|(_, n, _)| *n == name).map(|(space, ..)| *space)
    }

    /// The internal category number; `None` where there is no memory or only the opcode tells.
    pub fn category(self) -> Option<u8> {
        self.row().2
    }

    /// The category of an access whose space is known only from its opcode number.
    pub fn category_of_opcode(opcode_number: u16) -> Option<u8> {
        match opcode_number {
            7 | 43 | 45 | 53 => Some(6),
            54 | 189 => Some(9),
            111 | 183..=199 => Some(5),
            _ => None,
        }
    }

    /// Hot, cold or neither, for the scheduler.
    pub fn heat(self) -> Heat {
        match self.category() {
            Some(11) => Heat::Hot,
            Some(3) => Heat::Cold,
            _ => Heat::Neutral,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_space_has_a_row() {
        for (space, name, category) in SPACES {
            assert_eq!(MemSpace::from_name(name), Some(space));
            assert_eq!(MemSpace::from_number(space as u8), Some(space));
            assert_eq!(space.category(), category);
        }
        for gap in [3, 8, 10, 11, 17, 24] {
            assert_eq!(MemSpace::from_number(gap), None);
        }
    }

    #[test]
    fn opcode_dependent_categories_follow_the_table() {
        assert_eq!(MemSpace::category_of_opcode(43), Some(6));
        assert_eq!(MemSpace::category_of_opcode(189), Some(9));
        assert_eq!(MemSpace::category_of_opcode(188), Some(5));
        assert_eq!(MemSpace::category_of_opcode(12), None);
    }
}
