//! The command line's promises: text and words both ways, the same bytes every time, the same results
//! on any number of threads, the names of instructions.

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
    let without_each: Vec<&str> = oriole::optional_passes().flat_map(|pass| ["--disable-pass", pass]).collect();
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
    let optional: Vec<&str> = lines.iter().filter(|words| words[2] == "optional").map(|words| words[1]).collect();
    assert_eq!(optional, oriole::optional_passes().collect::<Vec<_>>());
}
