//! The run-time library: what our PTX computes in the PTX interpreter is what Rust's own arithmetic says.

mod atomics;
mod copies;
mod floats;
mod integers;
mod jumps;
mod mathematics;
mod predicated;
mod rmw;
mod vectors;
mod wide;
mod widths;

use oriole_device::{Launch, Memory};
use oriole_interp::Interpreter;
use oriole_nvptx::driver::{Options, compile};
use oriole_nvptx::text::parse;

/// Levels that tests compile at: calls stay calls, or are inlined and cleaned up.
const LEVELS: [u8; 2] = [0, 2];

/// Compiles a module at a level; a message of the compiler fails the test.
fn compiled(text: &str, level: u8, arch: &str) -> oriole_ptx::ast::Module {
    let module = parse(text, "k.ll").unwrap_or_else(|error| panic!("{}", error.render(text)));
    let options = Options { level, arch: arch.to_owned(), ..Options::default() };
    match compile(module, &[], &options) {
        Ok(output) => output.module,
        Err(error) => panic!("-O{level} {arch}: {error}\n{text}"),
    }
}

/// Runs `@k(ptr input, ptr output)` and gives the output, the same at all levels.
fn run(text: &str, arch: &str, input: &[u8], output: &[u8], threads: u32) -> Vec<u8> {
    run_at(&LEVELS, text, arch, input, output, threads)
}

/// The same at some levels.
fn run_at(levels: &[u8], text: &str, arch: &str, input: &[u8], output: &[u8], threads: u32) -> Vec<u8> {
    let mut results = levels.iter().map(|&level| {
        let module = compiled(text, level, arch);
        let options = oriole_interp::Options { max_instructions: 100_000_000, ..Default::default() };
        let interpreter = Interpreter::new(&module, options).unwrap_or_else(|error| panic!("{error}"));
        let mut memory = Memory::new();
        let from = memory.allocate_with("input", input);
        let to = memory.allocate_with("output", output);
        let params = [from, to].into_iter().flat_map(u64::to_le_bytes).collect();
        let launch = Launch { grid: [1; 3], block: [threads, 1, 1], params, ..Launch::default() };
        if let Err(error) = interpreter.launch("k", &launch, &mut memory) {
            panic!("-O{level}: {error}\n{}", oriole_ptx::print(&module));
        }
        memory.read(to, output.len() as u64).unwrap_or_default()
    });
    let first = results.next().expect("a level");
    results.for_each(|other| assert_eq!(other, first, "{levels:?} differ\n{text}"));
    first
}

/// Computes `%r` of type `ret` from `%a` and `%b` for pairs of bits, one thread each. Every value takes 16 bytes.
fn binary(types: [&str; 3], declarations: &str, body: &str, pairs: &[(u128, u128)], arch: &str) -> Vec<u128> {
    let [a, b, ret] = types;
    let text = format!(
        "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
{declarations}
define ptx_kernel void @k(ptr %in, ptr %out) {{
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %pa = getelementptr [32 x i8], ptr %in, i32 %tid
  %pb = getelementptr i8, ptr %pa, i64 16
  %pr = getelementptr [16 x i8], ptr %out, i32 %tid
{}{}{body}{}  ret void
}}
",
        loaded("a", a),
        loaded("b", b),
        stored(ret)
    );
    let input: Vec<u8> = pairs.iter().flat_map(|(a, b)| [a.to_le_bytes(), b.to_le_bytes()]).flatten().collect();
    let mut results = Vec::new();
    for (index, part) in input.chunks(32 * 256).enumerate() {
        let threads = part.len() / 32;
        let output = run(&text, arch, part, &vec![0; threads * 16], threads as u32);
        assert_eq!(output.len(), threads * 16, "part {index}");
        results.extend(output.chunks_exact(16).map(|bytes| u128::from_le_bytes(bytes.try_into().unwrap_or_default())));
    }
    results
}

/// The load of `%name`; integers of any width come from 128 bits.
fn loaded(name: &str, ty: &str) -> String {
    match ty.strip_prefix('i').and_then(|bits| bits.parse::<u32>().ok()) {
        Some(bits) if bits < 128 => {
            format!("  %{name}.w = load i128, ptr %p{name}\n  %{name} = trunc i128 %{name}.w to {ty}\n")
        }
        _ => format!("  %{name} = load {ty}, ptr %p{name}\n"),
    }
}

/// The store of `%r`, extended with zeros.
fn stored(ty: &str) -> String {
    match ty.strip_prefix('i').and_then(|bits| bits.parse::<u32>().ok()) {
        Some(bits) if bits < 128 => format!("  %r.w = zext {ty} %r to i128\n  store i128 %r.w, ptr %pr\n"),
        _ => format!("  store {ty} %r, ptr %pr\n"),
    }
}

/// Numbers of `bits` bits that lie at bounds, and random ones of all lengths.
fn samples(bits: u32, count: usize, rng: &mut fastrand::Rng) -> Vec<u128> {
    let mask = u128::MAX >> (128 - bits);
    let half = 1u128 << (bits - 1);
    let mut list = vec![0, 1, 2, 3, 10, mask, mask - 1, half, half - 1, half + 1];
    while list.len() < count {
        list.push((rng.u128(..) & mask) >> rng.u32(..bits));
    }
    list
}

/// Pairs of them.
fn pairs(bits: u32, count: usize, seed: u64) -> Vec<(u128, u128)> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let bounds = samples(bits, 10, &mut rng);
    let mut list: Vec<(u128, u128)> = bounds.iter().flat_map(|&a| bounds.iter().map(move |&b| (a, b))).collect();
    let random = samples(bits, 2 * count, &mut rng);
    list.extend(random.chunks_exact(2).map(|pair| (pair[0], pair[1])));
    list
}
