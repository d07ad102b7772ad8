//! Rules on integers of four bits, tried on everything: chains of two operations with constants and flags, and
//! comparisons of them, for all values of their arguments: a quarter of them, which ones by `ORIOLE_SEED`, or all with
//! `ORIOLE_THOROUGH=1`. What the clean-up makes of a function may say more where the
//! function was undefined, and the same elsewhere.

use std::fmt::Write;

use oriole_ireval::{Memory, Settings, Unknown, Value, run as evaluate};
use oriole_nvptx::ir::{Module, SymbolId, verify};
use oriole_nvptx::opt::{Options, run};
use oriole_nvptx::text::{parse, print};
use oriole_prerequisites::{is_thorough, sample};

/// Operations with the flags that they may have.
const OPERATIONS: [(&str, &str); 13] = [
    ("add", "nuw nsw"),
    ("sub", "nuw nsw"),
    ("mul", "nuw nsw"),
    ("shl", "nuw nsw"),
    ("lshr", "exact"),
    ("ashr", "exact"),
    ("udiv", "exact"),
    ("sdiv", "exact"),
    ("urem", ""),
    ("srem", ""),
    ("and", ""),
    ("or", ""),
    ("xor", ""),
];

const COMPARISONS: [&str; 10] = ["eq", "ne", "ult", "ule", "ugt", "uge", "slt", "sle", "sgt", "sge"];

/// Constants of four bits at which rules change: none, one, powers of two, the ends of both orders.
const CONSTANTS: [i8; 9] = [0, 1, 2, 3, 4, 7, -8, -2, -1];

/// Functions of a module: the more, the less each costs.
const TOGETHER: usize = 200;

/// Functions that are waiting to be tried.
struct Batch {
    /// Chooses what is tried; `None`: all.
    random: Option<fastrand::Rng>,
    text: String,
    functions: usize,
    /// Whether each of them reads its second argument.
    reads_y: Vec<bool>,
    tried: usize,
}

