//! The options of ptxas 13.0.88 (`ptxas --help`), and what becomes of each here.

use crate::host::Caller;

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
    ListVersion,
    Machine,
    MaxNTid,
    MaxRegisters,
    MinCtas,
    NoOptimizerConstants,
    NoWarnings,
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
    Verbose,
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
    /// What it is for, as `--help` has it.
    pub(crate) help: &'static str,
}

const fn spec(name: Name, [long, short]: [&'static str; 2], takes: Takes, fate: Fate, help: &'static str) -> Spec {
    Spec { name, long, short, takes, fate, help }
}

use Fate::{Idle, Obeyed, Refused};
use Takes::{Joined, List, Nothing, Number, OneOf, Truth, Whole, Word};

const LINE_BY_LINE: Fate = Idle("code that keeps to the lines of the source is made by -g and -O0");
const NO_SUCH_WARNING: Fate = Idle("there is no such warning to suppress");

/// All, in the order of `--help`.
pub(crate) const OPTIONS: [Spec; 54] = [
    spec(
        Name::FastCompile,
        ["Ofast-compile", "Ofc"],
        Word,
        Obeyed,
        "Leave out optimisations that take time: 0, min, mid or max",
    ),
    spec(
        Name::AllowExpensive,
        ["allow-expensive-optimizations", "allow-expensive-optimizations"],
        Truth,
        Idle("how much is tried goes by -O and --Ofast-compile"),
        "Let optimisations take much time and memory",
    ),
    spec(
        Name::AsToolsPatch,
        ["compile-as-tools-patch", "astoolspatch"],
        Nothing,
        Refused("patches for NVIDIA's tools are not made"),
        "Make a patch for CUDA tools",
    ),
    spec(Name::CompileOnly, ["compile-only", "c"], Nothing, Obeyed, "Make an object file for a linker"),
    spec(
        Name::Annotate,
        ["compiler-annotations", "annotate"],
        Nothing,
        Idle("the compiler has no annotations of its own"),
        "Put the compiler's annotations into the file",
    ),
    spec(
        Name::DefLoadCache,
        ["def-load-cache", "dlcm"],
        Word,
        Obeyed,
        "Cache operator of global and generic loads that have none",
    ),
    spec(
        Name::DefStoreCache,
        ["def-store-cache", "dscm"],
        Word,
        Obeyed,
        "Cache operator of global and generic stores that have none",
    ),
    spec(
        Name::DeviceDebug,
        ["device-debug", "g"],
        Nothing,
        Obeyed,
        "Tell debuggers of lines and functions; compiles at -O0",
    ),
    spec(
        Name::DeviceMaxRegisters,
        ["device-function-maxrregcount", "func-maxrregcount"],
        Word,
        Obeyed,
        "With -c: most registers of functions that are no kernels (archmax, archmin or a number)",
    ),
    spec(
        Name::StackProtector,
        ["device-stack-protector", "device-stack-protector"],
        Truth,
        Refused("stack canaries are not there"),
        "Put canaries on the stack",
    ),
    spec(
        Name::NoOptimizerConstants,
        ["disable-optimizer-constants", "disable-optimizer-consts"],
        Nothing,
        Idle("no code reads a bank of constants that the optimiser makes"),
        "Use no constants that the optimiser makes",
    ),
    spec(Name::NoWarnings, ["disable-warnings", "w"], Nothing, Obeyed, "Print no warnings"),
    spec(
        Name::DontMergeBlocks,
        ["dont-merge-basicblocks", "no-bb-merge"],
        Nothing,
        LINE_BY_LINE,
        "Merge no basic blocks",
    ),
    spec(Name::Entry, ["entry", "e"], List, Obeyed, "Compile these kernels alone"),
    spec(
        Name::ExtensibleWholeProgram,
        ["extensible-whole-program", "ewp"],
        Nothing,
        Refused("files are whole programs, or objects for a linker (-c)"),
        "Make a whole program that can be added to",
    ),
    spec(Name::Fmad, ["fmad", "fmad"], Truth, Obeyed, "Contract products and sums into fused ones"),
    spec(
        Name::ForceLoadCache,
        ["force-load-cache", "flcm"],
        Word,
        Obeyed,
        "Cache operator of all global and generic loads",
    ),
    spec(
        Name::ForceStoreCache,
        ["force-store-cache", "fscm"],
        Word,
        Obeyed,
        "Cache operator of all global and generic stores",
    ),
    spec(
        Name::TensorMemoryCheck,
        ["g-tensor-memory-access-check", "g-tmem-access-check"],
        Nothing,
        Refused("checks of tensor memory are not there; `oriole run --check` has its own"),
        "Check accesses of tensor memory",
    ),
    spec(Name::LineInfo, ["generate-line-info", "lineinfo"], Nothing, Obeyed, "Tell debuggers of lines"),
    spec(
        Name::NoTensorMemoryCheck,
        ["gno-tensor-memory-access-check", "gno-tmem-access-check"],
        Nothing,
        Idle("accesses of tensor memory are never checked"),
        "Check no accesses of tensor memory",
    ),
    spec(Name::Gpu, ["gpu-name", "arch"], Word, Obeyed, "Target, sm_XX; with compute_XX the input is checked alone"),
    spec(Name::Help, ["help", "h"], Nothing, Obeyed, "Print this"),
    spec(Name::InputAsString, ["input-as-string", "ias"], Whole, Obeyed, "A module itself in place of its file's name"),
    spec(
        Name::LegacyBar,
        ["legacy-bar-warp-wide-behavior", "legacy-bar-warp-wide-behavior"],
        Nothing,
        Obeyed,
        "Of targets before sm_70, which there are none of; warns as ptxas does",
    ),
    spec(Name::ListVersion, ["list-version", "version-ls"], Nothing, Obeyed, "Print the versions of PTX that are read"),
    spec(Name::Machine, ["machine", "m"], Joined, Obeyed, "Bits of the host: 64"),
    spec(
        Name::ErrorsAtExit,
        ["make-errors-visible-at-exit", "make-errors-visible-at-exit"],
        Nothing,
        Idle("a launch that faults ends as a fault either way"),
        "Make faults visible where a kernel ends",
    ),
    spec(
        Name::MaxNTid,
        ["maxntid", "maxntid"],
        List,
        Obeyed,
        ".maxntid of kernels that have none; not with -maxrregcount",
    ),
    spec(
        Name::MaxRegisters,
        ["maxrregcount", "maxrregcount"],
        Word,
        Obeyed,
        "Most registers of a thread (archmax, archmin or a number)",
    ),
    spec(
        Name::MinCtas,
        ["minnctapersm", "minnctapersm"],
        Number,
        Obeyed,
        ".minnctapersm of kernels that have none; not with -maxrregcount",
    ),
    spec(Name::OptLevel, ["opt-level", "O"], Joined, Obeyed, "How far to optimise, 0 to 3; more is 3"),
    spec(
        Name::OptimizeFloatAtomics,
        ["optimize-float-atomics", "opt-fp-atomics"],
        Nothing,
        Idle("it allows other results and asks for none"),
        "Let atomics on floats round otherwise",
    ),
    spec(Name::OptionsFile, ["options-file", "optf"], List, Obeyed, "Read options from a file"),
    spec(Name::OutputFile, ["output-file", "o"], Word, Obeyed, "Where the cubin goes; elf.o if not given"),
    spec(
        Name::OverrideDirectives,
        ["override-directive-values", "override-directive-values"],
        Nothing,
        Obeyed,
        "-maxntid, -minnctapersm and -maxrregcount count for more than directives",
    ),
    spec(
        Name::PositionIndependent,
        ["position-independent-code", "pic"],
        Truth,
        Idle("branches and calls within a file are relative; what a linker fills in can stand anywhere"),
        "Make code that can stand anywhere",
    ),
    spec(
        Name::PreserveRelocs,
        ["preserve-relocs", "preserve-relocs"],
        Nothing,
        Refused("whole programs keep no relocations that are resolved"),
        "Keep relocations in linked files",
    ),
    spec(
        Name::RegisterUsage,
        ["register-usage-level", "regUsageLevel"],
        Number,
        Obeyed,
        "How readily registers are spent, 0 to 10",
    ),
    spec(Name::ReturnAtEnd, ["return-at-end", "ret-end"], Nothing, LINE_BY_LINE, "Keep the return at the end"),
    spec(
        Name::Sanitize,
        ["sanitize", "sanitize"],
        OneOf(&["memcheck", "threadsteer"]),
        Refused("code has no checks in it; `oriole run --check` checks every access"),
        "Put a sanitizer's checks into the code",
    ),
    spec(
        Name::SpBoundsCheck,
        ["sp-bounds-check", "sp-bounds-check"],
        Nothing,
        Refused("the stack pointer is not checked; `oriole run --check` checks every access"),
        "Check the stack pointer",
    ),
    spec(
        Name::SplitCompile,
        ["split-compile", "split-compile"],
        Number,
        Obeyed,
        "Threads that compile; 0 for all there are",
    ),
    spec(
        Name::SuppressMulticast,
        ["suppress-async-bulk-multicast-advisory-warning", "suppress-async-bulk-multicast-advisory-warning"],
        Nothing,
        NO_SUCH_WARNING,
        "Do not warn of .multicast::cluster",
    ),
    spec(
        Name::SuppressDebugInfo,
        ["suppress-debug-info", "suppress-debug-info"],
        Nothing,
        Obeyed,
        "Leave debug information out",
    ),
    spec(
        Name::SuppressDoubleDemote,
        ["suppress-double-demote-warning", "suppress-double-demote-warning"],
        Nothing,
        NO_SUCH_WARNING,
        "Do not warn of doubles on targets without them",
    ),
    spec(
        Name::SuppressSparse,
        ["suppress-sparse-mma-advisory-info", "suppress-sparse-mma-advisory-info"],
        Nothing,
        NO_SUCH_WARNING,
        "Do not advise about mma.sp",
    ),
    spec(
        Name::SuppressStackSize,
        ["suppress-stack-size-warning", "suppress-stack-size-warning"],
        Nothing,
        NO_SUCH_WARNING,
        "Do not warn where the stack's size is not known",
    ),
    spec(Name::Verbose, ["verbose", "v"], Nothing, Obeyed, "Print registers, spills and memory of each kernel"),
    spec(Name::Version, ["version", "V"], Nothing, Obeyed, "Print the version"),
    spec(
        Name::WarnDouble,
        ["warn-on-double-precision-use", "warn-double-usage"],
        Nothing,
        Obeyed,
        "Warn of instructions on doubles",
    ),
    spec(Name::WarnLocal, ["warn-on-local-memory-usage", "warn-lmem-usage"], Nothing, Obeyed, "Warn of local memory"),
    spec(Name::WarnSpills, ["warn-on-spills", "warn-spills"], Nothing, Obeyed, "Warn of spilled registers"),
    spec(Name::WarningsAreErrors, ["warning-as-error", "Werror"], Nothing, Obeyed, "Warnings are errors"),
];

/// Options of inputs, outputs and standard output, which belong to the command.
const OF_THE_COMMAND: [Name; 6] =
    [Name::Help, Name::InputAsString, Name::ListVersion, Name::OptionsFile, Name::OutputFile, Name::Version];

impl Spec {
    /// Why this caller cannot have it at all.
    pub(crate) fn refused_to(&self, caller: Caller) -> Option<&'static str> {
        let is_refused = caller == Caller::Library && OF_THE_COMMAND.contains(&self.name);
        is_refused.then_some("a library reads no files, writes none and prints nothing")
    }
}

