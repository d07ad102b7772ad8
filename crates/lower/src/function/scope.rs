//! Names inside a function body: registers, labels, variables, nested scopes.

use oriole_ori::{Block, VReg};
use oriole_ptx::ast::{Name, ScalarType, Sym, SymbolTable};
use rustc_hash::FxHashMap;
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

/// One `{ … }`.
#[derive(Debug, Default)]
struct Scope {
    /// Places in `bindings`: looked up for every operand, so that one search must do.
    names: FxHashMap<Sym, u32>,
    bindings: Vec<Binding>,
    ranges: Vec<Range>,
}

/// The open scopes of a function, innermost last.
#[derive(Debug, Default)]
pub(crate) struct Scopes {
    open: Vec<Scope>,
}

impl Scopes {
    /// Opens a nested scope.
    pub(crate) fn enter(&mut self) {
        self.open.push(Scope::default());
    }

    /// Closes the innermost scope.
    pub(crate) fn leave(&mut self) {
        self.open.pop();
    }

    /// Binds a name in the innermost scope; false when it is bound there already.
    pub(crate) fn bind(&mut self, sym: Sym, binding: Binding) -> bool {
        match self.open.last_mut() {
            Some(scope) => {
                let place = scope.add(binding);
                scope.names.insert(sym, place).is_none()
            }
            None => false,
        }
    }

    /// Declares `stem<count>` in the innermost scope.
    pub(crate) fn declare_range(&mut self, stem: &str, count: u32, ty: ScalarType, vector: usize) {
        if let Some(scope) = self.open.last_mut() {
            scope.ranges.push(Range { stem: stem.to_owned(), count, ty, vector });
        }
    }

    /// What `sym` stands for; registers of a range are made by `make` at their first use.
    pub(crate) fn lookup(
        &mut self,
        sym: Sym,
        symbols: &SymbolTable,
        mut make: impl FnMut(ScalarType, usize) -> PtxReg,
    ) -> Option<&Binding> {
        let (level, place) = (0..self.open.len()).rev().find_map(|level| {
            let scope = &mut self.open[level];
            if let Some(place) = scope.names.get(&sym) {
                return Some((level, *place));
            }
            let (ty, vector) = scope.range_of(symbols.text(sym))?;
            let place = scope.add(Binding::Reg(make(ty, vector)));
            scope.names.insert(sym, place);
            Some((level, place))
        })?;
        self.open[level].bindings.get(place as usize)
    }
}

impl Scope {
    /// Its place.
    fn add(&mut self, binding: Binding) -> u32 {
        self.bindings.push(binding);
        self.bindings.len() as u32 - 1
    }

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
