//! Memory that compilations and launches take.

use crate::scratch::Scratch;
use oriole_prerequisites::is_thorough;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Address space of the command in KiB; 80,000 are enough.
const ADDRESS_SPACE: u32 = 250_000;

/// A kernel with `operations` under guards that change `predicates` values, in turn.
fn guarded(operations: u32, predicates: u32) -> String {
    let tests: String = (0..predicates).map(|i| format!("setp.gt.u32 %p{i}, %r1, {};\n", 7 * i)).collect();
    let changes: String =
        (0..operations).map(|i| format!("@%p{} mad.lo.u32 %r2, %r2, %r1, {i};\n", i % predicates)).collect();
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 a) {{\n\
         .reg .b64 %a; .reg .pred %p<{predicates}>; .reg .b32 %r<3>;\n\
         ld.param.u64 %a, [a]; ld.global.v2.u32 {{%r1, %r2}}, [%a];\n{tests}{changes}st.global.u32 [%a], %r2; ret;\n}}\n"
    )
}

/// What predication keeps of each operation does not grow with the predicates before it: this took 675 MB once.
#[test]
fn many_guarded_operations_take_little_memory() {
    let scratch = Scratch::new();
    scratch.write("k.ptx", guarded(8000, 200));
    let line = format!("ulimit -v {ADDRESS_SPACE}; exec \"$0\" compile --arch sm_80 --jobs 1 k.ptx -o k.cubin");
    let mut command = Command::new("sh");
    command.current_dir(scratch.path("")).args(["-c", &line, env!("CARGO_BIN_EXE_oriole")]);
    let output = command.output().expect("there is a shell");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Oriole in the folder, which succeeds: the most memory that it held at a time, in KiB, as seen shortly before its end. (What
/// `wait4` says of a child is at least what its parent holds.)
fn peak(scratch: &Scratch, words: &str) -> i64 {
    let mut command = scratch.command(words);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    let status_file = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    let status = loop {
        let status = std::fs::read_to_string(&status_file).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        // One that has ended has no memory any more.
        peak = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok()).unwrap_or(peak);
        if let Some(status) = child.try_wait().expect("it is ours") {
            break status;
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    assert!(status.success() && peak > 0, "{words}: {status}");
    peak
}

/// How much more memory the larger number of pieces may take: what a few pieces at a time differ by.
const SLACK: i64 = 4096;

/// A process that compiles many files holds no more than one that compiles a hundred.
#[test]
fn compilations_leave_nothing_behind() {
    let kernels = (0..4).map(|number| guarded(100, 10 + number));
    let ptx: Vec<String> = kernels.collect();
    let counts = [100, if is_thorough() { 1000 } else { 400 }];
    for jobs in [1, 4] {
        let peaks = counts.map(|count| {
            let scratch = Scratch::new();
            for number in 0..count {
                scratch.write(&format!("{number}.ptx"), &ptx[number % ptx.len()]);
            }
            let files: String = (0..count).map(|number| format!("{number}.ptx ")).collect();
            peak(&scratch, &format!("compile {files} --out-dir out -q --jobs {jobs}"))
        });
        // A batch keeps the name of each file, and its line in the report.
        let report = (counts[1] - counts[0]) as i64;
        assert!(peaks[1] < peaks[0] + SLACK + report, "{counts:?} files with {jobs} threads: {peaks:?} KiB");
    }
}

/// The same of launches, beyond what it takes to read the manifest.
#[test]
fn launches_leave_nothing_behind() {
    let counts = [100, if is_thorough() { 4000 } else { 2000 }];
    let peaks = counts.map(|count| {
        let scratch = Scratch::new();
        scratch.write("k.ptx", guarded(100, 10));
        let launch = |number: usize| {
            format!("[[launch]]\nname = 'l{number}'\nentry = 'k'\nblock = 32\nstrict = true\nargs = ['zero:4096']\n")
        };
        let launches: String = (0..count).map(launch).collect();
        scratch.write("many.toml", format!("[programs]\nk = 'k.ptx'\n{launches}"));
        peak(&scratch, "test many.toml -q --jobs 2") - peak(&scratch, "test many.toml --list")
    });
    // The outcome of each is kept for the report.
    let report = (counts[1] - counts[0]) as i64;
    assert!(peaks[1] < peaks[0] + SLACK + report, "{counts:?} launches: {peaks:?} KiB more than to list them");
}
