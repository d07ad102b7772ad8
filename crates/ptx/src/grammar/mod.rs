//! The instruction grammar of PTX as data (`crates/ptx/spec/*.grammar`).
//!
//! | file | what it does |
//! |---|---|
//! | `mod` | what the data says, as types |
//! | `read` | reads the text of the data files |
//! | `select` | finds the forms that an instruction's modifiers fit |
//! | `target` | targets, versions and what a feature needs of them |
//! | `show` | a form as the manual would print it, for messages |
//!
//! `docs/ptx-grammar.md` explains the notation.

mod read;
mod select;
mod show;
mod target;

use std::collections::HashMap;
use std::sync::LazyLock;

pub(crate) use select::{Fit, Miss, Selection};
pub(crate) use show::{any_of, modifier};
pub(crate) use target::{Need, Target, Variant};

use crate::ast::{Modifier, Opcode, ScalarType, Space, SpecialReg};

/// The data files, by chapter of the PTX manual. `sets` comes first: the
/// others use its names.
const CHAPTERS: [(&str, &str); 14] = [
    ("sets", include_str!("../../spec/sets.grammar")),
    ("integer", include_str!("../../spec/integer.grammar")),
    ("float", include_str!("../../spec/float.grammar")),
    ("compare", include_str!("../../spec/compare.grammar")),
    ("logic", include_str!("../../spec/logic.grammar")),
    ("data", include_str!("../../spec/data.grammar")),
    ("async", include_str!("../../spec/async.grammar")),
    ("texture", include_str!("../../spec/texture.grammar")),
    ("control", include_str!("../../spec/control.grammar")),
    ("parallel", include_str!("../../spec/parallel.grammar")),
    ("matrix", include_str!("../../spec/matrix.grammar")),
    ("video", include_str!("../../spec/video.grammar")),
    ("special", include_str!("../../spec/special.grammar")),
    ("module", include_str!("../../spec/module.grammar")),
];

/// Every instruction of PTX.
#[derive(Debug)]
pub(crate) struct Grammar {
    instructions: Vec<InstructionSpec>,
    /// By opcode: its instructions, those with the longest stem first.
    by_opcode: Vec<Vec<u16>>,
    /// By special register.
    specials: Vec<SpecialSpec>,
    /// Target names, each with the lowest version that knows it.
    pub(crate) targets: Vec<(String, (u32, u32))>,
    /// The versions of PTX that there are.
    pub(crate) versions: Vec<(u32, u32)>,
    /// By name: what a directive needs.
    directives: HashMap<String, Need>,
}

/// What a special register is.
#[derive(Clone, Debug, Default)]
pub(crate) struct SpecialSpec {
    /// Widths in bits that `mov` may read it with; 1 for predicates.
    pub(crate) widths: Vec<u32>,
    /// True if it has the parts `.x`, `.y`, `.z`, `.w`.
    pub(crate) vector: bool,
    pub(crate) need: Need,
}

/// One instruction: an opcode with the words that always follow it directly
/// (`mul.wide`, `cp.async.bulk`), and its forms.
#[derive(Debug)]
pub(crate) struct InstructionSpec {
    pub(crate) opcode: Opcode,
    /// The words that belong to the name.
    pub(crate) stem: Vec<Modifier>,
    pub(crate) forms: Vec<Form>,
    /// What holds for several forms.
    pub(crate) rules: Vec<ComboRule>,
}

/// One way to write an instruction.
#[derive(Debug)]
pub(crate) struct Form {
    /// The modifiers after the stem, in the manual's order.
    pub(crate) slots: Vec<Slot>,
    pub(crate) operands: Vec<OperandSpec>,
    /// True where the grammar does not say what the operands are.
    pub(crate) open: bool,
    pub(crate) need: Need,
}

/// A place for one modifier.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) optional: bool,
    pub(crate) choices: Vec<Choice>,
}

/// A modifier that may stand in a [`Slot`], with what it needs.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    pub(crate) modifier: Modifier,
    pub(crate) need: Need,
}

/// A rule about modifiers that stand together.
#[derive(Debug)]
pub(crate) struct ComboRule {
    /// The rule applies where each of these is met.
    pub(crate) when: Vec<Condition>,
    pub(crate) effect: Effect,
}

/// Some modifier of a list is present, or none is.
#[derive(Debug)]
pub(crate) struct Condition {
    pub(crate) present: bool,
    pub(crate) any: Vec<Modifier>,
}

