//! Which memory accesses must keep their order.

use crate::code::Reg;
use oriole_isa::{Effects, Field, Inst, MemSize, Opcode, Role, Space, Value};
use oriole_ori::InstFlags;
use smallvec::SmallVec;

/// An access that takes part in memory order.
#[derive(Clone, Debug)]
pub(crate) struct MemoryAccess {
    space: Space,
    pub(crate) writes: bool,
    ordered: bool,
    /// Base registers and the byte range.
    place: Option<Place>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    base: SmallVec<[Reg; 2]>,
    from: i64,
    to: i64,
}

impl MemoryAccess {
    /// What an instruction does to memory; `None` where it does nothing that needs an order. `register` gives the first
    /// register of the operand at a position, none for the zero register.
    pub(crate) fn of(inst: &Inst, flags: InstFlags, register: impl Fn(usize) -> Option<Reg>) -> Option<MemoryAccess> {
        let effects = inst.opcode.info().effects;
        let (reads, writes) = (effects.contains(Effects::READS_MEMORY), effects.contains(Effects::WRITES_MEMORY));
        if !reads && !writes || flags.contains(InstFlags::INVARIANT) {
            return None;
        }
        let space = inst.opcode.space();
        let ordered = flags.contains(InstFlags::VOLATILE);
        // The lanes of an exchange name each other's places.
        let shared = reads && writes || effects.contains(Effects::CONVERGENT);
        let place = if shared { None } else { place(inst, register) };
        Some(MemoryAccess { space, writes, ordered, place })
    }

    /// It follows none but stores.
    pub(crate) fn is_plain_load(&self) -> bool {
        !self.writes && !self.ordered
    }

    /// The two may not change places.
    pub(crate) fn conflicts(&self, other: &MemoryAccess) -> bool {
        if self.ordered && other.ordered {
            return true;
        }
        (self.writes || other.writes) && self.space.meets(other.space) && !self.is_apart(other)
    }

    /// Same base, different bytes. Where the base is written between the two, that write comes after the first, which
    /// reads it, and before the second: they are in order whatever this says.
    fn is_apart(&self, other: &MemoryAccess) -> bool {
        match (&self.place, &other.place) {
            (Some(a), Some(b)) => self.space == other.space && a.base == b.base && (a.to <= b.from || b.to <= a.from),
            _ => false,
        }
    }
}

fn place(inst: &Inst, register: impl Fn(usize) -> Option<Reg>) -> Option<Place> {
    let position = |role: Role| inst.opcode.position(role);
    let base = [Role::Base, Role::UBase].into_iter().filter_map(|role| register(position(role)?)).collect();
    let Some(Value::Imm(offset)) = position(Role::Offset).map(|at| inst.operands[at].value) else { return None };
    let from = offset as i64;
    Some(Place { base, from, to: from + access_bytes(inst) })
}

/// Bytes that a load or store moves: 256 bits, or what its size modifier says.
fn access_bytes(inst: &Inst) -> i64 {
    if matches!(inst.opcode, Opcode::LDG_256 | Opcode::STG_256) {
        return 32;
    }
    match inst.get(Field::MEM_SIZE) {
        MemSize::U8 | MemSize::S8 => 1,
        MemSize::U16 | MemSize::S16 => 2,
        MemSize::B64 => 8,
        MemSize::B128 => 16,
        _ => 4,
    }
}

#[cfg(test)]
impl MemoryAccess {
    /// An access to so many bytes behind what `base` holds.
    pub(crate) fn at(space: Space, writes: bool, base: Reg, from: i64, bytes: i64) -> MemoryAccess {
        let place = Place { base: smallvec::smallvec![base], from, to: from + bytes };
        MemoryAccess { space, writes, ordered: false, place: Some(place) }
    }

    /// The same, ordered among its like.
    pub(crate) fn in_order(self) -> MemoryAccess {
        MemoryAccess { ordered: true, ..self }
    }

    /// The same at a place that nobody knows.
    pub(crate) fn anywhere(self) -> MemoryAccess {
        MemoryAccess { place: None, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::MemoryAccess;
    use oriole_isa::Space;

    /// All pairs of small ranges against the sets of their bytes: from one base, two accesses of one space of which one
    /// writes keep their order if and only if they share a byte; from different bases always.
    #[test]
    fn accesses_conflict_if_they_may_share_a_byte() {
        let sizes = [1, 2, 4, 8, 16];
        let ranges: Vec<(i64, i64)> = (-4..20).flat_map(|from| sizes.map(|bytes| (from, bytes))).collect();
        for &(a, a_bytes) in &ranges {
            for &(b, b_bytes) in &ranges {
                let shared = (a..a + a_bytes).any(|byte| (b..b + b_bytes).contains(&byte));
                for (first, second) in [(true, false), (false, true), (true, true), (false, false)] {
                    let one = MemoryAccess::at(Space::Shared, first, 2, a, a_bytes);
                    let other = |space, register| MemoryAccess::at(space, second, register, b, b_bytes);
                    let writes = first || second;
                    assert_eq!(
                        one.conflicts(&other(Space::Shared, 2)),
                        writes && shared,
                        "{a}+{a_bytes} {b}+{b_bytes}"
                    );
                    assert_eq!(one.conflicts(&other(Space::Shared, 3)), writes);
                    assert_eq!(one.conflicts(&other(Space::Any, 2)), writes);
                    assert!(!one.conflicts(&other(Space::Global, 2)));
                }
            }
        }
    }
}
