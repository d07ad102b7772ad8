//! What tests need that is not in the repository: NVIDIA's tools, the shared data, LLVM.
//!
//! A test that lacks something asks here, so that nobody takes a test that did nothing for one that passed. What was
//! missing and which tests it was missed by stands on standard error when the test binary ends. With `ORIOLE_REQUIRE=1`
//! such a test fails. Whether tests take samples or all there is is asked here too.

pub mod nvdisasm;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, Once, PoisonError};

/// The variable that names the folder of NVIDIA's tools of CUDA 13.
pub const TOOLS: &str = "ORIOLE_ORACLE";
/// The same of CUDA 12, whose nvdisasm still reads sm_50 to sm_70.
pub const OLD_TOOLS: &str = "ORIOLE_ORACLE_OLD";
/// The same of CUDA 13.5.
pub const NEW_TOOLS: &str = "ORIOLE_ORACLE_NEW";
/// The variable that names the Python for scripts that need more than its own modules.
pub const PYTHON: &str = "ORIOLE_PYTHON";
/// The variable that makes failures of tests for which something is missing.
pub const REQUIRE: &str = "ORIOLE_REQUIRE";
/// The variable that has tests take all of what they take a sample of.
pub const THOROUGH: &str = "ORIOLE_THOROUGH";

/// What is missing, and the tests that miss it.
static MISSING: Mutex<BTreeMap<String, BTreeSet<String>>> = Mutex::new(BTreeMap::new());

/// The program of that name in the folder that [`TOOLS`] names, or in its `bin`.
///
/// # Panics
/// It is not there and [`REQUIRE`] asks for it.
pub fn tool(name: &str) -> Option<PathBuf> {
    tool_of(TOOLS, name)
}

/// The program of that name in the folder that the variable names, or in its `bin`.
///
/// # Panics
/// It is not there and [`REQUIRE`] asks for it.
pub fn tool_of(variable: &str, name: &str) -> Option<PathBuf> {
    let Some(folder) = std::env::var_os(variable).map(PathBuf::from) else {
        return missing(&format!("{name} ({variable} is not set)"));
    };
    let places = [folder.join(name), folder.join("bin").join(name)];
    let found = places.into_iter().find(|path| path.is_file());
    found.or_else(|| missing(&format!("{name} ({variable} names no folder with it)")))
}

/// A program of this machine.
///
/// # Panics
/// It is not there and [`REQUIRE`] asks for it.
pub fn program(path: &str) -> Option<PathBuf> {
    Some(PathBuf::from(path)).filter(|path| path.is_file()).or_else(|| missing(path))
}

/// A Python with these modules: the one that [`PYTHON`] names, or `python3` of the path.
///
/// # Panics
/// It is not there and [`REQUIRE`] asks for it.
pub fn python(modules: &[&str]) -> Option<PathBuf> {
    let python = std::env::var_os(PYTHON).map_or_else(|| PathBuf::from("python3"), PathBuf::from);
    let asked = Command::new(&python).arg("-c").arg(format!("import {}", modules.join(", "))).output();
    let has = asked.is_ok_and(|output| output.status.success());
    has.then_some(python).or_else(|| missing(&format!("a Python with {} ({PYTHON} may name it)", modules.join(", "))))
}

/// A file or folder of the shared data, which lies beside the repository.
///
/// # Panics
/// It is not there and [`REQUIRE`] asks for it.
pub fn shared(path: &str) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    Some(folder.join(path)).filter(|path| path.exists()).or_else(|| missing(&format!("../shared/{path}")))
}

/// Whether [`THOROUGH`] asks for all that a test can try, rather than a sample that tries each thing once.
pub fn is_thorough() -> bool {
    is_set(THOROUGH)
}

/// How many of so many random programs a test makes: half of them, or all where [`THOROUGH`] asks for all.
pub fn sample(all: u64) -> u64 {
    if is_thorough() { all } else { all.div_ceil(2) }
}

/// The ways in which a test tries the thing of this number: every other one, one at least, or each where [`THOROUGH`] asks for
/// all. Neighbours have different ways.
pub fn in_turn<W>(number: usize, ways: W) -> impl Iterator<Item = W::Item>
where
    W: IntoIterator<IntoIter: ExactSizeIterator>,
{
    let ways = ways.into_iter();
    let all = is_thorough() || ways.len() == 1;
    ways.enumerate().filter(move |(way, _)| all || (number + way).is_multiple_of(2)).map(|(_, way)| way)
}

fn is_set(variable: &str) -> bool {
    std::env::var(variable).is_ok_and(|value| value != "0" && !value.is_empty())
}

/// Notes that the test that runs has to do without something.
fn missing<T>(what: &str) -> Option<T> {
    assert!(!is_set(REQUIRE), "{what} is missing, and {REQUIRE} asks for it");
    static AT_EXIT: Once = Once::new();
    AT_EXIT.call_once(|| {
        // SAFETY: `summary` is a function with the C interface that neither unwinds nor calls `exit`. Where it cannot be
        // registered only the summary is lost.
        unsafe { libc::atexit(summary) };
    });
    // The test harness calls a test's thread by the test's name.
    let test = std::thread::current().name().unwrap_or("a thread of a test").to_owned();
    let mut list = MISSING.lock().unwrap_or_else(PoisonError::into_inner);
    list.entry(what.to_owned()).or_default().insert(test);
    None
}

/// Says what was missing. Not through `eprintln`, which the harness keeps back for tests that pass.
extern "C" fn summary() {
    let list = MISSING.lock().unwrap_or_else(PoisonError::into_inner);
    let mut text = String::new();
    for (what, tests) in &*list {
        let names: Vec<&str> = tests.iter().map(String::as_str).collect();
        text.push_str(&format!("skipped, wholly or in part, without {what}: {}\n", names.join(", ")));
    }
    let _ = std::io::stderr().write_all(text.as_bytes());
}
