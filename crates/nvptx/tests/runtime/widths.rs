//! Integers of all widths: every operation against arithmetic on 128 bits.

use super::{pairs, run};
use std::fmt::Write;

const WIDTHS: [u32; 18] = [1, 2, 3, 7, 8, 12, 16, 17, 24, 32, 33, 48, 63, 64, 65, 100, 127, 128];

/// An operation on `%a` and `%b`: its name, the text that computes `%r` of the operands' type, and the result by the
/// width and the operands; `None` where it has no meaning.
struct Operation {
    name: &'static str,
    text: String,
    host: fn(u32, u128, u128) -> Option<u128>,
}

fn mask(bits: u32) -> u128 {
    u128::MAX >> (128 - bits)
}

fn signed(bits: u32, value: u128) -> i128 {
    ((value << (128 - bits)) as i128) >> (128 - bits)
}

fn bounds(bits: u32) -> (i128, i128) {
    (signed(bits, 1 << (bits - 1)), (mask(bits) >> 1) as i128)
}

/// Sums and differences by 129 bits are found by hand: whether they wrap as signed numbers.
fn clamp(bits: u32, exact: Option<i128>, negative: bool) -> u128 {
    let (min, max) = bounds(bits);
    let value = exact.map_or(if negative { min } else { max }, |value| value.clamp(min, max));
    value as u128 & mask(bits)
}

fn instruction(name: &'static str, host: fn(u32, u128, u128) -> Option<u128>) -> Operation {
    Operation { name, text: format!("  %r = {name} $T %a, %b\n"), host }
}

/// `llvm.NAME.T(a, b)`, or with the arguments given.
fn intrinsic(name: &'static str, args: &str, host: fn(u32, u128, u128) -> Option<u128>) -> Operation {
    Operation { name, text: format!("  %r = call $T @llvm.{name}.$T({args})\n"), host }
}

/// Whether `llvm.NAME.with.overflow` wraps, extended to the type.
fn overflow(name: &'static str, host: fn(u32, u128, u128) -> Option<u128>) -> Operation {
    let text = format!(
        "  %p = call {{ $T, i1 }} @llvm.{name}.with.overflow.$T($T %a, $T %b)
  %x = extractvalue {{ $T, i1 }} %p, 0
  %o = extractvalue {{ $T, i1 }} %p, 1
  %n = xor $T %x, -1
  %r = select i1 %o, $T %n, $T %x
"
    );
    Operation { name, text, host }
}

/// What `overflow` computes: the result, turned if it wrapped.
fn told(bits: u32, result: u128, wrapped: bool) -> Option<u128> {
    Some((if wrapped { !result } else { result }) & mask(bits))
}

fn instructions() -> Vec<Operation> {
    vec![
        instruction("add", |n, a, b| Some(a.wrapping_add(b) & mask(n))),
        instruction("sub", |n, a, b| Some(a.wrapping_sub(b) & mask(n))),
        instruction("mul", |n, a, b| Some(a.wrapping_mul(b) & mask(n))),
        instruction("and", |_, a, b| Some(a & b)),
        instruction("or", |_, a, b| Some(a | b)),
        instruction("xor", |_, a, b| Some(a ^ b)),
        instruction("udiv", |_, a, b| a.checked_div(b)),
        instruction("urem", |_, a, b| a.checked_rem(b)),
        instruction("sdiv", |n, a, b| {
            let q = signed(n, a).checked_div(signed(n, b))?;
            (q <= bounds(n).1).then_some(q as u128 & mask(n))
        }),
        instruction("srem", |n, a, b| {
            let (x, y) = (signed(n, a), signed(n, b));
            x.checked_div(y).filter(|&q| q <= bounds(n).1)?;
            Some(x.checked_rem(y)? as u128 & mask(n))
        }),
        instruction("shl", |n, a, b| (b < n.into()).then(|| a << b & mask(n))),
        instruction("lshr", |n, a, b| (b < n.into()).then(|| a >> b)),
        instruction("ashr", |n, a, b| (b < n.into()).then(|| (signed(n, a) >> b) as u128 & mask(n))),
    ]
}

