//! The command lines of those who call ptxas, word for word, and what they look for in
//! its answers.

use super::{Folder, KERNELS, errors};

/// Who calls, how, and where the cubin is then.
const CALLS: [(&str, &str, Option<&str>); 21] = [
    ("Triton 3.6", "-lineinfo -v --gpu-name=sm_90a k.ptx -o k.ptx.o", Some("k.ptx.o")),
    ("Triton, no contraction", "-lineinfo -v --fmad=false --gpu-name=sm_80 k.ptx -o k.ptx.o", Some("k.ptx.o")),
    (
        "Triton, no optimisation",
        "-lineinfo -v --opt-level 0 -suppress-debug-info --gpu-name=sm_80 k.ptx -o k.o",
        Some("k.o"),
    ),
    ("Triton 3.7 to 3.9", "-lineinfo -v --regAllocOptLevel=2 --gpu-name=sm_90a k.ptx -o k.ptx.o", Some("k.ptx.o")),
    (
        "Triton with its sanitizers",
        "-lineinfo -v --regAllocOptLevel=2 -Ofc mid --gpu-name=sm_80 k.ptx -o k.o",
        Some("k.o"),
    ),
    (
        "CUDA.jl",
        "--generate-line-info --compile-only --verbose --gpu-name sm_80 --output-file out.o k.ptx",
        Some("out.o"),
    ),
    ("CUDA.jl -g2", "--device-debug --verbose --gpu-name sm_80 --output-file out.o k.ptx", Some("out.o")),
    ("XLA", "k.ptx -o out.cubin -arch=sm_90a --warn-on-spills -v", Some("out.cubin")),
    ("XLA, no optimisation", "k.ptx -o out.cubin -arch=sm_90a --warn-on-spills -O0", Some("out.cubin")),
    ("nvcc", "-arch=sm_90 -m64 -v -maxrregcount=64 --generate-line-info k.ptx -o k.cubin", Some("k.cubin")),
    (
        "XLA, an option of the user",
        "k.ptx -o out.cubin -arch=sm_80 --warn-on-spills -sw200428197=true",
        Some("out.cubin"),
    ),
    (
        "nvcc --split-compile=0",
        "-split-compile=0 -arch=sm_100a -m64 -split-compile=0 k.ptx -o k.cubin",
        Some("k.cubin"),
    ),
    ("nvcc --jobserver", "-jobserver -arch=sm_90 -m64 k.ptx -o k.cubin", Some("k.cubin")),
    (
        "nvcc -rdc=true -lineinfo",
        "-arch=sm_90 -m64 --compile-only --generate-line-info k.ptx -o k.cubin",
        Some("k.cubin"),
    ),
    ("nvcc, PTX alone", "-arch=compute_90 -m64 k.ptx", None),
    ("clang", "-m64 -O3 -v --gpu-name sm_80 --output-file k.cubin k.ptx", Some("k.cubin")),
    (
        "clang -g",
        "-m64 -g --dont-merge-basicblocks --return-at-end --gpu-name sm_80 --output-file k.cubin k.ptx -c",
        Some("k.cubin"),
    ),
    ("MLIR", "-arch sm_90 k.ptx -o k.cubin --opt-level 2", Some("k.cubin")),
    ("cuda-oxide", "-arch=sm_90 k.ptx -o k.cubin", Some("k.cubin")),
    ("GPGPU-Sim", "-v -arch=sm_75 k.ptx --output-file /dev/null", None),
    ("tuning scripts", "-arch=sm_86 -v k.ptx -o k.cubin", Some("k.cubin")),
];

#[test]
fn every_caller_gets_its_cubin() {
    let folder = Folder::new();
    for (caller, line, written) in CALLS {
        let output = folder.run(&line.split(' ').collect::<Vec<_>>());
        assert_eq!(output.status.code(), Some(0), "{caller}: {}", errors(&output));
        assert!(output.stdout.is_empty(), "{caller}");
        let Some(name) = written else {
            assert_eq!(folder.outputs(), [""; 0], "{caller}");
            continue;
        };
        let cubin = std::fs::read(folder.path(name)).expect(caller);
        assert_eq!((&cubin[..4], u16::from_le_bytes([cubin[18], cubin[19]])), (&b"\x7fELF"[..], 190), "{caller}");
        folder.outputs();
    }
}

