//! Mutates LLVM IR and compiles what is accepted: LLVM assembly by bytes and by tokens, bitcode by bits and words.
//!
//!     cargo run --release -p oriole-nvptx --features examples --example mutate_ir -- [--read] [--random N] COUNT SEED FILE.ll… FILE.bc…
//!
//! Each mutant goes through the reader, and what is accepted through all of the compiler, at `-O0` and `-O3`. With `--read`
//! it is printed instead, and what is printed must read back the same. With `--random`, N programs of
//! `oriole_ireval::generate` are mutated too. Findings are panics, internal errors, and whatever takes longer than a second.
//! Mutant `n` of a seed and list of files is always the same. One that never ends, or overflows the stack, is the one whose
//! number `--trace` shows last.

mod assembly;
mod bits;

use fastrand::Rng;
use oriole_nvptx::driver::{self, Options};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// A mutant that takes longer is a finding.
const SLOWEST: Duration = Duration::from_secs(1);

/// A file to mutate.
enum Seed {
    Assembly(String),
    Bitcode(Vec<u8>),
}

/// What became of a mutant.
enum Verdict {
    Refused,
    /// Read, but not compiled.
    Unsupported,
    Compiled,
    Finding(String),
}

struct Args {
    read: bool,
    trace: bool,
    random: u64,
    numbers: Vec<u64>,
    files: Vec<String>,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args = arguments().ok_or("usage: mutate [--read] [--trace] [--random N] COUNT SEED [FIRST] FILE…")?;
    let seeds = seeds(&args)?;
    let (count, seed) = (args.numbers[0], args.numbers[1]);
    let first = args.numbers.get(2).copied().unwrap_or(0);
    std::panic::set_hook(Box::new(|_| {}));
    let mut findings: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    let (mut refused, mut unsupported, mut compiled, mut bytes) = (0u64, 0u64, 0u64, 0u64);
    let (start, mut slowest) = (Instant::now(), (Duration::ZERO, 0));
    for number in first..first + count {
        if args.trace {
            eprintln!("{number}");
        }
        let mutant = mutant(&seeds, number, seed);
        bytes += mutant.len() as u64;
        let begun = Instant::now();
        let mut verdict = judge(&mutant, number, args.read);
        let took = begun.elapsed();
        slowest = slowest.max((took, number));
        if took > SLOWEST {
            verdict = Verdict::Finding(format!("takes longer than {SLOWEST:?}"));
        }
        match verdict {
            Verdict::Refused => refused += 1,
            Verdict::Unsupported => unsupported += 1,
            Verdict::Compiled => compiled += 1,
            Verdict::Finding(what) => {
                let known = findings.entry(what).or_insert((0, number));
                if known.0 == 0 {
                    std::fs::write(format!("mutant-{seed}-{number}"), &mutant)?;
                }
                known.0 += 1;
            }
        }
    }
    for (what, (times, number)) in &findings {
        println!("mutant {number} and {} more: {what}", times - 1);
    }
    println!(
        "{count} mutants of {} pieces, {bytes} bytes, in {:?}: {refused} refused by the reader, {unsupported} read, {compiled} compiled, {} findings",
        seeds.len(),
        start.elapsed(),
        findings.len()
    );
    println!("slowest: mutant {} took {:?}; {}", slowest.1, slowest.0, peak_memory());
    if findings.is_empty() { Ok(()) } else { Err("there are findings".into()) }
}

fn arguments() -> Option<Args> {
    let mut args = Args { read: false, trace: false, random: 0, numbers: Vec::new(), files: Vec::new() };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--read" => args.read = true,
            "--trace" => args.trace = true,
            "--random" => args.random = words.next()?.parse().ok()?,
            _ => match word.parse() {
                Ok(number) => args.numbers.push(number),
                Err(_) => args.files.push(word),
            },
        }
    }
    (args.numbers.len() >= 2).then_some(args)
}

