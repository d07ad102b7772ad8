//! Mutates PTX, by bytes and by tokens, and gives each mutant to the parser
//! and the checker: no panic, no case over a second, and memory in proportion
//! to the input. Seeds make runs repeatable.
//!
//!     cargo run -p oriole-ptx --features examples --example mutate_ptx -- COUNT SEED FILE...
//!
//! Each FILE is PTX, or JSON lines with a `ptx` field.

use std::time::{Duration, Instant};

/// A case that takes longer is reported.
const SLOWEST: Duration = Duration::from_secs(1);

/// A 64-bit linear congruential generator (Knuth's constants), high bits used.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound.max(1)
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut number = || arguments.next().and_then(|text| text.parse::<u64>().ok());
    let (Some(count), Some(seed)) = (number(), number()) else { return Err("COUNT SEED FILE...".into()) };
    let mut seeds = Vec::new();
    for path in arguments {
        let text = std::fs::read_to_string(&path)?;
        match path.ends_with(".jsonl") {
            true => seeds.extend(text.lines().filter_map(form)),
            false => seeds.push(text),
        }
    }
    if seeds.is_empty() {
        return Err("no seeds".into());
    }
    let (mut random, mut accepted, mut bytes) = (Random(seed), 0u64, 0u64);
    let (start, mut slowest) = (Instant::now(), Duration::ZERO);
    for case in 0..count {
        let base = random.below(seeds.len());
        let other = random.below(seeds.len());
        let text = mutant(&mut random, &seeds[base], &seeds[other]);
        bytes += text.len() as u64;
        let begun = Instant::now();
        let outcome = std::panic::catch_unwind(|| oriole_ptx::load(&text).is_ok());
        let took = begun.elapsed();
        slowest = slowest.max(took);
        match outcome {
            Ok(good) => accepted += u64::from(good),
            Err(_) => return Err(format!("case {case} panics:\n{text}").into()),
        }
        if took > SLOWEST {
            return Err(format!("case {case} takes {took:?}:\n{text}").into());
        }
    }
    println!("{count} mutants of {} seeds, {bytes} bytes, in {:?}; {accepted} accepted", seeds.len(), start.elapsed());
    println!("slowest case: {slowest:?}; {}", peak_memory());
    Ok(())
}

/// The module of one JSON line, with a target in place of the placeholder.
fn form(line: &str) -> Option<String> {
    let value: serde_json::Value = serde_json::from_str(line).ok()?;
    Some(value.get("ptx")?.as_str()?.replace("@TARGET@", "sm_90"))
}

/// One to four changes of bytes or tokens; tokens may come from another seed.
fn mutant(random: &mut Random, base: &str, other: &str) -> String {
    let mut text = base.as_bytes().to_vec();
    for _ in 0..=random.below(4) {
        if random.below(2) == 0 {
            change_bytes(random, &mut text);
        } else {
            change_tokens(random, &mut text, other.as_bytes());
        }
    }
    String::from_utf8_lossy(&text).into_owned()
}

fn change_bytes(random: &mut Random, text: &mut Vec<u8>) {
    let at = random.below(text.len() + 1);
    let end = (at + random.below(16)).min(text.len());
    match random.below(4) {
        0 => drop(text.drain(at..end)),
        1 => text.insert(at, random.below(256) as u8),
        2 => {
            let copy = text[at..end].to_vec();
            let to = random.below(text.len() + 1);
            drop(text.splice(to..to, copy));
        }
        _ => {
            if let Some(byte) = text.get_mut(at) {
                *byte ^= 1 << random.below(8);
            }
        }
    }
}

fn change_tokens(random: &mut Random, text: &mut Vec<u8>, other: &[u8]) {
    let (here, there) = (tokens(text), tokens(other));
    if here.is_empty() || there.is_empty() {
        return;
    }
    let place = here[random.below(here.len())].clone();
    match random.below(4) {
        0 => drop(text.drain(place)),
        1 => {
            let token = other[there[random.below(there.len())].clone()].to_vec();
            drop(text.splice(place, token));
        }
        2 => {
            let token = other[there[random.below(there.len())].clone()].to_vec();
            drop(text.splice(place.start..place.start, token));
        }
        _ => {
            let token = text[here[random.below(here.len())].clone()].to_vec();
            drop(text.splice(place, token));
        }
    }
}

/// Words (with a leading dot or percent sign) and single other characters.
fn tokens(text: &[u8]) -> Vec<std::ops::Range<usize>> {
    let word = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | b':' | b'%' | b'.');
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let start = at;
        at += 1;
        if word(text[start]) {
            while at < text.len() && word(text[at]) && text[at] != b'.' {
                at += 1;
            }
        }
        if !text[start].is_ascii_whitespace() {
            found.push(start..at);
        }
    }
    found
}

/// The peak resident memory of this process, where the system tells.
fn peak_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or_else(|| "peak memory unknown".to_owned(), |size| format!("peak memory {}", size.trim()))
}
