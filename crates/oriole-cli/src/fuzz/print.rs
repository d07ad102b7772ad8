//! Programs as PTX text.

use super::lines::{Lines, reduction_type};
use super::program::{
    CELLS, Condition, Count, FIRST_WORDS, INPUT_WORDS, LOCAL_WORDS, Operand, Program, REDUCTIONS, Reg, SHARED_CELLS,
    Statement, WarpOp, record_bytes,
};
use super::templates::{Class, Finish};
use std::fmt::{Display, Formatter, Result as Formatted};

/// A program's functions and kernel.
pub(crate) fn kernel(program: &Program) -> String {
    let mut out = Lines::default();
    for (number, body) in program.functions.iter().enumerate().filter(|(number, _)| program.calls(*number)) {
        Printer::new(&mut out, program, Some(number)).function(number, body);
    }
    Printer::new(&mut out, program, None).kernel();
    out.text
}

struct Printer<'p> {
    out: &'p mut Lines,
    program: &'p Program,
    /// Name of the function, for labels.
    scope: String,
    labels: usize,
}

impl Display for Reg {
    fn fmt(&self, f: &mut Formatter<'_>) -> Formatted {
        write!(f, "{}{}", self.class.prefix(), self.number)
    }
}

impl Display for Operand {
    fn fmt(&self, f: &mut Formatter<'_>) -> Formatted {
        match self {
            Operand::Reg(reg) => write!(f, "{reg}"),
            Operand::Integer(value) => write!(f, "{value:#x}"),
            Operand::Float(bits, false) => write!(f, "0f{bits:08X}"),
            Operand::Float(bits, true) => write!(f, "0d{bits:016X}"),
        }
    }
}

impl Display for Condition {
    fn fmt(&self, f: &mut Formatter<'_>) -> Formatted {
        write!(f, "{}%p{}", if self.negated { "!" } else { "" }, self.predicate)
    }
}

impl<'p> Printer<'p> {
    fn new(out: &'p mut Lines, program: &'p Program, function: Option<usize>) -> Self {
        let scope = function.map_or(program.name.clone(), |number| format!("{}_f{number}", program.name));
        Printer { out, program, scope, labels: 0 }
    }

    fn label(&mut self) -> String {
        self.labels += 1;
        format!("{}_L{}", self.scope, self.labels)
    }

    /// Registers and local memory of a function.
    fn declarations(&mut self) {
        let scope = self.scope.clone();
        for class in Class::ALL {
            self.out.line(format_args!(".reg .{} {}<{}>;", class.ty(), class.prefix(), class.count()));
        }
        self.out.line(".reg .b16 %zero16; .reg .b32 %zero32; .reg .b64 %zero64;");
        self.out.line(".reg .pred %sp; .reg .b16 %sh<3>; .reg .b32 %sw<4>; .reg .b64 %sd<4>, %in, %out, %own;");
        self.out.line(format_args!(".reg .b32 %i<{}>;", loops(self.program) + 1));
        self.out.line(format_args!(".local .align 8 .b8 {scope}_local[{}];", 4 * LOCAL_WORDS));
        for word in 0..LOCAL_WORDS {
            self.out.line(format_args!("st.local.u32 [{scope}_local+{}], {};", 4 * word, word * 0x0101_0101));
        }
    }

    /// Zeros of all widths, from memory, at a place that depends on the thread: else ptxas keeps what they are added to
    /// in uniform registers.
    fn hidden_zeros(&mut self) {
        let at = 4 * (INPUT_WORDS + FIRST_WORDS);
        self.out.line("mov.u32 %sw0, %tid.x; and.b32 %sw0, %sw0, 1; mad.wide.u32 %sd0, %sw0, 8, %in;");
        for bits in [16, 32, 64] {
            self.out.line(format_args!("ld.global.b{bits} %zero{bits}, [%sd0+{at}];"));
        }
    }

    fn function(&mut self, number: usize, body: &[Statement]) {
        let scope = self.scope.clone();
        self.out.indent = 0;
        self.out.line(format_args!(
            ".func (.param .align 8 .b8 {scope}_r[16]) {scope}(.param .b32 {scope}_w, .param .b64 {scope}_d, \
             .param .b64 {scope}_in)\n{{"
        ));
        self.out.indent = 1;
        self.declarations();
        self.out.line(format_args!("ld.param.b32 %w0, [{scope}_w]; ld.param.b64 %d0, [{scope}_d];"));
        self.out.line(format_args!("ld.param.b64 %in, [{scope}_in];"));
        self.out.line("mov.b64 %out, 0; mov.b64 %own, 0;");
        self.hidden_zeros();
        for word in 1..Class::Word.count() {
            self.out.line(format_args!("xor.b32 %w{word}, %w0, {:#x};", 0x9e37_79b9_u32.wrapping_mul(word as u32)));
        }
        for double in 1..Class::Double.count() {
            self.out.line(format_args!("add.u64 %d{double}, %d0, {};", number + 3 * double));
        }
        for half in 0..Class::Half.count() {
            self.out.line(format_args!("cvt.u16.u32 %h{half}, %w{half};"));
        }
        for predicate in 0..Class::Predicate.count() {
            self.out.line(format_args!("setp.lt.s32 %p{predicate}, %w{}, 0;", predicate + 1));
        }
        self.statements(body);
        self.out.line(format_args!("st.param.b32 [{scope}_r], %w0; st.param.b64 [{scope}_r+8], %d0;"));
        self.out.line("ret;");
        self.out.indent = 0;
        self.out.line("}");
    }

