//! What the arguments ask for.

use crate::arguments::{Arguments, Fatal, not_defined, not_supported, number};
use crate::edits::{Cache, Changes, LOAD_CACHES, STORE_CACHES};
use crate::filter::Messages;
use crate::host::Caller;
use crate::messages::Kind;
use crate::options::{Fate, Name};
use oriole_codegen::{CompileOptions, DebugInfo, FastCompile};
use std::collections::BTreeSet;

/// Where the cubin goes if nothing else is said.
const OUTPUT: &str = "elf.o";
/// The target if nothing else is said.
const TARGET: &str = "sm_75";
/// The fewest and the most registers of a thread.
const FEWEST_REGISTERS: i64 = 24;
const MOST_REGISTERS: i64 = 255;

/// The most threads that compile: each has a stack of its own, and no machine has more cores for it.
const MOST_THREADS: usize = 1024;

/// What is done with the input.
#[derive(Clone, Debug)]
pub(crate) enum Goal {
    /// A cubin for a target; without one for the module's own.
    Code(Option<oriole_cubin::Target>),
    /// Nothing but checks, for the target of this name.
    Check(String),
}

/// The settings of one call.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) goal: Goal,
    pub(crate) output: String,
    pub(crate) options: CompileOptions,
    pub(crate) changes: Changes,
    /// Whether products and sums may be fused.
    pub(crate) fuses: bool,
    pub(crate) warns_of_doubles: bool,
    pub(crate) warns_of_local: bool,
    pub(crate) warns_of_spills: bool,
    /// `-v2`.
    pub(crate) names_functions: bool,
}

impl Settings {
    /// Read them, with what is to be said of them.
    ///
    /// # Errors
    /// What ends it at once.
    pub(crate) fn new(arguments: &Arguments, caller: Caller, messages: &mut Messages<'_>) -> Result<Self, Fatal> {
        for spec in arguments.asked() {
            let is_left = spec.name == Name::ExtensibleWholeProgram && arguments.has(Name::CompileOnly);
            match spec.fate {
                Fate::Obeyed => {}
                _ if is_left => messages.say(
                    Kind::Warning,
                    "Conflicting options '--compile-only' and '--extensible-whole-program' specified, ignoring \
                     '--extensible-whole-program' option",
                ),
                Fate::Idle(reason) => {
                    messages.say(Kind::Info, &format!("Option '--{}' changes nothing: {reason}", spec.long))
                }
                Fate::Refused(reason) => return Err(not_supported(spec, reason)),
            }
        }
        let goal = goal(arguments, caller)?;
        if arguments.number(Name::Machine).is_some_and(|bits| bits != 64) {
            return Err(not_defined(arguments.word(Name::Machine).unwrap_or_default(), "machine"));
        }
        if arguments.has(Name::LegacyBar) {
            messages.say(
                Kind::Warning,
                "'--legacy-bar-warp-wide-behavior' is a deprecated option, It will be removed in future release and is not \
                 recommended",
            );
            messages.say(
                Kind::Warning,
                "Command line option '--legacy-bar-warp-wide-behavior' not supported for '.target sm_70', will be ignored",
            );
        }
        Ok(Settings {
            options: compile_options(arguments, messages, &goal)?,
            changes: changes(arguments, messages),
            goal,
            fuses: arguments.truth(Name::Fmad) != Some(false),
            output: arguments.word(Name::OutputFile).unwrap_or(OUTPUT).to_owned(),
            warns_of_doubles: arguments.has(Name::WarnDouble),
            warns_of_local: arguments.has(Name::WarnLocal),
            warns_of_spills: arguments.has(Name::WarnSpills),
            names_functions: arguments.has(Name::Verbose2),
        })
    }
}

impl Goal {
    /// The name of the target that is asked for, such as `sm_90a`.
    pub(crate) fn target(&self) -> Option<String> {
        match self {
            Goal::Code(target) => target.map(|target| target.to_string()),
            Goal::Check(target) => Some(target.clone()),
        }
    }
}

