//! `oriole run --check` on small kernels with a known mistake each, and on the same kernels without it. What must be
//! found follows from the PTX manual's memory consistency model and the CUDA guide, not from what the checks print.

use crate::memcheck_seeds::sync::{self, SYNCWARP_IN_BRANCH};
use crate::memcheck_seeds::{SEEDS, Seed};
use serde_json::Value;
use std::process::Command;

/// The kernel around the body of one of [`SEEDS`]: `%r1` thread, `%r3` the thread's word of `s`, `%r4` the same thread's
/// word in the neighbouring warp, `%rd4` and `%rd5` the thread's word of `out` and `inp`.
fn source(seed: &Seed) -> String {
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n\
         .extern .func (.param .b64 r) malloc (.param .b64 size);\n.extern .func free (.param .b64 address);\n\
         .visible .global .align 8 .b8 g6[6];\n.visible .global .align 8 .b8 g8[8];\n\
         .visible .entry k(.param .u64 out, .param .u64 inp)\n{{\n\
         .reg .pred %p<8>; .reg .b32 %r<32>; .reg .b64 %rd<32>;\n{}\n\
         .shared .align 16 .b8 s[1024];\n\
         ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [inp];\n\
         mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 2; mov.u32 %r3, s; add.u32 %r3, %r3, %r2;\n\
         xor.b32 %r4, %r2, 128; mov.u32 %r6, s; add.u32 %r4, %r4, %r6;\n\
         mul.wide.u32 %rd3, %r1, 4; add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3;\n\
         {}\nret;\n}}\n",
        seed.declarations, seed.body
    )
}

/// Exit status and report of all checks.
fn check(seed: &Seed, threads: &str) -> (i32, Value) {
    check_kinds(seed, threads, "all,global-init")
}

/// Exit status and report.
fn check_kinds(seed: &Seed, threads: &str, kinds: &str) -> (i32, Value) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("a UTF-8 path").to_owned();
    let code = seed.cubin.map_or_else(|| source(seed).into_bytes(), Vec::from);
    std::fs::write(path("k"), code).expect("written");
    std::fs::write(path("in.bin"), [1; 256]).expect("written");
    let done = Command::new(env!("CARGO_BIN_EXE_oriole"))
        .args(["run", &path("k"), "--entry", "k", "--block", "64", "--grid", "2", "--threads", threads])
        .args(["--check", kinds, "--check-report", &path("report.json")])
        .args([format!("out:{}:512", path("out.bin")), format!("in:{}", path("in.bin"))])
        .output()
        .expect("oriole starts");
    let report = std::fs::read_to_string(path("report.json"));
    let report = report.unwrap_or_else(|_| panic!("{}: {}", seed.name, String::from_utf8_lossy(&done.stderr)));
    (done.status.code().unwrap_or(-1), serde_json::from_str(&report).expect("JSON"))
}

fn kinds(report: &Value) -> Vec<&str> {
    let mut kinds: Vec<&str> = report["findings"]
        .as_array()
        .expect("findings")
        .iter()
        .filter_map(|finding| finding["kind"].as_str())
        .collect();
    kinds.dedup();
    kinds
}

