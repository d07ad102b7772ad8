//! The command line's promises: text and words both ways, the same bytes every time, the same results
//! on any number of threads, the names of instructions.

use oriole_prerequisites::in_turn;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

fn oriole(arguments: &[&str], input: &str) -> (i32, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_oriole"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("oriole starts");
    // A command that does not read its input may have ended already.
    let _ = child.stdin.take().expect("it was piped").write_all(input.as_bytes());
    let output = child.wait_with_output().expect("oriole ends");
    let text = if output.status.success() { output.stdout } else { output.stderr };
    (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&text).into_owned())
}

fn kernel(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/kernels/ptx").join(name);
    path.to_str().expect("a UTF-8 path").to_owned()
}

/// Words and text as nvdisasm pairs them (`../shared/vectors/sm_90.tsv`).
const PAIRS: [(&str, &str); 3] = [
    ("000fc800000001073f80000005067423", "FFMA R6, -R5, R7, 1"),
    ("ffffffffffffffffffffffffffffffff", "??? "),
    ("000fea0003800000000000000000794d", "EXIT"),
];

#[test]
fn words_become_text_line_by_line() {
    let input: String = PAIRS.iter().map(|(word, _)| format!("{word} 40\n")).collect();
    let (status, text) = oriole(&["disasm", "--arch", "sm_90", "--hex", "-"], &input);
    assert_eq!(status, 0);
    for (line, (_, want)) in text.lines().zip(PAIRS) {
        assert!(line.starts_with(want), "{line}");
    }
    assert_eq!(text.lines().count(), PAIRS.len());
}

#[test]
fn text_becomes_words_without_control_bits() {
    let (status, text) = oriole(&["asm", "--arch", "sm_90", "--hex", "-"], "EXIT\nFFMA R6, -R5, R7, 1\nNONSENSE R1\n");
    assert_eq!(status, 0);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3);
    // Bits 105–125 are the scheduling bits; all others are those of the vectors.
    let mask = !(((1u128 << 21) - 1) << 105);
    for (line, word) in lines.iter().zip([PAIRS[2].0, PAIRS[0].0]) {
        let (got, want) = (u128::from_str_radix(line, 16), u128::from_str_radix(word, 16));
        assert_eq!(got.map(|w| w & mask), want.map(|w| w & mask), "{line}");
    }
    assert!(lines[2].starts_with("???"), "{}", lines[2]);
}

/// What nvdisasm and `oriole disasm` print of code goes back, `.reuse` without a control word too.
#[test]
fn lines_of_a_listing_become_words() {
    // ptxas's word for sm_90: the next instruction issues one cycle later on the same warp.
    const KEPT: u128 = 0x040fe200000000050000000700047223;
    // The same without the bit of `.reuse`, waiting for scoreboard 2, with a stall count of 4.
    const PLAIN: u128 = 0x004fe800000000050000000700047223;
    let input = "        /*0070*/                   FFMA R4, R0.reuse, R7, R5 ;\n\
                 /*0070*/ B--2---:R-:W-:Y:S04 FFMA R4, R0, R7, R5 ; /* 0x0000000700047223 */\n\
                 /*0040*/ @!P0 BRA 0x70 ;\n\
                 @!P0 BRA 0x70 @40\n\
                 /*wrong*/ EXIT ;\n";
    let (status, text) = oriole(&["asm", "--arch", "sm_90", "--hex", "-"], input);
    assert_eq!(status, 0);
    let words: Vec<_> = text.lines().map(|line| u128::from_str_radix(line, 16).ok()).collect();
    assert_eq!(words[..2], [Some(KEPT), Some(PLAIN)]);
    assert!(words[2].is_some() && words[2] == words[3], "{text}");
    assert!(text.lines().nth(4).is_some_and(|line| line.contains("'wrong' is no address")), "{text}");
}

