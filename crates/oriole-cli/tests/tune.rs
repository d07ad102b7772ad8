//! `oriole tune`: what it finds is made again by `oriole compile`, measured by `oriole run` and compared with what the host computes.

mod gpu;
mod shards;

use crate::scratch::{Scratch, error_text, finished, text, with_signals};
use serde_json::Value;
use std::fmt::Write;
use std::process::Command;
use std::time::{Duration, Instant};

const THREADS: u32 = 256;
/// Words that each thread of `chains` reads.
const WORDS: u32 = 14;
const LAUNCH: &str = "--entry chains --block 256 in:in out:left:1024";

/// How often a word goes through `x * x + word`.
fn rounds(word: u32) -> u32 {
    word % 4 + 1
}

/// Chains of different length that meet in one sum: their order matters. `extra` stands in front of the store of `%r2`.
fn chains(extra: [&str; 2]) -> String {
    let mut body = String::new();
    for word in 0..WORDS {
        let _ = writeln!(body, "ld.global.u32 %r3, [%rd4+{}];", 4 * THREADS * word);
        for _ in 0..rounds(word) {
            let _ = writeln!(body, "mad.lo.u32 %r3, %r3, %r3, {word};");
        }
        body.push_str("add.u32 %r2, %r2, %r3;\n");
    }
    let [first, last] = extra;
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry chains(.param .u64 in, .param .u64 out)\n{{\n\
         .reg .b32 %r<8>;\n.reg .b64 %rd<8>;\nld.param.u64 %rd1, [in];\nld.param.u64 %rd2, [out];\nmov.u32 %r1, %tid.x;\n\
         mul.wide.u32 %rd3, %r1, 4;\nadd.s64 %rd4, %rd1, %rd3;\nmov.u32 %r2, 0;\n{first}\n{body}{last}\n\
         add.s64 %rd5, %rd2, %rd3;\nst.global.u32 [%rd5], %r2;\nret;\n}}\n"
    )
}

fn input() -> Vec<u32> {
    (0..THREADS * WORDS).map(|at| at.wrapping_mul(0x9e37_79b9) ^ at).collect()
}

/// What `chains` leaves.
fn sums() -> Vec<u8> {
    let input = input();
    let sum = |thread: u32| {
        let chain = |word: u32| {
            let first = input[(word * THREADS + thread) as usize];
            (0..rounds(word)).fold(first, |x, _| x.wrapping_mul(x).wrapping_add(word))
        };
        (0..WORDS).map(chain).fold(0, u32::wrapping_add)
    };
    (0..THREADS).flat_map(|thread| sum(thread).to_le_bytes()).collect()
}

fn scratch(ptx: &str) -> Scratch {
    let scratch = Scratch::new();
    scratch.write("k.ptx", ptx);
    scratch.write("in", input().into_iter().flat_map(u32::to_le_bytes).collect::<Vec<u8>>());
    scratch
}

/// `oriole tune` with these options; its report.
fn tuned(scratch: &Scratch, options: &str) -> Value {
    let output = scratch.run(&format!("tune k.ptx --report report.json {options} -- {LAUNCH}"));
    assert!(output.status.success(), "{options}: {}", error_text(&output));
    serde_json::from_slice(&scratch.read("report.json")).expect("JSON")
}

/// `oriole compile` of the same with the options that stand in a report.
fn compiled(scratch: &Scratch, options: &Value) -> Vec<u8> {
    let words: Vec<&str> = options.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    assert!(scratch.run(&format!("compile k.ptx -o again.cubin {}", words.join(" "))).status.success(), "{words:?}");
    scratch.read("again.cubin")
}

/// The cycles of a cubin, and what it leaves.
fn measured(scratch: &Scratch, cubin: &str) -> (u64, Vec<u8>) {
    let output = scratch.run(&format!("run {cubin} --timing-file timing.json --strict {LAUNCH}"));
    assert!(output.status.success(), "{}", error_text(&output));
    let timing: Value = serde_json::from_slice(&scratch.read("timing.json")).expect("JSON");
    (timing["cycles"].as_u64().expect("a number"), scratch.read("left"))
}

