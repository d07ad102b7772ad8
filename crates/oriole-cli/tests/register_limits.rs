//! Which limit of registers wins, and what is said of it: the lines of ptxas 13.0.88, and those of the ptxas that is found.

use crate::compilers::{compilers, said};
use std::process::Command;

/// Directives of the kernel, `--maxrregcount`, the lines that ptxas has about it (measured on 13.0.88), and the most
/// registers that a kernel that could use more may take.
const CASES: &[(&str, &str, &[&str], u32)] = &[
    ("", "32", &["info : Overriding maximum register limit 256 for 'k' with 32 of maxrregcount option"], 32),
    (
        "",
        "8",
        &[
            "warning : For profile sm_80 adjusting per thread register count of 8 to lower bound of 24",
            "info : Overriding maximum register limit 256 for 'k' with 24 of maxrregcount option",
        ],
        24,
    ),
    (
        "",
        "300",
        &[
            "warning : Too big maxrregcount value specified 300, will be ignored",
            "info : Overriding maximum register limit 256 for 'k' with 255 of maxrregcount option",
        ],
        255,
    ),
    (".maxntid 256,1,1", "32", &[], 255),
    (".reqntid 128,1,1", "32", &[], 255),
    (".maxntid 1024,1,1", "32", &[], 64),
    (".maxnreg 40", "32", &["info : Overriding global maxrregcount 32 with entry-specific value 40 of .maxnreg"], 40),
    (
        ".maxnreg 256",
        "32",
        &[
            "warning : Too many maxnreg specified for entry k, will be ignored",
            "info : Overriding global maxrregcount 32 with entry-specific value 255 of .maxnreg",
        ],
        255,
    ),
    (
        ".maxnreg 8",
        "32",
        &[
            "warning : For entry k adjusting per thread register count of 8 to lower bound of 24",
            "info : Overriding global maxrregcount 32 with entry-specific value 24 of .maxnreg",
        ],
        24,
    ),
    (
        ".maxntid 256,1,1 .minnctapersm 4",
        "32",
        &["info : Overriding global maxrregcount 32 with entry-specific value 64 computed using thread count"],
        64,
    ),
    (".maxntid 256,1,1 .minnctapersm 4", "64", &[], 64),
    (
        ".maxntid 1024,1,1 .minnctapersm 4",
        "32",
        &["warning : Value of threads per SM for entry k is out of range. .minnctapersm will be ignored"],
        64,
    ),
];

/// A kernel that adds up 80 values, the last one that it loads first: all are live at a time.
fn kernel(directives: &str) -> String {
    let loads: String = (0..80).map(|i| format!("ld.volatile.global.u32 %v{i}, [%rd2+{}];\n", 4 * i)).collect();
    let sums: String = (1..80).rev().map(|i| format!("mad.lo.u32 %v0, %v0, %v0, %v{i};\n")).collect();
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p)\n{directives}\n{{\n\
         .reg .b64 %rd<4>; .reg .b32 %v<80>;\nld.param.u64 %rd1, [p]; cvta.to.global.u64 %rd2, %rd1;\n\
         {loads}{sums}st.global.u32 [%rd2], %v0; ret;\n}}\n"
    )
}

/// Lines about limits, with single blanks and without the name of who says them; and the registers used.
fn limits(command: &mut Command) -> (Vec<String>, u32) {
    let (success, text) = said(command);
    assert!(success, "{text}");
    let line = |line: &str| {
        let words = line.split_whitespace().collect::<Vec<_>>().join(" ");
        words.strip_prefix("ptxas ").map_or_else(|| words.replacen("warning:", "warning :", 1), str::to_owned)
    };
    let lines: Vec<String> = text.lines().map(line).collect();
    let used = lines.iter().find_map(|line| line.strip_prefix("info : Used ")?.split(' ').next()?.parse().ok());
    let about = ["Overriding", "adjusting", "Too big", "Too many", "out of range"];
    let mut found: Vec<String> =
        lines.into_iter().filter(|line| about.iter().any(|word| line.contains(word))).collect();
    found.sort();
    (found, used.unwrap_or_else(|| panic!("no register count in: {text}")))
}

