//! Chips that share an instruction set and yet are not one chip. What ptxas does differently on them, scoreboards and the times that it leaves slow
//! units, is in our data; and our own code goes by the same data.

use oriole_check::{Kind, check, timeline};
use oriole_codegen::{CompileOptions, compile};
use oriole_cubin::{Cubin, Target};
use oriole_isa::{Arch, Control, Inst, Opcode, latency};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

/// Chips side by side: those of one instruction set, and the two sets that are nearest to each other.
const PAIRS: [(&str, &str); 10] = [
    ("sm_80", "sm_86"),
    ("sm_80", "sm_87"),
    ("sm_86", "sm_87"),
    ("sm_86", "sm_89"),
    ("sm_86", "sm_88"),
    ("sm_100a", "sm_103a"),
    ("sm_100a", "sm_110a"),
    ("sm_103a", "sm_110a"),
    ("sm_120a", "sm_121a"),
    ("sm_100a", "sm_120a"),
];

/// Fewer instructions or pairs of them say nothing of a chip.
const ENOUGH: usize = 10;

/// Statements of a block and the file of their results: `O` is the number of the first result, `A`, `B` and `C` are sources.
const STATEMENTS: [(char, usize, &str); 10] = [
    ('d', 1, "add.f64 %dO, %dA, %dB;"),
    ('d', 1, "fma.rn.f64 %dO, %dA, %dB, %dC;"),
    ('d', 1, "mul.f64 %dO, %dA, %dB;"),
    ('r', 1, "setp.lt.f64 %p, %dA, %dB; selp.b32 %rO, 1, 2, %p;"),
    ('f', 1, "cvt.rn.f32.f64 %fO, %dA;"),
    ('f', 1, "cvt.rn.f32.u64 %fO, %dA;"),
    ('f', 1, "sin.approx.f32 %fO, %fA;"),
    ('r', 1, "popc.b32 %rO, %rA;"),
    ('d', 2, "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%dO, %dO+1}, {%dA}, {%dB}, {%dC, %dA};"),
    (
        'r',
        4,
        "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%rO, %rO+1, %rO+2, %rO+3}, {%rA, %rB, %rC, %rA}, {%rA, %rB}, {%rA, %rB, %rC, %rA};",
    ),
];

/// Kernels of one block each, of such statements in an order that goes by `seed`.
fn module(target: &str, seed: u64) -> String {
    let mut text = format!(
        ".version 9.0\n.target {target}\n.address_size 64\n.visible .entry k(.param .u64 p) {{\n.reg .b64 %q, %d<400>; .reg .f32 %f<400>; .reg .b32 %r<400>; \
         .reg .pred %p;\nld.param.u64 %q, [p];\n"
    );
    for n in 0..4 {
        let _ = writeln!(
            text,
            "ld.global.b64 %d{n}, [%q+{}]; ld.global.b32 %r{n}, [%q+{}]; ld.global.f32 %f{n}, [%q+{}];",
            8 * n,
            64 + 4 * n,
            96 + 4 * n
        );
    }
    let mut state = seed;
    let mut draw = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let mut stores = String::new();
    for number in 0..14 {
        let (file, results, statement) = STATEMENTS[draw(STATEMENTS.len())];
        let first = 8 + 4 * number;
        let mut made = statement.to_owned();
        for next in (1..results).rev() {
            made = made.replace(&format!("O+{next}"), &(first + next).to_string());
        }
        made = made
            .replace("%dO", &format!("%d{first}"))
            .replace("%fO", &format!("%f{first}"))
            .replace("%rO", &format!("%r{first}"));
        for source in ["A", "B", "C"] {
            let n = draw(4);
            for file in ["d", "f", "r"] {
                made = made.replace(&format!("%{file}{source}"), &format!("%{file}{n}"));
            }
        }
        text += &made;
        text.push('\n');
        let bits = if file == 'd' { 64 } else { 32 };
        for result in first..first + results {
            let _ = writeln!(stores, "st.global.b{bits} [%q+{}], %{file}{result};", 256 + 8 * result);
        }
    }
    text + &stores + "ret;\n}\n"
}

/// A family of instructions that one slow unit may have.
fn family(inst: &Inst) -> Option<&'static str> {
    match inst.opcode {
        Opcode::DADD | Opcode::DMUL | Opcode::DFMA | Opcode::DSETP => Some("f64"),
        Opcode::DMMA => Some("products of f64"),
        Opcode::IMMA => Some("products of integers"),
        Opcode::MUFU => Some("transcendental"),
        _ => None,
    }
}

/// What the code for a chip does.
#[derive(Default)]
struct Seen {
    /// By opcode: one instruction, how many there are, how many set a write scoreboard.
    opcodes: BTreeMap<&'static str, (Option<Inst>, usize, usize)>,
    /// By family: one instruction, pairs of neighbours, the fewest cycles between two.
    nearest: BTreeMap<&'static str, (Option<Inst>, usize, u32)>,
}

impl Seen {
    fn add(&mut self, cubin: &Cubin) {
        for function in timeline(cubin, &[]).expect("known latencies") {
            for block in function.blocks {
                let (mut now, mut last) = (0, BTreeMap::new());
                for issue in block.instructions {
                    let inst = issue.inst;
                    let (one, all, with) = self.opcodes.entry(inst.opcode.name()).or_default();
                    *all += 1;
                    *with += usize::from(inst.control.write_scoreboard != Control::NO_SCOREBOARD);
                    one.get_or_insert_with(|| inst.clone());
                    let cycles = u32::from(inst.control.cycles());
                    if let Some(family) = family(&inst)
                        && let Some(before) = last.insert(family, now)
                    {
                        let (one, pairs, least) = self.nearest.entry(family).or_insert((None, 0, u32::MAX));
                        *pairs += 1;
                        *least = (*least).min(now - before);
                        one.get_or_insert(inst);
                    }
                    now += cycles;
                }
            }
        }
    }
}

