//! Arguments as ptxas reads them: what options are given, and which files.

use crate::host::Caller;
use crate::options::{self, Name, Spec, Takes, find};
use std::collections::VecDeque;

/// Options files within options files.
const MOST_FILES: usize = 64;

/// What ptxas says as `ptxas fatal   : …`.
pub(crate) type Fatal = String;

/// One input that arguments name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// A file's name; `-` is standard input.
    File(String),
    /// The module itself.
    Text(String),
}

/// The arguments, read.
#[derive(Debug, Default)]
pub(crate) struct Arguments {
    values: Vec<(Name, String)>,
    pub(crate) inputs: Vec<Input>,
    /// What is to be warned of.
    pub(crate) warnings: Vec<String>,
}

impl Arguments {
    /// Read them; `file` gives the text of an options file.
    ///
    /// # Errors
    /// The first that ptxas would not take, in its words.
    pub(crate) fn read(
        words: impl IntoIterator<Item = String>,
        caller: Caller,
        file: &mut dyn FnMut(&str) -> Option<String>,
    ) -> Result<Self, Fatal> {
        let mut words: VecDeque<String> = words.into_iter().collect();
        let (mut out, mut files) = (Arguments::default(), 0);
        while let Some(word) = words.pop_front() {
            let is_input = word == "-" || !word.starts_with('-');
            if is_input && caller == Caller::Library {
                return Err(format!("Unknown option '{word}'"));
            }
            if is_input {
                out.inputs.push(Input::File(word));
                continue;
            }
            let (spec, attached) = option_of(&word)?;
            if let Some(reason) = spec.refused_to(caller) {
                return Err(not_supported(spec, reason));
            }
            if let Some(is_on) = attached.and_then(|value| switched(spec, value, caller)) {
                out.switch(spec, is_on);
                continue;
            }
            let value = value_of(spec, &word, attached, caller, &mut words)?;
            if spec.name == Name::OptionsFile {
                files += 1;
                let text = file(&value).filter(|_| files <= MOST_FILES);
                let text = text.ok_or_else(|| format!("Could not open options file '{value}'"))?;
                for word in words_of(&text).into_iter().rev() {
                    words.push_front(word);
                }
                continue;
            }
            out.add(spec, value);
        }
        Ok(out)
    }

    /// Take an option that has no value, or take it back.
    fn switch(&mut self, spec: &Spec, is_on: bool) {
        match is_on {
            true => self.add(spec, String::new()),
            false => self.values.retain(|(given, _)| *given != spec.name),
        }
    }

    fn add(&mut self, spec: &Spec, value: String) {
        if spec.name == Name::InputAsString {
            return self.inputs.push(Input::Text(value));
        }
        let adds_up = matches!(spec.takes, Takes::List | Takes::Whole);
        if !adds_up && self.word(spec.name).is_some_and(|before| before != value) {
            let name = spec.long;
            self.warnings
                .push(format!("incompatible redefinition for option '{name}', the last value of this option was used"));
        }
        self.values.push((spec.name, value));
    }

    /// Whether it is given.
    pub(crate) fn has(&self, name: Name) -> bool {
        self.values.iter().any(|(given, _)| *given == name)
    }

    /// What is given last.
    pub(crate) fn word(&self, name: Name) -> Option<&str> {
        self.values.iter().rev().find(|(given, _)| *given == name).map(|(_, value)| value.as_str())
    }

    /// The same, of an option that takes a number.
    pub(crate) fn number(&self, name: Name) -> Option<i64> {
        self.word(name).and_then(number)
    }

    /// The same, of an option that takes a truth.
    pub(crate) fn truth(&self, name: Name) -> Option<bool> {
        self.word(name).map(|word| word == "true")
    }

    /// All words of an option that takes a list.
    pub(crate) fn words(&self, name: Name) -> Vec<String> {
        let all = self.values.iter().filter(|(given, _)| *given == name);
        all.flat_map(|(_, value)| value.split(',')).filter(|word| !word.is_empty()).map(str::to_owned).collect()
    }

    /// The options that are given and ask for something, in the order of `--help`.
    pub(crate) fn asked(&self) -> impl Iterator<Item = &'static Spec> + '_ {
        options::all().filter(|spec| self.has(spec.name) && self.truth_or_there(spec))
    }

