//! What to compile, and how.

use crate::error::CompileError;
use crate::selection::passes;
use oriole_cubin::{Suffix, Target};
use oriole_opt::knobs::Knobs;
use oriole_passes::{FastCompile, Limit, Settings};
use std::borrow::Cow;

/// The highest `-O` level.
const HIGHEST_LEVEL: u8 = 3;

/// What to compile and how.
#[derive(Clone, Debug)]
pub struct CompileOptions {
    /// Target; the module's `.target` where it is not given.
    pub target: Option<Target>,
    /// `-O` level, 0 to 3. A module for debuggers (`.target …, debug`) is compiled at 0 where the level is nobody's choice.
    pub opt_level: u8,
    /// Somebody has chosen the level.
    pub level_is_chosen: bool,
    /// How much of the level is left out so that compiling takes less time.
    pub fast_compile: FastCompile,
    /// Upper bound of R registers per thread.
    pub maxrregcount: Option<u32>,
    /// The same for the functions of an object file that are no kernels.
    pub device_maxrregcount: Option<u32>,
    /// How readily registers are spent where they cost warps, 0 to 10; 5 where it is not given.
    pub register_usage_level: Option<u8>,
    /// Kernels to compile; all where empty.
    pub entries: Vec<String>,
    /// `NAME=VALUE` settings of knobs.
    pub knobs: Vec<String>,
    /// Threads that work on functions side by side; the bytes do not depend on it.
    pub jobs: usize,
    /// Verify the IR after every phase, and the allocation.
    pub verify: bool,
    /// Names of the phases after which the Ori of each function is kept.
    pub dump_after: Vec<String>,
    /// Keep the Ori of each function after every phase that changed it.
    pub dump_all: bool,
    /// Keep the control-flow graph of each function.
    pub graphs: bool,
    /// Keep the module as allocation leaves it, for [`crate::pressure`].
    pub pressure: bool,
    /// Keep over which threads each value is the same, and why: [`crate::Compiled::uniformity`].
    pub uniformity: bool,
    /// Spell the mnemonics of kept Ori as the published opcode table does, letters turned by 13.
    pub rot13: bool,
    /// Names of optional phases that do not run.
    pub disabled_passes: Vec<String>,
    /// How far the optional phases go, counted over the module's functions; no limit where `None`.
    pub pass_limit: Option<Limit>,
    /// Name of the source file, for line information.
    pub file_name: String,
    /// Make an object file for a linker.
    pub relocatable: bool,
    /// Static shared memory may be as large as a block can have. So it may on targets of one chip (`sm_90a`) anyway.
    pub extended_shared: bool,
    /// What the cubin tells the program on the host, word for word: section `.nv.host`.
    pub host: Option<Vec<u8>>,
    /// What the cubin tells debuggers.
    pub debug: DebugInfo,
}

impl Default for CompileOptions {
    /// What `oriole compile` does without options.
    fn default() -> Self {
        CompileOptions {
            target: None,
            opt_level: 3,
            level_is_chosen: false,
            fast_compile: FastCompile::Off,
            maxrregcount: None,
            device_maxrregcount: None,
            register_usage_level: None,
            entries: Vec::new(),
            knobs: Vec::new(),
            jobs: 1,
            verify: false,
            dump_after: Vec::new(),
            dump_all: false,
            graphs: false,
            pressure: false,
            uniformity: false,
            rot13: false,
            disabled_passes: Vec::new(),
            pass_limit: None,
            file_name: String::new(),
            relocatable: false,
            extended_shared: false,
            host: None,
            debug: DebugInfo::None,
        }
    }
}

/// How much a cubin tells debuggers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DebugInfo {
    /// Stack frames only.
    #[default]
    None,
    /// Source lines too.
    Lines,
    /// Source lines and functions.
    Full,
}

impl CompileOptions {
    /// What a file may have for these options.
    pub fn leeway(&self) -> oriole_ptx::Leeway {
        oriole_ptx::Leeway { object: self.relocatable, extended_shared: self.extends_shared(self.target) }
    }

    /// Whether static shared memory may be as large as a block of the target can have; the option alone says so where none is known.
    pub(crate) fn extends_shared(&self, target: Option<Target>) -> bool {
        self.extended_shared || target.is_some_and(|target| target.suffix == Suffix::Arch)
    }

    /// Whether the options make sense, as far as that does not depend on the module.
    ///
    /// # Errors
    /// A level, knob or phase that there is not.
    pub fn check(&self) -> Result<(), CompileError> {
        self.knobs()?;
        self.settings().map(drop)
    }

    /// The options for a module with this `.target`.
    pub(crate) fn for_target(&self, words: &[String]) -> Result<Cow<'_, CompileOptions>, CompileError> {
        let for_debugger = words.iter().any(|word| word == "debug");
        match self.opt_level {
            0 => Ok(Cow::Borrowed(self)),
            _ if !for_debugger => Ok(Cow::Borrowed(self)),
            _ if self.level_is_chosen => Err(CompileError::OptimisedDebugging),
            _ => Ok(Cow::Owned(CompileOptions { opt_level: 0, ..self.clone() })),
        }
    }

    /// The knobs as set.
    pub(crate) fn knobs(&self) -> Result<Knobs, CompileError> {
        let mut knobs = Knobs::default();
        for setting in &self.knobs {
            knobs.set(setting)?;
        }
        Ok(knobs)
    }

    /// What the options say about passes, if every name in them is one that has an effect.
    pub(crate) fn settings(&self) -> Result<Settings, CompileError> {
        if self.opt_level > HIGHEST_LEVEL {
            return Err(CompileError::Level(self.opt_level));
        }
        let settings = Settings {
            level: self.opt_level,
            fast: self.fast_compile,
            disabled: self.disabled_passes.clone(),
            limit: self.pass_limit,
            dump_after: self.dump_after.clone(),
            dump_all: self.dump_all,
            verify: self.verify,
        };
        settings.check(&passes().collect::<Vec<_>>())?;
        Ok(settings)
    }
}
