//! Damaged cubins: whatever bytes are changed, loading and running them in any mode ends in a result or an error.

use oriole_cubin::spec::{FunctionSpec, ModuleSpec, ParamSpec};
use oriole_cubin::{Cubin, Target, write};
use oriole_device::{Launch, Memory};
use oriole_isa::Arch;
use oriole_prerequisites::sample;
use oriole_sim::{Checks, Options, Simulator};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

const CODE: [&str; 14] = [
    "S2R R0, SR_TID.X",
    "MOV R2, c[0x0][0x160]",
    "MOV R3, c[0x0][0x164]",
    "IMAD.WIDE.U32 R2, R0, 0x4, R2",
    "LDG.E R4, [R2.64]",
    "SHF.L.U32 R5, R0, 0x2, RZ",
    "STS [R5], R4",
    "BAR.SYNC.DEFER_BLOCKING 0x0",
    "LDS R6, [R5]",
    "LDC R7, c[0x0][0x160]",
    "ATOMG.E.ADD.STRONG.GPU PT, R9, [R2.64], R6",
    "IADD3 R6, R7, R6, R9",
    "STG.E [R2.64], R6",
    "EXIT",
];

fn cubin() -> Vec<u8> {
    let word = |(at, text): (u64, &&str)| {
        let inst = oriole_isa::parse(text, Arch::Sm80, &|_| None).unwrap_or_else(|error| panic!("{text}: {error}"));
        oriole_isa::encode(&inst, Arch::Sm80, 16 * at).expect("it has a word").to_le_bytes()
    };
    let code = (0..).zip(&CODE).flat_map(word).collect();
    let mut kernel = FunctionSpec::kernel("k", code, 24);
    kernel.params = vec![ParamSpec::plain(0, 8)];
    kernel.shared_size = 512;
    kernel.frame_size = 64;
    kernel.min_stack_size = 64;
    let mut module = ModuleSpec::new(Target::new(80));
    module.functions = vec![kernel];
    write(&module).expect("a module")
}

/// splitmix64.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ *state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// Runs kernel `k` in every mode; whether it ran at all.
fn run(bytes: &[u8]) -> bool {
    let Ok(cubin) = Cubin::parse(bytes) else { return false };
    let plain =
        Options { max_instructions: 5000, threads: 1, timeout: Some(Duration::from_secs(5)), ..Options::default() };
    let modes = [plain.clone(), Options { strict: true, ..plain.clone() }, Options { timing: true, ..plain.clone() }];
    let mut ran = false;
    for (options, checks) in modes
        .into_iter()
        .map(|mode| (mode, None))
        .chain([(plain, Some(Checks { race: true, init: true, global_init: true, bounds: true, sync: true }))])
    {
        let Ok(simulator) = Simulator::new(&cubin, options) else { return false };
        let mut memory = Memory::new();
        let buffer = memory.allocate("the buffer", 256);
        let params = buffer.to_le_bytes().to_vec();
        let launch = Launch { grid: [2, 1, 1], block: [64, 1, 1], params, ..Launch::default() };
        ran |= match checks {
            Some(checks) => simulator.launch_checked("k", &launch, &mut memory, checks, &[(buffer, 256)]).1.is_ok(),
            None => simulator.launch("k", &launch, &mut memory).is_ok(),
        };
    }
    ran
}

#[test]
fn damaged_cubins_end_in_a_result_or_an_error() {
    let original = cubin();
    assert!(run(&original), "it is in order before it is damaged");
    let (mut state, mut ran) = (1, 0);
    let count = sample(1500);
    for _ in 0..count {
        let mut bytes = original.clone();
        for _ in 0..1 + random(&mut state) % 3 {
            let at = random(&mut state) as usize % bytes.len();
            let values = [0, 0xff, 0x80, 0x7f, random(&mut state) as u8, bytes[at] ^ 1 << (random(&mut state) % 8)];
            bytes[at] = values[random(&mut state) as usize % values.len()];
        }
        let outcome = catch_unwind(AssertUnwindSafe(|| run(&bytes)));
        let changed = || bytes.iter().zip(&original).enumerate().filter(|(_, (a, b))| a != b).collect::<Vec<_>>();
        ran += usize::from(outcome.unwrap_or_else(|_| panic!("{:x?}", changed())));
    }
    assert!(5 * ran > count as usize, "{ran} of the damaged ones ran");
}
