//! Command lines with what ptxas 13.0.88 says to them. Where ptxas is there, it is asked again.

use super::{Folder, errors};
use oriole_prerequisites::{NEW_TOOLS, tool_of};
use std::collections::BTreeSet;
use std::path::Path;

/// A command line; what is said, line by line; the exit status; what is written.
struct Line {
    arguments: &'static str,
    said: &'static [&'static str],
    fails: bool,
    written: &'static [&'static str],
}

const ABORTED: &str = "ptxas fatal   : Ptx assembly aborted due to errors";
const OBJECT: &[&str] = &["elf.o"];

const fn silent(arguments: &'static str, written: &'static [&'static str]) -> Line {
    Line { arguments, said: &[], fails: false, written }
}

const fn warns(arguments: &'static str, said: &'static [&'static str], written: &'static [&'static str]) -> Line {
    Line { arguments, said, fails: false, written }
}

const fn fails(arguments: &'static str, said: &'static [&'static str]) -> Line {
    Line { arguments, said, fails: true, written: &[] }
}

const LINES: &[Line] = &[
    silent("-arch sm_90 k.ptx -o o.cubin", &["o.cubin"]),
    silent("--gpu-name=sm_90 k.ptx", OBJECT),
    silent("-O3 -m64 -fmad=false k.ptx", OBJECT),
    silent("-O9 k.ptx", OBJECT),
    silent("-O=-1 -m 64 --machine=64 k.ptx", OBJECT),
    silent("-arch compute_90 k.ptx", &[]),
    silent("-arch=compute_90 -o o.cubin k.ptx", &[]),
    silent("-arch=sm_90a t90a.ptx", OBJECT),
    silent("-c ext.ptx", OBJECT),
    silent("c.ptx k.ptx", OBJECT),
    silent("-c c.ptx k.ptx", OBJECT),
    silent("--options-file=named k.ptx", &["my file.o"]),
    silent("--options-file input", OBJECT),
    silent("-w -maxrregcount=16 k.ptx", OBJECT),
    silent("-maxrregcount=archmin k.ptx", OBJECT),
    silent("-maxrregcount=0x20 k.ptx", OBJECT),
    silent("-dlcm=cg -dscm=wt k.ptx", OBJECT),
    silent("-flcm=cg -fscm=cs k.ptx", OBJECT),
    silent("-maxntid=128,2,1 -minnctapersm=2 k.ptx", OBJECT),
    silent("-Ofc max k.ptx", OBJECT),
    silent("-split-compile=0 -regUsageLevel=3 -pic=true k.ptx", OBJECT),
    silent("-w -warn-lmem-usage loc.ptx", OBJECT),
    silent("-w -Werror -maxrregcount=16 k.ptx", OBJECT),
    silent("-lineinfo -suppress-debug-info k.ptx", OBJECT),
    silent("-func-maxrregcount=40 -c f.ptx", OBJECT),
    // What `--help` does not list.
    silent("--regAllocOptLevel=2 k.ptx", OBJECT),
    silent("-regAllocOptLevel 1 k.ptx", OBJECT),
    silent("-sw2614554=true --no-membermask-overlap=true -cloning=no k.ptx", OBJECT),
    silent("-arch=sm_80 --enable-extended-smem=true big.ptx", OBJECT),
    silent("-arch=sm_90a big.ptx", OBJECT),
    silent("--nv-host=optf -uumn k.ptx", OBJECT),
    silent("-jobserver -uumn -fc --cuda-api-version=13.0 k.ptx", OBJECT),
    silent("-Op --assume-extern-functions-do-not-sync=false -arch=sm_90 k.ptx", OBJECT),
    warns(
        "-c --nv-host=optf k.ptx",
        &[
            "ptxas warning : Command line option '--nv-host' not supported for '--extensible-whole-program or --compile-only', \
           will be ignored",
        ],
        OBJECT,
    ),
    warns(
        "-maxrregcount=16 -arch sm_90 k.ptx",
        &["ptxas warning : For profile sm_90 adjusting per thread register count of 16 to lower bound of 24"],
        OBJECT,
    ),
    warns(
        "-maxrregcount 300 k.ptx",
        &["ptxas warning : Too big maxrregcount value specified 300, will be ignored"],
        OBJECT,
    ),
    warns(
        "-maxrregcount=-5 k.ptx",
        &["ptxas warning : Too big maxrregcount value specified -5, will be ignored"],
        OBJECT,
    ),
    warns(
        "-arch sm_90 -arch sm_80 k.ptx",
        &["ptxas warning : incompatible redefinition for option 'gpu-name', the last value of this option was used"],
        OBJECT,
    ),
    warns(
        "-suppress-debug-info k.ptx",
        &[
            "ptxas warning : Option suppress-debug-info requires option device-debug or lineinfo; ignoring since latter is not \
           specified",
        ],
        OBJECT,
    ),
    warns(
        "-func-maxrregcount=40 k.ptx",
        &[
            "ptxas warning : Command line option 'device-function-maxrregcount' not supported for 'whole program compilation', \
           will be ignored",
        ],
        OBJECT,
    ),
    warns(
        "-regUsageLevel=11 k.ptx",
        &["ptxas warning : Value of RegUsageLevel (11) is out of valid range {0..10}, option will be ignored"],
        OBJECT,
    ),
    warns(
        "-maxntid=1,2,3,4 k.ptx",
        &["ptxas warning : Too many values specified for option '-maxntid', option will be ignored"],
        OBJECT,
    ),
    warns(
        "-maxntid=2000 k.ptx",
        &[
            "ptxas warning : Value of threads per SM for entry b is out of range. .minnctapersm and .maxntid will be ignored",
            "ptxas warning : Value of threads per SM for entry a is out of range. .minnctapersm and .maxntid will be ignored",
        ],
        OBJECT,
    ),
    warns(
        "-warn-lmem-usage loc.ptx",
        &["ptxas warning : Local memory used for function 'a', size of stack frame: 256 bytes"],
        OBJECT,
    ),
    warns(
        "-warn-double-usage dbl.ptx",
        &["ptxas dbl.ptx, line 4; warning : Program is doing double precision computations."; 3],
        OBJECT,
    ),
    warns(
        "-legacy-bar-warp-wide-behavior k.ptx",
        &[
            "ptxas warning : '--legacy-bar-warp-wide-behavior' is a deprecated option, It will be removed in future release and \
             is not recommended",
            "ptxas warning : Command line option '--legacy-bar-warp-wide-behavior' not supported for '.target sm_70', will be \
             ignored",
        ],
        OBJECT,
    ),
    fails("--nv-host=nofile k.ptx", &["ptxas fatal   : Could not open input file 'nofile'"]),
    fails("--nv-host=empty.ptx k.ptx", &["ptxas fatal   : Input file 'empty.ptx' could not be opened"]),
    fails("-arch sm_99 k.ptx", &["ptxas fatal   : Value 'sm_99' is not defined for option 'gpu-name'"]),
    fails("-arch sm_70 k.ptx", &["ptxas fatal   : Value 'sm_70' is not defined for option 'gpu-name'"]),
    fails("-arch=", &["ptxas fatal   : Value '' is not defined for option 'gpu-name'"]),
    fails("-m32 k.ptx", &["ptxas fatal   : Value '32' is not defined for option 'machine'"]),
    fails("-frob k.ptx", &["ptxas fatal   : Unknown option 'frob'"]),
    fails("--regAllocOptLevel=x k.ptx", &["ptxas fatal   : 'x': expected a number"]),
    fails("-sw2614554 k.ptx", &["ptxas fatal   : 'k.ptx': expected true or false"]),
    fails("nofile.ptx", &["ptxas fatal   : Input file 'nofile.ptx' could not be opened", ABORTED]),
    fails("k.ptx nofile.ptx", &["ptxas fatal   : Input file 'nofile.ptx' could not be opened", ABORTED]),
    fails("k.ptx -o /nodir/x", &["ptxas fatal   : Output file '/nodir/x' could not be opened"]),
    fails("-o= k.ptx", &["ptxas fatal   : Output file '' could not be opened"]),
    fails(
        "empty.ptx",
        &["ptxas empty.ptx, line 1; fatal   : Missing .version directive at start of file 'empty.ptx'", ABORTED],
    ),
    fails("t90.ptx", &["ptxas fatal   : SM version specified by .target is higher than default SM version assumed"]),
    fails(
        "-arch=compute_75 t90.ptx",
        &["ptxas fatal   : SM version specified by .target is higher than default SM version assumed"],
    ),
    fails(
        "-arch sm_100 t90a.ptx",
        &["ptxas fatal   : Program with .target 'sm_90a' cannot be compiled to future architecture"],
    ),
    fails("ext.ptx", &["ptxas fatal   : Unresolved extern function 'g'"]),
    fails("-e zz,yy k.ptx", &["ptxas fatal   : Unknown function zz"]),
    fails("-g -O3 k.ptx", &["ptxas fatal   : Optimized debugging not supported"]),
    fails("-dlcm=zz k.ptx", &["ptxas error   : Invalid default cache modifier on load specified: zz", ABORTED]),
    fails("-dscm=ca k.ptx", &["ptxas error   : Invalid default cache modifier on store specified: ca", ABORTED]),
    fails(
        "-Ofc=zz k.ptx",
        &["ptxas fatal   : Invalid value for --Ofast-compile/-Ofc (zz), is not 'max', 'mid', 'min', or '0'"],
    ),
    fails("-maxrregcount=x k.ptx", &["ptxas fatal   : Invalid value 'x' for option 'maxrregcount'"]),
    fails("-split-compile=-1 k.ptx", &["ptxas fatal   : Invalid value '-1' for option '--split-compile'"]),
    fails(
        "-Werror -maxrregcount=16 k.ptx",
        &["ptxas error   : For profile sm_75 adjusting per thread register count of 16 to lower bound of 24", ABORTED],
    ),
    fails(
        "-warn-lmem-usage -Werror loc.ptx",
        &["ptxas error   : Local memory used for function 'a', size of stack frame: 256 bytes"],
    ),
];

/// Lines with options of ptxas 13.5.37.
const NEWER_LINES: &[Line] = &[
    silent("-jobserver --enable-func-clone-sc=false --suppress-position-independent-code-warning k.ptx", OBJECT),
    silent("-c -enable-func-clone-sc=true f.ptx", OBJECT),
    fails("-enable-func-clone-sc k.ptx", &["ptxas fatal   : 'k.ptx': expected true or false"]),
    fails("--apply-controls", &["ptxas fatal   : argument expected after '--apply-controls'"]),
    fails("-v2=1 k.ptx", &["ptxas fatal   : no argument expected after '-v2'"]),
];

/// All lines, with one of the tools.
fn check(folder: &Folder, tool: &Path, lines: &[Line]) -> Vec<String> {
    let wrong = |line: &Line| {
        let output = folder.run_tool(tool, &line.arguments.split(' ').collect::<Vec<_>>());
        let (said, written) = (errors(&output), folder.outputs());
        let status = if line.fails { 255 } else { 0 };
        let same = said.lines().eq(line.said.iter().copied()) && output.status.code() == Some(status);
        let right = same && written == line.written && output.stdout.is_empty();
        (!right).then(|| format!("{}\n{said}{:?} {written:?}", line.arguments, output.status))
    };
    lines.iter().filter_map(wrong).collect()
}

#[test]
fn lines_are_answered_as_by_ptxas() {
    let folder = Folder::new();
    assert_eq!(check(&folder, &folder.path("ptxas"), LINES), [""; 0]);
    assert_eq!(check(&folder, &folder.path("ptxas"), NEWER_LINES), [""; 0]);
}

/// The tables above are right.
#[test]
fn ptxas_answers_so() {
    let Some(ptxas) = oriole_prerequisites::tool("ptxas") else { return };
    assert_eq!(check(&Folder::new(), &ptxas, LINES), [""; 0]);
}

#[test]
fn ptxas_13_5_answers_so() {
    let Some(ptxas) = tool_of(NEW_TOOLS, "ptxas") else { return };
    assert_eq!(check(&Folder::new(), &ptxas, NEWER_LINES), [""; 0]);
}

/// `-v2` is `-v` with a line for each kernel first: the words of ptxas 13.5.37, without times.
#[test]
fn extended_messages_name_each_kernel_first() {
    let folder = Folder::new();
    let said = |tool: &Path, option| {
        let said = errors(&folder.run_tool(tool, &[option, "-arch=sm_90", "k.ptx"]));
        said.lines().filter(|line| !line.contains("Compile time")).map(|line| format!("{line}\n")).collect::<String>()
    };
    let processing = "ptxas info    : Processing b\nptxas info    : Processing a\n";
    let tools = [Some(folder.path("ptxas")), tool_of(NEW_TOOLS, "ptxas")];
    for tool in tools.iter().flatten() {
        assert_eq!(said(tool, "-v2"), format!("{processing}{}", said(tool, "-v")), "{}", tool.display());
    }
}

/// `--list-arch` has a number in each line; 13.5.37 lists the same, in another order, and may know more.
#[test]
fn numbers_of_targets_are_listed() {
    let folder = Folder::new();
    let listed = |tool: &Path| -> BTreeSet<String> {
        let output = folder.run_tool(tool, &["--list-arch"]);
        assert!(output.status.success() && output.stderr.is_empty());
        String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
    };
    let own = listed(&folder.path("ptxas"));
    assert!(["75", "80", "90", "103", "121"].iter().all(|number| own.contains(*number)), "{own:?}");
    let Some(ptxas) = tool_of(NEW_TOOLS, "ptxas") else { return };
    assert!(own.is_subset(&listed(&ptxas)), "{own:?}");
}

#[test]
fn what_is_asked_for_and_is_not_there_is_refused_by_name() {
    let folder = Folder::new();
    for option in [
        "--compile-as-tools-patch",
        "--device-stack-protector=true",
        "--extensible-whole-program",
        "--g-tensor-memory-access-check",
        "--preserve-relocs",
        "--sanitize=memcheck",
        "--sp-bounds-check",
        "--apply-controls=k.ptx",
        "--blocks-are-clusters=true",
        "--okey=1",
    ] {
        let output = folder.run(&[option, "k.ptx"]);
        let name = option.split('=').next().unwrap_or_default();
        assert!(
            errors(&output).starts_with(&format!("ptxas fatal   : Option '{name}' is not supported: ")),
            "{option}"
        );
        assert_eq!((output.status.code(), folder.outputs().len()), (Some(255), 0), "{option}");
    }
    // Nothing is asked for.
    assert!(folder.run(&["--device-stack-protector=false", "k.ptx"]).status.success());
}

/// What changes no code changes no byte.
#[test]
fn options_that_change_nothing_are_told_of_with_v_and_change_no_byte() {
    let folder = Folder::new();
    let bytes = |options: &[&str]| {
        let output = folder.run(&[options, &["-arch=sm_90", "k.ptx", "-o", "o.cubin"]].concat());
        assert!(output.status.success(), "{options:?}: {}", errors(&output));
        (std::fs::read(folder.path("o.cubin")).expect("written"), errors(&output))
    };
    let (plain, said) = bytes(&[]);
    assert_eq!(said, "");
    for option in [
        "--allow-expensive-optimizations=true",
        "--compiler-annotations",
        "--disable-optimizer-constants",
        "--dont-merge-basicblocks",
        "--gno-tensor-memory-access-check",
        "--make-errors-visible-at-exit",
        "--optimize-float-atomics",
        "--position-independent-code=true",
        "--return-at-end",
        "--suppress-async-bulk-multicast-advisory-warning",
        "--suppress-double-demote-warning",
        "--suppress-sparse-mma-advisory-info",
        "--suppress-stack-size-warning",
        "--regAllocOptLevel=2",
        "--sw200428197=true",
        "--gno-fabric-access-check",
        "--jobserver",
    ] {
        let name = option.split('=').next().unwrap_or_default();
        let (with, said) = bytes(&[option, "-v"]);
        assert!(with == plain, "{option} changes the cubin");
        assert!(said.contains(&format!("ptxas info    : Option '{name}' changes nothing: ")), "{option}: {said}");
    }
    for options in [&["--split-compile=2"][..], &["-warn-spills", "-warn-double-usage"], &["-e", "a,b"], &["-O3"]] {
        assert!(bytes(options).0 == plain, "{options:?} changes the cubin");
    }
}
