//! What is printed without compiling: the version, the versions of PTX, the options.

use crate::options::{Fate, OPTIONS, Spec, Takes};
use std::fmt::Write;

/// The toolkit whose ptxas Oriole stands in for: callers choose by it what PTX and which options they use. PTX 9.0 and the options
/// are this one's.
const RELEASE: &str = "13.0";
const BUILD: &str = "V13.0.88";

/// `--version`. Callers look for `release X.Y` and `VX.Y.Z`; for those that look for more, `first` stands in place of the first
/// line, which says whose compiler it is.
pub fn version(first: Option<String>) -> String {
    let own = || format!("ptxas: Oriole PTX optimizing assembler {}", env!("CARGO_PKG_VERSION"));
    let first = first.unwrap_or_else(own);
    format!(
        "{first}\nNot NVIDIA's ptxas; takes its options, as those of\n\
         Cuda compilation tools, release {RELEASE}, {BUILD}\n"
    )
}

/// `--list-version`: a version of PTX in each line.
pub fn versions_of_ptx() -> String {
    oriole_ptx::versions().iter().map(|(major, minor)| format!("{major}.{minor}\n")).collect()
}

/// `--help`, and no input: each option with what becomes of it.
pub fn help() -> String {
    let mut out = "\nUsage  : ptxas [options] <ptx file>,...\n\nOptions\n=======\n\n".to_owned();
    for spec in &OPTIONS {
        let names = format!("--{} {}", spec.long, value(spec));
        let _ = writeln!(out, "{names:<51} (-{})", spec.short);
        let _ = writeln!(out, "        {}.", spec.help);
        match spec.fate {
            Fate::Obeyed => {}
            Fate::Idle(reason) => drop(writeln!(out, "        Taken, and changes nothing: {reason}.")),
            Fate::Refused(reason) => drop(writeln!(out, "        Refused: {reason}.")),
        }
        out.push('\n');
    }
    out
}

fn value(spec: &Spec) -> String {
    match spec.takes {
        Takes::Nothing => String::new(),
        Takes::Word => "<word>".to_owned(),
        Takes::OneOf(words) => format!("<{}>", words.join("|")),
        Takes::Number | Takes::Joined => "<N>".to_owned(),
        Takes::Truth => "<true|false>".to_owned(),
        Takes::List => "<word>,...".to_owned(),
        Takes::Whole => "<ptx>,...".to_owned(),
    }
}
