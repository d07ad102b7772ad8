//! What the checker finds: the ten problems of the register model's verifier, and one finding with its place.

use oriole_ori::{Block, InstId};
use std::fmt;

/// The categories of the register model's verifier, in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Problem {
    /// No spill of the value reaches the refill that should bring it back.
    MissingSpill,
    /// On some path nothing was stored where the refill reads.
    UninitializedMemory,
    /// The bit that R2P takes is not that of the predicate.
    PackMismatch,
    /// The general register that a predicate comes back from does not stand for that predicate.
    BitMismatch,
    /// An operand that had definitions has none.
    Uninitialized,
    /// An operand is reached by a definition that it did not have, or its size has changed.
    ExtraDefinitions,
    /// What is computed again is not the value.
    Rematerialization,
    /// The register of packed predicates was overwritten.
    PackBaseDestroyed,
    /// The general register that kept a predicate was overwritten.
    BitBaseDestroyed,
    /// A definition no longer reaches an operand, and none came instead.
    DefinitionsDisappeared,
}

/// Each problem in words, as declared.
const WORDS: [(Problem, &str); 10] = [
    (Problem::MissingSpill, "missing spill match for refill"),
    (Problem::UninitializedMemory, "refill reads uninitialised memory"),
    (Problem::PackMismatch, "P2R-R2P pattern mismatch"),
    (Problem::BitMismatch, "bit-spill-refill pattern mismatch"),
    (Problem::Uninitialized, "defined operand now uninitialised"),
    (Problem::ExtraDefinitions, "extra definitions after allocation, mixed sizes"),
    (Problem::Rematerialization, "rematerialisation problem"),
    (Problem::PackBaseDestroyed, "P2R-R2P base destroyed"),
    (Problem::BitBaseDestroyed, "bit-spill-refill base destroyed"),
    (Problem::DefinitionsDisappeared, "definitions disappeared"),
];

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Declared in the order of the table.
        f.write_str(WORDS[*self as usize].1)
    }
}

/// A place in an allocated function where allocation has changed what the function means.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct CheckError {
    /// What is wrong.
    pub problem: Problem,
    /// The function.
    pub function: String,
    /// The block.
    pub block: Block,
    /// The instruction that is wrong, or finds it out.
    pub inst: InstId,
    /// The instruction in the text form, as it stands after allocation.
    pub text: String,
    /// The value that should be there, as the function named it before; the instruction itself may be at fault.
    pub value: Option<String>,
    /// Where it is looked for: a physical register, or a slot.
    pub register: Option<String>,
    /// The spill slot that is concerned.
    pub slot: Option<String>,
    /// What stands there instead, or what is wrong with the instruction.
    pub found: String,
}

impl fmt::Display for CheckError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CheckError { problem, function, block, inst, text, .. } = self;
        write!(f, "function '{function}': {block}, {inst} ({text}): {problem}")?;
        if let Some(value) = &self.value {
            write!(f, ": {value}")?;
        }
        if let Some(register) = &self.register {
            write!(f, " in {register}")?;
        }
        if let Some(slot) = &self.slot {
            write!(f, ", slot {slot}")?;
        }
        write!(f, ": {}", self.found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_problem_has_its_row() {
        for (at, (problem, words)) in WORDS.iter().enumerate() {
            assert_eq!(*problem as usize, at);
            assert_eq!(problem.to_string(), *words);
        }
    }
}
