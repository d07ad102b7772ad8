//! Functions: what stands around a body, calls and returns.

use super::super::program::{Condition, Operand, Reg};
use super::super::templates::Class;
use super::emit::Emitter;
use super::tree::{Callee, DEPTH, Signature, Tree, pool};

/// What a function is passed besides its own parameters: name, type.
fn hidden_parameters(signature: &Signature) -> Vec<(&'static str, Class)> {
    let all = [
        (signature.memory, "%in", Class::Double),
        (signature.memory, "%own", Class::Double),
        (signature.warp, "%together", Class::Word),
        (signature.recursive, "%depth", Class::Word),
    ];
    all.into_iter().filter_map(|(there, name, class)| there.then_some((name, class))).collect()
}

/// The type that a value of the class is passed as.
fn passed(class: Class, in_registers: bool) -> &'static str {
    if class == Class::Predicate && !in_registers { "b32" } else { class.ty() }
}

/// The registers of a list of classes: of each class one after the other.
pub(super) fn registers_of(classes: &[Class]) -> Vec<Reg> {
    let number = |at: usize| classes[..at].iter().filter(|class| **class == classes[at]).count();
    (0..classes.len()).map(|at| Reg { class: classes[at], number: number(at) }).collect()
}

/// Results and parameters, as they stand in a definition (`names` false: in a prototype).
fn header(signature: &Signature, between: &str, names: bool) -> String {
    let name = |text: String| if names { text } else { "_".to_owned() };
    let space = if signature.in_registers { ".reg" } else { ".param" };
    let scalar =
        |class: Class, text: String| format!("{space} .{} {}", passed(class, signature.in_registers), name(text));
    let results: Vec<String> = match signature.results.len() {
        count if count > 1 && !signature.in_registers => {
            vec![format!(".param .align 8 .b8 {}[{}]", name("result".to_owned()), 8 * count)]
        }
        _ => signature.results.iter().enumerate().map(|(at, class)| scalar(*class, format!("result{at}"))).collect(),
    };
    let hidden = hidden_parameters(signature);
    let classes = signature.parameters.iter().copied().chain(hidden.into_iter().map(|(_, class)| class));
    let mut parameters: Vec<String> = classes.enumerate().map(|(at, class)| scalar(class, format!("a{at}"))).collect();
    if signature.array > 0 {
        parameters.push(format!(".param .align 8 .b8 {}[{}]", name("words".to_owned()), 4 * signature.array));
    }
    let results = if results.is_empty() { String::new() } else { format!("({}) ", results.join(", ")) };
    format!("{results}{between} ({})", parameters.join(", "))
}

/// The function's declaration, without the semicolon.
pub(super) fn declaration(tree: &Tree, number: usize) -> String {
    format!(".func {}", header(&tree.functions[number].signature, &format!("{}_f{number}", tree.name), true))
}

/// A function of the tree.
pub(super) fn function(tree: &Tree, number: usize) -> String {
    let signature = &tree.functions[number].signature;
    let mask = signature.warp.then(|| "%together".to_owned());
    let mut emitter = Emitter::new(tree, number, mask);
    emitter.body(&tree.functions[number].body, true);
    emitter.function_return("");
    let scope = emitter.scope();
    let mut before = Emitter::new(tree, number, None);
    before.take_parameters(signature);
    before.first_values(&emitter.out.text, &scope);
    let (masks, counters) = (emitter.masks, emitter.counters);
    let declared = super::frame::declarations(&scope, masks, counters, &emitter.out.text);
    format!("{}\n{{\n{declared}{}{}}}\n", declaration(tree, number), before.out.text, emitter.out.text)
}

