//! The instruction grammar of PTX as tables, which the build script makes from `crates/ptx/spec/*.grammar`.
//!
//! | file | what it does |
//! |---|---|
//! | `mod` | what the tables say, as types |
//! | `tables` | the generated tables |
//! | `run` | lists and entries of the tables, by place |
//! | `select` | finds the forms that an instruction's modifiers fit |
//! | `target` `need` | targets, and what a feature needs of them |
//! | `show` | a form as the manual would print it, for messages |
//!
//! `docs/ptx-grammar.md` explains the notation.

mod need;
mod run;
mod select;
mod show;
mod tables;
mod target;

pub(crate) use need::Need;
pub(crate) use run::{At, Run, Text};
pub(crate) use select::{Fit, Miss, Selection};
pub(crate) use show::{any_of, modifier};
pub(crate) use target::{Target, Variant};

use crate::ast::{Lanes, Modifier, Opcode, ScalarType, Space, SpecialReg};

/// What a special register is.
#[derive(Debug)]
pub(crate) struct SpecialSpec {
    /// Widths in bits that `mov` may read it with; 1 for predicates.
    pub(crate) widths: Run<u32>,
    /// True if it has the parts `.x`, `.y`, `.z`, `.w`.
    pub(crate) vector: bool,
    pub(crate) need: At<Need>,
}

/// One instruction: an opcode with the words that always follow it directly
/// (`mul.wide`, `cp.async.bulk`), and its forms.
#[derive(Debug)]
pub(crate) struct InstructionSpec {
    pub(crate) opcode: Opcode,
    /// The words that belong to the name.
    pub(crate) stem: Run<Modifier>,
    pub(crate) forms: Run<Form>,
    /// What holds for several forms.
    pub(crate) rules: Run<ComboRule>,
}

/// One way to write an instruction.
#[derive(Debug)]
pub(crate) struct Form {
    /// The modifiers after the stem, in the manual's order.
    pub(crate) slots: Run<Slot>,
    pub(crate) operands: Run<OperandSpec>,
    /// True where the grammar does not say what the operands are.
    pub(crate) open: bool,
    pub(crate) need: At<Need>,
}

/// A place for one modifier.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) optional: bool,
    pub(crate) choices: Run<Choice>,
}

/// A modifier that may stand in a [`Slot`], with what it needs.
#[derive(Debug)]
pub(crate) struct Choice {
    pub(crate) modifier: Modifier,
    pub(crate) need: At<Need>,
}

/// A rule about modifiers that stand together.
#[derive(Debug)]
pub(crate) struct ComboRule {
    /// The rule applies where each of these is met.
    pub(crate) when: Run<Condition>,
    pub(crate) effect: Effect,
}

/// Some modifier of a list is present, or none is.
#[derive(Debug)]
pub(crate) struct Condition {
    pub(crate) present: bool,
    pub(crate) any: Run<Modifier>,
}

/// What a [`ComboRule`] says.
#[derive(Debug)]
pub(crate) enum Effect {
    /// `never`: the modifiers cannot be combined.
    Never,
    /// `only … with`: one of these must be there too.
    Requires(Run<Modifier>),
    /// `since`: the combination needs a version or target.
    Needs(At<Need>),
}

/// What one operand must be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OperandSpec {
    pub(crate) kind: Kind,
    /// True for results.
    pub(crate) result: bool,
    pub(crate) optional: bool,
    pub(crate) constants: Constants,
    /// Bounds of a constant.
    pub(crate) range: Option<Bounds>,
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
    /// It may stand in braces of its own: a vector of one.
    pub(crate) braces: bool,
    /// What of the register may be selected.
    pub(crate) parts: Parts,
    /// The operand is there exactly where one of these modifiers is; always
    /// where the list is empty.
    pub(crate) with: Run<Modifier>,
    /// The second half of `a|b`, and whether it must be there.
    pub(crate) pair: Option<(Ty, bool)>,
}

impl OperandSpec {
    /// True if the operand is there where an instruction has these modifiers.
    pub(crate) fn stands_with(&self, modifiers: &[Modifier]) -> bool {
        self.with.is_empty() || self.with.iter().any(|modifier| modifiers.contains(modifier))
    }
}

/// Which constants may stand in a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Bounds {
    pub(crate) low: i64,
    pub(crate) high: i64,
    pub(crate) step: Step,
}

/// Which numbers between its bounds a constant may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// From the lowest in steps of this.
    Of(i64),
    /// Powers of two.
    PowerOfTwo,
}

impl Bounds {
    /// True if the number may stand there.
    pub(crate) fn hold(self, number: i64) -> bool {
        let steps = match self.step {
            Step::Of(step) => number.wrapping_sub(self.low) % step == 0,
            Step::PowerOfTwo => number.count_ones() == 1,
        };
        steps && (self.low..=self.high).contains(&number)
    }

