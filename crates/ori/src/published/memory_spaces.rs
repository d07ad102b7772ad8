//! The published memory spaces, their categories, and which of them are hot or cold.

/// One input number of the classifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// The number.
    pub number: u8,
    /// The space, as the table names it.
    pub name: &'static str,
    /// The internal category; `None` where there is no memory or only the opcode tells.
    pub category: Option<u8>,
}

const fn space(number: u8, name: &'static str, category: Option<u8>) -> Space {
    Space { number, name, category }
}

/// Every number but the gaps. Source: the document on ptxas's IR, "Memory Space Classification".
pub const SPACES: [Space; 19] = [
    space(0, "(none)", None),
    space(1, "Register / generic", Some(16)),
    space(2, "Code / function", Some(12)),
    space(4, ".shared", Some(1)),
    space(5, ".const", Some(3)),
    space(6, ".global", Some(11)),
    space(7, ".local", Some(2)),
    space(9, ".local (variant)", Some(2)),
    space(12, ".param", Some(4)),
    space(13, "Generic (unqualified)", Some(0)),
    space(14, ".tex", Some(8)),
    space(15, ".surf", Some(17)),
    space(16, "Spill space", Some(7)),
    space(18, "(instruction-dependent)", None),
    space(19, ".uniform", Some(15)),
    space(20, ".global (extended)", Some(6)),
    space(21, ".const (extended)", Some(5)),
    space(22, ".const (extended, alt)", Some(5)),
    space(23, ".surf / tensor (ext)", Some(18)),
];

/// First and last opcode number, and the category, of an access whose space is the instruction-dependent one. Source:
/// the paragraph below that table.
pub const BY_OPCODE: [(u16, u16, u8); 9] = [
    (7, 7, 6),
    (43, 43, 6),
    (45, 45, 6),
    (53, 53, 6),
    (54, 54, 9),
    (111, 111, 5),
    (183, 188, 5),
    (189, 189, 9),
    (190, 199, 5),
];

/// The category with long latency (global memory), and that with short (constants). Source: the paragraph after that.
pub const HOT: u8 = 11;
/// See [`HOT`].
pub const COLD: u8 = 3;

/// The space of a number; `None` for a gap.
pub fn of_number(number: u8) -> Option<&'static Space> {
    SPACES.iter().find(|space| space.number == number)
}

/// The category of an access whose space only its opcode number tells.
pub fn of_opcode(opcode: u16) -> Option<u8> {
    let row = BY_OPCODE.iter().find(|(first, last, _)| (*first..=*last).contains(&opcode));
    row.map(|(_, _, category)| *category)
}

pub(super) fn section() -> String {
    let spaces = SPACES.map(|space| {
        let heat = match space.category {
            Some(HOT) => " hot",
            Some(COLD) => " cold",
            _ => "",
        };
        let category = space.category.map_or("--".to_owned(), |category| category.to_string());
        format!("{:>2} {:<24} category {category}{heat}", space.number, space.name)
    });
    let opcodes = BY_OPCODE.map(|(first, last, category)| {
        let range = if first == last { format!("opcode {first}") } else { format!("opcodes {first}-{last}") };
        format!("{range}, instruction-dependent: category {category}")
    });
    super::titled("Memory spaces", spaces.into_iter().chain(opcodes))
}
