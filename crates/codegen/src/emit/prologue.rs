//! Code that stands before a kernel's own.

use crate::error::CompileError;
use oriole_isa::{Arch, Control, encode, parse};
use oriole_ori::INST_BYTES;

/// What ptxas 13.0.88 begins every kernel for sm_87 with, and tells the driver by `SW_WAR` 2: unless UR2 says that it has been done, all
/// convergence barriers of the warp are set and cleared. Text, stall count, and whether the warp stays.
const OF_SM87: [(&str, u8, bool); 20] = [
    ("ISETP.NE.U32.AND P0, PT, RZ, UR2, PT", 13, false),
    ("@P0 BRA 0x140", 5, true),
    ("BMOV.32 B0, 0xffffffff", 4, true),
    ("BMOV.32.CLEAR B1, B0", 4, true),
    ("BMOV.32.CLEAR B2, B1", 4, true),
    ("BMOV.32.CLEAR B3, B2", 4, true),
    ("BMOV.32.CLEAR B4, B3", 4, true),
    ("BMOV.32.CLEAR B5, B4", 4, true),
    ("BMOV.32.CLEAR B6, B5", 4, true),
    ("BMOV.32.CLEAR B7, B6", 4, true),
    ("BMOV.32.CLEAR B8, B7", 4, true),
    ("BMOV.32.CLEAR B9, B8", 4, true),
    ("BMOV.32.CLEAR B10, B9", 4, true),
    ("BMOV.32.CLEAR B11, B10", 4, true),
    ("BMOV.32.CLEAR B12, B11", 4, true),
    ("BMOV.32.CLEAR B13, B12", 4, true),
    ("BMOV.32.CLEAR B14, B13", 4, true),
    ("BMOV.32.CLEAR B15, B14", 4, true),
    ("BMOV.32 B15, 0x0", 4, true),
    ("UMOV UR2, 0x1", 2, true),
];

/// The words before the first instruction of a kernel.
///
/// # Errors
/// Where the ISA data lacks one of them, which is a fault of ours.
pub(crate) fn of_kernel(arch: Arch) -> Result<Vec<u8>, CompileError> {
    let lines: &[_] = if arch == Arch::Sm87 { &OF_SM87 } else { &[] };
    let fault = |reason: String| CompileError::Internal { function: String::new(), reason };
    let mut code = Vec::new();
    for ((text, stall, stay), at) in lines.iter().zip((0..).step_by(INST_BYTES as usize)) {
        let mut inst = parse(text, arch, &|_| None).map_err(|error| fault(format!("{text}: {error}")))?;
        inst.control = Control { stall: *stall, stay: *stay, ..Control::NONE };
        code.extend(encode(&inst, arch, at).map_err(|error| fault(format!("{text}: {error}")))?.to_le_bytes());
    }
    Ok(code)
}
