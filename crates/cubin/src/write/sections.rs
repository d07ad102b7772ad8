//! Sections of functions: their names, which there are, and what object files call them.

use super::layout::Layout;
use super::variables::{CONSTANT, GLOBAL, GLOBAL_INIT, SHARED};
use crate::model::FileKind;
use crate::read::STO_CUDA_SHARED;
use crate::spec::{FunctionSpec, ModuleSpec};
use object::elf::SectionType;

/// Name of the section about stack frames.
pub(super) const DEBUG_FRAME: &str = ".debug_frame";
/// Name of the section of addresses: constant bank 4.
pub(super) const ADDRESS_TABLE: &str = ".nv.constant4";

/// Whether a function has a shared memory section.
pub(super) fn has_shared(function: &FunctionSpec) -> bool {
    function.shared_size > 0 || function.uses_dynamic_shared
}

/// Where a kernel's own shared memory starts in its section: behind what the system reserves,
/// which only linked files count.
pub(super) fn shared_base(module: &ModuleSpec, layout: &Layout) -> u32 {
    if module.kind == FileKind::Relocatable { 0 } else { layout.reserved_shared }
}

/// What an object file says about sections that a linked one calls plain data or memory.
pub(super) struct ObjectType {
    prefix: &'static str,
    /// Type of the section.
    pub(super) sh_type: SectionType,
    /// Bits in `st_other` of variables in the section.
    pub(super) other: u8,
}

/// Longer prefixes first.
static OBJECT_TYPES: [ObjectType; 8] = [
    ObjectType { prefix: GLOBAL_INIT, sh_type: SectionType(0x7000_0008), other: 0x20 },
    ObjectType { prefix: GLOBAL, sh_type: SectionType(0x7000_0007), other: 0x20 },
    ObjectType { prefix: ".nv.shared.", sh_type: SectionType(0x7000_000a), other: STO_CUDA_SHARED },
    ObjectType { prefix: SHARED, sh_type: SectionType(0x7000_000a), other: STO_CUDA_SHARED },
    ObjectType { prefix: ".nv.constant0", sh_type: SectionType(0x7000_0064), other: 0x80 },
    ObjectType { prefix: ".nv.constant2", sh_type: SectionType(0x7000_0066), other: 0x80 },
    ObjectType { prefix: CONSTANT, sh_type: SectionType(0x7000_0067), other: 0x80 },
    ObjectType { prefix: ADDRESS_TABLE, sh_type: SectionType(0x7000_0068), other: 0x80 },
];

/// What it says of this section.
pub(super) fn in_object_file(section: &str) -> Option<&'static ObjectType> {
    OBJECT_TYPES.iter().find(|row| section.starts_with(row.prefix))
}

/// Name of the section of its code.
pub(super) fn text_name(function: &FunctionSpec) -> String {
    format!(".text.{}", function.name)
}

/// Name of the section of its constant bank 0.
pub(super) fn bank0_name(function: &FunctionSpec) -> String {
    format!(".nv.constant0.{}", function.name)
}

/// Name of the section of its shared memory.
pub(super) fn shared_name(function: &FunctionSpec) -> String {
    format!(".nv.shared.{}", function.name)
}
