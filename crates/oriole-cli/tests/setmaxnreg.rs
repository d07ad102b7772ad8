//! Kernels whose warps change the number of their registers: what ptxas 13.0.88 makes of `setmaxnreg` and says of it, and
//! the ptxas that is found; results on the strict simulator, which holds a warp to the registers that it has, against the
//! host's.

use crate::read_back;

use crate::compilers::{compilers, said};
use std::path::Path;
use std::process::Command;

/// Declarations of all functions here.
const DECLARATIONS: &str = ".reg .b64 %d<4>; .reg .b32 %v<300>, %r<9>; .reg .pred %p<4>;";

/// Loads `count` words from [%d1] before it adds them up, each times three more than the one behind it, into %v0.
fn sum(count: usize) -> String {
    let loads: String = (0..count).map(|i| format!("ld.volatile.global.u32 %v{i}, [%d1+{}];\n", 4 * i)).collect();
    let sums: String = (1..count).rev().map(|i| format!("mad.lo.u32 %v0, %v0, 3, %v{i};\n")).collect();
    format!("{loads}bar.warp.sync 0xffffffff;\n{sums}")
}

/// The same on the host; the words are those from `first` on.
fn sum_on_host(first: u32, count: u32) -> u32 {
    (1..count).rev().fold(word(first), |sum, i| sum.wrapping_mul(3).wrapping_add(word(first + i)))
}

/// What stands in the input at word `at`.
fn word(at: u32) -> u32 {
    at.wrapping_mul(2_654_435_761) >> 7
}

/// A kernel of warpgroups: the first executes `first`, the others `rest`; all then store %v0.
fn kernel(directives: &str, first: &str, rest: &str, functions: &str) -> String {
    format!(
        ".version 8.7\n.target sm_90a\n.address_size 64\n{functions}\n\
         .visible .entry k(.param .u64 in, .param .u64 out)\n{directives}\n{{\n{DECLARATIONS}\n\
         ld.param.u64 %d1, [in]; ld.param.u64 %d2, [out]; mov.u32 %r0, %tid.x;\n\
         mul.wide.u32 %d3, %r0, 4; add.u64 %d1, %d1, %d3; add.u64 %d2, %d2, %d3;\n\
         setp.lt.u32 %p0, %r0, 128; @%p0 bra FIRST;\n{rest}\nbra ALL;\nFIRST:\n{first}\n\
         ALL: st.global.u32 [%d2], %v0; ret;\n}}\n"
    )
}

fn change(which: &str, count: u32) -> String {
    format!("setmaxnreg.{which}.sync.aligned.u32 {count};\n")
}

/// A producer that gives registers back and consumers that take them.
fn specialised(directives: &str, fewer: u32, more: u32, words: [usize; 2]) -> String {
    let first = change("dec", fewer) + &sum(words[0]);
    kernel(directives, &first, &(change("inc", more) + &sum(words[1])), "")
}

fn number_before(text: &str, what: &str) -> u32 {
    let before = text.split(what).next().and_then(|before| before.rsplit([' ', '\n']).next());
    before.and_then(|word| word.parse().ok()).unwrap_or_else(|| panic!("no number before {what:?} in: {text}"))
}

/// The code of a cubin, as text.
fn listing(cubin: &Path) -> String {
    let mut disasm = Command::new(env!("CARGO_BIN_EXE_oriole"));
    let done = read_back::run(disasm.arg("disasm").arg(cubin));
    String::from_utf8(done.stdout).expect("text")
}

/// The highest R register in some lines.
fn highest<'l>(lines: impl Iterator<Item = &'l str>) -> u32 {
    let words = lines.flat_map(|line| line.split(|c: char| !c.is_ascii_alphanumeric()));
    words.filter_map(|word| word.strip_prefix('R')?.parse().ok()).max().unwrap_or(0)
}

/// Runs `k` with `threads` threads on the strict simulator: what they stored, or what it says.
fn run(folder: &Path, cubin: &Path, threads: u32) -> Result<Vec<u32>, String> {
    let (input, output) = (folder.join("in"), folder.join("out"));
    std::fs::write(&input, (0..1024).flat_map(|at| word(at).to_le_bytes()).collect::<Vec<u8>>()).expect("ours");
    let mut run = Command::new(env!("CARGO_BIN_EXE_oriole"));
    run.arg("run").arg(cubin).args(["--entry", "k", "--block", &threads.to_string(), "--strict"]);
    run.arg(format!("in:{}", input.display())).arg(format!("out:{}:{}", output.display(), 4 * threads));
    let (success, text) = said(&mut run);
    if !success {
        return Err(text);
    }
    let bytes = std::fs::read(output).expect("the run wrote it");
    Ok(bytes.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect())
}

