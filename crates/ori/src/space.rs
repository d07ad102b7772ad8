//! Memory spaces of variables.

/// Where a variable lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MemSpace {
    /// `.shared`.
    Shared,
    /// `.const`.
    Const,
    /// `.global`.
    Global,
}

/// Every space and its name in the text form.
const SPACES: [(MemSpace, &str); 3] =
    [(MemSpace::Shared, "shared"), (MemSpace::Const, "const"), (MemSpace::Global, "global")];

impl MemSpace {
    /// Its name in the text form.
    pub fn name(self) -> &'static str {
        // Declared in the order of the table.
        SPACES[self as usize].1
    }

    /// The space of that name.
    pub fn from_name(name: &str) -> Option<MemSpace> {
        SPACES.iter().find(|(_, n)| *n == name).map(|(space, _)| *space)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_space_has_its_row() {
        for (space, name) in SPACES {
            assert_eq!(space.name(), name);
            assert_eq!(MemSpace::from_name(name), Some(space));
        }
    }
}
