//! Entries of pipelines.

/// Whether a pass changed what it ran on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changed {
    /// It is as it was.
    No,
    /// Something is different.
    Yes,
}

impl Changed {
    /// `Yes` where `condition` holds.
    pub fn when(condition: bool) -> Self {
        if condition { Changed::Yes } else { Changed::No }
    }

    /// `Yes` if either is.
    pub fn or(self, other: Changed) -> Self {
        Changed::when(self == Changed::Yes || other == Changed::Yes)
    }
}

/// How often a pass runs at its place in the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repetition {
    /// Once.
    Once,
    /// By itself until it changes nothing.
    Settle,
    /// Once, where the pass of that name before it has changed something.
    After(&'static str),
}

/// How much is left out so that a compilation takes less time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum FastCompile {
    /// Nothing.
    #[default]
    Off,
    /// What takes much time for little.
    Min,
    /// What takes time, where much of what it is good for stays.
    Mid,
    /// All that does not save as much time behind it as it takes.
    Max,
}

/// One entry of a pipeline; the same code may stand at several places.
#[derive(Clone, Copy, Debug)]
pub struct Pass<R: 'static> {
    /// Its name, in options, dumps and reports.
    pub name: &'static str,
    /// The published slots that it fills; none where the pipeline has no published numbers.
    pub slots: &'static [u16],
    /// The lowest `-O` level at which it runs.
    pub level: u8,
    /// The most of `--fast-compile` with which it still runs.
    pub fast: FastCompile,
    /// The code of that level is wrong without it.
    pub needed: bool,
    /// How often it runs.
    pub repetition: Repetition,
    /// Names of what its rewrites are counted by.
    pub rules: &'static [&'static str],
    /// The code, in whatever form the pipeline calls it.
    pub run: R,
}

/// What is said of a pass, whatever its code works on.
pub type PassInfo = Pass<()>;

impl<R> Pass<R> {
    /// A pass from a level on that can be left out.
    pub const fn optional(name: &'static str, level: u8, run: R) -> Pass<R> {
        Pass::listed(name, level, false, run)
    }

    /// A pass that correct code of that level and above needs.
    pub const fn needed(name: &'static str, level: u8, run: R) -> Pass<R> {
        Pass::listed(name, level, true, run)
    }

    /// A pass with neither slots nor rules, which runs once however fast the compilation is to be.
    const fn listed(name: &'static str, level: u8, needed: bool, run: R) -> Pass<R> {
        let (fast, repetition) = (FastCompile::Max, Repetition::Once);
        Pass { name, slots: &[], level, fast, needed, repetition, rules: &[], run }
    }

    /// What is said of it, without the code.
    pub fn info(&self) -> PassInfo {
        let Pass { name, slots, level, fast, needed, repetition, rules, .. } = *self;
        Pass { name, slots, level, fast, needed, repetition, rules, run: () }
    }

    /// The published number by which it is known: the first of its slots, 0 where it has none.
    pub fn number(&self) -> u16 {
        self.slots.first().copied().unwrap_or(0)
    }
}
