//! Variables in global and constant memory: offsets and contents.

use crate::error::WriteError;
use crate::spec::{ModuleSpec, VariableSpec};

/// Most bytes of `.nv.global` (the address space), of contents in a file, of a constant bank.
const MAX_GLOBAL: u64 = 1 << 48;
const MAX_CONTENTS: u64 = 1 << 32;
const MAX_CONSTANT: u64 = 1 << 16;

/// Variables that share a section, with their offsets.
pub(super) struct VariableSection<'a> {
    pub(super) placed: Vec<(&'a VariableSpec, u64)>,
    pub(super) size: u64,
    pub(super) align: u64,
}

impl<'a> VariableSection<'a> {
    /// Puts variables with a given offset there, then the others behind each other, each at its
    /// alignment, into at most `limit` bytes.
    pub(super) fn new(variables: impl Iterator<Item = &'a VariableSpec>, limit: u64) -> Result<Self, WriteError> {
        let mut section = VariableSection { placed: Vec::new(), size: 0, align: 1 };
        let mut variables: Vec<_> = variables.collect();
        variables.sort_by_key(|v| v.offset.unwrap_or(u64::MAX));
        for variable in variables {
            let error = |what: &str| WriteError::OutOfRange { owner: variable.name.clone(), what: what.to_owned() };
            if !variable.align.is_power_of_two() {
                return Err(error("alignment is no power of two"));
            }
            if variable.init.len() as u64 > variable.size {
                return Err(error("more contents than bytes"));
            }
            let next = section.size.checked_next_multiple_of(variable.align);
            let offset = variable.offset.or(next);
            if offset.is_some_and(|o| o < section.size || !o.is_multiple_of(variable.align)) {
                return Err(error("its offset is unaligned or inside the variable before"));
            }
            let end = offset.and_then(|o| o.checked_add(variable.size));
            let end = end.filter(|&end| end <= limit);
            let (Some(offset), Some(end)) = (offset, end) else { return Err(error("too large for its section")) };
            section.placed.push((variable, offset));
            section.size = end;
            section.align = section.align.max(variable.align);
        }
        Ok(section)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.placed.is_empty()
    }

    /// The contents, zeros where nothing is given.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (variable, offset) in &self.placed {
            bytes.resize(*offset as usize, 0);
            bytes.extend_from_slice(&variable.init);
        }
        bytes.resize(self.size as usize, 0);
        bytes
    }
}

/// The variables of a module by section.
pub(super) struct Variables<'a> {
    /// `.nv.global`: zero at the start.
    pub(super) zeroed: VariableSection<'a>,
    /// `.nv.global.init`.
    pub(super) initialised: VariableSection<'a>,
    /// `.nv.constant3`.
    pub(super) constants: VariableSection<'a>,
    /// Shared memory of an object file.
    pub(super) shared: VariableSection<'a>,
}

impl<'a> Variables<'a> {
    pub(super) fn new(module: &'a ModuleSpec) -> Result<Self, WriteError> {
        let (globals, constants) = (&module.globals, &module.constants);
        let has_contents = |v: &&VariableSpec| !v.init.is_empty() || !v.relocations.is_empty();
        Ok(Variables {
            zeroed: VariableSection::new(globals.iter().filter(|v| !has_contents(v)), MAX_GLOBAL)?,
            initialised: VariableSection::new(globals.iter().filter(has_contents), MAX_CONTENTS)?,
            constants: VariableSection::new(constants.iter(), MAX_CONSTANT)?,
            shared: VariableSection::new(module.shared.iter(), MAX_CONTENTS)?,
        })
    }

    /// The sections with their names.
    pub(super) fn sections(&self) -> [(&'static str, &VariableSection<'a>); 4] {
        [(GLOBAL, &self.zeroed), (GLOBAL_INIT, &self.initialised), (CONSTANT, &self.constants), (SHARED, &self.shared)]
    }
}

/// Section names of the variables.
pub(super) const GLOBAL: &str = ".nv.global";
pub(super) const GLOBAL_INIT: &str = ".nv.global.init";
pub(super) const CONSTANT: &str = ".nv.constant3";
/// Shared variables of an object file, which no kernel owns yet; ptxas's name for it.
pub(super) const SHARED: &str = ".nv_debug.shared";
