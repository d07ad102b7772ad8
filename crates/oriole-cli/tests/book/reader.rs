//! Who reads a page: stands in a clone of the repository, has `oriole` on the path, and types what the page says.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// A folder like a fresh clone, which goes with its reader.
pub(crate) struct Reader(tempfile::TempDir);

/// What came of a command.
pub(crate) struct Came {
    /// What it wrote, to standard output and standard error, in the order in which it came.
    pub(crate) text: String,
    /// Its exit status.
    pub(crate) status: i32,
}

/// Programs that build or install.
const BUILDERS: [&str; 4] = ["cargo", "pip", "rustup", "sudo"];

/// What ends the output of a command; its status follows.
const MARK: &str = "=== so ended a command of the book:";

impl Reader {
    /// In a folder with all of the repository `root`: `examples` as copies, for pages change them, all else as links.
    pub(crate) fn of(root: &Path, python: Option<&Path>) -> Reader {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let clone = folder.path().join("clone");
        for made in ["bin", "home", "clone"] {
            std::fs::create_dir(folder.path().join(made)).expect("a folder");
        }
        for entry in std::fs::read_dir(root).expect("the repository") {
            let name = entry.expect("an entry").file_name();
            let is_hidden = name.to_string_lossy().starts_with('.') || name == "target";
            if name == "examples" {
                copy(&root.join(&name), &clone.join(&name));
            } else if !is_hidden {
                link(&root.join(&name), &clone.join(&name));
            }
        }
        link(Path::new(env!("CARGO_BIN_EXE_oriole")), &folder.path().join("bin/oriole"));
        // A block that lacks its mark is not to change this machine.
        let refused = "echo \"the book's test does not build or install\" >&2\nexit 1";
        let mut programs: Vec<(&str, String)> = BUILDERS.iter().map(|name| (*name, refused.to_owned())).collect();
        // One of another name or place than the path's.
        if let Some(path) = python.filter(|path| path.components().count() > 1) {
            programs.push(("python3", format!("exec '{}' \"$@\"", path.display())));
        }
        for (name, script) in programs {
            let path = folder.path().join("bin").join(name);
            std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a file");
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("a program");
        }
        Reader(folder)
    }

    /// Types the commands, one after the other, in one shell.
    pub(crate) fn types<'a>(&self, commands: impl Iterator<Item = &'a str>) -> Vec<Came> {
        let quoted = |command: &str| format!("'{}'", command.replace('\'', r"'\''"));
        let ended = format!("ended() {{ local status=$?; printf '\\n{MARK} %d\\n' $status; return $status; }}");
        let mut script = format!("exec 2>&1\n{ended}\n");
        commands.for_each(|command| script.push_str(&format!("eval {}\nended\n", quoted(command))));
        let path = std::env::var("PATH").unwrap_or_default();
        let folder = self.0.path();
        std::fs::write(folder.join("script"), script).expect("it can be written");
        let mut bash = Command::new("bash");
        bash.arg(folder.join("script")).current_dir(folder.join("clone")).stdin(Stdio::null());
        bash.env("PATH", format!("{}:{path}", folder.join("bin").display())).env("HOME", folder.join("home"));
        // What a developer has set is not what is tested.
        let is_set = |name: &OsString| {
            let name = name.to_string_lossy();
            name.starts_with("ORIOLE_") || ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "BASH_ENV"].contains(&&*name)
        };
        std::env::vars_os().map(|(name, _)| name).filter(is_set).for_each(|name| {
            bash.env_remove(name);
        });
        let output = bash.output().expect("bash starts");
        let mut rest = &*String::from_utf8_lossy(&output.stdout);
        let mut all = Vec::new();
        while let Some((text, after)) = rest.split_once(&format!("\n{MARK} ")) {
            let (status, after) = after.split_once('\n').expect("a line");
            all.push(Came { text: text.to_owned(), status: status.parse().expect("a number") });
            rest = after;
        }
        all
    }
}

/// A copy of a folder.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let to = to.join(entry.file_name());
        if entry.file_type().expect("a type").is_dir() {
            copy(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), to).expect("a copy");
        }
    }
}

/// A link to a file or folder.
fn link(from: &Path, to: &Path) {
    std::os::unix::fs::symlink(from, to).expect("a link");
}

/// One shell: variables, folders and statuses stay; both outputs are one; the repository is there, and `oriole`.
#[test]
fn a_reader_types() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let reader = Reader::of(&root, None);
    let commands = [
        "export A='x y'; cd examples",
        "pwd | grep -o 'clone.*'; echo \"$A\" >&2",
        "(exit 3)",
        "echo $?",
        "printf half",
        "read line",
        "ls ../Cargo.toml",
        "which oriole | grep -o bin.*",
        "cat <<'E'\n$A\nE",
        "cargo install nothing",
    ];
    let came = reader.types(commands.into_iter());
    let came: Vec<(&str, i32)> = came.iter().map(|came| (&*came.text, came.status)).collect();
    let expected = [
        ("", 0),
        ("clone/examples\nx y\n", 0),
        ("", 3),
        ("3\n", 0),
        ("half", 0),
        ("", 1),
        ("../Cargo.toml\n", 0),
        ("bin/oriole\n", 0),
        ("$A\n", 0),
        ("the book's test does not build or install\n", 1),
    ];
    assert_eq!(came, expected);
}