    fn kernel(&mut self) {
        let program = self.program;
        let name = &program.name;
        let exchange = 8 * program.threads as usize;
        self.out.indent = 0;
        self.out.line(format_args!(
            ".visible .entry {name}(.param .u64 {name}_in, .param .u64 {name}_out, .param .u64 {name}_uniform)\n{{"
        ));
        self.out.indent = 1;
        self.declarations();
        self.out.line(format_args!(".shared .align 8 .b8 {name}_shared[{}];", exchange + 4 * SHARED_CELLS));
        self.out.line(format_args!("ld.param.u64 %in, [{name}_in]; ld.param.u64 %out, [{name}_out];"));
        self.hidden_zeros();
        self.out.line("mov.u32 %sw0, %ctaid.x; mov.u32 %sw1, %ntid.x; mov.u32 %sw2, %tid.x;");
        self.out.line("mad.lo.u32 %w0, %sw0, %sw1, %sw2;");
        self.out.line(format_args!("mad.wide.u32 %own, %w0, {}, %out;", record_bytes()));
        self.out.line(format_args!("add.u64 %own, %own, {};", 8 * CELLS));
        self.initial_values();
        self.statements(&program.body);
        self.results();
        self.out.line("ret;");
        self.out.indent = 0;
        self.out.line("}");
    }

    /// Each register gets a word of the input that depends on the thread; the last ones a uniform value.
    fn initial_values(&mut self) {
        let name = self.program.name.clone();
        self.out.line(format_args!("ld.param.u64 %d{}, [{name}_uniform];", Class::Double.count() - 1));
        self.out.line(format_args!("ld.param.u32 %w{}, [{name}_uniform];", Class::Word.count() - 1));
        self.out.line(format_args!("mul.lo.u32 %sw0, %w0, 7; and.b32 %sw0, %sw0, {};", INPUT_WORDS - 1));
        self.out.line("mad.wide.u32 %sd0, %sw0, 4, %in;");
        let mut offset = 0;
        let mut next = |bytes: usize| {
            let at: usize = offset;
            offset += bytes;
            at % (4 * FIRST_WORDS)
        };
        let words: Vec<usize> = (1..Class::Word.count() - 1).map(|_| next(4)).collect();
        for (word, at) in words.into_iter().enumerate() {
            self.out.line(format_args!("ld.global.u32 %w{}, [%sd0+{at}];", word + 1));
        }
        for half in 0..Class::Half.count() {
            let at = next(2);
            self.out.line(format_args!("ld.global.u16 %h{half}, [%sd0+{at}];"));
        }
        for double in 0..Class::Double.count() - 1 {
            let at = next(4);
            self.out.line(format_args!("ld.global.u32 %sw1, [%sd0+{at}]; ld.global.u32 %sw2, [%sd0+{}];", at ^ 4));
            self.out.line(format_args!("mov.b64 %d{double}, {{%sw1, %sw2}};"));
        }
        for predicate in 0..Class::Predicate.count() {
            self.out.line(format_args!("setp.lt.s32 %p{predicate}, %w{}, {};", predicate + 1, INPUT_WORDS));
        }
        let shared = 8 * self.program.threads;
        for cell in 0..SHARED_CELLS {
            self.out.line(format_args!("st.shared.u32 [{name}_shared+{}], {cell};", shared as usize + 4 * cell));
        }
        self.out.line("bar.sync 0;");
    }

    /// Stores all registers.
    fn results(&mut self) {
        let mut offset = 8;
        for class in [Class::Double, Class::Word, Class::Predicate, Class::Half] {
            for number in 0..class.count() {
                let reg = Reg { class, number };
                match class {
                    Class::Predicate => {
                        self.out.line(format_args!("selp.u32 %sw0, 1, 0, {reg}; st.global.u32 [%own+{offset}], %sw0;"));
                    }
                    _ => self.out.line(format_args!("st.global.{} [%own+{offset}], {reg};", class.ty())),
                }
                offset += class.bytes();
            }
        }
    }

