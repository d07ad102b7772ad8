//! [`ModuleSpec`] to bytes.

use crate::error::WriteError;
use crate::spec::ModuleSpec;
use crate::target::Target;

/// Writes a module as a cubin. The same description gives the same bytes.
pub fn write(_module: &ModuleSpec) -> Result<Vec<u8>, WriteError> {
    Err(WriteError::Elf("the writer is being written".into()))
}

/// Byte offset of the first kernel parameter in constant bank 0, `None` for an unknown target.
pub fn param_base(target: Target) -> Option<u32> {
    match target.sm {
        70..=89 => Some(0x160),
        90 => Some(0x210),
        100..=129 => Some(0x380),
        _ => None,
    }
}

/// Bytes at the start of a block's shared memory that the system keeps: the first address of a
/// kernel's own shared memory. 0x400 for sm_90 and later, else 0.
pub fn reserved_shared(target: Target) -> u32 {
    if target.sm >= 90 { 0x400 } else { 0 }
}