fn chip(target: &str) -> Arch {
    target.parse().expect("a known target")
}

/// Modules for a target: random blocks, and the kernels of the repository that the target takes.
fn modules(target: &str) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/kernels/ptx");
    let kernels =
        std::fs::read_dir(folder).expect("kernels of the repository").map(|entry| entry.expect("a file").path());
    let mut kernels: Vec<_> = kernels.filter(|path| path.to_string_lossy().contains("sm_80")).collect();
    kernels.sort();
    let retargeted = kernels.into_iter().map(|path| {
        let text = std::fs::read_to_string(path).expect("a text");
        let line = |line: &str| match line.trim_start() {
            start if start.starts_with(".target") => format!(".target {target}\n"),
            start if start.starts_with(".version") => ".version 9.0\n".to_owned(),
            _ => format!("{line}\n"),
        };
        text.lines().map(line).collect()
    });
    (0..10).map(|seed| module(target, seed)).chain(retargeted).collect()
}

#[test]
fn what_ptxas_does_differently_is_in_our_data() {
    let Some(ptxas) = oriole_prerequisites::tool("ptxas") else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let (source, out) = (folder.path().join("k.ptx"), folder.path().join("k.cubin"));
    let mut all: BTreeMap<&str, Seen> = BTreeMap::new();
    for target in PAIRS.into_iter().flat_map(|(a, b)| [a, b]) {
        if all.contains_key(target) {
            continue;
        }
        let seen = all.entry(target).or_default();
        for text in modules(target) {
            std::fs::write(&source, text).expect("written");
            let mut command = Command::new(&ptxas);
            command.arg("-arch").arg(target).arg(&source).arg("-o").arg(&out);
            if !command.output().expect("ptxas runs").status.success() {
                continue;
            }
            let cubin = Cubin::parse(&std::fs::read(&out).expect("a file")).expect("a cubin");
            let early = check(&cubin, &[]).expect("known latencies").findings;
            let early: Vec<_> = early.into_iter().filter(|finding| finding.kind == Kind::Pace).collect();
            assert!(early.is_empty(), "{target}: {}", early[0]);
            seen.add(&cubin);
        }
    }
    for (a, b) in PAIRS {
        differences(a, b, &all[a], &all[b]);
    }
}

/// Each difference in what was seen has one in the data.
fn differences(a: &str, b: &str, first: &Seen, second: &Seen) {
    let mut compared = 0;
    for (opcode, (inst, all, with)) in &first.opcodes {
        let Some((_, others, with_others)) = second.opcodes.get(opcode) else { continue };
        let share = |with: usize, all: usize| with as f64 / all as f64;
        let inst = inst.as_ref().expect("one was seen");
        if *all.min(others) >= ENOUGH && (share(*with, *all) - share(*with_others, *others)).abs() > 0.5 {
            let variable = [a, b].map(|target| latency::is_variable(inst, chip(target)));
            assert_ne!(
                variable[0], variable[1],
                "{opcode}: scoreboards in {with} of {all} on {a}, {with_others} of {others} on {b}"
            );
        }
        compared += 1;
    }
    assert!(compared > 20, "{a} and {b} share {compared} opcodes");
    for (family, (inst, pairs, least)) in &first.nearest {
        let Some((_, others, least_other)) = second.nearest.get(family) else { continue };
        let inst = inst.as_ref().expect("one was seen");
        if *pairs.min(others) >= ENOUGH && (*least > 2 * least_other || *least_other > 2 * least) {
            let paces = [a, b].map(|target| latency::pace(inst, chip(target)));
            assert_ne!(
                paces[0], paces[1],
                "{family}: the nearest two are {least} cycles apart on {a}, {least_other} on {b}"
            );
        }
    }
}

/// Doubles on chips where they are slow, and on one where they are not.
#[test]
fn our_code_leaves_slow_units_their_time() {
    for (target, least) in
        [("sm_100a", 2), ("sm_103a", 64), ("sm_110a", 64), ("sm_110", 64), ("sm_120a", 64), ("sm_121a", 64)]
    {
        let mut seen = Seen::default();
        for seed in 0..6 {
            for opt_level in [0, 3] {
                let options =
                    CompileOptions { target: Target::from_name(target), opt_level, ..CompileOptions::default() };
                let cubin =
                    compile(&module(target, seed), &options).unwrap_or_else(|error| panic!("{target}: {error}")).cubin;
                let cubin = Cubin::parse(&cubin).expect("a cubin");
                let findings = check(&cubin, &[]).expect("known latencies").findings;
                assert!(findings.is_empty(), "{target}, -O{opt_level}, seed {seed}: {}", findings[0]);
                seen.add(&cubin);
            }
        }
        let (_, pairs, nearest) = seen.nearest["f64"];
        assert!(pairs >= ENOUGH, "{target}: {pairs} pairs");
        assert!(if least == 2 { nearest < 64 } else { nearest >= least }, "{target}: {nearest} cycles");
    }
}
