//! ptxas's options: what they set, and how they are read.

use crate::option_table::{Act, Entry, TABLE};
use oriole::{Compiler, CompilerBuilder, DebugInfo, FastCompile, SettingError};
use std::num::NonZeroUsize;

/// What the options of one compilation say.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Settings {
    pub(crate) target: Option<String>,
    pub(crate) level: Option<u8>,
    pub(crate) fast: FastCompile,
    pub(crate) max_registers: Option<u32>,
    pub(crate) entries: Vec<String>,
    pub(crate) jobs: Option<NonZeroUsize>,
    pub(crate) line_info: bool,
    pub(crate) debug: bool,
    pub(crate) relocatable: bool,
    /// `--fmad=false`: products and sums stay two operations.
    pub(crate) no_fusing: bool,
    pub(crate) verbose: bool,
    pub(crate) warn_on_spills: bool,
    pub(crate) warn_on_local_memory: bool,
    pub(crate) no_warnings: bool,
    pub(crate) warnings_are_errors: bool,
}

impl Settings {
    /// Reads options as ptxas takes them, one after the other: `--name`, `--name=value`, `--name value` in one string or
    /// two, and the same with the short names. Of what is said twice the last counts.
    ///
    /// # Errors
    /// The first option that is wrong, unknown or not supported, by its name.
    pub(crate) fn read(options: &[String]) -> Result<Settings, String> {
        let mut settings = Settings::default();
        let mut rest = options.iter().map(|option| option.trim());
        while let Some(option) = rest.next() {
            let (name, value) = split(option);
            let entry = find(name).ok_or_else(|| format!("unknown option '{name}'"))?;
            settings.take(entry, value, &mut rest).map_err(|why| format!("option '{name}': {why}"))?;
        }
        if settings.debug && settings.level.is_some_and(|level| level > 0) {
            return Err("option '--device-debug' compiles at '--opt-level=0': give no other level".to_owned());
        }
        Ok(settings)
    }

    fn take<'a>(
        &mut self,
        entry: &Entry,
        value: Option<&'a str>,
        rest: &mut impl Iterator<Item = &'a str>,
    ) -> Result<(), String> {
        match (&entry.act, value) {
            (Act::Switch(set), None | Some("true")) => set(self, true),
            (Act::Switch(set), Some("false")) => set(self, false),
            (Act::Switch(_), Some(other)) => return Err(format!("'{other}' is neither 'true' nor 'false'")),
            (Act::Value(set), Some(value)) => set(self, value)?,
            (Act::Value(set), None) => set(self, rest.next().ok_or("a value is missing")?)?,
            (Act::Refused(why), _) => return Err(format!("not supported: {why}")),
        }
        Ok(())
    }

    /// The compiler for such a compilation of an input of that name.
    ///
    /// # Errors
    /// The target or the level does not exist.
    pub(crate) fn compiler(&self, file_name: &str) -> Result<CompilerBuilder, SettingError> {
        let debug = match (self.debug, self.line_info) {
            (true, _) => DebugInfo::Full,
            (false, true) => DebugInfo::Lines,
            (false, false) => DebugInfo::None,
        };
        let builder = Compiler::builder().file_name(file_name).debug_info(debug).relocatable(self.relocatable);
        let builder = builder.fast_compile(self.fast);
        let builder = self.target.iter().fold(builder, CompilerBuilder::target);
        let level = if self.debug { Some(0) } else { self.level };
        let builder = level.into_iter().fold(builder, CompilerBuilder::opt_level);
        let builder = self.max_registers.into_iter().fold(builder, CompilerBuilder::max_registers);
        let builder = self.entries.iter().fold(builder, CompilerBuilder::entry);
        let builder = self.jobs.into_iter().fold(builder, CompilerBuilder::jobs);
        let builder = if self.no_fusing { builder.knob("contract", 0) } else { builder };
        builder.clone().build()?;
        Ok(builder)
    }
}

