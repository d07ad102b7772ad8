//! The manifest as it is written, key by key.

use super::contents::Contents;
use super::parameter::Parameter;
use super::value::{Dim, FaultName, Level, Limit, NonNegative, Seconds, Type};
use crate::commands::comparison::NanPolicy;
use crate::commands::ptx;
use crate::commands::run_args::Engine;
use oriole_ptx::ast::Span;
use oriole_ptx::diag::Diagnostic;
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml::Spanned;

/// A whole manifest.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Manifest {
    /// What launches have that do not say otherwise.
    #[serde(default)]
    pub(super) defaults: Launch,
    /// Programs by the names that launches call them by.
    pub(super) programs: BTreeMap<String, Spanned<Program>>,
    /// The launches, in their order.
    pub(super) launch: Vec<Spanned<Launch>>,
}

/// A program: its path alone, or a table.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) path: PathBuf,
    /// Libraries of bitcode for LLVM IR.
    pub(super) link: Vec<PathBuf>,
    pub(super) maxrregcount: Option<u32>,
    pub(super) no_fma: bool,
}

/// A launch, or what launches have in common.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Launch {
    pub(super) name: Option<Spanned<String>>,
    pub(super) program: Option<Spanned<String>>,
    pub(super) entry: Option<String>,
    pub(super) targets: Option<Spanned<Vec<String>>>,
    pub(super) levels: Option<Spanned<Vec<Level>>>,
    pub(super) engine: Option<Spanned<Engine>>,
    pub(super) grid: Option<Dim>,
    pub(super) block: Option<Dim>,
    pub(super) cluster: Option<Dim>,
    pub(super) shared: Option<u32>,
    pub(super) args: Option<Vec<Spanned<Parameter>>>,
    pub(super) globals: Option<BTreeMap<String, Spanned<Global>>>,
    pub(super) strict: Option<bool>,
    pub(super) check: Option<Spanned<String>>,
    pub(super) timeout: Option<Seconds>,
    pub(super) max_instructions: Option<Limit>,
    pub(super) rtol: Option<NonNegative>,
    pub(super) atol: Option<NonNegative>,
    pub(super) nan: Option<NanPolicy>,
    pub(super) prints: Option<String>,
    pub(super) fault: Option<Spanned<FaultName>>,
}

/// What a variable of the module holds at first.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Global {
    #[serde(rename = "in")]
    pub(super) contents: Contents,
    #[serde(rename = "type")]
    pub(super) ty: Option<Type>,
}

impl Launch {
    /// The launch, with what `defaults` say of what it does not say itself.
    pub(super) fn over(self, defaults: &Launch) -> Launch {
        let other = defaults.clone();
        Launch {
            name: self.name.or(other.name),
            program: self.program.or(other.program),
            entry: self.entry.or(other.entry),
            targets: self.targets.or(other.targets),
            levels: self.levels.or(other.levels),
            engine: self.engine.or(other.engine),
            grid: self.grid.or(other.grid),
            block: self.block.or(other.block),
            cluster: self.cluster.or(other.cluster),
            shared: self.shared.or(other.shared),
            args: self.args.or(other.args),
            globals: self.globals.or(other.globals),
            strict: self.strict.or(other.strict),
            check: self.check.or(other.check),
            timeout: self.timeout.or(other.timeout),
            max_instructions: self.max_instructions.or(other.max_instructions),
            rtol: self.rtol.or(other.rtol),
            atol: self.atol.or(other.atol),
            nan: self.nan.or(other.nan),
            prints: self.prints.or(other.prints),
            fault: self.fault.or(other.fault),
        }
    }
}

/// Reads a manifest's text.
pub(super) fn read(text: &str) -> Result<Manifest, Diagnostic> {
    toml::from_str(text).map_err(|error| {
        let message = error.message().trim_end();
        // What serde calls a field is a key in TOML.
        let diagnostic = wrong(error.span().unwrap_or(0..0), message.replacen("unknown field", "unknown key", 1));
        match suggestion(message) {
            Some(near) => diagnostic.help(format!("did you mean '{near}'?")),
            None => diagnostic,
        }
    })
}

/// Something wrong at that place.
pub(super) fn wrong(place: Range<usize>, message: impl Into<String>) -> Diagnostic {
    let offset = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    Diagnostic::new(Span::new(offset(place.start), offset(place.end)), message)
}