impl Emitter<'_> {
    /// A register gets what was passed in memory, a predicate as a word.
    fn load_param(&mut self, reg: Reg, place: &str) {
        match reg.class {
            Class::Predicate => self.line(format_args!("ld.param.b32 %sw0, [{place}]; setp.ne.u32 {reg}, %sw0, 0;")),
            class => self.line(format_args!("ld.param.{} {reg}, [{place}];", class.ty())),
        }
    }

    /// A value is passed in memory, under a guard.
    fn store_param(&mut self, guard: &str, class: Class, value: &str, place: &str) {
        match class {
            Class::Predicate => {
                self.line(format_args!("selp.b32 %sw0, 1, 0, {value}; {guard}st.param.b32 [{place}], %sw0;"));
            }
            class => self.line(format_args!("{guard}st.param.{} [{place}], {value};", class.ty())),
        }
    }

    /// Moves the parameters to registers.
    fn take_parameters(&mut self, signature: &Signature) {
        let own = registers_of(&signature.parameters);
        for (at, reg) in own.iter().enumerate() {
            match (signature.in_registers, reg.class) {
                (true, Class::Predicate) => self.line(format_args!("not.pred {reg}, a{at}; not.pred {reg}, {reg};")),
                (true, class) => self.line(format_args!("mov.{} {reg}, a{at};", class.ty())),
                (false, _) => self.load_param(*reg, &format!("a{at}")),
            }
        }
        for (at, (name, class)) in hidden_parameters(signature).into_iter().enumerate() {
            let at = own.len() + at;
            match signature.in_registers {
                true => self.line(format_args!("mov.{} {name}, a{at};", class.ty())),
                false => self.line(format_args!("ld.param.{} {name}, [a{at}];", class.ty())),
            }
        }
        let words = own.iter().filter(|reg| reg.class == Class::Word).count();
        for at in 0..signature.array {
            let to = (words + at).min(pool(Class::Word) - 1);
            self.line(format_args!("ld.param.b32 %w{to}, [words+{}];", 4 * at));
        }
    }

    /// Gives values to the registers that the body uses and no parameter has.
    fn first_values(&mut self, body: &str, scope: &str) {
        let signature = self.tree.functions[self.number].signature.clone();
        let used = |name: &str| super::frame::uses(body, name);
        if used("%zero") {
            // A zero that depends on what the caller passes, if that is a pointer.
            let zero = if signature.memory { "shr.u64 %zero64, %in, 63;" } else { "mov.u64 %zero64, 0;" };
            self.line(format_args!("{zero} cvt.u32.u64 %zero32, %zero64; cvt.u16.u64 %zero16, %zero64;"));
        }
        let mut classes = signature.parameters.clone();
        classes.extend(vec![Class::Word; signature.array]);
        let first_word = classes.contains(&Class::Word).then_some("%w0");
        let given = |class: Class| classes.iter().filter(|other| **other == class).count();
        // Doubles, halves and predicates are made of words.
        let halves = (0..pool(Class::Half)).filter(|number| used(&format!("%h{number}")));
        let halves: Vec<usize> = halves.filter(|number| *number >= given(Class::Half)).collect();
        let predicates = (0..pool(Class::Predicate)).filter(|number| used(&format!("%p{number}")));
        let predicates: Vec<usize> = predicates.filter(|number| *number >= given(Class::Predicate)).collect();
        let doubles = (0..pool(Class::Double)).filter(|number| used(&format!("%d{number}")));
        let doubles: Vec<usize> = doubles.filter(|number| *number >= given(Class::Double)).collect();
        let source = |number: usize| {
            let of_next = number > 0 && (predicates.contains(&(number - 1)) || doubles.contains(&(number - 1)));
            used(&format!("%w{number}")) || of_next || halves.contains(&number) || doubles.contains(&number)
        };
        for number in (given(Class::Word)..pool(Class::Word)).filter(|number| source(*number)) {
            let constant = 0x9e37_79b9_u32.wrapping_mul(number as u32 + 1);
            match first_word {
                Some(first) => self.line(format_args!("xor.b32 %w{number}, {first}, {constant:#x};")),
                None => self.line(format_args!("mov.b32 %w{number}, {constant:#x};")),
            }
        }
        for number in doubles {
            self.line(format_args!("mov.b64 %d{number}, {{%w{number}, %w{}}};", number + 1));
        }
        for number in halves {
            self.line(format_args!("cvt.u16.u32 %h{number}, %w{number};"));
        }
        for number in predicates {
            self.line(format_args!("setp.lt.s32 %p{number}, %w{}, {number};", number + 1));
        }
        super::frame::local_values(&mut self.out, body, scope);
    }

    /// Gives the results back, under a guard.
    fn function_return(&mut self, guard: &str) {
        let signature = self.tree.functions[self.number].signature.clone();
        let several = signature.results.len() > 1;
        for (at, reg) in registers_of(&signature.results).into_iter().enumerate() {
            let place = if several { format!("result+{}", 8 * at) } else { "result0".to_owned() };
            match (signature.in_registers, reg.class) {
                (true, Class::Predicate) => self.line(format_args!("{guard}xor.pred result{at}, {reg}, %false;")),
                (true, class) => self.line(format_args!("{guard}mov.{} result{at}, {reg};", class.ty())),
                (false, class) => self.store_param(guard, class, &reg.to_string(), &place),
            }
        }
        self.line(format_args!("{guard}ret;"));
    }

    /// An early return, or exit. Says whether the mask is right behind it.
    pub(super) fn leave_function(&mut self, guard: Option<Condition>, exit: bool, direct: bool) -> bool {
        let guard = guard.map(|condition| self.read_condition(condition));
        let at_top = direct && self.here.loops.is_empty();
        let known = match (self.here.mask.clone(), guard) {
            (Some(mask), Some(guard)) if at_top => {
                let stay = Condition { negated: !guard.negated, ..guard };
                self.here.mask = Some(self.ballot(stay, &mask));
                true
            }
            _ => false,
        };
        let shown = self.guard(guard);
        match (self.is_kernel(), exit) {
            (false, _) => self.function_return(&shown),
            (true, true) => self.line(format_args!("{shown}exit;")),
            (true, false) => self.line(format_args!("{shown}bra DONE;")),
        }
        self.here.dead |= guard.is_none();
        known
    }

    pub(super) fn call(&mut self, callee: Callee, guard: Option<Condition>, arguments: &[Reg], results: &[Reg]) {
        let number = match callee {
            Callee::Direct(number) => number,
            Callee::Table(_) => 0,
        };
        let tree = self.tree;
        let Some(function) = tree.functions.get(number) else { return };
        let signature = &function.signature;
        let recursive_here = self.is_kernel() || tree.functions[self.number].signature.recursive;
        let goes_up = match callee {
            Callee::Direct(number) => number >= self.number,
            // Those of the table call none of it.
            Callee::Table(_) if tree.table < 2 || self.number < tree.table => return,
            Callee::Table(_) => false,
        };
        let mask = self.here.mask.clone();
        let impossible = goes_up && !(recursive_here && signature.recursive)
            || signature.memory && !self.has_memory()
            || signature.warp && (mask.is_none() || goes_up);
        if impossible || self.here.dead {
            return;
        }
        let guard = guard.filter(|_| signature.in_registers && !signature.warp && !goes_up);
        let guard = guard.map(|condition| self.read_condition(condition));
        let skip = goes_up.then(|| self.label());
        if let Some(skip) = &skip {
            self.line(format_args!("setp.eq.u32 %sp, %depth, 0; @%sp bra {skip};"));
        }
        let depth = match (goes_up, self.is_kernel(), recursive_here) {
            (true, ..) => {
                self.line("sub.u32 %deeper, %depth, 1;");
                "%deeper".to_owned()
            }
            (false, false, true) => "%depth".to_owned(),
            _ => DEPTH.to_string(),
        };
        let arguments: Vec<Reg> = arguments.iter().map(|reg| self.read(*reg)).collect();
        self.line("{");
        self.out.indent += 1;
        let target = self.target(callee, signature);
        let hidden = hidden_parameters(signature).into_iter().map(|(name, _)| match name {
            "%together" => mask.clone().unwrap_or_default(),
            "%depth" => depth.clone(),
            _ => name.to_owned(),
        });
        let hidden: Vec<String> = hidden.collect();
        match signature.in_registers {
            true => self.call_with_registers(&target, signature, &arguments, &hidden, results, guard),
            false => self.call_with_parameters(&target, signature, &arguments, &hidden, results),
        }
        self.out.indent -= 1;
        self.line("}");
        if let Some(skip) = &skip {
            self.line(format_args!("{skip}:"));
        }
        results.iter().for_each(|reg| self.written(*reg, guard.is_some() || goes_up));
        self.here.carry = false;
    }

    /// What stands for the function in a call, before and behind the arguments.
    fn target(&mut self, callee: Callee, signature: &Signature) -> (String, String) {
        let name = self.tree.name.clone();
        match callee {
            Callee::Direct(number) => (format!("{name}_f{number}"), String::new()),
            Callee::Table(selector) => {
                let selector = self.read(selector);
                let count = self.tree.table;
                self.line(format_args!(".reg .b64 %callee; mov.u64 %sd1, {name}_table;"));
                self.line(format_args!("rem.u32 %sw0, {selector}, {count}; mad.wide.u32 %sd0, %sw0, 8, %sd1;"));
                self.line("ld.global.u64 %callee, [%sd0];");
                let prototype = self.label();
                self.line(format_args!("{prototype}: .callprototype {};", header(signature, "_", false)));
                ("%callee".to_owned(), format!(", {prototype}"))
            }
        }
    }

    fn call_with_registers(
        &mut self,
        (target, prototype): &(String, String),
        signature: &Signature,
        arguments: &[Reg],
        hidden: &[String],
        results: &[Reg],
        guard: Option<Condition>,
    ) {
        let own = arguments.iter().take(signature.parameters.len()).map(|reg| Operand::Reg(*reg).to_string());
        let mut list: Vec<String> = own.chain(hidden.iter().cloned()).collect();
        self.array_argument(signature, arguments, &mut list);
        let results: Vec<String> = results.iter().map(Reg::to_string).collect();
        let results = if results.is_empty() { String::new() } else { format!("({}), ", results.join(", ")) };
        let guard = self.guard(guard);
        self.line(format_args!("{guard}call {results}{target}, ({}){prototype};", list.join(", ")));
    }

    fn array_argument(&mut self, signature: &Signature, arguments: &[Reg], list: &mut Vec<String>) {
        if signature.array == 0 {
            return;
        }
        self.line(format_args!(".param .align 8 .b8 array[{}];", 4 * signature.array));
        for (at, reg) in arguments.iter().skip(signature.parameters.len()).enumerate() {
            self.line(format_args!("st.param.b32 [array+{}], {reg};", 4 * at));
        }
        list.push("array".to_owned());
    }

    fn call_with_parameters(
        &mut self,
        (target, prototype): &(String, String),
        signature: &Signature,
        arguments: &[Reg],
        hidden: &[String],
        results: &[Reg],
    ) {
        let mut list = Vec::new();
        let hidden_classes = hidden_parameters(signature).into_iter().map(|(_, class)| class);
        let values = arguments.iter().take(signature.parameters.len()).map(|reg| (reg.class, reg.to_string()));
        let values: Vec<_> = values.chain(hidden_classes.zip(hidden.iter().cloned())).collect();
        for (at, (class, value)) in values.into_iter().enumerate() {
            let ty = passed(class, false);
            self.line(format_args!(".param .{ty} p{at};"));
            self.store_param("", class, &value, &format!("p{at}"));
            list.push(format!("p{at}"));
        }
        self.array_argument(signature, arguments, &mut list);
        let several = results.len() > 1;
        let given = match results {
            [] => String::new(),
            [one] => {
                self.line(format_args!(".param .{} r;", passed(one.class, false)));
                "(r), ".to_owned()
            }
            _ => {
                self.line(format_args!(".param .align 8 .b8 r[{}];", 8 * results.len()));
                "(r), ".to_owned()
            }
        };
        self.line(format_args!("call {given}{target}, ({}){prototype};", list.join(", ")));
        for (at, reg) in results.iter().enumerate() {
            let place = if several { format!("r+{}", 8 * at) } else { "r".to_owned() };
            self.load_param(*reg, &place);
        }
    }
}