/// What a [`ComboRule`] says.
#[derive(Debug)]
pub(crate) enum Effect {
    /// `never`: the modifiers cannot be combined.
    Never,
    /// `only … with`: one of these must be there too.
    Requires(Vec<Modifier>),
    /// `since`: the combination needs a version or target.
    Needs(Need),
}

/// What one operand must be.
#[derive(Clone, Debug)]
pub(crate) struct OperandSpec {
    pub(crate) kind: Kind,
    /// True for results.
    pub(crate) result: bool,
    pub(crate) optional: bool,
    pub(crate) constants: Constants,
    /// Bounds of a constant.
    pub(crate) range: Option<(i64, i64)>,
    /// The register may be wider than the type.
    pub(crate) wider: bool,
    /// `_` may stand here.
    pub(crate) sink: bool,
    /// `-` (or `!` of a predicate) may stand before it.
    pub(crate) negated: bool,
    /// The address of a variable may stand here.
    pub(crate) symbol: bool,
    /// A special register may stand here.
    pub(crate) special: bool,
    /// The operand is there exactly where one of these modifiers is; always
    /// where the list is empty.
    pub(crate) with: Vec<Modifier>,
    /// The second half of `a|b`, and whether it must be there.
    pub(crate) pair: Option<(Ty, bool)>,
}

/// Whether an operand may be a constant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Constants {
    Allowed,
    Refused,
    Required,
}

/// What kind of operand stands in a place.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// A register or a constant.
    Value(Ty),
    /// `{a, b}`
    Vector(Ty, Count),
    /// A value, or a vector where the instruction has `.v2`, `.v4`, `.v8`.
    Elements(Ty),
    /// `{a, b}` of registers that together are as wide as the type.
    Pack(Ty),
    /// `[address]`
    Address(AddressSpec),
    /// A label.
    Label,
    /// Anything.
    Any,
}

/// A type that an operand takes from the instruction or by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ty {
    /// The instruction's n-th type, from 0.
    Nth(u8),
    /// Twice as wide as the instruction's n-th type.
    Double(u8),
    /// This type.
    Is(ScalarType),
}

/// How many elements a vector has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Count {
    /// As many as the form says.
    Is(u16),
    /// A multiple of the number in `.x4`.
    TimesX(u16),
    /// A part of the shape's n: this is the divisor.
    PartOfN(u16),
    /// Any number.
    Any,
}

/// What stands in brackets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct AddressSpec {
    pub(crate) space: AddressSpace,
    /// How many operands may follow the address inside the brackets.
    pub(crate) rest: (u8, u8),
}

/// Where an address points.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AddressSpace {
    /// To the instruction's n-th state space; generic without one.
    Nth(u8),
    /// To this space.
    Is(Space),
    /// To a variable of one of these opaque types.
    Opaque(&'static [ScalarType]),
    /// To tensor memory, by a 32-bit register.
    Tensor,
    /// Not checked: generic, or a space that variables cannot be in.
    Any,
}

impl Grammar {
    /// The grammar that is compiled in, read at first use.
    pub(crate) fn get() -> &'static Grammar {
        static GRAMMAR: LazyLock<Grammar> = LazyLock::new(|| {
            // The text is a constant of this crate, and the test `the_data_reads` reads it.
            read::grammar(&CHAPTERS).unwrap_or_else(|error| unreachable!("{error}"))
        });
        &GRAMMAR
    }

    /// What a special register is.
    pub(crate) fn special(&self, register: SpecialReg) -> &SpecialSpec {
        &self.specials[register as usize]
    }

    /// What a directive, a pragma or another feature of modules needs, if
    /// that is anything.
    pub(crate) fn directive(&self, name: &str) -> Option<&Need> {
        self.directives.get(name)
    }

    /// The instructions of an opcode, those with the longest stem first.
    pub(crate) fn of(&self, opcode: Opcode) -> impl Iterator<Item = &InstructionSpec> {
        self.by_opcode[opcode as usize].iter().map(|&at| &self.instructions[usize::from(at)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_reads() {
        let grammar = read::grammar(&CHAPTERS).unwrap();
        let without: Vec<_> = Opcode::ALL.iter().filter(|&&op| grammar.of(op).next().is_none()).collect();
        assert!(without.is_empty(), "no grammar for {without:?}");
        let without: Vec<_> = SpecialReg::ALL.iter().filter(|&&r| grammar.special(r).widths.is_empty()).collect();
        assert!(without.is_empty(), "no grammar for {without:?}");
    }
}