/// The name of an option with its dashes, and its value where it stands in the same string. `-O3` is `-O` with a value.
fn split(option: &str) -> (&str, Option<&str>) {
    if let Some(level) = option.strip_prefix("-O").filter(|level| level.starts_with(|c: char| c.is_ascii_digit())) {
        return (&option[..2], Some(level));
    }
    match option.split_once(|c: char| c == '=' || c.is_ascii_whitespace()) {
        Some((name, value)) => (name, Some(value.trim())),
        None => (option, None),
    }
}

/// Long names stand behind two dashes, short ones behind one.
fn find(name: &str) -> Option<&'static Entry> {
    if let Some(long) = name.strip_prefix("--") {
        return TABLE.iter().find(|entry| entry.name == long);
    }
    let short = name.strip_prefix('-')?;
    TABLE.iter().find(|entry| entry.short == Some(short))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(options: &[&str]) -> Result<Settings, String> {
        Settings::read(&options.iter().map(|option| (*option).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn every_spelling_of_a_value_is_read() {
        let spellings: [&[&str]; 6] = [
            &["--gpu-name=sm_90"],
            &["--gpu-name", "sm_90"],
            &["--gpu-name sm_90"],
            &["-arch=sm_90"],
            &["-arch", "sm_90"],
            &[" -arch  sm_90 "],
        ];
        for options in spellings {
            let settings = read(options).unwrap_or_else(|error| panic!("{options:?}: {error}"));
            assert_eq!(settings, Settings { target: Some("sm_90".to_owned()), ..Settings::default() }, "{options:?}");
        }
        for options in [&["-O2"][..], &["-O", "2"], &["-O=2"], &["--opt-level=2"], &["-O3", "--opt-level", "2"]] {
            assert_eq!(read(options).expect("a level").level, Some(2), "{options:?}");
        }
    }

    #[test]
    fn every_option_sets_what_it_says() {
        let settings = read(&[
            "-maxrregcount=40",
            "-lineinfo",
            "-g",
            "-c",
            "--fmad=false",
            "-v",
            "-warn-spills",
            "-warn-lmem-usage",
            "-w",
            "-Werror",
            "-e",
            "one,two",
            "--entry=three",
            "--split-compile=2",
            "-Ofc=mid",
        ]);
        let expected = Settings {
            target: None,
            level: None,
            fast: FastCompile::Mid,
            max_registers: Some(40),
            entries: ["one", "two", "three"].map(str::to_owned).to_vec(),
            jobs: NonZeroUsize::new(2),
            line_info: true,
            debug: true,
            relocatable: true,
            no_fusing: true,
            verbose: true,
            warn_on_spills: true,
            warn_on_local_memory: true,
            no_warnings: true,
            warnings_are_errors: true,
        };
        assert_eq!(settings, Ok(expected));
        assert_eq!(read(&["-v", "--verbose=false", "--fmad", "true"]), Ok(Settings::default()));
    }

    #[test]
    fn what_is_wrong_is_called_by_its_name() {
        let cases: [(&[&str], &str); 12] = [
            (&["--no-such"], "unknown option '--no-such'"),
            (&["k.ptx"], "unknown option 'k.ptx'"),
            (&[""], "unknown option ''"),
            (&["--lineinfo"], "unknown option '--lineinfo'"),
            (&["-O4"], "option '-O': there is no level '4'; there are 0 to 3"),
            (&["-O"], "option '-O': a value is missing"),
            (&["--maxrregcount=many"], "option '--maxrregcount': 'many' is no count of registers"),
            (&["--fmad=no"], "option '--fmad': 'no' is neither 'true' nor 'false'"),
            (&["-v=2"], "option '-v': '2' is neither 'true' nor 'false'"),
            (&["-Ofc=most"], "option '-Ofc': 'most' is none of '0', 'min', 'mid', 'max'"),
            (&["-g", "-O3"], "option '--device-debug' compiles at '--opt-level=0': give no other level"),
            (&["-pic"], "option '-pic': not supported: code stands where it is loaded"),
        ];
        for (options, message) in cases {
            assert_eq!(read(options), Err(message.to_owned()), "{options:?}");
        }
    }
}