/// The option behind two dashes, or behind one.
pub(crate) fn find(word: &str, is_long: bool) -> Option<&'static Spec> {
    OPTIONS.iter().find(|spec| if is_long { spec.long == word } else { spec.short == word })
}

#[cfg(test)]
mod tests {
    use super::{Fate, OPTIONS, Spec};
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
        let manual = include_str!("../../../docs/ptxas.md");
        for spec in &OPTIONS {
            let line = format!("| `--{}` | `-{}` | {} | ", spec.long, spec.short, fate(spec));
            assert!(manual.contains(&line), "{}", spec.long);
        }
    }

    /// docs/c.md has those of each fate in one row.
    #[test]
    fn what_becomes_of_every_option_in_c_is_documented() {
        let manual = include_str!("../../../docs/c.md");
        let row = |head: &str| -> BTreeSet<&str> {
            let found = manual.lines().find_map(|line| line.strip_prefix(&format!("| {head} |")));
            let words = found.unwrap_or_else(|| panic!("no row '{head}'")).split('`');
            words.filter_map(|word| word.strip_prefix("--")).collect()
        };
        let (kept, of_the_command): (Vec<_>, Vec<_>) =
            OPTIONS.iter().partition(|spec| spec.refused_to(Caller::Library).is_none());
        for name in ["obeyed", "idle", "refused"] {
            let expected = kept.iter().filter(|spec| fate(spec) == name).map(|spec| spec.long).collect();
            assert_eq!(row(name), expected, "{name}");
        }
        assert_eq!(row("of the command, refused"), of_the_command.iter().map(|spec| spec.long).collect());
        assert!(OPTIONS.iter().all(|spec| spec.refused_to(Caller::Command).is_none()));
    }
}
