//! Files: an output is never an input, takes the place of a file with its mode and its links, and leaves nothing
//! behind when a signal ends the process.

use crate::scratch::with_signals;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

const PTX: &str = ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p) { ret; }\n";

/// A folder with `in.ptx` in it.
struct Case(tempfile::TempDir);

impl Case {
    fn new() -> Self {
        let case = Case(tempfile::tempdir().expect("a temporary folder"));
        std::fs::write(case.path("in.ptx"), PTX).expect("it can be written");
        case
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Run in the folder.
    fn oriole(&self, words: &str) -> Output {
        let words = words.split_whitespace();
        Command::new(env!("CARGO_BIN_EXE_oriole")).args(words).current_dir(&self.0).output().expect("oriole starts")
    }

    fn done(&self, words: &str) {
        let output = self.oriole(words);
        assert_eq!(output.status.code(), Some(0), "{words}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// Exit status 2 and a message with `word`; the folder is as it was.
    fn refused(&self, words: &str, word: &str) {
        let before = self.listing();
        let output = self.oriole(words);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words}: {text}");
        assert!(text.contains(word), "{words}: {text}");
        assert_eq!(self.listing(), before, "{words}");
    }

    /// Names and contents.
    fn listing(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let entries = std::fs::read_dir(&self.0).expect("the folder is there");
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
        paths.sort();
        paths.into_iter().map(|path| (path.clone(), std::fs::read(path).unwrap_or_default())).collect()
    }
}

#[test]
fn an_output_that_is_the_input() {
    let case = Case::new();
    let word = "the output is an input file";
    case.refused("compile in.ptx -o in.ptx", word);
    case.refused("compile in.ptx -o ./in.ptx", word);
    symlink("in.ptx", case.path("link")).expect("a link");
    symlink("link", case.path("link_to_link")).expect("a link");
    std::fs::hard_link(case.path("in.ptx"), case.path("hard")).expect("a link");
    for (input, output) in [("in.ptx", "link"), ("link", "in.ptx"), ("link_to_link", "hard"), ("hard", "in.ptx")] {
        case.refused(&format!("compile {input} -o {output}"), word);
    }
    case.refused("compile in.ptx -o out.cubin --dump-cfg in.ptx", word);
    case.refused("nvptx in.ptx -o hard", word);
    case.refused("asm in.ptx -o in.ptx", word);
    std::fs::write(case.path("data"), [0; 16]).expect("it can be written");
    case.refused("run in.ptx --entry k out:in.ptx:16", word);
    case.refused("run in.ptx --entry k inout:data:data", word);
    case.refused("run in.ptx --entry k --stats hard zero:16", word);
    case.refused("run in.ptx --entry k --global v=data out:data:16", word);
}

#[test]
fn two_outputs_that_are_one_file() {
    let case = Case::new();
    symlink("new", case.path("link")).expect("a link");
    case.refused("compile in.ptx -o new --dump-cfg new", "two outputs");
    case.refused("compile in.ptx -o link --dump-cfg new", "two outputs");
    // A device takes any number.
    case.done("compile in.ptx -o /dev/null --dump-cfg /dev/null");
}

#[test]
fn a_file_that_is_replaced_keeps_its_mode_and_links() {
    let case = Case::new();
    let mode = |name: &str| std::fs::metadata(case.path(name)).expect("it is there").permissions().mode() & 0o777;
    std::fs::create_dir(case.path("folder")).expect("a folder");
    std::fs::write(case.path("folder/real"), "old").expect("it can be written");
    symlink("folder/real", case.path("near")).expect("a link");
    symlink("near", case.path("far")).expect("a link");
    for bits in [0o600, 0o640, 0o755] {
        std::fs::set_permissions(case.path("folder/real"), std::fs::Permissions::from_mode(bits)).expect("it is ours");
        case.done("compile in.ptx -o far");
        assert_eq!(mode("folder/real"), bits);
        assert_eq!(&std::fs::read(case.path("folder/real")).expect("it is there")[..4], b"\x7fELF");
        assert_eq!(std::fs::read_link(case.path("far")).expect("still a link"), Path::new("near"));
        assert_eq!(std::fs::read_link(case.path("near")).expect("still a link"), Path::new("folder/real"));
    }
    // A link to a file that is not there yet.
    symlink("folder/to_come", case.path("dangling")).expect("a link");
    case.done("compile in.ptx -o dangling");
    assert_eq!(&std::fs::read(case.path("folder/to_come")).expect("it is there")[..4], b"\x7fELF");
    assert!(case.path("dangling").is_symlink());
    // A new file is for all, as far as the umask lets it.
    case.done("compile in.ptx -o new.cubin");
    std::fs::File::create(case.path("plain")).expect("it can be made");
    assert_eq!(mode("new.cubin"), mode("plain"));
}

#[test]
fn a_loop_of_links_is_an_error() {
    let case = Case::new();
    symlink("b", case.path("a")).expect("a link");
    symlink("a", case.path("b")).expect("a link");
    let output = case.oriole("compile in.ptx -o a");
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("links"));
}

/// Signals come while an output of 128 MiB is being written: nothing of its temporary file may be left, and of the output
/// nothing or all.
#[test]
fn signals_leave_no_temporary_file() {
    let case = Case::new();
    let started = Instant::now();
    for name in ["TERM", "INT", "HUP"] {
        let mut caught = false;
        while !caught {
            assert!(started.elapsed() < Duration::from_secs(120), "the signal never came in time");
            let arguments = ["run", "in.ptx", "--entry", "k", "out:big:134217728"];
            let mut command = Command::new(env!("CARGO_BIN_EXE_oriole"));
            command.args(arguments).current_dir(&case.0);
            let mut child = with_signals(&mut command).spawn().expect("oriole starts");
            let is_writing = || case.listing_names().iter().any(|name| name != "in.ptx");
            while !is_writing() && child.try_wait().expect("it is ours").is_none() {
                std::thread::sleep(Duration::from_micros(200));
            }
            let sent =
                Command::new("kill").args(["-s", name, &child.id().to_string()]).output().expect("kill is there");
            let status = child.wait().expect("it ends");
            let left = case.listing_names();
            let nothing = left == ["in.ptx"];
            let whole = left == ["big", "in.ptx"]
                && std::fs::metadata(case.path("big")).is_ok_and(|file| file.len() == 134_217_728);
            assert!(nothing || whole, "{name}: {left:?}, {status}");
            // The process may have been faster.
            caught = sent.status.success() && status.signal().is_some() && nothing;
            let _ = std::fs::remove_file(case.path("big"));
        }
    }
}

impl Case {
    fn listing_names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).expect("the folder is there");
        let mut names: Vec<String> =
            entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

/// A `.npy` file as NumPy's format description has it (version 1.0).
fn npy(descr: &str, fortran: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n");
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header.as_bytes());
    file.extend(data);
    file
}

