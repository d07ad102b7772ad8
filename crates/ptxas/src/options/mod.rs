//! The options of ptxas 13.0.88 and 13.5.37, those that `--help` does not list too, and what becomes of each here.

mod hidden;
mod listed;

use crate::host::Caller;
use hidden::HIDDEN;
use listed::LISTED;

/// What an option takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Takes {
    /// Nothing: it is there or not.
    Nothing,
    /// A word; of several the last one counts.
    Word,
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// A number; of several the last one counts.
    Number,
    /// A number that may stand behind the short name at once, or be missing: `-O3`.
    Joined,
    /// `true` or `false`.
    Truth,
    /// Words between commas; several add up.
    List,
    /// One word with whatever is in it; several add up.
    Whole,
}

/// What becomes of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It does what it does with ptxas.
    Obeyed,
    /// It cannot matter to a program that is right, for this reason.
    Idle(&'static str),
    /// It asks for what is not there, as this says. `false` asks for nothing.
    Refused(&'static str),
}

/// The options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Name {
    AllowExpensive,
    Annotate,
    AsToolsPatch,
    CompileOnly,
    DefLoadCache,
    DefStoreCache,
    DeviceDebug,
    DeviceMaxRegisters,
    DontMergeBlocks,
    Entry,
    ErrorsAtExit,
    ExtendedShared,
    ExtensibleWholeProgram,
    FastCompile,
    Fmad,
    ForceLoadCache,
    ForceStoreCache,
    Gpu,
    Help,
    InputAsString,
    LegacyBar,
    LineInfo,
    ListArch,
    ListVersion,
    Machine,
    MaxNTid,
    MaxRegisters,
    MinCtas,
    NoOptimizerConstants,
    NoWarnings,
    NvHost,
    OptLevel,
    OptimizeFloatAtomics,
    OptionsFile,
    OutputFile,
    OverrideDirectives,
    PositionIndependent,
    PreserveRelocs,
    RegisterUsage,
    ReturnAtEnd,
    Sanitize,
    SpBoundsCheck,
    SplitCompile,
    StackProtector,
    SuppressDebugInfo,
    SuppressDoubleDemote,
    SuppressMulticast,
    SuppressSparse,
    SuppressStackSize,
    TensorMemoryCheck,
    NoTensorMemoryCheck,
    /// One that no code asks for by itself: its long name.
    Unasked(&'static str),
    Verbose,
    Verbose2,
    Version,
    WarnDouble,
    WarnLocal,
    WarnSpills,
    WarningsAreErrors,
}

/// One option.
pub(crate) struct Spec {
    /// Which it is.
    pub(crate) name: Name,
    /// Behind two dashes.
    pub(crate) long: &'static str,
    /// Behind one.
    pub(crate) short: &'static str,
    /// What it takes.
    pub(crate) takes: Takes,
    /// What becomes of it where the command is called.
    pub(crate) fate: Fate,
    /// From which ptxas on `--help` lists it.
    pub(crate) since: Since,
    /// What it is for, as `--help` has it; of one that is not listed, what ptxas does with it.
    pub(crate) help: &'static str,
}

/// From which ptxas on `--help` lists an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Since {
    /// 13.0.88.
    V13_0,
    /// 13.5.37; one or the other of these 13.0.88 takes all the same.
    V13_5,
    /// None: it is taken, and not listed.
    Hidden,
}

/// Options of inputs, outputs and standard output, which belong to the command.
const OF_THE_COMMAND: [Name; 7] = [
    Name::Help,
    Name::InputAsString,
    Name::ListArch,
    Name::ListVersion,
    Name::OptionsFile,
    Name::OutputFile,
    Name::Version,
];

impl Spec {
    const fn new(
        name: Name,
        [long, short]: [&'static str; 2],
        takes: Takes,
        fate: Fate,
        since: Since,
        help: &'static str,
    ) -> Spec {
        Spec { name, long, short, takes, fate, since, help }
    }

    /// Why this caller cannot have it at all.
    pub(crate) fn refused_to(&self, caller: Caller) -> Option<&'static str> {
        let is_refused = caller == Caller::Library && OF_THE_COMMAND.contains(&self.name);
        is_refused.then_some("a library reads no files, writes none and prints nothing")
    }
}

/// Those that `--help` lists, in its order.
pub(crate) fn listed() -> impl Iterator<Item = &'static Spec> {
    LISTED.iter()
}

/// All that are taken.
pub(crate) fn all() -> impl Iterator<Item = &'static Spec> {
    LISTED.iter().chain(&HIDDEN)
}

/// The option behind two dashes, or behind one.
pub(crate) fn find(word: &str, is_long: bool) -> Option<&'static Spec> {
    all().find(|spec| if is_long { spec.long == word } else { spec.short == word })
}

#[cfg(test)]
mod tests {
    use super::{Fate, Since, Spec, all, listed};
    use crate::host::Caller;
    use std::collections::BTreeSet;

    fn fate(spec: &Spec) -> &'static str {
        match spec.fate {
            Fate::Obeyed => "obeyed",
            Fate::Idle(_) => "idle",
            Fate::Refused(_) => "refused",
        }
    }

    /// docs/ptxas.md has a line for each.
    #[test]
    fn every_option_is_documented() {
        let manual = include_str!("../../../../docs/ptxas.md");
        for spec in all() {
            let since = match spec.since {
                Since::V13_0 => "13.0",
                Since::V13_5 => "13.5",
                Since::Hidden => "no",
            };
            let text = match spec.fate {
                Fate::Obeyed => spec.help,
                Fate::Idle(reason) | Fate::Refused(reason) => reason,
            };
            let line = format!("| `--{}` | `-{}` | {since} | {} | {text} |\n", spec.long, spec.short, fate(spec));
            assert!(manual.contains(&line), "{line}");
        }
    }

    #[test]
    fn names_are_distinct() {
        let (mut long, mut short, mut names) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
        for spec in all() {
            assert!(long.insert(spec.long) && short.insert(spec.short) && !names.contains(&spec.name), "{}", spec.long);
            names.push(spec.name);
        }
    }

    /// docs/c.md has those of each fate in one row.
    #[test]
    fn what_becomes_of_every_option_in_c_is_documented() {
        let manual = include_str!("../../../../docs/c.md");
        let row = |head: &str| -> BTreeSet<&str> {
            let found = manual.lines().find_map(|line| line.strip_prefix(&format!("| {head} |")));
            let words = found.unwrap_or_else(|| panic!("no row '{head}'")).split('`');
            words.filter_map(|word| word.strip_prefix("--")).collect()
        };
        let (kept, of_the_command): (Vec<_>, Vec<_>) =
            listed().partition(|spec| spec.refused_to(Caller::Library).is_none());
        for name in ["obeyed", "idle", "refused"] {
            let expected = kept.iter().filter(|spec| fate(spec) == name).map(|spec| spec.long).collect();
            assert_eq!(row(name), expected, "{name}");
        }
        assert_eq!(row("of the command, refused"), of_the_command.iter().map(|spec| spec.long).collect());
        assert!(all().all(|spec| spec.refused_to(Caller::Command).is_none()));
    }
}
