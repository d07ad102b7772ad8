//! Special registers that say what a chip has: the simulator, which runs our code, and the interpreter say the same on every
//! target, and what is published.

use std::process::Command;

/// Target, `%nwarpid` (warps of a multiprocessor in the CUDA programming guide's table of compute capabilities), and what the
/// system keeps of shared memory below the program's.
const TARGETS: [(&str, u32, u32); 8] = [
    ("sm_75", 32, 0),
    ("sm_80", 64, 0),
    ("sm_86", 48, 0),
    ("sm_87", 48, 0),
    ("sm_89", 48, 0),
    ("sm_90", 64, 1024),
    ("sm_100", 64, 1024),
    ("sm_120", 48, 1024),
];
/// Static and dynamic shared memory.
const SHARED: [(u32, u32); 4] = [(0, 0), (512, 0), (500, 300), (0, 100)];

/// The registers, and the target that first has each.
const REGISTERS: [(&str, u32); 9] = [
    ("nwarpid", 75),
    ("total_smem_size", 75),
    ("dynamic_smem_size", 75),
    ("aggr_smem_size", 90),
    ("reserved_smem_offset_begin", 80),
    ("reserved_smem_offset_end", 80),
    ("reserved_smem_offset_cap", 80),
    ("reserved_smem_offset_0", 80),
    ("reserved_smem_offset_1", 80),
];

fn number(target: &str) -> u32 {
    target.trim_start_matches("sm_").parse().expect("a number")
}

fn registers(target: &str) -> impl Iterator<Item = &'static str> {
    let number = number(target);
    REGISTERS.into_iter().filter(move |(_, first)| number >= *first).map(|(name, _)| name)
}

fn module(target: &str, fixed: u32) -> String {
    let variable =
        if fixed > 0 { format!(".shared .align 16 .b8 own[{fixed}]; st.shared.u32 [own], %r;") } else { String::new() };
    let reads = registers(target).enumerate();
    let reads: String =
        reads.map(|(at, name)| format!("mov.u32 %r, %{name}; st.global.u32 [%p+{}], %r;\n", 4 * at)).collect();
    format!(
        ".version 8.7\n.target {}\n.address_size 64\n.visible .entry k(.param .u64 out) {{\n\
         .reg .b32 %r; .reg .b64 %p;\nld.param.u64 %p, [out];\nmov.u32 %r, 0;\n{variable}\n{reads}ret;\n}}\n",
        // A module for the first target that has the registers is run on all: the target counts, not what the module says.
        if number(target) >= 90 {
            "sm_90"
        } else if number(target) >= 80 {
            "sm_80"
        } else {
            "sm_75"
        },
    )
}

fn read(engine: &str, target: &str, fixed: u32, dynamic: u32) -> Vec<u32> {
    let folder = tempfile::tempdir().expect("a folder");
    let (source, out) = (folder.path().join("k.ptx"), folder.path().join("out.bin"));
    std::fs::write(&source, module(target, fixed)).expect("written");
    let argument = format!("out:{}:{}", out.display(), 4 * registers(target).count());
    let mut command = Command::new(env!("CARGO_BIN_EXE_oriole"));
    command.arg("run").arg(&source).args(["--entry", "k", "-q", "--engine", engine, "--arch", target, "--shared"]);
    let done = command.arg(dynamic.to_string()).arg(argument).output().expect("oriole runs");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let bytes = std::fs::read(&out).expect("the output");
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect()
}

#[test]
fn both_engines_say_what_a_chip_has() {
    for (target, warps, below) in TARGETS {
        for (fixed, dynamic) in SHARED {
            // Dynamic memory begins at a multiple of 16 behind the static; the manual counts in units of 128 bytes.
            let total = (fixed.next_multiple_of(16) + dynamic).next_multiple_of(128);
            let (begin, end) = if below > 0 { (0, below) } else { (total, total) };
            let first = if number(target) >= 100 { 64 } else { begin };
            let all = [warps, total, dynamic, below + total, begin, end, end, first, 0];
            let has = REGISTERS.iter().zip(all).filter(|((_, since), _)| number(target) >= *since);
            let expected: Vec<u32> = has.map(|(_, value)| value).collect();
            for engine in ["sim", "ptx"] {
                let got = read(engine, target, fixed, dynamic);
                assert_eq!(
                    got,
                    expected,
                    "{engine} on {target}, {fixed} and {dynamic} bytes: {:?}",
                    registers(target).collect::<Vec<_>>()
                );
            }
        }
    }
}
