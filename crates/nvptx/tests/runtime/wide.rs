//! Integers of more than 128 bits: every operation against arithmetic on numbers of any length.

use super::run;
use num_bigint::{BigInt, BigUint, Sign};
use std::fmt::Write;

/// One bit more than others, whole numbers of words, a prime, and what has to be shifted at the end of `bswap`: the first
/// two always, all with `ORIOLE_THOROUGH`.
const WIDTHS: [u32; 5] = [129, 256, 192, 240, 521];
/// Pairs of operands for each width.
const THREADS: u32 = 16;

/// Two operands, without a sign.
struct Operands {
    bits: u32,
    a: BigInt,
    b: BigInt,
}

impl Operands {
    fn power(&self, exponent: u32) -> BigInt {
        BigInt::from(1) << exponent
    }

    /// The low `bits` bits as a number without a sign.
    fn wrapped(&self, value: BigInt, bits: u32) -> BigInt {
        let modulus = self.power(bits);
        ((value % &modulus) + &modulus) % modulus
    }

    fn with_sign(&self, value: &BigInt) -> BigInt {
        if value.bit(u64::from(self.bits) - 1) { value - self.power(self.bits) } else { value.clone() }
    }

    fn sa(&self) -> BigInt {
        self.with_sign(&self.a)
    }

    fn sb(&self) -> BigInt {
        self.with_sign(&self.b)
    }

    /// A divisor.
    fn odd(&self) -> BigInt {
        &self.b | BigInt::from(1)
    }

    /// The amount of shifts.
    fn amount(&self) -> u32 {
        u32::try_from(&self.b % self.bits).expect("less than the width")
    }

    fn most(&self) -> BigInt {
        self.power(self.bits) - 1
    }

    fn clamped(&self, value: BigInt) -> BigInt {
        value.clamp(-self.power(self.bits - 1), self.power(self.bits - 1) - 1)
    }

    /// The signed quotient, unless it is too large.
    fn quotient(&self) -> Option<BigInt> {
        let divisor = self.with_sign(&self.odd());
        let quotient = self.sa() / divisor;
        (self.clamped(quotient.clone()) == quotient).then_some(quotient)
    }

    /// A result and, in its highest bits but two, whether it has wrapped.
    fn noted(&self, value: BigInt, signed: bool) -> BigInt {
        let wrapped = self.wrapped(value.clone(), self.bits);
        let over = if signed { self.with_sign(&wrapped) != value } else { wrapped != value };
        if over { wrapped ^ self.power(self.bits - 3) } else { wrapped }
    }
}

/// `%r` from `%a` and `%b`, a divisor `%odd` and an amount `%n`, and what it is; `None` where it has no meaning.
struct Operation {
    text: String,
    host: Host,
}

/// What an operation gives by the host's arithmetic.
type Host = Box<dyn Fn(&Operands) -> Option<BigInt>>;

fn operation(text: impl Into<String>, host: impl Fn(&Operands) -> BigInt + 'static) -> Operation {
    Operation { text: text.into(), host: Box::new(move |o| Some(host(o))) }
}

fn from_bool(value: bool) -> BigInt {
    BigInt::from(u8::from(value))
}

