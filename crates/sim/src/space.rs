//! Memory as a thread sees it: the windows of generic addresses, and loads and stores of every space.

use crate::lanes::{WARP, WideLanes};
use crate::resources::Resources;
use oriole_device::{Access, AddressError, FaultKind, OutOfMemory, Quota, Space};

/// Generic address of shared address 0. On sm_90 byte 3 of the address below it names the block in
/// its cluster, so the window is 4 GiB wide.
pub(crate) const SHARED_WINDOW: u64 = 0x1_0000_0000;
/// Generic address of local address 0.
pub(crate) const LOCAL_WINDOW: u64 = 0x2_0000_0000;
/// Generic address of constant bank 3, the module's `.const` variables.
pub(crate) const CONSTANT_WINDOW: u64 = 0x3_0000_0000;
/// Generic address of constant bank 0, where the parameters are.
pub(crate) const PARAMETER_WINDOW: u64 = 0x3_0100_0000;
/// Size of each window but the shared one.
const WINDOW: u64 = 1 << 24;
/// Local address just past a thread's local memory, where its stack starts to grow down.
pub(crate) const STACK_TOP: u32 = 0x00f0_0000;

/// An address space as an instruction names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Named {
    /// Any, by address.
    Generic,
    /// Global only.
    Global,
    /// Shared only.
    Shared,
    /// Local only.
    Local,
}

/// Where an address leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Global memory.
    Global(u64),
    /// The block's shared memory.
    Shared(u64),
    /// Shared memory of a block of the cluster, by a generic address.
    Cluster {
        /// The block.
        rank: usize,
        /// The address in it.
        address: u64,
    },
    /// The thread's local memory.
    Local(u64),
    /// A constant bank, by a generic address.
    Constant { bank: usize, offset: usize },
}

impl Named {
    /// Where the addresses of all lanes lead.
    pub(crate) fn places(self, addresses: &WideLanes) -> [Place; WARP] {
        addresses.map(|address| self.place(address))
    }

    /// Where `address` of this space leads.
    #[inline]
    pub(crate) fn place(self, address: u64) -> Place {
        match self {
            Named::Global => Place::Global(address),
            Named::Shared => Place::Shared(address & 0xff_ffff),
            Named::Local => Place::Local(address & 0xffff_ffff),
            Named::Generic => generic(address),
        }
    }
}

impl Place {
    /// A shared address of a cluster: byte 3 names the block.
    pub(crate) fn cluster(address: u32) -> Place {
        Place::Cluster { rank: (address >> 24) as usize, address: u64::from(address & 0xff_ffff) }
    }
}

fn generic(address: u64) -> Place {
    match address {
        SHARED_WINDOW..LOCAL_WINDOW => Place::cluster(address as u32),
        LOCAL_WINDOW..CONSTANT_WINDOW if address < LOCAL_WINDOW + WINDOW => Place::Local(address - LOCAL_WINDOW),
        CONSTANT_WINDOW..PARAMETER_WINDOW => Place::Constant { bank: 3, offset: (address - CONSTANT_WINDOW) as usize },
        PARAMETER_WINDOW.. if address < PARAMETER_WINDOW + WINDOW => {
            Place::Constant { bank: 0, offset: (address - PARAMETER_WINDOW) as usize }
        }
        _ => Place::Global(address),
    }
}

/// Local memory of one thread: its stack, kept from the top down and grown as it is used, and from address 0 on what a kernel
/// without a stack has.
#[derive(Clone, Debug, Default)]
pub(crate) struct LocalMemory {
    /// Word `i` is at local address `STACK_TOP - 4 * (i + 1)`.
    words: Vec<u32>,
    /// Word `i` is at local address `4 * i`.
    absolute: Vec<u32>,
}

impl LocalMemory {
    /// The word at a local address that is in bounds.
    fn word(&self, address: u64) -> u32 {
        let words = if Self::is_absolute(address) { &self.absolute } else { &self.words };
        words.get(Self::index(address)).copied().unwrap_or(0)
    }

    /// The same to be written; memory grows by the double at least, so that it seldom does.
    fn word_mut(&mut self, address: u64, quota: &Quota) -> Result<&mut u32, OutOfMemory> {
        let index = Self::index(address);
        let words = if Self::is_absolute(address) { &mut self.absolute } else { &mut self.words };
        if index >= words.len() {
            let length = (index + 1).max(2 * words.len()).next_multiple_of(64);
            let more = length - words.len();
            let bytes = 4 * more as u64;
            quota.take(bytes)?;
            words.try_reserve_exact(more).map_err(|_| OutOfMemory::Host(bytes))?;
            words.resize(length, 0);
        }
        Ok(&mut words[index])
    }

