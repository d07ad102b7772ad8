//! What is said of missing things, by this test binary when it runs itself.

use oriole_prerequisites::{OLD_TOOLS, REQUIRE, TOOLS};
use std::process::{Command, Output};

/// Set in the run that misses something.
const INNER: &str = "ORIOLE_PREREQUISITES_INNER";

#[test]
fn misses() {
    if std::env::var_os(INNER).is_some() {
        assert_eq!(oriole_prerequisites::tool("ptxas"), None);
        assert_eq!(oriole_prerequisites::tool_of(OLD_TOOLS, "nvdisasm"), None);
        assert_eq!(oriole_prerequisites::shared("no such folder"), None);
        assert_eq!(oriole_prerequisites::shared("no such folder"), None);
        assert_eq!(oriole_prerequisites::program("/no/such/program"), None);
    }
}

fn run(variables: &[(&str, &str)]) -> (Output, String) {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--exact", "misses"]).env_remove(TOOLS).env_remove(REQUIRE).envs(variables.iter().copied());
    let output = command.output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output, said)
}

#[test]
fn what_is_missing_is_said_at_the_end() {
    let empty = std::env::temp_dir();
    let (output, said) = run(&[(INNER, "1"), (OLD_TOOLS, &empty.display().to_string())]);
    assert!(output.status.success(), "{said}");
    let lines: Vec<&str> = said.lines().collect();
    let want = [
        "skipped, wholly or in part, without ../shared/no such folder: misses",
        "skipped, wholly or in part, without /no/such/program: misses",
        "skipped, wholly or in part, without nvdisasm (ORIOLE_ORACLE_OLD names no folder with it): misses",
        "skipped, wholly or in part, without ptxas (ORIOLE_ORACLE is not set): misses",
    ];
    assert_eq!(lines, want);
}

#[test]
fn nothing_is_said_where_nothing_is_missing() {
    let (output, said) = run(&[(REQUIRE, "1")]);
    assert!(output.status.success() && said.is_empty(), "{said}");
}

#[test]
fn what_is_required_fails() {
    let (output, _) = run(&[(INNER, "1"), (REQUIRE, "1")]);
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("ptxas (ORIOLE_ORACLE is not set) is missing, and ORIOLE_REQUIRE asks for it"), "{said}");
}
