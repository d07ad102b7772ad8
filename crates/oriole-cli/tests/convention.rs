//! What survives a call of which nothing is known but that it keeps to the convention: values stay in registers across
//! calls through addresses, functions that are called so give back what they have used, and so do those that call
//! themselves. Which registers these are the ptxas that is found says.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// A function with many values that need registers, one that leaves using them to a routine of the library, and a kernel that calls one of the two through a table
/// while it keeps `values`; before that it calls a function that calls itself.
fn module(arch: &str, values: usize) -> String {
    let each = |text: &dyn Fn(usize) -> String| (0..values).map(text).collect::<String>();
    let loads = |base: &str| each(&|i| format!("  ld.volatile.global.u32 %v{i}, [{base}+{}];\n", 4 * i));
    let mixes = each(&|i| format!("  mad.lo.u32 %s, %s, 31, %v{i};\n"));
    let squares = each(&|i| format!("  mad.lo.u32 %v{i}, %v{i}, %v{}, %s;\n", (i + 1) % values));
    format!(
        ".version 8.0\n.target {arch}\n.address_size 64\n\
         .func (.param .b32 r) heavy(.param .b64 p, .param .b32 x) {{\n\
           .reg .b64 %p; .reg .b32 %s; .reg .b32 %v<{values}>;\n\
           ld.param.u64 %p, [p]; ld.param.u32 %s, [x];\n{}{squares}{mixes}  st.param.b32 [r], %s; ret;\n}}\n\
         .func (.param .b32 r) light(.param .b64 p, .param .b32 x) {{\n\
           .reg .b32 %s; .reg .b64 %q; ld.param.u32 %s, [x]; mov.b64 %q, {{%s, 0}}; rcp.rz.f64 %q, %q;\n\
           mov.b64 {{_, %s}}, %q; st.param.b32 [r], %s; ret;\n}}\n\
         .func (.param .b32 r) again(.param .b64 p, .param .b32 x);\n\
         .func (.param .b32 r) again(.param .b64 p, .param .b32 x) {{\n\
           .reg .b64 %p; .reg .b32 %s; .reg .b32 %y; .reg .pred %q; .reg .b32 %v<4>;\n\
           ld.param.u64 %p, [p]; ld.param.u32 %s, [x];\n\
           ld.volatile.global.u32 %v0, [%p]; mul.lo.u32 %v1, %v0, %s; add.u32 %v2, %v1, %s; xor.b32 %v3, %v2, %v1;\n\
           setp.eq.u32 %q, %s, 0; @%q bra end; sub.u32 %y, %s, 1;\n\
           {{ .param .b64 a; .param .b32 b; .param .b32 c; st.param.b64 [a], %p; st.param.b32 [b], %y;\n\
             call (c), again, (a, b); ld.param.b32 %y, [c]; }}\n\
           mad.lo.u32 %v1, %y, %v2, %v1; add.u32 %s, %v1, %v3;\n\
           end: st.param.b32 [r], %s; ret;\n}}\n\
         .global .u64 table[2] = {{heavy, light}};\n\
         .visible .entry k(.param .u64 in, .param .u64 out) {{\n\
           .reg .b64 %p; .reg .b64 %o; .reg .b64 %f; .reg .b64 %t; .reg .b32 %s; .reg .b32 %i; .reg .b32 %v<{values}>;\n\
           ld.param.u64 %p, [in]; ld.param.u64 %o, [out]; mov.u32 %i, %tid.x;\n\
           mul.wide.u32 %t, %i, 4; add.u64 %o, %o, %t; and.b32 %s, %i, 1; mul.wide.u32 %t, %s, 8;\n\
           mov.u64 %f, table; add.u64 %f, %f, %t; ld.global.u64 %f, [%f];\n{}\
           {{ .param .b64 a; .param .b32 b; .param .b32 c; st.param.b64 [a], %p; st.param.b32 [b], %i;\n\
             call (c), again, (a, b); ld.param.b32 %s, [c]; }}\n\
           {{ .param .b64 a; .param .b32 b; .param .b32 c; st.param.b64 [a], %p; st.param.b32 [b], %s;\n\
             proto: .callprototype (.param .b32 _) _ (.param .b64 _, .param .b32 _);\n\
             call (c), %f, (a, b), proto; ld.param.b32 %s, [c]; }}\n\
           {mixes}  st.global.u32 [%o], %s; ret;\n}}\n",
        loads("%p"),
        loads("%p"),
    )
}

fn oriole(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_oriole")).args(arguments).output().expect("oriole starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments:?}: {said}");
    String::from_utf8_lossy(&output.stdout).into_owned() + &said
}

