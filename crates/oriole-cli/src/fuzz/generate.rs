//! Random programs.

use super::buffers::{Buffer, Element, Fill};
use super::program::{
    Condition, Count, FIRST_WORDS, INPUT_WORDS, Operand, Program, REDUCTIONS, Reg, Statement, WarpOp, ZERO_WORDS,
};
use super::templates::{Before, Class, Constants, Slot, TEMPLATES, Template};
use fastrand::Rng;

/// What the programs of a campaign may contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Number of the target, such as 90.
    pub(crate) target: u32,
    /// Statements of a kernel, about.
    pub(crate) statements: usize,
}

/// Values that arithmetic goes wrong at.
const SPECIAL: [u64; 18] = [
    0,
    1,
    2,
    31,
    32,
    63,
    0x7fff,
    0x8000,
    0xffff,
    0x3c00_3c00,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x0080_0000,
    0x3f80_0000,
    0x7f80_0000,
    0x7ff0_0000_0000_0000,
    u64::MAX,
];

/// The program of that name and seed.
pub(crate) fn program(name: &str, seed: u64, limits: Limits) -> Program {
    let mut rng = Rng::with_seed(seed);
    let functions = rng.usize(0..3);
    let functions = (0..functions)
        .map(|number| {
            let size = rng.usize(2..12);
            Generator { rng: &mut rng, limits, functions: number, kernel: false }.body(size, 0, false)
        })
        .collect::<Vec<_>>();
    let statements = rng.usize(limits.statements / 2..=limits.statements);
    let body = Generator { rng: &mut rng, limits, functions: functions.len(), kernel: true }.body(statements, 0, true);
    let (threads, blocks) = (32 * rng.u32(1..=3), rng.u32(1..=2));
    let input = Buffer {
        element: Element::U32,
        count: INPUT_WORDS + FIRST_WORDS + ZERO_WORDS,
        fill: Fill::Random { seed: u64::from(rng.u32(..)), special: true },
        zeros: ZERO_WORDS,
    };
    Program { name: name.to_owned(), functions, body, threads, blocks, input, uniform: rng.u64(..) }
}

struct Generator<'r> {
    rng: &'r mut Rng,
    limits: Limits,
    /// Functions that may be called.
    functions: usize,
    /// The body is a kernel's: it can reach the output.
    kernel: bool,
}

impl Generator<'_> {
    /// `size` statements; where `uniform`, all threads of the block come here together.
    fn body(&mut self, size: usize, depth: u32, uniform: bool) -> Vec<Statement> {
        let mut body = Vec::new();
        let mut left = size;
        while left > 0 {
            let (statement, cost) = self.statement(left, depth, uniform);
            left -= cost.min(left);
            body.push(statement);
        }
        body
    }

    fn statement(&mut self, left: usize, depth: u32, uniform: bool) -> (Statement, usize) {
        let roll = self.rng.u32(0..100);
        let compound = left >= 4 && depth < 3;
        match roll {
            0..8 if compound => self.branch(left, depth),
            8..13 if compound => self.counted_loop(left, depth, uniform),
            13..15 if compound => self.switch(left, depth),
            15..20 if uniform => (self.together(), 1),
            20..24 => (self.memory(), 1),
            24..26 if self.functions > 0 => {
                let function = self.rng.usize(..self.functions);
                let (word, double) = (self.reg(Class::Word), self.reg(Class::Double));
                (Statement::Call { function, word, double }, 2)
            }
            _ => (self.instruction(), 1),
        }
    }

    fn branch(&mut self, left: usize, depth: u32) -> (Statement, usize) {
        let size = self.rng.usize(1..=(left / 2).min(10));
        let condition = self.condition();
        let then = self.body(size, depth + 1, false);
        let other = self.rng.usize(0..=size);
        let otherwise = self.body(other, depth + 1, false);
        (Statement::If { condition, then, otherwise }, size + other)
    }

    fn counted_loop(&mut self, left: usize, depth: u32, uniform: bool) -> (Statement, usize) {
        let size = self.rng.usize(1..=(left / 2).min(8));
        let constant = self.rng.bool();
        let count = match constant {
            true => Count::Constant(self.rng.u32(0..5)),
            false => Count::Register(self.reg(Class::Word), 3),
        };
        (Statement::Loop { count, body: self.body(size, depth + 1, uniform && constant) }, 2 * size)
    }

    fn switch(&mut self, left: usize, depth: u32) -> (Statement, usize) {
        let arms = 1 << self.rng.u32(1..3);
        let size = (left / 2).min(8) / arms + 1;
        let selector = self.reg(Class::Word);
        let arms: Vec<_> = (0..arms).map(|_| self.body(size, depth + 1, false)).collect();
        let cost = size * arms.len();
        (Statement::Switch { selector, arms }, cost)
    }

    /// What needs all threads of a warp or block.
    fn together(&mut self) -> Statement {
        let class = if self.rng.bool() { Class::Word } else { Class::Double };
        let word = self.reg(Class::Word);
        match self.rng.u32(0..10) {
            0..2 => Statement::Exchange { from: self.reg(class), to: self.reg(class), distance: self.rng.u32(0..64) },
            2 => {
                let op = self.choose(&REDUCTIONS);
                Statement::SharedReduction { op, value: word, cell: self.reg(Class::Word), to: self.reg(Class::Word) }
            }
            _ => self.warp(),
        }
    }

    fn warp(&mut self) -> Statement {
        let other = self.source(Class::Word, Constants::Integer);
        let class = if self.rng.bool() { Class::Word } else { Class::Double };
        // The last is redux, which sm_80 brought.
        let kinds = if self.limits.target < 80 { 7 } else { 8 };
        let (op, to, from) = match self.rng.u32(0..kinds) {
            0..3 => (WarpOp::Shuffle(self.choose(&["up", "down", "bfly", "idx"])), Class::Word, Class::Word),
            3 => (WarpOp::Ballot, Class::Word, Class::Predicate),
            4 => (WarpOp::Vote(self.choose(&["all", "any", "uni"])), Class::Predicate, Class::Predicate),
            5 => (WarpOp::MatchAny(class), Class::Word, class),
            6 => (WarpOp::MatchAll(class), Class::Word, class),
            _ => {
                let ops =
                    ["add.u32", "add.s32", "min.u32", "min.s32", "max.u32", "max.s32", "and.b32", "or.b32", "xor.b32"];
                (WarpOp::Reduce(self.choose(&ops)), Class::Word, Class::Word)
            }
        };
        Statement::Warp { op, to: self.reg(to), from: self.reg(from), other }
    }

    fn memory(&mut self) -> Statement {
        let class = self.choose(&[Class::Half, Class::Word, Class::Double]);
        let wide = if self.rng.bool() { Class::Word } else { Class::Double };
        let index = self.reg(Class::Word);
        match self.rng.u32(0..6) {
            0..2 => Statement::LoadInput { to: self.reg(class), index },
            2..4 => Statement::Local { reg: self.reg(class), index, store: self.rng.bool() },
            _ if !self.kernel => Statement::LoadInput { to: self.reg(class), index },
            4 => {
                let kind = 2 * self.rng.usize(..REDUCTIONS.len()) + usize::from(wide == Class::Double);
                Statement::GlobalReduction { kind, value: self.reg(wide), cell: index }
            }
            _ => {
                let op = self.choose(&["add", "exch", "cas", "min", "max"]);
                Statement::PrivateAtomic { op, to: self.reg(wide), value: self.reg(wide), other: self.reg(wide) }
            }
        }
    }

    fn instruction(&mut self) -> Statement {
        let (template, operands) = instruction(self.rng, self.limits.target, any_reg);
        let guard = (template.may_be_guarded() && self.rng.u32(0..8) == 0).then(|| self.condition());
        Statement::Inst { text: template.text.clone(), operands, guard, finish: template.finish }
    }

    fn source(&mut self, class: Class, constants: Constants) -> Operand {
        source(self.rng, class, constants, &mut |rng, class| any_reg(rng, class))
    }

    fn condition(&mut self) -> Condition {
        Condition { predicate: self.rng.usize(..Class::Predicate.count()), negated: self.rng.bool() }
    }

    fn reg(&mut self, class: Class) -> Reg {
        any_reg(self.rng, class)
    }

    fn choose<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.rng.usize(..choices.len())]
    }
}

