//! What the modifiers of `spcompress`, `spdecompress` and `tcgen05.ld.spcompress` say.

use super::{Instruction, Opcode, Word};

/// How vectors with structured sparsity are packed: of each group of elements some are kept, with their places in the
/// group. The elements of a group, those that are kept and the places each lie one behind the other in registers of 32 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sparsity {
    /// Bits of an element.
    pub element: u32,
    /// Bits of a place.
    pub place: u32,
    /// Elements of a group that are kept.
    pub kept: u32,
    /// Elements of a group.
    pub group: u32,
    /// Groups of the whole vector.
    pub groups: u32,
}

impl Sparsity {
    /// That of an instruction; `None` where its modifiers do not say one.
    #[must_use]
    pub fn of(instruction: &Instruction) -> Option<Sparsity> {
        let (element, place) = (instruction.ty(0)?.bits(), instruction.ty(1)?.bits());
        let name = |prefix| instruction.words().find_map(|word: Word| word.as_str().strip_prefix(prefix));
        let (kept, group) = name("sp::")?.split_once(':')?;
        let (kept, group): (u32, u32) = (kept.parse().ok()?, group.parse().ok()?);
        let count: u32 = name("x")?.parse().ok()?;
        let groups = match instruction.opcode {
            // It counts registers of what is kept.
            Opcode::Spcompress => count * 32 / (kept * element),
            // It counts columns.
            Opcode::Tcgen05 => count / group,
            _ => count,
        };
        Some(Sparsity { element, place, kept, group, groups })
    }

    /// Registers of all elements.
    #[must_use]
    pub fn group_registers(self) -> usize {
        self.registers(self.group * self.element)
    }

    /// Registers of the elements that are kept.
    #[must_use]
    pub fn kept_registers(self) -> usize {
        self.registers(self.kept * self.element)
    }

    /// Registers of their places.
    #[must_use]
    pub fn place_registers(self) -> usize {
        self.registers(self.kept * self.place)
    }

    fn registers(self, bits_of_group: u32) -> usize {
        (self.groups * bits_of_group).div_ceil(32) as usize
    }
}
