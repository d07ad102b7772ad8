//! Whole programs as trees.
//!
//! A tree says what is wished for. Printing makes it well defined ([`super::emit`]): a register that may not
//! have been written gives way to one that has, a warp operation is left out where the threads that take part
//! are not known, a barrier where not all threads come. So any tree is a right program, and the reducer may cut anything.

use super::super::program::{Condition, Count, Operand, Reg};
use super::super::templates::{Before, Class, Finish};

/// Registers of a class that have values from the start; those with higher numbers are only read where every
/// path has written them.
pub(super) const fn pool(class: Class) -> usize {
    match class {
        Class::Predicate | Class::Half | Class::Double => 3,
        Class::Word => 5,
    }
}

/// Registers of a class with those that have no value at the start.
pub(super) const fn registers(class: Class) -> usize {
    match class {
        Class::Word => 8,
        Class::Double | Class::Half | Class::Predicate => 5,
    }
}

/// Bytes of each array of local, shared and global memory that a thread has for itself.
pub(super) const SCRATCH: u32 = 64;
/// Words of the read-only tables.
pub(super) const TABLE_WORDS: usize = 16;
/// Words of the input that an index chooses from.
pub(super) const INPUT_WORDS: usize = 64;
/// Words that a thread reads its first registers from, from an index on.
pub(super) const FIRST_WORDS: usize = 16;
/// Words after these that are zero, which no compiler knows.
pub(super) const ZERO_WORDS: usize = 4;
/// How deep functions call themselves and those after them.
pub(super) const DEPTH: u32 = 2;

/// A program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::fuzz) struct Tree {
    /// Name of the kernel, and prefix of everything else.
    pub(in crate::fuzz) name: String,
    /// Its functions.
    pub(in crate::fuzz) functions: Vec<Function>,
    /// The first so many of them are called through a table; they have the same signature.
    pub(in crate::fuzz) table: usize,
    /// The kernel's body.
    pub(in crate::fuzz) body: Vec<Statement>,
    /// Registers that are stored at the end.
    pub(in crate::fuzz) kept: Vec<Reg>,
    /// Threads of a block, a multiple of 32.
    pub(in crate::fuzz) threads: u32,
    /// Blocks.
    pub(in crate::fuzz) blocks: u32,
    /// All blocks are one cluster.
    pub(in crate::fuzz) cluster: bool,
    /// Seed of the input.
    pub(in crate::fuzz) seed: u64,
    /// The parameter that all threads share.
    pub(in crate::fuzz) uniform: u64,
    /// Whether ptxas takes part.
    pub(in crate::fuzz) judged: Judged,
}

/// Whether ptxas takes part: what it is wrong about is left out then (docs/fuzz.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::fuzz) enum Judged {
    /// No.
    Alone,
    /// Without optimisation.
    ByPlain,
    /// With optimisation: what it folds wrongly is hidden.
    ByOptimised,
}

/// A function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::fuzz) struct Function {
    /// Parameters and results.
    pub(in crate::fuzz) signature: Signature,
    /// The body.
    pub(in crate::fuzz) body: Vec<Statement>,
}

/// What is passed to a function, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::fuzz) struct Signature {
    /// `.reg` rather than `.param`.
    pub(in crate::fuzz) in_registers: bool,
    /// Classes of the parameters.
    pub(in crate::fuzz) parameters: Vec<Class>,
    /// Words of an array that is passed by value, without registers; 0: none.
    pub(in crate::fuzz) array: usize,
    /// Classes of the results; several in `.param` are one array.
    pub(in crate::fuzz) results: Vec<Class>,
    /// It gets the pointers to the input and to the thread's own memory.
    pub(in crate::fuzz) memory: bool,
    /// It gets the mask of the threads that call it together.
    pub(in crate::fuzz) warp: bool,
    /// It gets a depth, and may call itself and those after it.
    pub(in crate::fuzz) recursive: bool,
}

/// A condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::fuzz) enum Test {
    /// A predicate.
    Of(Condition),
    /// A bit of the parameter that all threads share.
    Uniform { bit: u32 },
}

/// Where a loop tests, and where `continue` goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::fuzz) enum Shape {
    /// Tests at the top, counts at the bottom: `continue` goes to the bottom.
    Bottom,
    /// Tests and counts at the top: `continue` goes to the header.
    Header,
    /// Tests at the bottom; runs once at least.
    Until,
}

/// How a function is named in a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::fuzz) enum Callee {
    /// This one.
    Direct(usize),
    /// The one in the table that a register chooses.
    Table(Reg),
}

/// A part of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::fuzz) enum Place {
    /// The function's local array.
    Local,
    /// The thread's own bytes of shared memory.
    Shared,
    /// The thread's own bytes of the output.
    Global,
    /// The same, by a pointer of which no compiler knows that it points there, 16 bytes further.
    Alias,
    /// By a generic address: the local array where the predicate is true, else the thread's own bytes of the output.
    Either(Condition),
}

