//! PTX to Ori: SASS opcodes on virtual registers, one file per chapter of the PTX manual.
//! See `docs/lower.md`.

mod abi;
mod chapters;
mod error;
mod function;
mod module;

use oriole_isa::Arch;
use oriole_ptx::diag::Diagnostic;

/// What to lower, and for which target.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// The target, one of [`Arch::MODELLED`].
    pub arch: Arch,
    /// Kernels to lower with all that they call; `None`: every kernel of the module.
    pub entries: Option<&'a [String]>,
    /// Code for an object file: functions and variables that other modules see keep their names, and
    /// every address is left to the linker.
    pub relocatable: bool,
    /// Name and text of the PTX file, for the source line of every instruction.
    pub source: Option<(&'a str, &'a str)>,
}

/// Lowers a module. All errors of all functions come back together.
pub fn lower(module: &oriole_ptx::ast::Module, options: &Options<'_>) -> Result<oriole_ori::Module, Vec<Diagnostic>> {
    module::lower_module(module, options).map_err(|errors| errors.into_iter().map(|error| *error).collect())
}
