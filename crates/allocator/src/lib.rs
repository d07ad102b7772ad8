//! The command's memory: small blocks from lists of one size each, the rest from the system's allocator.
//!
//! A compilation takes and frees small blocks by the ten thousand, nearly all of them on one thread and of the sizes
//! that it has just freed. The C library's allocator spends 8 % of a compilation on them: it keeps a header with each and
//! merges neighbours. Here a block's size says which list it is on, so that to take one is to unlink it: 6 % of the time
//! of the kernel corpus is saved. A library's allocator (mimalloc) is no faster in this use, and what it clears before
//! the first instruction is read makes it slower in all.
//!
//! Each thread has lists of its own. What a thread frees goes to its list, whoever took it. Now and then it offers the
//! list to all threads, so that one that takes and another that frees do not make memory grow; and when it ends it offers
//! all that it has. A thread looks at what is offered before it cuts memory that was never used. A chunk that was taken
//! from the system is never given back.
//!
//! A crate of its own because it is built for speed and the command for size. Threads end differently on Windows: the crate is
//! empty there.
#![cfg(unix)]
// The examples of README.md are tests.
#![cfg_attr(doctest, doc = include_str!("../README.md"))]

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod heap;
mod offered;
mod thread_end;

use offered::OFFERED;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr;

/// Bytes of the largest block that has a list. Larger ones are rarely of a size that was just freed: with 1024 the
/// kernel corpus takes 1 % longer, with 16,384 it takes the same.
const LARGEST: usize = 4096;
/// Of every block, in bytes; what asks for more goes to the system.
const ALIGNMENT: usize = 16;
const CLASSES: usize = class_of(LARGEST).number + 1;
/// Bytes that are taken from the system at a time.
const CHUNK: usize = 256 << 10;
/// Bytes that a thread frees into a list before it offers it to all.
const OFFERED_AFTER: usize = 256 << 10;

/// Blocks of one size: 16 bytes apart to 64, then four to each doubling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Class {
    number: usize,
    /// Of each of its blocks, a multiple of [`ALIGNMENT`].
    bytes: usize,
}

/// The class of a block of `size` bytes, at most [`LARGEST`].
const fn class_of(size: usize) -> Class {
    let last = if size > ALIGNMENT { size - 1 } else { ALIGNMENT - 1 };
    if last < 64 {
        let number = last / ALIGNMENT;
        return Class { number, bytes: (number + 1) * ALIGNMENT };
    }
    let power = last.ilog2() as usize;
    let quarter = (last >> (power - 2)) & 3;
    Class { number: 4 * (power - 5) + quarter, bytes: (5 + quarter) << (power - 2) }
}

/// Whether such a block is on a list.
fn is_listed(layout: Layout) -> bool {
    layout.size() <= LARGEST && layout.align() <= ALIGNMENT
}

/// What a free block holds.
struct Free {
    /// The next of its list.
    next: *mut Free,
    /// Of the first of a list that was offered: the next such list.
    offered: *mut Free,
}

/// A thread's memory.
struct Local {
    /// The first free block of each class.
    free: [Cell<*mut Free>; CLASSES],
    /// Blocks freed into each class since its list was last offered.
    freed: [Cell<usize>; CLASSES],
    /// What is left of the last chunk, and how many bytes that is.
    rest: Cell<*mut u8>,
    left: Cell<usize>,
    /// The thread offers what it has when it ends.
    is_watched: Cell<bool>,
}

thread_local! {
    static LOCAL: Local = const {
        Local {
            free: [const { Cell::new(ptr::null_mut()) }; CLASSES],
            freed: [const { Cell::new(0) }; CLASSES],
            rest: Cell::new(ptr::null_mut()),
            left: Cell::new(0),
            is_watched: Cell::new(false),
        }
    };
}

