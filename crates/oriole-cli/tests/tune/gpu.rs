//! `oriole tune --engine gpu` with a driver that has no device (`driver.c`): its launches take as long as the bytes of the code say, so
//! that the host knows what is best.

use super::{LAUNCH, chains, compiled, scratch, sums};
use crate::scratch::{Scratch, error_text, finished};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

/// Nanoseconds that the driver says of a launch with this code. The first that it has loaded takes a millisecond more.
fn nanoseconds(code: &[u8], is_first: bool) -> u64 {
    let hash = code.iter().fold(2_166_136_261, |hash: u32, byte| (hash ^ u32::from(*byte)).wrapping_mul(16_777_619));
    let milliseconds = if is_first { 2.0 } else { 1.0 } + (hash % 1024) as f32 / 1024.0;
    (milliseconds * 1e6) as u64
}

/// A scratch folder with the driver in it; none where no C compiler is.
fn with_driver(source: &Path) -> Option<Scratch> {
    let compiler = oriole_prerequisites::program("/usr/bin/cc")?;
    let scratch = scratch(&chains([""; 2]));
    let library = scratch.path("libcuda.so.1");
    let words = ["-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-o"];
    let made = Command::new(compiler).args(words).arg(library).arg(source).output().expect("cc starts");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    Some(scratch)
}

fn driver() -> Option<Scratch> {
    with_driver(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tune/driver.c"))
}

/// What comes of the command with the driver of the folder, and with a variable of the driver.
fn ran(scratch: &Scratch, words: &str, variable: (&str, &str)) -> Output {
    let mut command = scratch.command(words);
    command.env("LD_LIBRARY_PATH", scratch.path(".")).env(variable.0, variable.1);
    finished(command)
}

/// `oriole run` by the same driver.
#[test]
fn a_launch_on_the_device_reads_and_writes_files() {
    let Some(scratch) = driver() else { return };
    let output = ran(&scratch, &format!("run k.ptx --engine gpu {LAUNCH}"), ("LOG", "log"));
    assert!(output.status.success(), "{}", error_text(&output));
    assert_eq!(scratch.read("left"), sums());
    let output = ran(&scratch, "run k.ptx --engine gpu --entry chains --block 64 in:in out:left:1024", ("LOG", "log"));
    assert_eq!(output.status.code(), Some(3));
    assert!(error_text(&output).contains("fault: cuLaunchKernel: invalid (1)"), "{}", error_text(&output));
}

#[test]
fn the_best_on_the_device_is_what_the_device_says() {
    let Some(scratch) = driver() else { return };
    let words = format!("tune k.ptx -o best.cubin --report report.json --engine gpu --trials 40 -- {LAUNCH}");
    let output = ran(&scratch, &words, ("LOG", "log"));
    assert!(output.status.success(), "{}", error_text(&output));
    let report: Value = serde_json::from_slice(&scratch.read("report.json")).expect("JSON");
    let best = scratch.read("best.cubin");
    assert_eq!(report["best"]["nanoseconds"], nanoseconds(&best, false));
    assert_eq!(compiled(&scratch, &report["best"]["options"]), best);
    let plain = compiled(&scratch, &report["plain"]["options"]);
    assert_eq!(report["plain"]["nanoseconds"], nanoseconds(&plain, true));
    assert!(nanoseconds(&best, false) < nanoseconds(&plain, true), "{report}");
    assert!(report["best"]["launches"][0]["occupancy"].is_null());
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(table.contains("nanoseconds  registers") && table.contains("% fewer nanoseconds with: "), "{table}");
    // All that was taken has been given back.
    assert_eq!(scratch.read("log"), b"0 buffers, 0 modules, 0 events, launched\n");
}

#[test]
fn what_leaves_something_else_on_the_device_is_refused() {
    let Some(scratch) = driver() else { return };
    let words = format!("tune k.ptx -o best.cubin --report report.json --engine gpu --trials 12 -- {LAUNCH}");
    let output = ran(&scratch, &words, ("WRONG", "1"));
    assert!(output.status.success(), "{}", error_text(&output));
    let report: Value = serde_json::from_slice(&scratch.read("report.json")).expect("JSON");
    assert_eq!(compiled(&scratch, &report["plain"]["options"]), scratch.read("best.cubin"));
    let refused = report["refused"].as_array().expect("a list");
    assert!(!refused.is_empty() && refused.iter().all(|refused| refused["reason"] == "differs"), "{report}");
    let message = refused[0]["message"].as_str().expect("a text");
    assert!(message.contains("on the device it leaves something else in buffer 1"), "{message}");
}

#[test]
fn what_cannot_be_measured_on_a_device_is_named() {
    let Some(scratch) = driver() else { return };
    let refused = |words: &str, status: i32, message: &str| {
        let output = ran(&scratch, &format!("tune k.ptx --engine gpu --trials 2 -- {words}"), ("LOG", "log"));
        let said = error_text(&output);
        assert!(output.status.code() == Some(status) && said.contains(message), "{words}: {said}");
    };
    refused(&format!("--timing-warm {LAUNCH}"), 2, "--timing-warm does nothing with --engine gpu");
    refused("--entry chains --block 64 in:in out:left:1024", 1, "cuLaunchKernel: invalid (1)");
    refused(&LAUNCH.replace("in:in", "zero:4"), 3, "fault: illegal address");
    scratch.write("empty.c", "");
    let Some(empty) = with_driver(&scratch.path("empty.c")) else { return };
    let said = error_text(&ran(&empty, &format!("tune k.ptx --engine gpu -- {LAUNCH}"), ("LOG", "log")));
    assert!(said.contains("the CUDA driver has no function cuInit"), "{said}");
}
