//! Speed of simulation in warp instructions per second (criterion's elements), by kernel and by mode,
//! on one host thread and on all.
//!
//! Run it with `cargo bench -p oriole-cli --features benches --bench simulate`.

#![allow(missing_docs, reason = "criterion's macro makes an undocumented function")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use oriole_codegen::{CompileOptions, compile};
use oriole_cubin::Cubin;
use oriole_device::{Launch, Memory};
use oriole_isa::Arch;
use oriole_sim::{Options, Simulator};
use std::path::Path;

/// A parameter of a kernel.
#[derive(Clone, Copy)]
enum Argument {
    /// A buffer of this many pseudorandom numbers between 0 and 1.
    Singles(usize),
    /// A buffer of this many pseudorandom words.
    Words(usize),
    /// A 32-bit number.
    Value(u32),
}
use Argument::{Singles, Value, Words};

/// A kernel of `tests/data/kernels/ptx`, and a launch of it that takes a few hundred thousand warp
/// instructions.
struct Workload {
    file: &'static str,
    entry: &'static str,
    grid: u32,
    block: u32,
    arguments: &'static [Argument],
}

const WORKLOADS: [Workload; 3] = [
    // C = alpha A B + beta C of 128 x 512 numbers, sums of 128 products.
    Workload {
        file: "sgemm_vec",
        entry: "sgemm_vec",
        grid: 4,
        block: 256,
        arguments: &[
            Singles(128 * 128),
            Singles(128 * 512),
            Singles(128 * 512),
            Value(128),
            Value(512),
            Value(128),
            Value(0x3fa0_0000),
            Value(0x3f00_0000),
        ],
    },
    Workload {
        file: "sha256",
        entry: "sha256_block",
        grid: 64,
        block: 32,
        arguments: &[Words(16 * 2048), Words(8 * 2048), Value(2040)],
    },
    // 1024 bodies; the time step and the softening are 0.01.
    Workload {
        file: "nbody",
        entry: "nbody_f32",
        grid: 4,
        block: 256,
        arguments: &[
            Singles(4 * 1024),
            Singles(4 * 1024),
            Singles(4 * 1024),
            Value(1024),
            Value(0x3c23_d70a),
            Value(0x3c23_d70a),
        ],
    },
];

impl Workload {
    fn cubin(&self) -> Cubin {
        let name = format!("../../tests/data/kernels/ptx/{}.sm_80.ptx", self.file);
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
        let text = std::fs::read_to_string(&path).expect("the kernel is committed");
        let options = CompileOptions {
            target: Some(Arch::Sm80.into()),
            opt_level: 3,
            entries: vec![self.entry.to_owned()],
            ..CompileOptions::default()
        };
        let compiled = compile(&text, &options).expect("it compiles");
        Cubin::parse(&compiled.cubin).expect("our own cubin")
    }

    /// Memory with the buffers, and the launch.
    fn prepare(&self) -> (Memory, Launch) {
        let mut memory = Memory::new();
        let mut params = Vec::new();
        let mut buffer = |params: &mut Vec<u8>, words: Vec<u32>| {
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            params.resize(params.len().next_multiple_of(8), 0);
            params.extend(memory.allocate_with("a buffer", &bytes).to_le_bytes());
        };
        for argument in self.arguments {
            match *argument {
                Singles(count) => {
                    let single = |word: u32| (word as f32 / u32::MAX as f32).to_bits();
                    buffer(&mut params, random(count).into_iter().map(single).collect());
                }
                Words(count) => buffer(&mut params, random(count)),
                Value(bits) => params.extend(bits.to_le_bytes()),
            }
        }
        let launch = Launch { grid: [self.grid, 1, 1], block: [self.block, 1, 1], params, ..Launch::default() };
        (memory, launch)
    }
}

/// A multiplicative congruential sequence.
fn random(count: usize) -> Vec<u32> {
    let next = |state: &mut u64| {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        Some((*state >> 32) as u32)
    };
    std::iter::repeat_n((), count).scan(1, |state, ()| next(state)).collect()
}

fn simulate(criterion: &mut Criterion) {
    let plain = Options::default();
    let modes = [
        ("functional", plain.clone()),
        ("strict", Options { strict: true, ..plain.clone() }),
        ("timing", Options { timing: true, ..plain }),
    ];
    for workload in &WORKLOADS {
        let cubin = workload.cubin();
        for (mode, options) in &modes {
            for (cores, threads) in [("one core", 1), ("all cores", 0)] {
                let options = Options { threads, ..options.clone() };
                let simulator = Simulator::new(&cubin, options).expect("it loads");
                let (mut memory, launch) = workload.prepare();
                let mut run = || simulator.launch(workload.entry, &launch, &mut memory).expect("it runs");
                let mut group = criterion.benchmark_group(workload.entry);
                group.throughput(Throughput::Elements(run().statistics.warp_instructions));
                group.bench_function(format!("{mode}, {cores}"), |bencher| bencher.iter(&mut run));
            }
        }
    }
}

criterion_group!(benches, simulate);
criterion_main!(benches);
