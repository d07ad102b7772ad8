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

/// What a compilation knows of one kernel that the cubin does not say ([`Cubin::with_origin`](crate::Cubin::with_origin)).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelOrigin {
    /// Name of the kernel.
    pub name: String,
    /// By parameter: its type as [`Parameter::ty`] has it.
    pub types: Vec<Option<String>>,
    /// Byte offsets of instructions, ascending, and their lines of the PTX, as [`Cubin::lines`](crate::Cubin::lines) has them.
    pub lines: Vec<(u64, u32)>,
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

    /// The same from what was kept; the wrong word if a type is none of PTX.
    pub(crate) fn of_kernels(
        file_name: String,
        kernels: impl IntoIterator<Item = KernelOrigin>,
    ) -> Result<Origin, String> {
        let mut origin = Origin { file_name, ..Origin::default() };
        for mut kernel in kernels {
            let types = kernel.types.into_iter().map(|ty| ty.map(scalar_type).transpose());
            origin.types.insert(kernel.name.clone(), types.collect::<Result<_, _>>()?);
            kernel.lines.sort_unstable();
            origin.lines.insert(kernel.name, kernel.lines);
        }
        Ok(origin)
    }

    /// Name of the PTX file; empty where it is not known.
    pub(crate) fn file_name(&self) -> &str {
        &self.file_name
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

fn scalar_type(name: String) -> Result<ScalarType, String> {
    ScalarType::ALL.iter().find(|ty| ty.as_str() == name).copied().ok_or(name)
}