    /// Bytes that it takes.
    pub(crate) fn bytes(&self) -> u64 {
        4 * (self.words.len() + self.absolute.len()) as u64
    }

    /// Far below any stack.
    fn is_absolute(address: u64) -> bool {
        address < u64::from(STACK_TOP / 2)
    }

    fn index(address: u64) -> usize {
        let bytes = if Self::is_absolute(address) { address } else { u64::from(STACK_TOP) - 1 - address };
        (bytes / 4) as usize
    }
}

/// Up to 16 bytes of memory, as 32-bit words; shorter values are zero-extended.
pub(crate) type Words = [u32; 4];

/// Memory of a running warp.
pub(crate) struct Spaces<'a> {
    /// Memory and constants of the launch.
    pub(crate) resources: &'a Resources<'a>,
    /// Shared memory of the block, in words.
    pub(crate) shared: &'a mut [u32],
    /// Bytes of shared memory.
    pub(crate) shared_size: u64,
    /// Rank of the block in its cluster.
    pub(crate) rank: usize,
    /// Shared memory of the blocks of its cluster, by rank, but not of the block itself; empty without
    /// others.
    pub(crate) peers: &'a mut [Vec<u32>],
    /// Local memory of the warp's threads.
    pub(crate) local: &'a mut [LocalMemory; WARP],
}

/// Bit of a global address that the code of `fabric` instructions sets, as ptxas 13.5.37 makes it.
const FABRIC: u32 = 53;

/// Other devices' memory behind the fabric is none that a launch here has.
pub(crate) fn refuse_fabric(place: Place) -> Result<(), FaultKind> {
    match place {
        Place::Global(address) if address >> FABRIC == 1 => Err(behind_the_fabric(address)),
        _ => Ok(()),
    }
}

fn behind_the_fabric(address: u64) -> FaultKind {
    FaultKind::Misuse(format!("other devices' memory behind the fabric, at {address:#x}: it is not simulated"))
}