/// An exchange between the threads of a mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::fuzz) enum WarpOp {
    /// `shfl.sync` from the lane whose number differs by these bits, if it takes part.
    Butterfly(u32),
    /// `shfl.sync` from the first lane that takes part.
    First,
    /// `shfl.sync.up` or `.down` by so many lanes, if that one takes part.
    Shift(&'static str, u32),
    /// `vote.sync.ballot`
    Ballot,
    /// `vote.sync` of this mode, to a predicate.
    Vote(&'static str),
    /// `match.any.sync` of a word or double word.
    MatchAny,
    /// `match.all.sync` of a word or double word.
    MatchAll,
    /// `redux.sync` of this operation and type.
    Reduce(&'static str),
    /// Through shared memory, with `bar.warp.sync`.
    Memory(u32),
}

/// Vector registers of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::fuzz) enum VectorKind {
    /// Two halves.
    Halves,
    /// Two words.
    Words,
    /// Four words.
    Quad,
}

/// What is done with a vector register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::fuzz) enum VectorOp {
    /// It gets a scalar of its size; of four words, what is in local memory.
    Fill,
    /// A scalar of its size gets it; of four words, local memory.
    Take,
    /// An element gets a difference of a scalar and an element.
    Element,
    /// It gets another.
    Copy,
    /// It gets scalars and elements.
    Pack,
}

/// Which memory an atomic operation is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::fuzz) enum Cell {
    /// The thread's own cell of the output.
    Global,
    /// The start of its own bytes of shared memory.
    Shared,
    /// By a generic address: the first where the predicate is true, else the second.
    Either(Condition),
}

/// What needs all threads of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::fuzz) enum BlockOp {
    /// Each thread reads what the one so many threads further has written.
    Exchange(u32),
    /// Threads reduce into cells of shared memory, of which each reads one.
    Reduce(&'static str),
    /// `bar.red` of this operation.
    Vote(&'static str),
    /// Each thread reads what the same thread of the block so many ranks further in the cluster has written.
    Cluster(u32),
}

/// One statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::fuzz) enum Statement {
    /// An instruction of the table.
    Inst {
        /// Its text with `$0`, `$1` …
        text: String,
        /// Operands, results first, and what is done to them before.
        operands: Vec<(Operand, Before)>,
        /// How many of them are results.
        results: usize,
        /// Guard.
        guard: Option<Condition>,
        /// What is done to the result.
        finish: Finish,
    },
    /// Two ways; where `vote`, the threads of each way are made known before.
    If { test: Test, vote: bool, then: Vec<Statement>, otherwise: Vec<Statement> },
    /// A loop that runs so often, if nothing ends it before; where `vote`, the threads of each round are made known.
    Loop { shape: Shape, count: Count, vote: bool, body: Vec<Statement> },
    /// Ends the loop so many levels up.
    Break { guard: Option<Condition>, up: usize },
    /// Goes on with the next round of the loop so many levels up.
    Continue { guard: Option<Condition>, up: usize },
    /// Leaves the function; in a kernel, where `exit`, without storing the registers.
    Return { guard: Option<Condition>, exit: bool },
    /// `brx.idx` to `arms[labels[selector % labels.len()]]`; or, where `sparse`, a chain of comparisons.
    Switch { selector: Reg, labels: Vec<usize>, sparse: bool, arms: Vec<Vec<Statement>> },
    /// Blocks that jump to each other anyhow; a block may go back `fuel` times in all.
    Graph { blocks: Vec<(Vec<Statement>, Jump)>, fuel: u32 },
    /// A call.
    Call { callee: Callee, guard: Option<Condition>, arguments: Vec<Reg>, results: Vec<Reg> },
    /// A load or store of one, two or four registers at an index, if there is one, and an offset.
    Memory {
        place: Place,
        store: bool,
        ty: &'static str,
        regs: Vec<Reg>,
        index: Option<Reg>,
        offset: u32,
        guard: Option<Condition>,
    },
    /// A word of a read-only table: the input, constant memory or an initialised global variable.
    Lookup { table: &'static str, to: Reg, index: Reg },
    /// A reduction to a cell of global memory that all threads share; the number counts operations and places.
    Reduction { kind: usize, value: Reg, cell: Reg },
    /// An atomic operation on memory of the thread's own; one on floats has small integers as operands.
    Atomic { cell: Cell, op: &'static str, ty: &'static str, to: Reg, value: Reg, other: Reg },
    /// Threads of a warp.
    Warp { op: WarpOp, to: Reg, from: Reg },
    /// Threads of a block.
    Block { op: BlockOp, to: Reg, from: Reg },
    /// An operation on the two vector registers of a kind.
    Vector { kind: VectorKind, op: VectorOp, vectors: [usize; 2], element: usize, reg: Reg, guard: Option<Condition> },
    /// A link of a carry chain: `add` or `sub`, from no carry or from the last link's.
    Carry { op: &'static str, start: bool, to: Reg, sources: [Reg; 2], guard: Option<Condition> },
}

/// How a block of a graph ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::fuzz) struct Jump {
    /// Where the predicate says so: that block, or the end of the graph beyond the last.
    pub(in crate::fuzz) taken: Option<(Condition, usize)>,
    /// Otherwise.
    pub(in crate::fuzz) otherwise: usize,
}

impl Statement {
    /// The bodies inside of it.
    pub(super) fn bodies(&self) -> Vec<&Vec<Statement>> {
        match self {
            Statement::If { then, otherwise, .. } => vec![then, otherwise],
            Statement::Loop { body, .. } => vec![body],
            Statement::Switch { arms, .. } => arms.iter().collect(),
            Statement::Graph { blocks, .. } => blocks.iter().map(|(body, _)| body).collect(),
            _ => Vec::new(),
        }
    }

    /// The same, to be changed.
    pub(super) fn bodies_mut(&mut self) -> Vec<&mut Vec<Statement>> {
        match self {
            Statement::If { then, otherwise, .. } => vec![then, otherwise],
            Statement::Loop { body, .. } => vec![body],
            Statement::Switch { arms, .. } => arms.iter_mut().collect(),
            Statement::Graph { blocks, .. } => blocks.iter_mut().map(|(body, _)| body).collect(),
            _ => Vec::new(),
        }
    }

    /// It, or a statement inside of it, is such a one.
    pub(super) fn any(&self, is: &dyn Fn(&Statement) -> bool) -> bool {
        is(self) || self.bodies().into_iter().flatten().any(|inner| inner.any(is))
    }
}

/// How far jumps out of a body go: loops that they end or go on with, counted from the innermost one outside
/// of the body; `usize::MAX` for the function.
pub(super) fn escapes(body: &[Statement]) -> Vec<usize> {
    let mut all = Vec::new();
    for statement in body {
        match statement {
            Statement::Break { up, .. } | Statement::Continue { up, .. } => all.push(*up),
            Statement::Return { .. } => all.push(usize::MAX),
            Statement::Loop { body, .. } => {
                let beyond = escapes(body).into_iter().filter(|up| *up > 0);
                all.extend(beyond.map(|up| if up == usize::MAX { up } else { up - 1 }));
            }
            _ => all.extend(statement.bodies().into_iter().flat_map(|body| escapes(body))),
        }
    }
    all
}

impl Tree {
    /// Some body that is reached calls function `number`.
    pub(super) fn calls(&self, number: usize) -> bool {
        let is = |statement: &Statement| match statement {
            Statement::Call { callee: Callee::Direct(function), .. } => *function == number,
            Statement::Call { callee: Callee::Table(_), .. } => number < self.table,
            _ => false,
        };
        let others = self.functions.iter().enumerate().filter(|(other, _)| *other != number);
        self.body.iter().any(|statement| statement.any(&is))
            || others.flat_map(|(_, function)| &function.body).any(|statement| statement.any(&is))
    }

    /// Statements that a thread executes at most, about.
    pub(super) fn cost(&self, limit: u64) -> u64 {
        Costs { tree: self, limit }.body(&self.body, self.functions.len(), DEPTH)
    }
}

struct Costs<'t> {
    tree: &'t Tree,
    limit: u64,
}

