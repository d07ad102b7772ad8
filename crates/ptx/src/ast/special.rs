//! The predefined, read-only registers (PTX manual, chapter "Special Registers").

use super::vocabulary::{SPECIAL_INDEX, SpecialReg};

impl SpecialReg {
    /// The register spelled `name`, given without its `%`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<SpecialReg> {
        let register = SpecialReg::ALL[SPECIAL_INDEX.place(name)];
        (register.as_str() == name).then_some(register)
    }
}
