//! Random programs, evaluated before and after the clean-up: the memory that they leave is the same.

use std::fmt::Write;

use fastrand::Rng;
use oriole_ireval::{Memory, Settings, Value, run as evaluate};
use oriole_nvptx::ir::{AddressSpace, Module, verify};
use oriole_nvptx::opt::{Options, PASSES, run};
use oriole_nvptx::text::{parse, print};
use oriole_prerequisites::sample;

const TYPES: [&str; 4] = ["i32", "i64", "i8", "float"];
const BUFFER: usize = 256;
/// What random programs call.
const DEVICE: &str = "
define internal i32 @mix(i32 %a, i32 %b, ptr byval({ i32, i32 }) align 4 %pair) {
  %slot = alloca i32
  store i32 %b, ptr %slot
  %small = icmp ult i32 %a, 100
  br i1 %small, label %low, label %high
low:
  %first = load i32, ptr %pair
  %sum = add i32 %first, %a
  store i32 %sum, ptr %pair
  br label %out
high:
  %taken = call i32 @pick(i32 %a, ptr %slot)
  ret i32 %taken
out:
  %again = load i32, ptr %pair
  ret i32 %again
}
define internal i32 @pick(i32 %a, ptr %p) noinline {
  %old = load i32, ptr %p
  store i32 %a, ptr %p
  %half = udiv i32 %old, 10
  ret i32 %half
}
";

/// Writes a function in the way of an unoptimised front end: variables in the frame, structured control flow.
struct Generator {
    rng: Rng,
    text: String,
    next: u32,
    depth: u32,
}

impl Generator {
    fn fresh(&mut self, prefix: &str) -> String {
        self.next += 1;
        format!("%{prefix}{}", self.next)
    }

    fn emit(&mut self, line: std::fmt::Arguments<'_>) {
        let _ = writeln!(self.text, "  {line}");
    }

