//! Limits of a run: time, text, code and constants. Both engines name what was exceeded.

use std::process::Command;
use std::time::{Duration, Instant};

/// Runs kernel `k(.param .u64 p, .param .u32 n)` with four bytes and a number; status and standard error.
fn run(head: &str, body: &str, engine: &str, options: &[&str], number: u32) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let input = folder.path().join("in.ptx");
    let ptx = format!(
        ".version 7.8\n.target sm_80\n.address_size 64\n{head}\n.visible .entry k(.param .u64 p, .param .u32 n) {{\n\
         .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<9>;\nld.param.u64 %rd1, [p]; ld.param.u32 %r1, [n];\n{body}\nret;\n}}\n"
    );
    std::fs::write(&input, ptx).expect("the folder is ours");
    let mut command = Command::new(env!("CARGO_BIN_EXE_oriole"));
    command.args(["run", "--entry", "k", "--arch", "sm_80", "--engine", engine]).args(options);
    let output = command.arg(&input).args(["zero:4", &format!("u32:{number}")]).output().expect("oriole starts");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Both engines fault with all of `words`.
fn faults(head: &str, body: &str, options: &[&str], number: u32, words: &[&str]) {
    for engine in ["sim", "ptx"] {
        let (status, text) = run(head, body, engine, options, number);
        assert_eq!(status, Some(3), "{engine}: {text}");
        for word in words {
            assert!(text.contains(word), "{engine}: no '{word}' in: {text}");
        }
    }
}

#[test]
fn a_launch_that_takes_too_long() {
    let start = Instant::now();
    faults("", "L: bra L;", &["--timeout", "0.2"], 0, &["time limit", "0.2 seconds", "kernel k"]);
    assert!(start.elapsed() > Duration::from_millis(400), "twice the limit");
    let (status, text) = run("", "st.global.u32 [%rd1], %r1;", "sim", &["--timeout", "1000"], 0);
    assert_eq!(status, Some(0), "{text}");
    for wrong in ["0", "-1", "soon", "NaN"] {
        let (status, text) = run("", "", "sim", &[&format!("--timeout={wrong}")], 0);
        assert!(status == Some(2) && text.contains("--timeout"), "{text}");
    }
}

/// A text of 1024 bytes, and what prints it.
fn prints() -> String {
    let words = ["0x3736353433323130"; 128].join(", ");
    format!(
        ".extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);
        .global .align 8 .b64 text[129] = {{{words}, 0}};"
    )
}
/// Prints it again and again.
const PRINT: &str = "mov.u64 %rd2, text; cvta.global.u64 %rd3, %rd2; mov.u32 %r2, 0;
    L: { .param .b64 f; .param .b64 a; .param .b32 o; st.param.b64 [f], %rd3; st.param.b64 [a], 0;
    call (o), vprintf, (f, a); }
    add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, %r1; @%p1 bra L;";

#[test]
fn a_kernel_that_prints_too_much() {
    let words = ["output limit", "16777216 bytes", "kernel k"];
    let prints = prints();
    faults(&prints, PRINT, &[], u32::MAX, &words);
    // 1024 bytes in each of 20,000 blocks: none prints much.
    faults(&prints, PRINT, &["--grid", "20000"], 1, &words);
    for engine in ["sim", "ptx"] {
        let (status, text) = run(&prints, PRINT, engine, &[], 1000);
        assert_eq!(status, Some(0), "{text}");
    }
}

#[test]
fn a_constant_past_the_end() {
    let head = ".const .align 4 .b32 c[4] = {1, 2, 3, 4};";
    let body = "mul.wide.u32 %rd2, %r1, 4; mov.u64 %rd3, c; add.u64 %rd3, %rd3, %rd2; ld.const.u32 %r2, [%rd3];
        st.global.u32 [%rd1], %r2;";
    faults(head, body, &[], 1000, &["illegal address: constant read of 4 bytes"]);
    for engine in ["sim", "ptx"] {
        assert_eq!(run(head, body, engine, &[], 3).0, Some(0));
    }
    let fixed = "ld.const.u32 %r2, [c+64]; st.global.u32 [%rd1], %r2;";
    faults(head, fixed, &[], 0, &["illegal address: constant read of 4 bytes"]);
}

#[test]
fn a_call_to_nowhere() {
    let head = ".func (.reg .b32 o) f(.reg .b32 i) { add.u32 o, i, 1; ret; }
        .global .align 8 .u64 table[2] = {f, 4660};";
    let body = "mul.wide.u32 %rd2, %r1, 8; mov.u64 %rd3, table; add.u64 %rd3, %rd3, %rd2; ld.global.u64 %rd4, [%rd3];
        proto: .callprototype (.reg .b32 _) _ (.reg .b32 _);
        call (%r2), %rd4, (%r1), proto; st.global.u32 [%rd1], %r2;";
    // In our code for this target what passes for the address of a function is a place in a table of constants.
    faults(head, body, &[], 1, &["0x1234"]);
    assert!(run(head, body, "ptx", &[], 1).1.contains("jump to 0x1234, where there is no code"));
    for engine in ["sim", "ptx"] {
        assert_eq!(run(head, body, engine, &[], 0).0, Some(0));
    }
}
