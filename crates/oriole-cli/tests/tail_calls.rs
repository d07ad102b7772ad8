//! Calls at the ends of functions. What they compute `tests/programs/tail_calls.ptx` says on all sides; here, that they leave no frames behind.

use crate::read_back;

use oriole_cubin::Cubin;
use std::path::Path;
use std::process::Command;

/// The program that has one of each kind.
const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/programs/tail_calls.ptx");
const TARGETS: [&str; 5] = ["sm_80", "sm_89", "sm_90", "sm_100a", "sm_120a"];

fn oriole(arguments: &[&str]) -> String {
    let output = read_back::run(Command::new(env!("CARGO_BIN_EXE_oriole")).args(arguments));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {said}");
    String::from_utf8(output.stdout).expect("text")
}

fn compile(ptx: &Path, cubin: &Path, options: &[&str]) -> Cubin {
    let (ptx, path) = (ptx.display().to_string(), cubin.display().to_string());
    oriole(&[&["compile", &ptx, "-o", &path], options].concat());
    Cubin::parse(&std::fs::read(cubin).expect("the cubin")).expect("it is one")
}

/// The instructions of a function that stands behind a kernel's code.
fn function<'t>(listing: &'t str, name: &str) -> Vec<&'t str> {
    let head = format!("$k${name}:");
    let behind = listing.lines().skip_while(|line| !line.starts_with(&head)).skip(1);
    let lines: Vec<&str> = behind.take_while(|line| !line.starts_with("$k$")).collect();
    assert!(!lines.is_empty(), "{name} is not in {listing}");
    lines
}

#[test]
fn calls_at_the_end_keep_nothing() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let cubin = folder.path().join("out.cubin");
    for target in TARGETS {
        let frame = |cubin: &Cubin| cubin.functions.iter().find(|f| f.name == "k").map(|k| k.frame_size);
        // Two arrays of 100 words, one after the other.
        assert_eq!(frame(&compile(Path::new(PROGRAM), &cubin, &["--arch", target])), Some(400), "{target}");
        let listing = oriole(&["disasm", &cubin.display().to_string()]);
        let count = |name: &str, text: &str| function(&listing, name).iter().filter(|line| line.contains(text)).count();
        // A loop with its convergence points.
        assert_eq!((count("sum_to", "CALL"), count("sum_to", "BSYNC")), (0, 1), "{target}");
        for tail in ["plain", "store_ahead", "pair_of", "other"] {
            assert_eq!((count(tail, "CALL"), count(tail, "R1,"), count(tail, "STL")), (1, 0, 0), "{tail} {target}");
        }
        // Its callee does not keep to the convention of indirect calls: it has an address to keep.
        assert_eq!((count("outer", "CALL"), count("outer", "STL")), (1, 1), "{target}");
        compile(Path::new(PROGRAM), &cubin, &["--arch", target, "--knob", "tail-calls=0"]);
        let listing = oriole(&["disasm", &cubin.display().to_string()]);
        let calls = |name: &str| function(&listing, name).iter().filter(|line| line.contains("CALL")).count();
        assert_eq!(calls("sum_to"), 1, "{target}");
    }
}

/// Many steps of a function that calls itself last: no local memory would have room for a frame each.
#[test]
fn recursion_at_the_end_takes_no_stack() {
    const STEPS: u32 = 100_000;
    let module = ".version 8.0\n.target sm_80\n.address_size 64
        .func (.param .b32 z) sum_to(.param .b32 n, .param .b32 sum) {
        .reg .b32 %n, %s; .reg .pred %p;
        ld.param.u32 %n, [n]; ld.param.u32 %s, [sum]; setp.eq.u32 %p, %n, 0; @%p bra done;
        mad.lo.u32 %s, %s, 3, %n; sub.u32 %n, %n, 1;
        { .param .b32 a; .param .b32 b; .param .b32 c; st.param.b32 [a], %n; st.param.b32 [b], %s;
          call (c), sum_to, (a, b); ld.param.b32 %s, [c]; }
        st.param.b32 [z], %s; ret;
        done: st.param.b32 [z], %s; ret; }
        .visible .entry k(.param .u32 n, .param .u64 out) {
        .reg .b32 %n, %t, %s; .reg .b64 %p, %o;
        ld.param.u32 %n, [n]; ld.param.u64 %p, [out]; mov.u32 %t, %tid.x; add.u32 %n, %n, %t;
        mul.wide.u32 %o, %t, 4; add.u64 %p, %p, %o;
        { .param .b32 a; .param .b32 b; .param .b32 c; st.param.b32 [a], %n; st.param.b32 [b], %t;
          call (c), sum_to, (a, b); ld.param.b32 %s, [c]; }
        st.global.u32 [%p], %s; ret; }\n";
    let expected = |thread: u32| (1..=STEPS + thread).rev().fold(thread, |sum, n| sum.wrapping_mul(3).wrapping_add(n));
    let expected: Vec<u8> = (0..4).flat_map(|thread| expected(thread).to_le_bytes()).collect();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let [ptx, cubin, out] = ["in.ptx", "out.cubin", "out.bin"].map(|name| folder.path().join(name));
    std::fs::write(&ptx, module).expect("it can be written");
    for target in TARGETS {
        compile(&ptx, &cubin, &["--arch", target]);
        let (cubin, n, buffer) =
            (cubin.display().to_string(), format!("u32:{STEPS}"), format!("out:{}:16", out.display()));
        oriole(&["run", "--strict", "--entry", "k", "--block", "4", &cubin, &n, &buffer]);
        assert_eq!(std::fs::read(&out).expect("the output"), expected, "{target}");
    }
}
