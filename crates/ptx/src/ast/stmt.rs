//! What stands inside a function body.

use super::declaration::{FunctionDirective, Variable};
use super::instr::Instruction;
use super::name::{Name, Span};
use super::vocabulary::{ScalarType, VectorLen};

/// `{ … }`: a body or a nested scope. Names declared in it end with it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Block {
    /// The statements, in order.
    pub statements: Vec<Statement>,
    /// From `{` to `}`.
    pub span: Span,
}

/// One statement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Statement {
    /// `label:`
    Label(Name),
    /// An instruction.
    Instruction(Box<Instruction>),
    /// `.reg`
    Registers(RegisterDecl),
    /// A variable in `.local`, `.shared`, `.param`, `.global` or `.const` space.
    Variable(Box<Variable>),
    /// A nested scope.
    Block(Block),
    /// `.loc`
    Loc(Box<Loc>),
    /// `.pragma "…", "…";`
    Pragma(Vec<String>),
    /// `label: .callprototype (rets) _ (params);`
    Prototype(Box<Prototype>),
    /// `label: .calltargets f, g;`
    CallTargets(TargetList),
    /// `label: .branchtargets L1, L2;`
    BranchTargets(TargetList),
}

/// `.reg .v4 .f32 %v, %r<10>;`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RegisterDecl {
    /// Element type.
    pub ty: ScalarType,
    /// `.v2`, `.v4`
    pub vector: Option<VectorLen>,
    /// The registers.
    pub names: Vec<RegisterName>,
    /// The whole declaration.
    pub span: Span,
}

/// One name of a [`RegisterDecl`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RegisterName {
    /// The register, or the stem of a range.
    pub name: Name,
    /// `n` in `%r<n>`, which declares `%r0` to `%r(n-1)`.
    pub count: Option<u32>,
}

/// The shape of the functions that an indirect call may reach.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Prototype {
    /// The label that calls refer to.
    pub label: Name,
    /// Return parameters.
    pub rets: Vec<Variable>,
    /// Parameters.
    pub params: Vec<Variable>,
    /// `.noreturn` and the like.
    pub directives: Vec<FunctionDirective>,
}

/// `label: .calltargets …;` or `label: .branchtargets …;`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TargetList {
    /// The label that instructions refer to.
    pub label: Name,
    /// The functions or labels.
    pub targets: Vec<Name>,
}

/// `.loc file line column [, function_name label [+ offset], inlined_at file line column]`, or
/// `.loc_intermediate file line column`
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Loc {
    /// Index of a `.file`.
    pub file: u32,
    /// Line, counted from 1.
    pub line: u32,
    /// Column, counted from 1.
    pub column: u32,
    /// Where the code was inlined from.
    pub inlined: Option<InlinedAt>,
    /// `.loc_intermediate`: the place in the source of an intermediate language that the code was made of.
    pub is_intermediate: bool,
    /// The directive.
    pub span: Span,
}

/// The second half of an inlined [`Loc`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InlinedAt {
    /// Label in `.debug_str` of the inlined function's name.
    pub function: Name,
    /// Bytes added to the label.
    pub offset: i64,
    /// File of the call site.
    pub file: u32,
    /// Line of the call site.
    pub line: u32,
    /// Column of the call site.
    pub column: u32,
}
