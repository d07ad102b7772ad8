//! A file of cases.

use crate::header::{Header, Test};
use crate::{emit, lower, pass, regalloc, sched};
use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

/// The line between what goes in and what comes out.
const EXPECT: &str = "// expect";

/// What is wrong, and where.
#[derive(Clone, Debug)]
pub struct Wrong {
    /// The file.
    pub file: PathBuf,
    /// Its line, from 1 on.
    pub line: usize,
    /// What is wrong there.
    pub what: String,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file.display(), self.line, self.what)
    }
}

/// One case: what goes in, and what is to come out.
struct Case {
    /// Line of the file at which it begins, from 1 on.
    line: usize,
    /// The lines that say what it shows.
    comments: String,
    input: String,
    /// Nothing where the case is new.
    expected: Option<String>,
}

impl Case {
    fn new(line: usize, lines: &[&str]) -> Case {
        let comments = lines.iter().take_while(|line| line.starts_with("//") && **line != EXPECT).count();
        let (comments, rest) = lines.split_at(comments);
        let end = rest.iter().position(|line| *line == EXPECT).unwrap_or(rest.len());
        let expected = rest.get(end + 1..).map(text);
        Case { line, comments: text(comments), input: text(&rest[..end]), expected }
    }

    /// What is wrong with what came out.
    fn judge(&self, found: &str) -> Option<(usize, String)> {
        let Some(expected) = &self.expected else {
            return Some((self.line, format!("nothing is expected yet; the case gives\n{found}")));
        };
        if expected == found {
            return None;
        }
        let same = expected.lines().zip(found.lines()).take_while(|(want, got)| want == got).count();
        let of = |text: &str| text.lines().nth(same).unwrap_or("the end").trim().to_owned();
        let before = self.comments.lines().count() + self.input.lines().count() + 1;
        let differs = format!("expected: {}\nfound:    {}", of(expected), of(found));
        Some((self.line + before + same, format!("{differs}\nthe whole case gives\n{found}")))
    }

    /// The case with this as what is expected.
    fn blessed(&self, found: &str) -> String {
        format!("\n{}{}{EXPECT}\n{found}", self.comments, self.input)
    }
}

fn text(lines: &[&str]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// The cases behind the first line.
fn cases(text: &str) -> Vec<Case> {
    let lines: Vec<&str> = text.lines().collect();
    let mut cases = Vec::new();
    let mut start = 1;
    for end in 1..=lines.len() {
        if lines.get(end).is_none_or(|line| line.trim().is_empty()) {
            if start < end {
                cases.push(Case::new(start + 1, &lines[start..end]));
            }
            start = end + 1;
        }
    }
    cases
}

/// A file whose cases were run.
#[derive(Debug)]
pub struct Tested {
    /// Its path.
    pub path: PathBuf,
    /// Its first line.
    pub header: Header,
    /// What goes into each of its cases.
    pub inputs: Vec<String>,
    /// Names of the pass's rules that have rewritten something, where it is a pass that ran.
    pub rules: BTreeSet<&'static str>,
}

/// Runs the cases of a file, or writes what comes out into it. Gives the file and what is wrong.
pub(crate) fn check(path: &Path, bless: bool) -> Result<(Tested, Vec<Wrong>), Wrong> {
    let wrong = |line: usize, what: String| Wrong { file: path.to_owned(), line, what };
    let text = std::fs::read_to_string(path).map_err(|error| wrong(1, error.to_string()))?;
    let line = text.lines().next().unwrap_or_default();
    let header = Header::parse(line).map_err(|what| wrong(1, what))?;
    let cases = cases(&text);
    if cases.is_empty() {
        return Err(wrong(1, "there is no case".to_owned()));
    }
    let (mut faults, mut rules) = (Vec::new(), BTreeSet::new());
    let mut new = format!("{line}\n");
    for case in &cases {
        if case.comments.is_empty() {
            faults.push(wrong(case.line, "no comment says what the case shows".to_owned()));
        }
        match run(&header, &case.input, &mut rules) {
            Ok(found) => {
                faults.extend(case.judge(&found).filter(|_| !bless).map(|(line, what)| wrong(line, what)));
                new.push_str(&case.blessed(&found));
            }
            Err(what) => faults.push(wrong(case.line, what)),
        }
    }
    if bless && faults.is_empty() && new != text {
        std::fs::write(path, new).map_err(|error| wrong(1, error.to_string()))?;
    }
    let inputs = cases.into_iter().map(|case| case.input).collect();
    Ok((Tested { path: path.to_owned(), header, inputs, rules }, faults))
}

/// What comes out of a case; the rules of a pass that were used are added.
fn run(header: &Header, input: &str, rules: &mut BTreeSet<&'static str>) -> Result<String, String> {
    let found = match header.test {
        Test::Lower => lower::run(header, input),
        Test::Pass(pass) => pass::run(pass, header.arch, input).map(|outcome| {
            rules.extend(outcome.rules);
            outcome.text
        }),
        Test::Regalloc(limits) => regalloc::run(limits, header.arch, input),
        Test::Sched { reorder } => sched::run(reorder, header.arch, input),
        Test::Emit { level } => emit::run(header, level, input),
    }?;
    // Empty lines part cases.
    Ok(found.lines().filter(|line| !line.trim().is_empty()).map(|line| format!("{line}\n")).collect())
}
