//! What surrounds the process: streams that cannot be written, signals that are ignored, folders that cannot be searched,
//! threads that cannot be had. There is a result, or an error and nothing left over.

use crate::scratch::{Scratch, error_text, kernel, text};
use oriole_prerequisites::program;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// A folder with a kernel.
fn with_kernel() -> Scratch {
    let scratch = Scratch::new();
    scratch.write("k.ptx", kernel("k", 1, 40));
    scratch
}

/// The cubin of the kernel, made where nothing is in the way.
fn cubin(scratch: &Scratch) -> Vec<u8> {
    scratch.says("compile k.ptx -o right.cubin", 0);
    scratch.read("right.cubin")
}

/// A stream on which every write fails: the disk is full.
fn full() -> Stdio {
    OpenOptions::new().write(true).open("/dev/full").expect("Linux has it").into()
}

/// A shell in the folder, with Oriole as `$0`.
fn shell(scratch: &Scratch, script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_oriole")]).current_dir(scratch.path(""));
    command
}

fn output(mut command: Command) -> Output {
    command.output().expect("it starts")
}

/// The names of a folder's files, hidden ones too.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .expect("it is there")
        .map(|item| item.expect("it can be read").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn a_standard_error_that_cannot_be_written_costs_nothing_but_the_message() {
    let scratch = with_kernel();
    let right = cubin(&scratch);
    for (words, status) in [
        ("compile -v k.ptx -o k.cubin", 0),
        ("compile --time-phases k.ptx -o k.cubin", 0),
        ("ptxas -v -arch=sm_80 k.ptx -o k.cubin", 0),
        ("compile nothere.ptx -o k.cubin", 1),
        ("compile --nothing k.ptx -o k.cubin", 2),
        ("run k.ptx --entry k --block 1 --timing zero:4096", 0),
        ("fuzz --kind kernels --count 2 --out f", 0),
    ] {
        let _ = std::fs::remove_file(scratch.path("k.cubin"));
        let ended = scratch.command(words).stderr(full()).status().expect("it starts");
        assert_eq!(ended.code(), Some(status), "{words}: {ended}");
        if status == 0 && words.contains("-o k.cubin") {
            assert_eq!(scratch.read("k.cubin").len(), right.len(), "{words}");
        }
    }
}

/// What bounds the memory and the time of commands that no option bounds.
#[test]
fn variables_bound_what_options_do_not() {
    let scratch = with_kernel();
    scratch.write(
        "endless.ptx",
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry e() {\n again: bra again;\n}\n",
    );
    let run = "run k.ptx --entry k --block 1 zero:268435456";
    for (words, variable, value, status, said) in [
        (run, "ORIOLE_MEMORY", "128M", 3, "out of memory"),
        (run, "ORIOLE_MEMORY", "2G", 0, ""),
        (run, "ORIOLE_MEMORY", "", 0, ""),
        (run, "ORIOLE_MEMORY", "much", 2, "ORIOLE_MEMORY: 'much' is no number of bytes"),
        ("compile k.ptx -o k.cubin", "ORIOLE_MEMORY", "much", 2, "ORIOLE_MEMORY: 'much' is no number of bytes"),
        ("compile k.ptx -o k.cubin", "ORIOLE_MEMORY", "1B", 1, "out of memory"),
        ("compile k.ptx -o k.cubin", "ORIOLE_MEMORY", "4G", 0, ""),
        ("run endless.ptx --entry e", "ORIOLE_TIMEOUT", "0.2", 3, "time limit"),
        ("run --timeout 0.1 endless.ptx --entry e", "ORIOLE_TIMEOUT", "1000", 3, "longer than 0.1 seconds"),
        ("run endless.ptx --entry e", "ORIOLE_TIMEOUT", "soon", 2, "ORIOLE_TIMEOUT: 'soon' is not a number"),
    ] {
        let ended = scratch.command(words).env(variable, value).output().expect("it starts");
        let text = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(status), "{words} with {variable}={value}: {text}");
        assert!(text.contains(said), "{words} with {variable}={value}: {text}");
    }
    scratch.says("run --memory 128M k.ptx --entry k --block 1 zero:268435456", 3);
    scratch.says("compile --memory 1B k.ptx -o k.cubin", 1);
}