#[test]
fn the_best_is_made_again_by_compile_and_is_as_fast_as_is_said() {
    let scratch = scratch(&chains([""; 2]));
    let report = tuned(&scratch, "-o best.cubin --trials 150 --jobs 2");
    let (plain, best) = (&report["plain"], &report["best"]);
    assert!(compiled(&scratch, &best["options"]) == scratch.read("best.cubin"), "{best:#}");
    assert_eq!(measured(&scratch, "best.cubin"), (best["cycles"].as_u64().expect("a number"), sums()));
    assert!(compiled(&scratch, &plain["options"]) != scratch.read("best.cubin"));
    assert_eq!(measured(&scratch, "again.cubin"), (plain["cycles"].as_u64().expect("a number"), sums()));
    assert_eq!(scratch.run("check best.cubin").status.code(), Some(0));
    // Each improvement is one, and the last is the best.
    let steps = report["improvements"].as_array().expect("a list");
    let cycles: Vec<u64> = [plain].into_iter().chain(steps).filter_map(|step| step["cycles"].as_u64()).collect();
    assert!(cycles.len() > 1 && cycles.is_sorted_by(|before, after| after < before), "{cycles:?}");
    assert_eq!(cycles.last().copied(), best["cycles"].as_u64());
    for step in steps {
        compiled(&scratch, &step["options"]);
        assert_eq!(measured(&scratch, "again.cubin").0, step["cycles"].as_u64().expect("a number"), "{step:#}");
    }
    assert_eq!(report["refused"], Value::Array(Vec::new()));
}

#[test]
fn trials_and_seed_decide_whatever_the_number_of_jobs() {
    let scratch = scratch(&chains([""; 2]));
    let of = |options: &str| {
        let mut report = tuned(&scratch, &format!("-o out --trials 145 {options}"));
        report["seconds"] = Value::Null;
        (report, scratch.read("out"))
    };
    let first = of("--seed 3 --jobs 1");
    assert_eq!(first.0["candidates"], 145);
    assert!(first == of("--seed 3 --jobs 3"), "{:#}", first.0);
    // What is by chance comes behind what is tried in any case; two seeds may give as many different codes.
    let other = |seed: u32| of(&format!("--seed {seed} --jobs 3")).0["codes"] != first.0["codes"];
    assert!((4..8).any(other), "{:#}", first.0);
}

/// A kernel that stores how long it takes leaves something else in every other order.
#[test]
fn what_leaves_something_else_is_refused() {
    let times = ["mov.u32 %r5, %clock;", "mov.u32 %r6, %clock;\nsub.u32 %r6, %r6, %r5;\nadd.u32 %r2, %r2, %r6;"];
    let scratch = scratch(&chains(times));
    let report = tuned(&scratch, "-o best.cubin --trials 130");
    let refused = report["refused"].as_array().expect("a list");
    assert!(refused.len() > 3 && refused.iter().any(|one| one["reason"] == "differs"), "{report:#}");
    // What was refused leaves something else indeed.
    compiled(&scratch, &report["plain"]["options"]);
    let plain = measured(&scratch, "again.cubin").1;
    for one in refused {
        compiled(&scratch, &one["options"]);
        assert_ne!(measured(&scratch, "again.cubin").1, plain, "{one:#}");
    }
    assert_eq!(measured(&scratch, "best.cubin").1, plain);
}

#[test]
fn where_nothing_is_better_plain_code_stays() {
    let scratch = Scratch::with_three();
    let output = scratch.run("tune b.ptx -o out --trials 100 --jobs 1 -- --entry kernel_b zero:12");
    assert!(output.status.success(), "{}", error_text(&output));
    assert!(text(&output).contains("nothing is better than plain -O3: --entry kernel_b"), "{}", text(&output));
    scratch.says("compile b.ptx -o plain --entry kernel_b", 0);
    assert!(scratch.read("out") == scratch.read("plain"));
}

#[test]
fn the_time_ends_a_search_and_so_does_a_signal() {
    let scratch = scratch(&chains([""; 2]));
    let started = Instant::now();
    let report = tuned(&scratch, "--seconds 1 --jobs 1");
    assert!(report["candidates"].as_u64() > Some(0) && report["interrupted"] == false, "{report:#}");
    assert!(started.elapsed() < Duration::from_secs(60));
    let mut command = scratch.command(&format!("tune k.ptx -o out --seconds 3000 --jobs 1 -- {LAUNCH}"));
    let child = with_signals(&mut command).stdout(std::process::Stdio::piped()).spawn().expect("oriole starts");
    std::thread::sleep(Duration::from_secs(2));
    let sent = Command::new("kill").args(["-s", "INT", &child.id().to_string()]).output().expect("kill is there");
    assert!(sent.status.success());
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success() && text(&output).contains("interrupted"), "{}", text(&output));
    assert_eq!(measured(&scratch, "out").1, sums());
}

