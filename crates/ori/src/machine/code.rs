//! A whole function written out, but for where it stands.

use super::MachineInst;
use crate::entity::LocId;
use crate::inst::InstFlags;

/// Bytes of an instruction.
pub const INST_BYTES: i64 = 16;

/// The words of a scheduled function, and what waits for its place: all that is kept of it until its section is put
/// together, by every section that holds a copy.
#[derive(Clone, Debug, Default)]
pub struct MachineCode {
    /// By instruction; 0 for those that wait.
    pub words: Vec<u128>,
    /// The instructions that name addresses, with their positions. Labels that are not symbols' count from the
    /// function's first byte.
    pub open: Vec<(u32, MachineInst)>,
    /// By instruction.
    pub opcodes: Vec<oriole_isa::Opcode>,
    /// Positions of the instructions that end a thread.
    pub exits: Vec<u32>,
    /// Positions with a place in the source.
    pub locs: Vec<(u32, LocId)>,
    /// Positions of instructions of which tools are told ([`InstFlags::NOTES`]), with these flags.
    pub notes: Vec<(u32, InstFlags)>,
    /// Jumps by tables.
    pub tables: Vec<CodeTable>,
    /// Threads wait for each other at a place of the code: there is a `BSSY` or `WARPSYNC`.
    pub gathers: bool,
    /// One more than the highest R register that an instruction names.
    pub registers: u32,
}

/// A table of a jump by an index.
#[derive(Clone, Debug)]
pub struct CodeTable {
    /// Position of the jump.
    pub branch: u32,
    /// Byte offset of the first word in bank 2.
    pub offset: u32,
    /// By index: bytes from the function's start.
    pub targets: Vec<u32>,
}

impl MachineCode {
    /// Bytes of the function.
    pub fn bytes(&self) -> i64 {
        self.words.len() as i64 * INST_BYTES
    }

    /// An instruction of [`MachineCode::open`] where the function's first byte has this address; the addresses of
    /// symbols are still missing.
    pub fn placed(machine: &MachineInst, start: i64) -> MachineInst {
        let mut placed = machine.clone();
        placed.own_labels().for_each(|offset| *offset += start);
        placed
    }
}
