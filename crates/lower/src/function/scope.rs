//! Names inside a function body: registers, labels, variables, nested scopes.

use oriole_ori::{Block, VReg};
use oriole_ptx::ast::{Name, ScalarType, Sym, SymbolTable};
use smallvec::SmallVec;

/// A PTX register and the Ori registers that hold it.
#[derive(Clone, Debug)]
pub(crate) struct PtxReg {
    /// Element type as declared.
    pub(crate) ty: ScalarType,
    /// One Ori register per element: one, or two or four for `.v2`, `.v4`.
    pub(crate) elements: SmallVec<[VReg; 1]>,
}

/// A variable of the local frame: a `.local` array or a `.param` of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FrameVar {
    /// Bytes above the frame's base.
    pub(crate) offset: u32,
    /// Bytes of an element of its type.
    pub(crate) element: u32,
}

/// Words of a call parameter kept in registers (see `docs/lower.md`, ABI).
#[derive(Clone, Debug)]
pub(crate) struct ParamVar {
    /// The 32-bit registers that hold the bytes, lowest first.
    pub(crate) words: SmallVec<[VReg; 2]>,
    /// Size in bytes.
    pub(crate) size: u32,
}

/// What a name stands for inside a function.
#[derive(Clone, Debug)]
pub(crate) enum Binding {
    /// A register.
    Reg(PtxReg),
    /// A label.
    Label(Block),
    /// A variable on the stack.
    Frame(FrameVar),
    /// A parameter of the function, or of a call that it makes.
    Param(ParamVar),
    /// A parameter that the caller passes on its stack, at this byte offset of the argument area.
    Incoming(u32),
    /// A kernel parameter, at this byte offset of constant bank 0.
    KernelParam(u32),
    /// A parameter that is a texture, sampler or surface.
    Object(oriole_ori::Symbol),
    /// A `.global`, `.const` or `.shared` variable declared in the function.
    Static(crate::module::plan::VarKey),
    /// A list of labels for `brx.idx`, of functions for indirect calls.
    Targets(Vec<Name>),
    /// A call prototype: index into the function's list of prototypes.
    Prototype(usize),
}

/// A declared range `%r<n>`; registers are made when they are first named.
#[derive(Clone, Debug)]
struct Range {
    stem: String,
    count: u32,
    ty: ScalarType,
    vector: usize,
}

/// What a name was last bound to.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// Number of the scope, the outermost first.
    level: u32,
    /// In [`Scopes::bindings`]; [`UNBOUND`] where the name means nothing yet.
    place: u32,
}

const UNBOUND: u32 = u32::MAX;

/// By symbol: what is in force. One table does for all functions of a module: each takes back what it has bound.
#[derive(Debug, Default)]
pub(crate) struct NameTable(Vec<Entry>);

/// One `{ … }`.
#[derive(Debug, Default)]
struct Scope {
    /// What this scope has bound, with what held before.
    hidden: Vec<(Sym, Entry)>,
    ranges: Vec<Range>,
}

/// The open scopes of a function, innermost last.
#[derive(Debug)]
pub(crate) struct Scopes {
    open: Vec<Scope>,
    names: NameTable,
    /// Of all scopes, also of those that are closed.
    bindings: Vec<Binding>,
    /// How many scopes there are up to the innermost that declares a range.
    to_ranges: usize,
    /// How many scopes are not those of the function whose names are looked up: it stands in place of a call in them.
    hidden: usize,
}

impl Scopes {
    /// No scopes yet; names are looked up in `names`, in which nothing is bound, for a module with so many symbols.
    pub(crate) fn new(mut names: NameTable, symbols: usize) -> Scopes {
        names.0.resize(symbols, Entry { level: 0, place: UNBOUND });
        Scopes { open: Vec::new(), names, bindings: Vec::new(), to_ranges: 0, hidden: 0 }
    }

    /// Closes all scopes and gives the table back.
    pub(crate) fn into_names(mut self) -> NameTable {
        while !self.open.is_empty() {
            self.leave();
        }
        self.names
    }

