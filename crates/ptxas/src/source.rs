//! The modules that are given, and several as one.

use crate::arguments::Input;
use crate::host::Failure;
use oriole_ptx::diag::SourceMap;

/// What ptxas calls a module that is given itself.
const GIVEN: &str = "application ptx input";
/// What standard input is called.
const STDIN: &str = "<stdin>";

/// One module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The file's name, as messages and line information have it.
    pub name: String,
    /// The PTX.
    pub text: String,
}

/// What is wrong with a module's `.version`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct WrongVersion {
    pub(crate) line: usize,
    pub(crate) text: String,
    pub(crate) failure: Failure,
}

impl Input {
    /// The module. `read` gives the bytes of a file, or of standard input for `-`; `None` where there are none.
    ///
    /// # Errors
    /// What is to be said of an input that cannot be read or is no text, in ptxas's words where it has some.
    pub fn source(&self, read: impl FnOnce(&str) -> Option<Vec<u8>>) -> Result<Source, String> {
        let name = match self {
            Input::Text(text) => return Ok(Source { name: GIVEN.to_owned(), text: text.clone() }),
            Input::File(name) => name,
        };
        let bytes = read(name).ok_or_else(|| format!("Input file '{name}' could not be opened"))?;
        let name = if name == "-" { STDIN } else { name };
        let text =
            String::from_utf8(bytes).map_err(|_| format!("Input file '{name}' is not PTX: it is no UTF-8 text"))?;
        Ok(Source { name: name.to_owned(), text })
    }
}

/// How many major versions ahead of what is known here a module may be, to be read with a warning. XLA asks for the newest
/// version by a module of 99.99, and reads it out of the refusal.
const MAJORS_AHEAD: u32 = 1;

impl Source {
    /// What is wrong with its `.version`, where ptxas reads no further.
    pub(crate) fn wrong_version(&self) -> Option<WrongVersion> {
        let mut scanner = Scanner { text: &self.text, at: 0 };
        let (at, word) = scanner.word();
        let line = self.text[..at].matches('\n').count() + 1;
        if word != ".version" {
            let text = format!("Missing .version directive at start of file '{}'", self.name);
            return Some(WrongVersion { line, text, failure: Failure::Module });
        }
        let (_, version) = scanner.word();
        let (major, minor) = version.split_once('.')?;
        let given: (u32, u32) = (major.parse().ok()?, minor.parse().ok()?);
        let newest = oriole_ptx::newest_version();
        let is_probe = given.0 > newest.0 + MAJORS_AHEAD;
        is_probe.then(|| WrongVersion {
            line,
            text: format!("Unsupported .version {version}; current version is '{}.{}'", newest.0, newest.1),
            failure: Failure::Version,
        })
    }

    /// The text with blanks in place of `.version`, `.target` and `.address_size`, as it may stand behind another module.
    fn without_header(&self) -> String {
        let mut scanner = Scanner { text: &self.text, at: 0 };
        loop {
            let before = scanner.at;
            let (_, word) = scanner.word();
            match word {
                ".version" | ".address_size" => drop(scanner.word()),
                ".target" => while scanner.word().1.ends_with(',') || scanner.rest().starts_with(',') {},
                _ => {
                    scanner.at = before;
                    break;
                }
            }
        }
        let blank = self.text[..scanner.at].chars().map(|c| if c == '\n' { '\n' } else { ' ' });
        blank.chain(self.text[scanner.at..].chars()).collect()
    }
}

