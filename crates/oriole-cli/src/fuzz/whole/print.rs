//! The module of a tree: tables, functions, the kernel with its first and last lines.

use super::super::buffers::{Argument, Buffer, Element, Fill};
use super::super::program::{REDUCTIONS, Reg};
use super::super::sides::Plan;
use super::super::templates::Class;
use super::emit::Emitter;
use super::exchange;
use super::frame::{declarations, local_values, uses};
use super::function;
use super::memory::OWN_CELL;
use super::tree::{FIRST_WORDS, INPUT_WORDS, SCRATCH, TABLE_WORDS, Tree, ZERO_WORDS, pool};
use std::fmt::Write;

/// Bytes of the cells that all threads reduce into: two for each operation and width, and for the squares of sums.
const CELLS: u32 = 32 * (REDUCTIONS.len() as u32 + 1);

impl Tree {
    /// Bytes that each thread writes.
    fn record(&self) -> u32 {
        OWN_CELL + SCRATCH + (8 * self.kept.len() as u32).next_multiple_of(16)
    }

    /// Blocks of a cluster; 1 where there are no clusters.
    fn cluster_size(&self) -> u32 {
        if self.cluster { self.blocks } else { 1 }
    }

    /// How it is launched.
    pub(in crate::fuzz) fn plan(&self) -> Plan {
        let input = Buffer {
            element: Element::U32,
            count: INPUT_WORDS + FIRST_WORDS + ZERO_WORDS,
            fill: Fill::Random { seed: self.seed, special: true },
            zeros: ZERO_WORDS,
        };
        let output = CELLS + self.threads * self.blocks * self.record();
        let arguments =
            vec![Argument::In(input), Argument::Out(output as usize), Argument::Value(Element::U64, self.uniform)];
        let (grid, block) = ([self.blocks, 1, 1], [self.threads, 1, 1]);
        let cluster = [self.cluster_size(), 1, 1];
        Plan { kernel: self.name.clone(), grid, block, cluster, arguments, ..Plan::default() }
    }

    /// The module, without its first lines.
    pub(in crate::fuzz) fn module(&self) -> String {
        let called: Vec<usize> = (0..self.functions.len()).filter(|number| self.calls(*number)).collect();
        let functions: String = called.iter().map(|number| function::function(self, *number)).collect();
        let kernel = self.kernel(&functions);
        let mut text = self.variables(&functions, &kernel);
        let name = &self.name;
        for number in &called {
            let _ = writeln!(text, "{};", function::declaration(self, *number));
        }
        if uses(&functions, &format!("{name}_table")) || uses(&kernel, &format!("{name}_table")) {
            let list: Vec<String> = (0..self.table).map(|number| format!("{name}_f{number}")).collect();
            let _ = writeln!(text, ".global .align 8 .u64 {name}_table[{}] = {{{}}};", list.len(), list.join(", "));
        }
        text + &functions + &kernel
    }

    /// Variables of the module that are used.
    fn variables(&self, functions: &str, kernel: &str) -> String {
        let name = &self.name;
        let threads = self.threads;
        let words = |salt: u32| {
            let word = |at: usize| format!("{:#x}", (at as u32 ^ salt).wrapping_mul(0x9e37_79b9));
            (0..TABLE_WORDS).map(word).collect::<Vec<_>>().join(", ")
        };
        let all = [
            ("own", format!(".shared .align 16 .b8 {name}_own[{}];", threads * SCRATCH)),
            ("exchange", format!(".shared .align 8 .b8 {name}_exchange[{}];", 8 * threads)),
            ("warp", format!(".shared .align 4 .b8 {name}_warp[{}];", 4 * threads)),
            ("cells", format!(".shared .align 4 .b8 {name}_cells[{}];", 4 * exchange::CELLS)),
            ("const", format!(".const .align 4 .b32 {name}_const[{TABLE_WORDS}] = {{{}}};", words(5))),
            ("global", format!(".global .align 4 .b32 {name}_global[{TABLE_WORDS}] = {{{}}};", words(11))),
        ];
        let is_used = |what: &str| {
            let full = format!("{name}_{what}");
            uses(functions, &full) || uses(kernel, &full)
        };
        all.into_iter().filter(|(what, _)| is_used(what)).map(|(_, line)| line + "\n").collect()
    }

    fn kernel(&self, functions: &str) -> String {
        let name = &self.name;
        let number = self.functions.len();
        let mut emitter = Emitter::new(self, number, Some("0xffffffff".to_owned()));
        emitter.body(&self.body, true);
        emitter.last_values();
        let body = &emitter.out.text;
        let mut before = Emitter::new(self, number, None);
        before.kernel_values(body, functions);
        let declared = declarations(name, emitter.masks, emitter.counters, body);
        let cluster = match self.cluster_size() {
            1 => String::new(),
            size => format!(".reqnctapercluster {size}, 1, 1\n"),
        };
        format!(
            ".visible .entry {name}(.param .u64 {name}_in, .param .u64 {name}_out, .param .u64 {name}_uniform)\n{cluster}{{\n{declared}{}{body}}}\n",
            before.out.text
        )
    }
}