#[test]
fn the_limit_of_the_kernel_goes_before_that_of_the_command_line() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (input, output) = (folder.path().join("k.ptx"), folder.path().join("k.cubin"));
    for (directives, count, expected, most) in CASES {
        std::fs::write(&input, kernel(directives)).expect("the folder is ours");
        let mut expected: Vec<&str> = expected.to_vec();
        expected.sort();
        for (who, mut command) in
            compilers("sm_80", &input, &output, &["-v", "--maxrregcount", count]).into_iter().enumerate()
        {
            let (lines, used) = limits(&mut command);
            assert_eq!(lines, expected, "{directives} {count}: {command:?}");
            assert!(used <= *most, "{directives} {count}: {used} registers, {command:?}");
            assert!(used > 24 || *most == 24, "{directives} {count}: {used} registers, {command:?}");
            // 80 values do not fit into 64: ours take what there is.
            assert!(who > 0 || used + 4 > (*most).min(80), "{directives} {count}: {used} registers, {command:?}");
        }
    }
}

/// A module with a kernel and a function that others may call, each of which adds up 80 values.
fn with_function() -> String {
    let module = kernel("");
    let (head, body) = module.split_once(".visible .entry k(.param .u64 p)\n\n").expect("the kernel has no directives");
    format!("{head}.visible .func f(.param .u64 p)\n{body}.visible .entry k(.param .u64 p)\n{body}")
}

/// What the compilers that there are say of `text` with these options, on lines with any of `about`.
fn lines_about(text: &str, options: &[&str], about: &[&str]) -> Vec<Vec<String>> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (input, output) = (folder.path().join("k.ptx"), folder.path().join("k.cubin"));
    std::fs::write(&input, text).expect("the folder is ours");
    let lines = |mut command: Command| {
        let (success, text) = said(&mut command);
        assert!(success, "{command:?}: {text}");
        let line = |line: &str| line.trim_start_matches("ptxas ").replacen("warning :", "warning:", 1);
        let lines = text.lines().map(line);
        lines.filter(|line| about.iter().any(|word| line.contains(word))).collect::<Vec<String>>()
    };
    compilers("sm_80", &input, &output, options).into_iter().map(lines).collect()
}

/// Registers of `f` in an object of ours: the highest that its code names, plus one.
fn registers_of_function(options: &[&str]) -> u32 {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (input, output) = (folder.path().join("k.ptx"), folder.path().join("k.cubin"));
    std::fs::write(&input, with_function()).expect("the folder is ours");
    let oriole = || Command::new(env!("CARGO_BIN_EXE_oriole"));
    let done = oriole().arg("compile").arg(&input).arg("-c").args(options).arg("-o").arg(&output).status();
    assert!(done.expect("it starts").success(), "{options:?}");
    let listing = oriole().args(["disasm", "--entry", "f"]).arg(&output).output().expect("it starts").stdout;
    let text = String::from_utf8(listing).expect("text");
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    words.filter_map(|word| word.strip_prefix('R')?.parse::<u32>().ok()).max().expect("it names registers") + 1
}

#[test]
fn functions_of_an_object_have_a_limit_of_their_own() {
    // Without a limit the values are in registers.
    assert!(registers_of_function(&[]) > 64);
    for (options, most) in [
        (&["--device-function-maxrregcount", "32"][..], 32),
        (&["--device-function-maxrregcount", "32", "--maxrregcount", "64"], 32),
        (&["--device-function-maxrregcount", "64", "--maxrregcount", "32"], 64),
        (&["--maxrregcount", "40"], 40),
        (&["--device-function-maxrregcount", "8"], 24),
    ] {
        let used = registers_of_function(options);
        assert!((most - 4..=most).contains(&used), "{options:?}: {used}");
    }
    let about = ["adjusting", "Too big"];
    for (count, expected) in [
        ("8", "warning: For profile sm_80 adjusting per thread register count of 8 to lower bound of 24"),
        ("300", "warning: Too big maxrregcount value specified 300, will be ignored"),
    ] {
        for lines in lines_about(&with_function(), &["-c", "--device-function-maxrregcount", count], &about) {
            assert_eq!(lines, [expected]);
        }
    }
}