/// A manifest of two launches of one program.
fn manifest(expected: &str) -> String {
    let launch = |name: &str, block: u32| {
        format!(
            "[[launch]]\nname = \"{name}\"\nprogram = \"k\"\nentry = \"chains\"\nblock = {block}\n\
             args = [{{ in = \"in\", type = \"u8[14336]\" }}, {{ out = \"u8[1024]\", expect = \"{expected}\" }}]\n"
        )
    };
    format!("[programs]\nk = \"k.ptx\"\nother = \"other.ptx\"\n{}{}", launch("all", 256), launch("again", 256))
}

#[test]
fn launches_of_a_manifest_count_together() {
    let scratch = scratch(&chains([""; 2]));
    scratch.write("other.ptx", crate::scratch::kernel("other", 1, 1));
    scratch.write("sums", sums());
    scratch.write("m.toml", manifest("sums"));
    let run = |words: &str| {
        let output = scratch.run(&format!("tune k.ptx --arch sm_90 --report report.json {words}"));
        assert!(output.status.success(), "{words}: {}", error_text(&output));
        serde_json::from_slice::<Value>(&scratch.read("report.json")).expect("JSON")
    };
    let both = run("--manifest m.toml --trials 20");
    let one = run("--manifest m.toml --trials 20 --filter again");
    assert_eq!(both["launches"], serde_json::json!(["all [sm_90 -O3]", "again [sm_90 -O3]"]));
    assert_eq!(both["plain"]["cycles"].as_u64(), one["plain"]["cycles"].as_u64().map(|cycles| 2 * cycles));
    let behind = run(&format!("--trials 20 -- {LAUNCH}"));
    assert_eq!(behind["plain"]["cycles"], one["plain"]["cycles"]);
    assert_eq!(behind["best"]["options"], one["best"]["options"]);
    // What is wrong with plain code is said as `oriole test` says it.
    scratch.write("m.toml", manifest("in"));
    scratch.says("tune k.ptx --manifest m.toml", 2);
    scratch.write("wrong", vec![0; 1024]);
    scratch.write("m.toml", manifest("wrong"));
    assert!(scratch.says("tune k.ptx --manifest m.toml", 1).contains("failed: all"));
    assert!(scratch.says("tune other.ptx --manifest m.toml", 2).contains("no launch compiles other.ptx"));
}

#[test]
fn plain_code_that_is_no_measure() {
    let scratch = scratch(&chains([""; 2]));
    let fault = scratch.says("tune k.ptx -o out -- --entry chains --block 256 zero:16 out:left:1024", 3);
    assert!(fault.starts_with("fault: illegal address"), "{fault}");
    scratch.write("wrong", vec![0; 1024]);
    let wrong = scratch.says(&format!("tune k.ptx -- {}", LAUNCH.replace("in:in", "--expect 1=wrong in:in")), 1);
    assert!(wrong.starts_with("error: argument 1 is not wrong"), "{wrong}");
    assert!(!scratch.path("out").exists() && !scratch.path("left").exists());
}

#[test]
fn wrong_usage_is_named() {
    let scratch = scratch(&chains([""; 2]));
    scratch.write("m.toml", manifest("sums"));
    let cases = [
        ("", "a launch behind -- or --manifest MANIFEST.toml is missing"),
        (
            "--engine ptx -- --entry chains",
            "--engine ptx: candidates are measured by the cycle model of sim or by a gpu",
        ),
        ("-q -- --entry chains", "-q: without -o and --report nothing would come of it"),
        ("-o - -- --entry chains", "standard output takes one of"),
        ("-o in -- --entry chains in:in zero:1024", "in: the output is an input file"),
        ("-o out --report out -- --entry chains zero:4 zero:4", "out: two outputs are this file"),
        ("-- --entry chains --engine ptx zero:4 zero:4", "no --engine, no --arch"),
        ("-- --entry chains --stats s zero:4 zero:4", "the launch behind -- is made many times: no --stats"),
        ("--ftz -- --entry chains zero:4 zero:4", "--ftz: acts on LLVM IR"),
        ("--manifest m.toml --ftz", "cannot be used with"),
        ("--filter x -- --entry chains", "--filter: chooses launches of a --manifest"),
        ("--trials 0 -- --entry chains", "0"),
    ];
    for (words, message) in cases {
        let said = scratch.says(&format!("tune k.ptx {words}"), 2);
        assert!(said.contains(message), "{words}: {said}");
    }
    let output = finished(scratch.command(&format!("tune k.ptx -q -o - --trials 9 -- {LAUNCH}")));
    assert_eq!(&output.stdout[..4], b"\x7fELF");
}
