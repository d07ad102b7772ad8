//! A compilation whose system calls fail, or that is killed at one of them: the output is the whole cubin or what was there
//! before, and the cache never gives anything else. `strace` injects the faults.

use crate::scratch::{Scratch, error_text, kernel};
use oriole_prerequisites::{is_thorough, program};
use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// What stood under the output's name before.
const OLD: &[u8] = b"what was there before";
/// Calls with files, and what can go wrong with each.
const CALLS: [(&str, &[&str]); 10] = [
    ("openat", &["EACCES", "EMFILE", "ENOSPC", "EIO"]),
    ("read", &["EIO"]),
    ("write", &["ENOSPC", "EIO", "EDQUOT"]),
    ("statx", &["EACCES", "EIO"]),
    ("fstat", &["EIO"]),
    ("renameat2", &["EINVAL", "EBUSY", "ENOSPC"]),
    ("rename", &["EACCES", "EXDEV"]),
    ("unlink", &["EACCES"]),
    ("mkdir", &["EACCES", "ENOSPC"]),
    ("clone3", &["EAGAIN", "ENOMEM"]),
];
/// So many of the places of a call are tried, and the last one; more with `ORIOLE_THOROUGH=1`, all with `ORIOLE_EXHAUSTIVE=1`.
const PLACES: [usize; 2] = [2, 6];

/// A folder with a kernel, its right cubin, and a cache that holds it where `is_cached`.
struct Bench {
    scratch: Scratch,
    right: Vec<u8>,
    strace: PathBuf,
}

/// The compilation that is disturbed.
const WORDS: [&str; 8] = ["compile", "k.ptx", "-o", "k.cubin", "--cache", "ca", "--jobs", "2"];

impl Bench {
    /// `None` where there is no `strace`, or it may not trace.
    fn new() -> Option<Bench> {
        let strace = program("/usr/bin/strace")?;
        let scratch = Scratch::new();
        scratch.write("k.ptx", kernel("k", 1, 40));
        scratch.says("compile k.ptx -o right.cubin", 0);
        let right = scratch.read("right.cubin");
        let bench = Bench { scratch, right, strace };
        let traced = bench.traced(&["-c", "-o", "/dev/null"]);
        if !traced.status.success() {
            eprintln!("skipped: strace may not trace here");
            return None;
        }
        Some(bench)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.scratch.path(name)
    }

    /// Put the old output there, and empty the cache. What a killed process left goes.
    fn prepare(&self) {
        let _ = std::fs::remove_dir_all(self.path("ca"));
        for name in temporary_files(&self.path("")) {
            std::fs::remove_file(self.path(&name)).expect("it is ours");
        }
        self.scratch.write("k.cubin", OLD);
    }

    fn traced(&self, options: &[&str]) -> Output {
        let mut command = Command::new(&self.strace);
        command.args(["-f", "-qq"]).args(options).arg(env!("CARGO_BIN_EXE_oriole")).args(WORDS);
        command.current_dir(self.path("")).output().expect("it starts")
    }

    /// How often each of the calls is made.
    fn counts(&self) -> BTreeMap<&'static str, usize> {
        self.prepare();
        let names: Vec<&str> = CALLS.iter().map(|(name, _)| *name).collect();
        let traced = self.traced(&["-o", "trace", "-e", &format!("trace={}", names.join(","))]);
        assert!(traced.status.success(), "{}", error_text(&traced));
        let trace = String::from_utf8_lossy(&self.scratch.read("trace")).into_owned();
        let of = |name: &str| trace.lines().filter(|line| line.contains(&format!(" {name}("))).count();
        names.into_iter().map(|name| (name, of(name))).collect()
    }

    /// The compilation with a fault at the `place`th call of this name.
    fn disturbed(&self, call: &str, fault: &str, place: usize) -> Output {
        self.prepare();
        self.traced(&["-o", "trace", "-e", &format!("inject={call}:{fault}:when={place}")])
    }

    /// Whether the output is as it was before.
    fn is_old(&self, what: &str) -> bool {
        let there = self.scratch.read("k.cubin");
        assert!(there == OLD || there == self.right, "{what}: {} bytes are neither", there.len());
        there == OLD
    }

    /// The next compilation, by whatever is in the cache, is right.
    fn next_is_right(&self, what: &str) {
        let output = self.scratch.run(&WORDS.join(" "));
        assert!(output.status.success(), "{what}: {}", error_text(&output));
        assert!(self.scratch.read("k.cubin") == self.right, "{what}: what comes out of the cache is wrong");
    }
}

/// The places to try of so many.
fn places(count: usize) -> Vec<usize> {
    if std::env::var_os("ORIOLE_EXHAUSTIVE").is_some_and(|value| value == "1") {
        return (1..=count).collect();
    }
    let tried = PLACES[usize::from(is_thorough())];
    let mut places: Vec<usize> = (0..tried).map(|n| 1 + n * count / tried).chain([count]).collect();
    places.dedup();
    places.retain(|place| (1..=count).contains(place));
    places
}

fn temporary_files(folder: &Path) -> Vec<String> {
    let names = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = names.map(|item| item.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with(".tmp") || name.ends_with(".part")).collect()
}

#[test]
fn a_process_that_is_killed_leaves_no_half_output() {
    let Some(bench) = Bench::new() else { return };
    for (call, count) in bench.counts() {
        for place in places(count) {
            let what = format!("killed at {call} {place} of {count}");
            let ended = bench.disturbed(call, "signal=KILL", place);
            let was_killed = ended.status.signal() == Some(9) || ended.status.code() == Some(137);
            let is_old = bench.is_old(&what);
            // Calls of two threads come in another order from time to time.
            assert!(was_killed || ended.status.success() && !is_old, "{what}: {}", ended.status);
            bench.next_is_right(&what);
        }
    }
}

#[test]
fn a_call_that_fails_is_an_error_or_no_matter() {
    let Some(bench) = Bench::new() else { return };
    for (call, errors) in CALLS {
        let count = bench.counts()[call];
        for (error, place) in errors.iter().flat_map(|error| places(count).into_iter().map(move |place| (error, place)))
        {
            let what = format!("{error} from {call} {place} of {count}");
            let ended = bench.disturbed(call, &format!("error={error}"), place);
            let said = error_text(&ended);
            assert!(!said.contains("panicked"), "{what}: {said}");
            let is_old = bench.is_old(&what);
            // The loader's own calls come before the program begins: it ends there with 127.
            let status = ended.status.code();
            assert!(
                status == Some(0) && !is_old || matches!(status, Some(1 | 127)) && is_old && !said.is_empty(),
                "{what}: {} {said}",
                ended.status
            );
            // What cannot be removed stays.
            if call != "unlink" {
                let left = [temporary_files(&bench.path("")), temporary_files(&bench.path("ca"))].concat();
                assert!(left.is_empty(), "{what}: {left:?}");
            }
            bench.next_is_right(&what);
        }
    }
}

/// A call that a signal interrupts is made again.
#[test]
fn an_interrupted_call_is_made_again() {
    let Some(bench) = Bench::new() else { return };
    for call in ["openat", "read", "write"] {
        let count = bench.counts()[call];
        for place in places(count) {
            let what = format!("{call} {place} of {count} interrupted");
            let ended = bench.disturbed(call, "error=EINTR", place);
            // The loader of the C library does not try again.
            assert!(ended.status.success() || ended.status.code() == Some(127), "{what}: {}", error_text(&ended));
            assert!(!bench.is_old(&what) || ended.status.code() == Some(127), "{what}");
        }
    }
}
