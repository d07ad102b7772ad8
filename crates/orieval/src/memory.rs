//! Memory by space, and what the memory instructions do to it.

use oriole_isa::{Field, MemSize, Opcode};
use oriole_ori::Inst;
use std::collections::BTreeMap;

/// The memory that an access reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Space {
    /// All threads'.
    Global,
    /// The block's.
    Shared,
    /// The thread's own: frames and spill slots.
    Local,
}

/// The upper word of generic addresses that lie in shared memory; others are global.
pub const SHARED_WINDOW: u32 = 0x7f00_0000;

/// The bytes that were written, by space and address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    bytes: BTreeMap<(Space, u64), u8>,
}

impl Memory {
    /// Without local memory, which nobody sees when the thread is done.
    #[must_use]
    pub(crate) fn visible(mut self) -> Memory {
        self.bytes.retain(|(space, _), _| *space != Space::Local);
        self
    }

    /// Memory that nothing has written holds a mixture of its address.
    fn byte(&self, space: Space, at: u64) -> u8 {
        let mixture = at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 29;
        self.bytes.get(&(space, at)).copied().unwrap_or(mixture as u8 ^ space as u8)
    }

    pub(crate) fn load(&self, access: Access, at: u64) -> [Option<u32>; 4] {
        let (space, at) = access.place(at);
        let word = |k: u64| {
            let byte =
                |i: usize| if i < access.bytes { self.byte(space, at.wrapping_add(4 * k + i as u64)) } else { 0 };
            u32::from_le_bytes(std::array::from_fn(byte))
        };
        let unused = 32 - 8 * access.bytes.min(4) as u32;
        let extended = |word: u32| if access.signed { ((word << unused) as i32 >> unused) as u32 } else { word };
        [0, 1, 2, 3].map(|k| Some(extended(word(k))))
    }

    pub(crate) fn store(&mut self, access: Access, at: u64, words: &[u32]) {
        let (space, at) = access.place(at);
        let bytes = words.iter().flat_map(|word| word.to_le_bytes()).take(access.bytes);
        for (k, byte) in (0..).zip(bytes) {
            self.bytes.insert((space, at.wrapping_add(k)), byte);
        }
    }
}

/// What a load or store moves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    /// `None`: the address is generic.
    space: Option<Space>,
    pub(crate) bytes: usize,
    signed: bool,
    pub(crate) is_store: bool,
}

/// Loads and stores with their space; `None` for generic addresses.
const ACCESSES: [(Opcode, Option<Space>, bool); 8] = [
    (Opcode::LDG, Some(Space::Global), false),
    (Opcode::LDS, Some(Space::Shared), false),
    (Opcode::LDL, Some(Space::Local), false),
    (Opcode::LD, None, false),
    (Opcode::STG, Some(Space::Global), true),
    (Opcode::STS, Some(Space::Shared), true),
    (Opcode::STL, Some(Space::Local), true),
    (Opcode::ST, None, true),
];

impl Access {
    /// What the instruction does, if it is a load or a store.
    pub(crate) fn of(inst: &Inst) -> Option<Access> {
        let (_, space, is_store) = ACCESSES.iter().find(|(opcode, ..)| *opcode == inst.opcode)?;
        let size = inst.get(Field::MEM_SIZE);
        let bytes = match size {
            MemSize::U8 | MemSize::S8 => 1,
            MemSize::U16 | MemSize::S16 => 2,
            MemSize::B64 => 8,
            MemSize::B128 => 16,
            _ => 4,
        };
        let signed = matches!(size, MemSize::S8 | MemSize::S16);
        Some(Access { space: *space, bytes, signed, is_store: *is_store })
    }

    /// How many registers it moves.
    pub(crate) fn words(self) -> u8 {
        (self.bytes as u8).div_ceil(4)
    }

    fn place(self, at: u64) -> (Space, u64) {
        match self.space {
            Some(space) => (space, at),
            None if (at >> 32) as u32 == SHARED_WINDOW => (Space::Shared, at & 0xffff_ffff),
            None => (Space::Global, at),
        }
    }
}
