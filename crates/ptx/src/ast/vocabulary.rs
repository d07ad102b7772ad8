//! The names of PTX: opcodes, modifiers, types, special registers…, made from `spec/*.grammar`.

use super::name::Sym;
use super::shape::Shape;
use super::table::{NameIndex, name_table};
use super::type_class::TypeClass;

include!(concat!(env!("OUT_DIR"), "/names.rs"));

/// One modifier of an instruction. A spelling maps to the same modifier
/// whatever the opcode: `.lo` and `.hi` are always [`Word`]s (also as
/// comparisons; [`Instruction::cmp`](super::Instruction::cmp) knows), and
/// `.cluster` is always a [`Scope`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Modifier {
    /// `.f32`, `.b64`, `.pred`…
    Type(ScalarType),
    /// `.global`, `.shared::cta`…
    Space(Space),
    /// `.v2`, `.v4`, `.v8`
    Vector(VectorLen),
    /// `.rn`, `.rzi`…
    Rounding(Rounding),
    /// `.eq`, `.ltu`, `.nan`… but `.lo` and `.hi` are [`Word`]s
    Cmp(CmpOp),
    /// `.cta`, `.gpu`…
    Scope(Scope),
    /// `.relaxed`, `.acquire`, `.volatile`…
    Semantics(Semantics),
    /// `.m16n8k16`…
    Shape(Shape),
    /// any other modifier of PTX 9.0
    Word(Word),
    /// a word that PTX 9.0 does not have
    Other(Sym),
}

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
