//! Division and remainder by constants, and products of 64 bits whose upper half is read, against the host's arithmetic.
#![cfg(feature = "simulate")]

use oriole::{Compiler, Simulator};
use oriole_prerequisites::in_turn;
use std::fmt::Write;

/// Types of 16, 32 and 64 bits: name, width, with sign.
const TYPES: [(&str, u32, bool); 6] = [
    ("u16", 16, false),
    ("s16", 16, true),
    ("u32", 32, false),
    ("s32", 32, true),
    ("u64", 64, false),
    ("s64", 64, true),
];

const THREADS: usize = 64;

/// The divisors as bits of a width, zero left out.
fn divisors(bits: u32, signed: bool) -> Vec<u64> {
    let mask = u64::MAX >> (64 - bits);
    let small = [1u64, 2, 3, 5, 6, 7, 10, 12, 14, 25, 28, 100, 125, 641, 1000, 1023, 0x1357, 0x7fff];
    let near_powers = (4..bits).flat_map(|k| [(1u64 << k).wrapping_sub(1), 1 << k, (1 << k) + 1]);
    let large = [mask, mask - 1, mask / 3, mask / 5 * 4, mask / 2 + 2];
    let all = small.into_iter().chain(near_powers).chain(large);
    let negative = |divisor: u64| signed.then(|| divisor.wrapping_neg());
    all.flat_map(|divisor| [Some(divisor), negative(divisor)])
        .flatten()
        .map(|bits| bits & mask)
        .filter(|d| *d != 0)
        .collect()
}

/// A number per thread: small ones, ends of the range, and some between.
fn dividends(bits: u32) -> Vec<u64> {
    let mask = u64::MAX >> (64 - bits);
    let ends = [0, 1, 2, 3, 9, 10, mask, mask - 1, mask >> 1, (mask >> 1) + 1, (mask >> 1) + 2, mask - 9];
    let others = (1..).map(|k: u64| k.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (k % u64::from(bits)) & mask);
    ends.into_iter().chain(others).take(THREADS).collect()
}

/// Quotient and remainder as bits.
fn divided(a: u64, b: u64, bits: u32, signed: bool) -> [u64; 2] {
    let (mask, unused) = (u64::MAX >> (64 - bits), 64 - bits);
    if !signed {
        return [a / b, a % b];
    }
    let number = |x: u64| i128::from((x << unused) as i64 >> unused);
    [number(a) / number(b), number(a) % number(b)].map(|x| x as u64 & mask)
}