    fn statements(&mut self, body: &[Statement]) {
        for statement in body {
            self.statement(statement);
        }
    }

    fn block(&mut self, body: &[Statement]) {
        self.out.indent += 1;
        self.statements(body);
        self.out.indent -= 1;
    }

    fn statement(&mut self, statement: &Statement) {
        match statement {
            Statement::Inst { text, operands, guard, finish } => {
                self.out.instruction(text, operands, *guard, true);
                match (finish, operands.first()) {
                    (Finish::OneNan(format), Some((Operand::Reg(reg), _))) => self.out.one_nan(*reg, *format),
                    (Finish::Hide, Some((Operand::Reg(reg), _))) => self.out.hide(*reg),
                    _ => {}
                }
            }
            Statement::If { condition, then, otherwise } => self.branch(*condition, then, otherwise),
            Statement::Loop { count, body } => self.counted_loop(*count, body),
            Statement::Switch { selector, arms } => self.switch(*selector, arms),
            Statement::LoadInput { to, index } => {
                self.address("%in", *index, INPUT_WORDS, to.class.bytes().max(4));
                self.out.line(format_args!("ld.global.{} {to}, [%sd0];", to.class.ty()));
            }
            Statement::Local { reg, index, store } => {
                let scope = self.scope.clone();
                self.out.line(format_args!("mov.u64 %sd1, {scope}_local;"));
                self.address("%sd1", *index, LOCAL_WORDS, reg.class.bytes().max(4));
                match store {
                    true => self.out.line(format_args!("st.local.{} [%sd0], {reg};", reg.class.ty())),
                    false => self.out.line(format_args!("ld.local.{} {reg}, [%sd0];", reg.class.ty())),
                }
            }
            Statement::Exchange { from, to, distance } => self.exchange(*from, *to, *distance),
            Statement::SharedReduction { op, value, cell, to } => self.shared_reduction(op, *value, *cell, *to),
            Statement::GlobalReduction { kind, value, cell } => {
                let (op, wide) = (REDUCTIONS[kind / 2], kind % 2 == 1);
                self.out.line(format_args!("and.b32 %sw0, {cell}, 1;"));
                self.out.line("mad.wide.u32 %sd0, %sw0, 8, %out;");
                self.out.line(format_args!(
                    "red.global.{op}.{} [%sd0+{}], {value};",
                    reduction_type(op, wide),
                    16 * kind
                ));
            }
            Statement::PrivateAtomic { op, to, value, other } => {
                let ty = if *op == "cas" || *op == "exch" { "b" } else { "u" };
                let second = if *op == "cas" { format!(", {other}") } else { String::new() };
                self.out
                    .line(format_args!("atom.global.{op}.{ty}{} {to}, [%own], {value}{second};", 8 * to.class.bytes()));
            }
            Statement::Warp { op, to, from, other } => self.warp(*op, *to, *from, *other),
            Statement::Call { function, word, double } => self.call(*function, *word, *double),
        }
    }

    fn branch(&mut self, condition: Condition, then: &[Statement], otherwise: &[Statement]) {
        let (other, end) = (self.label(), self.label());
        let inverse = Condition { negated: !condition.negated, ..condition };
        self.out.line(format_args!("@{inverse} bra {other};"));
        self.block(then);
        self.out.line(format_args!("bra {end};"));
        self.out.line(format_args!("{other}:"));
        self.block(otherwise);
        self.out.line(format_args!("{end}:"));
    }

    fn counted_loop(&mut self, count: Count, body: &[Statement]) {
        let (head, end) = (self.label(), self.label());
        // Every loop takes two labels, so that half of their number names a counter of its own.
        let counter = format!("%i{}", self.labels / 2);
        match count {
            Count::Constant(times) => self.out.line(format_args!("mov.u32 {counter}, {times};")),
            Count::Register(reg, mask) => self.out.line(format_args!("and.b32 {counter}, {reg}, {mask};")),
        }
        self.out.line(format_args!("{head}:"));
        self.out.line(format_args!("setp.eq.u32 %sp, {counter}, 0;"));
        self.out.line(format_args!("@%sp bra {end};"));
        self.block(body);
        self.out.line(format_args!("sub.u32 {counter}, {counter}, 1;"));
        self.out.line(format_args!("bra {head};"));
        self.out.line(format_args!("{end}:"));
    }

