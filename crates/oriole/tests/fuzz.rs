//! Compiled code against the PTX interpreter: random programs, and programs that once differed.

use oriole::fuzz::Campaign;
use oriole::{CompileOptions, compile};
use oriole_cubin::Cubin;
use oriole_device::{Launch, Memory};
use oriole_interp::Interpreter;
use oriole_isa::Arch;
use oriole_sim::{Options, Simulator};
use std::path::Path;

/// Programs of each campaign; `oriole fuzz` runs more.
const PROGRAMS: u64 = 64;

fn no_differences(arch: Arch, opt_level: u8) {
    let campaign = Campaign {
        seed: 2026,
        first: 0,
        count: PROGRAMS,
        target: arch.into(),
        opt_level,
        statements: 40,
        ptxas: None,
        interpreter: true,
        compiler: true,
    };
    let findings = campaign.run(|_| {});
    let list: Vec<String> = findings.iter().map(|f| format!("{}: {}\n{}", f.number, f.difference, f.ptx)).collect();
    assert!(findings.is_empty(), "{}", list.join("\n"));
}

#[test]
fn optimised_code_computes_what_the_interpreter_does_on_sm_90() {
    no_differences(Arch::Sm90, 3);
}

#[test]
fn optimised_code_computes_what_the_interpreter_does_on_sm_75() {
    no_differences(Arch::Sm75, 3);
}

#[test]
fn optimised_code_computes_what_the_interpreter_does_on_blackwell() {
    no_differences(Arch::Sm100, 3);
    no_differences(Arch::Sm120, 3);
}

#[test]
fn plain_code_computes_what_the_interpreter_does_on_sm_80() {
    no_differences(Arch::Sm80, 0);
}

/// Threads of the committed programs.
const THREADS: u32 = 32;
/// Bytes of output of each thread.
const RECORD: u64 = 8;

/// Inputs: denormals, infinities and NaNs among ordinary numbers, some of them equal.
fn input() -> Vec<u8> {
    let word = |n: u32| match n % 8 {
        0 => 0x0000_0001,
        1 => 0x7f80_0000,
        2 => 0xffc0_0000,
        3 => 0x8000_0000,
        _ => n.wrapping_mul(0x9e37_79b9),
    };
    (0..THREADS).flat_map(|n| word(n).to_le_bytes()).collect()
}

/// What the kernel leaves in the output, by the engine that `run` asks.
fn output(run: impl FnOnce(&Launch, &mut Memory) -> Result<(), String>) -> Vec<u8> {
    let mut memory = Memory::new();
    let input = memory.allocate_with("input", &input());
    let size = RECORD * u64::from(THREADS);
    let output = memory.allocate("output", size);
    let params = [input, output].into_iter().flat_map(u64::to_le_bytes).collect();
    run(&Launch { block: [THREADS, 1, 1], params, ..Launch::default() }, &mut memory).expect("the kernel runs");
    memory.read(output, size).expect("the output is there")
}

#[test]
fn programs_that_once_differed_agree() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/fuzz");
    let mut seen = 0;
    for entry in std::fs::read_dir(&folder).expect("the folder is committed") {
        let path = entry.expect("a readable folder").path();
        let ptx = std::fs::read_to_string(&path).expect("PTX is text");
        let module = oriole_ptx::load(&ptx).expect("the module is right");
        let interpreter = Interpreter::new(&module, oriole_interp::Options::default()).expect("it loads");
        let expected = output(|launch, memory| {
            interpreter.launch("k", launch, memory).map(drop).map_err(|error| error.to_string())
        });
        for arch in [Arch::Sm86, Arch::Sm90] {
            let options =
                CompileOptions { target: Some(arch.into()), opt_level: 3, verify: true, ..CompileOptions::default() };
            let compiled = compile(&ptx, &options).expect("it compiles");
            let cubin = Cubin::parse(&compiled.cubin).expect("our cubin is one");
            let simulator =
                Simulator::new(&cubin, Options { strict: true, ..Options::default() }).expect("the cubin loads");
            let got = output(|launch, memory| {
                simulator.launch("k", launch, memory).map(drop).map_err(|error| error.to_string())
            });
            assert_eq!(got, expected, "{} on {arch}", path.display());
        }
        seen += 1;
    }
    assert!(seen >= 2, "{seen} programs");
}
