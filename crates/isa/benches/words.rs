//! Decoding, encoding, printing and parsing speed over the committed sample of vectors.

#![allow(missing_docs, reason = "criterion_group makes a public function")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use oriole_isa::{Arch, Inst, decode, encode, parse};
use std::hint::black_box;

const SAMPLE: &str = include_str!("../tests/data/vectors/sm_90.tsv");

fn words(c: &mut Criterion) {
    let arch = Arch::Sm90;
    let words: Vec<u128> = SAMPLE
        .lines()
        .filter_map(|line| u128::from_str_radix(line.split('\t').next()?, 16).ok())
        .filter(|word| decode(*word, arch, 0).is_ok())
        .collect();
    let insts: Vec<Inst> = words.iter().filter_map(|word| decode(*word, arch, 0).ok()).collect();
    let texts: Vec<String> = insts.iter().map(|inst| inst.display(arch).to_string()).collect();
    let mut group = c.benchmark_group("isa");
    group.throughput(Throughput::Elements(words.len() as u64));
    group.bench_function("decode", |b| {
        b.iter(|| words.iter().filter(|w| decode(black_box(**w), arch, 0).is_ok()).count());
    });
    group.bench_function("encode", |b| {
        b.iter(|| insts.iter().filter(|i| encode(black_box(i), arch, 0).is_ok()).count());
    });
    group.bench_function("print", |b| {
        b.iter(|| insts.iter().map(|i| black_box(i).display(arch).to_string().len()).sum::<usize>());
    });
    group.bench_function("parse", |b| {
        b.iter(|| texts.iter().filter(|t| parse(black_box(t), arch, &|_| None).is_ok()).count());
    });
    group.finish();
}

criterion_group!(benches, words);
criterion_main!(benches);