/// Adds 1 to each of 6 words of the first buffer into the second.
const ADD_ONE: &str = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 a, .param .u64 b) {\n\
    .reg .b64 %rd<6>;\n.reg .b32 %r<3>;\nld.param.u64 %rd1, [a];\nld.param.u64 %rd2, [b];\nmov.u32 %r1, %tid.x;\n\
    mul.wide.u32 %rd3, %r1, 4;\nadd.u64 %rd4, %rd1, %rd3;\nadd.u64 %rd5, %rd2, %rd3;\nld.global.u32 %r2, [%rd4];\n\
    add.u32 %r2, %r2, 1;\nst.global.u32 [%rd5], %r2;\nret;\n}\n";

#[test]
fn arrays_of_numpy_go_in_and_out() {
    let case = Case::new();
    std::fs::write(case.path("in.ptx"), ADD_ONE).expect("it can be written");
    let words = |values: [u32; 6]| -> Vec<u8> { values.iter().flat_map(|value| value.to_le_bytes()).collect() };
    std::fs::write(case.path("a.npy"), npy("<u4", "False", "(2, 3)", &words([1, 2, 3, 4, 5, 6]))).expect("written");
    std::fs::write(case.path("f.npy"), npy("<u4", "True", "(2, 3)", &words([1, 4, 2, 5, 3, 6]))).expect("written");
    let ends = |name: &str, shape: &str, data: &[u8]| {
        let file = std::fs::read(case.path(name)).expect("it is there");
        assert!(file.starts_with(b"\x93NUMPY") && file.ends_with(data), "{file:?}");
        let header = String::from_utf8_lossy(&file[..file.len() - data.len()]).into_owned();
        assert!(header.contains(shape) && header.contains("'<u4'") && header.contains("False"), "{header}");
    };
    let sum = words([2, 3, 4, 5, 6, 7]);
    for engine in ["sim", "ptx"] {
        let run = format!("run in.ptx --entry k --block 6 --engine {engine}");
        for input in ["in:a.npy", "in:f.npy", "in:a.npy:u32", "in:f.npy:u32[2,3]", "inout:a.npy:a2.npy:u32[2,3]"] {
            case.done(&format!("{run} {input} out:b.npy:u32[3,2]"));
            ends("b.npy", "(3, 2", &sum);
        }
        ends("a2.npy", "(2, 3", &words([1, 2, 3, 4, 5, 6]));
        case.done(&format!("{run} in:a.npy out:b.bin:u32[6]"));
        assert_eq!(std::fs::read(case.path("b.bin")).expect("it is there"), sum);
        // Bytes are an array of bytes.
        case.done(&format!("{run} in:a.npy out:c.npy:24"));
        let bytes = std::fs::read(case.path("c.npy")).expect("it is there");
        assert!(bytes.ends_with(&sum) && String::from_utf8_lossy(&bytes).contains("(24,"));
        case.refused(&format!("{run} in:a.npy:f32 zero:24"), "u32[2,3], not f32");
        case.refused(&format!("{run} in:a.npy:u32[6] zero:24"), "u32[2,3], not u32[6]");
        case.refused(&format!("{run} in:in.ptx zero:u32[x]"), "no size");
        std::fs::write(case.path("short.npy"), npy("<u4", "False", "(2, 3)", &[0; 20])).expect("written");
        case.refused(&format!("{run} in:short.npy zero:24"), "20 bytes");
    }
}
