//! The published opcode table: number, name with letters turned by 13, encoding categories. The facts stand with each
//! instruction in the ISA's spec files (`number`, `category`).

use oriole_isa::Opcode;

/// How a dump spells mnemonics: plainly, or as the published table does.
pub fn spelling(rot13: bool) -> fn(Opcode) -> &'static str {
    if rot13 { Opcode::rot13_name } else { Opcode::name }
}

/// The opcode that a dump spells so, in either spelling.
pub fn spelled(name: &str) -> Option<Opcode> {
    Opcode::from_name(name).or_else(|| Opcode::from_rot13(name))
}

/// The opcodes of which a number or an encoding category is published, by number, those without one last.
pub fn table() -> Vec<Opcode> {
    let mut known: Vec<Opcode> =
        Opcode::ALL.into_iter().filter(|opcode| opcode.ori_number().is_some() || opcode.category().is_some()).collect();
    known.sort_by_key(|opcode| opcode.ori_number().unwrap_or(u16::MAX));
    known
}

pub(super) fn section() -> String {
    let line = |opcode: Opcode| {
        let number = opcode.ori_number().map_or("--".to_owned(), |number| number.to_string());
        let categories = match opcode.category() {
            Some((first, last)) if first == last => format!("category {first}"),
            Some((first, last)) => format!("categories {first}-{last}"),
            None => String::new(),
        };
        format!("{number:>3} {:<10} {:<10} {categories}", opcode.rot13_name(), opcode.name())
    };
    super::titled("Opcodes", table().into_iter().map(line))
}
