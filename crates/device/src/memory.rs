//! Global memory of the simulated device.

use crate::Nearest;
use crate::quota::{OutOfMemory, Quota};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use zerocopy::FromZeros;

/// First address that is ever given out; below it lie the shared and local windows of generic
/// addressing on every target.
const FIRST_ADDRESS: u64 = 0x7_0000_0000;
/// Every allocation starts at a multiple of this, as `cudaMalloc` guarantees.
const ALIGNMENT: u64 = 256;
/// Unused bytes kept between allocations, so that small overruns hit nothing.
const GAP: u64 = 4096;

/// One allocation.
///
/// The bytes are kept in 32-bit atomic words: loads and stores of blocks that run on different host
/// threads may race, as they may on a device, without undefined behaviour here.
#[derive(Debug)]
pub struct Allocation {
    name: String,
    base: u64,
    size: u64,
    words: Box<[AtomicU32]>,
}

/// Why an access was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AddressError {
    /// Not inside one allocation; with the nearest allocation, if there is any.
    Outside(Option<Nearest>),
    /// Not a multiple of the access size.
    Misaligned,
}

/// Why a module's variable cannot be set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VariableError {
    /// There is no global or constant variable of that name.
    #[error("the module has no variable '{0}'")]
    Missing(
        /// The name.
        String,
    ),
    /// More bytes than the variable has.
    #[error("{given} bytes do not fit into variable '{name}' of {size} bytes")]
    Size {
        /// Its name.
        name: String,
        /// Its size in bytes.
        size: u64,
        /// Bytes given.
        given: usize,
    },
}

/// Global memory: a set of allocations at addresses that never overlap.
///
/// An allocation that the host has no room for is empty, and [`Memory::complete`] says so from then on: launches ask it first.
#[derive(Debug)]
pub struct Memory {
    /// Sorted by base address.
    allocations: Vec<Allocation>,
    next: u64,
    quota: Quota,
    shortage: Option<OutOfMemory>,
}

impl Default for Memory {
    fn default() -> Self {
        Memory::new()
    }
}

impl Memory {
    /// Memory without allocations, and without a bound but the host's.
    pub fn new() -> Self {
        Memory::with_limit(None)
    }

    /// The same for launches that may take so many bytes of the host, these allocations among them ([`Quota`]).
    pub fn with_limit(bytes: Option<u64>) -> Self {
        Memory { allocations: Vec::new(), next: FIRST_ADDRESS, quota: Quota::new(bytes), shortage: None }
    }

    /// What has been taken of the host, and what may be.
    pub fn quota(&self) -> &Quota {
        &self.quota
    }

    /// Whether there was room for all allocations.
    ///
    /// # Errors
    /// What there was no room for first.
    pub fn complete(&self) -> Result<(), OutOfMemory> {
        self.shortage.map_or(Ok(()), Err)
    }

    /// A zeroed allocation of `size` bytes; returns its address. `name` is for messages.
    pub fn allocate(&mut self, name: &str, size: u64) -> u64 {
        let base = self.next;
        let made = self.allocation(name, base, size);
        self.next = (base + made.size + GAP).next_multiple_of(ALIGNMENT);
        self.allocations.push(made);
        base
    }

    /// An allocation, which is empty where there is no room for it.
    fn allocation(&mut self, name: &str, base: u64, size: u64) -> Allocation {
        let made = Allocation::new(name, base, size, &self.quota);
        made.unwrap_or_else(|shortage| {
            self.shortage.get_or_insert(shortage);
            Allocation { name: name.to_owned(), base, size: 0, words: Box::default() }
        })
    }

    /// An allocation that holds `bytes`; returns its address.
    pub fn allocate_with(&mut self, name: &str, bytes: &[u8]) -> u64 {
        let base = self.allocate(name, bytes.len() as u64);
        // Where there is no room for them, the memory says so.
        self.write(base, bytes);
        base
    }

    /// A zeroed allocation at a place of the caller's choice below the addresses that [`Memory::allocate`] gives out:
    /// for the variables of a module. `false`, and nothing done, if the place is taken or not of that kind.
    pub fn place(&mut self, name: &str, base: u64, size: u64) -> bool {
        let at = self.allocations.partition_point(|allocation| allocation.base <= base);
        let free_from = at.checked_sub(1).map_or(0, |i| self.allocations[i].base + self.allocations[i].size);
        let free_to = self.allocations.get(at).map_or(FIRST_ADDRESS, |next| next.base.min(FIRST_ADDRESS));
        let fits = base.checked_add(size).is_some_and(|end| end <= free_to);
        if !fits || base < free_from {
            return false;
        }
        let made = self.allocation(name, base, size);
        self.allocations.insert(at, made);
        true
    }

