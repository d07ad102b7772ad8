//! Every `atomicrmw` by every type, order, scope and space, one thread: what is returned and what is left behind is what
//! host arithmetic says, at the levels in turn, or at all of them with `ORIOLE_THOROUGH=1`.

use std::fmt::Write;

use half::{bf16, f16};

use oriole_prerequisites::in_turn;

use super::{LEVELS, run_at};

/// What an operation makes of `x` in memory and the operand `v`, both of so many bits.
type OnIntegers = fn(u128, u128, u32) -> u128;

const INTEGERS: [(&str, OnIntegers); 15] = [
    ("xchg", |_, v, _| v),
    ("add", |x, v, _| x.wrapping_add(v)),
    ("sub", |x, v, _| x.wrapping_sub(v)),
    ("and", |x, v, _| x & v),
    ("nand", |x, v, _| !(x & v)),
    ("or", |x, v, _| x | v),
    ("xor", |x, v, _| x ^ v),
    ("max", |x, v, bits| if signed(x, bits) > signed(v, bits) { x } else { v }),
    ("min", |x, v, bits| if signed(x, bits) < signed(v, bits) { x } else { v }),
    ("umax", |x, v, _| x.max(v)),
    ("umin", |x, v, _| x.min(v)),
    ("uinc_wrap", |x, v, _| if x >= v { 0 } else { x + 1 }),
    ("udec_wrap", |x, v, _| if x == 0 || x > v { v } else { x - 1 }),
    ("usub_cond", |x, v, _| if x >= v { x - v } else { x }),
    ("usub_sat", |x, v, _| x.saturating_sub(v)),
];

fn signed(value: u128, bits: u32) -> i128 {
    (value << (128 - bits)) as i128 >> (128 - bits)
}

/// The same for floats; the numbers of the tests are exact in all formats, and so are their sums.
type OnFloats = fn(f64, f64) -> f64;

const FLOATS: [(&str, OnFloats); 9] = [
    ("xchg", |_, v| v),
    ("fadd", |x, v| x + v),
    ("fsub", |x, v| x - v),
    ("fmax", f64::max),
    ("fmin", f64::min),
    ("fmaximum", f64::max),
    ("fminimum", f64::min),
    ("fmaximumnum", f64::max),
    ("fminimumnum", f64::min),
];

const SCOPES: [&str; 4] = ["", "syncscope(\"device\") ", "syncscope(\"block\") ", "syncscope(\"singlethread\") "];
const ORDERS: [&str; 5] = ["monotonic", "acquire", "release", "acq_rel", "seq_cst"];
/// Generic, global, shared and local memory, and shared memory through a generic pointer.
const PLACES: [&str; 5] = ["ptr %a", "ptr addrspace(1) %g", "ptr addrspace(3) @s", "ptr %l", "ptr %h"];

