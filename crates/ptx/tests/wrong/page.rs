//! `docs/diagnostics.md`: what is between its marks is made from the modules.

use std::path::PathBuf;

use oriole_ptx::diag::{Diagnostic, SourceMap};

use super::module::{Said, Wrong};

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/diagnostics.md")
}

/// The page as it is.
pub(crate) fn read() -> String {
    std::fs::read_to_string(path()).unwrap()
}

/// Writes the page.
pub(crate) fn write(text: &str) {
    std::fs::write(path(), text).unwrap();
}

/// The page with what the modules give now: `<!-- examples: NAME NAME… -->` and `<!-- table -->` each open a part that
/// is made, `<!-- end -->` closes it.
pub(crate) fn with_modules(page: &str, modules: &[Wrong]) -> String {
    let mut out = String::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        out += &format!("{line}\n");
        let part = match line.strip_prefix("<!-- ").and_then(|mark| mark.strip_suffix(" -->")) {
            Some("table") => table(modules),
            Some(mark) if mark.starts_with("examples:") => examples(mark, modules),
            _ => continue,
        };
        out += &format!("{part}<!-- end -->\n");
        lines.by_ref().find(|line| *line == "<!-- end -->").expect("`<!-- end -->` closes a part");
    }
    out
}

/// Modules with all that is said of them.
fn examples(mark: &str, modules: &[Wrong]) -> String {
    let example = |name: &str| {
        let wrong = modules.iter().find(|wrong| wrong.name == name).expect(name);
        let shown = SourceMap::new(name, &wrong.text).render_all(&super::errors(wrong));
        let ptxas: Vec<String> = wrong.ptxas.iter().map(in_full).collect();
        format!("\n## `{name}`\n\n```text\n{}\n```\n\nptxas:\n\n```text\n{}\n```\n", shown.trim_end(), ptxas.join("\n"))
    };
    mark.split_whitespace().skip(1).map(example).collect::<String>() + "\n"
}

fn in_full(said: &Said) -> String {
    match said.line {
        Some(line) => format!("line {line}; error   : {}", said.text),
        None => format!("error   : {}", said.text),
    }
}

/// A row for each module, with the sum.
fn table(modules: &[Wrong]) -> String {
    let equal = modules.iter().filter(|wrong| wrong.ptxas_says_as_much()).count();
    let mut out = format!(
        "\n{} modules: better in {}, equal in {equal}.\n\n| module | ptxas 13.0.88 | Oriole | |\n|---|---|---|---|\n",
        modules.len(),
        modules.len() - equal
    );
    for wrong in modules {
        let map = SourceMap::new(&wrong.name, &wrong.text);
        let ours: Vec<String> = super::errors(wrong).iter().map(|error| with_place(&map, error)).collect();
        let theirs: Vec<String> = wrong.ptxas.iter().map(in_short).collect();
        let verdict = if wrong.ptxas_says_as_much() { "equal" } else { "better" };
        out += &format!("| {} | {} | {} | {verdict} |\n", wrong.name, cell(&theirs), cell(&ours));
    }
    out + "\n"
}

fn with_place(map: &SourceMap<'_>, error: &Diagnostic) -> String {
    let (line, column) = map.line_column(error.span.start);
    format!("{line}:{column} {}", error.message)
}

fn in_short(said: &Said) -> String {
    format!("{} {}", said.line.map_or("-".to_owned(), |line| line.to_string()), said.text)
}

/// Lines in one cell.
fn cell(lines: &[String]) -> String {
    let mut lines = lines.to_vec();
    lines.dedup();
    lines.join("<br>").replace('|', "\\|").replace("'<<'", "'&lt;&lt;'")
}
