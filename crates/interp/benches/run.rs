//! Speed of loading and running shared kernels, in thread instructions per second.

#![allow(missing_docs, reason = "criterion_group! makes an undocumented public function")]

use std::path::Path;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use oriole_device::{Launch, Memory};
use oriole_interp::{Interpreter, Options};

/// A launch with buffers of zeros: file, kernel, grid, block, sizes of the buffers in bytes, 32-bit scalars after them.
type Case = (&'static str, &'static str, [u32; 3], [u32; 3], &'static [u64], &'static [u32]);

const CASES: [Case; 3] = [
    ("gemm_tiled", "gemm_f32", [4, 4, 1], [32, 32, 1], &[35840, 35280, 64512], &[128, 126, 70]),
    ("sha256", "sha256_block", [64, 1, 1], [32, 1, 1], &[131072, 65536], &[2040]),
    ("nbody", "nbody_f64", [64, 1, 1], [8, 1, 1], &[12288, 4096, 12288], &[512]),
];

fn launch(case: &Case, memory: &mut Memory) -> Launch {
    let &(_, kernel, grid, block, buffers, scalars) = case;
    let mut params = Vec::new();
    for (number, &size) in buffers.iter().enumerate() {
        params.extend(memory.allocate(&format!("{kernel} {number}"), size).to_le_bytes());
    }
    params.extend(scalars.iter().flat_map(|scalar| scalar.to_le_bytes()));
    Launch { grid, block, params, ..Launch::default() }
}

fn speed(c: &mut Criterion) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/kernels/ptx");
    for case in &CASES {
        let Ok(text) = std::fs::read_to_string(folder.join(format!("{}.sm_90.ptx", case.0))) else {
            println!("skipped: {} is absent", folder.display());
            return;
        };
        let module = oriole_ptx::load(&text).expect("the shared kernels are right");
        let interpreter = Interpreter::new(&module, Options::default()).expect("it loads");
        let mut memory = Memory::new();
        let launch = launch(case, &mut memory);
        let report = interpreter.launch(case.1, &launch, &mut memory).expect("it runs");
        let mut group = c.benchmark_group(case.1);
        group.sample_size(10);
        group.bench_function("load", |b| b.iter(|| Interpreter::new(&module, Options::default())));
        group.throughput(Throughput::Elements(report.thread_instructions));
        group.bench_function("run", |b| b.iter(|| interpreter.launch(case.1, &launch, &mut memory)));
        group.finish();
    }
}

criterion_group!(benches, speed);
criterion_main!(benches);
