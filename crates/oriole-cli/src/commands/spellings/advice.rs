//! What helps a newcomer is added to what clap says of arguments that it cannot read.

use super::is_option;
use clap::Error;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::ffi::OsString;
use std::path::Path;

/// What to do with a file that stands where a command belongs, by its extension.
const COMMANDS_OF_FILES: &[(&[&str], &str)] = &[
    (&["ptx", "ll", "bc"], "`oriole compile FILE -o OUT.cubin` compiles it"),
    (&["cubin", "fatbin", "o", "so"], "`oriole disasm FILE` shows its code"),
    (&["sass"], "`oriole asm FILE -o OUT.cubin` assembles it"),
    (&["toml"], "`oriole test FILE` runs the launches of a manifest"),
    (&["cu"], "Oriole compiles PTX and LLVM IR; `oriole compile FILE -o OUT.cubin` says what makes them of CUDA C++"),
];

/// Options without which a command does nothing, and what they are for.
const MISSING: &[(&str, &str, &str)] = &[
    ("compile", "--output", "`-o k.cubin` names the cubin to write, `-o -` is standard output"),
    ("run", "--entry", "`--entry` names the kernel; a name that is not there lists those of the file"),
];

/// The error with advice for the words that it speaks of, if there is any.
pub(in crate::commands) fn advise(mut error: Error, words: &[OsString]) -> Error {
    let Some(advice) = advice(&error, words) else { return error };
    error.remove(ContextKind::SuggestedSubcommand);
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(advice)]));
    error
}

fn advice(error: &Error, words: &[OsString]) -> Option<String> {
    let first = words.get(1)?;
    match error.kind() {
        ErrorKind::InvalidSubcommand => command_of(first),
        ErrorKind::UnknownArgument if is_option(first) => is_of_ptxas(error, words)
            .then(|| "`oriole ptxas …` takes the options of ptxas, `oriole compile …` those of Oriole".to_owned()),
        ErrorKind::UnknownArgument if first == "compile" => {
            is_of_ptxas(error, words).then(|| "this is an option of ptxas; `oriole ptxas …` takes them all".to_owned())
        }
        ErrorKind::MissingRequiredArgument => {
            let ContextValue::Strings(missing) = error.get(ContextKind::InvalidArg)? else { return None };
            let is_missing = |option: &str| missing.iter().any(|missing| missing.starts_with(option));
            let known = MISSING.iter().find(|(command, option, _)| first == command && is_missing(option));
            known.map(|(.., advice)| (*advice).to_owned())
        }
        _ => None,
    }
}

/// What makes something of a file.
fn command_of(word: &OsString) -> Option<String> {
    let extension = Path::new(word).extension()?.to_str()?;
    let (_, advice) = COMMANDS_OF_FILES.iter().find(|(extensions, _)| extensions.contains(&extension))?;
    Some(advice.replacen("FILE", &word.to_string_lossy(), 1))
}

/// Whether the word that clap does not know is an option of ptxas. Of `-arch` clap says that it does not know `-a`.
fn is_of_ptxas(error: &Error, words: &[OsString]) -> bool {
    let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidArg) else { return false };
    let is_unknown =
        |word: &&str| word.starts_with(unknown.as_str()) && word.starts_with("--") == unknown.starts_with("--");
    let words = words.iter().take_while(|word| *word != "--").filter_map(|word| word.to_str());
    words.filter(is_unknown).any(oriole_ptxas::is_option)
}
