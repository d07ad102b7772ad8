//! `oriole run --expect`, and the line that says what ran.

use super::Bench;
use super::expected::{bytes, npy};
use crate::scratch::{error_text, text};

/// `y = 2 x + y` of three numbers: 3, 5, 7.
fn run(options: &str, status: i32) -> String {
    let bench = Bench::of("saxpy.ptx", "");
    bench.0.write("x.bin", bytes([1.0, 2.0, 3.0].into_iter()));
    bench.0.write("y.npy", npy("<f4", 3, &bytes([1.0; 3].into_iter())));
    bench.0.write("right.npy", npy("<f4", 3, &bytes([3.0, 5.0, 7.0].into_iter())));
    bench.0.write("near.bin", bytes([3.0, 5.0, 7.5].into_iter()));
    bench.0.write("short.bin", bytes([3.0, 5.0].into_iter()));
    bench.0.says(&format!("run saxpy.ptx --entry saxpy {options} f32:2 in:x.bin inout:y.npy:out.npy u32:3"), status)
}

#[test]
fn buffers_are_compared_with_files() {
    let rows = [
        ("2=right.npy", 0, ""),
        ("2=right.npy:f32[3]", 0, ""),
        ("2=near.bin:f32,rtol=0.1", 0, ""),
        ("2=near.bin:f32,atol=0.5", 0, ""),
        ("2=near.bin:f32,atol=0.25,nan=differ", 1, "max absolute error 0.5 at [2]"),
        (
            "2=near.bin:f32",
            1,
            "argument 2 is not near.bin: f32[3]: 1 of 3 elements differ\n  first [2]: expected 7.5, got 7.0",
        ),
        ("1=near.bin", 1, "argument 1 is not near.bin: u8[12]"),
        ("2=short.bin:f32", 1, "it has 12 bytes, 8 are expected"),
        ("2=right.npy:f64", 1, "the file is f32[3], not f64"),
        ("2=near.bin:f64", 1, "12 bytes, which are no f64"),
        ("2=nowhere", 1, "nowhere: cannot be read"),
        ("0=right.npy", 2, "no argument 0 that is a buffer"),
        ("9=right.npy", 2, "no argument 9 that is a buffer"),
        ("two=right.npy", 2, "'two' is not the position"),
        ("right.npy", 2, "expected N=PATH"),
        ("2=right.npy:f33", 2, "'f33' is no type"),
        ("2=right.npy,rtol=-1", 2, "no number from 0 on"),
    ];
    for engine in ["sim", "ptx"] {
        for (expect, status, reason) in rows {
            let said = run(&format!("--engine {engine} --block 3 --expect {expect}"), status);
            assert!(said.contains(reason), "{engine} {expect}: {said}");
        }
    }
    let said = run("--engine gpu --expect 2=right.npy", 2);
    assert!(said.contains("--expect does nothing with --engine gpu"), "{said}");
}

/// The buffers are written all the same, and every expectation is judged.
#[test]
fn outputs_are_written_whatever_is_expected() {
    let said = run("--block 3 --expect 2=near.bin:f32 --expect 1=near.bin:f32", 1);
    assert!(said.contains("argument 2 is not near.bin") && said.contains("argument 1 is not near.bin"), "{said}");
    let bench = Bench::of("saxpy.ptx", "");
    bench.0.write("want", bytes([0.5].into_iter()));
    let words = "run saxpy.ptx --entry saxpy --block 1 --expect 2=want f32:2 zero:4 out:y:f32[1] u32:1";
    bench.0.says(words, 1);
    assert_eq!(bench.0.read("y"), [0; 4]);
    // What is compared is not written over.
    assert!(bench.0.says(&words.replace("out:y", "out:want"), 2).contains("is an input"));
}

#[test]
fn a_line_says_what_ran() {
    let bench = Bench::of("hello.ptx", "");
    for (engine, target) in [("sim", "sm_86"), ("ptx", "sm_86")] {
        let output = bench.0.run(&format!(
            "run hello.ptx --entry hello --arch {target} --engine {engine} --grid 2 --block 1,3 --stats stats.json"
        ));
        assert_eq!(text(&output), "hello\n".repeat(6), "{engine}: what the kernel prints and nothing else");
        let stats: serde_json::Value = serde_json::from_slice(&bench.0.read("stats.json")).expect("JSON");
        let said = error_text(&output);
        let line = said.lines().last().expect("a line");
        let start = format!(
            "ran: hello, grid 2, block 1,3,1, {engine}, {target}, {} instructions, ",
            stats["warp_instructions"]
        );
        let seconds = line.strip_prefix(&start).and_then(|rest| rest.strip_suffix(" s"));
        assert!(seconds.is_some_and(|seconds| seconds.parse::<f64>().is_ok()), "{line}");
    }
    assert_eq!(bench.0.says("run hello.ptx --entry hello --quiet", 0), "");
    assert!(bench.0.says("run hello.ptx --entry nobody --quiet", 1).contains("nobody"));
}
