//! The verifier: what must hold between any two phases.

mod definitions;
mod operands;
mod structure;
mod values;

use crate::analysis::Cfg;
use crate::entity::{Block, InstId};
use crate::function::Function;
use crate::text::inst_text;
use oriole_isa::Arch;
use std::fmt;

/// One thing that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyError {
    /// The function's name.
    pub function: String,
    /// The block concerned.
    pub block: Option<Block>,
    /// The instruction concerned, with its text.
    pub inst: Option<(InstId, String)>,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "function '{}'", self.function)?;
        if let Some(block) = self.block {
            write!(f, ", {block}")?;
        }
        if let Some((inst, text)) = &self.inst {
            write!(f, ", {inst} '{text}'")?;
        }
        write!(f, ": {}", self.message)
    }
}

impl std::error::Error for VerifyError {}

/// Check a function for `arch`: structure, control flow, operands against the opcodes' signatures,
/// definitions before uses. Gives everything that is wrong, in the order of the layout.
pub fn verify(func: &Function, arch: Arch) -> Result<(), Vec<VerifyError>> {
    let mut v = Verifier { func, arch, errors: Vec::new() };
    // Each stage relies on what the one before it established.
    let stages: [fn(&mut Verifier<'_>); 4] = [structure::check, operands::check, values::check, definitions::check];
    for stage in stages {
        stage(&mut v);
        if !v.errors.is_empty() {
            return Err(v.errors);
        }
    }
    Ok(())
}

struct Verifier<'f> {
    func: &'f Function,
    arch: Arch,
    errors: Vec<VerifyError>,
}

impl Verifier<'_> {
    fn cfg(&self) -> Cfg {
        Cfg::new(self.func)
    }

    fn fail(&mut self, block: Option<Block>, inst: Option<InstId>, message: impl Into<String>) {
        self.errors.push(VerifyError {
            function: self.func.name().to_owned(),
            block,
            inst: inst.map(|id| (id, inst_text(self.func, id))),
            message: message.into(),
        });
    }
}
