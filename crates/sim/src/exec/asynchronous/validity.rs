//! What copies from global memory report to their mbarriers (`VALIDCHK_…`).

use crate::space::Words;
use oriole_isa::{Field, Inst, Validity};

/// Whether 16 aligned bytes of global memory are reported.
pub(super) type Check = fn(&Words) -> bool;

/// What an instruction looks for. Of the element of each 16 bytes that is looked at the manual says that it is a sample; the names that
/// nvdisasm has (`XXXX8000`) are those of a word's lowest bits, so that it is the first one here.
pub(super) fn check(inst: &Inst) -> Option<Check> {
    Some(match inst.get(Field::VALIDITY) {
        Validity::F32 => |unit| unit[0] == 1 << 31,
        Validity::F16 => |unit| unit[0] & 0xffff == 1 << 15,
        Validity::F8 => |unit| unit[0] & 0xff == 1 << 7,
        Validity::F4 => |unit| unit[0] & 0xf == 1 << 3,
        Validity::FF => |unit| unit.iter().any(|word| word.to_le_bytes().contains(&0xff)),
        _ => return None,
    })
}