fn instructions() -> Vec<Operation> {
    vec![
        operation("%r = add $T %a, %b", |o| &o.a + &o.b),
        operation("%r = sub $T %a, %b", |o| &o.a - &o.b),
        operation("%r = mul $T %a, %b", |o| &o.a * &o.b),
        operation("%r = and $T %a, %b", |o| &o.a & &o.b),
        operation("%r = or $T %a, %b", |o| &o.a | &o.b),
        operation("%r = xor $T %a, %b", |o| &o.a ^ &o.b),
        operation("%r = udiv $T %a, %odd", |o| &o.a / o.odd()),
        operation("%r = urem $T %a, %odd", |o| &o.a % o.odd()),
        Operation { text: "%r = sdiv $T %a, %odd".into(), host: Box::new(Operands::quotient) },
        Operation {
            text: "%r = srem $T %a, %odd".into(),
            host: Box::new(|o| Some(o.sa() - o.quotient()? * o.with_sign(&o.odd()))),
        },
        operation("%r = shl $T %a, %n", |o| &o.a << o.amount()),
        operation("%r = lshr $T %a, %n", |o| &o.a >> o.amount()),
        operation("%r = ashr $T %a, %n", |o| o.sa() >> o.amount()),
        operation("%r = shl $T %a, 71", |o| &o.a << 71),
        operation("%r = ashr $T %a, 64", |o| o.sa() >> 64),
        operation("%r = add $T %a, -340282366920938463463374607431768211456", |o| &o.a - (BigInt::from(1) << 128)),
        operation("%r = call $T @function($T %a, i32 7, $T %b)", |o| &o.a * 3 - &o.b + 7),
        operation("%r = call $T @loop($T %a, $T %b)", |o| {
            (0..5).fold(o.a.clone(), |sum, i| o.wrapped(sum * &o.b + i, o.bits))
        }),
        operation("%r = call $T @choose($T %a, $T %b)", |o| if o.sa() < o.sb() { o.a.clone() } else { &o.b << 1 }),
        operation(
            "%r.s = insertvalue { i8, $T, i32 } undef, $T %a, 1\n  store { i8, $T, i32 } %r.s, ptr %struct\n  \
             %r.q = getelementptr { i8, $T, i32 }, ptr %struct, i32 0, i32 1\n  %r = load $T, ptr %r.q",
            |o| o.a.clone(),
        ),
        operation("%r.f = freeze $T %b\n  %r = select i1 true, $T %r.f, $T %a", |o| o.b.clone()),
    ]
}

fn comparisons() -> Vec<Operation> {
    let ordered = |name: &str, holds: fn(&Operands) -> bool| {
        operation(format!("%r.c = icmp {name} $T %a, %b\n  %r = zext i1 %r.c to $T"), move |o| from_bool(holds(o)))
    };
    vec![
        ordered("eq", |o| o.a == o.b),
        ordered("ne", |o| o.a != o.b),
        ordered("ult", |o| o.a < o.b),
        ordered("ule", |o| o.a <= o.b),
        ordered("ugt", |o| o.a > o.b),
        ordered("uge", |o| o.a >= o.b),
        ordered("slt", |o| o.sa() < o.sb()),
        ordered("sle", |o| o.sa() <= o.sb()),
        ordered("sgt", |o| o.sa() > o.sb()),
        ordered("sge", |o| o.sa() >= o.sb()),
    ]
}

fn conversions() -> Vec<Operation> {
    let mut list = Vec::new();
    for bits in [1, 8, 13, 32, 64, 65, 100, 128] {
        let narrow = move |o: &Operands| o.wrapped(o.a.clone(), bits);
        let text = |op| format!("%r.t = trunc $T %a to i{bits}\n  %r = {op} i{bits} %r.t to $T");
        list.push(operation(text("zext"), narrow));
        list.push(operation(text("sext"), move |o| {
            let value = narrow(o);
            if value.bit(u64::from(bits) - 1) { value - o.power(bits) } else { value }
        }));
    }
    list.push(operation(
        "%r.w = sext $T %a to i600\n  %r.m = mul i600 %r.w, %r.w\n  %r.h = lshr i600 %r.m, 77\n  %r = trunc i600 %r.h to $T",
        |o| o.wrapped(o.sa() * o.sa(), 600) >> 77,
    ));
    list
}

/// `llvm.NAME.T` on `%a`, on both, or with further arguments.
fn intrinsic(name: &str, args: &str, host: impl Fn(&Operands) -> BigInt + 'static) -> Operation {
    operation(format!("%r = call $T @llvm.{name}.$T({args})"), host)
}

