//! Trees as PTX: where a statement stands, and what may be done there.

use super::super::lines::Lines;
use super::super::program::{Condition, Operand, Reg};
use super::super::templates::{Class, Finish};
use super::tree::{Judged, Statement, Test, Tree, VectorKind, VectorOp, escapes, pool};
use std::fmt::Display;

/// What is known at a place of a function.
#[derive(Clone, Debug)]
pub(super) struct Here {
    /// The threads of the warp that come here together: a constant or a register; `None` where that is not known.
    pub(super) mask: Option<String>,
    /// All threads of the block come here together.
    pub(super) uniform: bool,
    /// Registers without a first value that every path has written, as bits.
    written: u64,
    /// Every path has set the carry flag.
    pub(super) carry: bool,
    /// The loops around, the innermost last.
    pub(super) loops: Vec<Frame>,
    /// Nothing comes here.
    pub(super) dead: bool,
}

/// A loop around.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    /// Label of the next round.
    pub(super) next: String,
    /// Label behind it.
    pub(super) end: String,
    /// How its threads are known, if they are.
    pub(super) masked: Option<Masked>,
}

/// The threads of a loop.
#[derive(Clone, Debug)]
pub(super) struct Masked {
    /// Register with those that are in it.
    pub(super) mask: String,
    /// Predicate that is true in threads that end it with this round.
    pub(super) flag: String,
    /// Some may have gone on with the next round already.
    pub(super) continued: bool,
}

/// Prints one function.
pub(super) struct Emitter<'t> {
    pub(super) tree: &'t Tree,
    /// The function's number; that of the kernel is the number of functions.
    pub(super) number: usize,
    pub(super) out: Lines,
    pub(super) here: Here,
    labels: usize,
    /// Registers that masks were given.
    pub(super) masks: usize,
    /// Registers that loops were given to count.
    pub(super) counters: usize,
}

impl<'t> Emitter<'t> {
    /// At the start of a function.
    pub(super) fn new(tree: &'t Tree, number: usize, mask: Option<String>) -> Self {
        let uniform = number == tree.functions.len();
        let here = Here { mask, uniform, written: 0, carry: false, loops: Vec::new(), dead: false };
        let out = Lines { text: String::new(), indent: 1 };
        Emitter { tree, number, out, here, labels: 0, masks: 0, counters: 0 }
    }

    /// The function is the kernel.
    pub(super) fn is_kernel(&self) -> bool {
        self.number == self.tree.functions.len()
    }

    /// The function has the pointers to the input and to the thread's own memory.
    pub(super) fn has_memory(&self) -> bool {
        self.tree.functions.get(self.number).is_none_or(|function| function.signature.memory)
    }

    pub(super) fn line(&mut self, line: impl Display) {
        self.out.line(line);
    }

    pub(super) fn label(&mut self) -> String {
        self.labels += 1;
        format!("L{}", self.labels)
    }

    pub(super) fn mask_register(&mut self) -> String {
        self.masks += 1;
        format!("%m{}", self.masks)
    }

    pub(super) fn counter(&mut self) -> String {
        self.counters += 1;
        format!("%i{}", self.counters)
    }

    fn bit(reg: Reg) -> u64 {
        1 << (8 * Class::ALL.iter().position(|class| *class == reg.class).unwrap_or(0) + reg.number)
    }

    /// The register, or one that has a value in its place.
    pub(super) fn read(&self, reg: Reg) -> Reg {
        let has_value = reg.number < pool(reg.class) || self.here.written & Self::bit(reg) != 0;
        if has_value { reg } else { Reg { class: reg.class, number: reg.number % pool(reg.class) } }
    }

    pub(super) fn read_condition(&self, condition: Condition) -> Condition {
        let reg = self.read(Reg { class: Class::Predicate, number: condition.predicate });
        Condition { predicate: reg.number, ..condition }
    }

    /// The register has a value from here on, unless it was written under a guard.
    pub(super) fn written(&mut self, reg: Reg, guarded: bool) {
        if !guarded {
            self.here.written |= Self::bit(reg);
        }
    }