    fn switch(&mut self, selector: Reg, arms: &[Vec<Statement>]) {
        let labels: Vec<String> = arms.iter().map(|_| self.label()).collect();
        let (table, end) = (self.label(), self.label());
        self.out.line(format_args!("and.b32 %sw0, {selector}, {};", arms.len().next_power_of_two() - 1));
        self.out.line(format_args!("{table}: .branchtargets {};", labels.join(", ")));
        self.out.line(format_args!("brx.idx %sw0, {table};"));
        for (arm, label) in arms.iter().zip(&labels) {
            self.out.line(format_args!("{label}:"));
            self.block(arm);
            self.out.line(format_args!("bra {end};"));
        }
        self.out.line(format_args!("{end}:"));
    }

    /// `%sd0` = address of an element of `bytes` bytes, by the low bits of `index`, in `words` words.
    fn address(&mut self, base: &str, index: Reg, words: usize, bytes: usize) {
        let elements = words * 4 / bytes;
        self.out.line(format_args!("and.b32 %sw0, {index}, {};", elements - 1));
        self.out.line(format_args!("mad.wide.u32 %sd0, %sw0, {bytes}, {base};"));
    }

    fn exchange(&mut self, from: Reg, to: Reg, distance: u32) {
        let (name, threads) = (self.program.name.clone(), self.program.threads);
        let (bytes, ty) = (from.class.bytes(), from.class.ty());
        self.out.line(format_args!("mov.u32 %sw1, %tid.x; mov.u64 %sd1, {name}_shared;"));
        self.out.line(format_args!("mad.wide.u32 %sd0, %sw1, {bytes}, %sd1;"));
        self.out.line(format_args!("st.shared.{ty} [%sd0], {from};"));
        self.out.line("bar.sync 0;");
        self.out.line(format_args!("add.u32 %sw1, %sw1, {}; rem.u32 %sw1, %sw1, {threads};", distance % threads));
        self.out.line(format_args!("mad.wide.u32 %sd0, %sw1, {bytes}, %sd1;"));
        self.out.line(format_args!("ld.shared.{ty} {to}, [%sd0];"));
        self.out.line("bar.sync 0;");
    }

    fn shared_reduction(&mut self, op: &str, value: Reg, cell: Reg, to: Reg) {
        let (name, ty) = (self.program.name.clone(), reduction_type(op, false));
        self.out.line(format_args!("and.b32 %sw0, {cell}, {};", SHARED_CELLS - 1));
        self.out.line(format_args!("mov.u64 %sd1, {name}_shared;"));
        self.out.line("mad.wide.u32 %sd0, %sw0, 4, %sd1;");
        let base = 8 * self.program.threads;
        self.out.line(format_args!("red.shared.{op}.{ty} [%sd0+{base}], {value};"));
        self.out.line("bar.sync 0;");
        self.out.line(format_args!("ld.shared.u32 {to}, [%sd0+{base}];"));
        self.out.line("bar.sync 0;");
    }

    fn warp(&mut self, op: WarpOp, to: Reg, from: Reg, other: Operand) {
        match op {
            WarpOp::Shuffle(mode) => {
                let clamp = if mode == "up" { "0" } else { "0x1f" };
                self.out.line(format_args!("and.b32 %sw0, {other}, 31;"));
                self.out.line(format_args!("shfl.sync.{mode}.b32 {to}, {from}, %sw0, {clamp}, 0xffffffff;"));
            }
            WarpOp::Ballot => self.out.line(format_args!("vote.sync.ballot.b32 {to}, {from}, 0xffffffff;")),
            WarpOp::Vote(mode) => self.out.line(format_args!("vote.sync.{mode}.pred {to}, {from}, 0xffffffff;")),
            WarpOp::MatchAny(class) => {
                self.out.line(format_args!("match.any.sync.{} {to}, {from}, 0xffffffff;", class.ty()));
            }
            WarpOp::MatchAll(class) => {
                self.out.line(format_args!("match.all.sync.{} {to}|%p0, {from}, 0xffffffff;", class.ty()));
            }
            WarpOp::Reduce(op) => self.out.line(format_args!("redux.sync.{op} {to}, {from}, 0xffffffff;")),
        }
    }

    fn call(&mut self, function: usize, word: Reg, double: Reg) {
        let callee = format!("{}_f{function}", self.program.name);
        self.out.line("{");
        self.out.line(".param .b32 pw; .param .b64 pd; .param .b64 pi; .param .align 8 .b8 r[16];");
        self.out.line(format_args!("st.param.b32 [pw], {word}; st.param.b64 [pd], {double}; st.param.b64 [pi], %in;"));
        self.out.line(format_args!("call (r), {callee}, (pw, pd, pi);"));
        self.out.line(format_args!("ld.param.b32 {word}, [r]; ld.param.b64 {double}, [r+8];"));
        self.out.line("}");
    }
}

/// An upper bound of the numbers that loop counters get in one function.
fn loops(program: &Program) -> usize {
    // Each statement takes two labels, a switch one for each arm besides.
    4 * program.size() + 4
}
