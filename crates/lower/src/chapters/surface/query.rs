//! `suq`: properties of surfaces.

use crate::chapters::texture::query::{Table, of_surface};
use crate::error::Lowered;
use crate::function::FnLower;
use oriole_ptx::ast::{Instruction, Word};

/// What a driver keeps of surfaces; the offsets are those of ptxas's code.
const SURFACES: Table = Table {
    number: 2,
    entry: ".nv.surfrefDescSize",
    properties: &[
        (Word::ChannelDataType, 0xc),
        (Word::ChannelOrder, 0x10),
        (Word::MemoryLayout, 0x14),
        (Word::ArraySize, 0x1c),
    ],
};

/// `suq.query.b32 d, [a];`
pub(crate) fn lower(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    of_surface(cx, instruction, &SURFACES)
}