/// The spelling of the published opcode table: each letter turned by 13.
#[test]
fn dumps_can_spell_mnemonics_by_rot13() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let output = folder.path().join("cubin").to_str().expect("a UTF-8 path").to_owned();
    let input = kernel("vecadd.sm_90.ptx");
    let dump = |extra: &[&str]| {
        let mut arguments = vec!["compile", &input, "-o", &output, "--dump-after", "OriBranchOpt"];
        arguments.extend(extra);
        oriole(&arguments, "").1
    };
    let (plain, turned) = (dump(&[]), dump(&["--rot13"]));
    for (name, rot13) in [("IMAD", "VZNQ"), ("FADD", "SNQQ"), ("EXIT", "RKVG")] {
        let counts = |text: &str, name: &str| {
            text.split_whitespace().filter(|word| *word == name || word.starts_with(&format!("{name}{{"))).count()
        };
        assert!(counts(&plain, name) > 0, "{plain}");
        assert_eq!(counts(&plain, name), counts(&turned, rot13));
        assert_eq!(counts(&turned, name), 0);
    }
}

#[test]
fn the_same_bytes_every_time() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("a UTF-8 path").to_owned();
    let mut cubins = Vec::new();
    for (name, options) in [("a", ["-v", "-v"]), ("b", ["--stats", "--verify"])] {
        let (input, output) = (kernel("sort.sm_90.ptx"), path(name));
        let mut arguments = vec!["compile", &input, "-o", &output, "--entry", "bitonic_shared"];
        arguments.extend(if name == "a" { &options[..1] } else { &options[..] });
        assert_eq!(oriole(&arguments, "").0, 0);
        cubins.push(std::fs::read(&output).expect("the cubin is there"));
    }
    assert_eq!(cubins[0], cubins[1]);
}

#[test]
fn results_do_not_depend_on_host_threads() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("a UTF-8 path").to_owned();
    let data: Vec<u8> = (0..65_536u32).flat_map(|i| (i.wrapping_mul(2_654_435_761)).to_le_bytes()).collect();
    std::fs::write(path("in"), &data).expect("it can be written");
    let mut results = Vec::new();
    for threads in ["1", "2", "7"] {
        let (input, buffer, output) = (kernel("histogram.sm_80.ptx"), format!("in:{}", path("in")), path(threads));
        let out = format!("out:{output}:65536");
        let arguments = [
            "run",
            &input,
            "--entry",
            "hist256",
            "--grid",
            "64",
            "--block",
            "256",
            "--threads",
            threads,
            &buffer,
            &out,
            "s32:65536",
        ];
        let (status, text) = oriole(&arguments, "");
        assert_eq!(status, 0, "{text}");
        results.push(std::fs::read(&output).expect("the buffer is there"));
    }
    assert!(results.iter().all(|r| *r == results[0]));
}

#[test]
fn instructions_are_found_by_both_names() {
    let (status, by_rot13) = oriole(&["isa", "show", "VZNQ"], "");
    assert_eq!(status, 0);
    assert!(by_rot13.contains("IMAD"), "{by_rot13}");
    assert_eq!(by_rot13, oriole(&["isa", "show", "imad"], "").1);
    assert_eq!(oriole(&["isa", "show", "NOSUCH"], "").0, 1);
    let (_, list) = oriole(&["isa", "list", "--arch", "sm_90"], "");
    assert!(list.lines().any(|line| line.starts_with("FADD ")));
    let (_, registers) = oriole(&["isa", "special-registers", "--arch", "sm_80"], "");
    assert!(registers.contains("SR_TID.X") && registers.contains("%tid.x"), "{registers}");
}

#[test]
fn objects_and_debug_information_are_made() {
    let input = kernel("vecadd.sm_90.ptx");
    for option in ["-c", "-g", "--lineinfo"] {
        let (status, text) = oriole(&["compile", &input, "-o", "/dev/null", option], "");
        assert_eq!(status, 0, "{option}: {text}");
    }
}

fn compiled(folder: &Path, options: &[&str]) -> Vec<u8> {
    let (input, output) = (kernel("sort.sm_90.ptx"), folder.join("cubin").to_str().expect("a UTF-8 path").to_owned());
    let mut arguments = vec!["compile", &input, "-o", &output];
    arguments.extend(options);
    let (status, text) = oriole(&arguments, "");
    assert_eq!(status, 0, "{text}");
    std::fs::read(&output).expect("the cubin is there")
}