impl Local {
    /// A block of this class; null where the system has no more.
    #[inline]
    fn take(&self, class: Class) -> *mut u8 {
        let first = self.free[class.number].get();
        if first.is_null() {
            return self.refill(class);
        }
        // SAFETY: what is on a list is a block of the list's class, in which `free` wrote the next, and nobody's since.
        self.free[class.number].set(unsafe { (*first).next });
        first.cast()
    }

    /// A block of a class whose list is empty: from a list that a thread offered, else from a chunk.
    fn refill(&self, class: Class) -> *mut u8 {
        if !self.is_watched.get() {
            self.is_watched.set(thread_end::watch());
        }
        let list = OFFERED.take(class);
        if !list.is_null() {
            self.free[class.number].set(list);
            return self.take(class);
        }
        if self.left.get() < class.bytes && !self.open_chunk(class.bytes) {
            return ptr::null_mut();
        }
        let block = self.rest.get();
        // SAFETY: the chunk has `left` bytes from here, and those are no fewer than the block's.
        self.rest.set(unsafe { block.add(class.bytes) });
        self.left.set(self.left.get() - class.bytes);
        block
    }

    /// Have `bytes` or more to cut from: of a chunk that a thread left, else of a new one. Whether there is one.
    fn open_chunk(&self, bytes: usize) -> bool {
        let (rest, left) = OFFERED.take_rest(bytes).unwrap_or_else(|| {
            #[cfg(all(target_os = "linux", target_env = "gnu"))]
            heap::prepare();
            #[cfg(test)]
            tests::CHUNKS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            // SAFETY: the size is not zero.
            (unsafe { System.alloc(Layout::from_size_align_unchecked(CHUNK, ALIGNMENT)) }, CHUNK)
        });
        if rest.is_null() {
            return false;
        }
        self.rest.set(rest);
        self.left.set(left);
        true
    }

    /// Offer all that the thread has.
    fn leave(&self) {
        self.is_watched.set(false);
        for (number, list) in self.free.iter().enumerate() {
            let first = list.replace(ptr::null_mut());
            self.freed[number].set(0);
            if !first.is_null() {
                OFFERED.put_for_certain(first, number);
            }
        }
        let left = self.left.replace(0);
        if left >= ALIGNMENT {
            OFFERED.put_rest(self.rest.replace(ptr::null_mut()), left);
        }
    }

    /// # Safety
    /// The block is of this class and nobody's.
    #[inline]
    unsafe fn free(&self, block: *mut u8, class: Class) {
        let block: *mut Free = block.cast();
        let next = self.free[class.number].replace(block);
        // SAFETY: a block has room for a `Free` and is aligned for it, and it is ours. The other field is written by `put`.
        unsafe { (&raw mut (*block).next).write(next) };
        let freed = self.freed[class.number].get() + 1;
        self.freed[class.number].set(freed);
        if freed * class.bytes >= OFFERED_AFTER && OFFERED.put(block, class.number) {
            self.free[class.number].set(ptr::null_mut());
            self.freed[class.number].set(0);
        }
    }
}

/// The allocator, for `#[global_allocator]`.
pub struct SizeClasses;

