//! Programs as PTX.
//!
//! `%w` are the words of a thread, `%h<d>` the mask of the lanes that are at depth `d` (it may name lanes that have ended), `%c<d>`
//! what is left of a loop's count.

use super::exchange;
use super::tree::{COUNT_MASK, Condition, Exchange, LANES, MIX, Mask, Op, Statement, Tree, WORDS, visit};
use std::fmt::Write;

impl Tree {
    /// Its functions and its kernel.
    pub(in crate::fuzz) fn module(&self) -> String {
        let mut printer = Printer {
            tree: self,
            sites: self.sites().into_iter().collect(),
            functions: Vec::new(),
            labels: 0,
            depth: 0,
            deepest: 0,
            constant: Some(u32::MAX),
            text: String::new(),
        };
        printer.body(&self.body);
        printer.line("bra END;");
        let name = &self.name;
        let functions: String = printer.functions.iter().enumerate().map(|(at, op)| function(*op, at, name)).collect();
        let deepest = printer.deepest + 2;
        let uses_memory = {
            let mut found = false;
            visit(&self.body, &mut |statement| found |= statement.exchange().is_some_and(|e| e.op == Op::Memory));
            found
        };
        let shared =
            if uses_memory { format!(".shared .b32 {name}_shared[{}];\n", self.threads) } else { String::new() };
        format!(
            "{shared}{functions}.visible .entry {name}(.param .u64 in, .param .u64 out)\n{{\n\
             .reg .b64 %in, %out, %a; .reg .b32 %w<{WORDS}>, %h<{deepest}>, %c<{deepest}>, %b, %m, %r, %s, %z, %n, %lane; \
             .reg .pred %p, %g;\n{}\n\
             ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; mov.u32 %n, %tid.x; mov.u32 %lane, %laneid; mov.b32 %h0, -1;\n\
             mad.wide.u32 %a, %n, {}, %in;\n{}{}END:\n{}ret;\n}}\n",
            exchange::SCRATCH,
            WORDS * 4,
            words("ld.global.u32 %w$, [%a+@];"),
            printer.text,
            stores(),
        )
    }
}

/// A line for each word: `$` is its number, `@` its offset.
fn words(pattern: &str) -> String {
    (0..WORDS).map(|at| pattern.replace('$', &at.to_string()).replace('@', &(4 * at).to_string()) + "\n").collect()
}

fn stores() -> String {
    format!("mad.wide.u32 %a, %n, {}, %out;\n{}", WORDS * 4, words("st.global.u32 [%a+@], %w$;"))
}

/// An exchange as a function of the two words and the mask.
fn function(op: Op, number: usize, name: &str) -> String {
    format!(
        ".func (.param .b32 result) {name}_f{number}(.param .b32 low, .param .b32 high, .param .b32 mask)\n{{\n\
         .reg .b32 %s, %z, %m, %r; {}\n\
         ld.param.b32 %s, [low]; ld.param.b32 %z, [high]; ld.param.b32 %m, [mask];\n{}\nst.param.b32 [result], %r; ret;\n}}\n",
        exchange::SCRATCH,
        exchange::lines(op, "", name),
    )
}

struct Printer<'t> {
    tree: &'t Tree,
    sites: Vec<u32>,
    /// What functions exchange.
    functions: Vec<Op>,
    labels: usize,
    depth: usize,
    deepest: usize,
    /// The lanes that are here, those that have ended among them, where all warps have the same.
    constant: Option<u32>,
    text: String,
}