/// clang puts long lines into a file.
#[test]
fn clang_may_put_its_line_into_a_file() {
    let folder = Folder::new();
    let words = "\"-m64\"\n\"-O3\"\n\"--gpu-name\"\n\"sm_80\"\n\"--output-file\"\n\"k.cubin\"\n\"k.ptx\"\n";
    std::fs::write(folder.path("line"), words).expect("written");
    assert!(folder.run(&["--options-file", "line"]).status.success());
    assert_eq!(folder.outputs(), ["k.cubin"]);
}

/// Triton: `release (\d+\.\d+)`; CUDA.jl: `release (\d+)\.(\d+),\s*V(\d+)\.(\d+)\.(\d+)`; XLA: `\bV(\d+)\.(\d+)\.(\d+)\b`, at least
/// 11.8 and not 12.3.103.
#[test]
fn the_version_is_read_by_all() {
    let folder = Folder::new();
    let output = folder.run(&["--version"]);
    assert!(output.status.success() && output.stderr.is_empty());
    let text = String::from_utf8(output.stdout).expect("text");
    let line = text.lines().find(|line| line.starts_with("Cuda compilation tools, ")).expect("callers look for it");
    let (release, version) = line.split_once("release ").and_then(|(_, rest)| rest.split_once(", V")).expect("both");
    let numbers: Vec<u32> = version.split('.').map(|number| number.parse().expect("a number")).collect();
    assert_eq!(release, format!("{}.{}", numbers[0], numbers[1]));
    assert!(numbers.len() == 3 && (numbers[0], numbers[1]) >= (11, 8));
    assert!(text.starts_with("ptxas: Oriole ") && !text.contains("NVIDIA Corporation"), "{text}");
    // Another toolkit's.
    let as_of = |toolkit: &str| {
        let mut command = std::process::Command::new(folder.path("ptxas"));
        command.arg("--version").env("ORIOLE_PTXAS_VERSION", toolkit).output().expect("it runs")
    };
    for (toolkit, version) in [("", "13.0.88"), ("13.0", "13.0.88"), ("13.5", "13.5.37")] {
        let release = version.rsplit_once('.').expect("three numbers").0;
        let text = format!("Cuda compilation tools, release {release}, V{version}\n");
        assert!(String::from_utf8_lossy(&as_of(toolkit).stdout).ends_with(&text), "{toolkit}");
    }
    let unknown = as_of("12.9");
    assert_eq!((unknown.status.code(), unknown.stdout.len()), (Some(255), 0));
    assert_eq!(
        errors(&unknown),
        "ptxas fatal   : ORIOLE_PTXAS_VERSION: there is no version '12.9' to answer as; 13.0 and 13.5 are known\n"
    );
    // cuda-oxide wants a certain first line: whoever sets it says so.
    let mut command = std::process::Command::new(folder.path("ptxas"));
    let named =
        command.arg("--version").env("ORIOLE_PTXAS_BANNER", "ptxas: a line of one's own").output().expect("it runs");
    assert!(named.stdout.starts_with(b"ptxas: a line of one's own\n"));
}

/// XLA finds the newest PTX by asking for one that is not there: `Unsupported .version 99.99; current version is '8.8'`.
#[test]
fn xla_finds_the_newest_ptx_and_knows_an_unknown_target() {
    let folder = Folder::new();
    std::fs::write(folder.path("probe.ptx"), ".version 99.99\n.target sm_90\n.address_size 64\n").expect("written");
    let said = errors(&folder.run(&["probe.ptx", "-o", "out.cubin", "-arch=sm_90"]));
    assert!(said.contains("Unsupported .version 99.99; current version is '9.5'"), "{said}");
    let said = errors(&folder.run(&["k.ptx", "-o", "out.cubin", "-arch=sm_999"]));
    assert!(said.contains("ptxas fatal   : Value 'sm_999' is not defined for option 'gpu-name'"), "{said}");
}