    fn truth_or_there(&self, spec: &Spec) -> bool {
        spec.takes != Takes::Truth || self.truth(spec.name) == Some(true)
    }
}

/// The option that a word names, and the value that it has with it.
fn option_of(word: &str) -> Result<(&'static Spec, Option<&str>), Fatal> {
    let bare = &word[1..];
    let (name, value) = bare.split_once('=').map_or((bare, None), |(name, value)| (name, Some(value)));
    if let Some(long) = name.strip_prefix('-') {
        return find(long, true).map(|spec| (spec, value)).ok_or_else(|| format!("Unknown option '{name}'"));
    }
    if let Some(spec) = find(name, false) {
        return Ok((spec, value));
    }
    let joined = options::all().filter(|spec| spec.takes == Takes::Joined);
    let found = joined.filter_map(|spec| Some((spec, bare.strip_prefix(spec.short)?))).next();
    found.map(|(spec, value)| (spec, Some(value))).ok_or_else(|| format!("Unknown option '{name}'"))
}

/// The value of an option, from its own word or the next.
fn value_of(
    spec: &'static Spec,
    word: &str,
    attached: Option<&str>,
    caller: Caller,
    words: &mut VecDeque<String>,
) -> Result<String, Fatal> {
    let shown = word.split('=').next().unwrap_or_default();
    if spec.takes == Takes::Nothing {
        return match attached {
            Some(_) => Err(format!("no argument expected after '{shown}'")),
            None => Ok(String::new()),
        };
    }
    let value = match attached {
        Some(value) => value.to_owned(),
        // The one option that may stand without: `-O` is `-O3`. A library has no inputs that the next word could be.
        None if spec.name == Name::OptLevel && word == "-O" => {
            let is_level = |next: &String| caller == Caller::Library && number(next).is_some();
            let level = if words.front().is_some_and(is_level) { words.pop_front() } else { None };
            level.unwrap_or_else(|| "3".to_owned())
        }
        None => words.pop_front().ok_or_else(|| format!("argument expected after '{shown}'"))?,
    };
    match spec.takes {
        Takes::Number | Takes::Joined if number(&value).is_none() => Err(format!("'{value}': expected a number")),
        Takes::Truth if !["true", "false"].contains(&value.as_str()) => {
            Err(format!("'{value}': expected true or false"))
        }
        Takes::OneOf(words) if !words.contains(&value.as_str()) => Err(not_defined(&value, spec.long)),
        _ => Ok(value),
    }
}

/// Whether a library's caller says of an option without a value that it is there or not.
fn switched(spec: &Spec, value: &str, caller: Caller) -> Option<bool> {
    if spec.takes != Takes::Nothing || caller != Caller::Library {
        return None;
    }
    value.parse().ok()
}

/// What is said of an option that is refused.
pub(crate) fn not_supported(spec: &Spec, reason: &str) -> Fatal {
    format!("Option '--{}' is not supported: {reason}", spec.long)
}

/// What is said of a word that an option does not know.
pub(crate) fn not_defined(value: &str, option: &str) -> Fatal {
    format!("Value '{value}' is not defined for option '{option}'")
}

/// A number as C reads it, decimal or hexadecimal.
pub(crate) fn number(text: &str) -> Option<i64> {
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let value = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hex) => i64::from_str_radix(hex, 16).ok()?,
        None => digits.parse().ok().filter(|_| digits.starts_with(|first: char| first.is_ascii_digit()))?,
    };
    Some(if negative { -value } else { value })
}

