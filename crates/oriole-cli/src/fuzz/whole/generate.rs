//! Random trees.

use super::super::generate::instruction;
use super::super::program::{Condition, Count, REDUCTIONS, Reg};
use super::super::templates::Class;
use super::memory::{class_of, is_float};
use super::tree::{
    BlockOp, Callee, Cell, Function, Judged, Jump, Place, Shape, Signature, Statement, Test, Tree, VectorKind,
    VectorOp, WarpOp, pool, registers,
};
use fastrand::Rng;

/// Statements that a thread of a program executes at most, about.
const COST: u64 = 600;
/// Types that are loaded and stored, with the classes of their registers.
const LOADED: [(&str, Class); 15] = [
    ("u8", Class::Half),
    ("s8", Class::Word),
    ("u8", Class::Word),
    ("u8", Class::Double),
    ("b16", Class::Half),
    ("u16", Class::Half),
    ("s16", Class::Word),
    ("u16", Class::Word),
    ("s16", Class::Double),
    ("b32", Class::Word),
    ("b32", Class::Word),
    ("u32", Class::Word),
    ("s32", Class::Double),
    ("b64", Class::Double),
    ("b64", Class::Double),
];
/// Atomic operations with their types and the targets that have them.
const ATOMICS: [(&str, &str, u32); 26] = [
    ("add", "u32", 0),
    ("add", "s32", 0),
    ("add", "u64", 0),
    ("min", "u32", 0),
    ("min", "s32", 0),
    ("min", "u64", 0),
    ("min", "s64", 0),
    ("max", "u32", 0),
    ("max", "s32", 0),
    ("max", "u64", 0),
    ("max", "s64", 0),
    ("inc", "u32", 0),
    ("dec", "u32", 0),
    ("and", "b32", 0),
    ("or", "b32", 0),
    ("xor", "b32", 0),
    ("and", "b64", 0),
    ("xor", "b64", 0),
    ("exch", "b32", 0),
    ("exch", "b64", 0),
    ("cas", "b32", 0),
    ("cas", "b64", 0),
    ("add", "f32", 0),
    ("add", "f64", 0),
    ("add.noftz", "f16x2", 0),
    ("add.noftz", "bf16x2", 90),
];
/// Reductions of a warp.
const REDUX: [&str; 9] =
    ["add.u32", "add.s32", "min.u32", "min.s32", "max.u32", "max.s32", "and.b32", "or.b32", "xor.b32"];

/// The program of that name and seed for a target such as 90.
pub(in crate::fuzz) fn tree(name: &str, seed: u64, target: u32, statements: usize, judged: Judged) -> Tree {
    let mut rng = Rng::with_seed(seed);
    loop {
        let tree = candidate(name, &mut rng, target, statements, judged);
        if tree.cost(COST) <= COST {
            return tree;
        }
    }
}

fn candidate(name: &str, rng: &mut Rng, target: u32, statements: usize, judged: Judged) -> Tree {
    let table = if rng.u32(0..4) == 0 { rng.usize(2..4) } else { 0 };
    let others = rng.usize(0..3);
    let shared = signature(rng, true, judged);
    let signatures: Vec<Signature> = (0..table + others)
        .map(|number| if number < table { shared.clone() } else { signature(rng, false, judged) })
        .collect();
    let bodies: Vec<Vec<Statement>> = (0..signatures.len())
        .map(|number| {
            let size = rng.usize(1..10);
            Generator { rng, target, signatures: &signatures, table, number, loops: 0 }.body(size, 0)
        })
        .collect();
    let size = rng.usize(statements / 3..=statements);
    let number = signatures.len();
    let body = Generator { rng, target, signatures: &signatures, table, number, loops: 0 }.body(size, 0);
    let blocks = [1, 1, 2][rng.usize(0..3)];
    let kept = Class::ALL.into_iter().flat_map(|class| (0..pool(class)).map(move |number| Reg { class, number }));
    Tree {
        name: name.to_owned(),
        functions: signatures
            .iter()
            .cloned()
            .zip(bodies)
            .map(|(signature, body)| Function { signature, body })
            .collect(),
        table,
        body,
        kept: kept.collect(),
        threads: 32 * [1, 1, 1, 2, 3][rng.usize(0..5)],
        blocks,
        cluster: target >= 90 && blocks > 1 && rng.bool(),
        seed: u64::from(rng.u32(..)),
        uniform: rng.u64(..),
        judged,
    }
}