fn intrinsics() -> Vec<Operation> {
    const BOTH: &str = "$T %a, $T %b";
    const SHIFT: &str = "$T %a, $T %n";
    let mut list = vec![
        intrinsic("umin", BOTH, |o| o.a.clone().min(o.b.clone())),
        intrinsic("umax", BOTH, |o| o.a.clone().max(o.b.clone())),
        intrinsic("smin", BOTH, |o| o.sa().min(o.sb())),
        intrinsic("smax", BOTH, |o| o.sa().max(o.sb())),
        intrinsic("abs", "$T %a, i1 false", |o| BigInt::from(o.sa().magnitude().clone())),
        intrinsic("ctpop", "$T %a", |o| o.a.magnitude().count_ones().into()),
        intrinsic("ctlz", "$T %a, i1 false", |o| BigInt::from(o.bits) - o.a.bits()),
        intrinsic("cttz", "$T %a, i1 false", |o| o.a.trailing_zeros().unwrap_or(o.bits.into()).into()),
        intrinsic("bitreverse", "$T %a", |o| {
            (0..o.bits).filter(|&at| o.a.bit(at.into())).map(|at| o.power(o.bits - 1 - at)).sum()
        }),
        intrinsic("fshl", "$T %a, $T %b, $T %b", |o| (((&o.a << o.bits) | &o.b) << o.amount()) >> o.bits),
        intrinsic("fshr", "$T %a, $T %b, $T %b", |o| ((&o.a << o.bits) | &o.b) >> o.amount()),
        intrinsic("uadd.sat", BOTH, |o| (&o.a + &o.b).min(o.most())),
        intrinsic("usub.sat", BOTH, |o| (&o.a - &o.b).max(BigInt::from(0))),
        intrinsic("sadd.sat", BOTH, |o| o.clamped(o.sa() + o.sb())),
        intrinsic("ssub.sat", BOTH, |o| o.clamped(o.sa() - o.sb())),
        intrinsic("ushl.sat", SHIFT, |o| (&o.a << o.amount()).min(o.most())),
        intrinsic("sshl.sat", SHIFT, |o| o.clamped(o.sa() << o.amount())),
    ];
    let mut overflow = |name: &str, signed: bool, exact: fn(BigInt, BigInt) -> BigInt| {
        let text = format!(
            "%r.p = call {{ $T, i1 }} @llvm.{name}.with.overflow.$T($T %a, $T %b)\n  \
             %r.v = extractvalue {{ $T, i1 }} %r.p, 0\n  %r.o = extractvalue {{ $T, i1 }} %r.p, 1\n  \
             %r.z = zext i1 %r.o to $T\n  %r.h = shl $T %r.z, $H\n  %r = xor $T %r.v, %r.h"
        );
        list.push(operation(text, move |o| {
            let (a, b) = if signed { (o.sa(), o.sb()) } else { (o.a.clone(), o.b.clone()) };
            o.noted(exact(a, b), signed)
        }));
    };
    overflow("uadd", false, |a, b| a + b);
    overflow("usub", false, |a, b| a - b);
    overflow("umul", false, |a, b| a * b);
    overflow("sadd", true, |a, b| a + b);
    overflow("ssub", true, |a, b| a - b);
    overflow("smul", true, |a, b| a * b);
    let order = |name: &str, compare: fn(&Operands) -> std::cmp::Ordering| {
        let text = format!("%r.c = call i32 @llvm.{name}.i32.$T($T %a, $T %b)\n  %r = sext i32 %r.c to $T");
        operation(text, move |o| BigInt::from(compare(o) as i32))
    };
    list.push(order("ucmp", |o| o.a.cmp(&o.b)));
    list.push(order("scmp", |o| o.sa().cmp(&o.sb())));
    list
}

/// What only some widths have.
fn of_width(bits: u32) -> Vec<Operation> {
    let mut list = Vec::new();
    if bits.is_multiple_of(16) {
        list.push(intrinsic("bswap", "$T %a", |o| {
            let mut bytes = o.a.magnitude().to_bytes_le();
            bytes.resize(o.bits as usize / 8, 0);
            BigInt::from(BigUint::from_bytes_be(&bytes))
        }));
    }
    if bits.is_multiple_of(64) {
        let lanes = bits / 32;
        let text = format!(
            "%r.v = bitcast $T %a to <{lanes} x i32>\n  %r.e = extractelement <{lanes} x i32> %r.v, i32 4\n  \
             %r.w = insertelement <{lanes} x i32> %r.v, i32 %r.e, i32 0\n  %r = bitcast <{lanes} x i32> %r.w to $T"
        );
        list.push(operation(text, |o| {
            let low = o.wrapped(o.a.clone(), 32);
            &o.a - low + o.wrapped(&o.a >> 128, 32)
        }));
    }
    list
}

/// Bytes of a value in memory.
fn slot(bits: u32) -> usize {
    bits.div_ceil(128) as usize * 16
}

