//! The wrong modules, and what their first lines say of them.
//!
//! | line | what it says |
//! |---|---|
//! | `// …` | the fault, in words |
//! | `// rule: R` | the rule that it breaks; nothing for faults of syntax and of names |
//! | `// at: LINE:COLUMN` | where the fault is; one such line for each |
//! | `// names: W W\|W…` | what a message about the first one must name; one of the words between bars |
//! | `// ptxas: LINE: TEXT` | an error of ptxas 13.0.88, in its order; `-` where it names no line |
//!
//! All but the last were written by hand, by what is wrong with the module.

use std::path::{Path, PathBuf};

/// One module.
pub(crate) struct Wrong {
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) rule: String,
    pub(crate) places: Vec<(usize, usize)>,
    pub(crate) names: Vec<String>,
    pub(crate) ptxas: Vec<Said>,
}

/// An error of ptxas.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Said {
    pub(crate) line: Option<usize>,
    pub(crate) text: String,
}

/// All modules, by name.
pub(crate) fn all() -> Vec<Wrong> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/wrong");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| read(path)).collect()
}

fn read(path: &Path) -> Wrong {
    let text = std::fs::read_to_string(path).unwrap();
    let values = |key: &'static str| text.lines().filter_map(move |line| line.strip_prefix(key)).map(str::trim);
    Wrong {
        name: path.file_stem().unwrap().to_string_lossy().into_owned(),
        rule: values("// rule:").next().unwrap().to_owned(),
        places: values("// at:").map(place).collect(),
        names: values("// names:").flat_map(str::split_whitespace).map(str::to_owned).collect(),
        ptxas: values("// ptxas:").map(said).collect(),
        text,
    }
}

fn place(text: &str) -> (usize, usize) {
    let (line, column) = text.split_once(':').unwrap();
    (line.parse().unwrap(), column.parse().unwrap())
}

fn said(text: &str) -> Said {
    let (line, text) = text.split_once(": ").unwrap();
    Said { line: line.parse().ok(), text: text.to_owned() }
}

impl Wrong {
    /// True if a message names all that it must name.
    pub(crate) fn names_the_fault(&self, message: &str) -> bool {
        self.names.iter().all(|words| has_one_of(message, words))
    }

    /// True if ptxas names the right line and all words, each in some error or other.
    pub(crate) fn ptxas_says_as_much(&self) -> bool {
        let line = self.places[0].0;
        let texts: Vec<&str> = self.ptxas.iter().map(|said| said.text.as_str()).collect();
        let in_text = format!("on line {line}");
        let placed = self.ptxas.iter().any(|said| said.line == Some(line) || said.text.ends_with(&in_text));
        // It quotes otherwise than we do.
        placed && self.names.iter().all(|words| has_one_of(&texts.join(" "), words.trim_matches('`')))
    }

    /// A target that ptxas knows, so that it reads the file.
    pub(crate) fn target(&self) -> &str {
        let words = self.text.lines().find_map(|line| line.strip_prefix(".target "));
        match words.and_then(|words| words.split(',').next()).map(str::trim) {
            None | Some("sm_85") => "sm_90",
            Some(target) => target,
        }
    }
}

fn has_one_of(text: &str, words: &str) -> bool {
    words.split('|').any(|word| has_word(text, word))
}

/// True if the word stands in the text and neither end of it is in the midst of a longer one.
fn has_word(text: &str, word: &str) -> bool {
    let inside = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let joins = |one: Option<char>, other: Option<char>| one.is_some_and(inside) && other.is_some_and(inside);
    text.match_indices(word).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + word.len()..]);
        !joins(before.chars().next_back(), word.chars().next())
            && !joins(word.chars().next_back(), after.chars().next())
    })
}