impl Spaces<'_> {
    /// Loads 1, 2, 4, 8 or 16 bytes for one lane.
    #[inline]
    pub(crate) fn load(&self, place: Place, size: u32, lane: usize) -> Result<Words, FaultKind> {
        match place {
            Place::Global(address) => {
                let allocation = self.global(address, size, Access::Read)?;
                if size <= 4 {
                    return Ok([allocation.load(address, size), 0, 0, 0]);
                }
                let word = |i: u32| if 4 * i < size { allocation.load(address + u64::from(4 * i), 4) } else { 0 };
                Ok([word(0), word(1), word(2), word(3)])
            }
            Place::Shared(address) => {
                self.check(Space::Shared, Access::Read, address, size, 0, self.shared_size)?;
                Ok(read(size, address, |at| self.shared[(at / 4) as usize]))
            }
            Place::Cluster { rank, address } if rank == self.rank => self.load(Place::Shared(address), size, lane),
            Place::Cluster { rank, address } => {
                self.check(Space::Shared, Access::Read, address, size, 0, self.shared_size)?;
                let words = self.peers.get(rank).ok_or_else(|| no_block(rank))?;
                Ok(read(size, address, |at| words[(at / 4) as usize]))
            }
            Place::Local(address) => {
                self.check_local(Access::Read, address, size)?;
                Ok(read(size, address, |at| self.local[lane].word(at)))
            }
            Place::Constant { bank, offset } => {
                let limit = self.resources.constants.size(bank) as u64;
                self.check(Space::Constant, Access::Read, offset as u64, size, 0, limit)?;
                Ok(read(size, offset as u64, |at| self.resources.constants.word(bank, at as usize & !3)))
            }
        }
    }

    /// Stores the low 1, 2, 4, 8 or 16 bytes of `value` for one lane.
    #[inline]
    pub(crate) fn store(&mut self, place: Place, size: u32, lane: usize, value: Words) -> Result<(), FaultKind> {
        match place {
            Place::Global(address) => {
                let allocation = self.global(address, size, Access::Write)?;
                for i in 0..size.div_ceil(4) {
                    allocation.store(address + u64::from(4 * i), size.min(4), value[i as usize]);
                }
            }
            Place::Shared(address) => {
                self.check(Space::Shared, Access::Write, address, size, 0, self.shared_size)?;
                for i in 0..size.div_ceil(4) {
                    let cell = &mut self.shared[(address / 4) as usize + i as usize];
                    *cell = merge(*cell, size, address, value[i as usize]);
                }
            }
            Place::Cluster { rank, address } if rank == self.rank => {
                return self.store(Place::Shared(address), size, lane, value);
            }
            Place::Cluster { rank, address } => {
                self.check(Space::Shared, Access::Write, address, size, 0, self.shared_size)?;
                let words = self.peers.get_mut(rank).ok_or_else(|| no_block(rank))?;
                for i in 0..size.div_ceil(4) {
                    let cell = &mut words[(address / 4) as usize + i as usize];
                    *cell = merge(*cell, size, address, value[i as usize]);
                }
            }
            Place::Local(address) => {
                self.check_local(Access::Write, address, size)?;
                let quota = self.resources.memory.quota();
                for i in 0..size.div_ceil(4) {
                    let cell = self.local[lane].word_mut(address + u64::from(4 * i), quota)?;
                    *cell = merge(*cell, size, address, value[i as usize]);
                }
            }
            Place::Constant { offset, .. } => return Err(read_only(offset)),
        }
        Ok(())
    }

    /// The same place, as one of the block's own shared memory if it is that.
    pub(crate) fn nearest(&self, place: Place) -> Place {
        match place {
            Place::Cluster { rank, address } if rank == self.rank => Place::Shared(address),
            other => other,
        }
    }

    /// Replaces the 32-bit word at `place` by `f` of it in one step; returns the old word.
    pub(crate) fn update32(&mut self, place: Place, lane: usize, f: impl Fn(u32) -> u32) -> Result<u32, FaultKind> {
        if let Place::Global(address) = place {
            return Ok(self.global(address, 4, Access::Atomic)?.update(address, f));
        }
        let [old, ..] = self.load_for_update(place, 4, lane)?;
        self.store(place, 4, lane, [f(old), 0, 0, 0])?;
        Ok(old)
    }

    /// Replaces the 8 or 16 bytes at `place` by `f` of them; returns the old ones. To global memory
    /// only a block that has the turn may do this, so the parts need not change in one step.
    pub(crate) fn update_wide(
        &mut self,
        place: Place,
        size: u32,
        lane: usize,
        f: impl Fn(Words) -> Words,
    ) -> Result<Words, FaultKind> {
        let old = self.load_for_update(place, size, lane)?;
        self.store(place, size, lane, f(old))?;
        Ok(old)
    }

    fn load_for_update(&self, place: Place, size: u32, lane: usize) -> Result<Words, FaultKind> {
        self.load(place, size, lane).map_err(|kind| match kind {
            FaultKind::IllegalAddress { space, address, size, nearest, .. } => {
                FaultKind::IllegalAddress { space, access: Access::Atomic, address, size, nearest }
            }
            FaultKind::Misaligned { space, address, size, .. } => {
                FaultKind::Misaligned { space, access: Access::Atomic, address, size }
            }
            other => other,
        })
    }

    #[inline]
    fn global(&self, address: u64, size: u32, access: Access) -> Result<&oriole_device::Allocation, FaultKind> {
        self.resources.memory.check(address, size).map_err(|error| match error {
            _ if address >> FABRIC == 1 => behind_the_fabric(address),
            AddressError::Misaligned => FaultKind::Misaligned { space: Space::Global, access, address, size },
            AddressError::Outside(nearest) => {
                FaultKind::IllegalAddress { space: Space::Global, access, address, size, nearest }
            }
        })
    }

    fn check_local(&self, access: Access, address: u64, size: u32) -> Result<(), FaultKind> {
        if address + u64::from(size) <= u64::from(self.resources.absolute_local) {
            return self.check(Space::Local, access, address, size, 0, u64::from(self.resources.absolute_local));
        }
        let bottom = STACK_TOP - self.resources.max_local;
        self.check(Space::Local, access, address, size, u64::from(bottom), u64::from(STACK_TOP))
    }

    #[inline]
    fn check(
        &self,
        space: Space,
        access: Access,
        address: u64,
        size: u32,
        from: u64,
        to: u64,
    ) -> Result<(), FaultKind> {
        if address < from || address + u64::from(size) > to {
            let nearest = oriole_device::Nearest { name: format!("{space} memory"), base: from, size: to - from };
            return Err(FaultKind::IllegalAddress { space, access, address, size, nearest: Some(nearest) });
        }
        match address & u64::from(size - 1) {
            0 => Ok(()),
            _ => Err(FaultKind::Misaligned { space, access, address, size }),
        }
    }
}