const FUNCTIONS: &str = "
define internal $T @function($T %x, i32 %n, $T %y) noinline {
  %z = zext i32 %n to $T
  %m = mul $T %x, 3
  %s = sub $T %m, %y
  %r = add $T %s, %z
  ret $T %r
}
define internal $T @loop($T %a, $T %b) noinline {
entry:
  br label %again
again:
  %i = phi i32 [ 0, %entry ], [ %j, %again ]
  %s = phi $T [ %a, %entry ], [ %t, %again ]
  %m = mul $T %s, %b
  %w = zext i32 %i to $T
  %t = add $T %m, %w
  %j = add i32 %i, 1
  %c = icmp eq i32 %j, 5
  br i1 %c, label %end, label %again
end:
  ret $T %t
}
define internal $T @choose($T %a, $T %b) {
  %c = icmp slt $T %a, %b
  br i1 %c, label %end, label %double
double:
  %d = shl $T %b, 1
  br label %end
end:
  %r = phi $T [ %a, %0 ], [ %d, %double ]
  ret $T %r
}
";

/// A kernel that does all of `operations`.
fn kernel(bits: u32, operations: &[Operation]) -> String {
    let slot = slot(bits);
    let mut text = format!(
        "target datalayout = \"e-i64:64-i128:128-v16:16-v32:32-n16:32:64\"\n{FUNCTIONS}\n\
         declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\ndefine ptx_kernel void @k(ptr %in, ptr %out) {{\n  \
         %struct = alloca {{ i8, $T, i32 }}\n  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n  \
         %pa = getelementptr [{} x i8], ptr %in, i32 %tid\n  %pb = getelementptr i8, ptr %pa, i64 {slot}\n  \
         %pr = getelementptr [{} x i8], ptr %out, i32 %tid\n  %a = load $T, ptr %pa, align 8\n  \
         %b = load $T, ptr %pb, align 16\n  %odd = or $T %b, 1\n  %n = urem $T %b, {bits}\n",
        2 * slot,
        operations.len() * slot,
    );
    let mut declarations = std::collections::BTreeSet::new();
    for (at, operation) in operations.iter().enumerate() {
        for line in operation.text.lines().filter(|line| line.contains("@llvm.")) {
            let (result, call) = line.split_once(" = call ").expect("a result");
            assert!(result.trim().starts_with("%r"));
            let words = ["%a", "%b", "%n", "false"];
            let types = words.iter().fold(call.to_owned(), |text, word| text.replace(&format!(" {word}"), ""));
            declarations.insert(format!("declare {types}\n"));
        }
        let body = operation.text.replace("%r", &format!("%r{at}"));
        let offset = at * slot;
        let _ = writeln!(
            text,
            "  {body}\n  %o{at} = getelementptr i8, ptr %pr, i64 {offset}\n  store $T %r{at}, ptr %o{at}"
        );
    }
    text += "  ret void\n}\n";
    text.extend(declarations);
    text.replace("$T", &format!("i{bits}")).replace("$H", &(bits - 3).to_string())
}

/// Numbers at bounds of words and of the width, and random ones of all lengths.
fn samples(bits: u32, count: usize) -> Vec<BigInt> {
    let one = || BigInt::from(1);
    let mut list = vec![BigInt::from(0), one(), one() << 64, (one() << 128) - 1, one() << (bits - 1)];
    list.extend([(one() << bits) - 1, (one() << (bits - 1)) - 1, (one() << bits) - 2]);
    let mut rng = fastrand::Rng::with_seed(bits.into());
    while list.len() < count {
        let bytes: Vec<u8> = std::iter::repeat_with(|| rng.u8(..)).take(bits.div_ceil(8) as usize).collect();
        let value = BigInt::from_bytes_le(Sign::Plus, &bytes) % (one() << bits);
        list.push(value >> rng.u32(..bits));
    }
    rng.shuffle(&mut list);
    list
}

