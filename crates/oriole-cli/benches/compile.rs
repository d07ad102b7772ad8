//! Time of whole compilations, PTX text to cubin bytes, in one process.

#![allow(missing_docs, reason = "criterion's macro makes an undocumented function")]

use criterion::{Criterion, criterion_group, criterion_main};
use oriole_codegen::{CompileOptions, compile};
use oriole_isa::Arch;
use std::path::Path;

/// Files of `tests/data/kernels/ptx` with a kernel each: small, middle, long straight-line code, calls.
const KERNELS: [(&str, &str); 4] =
    [("vecadd", "vecadd"), ("gemm_tiled", "gemm_f32"), ("sha256", "sha256_block"), ("numeric", "int_division")];

fn compile_kernels(criterion: &mut Criterion) {
    for (file, entry) in KERNELS {
        let name = format!("../../tests/data/kernels/ptx/{file}.sm_90.ptx");
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
        let text = std::fs::read_to_string(&path).expect("the kernel is committed");
        let options = CompileOptions {
            target: Some(Arch::Sm90.into()),
            opt_level: 3,
            entries: vec![entry.to_owned()],
            ..CompileOptions::default()
        };
        criterion.bench_function(entry, |b| b.iter(|| compile(&text, &options).expect("it compiles")));
    }
}

criterion_group!(benches, compile_kernels);
criterion_main!(benches);