fn comparisons() -> Vec<Operation> {
    let compare = |name: &'static str, host| Operation {
        name,
        text: format!("  %c = icmp {name} $T %a, %b\n  %r = sext i1 %c to $T\n"),
        host,
    };
    fn all(n: u32, truth: bool) -> Option<u128> {
        Some(if truth { mask(n) } else { 0 })
    }
    vec![
        compare("eq", |n, a, b| all(n, a == b)),
        compare("ult", |n, a, b| all(n, a < b)),
        compare("uge", |n, a, b| all(n, a >= b)),
        compare("sgt", |n, a, b| all(n, signed(n, a) > signed(n, b))),
        compare("sle", |n, a, b| all(n, signed(n, a) <= signed(n, b))),
    ]
}

fn intrinsics() -> Vec<Operation> {
    vec![
        intrinsic("ctpop", "$T %a", |_, a, _| Some(u128::from(a.count_ones()))),
        intrinsic("ctlz", "$T %a, i1 false", |n, a, _| Some(u128::from(a.leading_zeros() - (128 - n)))),
        intrinsic("cttz", "$T %a, i1 false", |n, a, _| Some(u128::from(a.trailing_zeros().min(n)))),
        intrinsic("bitreverse", "$T %a", |n, a, _| Some(a.reverse_bits() >> (128 - n))),
        intrinsic("abs", "$T %a, i1 false", |n, a, _| Some(signed(n, a).unsigned_abs() & mask(n))),
        intrinsic("smin", "$T %a, $T %b", |n, a, b| Some(if signed(n, a) < signed(n, b) { a } else { b })),
        intrinsic("smax", "$T %a, $T %b", |n, a, b| Some(if signed(n, a) > signed(n, b) { a } else { b })),
        intrinsic("umin", "$T %a, $T %b", |_, a, b| Some(a.min(b))),
        intrinsic("umax", "$T %a, $T %b", |_, a, b| Some(a.max(b))),
        intrinsic("uadd.sat", "$T %a, $T %b", |n, a, b| Some(a.saturating_add(b).min(mask(n)))),
        intrinsic("usub.sat", "$T %a, $T %b", |_, a, b| Some(a.saturating_sub(b))),
        intrinsic("sadd.sat", "$T %a, $T %b", |n, a, b| {
            Some(clamp(n, signed(n, a).checked_add(signed(n, b)), signed(n, b) < 0))
        }),
        intrinsic("ssub.sat", "$T %a, $T %b", |n, a, b| {
            Some(clamp(n, signed(n, a).checked_sub(signed(n, b)), signed(n, b) > 0))
        }),
        intrinsic("fshl", "$T %a, $T %b, $T %b", |n, a, b| {
            let by = (b % u128::from(n)) as u32;
            Some((a << by | if by == 0 { 0 } else { b >> (n - by) }) & mask(n))
        }),
        intrinsic("fshr", "$T %a, $T %b, $T %a", |n, a, b| {
            let by = (a % u128::from(n)) as u32;
            Some((b >> by | if by == 0 { 0 } else { a << (n - by) }) & mask(n))
        }),
        overflow("uadd", |n, a, b| told(n, a.wrapping_add(b), a.checked_add(b).is_none_or(|sum| sum > mask(n)))),
        overflow("usub", |n, a, b| told(n, a.wrapping_sub(b), a < b)),
        overflow("umul", |n, a, b| told(n, a.wrapping_mul(b), a.checked_mul(b).is_none_or(|p| p > mask(n)))),
        overflow("sadd", |n, a, b| told(n, a.wrapping_add(b), outside(n, signed(n, a).checked_add(signed(n, b))))),
        overflow("ssub", |n, a, b| told(n, a.wrapping_sub(b), outside(n, signed(n, a).checked_sub(signed(n, b))))),
        overflow("smul", |n, a, b| told(n, a.wrapping_mul(b), outside(n, signed(n, a).checked_mul(signed(n, b))))),
    ]
}

