//! Generated programs: a small structured language that prints as PTX. Keeping the structure lets
//! [`super::shrink`] cut a program down without making it ill-formed: every register has a value from
//! the start, so that any statement may go.

use super::buffers::{Argument, Buffer, Element};
use super::sides::Plan;
use super::templates::{Before, Class, Finish};

/// A register of one of the four pools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reg {
    /// Its pool.
    pub(crate) class: Class,
    /// Its number in the pool.
    pub(crate) number: usize,
}

/// A source, or a result, of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operand {
    /// A register.
    Reg(Reg),
    /// An integer constant.
    Integer(u64),
    /// The bits of an f32 or, with the second field, of an f64.
    Float(u64, bool),
}

/// A predicate register and whether its complement is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Condition {
    /// Its number.
    pub(crate) predicate: usize,
    /// `!`
    pub(crate) negated: bool,
}

/// How often a loop runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Count {
    /// As often as this says.
    Constant(u32),
    /// The low bits of a register, which may differ between threads.
    Register(Reg, u32),
}

/// An exchange between the threads of a warp. All its threads take part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WarpOp {
    /// `shfl.sync` of this mode.
    Shuffle(&'static str),
    /// `vote.sync.ballot`
    Ballot,
    /// `vote.sync` of this mode, to a predicate.
    Vote(&'static str),
    /// `match.any.sync` of 32 or 64 bits.
    MatchAny(Class),
    /// `match.all.sync` of 32 or 64 bits.
    MatchAll(Class),
    /// `redux.sync` of this operation and type.
    Reduce(&'static str),
}

/// One statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Statement {
    /// An instruction of the table.
    Inst {
        /// Its text with `$0`, `$1` …
        text: String,
        /// Operands, results first, and what is done to them before.
        operands: Vec<(Operand, Before)>,
        /// Guard.
        guard: Option<Condition>,
        /// What is done to the result.
        finish: Finish,
    },
    /// Two ways.
    If { condition: Condition, then: Vec<Statement>, otherwise: Vec<Statement> },
    /// A counted loop.
    Loop { count: Count, body: Vec<Statement> },
    /// `brx.idx` over the low bits of a register; as many arms as a power of two.
    Switch { selector: Reg, arms: Vec<Vec<Statement>> },
    /// An input word chosen by a register.
    LoadInput { to: Reg, index: Reg },
    /// Local memory: store, or load, at an index.
    Local { reg: Reg, index: Reg, store: bool },
    /// Each thread writes its register to shared memory and reads another thread's after a barrier.
    Exchange { from: Reg, to: Reg, distance: u32 },
    /// All threads add to cells of shared memory and read one after a barrier: (operation, value, cell).
    SharedReduction { op: &'static str, value: Reg, cell: Reg, to: Reg },
    /// A reduction into one of two cells of global memory that only this kind of reduction touches, so
    /// that the order does not matter; twice the number in [`REDUCTIONS`], and one more for 64 bits.
    GlobalReduction { kind: usize, value: Reg, cell: Reg },
    /// An atomic operation on a cell that is the thread's own.
    PrivateAtomic { op: &'static str, to: Reg, value: Reg, other: Reg },
    /// Threads of the warp.
    Warp { op: WarpOp, to: Reg, from: Reg, other: Operand },
    /// Calls function `function` with a word and a double word, which gives both back.
    Call { function: usize, word: Reg, double: Reg },
}

/// A kernel with its functions and its launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Program {
    /// Name of the kernel, and prefix of its functions.
    pub(crate) name: String,
    /// Bodies of the functions; each may call those before it.
    pub(crate) functions: Vec<Vec<Statement>>,
    /// The kernel's body.
    pub(crate) body: Vec<Statement>,
    /// Threads of a block, a multiple of 32.
    pub(crate) threads: u32,
    /// Blocks.
    pub(crate) blocks: u32,
    /// The input: [`INPUT_WORDS`], [`FIRST_WORDS`] and [`ZERO_WORDS`] words.
    pub(crate) input: Buffer,
    /// Value of the parameter that all threads share.
    pub(crate) uniform: u64,
}

/// Words of the input that an index chooses from; a power of two.
pub(crate) const INPUT_WORDS: usize = 256;
/// Words that a thread reads its first registers from, from an index on.
pub(crate) const FIRST_WORDS: usize = 16;
/// Words after these that are zero, which no compiler knows.
pub(crate) const ZERO_WORDS: usize = 4;
/// Reductions whose order does not matter.
pub(crate) const REDUCTIONS: [&str; 6] = ["add", "min", "max", "and", "or", "xor"];
/// 64-bit cells that all threads may reduce into, at the start of the output: two for each reduction of
/// each width.
pub(crate) const CELLS: usize = 4 * REDUCTIONS.len();
/// Words of local memory of each function.
pub(crate) const LOCAL_WORDS: usize = 16;
/// Cells of shared memory for reductions, after the words of the exchange.
pub(crate) const SHARED_CELLS: usize = 8;

/// Bytes that each thread writes at the end: its registers, and its own atomic cell.
pub(crate) fn record_bytes() -> usize {
    let registers: usize = Class::ALL.iter().map(|class| class.count() * class.bytes()).sum();
    (registers + 8).next_multiple_of(8)
}

impl Program {
    /// How it is launched.
    pub(crate) fn plan(&self) -> Plan {
        let arguments = vec![
            Argument::In(self.input.clone()),
            Argument::Out(self.output_bytes()),
            Argument::Value(Element::U64, self.uniform),
        ];
        let (grid, block) = ([self.blocks, 1, 1], [self.threads, 1, 1]);
        Plan { kernel: self.name.clone(), grid, block, arguments, ..Plan::default() }
    }

    /// Bytes of the output buffer.
    pub(crate) fn output_bytes(&self) -> usize {
        CELLS * 8 + (self.threads * self.blocks) as usize * record_bytes()
    }

    /// Some body calls function `number`.
    pub(crate) fn calls(&self, number: usize) -> bool {
        self.functions.iter().chain([&self.body]).any(|body| calls(body, number))
    }

    /// The statements of all bodies, counted with those inside of others.
    pub(crate) fn size(&self) -> usize {
        self.functions.iter().chain([&self.body]).map(|body| count(body)).sum()
    }
}

impl Statement {
    /// The bodies inside of it.
    fn bodies(&self) -> Vec<&[Statement]> {
        match self {
            Statement::If { then, otherwise, .. } => vec![then, otherwise],
            Statement::Loop { body, .. } => vec![body],
            Statement::Switch { arms, .. } => arms.iter().map(Vec::as_slice).collect(),
            _ => Vec::new(),
        }
    }
}

/// The statements of a body, with those inside of others.
fn count(body: &[Statement]) -> usize {
    body.iter().map(|statement| 1 + statement.bodies().into_iter().map(count).sum::<usize>()).sum()
}

fn calls(body: &[Statement], number: usize) -> bool {
    body.iter().any(|statement| match statement {
        Statement::Call { function, .. } => *function == number,
        _ => statement.bodies().into_iter().any(|body| calls(body, number)),
    })
}
