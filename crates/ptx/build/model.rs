//! What the spec files say.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::names::identifier;
use super::shape::Shape;
use super::target::Target;

/// Everything that the files say.
#[derive(Debug, Default)]
pub(crate) struct Spec {
    /// The names of each closed vocabulary, in the order of its lines.
    pub(crate) vocabularies: BTreeMap<Vocabulary, Vec<String>>,
    /// By name: its vocabulary. Plain words that a vocabulary has too are not here.
    pub(crate) vocabulary_of: HashMap<String, Vocabulary>,
    /// By type, in the order of the vocabulary: its width in bits and the name of its class.
    pub(crate) types: Vec<(u32, String)>,
    /// The words of names and forms that belong to no closed vocabulary.
    pub(crate) words: BTreeSet<String>,
    /// By opcode: the file that it stands in.
    pub(crate) chapters: BTreeMap<String, String>,
    pub(crate) instructions: Vec<Instruction>,
    pub(crate) specials: Vec<Special>,
    /// Names of targets, each with the lowest version that knows it.
    pub(crate) targets: Vec<(String, Version)>,
    pub(crate) versions: Vec<Version>,
    /// By name: what a directive needs.
    pub(crate) directives: BTreeMap<String, Need>,
}

impl Spec {
    /// True for a word that belongs to no closed vocabulary and is no shape.
    pub(crate) fn is_plain(&self, name: &str) -> bool {
        !self.vocabulary_of.contains_key(name) && Shape::from_name(name).is_none()
    }

    /// The member of a vocabulary with this name, as an expression: `ScalarType::F32`.
    pub(crate) fn member(&self, vocabulary: Vocabulary, name: &str) -> Option<String> {
        let found = self.vocabulary_of.get(name).is_some_and(|&of| of == vocabulary);
        found.then(|| format!("{}::{}", vocabulary.type_name(), identifier(name)))
    }

    /// A modifier as an expression: `Modifier::Type(ScalarType::F32)`.
    pub(crate) fn modifier(&self, name: &str) -> String {
        match (self.vocabulary_of.get(name), Shape::from_name(name)) {
            (Some(vocabulary), _) => {
                format!("Modifier::{vocabulary:?}({}::{})", vocabulary.type_name(), identifier(name))
            }
            (None, Some(Shape { m, n, k })) => format!("Modifier::Shape(Shape {{ m: {m}, n: {n}, k: {k} }})"),
            (None, None) => format!("Modifier::Word(Word::{})", identifier(name)),
        }
    }
}

/// `7.8`
pub(crate) type Version = (u32, u32);

/// A closed vocabulary, by its kind of modifier.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Vocabulary {
    Type,
    Space,
    Vector,
    Rounding,
    Cmp,
    Scope,
    Semantics,
}

impl Vocabulary {
    /// Each with its keyword in the files.
    const KEYWORDS: [(&str, Vocabulary); 7] = [
        ("type", Vocabulary::Type),
        ("space", Vocabulary::Space),
        ("vector", Vocabulary::Vector),
        ("rounding", Vocabulary::Rounding),
        ("comparison", Vocabulary::Cmp),
        ("scope", Vocabulary::Scope),
        ("semantics", Vocabulary::Semantics),
    ];

    /// The enum of its names.
    pub(crate) fn type_name(self) -> &'static str {
        match self {
            Vocabulary::Type => "ScalarType",
            Vocabulary::Space => "Space",
            Vocabulary::Vector => "VectorLen",
            Vocabulary::Rounding => "Rounding",
            Vocabulary::Cmp => "CmpOp",
            Vocabulary::Scope => "Scope",
            Vocabulary::Semantics => "Semantics",
        }
    }

    /// The vocabulary whose lines start with this word.
    pub(crate) fn from_keyword(word: &str) -> Option<Vocabulary> {
        Vocabulary::KEYWORDS.iter().find(|(keyword, _)| *keyword == word).map(|&(_, vocabulary)| vocabulary)
    }
}

/// One instruction: an opcode with the words that belong to its name.
#[derive(Debug)]
pub(crate) struct Instruction {
    pub(crate) opcode: String,
    pub(crate) stem: Vec<String>,
    pub(crate) forms: Vec<Form>,
    pub(crate) rules: Vec<Rule>,
}

impl Instruction {
    /// The opcode with its stem: `cp.async.bulk`.
    pub(crate) fn name(&self) -> String {
        self.stem.iter().fold(self.opcode.clone(), |name, word| format!("{name}.{word}"))
    }
}

/// One way to write an instruction.
#[derive(Debug)]
pub(crate) struct Form {
    pub(crate) slots: Vec<Slot>,
    pub(crate) operands: Vec<Operand>,
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

/// A modifier that may stand in a slot.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    pub(crate) modifier: String,
    pub(crate) need: Need,
}

/// A rule about modifiers that stand together.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    /// Which lists of modifiers are present (`true`) or absent.
    pub(crate) when: Vec<(bool, Vec<String>)>,
    pub(crate) effect: Effect,
}

/// What a rule says.
#[derive(Clone, Debug)]
pub(crate) enum Effect {
    Never,
    Requires(Vec<String>),
    Needs(Need),
}

/// What one operand must be. Kinds and types are the expressions of the tables.
#[derive(Debug)]
pub(crate) struct Operand {
    pub(crate) kind: String,
    pub(crate) result: bool,
    pub(crate) optional: bool,
    pub(crate) constants: Constants,
    /// Bounds of a constant: the expression of the tables.
    pub(crate) range: Option<String>,
    pub(crate) wider: bool,
    pub(crate) sink: bool,
    pub(crate) negated: bool,
    pub(crate) symbol: bool,
    pub(crate) special: bool,
    /// It may stand in braces of its own.
    pub(crate) braces: bool,
    /// The variant of `Parts` in the tables.
    pub(crate) parts: &'static str,
    pub(crate) with: Vec<String>,
    /// The type of the second half of `a|b`, and whether it must be there.
    pub(crate) pair: Option<(String, bool)>,
}

impl Default for Operand {
    fn default() -> Operand {
        Operand {
            kind: String::new(),
            result: false,
            optional: false,
            constants: Constants::Allowed,
            range: None,
            wider: false,
            sink: false,
            negated: false,
            symbol: false,
            special: false,
            braces: false,
            parts: "None",
            with: Vec::new(),
            pair: None,
        }
    }
}

/// Whether an operand may be a constant.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Constants {
    Allowed,
    Refused,
    Required,
}

/// A special register.
#[derive(Clone, Debug, Default)]
pub(crate) struct Special {
    pub(crate) name: String,
    /// Widths in bits.
    pub(crate) widths: Vec<u32>,
    pub(crate) vector: bool,
    pub(crate) need: Need,
}

/// The version and the targets that a feature needs.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Need {
    pub(crate) version: Version,
    pub(crate) targets: Vec<Target>,
    /// The first version without it for the first target without it.
    pub(crate) end: Option<(Version, Target)>,
}