impl Printer<'_> {
    fn line(&mut self, line: impl std::fmt::Display) {
        // A string takes whatever is written to it.
        let _ = writeln!(self.text, "{line}");
    }

    fn label(&mut self) -> String {
        self.labels += 1;
        format!("L{}", self.labels)
    }

    fn body(&mut self, body: &[Statement]) {
        body.iter().for_each(|statement| self.statement(statement));
    }

    /// A body of the lanes whose mask has been put into `%h` of the next depth.
    fn inner(&mut self, body: &[Statement], constant: Option<u32>) {
        let before = std::mem::replace(&mut self.constant, constant);
        self.depth += 1;
        self.deepest = self.deepest.max(self.depth);
        self.body(body);
        self.depth -= 1;
        self.constant = before;
    }

    fn statement(&mut self, statement: &Statement) {
        let depth = self.depth;
        match statement {
            Statement::Mix { to, from, constant } => {
                self.line(format_args!("xor.b32 %r, %w{from}, {constant};"));
                self.mix(*to, "");
            }
            Statement::Exchange { exchange, guard, call } => self.exchange(exchange, *guard, *call),
            Statement::Across { exchange, condition, other } => self.across(exchange, *condition, *other),
            Statement::If { condition, then, otherwise } => self.branch(*condition, then, otherwise),
            Statement::Loop { count, body } => {
                let (head, end) = (self.label(), self.label());
                let inner = depth + 1;
                self.line(format_args!("and.b32 %c{depth}, %w{count}, {COUNT_MASK}; mov.b32 %h{inner}, %h{depth};"));
                self.line(format_args!("{head}: setp.ne.u32 %p, %c{depth}, 0;"));
                self.line(format_args!("vote.sync.ballot.b32 %h{inner}, %p, %h{inner}; @!%p bra {end};"));
                self.line(format_args!("sub.u32 %c{depth}, %c{depth}, 1;"));
                self.inner(body, None);
                self.line(format_args!("bra {head};\n{end}:"));
                self.deepest = self.deepest.max(inner);
            }
            Statement::Exit(condition) => {
                let on = self.label();
                self.test("%p", *condition);
                self.line(format_args!("@!%p bra {on};\n{}exit;\n{on}:", stores()));
            }
        }
    }

    /// Puts a condition into a predicate.
    fn test(&mut self, to: &str, condition: Condition) {
        let (word, bit) = match condition {
            Condition::Word { word, bit } => (format!("%w{word}"), bit),
            Condition::Lane { bit } => ("%lane".to_owned(), bit),
        };
        self.line(format_args!("and.b32 %t0, {word}, {}; setp.ne.u32 {to}, %t0, 0;", 1u32 << bit));
    }

    fn mix(&mut self, to: usize, guard: &str) {
        self.line(format_args!("{guard}mad.lo.u32 %w{to}, %w{to}, {MIX}, %r;"));
    }

    fn branch(&mut self, condition: Condition, then: &[Statement], otherwise: &[Statement]) {
        let (depth, inner) = (self.depth, self.depth + 1);
        let (to_then, end) = (self.label(), self.label());
        self.deepest = self.deepest.max(inner);
        self.test("%p", condition);
        match condition.lanes() {
            Some(lanes) => self.line(format_args!("mov.b32 %b, {lanes};")),
            None => self.line(format_args!("vote.sync.ballot.b32 %b, %p, %h{depth};")),
        }
        let known = |lanes: u32| self.constant.and_then(|all| Some(all & condition.lanes()? ^ lanes & all));
        let (of_then, of_otherwise) = (known(0), known(u32::MAX));
        self.line(format_args!("@%p bra {to_then}; not.b32 %b, %b; and.b32 %h{inner}, %h{depth}, %b;"));
        self.inner(otherwise, of_otherwise);
        self.line(format_args!("bra {end};\n{to_then}: and.b32 %h{inner}, %h{depth}, %b;"));
        self.inner(then, of_then);
        self.line(format_args!("{end}:"));
    }

    fn exchange(&mut self, exchange: &Exchange, guard: Option<Condition>, call: bool) {
        let mut constant = self.constant;
        let mut here = format!("%h{}", self.depth);
        if let Some(condition) = guard {
            self.test("%g", condition);
            self.line(format_args!("vote.sync.ballot.b32 %b, %g, {here};"));
            here = "%b".to_owned();
            constant = None;
        }
        let guard = if guard.is_some() { "@%g " } else { "" };
        self.mask(exchange.mask, &here, constant, guard);
        self.bring(exchange.from, exchange.narrow);
        if call && guard.is_empty() {
            let known = self.functions.iter().position(|op| *op == exchange.op);
            let number = known.unwrap_or(self.functions.len());
            if known.is_none() {
                self.functions.push(exchange.op);
            }
            let name = &self.tree.name;
            self.line(format_args!(
                "{{ .param .b32 o; .param .b32 i; .param .b32 j; .param .b32 k; st.param.b32 [i], %s; st.param.b32 [j], %z; \
                 st.param.b32 [k], %m; call (o), {name}_f{number}, (i, j, k); ld.param.b32 %r, [o]; }}"
            ));
        } else {
            let lines = exchange::lines(exchange.op, guard, &self.tree.name);
            self.line(lines);
        }
        self.mix(exchange.to, guard);
    }

    /// The lanes of both arms meet at one exchange, which stands in each of them.
    fn across(&mut self, exchange: &Exchange, condition: Condition, other: usize) {
        let (to_then, end) = (self.label(), self.label());
        let here = format!("%h{}", self.depth);
        self.mask(exchange.mask, &here, self.constant, "");
        self.test("%p", condition);
        let lines = exchange::lines(exchange.op, "", &self.tree.name);
        self.line(format_args!("@%p bra {to_then};"));
        self.bring(exchange.from, exchange.narrow);
        self.line(&lines);
        self.line(format_args!("bra {end};\n{to_then}:"));
        self.bring(other, exchange.narrow);
        self.line(&lines);
        self.line(format_args!("{end}:"));
        self.mix(exchange.to, "");
    }

    fn bring(&mut self, from: usize, narrow: u32) {
        let high = (from + 1) % WORDS;
        self.line(format_args!("and.b32 %s, %w{from}, {narrow}; and.b32 %z, %w{high}, {narrow};"));
    }

    /// Puts a mask into `%m`; `here` is that of the lanes that execute what stands under the guard.
    fn mask(&mut self, mask: Mask, here: &str, constant: Option<u32>, guard: &str) {
        match (mask, constant) {
            (Mask::Constant, Some(lanes)) => self.line(format_args!("mov.b32 %m, {lanes};")),
            (Mask::Here | Mask::Constant, _) => self.line(format_args!("mov.b32 %m, {here};")),
            (Mask::Tile(size), _) => {
                let tile = u32::MAX >> (LANES as u32 - size);
                self.line(format_args!("and.b32 %t0, %lane, {}; mov.b32 %m, {tile};", !(size - 1)));
                self.line(format_args!("shl.b32 %m, %m, %t0; and.b32 %m, %m, {here};"));
            }
            (Mask::Label { word, bits }, _) => {
                self.line(format_args!("and.b32 %t0, %w{word}, {};", (1u32 << bits) - 1));
                self.line(format_args!("{guard}match.any.sync.b32 %m, %t0, {here};"));
            }
            (Mask::Half(condition), _) => {
                self.test("%q0", condition);
                self.line(format_args!("{guard}vote.sync.ballot.b32 %m, %q0, {here};"));
                self.line(format_args!("not.b32 %t1, %m; and.b32 %t1, %t1, {here}; selp.b32 %m, %m, %t1, %q0;"));
            }
            (Mask::Alone, _) => self.line("mov.b32 %m, 1; shl.b32 %m, %m, %lane;"),
            (Mask::Memory { site }, _) => {
                let row = self.sites.iter().position(|known| *known == site).unwrap_or(0);
                let start = (self.tree.input.len() + row * self.tree.threads) * 4;
                self.line(format_args!("mad.wide.u32 %a, %n, 4, %in; ld.global.u32 %m, [%a+{start}];"));
            }
        }
    }
}
