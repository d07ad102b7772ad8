//! Bytes to [`Cubin`].

use crate::error::CubinError;
use crate::model::Cubin;

impl Cubin {
    /// Reads a cubin. Any bytes are safe to give: damage is an error, never a panic.
    pub fn parse(_bytes: &[u8]) -> Result<Cubin, CubinError> {
        Err(CubinError::Elf("the reader is being written".into()))
    }

    /// The kernel called `name`.
    pub fn kernel(&self, name: &str) -> Option<&crate::model::Function> {
        self.functions.iter().find(|f| f.is_kernel && f.name == name)
    }

    /// The code of a function.
    pub fn code(&self, function: &crate::model::Function) -> &[u8] {
        let data = self.sections.get(function.section).map_or(&[][..], |s| &s.data);
        let start = usize::try_from(function.offset).unwrap_or(usize::MAX);
        let size = usize::try_from(function.size).unwrap_or(usize::MAX);
        data.get(start..start.saturating_add(size)).unwrap_or(&[])
    }
}