/// The errors of a manifest as text, with their lines.
pub(super) fn render(path: &Path, text: &str, errors: &[Diagnostic]) -> String {
    ptx::render(path, text, errors)
}

/// The known name that is nearest to an unknown one: serde's messages have both between backquotes, the unknown one first.
fn suggestion(message: &str) -> Option<&str> {
    let mut names = message.split('`').skip(1).step_by(2);
    let unknown = message.starts_with("unknown ").then(|| names.next())??;
    nearest(unknown, names)
}

/// The name that is nearest to `given`, if any is near: a letter or, in longer names, a third of them is wrong or missing,
/// or two have changed places.
pub(super) fn nearest<'a>(given: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let letters = given.chars().count();
    let most = (letters / 3).max(1).min(letters.saturating_sub(1));
    let rated = known.map(|name| (strsim::damerau_levenshtein(given, name), name));
    rated.filter(|(wrong, _)| *wrong <= most).min_by_key(|(wrong, _)| *wrong).map(|(_, name)| name)
}

impl<'de> Deserialize<'de> for Program {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Table {
            path: PathBuf,
            #[serde(default)]
            link: Vec<PathBuf>,
            maxrregcount: Option<u32>,
            #[serde(default)]
            no_fma: bool,
        }
        struct PathOrTable;
        impl<'de> Visitor<'de> for PathOrTable {
            type Value = Program;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a path, or a table with path")
            }

            fn visit_str<E: de::Error>(self, path: &str) -> Result<Program, E> {
                Ok(Program { path: path.into(), link: Vec::new(), maxrregcount: None, no_fma: false })
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Program, A::Error> {
                let Table { path, link, maxrregcount, no_fma } = Table::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Program { path, link, maxrregcount, no_fma })
            }
        }
        deserializer.deserialize_any(PathOrTable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the message of a manifest's error says, and the text that it is about.
    fn error(text: &str) -> (String, &str, Option<String>) {
        let error = read(text).expect_err("it is wrong");
        (error.message, &text[error.span.range()], error.help)
    }

    #[test]
    fn unknown_keys_are_named_with_what_is_near() {
        let rows = [
            ("[programs]\na = 'a.ptx'\n[[launch]]\ngird = 1\n", "gird", "grid"),
            ("[programs]\na = 'a.ptx'\n[[launch]]\nengine = 'smi'\n", "'smi'", "sim"),
            ("[programs]\na = { path = 'a', lnk = [] }\n[[launch]]\n", "lnk", "link"),
            ("[programs]\na = 'a'\n[[launch]]\nargs = [{ in = 'x', tpye = 'f32' }]\n", "tpye", "type"),
            ("[programs]\na = 'a'\n[[launch]]\nargs = [{ in = { fill = 'uniform', sede = 1 } }]\n", "sede", "seed"),
            ("[programs]\na = 'a'\n[[launch]]\nfault = 'tarp'\n", "'tarp'", "trap"),
        ];
        for (text, place, near) in rows {
            let (message, at, help) = error(text);
            assert_eq!(help, Some(format!("did you mean '{near}'?")), "{message}");
            assert_eq!(at, place, "{message}");
        }
    }

    /// Wherever the text ends, it is read or refused at a place in it, which can be shown.
    #[test]
    fn manifests_that_are_cut() {
        let text = "[programs]\na = { path = 'é.ptx' }\n[[launch]]\nentry = 'k'\nargs = ['u32:7', { in = { fill = 'iota', \
                    start = 1.5 }, type = 'f32[4]' }]\nglobals.b = { in = [1, 'nan'], type = 'f32' }\n";
        assert!(read(text).is_ok());
        for (end, _) in text.char_indices() {
            if let Err(error) = read(&text[..end]) {
                assert!(error.span.range().end <= end, "{end}: {error:?}");
                let said = render(Path::new("m.toml"), &text[..end], &[error]);
                assert!(said.contains("m.toml:"), "{end}: {said}");
            }
        }
    }

    #[test]
    fn nothing_is_suggested_for_what_is_like_nothing() {
        assert_eq!(error("xyzzy = 1\n").2, None);
        assert_eq!(nearest("gird", ["grid", "block"].into_iter()), Some("grid"));
        assert_eq!(nearest("b", ["a", "c"].into_iter()), None);
    }
}
