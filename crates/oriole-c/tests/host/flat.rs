//! How much memory the process holds.

use crate::by_effort;
use crate::calls::{CALLS, Simulator, ptx};
use crate::common::cubin;
use oriole_c::*;

use orioleResult::*;

/// A line of `/proc/self/status`, in bytes.
fn status(name: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").expect("it says what the process holds");
    let value = text.lines().find_map(|line| line.strip_prefix(name)).expect("there is such a line");
    1024 * value.trim().trim_end_matches("kB").trim().parse::<u64>().expect("a number")
}

/// The device memory of a launch is a copy; there is no further one.
pub(crate) fn a_launch_holds_one_copy_of_a_buffer() {
    const BYTES: u64 = 256 << 20;
    let simulator = Simulator::new(&cubin(ptx(1, 4), &[]));
    let mut buffer = vec![1u32; BYTES as usize / 4];
    let before = status("VmRSS:");
    assert_eq!(simulator.launch(c"k0", [1, 1], &mut buffer), ORIOLE_SUCCESS);
    let most = status("VmHWM:") - before;
    println!("a buffer of {} MB takes {} MB more", BYTES >> 20, most >> 20);
    assert!(most < BYTES + BYTES / 8, "{most}");
    // 1, 2, 4, and 4 + 2.
    assert_eq!((buffer[0], buffer[1], buffer.last()), (6, 1, Some(&1)));
}

/// After the first hundred calls of a kind the process grows no more: of several stretches of calls one at least adds nothing. (What an
/// allocator keeps for threads that come and go may be more at one moment than at another.)
pub(crate) fn memory_stays_flat() {
    /// Bytes that allocators keep or give back from one moment to the next.
    const SLACK: u64 = 4 << 20;
    const STRETCHES: usize = 3;
    for (name, call) in CALLS {
        // A large module takes as long as twenty small ones.
        let count = by_effort(if name.contains("130 KB") { [130, 190, 10_000] } else { [300, 1000, 10_000] });
        (0..100).for_each(|_| call());
        let stretches: Vec<(u64, u64)> = (0..STRETCHES)
            .map(|_| {
                let before = status("VmRSS:");
                (0..(count - 100) / STRETCHES as u32).for_each(|_| call());
                (before, status("VmRSS:"))
            })
            .collect();
        println!("{name}: bytes before and after each of {STRETCHES} stretches of {count} calls: {stretches:?}");
        assert!(
            stretches.iter().any(|(before, after)| *after < before + SLACK / STRETCHES as u64),
            "{name}: {stretches:?}"
        );
    }
}