/// What is asked for.
///
/// # Errors
/// There is no such target.
pub(crate) fn goal(arguments: &Arguments, caller: Caller) -> Result<Goal, Fatal> {
    let name = match (arguments.word(Name::Gpu), caller) {
        (Some(name), _) => name,
        (None, Caller::Command) => TARGET,
        (None, Caller::Library) => return Ok(Goal::Code(None)),
    };
    // A library's caller wants a cubin.
    if let Some(number) = name.strip_prefix("compute_").filter(|_| caller == Caller::Command) {
        let sm = format!("sm_{number}");
        return if oriole_ptx::is_target(&sm) { Ok(Goal::Check(sm)) } else { Err(not_defined(name, "gpu-name")) };
    }
    oriole_codegen::target(name).map(|target| Goal::Code(Some(target))).map_err(|_| not_defined(name, "gpu-name"))
}

fn compile_options(arguments: &Arguments, messages: &mut Messages<'_>, goal: &Goal) -> Result<CompileOptions, Fatal> {
    let default = CompileOptions::default();
    let debug = debug_info(arguments, messages);
    let asked = arguments.number(Name::OptLevel);
    if arguments.has(Name::DeviceDebug) && asked.is_some_and(|level| level > 0) {
        return Err("Optimized debugging not supported".to_owned());
    }
    let level = if arguments.has(Name::DeviceDebug) { 0 } else { asked.unwrap_or(3).clamp(0, 3) as u8 };
    let relocatable = arguments.has(Name::CompileOnly);
    let device_maxrregcount = registers(arguments, messages, Name::DeviceMaxRegisters, "device-function-maxrregcount")?;
    if device_maxrregcount.is_some() && !relocatable {
        messages.say(
            Kind::Warning,
            "Command line option 'device-function-maxrregcount' not supported for 'whole program compilation', will be ignored",
        );
    }
    Ok(CompileOptions {
        target: if let Goal::Code(target) = goal { *target } else { None },
        opt_level: level,
        level_is_chosen: asked.is_some(),
        fast_compile: fast_compile(arguments)?,
        maxrregcount: registers(arguments, messages, Name::MaxRegisters, "maxrregcount")?,
        device_maxrregcount: device_maxrregcount.filter(|_| relocatable),
        register_usage_level: usage_level(arguments, messages),
        entries: entries(arguments),
        // At -O0 nothing is contracted, and no phase goes by a knob.
        knobs: (level > 0 && arguments.truth(Name::Fmad) == Some(false))
            .then(|| "contract=0".to_owned())
            .into_iter()
            .collect(),
        jobs: jobs(arguments)?,
        relocatable,
        extended_shared: arguments.truth(Name::ExtendedShared) == Some(true),
        host: host(arguments, messages, relocatable)?,
        debug,
        ..default
    })
}

/// What the cubin is to tell the program on the host.
fn host(arguments: &Arguments, messages: &mut Messages<'_>, relocatable: bool) -> Result<Option<Vec<u8>>, Fatal> {
    let Some(name) = arguments.word(Name::NvHost) else { return Ok(None) };
    if relocatable {
        const IGNORED: &str = "Command line option '--nv-host' not supported for '--extensible-whole-program or --compile-only', \
                               will be ignored";
        messages.say(Kind::Warning, IGNORED);
        return Ok(None);
    }
    match messages.host_file(name) {
        Some(bytes) if bytes.is_empty() => Err(format!("Input file '{name}' could not be opened")),
        Some(bytes) => Ok(Some(bytes)),
        None => Err(format!("Could not open input file '{name}'")),
    }
}

/// The kernels that are asked for, each once.
fn entries(arguments: &Arguments) -> Vec<String> {
    let mut seen = BTreeSet::new();
    arguments.words(Name::Entry).into_iter().filter(|name| seen.insert(name.clone())).collect()
}

fn debug_info(arguments: &Arguments, messages: &mut Messages<'_>) -> DebugInfo {
    let (debug, lines) = (arguments.has(Name::DeviceDebug), arguments.has(Name::LineInfo));
    if debug && lines {
        messages.say(
            Kind::Warning,
            "Conflicting options --device-debug and --generate-line-info specified, ignoring --generate-line-info option",
        );
    }
    let suppressed = arguments.has(Name::SuppressDebugInfo);
    if suppressed && !debug && !lines {
        messages.say(
            Kind::Warning,
            "Option suppress-debug-info requires option device-debug or lineinfo; ignoring since latter is not specified",
        );
    }
    match () {
        () if suppressed => DebugInfo::None,
        () if debug => DebugInfo::Full,
        () if lines => DebugInfo::Lines,
        () => DebugInfo::None,
    }
}