fn any_reg(rng: &mut Rng, class: Class) -> Reg {
    Reg { class, number: rng.usize(..class.count()) }
}

/// An instruction of the table that the target has, with operands; `reg` chooses the registers.
pub(super) fn instruction(
    rng: &mut Rng,
    target: u32,
    mut reg: impl FnMut(&mut Rng, Class) -> Reg,
) -> (&'static Template, Vec<(Operand, Before)>) {
    let template = loop {
        let candidate: &Template = &TEMPLATES[rng.usize(..TEMPLATES.len())];
        if candidate.least_target <= target {
            break candidate;
        }
    };
    let mut operands: Vec<(Operand, Before)> = Vec::new();
    for slot in &template.slots {
        let operand = match slot.is_result {
            // Two results go to two registers.
            true => loop {
                let operand = Operand::Reg(reg(rng, slot.class));
                if operands.iter().all(|(earlier, _)| *earlier != operand) {
                    break operand;
                }
            },
            false => operand(rng, slot, &mut reg),
        };
        operands.push((operand, slot.before));
    }
    // In a chain of instructions the first result must not be a source of the second one's.
    if template.text.contains(';') {
        let first = operands[0].0;
        for (operand, _) in &mut operands[2..] {
            while *operand == first {
                let Operand::Reg(same) = first else { break };
                *operand = Operand::Reg(reg(rng, same.class));
            }
        }
    }
    (template, operands)
}

type Choose<'c> = &'c mut dyn FnMut(&mut Rng, Class) -> Reg;

fn operand(rng: &mut Rng, slot: &Slot, reg: Choose<'_>) -> Operand {
    match slot.constants {
        Constants::Only(bits) => Operand::Integer(rng.u64(..1 << bits)),
        _ => source(rng, slot.class, slot.constants, reg),
    }
}

fn source(rng: &mut Rng, class: Class, constants: Constants, reg: Choose<'_>) -> Operand {
    let constant = constants != Constants::None && rng.u32(0..6) == 0;
    if !constant {
        return Operand::Reg(reg(rng, class));
    }
    let bits = match rng.bool() {
        true => SPECIAL[rng.usize(..SPECIAL.len())],
        false => rng.u64(..),
    };
    let wide = class == Class::Double;
    match constants {
        Constants::Float if wide => Operand::Float(bits, true),
        Constants::Float => Operand::Float(bits & 0xffff_ffff, false),
        Constants::Byte => Operand::Integer(bits & 0xff),
        _ => Operand::Integer(bits & (u64::MAX >> (64 - 8 * class.bytes()))),
    }
}