    /// Opens a nested scope.
    pub(crate) fn enter(&mut self) {
        self.open.push(Scope::default());
    }

    /// Opens the outermost scope of a function that stands in place of a call: it sees nothing of the open ones. Gives what
    /// [`Scopes::leave_function`] needs.
    pub(crate) fn enter_function(&mut self) -> usize {
        let before = std::mem::replace(&mut self.hidden, self.open.len());
        self.enter();
        before
    }

    /// Closes the outermost scope of a function that stands in place of a call.
    pub(crate) fn leave_function(&mut self, before: usize) {
        self.leave();
        self.hidden = before;
    }

    /// Closes the innermost scope.
    pub(crate) fn leave(&mut self) {
        let Some(scope) = self.open.pop() else { return };
        for (sym, entry) in scope.hidden.into_iter().rev() {
            self.names.0[sym.index()] = entry;
        }
        if self.to_ranges > self.open.len() {
            self.to_ranges = self.open.iter().rposition(|scope| !scope.ranges.is_empty()).map_or(0, |at| at + 1);
        }
    }

    /// Binds a name in the innermost scope; false when it is bound there already.
    pub(crate) fn bind(&mut self, sym: Sym, binding: Binding) -> bool {
        match self.open.len().checked_sub(1) {
            Some(level) => {
                let before = self.set(level, sym, binding);
                before.place == UNBOUND || before.level as usize != level
            }
            None => false,
        }
    }

    /// Declares `stem<count>` in the innermost scope.
    pub(crate) fn declare_range(&mut self, stem: &str, count: u32, ty: ScalarType, vector: usize) {
        if let Some(scope) = self.open.last_mut() {
            scope.ranges.push(Range { stem: stem.to_owned(), count, ty, vector });
            self.to_ranges = self.open.len();
        }
    }

    /// What `sym` stands for, where that needs no search.
    #[inline]
    pub(crate) fn known(&self, sym: Sym) -> Option<&Binding> {
        let Entry { level, place } = self.names.0[sym.index()];
        // Nothing between it and here declares a range, which might hold the name too.
        let is_innermost = self.to_ranges <= level as usize + 1 && self.hidden <= level as usize;
        // No binding stands where nothing is bound.
        self.bindings.get(place as usize).filter(|_| is_innermost)
    }

    /// Looks through the scopes, innermost first; registers of a range are made by `make` at their first use.
    pub(crate) fn search(
        &mut self,
        sym: Sym,
        symbols: &SymbolTable,
        mut make: impl FnMut(ScalarType, usize) -> PtxReg,
    ) -> Option<&Binding> {
        let bound = self.names.0[sym.index()];
        for level in (self.hidden..self.open.len()).rev() {
            if bound.place != UNBOUND && bound.level as usize == level {
                return self.bindings.get(bound.place as usize);
            }
            if let Some((ty, vector)) = self.open[level].range_of(symbols.text(sym)) {
                self.set(level, sym, Binding::Reg(make(ty, vector)));
                return self.bindings.last();
            }
        }
        None
    }

    /// Binds a name in a scope, inside of which it is not bound; gives what held before.
    fn set(&mut self, level: usize, sym: Sym, binding: Binding) -> Entry {
        let entry = Entry { level: level as u32, place: self.bindings.len() as u32 };
        self.bindings.push(binding);
        let before = std::mem::replace(&mut self.names.0[sym.index()], entry);
        self.open[level].hidden.push((sym, before));
        before
    }
}

impl Scope {
    /// Type and vector length of the range that covers `name`.
    fn range_of(&self, name: &str) -> Option<(ScalarType, usize)> {
        self.ranges.iter().find_map(|range| {
            let digits = name.strip_prefix(range.stem.as_str())?;
            let plain = digits.bytes().all(|b| b.is_ascii_digit()) && (digits.len() == 1 || !digits.starts_with('0'));
            let number: u32 = digits.parse().ok()?;
            (plain && number < range.count).then_some((range.ty, range.vector))
        })
    }
}