fn no_block(rank: usize) -> FaultKind {
    FaultKind::Misuse(format!(
        "an address in the shared memory of block {rank} of the cluster, which has no such block"
    ))
}

fn read_only(offset: usize) -> FaultKind {
    FaultKind::Misuse(format!("write to constant memory at offset {offset:#x}"))
}

/// Loads from words; the address is aligned to the size.
#[inline]
fn read(size: u32, address: u64, word: impl Fn(u64) -> u32) -> Words {
    let first = word(address);
    match size {
        1 => [first >> (8 * (address & 3)) & 0xff, 0, 0, 0],
        2 => [first >> (8 * (address & 2)) & 0xffff, 0, 0, 0],
        4 => [first, 0, 0, 0],
        8 => [first, word(address + 4), 0, 0],
        _ => [first, word(address + 4), word(address + 8), word(address + 12)],
    }
}

/// The word at `address` after a store of `size` bytes; 4 and more replace the whole word.
#[inline]
fn merge(old: u32, size: u32, address: u64, value: u32) -> u32 {
    let (mask, shift) = match size {
        1 => (0xff, 8 * (address & 3)),
        2 => (0xffff, 8 * (address & 2)),
        _ => return value,
    };
    old & !(mask << shift) | (value & mask) << shift
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generic_addresses_lead_to_their_windows() {
        assert_eq!(Named::Generic.place(SHARED_WINDOW + 0x410), Place::Cluster { rank: 0, address: 0x410 });
        assert_eq!(Named::Generic.place(SHARED_WINDOW + 0x0300_0008), Place::Cluster { rank: 3, address: 8 });
        assert_eq!(Named::Generic.place(LOCAL_WINDOW + 0xff), Place::Local(0xff));
        assert_eq!(Named::Generic.place(PARAMETER_WINDOW + 0x160), Place::Constant { bank: 0, offset: 0x160 });
        assert_eq!(Named::Generic.place(0x7_0000_0000), Place::Global(0x7_0000_0000));
        assert_eq!(Named::Generic.place(8), Place::Global(8));
    }

    #[test]
    fn the_stack_grows_down_from_the_top() {
        let mut local = LocalMemory::default();
        let top = u64::from(STACK_TOP);
        let quota = Quota::new(Some(1024));
        *local.word_mut(top - 4, &quota).expect("there is room") = 1;
        *local.word_mut(top - 400, &quota).expect("there is room") = 2;
        assert_eq!((local.word(top - 4), local.word(top - 400), local.word(top - 8)), (1, 2, 0));
        assert_eq!(local.word(top - 100_000), 0);
        assert_eq!(quota.taken(), local.bytes());
        assert_eq!(local.word_mut(top - 100_000, &quota), Err(OutOfMemory::Limit(1024)));
    }

    #[test]
    fn what_a_kernel_without_a_stack_has_is_kept_from_address_0_on() {
        let mut local = LocalMemory::default();
        let quota = Quota::new(Some(1024));
        *local.word_mut(8, &quota).expect("there is room") = 1;
        *local.word_mut(u64::from(STACK_TOP) - 4, &quota).expect("there is room") = 2;
        assert_eq!((local.word(8), local.word(12), local.word(u64::from(STACK_TOP) - 4)), (1, 0, 2));
        assert_eq!(quota.taken(), local.bytes());
    }

    #[test]
    fn narrow_accesses_keep_their_neighbours() {
        let words = [0x4433_2211, 0x8877_6655];
        assert_eq!(read(1, 5, |at| words[(at / 4) as usize])[0], 0x66);
        assert_eq!(read(2, 2, |at| words[(at / 4) as usize])[0], 0x4433);
        assert_eq!(read(8, 0, |at| words[(at / 4) as usize]), [0x4433_2211, 0x8877_6655, 0, 0]);
        assert_eq!(merge(0x8877_6655, 2, 6, 0x1_abcd), 0xabcd_6655);
        assert_eq!(merge(0x4433_2211, 1, 0, 0xff), 0x4433_22ff);
        assert_eq!(merge(0x4433_2211, 16, 0, 5), 5);
    }
}