#[test]
fn mistakes_are_found_and_correct_kernels_are_silent() {
    let mut wrong = Vec::new();
    for seed in SEEDS.iter().chain(sync::SEEDS) {
        let (status, report) = check(seed, "1");
        let is_error = seed.finds.iter().any(|&kind| kind != "leak");
        if kinds(&report) != seed.finds || status != if is_error { 3 } else { 0 } {
            wrong.push(format!("{}: exit status {status}, {report:#}", seed.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn reports_do_not_depend_on_the_number_of_threads() {
    for seed in SEEDS.iter().chain(sync::SEEDS).filter(|seed| !seed.finds.is_empty()) {
        assert_eq!(check(seed, "1"), check(seed, "4"), "{}", seed.name);
    }
}

/// The host may mean a buffer to be without contents.
#[test]
fn reads_of_outputs_are_reported_only_if_asked_for() {
    let seed = SEEDS.iter().find(|seed| seed.name == "an output read").expect("it is there");
    assert_eq!(kinds(&check_kinds(seed, "1", "all").1), [""; 0]);
    assert_eq!(kinds(&check_kinds(seed, "1", "global-init").1), ["uninitialised"]);
}

/// Both places are named, and what mends it.
#[test]
fn findings_of_synchronisation_name_both_places() {
    let places = [
        ("barriers on both sides of a branch", "bar.sync", "bar.sync"),
        (SYNCWARP_IN_BRANCH.name, "bar.warp.sync", ""),
    ];
    for (name, later, earlier) in places {
        let seed = sync::SEEDS.iter().find(|seed| seed.name == name).expect("it is there");
        let (_, report) = check(seed, "1");
        let finding = &report["findings"][0];
        let text = source(seed);
        let line = |site: &str| {
            let at = finding[site]["line"].as_u64().and_then(|at| text.lines().nth(at as usize - 1));
            at.unwrap_or_default().to_owned()
        };
        assert!(line("later").contains(later) && line("earlier").contains(earlier), "{name}: {finding:#}");
        assert!(
            finding["earlier"]["pc"].is_u64() && finding["mended_by"].as_str().is_some_and(|text| !text.is_empty())
        );
    }
}

/// Threads that wait for others which wait elsewhere go on without them, if that is asked for: then all come to the barrier.
#[test]
fn absent_lanes_can_be_skipped() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("a UTF-8 path").to_owned();
    std::fs::write(path("k.ptx"), source(&SYNCWARP_IN_BRANCH)).expect("written");
    std::fs::write(path("in.bin"), [1; 256]).expect("written");
    let run = |options: &[&str]| {
        let done = Command::new(env!("CARGO_BIN_EXE_oriole"))
            .args(["run", &path("k.ptx"), "--entry", "k", "--block", "64"])
            .args(options)
            .args([format!("out:{}:256", path("out.bin")), format!("in:{}", path("in.bin"))])
            .output()
            .expect("oriole starts");
        (done.status.code(), String::from_utf8_lossy(&done.stderr).into_owned())
    };
    let (status, said) = run(&[]);
    assert!(status == Some(3) && said.contains("deadlock"), "{said}");
    assert_eq!(run(&["--absent-lanes", "skip"]).0, Some(0));
    let expected: Vec<u8> = (0u32..64).flat_map(u32::to_le_bytes).collect();
    assert_eq!(std::fs::read(path("out.bin")).expect("written"), expected);
    let (status, said) = run(&["--absent-lanes", "skip", "--check", "sync"]);
    assert!(status == Some(3) && said.contains("waits-elsewhere"), "{said}");
}

#[test]
fn a_race_names_both_threads_and_both_lines() {
    let seed = SEEDS.iter().find(|seed| seed.name == "read of what another warp writes").expect("it is there");
    let (_, report) = check(seed, "1");
    let findings = report["findings"].as_array().expect("findings");
    let race = findings.iter().find(|finding| finding["kind"] == "race" && finding["later"]["access"] == "read");
    let race = race.expect("the read races");
    assert_eq!(race["earlier"]["access"], "write", "{race:#}");
    let thread = |site: &str| race[site]["thread"][0].as_u64().expect("a number");
    assert_eq!(thread("later") ^ 32, thread("earlier"), "the neighbour's word");
    let lines = [&race["later"]["line"], &race["earlier"]["line"]].map(|line| line.as_u64().expect("a line"));
    let text = source(seed);
    let line = |at: u64| text.lines().nth(at as usize - 1).expect("in the file").to_owned();
    assert!(line(lines[0]).contains("ld.shared") && line(lines[1]).contains("st.shared"), "{lines:?}");
}