#[test]
fn a_standard_output_that_cannot_be_written_is_an_error() {
    let scratch = with_kernel();
    cubin(&scratch);
    for words in ["compile k.ptx -o -", "disasm right.cubin", "phases", "ptxas --version", "man -o -"] {
        let ended = scratch.command(words).stdout(full()).output().expect("it starts");
        let said = error_text(&ended);
        let status = if words.starts_with("ptxas") { 255 } else { 1 };
        let told =
            said.contains("standard output cannot be written: No space left") || said.contains("could not be opened");
        // `man` writes files alone.
        if words != "man -o -" {
            assert!(ended.status.code() == Some(status) && told, "{words}: {} {said}", ended.status);
        }
        assert!(!said.contains("panicked"), "{words}: {said}");
    }
}

/// Who opened the file waits for the bytes in it.
#[test]
fn a_descriptor_of_the_process_is_written_in_place() {
    let scratch = with_kernel();
    let right = cubin(&scratch);
    for words in
        ["compile k.ptx -o /dev/stdout", "ptxas -arch=sm_80 k.ptx -o /dev/stdout", "compile k.ptx -o /proc/self/fd/1"]
    {
        let path = scratch.path("open");
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&path).expect("it is ours");
        let stdout = file.try_clone().expect("there are descriptors");
        let ended = scratch.command(words).stdout(stdout).status().expect("it starts");
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(0)).and_then(|_| file.read_to_end(&mut bytes)).expect("it can be read");
        assert!(ended.success() && bytes.len() == right.len(), "{words}: {ended}, {} bytes", bytes.len());
    }
    assert_eq!(names(&scratch.path("")), ["k.ptx", "open", "right.cubin"]);
}

