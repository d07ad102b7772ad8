//! What a newcomer types first, as ptxas, nvcc, nvdisasm and cuobjdump take it: it works, or the message says what does.

use crate::scratch::{Scratch, WRONG, error_text, finished, kernel};

/// The words, the exit status, and what is said or printed. An empty text: nothing is said.
const LINES: &[(&str, i32, &str)] = &[
    // ptxas.
    ("compile -arch sm_90 k.ptx -o out", 0, ""),
    ("compile -arch=sm_90 k.ptx -o out", 0, ""),
    ("compile --gpu-name sm_90 k.ptx -o out", 0, ""),
    ("compile --gpu-name=sm_90a k.ptx --output-file out", 0, ""),
    ("compile --opt-level 3 k.ptx -o out", 0, ""),
    ("compile -O 3 k.ptx -o out", 0, ""),
    ("compile -O1 k.ptx -o out", 0, ""),
    ("compile -v -arch=sm_80 k.ptx -o out", 0, "ptxas info    : Compiling entry function 'k' for 'sm_80'"),
    ("compile -maxrregcount 32 -lineinfo k.ptx -o out", 0, ""),
    ("compile -maxrregcount=32 -m64 k.ptx -o out", 0, ""),
    ("compile --compile-only -e k k.ptx -o out", 0, ""),
    ("compile --device-debug k.ptx -o out", 0, ""),
    ("compile --def-load-cache=ca k.ptx -o out", 2, "tip: this is an option of ptxas; `oriole ptxas …` takes them all"),
    ("compile k.ptx -arch=sm_90", 2, "tip: `-o k.cubin` names the cubin to write"),
    (
        "-arch=sm_90 k.ptx -o out",
        2,
        "tip: `oriole ptxas …` takes the options of ptxas, `oriole compile …` those of Oriole",
    ),
    ("k.ptx", 2, "tip: `oriole compile k.ptx -o OUT.cubin` compiles it"),
    ("ptxas -arch=sm_90 -v k.ptx -o out", 0, "ptxas info    : Compiling entry function 'k' for 'sm_90'"),
    // nvcc.
    (
        "compile -cubin -arch=sm_90 -Xptxas -v k.ptx -o out",
        0,
        "ptxas info    : Compiling entry function 'k' for 'sm_90'",
    ),
    ("compile -gencode arch=compute_90,code=sm_90 k.ptx -o out", 2, "name the chip with `--arch sm_90`"),
    ("compile --use_fast_math k.ptx -o out", 2, "`--ftz --no-prec-div --no-prec-sqrt --fp-contract fast`"),
    ("compile -arch=sm_90 -ptx k.ptx -o out", 2, "`oriole nvptx FILE -o k.ptx` makes PTX of LLVM IR"),
    ("compile -arch=sm_90 k.cu -o out", 1, "nvcc --ptx"),
    // nvdisasm.
    ("disasm -c k.cubin", 0, "STG.E"),
    ("disasm --print-code -gp lines.cubin", 0, "STG.E"),
    ("disasm -g k.cubin", 1, "no line table: the cubin was made without --lineinfo or -g"),
    ("disasm -hex k.cubin", 2, "`--json` has the word of each instruction"),
    ("disasm -cfg k.cubin", 2, "--dump-cfg"),
    ("disasm -json k.cubin", 0, "\"functions\""),
    ("k.cubin", 2, "tip: `oriole disasm k.cubin` shows its code"),
    // cuobjdump.
    ("disasm --sass k.cubin", 0, "STG.E"),
    ("disasm -sass -fun k k.cubin", 0, "STG.E"),
    ("disasm --dump-resource-usage k.cubin", 2, "`oriole compile -v` prints registers"),
    ("disasm -xelf all k.cubin", 2, "`oriole fatbin FILE --extract DIR`"),
    ("disasm k.ptx", 1, "error: k.ptx: PTX, not a cubin; `oriole compile k.ptx -o k.cubin` makes a cubin of it"),
    ("check k.ptx", 1, "error: k.ptx: PTX, not a cubin; `oriole compile k.ptx -o k.cubin` makes a cubin of it"),
    ("schedule k.ptx", 1, "error: k.ptx: PTX, not a cubin; `oriole compile k.ptx -o k.cubin` makes a cubin of it"),
    ("disasm k.ll", 1, "error: k.ll: LLVM IR, not a cubin; `oriole compile k.ll -o k.cubin` makes a cubin of it"),
    // Targets.
    ("compile --arch SM_90 k.ptx -o out", 1, "error: no code is made for target 'SM_90'; did you mean 'sm_90'?\n"),
    ("compile --arch 90 k.ptx -o out", 1, "; did you mean 'sm_90'?\n"),
    ("compile --arch compute_90a k.ptx -o out", 1, "; did you mean 'sm_90a'?\n"),
    ("ptx check --arch sm90 k.ptx", 1, "error: unknown target 'sm90'; did you mean 'sm_90'?\n"),
    // Launches.
    ("run k.ptx", 2, "tip: `--entry` names the kernel"),
    ("run k.ptx --entry j zero:4", 1, "no kernel 'j'; the module has: k\n"),
    ("run k.ptx --entry k out:o.bin", 2, "error: argument 'out:o.bin': expected out:PATH:SIZE, such as out:c.bin:4096"),
    ("run k.ptx --entry k inout:o.bin", 2, "expected inout:PATH:OUT"),
    (
        "run k.ptx --entry k --grid 5000000000 zero:4",
        2,
        "5000000000 is too large: a dimension of a grid is at most 2147483647\n",
    ),
    ("run k.ptx --entry k --grid -4 zero:4", 2, "a dimension must be at least 1\n"),
    ("run k.ptx --entry k --block 4,x zero:4", 2, "'x' is not a number\n"),
];