    /// The numbers in words: `0 to 31`, `4, 8 or 16`.
    pub(crate) fn words(self) -> String {
        let Bounds { low, high, step } = self;
        match step {
            _ if low == high => low.to_string(),
            Step::Of(1) => format!("{low} to {high}"),
            Step::Of(step) if high - low == step => format!("{low} or {high}"),
            Step::Of(step) => format!("a multiple of {step} from {low} to {high}"),
            Step::PowerOfTwo => {
                let powers = std::iter::successors(Some(low), |power| power.checked_mul(2));
                let before: Vec<String> = powers.take_while(|&power| power < high).map(|p| p.to_string()).collect();
                format!("{} or {high}", before.join(", "))
            }
        }
    }
}

/// Whether an operand may be a constant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Constants {
    Allowed,
    Refused,
    Required,
}

/// What kind of operand stands in a place.
#[derive(Clone, Copy, Debug)]
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
    /// `_` alone.
    Sink,
    /// How far the texels that are read lie from the coordinates: as many numbers as the texture has dimensions.
    Texel,
}

/// What may be selected of a register in a video instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Parts {
    /// Nothing.
    None,
    /// A byte or half-word: `.b2`, `.h1`.
    One,
    /// Two half-words, each of two registers: `.h10`.
    Halves,
    /// Four bytes, each of two registers: `.b3210`.
    Bytes,
    /// The half-words that are written: `.h0`, `.h10`.
    SomeHalves,
    /// The bytes that are written: `.b3210`.
    SomeBytes,
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

impl Parts {
    /// True if these lanes may be selected.
    pub(crate) fn hold(self, lanes: Lanes) -> bool {
        let chosen = &lanes.index[..usize::from(lanes.count)];
        let of = |count: usize, below: u8| chosen.len() == count && chosen.iter().all(|&lane| lane < below);
        // What is written is named from the highest on.
        let some = |below: u8| chosen[0] < below && chosen.is_sorted_by(|a, b| a > b);
        match (self, lanes.halves) {
            (Parts::One, true) => of(1, 2),
            (Parts::One, false) => of(1, 4),
            (Parts::Halves, true) => of(2, 4),
            (Parts::Bytes, false) => of(4, 8),
            (Parts::SomeHalves, true) => some(2),
            (Parts::SomeBytes, false) => some(4),
            _ => false,
        }
    }
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
    /// As many as a gradient of the texture has.
    Gradient,
    /// The tensor's dimensions but two.
    Im2col,
    /// Registers of the groups of a vector with structured sparsity.
    SparseGroup,
    /// Registers of what is kept of them.
    SparseKept,
    /// Registers of the places of what is kept.
    SparsePlaces,
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
    /// To a variable of an opaque type.
    Opaque(Handle),
    /// To tensor memory, by a 32-bit register.
    Tensor,
    /// A tensor map with the coordinates of a place in the tensor.
    TensorMap,
    /// Other devices' memory: a 32-bit register with the endpoint, and offsets in it in 64-bit registers.
    Fabric,
    /// Not checked: generic, or a space that variables cannot be in.
    Any,
}

/// What an address with a handle leads to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Handle {
    Texture,
    Sampler,
    TextureOrSampler,
    Surface,
}

impl Handle {
    /// The types of variables that hold it.
    pub(crate) fn types(self) -> &'static [ScalarType] {
        match self {
            Handle::Texture => &[ScalarType::Texref],
            Handle::Sampler => &[ScalarType::Samplerref],
            Handle::TextureOrSampler => &[ScalarType::Texref, ScalarType::Samplerref],
            Handle::Surface => &[ScalarType::Surfref],
        }
    }
}

/// The versions of PTX that there are, in order.
pub(crate) fn versions() -> &'static [(u32, u32)] {
    &tables::VERSIONS
}

/// Target names, each with the lowest version that knows it.
pub(crate) fn targets() -> &'static [(Text, (u32, u32))] {
    &tables::TARGETS
}

/// What a special register is.
pub(crate) fn special(register: SpecialReg) -> &'static SpecialSpec {
    &tables::SPECIALS[register as usize]
}

/// What a directive, a pragma or another feature of modules needs, if that is anything.
pub(crate) fn directive(name: &str) -> Option<&'static Need> {
    let at = tables::DIRECTIVES.binary_search_by_key(&name, |(known, _)| known.as_str()).ok()?;
    Some(&tables::DIRECTIVES[at].1)
}

/// The instructions of an opcode, those with the longest stem first.
pub(crate) fn instructions(opcode: Opcode) -> &'static [InstructionSpec] {
    &tables::BY_OPCODE[opcode as usize]
}
