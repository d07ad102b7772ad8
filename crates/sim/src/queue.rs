//! What strict simulation knows of instructions of variable latency besides the tables of `isa`.
//!
//! Source: what ptxas's code relies on (`../shared/latency/digest.md`, "Facts about the control
//! bits").

use crate::operand::operand;
use oriole_isa::latency::{self, Queue};
use oriole_isa::{Arch, Inst, Opcode, RegFile, Role, Value};

/// In-order queues.
pub(crate) const QUEUES: usize = 4;
/// Orders in which sources are read: that of memory instructions, and one per queue.
pub(crate) const READ_ORDERS: usize = 1 + QUEUES;

/// Number of a queue.
pub(crate) fn index(queue: Queue) -> usize {
    match queue {
        Queue::Shared => 0,
        Queue::Transcendental => 1,
        Queue::Double => 2,
        Queue::SpecialUniform => 3,
    }
}

/// Instructions of one order read their sources one after the other: the second may overwrite what
/// the first reads, and a wait for the second covers the first. All that go to memory are one.
pub(crate) fn read_order(inst: &Inst, arch: Arch) -> Option<usize> {
    match inst.opcode.info().pipe {
        "memory" => Some(0),
        _ => latency::queue(inst, arch).map(|queue| 1 + index(queue)),
    }
}

/// The result is ready when the read scoreboard is released already: the predicate of a generic
/// atomic says whether the address was global, before the operation is done.
pub(crate) fn is_early(inst: &Inst, file: RegFile) -> bool {
    inst.opcode == Opcode::ATOM && file == RegFile::P
}

/// Scoreboards that `DEPBAR` waits for, each with the number of operations that may be left.
pub(crate) fn depbar(inst: &Inst) -> Vec<(usize, u64)> {
    if inst.opcode != Opcode::DEPBAR {
        return Vec::new();
    }
    let value = |role| match operand(inst, role).value {
        Value::Imm(value) => value,
        _ => 0,
    };
    let mask = value(Role::Mask);
    let mut waits: Vec<(usize, u64)> = (0..6).filter(|at| mask >> at & 1 != 0).map(|at| (at, 0)).collect();
    if let Value::Reg(RegFile::SB, number) = operand(inst, Role::A).value {
        waits.push((usize::from(number), value(Role::B)));
    }
    waits
}

/// The predicates that `P2R` reads or `R2P` writes, which its signature does not name: one bit each.
pub(crate) fn packed_predicates(inst: &Inst) -> u64 {
    match (inst.opcode, operand(inst, Role::B).value) {
        (Opcode::P2R | Opcode::R2P, Value::Imm(mask)) => mask & 0x7f,
        (Opcode::P2R | Opcode::R2P, _) => 0x7f,
        _ => 0,
    }
}