    /// All allocations, in the order of their addresses.
    pub fn allocations(&self) -> &[Allocation] {
        &self.allocations
    }

    /// The next address that [`Memory::allocate`] would return.
    pub fn next_address(&self) -> u64 {
        self.next
    }

    /// The allocation that contains `address`.
    #[inline]
    pub fn find(&self, address: u64) -> Option<&Allocation> {
        let after = self.allocations.partition_point(|allocation| allocation.base <= address);
        let allocation = self.allocations.get(after.checked_sub(1)?)?;
        (address - allocation.base < allocation.size).then_some(allocation)
    }

    /// The allocation that wholly contains `size` bytes at `address`, which must be a multiple of
    /// `size` (a power of two).
    #[inline]
    pub fn check(&self, address: u64, size: u32) -> Result<&Allocation, AddressError> {
        match self.find(address) {
            Some(allocation) if allocation.holds(address, size) => match address & (u64::from(size) - 1) {
                0 => Ok(allocation),
                _ => Err(AddressError::Misaligned),
            },
            _ => Err(AddressError::Outside(self.nearest(address))),
        }
    }

    /// Bytes from `address` on, or `None` if they are not all inside one allocation.
    pub fn read(&self, address: u64, size: u64) -> Option<Vec<u8>> {
        let allocation = self.find(address)?;
        let offset = address - allocation.base;
        let end = offset.checked_add(size).filter(|&end| end <= allocation.size)?;
        Some(allocation.bytes(offset, end))
    }

    /// Copies bytes from `address` on; `false`, and nothing done, if they are not all inside one allocation.
    pub fn read_into(&self, address: u64, bytes: &mut [u8]) -> bool {
        let Some(allocation) = self.find(address) else { return bytes.is_empty() };
        let offset = address - allocation.base;
        let fits = allocation.size - offset >= bytes.len() as u64;
        if fits {
            allocation.copy_to(offset, bytes);
        }
        fits
    }

    /// Writes bytes; `false`, and nothing done, if they do not all fit into one allocation.
    pub fn write(&self, address: u64, bytes: &[u8]) -> bool {
        let Some(allocation) = self.find(address) else { return bytes.is_empty() };
        let offset = address - allocation.base;
        let fits = allocation.size - offset >= bytes.len() as u64;
        if fits {
            allocation.fill(offset, bytes);
        }
        fits
    }

    /// The zero-terminated string at `address`, up to the end of its allocation.
    pub fn c_string(&self, address: u64) -> Option<Vec<u8>> {
        let allocation = self.find(address)?;
        let from = address - allocation.base;
        Some((from..allocation.size).map(|at| allocation.byte(at)).take_while(|&byte| byte != 0).collect())
    }

    fn nearest(&self, address: u64) -> Option<Nearest> {
        let distance = |a: &&Allocation| match address < a.base {
            true => a.base - address,
            false => address.saturating_sub(a.base + a.size),
        };
        let allocation = self.allocations.iter().min_by_key(distance)?;
        Some(Nearest { name: allocation.name.clone(), base: allocation.base, size: allocation.size })
    }
}

impl Allocation {
    /// Zeros, of which the host gives pages when they are first touched.
    fn new(name: &str, base: u64, size: u64, quota: &Quota) -> Result<Self, OutOfMemory> {
        // Two allocations may lie in one word; then each has a word of its own for its bytes.
        let count = (base % 4).saturating_add(size).div_ceil(4);
        quota.take(count.saturating_mul(4))?;
        let words = usize::try_from(count).ok().and_then(|count| <[AtomicU32]>::new_box_zeroed_with_elems(count).ok());
        Ok(Allocation { name: name.to_owned(), base, size, words: words.ok_or(OutOfMemory::Host(size))? })
    }

    /// Name given when it was made.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// First address.
    pub fn base(&self) -> u64 {
        self.base
    }

    /// Size in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Its contents, 32 bits at a time, from the multiple of 4 on that its base lies at or behind; the last word may
    /// be in part past its end.
    #[inline]
    pub fn words(&self) -> &[AtomicU32] {
        &self.words
    }

    /// Whether `size` bytes at `address` lie inside.
    #[inline]
    pub fn holds(&self, address: u64, size: u32) -> bool {
        address >= self.base
            && address - self.base <= self.size.saturating_sub(u64::from(size))
            && self.size >= u64::from(size)
    }

    /// The aligned 32-bit cell at `address`, for loads, stores and atomics.
    ///
    /// The caller has checked the address with [`Memory::check`] or [`Allocation::holds`]; an
    /// address outside panics like any index out of bounds.
    #[inline]
    pub fn word(&self, address: u64) -> &AtomicU32 {
        &self.words[((address - self.base + self.base % 4) / 4) as usize]
    }

