//! A host program of its own, as forks, its whole memory and its end concern all of it: calls behind `fork`, at the end of memory,
//! cancelled at any moment, and by the thousand.
//!
//! There are 100 moments and 300 calls of each kind, with `ORIOLE_THOROUGH=1` 400 and 1,000, with `ORIOLE_EXHAUSTIVE=1`, which takes a
//! quarter of an hour, 4,000 and 10,000.

// A test of this program is a function that panics; it is no test of libtest's, which would run others beside it.
#[path = "../common/mod.rs"]
mod common;

#[cfg(target_os = "linux")]
mod calls;
#[cfg(target_os = "linux")]
mod cancelled;
#[cfg(target_os = "linux")]
mod flat;
#[cfg(target_os = "linux")]
mod forked;
#[cfg(target_os = "linux")]
mod refused;

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("skipped: what is looked at here is in /proc");
}

#[cfg(target_os = "linux")]
fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    if std::env::args().any(|word| word == "--list") {
        return;
    }
    let tests: [(&str, fn()); 8] = [
        ("a_launch_holds_one_copy_of_a_buffer", flat::a_launch_holds_one_copy_of_a_buffer),
        ("calls_end_behind_a_fork", forked::calls_end_behind_a_fork),
        ("calls_work_with_the_thread_that_there_is", refused::calls_work_with_the_thread_that_there_is),
        ("memory_that_runs_out_in_a_launch_is_an_error", refused::memory_that_runs_out_in_a_launch_is_an_error),
        ("a_compilation_that_grows_too_much_ends", refused::a_compilation_that_grows_too_much_ends),
        ("what_is_cancelled_at_any_moment_ends_soon", cancelled::what_is_cancelled_at_any_moment_ends_soon),
        ("compilations_end_when_their_time_is_over", cancelled::compilations_end_when_their_time_is_over),
        ("memory_stays_flat", flat::memory_stays_flat),
    ];
    for (name, test) in tests {
        if words.is_empty() || words.iter().any(|word| name.contains(word.as_str())) {
            let start = std::time::Instant::now();
            test();
            println!("test {name} ... ok ({:.1} s)", start.elapsed().as_secs_f64());
        }
    }
}

/// How much is to be tried: usually, thoroughly, or all.
#[cfg(target_os = "linux")]
fn by_effort([usual, thorough, exhaustive]: [u32; 3]) -> u32 {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| value == "1");
    match (is_set("ORIOLE_EXHAUSTIVE"), is_set("ORIOLE_THOROUGH")) {
        (true, _) => exhaustive,
        (false, true) => thorough,
        (false, false) => usual,
    }
}
