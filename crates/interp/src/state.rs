//! Registers and local memory of a warp's threads.

use crate::arith::Bits;
use crate::identity::Identity;
use crate::lanes::{WARP, lanes_of};
use crate::local_memory::{LocalMemory, overflow};
use crate::operand::{Destination, Source};
use crate::space::{LOCAL_WINDOW, RANK_SHIFT, SHARED_WINDOW};
use crate::special;
use oriole_device::{FaultKind, OutOfMemory};

/// Register slots of one thread at most, over all its frames.
const MOST_SLOTS: usize = 1 << 18;
/// Registers and local memory of a warp.
pub(crate) struct State {
    /// Slot by slot, the 32 lanes of each.
    registers: Vec<u64>,
    /// First slot of the running function's frame.
    pub(crate) base: u32,
    /// Local memory of each lane.
    pub(crate) local: Vec<LocalMemory>,
    /// `CC.CF` of each lane.
    pub(crate) carry: u32,
    /// Who the threads are.
    pub(crate) identity: Identity,
    /// Instructions that the warp has executed.
    pub(crate) clock: u64,
}

impl State {
    /// A warp before its first instruction.
    pub(crate) fn new(identity: Identity) -> State {
        let local = vec![LocalMemory::default(); WARP];
        State { registers: Vec::new(), base: 0, local, carry: 0, identity, clock: 0 }
    }

    /// Opens frames for `mask`: registers from slot `base` on and `frame` bytes of local memory.
    pub(crate) fn enter(&mut self, mask: u32, base: u32, slots: u32, frame: u32) -> Result<(), FaultKind> {
        let end = base as usize + slots as usize;
        if end > MOST_SLOTS {
            return Err(overflow());
        }
        let more = (end * WARP).saturating_sub(self.registers.len());
        self.registers.try_reserve(more).map_err(|_| OutOfMemory::Host(8 * more as u64))?;
        self.registers.resize(self.registers.len() + more, 0);
        for row in self.registers[base as usize * WARP..end * WARP].chunks_mut(WARP) {
            lanes_of(mask).for_each(|lane| row[lane] = 0);
        }
        lanes_of(mask).try_for_each(|lane| self.local[lane].enter(frame))
    }

    /// Closes the innermost frames of `mask`.
    pub(crate) fn leave(&mut self, mask: u32) {
        lanes_of(mask).for_each(|lane| self.local[lane].leave());
    }

    #[inline]
    fn at(&self, slot: u32, lane: usize) -> usize {
        (self.base + slot) as usize * WARP + lane
    }

    /// The lanes of `mask` in which the predicate in `slot` is `wanted`.
    #[inline]
    pub(crate) fn guard(&self, slot: u32, wanted: bool, mask: u32) -> u32 {
        let first = self.at(slot, 0);
        let row = &self.registers[first..first + WARP];
        let set = row.iter().enumerate().fold(0, |set, (lane, &value)| set | ((value & 1) as u32) << lane);
        mask & if wanted { set } else { !set }
    }

    /// The value of a source in one lane.
    #[inline]
    pub(crate) fn get(&self, source: &Source, lane: usize) -> Bits {
        match *source {
            Source::Register { slot, mask } => Bits::from(self.registers[self.at(slot, lane)] & mask),
            Source::Constant(bits) => bits,
            Source::Wide(slot) => {
                let at = self.at(slot, lane);
                Bits::from(self.registers[at]) | Bits::from(self.registers[at + WARP]) << 64
            }
            Source::Affine { slot, mask, add, scale } => {
                let sum = (self.registers[self.at(slot, lane)] & mask).wrapping_add(add) & mask;
                Bits::from(sum.wrapping_mul(scale))
            }
            Source::Not(slot) => Bits::from(self.registers[self.at(slot, lane)] & 1 ^ 1),
            Source::Special(register, part, mask) => {
                Bits::from(special::read(register, part, &self.identity, lane, self.clock) & mask)
            }
            Source::Object(number) => Bits::from(self.identity.handles[number as usize]),
            Source::Frame { offset, generic } => {
                let address = u64::from(self.local[lane].address(offset));
                Bits::from(if generic { address + LOCAL_WINDOW } else { address })
            }
            Source::Shared { offset, dynamic, generic } => {
                let start =
                    self.identity.cluster_rank << RANK_SHIFT | if dynamic { self.identity.dynamic_shared } else { 0 };
                let address = u64::from(start).wrapping_add(offset);
                Bits::from(if generic { address.wrapping_add(SHARED_WINDOW) } else { address })
            }
        }
    }

    /// Writes a result of one lane.
    #[inline]
    pub(crate) fn set(&mut self, destination: &Destination, lane: usize, value: Bits) {
        match *destination {
            Destination::Sink => {}
            Destination::Register { slot, bits, signed, mask } => {
                let at = self.at(slot, lane);
                let above = 64 - u32::from(bits);
                let high = (value as u64) << above;
                let extended = if signed { (high as i64 >> above) as u64 } else { high >> above };
                self.registers[at] = extended & mask;
            }
            Destination::Wide { slot, bits, signed } => {
                let at = self.at(slot, lane);
                let above = 128 - u32::from(bits);
                let high = value << above;
                let value = if signed { (high as i128 >> above) as Bits } else { high >> above };
                self.registers[at] = value as u64;
                self.registers[at + WARP] = (value >> 64) as u64;
            }
        }
    }
}