    /// Load 1, 2 or 4 bytes from an address that is a multiple of `size` and inside, zero-extended.
    #[inline]
    pub fn load(&self, address: u64, size: u32) -> u32 {
        let word = self.word(address).load(Relaxed);
        match size {
            4 => word,
            2 => word >> (8 * (address & 2)) & 0xffff,
            _ => word >> (8 * (address & 3)) & 0xff,
        }
    }

    /// Store the low 1, 2 or 4 bytes of `value` to an address that is a multiple of `size` and
    /// inside.
    #[inline]
    pub fn store(&self, address: u64, size: u32, value: u32) {
        let (mask, shift) = match size {
            4 => return self.word(address).store(value, Relaxed),
            2 => (0xffff, 8 * (address & 2) as u32),
            _ => (0xff, 8 * (address & 3) as u32),
        };
        self.update(address, |word| word & !(mask << shift) | (value & mask) << shift);
    }

    /// Replace the word that contains `address` by `f` of it, atomically; returns the old word.
    #[inline]
    pub fn update(&self, address: u64, f: impl Fn(u32) -> u32) -> u32 {
        let cell = self.word(address);
        let mut old = cell.load(Relaxed);
        loop {
            match cell.compare_exchange_weak(old, f(old), Relaxed, Relaxed) {
                Ok(_) => return old,
                Err(now) => old = now,
            }
        }
    }

    fn byte(&self, offset: u64) -> u8 {
        self.load(self.base + offset, 1) as u8
    }

    /// The bytes from one offset up to another, which are inside.
    fn bytes(&self, from: u64, to: u64) -> Vec<u8> {
        let mut bytes = vec![0; (to - from) as usize];
        self.copy_to(from, &mut bytes);
        bytes
    }

    /// Copies bytes from an offset on, which are inside: word by word, for buffers are large.
    fn copy_to(&self, offset: u64, bytes: &mut [u8]) {
        let start = self.base + offset;
        let head = bytes.len().min((start.wrapping_neg() % 4) as usize);
        let (head, rest) = bytes.split_at_mut(head);
        let (whole, tail) = rest.as_chunks_mut::<4>();
        let aligned = start + head.len() as u64;
        let load = |from: u64, bytes: &mut [u8]| {
            (from..).zip(bytes).for_each(|(at, byte)| *byte = self.load(at, 1) as u8);
        };
        load(start, head);
        let first = (aligned - self.base + self.base % 4) / 4;
        for (cell, word) in self.words.iter().skip(first as usize).zip(&mut *whole) {
            *word = cell.load(Relaxed).to_le_bytes();
        }
        load(aligned + 4 * whole.len() as u64, tail);
    }

