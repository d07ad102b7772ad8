//! The book runs: what stands in blocks of commands of all pages is typed as it stands, and what comes is what they show.
//!
//! Each page is read by one who stands in a fresh clone of the repository with `oriole` on the path: one shell for a page, so files,
//! folders and variables of its earlier blocks are there. In ` ```console ` blocks a line with `$ ` is a command (it goes on
//! while a quotation is open), and the lines to the next are what it writes to standard output and standard error. `…` alone
//! stands for any lines, `…` within a line for any letters: times, and what would be too long. ` ```sh ` blocks have no output
//! and have to end with status 0, as has each command that shows none.
//!
//! Comments above a block, which no reader sees, say what is else:
//!
//! | | |
//! |---|---|
//! | `<!-- test: not run: REASON -->` | the block is not run; [`NOT_RUN`] has to have the page, the block's first command and the reason |
//! | `<!-- test: needs: python3 -->` | it and the rest of the page are left out where that is not there, and the test binary says so at its end |
//! | `<!-- test: first: COMMAND -->` | what is done before, such as files of the reader's |
//! | `<!-- test: file: PATH -->` | the block is that file: the repository's, or if it has none one of the reader's |
//! | `<!-- test: output of: COMMAND -->` | the block is what that prints |
//!
//! Empty lines at the end of an output need not be there. `BLESS=1` writes what came into the pages, with those `…` that still
//! stand for something, and with `…` for the seconds that something took.
//!
//! The crate `trycmd` reads such blocks too, but has no shell: pipes, redirections, quotations over several lines and variables,
//! which half of the pages have, are not understood by it, and neither do files stay from one block to the next.

mod compare;
mod page;
mod reader;

use std::fmt::Write;
use std::path::{Path, PathBuf};

use oriole_prerequisites as prerequisites;
use page::{Block, Page, Step};
use rayon::prelude::*;
use reader::{Came, Reader};

/// All blocks that are not run: page, first command (without its comment), and why.
const NOT_RUN: &[(&str, &str, &str)] = &[
    ("README.md", "cargo run --locked --release -- demo", "the gate runs it, .ci/run"),
    ("README.md", "cargo test --locked --workspace", "the gate runs it, .ci/run"),
    ("README.md", "TRITON_PTXAS_PATH=$PWD/ptxas python my_kernel.py", "it needs Triton, and a kernel of the reader's"),
    (
        "docs/add/sass-opcode.md",
        "ORIOLE_OPCODES=UMEMSETS cargo test -p oriole-isa --test all vectors -- --nocapture",
        "it builds tests, and needs the shared vectors",
    ),
    (
        "docs/c.md",
        "tools/install_c.sh /usr/local",
        "it builds and installs the library; the tests of crates/oriole-c compile and run the program",
    ),
    (
        "docs/getting-started.md",
        "cargo install --locked --path crates/oriole-cli",
        "it builds and installs the program",
    ),
    ("docs/isa/method.md", "python3 -m venv .oracle", "it downloads NVIDIA's tools"),
    (
        "docs/isa/method.md",
        "ORIOLE_OPCODES=ELECT cargo test -p oriole-isa --test all vectors -- --nocapture",
        "it builds tests, and needs the shared vectors and NVIDIA's tools",
    ),
    (
        "docs/tutorials/ci.md",
        "pip install ./python pytest",
        "it builds and installs the Python package, which python/check.sh does",
    ),
    (
        "docs/tutorials/ci.md",
        "pytest examples/pytest --oriole-arch sm_90 --oriole-strict --oriole-check",
        "it needs the Python package, which python/check.sh tests",
    ),
    (
        "docs/tutorials/triton.md",
        "export TRITON_PTXAS_PATH=$PWD/ptxas",
        "it needs Triton, a GPU and a kernel of the reader's",
    ),
    ("docs/tutorials/triton.md", "grep -l oriole triton-cache/*/*.cubin", "it needs what Triton has left in its cache"),
];

/// Folders with pages, and pages, of the repository.
const PLACES: [&str; 8] =
    ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs", "examples", "tools", "crates", "tests"];

/// What became of a page.
#[derive(Default)]
struct Outcome {
    name: String,
    /// How many blocks were run.
    run: usize,
    /// The first commands and reasons of those that a mark leaves out.
    not_run: Vec<(String, String)>,
    /// How many were left out for want of a program.
    lacking: usize,
    /// What is not as the page says.
    faults: String,
}