#[test]
fn a_limit_of_passes_goes_from_none_to_all() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let compiled = |options: &[&str]| compiled(folder.path(), options);
    let without_each: Vec<&str> =
        oriole_codegen::optional_passes(3).flat_map(|pass| ["--disable-pass", pass]).collect();
    assert_eq!(compiled(&["--pass-limit", "0"]), compiled(&without_each));
    assert_eq!(compiled(&["--pass-limit", "1000"]), compiled(&[]));
    assert_ne!(compiled(&["--pass-limit", "0"]), compiled(&[]));
    // What is left out keeps its numbers, so that the rest keeps its own.
    let (first, rest) = (compiled(&["--pass-limit", "1"]), ["--pass-limit", "1", "--disable-pass", "GvnCse"]);
    assert_eq!(first, compiled(&rest));
}

/// The published table: every slot from 0 to 158 once, and the passes that can be left out are those marked so.
#[test]
fn the_table_of_phases_is_printed() {
    let (status, text) = oriole(&["phases"], "");
    assert_eq!(status, 0);
    let lines: Vec<Vec<&str>> = text.lines().skip(1).map(|line| line.split_whitespace().collect()).collect();
    let mut numbers: Vec<u32> = lines.iter().map(|words| words[0].parse().expect("a number")).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..=158).collect::<Vec<u32>>());
    // A pass may fill two slots, and go by the name of the first; one runs later than its slot stands.
    let optional: BTreeSet<&str> = lines.iter().filter(|words| words[2] == "optional").map(|words| words[1]).collect();
    let passes: BTreeSet<&str> = oriole_codegen::optional_passes(3).collect();
    assert_eq!(optional.difference(&passes).collect::<Vec<_>>(), [&"InsertPseudoUseDefForConvUR"]);
    assert_eq!(passes.difference(&optional).count(), 0);
    assert!(lines.iter().all(|words| words.len() > 3), "a slot about which nothing is said");
}

/// The pipeline fits a screen, and is the passes that can be asked for.
#[test]
fn the_pipeline_is_printed() {
    let (status, text) = oriole(&["phases", "--pipeline"], "");
    assert_eq!(status, 0);
    assert!(text.lines().count() <= 42 && text.lines().all(|line| line.len() <= 80), "{text}");
    let names: Vec<&str> = text.lines().skip(1).filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(names, oriole_codegen::passes().map(|pass| pass.name).collect::<Vec<_>>());
}

/// A folder with `in.ptx` in it, and `oriole compile` on that.
fn compiled_text(ptx: &str, options: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("a UTF-8 path").to_owned();
    std::fs::write(path("in.ptx"), ptx).expect("it can be written");
    let (input, output) = (path("in.ptx"), path("out.cubin"));
    let mut arguments = vec!["compile", &input, "-o", &output];
    arguments.extend(options.split_whitespace());
    let (status, text) = oriole(&arguments, "");
    assert_eq!(status, 0, "{options}: {text}");
    (folder, text)
}

fn sass(folder: &Path, options: &[&str]) -> String {
    let cubin = folder.join("out.cubin");
    let mut arguments = vec!["disasm", cubin.to_str().expect("a UTF-8 path")];
    arguments.extend(options);
    oriole(&arguments, "").1
}

/// A kernel with one pointer; `body` may use `%rd1`, `%f<9>`, `%r<9>` and `%p1`.
fn module(directives: &str, body: &str) -> String {
    format!(
        ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p) {directives} {{\n.reg .b64 %rd<9>;\n\
         .reg .f32 %f<9>;\n.reg .b32 %r<9>;\n.reg .pred %p1;\nld.param.u64 %rd1, [p];\n{body}\nret;\n}}\n"
    )
}

const SUM_OF_PRODUCTS: &str = "ld.global.f32 %f1, [%rd1];\nld.global.f32 %f2, [%rd1+4];\nmul.f32 %f3, %f1, %f2;\n\
                               add.f32 %f4, %f3, %f1;\nfma.rn.f32 %f5, %f4, %f2, %f2;\nst.global.f32 [%rd1], %f5;";

#[test]
fn no_fma_acts_on_ptx() {
    let count = |options: &str| {
        let (folder, _) = compiled_text(&module("", SUM_OF_PRODUCTS), options);
        let text = sass(folder.path(), &[]);
        ["FFMA", "FMUL", "FADD"].map(|name| text.matches(name).count())
    };
    // The product and the sum become one, unless that is forbidden; what PTX fuses itself stays.
    assert_eq!(count(""), [2, 0, 0]);
    assert_eq!(count("--no-fma"), [1, 1, 1]);
    assert_eq!(count("--knob contract=0"), [1, 1, 1]);
}

