//! `oriole test`: what launches leave is computed here by the host, or follows from the kernel's text.

mod expected;
mod failing;
mod kernels;
mod manifests;
mod reports;
mod run_expect;
mod shards;

use crate::scratch::{Scratch, error_text, text};
use std::process::Output;

/// A folder with kernels, and a manifest of these launches.
pub(crate) struct Bench(Scratch);

impl Bench {
    /// `programs` is the table of programs, `launches` all that follows it.
    pub(crate) fn new(programs: &str, launches: &str) -> Bench {
        let scratch = Scratch::new();
        for (name, text) in kernels::ALL {
            scratch.write(name, text);
        }
        scratch.write("m.toml", format!("[programs]\n{programs}\n{launches}\n"));
        Bench(scratch)
    }

    /// The launches of one program, whose name is its file's without the end.
    pub(crate) fn of(file: &str, launches: &str) -> Bench {
        let name = file.split('.').next().expect("a name");
        Bench::new(&format!("{name} = \"{file}\""), launches)
    }

    /// `oriole test` with these options; the exit status has to be this.
    pub(crate) fn test(&self, options: &str, status: i32) -> Output {
        let output = self.0.run(&format!("test m.toml {options}"));
        assert_eq!(output.status.code(), Some(status), "{options}: {}", error_text(&output));
        output
    }

    /// The same; what it says on standard error.
    pub(crate) fn says(&self, options: &str, status: i32) -> String {
        error_text(&self.test(options, status))
    }

    /// The objects of the launches of `--json`.
    pub(crate) fn json(&self, options: &str, status: i32) -> serde_json::Value {
        let output = self.test(&format!("{options} --json -"), status);
        serde_json::from_str(&text(&output)).expect("JSON")
    }
}

/// The summary without the time.
pub(crate) fn summary(said: &str) -> &str {
    let line = said.lines().last().expect("a line");
    line.rsplit_once(", ").expect("the time is last").0
}
