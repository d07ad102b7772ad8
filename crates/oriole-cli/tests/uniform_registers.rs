//! Uniform registers that are few or not wanted, and what is said of them.

use crate::read_back;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

fn oriole() -> Command {
    Command::new(env!("CARGO_BIN_EXE_oriole"))
}

/// Whether a command succeeds, and what it says.
fn said(command: &mut Command) -> (bool, String) {
    let done = read_back::run(command);
    (done.status.success(), String::from_utf8_lossy(&done.stderr).into_owned())
}

/// Compile what is in `folder`: whether it succeeds, and what is said.
fn compile(folder: &Path, options: &[&str]) -> (bool, String) {
    let (input, output) = (folder.join("k.ptx"), folder.join("k.cubin"));
    said(oriole().args(["compile", "--verify"]).arg(input).args(options).arg("-o").arg(output))
}

/// The code of the cubin in `folder`.
fn listing(folder: &Path) -> String {
    let done = read_back::run(oriole().arg("disasm").arg(folder.join("k.cubin")));
    String::from_utf8(done.stdout).expect("text")
}

fn kernel(target: &str, parameters: &str, body: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let text = format!(
        ".version 8.7\n.target {target}\n.address_size 64\n.visible .entry k({parameters}) {{\n\
         .reg .b64 %d<9>; .reg .b32 %v<99>, %r<9>; .reg .pred %p<4>; .shared .align 16 .b8 buffer[64];\n{body}\nret;\n}}\n"
    );
    std::fs::write(folder.path().join("k.ptx"), text).expect("the folder is ours");
    folder
}

/// Values that are the same in all threads, and live while some threads go another way.
const VALUES: u32 = 40;

/// What each is made of.
fn number(at: u32) -> u32 {
    at.wrapping_mul(2_654_435_761) | 1
}

/// The same on the host.
fn on_host(seed: u32, thread: u32) -> u32 {
    let value = |at: u32| seed.wrapping_mul(number(at)) ^ number(at) >> 3;
    let own = |sum: u32, at: u32| match thread < 17 {
        true => sum.wrapping_mul(3) ^ value(at),
        false => sum.wrapping_add(value(at).wrapping_mul(thread)),
    };
    let sum = (0..VALUES).fold(thread, own);
    (0..VALUES).fold(sum, |sum, at| (sum ^ value(at)).wrapping_mul(5))
}

/// What the kernel in `folder` stores on the strict simulator.
fn stored(folder: &Path, seed: u32) -> Vec<u32> {
    let output = folder.join("out");
    let mut run = oriole();
    run.arg("run").arg(folder.join("k.cubin")).args(["--entry", "k", "--block", "32", "--strict"]);
    let (success, text) = said(run.arg(format!("out:{}:128", output.display())).arg(format!("u32:{seed}")));
    assert!(success, "{text}");
    let bytes = std::fs::read(output).expect("the run wrote it");
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect()
}

/// Threads that have gone different ways find what has left its uniform register.
#[test]
fn values_wait_in_general_registers_while_threads_are_apart() {
    let each = |line: &dyn Fn(u32) -> String| (0..VALUES).map(line).collect::<String>();
    let make = each(&|at| {
        let number = number(at);
        format!("mul.lo.u32 %v{at}, %r1, {number}; xor.b32 %v{at}, %v{at}, {};\n", number >> 3)
    });
    let few = each(&|at| format!("mul.lo.u32 %r2, %r2, 3; xor.b32 %r2, %r2, %v{at};\n"));
    let many = each(&|at| format!("mad.lo.u32 %r2, %v{at}, %r0, %r2;\n"));
    let all = each(&|at| format!("xor.b32 %r2, %r2, %v{at}; mul.lo.u32 %r2, %r2, 5;\n"));
    let body = format!(
        "mov.u32 %r0, %tid.x; ld.param.u32 %r1, [seed]; mov.u32 %r2, %r0;\n{make}setp.lt.u32 %p0, %r0, 17;\n\
         @%p0 bra FEW;\n{many}bra ALL;\nFEW:\n{few}ALL:\n{all}ld.param.u64 %d1, [out]; mul.wide.u32 %d2, %r0, 4;\n\
         add.u64 %d1, %d1, %d2; st.global.u32 [%d1], %r2;"
    );
    let expected: Vec<u32> = (0..32).map(|thread| on_host(99, thread)).collect();
    for target in ["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"] {
        let folder = kernel(target, ".param .u64 out, .param .u32 seed", &body);
        for (registers, spills) in [("80", false), ("10", true), ("3", true)] {
            let knob = format!("uniform-registers={registers}");
            let (success, text) = compile(folder.path(), &["--knob", &knob]);
            assert!(success, "{target} {knob}: {text}");
            let code = listing(folder.path());
            assert!(code.contains("UIMAD"), "{target}: {code}");
            assert_eq!(code.contains("R2UR"), spills, "{target} {knob}: {code}");
            assert_eq!(stored(folder.path(), 99), expected, "{target} {knob}");
        }
    }
}