fn signature(rng: &mut Rng, in_table: bool, judged: Judged) -> Signature {
    let in_registers = rng.bool();
    let classes = |rng: &mut Rng, least: usize, most: usize| {
        let count = rng.usize(least..=most);
        let mut class = || [Class::Word, Class::Word, Class::Double, Class::Half, Class::Predicate][rng.usize(0..5)];
        (0..count).map(|_| class()).collect()
    };
    let recursive = !in_table && rng.u32(0..4) == 0;
    let mut signature = Signature {
        in_registers,
        parameters: classes(rng, 0, 3),
        array: if rng.u32(0..4) == 0 { rng.usize(1..3) } else { 0 },
        // ptxas passes several in registers, but by no ABI, and then no function calls itself.
        results: classes(rng, 1, if in_registers && judged != Judged::Alone { 1 } else { 3 }),
        memory: rng.bool(),
        warp: !in_table && !recursive && rng.u32(0..3) == 0,
        recursive,
    };
    // By the ABI no predicate is passed in a register, and it is left where there are several results.
    if in_registers && (signature.results.len() == 1 || in_table) {
        let predicates = signature.parameters.iter_mut().chain(&mut signature.results);
        predicates.filter(|class| **class == Class::Predicate).for_each(|class| *class = Class::Word);
    }
    signature
}

struct Generator<'g> {
    rng: &'g mut Rng,
    target: u32,
    signatures: &'g [Signature],
    table: usize,
    /// The function's number.
    number: usize,
    /// Loops around.
    loops: usize,
}

