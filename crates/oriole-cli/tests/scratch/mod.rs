//! A folder with PTX in it, and Oriole run there.
// Each test binary that has this module takes a part of it.
#![allow(dead_code)]

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder that goes with its test.
pub(crate) struct Scratch(tempfile::TempDir);

/// A kernel that is wrong in its sixth line.
pub(crate) const WRONG: &str = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p) {\n\
                                .reg .b32 %r<4>;\nadd.u32 %r1, %r2, %nowhere;\nret;\n}\n";

/// A kernel that stores so many times `word`.
pub(crate) fn kernel(name: &str, word: u32, stores: u32) -> String {
    let body: String = (0..stores).map(|at| format!("st.global.u32 [%p+{}], {};\n", 4 * at, word + at)).collect();
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry {name}(.param .u64 p) {{\n\
         .reg .b64 %p;\nld.param.u64 %p, [p];\n{body}ret;\n}}\n"
    )
}

impl Scratch {
    /// Without files.
    pub(crate) fn new() -> Scratch {
        Scratch(tempfile::tempdir().expect("a temporary folder"))
    }

    /// With `a.ptx`, `b.ptx` and `c.ptx`, which are right, of different length.
    pub(crate) fn with_three() -> Scratch {
        let scratch = Scratch::new();
        for (name, word, stores) in [("a", 1, 400), ("b", 2, 3), ("c", 3, 40)] {
            scratch.write(&format!("{name}.ptx"), kernel(&format!("kernel_{name}"), word, stores));
        }
        scratch
    }

    /// A path in the folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Write a file.
    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), text).expect("it can be written");
    }

    /// A file's bytes.
    pub(crate) fn read(&self, name: impl AsRef<Path>) -> Vec<u8> {
        let path = self.0.path().join(name);
        std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Oriole in the folder, with arguments that hold no spaces.
    pub(crate) fn command(&self, words: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_oriole"));
        command.args(words.split_whitespace()).current_dir(&self.0);
        // What a developer has set is not what is tested.
        for name in ["ORIOLE_CACHE", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"] {
            command.env_remove(name);
        }
        command
    }

    /// Run it; nothing that is given makes it panic.
    pub(crate) fn run(&self, words: &str) -> Output {
        finished(self.command(words))
    }

    /// Run it and expect this exit status; what it writes to standard error.
    pub(crate) fn says(&self, words: &str, status: i32) -> String {
        let output = self.run(words);
        let text = error_text(&output);
        assert_eq!(output.status.code(), Some(status), "{words}: {text}");
        text
    }
}

/// The command with the usual answer to signals: one that this process was started to ignore (in the background of a shell)
/// stays ignored in what it starts.
pub(crate) fn with_signals(command: &mut Command) -> &mut Command {
    // SAFETY: between `fork` and `exec` only `signal` is called, which may be.
    unsafe {
        command.pre_exec(|| {
            for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
                libc::signal(signal, libc::SIG_DFL);
            }
            Ok(())
        })
    }
}

/// The output of a command that does not panic.
pub(crate) fn finished(mut command: Command) -> Output {
    let output = command.output().expect("oriole starts");
    assert!(!error_text(&output).contains("panicked"), "{command:?}: {}", error_text(&output));
    output
}

/// What it wrote to standard error.
pub(crate) fn error_text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// What it wrote to standard output.
pub(crate) fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}