/// What 32 threads leave, run from `file`.
fn result(file: &Path, engine: &str) -> Vec<u8> {
    let out = file.with_extension("out");
    let buffer = format!("out:{}:128", out.display());
    let words = file.with_extension("in");
    let bytes: Vec<u8> = (0..120u32).flat_map(|i| (i.wrapping_mul(0x9e37_79b9) ^ i).to_le_bytes()).collect();
    std::fs::write(&words, bytes).expect("the folder is ours");
    let input = format!("in:{}", words.display());
    let file = file.display().to_string();
    let strict: &[&str] = if engine == "sim" { &["--strict"] } else { &[] };
    let mut arguments = vec!["run", &file, "--entry", "k", "--block", "32", "--engine", engine];
    arguments.extend(strict);
    arguments.extend([input.as_str(), buffer.as_str()]);
    oriole(&arguments);
    std::fs::read(out).expect("it was written")
}

/// The general registers that survive: R2, R16 to R19, R22 to R31, and of all others the upper four of every eight.
fn survives(number: u32) -> bool {
    matches!(number, 2 | 16..=19 | 22..=31) || (number >= 32 && number % 8 >= 4)
}

#[test]
fn values_stay_in_registers_across_calls_of_unknown_functions() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (arch, values) in [("sm_75", 20), ("sm_80", 60), ("sm_90", 100), ("sm_86", 40)] {
        let (source, cubin) = (folder.path().join("k.ptx"), folder.path().join("k.cubin"));
        std::fs::write(&source, module(arch, values)).expect("the folder is ours");
        let (input, output) = (source.display().to_string(), cubin.display().to_string());
        let expected = result(&source, "ptx");
        for options in [&["-O3"][..], &["-O0"], &["-O3", "-c"], &["-O3", "--maxrregcount", "32"]] {
            let mut arguments = vec!["compile", "-v", "--verify", &input, "-o", &output];
            arguments.extend(options);
            let said = oriole(&arguments);
            let none = "0 bytes spill stores, 0 bytes spill loads";
            let kernel = said.split("Compiling entry function 'k'").nth(1).expect("there is the kernel");
            assert!(options.len() > 1 || options == ["-O0"] || kernel.contains(none), "{arch}: {kernel}");
            assert_eq!(result(&cubin, "sim"), expected, "{arch} {values} {options:?}");
        }
    }
}

/// A kernel that keeps `values` across a call of `vprintf`, which no thread makes.
fn around_vprintf(arch: &str, values: usize) -> String {
    let each = |text: &dyn Fn(usize) -> String| (0..values).map(text).collect::<String>();
    let loads = each(&|i| format!("  ld.volatile.global.u32 %v{i}, [%p+{}];\n", 4 * (i % 120)));
    let mixes = each(&|i| format!("  mad.lo.u32 %s, %s, 31, %v{i};\n"));
    format!(
        ".version 9.0\n.target {arch}\n.address_size 64\n.extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n\
         .visible .entry k(.param .u64 in, .param .u64 out) {{\n\
           .reg .b64 %p, %o, %t; .reg .b32 %s, %i; .reg .pred %q; .reg .b32 %v<{values}>;\n\
           ld.param.u64 %p, [in]; ld.param.u64 %o, [out]; mov.u32 %i, %tid.x; mul.wide.u32 %t, %i, 4; add.u64 %o, %o, %t;\n\
           {loads}  mov.u32 %s, %i; setp.lt.u32 %q, %i, 1000; @%q bra past;\n\
           {{ .param .b64 a; .param .b64 b; .param .b32 c; st.param.b64 [a], %p; st.param.b64 [b], %p;\n\
             call (c), vprintf, (a, b); ld.param.b32 %s, [c]; }}\n\
           past:\n{mixes}  st.global.u32 [%o], %s; ret;\n}}\n"
    )
}

/// Functions of the run-time system leave more registers alone than the convention says, from sm_80 on: so many values stay in registers
/// around one, in our code and in ptxas's. On sm_75 ptxas spills them.
#[test]
fn values_stay_in_registers_across_calls_of_the_system() {
    const NONE: &str = "0 bytes spill stores, 0 bytes spill loads";
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (arch, stays) in
        [("sm_75", false), ("sm_80", true), ("sm_89", true), ("sm_90", true), ("sm_100", true), ("sm_120", true)]
    {
        let (source, cubin) = (folder.path().join("k.ptx"), folder.path().join("k.cubin"));
        std::fs::write(&source, around_vprintf(arch, 200)).expect("the folder is ours");
        let (input, output) = (source.display().to_string(), cubin.display().to_string());
        let said = oriole(&["compile", "-v", "--verify", &input, "-o", &output]);
        assert_eq!(said.contains(NONE), stays, "{arch}: {said}");
        assert_eq!(result(&cubin, "sim"), result(&source, "ptx"), "{arch}");
        let Some(ptxas) = oriole_prerequisites::tool("ptxas") else { continue };
        let done =
            Command::new(ptxas).args(["-v", "-arch", arch, &input, "-o", &output]).output().expect("ptxas starts");
        assert!(done.status.success(), "{arch}");
        assert_eq!(String::from_utf8_lossy(&done.stderr).contains(NONE), stays, "{arch}");
    }
}