fn outside(bits: u32, exact: Option<i128>) -> bool {
    let (min, max) = bounds(bits);
    exact.is_none_or(|value| !(min..=max).contains(&value))
}

/// The declaration of the intrinsic that a text calls.
fn declaration(text: &str) -> Option<String> {
    let (before, rest) = text.split_once(" @llvm.")?;
    let ret = before.split_once("call ")?.1;
    let (name, rest) = rest.split_once('(')?;
    let args = rest.split_once(')')?.0;
    let types: Vec<&str> = args.split(", ").filter_map(|arg| arg.split(' ').next()).collect();
    Some(format!("declare {ret} @llvm.{name}({})\n", types.join(", ")))
}

/// All operations on integers of one width, each a function, in one kernel; operands and results take 16 bytes each.
fn check(bits: u32, operations: &[Operation]) {
    let (scalar, count) = (format!("i{bits}"), operations.len());
    let mut functions = String::new();
    let mut calls = String::new();
    for (at, operation) in operations.iter().enumerate() {
        let own = operation.text.replace("$T", &scalar).replace("sext i1 %c to i1\n", "freeze i1 %c\n");
        functions.extend(declaration(&own));
        let _ = writeln!(
            functions,
            "define internal {scalar} @f{at}({scalar} %a, {scalar} %b) {{\n{own}  ret {scalar} %r\n}}"
        );
        let _ = writeln!(calls, "  %r{at} = call {scalar} @f{at}({scalar} %a, {scalar} %b)");
        let _ = writeln!(calls, "  %q{at} = getelementptr i8, ptr %to, i64 {}", 16 * at);
        let _ = writeln!(calls, "  store {scalar} %r{at}, ptr %q{at}");
    }
    let text = format!(
        "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
{functions}
define ptx_kernel void @k(ptr %in, ptr %out) {{
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %pa = getelementptr [32 x i8], ptr %in, i32 %tid
  %pb = getelementptr i8, ptr %pa, i64 16
  %to = getelementptr [{} x i8], ptr %out, i32 %tid
  %a = load {scalar}, ptr %pa
  %b = load {scalar}, ptr %pb
{calls}  ret void
}}
",
        16 * count
    );
    let list: Vec<_> = pairs(bits, 40, u64::from(bits)).iter().map(|(a, b)| (a & mask(bits), b & mask(bits))).collect();
    for part in list.chunks(256) {
        let input: Vec<u8> = part.iter().flat_map(|(a, b)| [a.to_le_bytes(), b.to_le_bytes()]).flatten().collect();
        let output = run(&text, "sm_80", &input, &vec![0; part.len() * 16 * count], part.len() as u32);
        for (&(a, b), results) in part.iter().zip(output.chunks_exact(16 * count)) {
            for (operation, result) in operations.iter().zip(results.chunks_exact(16)) {
                let result = u128::from_le_bytes(result.try_into().unwrap_or_default()) & mask(bits);
                if let Some(expected) = (operation.host)(bits, a, b) {
                    assert_eq!(result, expected, "{} i{bits} {a:#x}, {b:#x}", operation.name);
                }
            }
        }
    }
}

#[test]
fn instructions_of_all_widths() {
    WIDTHS.into_iter().for_each(|bits| check(bits, &instructions()));
}

#[test]
fn comparisons_of_all_widths() {
    WIDTHS.into_iter().for_each(|bits| check(bits, &comparisons()));
}

#[test]
fn intrinsics_of_all_widths() {
    WIDTHS.into_iter().for_each(|bits| check(bits, &intrinsics()));
}
