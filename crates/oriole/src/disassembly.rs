//! Machine code as text.

use crate::error::CubinError;

/// The code of all kernels of a cubin, as nvdisasm lists it, each instruction with its scheduling bits in front.
///
/// # Errors
/// The bytes are no cubin, or its tables lead out of it, or of a target that is not known.
pub fn disassemble(cubin: &[u8]) -> Result<String, CubinError> {
    let cubin = oriole_cubin::Cubin::parse(cubin).map_err(|error| CubinError(error.to_string()))?;
    oriole_assembly::list_functions(&cubin, &[], true).map_err(|error| CubinError(error.to_string()))
}
