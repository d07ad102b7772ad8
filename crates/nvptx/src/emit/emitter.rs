//! What emission of a module works with.

use cranelift_entity::SecondaryMap;
use oriole_ptx::ast::{Name, Span, Sym, SymbolTable};
use rustc_hash::{FxHashMap, FxHashSet};

use super::error::Error;
use super::lines::Lines;
use super::mentions::Mentions;
use super::names;
use crate::ir::{self, Annotations, SymbolId};
use crate::machine::Forms;

/// What a module is emitted for.
#[derive(Clone, Debug)]
pub struct EmitOptions {
    /// `.target`, such as `sm_90a`.
    pub arch: String,
    /// `.version`; the least that the target and the module's instructions need when absent.
    pub ptx_version: Option<(u32, u32)>,
    /// `.maxnreg` of kernels that have none of their own.
    pub max_registers: Option<u32>,
    /// Source lines as `.loc`, whatever the module's compile unit asks for.
    pub line_info: bool,
}

impl Default for EmitOptions {
    fn default() -> EmitOptions {
        EmitOptions { arch: "sm_80".to_owned(), ptx_version: None, max_registers: None, line_info: false }
    }
}

/// The variables that functions declare themselves, by the function's place among all.
pub(super) type Demoted = FxHashMap<u32, Vec<SymbolId>>;

/// What names of the tree are made for.
pub(super) struct Source {
    /// Names behind this place are.
    pub(super) start: u32,
    /// A function and an instruction of its body; none for what stands for no single instruction.
    pub(super) inst: Option<(SymbolId, ir::InstId)>,
}

/// Inline assembly that is in the tree.
pub(super) struct Fragment {
    /// Where its places start.
    pub(super) start: u32,
    pub(super) text: String,
}

/// What emission of a module works with.
pub(super) struct Emitter<'a> {
    pub(super) options: &'a EmitOptions,
    pub(super) ir: &'a ir::Module,
    pub(super) annotations: Annotations,
    pub(super) names: SecondaryMap<SymbolId, Option<Sym>>,
    /// All of them.
    pub(super) taken: FxHashSet<Sym>,
    pub(super) forms: Forms,
    pub(super) symbols: SymbolTable,
    pub(super) mentions: Mentions,
    pub(super) demoted: Demoted,
    /// What assembly outside of functions declares.
    pub(super) given: FxHashSet<Sym>,
    /// What line information refers to, where there is any.
    pub(super) lines: Option<Lines>,
    /// By tag of the class less 1: the names of registers with small numbers.
    pub(super) registers: [Vec<Sym>; 9],
    /// How many names the tree has so far.
    pub(super) position: u32,
    /// The inline assembly so far, in order.
    pub(super) fragments: Vec<Fragment>,
    /// What the names from a place on are made for: an instruction of the IR, or nothing that has one.
    pub(super) sources: Vec<Source>,
    /// How many indirect calls there are.
    pub(super) prototypes: u32,
}

impl Emitter<'_> {
    /// A name at the next place.
    pub(super) fn name(&mut self, sym: Sym) -> Name {
        Name { sym, span: self.place() }
    }

    /// A name by its text, at the next place.
    pub(super) fn name_of(&mut self, text: &str) -> Name {
        let sym = self.symbols.intern(text);
        self.name(sym)
    }

    /// A name of what a function declares itself, at the next place.
    pub(super) fn own_name(&mut self, text: String) -> Name {
        let sym = names::own(&mut self.symbols, &self.taken, text);
        self.name(sym)
    }

    /// The next place.
    pub(super) fn place(&mut self) -> Span {
        self.position += 1;
        Span::new(self.position, self.position + 1)
    }

    /// The next place, for what has no name of its own.
    pub(super) fn here(&self) -> Span {
        Span::new(self.position + 1, self.position + 2)
    }

    /// Notes what the names from here on are made for.
    pub(super) fn made_for(&mut self, inst: Option<(SymbolId, ir::InstId)>) {
        if self.sources.last().and_then(|source| source.inst) != inst {
            self.sources.push(Source { start: self.position, inst });
        }
    }

    /// The PTX name of a symbol.
    pub(super) fn symbol(&self, id: SymbolId) -> Result<Sym, Error> {
        self.names[id].ok_or_else(|| self.unsupported(id, "an intrinsic has no address"))
    }

    /// The error that a symbol is something that PTX cannot say.
    pub(super) fn unsupported(&self, id: SymbolId, what: impl Into<String>) -> Error {
        Error::Unsupported { symbol: self.ir.symbols[id].name.to_string(), what: what.into() }
    }
}
