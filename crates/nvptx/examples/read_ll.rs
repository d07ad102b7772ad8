//! Reads files of LLVM assembly and says how long that takes: for each the best of several runs.
//!
//!     cargo run --release -p oriole-nvptx --features examples --example read_ll -- FILE...

use std::time::Instant;

/// How often each file is read.
const RUNS: u32 = 10;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut texts = Vec::new();
    for path in std::env::args().skip(1) {
        texts.push((std::fs::read_to_string(&path)?, path));
    }
    let mut refused = 0;
    for (text, path) in &texts {
        if let Err(error) = oriole_nvptx::text::parse(text, path) {
            println!("{}", error.render(text));
            refused += 1;
        }
    }
    let best = |(text, path): &(String, String)| {
        let run = || {
            let start = Instant::now();
            drop(std::hint::black_box(oriole_nvptx::text::parse(text, path)));
            start.elapsed().as_secs_f64()
        };
        (0..RUNS).map(|_| run()).fold(f64::INFINITY, f64::min)
    };
    let seconds: f64 = texts.iter().map(best).sum();
    let lines: usize = texts.iter().map(|(text, _)| text.lines().count()).sum();
    let bytes: usize = texts.iter().map(|(text, _)| text.len()).sum();
    println!("{} files, {refused} refused; {lines} lines, {bytes} bytes in {seconds:.3} s", texts.len());
    println!("{:.2} million lines/s, {:.0} MB/s", lines as f64 / seconds / 1e6, bytes as f64 / seconds / 1e6);
    Ok(())
}