    /// `@p `, or nothing.
    pub(super) fn guard(&self, guard: Option<Condition>) -> String {
        guard.map(|condition| format!("@{} ", self.read_condition(condition))).unwrap_or_default()
    }

    /// The text of a condition; `%sp` is lost.
    pub(super) fn test(&mut self, test: Test) -> Condition {
        match test {
            Test::Of(condition) => self.read_condition(condition),
            Test::Uniform { bit } if self.is_kernel() => {
                let scratch = super::tree::registers(Class::Predicate);
                self.line(format_args!("and.b32 %sw0, %uniform, {:#x};", 1_u32 << (bit % 32)));
                self.line(format_args!("setp.ne.u32 %p{scratch}, %sw0, 0;"));
                Condition { predicate: scratch, negated: false }
            }
            Test::Uniform { .. } => Condition { predicate: 0, negated: false },
        }
    }

    /// A register with those of the current mask for which the condition holds.
    pub(super) fn ballot(&mut self, condition: Condition, mask: &str) -> String {
        let register = self.mask_register();
        self.line(format_args!("vote.sync.ballot.b32 {register}, {condition}, {mask};"));
        register
    }

    /// The statements of a body; where `direct`, it is a loop's or function's own.
    pub(super) fn body(&mut self, body: &[Statement], direct: bool) {
        for statement in body {
            let mask_is_known = self.statement(statement, direct);
            if !escapes(std::slice::from_ref(statement)).is_empty() {
                self.here.uniform = false;
                if !mask_is_known {
                    self.here.mask = None;
                }
            }
        }
    }

    /// A body one step to the right.
    pub(super) fn inner(&mut self, body: &[Statement], direct: bool) {
        self.out.indent += 1;
        self.body(body, direct);
        self.out.indent -= 1;
    }

    /// Prints a statement; says whether the mask is right though threads may have gone.
    fn statement(&mut self, statement: &Statement, direct: bool) -> bool {
        match statement {
            Statement::Inst { .. } => self.instruction(statement),
            Statement::If { test, vote, then, otherwise } => self.branch(*test, *vote, then, otherwise),
            Statement::Loop { .. } => self.counted(statement),
            Statement::Break { guard, up } => return self.leave(*guard, *up, true, direct),
            Statement::Continue { guard, up } => return self.leave(*guard, *up, false, direct),
            Statement::Return { guard, exit } => return self.leave_function(*guard, *exit, direct),
            Statement::Switch { selector, labels, sparse, arms } => self.switch(*selector, labels, *sparse, arms),
            Statement::Graph { blocks, fuel } => self.graph(blocks, *fuel),
            Statement::Call { callee, guard, arguments, results } => self.call(*callee, *guard, arguments, results),
            Statement::Memory { .. } => self.memory(statement),
            Statement::Lookup { table, to, index } => self.lookup(table, *to, *index),
            Statement::Reduction { kind, value, cell } => self.reduction(*kind, *value, *cell),
            Statement::Atomic { .. } => self.atomic(statement),
            Statement::Warp { op, to, from } => self.warp(*op, *to, *from),
            Statement::Block { op, to, from } => self.block(*op, *to, *from),
            Statement::Carry { .. } => self.carry(statement),
            Statement::Vector { .. } => self.vector(statement),
        }
        false
    }

    fn instruction(&mut self, statement: &Statement) {
        let Statement::Inst { text, operands, results, guard, finish } = statement else { return };
        let results = *results;
        let readable = |(number, &(operand, before)): (usize, &(Operand, _))| match operand {
            Operand::Reg(reg) if number >= results => (Operand::Reg(self.read(reg)), before),
            _ => (operand, before),
        };
        let named: Vec<_> = operands.iter().enumerate().map(readable).collect();
        let guard = guard.map(|condition| self.read_condition(condition));
        self.out.instruction(text, &named, guard, self.tree.judged == Judged::ByOptimised);
        for (operand, _) in &named[..results] {
            if let Operand::Reg(reg) = operand {
                self.written(*reg, guard.is_some());
            }
        }
        match (finish, named.first()) {
            (Finish::OneNan(format), Some((Operand::Reg(reg), _))) => self.out.one_nan(*reg, *format),
            (Finish::Hide, Some((Operand::Reg(reg), _))) if self.tree.judged == Judged::ByOptimised => {
                self.out.hide(*reg)
            }
            _ => {}
        }
        if loses_carry(text, self.tree.judged) {
            self.here.carry = false;
        }
    }

