//! What instructions are to the checks: operations on mbarriers, copies, accesses that others may make at the same time.

use super::phases::Place;
use crate::access::in_cluster;
use crate::operand::operand;
use oriole_device::Space;
use oriole_isa::{Field, Inst, Mem, Opcode, Role, TensorCopy, Value};

/// Groups of copies that `DEPBAR` leaves outstanding.
pub(super) fn outstanding(inst: &Inst) -> usize {
    match operand(inst, Role::B).value {
        Value::Imm(count) => count as usize,
        _ => 0,
    }
}

pub(super) fn is_mbarrier(opcode: Opcode) -> bool {
    matches!(
        opcode,
        Opcode::SYNCS
            | Opcode::SYNCSU_WARP
            | Opcode::SYNCSU_THREADS
            | Opcode::SYNCSU
            | Opcode::SYNCSU_LD
            | Opcode::ARRIVES
    )
}

/// The mbarrier that an address is in.
pub(super) fn mbarrier_at(address: u64, own: usize) -> Place {
    let (rank, offset) = in_cluster(address, own);
    (rank, offset & !7)
}

/// Copies that an mbarrier counts.
pub(super) fn is_bulk(opcode: Opcode) -> bool {
    let copies =
        matches!(opcode, Opcode::UBLKCP | Opcode::UBLKRED | Opcode::UGETNEXTWORKID | Opcode::STAS | Opcode::REDAS);
    copies || opcode.tensor_copy() == Some(TensorCopy::Load)
}

/// Reads of shared memory that a fence has to order behind the writes of threads.
pub(super) fn reads_by_async_proxy(opcode: Opcode) -> bool {
    opcode.copies_from_shared() || opcode.is_warpgroup_product()
}

/// A load or a store that other threads may do at the same time: `volatile`, relaxed and stronger ones. Shared memory has none.
pub(super) fn is_strong(inst: &Inst, space: Space) -> bool {
    let moves = matches!(inst.opcode, Opcode::LDG | Opcode::STG | Opcode::LD | Opcode::ST);
    let weak = |mem: Mem| {
        matches!(
            mem,
            Mem::WEAK
                | Mem::WEAK_CTA
                | Mem::WEAK_SM
                | Mem::WEAK_GPU
                | Mem::CONSTANT
                | Mem::CONSTANT_CTA
                | Mem::CONSTANT_SM
                | Mem::CONSTANT_GPU
        )
    };
    space == Space::Global && moves && !weak(inst.get(Field::MEM))
}

/// The words that `bytes` bytes from `address` on lie in, and which bytes of each.
pub(super) fn words_of(address: u64, bytes: u32) -> impl Iterator<Item = (u64, u8)> {
    let end = address.saturating_add(u64::from(bytes));
    (address / 4..end.div_ceil(4)).map(move |word| {
        let first = address.saturating_sub(4 * word).min(4);
        let last = (end - 4 * word).min(4);
        (word, ((1u16 << last) - (1 << first)) as u8)
    })
}
