//! Bad input: each gives a clear message and the right exit status; nothing panics and no output
//! file is left behind.

use crate::read_back;

use std::path::Path;
use std::process::{Command, Output};

/// A scratch folder with one PTX module in it.
struct Case {
    folder: tempfile::TempDir,
}

const HEAD: &str = ".version 9.0\n.target sm_90\n.address_size 64\n";

/// A kernel with one pointer parameter; `body` may use `%rd1` (the pointer), `%r<9>`, `%f<9>`, `%p<9>`, `%rd<9>`.
fn kernel(body: &str) -> String {
    format!(
        "{HEAD}.visible .entry k(.param .u64 p) {{\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n.reg .f32 %f<9>;\n\
         .reg .pred %p<9>;\nld.param.u64 %rd1, [p];\n{body}\nret;\n}}\n"
    )
}

impl Case {
    fn new(ptx: impl AsRef<[u8]>) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::write(folder.path().join("in.ptx"), ptx).expect("it can be written");
        Case { folder }
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().expect("a UTF-8 path").to_owned()
    }

    fn oriole(&self, arguments: &[&str]) -> Output {
        let output = read_back::run(Command::new(env!("CARGO_BIN_EXE_oriole")).args(arguments));
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!text.contains("panicked"), "{text}");
        output
    }

    /// Compile and expect exit status 1, each of `words` in the message, and no output file.
    fn rejected(&self, words: &[&str]) {
        let (input, output) = (self.path("in.ptx"), self.path("out.cubin"));
        expect(&self.oriole(&["compile", &input, "-o", &output, "--arch", "sm_90"]), 1, words);
        assert!(!Path::new(&output).exists(), "an output file was left behind");
    }

    /// Run kernel `k` with `arguments` before its parameters; expect `status` and `words`.
    fn run(&self, options: &[&str], parameters: &[&str], status: i32, words: &[&str]) {
        let input = self.path("in.ptx");
        let mut all = vec!["run", &input, "--entry", "k", "--arch", "sm_90"];
        all.extend(options);
        all.extend(parameters);
        expect(&self.oriole(&all), status, words);
    }
}

fn expect(output: &Output, status: i32, words: &[&str]) {
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{text}");
    for word in words {
        assert!(text.contains(word), "no '{word}' in: {text}");
    }
}

#[test]
fn truncated_ptx() {
    let whole = kernel("mov.u32 %r1, 7;");
    Case::new(&whole[..whole.len() - 12]).rejected(&["in.ptx:"]);
}

#[test]
fn unknown_instruction() {
    Case::new(kernel("frobnicate.u32 %r1, %r2;")).rejected(&["in.ptx:10:", "frobnicate"]);
}

#[test]
fn wrong_operand_type() {
    Case::new(kernel("add.s32 %r1, %rd1, %r2;")).rejected(&["in.ptx:10:", "%rd1"]);
}

#[test]
fn undefined_register() {
    Case::new(kernel("mov.u32 %r1, %r77;")).rejected(&["in.ptx:10:", "%r77"]);
}

#[test]
fn duplicate_label() {
    Case::new(kernel("L: mov.u32 %r1, 1;\nL: mov.u32 %r1, 2;")).rejected(&["in.ptx:11:", "L"]);
}

#[test]
fn all_errors_come_at_once() {
    Case::new(kernel("frobnicate.u32 %r1;\nmov.u32 %r1, %r77;")).rejected(&["in.ptx:10:", "in.ptx:11:"]);
}