    /// A link of a carry chain.
    fn carry(&mut self, statement: &Statement) {
        let Statement::Carry { op, start, to, sources, guard } = statement else { return };
        let goes_on = self.here.carry && !start;
        // Where the guard is false, the flag stays as it was; so it must have been set.
        let guard = guard.filter(|_| self.here.carry);
        let [first, second] = sources.map(|reg| self.read(reg));
        let link = if goes_on { "c" } else { "" };
        let ty = if to.class == Class::Double { "u64" } else { "u32" };
        let shown = self.guard(guard);
        self.line(format_args!("{shown}{op}{link}.cc.{ty} {to}, {first}, {second};"));
        self.here.carry = true;
        self.written(*to, guard.is_some());
    }

    /// Vector registers, whole and by their elements.
    fn vector(&mut self, statement: &Statement) {
        let Statement::Vector { kind, op, vectors: [to, from], element, reg, guard } = statement else { return };
        let shown = self.guard(*guard);
        let reads = self.read(*reg);
        let (name, letters, bits): (_, &[&str], _) = match kind {
            VectorKind::Halves => ("%u", &["x", "y"], 16),
            VectorKind::Words => ("%v", &["x", "y"], 32),
            VectorKind::Quad => ("%q", &["x", "y", "z", "w"], 32),
        };
        let count = letters.len();
        let (one, other) = (letters[*element % count], letters[(*element + 1) % count]);
        let whole = bits * count;
        match (op, kind) {
            (VectorOp::Fill | VectorOp::Take, VectorKind::Quad) => {
                let (local, at) = (format!("{}_local", self.scope()), 16 * (*element % 4));
                match op {
                    VectorOp::Fill => self.line(format_args!("{shown}ld.local.v4.b32 {name}{to}, [{local}+{at}];")),
                    _ => self.line(format_args!("{shown}st.local.v4.b32 [{local}+{at}], {name}{from};")),
                }
            }
            (VectorOp::Fill, _) => self.line(format_args!("{shown}mov.b{whole} {name}{to}, {reads};")),
            (VectorOp::Take, _) => {
                self.line(format_args!("{shown}mov.b{whole} {reg}, {name}{from};"));
                self.written(*reg, guard.is_some());
            }
            (VectorOp::Element, _) => {
                self.line(format_args!("{shown}sub.u{bits} {name}{to}.{one}, {reads}, {name}{from}.{other};"));
            }
            (VectorOp::Copy, _) => self.line(format_args!("{shown}mov.v{count}.b{bits} {name}{to}, {name}{from};")),
            (VectorOp::Pack, _) => {
                let rest = (1..count).map(|at| format!("{name}{from}.{}", letters[(at + *element) % count]));
                let rest: Vec<String> = rest.collect();
                let list = format!("{{{reads}, {}}}", rest.join(", "));
                self.line(format_args!("{shown}mov.v{count}.b{bits} {name}{to}, {list};"));
            }
        }
    }

    /// What holds behind two ways that meet.
    pub(super) fn meet(&mut self, one: &Here, other: &Here) {
        match (one.dead, other.dead) {
            (true, true) => self.here.dead = true,
            (true, false) => self.reached_from(other),
            (false, true) => self.reached_from(one),
            (false, false) => {
                self.here.written = one.written & other.written;
                self.here.carry = one.carry && other.carry;
                self.here.dead = false;
            }
        }
    }

    fn reached_from(&mut self, only: &Here) {
        self.here.written = only.written;
        self.here.carry = only.carry;
        self.here.dead = false;
    }
}

/// The carry flag is not what it was after this instruction.
pub(super) fn loses_carry(text: &str, judged: Judged) -> bool {
    // ptxas calls functions for these, and does not keep the flag.
    let is_call = ["div", "rem", "sqrt", "rcp"].iter().any(|opcode| text.starts_with(opcode));
    is_call && judged != Judged::Alone
}
