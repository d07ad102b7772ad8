//! `.nv.compat`: what the code demands of the GPU, from sm_90 on.
//!
//! Records have the shape of `.nv.info` records, with numbers of their own.

use crate::error::CubinError;
use crate::nvinfo;
use crate::target::Suffix;
use object::elf::SectionType;

/// Section type of `.nv.compat`.
pub(crate) const SHT_CUDA_COMPAT: SectionType = SectionType(0x7000_0086);

/// Record that tells the target's suffix (`CUDA_ACCELERATOR_TARGET`).
pub(crate) const ACCELERATOR_TARGET: u8 = 0x09;

/// Values of that record. ptxas 13.0 writes 0 for the family targets too.
const SUFFIXES: &[(u32, Suffix)] = &[(0, Suffix::None), (1, Suffix::Arch)];

/// The suffix that the section names, if it does.
pub(crate) fn suffix(bytes: &[u8], file_offset: u64) -> Result<Option<Suffix>, CubinError> {
    let records = nvinfo::decode(bytes, file_offset)?;
    let record = records.iter().find(|r| r.number == ACCELERATOR_TARGET);
    let value = record.and_then(|r| r.as_words().first().copied());
    Ok(value.and_then(|v| SUFFIXES.iter().find(|row| row.0 == v)).map(|row| row.1))
}

/// Numbers and values of the other records that ptxas 13.0 writes, always the same on sm_90. The
/// names are those that cuobjdump prints.
pub(crate) const ISA_CLASS: u8 = 0x02;
pub(crate) const INST_TENSORMAP_V1: u8 = 0x03;
pub(crate) const INST_TCGEN05_MMA: u8 = 0x05;
pub(crate) const ENABLE_OPPORTUNISTIC_FINALIZATION: u8 = 0x06;
pub(crate) const MERCURY_ISA_VERSION: u8 = 0x07;
pub(crate) const CAN_FASTPATH_FINALIZE: u8 = 0x0b;
/// What ptxas 13.5 writes besides `MERCURY_ISA_VERSION`, and on sm_107 in its place; cuobjdump does not name it.
pub(crate) const ISA_VERSION: u8 = 0x0d;