#[test]
fn regions_use_the_registers_that_they_have() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (input, output) = (folder.path().join("k.ptx"), folder.path().join("k.cubin"));
    // Directives, threads, registers at entry, of the producer and of the consumers, and what they add up.
    let cases = [
        (".reqntid 384,1,1 .minnctapersm 1", 384, 168, 40, 232, [30, 210]),
        (".maxntid 384,1,1 .maxnreg 168", 384, 168, 24, 240, [15, 220]),
        (".reqntid 256,1,1 .minnctapersm 2", 256, 128, 40, 216, [30, 200]),
    ];
    for (directives, threads, entry, fewer, more, words) in cases {
        std::fs::write(&input, specialised(directives, fewer, more, words)).expect("the folder is ours");
        let expected: Vec<u32> =
            (0..threads).map(|tid| sum_on_host(tid, words[usize::from(tid >= 128)] as u32)).collect();
        for mut command in compilers("sm_90a", &input, &output, &["-v"]) {
            let (success, text) = said(&mut command);
            assert!(success, "{command:?}: {text}");
            assert_eq!(number_before(&text, " bytes spill stores"), 0, "{command:?}");
            assert_eq!(number_before(&text, " registers, used"), entry, "{command:?}");
            assert_eq!(run(folder.path(), &output, threads).as_ref(), Ok(&expected), "{command:?}");
            read_back::cubin(&std::fs::read(&output).expect("the compiler wrote it"));
            let (is_clean, findings) = said(Command::new(env!("CARGO_BIN_EXE_oriole")).arg("check").arg(&output));
            assert!(is_clean, "{command:?}: {findings}");
            let code = listing(&output);
            let lines: Vec<&str> = code.lines().collect();
            let place = |what: &str| lines.iter().position(|line| line.contains(what)).expect(what);
            let taken = place(&format!("USETMAXREG.TRY_ALLOC.CTAPOOL UP0, {more:#x}"));
            let given = place(&format!("USETMAXREG.DEALLOC.CTAPOOL {fewer:#x}"));
            assert!(taken < given, "{command:?}: {code}");
            let most = highest(lines[taken..given].iter().copied());
            assert!((entry..more - 2).contains(&most), "{command:?}: R{most}");
            assert!(highest(lines[given..].iter().copied()) < fewer - 2, "{command:?}: {code}");
            assert!(highest(lines[..taken].iter().copied()) < entry - 2, "{command:?}: {code}");
            // The warp tries until it has them.
            assert!(lines[taken..given].iter().any(|line| line.contains("@!P") && line.contains("BRA")), "{code}");
        }
    }
}

#[test]
fn a_warp_that_has_too_few_registers_faults() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = |name: &str| folder.path().join(name);
    let oriole = |arguments: &[&std::ffi::OsStr]| {
        read_back::run(Command::new(env!("CARGO_BIN_EXE_oriole")).args(arguments)).stdout
    };
    std::fs::write(at("k.ptx"), specialised(".reqntid 256,1,1 .minnctapersm 2", 40, 216, [30, 200])).expect("ours");
    let (ptx, cubin, sass) = (at("k.ptx"), at("k.cubin"), at("k.sass"));
    oriole(&["compile".as_ref(), ptx.as_ref(), "-o".as_ref(), cubin.as_ref()]);
    let text = String::from_utf8(oriole(&["disasm".as_ref(), "--all".as_ref(), cubin.as_ref()])).expect("text");
    for (old, new, has) in [("DEALLOC.CTAPOOL 0x28", "DEALLOC.CTAPOOL 0x18", 24), ("UP0, 0xd8", "UP0, 0x88", 136)] {
        assert!(text.contains(old), "{text}");
        std::fs::write(&sass, text.replace(old, new)).expect("ours");
        oriole(&["asm".as_ref(), sass.as_ref(), "-o".as_ref(), cubin.as_ref()]);
        let fault = run(folder.path(), &cubin, 256).expect_err("it names registers that the warp has not");
        assert!(fault.contains(&format!("{has} registers")), "{fault}");
    }
}