// SAFETY: a block comes from the list or the chunk of its class, which the layout alone decides, so that it is as large and
// as aligned as is asked for, and goes to the list of the same class; all else is the system's, by the same rule. A block
// is on no list while it is somebody's. Nothing here panics or calls an allocator that is not the system's.
unsafe impl GlobalAlloc for SizeClasses {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_listed(layout) {
            return LOCAL.with(|local| local.take(class_of(layout.size())));
        }
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if is_listed(layout) {
            // SAFETY: it was taken with this layout, so that it is of this class.
            return LOCAL.with(|local| unsafe { local.free(block, class_of(layout.size())) });
        }
        // SAFETY: the caller's promise, and that `alloc` took it from there.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller promises that the size is one of a layout.
        let new = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        match (is_listed(layout), is_listed(new)) {
            // SAFETY: the caller's promise, and that `alloc` took it from there.
            (false, false) => return unsafe { System.realloc(block, layout, size) },
            (true, true) if class_of(layout.size()) == class_of(size) => return block,
            _ => {}
        }
        // SAFETY: the caller's promise; the two blocks are apart, and each has the bytes that are copied.
        unsafe {
            let moved = self.alloc(new);
            if !moved.is_null() {
                ptr::copy_nonoverlapping(block, moved, layout.size().min(size));
                self.dealloc(block, layout);
            }
            moved
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    /// Chunks that all threads have taken from the system.
    pub(crate) static CHUNKS: AtomicUsize = AtomicUsize::new(0);

    #[global_allocator]
    static ALLOCATOR: SizeClasses = SizeClasses;

    /// Every size has a class that holds it, the smallest that does, and the classes are numbered without holes.
    #[test]
    fn a_class_holds_its_sizes() {
        let mut last = Class { number: 0, bytes: ALIGNMENT };
        for size in 0..=LARGEST {
            let class = class_of(size);
            assert!(class.bytes >= size && class.bytes.is_multiple_of(ALIGNMENT), "{size}");
            if class != last {
                assert_eq!((class.number, last.bytes), (last.number + 1, size - 1), "{size}");
                last = class;
            }
        }
        assert_eq!((last.number, last.bytes), (CLASSES - 1, LARGEST));
    }

    /// What one thread takes and another frees is taken again: no block is anybody else's while it is somebody's, and
    /// what is in it stays.
    #[test]
    fn blocks_pass_between_threads() {
        let (give, take) = std::sync::mpsc::sync_channel::<Vec<Box<[usize]>>>(4);
        let checks = std::thread::spawn(move || {
            for (round, blocks) in take.iter().enumerate() {
                for (number, block) in blocks.iter().enumerate() {
                    assert!(block.iter().all(|&word| word == round * 1000 + number), "{round} {number}");
                }
            }
        });
        for round in 0..400 {
            give.send((0..200).map(|number| vec![round * 1000 + number; number % 160].into()).collect()).unwrap();
        }
        drop(give);
        checks.join().unwrap();
    }

    /// Blocks of most classes, half a megabyte in all.
    fn blocks() -> Vec<Vec<u8>> {
        (0..1000).map(|number| vec![1; 16 + number % 1000]).collect()
    }

    /// What a thread has when it ends is another's: a thousand that take the same one after the other take it once.
    #[test]
    fn threads_that_end_leave_their_memory() {
        let run = |threads| {
            for _ in 0..threads {
                std::thread::spawn(|| drop(blocks())).join().unwrap();
            }
            CHUNKS.load(std::sync::atomic::Ordering::Relaxed)
        };
        let (before, after) = (run(50), run(1000));
        // The other tests run beside this one.
        assert!(after - before < 100, "{before} chunks, then {after}");
    }

    /// A thread that only takes uses what another one frees, before its chunk is used up.
    #[test]
    fn what_is_offered_is_taken_first() {
        let (give, take) = std::sync::mpsc::sync_channel(1);
        let frees = std::thread::spawn(move || take.iter().for_each(|blocks: Vec<Vec<u8>>| drop(blocks)));
        let run = |rounds| {
            for _ in 0..rounds {
                give.send(blocks()).unwrap();
            }
            CHUNKS.load(std::sync::atomic::Ordering::Relaxed)
        };
        let (before, after) = (run(50), run(1000));
        assert!(after - before < 100, "{before} chunks, then {after}");
        drop(give);
        frees.join().unwrap();
    }

    /// A block that grows and shrinks through all classes and beyond keeps its bytes.
    #[test]
    fn growth_keeps_the_bytes() {
        let mut bytes = Vec::new();
        for size in 0..3 * LARGEST {
            bytes.reserve_exact(1);
            bytes.push(size as u8);
        }
        while bytes.len() > 1 {
            assert_eq!(bytes.pop(), Some(bytes.len() as u8));
            bytes.shrink_to_fit();
        }
    }
}
