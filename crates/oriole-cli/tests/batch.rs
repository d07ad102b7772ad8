//! Several files at a time: each becomes what it becomes alone, whatever happens to the others, and what is said comes in
//! the order of the inputs.

use crate::scratch::{Scratch, WRONG, error_text, finished, kernel, text};
use oriole_prerequisites::sample;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Output;

/// The cubin that a file becomes alone.
fn alone(scratch: &Scratch, name: &str) -> Vec<u8> {
    scratch.says(&format!("compile {name}.ptx -o alone_{name}.cubin"), 0);
    scratch.read(format!("alone_{name}.cubin"))
}

fn json(output: &Output) -> Vec<serde_json::Value> {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", text(output)))
}

#[test]
fn one_wrong_file_among_three() {
    let scratch = Scratch::with_three();
    scratch.write("wrong.ptx", WRONG);
    let output = scratch.run("compile a.ptx wrong.ptx b.ptx c.ptx --out-dir out --jobs 2 --json");
    let said = error_text(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    for name in ["a", "b", "c"] {
        assert_eq!(scratch.read(format!("out/{name}.cubin")), alone(&scratch, name), "{name}");
    }
    assert!(!scratch.path("out/wrong.cubin").exists());
    // A line with the place, then what `compile` says of the file alone.
    let single = scratch.says("compile wrong.ptx -o wrong.cubin", 1);
    assert!(said.contains(&format!("failed: wrong.ptx:6:19\n{}", single.trim_end())), "{said}\n{single}");
    assert!(said.contains("1 of 4 files"), "{said}");

    let rows = json(&output);
    let inputs: Vec<_> = rows.iter().map(|row| row["input"].as_str().expect("a name")).collect();
    assert_eq!(inputs, ["a.ptx", "wrong.ptx", "b.ptx", "c.ptx"]);
    for row in &rows {
        assert!(row["seconds"].as_f64().is_some_and(|seconds| seconds >= 0.0), "{row}");
    }
    let (good, wrong) = (&rows[0], &rows[1]);
    assert_eq!((good["status"].as_str(), good["output"].as_str()), (Some("ok"), Some("out/a.cubin")));
    assert_eq!(good["bytes"].as_u64(), Some(scratch.read("out/a.cubin").len() as u64));
    assert_eq!(good["kernels"][0]["name"], "kernel_a");
    assert_eq!(good["diagnostics"].as_array().map(Vec::len), Some(0));
    assert_eq!((wrong["status"].as_str(), wrong["output"].is_null()), (Some("failed"), true));
    let first = &wrong["diagnostics"][0];
    assert_eq!((&first["file"], &first["line"]), (&"wrong.ptx".into(), &6.into()));
    assert_eq!(first["severity"], "error");
}

/// The figures of the JSON are those that `-v` prints.
#[test]
fn figures() {
    let scratch = Scratch::with_three();
    let shared =
        kernel("kernel_s", 1, 2).replace("ret;", ".shared .align 4 .b8 room[640];\nst.shared.u32 [room+636], 1;\nret;");
    scratch.write("s.ptx", shared);
    let rows = json(&scratch.run("compile a.ptx s.ptx --out-dir out --json -q"));
    for (row, name) in rows.iter().zip(["a", "s"]) {
        let lines = scratch.says(&format!("compile {name}.ptx -o v.cubin -v"), 0);
        let kernel = &row["kernels"][0];
        assert!(lines.contains(&format!("Used {} registers", kernel["registers"])), "{row}: {lines}");
    }
    assert_eq!((&rows[0]["kernels"][0]["shared"], &rows[1]["kernels"][0]["shared"]), (&0.into(), &640.into()));
}

#[test]
fn the_table_and_quiet() {
    let scratch = Scratch::with_three();
    let said = scratch.says("compile c.ptx a.ptx b.ptx --out-dir out", 0);
    let names: Vec<_> = said.lines().map(|line| line.split_whitespace().next().unwrap_or_default()).collect();
    assert_eq!(names, ["file", "c.ptx", "a.ptx", "b.ptx"], "{said}");
    assert_eq!(scratch.says("compile a.ptx b.ptx --out-dir out -q", 0), "");
    scratch.write("wrong.ptx", WRONG);
    assert!(scratch.says("compile a.ptx wrong.ptx --out-dir out -q", 1).starts_with("failed: wrong.ptx:6:"));
}

/// No bar where standard error is no terminal: not a byte of it.
#[test]
fn no_bar_in_a_pipe() {
    let scratch = Scratch::with_three();
    let said = scratch.says("compile a.ptx b.ptx c.ptx --out-dir out", 0);
    assert!(!said.contains(['\r', '\u{1b}', '█', '░']), "{said:?}");
}

/// The same bytes, and the same words but for the time, whatever is around it.
#[test]
fn bytes_depend_on_nothing_else() {
    let scratch = Scratch::with_three();
    scratch.write("d.ptx", WRONG);
    scratch.write("e.ptx", WRONG.replace("%nowhere", "%elsewhere"));
    let expected: Vec<_> = ["a", "b", "c"].map(|name| alone(&scratch, name)).into();
    let elsewhere = scratch.path("elsewhere");
    std::fs::create_dir(&elsewhere).expect("it can be made");
    let mut words = Vec::new();
    for (round, jobs) in ["1", "2", "8", "8"].into_iter().enumerate() {
        let folder = scratch.path(&format!("out{round}"));
        let mut command = scratch.command("compile --quiet --jobs");
        command.arg(jobs).arg("--out-dir").arg(&folder);
        command.args(["e", "d", "c", "b", "a"].map(|name| scratch.path(&format!("{name}.ptx"))));
        if round == 3 {
            command
                .current_dir(&elsewhere)
                .env("LC_ALL", "tr_TR.UTF-8")
                .env("HOME", &elsewhere)
                .env("TZ", "Asia/Tokyo");
        }
        let output = finished(command);
        assert_eq!(output.status.code(), Some(1), "{}", error_text(&output));
        let made: Vec<_> = ["a", "b", "c"].map(|name| scratch.read(folder.join(format!("{name}.cubin")))).into();
        assert_eq!(made, expected, "round {round}");
        words.push(error_text(&output));
    }
    assert!(words[0].find("elsewhere") < words[0].find("nowhere"), "the order of the inputs: {}", words[0]);
    assert!(words.iter().all(|said| *said == words[0]), "{words:?}");
}

/// A hundred runs, or half of them without `ORIOLE_THOROUGH=1`: any number of threads, two folders, with the cache and
/// without, other languages and homes.
#[test]
fn many_runs_make_one_file() {
    let scratch = Scratch::with_three();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/kernels/ptx/reduce.sm_90.ptx");
    let ptx = std::fs::read_to_string(source).expect("a bundled kernel");
    let mut files = BTreeSet::new();
    // All ways to run it, twice at least: 24.
    for run in 0..sample(100) as usize {
        let folder = scratch.path(["here", "somewhere/else"][run / 3 % 2]);
        std::fs::create_dir_all(&folder).expect("it can be made");
        std::fs::write(folder.join("reduce.ptx"), &ptx).expect("it can be written");
        let mut command = scratch.command("compile reduce.ptx -o reduce.cubin --jobs");
        command.arg(["1", "2", "8"][run % 3]).current_dir(&folder);
        if run / 6 % 2 == 1 {
            // Empty the first time, and full afterwards.
            command.arg("--cache").arg(scratch.path(&format!("cache{}", run / 24)));
        }
        if run / 12 % 2 == 1 {
            command.env("LC_ALL", "tr_TR.UTF-8").env("HOME", &folder).env("TZ", "Asia/Tokyo").env("COLUMNS", "20");
        }
        let output = finished(command);
        assert_eq!(output.status.code(), Some(0), "run {run}: {}", error_text(&output));
        files.insert(std::fs::read(folder.join("reduce.cubin")).expect("written"));
    }
    assert_eq!(files.len(), 1);
}

#[test]
fn what_is_refused() {
    let scratch = Scratch::with_three();
    std::fs::create_dir(scratch.path("sub")).expect("it can be made");
    scratch.write("sub/a.ptx", kernel("other", 1, 1));
    let same = scratch.says("compile a.ptx sub/a.ptx --out-dir out", 2);
    assert!(same.contains("a.ptx and sub/a.ptx") && same.contains("out/a.cubin"), "{same}");
    let one_file = [
        "-o x.cubin",
        "--dump-all dumps",
        "--dump-cfg x.dot",
        "--pressure x.json",
        "--dump-after OriPeepholes",
        "--stats",
        "--time-phases",
        "--uniformity",
        "--pass-limit 3",
        "--dump-rpo",
    ];
    for option in one_file {
        let said = scratch.says(&format!("compile a.ptx b.ptx --out-dir out {option}"), 2);
        let name = option.split(' ').next().unwrap_or_default();
        assert!(said.contains(name), "{option}: {said}");
    }
    for words in ["compile a.ptx b.ptx -o x.cubin", "compile - --out-dir out", "compile a.ptx -o x --json"] {
        scratch.says(words, 2);
    }
    scratch.says("compile a.ptx b.ptx --out-dir out --knob no-such=1", 2);
    scratch.says("compile a.ptx b.ptx --out-dir out --arch sm_1", 1);
    assert!(!scratch.path("out").exists(), "nothing was begun");
    // An input that would be written over.
    std::fs::rename(scratch.path("a.ptx"), scratch.path("a.cubin")).expect("it can be renamed");
    scratch.says("compile a.cubin --out-dir .", 2);
}

#[test]
fn files_that_cannot_be_read_or_written() {
    let scratch = Scratch::with_three();
    std::fs::create_dir_all(scratch.path("out/b.cubin")).expect("it can be made");
    let output = scratch.run("compile a.ptx b.ptx gone.ptx --out-dir out --json");
    assert_eq!(output.status.code(), Some(1));
    let rows = json(&output);
    let statuses: Vec<_> = rows.iter().map(|row| row["status"].as_str().unwrap_or_default()).collect();
    assert_eq!(statuses, ["ok", "failed", "failed"]);
    assert!(error_text(&output).contains("gone.ptx"));
    scratch.write("file", "");
    let said = scratch.says("compile a.ptx --out-dir file/out", 1);
    assert!(said.contains("file/out"), "{said}");
}

/// One input with --out-dir is a batch too, and PTX and LLVM IR may stand side by side.
#[test]
fn one_file_and_mixed_files() {
    let scratch = Scratch::with_three();
    scratch.says("compile b.ptx --out-dir one", 0);
    assert_eq!(scratch.read("one/b.cubin"), alone(&scratch, "b"));
    let ir = "target triple = \"nvptx64-nvidia-cuda\"\ndefine ptx_kernel void @k(ptr addrspace(1) %p, float %x, float %y) {\n  \
              %z = fdiv float %x, %y\n  store float %z, ptr addrspace(1) %p\n  ret void\n}\n";
    scratch.write("i.ll", ir);
    scratch.says("compile i.ll b.ptx --out-dir mixed --arch sm_80 --ftz", 0);
    scratch.says("compile i.ll -o i.cubin --arch sm_80 --ftz", 0);
    assert_eq!(scratch.read("mixed/i.cubin"), scratch.read("i.cubin"));
    scratch.says("compile a.ptx b.ptx --out-dir out --ftz", 2);
}