impl Costs<'_> {
    /// Cost of a body of function `number`, in which `depth` calls may go up.
    fn body(&self, body: &[Statement], number: usize, depth: u32) -> u64 {
        let mut sum = 0;
        for statement in body {
            sum += self.statement(statement, number, depth);
            if sum > self.limit {
                break;
            }
        }
        sum
    }

    fn statement(&self, statement: &Statement, number: usize, depth: u32) -> u64 {
        let inner = statement.bodies().into_iter().map(|body| self.body(body, number, depth));
        match statement {
            Statement::Loop { count, .. } => {
                let rounds = match count {
                    Count::Constant(times) => *times,
                    Count::Register(_, mask) => *mask,
                };
                3 + inner.sum::<u64>().saturating_mul(u64::from(rounds) + 1)
            }
            Statement::Graph { fuel, .. } => 3 + inner.sum::<u64>().saturating_mul(u64::from(*fuel) + 1),
            Statement::If { .. } | Statement::Switch { .. } => 4 + inner.max().unwrap_or(0),
            Statement::Call { callee: Callee::Direct(callee), .. } => 12 + self.call(*callee, number, depth),
            Statement::Call { callee: Callee::Table(_), .. } => {
                15 + (0..self.tree.table).map(|callee| self.call(callee, number, depth)).max().unwrap_or(0)
            }
            Statement::Warp { .. } | Statement::Block { .. } => 6,
            Statement::Inst { .. } => 2,
            _ => 3,
        }
    }

    fn call(&self, callee: usize, number: usize, depth: u32) -> u64 {
        match (callee < number, depth) {
            (true, _) => self.body(&self.tree.functions[callee].body, callee, depth),
            (false, 0) => 0,
            (false, _) => self.body(&self.tree.functions[callee].body, callee, depth - 1),
        }
    }
}