#[test]
fn operations_on_integers_of_more_than_128_bits() {
    let widths = if oriole_prerequisites::is_thorough() { &WIDTHS[..] } else { &WIDTHS[..2] };
    for &bits in widths {
        let lists = [instructions(), comparisons(), conversions(), intrinsics(), of_width(bits)];
        let operations: Vec<Operation> = lists.into_iter().flatten().collect();
        let slot = slot(bits);
        let values = samples(bits, 2 * THREADS as usize);
        let bytes = |value: &BigInt| {
            let mut bytes = value.magnitude().to_bytes_le();
            bytes.resize(slot, 0);
            bytes
        };
        let input: Vec<u8> = values.iter().flat_map(bytes).collect();
        let size = THREADS as usize * operations.len() * slot;
        let output = run(&kernel(bits, &operations), "sm_80", &input, &vec![0; size], THREADS);
        let mut results = output.chunks_exact(slot).map(|bytes| BigInt::from_bytes_le(Sign::Plus, bytes));
        for pair in values.chunks_exact(2) {
            let operands = Operands { bits, a: pair[0].clone(), b: pair[1].clone() };
            for operation in &operations {
                let result = operands.wrapped(results.next().expect("a result"), bits);
                if let Some(expected) = (operation.host)(&operands) {
                    let expected = operands.wrapped(expected, bits);
                    assert_eq!(result, expected, "i{bits} {} of {:x}, {:x}", operation.text, operands.a, operands.b);
                }
            }
        }
    }
}

/// `switch` on 128 bits, with cases that differ in one half alone, few and many.
#[test]
fn switches_on_more_than_64_bits() {
    for (bits, count) in [(128, 3), (128, 40), (100, 5), (256, 7)] {
        let case = |at: u32| u128::from(at % 3) << 64 | u128::from(at / 3);
        let (mut cases, mut blocks, mut values) = (String::new(), String::new(), String::new());
        for at in 0..count {
            let _ = writeln!(cases, "    i{bits} {}, label %case{}", case(at), at / 2);
            if at % 2 == 0 {
                let _ = writeln!(blocks, "case{}:\n  br label %end", at / 2);
                let _ = write!(values, "[ {}, %case{} ], ", at / 2, at / 2);
            }
        }
        let text = format!(
            "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\ndefine ptx_kernel void @k(ptr %in, ptr %out) {{\nentry:\n  \
             %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n  %pa = getelementptr i128, ptr %in, i32 %tid\n  \
             %w = load i128, ptr %pa\n  %d = zext i128 %w to i512\n  %x = trunc i512 %d to i{bits}\n  \
             %pr = getelementptr i32, ptr %out, i32 %tid\n  switch i{bits} %x, label %end [\n{cases}  ]\n{blocks}end:\n  \
             %r = phi i32 {values}[ 99, %entry ]\n  store i32 %r, ptr %pr\n  ret void\n}}\n"
        );
        let values: Vec<u128> = (0..count + 6).map(case).chain([1 << 65, 1 << 33]).collect();
        let input: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let output = run(&text, "sm_80", &input, &vec![0; 4 * values.len()], values.len() as u32);
        let results = output.chunks_exact(4).map(|bytes| u32::from_le_bytes(bytes.try_into().unwrap_or_default()));
        for (value, result) in values.iter().zip(results) {
            let expected = (0..count).find(|&at| case(at) == *value).map_or(99, |at| at / 2);
            assert_eq!(result, expected, "i{bits}, {count} cases, {value:#x}");
        }
    }
}

/// What is not supported says so, and where.
#[test]
fn what_wide_integers_cannot_do_is_named() {
    let cases = [
        ("%y = sitofp i256 %x to double", "such conversions"),
        ("%y = atomicrmw add ptr %p, i256 %x monotonic", "such instructions"),
        ("%y = insertelement <2 x i256> poison, i256 %x, i32 0", "vectors of integers"),
        ("%y = call i256 @llvm.smul.fix.i256(i256 %x, i256 %x, i32 3)", "`llvm.smul.fix.i256`"),
        ("call void asm sideeffect \"\", \"l\"(i256 %x)", "inline assembly"),
    ];
    for (line, what) in cases {
        let text = format!(
            "declare i256 @llvm.smul.fix.i256(i256, i256, i32)\ndefine ptx_kernel void @k(ptr %p) {{\n  \
             %x = load i256, ptr %p\n  {line}\n  ret void\n}}\n"
        );
        let module = oriole_nvptx::text::parse(&text, "k.ll").unwrap_or_else(|error| panic!("{}", error.render(&text)));
        let error = oriole_nvptx::driver::compile(module, &[], &Default::default()).expect_err("an error").to_string();
        assert!(error.contains(what) && error.contains("128 bits"), "{line}: {error}");
    }
}