impl Emitter<'_> {
    /// The kernel's first lines: pointers, zeros, and a value for each register of the pools that is used.
    fn kernel_values(&mut self, body: &str, functions: &str) {
        let name = self.tree.name.clone();
        self.line(format_args!("ld.param.u64 %in, [{name}_in]; ld.param.u64 %out, [{name}_out];"));
        self.line(format_args!("ld.param.u32 %uniform, [{name}_uniform];"));
        self.line("mov.u32 %sw0, %ctaid.x; mov.u32 %sw1, %ntid.x; mov.u32 %sw2, %tid.x;");
        self.line("mad.lo.u32 %w0, %sw0, %sw1, %sw2;");
        self.line(format_args!("mad.wide.u32 %own, %w0, {}, %out; add.u64 %own, %own, {CELLS};", self.tree.record()));
        self.zeros(body);
        self.line(format_args!("mul.lo.u32 %sw0, %w0, 7; and.b32 %sw0, %sw0, {};", INPUT_WORDS - 1));
        self.line("mad.wide.u32 %sd0, %sw0, 4, %in;");
        let needed = |class: Class| {
            (0..pool(class)).filter(move |number| uses(body, &Reg { class, number: *number }.to_string()))
        };
        for word in needed(Class::Word).filter(|word| (1..pool(Class::Word) - 1).contains(word)) {
            self.line(format_args!("ld.global.b32 %w{word}, [%sd0+{}];", 4 * word));
        }
        if needed(Class::Word).any(|word| word == pool(Class::Word) - 1) {
            self.line(format_args!("mov.b32 %w{}, %uniform;", pool(Class::Word) - 1));
        }
        for double in needed(Class::Double).filter(|double| *double < pool(Class::Double) - 1) {
            let at = 16 + 8 * double;
            self.line(format_args!("ld.global.b32 %sw1, [%sd0+{at}]; ld.global.b32 %sw2, [%sd0+{}];", at + 4));
            self.line(format_args!("mov.b64 %d{double}, {{%sw1, %sw2}};"));
        }
        if needed(Class::Double).any(|double| double == pool(Class::Double) - 1) {
            self.line(format_args!("ld.param.b64 %d{}, [{name}_uniform];", pool(Class::Double) - 1));
        }
        for half in needed(Class::Half) {
            self.line(format_args!("ld.global.b16 %h{half}, [%sd0+{}];", 40 + 2 * half));
        }
        for predicate in needed(Class::Predicate) {
            self.line(format_args!("ld.global.b32 %sw1, [%sd0+{}];", 48 + 4 * predicate));
            self.line(format_args!("setp.lt.s32 %p{predicate}, %sw1, {INPUT_WORDS};"));
        }
        local_values(&mut self.out, body, &name);
        self.shared_values(&(body.to_owned() + functions));
    }

    /// Zeros of all widths, from memory, at a place that depends on the thread: else ptxas keeps what they
    /// are added to in uniform registers.
    fn zeros(&mut self, body: &str) {
        if uses(body, "%zero") {
            let at = 4 * (INPUT_WORDS + FIRST_WORDS);
            self.line("and.b32 %sw0, %sw2, 1; mad.wide.u32 %sd0, %sw0, 8, %in;");
            for bits in [16, 32, 64] {
                self.line(format_args!("ld.global.b{bits} %zero{bits}, [%sd0+{at}];"));
            }
        }
    }

    fn shared_values(&mut self, module: &str) {
        let name = self.tree.name.clone();
        if uses(module, &format!("{name}_own")) {
            self.line(format_args!("mov.u32 %sw1, %tid.x; mov.u64 %sd1, {name}_own; mov.b32 %sw2, 0x01020304;"));
            self.line(format_args!("mad.wide.u32 %sd1, %sw1, {SCRATCH}, %sd1;"));
            for at in (0..SCRATCH).step_by(16) {
                self.line(format_args!("st.shared.v4.b32 [%sd1+{at}], {{%sw1, %sw2, %sw1, %sw2}};"));
            }
        }
        if uses(module, &format!("{name}_cells")) {
            for cell in 0..exchange::CELLS {
                self.line(format_args!("st.shared.u32 [{name}_cells+{}], {cell};", 4 * cell));
            }
            self.line("bar.sync 0;");
        }
    }

    /// Stores what is kept.
    fn last_values(&mut self) {
        self.line("DONE:");
        let mut offset = OWN_CELL + SCRATCH;
        for reg in self.tree.kept.clone() {
            match reg.class {
                Class::Predicate => {
                    self.line(format_args!("selp.u32 %sw0, 1, 0, {reg}; st.global.u32 [%own+{offset}], %sw0;"));
                }
                class => self.line(format_args!("st.global.{} [%own+{offset}], {reg};", class.ty())),
            }
            offset += 8;
        }
        self.line("ret;");
    }
}