#[test]
fn binary_garbage() {
    let garbage: Vec<u8> = (0..5000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    Case::new(&garbage).rejected(&["in.ptx"]);
    let case = Case::new(&garbage);
    std::fs::write(case.path("g.cubin"), [b"\x7fELF".as_slice(), &garbage].concat()).expect("it can be written");
    let cubin = case.path("g.cubin");
    expect(&case.oriole(&["disasm", &cubin]), 1, &["g.cubin"]);
    expect(&case.oriole(&["run", &cubin, "--entry", "k"]), 1, &["g.cubin"]);
}

#[test]
fn a_line_of_a_megabyte() {
    Case::new(format!("{HEAD}{}\n", "x".repeat(1 << 20))).rejected(&["in.ptx:4:"]);
    let long = "add.s32 %r1, %r1, 1; ".repeat(50_000);
    let case = Case::new(kernel(&long));
    let (input, output) = (case.path("in.ptx"), case.path("out.cubin"));
    expect(&case.oriole(&["compile", &input, "-o", &output, "-O1"]), 0, &[]);
}

#[test]
fn unknown_target() {
    let case = Case::new(kernel(""));
    let (input, output) = (case.path("in.ptx"), case.path("out.cubin"));
    expect(&case.oriole(&["compile", &input, "-o", &output, "--arch", "sm_99"]), 1, &["sm_99", "sm_80", "sm_90"]);
    assert!(!Path::new(&output).exists());
}

#[test]
fn inputs_that_have_no_end() {
    if !Path::new("/dev/zero").exists() {
        println!("skipped: there is no /dev/zero");
        return;
    }
    let case = Case::new(kernel(""));
    let no_end = ["/dev/zero", "no size", "67108864 bytes"];
    let (buffer, output) = ("inout:/dev/zero:".to_owned() + &case.path("out"), case.path("out"));
    case.run(&["--memory", "64M"], &["in:/dev/zero"], 1, &no_end);
    case.run(&["--memory", "64M", "--engine", "ptx"], &["in:/dev/zero"], 1, &no_end);
    case.run(&["--memory", "64M"], &[&buffer], 1, &no_end);
    assert!(!Path::new(&output).exists());
    // What has an end is read to it.
    case.run(&["--memory", "64M"], &["in:/dev/null"], 0, &[]);
}

#[test]
fn unwritable_output() {
    let case = Case::new(kernel(""));
    let (input, output) = (case.path("in.ptx"), case.path("no/such/folder/out.cubin"));
    expect(&case.oriole(&["compile", &input, "-o", &output]), 1, &["out.cubin", "cannot be written"]);
}

#[test]
fn no_such_kernel() {
    let case = Case::new(kernel(""));
    let (input, output) = (case.path("in.ptx"), case.path("out.cubin"));
    expect(&case.oriole(&["compile", &input, "-o", &output, "--entry", "nix"]), 1, &["nix", "the module has: k"]);
    expect(&case.oriole(&["run", &input, "--entry", "nix"]), 1, &["nix"]);
}

#[test]
fn wrong_number_of_arguments() {
    let case = Case::new(kernel(""));
    case.run(&[], &[], 2, &["takes 1 arguments, 0 were given"]);
    case.run(&[], &["zero:4", "u32:1"], 2, &["takes 1 arguments, 2 were given"]);
    case.run(&[], &["u32:1"], 2, &["4 bytes", "8"]);
    case.run(&[], &["nonsense"], 2, &["nonsense"]);
}

#[test]
fn reading_past_a_buffer() {
    let case = Case::new(kernel("ld.global.u32 %r1, [%rd1+16];\nst.global.u32 [%rd1], %r1;"));
    let out = case.path("buffer.out");
    let argument = format!("out:{out}:16");
    case.run(&[], &[&argument], 3, &["illegal address", "kernel k", "thread (0,0,0)", "LDG", "in.ptx:10"]);
    assert!(!Path::new(&out).exists(), "a faulting kernel's buffer was written");
}

#[test]
fn a_misaligned_access() {
    let case = Case::new(kernel("ld.global.u32 %r1, [%rd1+2];\nst.global.u32 [%rd1], %r1;"));
    case.run(&[], &["zero:16"], 3, &["misaligned", "LDG"]);
}

#[test]
fn dividing_by_zero_is_defined_and_trap_faults() {
    // PTX leaves the quotient to the machine; the kernel goes on, as on the hardware.
    let case = Case::new(kernel("ld.global.u32 %r1, [%rd1];\ndiv.u32 %r2, 7, %r1;\nst.global.u32 [%rd1], %r2;"));
    case.run(&[], &["zero:16"], 0, &[]);
    Case::new(kernel("trap;")).run(&[], &["zero:16"], 3, &["trap"]);
}

#[test]
fn an_endless_loop() {
    Case::new(kernel("L: bra L;")).run(&["--max-instructions", "10000"], &["zero:4"], 3, &["10000"]);
}

#[test]
fn a_deadlock_on_a_barrier() {
    // Half of the block waits at barrier 0 for threads that wait at barrier 1.
    let body = "mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 32;\n@%p1 bra L;\nbarrier.sync 1, 64;\nbra M;\n\
                L: barrier.sync 0, 64;\nM:";
    Case::new(kernel(body)).run(&["--block", "64"], &["zero:4"], 3, &["deadlock", "barrier"]);
}

/// An option that would change nothing is a mistake of the caller's: exit status 2 and its name.
#[test]
fn options_that_cannot_act() {
    let case = Case::new(kernel(""));
    let (input, output) = (case.path("in.ptx"), case.path("out.cubin"));
    let compile = |options: &str, word: &str| {
        let mut arguments = vec!["compile", &input, "-o", &output];
        arguments.extend(options.split_whitespace());
        expect(&case.oriole(&arguments), 2, &[word]);
        assert!(!Path::new(&output).exists(), "{options}");
    };
    for (options, word) in [
        ("--link x.bc", "--link"),
        ("--ftz", "--ftz"),
        ("--no-prec-div", "--no-prec-div"),
        ("--no-prec-sqrt", "--no-prec-sqrt"),
        ("--no-fma --knob contract=1", "contract"),
        ("--knob general-rounds=2 -O0", "--knob"),
        ("-g -O3", "-g"),
        ("--rot13", "--rot13"),
    ] {
        compile(options, word);
    }
    expect(&case.oriole(&["compile", &input, "-o", "-", "--stats"]), 2, &["standard output"]);
    expect(&case.oriole(&["compile", &input, "-o", &output]), 0, &[]);
    for arguments in [
        &["disasm", &output, "--arch", "sm_90"][..],
        &["disasm", "-", "--hex", "--arch", "sm_90", "--entry", "k"],
        &["disasm", &output, "--all", "--control"],
        &["asm", &output, "-o", &case.path("x"), "--arch", "sm_90"],
    ] {
        expect(&case.oriole(arguments), 2, &[]);
    }
    for (options, word) in [
        ("--engine ptx --strict", "--strict"),
        ("--engine ptx --timing", "--timing"),
        ("--engine ptx --check all", "--check"),
        ("--engine ptx --threads 2", "--threads"),
        ("--engine gpu --bind t=sampler:", "--bind"),
        ("--engine gpu --stats x", "--stats"),
        ("--engine gpu --max-instructions 9", "--max-instructions"),
        ("--engine gpu --cluster 2", "--cluster"),
        ("--timing-sms 4", "--timing-sms"),
        ("--timing-warm", "--timing-warm"),
    ] {
        case.run(&options.split_whitespace().collect::<Vec<_>>(), &["zero:16"], 2, &[word]);
    }
}

/// Whatever runs it: code for one target does not run on another.
#[test]
fn a_target_that_the_code_is_not_for() {
    let case = Case::new(kernel(""));
    let (input, output) = (case.path("in.ptx"), case.path("out.cubin"));
    expect(&case.oriole(&["compile", &input, "-o", &output]), 0, &[]);
    for engine in ["sim", "gpu"] {
        let arguments = ["run", &output, "--entry", "k", "--arch", "sm_80", "--engine", engine, "zero:4"];
        expect(&case.oriole(&arguments), 1, &["sm_80", "sm_90"]);
    }
    let arguments = ["run", &input, "--entry", "k", "--arch", "sm_80", "--engine", "ptx", "zero:4"];
    expect(&case.oriole(&arguments), 1, &["sm_80", "sm_90"]);
}

#[test]
fn arguments_of_the_wrong_type() {
    let types = [".u32", ".s32", ".f32", ".b32", ".f64", ".u64", ".f16", ".b16"];
    let values = ["u32:1", "s32:-1", "b32:1", "f32:1", "f64:1", "zero:4", "f16:1", "bf16:1", "u16:1"];
    // Which of the values suit which type, by PTX's classes of types.
    let suits = |ty: &str, value: &str| {
        let kind = value.split(':').next().unwrap_or_default();
        match ty {
            ".u32" | ".s32" => ["u32", "s32", "b32"].contains(&kind),
            ".f32" => ["f32", "b32"].contains(&kind),
            ".b32" => ["u32", "s32", "b32", "f32"].contains(&kind),
            ".f64" => kind == "f64",
            ".u64" => kind == "zero",
            ".f16" => kind == "f16",
            _ => ["f16", "bf16", "u16"].contains(&kind),
        }
    };
    for ty in types {
        let param = format!("{HEAD}.visible .entry k(.param {ty} p) {{ ret; }}\n");
        let case = Case::new(param);
        for value in values {
            let status = if suits(ty, value) { 0 } else { 2 };
            for engine in ["sim", "ptx"] {
                case.run(&["--engine", engine, "--block", "1"], &[value], status, &[]);
            }
        }
    }
    let case = Case::new(format!("{HEAD}.visible .entry k(.param .u32 p) {{ ret; }}\n"));
    case.run(&[], &["f32:1.5"], 2, &["argument 0", "f32:1.5", ".u32"]);
}

#[test]
fn a_launch_that_takes_too_long() {
    let case = Case::new(kernel("L: bra L;"));
    for engine in ["sim", "ptx"] {
        case.run(&["--engine", engine, "--timeout", "0.2"], &["zero:4"], 3, &["kernel k", "0.2 seconds", "time limit"]);
    }
    Case::new(kernel("")).run(&["--timeout", "60"], &["zero:4"], 0, &[]);
    Case::new(kernel("")).run(&["--timeout", "0"], &["zero:4"], 2, &["above zero"]);
}

#[test]
fn a_launch_without_a_block_size() {
    let case = Case::new(kernel(""));
    for engine in ["sim", "ptx"] {
        case.run(&["--engine", engine], &["zero:4"], 0, &["note: without --block, one thread runs"]);
        case.run(&["--engine", engine, "--grid", "4"], &["zero:4"], 0, &["one thread of each block runs"]);
    }
    let output = case.oriole(&["run", &case.path("in.ptx"), "--entry", "k", "--block", "1", "--quiet", "zero:4"]);
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn passes_that_cannot_be_left_out() {
    let case = Case::new(kernel(""));
    let (input, output) = (case.path("in.ptx"), case.path("out.cubin"));
    let compile = |options: &[&str], words: &[&str]| {
        let mut arguments = vec!["compile", &input, "-o", &output];
        arguments.extend(options);
        expect(&case.oriole(&arguments), 2, words);
        assert!(!Path::new(&output).exists());
    };
    compile(&["--disable-pass", "NoSuch"], &["NoSuch", "GvnCse"]);
    // Correct code needs it.
    compile(&["--disable-pass", "OriDoSyncronization"], &["OriDoSyncronization", "GvnCse"]);
    compile(&["--disable-pass", "GvnCse", "-O0"], &["GvnCse", "at this level"]);
    compile(&["--pass-limit", "3", "-O0"], &["--pass-limit", "-O0"]);
    compile(&["--dump-after", "GvnCse", "-O0"], &["GvnCse", "at this level"]);
}

#[test]
fn a_file_that_cannot_be_read_does_not_keep_check_from_the_others() {
    let case = Case::new(kernel("st.global.f32 [%rd1], %f1;"));
    let (input, output) = (case.path("in.ptx"), case.path("out.cubin"));
    assert!(case.oriole(&["compile", &input, "-o", &output]).status.success());
    let missing = case.path("missing.cubin");
    let checked = case.oriole(&["check", &missing, &output]);
    expect(&checked, 1, &["missing.cubin", "cannot be read"]);
    let said = String::from_utf8_lossy(&checked.stdout).into_owned();
    assert!(said.contains("out.cubin: sm_90") && said.contains("nothing found"), "{said}");
}
