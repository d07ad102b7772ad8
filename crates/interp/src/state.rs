//! Registers and local memory of a warp's threads.

use crate::arith::Bits;
use crate::code::{Destination, Source};
use crate::machine::Env;
use crate::space::{self, Data, LOCAL_WINDOW, Place, RANK_SHIFT, SHARED_WINDOW, WINDOW};
use crate::special::Identity;
use oriole_device::{Access, FaultKind};

/// Threads of a warp.
pub(crate) const WARP: usize = 32;

/// Register slots of one thread at most, over all its frames.
const MOST_SLOTS: usize = 1 << 18;
/// Bytes of local memory that a thread may use.
const MOST_LOCAL: u32 = 512 << 10;
/// Every frame starts at a multiple of this.
const FRAME_ALIGNMENT: u32 = 16;

/// The lanes of a mask, the lowest first.
pub(crate) fn lanes_of(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = mask.trailing_zeros();
        mask &= mask.wrapping_sub(1);
        (lane < 32).then_some(lane as usize)
    })
}

/// Local memory of one thread: frames of its functions, from address 0 up.
#[derive(Clone, Debug, Default)]
pub(crate) struct LocalMemory {
    bytes: Vec<u8>,
    /// Start of the running function's frame.
    frame: u32,
    /// End of what is in use.
    top: u32,
    /// `frame` and `top` of the callers.
    callers: Vec<(u32, u32)>,
}

impl LocalMemory {
    /// What can be accessed.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.top as usize]
    }

    /// What can be accessed, to write.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[..self.top as usize]
    }

    /// End of what is in use.
    pub(crate) fn top(&self) -> u32 {
        self.top
    }

    /// Local address of a place in the running function's frame.
    pub(crate) fn address(&self, offset: u32) -> u32 {
        self.frame.wrapping_add(offset)
    }

    /// Takes `size` zeroed bytes at a multiple of `alignment`, a power of two.
    pub(crate) fn allocate(&mut self, size: u32, alignment: u32) -> Result<u32, FaultKind> {
        let start = self.top.checked_next_multiple_of(alignment.max(1));
        let end = start.and_then(|start| start.checked_add(size)).filter(|&end| end <= MOST_LOCAL);
        let (Some(start), Some(end)) = (start, end) else { return Err(overflow()) };
        self.top = end;
        if self.bytes.len() < end as usize {
            self.bytes.resize(end as usize, 0);
        }
        self.bytes[start as usize..end as usize].fill(0);
        Ok(start)
    }

    /// Gives back everything from `top` on.
    pub(crate) fn restore(&mut self, top: u32) -> Result<(), FaultKind> {
        if top > self.top {
            return Err(FaultKind::Misuse(format!("stackrestore to {top:#x}, above the stack's top")));
        }
        self.top = top;
        Ok(())
    }

    fn enter(&mut self, size: u32) -> Result<(), FaultKind> {
        let caller = (self.frame, self.top);
        self.frame = self.allocate(size, FRAME_ALIGNMENT)?;
        self.callers.push(caller);
        Ok(())
    }

    fn leave(&mut self) {
        (self.frame, self.top) = self.callers.pop().unwrap_or_default();
    }
}

fn overflow() -> FaultKind {
    FaultKind::Misuse("the call stack has overflown".to_owned())
}

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
        if self.registers.len() < end * WARP {
            self.registers.resize(end * WARP, 0);
        }
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
            Source::Special(register, part, mask) => Bits::from(self.special(register, part, lane) & mask),
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
            Destination::Wide { slot, mask } => {
                let at = self.at(slot, lane);
                let value = value & mask;
                self.registers[at] = value as u64;
                self.registers[at + WARP] = (value >> 64) as u64;
            }
        }
    }
}

/// One thread while it executes an instruction.
pub(crate) struct Lane<'a, 'e> {
    /// Its lane in the warp.
    pub(crate) lane: usize,
    /// The warp.
    pub(crate) state: &'a mut State,
    /// What is outside of the warp.
    pub(crate) env: &'a mut Env<'e>,
}

impl Lane<'_, '_> {
    /// The value of a source.
    pub(crate) fn get(&self, source: &Source) -> Bits {
        self.state.get(source, self.lane)
    }

    /// Writes a result.
    pub(crate) fn set(&mut self, destination: &Destination, value: Bits) {
        self.state.set(destination, self.lane, value);
    }

    /// Loads `size` bytes (a power of two up to 32).
    pub(crate) fn load(&self, place: Place, size: u32) -> Result<Data, FaultKind> {
        space::load(self.env, &self.state.local[self.lane], place, size)
    }

    /// Stores `size` bytes (a power of two up to 32).
    pub(crate) fn store(&mut self, place: Place, size: u32, data: Data) -> Result<(), FaultKind> {
        self.store_as(place, size, data, Access::Write)
    }

    /// Replaces `size` bytes (a power of two up to 32) by a function of them; gives what was there.
    pub(crate) fn update(&mut self, place: Place, size: u32, f: impl Fn(Data) -> Data) -> Result<Data, FaultKind> {
        let old = self.load(place, size).map_err(as_atomic)?;
        self.store_as(place, size, f(old), Access::Atomic)?;
        Ok(old)
    }

    fn store_as(&mut self, place: Place, size: u32, data: Data, access: Access) -> Result<(), FaultKind> {
        space::store(self.env, &mut self.state.local[self.lane], place, size, data, access)
    }

    /// Local memory of the thread.
    pub(crate) fn local(&mut self) -> &mut LocalMemory {
        &mut self.state.local[self.lane]
    }
}

/// A fault of the reading half of an atomic operation.
fn as_atomic(kind: FaultKind) -> FaultKind {
    match kind {
        FaultKind::IllegalAddress { space, address, size, nearest, .. } => {
            FaultKind::IllegalAddress { space, access: Access::Atomic, address, size, nearest }
        }
        FaultKind::Misaligned { space, address, size, .. } => {
            FaultKind::Misaligned { space, access: Access::Atomic, address, size }
        }
        other => other,
    }
}

const _: () = assert!((MOST_LOCAL as u64) < WINDOW);
