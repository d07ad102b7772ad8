//! What Oriole says about itself and how: completions, manual pages, targets, colours, diagnostics for programs, and CUDA
//! C++ given as an input.

use crate::scratch::{Scratch, WRONG, error_text, finished, text};
use std::io::Write;
use std::process::{Command, Stdio};

/// Each script names the commands and options; bash reads its own without complaint, where there is a bash.
#[test]
fn completions() {
    let scratch = Scratch::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let output = scratch.run(&format!("completions {shell}"));
        let script = text(&output);
        assert!(output.status.success(), "{shell}");
        for word in ["oriole", "compile", "out-dir", "cache-size", "completions"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    scratch.says("completions tcsh", 2);
    let Ok(mut bash) = Command::new("bash").arg("-n").stdin(Stdio::piped()).stderr(Stdio::piped()).spawn() else {
        return;
    };
    let script = scratch.run("completions bash").stdout;
    bash.stdin.take().expect("it is piped").write_all(&script).expect("bash reads");
    let read = bash.wait_with_output().expect("bash ends");
    assert!(read.status.success() && read.stderr.is_empty(), "{}", error_text(&read));
}

/// `oriole help` says what each command does, and there is a page for it, with a title and its options.
#[test]
fn manual_pages() {
    let scratch = Scratch::new();
    scratch.says("man pages", 0);
    let help = text(&scratch.run("help"));
    let commands = help.lines().skip_while(|line| !line.starts_with("Commands:")).skip(1);
    let mut count = 0;
    for line in commands.take_while(|line| line.starts_with("  ")) {
        let name = line.split_whitespace().next().expect("a command");
        assert!(line.starts_with("   ") || line.split_whitespace().count() > 2, "nothing is said about `{name}`");
        if !line.starts_with("   ") && name != "help" {
            let page = scratch.read(format!("pages/oriole-{name}.1"));
            let page = String::from_utf8(page).expect("UTF-8");
            assert!(page.contains(".TH ") && page.contains(".SH NAME"), "{name}: {page}");
            count += 1;
        }
    }
    assert!(count > 10, "{help}");
    assert!(String::from_utf8(scratch.read("pages/oriole-compile.1")).expect("UTF-8").contains("out\\-dir"));
    scratch.write("file", "");
    scratch.says("man file/pages", 1);
}

/// Every target that is listed compiles, and with the figures of the published tables.
#[test]
fn targets() {
    let scratch = Scratch::new();
    let output = scratch.run("targets --json");
    let rows: Vec<serde_json::Value> = serde_json::from_slice(&output.stdout).expect("JSON");
    let table = text(&scratch.run("targets"));
    for row in &rows {
        let name = row["target"].as_str().expect("a name");
        assert!(table.lines().any(|line| line.split_whitespace().next() == Some(name)), "{name}: {table}");
        let ptx = format!(".version 9.4\n.target {name}\n.address_size 64\n.visible .entry k() {{ ret; }}\n");
        scratch.write("k.ptx", ptx);
        scratch.says(&format!("compile k.ptx -o k.cubin --arch {name}"), 0);
    }
    // CUDA C++ Programming Guide, tables of compute capabilities: warps and KiB of shared memory of a multiprocessor.
    for (name, warps, kib) in
        [("sm_75", 32, 64), ("sm_80", 64, 164), ("sm_86", 48, 100), ("sm_89", 48, 100), ("sm_90a", 64, 228)]
    {
        let row = rows.iter().find(|row| row["target"] == name).unwrap_or_else(|| panic!("{name} is listed"));
        assert_eq!((&row["warps_per_sm"], &row["shared_per_sm"]), (&warps.into(), &(kib * 1024).into()), "{name}");
        assert_eq!((&row["registers_per_thread"], &row["registers_per_sm"]), (&255.into(), &65536.into()), "{name}");
        assert_eq!(row["suffix"], if name.ends_with('a') { "a" } else { "" }, "{name}");
    }
}

#[test]
fn colour() {
    let scratch = Scratch::new();
    scratch.write("wrong.ptx", WRONG);
    scratch.write("wrong.ll", "define void @k() {\n  %x = nonsense\n}\n");
    let coloured = |words: &str, environment: &[(&str, &str)]| {
        let mut command = scratch.command(words);
        command.envs(environment.iter().copied());
        error_text(&finished(command)).contains('\u{1b}')
    };
    for wrong in
        ["compile wrong.ptx -o x.cubin", "compile wrong.ll -o x.cubin", "ptx check wrong.ptx", "compile --no-such"]
    {
        let always = format!("{wrong} --color always");
        assert!(!coloured(wrong, &[]), "{wrong}: standard error is a pipe");
        assert!(!coloured(&format!("{wrong} --color never"), &[("CLICOLOR_FORCE", "1")]), "{wrong}");
        assert!(coloured(&always, &[]), "{always}");
        assert!(coloured(&format!("--color=always {wrong}"), &[]), "{wrong}");
        assert!(coloured(&always, &[("NO_COLOR", "1")]), "what is said beats what is set: {wrong}");
        assert!(!coloured(wrong, &[("NO_COLOR", "1")]), "{wrong}");
    }
    scratch.says("compile wrong.ptx -o x.cubin --color sometimes", 2);
}

/// A JSON object a line, with the place that the text for people has.
#[test]
fn diagnostics_for_programs() {
    let scratch = Scratch::with_three();
    scratch.write("wrong.ptx", WRONG.replace("ret;", "mov.b32 %r0, %gone;\nret;"));
    scratch.write("wrong.ll", "define void @k() {\n  %x = nonsense\n}\n");
    let records = |words: &str, status: i32| -> Vec<serde_json::Value> {
        let said = scratch.says(words, status);
        said.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {said}"))).collect()
    };
    let ptx = records("compile wrong.ptx -o x.cubin --diagnostics json", 1);
    assert_eq!(ptx.len(), 2);
    for (record, (line, column, name)) in ptx.iter().zip([(6, 19, "%nowhere"), (7, 14, "%gone")]) {
        assert_eq!(
            (&record["file"], &record["line"], &record["column"]),
            (&"wrong.ptx".into(), &line.into(), &column.into())
        );
        assert_eq!(record["severity"], "error");
        assert!(record["message"].as_str().is_some_and(|message| message.contains(name)), "{record}");
        assert!(record["notes"].as_array().is_some_and(|notes| !notes.is_empty()), "{record}");
    }
    let ir = records("compile wrong.ll -o x.cubin --diagnostics json", 1);
    assert_eq!((&ir[0]["file"], &ir[0]["line"]), (&"wrong.ll".into(), &2.into()));
    let gone = records("compile gone.ptx -o x.cubin --diagnostics json", 1);
    assert_eq!((&gone[0]["file"], gone[0]["line"].is_null()), (&"gone.ptx".into(), true));
    let usage = records("compile a.ptx -o x.cubin --ftz --diagnostics json", 2);
    assert!(usage[0]["file"].is_null() && usage[0]["message"].as_str().is_some_and(|text| text.contains("--ftz")));
    assert!(records("compile a.ptx -o x.cubin --diagnostics json", 0).is_empty());
    let batch = records("compile a.ptx wrong.ptx --out-dir out --diagnostics json", 1);
    assert_eq!(batch[..2], ptx[..], "the last one says how many failed");
}

#[test]
fn cuda_source() {
    let scratch = Scratch::with_three();
    scratch.write("k.cu", "__global__ void k(float *p) { p[threadIdx.x] *= 2; }\n");
    let said = scratch.says("compile k.cu -o k.cubin", 1);
    for word in ["k.cu", "clang++", "nvcc --ptx", "NVRTC"] {
        assert!(said.contains(word), "{word}: {said}");
    }
    let said = scratch.says("compile a.ptx k.cu --out-dir out", 1);
    assert!(said.contains("failed: k.cu\n") && said.contains("nvcc --ptx"), "{said}");
    assert!(scratch.path("out/a.cubin").exists());
    // Whatever it is called, PTX is PTX.
    scratch.write("p.cu", scratch.read("a.ptx"));
    scratch.says("compile p.cu -o p.cubin", 0);
}

/// What is not there yet has a name that says nothing to a user.
#[test]
fn no_message_names_a_temporary_file() {
    let scratch = Scratch::with_three();
    for output in ["gone/x.cubin", "/proc/x.cubin", "a.ptx/x.cubin"] {
        let said = scratch.says(&format!("compile b.ptx -o {output}"), 1);
        assert!(said.contains(output) && !said.contains(".tmp"), "{said}");
    }
}
