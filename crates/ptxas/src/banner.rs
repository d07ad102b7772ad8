//! What is printed without compiling: the version, the versions of PTX, the options.

use crate::options::{Fate, Since, Spec, Takes, listed};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::str::FromStr;

/// A toolkit whose ptxas Oriole stands in for: callers choose by it what PTX and which options they use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Toolkit {
    /// CUDA 13.0: ptxas 13.0.88.
    #[default]
    V13_0,
    /// CUDA 13.5: ptxas 13.5.37.
    V13_5,
}

/// A toolkit that Oriole does not stand in for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no version '{0}' to answer as; 13.0 and 13.5 are known")]
pub struct UnknownToolkit(String);

impl Toolkit {
    /// Its version of two numbers, and ptxas's of three.
    const fn numbers(self) -> [&'static str; 2] {
        match self {
            Toolkit::V13_0 => ["13.0", "13.0.88"],
            Toolkit::V13_5 => ["13.5", "13.5.37"],
        }
    }
}

impl FromStr for Toolkit {
    type Err = UnknownToolkit;

    /// By its version, such as `13.5`.
    fn from_str(text: &str) -> Result<Toolkit, UnknownToolkit> {
        let found = [Toolkit::V13_0, Toolkit::V13_5].into_iter().find(|toolkit| toolkit.numbers()[0] == text);
        found.ok_or_else(|| UnknownToolkit(text.to_owned()))
    }
}

/// `--version`. Callers look for `release X.Y` and `VX.Y.Z`; for those that look for more, `first` stands in place of the first
/// line, which says whose compiler it is.
pub fn version(first: Option<String>, toolkit: Toolkit) -> String {
    let own = || format!("ptxas: Oriole PTX optimizing assembler {}", env!("CARGO_PKG_VERSION"));
    let first = first.unwrap_or_else(own);
    let [release, build] = toolkit.numbers();
    format!(
        "{first}\nNot NVIDIA's ptxas; takes its options, as those of\n\
         Cuda compilation tools, release {release}, V{build}\n"
    )
}

/// `--list-arch`: the number of a target in each line.
pub fn targets() -> String {
    let compiled = oriole_cubin::targets().filter(|target| oriole_codegen::target(&target.to_string()).is_ok());
    let numbers: BTreeSet<u32> = compiled.map(|target| target.sm).collect();
    numbers.iter().map(|number| format!("{number}\n")).collect()
}

/// `--list-version`: a version of PTX in each line.
pub fn versions_of_ptx() -> String {
    oriole_ptx::versions().iter().map(|(major, minor)| format!("{major}.{minor}\n")).collect()
}

/// `--help`, and no input: each option with what becomes of it.
pub fn help() -> String {
    let mut out = "\nUsage  : ptxas [options] <ptx file>,...\n\nOptions\n=======\n\n".to_owned();
    for spec in listed() {
        let names = format!("--{} {}", spec.long, value(spec));
        let _ = writeln!(out, "{names:<51} (-{})", spec.short);
        let _ = writeln!(out, "        {}.", spec.help);
        if spec.since == Since::V13_5 {
            let _ = writeln!(out, "        Of ptxas 13.5.");
        }
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
