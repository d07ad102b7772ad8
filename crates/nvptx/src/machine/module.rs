//! A module at machine level: what selection leaves and emission reads, beside the IR module
//! (which still holds variables, kernel properties and debug information).

use cranelift_entity::SecondaryMap;
use oriole_ptx::ast::{Sym, SymbolTable};
use rustc_hash::FxHashSet;

use super::form::Forms;
use super::function::Function;
use crate::ir::SymbolId;

/// Functions with what they share.
#[derive(Clone, Debug, Default)]
pub struct Module {
    /// The names of the PTX module that is being made.
    pub symbols: SymbolTable,
    /// The PTX name of each symbol of the IR module.
    pub names: SecondaryMap<SymbolId, Option<Sym>>,
    /// All of [`Module::names`]: what functions declare themselves must have other names.
    pub taken: FxHashSet<Sym>,
    /// Instruction forms.
    pub forms: Forms,
    /// The functions that have a body, in order of the IR module, each with its symbol there.
    pub functions: Vec<(SymbolId, Function)>,
}