impl Batch {
    fn new() -> Batch {
        let seed = std::env::var("ORIOLE_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
        let random = (!is_thorough()).then(|| fastrand::Rng::with_seed(seed));
        Batch { random, text: String::new(), functions: 0, reads_y: Vec::new(), tried: 0 }
    }

    /// Add `i4 f(i4 %x, i4 %y)` (or one of `i1`) with this body.
    fn add(&mut self, ty: &str, body: std::fmt::Arguments<'_>) {
        if self.random.as_mut().is_some_and(|random| random.u8(..4) > 0) {
            return;
        }
        let number = self.functions;
        let body = body.to_string();
        self.reads_y.push(body.contains("%y"));
        let _ = writeln!(self.text, "define {ty} @f{number}(i4 %x, i4 %y) {{\n{body}\n}}");
        self.functions += 1;
        if self.functions == TOGETHER {
            self.try_all();
        }
    }

    fn try_all(&mut self) {
        let text = std::mem::take(&mut self.text);
        let before = parse(&text, "small.ll").unwrap_or_else(|error| panic!("{}", error.render(&text)));
        let mut after = before.clone();
        run(&mut after, &Options::default());
        verify(&after).unwrap_or_else(|error| panic!("{error}\n{}", print(&after)));
        // Nothing here reads or writes memory: one does for all runs.
        let [mut of_before, mut of_after] =
            [&before, &after].map(|module| Memory::for_module(module, 0).expect("no variables"));
        for number in 0..self.functions {
            let name = format!("f{number}");
            let symbols = [&before, &after].map(|module| module.symbol(&name).expect("the function is there"));
            let values_of_y = if self.reads_y[number] { 16 } else { 1 };
            for (x, y) in (0..16).flat_map(|x| (0..values_of_y).map(move |y| (x, y))) {
                let old = result(&before, symbols[0], &mut of_before, x, y);
                let new = result(&after, symbols[1], &mut of_after, x, y);
                let fine = old.is_none() || old == new;
                assert!(fine, "{name}({x}, {y}) is {new:?}, not {old:?}\n{}", difference(&text, &after, &name));
            }
        }
        self.tried += self.functions;
        self.functions = 0;
        self.reads_y.clear();
    }
}

/// The bits that a function gives; `None` where it is undefined.
fn result(module: &Module, symbol: SymbolId, memory: &mut Memory, x: u128, y: u128) -> Option<u128> {
    match evaluate(module, symbol, &[Value::Bits(x), Value::Bits(y)], memory, &Settings::default()) {
        Ok(Some(Value::Bits(bits))) => Some(bits),
        Ok(Some(Value::Unknown(Unknown::Poison | Unknown::Undef))) | Err(_) => None,
        other => panic!("{other:?}"),
    }
}

/// A function as it was, and what became of it.
fn difference(before: &str, after: &Module, name: &str) -> String {
    let of = |text: &str| {
        let start = text.find(&format!("@{name}(")).unwrap_or(0);
        text[start..].split("\n}").next().unwrap_or_default().to_owned()
    };
    format!("{}\nbecomes\n{}", of(before), of(&print(after)))
}

/// Without flags, and with each choice of those that the operation may have.
fn flags(of: &str) -> Vec<String> {
    let all: Vec<&str> = of.split(' ').filter(|flag| !flag.is_empty()).collect();
    (0..1_usize << all.len())
        .map(|choice| {
            all.iter().enumerate().filter(|(k, _)| choice >> k & 1 == 1).map(|(_, f)| format!("{f} ")).collect()
        })
        .collect()
}

#[test]
fn chains_with_constants() {
    let mut batch = Batch::new();
    for (first, first_flags) in OPERATIONS {
        for (second, second_flags) in OPERATIONS {
            for (c1, c2) in CONSTANTS.iter().flat_map(|c1| CONSTANTS.iter().map(move |c2| (c1, c2))) {
                // Flags of both or of none, but where sums meet: there each choice.
                let sums = ["add", "sub"].contains(&first) && ["add", "sub"].contains(&second);
                let (of_first, of_second) = (flags(first_flags), flags(second_flags));
                for (k, f1) in of_first.iter().enumerate() {
                    for (l, f2) in of_second.iter().enumerate() {
                        let extreme = (k == 0 || k + 1 == of_first.len()) && (l == 0 || l + 1 == of_second.len());
                        if sums || extreme && (k == 0) == (l == 0) {
                            batch.add(
                                "i4",
                                format_args!("%a = {first} {f1}i4 %x, {c1}\n%b = {second} {f2}i4 %a, {c2}\nret i4 %b"),
                            );
                        }
                    }
                }
            }
        }
    }
    batch.try_all();
    assert!(batch.tried as u64 > sample(10_000), "only {} functions", batch.tried);
}

#[test]
fn chains_from_the_left() {
    let mut batch = Batch::new();
    for (first, first_flags) in OPERATIONS {
        for (second, _) in OPERATIONS {
            for (c1, c2) in [0, 1, -8, -1, 5].iter().flat_map(|c1| [0, 1, -8, -1, 6].iter().map(move |c2| (c1, c2))) {
                for f1 in flags(first_flags) {
                    batch.add("i4", format_args!("%a = {first} {f1}i4 {c1}, %x\n%b = {second} i4 {c2}, %a\nret i4 %b"));
                    batch.add("i4", format_args!("%a = {first} {f1}i4 {c1}, %x\n%b = {second} i4 %a, {c2}\nret i4 %b"));
                }
            }
        }
    }
    batch.try_all();
}

#[test]
fn chains_of_two_arguments() {
    const PAIRS: [(&str, &str); 6] =
        [("%a", "%x"), ("%x", "%a"), ("%a", "%y"), ("%y", "%a"), ("%a", "%a"), ("%a", "%n")];
    let mut batch = Batch::new();
    for (first, first_flags) in OPERATIONS {
        for (second, second_flags) in OPERATIONS {
            for (f1, f2) in flags(first_flags).iter().zip(flags(second_flags).iter().cycle()) {
                for (p, q) in PAIRS {
                    let body = format!(
                        "%n = sub i4 0, %y\n%a = {first} {f1}i4 %x, %y\n%b = {second} {f2}i4 {p}, {q}\nret i4 %b"
                    );
                    batch.add("i4", format_args!("{body}"));
                }
            }
        }
    }
    batch.try_all();
}

#[test]
fn comparisons_of_an_operation() {
    let mut batch = Batch::new();
    for (operation, operation_flags) in OPERATIONS {
        for predicate in COMPARISONS {
            for (c1, c2) in CONSTANTS.iter().flat_map(|c1| CONSTANTS.iter().map(move |c2| (c1, c2))) {
                for f in flags(operation_flags) {
                    batch.add(
                        "i1",
                        format_args!("%a = {operation} {f}i4 %x, {c1}\n%b = icmp {predicate} i4 %a, {c2}\nret i1 %b"),
                    );
                }
            }
            for (p, q) in [("%a", "%x"), ("%x", "%a"), ("%a", "%y"), ("%y", "%a")] {
                for f in flags(operation_flags) {
                    batch.add(
                        "i1",
                        format_args!("%a = {operation} {f}i4 %x, %y\n%b = icmp {predicate} i4 {p}, {q}\nret i1 %b"),
                    );
                }
            }
        }
    }
    batch.try_all();
}

#[test]
fn choices_by_comparisons() {
    let mut batch = Batch::new();
    for predicate in COMPARISONS {
        for bound in CONSTANTS {
            for (yes, no) in [
                ("%x", "%y"),
                ("%y", "%x"),
                ("%n", "%x"),
                ("%x", "%n"),
                ("0", "%x"),
                ("-1", "0"),
                ("1", "0"),
                ("%s", "%x"),
            ] {
                let head = format!("%n = sub i4 0, %x\n%s = add i4 %x, 1\n%c = icmp {predicate} i4 %x, {bound}");
                batch.add("i4", format_args!("{head}\n%b = select i1 %c, i4 {yes}, i4 {no}\nret i4 %b"));
            }
        }
        for (yes, no) in [("%x", "%y"), ("%y", "%x"), ("%d", "0"), ("0", "%d"), ("%d", "%e"), ("%e", "%d")] {
            let head = format!("%d = sub i4 %x, %y\n%e = sub i4 %y, %x\n%c = icmp {predicate} i4 %x, %y");
            batch.add("i4", format_args!("{head}\n%b = select i1 %c, i4 {yes}, i4 {no}\nret i4 %b"));
        }
    }
    batch.try_all();
}

#[test]
fn casts_between_operations() {
    let mut batch = Batch::new();
    for (operation, operation_flags) in OPERATIONS {
        for extension in ["zext", "sext"] {
            for c in CONSTANTS {
                for f in flags(operation_flags) {
                    // Computed wide, taken narrow; and the other way round.
                    let wide = format!(
                        "%w = {extension} i4 %x to i8\n%a = {operation} {f}i8 %w, {c}\n%b = trunc i8 %a to i4\nret i4 %b"
                    );
                    batch.add("i4", format_args!("{wide}"));
                    let narrow = format!(
                        "%a = {operation} {f}i4 %x, {c}\n%w = {extension} i4 %a to i8\n%s = ashr i8 %w, 2\n%b = trunc i8 %s to i4\nret i4 %b"
                    );
                    batch.add("i4", format_args!("{narrow}"));
                }
            }
        }
    }
    batch.try_all();
}