#[test]
fn spills_and_local_memory_are_warned_of() {
    // ptxas and Oriole differ in how many bytes, not in the words; neither says anything where there is nothing.
    let shape = |line: &String| line.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
    let about = ["ocal memory"];
    let both = ["--warn-on-spills", "--warn-on-local-memory-usage"];
    let used = "warning: Local memory used for function 'k', size of stack frame:  bytes";
    let spilled =
        "warning: Registers are spilled to local memory in function 'k',  bytes spill stores,  bytes spill loads";
    let few = ["--maxrregcount", "32"];
    for (options, expected) in [
        ([&both[..], &few].concat(), vec![used, spilled]),
        ([&both[..1], &few].concat(), vec![spilled]),
        ([&both[1..], &few].concat(), vec![used]),
        (few.to_vec(), vec![]),
        (both.to_vec(), vec![]),
    ] {
        for lines in lines_about(&kernel(""), &options, &about) {
            assert_eq!(lines.iter().map(shape).collect::<Vec<_>>(), expected, "{options:?}");
        }
    }
}

#[test]
fn higher_levels_of_usage_use_more_registers() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (input, output) = (folder.path().join("k.ptx"), folder.path().join("k.cubin"));
    std::fs::write(&input, kernel("")).expect("the folder is ours");
    let used = |level: &str| {
        let mut oriole = Command::new(env!("CARGO_BIN_EXE_oriole"));
        limits(oriole.arg("compile").arg(&input).args(["-v", "--register-usage-level", level, "-o"]).arg(&output)).1
    };
    let all = ["0", "2", "5", "8", "10"].map(used);
    assert!(all.is_sorted() && all[0] < all[4], "{all:?}");
}

/// A kernel whose matrix product holds `columns / 2` registers at once, none of which can be in memory; and its line.
fn product(columns: u32) -> (String, u32) {
    let registers: Vec<String> = (0..columns / 2).map(|i| format!("%f{i}")).collect();
    let zeros: String = registers.iter().map(|register| format!("mov.f32 {register}, 0f00000000;\n")).collect();
    let stores: String =
        (0..).zip(&registers).map(|(i, r)| format!("st.global.f32 [%rd1+{}], {r};\n", 4 * i)).collect();
    let head = format!(
        ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 p)\n{{\n\
         .reg .b64 %rd<4>; .reg .f32 %f<{}>;\nld.param.u64 %rd1, [p];\n\
         ld.global.v2.u64 {{%rd2, %rd3}}, [%rd1];\n{zeros}wgmma.fence.sync.aligned;\n",
        columns / 2
    );
    let line = head.lines().count() as u32 + 1;
    let text = format!(
        "{head}wgmma.mma_async.sync.aligned.m64n{columns}k16.f32.f16.f16 {{{}}}, %rd2, %rd3, 1, 1, 1, 0, 0;\n\
         wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n{stores}ret;\n}}\n",
        registers.join(", ")
    );
    (text, line)
}

/// The line that a message names, and the number of registers that it says would do.
fn named(text: &str) -> (u32, u32) {
    let behind = |word: &str| -> u32 {
        let rest = text.split_once(word).unwrap_or_else(|| panic!("no '{word}' in: {text}")).1;
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().unwrap_or_else(|_| panic!("no number behind '{word}' in: {text}"))
    };
    (behind("instruction at line "), behind("register target of "))
}

#[test]
fn an_instruction_without_room_is_named_with_the_number_that_would_do() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (input, output) = (folder.path().join("k.ptx"), folder.path().join("k.cubin"));
    for columns in [64, 128, 256] {
        let (text, line) = product(columns);
        std::fs::write(&input, text).expect("the folder is ours");
        for mut command in compilers("sm_90a", &input, &output, &["--maxrregcount", "24"]) {
            let (success, text) = said(&mut command);
            assert!(!success && text.contains("(C7602) Insufficient registers (24)"), "{command:?}: {text}");
            let (at, enough) = named(&text);
            assert!(at == line && enough >= columns / 2, "{command:?}: {text}");
            // The number is the compiler's own: ptxas's may differ.
            let program = command.get_program().to_owned();
            let again = compilers("sm_90a", &input, &output, &["--maxrregcount", &enough.to_string()]);
            for mut command in again.into_iter().filter(|again| again.get_program() == program) {
                let (success, text) = said(&mut command);
                assert!(success, "{command:?}: {text}");
            }
        }
    }
}