/// The words of an options file: between blanks, or between quotes.
fn words_of(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted, mut is_word) = (Vec::new(), String::new(), false, false);
    for c in text.chars() {
        match c {
            '"' => (quoted, is_word) = (!quoted, true),
            c if c.is_whitespace() && !quoted => {
                if std::mem::take(&mut is_word) {
                    words.push(std::mem::take(&mut word));
                }
            }
            c => {
                word.push(c);
                is_word = true;
            }
        }
    }
    if is_word {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::{Arguments, Input, number};
    use crate::host::Caller;
    use crate::options::Name;

    fn read(line: &str) -> Result<Arguments, String> {
        Arguments::read(line.split_whitespace().map(str::to_owned), Caller::Command, &mut |_| None)
    }

    fn read_of_library(line: &str) -> Result<Arguments, String> {
        Arguments::read(line.split_whitespace().map(str::to_owned), Caller::Library, &mut |_| Some(String::new()))
    }

    /// What ptxas 13.0.88 does with each line, run by hand.
    #[test]
    fn spellings_are_those_of_ptxas() {
        for line in ["-arch sm_90 k", "-arch=sm_90 k", "--gpu-name=sm_90 k", "--gpu-name sm_90 k"] {
            assert_eq!(read(line).expect(line).word(Name::Gpu), Some("sm_90"), "{line}");
        }
        for line in ["-O3 k", "-O=3 k", "--opt-level=3 k", "--opt-level 3 k", "-O k"] {
            let arguments = read(line).expect(line);
            assert_eq!(arguments.number(Name::OptLevel), Some(3), "{line}");
            assert_eq!(arguments.inputs, [Input::File("k".to_owned())], "{line}");
        }
        assert_eq!(read("-O 3").expect("3 is a file").inputs, [Input::File("3".to_owned())]);
        assert_eq!(read("-e a,b -e=c k").expect("a list").words(Name::Entry), ["a", "b", "c"]);
        assert_eq!(read("-O0 -O2 k").expect("twice").warnings.len(), 1);
        assert_eq!(read("-O2 -O2 k").expect("the same twice").warnings.len(), 0);
    }

    /// What ptxas 13.0.88 says to each line, run by hand.
    #[test]
    fn mistakes_are_told_in_the_words_of_ptxas() {
        let cases = [
            ("-gpu-name sm_90", "Unknown option 'gpu-name'"),
            ("-frob", "Unknown option 'frob'"),
            ("--frob=1", "Unknown option '-frob'"),
            ("--", "Unknown option '-'"),
            ("-oo.cubin", "Unknown option 'oo.cubin'"),
            ("-Ox", "'x': expected a number"),
            ("-O3x", "'3x': expected a number"),
            ("-Ofcmax", "'fcmax': expected a number"),
            ("-m k", "'k': expected a number"),
            ("-arch", "argument expected after '-arch'"),
            ("--output-file", "argument expected after '--output-file'"),
            ("-lineinfo=1", "no argument expected after '-lineinfo'"),
            ("--version=1", "no argument expected after '--version'"),
            ("-fmad=maybe", "'maybe': expected true or false"),
            ("-fmad k.ptx", "'k.ptx': expected true or false"),
            ("-sanitize=foo", "Value 'foo' is not defined for option 'sanitize'"),
            ("-split-compile=x", "'x': expected a number"),
            ("-optf nofile", "Could not open options file 'nofile'"),
        ];
        for (line, said) in cases {
            assert_eq!(read(line).map(|_| ()).unwrap_err(), said, "{line}");
        }
    }

    #[test]
    fn a_library_has_switches_and_levels_of_its_own() {
        for line in ["-O 2", "-O2", "-O=2", "-O3 --opt-level 2"] {
            assert_eq!(read_of_library(line).expect(line).number(Name::OptLevel), Some(2), "{line}");
        }
        assert_eq!(read_of_library("-O -v").expect("two options").number(Name::OptLevel), Some(3));
        assert!(read_of_library("--verbose=true").expect("a switch").has(Name::Verbose));
        assert!(!read_of_library("-v --verbose=false").expect("a switch").has(Name::Verbose));
        let refused = "is not supported: a library reads no files, writes none and prints nothing";
        let cases = [
            ("k.ptx", "Unknown option 'k.ptx'".to_owned()),
            ("-v=2", "no argument expected after '-v'".to_owned()),
            ("-o k.cubin", format!("Option '--output-file' {refused}")),
            ("-optf words", format!("Option '--options-file' {refused}")),
            ("--input-as-string=x", format!("Option '--input-as-string' {refused}")),
            ("-V", format!("Option '--version' {refused}")),
            ("--help", format!("Option '--help' {refused}")),
        ];
        for (line, said) in cases {
            assert_eq!(read_of_library(line).map(|_| ()), Err(said), "{line}");
        }
    }

    #[test]
    fn numbers_are_those_of_c() {
        let cases = [("16", Some(16)), ("0x20", Some(32)), ("-5", Some(-5)), ("3x", None), ("+3", None), ("", None)];
        for (text, value) in cases {
            assert_eq!(number(text), value, "{text}");
        }
    }
}
