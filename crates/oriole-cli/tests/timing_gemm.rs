//! The cycle model on a matrix product as Hopper's libraries have it: persistent, warp-specialised, with tensor copies to clusters and
//! products of warpgroups (`examples/gemm_sm90a.ptx`).

use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Rows of A and of B: what a cluster of two blocks computes.
const ROWS: usize = 256;
/// Elements along K that a step takes.
const STEP: usize = 64;
/// Bytes of shared memory: 1024 for mbarriers, three stages of 48 KiB, 64 KiB of C.
const SHARED: usize = 1024 + 3 * (48 << 10) + (64 << 10);

/// Elements of -1, 0 and 1 by a linear congruential generator: their sums are exact in bf16.
fn elements(count: usize, seed: u32) -> Vec<i32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) as i32 % 3 - 1
    };
    (0..count).map(|_| next()).collect()
}

fn bf16(values: &[i32]) -> Vec<u8> {
    values.iter().flat_map(|&value| ((value as f32).to_bits() >> 16).to_le_bytes()[..2].to_vec()).collect()
}

/// Multiplies on two multiprocessors whose second level holds the operands; checks the product against the host; cycles.
fn cycles(depth: usize) -> u64 {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("a UTF-8 path").to_owned();
    let (a, b) = (elements(ROWS * depth, 1), elements(ROWS * depth, 2));
    std::fs::write(at("a"), bf16(&a)).expect("the folder is there");
    std::fs::write(at("b"), bf16(&b)).expect("the folder is there");
    let operand = |name: &str| format!("tensormap:bf16:{depth},{ROWS}:-:64,128:swizzle128=in:{}", at(name));
    let c = format!("tensormap:bf16:{ROWS},{ROWS}:-:64,64:swizzle128=out:{}:{}", at("c"), 2 * ROWS * ROWS);
    let input = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/gemm_sm90a.ptx");
    let (shared, steps) = (SHARED.to_string(), format!("u32:{}", depth / STEP));
    let mut run = Command::new(env!("CARGO_BIN_EXE_oriole"));
    run.arg("run")
        .arg(input)
        .args(["--arch", "sm_90a", "--entry", "gemm", "--grid", "2", "--block", "384", "--shared", &shared]);
    run.args(["--timing-sms", "2", "--timing-warm", "--timing-file", &at("timing.json")]);
    run.args([&operand("a"), &operand("b"), &c, "u32:1", "u32:1", &steps]);
    let done = run.output().expect("it starts");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let product = std::fs::read(at("c")).expect("the run wrote it");
    for (i, found) in product.chunks_exact(2).enumerate() {
        let (row, column) = (&a[i / ROWS * depth..][..depth], &b[i % ROWS * depth..][..depth]);
        let sum: i32 = row.iter().zip(column).map(|(a, b)| a * b).sum();
        assert_eq!(found, bf16(&[sum]), "row {}, column {}", i / ROWS, i % ROWS);
    }
    let report: Value = serde_json::from_slice(&std::fs::read(at("timing.json")).expect("the report")).expect("JSON");
    report["cycles"].as_u64().expect("a number")
}

/// An H100 takes 50.4 µs for 4096 x 4096 x 1024 (681.1 TFLOP/s) and 174.8 µs for 4096^3 (786.0 TFLOP/s; OpenXLA's table for its cost
/// model). Four tiles of a multiprocessor one after the other in 48 steps more: 648 ns a step, 1186 cycles at 1830 MHz.
#[test]
fn a_step_of_a_persistent_product_takes_what_silicon_takes() {
    const PUBLISHED: f64 = 1186.0;
    let steps = 4;
    let cycles = (cycles(STEP * 2 * steps) - cycles(STEP * steps)) as f64 / steps as f64;
    assert!((cycles / PUBLISHED - 1.0).abs() < 0.25, "{cycles} cycles a step, published {PUBLISHED}");
}