/// The words at the start of a module, between blanks and comments.
struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// The next word, empty at the end, and where it stands.
    fn word(&mut self) -> (usize, &'a str) {
        self.skip();
        let (start, rest) = (self.at, self.rest());
        let len = rest.find(|c: char| c.is_whitespace() || c == '/').unwrap_or(rest.len());
        self.at += len;
        self.skip();
        (start, &rest[..len])
    }

    fn skip(&mut self) {
        loop {
            let rest = self.rest();
            let blank = rest.len() - rest.trim_start().len();
            let comment = match &rest[blank..] {
                inner if inner.starts_with("//") => inner.find('\n').unwrap_or(inner.len()),
                inner if inner.starts_with("/*") => inner.find("*/").map_or(inner.len(), |end| end + 2),
                // Where a preprocessor was: `# 12 "file"`.
                inner if inner.starts_with('#') => inner.find('\n').unwrap_or(inner.len()),
                _ => 0,
            };
            self.at += blank + comment;
            if comment == 0 {
                return;
            }
        }
    }
}

/// Several modules as one.
#[derive(Debug)]
pub(crate) struct Joined {
    /// The PTX of all.
    pub(crate) text: String,
    /// By module: its name, and how many lines stand before it.
    parts: Vec<(String, usize)>,
}

impl Joined {
    /// The first with the others behind it.
    pub(crate) fn of(sources: Vec<Source>) -> Joined {
        let (mut text, mut parts) = (String::new(), Vec::new());
        for source in sources {
            if parts.is_empty() {
                text = source.text;
                parts.push((source.name, 0));
                continue;
            }
            text.push('\n');
            parts.push((source.name.clone(), text.matches('\n').count()));
            text.push_str(&source.without_header());
        }
        Joined { text, parts }
    }

    /// The name of the first, for line information.
    pub(crate) fn name(&self) -> &str {
        self.parts.first().map_or("", |(name, _)| name)
    }

    /// Where places in the text are.
    pub(crate) fn places(&self) -> Places<'_> {
        Places { map: SourceMap::new(self.name(), &self.text), parts: &self.parts }
    }
}

/// Files and lines of places in a text.
pub(crate) struct Places<'a> {
    map: SourceMap<'a>,
    parts: &'a [(String, usize)],
}

impl<'a> Places<'a> {
    /// The whole text, by the name of the first module.
    pub(crate) fn map(&self) -> &SourceMap<'a> {
        &self.map
    }

    /// The file, and the line in it, of a place.
    pub(crate) fn of(&self, at: u32) -> (&'a str, usize) {
        let (line, _) = self.map.line_column(at);
        let part = self.parts.iter().rev().find(|(_, before)| *before < line);
        part.map_or(("", line), |(name, before)| (name, line - before))
    }
}

#[cfg(test)]
mod tests {
    use super::{Joined, Source};
    use crate::host::Failure;

    fn source(name: &str, text: &str) -> Source {
        Source { name: name.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn a_version_is_found_behind_comments() {
        assert_eq!(source("f", "// c\n/* .target */ .version 8.0\n.target sm_75\n").wrong_version(), None);
        assert_eq!(source("f", "# 1 \"f.cu\"\n#line 2 \"f.cu\"\n.version 8.0\n.target sm_75\n").wrong_version(), None);
        let wrong = source("f", "\n.version 99.9\n").wrong_version().expect("no such version");
        assert_eq!((wrong.line, wrong.failure), (2, Failure::Version));
        assert!(wrong.text.contains(".version 99.9; current version is '"), "{}", wrong.text);
        let missing = source("f", "").wrong_version().expect("none");
        assert_eq!((missing.line, missing.failure), (1, Failure::Module));
    }

    #[test]
    fn places_of_several_are_those_in_their_files() {
        let head = ".version 8.0 .target sm_75, debug\n.address_size 64 // c\n";
        let joined = Joined::of(vec![source("a", &format!("{head}A\nB")), source("b", &format!("{head}C\n"))]);
        let place = |word: &str| joined.places().of(joined.text.find(word).expect("it is there") as u32);
        assert_eq!((place("A"), place("B"), place("C")), (("a", 3), ("a", 4), ("b", 3)));
        assert_eq!(joined.text.matches(".target").count(), 1);
        assert_eq!(joined.text.matches("debug").count(), 1);
    }
}