fn seeds(args: &Args) -> Result<Vec<Seed>, Box<dyn std::error::Error>> {
    let mut seeds = Vec::new();
    for path in &args.files {
        let bytes = std::fs::read(path)?;
        match String::from_utf8(bytes) {
            Ok(text) => seeds.extend(assembly::pieces(&text).into_iter().map(Seed::Assembly)),
            Err(error) => seeds.push(Seed::Bitcode(error.into_bytes())),
        }
    }
    for number in 0..args.random {
        let program = oriole_ireval::generate::program(number, &oriole_ireval::generate::Options::default());
        seeds.push(Seed::Assembly(oriole_nvptx::text::print(&program.module)));
    }
    // A function alone may name what has been left out.
    seeds.retain(|seed| match seed {
        Seed::Assembly(text) => oriole_nvptx::text::parse(text, "seed").is_ok(),
        Seed::Bitcode(_) => true,
    });
    if seeds.is_empty() { Err("no seeds".into()) } else { Ok(seeds) }
}

fn mutant(seeds: &[Seed], number: u64, seed: u64) -> Vec<u8> {
    let mut rng = Rng::with_seed(number ^ seed.rotate_left(40));
    // Neighbouring seeds must not choose alike.
    let at = Rng::with_seed(rng.u64(..)).usize(..seeds.len());
    match &seeds[at] {
        Seed::Bitcode(bytes) => bits::damage(bytes, &mut rng),
        Seed::Assembly(text) => {
            let other = match &seeds[rng.usize(..seeds.len())] {
                Seed::Assembly(other) => other,
                Seed::Bitcode(_) => text,
            };
            assembly::mutant(&mut rng, text, other).into_bytes()
        }
    }
}

fn judge(mutant: &[u8], number: u64, read: bool) -> Verdict {
    let work = || if read { print_and_read(mutant) } else { compile(mutant, number) };
    std::panic::catch_unwind(work).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
        Verdict::Finding(format!("panic: {}", without_numbers(text)))
    })
}

fn compile(mutant: &[u8], number: u64) -> Verdict {
    let Ok(module) = driver::read(mutant, "mutant") else { return Verdict::Refused };
    let (level, arch) = [(0, "sm_80"), (3, "sm_90"), (3, "sm_80"), (0, "sm_90a")][number as usize % 4];
    let options = Options { level, arch: arch.to_owned(), ..Options::default() };
    match driver::compile(module, &[], &options) {
        Ok(_) => Verdict::Compiled,
        Err(error) if error.to_string().contains("internal") => Verdict::Finding(without_numbers(&error.to_string())),
        Err(_) => Verdict::Unsupported,
    }
}

/// What the reader takes is printed; that must be taken too, and print the same.
fn print_and_read(mutant: &[u8]) -> Verdict {
    let Ok(module) = driver::read(mutant, "mutant") else { return Verdict::Refused };
    let printed = oriole_nvptx::text::print(&module);
    match oriole_nvptx::text::parse(&printed, "printed") {
        Ok(again) if oriole_nvptx::text::print(&again) == printed => Verdict::Unsupported,
        Ok(_) => Verdict::Finding("prints differently the second time".into()),
        Err(error) => Verdict::Finding(format!("what is printed is refused: {}", without_numbers(&error.to_string()))),
    }
}

/// A message with `N` for numbers and without names, so that those of one cause are alike.
fn without_numbers(message: &str) -> String {
    let mut text = String::new();
    for (at, part) in message.split('`').enumerate() {
        // Every other part is quoted: a name if it starts like one.
        if at % 2 == 1 && part.chars().all(|letter| letter.is_alphanumeric() || "_.$@".contains(letter)) && at == 1 {
            text.push_str("NAME");
            continue;
        }
        for letter in part.chars() {
            match letter {
                '0'..='9' if text.ends_with('N') => {}
                '0'..='9' => text.push('N'),
                _ => text.push(letter),
            }
        }
    }
    text
}

/// The peak resident memory of this process, where the system tells.
fn peak_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or_else(|| "peak memory unknown".to_owned(), |size| format!("peak memory {}", size.trim()))
}
