//! The passes between lowering and encoding, by name, for `--disable-pass`, `--pass-limit`, `--dump-after`. Runs are numbered with the functions in the order of their calls, callees first, each with its passes in
//! the order of the pipeline; then the orders of each function's instructions, before allocation and behind it.

use oriole_opt::pipeline::PIPELINE;
use oriole_passes::{FastCompile, Pass, PassInfo, Repetition};

const fn stage(name: &'static str, slots: &'static [u16], level: u8, fast: FastCompile, needed: bool) -> PassInfo {
    Pass { name, slots, level, fast, needed, repetition: Repetition::Once, rules: &[], run: () }
}

/// What makes Ori of PTX: no phase, but what the first of them starts from.
pub(crate) const LOWERING: PassInfo = stage("Lowering", &[], 0, FastCompile::Max, true);
/// The order of instructions before allocation.
pub(crate) const ORDER: PassInfo = stage("AdvancedPhasePreSched", &[97], 1, FastCompile::Min, false);
/// The allocator.
pub(crate) const ALLOCATION: PassInfo = stage("AdvancedPhaseAllocReg", &[101], 0, FastCompile::Max, true);
/// The reordering of instructions. Without it they keep their places and only get control words.
pub(crate) const SCHEDULING: PassInfo = stage("AdvancedPhasePostSched", &[106], 1, FastCompile::Max, false);

/// All passes between lowering and encoding, in the order in which they run.
pub fn passes() -> impl Iterator<Item = PassInfo> {
    PIPELINE.iter().map(Pass::info).chain([ORDER, ALLOCATION, SCHEDULING])
}

/// Names of what [`CompileOptions::disabled_passes`](crate::CompileOptions::disabled_passes) can name at a level.
pub fn optional_passes(level: u8) -> impl Iterator<Item = &'static str> {
    passes().filter(move |pass| !pass.needed && pass.level <= level).map(|pass| pass.name)
}

/// Names of the passes at a level behind which a pass of the caller's own can run.
pub fn places(level: u8) -> impl Iterator<Item = &'static str> {
    PIPELINE.iter().filter(move |pass| pass.level <= level).map(|pass| pass.name)
}