/// Uniform registers that code names beside the descriptor of global memory.
fn named(code: &str) -> usize {
    let words = code.split(|c: char| !c.is_ascii_alphanumeric());
    let numbers: BTreeSet<u32> = words.filter_map(|word| word.strip_prefix("UR")?.parse().ok()).collect();
    numbers.into_iter().filter(|number| ![36, 37].contains(number)).count()
}

#[test]
fn registers_that_are_needed_though_nobody_wants_them_are_told_of() {
    let copy =
        "ld.param.u64 %d1, [out]; mov.u32 %r1, buffer; cp.async.bulk.global.shared::cta.bulk_group [%d1], [%r1], 16;";
    let plain = "ld.param.u64 %d1, [out]; mov.u32 %r1, %ctaid.x; st.global.u32 [%d1], %r1;";
    let words = "Uniform registers were disallowed, but the compiler required (";
    let folder = kernel("sm_90", ".param .u64 out", copy);
    for setting in ["uniform=0", "687=0"] {
        let (success, text) = compile(folder.path(), &["--knob", setting]);
        let pairs = named(&listing(folder.path()));
        assert!(success && pairs > 0, "{text}");
        let whole = format!("{words}{pairs}) uniform registers for correct code generation.");
        assert_eq!(text.matches(&whole).count(), 1, "{whole}: {text}");
    }
    let (_, text) = compile(folder.path(), &[]);
    assert!(!text.contains(words), "{text}");
    let folder = kernel("sm_90", ".param .u64 out", plain);
    let (success, text) = compile(folder.path(), &["--knob", "687=0"]);
    assert!(success && !text.contains(words), "{text}");
}

#[test]
fn ldcu_is_for_targets_that_have_it() {
    let body = "ld.param.u64 %d1, [out]; mov.u32 %r1, %ctaid.x; st.global.u32 [%d1], %r1;";
    for (target, has) in [("sm_80", false), ("sm_90", false), ("sm_100", true), ("sm_120", true)] {
        let folder = kernel(target, ".param .u64 out", body);
        for setting in ["EmitLDCU=1", "emit-ldcu=1"] {
            let (success, text) = compile(folder.path(), &["--knob", setting]);
            assert_eq!(success, has, "{target}: {text}");
            let refusal = "SM does not support LDCU. On SM90 -knob EmitLDCU is only supported when options '-forcetext' and \
                           '-sso out.sass' are provided.";
            assert_eq!(text.contains(refusal), !has, "{target}: {text}");
        }
        assert!(compile(folder.path(), &[]).0);
        assert_eq!(listing(folder.path()).contains("LDCU"), has);
    }
}

/// UR36 and UR37 are the descriptor's where global memory is accessed, or something is called; elsewhere they are nobody's.
#[test]
fn the_descriptor_is_loaded_where_it_is_needed() {
    let local = "mov.u32 %r1, %ctaid.x; st.shared.u32 [buffer], %r1;";
    let global = "ld.param.u64 %d1, [out]; mov.u32 %r1, %ctaid.x; st.global.u32 [%d1], %r1;";
    for (body, needed) in [(local, false), (global, true)] {
        let folder = kernel("sm_80", ".param .u64 out", body);
        assert!(compile(folder.path(), &[]).0);
        let code = listing(folder.path());
        assert_eq!(code.contains("UR36"), needed, "{code}");
    }
}
