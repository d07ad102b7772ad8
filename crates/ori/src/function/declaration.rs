//! What a function is to the outside, and what it is told by directives.

use crate::entity::Block;

/// Threads of a warp.
pub(crate) const WARP: u32 = 32;

/// What a function is to the outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FunctionKind {
    /// A kernel (`.entry`).
    Entry,
    /// A device function (`.func`), called with the standard interface.
    Device,
    /// A routine that the compiler itself brings (division, square root).
    Internal,
}

/// A kernel parameter in constant bank 0, or a device function's in the ABI.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    /// Its name.
    pub name: String,
    /// Byte offset from the start of the parameters.
    pub offset: u32,
    /// Bytes.
    pub size: u32,
    /// Alignment in bytes.
    pub align: u32,
    /// Who launches the kernel passes none for it (`.hidden`).
    pub hidden: bool,
}

/// Launch and resource directives of a function; `None` and zero: not given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// `.maxntid`: most threads in x, y, z.
    pub maxntid: Option<[u32; 3]>,
    /// `.reqntid`: exact threads in x, y, z.
    pub reqntid: Option<[u32; 3]>,
    /// `.language`: the numbers of the languages that the code was made of, in their order.
    pub languages: Vec<u8>,
    /// `.minnctapersm`: blocks that must fit on an SM.
    pub minnctapersm: Option<u32>,
    /// `.maxnreg`: most registers per thread.
    pub maxnreg: Option<u32>,
    /// `.reqnctapercluster`: blocks of a cluster in x, y, z.
    pub cluster: Option<[u32; 3]>,
    /// `.minperctamemory`: bytes of global memory that each block must have of its own.
    pub min_per_cta_memory: Option<u32>,
    /// `.maxclusterrank`.
    pub max_cluster_rank: Option<u32>,
    /// `.explicitcluster`.
    pub explicit_cluster: bool,
    /// `.noreturn`.
    pub noreturn: bool,
    /// Named barriers used: the highest number plus one.
    pub barriers: u32,
    /// Of a kernel: bytes of static shared memory that it and its callees use; dynamic shared memory follows.
    pub shared_bytes: u32,
    /// Tensor memory is accessed or allocated.
    pub tensor_memory: bool,
    /// Blocks that work on tensor memory together (`.cta_group`): 1 or 2.
    pub tensor_blocks: Option<u32>,
    /// Tensor memory is allocated, given back, or the right to allocate is: the driver opens the book of it, in the
    /// shared memory that the system keeps, before the first instruction.
    pub tensor_book: bool,
    /// Fields of a tensor's description are replaced (`tensormap.replace`).
    pub replaces_tensor_map: bool,
    /// Blocks that `.pragma "nounroll"` stands in: the loops that they begin stay as they are.
    pub no_unroll: Vec<Block>,
}

impl Attributes {
    /// Threads of a block, exactly or at most, where the kernel says so.
    pub fn block_threads(&self) -> Option<u32> {
        let [x, y, z] = self.reqntid.or(self.maxntid)?;
        Some(x.saturating_mul(y).saturating_mul(z))
    }

    /// Whether no two threads of a warp have the same x: warps are taken from the threads in their order, x the fastest.
    pub fn lanes_go_by_x(&self) -> bool {
        self.reqntid.is_some_and(|[x, y, z]| x.is_multiple_of(WARP) || [y, z] == [1, 1])
    }
}

/// The function's part of local memory, below the stack pointer R1.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// Bytes of local arrays (the depot), from the stack pointer up.
    pub local_bytes: u32,
    /// Bytes of spill slots, after the local arrays.
    pub spill_bytes: u32,
    /// Alignment of the frame in bytes.
    pub align: u32,
    /// The code moves R1 (`alloca`), so a copy of its first value addresses the frame.
    pub dynamic: bool,
}

impl Frame {
    /// Number of the general register that addresses the frame: R1, or R2 in a dynamic frame. It has one value
    /// from the prologue on.
    pub fn base(&self) -> u16 {
        if self.dynamic { 2 } else { 1 }
    }

    /// Make room for a spill slot of so many bytes, aligned like a value of that size: its offset in the spill area.
    pub fn add_slot(&mut self, bytes: u32) -> u32 {
        if self.spill_bytes == 0 {
            // The spill area starts where the local arrays end, so that slots are aligned in it.
            self.local_bytes = self.local_bytes.next_multiple_of(16);
        }
        let offset = self.spill_bytes.next_multiple_of(bytes.next_power_of_two().min(16));
        self.spill_bytes = offset + bytes;
        self.align = self.align.max(16);
        offset
    }

    /// All bytes, rounded up to the alignment.
    pub fn size(&self) -> u32 {
        (self.local_bytes + self.spill_bytes).next_multiple_of(self.align.max(1))
    }
}

/// Where a jump by an index goes (`BRX`): the word of the index in bank 2 is the target's byte offset in the function.
///
/// The `BRX` names the table by its number, as its offset, until it is encoded; the targets are among the successors of its block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JumpTable {
    /// Byte offset of its first word in bank 2.
    pub offset: u32,
    /// By index: which of the block's successors it goes to.
    pub targets: Vec<u32>,
}

impl JumpTable {
    /// Bytes of a word.
    pub const WORD: u32 = 4;

    /// Bytes in the bank.
    pub fn bytes(&self) -> u32 {
        Self::WORD * self.targets.len() as u32
    }
}

/// 64-bit constants that a kernel reads from its own bank 2 (`.nv.constant2.<kernel>`), where ptxas keeps them too for sm_75 to sm_89.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Literals {
    /// Byte offset of the first: behind the offsets of the functions whose address is taken, which indirect calls read, and
    /// tables of jumps.
    pub base: u32,
    /// The constants in the order of their places, each once.
    pub values: Vec<u64>,
}

impl Literals {
    /// The bank.
    pub const BANK: u8 = 2;
    /// Bytes of one.
    pub const SIZE: u32 = 8;
    /// So many at most: their caches are small, and each is looked for among the others.
    const MOST: usize = 512;

    /// Byte offset of a constant, which gets a place if it has none; `None` where there is no more room.
    pub fn place(&mut self, bits: u64) -> Option<u32> {
        let at = match self.values.iter().position(|value| *value == bits) {
            Some(at) => at,
            None if self.values.len() < Self::MOST => {
                self.values.push(bits);
                self.values.len() - 1
            }
            None => return None,
        };
        Some(self.base + Self::SIZE * at as u32)
    }

    /// The 32-bit word at a byte offset of the bank.
    pub fn word(&self, offset: u32) -> Option<u32> {
        let at = offset.checked_sub(self.base)?;
        let value = self.values.get((at / Self::SIZE) as usize)?;
        match at % Self::SIZE {
            0 => Some(*value as u32),
            4 => Some((*value >> 32) as u32),
            _ => None,
        }
    }
}
