//! A disk without room: a clear error, and nothing that is half written.

use crate::scratch::{Scratch, kernel, text};
use oriole_prerequisites::program;
use std::process::{Command, Output};

/// The exit status of a script that may not mount anything.
const NO_MOUNT: i32 = 77;

/// Puts a disk of two pages into `small`, runs the words, and leaves in `left` what is on the disk then.
const SCRIPT: &str = "mount -t tmpfs -o size=8k tmpfs small 2>/dev/null || exit 77\n\
                      \"$@\"\ncode=$?\nls -A small > left\nexit $code\n";

/// Oriole with these words, where `small` has hardly any room; nothing where one may not mount on this machine.
fn run(scratch: &Scratch, words: &str) -> Option<Output> {
    let mut command = Command::new(program("/usr/bin/unshare")?);
    command.args(["--map-root-user", "--mount", "sh", "-c", SCRIPT, "sh", env!("CARGO_BIN_EXE_oriole")]);
    let output = command.args(words.split(' ')).current_dir(scratch.path("")).output().expect("it runs");
    if output.status.code() == Some(NO_MOUNT) || String::from_utf8_lossy(&output.stderr).contains("unshare") {
        eprintln!("skipped: nobody may mount a disk here");
        return None;
    }
    Some(output)
}

/// A folder with a place for the disk, a kernel, and its cubin.
fn beside_a_disk() -> Scratch {
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.path("small")).expect("it can be made");
    scratch.write("k.ptx", kernel("k", 1, 2000));
    scratch.says("compile k.ptx -o whole.cubin", 0);
    scratch
}

#[test]
fn nothing_is_half_written() {
    let scratch = beside_a_disk();
    let room = "No space left on device";
    let cases = [
        ("compile k.ptx -o small/k.cubin", 1, "small/k.cubin: cannot be written"),
        ("compile k.ptx --out-dir small", 1, "small/k.cubin: cannot be written"),
        ("compile k.ptx -o k.cubin --pressure small/p.json", 1, "small/p.json: cannot be written"),
        ("disasm whole.cubin --all", 0, ""),
        ("run k.ptx --entry k --block 1 out:small/big:100000", 1, "small/big: cannot be written"),
        ("ptxas -arch sm_80 k.ptx -o small/k.cubin", 255, "Output file 'small/k.cubin' could not be opened"),
    ];
    for (words, status, said) in cases {
        let Some(output) = run(&scratch, words) else { return };
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{words}: {error}");
        assert!(error.contains(said) && (status != 1 || error.contains(room)), "{words}: {error}");
        assert_eq!(scratch.read("left"), b"", "{words}: nothing is left there");
    }
}

/// A cache is only a help: without room for it the cubin comes all the same.
#[test]
fn a_cache_without_room_is_a_warning() {
    let scratch = beside_a_disk();
    let Some(output) = run(&scratch, "compile k.ptx -o k.cubin --cache small") else { return };
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && error.starts_with("warning: cache small: "), "{error}");
    assert_eq!(scratch.read("k.cubin"), scratch.read("whole.cubin"));
    let left = String::from_utf8(scratch.read("left")).expect("names");
    assert!(left.lines().all(|name| name.ends_with(".compiler")), "no result, and no part of one: {left}");
    assert_eq!(text(&output), "");
}
