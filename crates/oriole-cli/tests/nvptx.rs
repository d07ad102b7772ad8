//! `oriole nvptx`: what the command does with files, options and mistakes.

use crate::read_back;

use std::path::Path;
use std::process::{Command, Output};

fn oriole(folder: &Path, arguments: &str) -> Output {
    let words = arguments.split_whitespace();
    let mut command = Command::new(env!("CARGO_BIN_EXE_oriole"));
    read_back::run(command.current_dir(folder).args(words).env("NO_COLOR", "1"))
}

/// What the command says on standard error when it rejects its input.
#[track_caller]
fn rejected(folder: &Path, arguments: &str) -> String {
    let done = oriole(folder, arguments);
    assert_eq!(done.status.code(), Some(1), "{arguments}");
    String::from_utf8(done.stderr).expect("UTF-8")
}

const KERNEL: &str = "target triple = \"nvptx64-nvidia-cuda\"
declare float @scale(float)
define ptx_kernel void @k(ptr addrspace(1) %p) #0 {
  %x = load float, ptr addrspace(1) %p
  %y = call float @scale(float %x)
  store float %y, ptr addrspace(1) %p
  ret void
}
attributes #0 = { \"target-cpu\"=\"sm_86\" }
";
const LIBRARY: &str = "define float @scale(float %x) {
  %y = fmul float %x, 3.0
  ret float %y
}
define float @unused(float %x) {
  ret float %x
}
";

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, text) in [("k.ll", KERNEL), ("lib.ll", LIBRARY)] {
        std::fs::write(folder.path().join(name), text).expect("a file");
    }
    folder
}

#[test]
fn a_library_gives_what_is_needed() {
    let folder = folder();
    let done = oriole(folder.path(), "nvptx k.ll -o k.ptx --link lib.ll");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let ptx = std::fs::read_to_string(folder.path().join("k.ptx")).expect("PTX");
    // The target is that of the function; the library's function is inlined, the other one is not there.
    assert!(ptx.contains(".target sm_86") && ptx.contains("0f40400000"), "{ptx}");
    assert!(!ptx.contains("unused") && !ptx.contains("call"), "{ptx}");
    assert!(oriole(folder.path(), "ptx check k.ptx --arch sm_86").status.success());
    // Without the library the call stays, and a cubin cannot be made.
    assert!(oriole(folder.path(), "nvptx k.ll -o open.ptx").status.success());
    assert!(std::fs::read_to_string(folder.path().join("open.ptx")).expect("PTX").contains("scale"));
    assert!(rejected(folder.path(), "compile k.ll -o k.cubin").contains("scale"));
    assert!(oriole(folder.path(), "compile k.ll -o k.cubin --link lib.ll").status.success());
}

#[test]
fn mistakes_are_shown_where_they_are() {
    let folder = folder();
    let wrong = LIBRARY.replace("%x, 3.0", "%z, 3.0");
    std::fs::write(folder.path().join("wrong.ll"), &wrong).expect("a file");
    for arguments in ["nvptx wrong.ll -o k.ptx", "nvptx k.ll -o k.ptx --link wrong.ll"] {
        let said = rejected(folder.path(), arguments);
        assert!(said.contains("wrong.ll:2:19") && said.contains("`%z` is not defined"), "{said}");
        assert!(said.contains("%y = fmul float %z, 3.0"), "the line is shown: {said}");
        assert!(!folder.path().join("k.ptx").exists());
    }
    std::fs::write(folder.path().join("cut.bc"), b"BC\xC0\xDE\x35\x14").expect("a file");
    assert!(rejected(folder.path(), "nvptx k.ll -o k.ptx --link cut.bc").starts_with("error: cut.bc: "));
    assert!(rejected(folder.path(), "nvptx k.ll -o k.ptx --link none.bc").contains("none.bc"));
    assert!(rejected(folder.path(), "nvptx k.ll -o k.ptx --arch sm_1x").contains("sm_1x"));
}

#[test]
fn passes_can_be_left_out() {
    let folder = folder();
    let calls = |options: &str| {
        let done = oriole(folder.path(), &format!("nvptx k.ll -o k.ptx --link lib.ll {options}"));
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        std::fs::read_to_string(folder.path().join("k.ptx")).expect("PTX").contains("call")
    };
    assert!(!calls("") && !calls("--disable-pass machine-cse"));
    assert!(calls("--disable-pass inline --disable-pass machine-cse"));
    // Unknown, needed by selection, needed by emission, and none of the level.
    for wrong in ["NoSuch", "address-spaces", "machine-layout", "inline -O0"] {
        let done = oriole(folder.path(), &format!("nvptx k.ll -o wrong.ptx --disable-pass {wrong}"));
        let said = String::from_utf8_lossy(&done.stderr);
        let name = wrong.split(' ').next().expect("a word");
        assert_eq!(done.status.code(), Some(2), "{said}");
        assert!(said.contains("--disable-pass") && said.contains(name), "{said}");
        assert!(said.contains("machine-cse") || wrong.contains("-O0"), "the names are listed: {said}");
        assert!(!folder.path().join("wrong.ptx").exists());
    }
}

#[test]
fn machine_code_is_printed_when_asked_for() {
    let folder = folder();
    let done = oriole(folder.path(), "nvptx k.ll -o k.ptx --link lib.ll --dump-machine=k");
    let dump = String::from_utf8(done.stderr).expect("UTF-8");
    assert!(dump.contains("; k after selection") && dump.contains("; k after machine passes"), "{dump}");
}