#[test]
fn knobs_are_listed() {
    let (status, text) = oriole(&["compile", "--knob", "list=1"], "");
    assert_eq!(status, 0);
    for knob in oriole_opt::knobs::KNOBS {
        let line = text.lines().find(|line| line.starts_with(knob.name)).expect("a line for each");
        assert!(line.contains(&knob.default.to_string()) && line.contains(knob.meaning), "{line}");
    }
    assert_eq!(oriole(&["compile", "--knob", "contract=0"], "").0, 2);
}

#[test]
fn the_library_compiles_as_the_command_does() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let text = std::fs::read_to_string(kernel("sort.sm_90.ptx")).expect("it is there");
    let library = oriole_codegen::compile(&text, &oriole_codegen::CompileOptions::default()).expect("it compiles");
    assert_eq!(library.cubin, compiled(folder.path(), &[]));
}

const LOOP: &str = "mov.u32 %r1, 0;\nL: add.u32 %r1, %r1, 3;\nsetp.lt.u32 %p1, %r1, 100;\n@%p1 bra L;\n\
                    st.global.u32 [%rd1], %r1;";

#[test]
fn graphs_have_names_code_and_backedges() {
    let other = module("", "").lines().skip(3).collect::<Vec<_>>().join("\n").replace(" k(", " other(");
    let (folder, text) = compiled_text(&format!("{}{other}", module("", LOOP)), "--dump-cfg - --dump-rpo");
    let graph = |name: &str| {
        let start = text.find(&format!("digraph \"{name}\" {{")).expect("its graph");
        &text[start..start + text[start..].find("\n}\n").expect("its end")]
    };
    assert!(graph("k").contains("// backedge (loop)") && graph("k").contains("ISETP"), "{text}");
    assert!(!graph("other").contains("backedge") && graph("other").contains("EXIT"), "{text}");
    let (_, listing) = text.split_once("; k\n").expect("the listing of k");
    let block = listing.split_once("backedge's successor BB: ").expect("the loop").1.lines().next().expect("a line");
    assert!(graph("k").contains(&format!("-> bix{block} // backedge")), "{text}");
    drop(folder);
}

/// The value of `[NAME=VALUE]` in a statistics block; a blank may stand around the sign.
fn figure(text: &str, name: &str) -> f64 {
    let (_, rest) = text.split_once(&format!("[{name}")).expect("the name");
    rest.trim_start_matches([' ', '=']).split(']').next().and_then(|value| value.parse().ok()).expect("a number")
}

#[test]
fn statistics_say_what_the_code_needs() {
    // Nothing waits for a scoreboard here, so that the stall counts are all.
    let (folder, text) =
        compiled_text(&module("", ".shared .b32 s;\nadd.u32 %r2, 5, 6;\nst.shared.u32 [s], %r2;"), "-O0 --stats");
    let code = sass(folder.path(), &["--control"]);
    let lines: Vec<&str> = code.lines().filter(|line| line.contains(":S")).collect();
    let end = lines.iter().position(|line| line.contains("EXIT")).expect("its end") + 1;
    let stall = |line: &&str| line.split(":S").nth(1).and_then(|rest| rest[..2].parse::<f64>().ok()).expect("a count");
    assert!(lines[..end].iter().all(|line| line.contains(" B------:")), "{code}");
    assert_eq!(figure(&text, "est latency"), lines[..end].iter().map(stall).sum::<f64>(), "{code}{text}");
    assert_eq!(figure(&text, "inst"), end as f64);
    assert_eq!(figure(&text, "tepid"), 1.0);

    let stats = |directives: &str, body: &str| compiled_text(&module(directives, body), "--stats").1;
    // Three values are there at once before the first sum, and no predicate.
    let three = ".shared .b32 s;\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %tid.y;\nmov.u32 %r3, %laneid;\nadd.u32 %r1, %r1, %r2;\n\
        mul.lo.u32 %r1, %r1, %r3;\nst.shared.u32 [s], %r1;";
    let full = stats("", three);
    assert!(full.contains("\nFatpoint count for entry k for regclass R : 3\n"), "{full}");
    assert!(!full.contains("for regclass P :"), "{full}");
    let instructions = figure(&full, "inst");
    assert!(full.contains(&format!("\ninstr/R-regs: {instructions} instructions, ")), "{full}");
    let floats = stats("", SUM_OF_PRODUCTS);
    assert!(figure(&floats, "fp thru") > 0.0 && figure(&floats, "fp thru") < figure(&floats, "issue thru"), "{floats}");
    // Two loads must come back before the end.
    assert!(figure(&floats, "worstcaseLat") > figure(&floats, "avgcaseLat"), "{floats}");
    assert!(figure(&floats, "avgcaseLat") > 200.0, "{floats}");
    let integers = stats("", LOOP);
    assert_eq!(figure(&integers, "fp thru"), 0.0);
    assert!(figure(&integers, "pregs") == 1.0 && figure(&integers, "urregs") > 0.0, "{integers}");
    // NVIDIA's occupancy calculator for sm_80: 8 blocks of 256 threads with few registers, one of 1024 by 100 KiB.
    assert_eq!(figure(&stats(".maxntid 256, 1, 1", LOOP), "Occupancy"), 1.0);
    let shared = ".shared .align 4 .b8 s[49152];\nmov.u32 %r2, s;\nst.shared.u32 [%r2], %r2;";
    assert_eq!(figure(&stats(".reqntid 512, 1, 1", shared), "Occupancy"), 0.75);
}