/// Every block of commands of every page prints what it shows.
#[test]
fn the_book_runs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository");
    if prerequisites::program("/bin/bash").is_none() {
        return;
    }
    let python = prerequisites::python(&["array"]);
    let is_blessed = std::env::var_os("BLESS").is_some();
    let mut pages = Vec::new();
    PLACES.iter().for_each(|place| find(&root.join(place), &mut pages));
    pages.sort();
    let read = |path: &PathBuf| read_page(&root, path, python.as_deref(), is_blessed);
    let outcomes: Vec<Outcome> = pages.par_iter().filter_map(read).collect();

    let mut faults = String::new();
    for outcome in &outcomes {
        println!("{}: {} blocks run, {} not", outcome.name, outcome.run, outcome.not_run.len() + outcome.lacking);
        outcome.not_run.iter().for_each(|(block, why)| println!("    not run: `{block}`: {why}"));
        faults.push_str(&outcome.faults);
    }
    let not_run = outcomes
        .iter()
        .flat_map(|outcome| outcome.not_run.iter().map(|(block, why)| (&*outcome.name, &**block, &**why)));
    let not_run: Vec<_> = not_run.collect();
    assert!(faults.is_empty(), "what comes is not what pages show (BLESS=1 writes it into them):\n{faults}");
    assert_eq!(not_run, NOT_RUN, "the blocks that are not run");
    let run: usize = outcomes.iter().map(|outcome| outcome.run).sum();
    assert!(python.is_none() || run >= 40, "{run} blocks were found");
}

/// All links of pages lead to files and headings, and all paths in them are there.
#[test]
fn links_lead_somewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let Some(python) = prerequisites::python(&["pathlib"]) else { return };
    // The pages are those that git knows: in what is packed for others it knows none.
    if !root.join(".git").exists() {
        return;
    }
    let output = std::process::Command::new(python).arg(root.join("tools/check_links.py")).output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("all links"), "{said}{}", String::from_utf8_lossy(&output.stderr));
}

/// The pages below a path, or the page itself.
fn find(path: &Path, pages: &mut Vec<PathBuf>) {
    if path.is_dir() {
        for entry in std::fs::read_dir(path).expect("a folder") {
            find(&entry.expect("an entry").path(), pages);
        }
    } else if path.extension().is_some_and(|extension| extension == "md") {
        pages.push(path.to_owned());
    }
}

/// What becomes of a page, if there is something to do on it.
fn read_page(root: &Path, path: &Path, python: Option<&Path>, is_blessed: bool) -> Option<Outcome> {
    let text = std::fs::read_to_string(path).expect("a page");
    let name = path.strip_prefix(root).expect("a page of the repository").display().to_string();
    let mut outcome = Outcome { name: name.clone(), ..Outcome::default() };
    let page = match Page::parse(&text, |file| root.join(file).exists()) {
        Ok(page) if page.blocks.is_empty() => return None,
        Ok(page) => page,
        Err(fault) => return Some(Outcome { faults: format!("{name}:{fault}\n"), ..outcome }),
    };
    let mut blocks: Vec<&Block> = Vec::new();
    let mut is_lacking = false;
    for block in &page.blocks {
        match block.needs.as_deref() {
            None => {}
            Some("python3") => is_lacking |= python.is_none(),
            Some(other) => {
                outcome.faults += &format!("{name}:{}: `{other}` is not asked for by the test\n", block.line)
            }
        }
        match &block.not_run {
            Some(why) => outcome.not_run.push((first_command(block), why.clone())),
            None if is_lacking => outcome.lacking += 1,
            None => blocks.push(block),
        }
    }
    outcome.run = blocks.len();
    let steps: Vec<&Step> = blocks.iter().flat_map(|block| &block.steps).collect();
    let came = Reader::of(root, python).types(steps.iter().map(|step| &*step.command));
    if let Some(step) = steps.get(came.len()) {
        outcome.faults += &format!("{name}:{}: the shell ended\n", step.line);
    }
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for (step, came) in steps.iter().zip(&came).rev() {
        outcome.faults.insert_str(0, &fault(&name, step, came, is_blessed.then_some(&mut lines)));
    }
    if is_blessed {
        let renewed = lines.join("\n") + "\n";
        if renewed != text {
            std::fs::write(path, renewed).expect("a page can be written");
        }
    }
    Some(outcome)
}

/// What a reader types first, without a comment.
fn first_command(block: &Block) -> String {
    let step = block.steps.iter().find(|step| step.line >= block.line);
    let line = step.and_then(|step| step.command.lines().next()).unwrap_or_default();
    line.split(" #").next().unwrap_or_default().trim_end().to_owned()
}

/// What is wrong with what came of a step; it is put into `lines` of the page, where they are given.
fn fault(name: &str, step: &Step, came: &Came, lines: Option<&mut Vec<String>>) -> String {
    let Step { line, command, shown } = step;
    let mut fault = String::new();
    let is_silent = shown.as_ref().is_none_or(|shown| shown.lines.is_empty());
    if is_silent && came.status != 0 {
        let _ = write!(fault, "{name}:{line}: status {} of: {command}\n{}\n", came.status, came.text);
    }
    let Some(shown) = shown else { return fault };
    let all: Vec<&str> = came.text.trim_end().lines().map(str::trim_end).collect();
    let Some(difference) = compare::difference(&shown.lines, &all) else { return fault };
    let Some(lines) = lines else {
        let _ = write!(fault, "{name}:{line}: $ {command}\n{}\n", difference.text);
        return fault;
    };
    let renewed = difference.renewed.iter().map(|line| format!("{}{line}", shown.indent).trim_end().to_owned());
    lines.splice(shown.place.clone(), renewed);
    for lost in difference.lost {
        let _ = writeln!(fault, "{name}:{line}: the page was written, without this line, which nothing fits: {lost}");
    }
    fault
}
