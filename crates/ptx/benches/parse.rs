//! Speed of parsing and printing, on the three largest shared kernels.

#![allow(missing_docs, reason = "criterion_group! makes an undocumented public function")]

use std::path::Path;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};

fn kernels() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/kernels/ptx");
    let Ok(entries) = std::fs::read_dir(&folder) else {
        println!("skipped: {} is absent", folder.display());
        return Vec::new();
    };
    let mut files: Vec<(String, String)> = entries
        .flatten()
        .filter_map(|entry| Some((entry.file_name().into_string().ok()?, std::fs::read_to_string(entry.path()).ok()?)))
        .filter(|(name, _)| name.contains(".sm_90."))
        .collect();
    files.sort_by_key(|(_, text)| std::cmp::Reverse(text.len()));
    files.truncate(3);
    files
}

fn speed(c: &mut Criterion) {
    for (name, text) in kernels() {
        let mut group = c.benchmark_group(&name);
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function("parse", |b| b.iter(|| oriole_ptx::parse(&text)));
        let module = oriole_ptx::parse(&text).module;
        group.bench_function("print", |b| b.iter(|| oriole_ptx::print(&module)));
        group.finish();
    }
}

criterion_group!(benches, speed);
criterion_main!(benches);