    fn pick<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.rng.usize(..list.len())]
    }

    /// An operand of type `ty`: a constant, a variable, an element of the array, or an operation.
    fn value(&mut self, ty: &str, depth: u32) -> String {
        match self.rng.u32(..10) {
            0 | 1 => return self.constant(ty),
            2..5 => {
                let (value, variable) = (self.fresh("l"), format!("%v.{ty}.{}", self.rng.u32(..2)));
                self.emit(format_args!("{value} = load {ty}, ptr {variable}"));
                return value;
            }
            5 if ty == "i32" => {
                let address = self.element();
                let value = self.fresh("e");
                self.emit(format_args!("{value} = load i32, ptr {address}"));
                return value;
            }
            _ if depth == 0 => return self.constant(ty),
            _ => {}
        }
        if ty == "float" { self.float(depth - 1) } else { self.integer(ty, depth - 1) }
    }

    fn constant(&mut self, ty: &str) -> String {
        if ty == "float" {
            return self.pick(&["0.0", "1.0", "-0.0", "2.0", "-1.5", "0.25", "1024.0"]).to_owned();
        }
        let bits: u32 = ty[1..].parse().unwrap_or(32);
        let value = match self.rng.u32(..6) {
            0 => 0,
            1 => 1,
            2 => -1,
            3 => 1i64 << self.rng.u32(..bits),
            4 => self.rng.i64(-20..20),
            _ => self.rng.i64(..),
        };
        (value << (64 - bits) >> (64 - bits)).to_string()
    }

    fn float(&mut self, depth: u32) -> String {
        let (a, b) = (self.value("float", depth), self.value("float", depth));
        let value = self.fresh("f");
        match self.rng.u32(..8) {
            0 => self.emit(format_args!("{value} = fneg float {a}")),
            1 => {
                let from = self.value("i32", depth);
                self.emit(format_args!("{value} = sitofp i32 {from} to float"));
            }
            2 => self.emit(format_args!("{value} = call float @llvm.fabs.f32(float {a})")),
            3 => {
                let flag = self.flag(depth);
                self.emit(format_args!("{value} = select i1 {flag}, float {a}, float {b}"));
            }
            _ => {
                let op = self.pick(&["fadd", "fsub", "fmul", "fdiv"]);
                self.emit(format_args!("{value} = {op} float {a}, {b}"));
            }
        }
        value
    }

    fn flag(&mut self, depth: u32) -> String {
        let ty = self.pick(&["i32", "i64", "i8", "i32", "float"]);
        let (a, b) = (self.value(ty, depth), self.value(ty, depth));
        let value = self.fresh("c");
        if ty == "float" {
            let predicate = self.pick(&["oeq", "olt", "ogt", "une", "uge", "ord"]);
            self.emit(format_args!("{value} = fcmp {predicate} float {a}, {b}"));
        } else {
            let predicate = self.pick(&["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"]);
            self.emit(format_args!("{value} = icmp {predicate} {ty} {a}, {b}"));
        }
        value
    }

    fn integer(&mut self, ty: &str, depth: u32) -> String {
        let bits: u32 = ty[1..].parse().unwrap_or(32);
        let a = self.value(ty, depth);
        let value = self.fresh("x");
        match self.rng.u32(..15) {
            14 if ty == "i32" => {
                let b = self.value(ty, depth);
                self.emit(format_args!(
                    "{value} = call i32 @mix(i32 {a}, i32 {b}, ptr byval({{ i32, i32 }}) align 4 %pair)"
                ));
            }
            0 | 1 => {
                let other = self.pick(&["i32", "i64", "i8"]);
                let other_bits: u32 = other[1..].parse().unwrap_or(32);
                let from = self.value(other, depth);
                let op = match other_bits.cmp(&bits) {
                    std::cmp::Ordering::Less => self.pick(&["zext", "sext"]),
                    std::cmp::Ordering::Equal => "bitcast",
                    std::cmp::Ordering::Greater => "trunc",
                };
                self.emit(format_args!("{value} = {op} {other} {from} to {ty}"));
            }
            2 => {
                let flag = self.flag(depth);
                let b = self.value(ty, depth);
                self.emit(format_args!("{value} = select i1 {flag}, {ty} {a}, {ty} {b}"));
            }
            3 => {
                let op = self.pick(&["shl", "lshr", "ashr"]);
                let by = self.rng.u32(..bits);
                self.emit(format_args!("{value} = {op} {ty} {a}, {by}"));
            }
            4 | 5 => {
                let op = self.pick(&["udiv", "sdiv", "urem", "srem"]);
                let by = match self.constant(ty).as_str() {
                    "0" | "-1" => "7".to_owned(),
                    other => other.to_owned(),
                };
                self.emit(format_args!("{value} = {op} {ty} {a}, {by}"));
            }
            6 => {
                let op = self.pick(&["smin", "smax", "umin", "umax", "fshl"]);
                let b = self.value(ty, depth);
                let third = if op == "fshl" { format!(", {ty} {}", self.rng.u32(1..bits)) } else { String::new() };
                self.emit(format_args!("{value} = call {ty} @llvm.{op}.{ty}({ty} {a}, {ty} {b}{third})"));
            }
            7 => {
                let flag = self.flag(depth);
                let op = self.pick(&["zext", "sext"]);
                self.emit(format_args!("{value} = {op} i1 {flag} to {ty}"));
            }
            _ => {
                let op = self.pick(&["add", "add nsw", "sub", "mul", "and", "or", "xor", "add", "mul nsw"]);
                let b = self.value(ty, depth);
                let (a, b) = if op.ends_with("nsw") { (self.small(ty, &a), self.small(ty, &b)) } else { (a, b) };
                self.emit(format_args!("{value} = {op} {ty} {a}, {b}"));
            }
        }
        value
    }

    /// A few low bits, so that sums and products do not overflow: poison in a part of a slot may spoil all of it.
    fn small(&mut self, ty: &str, from: &str) -> String {
        let value = self.fresh("k");
        self.emit(format_args!("{value} = and {ty} {from}, {}", if ty == "i8" { 7 } else { 4095 }));
        value
    }

    /// The address of an element of the array or of the buffer's second half.
    fn element(&mut self) -> String {
        let (array, count) = if self.rng.bool() { ("%array", 8) } else { ("%half", 16) };
        let address = self.fresh("p");
        if self.rng.u32(..3) > 0 {
            let index = self.rng.u32(..count);
            self.emit(format_args!(
                "{address} = getelementptr inbounds [{count} x i32], ptr {array}, i64 0, i64 {index}"
            ));
        } else {
            let (raw, masked, wide) = (self.value("i32", 1), self.fresh("m"), self.fresh("w"));
            self.emit(format_args!("{masked} = and i32 {raw}, {}", count - 1));
            self.emit(format_args!("{wide} = sext i32 {masked} to i64"));
            self.emit(format_args!("{address} = getelementptr inbounds i32, ptr {array}, i64 {wide}"));
        }
        address
    }

    fn statement(&mut self) {
        match self.rng.u32(..10) {
            0 | 1 if self.depth < 3 => self.condition(),
            2 if self.depth < 2 => self.repeat(),
            3 | 4 => {
                let value = self.value("i32", 2);
                let address = self.element();
                self.emit(format_args!("store i32 {value}, ptr {address}"));
            }
            5 if self.depth == 0 => {
                let (to, from) = if self.rng.bool() { ("%half", "%array") } else { ("%array", "%half") };
                let bytes = self.rng.u32(1..8) * 4;
                self.emit(format_args!(
                    "call void @llvm.memcpy.p0.p0.i64(ptr align 4 {to}, ptr align 4 {from}, i64 {bytes}, i1 false)"
                ));
            }
            6 => {
                let (pair, value) = (self.fresh("s"), self.value("i32", 2));
                let index = self.rng.u32(..2);
                self.emit(format_args!(
                    "{pair} = getelementptr inbounds {{ i32, i32 }}, ptr %pair, i32 0, i32 {index}"
                ));
                self.emit(format_args!("store i32 {value}, ptr {pair}"));
                let (both, low, narrow) = (self.fresh("b"), self.fresh("h"), self.fresh("n"));
                self.emit(format_args!("{both} = load i64, ptr %pair"));
                let by = self.rng.u32(..40);
                self.emit(format_args!("{low} = lshr i64 {both}, {by}"));
                self.emit(format_args!("{narrow} = trunc i64 {low} to i32"));
                self.emit(format_args!("store i32 {narrow}, ptr %v.i32.0"));
            }
            _ => {
                let ty = TYPES[self.rng.usize(..4)];
                let value = self.value(ty, 3);
                let target = self.rng.u32(..2);
                self.emit(format_args!("store {ty} {value}, ptr %v.{ty}.{target}"));
            }
        }
    }

    fn block(&mut self, statements: u32) {
        self.depth += 1;
        for _ in 0..statements {
            self.statement();
        }
        self.depth -= 1;
    }

    fn condition(&mut self) {
        let flag = self.flag(2);
        let [yes, no, join] = ["yes", "no", "join"].map(|name| self.fresh(name));
        let simple = self.rng.bool();
        let other = if simple { join.clone() } else { no.clone() };
        self.emit(format_args!("br i1 {flag}, label {yes}, label {other}"));
        let _ = writeln!(self.text, "{}:", &yes[1..]);
        let count = self.rng.u32(1..3);
        self.block(count);
        self.emit(format_args!("br label {join}"));
        if !simple {
            let _ = writeln!(self.text, "{}:", &no[1..]);
            self.block(1);
            self.emit(format_args!("br label {join}"));
        }
        let _ = writeln!(self.text, "{}:", &join[1..]);
    }

    /// A loop that counts up or down to a constant or to a value, by one or more, tested before its body or after it.
    fn repeat(&mut self) {
        let [head, body, exit] = ["head", "body", "exit"].map(|name| self.fresh(name));
        let [counter, now, flag, next] = ["i", "i", "c", "i"].map(|name| self.fresh(name));
        let depth = self.depth;
        let step = self.rng.u32(1..4);
        let trips = match self.rng.u32(..3) {
            0 => self.rng.u32(0..6).to_string(),
            1 => self.rng.u32(0..40).to_string(),
            _ => {
                let (raw, few) = (self.value("i32", 1), self.fresh("n"));
                self.emit(format_args!("{few} = and i32 {raw}, 31"));
                few
            }
        };
        let span = self.fresh("span");
        self.emit(format_args!("{span} = mul i32 {trips}, {step}"));
        let down = self.rng.u32(..4) == 0;
        let (first, bound, by) = if down { (&*span, "0", -i64::from(step)) } else { ("0", &*span, step.into()) };
        let after = self.rng.bool();
        let predicate = match (down, after) {
            (true, _) => self.pick(&["sgt", "sge"]),
            // Tested behind a body that has run, the bound may be passed.
            (false, true) => self.pick(&["slt", "ult", "sle", "ule"]),
            (false, false) => self.pick(&["slt", "ult", "ne", "sle"]),
        };
        self.emit(format_args!("store i32 {first}, ptr %count.{depth}"));
        self.emit(format_args!("br label {}", if after { &body } else { &head }));
        let test = |this: &mut Self, value: &str| {
            this.emit(format_args!("{flag} = icmp {predicate} i32 {value}, {bound}"));
            this.emit(format_args!("br i1 {flag}, label {body}, label {exit}"));
        };
        if !after {
            let _ = writeln!(self.text, "{}:", &head[1..]);
            self.emit(format_args!("{counter} = load i32, ptr %count.{depth}"));
            test(self, &counter);
        }
        let _ = writeln!(self.text, "{}:", &body[1..]);
        if self.rng.bool() {
            self.neighbours(depth);
        }
        let count = self.rng.u32(1..3);
        self.block(count);
        self.emit(format_args!("{now} = load i32, ptr %count.{depth}"));
        self.emit(format_args!("{next} = add nsw i32 {now}, {by}"));
        self.emit(format_args!("store i32 {next}, ptr %count.{depth}"));
        if after {
            test(self, &next);
        } else {
            self.emit(format_args!("br label {head}"));
        }
        let _ = writeln!(self.text, "{}:", &exit[1..]);
    }

    /// Sums neighbouring elements at an index that the counter is part of.
    fn neighbours(&mut self, depth: u32) {
        let [counter, row, index] = ["i", "row", "x"].map(|name| self.fresh(name));
        let (mul, add, width) = (self.pick(&["mul nsw", "mul"]), self.pick(&["add nsw", "add"]), self.rng.u32(1..4));
        self.emit(format_args!("{counter} = load i32, ptr %count.{depth}"));
        self.emit(format_args!("{row} = {mul} i32 {counter}, {width}"));
        self.emit(format_args!("{index} = and i32 {row}, 7"));
        let mut sum = counter;
        for offset in 0..self.rng.u32(2..5) {
            let [at, wide, address, loaded, next] = ["x", "w", "p", "l", "t"].map(|name| self.fresh(name));
            self.emit(format_args!("{at} = {add} i32 {index}, {offset}"));
            self.emit(format_args!("{wide} = sext i32 {at} to i64"));
            self.emit(format_args!("{address} = getelementptr inbounds i32, ptr %half, i64 {wide}"));
            if self.rng.u32(..3) == 0 {
                self.emit(format_args!("store i32 {sum}, ptr {address}"));
            }
            let align = if offset == 0 { "" } else { ", align 4" };
            self.emit(format_args!("{loaded} = load i32, ptr {address}{align}"));
            self.emit(format_args!("{next} = xor i32 {sum}, {loaded}"));
            sum = next;
        }
        self.emit(format_args!("store i32 {sum}, ptr %v.i32.1"));
    }

    fn function(mut self) -> String {
        let slots: Vec<(String, &str)> =
            TYPES.iter().flat_map(|ty| (0..2).map(move |n| (format!("%v.{ty}.{n}"), *ty))).collect();
        for (slot, ty) in &slots {
            self.emit(format_args!("{slot} = alloca {ty}"));
        }
        for depth in 0..4 {
            self.emit(format_args!("%count.{depth} = alloca i32"));
        }
        self.emit(format_args!("%array = alloca [8 x i32], align 4"));
        self.emit(format_args!("%pair = alloca {{ i32, i32 }}, align 8"));
        self.emit(format_args!("%half = getelementptr inbounds i8, ptr %out, i64 128"));
        self.emit(format_args!("call void @llvm.memset.p0.i64(ptr align 4 %array, i8 3, i64 32, i1 false)"));
        self.emit(format_args!("store i64 81985529216486895, ptr %pair"));
        for (at, (slot, ty)) in slots.iter().enumerate() {
            let value = self.fresh("in");
            self.emit(format_args!("{value} = load {ty}, ptr %out"));
            let initial = if at % 2 == 0 { value } else { self.constant(ty) };
            self.emit(format_args!("store {ty} {initial}, ptr {slot}"));
        }
        let count = self.rng.u32(3..10);
        for _ in 0..count {
            self.statement();
        }
        for (at, (slot, ty)) in slots.iter().enumerate() {
            let (value, address) = (self.fresh("r"), self.fresh("o"));
            self.emit(format_args!("{value} = load {ty}, ptr {slot}"));
            self.emit(format_args!("{address} = getelementptr inbounds i8, ptr %out, i64 {}", at * 8));
            self.emit(format_args!("store {ty} {value}, ptr {address}"));
        }
        self.emit(format_args!("%last = getelementptr inbounds i8, ptr %out, i64 64"));
        self.emit(format_args!(
            "call void @llvm.memcpy.p0.p0.i64(ptr align 4 %last, ptr align 4 %array, i64 32, i1 false)"
        ));
        let mut text = String::new();
        for ty in ["i32", "i64", "i8"] {
            for op in ["smin", "smax", "umin", "umax"] {
                let _ = writeln!(text, "declare {ty} @llvm.{op}.{ty}({ty}, {ty})");
            }
            let _ = writeln!(text, "declare {ty} @llvm.fshl.{ty}({ty}, {ty}, {ty})");
        }
        text.push_str("declare float @llvm.fabs.f32(float)\n");
        text.push_str("declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)\n");
        text.push_str("declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)\n");
        text.push_str(DEVICE);
        let _ = write!(text, "define ptx_kernel void @f(ptr %out) {{\n{}  ret void\n}}\n", self.text);
        text
    }
}