#[test]
fn it_works_or_says_the_right_line() {
    let scratch = Scratch::new();
    scratch.write("k.ptx", kernel("k", 1, 1));
    scratch.write("k.cu", "__global__ void k() {}\n");
    scratch.write("k.ll", "target triple = \"nvptx64-nvidia-cuda\"\ndefine ptx_kernel void @k() {\n  ret void\n}\n");
    for made in ["compile k.ptx -o k.cubin", "compile k.ptx --lineinfo -o lines.cubin"] {
        assert!(finished(scratch.command(made)).status.success(), "{made}");
    }
    let mut wrong = String::new();
    for (line, status, expected) in LINES {
        let output = finished(scratch.command(line));
        let said = error_text(&output);
        let text = format!("{said}{}", String::from_utf8_lossy(&output.stdout));
        let is_right = if expected.is_empty() { said.is_empty() } else { text.contains(expected) };
        if output.status.code() != Some(*status) || !is_right {
            wrong += &format!(
                "oriole {line}\n  status {:?}, not {status}; not '{expected}':\n{text}\n",
                output.status.code()
            );
        }
        if *status != 0 {
            assert!(!scratch.path("out").exists(), "oriole {line} left a file");
        }
        if scratch.path("out").exists() {
            std::fs::remove_file(scratch.path("out")).expect("it can go");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// The same bytes, whichever tool's words ask for them.
#[test]
fn words_of_other_tools_ask_for_the_same_code() {
    let scratch = Scratch::new();
    scratch.write("k.ptx", kernel("k", 1, 9));
    for (own, typed) in [
        ("--arch sm_90 -O1 --lineinfo", "-arch=sm_90 --opt-level 1 -lineinfo"),
        ("--arch sm_80 --maxrregcount 24", "--gpu-name sm_80 -Xptxas -maxrregcount=24"),
        ("--arch sm_80 -c", "-arch sm_80 -rdc=true"),
    ] {
        for (words, file) in [(own, "own"), (typed, "typed")] {
            let line = format!("compile k.ptx -o {file} {words}");
            assert!(finished(scratch.command(&line)).status.success(), "{line}");
        }
        assert!(scratch.read("own") == scratch.read("typed"), "{typed}");
    }
}

/// A launch that goes on says so, and what ends it. The first word comes after ten seconds.
#[test]
fn an_endless_launch_says_that_it_runs() {
    let scratch = Scratch::new();
    scratch.write(
        "loop.ptx",
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry spin() {\nAGAIN:\nbra AGAIN;\n}\n",
    );
    let mut child = scratch
        .command("run loop.ptx --entry spin --max-instructions 1000000000000")
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("it starts");
    let said = child.stderr.take().expect("it is piped");
    let lines = std::io::BufRead::lines(std::io::BufReader::new(said));
    let told = lines.map_while(Result::ok).find(|line| line.contains("still running"));
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    let expected = "note: spin is still running after 10 s; --timeout SECONDS ends a launch that never does";
    assert_eq!(told.as_deref(), Some(expected));
}

/// Mistakes in a kernel are shown with line, caret and help by the library as by the command.
#[test]
fn the_library_shows_what_the_command_shows() {
    let scratch = Scratch::new();
    scratch.write("wrong.ptx", WRONG);
    let shown = error_text(&finished(scratch.command("compile wrong.ptx -o out --color never")));
    let compiler = oriole::Compiler::builder().file_name("wrong.ptx").build().expect("settings");
    let error = compiler.compile_ptx(WRONG).expect_err("it is wrong");
    assert_eq!(error.to_string(), shown.trim_end());
    assert!(shown.contains("^^^^^^^^"), "{shown}");
    let unnamed = oriole::Compiler::builder().build().expect("settings").compile_ptx(WRONG).expect_err("it is wrong");
    assert!(unnamed.to_string().contains("┌─ <ptx>:6:19"), "{unnamed}");
}

/// The advice of `--timing` on a kernel whose threads are a line apart, in memory and in the banks of shared memory.
#[test]
fn timing_gives_advice() {
    let scratch = Scratch::new();
    scratch.write(
        "apart.ptx",
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry apart(.param .u64 p) {\n\
         .reg .u64 %a, %c;\n.reg .u32 %x, %y;\n.shared .align 4 .b8 s[4096];\n\
         ld.param.u64 %a, [p];\nmov.u32 %x, %tid.x;\nmul.wide.u32 %c, %x, 128;\nadd.u64 %a, %a, %c;\n\
         ld.global.u32 %y, [%a];\nshl.b32 %x, %x, 7;\nand.b32 %x, %x, 4095;\nst.shared.u32 [%x], %y;\n\
         bar.sync 0;\nld.shared.u32 %y, [%x];\nst.global.u32 [%a], %y;\nret;\n}\n",
    );
    let advice = |block: u32| {
        let line = format!("run apart.ptx --entry apart --block {block} zero:65536 --timing");
        let said = error_text(&finished(scratch.command(&line)));
        said.lines().filter_map(|line| Some(line.split_once("advice: ")?.1.to_owned())).collect::<Vec<String>>()
    };
    let told = advice(64);
    let has = |start: &str, end: &str| told.iter().any(|told| told.starts_with(start) && told.contains(end));
    // 32 threads of 4 bytes: 32 sectors for 4, and 32 cycles of shared memory for one.
    assert!(has("uncoalesced: LDG.E at", "takes 32.0 sectors a warp, 4 if"), "{told:#?}");
    assert!(has("uncoalesced: STG.E at", "takes 32.0 sectors a warp, 4 if"), "{told:#?}");
    assert!(has("bank conflicts: STS at", "takes 64 cycles of shared memory, 62 of them by conflicts"), "{told:#?}");
    assert!(has("cold caches: ", "--timing-warm"), "{told:#?}");
    assert!(has("1 of 108 multiprocessors have a block", "--timing-sms 1"), "{told:#?}");
    assert!(!has("a block of", ""), "{told:#?}");
    assert!(advice(33).iter().any(|told| told.starts_with("a block of 33 threads has 2 warps")));
}