impl Generator<'_> {
    fn body(&mut self, size: usize, depth: u32) -> Vec<Statement> {
        let mut body = Vec::new();
        let mut left = size;
        while left > 0 {
            let (statement, cost) = self.statement(left, depth);
            left -= cost.min(left);
            body.push(statement);
        }
        body
    }

    fn statement(&mut self, left: usize, depth: u32) -> (Statement, usize) {
        let compound = left >= 3 && depth < 4;
        match self.rng.u32(0..100) {
            0..12 if compound => self.branch(left, depth),
            12..20 if compound => self.counted(left, depth),
            20..23 if compound => self.switch(left, depth),
            23..26 if compound => self.graph(left, depth),
            26..34 if self.loops > 0 => (self.leave(), 1),
            34..36 if depth > 0 || self.rng.bool() => {
                let guard = (depth == 0 || self.rng.u32(0..4) > 0).then(|| self.condition());
                (Statement::Return { guard, exit: self.rng.u32(0..4) == 0 }, 1)
            }
            36..41 if !self.signatures.is_empty() => (self.call(), 3),
            41..50 => (self.memory(), 1),
            50..53 => {
                let table = self.choose(&["input", "const", "global"]);
                (Statement::Lookup { table, to: self.reg(Class::Word), index: self.reg(Class::Word) }, 1)
            }
            53..56 => (self.atomic(), 1),
            56..63 => (self.warp(), 1),
            63..66 => (self.block(), 1),
            66..70 => (self.carry(), 1),
            70..73 => (self.vector(), 1),
            _ => (self.instruction(), 1),
        }
    }

    fn branch(&mut self, left: usize, depth: u32) -> (Statement, usize) {
        let size = self.rng.usize(1..=(left / 2).min(8));
        let test = match self.rng.u32(0..6) {
            0 => Test::Uniform { bit: self.rng.u32(0..32) },
            _ => Test::Of(self.condition()),
        };
        let vote = self.rng.bool();
        let then = self.body(size, depth + 1);
        let other = if self.rng.bool() { 0 } else { self.rng.usize(1..=size) };
        let otherwise = self.body(other, depth + 1);
        (Statement::If { test, vote, then, otherwise }, size + other + 1)
    }

    fn counted(&mut self, left: usize, depth: u32) -> (Statement, usize) {
        let size = self.rng.usize(1..=(left / 2).min(8));
        let count = match self.rng.bool() {
            true => Count::Constant(self.rng.u32(0..5)),
            false => Count::Register(self.reg(Class::Word), 3),
        };
        self.loops += 1;
        let body = self.body(size, depth + 1);
        self.loops -= 1;
        let shape = self.choose(&[Shape::Bottom, Shape::Header, Shape::Until]);
        (Statement::Loop { shape, count, vote: self.rng.u32(0..3) > 0, body }, 2 * size)
    }

    fn leave(&mut self) -> Statement {
        let guard = (self.rng.u32(0..5) > 0).then(|| self.condition());
        let up = if self.rng.u32(0..4) == 0 { self.rng.usize(..self.loops) } else { 0 };
        if self.rng.bool() { Statement::Break { guard, up } } else { Statement::Continue { guard, up } }
    }

    fn switch(&mut self, left: usize, depth: u32) -> (Statement, usize) {
        let count = self.rng.usize(1..5);
        let size = (left / 2).min(8) / count + 1;
        let arms: Vec<_> = (0..count).map(|_| self.body(size, depth + 1)).collect();
        let entries = self.choose(&[2, 3, 4, 5, 8, 16, 32]);
        let labels = (0..entries).map(|_| self.rng.usize(..count)).collect();
        let sparse = entries <= 5 && self.rng.u32(0..3) == 0;
        (Statement::Switch { selector: self.reg(Class::Word), labels, sparse, arms }, size * count)
    }

    fn graph(&mut self, left: usize, depth: u32) -> (Statement, usize) {
        let count = self.rng.usize(2..6);
        let size = (left / 2).min(8) / count + 1;
        let block = |generator: &mut Self| {
            let body = generator.body(size, depth + 1);
            let taken = (generator.rng.u32(0..5) > 0).then(|| (generator.condition(), generator.rng.usize(..=count)));
            (body, Jump { taken, otherwise: generator.rng.usize(..=count) })
        };
        let mut blocks: Vec<_> = (0..count).map(|_| block(self)).collect();
        for (number, (_, jump)) in blocks.iter_mut().enumerate() {
            // Mostly on to the next, so that there is a way through.
            if self.rng.bool() {
                jump.otherwise = number + 1;
            }
        }
        (Statement::Graph { blocks, fuel: self.rng.u32(1..5) }, size * count)
    }

    fn call(&mut self) -> Statement {
        let through_table = self.table > 1 && self.number >= self.table && self.rng.bool();
        let (callee, number) = match through_table {
            true => (Callee::Table(self.reg(Class::Word)), 0),
            false => {
                let number = self.rng.usize(..self.signatures.len());
                (Callee::Direct(number), number)
            }
        };
        let signature = &self.signatures[number];
        let guard = (self.rng.u32(0..5) == 0).then(|| self.condition());
        let words = vec![Class::Word; signature.array];
        let arguments = signature.parameters.iter().copied().chain(words).map(|class| self.reg(class)).collect();
        let results = self.distinct(&signature.results);
        Statement::Call { callee, guard, arguments, results }
    }

    fn memory(&mut self) -> Statement {
        let (ty, class) = self.choose(&LOADED);
        let most = if class == Class::Double { 2 } else { 4 };
        let count = match self.rng.u32(0..4) {
            0 => 2,
            1 => most,
            _ => 1,
        };
        let condition = self.condition();
        let place = self.choose(&[
            Place::Local,
            Place::Local,
            Place::Shared,
            Place::Global,
            Place::Alias,
            Place::Either(condition),
        ]);
        Statement::Memory {
            place,
            store: self.rng.bool(),
            ty,
            regs: self.distinct(&vec![class; count]),
            index: self.rng.bool().then(|| self.reg(Class::Word)),
            offset: self.rng.u32(0..64),
            guard: (self.rng.u32(0..4) == 0).then(|| self.condition()),
        }
    }

    fn atomic(&mut self) -> Statement {
        let wide = self.choose(&[Class::Word, Class::Double]);
        if self.rng.bool() {
            // Sums most of all: they are read, too.
            let op = if self.rng.bool() { 0 } else { self.rng.usize(..REDUCTIONS.len()) };
            let kind = op + REDUCTIONS.len() * self.rng.usize(..3);
            return Statement::Reduction { kind, value: self.reg(wide), cell: self.reg(Class::Word) };
        }
        let (op, ty, least) = self.choose(&ATOMICS);
        if self.target < least {
            return self.atomic();
        }
        let class = class_of(ty);
        let source = if is_float(ty) { Class::Word } else { class };
        let (to, value, other) = (self.reg(class), self.reg(source), self.reg(source));
        let condition = self.condition();
        let cell = self.choose(&[Cell::Global, Cell::Shared, Cell::Either(condition)]);
        Statement::Atomic { cell, op, ty, to, value, other }
    }

    fn warp(&mut self) -> Statement {
        let class = self.choose(&[Class::Word, Class::Double]);
        // The last is redux, which sm_80 brought.
        let kinds = if self.target < 80 { 9 } else { 10 };
        let bits = self.rng.u32(0..32);
        let (op, to, from) = match self.rng.u32(0..kinds) {
            0 => (WarpOp::Butterfly(bits), Class::Word, Class::Word),
            1 => (WarpOp::First, Class::Word, Class::Word),
            2 => (WarpOp::Shift(self.choose(&["up", "down"]), bits), Class::Word, Class::Word),
            3..5 => (WarpOp::Ballot, Class::Word, Class::Predicate),
            5 => (WarpOp::Vote(self.choose(&["all", "any", "uni"])), Class::Predicate, Class::Predicate),
            6 => (WarpOp::MatchAny, Class::Word, class),
            7 => (WarpOp::MatchAll, Class::Word, class),
            8 => (WarpOp::Memory(bits), Class::Word, Class::Word),
            _ => (WarpOp::Reduce(self.choose(&REDUX)), Class::Word, Class::Word),
        };
        Statement::Warp { op, to: self.reg(to), from: self.reg(from) }
    }

    fn block(&mut self) -> Statement {
        let class = self.choose(&[Class::Word, Class::Double, Class::Half]);
        let (op, class) = match self.rng.u32(0..4) {
            0 => (BlockOp::Exchange(self.rng.u32(0..96)), class),
            3 => (BlockOp::Cluster(self.rng.u32(0..4)), class),
            1 => (BlockOp::Reduce(self.choose(&REDUCTIONS)), Class::Word),
            _ => (BlockOp::Vote(self.choose(&["popc", "and", "or"])), Class::Word),
        };
        Statement::Block { op, to: self.reg(class), from: self.reg(class) }
    }

    fn carry(&mut self) -> Statement {
        let class = self.choose(&[Class::Word, Class::Word, Class::Double]);
        let [to, first, second] = [(); 3].map(|()| self.reg(class));
        Statement::Carry {
            op: self.choose(&["add", "sub"]),
            start: self.rng.u32(0..3) == 0,
            to,
            sources: [first, second],
            guard: (self.rng.u32(0..5) == 0).then(|| self.condition()),
        }
    }

    fn vector(&mut self) -> Statement {
        let (kind, whole, element) = self.choose(&[
            (VectorKind::Halves, Class::Word, Class::Half),
            (VectorKind::Words, Class::Double, Class::Word),
            (VectorKind::Quad, Class::Word, Class::Word),
        ]);
        let op = self.choose(&[VectorOp::Fill, VectorOp::Take, VectorOp::Element, VectorOp::Copy, VectorOp::Pack]);
        let class = if matches!(op, VectorOp::Fill | VectorOp::Take) { whole } else { element };
        Statement::Vector {
            kind,
            op,
            vectors: [self.rng.usize(..2), self.rng.usize(..2)],
            element: self.rng.usize(..4),
            reg: self.reg(class),
            guard: (self.rng.u32(0..4) == 0).then(|| self.condition()),
        }
    }

    fn instruction(&mut self) -> Statement {
        let (template, operands) = instruction(self.rng, self.target, any_reg);
        let guard = (template.may_be_guarded() && self.rng.u32(0..5) == 0).then(|| self.condition());
        Statement::Inst {
            text: template.text.clone(),
            operands,
            results: template.results(),
            guard,
            finish: template.finish,
        }
    }

    fn condition(&mut self) -> Condition {
        Condition { predicate: self.rng.usize(..registers(Class::Predicate)), negated: self.rng.bool() }
    }

    fn reg(&mut self, class: Class) -> Reg {
        any_reg(self.rng, class)
    }

    /// Different registers of these classes.
    fn distinct(&mut self, classes: &[Class]) -> Vec<Reg> {
        let mut all: Vec<Reg> = Vec::new();
        for &class in classes {
            let reg = loop {
                let reg = self.reg(class);
                if !all.contains(&reg) {
                    break reg;
                }
            };
            all.push(reg);
        }
        all
    }

    fn choose<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.rng.usize(..choices.len())]
    }
}

fn any_reg(rng: &mut Rng, class: Class) -> Reg {
    Reg { class, number: rng.usize(..registers(class)) }
}