    /// Stores bytes from an offset on, which are inside: whole words where they are, for other bytes of a word may be
    /// another variable's.
    fn fill(&self, offset: u64, bytes: &[u8]) {
        let start = self.base + offset;
        let head = bytes.len().min((start.wrapping_neg() % 4) as usize);
        let (head, rest) = bytes.split_at(head);
        let (whole, tail) = rest.as_chunks::<4>();
        let aligned = start + head.len() as u64;
        let store = |from: u64, bytes: &[u8]| {
            (from..).zip(bytes).for_each(|(at, byte)| self.store(at, 1, u32::from(*byte)));
        };
        store(start, head);
        let first = (aligned - self.base + self.base % 4) / 4;
        for (cell, word) in self.words.iter().skip(first as usize).zip(whole) {
            cell.store(u32::from_le_bytes(*word), Relaxed);
        }
        store(aligned + 4 * whole.len() as u64, tail);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_and_neighbours_stay() {
        let mut memory = Memory::new();
        let base = memory.allocate_with("a", &[1, 2, 3, 4, 5, 6, 7]);
        let allocation = memory.check(base + 4, 2).expect("inside and aligned");
        allocation.store(base + 4, 2, 0xbeef_cafe);
        allocation.store(base + 1, 1, 0xff);
        assert_eq!(memory.read(base, 7), Some(vec![1, 0xff, 3, 4, 0xfe, 0xca, 7]));
        assert_eq!(allocation.load(base, 4), 0x0403_ff01);
        assert_eq!(allocation.update(base, |v| v + 1), 0x0403_ff01);
    }

    #[test]
    fn overruns_and_misalignment_are_told_apart() {
        let mut memory = Memory::new();
        memory.allocate("first", 64);
        let base = memory.allocate("second", 10);
        assert!(memory.check(base + 8, 2).is_ok());
        assert_eq!(memory.check(base + 6, 4).err(), Some(AddressError::Misaligned));
        for address in [base + 8, base + 12, base + 500] {
            match memory.check(address, 4).expect_err("past the end") {
                AddressError::Outside(Some(nearest)) => assert_eq!(nearest.name, "second"),
                other => panic!("{other:?}"),
            }
        }
        assert!(memory.check(0, 4).is_err());
        assert!(memory.check(u64::MAX, 8).is_err());
        assert_eq!(memory.read(base, 11), None);
        assert!(!memory.write(base + 8, &[0; 3]));
    }

    #[test]
    fn variables_are_placed_where_the_module_wants_them() {
        let mut memory = Memory::new();
        let other = memory.allocate("other", 4);
        assert!(memory.place("b", 0x6_0000_0100, 16));
        assert!(memory.place("a", 0x6_0000_0000, 0x100));
        assert!(!memory.place("twice", 0x6_0000_0108, 4));
        assert!(!memory.place("into the next", 0x6_0000_00fc, 8));
        assert!(!memory.place("too high", other + 0x1000, 4));
        assert!(memory.place("c", 0x6_0000_0111, 2), "bytes lie anywhere");
        assert!(memory.place("d", 0x6_0000_0113, 5));
        assert!(memory.place("e", 0x6_0000_0110, 1));
        assert!(memory.write(0x6_0000_0111, &[1, 2]) && memory.write(0x6_0000_0113, &[3, 4, 5, 6, 7]));
        assert_eq!(memory.read(0x6_0000_0111, 2), Some(vec![1, 2]));
        assert_eq!(memory.read(0x6_0000_0113, 5), Some(vec![3, 4, 5, 6, 7]));
        assert_eq!(memory.read(0x6_0000_0110, 1), Some(vec![0]));
        let across = memory.check(0x6_0000_0110, 4).expect_err("three variables");
        assert!(matches!(across, AddressError::Outside(_)));
        assert_eq!(memory.check(0x6_0000_0114, 4).map(|of| of.load(0x6_0000_0114, 4)), Ok(0x0706_0504));
        assert!(memory.write(0x6_0000_010c, &[7]));
        assert_eq!(memory.find(0x6_0000_010c).map(Allocation::name), Some("b"));
        assert_eq!(memory.find(other).map(Allocation::name), Some("other"));
    }

    /// Every place and length in a few words, against bytes that are stored one by one.
    #[test]
    fn bytes_go_in_and_out_wherever_they_lie() {
        for ahead in 0..4 {
            let base = 0x6_0000_0100 + ahead;
            for (from, length) in (0..=11).flat_map(|from| (0..=11 - from).map(move |length| (from, length))) {
                let mut memory = Memory::new();
                assert!(memory.place("a", base, 11));
                assert!(memory.write(base, &[0xee; 11]));
                let bytes: Vec<u8> = (1..=length as u8).collect();
                assert!(memory.write(base + from, &bytes));
                let allocation = memory.find(base).expect("it is there");
                let one_by_one: Vec<u8> = (base..base + 11).map(|at| allocation.load(at, 1) as u8).collect();
                let mut want = vec![0xee; 11];
                want[from as usize..][..length as usize].copy_from_slice(&bytes);
                assert_eq!(one_by_one, want, "{length} at {from}, {ahead} behind a word's start");
                let mut copied = vec![0; length as usize];
                assert_eq!(memory.read_into(base + from, &mut copied), from < 11 || length == 0);
                assert_eq!(copied, bytes);
                assert_eq!(memory.read(base + from, length), Some(bytes).filter(|_| from < 11));
            }
        }
    }

    #[test]
    fn what_there_is_no_room_for_is_empty_and_told() {
        let mut memory = Memory::with_limit(Some(100));
        let first = memory.allocate("first", 60);
        assert_eq!(memory.complete(), Ok(()));
        let second = memory.allocate_with("second", &[7; 41]);
        assert_eq!(memory.complete(), Err(OutOfMemory::Limit(100)));
        assert!(memory.find(first).is_some() && memory.find(second).is_none() && second > first);
        assert!(memory.place("third", 0x6_0000_0000, 40));
        assert_eq!((memory.quota().taken(), memory.complete()), (100, Err(OutOfMemory::Limit(100))));
        let mut memory = Memory::new();
        let huge = memory.allocate("huge", u64::MAX);
        assert_eq!(memory.complete(), Err(OutOfMemory::Host(u64::MAX)));
        assert!(!memory.write(huge, &[0]));
    }

    #[test]
    fn threads_may_share_a_word() {
        let mut memory = Memory::new();
        let base = memory.allocate("shared", 4);
        let memory = &memory;
        std::thread::scope(|scope| {
            for lane in 0..4 {
                scope.spawn(move || {
                    for _ in 0..1000 {
                        let allocation = memory.check(base + lane, 1).expect("inside");
                        allocation.store(base + lane, 1, allocation.load(base + lane, 1) + 1);
                    }
                });
            }
        });
        assert_eq!(memory.read(base, 4), Some(vec![(1000 % 256) as u8; 4]));
    }
}
