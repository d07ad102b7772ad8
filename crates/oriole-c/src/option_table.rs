//! The table of ptxas's options, those of the nvPTXCompiler manual of CUDA 13: each acts or is refused.

use crate::options::Settings;
use oriole::FastCompile;
use std::num::NonZeroUsize;

/// One option.
pub(crate) struct Entry {
    /// Behind two dashes.
    pub(crate) name: &'static str,
    /// Behind one dash.
    pub(crate) short: Option<&'static str>,
    pub(crate) act: Act,
}

/// What an option does.
pub(crate) enum Act {
    /// It is on or off; on where it stands without a value.
    Switch(fn(&mut Settings, bool)),
    /// It has a value, which can be wrong.
    Value(fn(&mut Settings, &str) -> Result<(), String>),
    /// It would change what is made, and nothing here does what it says.
    Refused(&'static str),
}

const fn switch(name: &'static str, short: &'static str, set: fn(&mut Settings, bool)) -> Entry {
    Entry { name, short: Some(short), act: Act::Switch(set) }
}

const fn value(name: &'static str, short: &'static str, set: fn(&mut Settings, &str) -> Result<(), String>) -> Entry {
    Entry { name, short: Some(short), act: Act::Value(set) }
}

/// Asks for silence about what no message is ever about: that holds already.
const fn silent(name: &'static str) -> Entry {
    Entry { name, short: None, act: Act::Switch(|_, _| {}) }
}

const fn refused(name: &'static str, short: Option<&'static str>, why: &'static str) -> Entry {
    Entry { name, short, act: Act::Refused(why) }
}

const CACHES: &str = "the cache operator is the instruction's own";
const ORDER: &str = "the order of blocks and what becomes of them goes by --opt-level";
const CHECKS: &str = "no code for run-time checks is made; the simulator checks every access";
const SHAPES: &str = "say it in the module, by the directive of that name";

/// All options that are known.
pub(crate) static TABLE: &[Entry] = &[
    value("gpu-name", "arch", |settings, name| {
        settings.target = Some(name.to_owned());
        Ok(())
    }),
    value("opt-level", "O", opt_level),
    value("Ofast-compile", "Ofc", fast_compile),
    value("maxrregcount", "maxrregcount", |settings, count| {
        let parsed = count.parse().map_err(|_| format!("'{count}' is no count of registers"))?;
        settings.max_registers = Some(parsed);
        Ok(())
    }),
    value("entry", "e", |settings, names| {
        settings.entries.extend(names.split(',').map(|name| name.trim().to_owned()));
        Ok(())
    }),
    value("split-compile", "split-compile", split_compile),
    value("fmad", "fmad", |settings, fused| {
        settings.no_fusing = !truth(fused)?;
        Ok(())
    }),
    switch("compile-only", "c", |settings, on| settings.relocatable = on),
    switch("generate-line-info", "lineinfo", |settings, on| settings.line_info = on),
    switch("device-debug", "g", |settings, on| settings.debug = on),
    switch("verbose", "v", |settings, on| settings.verbose = on),
    switch("warn-on-spills", "warn-spills", |settings, on| settings.warn_on_spills = on),
    switch("warn-on-local-memory-usage", "warn-lmem-usage", |settings, on| settings.warn_on_local_memory = on),
    switch("disable-warnings", "w", |settings, on| settings.no_warnings = on),
    switch("warning-as-error", "Werror", |settings, on| settings.warnings_are_errors = on),
    silent("suppress-stack-size-warning"),
    silent("suppress-double-demote-warning"),
    silent("suppress-async-bulk-multicast-advisory-warning"),
    refused(
        "allow-expensive-optimizations",
        Some("allow-expensive-optimizations"),
        "--opt-level says how much is done",
    ),
    refused("compile-as-tools-patch", Some("astoolspatch"), "no code for tools' patches is made"),
    refused("def-load-cache", Some("dlcm"), CACHES),
    refused("def-store-cache", Some("dscm"), CACHES),
    refused("force-load-cache", Some("flcm"), CACHES),
    refused("force-store-cache", Some("fscm"), CACHES),
    refused("device-function-maxrregcount", Some("func-maxrregcount"), "--maxrregcount is for functions too"),
    refused("device-stack-protector", Some("device-stack-protector"), CHECKS),
    refused(
        "disable-optimizer-constants",
        Some("disable-optimizer-consts"),
        "constants that are made have no bank to avoid",
    ),
    refused("dont-merge-basicblocks", Some("no-bb-merge"), ORDER),
    refused("return-at-end", Some("ret-end"), ORDER),
    refused("extensible-whole-program", Some("ewp"), "--compile-only makes what is linked"),
    refused("g-tensor-memory-access-check", Some("g-tmem-access-check"), CHECKS),
    refused("sp-bounds-check", Some("sp-bounds-check"), CHECKS),
    refused(
        "legacy-bar-warp-wide-behavior",
        Some("legacy-bar-warp-wide-behavior"),
        "barriers are those of sm_70 and later",
    ),
    refused("maxntid", Some("maxntid"), SHAPES),
    refused("minnctapersm", Some("minnctapersm"), SHAPES),
    refused("override-directive-values", Some("override-directive-values"), "directives of the module hold"),
    refused("position-independent-code", Some("pic"), "code stands where it is loaded"),
    refused("preserve-relocs", Some("preserve-relocs"), "relocations that are resolved are not kept"),
    refused("register-usage-level", Some("register-usage-level"), "the level is 5, the default"),
    refused("warn-on-double-precision-use", Some("warn-double-usage"), "nothing looks for doubles"),
];

fn truth(text: &str) -> Result<bool, String> {
    text.parse().map_err(|_| format!("'{text}' is neither 'true' nor 'false'"))
}

fn opt_level(settings: &mut Settings, level: &str) -> Result<(), String> {
    let parsed = level.parse().ok().filter(|level| *level <= 3);
    settings.level = Some(parsed.ok_or_else(|| format!("there is no level '{level}'; there are 0 to 3"))?);
    Ok(())
}

fn fast_compile(settings: &mut Settings, how_much: &str) -> Result<(), String> {
    settings.fast = match how_much {
        "0" => FastCompile::Off,
        "min" => FastCompile::Min,
        "mid" => FastCompile::Mid,
        "max" => FastCompile::Max,
        other => return Err(format!("'{other}' is none of '0', 'min', 'mid', 'max'")),
    };
    Ok(())
}

/// The most threads: each has a stack of its own, and no machine has more cores for it.
const MOST_THREADS: usize = 1024;

/// As with ptxas 0 stands for as many threads as the host has cores.
fn split_compile(settings: &mut Settings, threads: &str) -> Result<(), String> {
    let wrong = || format!("'{threads}' is no count of threads up to {MOST_THREADS}");
    let count: usize = threads.parse().ok().filter(|count| *count <= MOST_THREADS).ok_or_else(wrong)?;
    settings.jobs = NonZeroUsize::new(count).or_else(|| std::thread::available_parallelism().ok());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_name_stands_twice() {
        let names: BTreeSet<&str> = TABLE.iter().map(|entry| entry.name).collect();
        let short: BTreeSet<&str> = TABLE.iter().filter_map(|entry| entry.short).collect();
        let with_short = TABLE.iter().filter(|entry| entry.short.is_some()).count();
        assert_eq!((names.len(), short.len()), (TABLE.len(), with_short));
    }

    #[test]
    fn every_option_is_in_the_manual() {
        let manual = include_str!("../../../docs/c.md");
        for entry in TABLE {
            assert!(manual.contains(&format!("`--{}", entry.name)), "docs/c.md lacks --{}", entry.name);
        }
    }
}