/// `nohup` ignores SIGHUP for the program that it starts.
#[test]
fn an_ignored_signal_stays_ignored() {
    let scratch = with_kernel();
    for number in 0..200 {
        scratch.write(&format!("{number}.ptx"), kernel("k", number, 400));
    }
    let script = "trap '' HUP; exec \"$0\" compile [0-9]*.ptx --out-dir out -q --jobs 1";
    let mut child = shell(&scratch, script).spawn().expect("there is a shell");
    let first = scratch.path("out");
    let start = Instant::now();
    while !first.is_dir() || names(&first).is_empty() {
        assert!(start.elapsed() < Duration::from_secs(60), "no output");
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(kill(&child, "HUP"));
    let ended = child.wait().expect("it ends");
    assert!(ended.success(), "{ended}");
    assert_eq!(names(&scratch.path("out")).len(), 200);
}

fn kill(child: &std::process::Child, signal: &str) -> bool {
    Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status().is_ok_and(|s| s.success())
}

/// A signal removes every file that is in the making, however many there are.
#[test]
fn a_signal_leaves_no_temporary_file() {
    let scratch = with_kernel();
    for number in 0..60 {
        scratch.write(&format!("{number}.ptx"), kernel("k", number, 4));
    }
    for milliseconds in 0..8 {
        let _ = std::fs::remove_dir_all(scratch.path("out"));
        let script = "exec \"$0\" compile [0-9]*.ptx --out-dir out -q --jobs 40 --cache ca";
        let mut child = shell(&scratch, script).spawn().expect("there is a shell");
        std::thread::sleep(Duration::from_millis(6 * milliseconds));
        kill(&child, "TERM");
        let ended = child.wait().expect("it ends");
        assert!(ended.success() || ended.signal() == Some(15), "{ended}");
        for folder in ["out", "ca"] {
            let folder = scratch.path(folder);
            let left = if folder.is_dir() { names(&folder) } else { Vec::new() };
            let unfinished = left.iter().find(|name| name.starts_with(".tmp") || name.ends_with(".part"));
            assert_eq!(unfinished, None, "{milliseconds}");
        }
    }
}

#[test]
fn a_limit_of_file_sizes_is_an_error_and_no_matter_to_a_cache() {
    let scratch = Scratch::new();
    // What is said of many kernels takes more than a block of the limit.
    let kernels: String = (0..16).map(|number| format!(".visible .entry k{number}() {{ ret; }}\n")).collect();
    scratch.write("k.ptx", format!(".version 8.0\n.target sm_80\n.address_size 64\n{kernels}"));
    let right = cubin(&scratch);
    let ended = output(shell(&scratch, "ulimit -f 1; exec \"$0\" compile k.ptx -o k.cubin"));
    assert_eq!(ended.status.code(), Some(1), "{}", error_text(&ended));
    assert!(error_text(&ended).contains("k.cubin: cannot be written: File too large"), "{}", error_text(&ended));
    assert_eq!(names(&scratch.path("")), ["k.ptx", "right.cubin"]);
    // The cubin has room, and what is said of it in the cache has none.
    let blocks = right.len().div_ceil(512);
    let script = format!("ulimit -f {blocks}; exec \"$0\" compile k.ptx -o k.cubin --cache ca");
    let ended = output(shell(&scratch, &script));
    assert!(ended.status.success() && scratch.read("k.cubin") == right, "{}", error_text(&ended));
    let entries = names(&scratch.path("ca"));
    assert!(!entries.iter().any(|name| name.ends_with(".part") || name.ends_with(".entry")), "{entries:?}");
}

/// A user of nothing: another one with each call, so that the processes of one test do not count for a limit in another.
fn new_user() -> String {
    static USERS: AtomicU32 = AtomicU32::new(54321);
    USERS.fetch_add(1, Ordering::Relaxed).to_string()
}

/// A script as a user who has no rights but those of the files; nothing where one may not become another.
fn as_nobody(scratch: &Scratch, script: &str) -> Option<Output> {
    let mut command = Command::new(program("/usr/bin/setpriv")?);
    let user = new_user();
    command.args(["--reuid", &user, "--regid", &user, "--clear-groups", "sh", "-c", script]);
    // A program that this user can reach: a copy beside the kernel.
    std::fs::copy(env!("CARGO_BIN_EXE_oriole"), scratch.path("oriole")).expect("there is room");
    let mode = |name: &str| {
        let all = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        std::fs::set_permissions(scratch.path(name), all).expect("it is ours");
    };
    ["", "oriole", "k.ptx"].into_iter().for_each(mode);
    let ended = output_in(command, scratch);
    if error_text(&ended).contains("setpriv") {
        eprintln!("skipped: nobody may become another user here");
        return None;
    }
    Some(ended)
}

fn output_in(mut command: Command, scratch: &Scratch) -> Output {
    command.current_dir(scratch.path("")).output().expect("it starts")
}

#[test]
fn work_goes_on_with_the_thread_that_there_is() {
    let scratch = with_kernel();
    for number in 0..4 {
        scratch.write(&format!("{number}.ptx"), kernel("k", number, 4));
    }
    for words in [
        "demo",
        "run k.ptx --entry k --block 1 --grid 64 --timing zero:4096",
        "compile [0-9].ptx --out-dir out --jobs 4",
        "compile k.ptx -o k.cubin --jobs 4",
        "fuzz --kind kernels --count 2 --out f",
    ] {
        let Some(ended) = as_nobody(&scratch, &format!("ulimit -u 1; exec ./oriole {words}")) else { return };
        assert!(ended.status.success(), "{words}: {} {}", ended.status, error_text(&ended));
    }
    assert_eq!(names(&scratch.path("out")).len(), 4);
}

#[test]
fn an_output_below_a_folder_that_cannot_be_searched() {
    let scratch = with_kernel();
    std::fs::create_dir_all(scratch.path("private/in")).expect("it can be made");
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(scratch.path("private/in"), open).expect("it is ours");
    let closed: std::fs::Permissions = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    let Some(_) = as_nobody(&scratch, "true") else { return };
    std::fs::copy(scratch.path("oriole"), scratch.path("private/in/oriole")).expect("there is room");
    std::fs::copy(scratch.path("k.ptx"), scratch.path("private/in/k.ptx")).expect("there is room");
    std::fs::set_permissions(scratch.path("private"), closed).expect("it is ours");
    let mut command = Command::new("setpriv");
    let user = new_user();
    command.args([
        "--reuid",
        &user,
        "--regid",
        &user,
        "--clear-groups",
        "./oriole",
        "compile",
        "k.ptx",
        "-o",
        "k.cubin",
    ]);
    let ended = command.current_dir(scratch.path("private/in")).output().expect("it starts");
    assert!(ended.status.success(), "{}", error_text(&ended));
    assert!(!scratch.read("private/in/k.cubin").is_empty());
}

#[test]
fn a_folder_deeper_than_a_path_may_be_long() {
    let scratch = with_kernel();
    let Some(python) = oriole_prerequisites::python(&["subprocess"]) else { return };
    // 30 folders of 200 letters: no absolute path reaches the last one.
    let script = "import os, subprocess, sys\n\
                  kernel = os.open('k.ptx', os.O_RDONLY)\n\
                  for _ in range(30): os.mkdir('n' * 200); os.chdir('n' * 200)\n\
                  line = [sys.argv[1], 'compile', f'/dev/fd/{kernel}', '-o', 'k.cubin']\n\
                  subprocess.run(line, pass_fds=[kernel], check=True)\n\
                  assert os.path.getsize('k.cubin') > 0\n";
    let mut command = Command::new(python);
    command.args(["-c", script, env!("CARGO_BIN_EXE_oriole")]);
    let ended = output_in(command, &scratch);
    assert!(ended.status.success(), "{}", error_text(&ended));
}

/// A file that is mounted alone, as containers do, cannot be replaced by renaming.
#[test]
fn a_file_that_is_mounted_alone_is_written_in_place() {
    let Some(unshare) = program("/usr/bin/unshare") else { return };
    let scratch = with_kernel();
    let right = cubin(&scratch);
    ["mounted", "source"].into_iter().for_each(|name| scratch.write(name, ""));
    let script = "mount --bind source mounted 2>/dev/null || exit 77; exec \"$0\" compile k.ptx -o mounted";
    let mut command = Command::new(unshare);
    command.args(["--map-root-user", "--mount", "sh", "-c", script, env!("CARGO_BIN_EXE_oriole")]);
    let ended = output_in(command, &scratch);
    if ended.status.code() == Some(77) || error_text(&ended).contains("unshare") {
        eprintln!("skipped: nobody may mount a file here");
        return;
    }
    assert!(ended.status.success(), "{}", error_text(&ended));
    assert_eq!(scratch.read("source"), right);
}

/// What stands under an entry's name and is no file of the cache keeps nobody waiting, and what a link leads to stays as it is.
#[test]
fn a_cache_with_pipes_links_and_dates_of_the_future() {
    let scratch = with_kernel();
    scratch.says("compile k.ptx -o a.cubin --cache ca", 0);
    let entries = || names(&scratch.path("ca")).into_iter().filter(|name| name.ends_with(".entry")).collect::<Vec<_>>();
    let entry = scratch.path("ca").join(&entries()[0]);
    std::fs::remove_file(&entry).expect("it is there");
    assert!(Command::new("mkfifo").arg(&entry).status().expect("it starts").success());
    scratch.write("victim", "V".repeat(24));
    std::fs::remove_file(scratch.path("ca/oriole.count")).expect("it is there");
    std::os::unix::fs::symlink("../victim", scratch.path("ca/oriole.count")).expect("it can be made");
    let mut command = Command::new("timeout");
    command.args(["20", env!("CARGO_BIN_EXE_oriole"), "compile", "k.ptx", "-o", "b.cubin", "--cache", "ca"]);
    let ended = output_in(command, &scratch);
    assert!(ended.status.success(), "{} {}", ended.status, error_text(&ended));
    assert_eq!(scratch.read("victim"), "V".repeat(24).as_bytes());
    assert!(entry.is_file() && scratch.path("ca/oriole.count").symlink_metadata().expect("it is there").is_file());

    // Entries of a clock that was ahead make room for new ones.
    for level in 1..3 {
        scratch.says(&format!("compile k.ptx -o b.cubin --cache ca -O{level}"), 0);
    }
    let future = std::time::SystemTime::now() + Duration::from_secs(80 * 365 * 24 * 60 * 60);
    let old = entries();
    for name in &old {
        File::open(scratch.path("ca").join(name)).and_then(|file| file.set_modified(future)).expect("it is ours");
    }
    let room = 2 * std::fs::metadata(&entry).expect("it is there").len();
    scratch.says(&format!("compile k.ptx -o b.cubin --cache ca --cache-size {room} -O0"), 0);
    let kept = entries();
    assert!(kept.iter().any(|name| !old.contains(name)), "the new entry went: {kept:?}");
    assert!(kept.len() < 3, "{kept:?}");
}

#[test]
fn names_that_are_no_text() {
    let scratch = with_kernel();
    let name = std::ffi::OsStr::from_bytes(b"k\xff.ptx");
    std::fs::copy(scratch.path("k.ptx"), scratch.path("").join(name)).expect("a name may be any bytes");
    let output_name = std::ffi::OsStr::from_bytes(b"\xe4.cubin");
    let mut command = scratch.command("ptxas -arch=sm_80");
    let ended = command.arg(name).arg("-o").arg(output_name).output().expect("it starts");
    assert!(ended.status.success(), "{}", error_text(&ended));
    assert!(scratch.path("").join(output_name).is_file());
    let missing = std::ffi::OsStr::from_bytes(b"\xfe.ptx");
    let ended = scratch.command("ptxas -arch=sm_80").arg(missing).output().expect("it starts");
    assert!(ended.stderr.windows(5).any(|bytes| bytes == b"\xfe.ptx"), "{}", error_text(&ended));
}

/// Of several outputs of one call none is there where one cannot be.
#[test]
fn all_outputs_or_none() {
    let scratch = with_kernel();
    std::fs::create_dir(scratch.path("folder")).expect("it can be made");
    for words in [
        "compile k.ptx -o k.cubin --pressure folder/../p.json --schedule folder",
        "compile k.ptx -o nowhere/k.cubin --pressure p.json",
        "run k.ptx --entry k --block 1 --stats folder out:o.bin:4096",
    ] {
        scratch.says(words, 1);
        assert_eq!(names(&scratch.path("")), ["folder", "k.ptx"], "{words}");
    }
}

/// What takes long finds a missing folder before it begins.
#[test]
fn a_missing_folder_is_found_at_once() {
    let scratch = with_kernel();
    let start = Instant::now();
    let said = scratch.says("tune k.ptx -o nowhere/k.cubin --seconds 30 -- --entry k --block 1 zero:4096", 1);
    assert!(said.contains("nowhere/k.cubin: cannot be written: No such file"), "{said}");
    assert!(start.elapsed() < Duration::from_secs(10));
}

/// Blocks that race: one result with `--deterministic`, whatever the number of threads.
#[test]
fn racing_blocks_leave_the_same_in_one_order() {
    let scratch = Scratch::new();
    scratch.write(
        "race.ptx",
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry race(.param .u64 p, .param .u64 q) {\n\
         .reg .b32 %r<9>; .reg .b64 %d<9>;\n\
         mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mad.lo.u32 %r4, %r2, %r3, %r1;\n\
         ld.param.u64 %d1, [p]; and.b32 %r5, %r1, 7; mul.wide.u32 %d2, %r5, 4; add.u64 %d1, %d1, %d2;\n\
         st.global.u32 [%d1], %r4; ld.global.u32 %r6, [%d1+4];\n\
         ld.param.u64 %d3, [q]; mul.wide.u32 %d4, %r4, 4; add.u64 %d3, %d3, %d4; st.global.u32 [%d3], %r6;\nret;\n}\n",
    );
    let mut results = Vec::new();
    for threads in [1, 8, 8, 3] {
        let words = format!(
            "run race.ptx --entry race --grid 64 --block 256 --deterministic --threads {threads} -q zero:64 out:q:65536"
        );
        scratch.says(&words, 0);
        results.push(scratch.read("q"));
    }
    assert!(results.windows(2).all(|pair| pair[0] == pair[1]));
    assert_eq!(text(&scratch.run("run race.ptx --entry race --deterministic --engine ptx zero:64 zero:4")), "");
}
