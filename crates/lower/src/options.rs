//! What to lower.

use oriole_isa::Arch;

/// What to lower, and for which target.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// The target, one of [`Arch::MODELLED`].
    pub arch: Arch,
    /// Kernels to lower with all that they call; `None`: every kernel of the module.
    pub entries: Option<&'a [String]>,
    /// Code for an object file: functions and variables that other modules see keep their names, and
    /// every address is left to the linker.
    pub relocatable: bool,
    /// A jump of the program is an instruction, wherever it leads: a debugger stops on it.
    pub keeps_jumps: bool,
    /// Small functions, and those with one call, stand in place of their calls.
    pub inlines: bool,
    /// A function that calls itself last jumps to its start.
    pub tail_calls: bool,
    /// Static shared memory may be as large as a block can have, on all targets (`--enable-extended-smem`).
    pub extended_shared: bool,
    /// Name and text of the PTX file, for the source line of every instruction.
    pub source: Option<(&'a str, &'a str)>,
}

impl Options<'_> {
    /// Every kernel of a file that needs no linker, with its calls as calls, and without source lines.
    pub fn new(arch: Arch) -> Self {
        Options {
            arch,
            entries: None,
            relocatable: false,
            keeps_jumps: false,
            inlines: false,
            tail_calls: false,
            extended_shared: false,
            source: None,
        }
    }
}