/// The memory that the function leaves; `None` when it has no defined behaviour.
fn execute(module: &Module, bytes: &[u8]) -> Result<(Memory, u64), String> {
    let symbol = module.symbol("f").expect("the function is defined");
    let mut memory = Memory::for_module(module, 0).map_err(|fault| fault.to_string())?;
    let buffer = memory.add(AddressSpace::GLOBAL, bytes, 256).map_err(|fault| fault.to_string())?;
    let settings = Settings { steps: 20_000, ..Settings::default() };
    evaluate(module, symbol, &[Value::Bits(buffer.into())], &mut memory, &settings)
        .map_err(|fault| fault.to_string())?;
    Ok((memory, buffer))
}

/// What is wrong with the module after that many passes.
fn judge(module: &Module, bytes: &[u8], before: &(Memory, u64), options: &Options) -> Result<(), String> {
    let mut module = module.clone();
    run(&mut module, options);
    let with_text = |what: String| format!("{what}\n{}", print(&module));
    verify(&module).map_err(|error| with_text(error.to_string()))?;
    let (after, buffer) = execute(&module, bytes).map_err(with_text)?;
    let left = after.bytes(buffer, BUFFER as u64).map_err(|fault| fault.to_string())?;
    let verdict = before.0.compare(before.1, left).map_err(|fault| fault.to_string())?;
    verdict.differs.map_or(Ok(()), |at| Err(with_text(format!("byte {at} differs"))))
}

