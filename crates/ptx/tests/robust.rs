//! Broken input: never a panic, never a hang, and always the tree of what was
//! printed. What is mutated are the shared kernels and a module in this file.

use crate::corpus;

use std::time::{Duration, Instant};

use oriole_prerequisites::sample;
use oriole_ptx::diag::SourceMap;
use oriole_ptx::{MAX_ERRORS, load, parse};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

/// A module with most kinds of syntax, for when the shared kernels are absent.
const SEED: &str = r#".version 9.0
.target sm_90a, debug
.address_size 64
.file 1 "a.cu", 1, 2
.extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);
.global .align 8 .u64 table[3] = {generic(table)+8, 0xff00(table), -5};
.global .samplerref smp = {addr_mode_0 = clamp_to_border, filter_mode = nearest, normalized_coords = 1};
.global .texref tex[2] = {{filter_mode = linear}, {filter_mode = nearest}};
.visible .entry k(.param .u64 .ptr .global .align 16 in, .param .align 8 .b8 s[16])
.maxntid 128, 1, 1
{
	.reg .pred %p<3>; .reg .b32 %r<9>; .reg .v2 .f32 %v; .reg .b64 %rd<4>;
	.shared .align 4 .b8 tile[1024];
$L: .loc 1 2 3
	@!%p1 bra $L;
	ld.param.u64 %rd1, [in];
	mad.lo.s32 %r1, %tid.x, (1 << 4) | 3, -7;
	vadd.s32.u32.s32 %r1, %r2.b0, %r3.h1, %r4;
	tex.2d.v4.f32.s32 {%r1, %r2, _, %r4}|%p1, [table, {%r1, %r2}];
	setp.lt.and.f32 %p1|%p2, %v.x, 0f3F800000, !%p2;
	{ .param .b32 a; st.param.b32 [a+0], %r1; call (a), vprintf, (a, a); }
T: .branchtargets $L;
	brx.idx %r1, T;
	ret;
}
"#;

/// What the mutations start from: a few kernels of moderate size.
fn seeds() -> Vec<String> {
    let mut seeds = vec![SEED.to_owned()];
    let small = corpus::kernels().into_iter().map(|(_, text)| text).filter(|text| text.len() < 8000);
    seeds.extend(small.step_by(7).take(12));
    seeds.extend(corpus::forms().into_iter().map(|(_, text)| text).step_by(600));
    seeds
}

/// Pieces that a mutation may insert.
const PIECES: [&str; 28] = [
    "{", "}", "(", ")", "[", "]", ";", ",", ":", ".", "@", "!", "%", "\"", "/*", "//", "+", "-", "<", "|", "_", " 0x",
    " 0f3F", ".reg ", ".func ", "call ", "\u{0}", "\u{20ac}",
];

#[derive(Clone, Debug)]
enum Mutation {
    Byte(usize, u8),
    Remove(usize, usize),
    Insert(usize, usize),
    Copy(usize, usize, usize),
    Truncate(usize),
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let at = || any::<prop::sample::Index>().prop_map(|index| index.index(1 << 20));
    prop_oneof![
        (at(), any::<u8>()).prop_map(|(a, b)| Mutation::Byte(a, b)),
        (at(), 1..200usize).prop_map(|(a, n)| Mutation::Remove(a, n)),
        (at(), 0..PIECES.len()).prop_map(|(a, n)| Mutation::Insert(a, n)),
        (at(), at(), 1..200usize).prop_map(|(a, b, n)| Mutation::Copy(a, b, n)),
        at().prop_map(Mutation::Truncate),
    ]
}

fn apply(bytes: &mut Vec<u8>, mutation: &Mutation) {
    let length = bytes.len().max(1);
    let range = |at: usize, n: usize| at % length..(at % length + n).min(bytes.len()).max(at % length);
    match *mutation {
        _ if bytes.is_empty() => {}
        Mutation::Byte(at, byte) => bytes[at % length] = byte,
        Mutation::Remove(at, n) => drop(bytes.drain(range(at, n))),
        Mutation::Insert(at, piece) => drop(bytes.splice(at % length..at % length, PIECES[piece].bytes())),
        Mutation::Copy(from, to, n) => {
            let copied = bytes[range(from, n)].to_vec();
            drop(bytes.splice(to % length..to % length, copied));
        }
        Mutation::Truncate(at) => bytes.truncate(at % length),
    }
}