/// Kernels, options, and what ptxas 13.0.88 says of their `setmaxnreg`.
fn diagnosed() -> Vec<(String, &'static [&'static str], Option<&'static str>)> {
    let plain = |directives: &str| specialised(directives, 40, 232, [8, 8]);
    let known = ".reqntid 384,1,1 .minnctapersm 1";
    let indirect = "{.param .b64 a; st.param.b64 [a], %d1; call %d2, (a), P;}\n";
    let prototype = "P: .callprototype _ (.param .b64 x);\nld.param.u64 %d1";
    let through_address = kernel(known, &change("dec", 40), &(change("inc", 232) + indirect), "");
    let unknown =
        "(C7508) Potential Performance Loss: 'setmaxnreg' ignored; unable to determine register count at entry.";
    vec![
        (plain(known), &[], None),
        (plain(".maxnreg 168"), &[], None),
        (plain(""), &["--maxrregcount", "128"], None),
        (plain(""), &[], Some(unknown)),
        (plain(".reqntid 384,1,1"), &[], Some(unknown)),
        (plain(".maxntid 256,1,1"), &["--maxrregcount", "128"], Some(unknown)),
        (
            plain(known),
            &["-c"],
            Some(
                "(C7504) Potential Performance Loss: 'setmaxnreg' ignored to maintain compatibility across \
                 compilation units.",
            ),
        ),
        (plain(known), &["-g"], Some("(C7505) Potential Performance Loss: 'setmaxnreg' ignored to allow debugging.")),
        (
            through_address.replacen("ld.param.u64 %d1", prototype, 1),
            &[],
            Some(
                "(C7506) Potential Performance Loss: 'setmaxnreg' ignored to maintain compatibility into 'extern' \
                 call.",
            ),
        ),
        (
            specialised(known, 176, 168, [8, 8]),
            &[],
            Some(
                "(C7406) setmaxnreg.dec has register count (176) which is larger than the largest temporal register \
                 count in the program (168)",
            ),
        ),
        (
            kernel(".maxnreg 64", &change("dec", 72), "", ""),
            &[],
            Some(
                "(C7406) setmaxnreg.dec has register count (72) which is larger than the largest temporal register \
                 count in the program (64)",
            ),
        ),
    ]
}

#[test]
fn what_is_ignored_is_said_as_ptxas_says_it() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (input, output) = (folder.path().join("k.ptx"), folder.path().join("k.cubin"));
    for (text, options, expected) in diagnosed() {
        std::fs::write(&input, &text).expect("the folder is ours");
        for mut command in compilers("sm_90a", &input, &output, &[&["-v"], options].concat()) {
            let (success, told) = said(&mut command);
            let about = told.lines().find_map(|line| Some(&line[line.find("(C")?..]));
            assert_eq!(about, expected, "{command:?}: {told}");
            let is_error = expected.is_some_and(|line| line.starts_with("(C74"));
            assert_eq!(success, !is_error, "{command:?}: {told}");
            if success {
                let changes = listing(&output).contains("USETMAXREG");
                assert_eq!(changes, expected.is_none(), "{command:?}");
            }
        }
    }
}

#[test]
fn called_functions_fit_the_region_of_their_callers() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (input, output) = (folder.path().join("k.ptx"), folder.path().join("k.cubin"));
    // The loop keeps it from being inlined.
    let function = format!(
        ".func (.param .b32 r) f(.param .b64 p) {{\n{DECLARATIONS}\nld.param.u64 %d1, [p];\nL:\n{}\n\
         setp.eq.u32 %p1, %v0, 0; @%p1 bra L; st.param.b32 [r], %v0; ret;\n}}\n",
        sum(60)
    );
    let call = "{.param .b64 p; .param .b32 r; st.param.b64 [p], %d1; call.uni (r), f, (p); ld.param.b32 %v0, [r];}\n";
    let first = change("dec", 40) + call + call;
    let text = kernel(".reqntid 256,1,1 .minnctapersm 2", &first, &(change("inc", 216) + call), &function);
    std::fs::write(&input, text).expect("the folder is ours");
    let expected: Vec<u32> = (0..256).map(|tid| sum_on_host(tid, 60)).collect();
    // ptxas 13.0.88 finds no registers for this (C7600).
    for mut command in compilers("sm_90a", &input, &output, &["-v"]).into_iter().take(1) {
        let (success, told) = said(&mut command);
        assert!(success, "{command:?}: {told}");
        assert_eq!(run(folder.path(), &output, 256).as_ref(), Ok(&expected), "{command:?}");
    }
}