/// A kernel that does one operation in each order and scope, in every kind of memory, with a constant and a number that it
/// loads; 64 bytes of output for each: what was there, and what is there now.
fn source(op: &str, ty: &str, constant: &str, align: usize, cases: &[(usize, usize, usize, bool)]) -> String {
    let mut text = format!(
        "@s = internal addrspace(3) global [16 x i8] undef, align 16
define ptx_kernel void @k(ptr %in, ptr %out) {{
  %l = alloca [16 x i8], align 16
  %h = addrspacecast ptr addrspace(3) @s to ptr
  %iv = getelementptr i8, ptr %in, i64 16
  %v = load {ty}, ptr %iv, align 16
"
    );
    for (at, &(order, scope, place, is_constant)) in cases.iter().enumerate() {
        let (order, scope) = (ORDERS[order], SCOPES[scope]);
        let memory = PLACES[place].rsplit_once(' ').map_or("", |(_, name)| name);
        let (place, name) = match memory {
            "%a" => (format!("ptr %a{at}"), format!("%a{at}")),
            "%g" => (format!("ptr addrspace(1) %g{at}"), format!("%g{at}")),
            _ => (PLACES[place].to_owned(), memory.to_owned()),
        };
        let pointer = place.strip_suffix(&name).unwrap_or_default().trim_end();
        let operand = if is_constant { constant } else { "%v" };
        let _ = write!(
            text,
            "  %a{at} = getelementptr i8, ptr %out, i64 {}
  %g{at} = addrspacecast ptr %a{at} to ptr addrspace(1)
  %first{at} = load {ty}, ptr %in, align 16
  store {ty} %first{at}, {pointer} {name}, align 16
  %old{at} = atomicrmw {op} {pointer} {name}, {ty} {operand} {scope}{order}, align {align}
  %r{at} = getelementptr i8, ptr %out, i64 {}
  store {ty} %old{at}, ptr %r{at}, align 16
  %new{at} = load {ty}, {pointer} {name}, align 16
  %w{at} = getelementptr i8, ptr %out, i64 {}
  store {ty} %new{at}, ptr %w{at}, align 16
",
            48 * at,
            48 * at + 16,
            48 * at + 32,
        );
    }
    text + "  ret void\n}\n"
}

/// Runs one operation, the one of this number, on one type in all ways; numbers are bits of the type.
fn check(number: usize, op: &str, ty: &str, size: usize, arch: &str, constant: &str, numbers: [u128; 3]) {
    let [old, operand, expected] = numbers;
    let levels: Vec<u8> = in_turn(number, LEVELS).collect();
    // Each order and scope once, the other choices in turn.
    let cases: Vec<_> = (0..20).map(|at| (at % 5, at / 5, (at + at / 5) % 5, at % 2 == 0)).collect();
    let text = source(op, ty, constant, size, &cases);
    let mut input = old.to_le_bytes().to_vec();
    input.extend(operand.to_le_bytes());
    let output = run_at(&levels, &text, arch, &input, &vec![0; 48 * cases.len()], 1);
    let (was, is) = (&old.to_le_bytes()[..size], &expected.to_le_bytes()[..size]);
    for (at, case) in cases.iter().enumerate() {
        let result = &output[48 * at + 16..48 * at + 16 + size];
        let left = &output[48 * at + 32..48 * at + 32 + size];
        assert_eq!((result, left), (was, is), "{op} {ty} {arch} {case:?}");
    }
}

#[test]
fn integers() {
    let types =
        [(8, "sm_80"), (16, "sm_60"), (16, "sm_90"), (32, "sm_60"), (32, "sm_90"), (64, "sm_80"), (128, "sm_90")];
    for (at, (bits, arch)) in types.into_iter().enumerate() {
        let mask = u128::MAX >> (128 - bits);
        let top = 1u128 << (bits - 1);
        for (index, (op, host)) in INTEGERS.into_iter().enumerate() {
            let (old, operand) = [(top | 5, 3), (3, top | 5), (100, 7), (7, 100)][index % 4];
            let expected = host(old, operand, bits) & mask;
            let constant = signed(operand, bits).to_string();
            check(at + index, op, &format!("i{bits}"), bits as usize / 8, arch, &constant, [old, operand, expected]);
        }
    }
}

/// A number of a format by its bits.
fn bits(ty: &str, value: f64) -> u128 {
    match ty {
        "half" => f16::from_f64(value).to_bits().into(),
        "bfloat" => bf16::from_f64(value).to_bits().into(),
        "float" => (value as f32).to_bits().into(),
        _ => value.to_bits().into(),
    }
}

#[test]
fn floats() {
    for (ty, size) in [("half", 2), ("bfloat", 2), ("float", 4), ("double", 8)] {
        for (index, (op, host)) in FLOATS.into_iter().enumerate() {
            let arch = ["sm_60", "sm_80", "sm_90"][index % 3];
            for (at, arch) in [arch, "sm_90"].into_iter().enumerate() {
                let numbers = [2.5, -1.25, host(2.5, -1.25)].map(|value| bits(ty, value));
                check(at + index, op, ty, size, arch, "-1.25", numbers);
            }
        }
    }
}

#[test]
fn vectors() {
    for (ty, lanes, archs) in [
        ("half", 2, ["sm_60", "sm_80"]),
        ("bfloat", 2, ["sm_80", "sm_90"]),
        ("half", 4, ["sm_60", "sm_90"]),
        ("float", 2, ["sm_60", "sm_80"]),
        ("float", 4, ["sm_90", "sm_90"]),
        ("double", 2, ["sm_90", "sm_90"]),
    ] {
        let size = match ty {
            "half" | "bfloat" => 2,
            "float" => 4,
            _ => 8,
        };
        for (index, (op, host)) in FLOATS.into_iter().enumerate().skip(1) {
            let lane = |n: u32| [1.5 + f64::from(n), -0.5 * f64::from(n + 1)];
            let whole = |f: &dyn Fn(u32) -> f64| {
                (0..lanes).rev().fold(0, |bits_so_far, n| bits_so_far << (8 * size) | bits(ty, f(n)))
            };
            let numbers = [whole(&|n| lane(n)[0]), whole(&|n| lane(n)[1]), whole(&|n| host(lane(n)[0], lane(n)[1]))];
            let items: Vec<_> = (0..lanes).map(|n| format!("{ty} {:?}", lane(n)[1])).collect();
            let constant = format!("<{}>", items.join(", "));
            // An operation has another target than its neighbours: pairs of them have another level.
            let size = size * lanes as usize;
            check(index / 2, op, &format!("<{lanes} x {ty}>"), size, archs[index % 2], &constant, numbers);
        }
    }
}
