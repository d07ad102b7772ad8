//! Options as people type them who come from ptxas, nvcc, nvdisasm and cuobjdump: a word that Oriole spells otherwise becomes
//! Oriole's, and one that it does not have says what to use instead.

mod advice;
mod table;

pub(super) use advice::advise;

use super::failure::{Failure, usage};
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use table::SPELLINGS;

/// Names of commands.
type Commands = &'static [&'static str];

/// An option of a tool of NVIDIA.
struct Spelling {
    /// The commands that people give it to.
    commands: Commands,
    /// The words, with their dashes.
    names: &'static [&'static str],
    /// What it is here.
    becomes: Becomes,
}

/// What becomes of an option.
enum Becomes {
    /// These words.
    Option(&'static [&'static str]),
    /// This option with the value that stands behind the word, or behind `=`.
    Value(&'static str),
    /// The words of the value, which are options themselves, with commas between them.
    Words,
    /// Nothing: it is what the command does anyway.
    Nothing,
    /// Wrong usage, with what to use instead.
    Otherwise(&'static str),
}

/// The arguments of a process in Oriole's spelling. What stands behind `--` stays as it is.
///
/// # Errors
/// An option that Oriole has under no name.
pub(super) fn translated(words: impl IntoIterator<Item = OsString>) -> Result<Vec<OsString>, Failure> {
    let mut words: VecDeque<OsString> = words.into_iter().collect();
    let mut out: Vec<OsString> = words.drain(..words.len().min(2)).collect();
    let Some(command) = out.get(1).and_then(|word| word.to_str()).map(str::to_owned) else { return Ok(out) };
    while let Some(word) = words.pop_front() {
        if word == "--" {
            out.push(word);
            break;
        }
        let Some((spelling, value)) = word.to_str().and_then(|word| of(&command, word)) else {
            out.push(word);
            continue;
        };
        match spelling.becomes {
            Becomes::Option(own) => out.extend(own.iter().map(OsString::from)),
            Becomes::Nothing => {}
            Becomes::Otherwise(advice) => {
                return Err(usage(format!("{} is no option of `oriole {command}`: {advice}", word.display())));
            }
            Becomes::Value(own) => {
                // Without a value clap says that one is missing.
                out.push(own.into());
                out.extend(value.map(OsString::from).or_else(|| words.pop_front()));
            }
            Becomes::Words => {
                let value = value.map(OsString::from).or_else(|| words.pop_front()).unwrap_or_default();
                for option in value.to_string_lossy().split(',').rev().filter(|option| !option.is_empty()) {
                    words.push_front(option.into());
                }
            }
        }
    }
    out.extend(words);
    Ok(out)
}

/// The spelling of a word that is given to a command, and what stands behind its `=` if the option takes a value.
fn of<'w>(command: &str, word: &'w str) -> Option<(&'static Spelling, Option<&'w str>)> {
    if !word.starts_with('-') {
        return None;
    }
    let of_command = || SPELLINGS.iter().filter(|spelling| spelling.commands.contains(&command));
    if let Some(spelling) = of_command().find(|spelling| spelling.names.contains(&word)) {
        return Some((spelling, None));
    }
    let (name, value) = word.split_once('=')?;
    let takes_value = |spelling: &&Spelling| !matches!(spelling.becomes, Becomes::Option(_) | Becomes::Nothing);
    of_command()
        .filter(takes_value)
        .find(|spelling| spelling.names.contains(&name))
        .map(|spelling| (spelling, Some(value)))
}

/// Whether an option of Oriole's own stands for a word: what is no text is none.
fn is_option(word: &OsStr) -> bool {
    word.to_str().is_some_and(|word| word.starts_with('-') && word != "-")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::args::Cli;
    use clap::CommandFactory;

    fn own(line: &str) -> String {
        let words = translated(line.split(' ').map(OsString::from)).expect("an option that there is");
        words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn words_become_oriole_s() {
        for (typed, expected) in [
            ("oriole compile -arch sm_90 k.ptx", "oriole compile --arch sm_90 k.ptx"),
            ("oriole compile -arch=sm_90 k.ptx", "oriole compile --arch sm_90 k.ptx"),
            ("oriole compile --gpu-name=sm_90 -lineinfo", "oriole compile --arch sm_90 --lineinfo"),
            ("oriole compile --opt-level 3 k.ptx", "oriole compile -O 3 k.ptx"),
            ("oriole compile -Xptxas -v,-maxrregcount=32 k.ptx", "oriole compile -v --maxrregcount 32 k.ptx"),
            ("oriole compile --ptxas-options=-v k.ptx", "oriole compile -v k.ptx"),
            ("oriole disasm -c --sass -fun saxpy k.cubin", "oriole disasm --entry saxpy k.cubin"),
            ("oriole disasm -gp k.cubin", "oriole disasm --lines=ptx k.cubin"),
            ("oriole bisect k.ptx -- -arch sm_90", "oriole bisect k.ptx -- -arch sm_90"),
            ("oriole compile -c k.ptx", "oriole compile -c k.ptx"),
            ("oriole ptxas -arch=sm_90 k.ptx", "oriole ptxas -arch=sm_90 k.ptx"),
            ("oriole compile -arch", "oriole compile --arch"),
        ] {
            assert_eq!(own(typed), expected);
        }
    }

    /// docs/cli.md has them all.
    #[test]
    fn every_word_is_documented() {
        let manual = include_str!("../../../../../docs/cli.md");
        for name in SPELLINGS.iter().flat_map(|spelling| spelling.names) {
            assert!(manual.contains(&format!("`{name}`")), "{name}");
        }
    }

    /// A name of a tool of NVIDIA that is also Oriole's own would never reach it.
    #[test]
    fn no_word_hides_an_option() {
        let mut grammar = Cli::command();
        grammar.build();
        for spelling in SPELLINGS {
            for command in spelling.commands {
                let grammar = grammar.find_subcommand(command).unwrap_or_else(|| panic!("{command} is a command"));
                for option in grammar.get_arguments() {
                    let longs = option.get_long_and_visible_aliases().unwrap_or_default();
                    let longs = longs.iter().map(|long| format!("--{long}"));
                    let shorts = option.get_short_and_visible_aliases().unwrap_or_default();
                    let shorts = shorts.iter().map(|short| format!("-{short}"));
                    for own in longs.chain(shorts) {
                        assert!(!spelling.names.contains(&own.as_str()), "{command} {own}");
                    }
                }
            }
        }
    }

    #[test]
    fn what_words_become_is_there() {
        let mut grammar = Cli::command();
        grammar.build();
        for spelling in SPELLINGS {
            let own: Vec<&str> = match &spelling.becomes {
                Becomes::Option(words) => words.to_vec(),
                Becomes::Value(option) => vec![option],
                Becomes::Words | Becomes::Nothing | Becomes::Otherwise(_) => Vec::new(),
            };
            for command in spelling.commands {
                let grammar = grammar.find_subcommand(command).unwrap_or_else(|| panic!("{command} is a command"));
                for word in &own {
                    let name = word.split('=').next().unwrap_or(word);
                    let is_there = grammar.get_arguments().any(|option| {
                        option.get_long().is_some_and(|long| name == format!("--{long}"))
                            || option.get_short().is_some_and(|short| name == format!("-{short}"))
                    });
                    assert!(is_there, "{command} {word}");
                }
            }
        }
    }
}
