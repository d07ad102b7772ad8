//! The C library's heap, where all memory comes from: told to keep what it has, and put on huge pages.
//!
//! A compiler is short-lived and frees most of what it takes. The C library is told to give nothing back to the system and
//! to take large blocks where the small ones are: else each growth of a large vector is memory to be mapped and cleared
//! anew, 3 % of the time of the kernel corpus. What is left is the first touch of each page, over a microsecond on a
//! virtual machine: on a huge page one touch does for 512 of them, in the time of 35 (another 6 % of the corpus). The C
//! library asks for huge pages only where the environment tells it to (`glibc.malloc.hugetlb`), so that it is done here.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};

use libc::{c_int, c_void};

/// Bytes of a huge page (x86-64, and AArch64 with pages of 4 KiB).
const HUGE: usize = 2 << 20;
/// Bytes from which a block is mapped on its own: the most that the C library takes.
const MAPPED_FROM: c_int = 32 << 20;
/// Bytes that the heap grows by. They are addresses until they are touched.
const AT_ONCE: c_int = 32 << 20;
/// Bytes of the block that makes the heap grow: more than what the C library takes at its start.
const PROBE: usize = 256 << 10;

/// Prepares the heap when it is called for the first time, which is before anything large was taken.
#[inline]
pub(crate) fn prepare() {
    static IS_PREPARED: AtomicBool = AtomicBool::new(false);
    if !IS_PREPARED.swap(true, Ordering::Relaxed) {
        keep();
        enlarge_pages();
    }
}

/// Nothing is given back, and large blocks are taken from the heap.
#[cold]
fn keep() {
    let options =
        [(libc::M_MMAP_THRESHOLD, MAPPED_FROM), (libc::M_TRIM_THRESHOLD, c_int::MAX), (libc::M_TOP_PAD, AT_ONCE)];
    for (option, value) in options {
        // SAFETY: `mallopt` sets numbers of the allocator, may be called at any time, and refuses by returning 0 what
        // it does not take.
        unsafe { libc::mallopt(option, value) };
    }
}

/// Asks for huge pages in the part of the heap that is yet untouched. A block that is never touched nor freed goes from
/// where that part begins to the first boundary of such pages, so that all that is taken from now on lies beyond it.
/// Where the C library's heap is not what is expected here, nothing is done: it is a question of speed alone.
#[cold]
fn enlarge_pages() {
    // SAFETY: the block is the C library's and freed once; `sbrk(0)` asks where the heap ends.
    let (first, end) = unsafe {
        let block = libc::malloc(PROBE);
        let end = libc::sbrk(0);
        libc::free(block);
        (block as usize, end as usize)
    };
    let (from, until) = (first.next_multiple_of(HUGE), end / HUGE * HUGE);
    let is_in_heap = first != 0 && first < end && end - first < 2 * AT_ONCE as usize;
    if !is_in_heap || from >= until {
        return;
    }
    // SAFETY: a block that nobody has is nobody's business; advice changes no byte of memory.
    unsafe {
        // A block that nothing is done with need not be taken, the optimiser finds.
        black_box(libc::malloc((from - first).saturating_sub(2 * size_of::<usize>())));
        libc::madvise(from as *mut c_void, until - from, libc::MADV_HUGEPAGE);
    }
}
