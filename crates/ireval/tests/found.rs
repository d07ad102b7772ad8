//! What random programs have found: each `found/*.ll` once compiled wrongly or not at all. Its kernel
//! `@k(ptr addrspace(1) in, ptr addrspace(1) out, i64)` is compiled at every level and runs in the PTX interpreter, on
//! several inputs; it must write what the evaluator says.

use oriole_device::{Launch, Memory};
use oriole_interp::Interpreter;
use oriole_ireval::generate::{self, Options, Program};
use oriole_nvptx::driver;
use oriole_prerequisites::sample;
use std::path::Path;

/// What the PTX of a level writes.
fn written(program: &Program, level: u8, arch: &str) -> Vec<u8> {
    let options = driver::Options { level, arch: arch.to_owned(), ..driver::Options::default() };
    let compiled = driver::compile(program.module.clone(), &[], &options);
    let output = compiled.unwrap_or_else(|error| panic!("-O{level} {arch}: {error}"));
    let options = oriole_interp::Options { max_instructions: 20_000_000, ..Default::default() };
    let interpreter = Interpreter::new(&output.module, options).unwrap_or_else(|error| panic!("{error}"));
    let mut memory = Memory::new();
    let input = memory.allocate_with("input", &program.input);
    let size = program.output_bytes() as u64;
    let to = memory.allocate("output", size);
    let params = [input, to, program.uniform].into_iter().flat_map(u64::to_le_bytes).collect();
    let launch = Launch { grid: [1; 3], block: [program.threads, 1, 1], params, ..Launch::default() };
    if let Err(error) = interpreter.launch("k", &launch, &mut memory) {
        panic!("-O{level} {arch}: {error}\n{}", oriole_ptx::print(&output.module));
    }
    memory.read(to, size).unwrap_or_default()
}

/// Compares all levels with the evaluator; `name` is for messages.
fn check(program: &Program, name: &str) {
    let expected = program.evaluate(&program.module).unwrap_or_else(|fault| panic!("{name}: {fault}"));
    for (level, arch) in [(0, "sm_80"), (1, "sm_80"), (2, "sm_90"), (3, "sm_80")] {
        let bytes = written(program, level, arch);
        let comparison = expected.compare(&bytes).unwrap_or_else(|fault| panic!("{name}: {fault}"));
        if let Some(at) = comparison.differs {
            let from = at / 8 * 8;
            let (is, wanted) = (&bytes[from..from + 8], &expected.bytes()[from..from + 8]);
            panic!("{name}: -O{level} {arch}: from byte {from:#x}: {is:02x?}, not {wanted:02x?}");
        }
    }
}

#[test]
fn programs_that_were_compiled_wrongly() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/found");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .expect("the folder is in the repository")
        .flatten()
        .map(|entry| entry.path())
        .collect();
    files.sort();
    assert!(!files.is_empty());
    for path in files {
        let text = std::fs::read_to_string(&path).expect("the file is in the repository");
        let module = oriole_nvptx::text::parse(&text, "k.ll").unwrap_or_else(|error| panic!("{}", error.render(&text)));
        for seed in 0..4 {
            let random = fastrand::Rng::with_seed(seed).u64(..);
            let mut rng = fastrand::Rng::with_seed(random);
            let input = std::iter::repeat_with(|| rng.u8(..)).take(256).collect();
            let program = Program { module: module.clone(), threads: 1, input, uniform: random };
            check(&program, &path.display().to_string());
        }
    }
}

/// Some random programs of every kind; `examples/ir_fuzz` runs more. `ORIOLE_SEED` is the first.
#[test]
fn random_programs() {
    let first = std::env::var("ORIOLE_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0);
    for seed in (first..).take(sample(120) as usize) {
        let program = generate::program(seed, &Options::default());
        if program.evaluate(&program.module).is_ok() {
            check(&program, &format!("program {seed}"));
        }
    }
}