/// Scripts: `Compiling entry function '([^']+)' for '(sm_\w+)'`, `Used (\d+) registers`, `(\d+) bytes stack frame, (\d+) bytes spill
/// stores, (\d+) bytes spill loads`, `(\d+) bytes smem`, `(\d+) bytes cmem[0]`, `used (\d+) barriers`; the last kernel comes first.
#[test]
fn scripts_read_registers_and_spills() {
    let folder = Folder::new();
    let said = errors(&folder.run(&["-arch=sm_86", "-v", "k.ptx"]));
    let shape: Vec<String> =
        said.lines().map(|line| line.replace(|c: char| c.is_ascii_digit() || c == '.', "")).collect();
    let of = |name: &str, rest: &str| {
        [
            format!("ptxas info    : Compiling entry function '{name}' for 'sm_'"),
            format!("ptxas info    : Function properties for {name}"),
            "     bytes stack frame,  bytes spill stores,  bytes spill loads".to_owned(),
            format!("ptxas info    : Used  registers, used  barriers{rest},  bytes cmem[]"),
            "ptxas info    : Compile time =  ms".to_owned(),
        ]
    };
    let gmem = ["ptxas info    :  bytes gmem".to_owned()];
    assert_eq!(shape, [&gmem[..], &of("b", ",  bytes smem"), &of("a", "")].concat());
    assert!(said.contains("128 bytes smem, 360 bytes cmem[0]"), "{said}");
}

/// Functions with arrays of their own: the kernel's frame has those that it calls by name, which then have none, and of a
/// function that calls itself the frame is its own and the depth is not known. From sm_90 on constant banks are not said.
/// The figures are ptxas's.
#[test]
fn frames_of_functions_are_said() {
    let folder = Folder::new();
    let function = |name: &str, rest: &str| {
        format!(
            ".func (.param .b32 r) {name}(.param .b32 i)\n{{\n.reg .b32 %r<4>; .reg .b64 %d<4>; .reg .pred %p; .local .align 4 .b8 \
             a[64];\nld.param.b32 %r1, [i]; mov.u64 %d1, a; mul.wide.u32 %d2, %r1, 4; add.u64 %d1, %d1, %d2; st.local.u32 \
             [%d1], %r1;\n{rest}\nld.local.u32 %r2, [a+8]; st.param.b32 [r], %r2; ret;\n}}\n"
        )
    };
    let kernel = |name: &str, callee: &str| {
        format!(
            ".visible .entry {name}(.param .u64 out, .param .u32 n)\n{{\n.reg .b32 %r<4>; .reg .b64 %d<2>;\nld.param.u64 %d1, \
             [out]; ld.param.u32 %r1, [n];\n{{ .param .b32 x; .param .b32 y; st.param.b32 [x], %r1; call (y), {callee}, (x); \
             ld.param.b32 %r2, [y]; }}\nst.global.u32 [%d1], %r2; ret;\n}}\n"
        )
    };
    let again = "setp.lt.u32 %p, %r1, 9; @%p bra E; sub.u32 %r1, %r1, 1;\n{ .param .b32 x; .param .b32 y; st.param.b32 [x], \
                 %r1; call (y), deep, (x); }\nE:";
    let text = [function("flat", ""), function("deep", again), kernel("one", "flat"), kernel("two", "deep")].concat();
    for (arch, banks) in [("sm_80", ", 364 bytes cmem[0]"), ("sm_90", "")] {
        let module = format!(".version 8.0\n.target {arch}\n.address_size 64\n{text}");
        std::fs::write(folder.path("frames.ptx"), module).expect("written");
        // From -O2 on the function stands in place of its call.
        let said = errors(&folder.run(&[&format!("-arch={arch}"), "-v", "-O1", "-o", "o.cubin", "frames.ptx"]));
        let frame = |name: &str| {
            let from = said.split(&format!("Function properties for {name}\n")).nth(1).unwrap_or_default();
            from.trim_start().split(' ').next().unwrap_or_default().to_owned()
        };
        let two = said.split("entry function 'one'").next().unwrap_or_default();
        let used =
            |part: &str| part.split("Used ").nth(1).and_then(|rest| rest.lines().next()).unwrap_or_default().to_owned();
        assert!(!used(two).contains("cumulative") && used(two).ends_with(&format!(" barriers{banks}")), "{said}");
        assert_eq!((frame("two"), frame("one"), frame("flat")), ("0".into(), "64".into(), "0".into()), "{said}");
        assert!(frame("deep").parse::<u32>().is_ok_and(|bytes| bytes >= 64), "{said}");
        let one = used(said.split("entry function 'one'").nth(1).unwrap_or_default());
        assert!(one.ends_with(&format!(", 64 bytes cumulative stack size{banks}")), "{said}");
    }
}

