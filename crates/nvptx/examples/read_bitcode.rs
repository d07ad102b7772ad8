//! Reads bitcode files and says how long it took: `read_bitcode FILE…`

use std::time::Instant;

use oriole_nvptx::bitcode::{LazyModule, read};

fn main() {
    for path in std::env::args().skip(1) {
        let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let start = Instant::now();
        let header = LazyModule::open(&bytes, &path).map(|lazy| lazy.module().symbols.len());
        let opened = start.elapsed();
        let start = Instant::now();
        match read(&bytes, &path) {
            Ok(module) => {
                let insts: usize = module.definitions().map(|(_, _, _, body)| body.inst_count()).sum();
                println!(
                    "{path}: {} symbols, {} functions, {insts} instructions, {} constants, {} nodes; header {:.3} ms, all {:.3} ms",
                    header.unwrap_or(0),
                    module.definitions().count(),
                    module.constants.len(),
                    module.metadata.nodes.len(),
                    opened.as_secs_f64() * 1e3,
                    start.elapsed().as_secs_f64() * 1e3,
                );
            }
            Err(error) => println!("{error}"),
        }
    }
}