/// Nothing panics; spans are within the text; errors are bounded; and what
/// was read prints to a text that parses to itself.
fn survives(text: &str) {
    let parsed = parse(text);
    // Two more: a missing `.version`, and how many are not shown.
    assert!(parsed.errors.len() <= MAX_ERRORS + 2);
    let map = SourceMap::new("mutant.ptx", text);
    for error in &parsed.errors {
        assert!(error.span.start <= error.span.end && error.span.end as usize <= text.len(), "{error:?}");
    }
    let shown = map.render_all(&parsed.errors[..parsed.errors.len().min(3)]);
    assert_eq!(shown.is_empty(), parsed.errors.is_empty());
    match load(text) {
        Ok(module) => assert_eq!(parse(&module.to_string()).module, module),
        Err(errors) => assert!(!map.render_all(&errors[..errors.len().min(3)]).is_empty()),
    }
}

#[test]
fn mutants() {
    let seeds = seeds();
    let config = Config { cases: sample(2000) as u32, failure_persistence: None, ..Config::default() };
    let strategy = (0..seeds.len(), prop::collection::vec(mutation(), 1..6));
    let result = TestRunner::new(config).run(&strategy, |(seed, mutations)| {
        let mut bytes = seeds[seed].clone().into_bytes();
        mutations.iter().for_each(|m| apply(&mut bytes, m));
        survives(&String::from_utf8_lossy(&bytes));
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}

#[test]
fn the_seed_is_good() {
    let parsed = parse(SEED);
    assert!(parsed.errors.is_empty(), "{}", SourceMap::new("seed", SEED).render_all(&parsed.errors));
}

#[test]
fn every_truncation() {
    for end in (0..SEED.len()).filter(|&end| SEED.is_char_boundary(end)) {
        survives(&SEED[..end]);
    }
}

#[test]
fn garbage() {
    let mut state = 1u64;
    for length in [1usize, 10, 1000, 100_000] {
        let bytes: Vec<u8> = (0..length)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 56) as u8
            })
            .collect();
        survives(&String::from_utf8_lossy(&bytes));
    }
}

/// Large and hostile files take time in proportion to their size: each of
/// these has a megabyte or more, and any quadratic step would take minutes.
#[test]
fn no_blow_up() {
    const N: usize = 1 << 20;
    let header = ".version 9.0\n.target sm_90\n.address_size 64\n";
    let body = |text: String| format!("{header}.entry k() {{ .reg .b32 %r<9>;\n{text}\n}}");
    let cases = [
        ("one long line", body("mov.u32 %r1, %r2; ".repeat(N / 18))),
        ("parentheses", body(format!("mov.u32 %r1, {}", "(".repeat(N)))),
        ("minus signs", body(format!("mov.u32 %r1, {}1;", "- ".repeat(N / 2)))),
        ("blocks", body("{".repeat(N))),
        ("closed blocks", body(format!("{}{}", "{".repeat(N / 2), "}".repeat(N / 2)))),
        ("vectors", body(format!("mov.b32 {}", "{".repeat(N)))),
        ("lists", body(format!("call {}", "(".repeat(N)))),
        ("initial values", format!("{header}.global .b32 a = {}", "{".repeat(N))),
        ("conditions", body(format!("mov.u32 %r1, {}1;", "1?".repeat(N / 2)))),
        ("sums", body(format!("mov.u32 %r1, 1{};", "+1".repeat(N / 2)))),
        ("one long name", body(format!("mov.u32 %r1, %{};", "r".repeat(N)))),
        ("one long number", body(format!("mov.u32 %r1, %r{};", "1".repeat(N)))),
        ("one long modifier", body(format!("mov.{} %r1, 1;", "x".repeat(N)))),
        ("modifiers", body(format!("mov{} %r1, 1;", ".ftz".repeat(N / 4)))),
        ("operands", body(format!("mov.u32 {};", "%r1,".repeat(N / 4)))),
        ("open comments", "/*".repeat(N / 2)),
        ("open strings", "\"\n".repeat(N / 2)),
        ("closing braces", body("}".repeat(N))),
        ("bad statements", body("add.u32 %r1 %r2;\n".repeat(N / 17))),
        ("undefined names", body((0..N / 25).map(|n| format!("mov.u32 %r1, %undef{n};\n")).collect())),
        ("duplicate names", body(".reg .b32 %r<9>;\n".repeat(N / 17))),
        ("declared names", body((0..N / 20).map(|n| format!(".reg .b32 %a{n};\n")).collect())),
        ("labels", body((0..N / 10).map(|n| format!("L{n}:\n")).collect())),
        ("scopes", body("{ .reg .b32 %r1; mov.u32 %r1, 1; }\n".repeat(N / 35))),
        ("file level", format!("{header}{}", ".frob ".repeat(N / 6))),
        ("zero bytes", "\0".repeat(N)),
    ];
    for (name, text) in cases {
        let start = Instant::now();
        survives(&text);
        let took = start.elapsed();
        println!("{name}: {took:?}");
        assert!(took < Duration::from_secs(20), "{name} took {took:?}");
    }
}