/// `k(out, in)`: for each divisor, quotient and remainder, one after the other, of `in[thread]`; all numbers have 64 bits in memory.
fn kernel(ty: &str, bits: u32, divisors: &[u64]) -> String {
    let (register, load) = (
        if bits == 16 {
            ".b16"
        } else if bits == 32 {
            ".b32"
        } else {
            ".b64"
        },
        bits,
    );
    let mut ptx = format!(
        ".version 8.0\n.target sm_80\n.address_size 64
.visible .entry k(.param .u64 out, .param .u64 in) {{
    .reg .b64 %out, %in, %wide; .reg {register} %a, %q; .reg .b32 %i;
    ld.param.u64 %out, [out]; ld.param.u64 %in, [in];
    mov.u32 %i, %tid.x; mad.wide.u32 %in, %i, 8, %in; mad.wide.u32 %out, %i, {}, %out;
    ld.global.b{load} %a, [%in];\n",
        16 * divisors.len()
    );
    for (at, divisor) in divisors.iter().enumerate() {
        for (which, op) in ["div", "rem"].into_iter().enumerate() {
            let widen = if bits == 64 { "mov.b64 %wide, %q".into() } else { format!("cvt.u64.u{bits} %wide, %q") };
            writeln!(
                ptx,
                "    {op}.{ty} %q, %a, {divisor}; {widen}; st.global.b64 [%out+{}], %wide;",
                16 * at + 8 * which
            )
            .expect("strings take all");
        }
    }
    ptx + "    ret;\n}\n"
}

fn run(ptx: &str, target: &str, level: u8, input: &[u64], words: usize) -> Vec<u64> {
    let compiler = Compiler::builder().target(target).opt_level(level).file_name("k.ptx").build().expect("a target");
    let cubin = compiler.compile_ptx(ptx).expect("it compiles").cubin;
    let simulator = Simulator::builder().strict(true).build(&cubin).expect("it loads");
    let mut out = vec![0u64; words];
    let kernel = simulator.kernel("k").expect("it is there");
    kernel.output(out.as_mut_slice()).input(input).launch(1, THREADS as u32).expect("it runs");
    out
}

/// Types have the targets and levels in turn, signed ones others than unsigned ones.
#[test]
fn quotients_and_remainders_by_constants() {
    for (number, (ty, bits, signed)) in TYPES.into_iter().enumerate() {
        let (divisors, dividends) = (divisors(bits, signed), dividends(bits));
        let ptx = kernel(ty, bits, &divisors);
        for (target, level) in in_turn(number + number / 2, [("sm_80", 0), ("sm_80", 3), ("sm_90", 3)]) {
            let out = run(&ptx, target, level, &dividends, THREADS * 2 * divisors.len());
            for (a, results) in dividends.iter().zip(out.chunks(2 * divisors.len())) {
                for (b, got) in divisors.iter().zip(results.chunks(2)) {
                    assert_eq!(got, divided(*a, *b, bits, signed), "{a:#x} by {b:#x}, {ty}, {target} -O{level}");
                }
            }
        }
    }
}

/// Divisors that become constants in the optimiser alone: conversions of floats.
#[test]
fn divisors_that_turn_out_to_be_constants() {
    let divisors = [1u32, 2, 3, 7, 8, 10, 1 << 16, 0x7fff_ff80, 1 << 31];
    let dividends = dividends(32);
    let mut ptx = format!(
        ".version 8.0\n.target sm_80\n.address_size 64
.visible .entry k(.param .u64 out, .param .u64 in) {{
    .reg .b64 %out, %in, %wide; .reg .b32 %a, %b, %q, %i; .reg .f32 %f;
    ld.param.u64 %out, [out]; ld.param.u64 %in, [in];
    mov.u32 %i, %tid.x; mad.wide.u32 %in, %i, 8, %in; mad.wide.u32 %out, %i, {}, %out;
    ld.global.b32 %a, [%in];\n",
        16 * divisors.len()
    );
    for (at, divisor) in divisors.iter().enumerate() {
        let float = (*divisor as f32).to_bits();
        writeln!(ptx, "    mov.f32 %f, 0f{float:08x}; cvt.rzi.u32.f32 %b, %f;").expect("strings take all");
        for (which, op) in ["div", "rem"].into_iter().enumerate() {
            let place = 16 * at + 8 * which;
            writeln!(ptx, "    {op}.u32 %q, %a, %b; cvt.u64.u32 %wide, %q; st.global.b64 [%out+{place}], %wide;")
                .expect("strings take all");
        }
    }
    ptx += "    ret;\n}\n";
    let out = run(&ptx, "sm_80", 3, &dividends, THREADS * 2 * divisors.len());
    for (a, results) in dividends.iter().zip(out.chunks(2 * divisors.len())) {
        for (b, got) in divisors.iter().zip(results.chunks(2)) {
            assert_eq!(got, divided(*a, (*b).into(), 32, false), "{a:#x} by {b:#x}");
        }
    }
}

#[test]
fn upper_halves_of_products() {
    let ptx = ".version 8.0\n.target sm_75\n.address_size 64
.visible .entry k(.param .u64 out, .param .u64 in) {
    .reg .b64 %out, %in, %a, %b, %r; .reg .b32 %i, %j;
    ld.param.u64 %out, [out]; ld.param.u64 %in, [in];
    mov.u32 %i, %tid.x; xor.b32 %j, %i, 37; mad.wide.u32 %out, %i, 24, %out;
    mad.wide.u32 %a, %i, 8, %in; ld.global.u64 %a, [%a]; mad.wide.u32 %b, %j, 8, %in; ld.global.u64 %b, [%b];
    mul.hi.u64 %r, %a, %b; st.global.u64 [%out], %r;
    mul.hi.s64 %r, %a, %b; st.global.u64 [%out+8], %r;
    mul.hi.u64 %r, %a, 0xfedcba9876543211; st.global.u64 [%out+16], %r;
    ret;
}";
    let numbers = dividends(64);
    for (target, level) in [("sm_75", 3), ("sm_80", 0), ("sm_80", 3), ("sm_90", 3), ("sm_120a", 3)] {
        for (i, got) in run(ptx, target, level, &numbers, 3 * THREADS).chunks(3).enumerate() {
            let (a, b) = (numbers[i], numbers[i ^ 37]);
            let unsigned = |b: u64| ((u128::from(a) * u128::from(b)) >> 64) as u64;
            let signed = ((i128::from(a as i64) * i128::from(b as i64)) >> 64) as u64;
            assert_eq!(
                got,
                [unsigned(b), signed, unsigned(0xfedc_ba98_7654_3211)],
                "{a:#x}, {b:#x}, {target} -O{level}"
            );
        }
    }
}