fn check(seed: u64) -> bool {
    let mut rng = Rng::with_seed(seed);
    let bytes: Vec<u8> = (0..BUFFER).map(|_| rng.u8(..)).collect();
    let text = Generator { rng, text: String::new(), next: 0, depth: 0 }.function();
    let module = parse(&text, "random.ll").unwrap_or_else(|error| panic!("{}\n{text}", error.render(&text)));
    let Ok(before) = execute(&module, &bytes) else { return false };
    for level in 0..=3 {
        let all = Options { level, ..Options::default() };
        if judge(&module, &bytes, &before, &all).is_ok() {
            continue;
        }
        // The first pass after which it is wrong, and what it was given.
        let first = (1..=PASSES.len())
            .find(|&passes| judge(&module, &bytes, &before, &Options { passes, ..all.clone() }).is_err())
            .unwrap_or(PASSES.len());
        let mut given = module.clone();
        run(&mut given, &Options { passes: first - 1, ..all.clone() });
        let wrong = judge(&module, &bytes, &before, &Options { passes: first, ..all }).unwrap_err();
        panic!("seed {seed} -O{level}, pass {}\n{}\n; becomes\n{wrong}", PASSES[first - 1].name, print(&given));
    }
    true
}

#[test]
fn random_programs() {
    let count = std::env::var("ORIOLE_FUZZ").ok().and_then(|count| count.parse().ok()).unwrap_or_else(|| sample(250));
    let start = std::env::var("ORIOLE_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let judged = (start..start + count).filter(|&seed| check(seed)).count();
    assert!(judged as u64 * 2 > count, "only {judged} of {count} programs are defined");
}