/// A cut chip has its share of the memory, and no more multiprocessors at work than it has.
#[test]
fn timing_can_be_of_a_part_of_the_chip() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let input = kernel("vecadd.sm_80.ptx");
    let json = |options: &[&str]| {
        let file = folder.path().join("timing.json");
        let path = file.to_str().expect("a UTF-8 path");
        let size = 4 * 65536;
        let buffers = [format!("zero:{size}"), format!("zero:{size}"), format!("zero:{size}")];
        let mut arguments = vec!["run", &input, "--entry", "vecadd", "--grid", "256", "--block", "256"];
        arguments.extend(["--timing-file", path]);
        arguments.extend(options);
        arguments.extend(buffers.iter().map(String::as_str));
        arguments.push("u32:65536");
        let (status, text) = oriole(&arguments, "");
        assert_eq!(status, 0, "{text}");
        let text = std::fs::read_to_string(&file).expect("the report");
        serde_json::from_str::<serde_json::Value>(&text).expect("JSON")
    };
    let (whole, part) = (json(&[]), json(&["--timing-sms", "2"]));
    assert_eq!(part["sms"], 2);
    assert_eq!(part["active_sms"], 2);
    assert!(part["cycles"].as_u64() > whole["cycles"].as_u64().map(|cycles| 4 * cycles), "{part} {whole}");
    // Three buffers of 256 KiB take half of 4/108 of 40 MiB; what is there need not be read.
    let (cold, warm) = (json(&["--timing-sms", "4"]), json(&["--timing-sms", "4", "--timing-warm"]));
    let read = |report: &serde_json::Value| report["memory"]["dram_read_bytes"].as_u64().expect("a number");
    assert!(read(&cold) >= 2 * 256 * 1024 && 20 * read(&warm) < read(&cold), "{warm} {cold}");
    assert!(warm["cycles"].as_u64() < cold["cycles"].as_u64(), "{warm} {cold}");
}

/// Whatever the number of threads: the same cubin and the same dumps, of modules with many functions.
#[test]
fn threads_do_not_change_the_code() {
    let library = |text: &str, jobs: usize| {
        let options =
            oriole_codegen::CompileOptions { jobs, dump_all: true, ..oriole_codegen::CompileOptions::default() };
        let compiled = oriole_codegen::compile(text, &options).expect("it compiles");
        let dumps: Vec<_> = compiled.dumps.into_iter().map(|dump| (dump.unit, dump.number, dump.text)).collect();
        (compiled.cubin, dumps)
    };
    for (number, name) in ["sort.sm_90.ptx", "control_flow.sm_80.ptx", "numeric.sm_90.ptx"].into_iter().enumerate() {
        let text = std::fs::read_to_string(kernel(name)).expect("it is there");
        let alone = library(&text, 1);
        for jobs in in_turn(number, [2, 7]) {
            assert!(library(&text, jobs) == alone, "{name} with {jobs} threads");
        }
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    assert_eq!(compiled(folder.path(), &["--jobs", "3"]), compiled(folder.path(), &[]));
}
