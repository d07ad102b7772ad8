//! The names of PTX: opcodes, modifiers, types, special registers…, made from `spec/*.grammar`.

use super::modifier::Modifier;
use super::table::{NameIndex, name_table};
use super::types::TypeClass;

include!(concat!(env!("OUT_DIR"), "/names.rs"));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_find_themselves_only() {
        for opcode in Opcode::ALL {
            assert_eq!(Opcode::from_name(opcode.as_str()), Some(*opcode));
        }
        for register in SpecialReg::ALL {
            assert_eq!(SpecialReg::from_name(register.as_str()), Some(*register));
        }
        for modifier in &MODIFIERS {
            let mut text = String::new();
            modifier.write(&crate::ast::SymbolTable::default(), &mut text).unwrap();
            assert_eq!(Modifier::from_name(&text[1..]), Some(*modifier));
        }
        for name in ["", "a", "ad", "addd", "ADD", "u33", "m8n", "%tid", "evict_first", "no-word"] {
            assert_eq!((Opcode::from_name(name), SpecialReg::from_name(name)), (None, None), "{name}");
        }
        assert_eq!(Modifier::from_name("m16n8k16"), Some(Modifier::Shape(crate::ast::Shape { m: 16, n: 8, k: 16 })));
        assert_eq!(Modifier::from_name("m16n8k0"), None);
        assert_eq!(Modifier::from_name("lo"), Some(Modifier::Word(Word::Lo)));
    }
}
