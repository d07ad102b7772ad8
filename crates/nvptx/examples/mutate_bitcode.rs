//! Reads damaged bitcode: `mutate_bitcode COUNT FILE…`
//!
//! Each file is damaged COUNT / number of files times in a way that the number of the try gives, and read. Panics and
//! readings that take longer than a second are reported with that number; the exit status is 1 if there were any.

use std::time::{Duration, Instant};

use fastrand::Rng;

fn main() {
    let mut args = std::env::args().skip(1);
    let count: u64 = args.next().and_then(|count| count.parse().ok()).expect("the number of tries comes first");
    let files: Vec<(String, Vec<u8>)> = args
        .map(|path| (path.clone(), std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))))
        .collect();
    let (mut whole, mut refused, mut bad, mut slowest) = (0u64, 0u64, 0u64, Duration::ZERO);
    for number in 0..count {
        let (path, bytes) = &files[(number % files.len() as u64) as usize];
        let damaged = damage(bytes, &mut Rng::with_seed(number));
        let start = Instant::now();
        let result = std::panic::catch_unwind(|| oriole_nvptx::bitcode::read(&damaged, path).is_ok());
        let took = start.elapsed();
        slowest = slowest.max(took);
        match result {
            Ok(true) => whole += 1,
            Ok(false) => refused += 1,
            Err(_) => {
                println!("try {number}, {path}: panic");
                bad += 1;
            }
        }
        if took > Duration::from_secs(1) {
            println!("try {number}, {path}: {took:?}");
            bad += 1;
        }
    }
    println!("{count} tries: {whole} read, {refused} refused, {bad} bad, the slowest took {slowest:?}");
    std::process::exit(i32::from(bad > 0));
}

/// The bytes with one to eight changes.
fn damage(bytes: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..rng.u32(1..=8) {
        if bytes.len() < 8 {
            break;
        }
        let at = rng.usize(4..bytes.len());
        match rng.u32(0..6) {
            0 | 1 => bytes[at] ^= 1 << rng.u32(0..8),
            2 => bytes[at] = rng.u8(..),
            // Block lengths and the like are whole words.
            3 => {
                let at = at & !3;
                let word = [rng.u32(..), u32::MAX, 0, rng.u32(0..1000)][rng.usize(0..4)];
                let end = (at + 4).min(bytes.len());
                bytes[at..end].copy_from_slice(&word.to_le_bytes()[..end - at]);
            }
            4 => {
                let len = rng.usize(0..64).min(bytes.len() - at);
                let from = rng.usize(0..bytes.len() - len);
                bytes.copy_within(from..from + len, at);
            }
            _ if rng.u32(0..8) == 0 => bytes.truncate(at),
            _ => drop(bytes.remove(at)),
        }
    }
    bytes
}