/// XLA: `function\s+'(\w+)',\s*(\d+)\s+bytes\s+spill\s+stores,\s*(\d+)\s+bytes\s+spill\s+loads` behind `Registers are spilled`.
#[test]
fn spills_are_warned_of() {
    let folder = Folder::new();
    let name: Vec<String> = (0..40).map(|at| format!("%v{at}")).collect();
    let loads: String =
        name.iter().enumerate().map(|(at, v)| format!("ld.volatile.global.u32 {v}, [%p+{}];\n", 4 * at)).collect();
    let stores: String =
        name.iter().rev().enumerate().map(|(at, v)| format!("st.global.u32 [%p+{}], {v};\n", 4 * at)).collect();
    let text = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry many(.param .u64 p){{\n.reg .b64 %p; .reg .b32 %v<40>;\n\
         ld.param.u64 %p, [p];\n{loads}bar.sync 0;\n{stores}ret;\n}}\n"
    );
    std::fs::write(folder.path("many.ptx"), text).expect("written");
    let said =
        errors(&folder.run(&["many.ptx", "-o", "o.cubin", "-arch=sm_80", "--warn-on-spills", "-maxrregcount=24"]));
    let rest = said.strip_prefix("ptxas warning : Registers are spilled to local memory in function 'many', ");
    let numbers: Vec<u32> = rest.iter().flat_map(|rest| rest.split(' ')).filter_map(|word| word.parse().ok()).collect();
    assert!(numbers.len() == 2 && numbers.iter().all(|bytes| *bytes > 0), "{said}");
}

#[test]
fn modules_come_by_standard_input_and_as_words() {
    let folder = Folder::new();
    let words = folder.run(&["-ias", KERNELS, "-arch=sm_80", "-o", "o.cubin"]);
    assert!(words.status.success(), "{}", errors(&words));
    let from_words = std::fs::read(folder.path("o.cubin")).expect("written");
    for name in ["-", "/dev/stdin"] {
        let mut command = std::process::Command::new(folder.path("ptxas"));
        let input = std::fs::File::open(folder.path("k.ptx")).expect("there");
        let output =
            command.args([name, "-arch=sm_80", "-o", "p.cubin"]).current_dir(folder.0.path()).stdin(input).output();
        assert!(output.expect("it runs").status.success(), "{name}");
        assert!(std::fs::read(folder.path("p.cubin")).expect("written") == from_words, "{name}");
    }
    let wrong = folder.run(&["-ias", &KERNELS.replace("add.u32 %v", "add.u32 %q")]);
    assert!(errors(&wrong).starts_with("ptxas application ptx input, line 4; error   : Unknown symbol '%q'"));
}

/// Without input there is help, on standard output.
#[test]
fn help_names_every_option_and_what_becomes_of_it() {
    let folder = Folder::new();
    for arguments in [&["--help"][..], &["-h"], &[], &["-v"]] {
        let output = folder.run(arguments);
        let text = String::from_utf8(output.stdout).expect("text");
        assert!(
            output.status.success() && text.starts_with("\nUsage  : ptxas [options] <ptx file>,..."),
            "{arguments:?}"
        );
        for option in ["--gpu-name <word>", "(-arch)", "Refused: ", "Taken, and changes nothing: "] {
            assert!(text.contains(option), "{option}");
        }
    }
    let direct = std::process::Command::new(env!("CARGO_BIN_EXE_oriole")).args(["ptxas", "--list-version"]).output();
    assert!(direct.expect("it runs").stdout.ends_with(b"\n9.5\n"));
}