fn fast_compile(arguments: &Arguments) -> Result<FastCompile, Fatal> {
    match arguments.word(Name::FastCompile).unwrap_or("0") {
        "0" => Ok(FastCompile::Off),
        "min" => Ok(FastCompile::Min),
        "mid" => Ok(FastCompile::Mid),
        "max" => Ok(FastCompile::Max),
        other => Err(format!("Invalid value for --Ofast-compile/-Ofc ({other}), is not 'max', 'mid', 'min', or '0'")),
    }
}

/// A bound of registers.
fn registers(
    arguments: &Arguments,
    messages: &mut Messages<'_>,
    name: Name,
    option: &str,
) -> Result<Option<u32>, Fatal> {
    let Some(word) = arguments.word(name) else { return Ok(None) };
    let count = match word {
        "archmax" => MOST_REGISTERS,
        "archmin" => FEWEST_REGISTERS,
        _ => number(word).ok_or_else(|| format!("Invalid value '{word}' for option '{option}'"))?,
    };
    match u32::try_from(count) {
        Ok(count) => Ok(Some(count)),
        Err(_) => {
            messages.say(Kind::Warning, &format!("Too big {option} value specified {count}, will be ignored"));
            Ok(None)
        }
    }
}

fn usage_level(arguments: &Arguments, messages: &mut Messages<'_>) -> Option<u8> {
    let level = arguments.number(Name::RegisterUsage)?;
    let found = u8::try_from(level).ok().filter(|level| *level <= 10);
    if found.is_none() {
        let text = format!("Value of RegUsageLevel ({level}) is out of valid range {{0..10}}, option will be ignored");
        messages.say(Kind::Warning, &text);
    }
    found
}

fn jobs(arguments: &Arguments) -> Result<usize, Fatal> {
    match arguments.number(Name::SplitCompile) {
        None => Ok(1),
        Some(0) => Ok(std::thread::available_parallelism().map_or(1, usize::from)),
        Some(count) => {
            let wrong = |_| format!("Invalid value '{count}' for option '--split-compile'");
            usize::try_from(count).map(|count| count.min(MOST_THREADS)).map_err(wrong)
        }
    }
}

fn changes(arguments: &Arguments, messages: &mut Messages<'_>) -> Changes {
    let bounded = arguments.has(Name::MaxRegisters);
    let overrides = arguments.has(Name::OverrideDirectives);
    let max_threads = max_threads(arguments, messages).filter(|_| !bounded);
    let min_blocks =
        arguments.number(Name::MinCtas).and_then(|count| u32::try_from(count).ok()).filter(|count| *count > 0);
    Changes {
        loads: cache(arguments, messages, [Name::DefLoadCache, Name::ForceLoadCache], &LOAD_CACHES, "load"),
        stores: cache(arguments, messages, [Name::DefStoreCache, Name::ForceStoreCache], &STORE_CACHES, "store"),
        max_threads,
        min_blocks: min_blocks.filter(|_| !bounded),
        overrides,
        drops_max_registers: overrides && bounded,
    }
}

fn max_threads(arguments: &Arguments, messages: &mut Messages<'_>) -> Option<[u32; 3]> {
    let words = arguments.words(Name::MaxNTid);
    if words.len() > 3 {
        messages.say(Kind::Warning, "Too many values specified for option '-maxntid', option will be ignored");
        return None;
    }
    let mut extents = [1; 3];
    for (extent, word) in extents.iter_mut().zip(&words) {
        *extent = number(word).and_then(|value| u32::try_from(value).ok()).filter(|value| *value > 0)?;
    }
    (!words.is_empty()).then_some(extents)
}

/// The cache operator that an option gives, by default or to all.
fn cache(
    arguments: &Arguments,
    messages: &mut Messages<'_>,
    [by_default, forced]: [Name; 2],
    known: &[&str],
    what: &str,
) -> Option<Cache> {
    let given = [(forced, true), (by_default, false)].into_iter().find_map(|(name, forced)| {
        let operator = arguments.word(name)?.to_owned();
        Some(Cache { operator, forced })
    });
    let cache = given?;
    if known.contains(&cache.operator.as_str()) {
        return Some(cache);
    }
    let text = format!("Invalid default cache modifier on {what} specified: {}", cache.operator);
    messages.say(Kind::Error, &text);
    None
}
