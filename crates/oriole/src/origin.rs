//! What a compilation knows of a cubin that the file does not say.

use oriole_codegen::ParameterType;
use oriole_ptx::ast::ScalarType;
use std::collections::BTreeMap;

/// A kernel's parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Parameter {
    /// Byte offset among the parameters.
    pub offset: u32,
    /// Size in bytes.
    pub size: u32,
    /// Its type as PTX spells it, such as `f32`: where Oriole compiled the cubin, and it is no aggregate.
    pub ty: Option<&'static str>,
}

/// Where a cubin came from; empty for one that was read from a file.
#[derive(Clone, Default)]
pub(crate) struct Origin {
    /// By kernel: the types of its parameters that have a place.
    types: BTreeMap<String, Vec<ParameterType>>,
    /// By kernel: byte offsets of instructions, ascending, and their lines of the PTX.
    lines: BTreeMap<String, Vec<(u64, u32)>>,
    /// Name of the PTX file.
    file_name: String,
}

impl Origin {
    /// `file_name` is that of the PTX that lines mean, where there is one.
    pub(crate) fn new(compiled: &oriole_codegen::Compiled, file_name: Option<&str>) -> Origin {
        let lines = compiled.lines.iter().filter(|_| file_name.is_some());
        let lines = lines.map(|(name, table)| (name.clone(), table.iter().map(|(at, loc)| (*at, loc.line)).collect()));
        Origin {
            types: compiled.parameters.clone(),
            lines: lines.collect(),
            file_name: file_name.unwrap_or_default().to_owned(),
        }
    }

    /// The type of a kernel's parameter, as PTX declares it, where that is known and no aggregate.
    pub(crate) fn parameter_type(&self, kernel: &str, index: usize) -> Option<ScalarType> {
        *self.types.get(kernel)?.get(index)?
    }

    /// The lines of the PTX that a kernel's instructions come from: byte offset and line, ascending.
    pub(crate) fn lines(&self, kernel: &str) -> &[(u64, u32)] {
        self.lines.get(kernel).map_or(&[], Vec::as_slice)
    }

    /// The file and line of the instruction at a byte offset of the kernel.
    pub(crate) fn line(&self, kernel: &str, offset: u64) -> Option<(&str, u32)> {
        let lines = self.lines.get(kernel)?;
        let at = lines.binary_search_by_key(&offset, |(at, _)| *at).ok()?;
        Some((&self.file_name, lines[at].1))
    }
}