/// Numbers of the registers that `code` stores behind the stack pointer.
fn stored(code: &str) -> BTreeSet<u32> {
    let mut numbers = BTreeSet::new();
    for line in code.lines().filter(|line| line.contains("[R1")) {
        let Some((_, rest)) = line.split_once("STL") else { continue };
        let width = if rest.starts_with(".128") {
            4
        } else if rest.starts_with(".64") {
            2
        } else {
            1
        };
        let Some((_, register)) = rest.split_once("], R") else { continue };
        let digits: String = register.chars().take_while(char::is_ascii_digit).collect();
        let first: u32 = digits.parse().expect("a register has a number");
        numbers.extend(first..first + width);
    }
    numbers
}

#[test]
fn a_function_that_is_called_through_an_address_saves_what_ptxas_saves() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (source, cubin) = (folder.path().join("k.ptx"), folder.path().join("k.o"));
    std::fs::write(&source, module("sm_80", 100)).expect("the folder is ours");
    let (input, output) = (source.display().to_string(), cubin.display().to_string());
    let code = || oriole(&["disasm", "--entry", "heavy", &output]);
    oriole(&["compile", "-c", &input, "-o", &output]);
    let ours = stored(&code());
    assert!(ours.len() > 20 && ours.iter().all(|number| survives(*number)), "{ours:?}");
    let Some(ptxas) = oriole_prerequisites::tool("ptxas") else { return };
    let limit = ["-c", "-arch", "sm_80", "--maxrregcount", "64"];
    let done = Command::new(ptxas).args(limit).args([&input, "-o", &output]).status();
    assert!(done.expect("ptxas starts").success());
    // What it spills for want of registers comes behind the first load.
    let text = code();
    let theirs = stored(text.split("LDG").next().unwrap_or_default());
    let most = *theirs.last().expect("it saves some");
    let expected: BTreeSet<u32> = (0..=most).filter(|number| survives(*number)).collect();
    assert_eq!(theirs, expected);
}

/// Some threads of a loop leave it behind a call through a table, others go on past the call. The region that they meet at
/// the end of a trip is left by a BREAK and has the call inside.
const LEFT_BEHIND_A_CALL: &str = "\
.version 8.0
.target sm_75
.address_size 64
.func (.param .b32 r) twice(.param .b32 x) {
  .reg .b32 %s; ld.param.u32 %s, [x]; add.u32 %s, %s, %s; st.param.b32 [r], %s; ret; }
.func (.param .b32 r) more(.param .b32 x) {
  .reg .b32 %s; ld.param.u32 %s, [x]; add.u32 %s, %s, 3; st.param.b32 [r], %s; ret; }
.global .u64 table[2] = {twice, more};
.visible .entry k(.param .u64 in, .param .u64 out) {
  .reg .b64 %p, %o, %f, %t; .reg .b32 %s, %i, %n; .reg .pred %q;
  ld.param.u64 %p, [in]; ld.param.u64 %o, [out]; mov.u32 %i, %tid.x;
  mul.wide.u32 %t, %i, 4; add.u64 %o, %o, %t; add.u64 %p, %p, %t; ld.global.u32 %s, [%p];
  and.b32 %i, %i, 1; mul.wide.u32 %t, %i, 8; mov.u64 %f, table; add.u64 %f, %f, %t; ld.global.u64 %f, [%f];
  mov.u32 %n, 0;
again:
  and.b32 %i, %s, 3; setp.eq.u32 %q, %i, 0; @%q bra next;
  { .param .b32 a; .param .b32 b; st.param.b32 [a], %s;
    proto: .callprototype (.param .b32 _) _ (.param .b32 _); call (b), %f, (a), proto; ld.param.b32 %s, [b]; }
  setp.gt.u32 %q, %s, 0xe0000000; @%q bra done;
next:
  add.u32 %s, %s, 0x1234567; add.u32 %n, %n, 1; setp.lt.u32 %q, %n, 8; @%q bra again;
done:
  st.global.u32 [%o], %s; ret;
}
";

/// Neither function touches a barrier, but where the address comes from the stack, say, a reader of the code cannot know
/// which functions these are: a barrier that holds threads across the call is one that the convention keeps.
#[test]
fn no_barrier_that_a_call_by_address_may_change_holds_threads() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (source, cubin) = (folder.path().join("k.ptx"), folder.path().join("k.cubin"));
    std::fs::write(&source, LEFT_BEHIND_A_CALL).expect("the folder is ours");
    let (input, output) = (source.display().to_string(), cubin.display().to_string());
    let expected = result(&source, "ptx");
    for level in ["-O1", "-O3"] {
        oriole(&["compile", "--verify", &input, "-o", &output, level]);
        let code = oriole(&["disasm", "--entry", "k", &output]);
        let left =
            code.lines().filter_map(|line| line.split_once(" BREAK B")?.1.split([' ', ';']).next()?.parse().ok());
        let left: BTreeSet<u32> = left.collect();
        assert!(!left.is_empty() && left.iter().all(|barrier| *barrier >= 6), "{level}: {left:?}\n{code}");
        assert_eq!(result(&cubin, "sim"), expected, "{level}");
    }
}
