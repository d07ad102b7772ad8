//! One rule of selection or legalisation each, as text: LLVM IR and the instructions that it becomes.
//!
//! A file of a subject has cases: `== title`, perhaps with `| sm_90 ftz level=0 nofma fast approximate` behind it; the
//! parameters and body of a function, or whole functions; `--`; the instructions. Registers are numbered anew, in the
//! order in which they are named; loads of parameters, `ret` and the stores before it are left out. What is expected is
//! what `llc` 19 writes for sm_80 (but for the order of independent instructions, and `b32` for `u32` in memory), or
//! follows from the PTX manual, where a note says so.

use std::fmt::Write;

use oriole_nvptx::machine::dump::Dump;
use oriole_nvptx::select::{FpContract, Options};
use oriole_nvptx::{emit, machine, select, text};

struct Case<'a> {
    title: &'a str,
    words: &'a str,
    ir: String,
    expected: Vec<&'a str>,
}

fn cases(file: &str) -> Vec<Case<'_>> {
    file.split("\n== ")
        .skip(1)
        .map(|part| {
            let (head, rest) = part.split_once('\n').unwrap_or((part, ""));
            let (title, words) = head.split_once(" | ").unwrap_or((head, ""));
            let (ir, expected) = rest.split_once("\n--").unwrap_or((rest, ""));
            let expected = expected.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
            Case { title, words, ir: module(ir), expected: expected.collect() }
        })
        .collect()
}

/// A whole module: declarations of the intrinsics that the reader knows by name are part of the case.
fn module(ir: &str) -> String {
    if ir.contains("define ") {
        return ir.to_owned();
    }
    let (globals, rest): (Vec<&str>, Vec<&str>) =
        ir.lines().partition(|line| line.starts_with('@') || line.starts_with("declare ") || line.starts_with('!'));
    let (head, body) = rest.split_first().map_or(("", &[][..]), |(head, body)| (*head, body));
    let (params, ret) = head.split_once(" -> ").unwrap_or((head, "void"));
    let mut text = globals.join("\n");
    let end = if body.iter().any(|line| line.trim_start().starts_with("ret")) { "" } else { "  ret void\n" };
    let _ = write!(text, "\ndefine {ret} @f({params}) {{\n{}\n{end}}}\n", body.join("\n"));
    text
}

fn options(words: &str) -> Options {
    let mut options = Options::default();
    for word in words.split_whitespace() {
        match word {
            "ftz" => options.ftz = true,
            "nofma" => options.fp_contract = FpContract::Off,
            "fast" => options.fp_contract = FpContract::Fast,
            "approximate" => (options.prec_div, options.prec_sqrt) = (false, false),
            _ if word.starts_with("level=") => options.level = word["level=".len()..].parse().unwrap_or(2),
            _ => {
                let number = word.trim_start_matches("sm_");
                options.arch = number.trim_end_matches('a').parse().unwrap_or(80);
                options.arch_specific = number.ends_with('a');
            }
        }
    }
    options
}

/// The instructions of all functions of a module.
fn selected(case: &Case<'_>) -> Result<Vec<String>, String> {
    let parsed = text::parse(&case.ir, "case.ll").map_err(|error| error.render(&case.ir))?;
    let mut machine = machine::Module::default();
    emit::names::assign(&parsed, &mut machine);
    select::module(&parsed, &mut machine, &options(case.words)).map_err(|error| error.to_string())?;
    let mut lines = Vec::new();
    for (_, function) in &machine.functions {
        let dump = Dump { function, forms: &machine.forms, symbols: &machine.symbols }.to_string();
        let body = dump.lines().skip(1).map(|line| line.trim().to_owned());
        lines.extend(body);
    }
    Ok(renumbered(&lines))
}

/// Gives registers numbers in the order in which they are named, and leaves out what only carries parameters.
fn renumbered(lines: &[String]) -> Vec<String> {
    let mut known: Vec<String> = Vec::new();
    let mut out = Vec::new();
    for line in lines {
        let mut text = String::new();
        let mut rest = line.as_str();
        while let Some(at) = rest.find('%') {
            text += &rest[..at];
            let end = rest[at + 1..]
                .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                .map_or(rest.len(), |n| at + 1 + n);
            let name = &rest[at..end];
            let class = name.trim_end_matches(|c: char| c.is_ascii_digit());
            if class.len() < name.len() && class.len() <= 3 {
                if !known.iter().any(|other| other == name) {
                    known.push(name.to_owned());
                }
                let same = |other: &&String| other.trim_end_matches(|c: char| c.is_ascii_digit()) == class;
                let number = known.iter().filter(same).position(|other| other == name).unwrap_or(0) + 1;
                let _ = write!(text, "{class}{number}");
            } else {
                text += name;
            }
            rest = &rest[end..];
        }
        text += rest;
        let carries = text.contains("ld.param")
            || text.starts_with("st.param")
            || text == "ret"
            || text == "bb0:"
            || text.is_empty();
        if !carries {
            out.push(text);
        }
    }
    out
}

fn check(file: &str) {
    let mut wrong = String::new();
    for case in cases(file) {
        match selected(&case) {
            Ok(lines) if lines == case.expected => {}
            Err(error) if case.expected == [format!("error: {error}")] => {}
            Ok(lines) => {
                let _ = writeln!(
                    wrong,
                    "== {}\n{}\nexpected:\n  {}\nselected:\n  {}",
                    case.title,
                    case.ir,
                    case.expected.join("\n  "),
                    lines.join("\n  ")
                );
            }
            Err(error) => {
                let _ = writeln!(wrong, "== {}\n{}\n{error}", case.title, case.ir);
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

macro_rules! subjects {
    ($($name:ident),* $(,)?) => {
        $(#[test]
        fn $name() {
            check(include_str!(concat!(stringify!($name), ".txt")));
        })*
    };
}

subjects! { integers, casts, floats, memory, vectors, control, calls, nvvm, refused }
