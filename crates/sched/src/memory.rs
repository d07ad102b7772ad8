//! Which memory accesses must keep their order.

use crate::code::{Op, access_bytes};
use oriole_isa::{Effects, Opcode, RegFile, Role, Value};
use oriole_ori::InstFlags;

/// The memory that an access can reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    Global,
    Shared,
    Local,
    /// A generic address, or an instruction whose memory is not known: any of them.
    Any,
}

/// Mnemonics with a space of their own.
const SPACES: [(Opcode, Space); 12] = [
    (Opcode::LDG, Space::Global),
    (Opcode::STG, Space::Global),
    (Opcode::LDG_256, Space::Global),
    (Opcode::STG_256, Space::Global),
    (Opcode::ATOMG, Space::Global),
    (Opcode::REDG, Space::Global),
    (Opcode::LDS, Space::Shared),
    (Opcode::STS, Space::Shared),
    (Opcode::ATOMS, Space::Shared),
    (Opcode::LDSM, Space::Shared),
    (Opcode::LDL, Space::Local),
    (Opcode::STL, Space::Local),
];

/// An access that takes part in memory order.
#[derive(Clone, Debug)]
pub(crate) struct MemoryAccess {
    space: Space,
    pub(crate) writes: bool,
    ordered: bool,
    /// Base registers with the number of their definition in this block, and the byte range.
    place: Option<Place>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    base: Vec<(RegFile, u16, u32)>,
    from: i64,
    to: i64,
}

impl MemoryAccess {
    /// What `op` does to memory; `None` where it does nothing that needs an order. `version` numbers
    /// the definitions of a register so far, so that equal bases are known to be equal values.
    pub(crate) fn of(op: &Op, version: impl Fn(RegFile, u16) -> u32) -> Option<MemoryAccess> {
        let (reads, writes) = (op.has(Effects::READS_MEMORY), op.has(Effects::WRITES_MEMORY));
        if !reads && !writes || op.flags.contains(InstFlags::INVARIANT) {
            return None;
        }
        let space = SPACES.iter().find(|(opcode, _)| *opcode == op.inst.opcode).map_or(Space::Any, |(_, s)| *s);
        let ordered = op.flags.contains(InstFlags::VOLATILE);
        Some(MemoryAccess { space, writes, ordered, place: place(op, version) })
    }

    /// The two may not change places.
    pub(crate) fn conflicts(&self, other: &MemoryAccess) -> bool {
        if self.ordered && other.ordered {
            return true;
        }
        let meet = self.space == other.space || self.space == Space::Any || other.space == Space::Any;
        (self.writes || other.writes) && meet && !self.is_apart(other)
    }

    /// Same base, different bytes.
    fn is_apart(&self, other: &MemoryAccess) -> bool {
        match (&self.place, &other.place) {
            (Some(a), Some(b)) => self.space == other.space && a.base == b.base && (a.to <= b.from || b.to <= a.from),
            _ => false,
        }
    }
}

fn place(op: &Op, version: impl Fn(RegFile, u16) -> u32) -> Option<Place> {
    if op.has(Effects::READS_MEMORY) && op.has(Effects::WRITES_MEMORY) {
        return None;
    }
    let operand = |role: Role| op.inst.opcode.position(role).map(|at| op.inst.operands[at].value);
    let mut base = Vec::new();
    for role in [Role::Base, Role::UBase] {
        if let Some(Value::Reg(file, number)) = operand(role) {
            base.push((file, number, version(file, number)));
        }
    }
    let Some(Value::Imm(offset)) = operand(Role::Offset) else { return None };
    let from = offset as i64;
    Some(Place { base, from, to: from + access_bytes(&op.inst) })
}
