//! What `.nv.info` says of single instructions, against the code itself.

use oriole::Compiler;
use oriole_cubin::Cubin;
use oriole_cubin::nvinfo::number;
use oriole_isa::{Arch, Inst, Opcode, decode};

/// A shuffle, a match and a vote of the program, and `activemask`, which is in no list.
const EXCHANGES: &str = "
.visible .entry k(.param .u64 p, .param .u32 n) {
    .reg .b64 %p; .reg .b32 %t, %v, %n; .reg .pred %q;
    ld.param.u64 %p, [p];
    ld.param.u32 %n, [n];
    mov.u32 %t, %tid.x;
    shfl.sync.bfly.b32 %v, %t, 1, 31, -1;
    match.any.sync.b32 %v, %v, -1;
    st.global.u32 [%p], %v;
    setp.lt.u32 %q, %t, %n;
    vote.sync.ballot.b32 %v, %q, -1;
    st.global.u32 [%p+4], %v;
    activemask.b32 %v;
    st.global.u32 [%p+8], %v;
    ret;
}
";

/// Two mbarriers, and one in a loop that nothing unrolls.
const MBARRIERS: &str = "
.visible .entry twice(.param .u64 p) {
    .shared .align 8 .b64 s[2];
    .reg .b64 %p; .reg .b32 %s;
    ld.param.u64 %p, [p];
    mov.u32 %s, s;
    mbarrier.init.shared.b64 [%s], 1;
    mbarrier.init.shared.b64 [%s+8], 1;
    mbarrier.arrive.shared.b64 %p, [%s];
    ret;
}
.visible .entry often(.param .u32 n) {
    .shared .align 8 .b64 s[64];
    .reg .b32 %s, %i, %n; .reg .pred %q;
    ld.param.u32 %n, [n];
    mov.u32 %s, s;
    mov.u32 %i, 0;
again:
    mbarrier.init.shared.b64 [%s], 1;
    add.u32 %s, %s, 8;
    add.u32 %i, %i, 1;
    setp.lt.u32 %q, %i, %n;
    @%q bra again;
    ret;
}
";

fn compiled(target: &str, kernels: &str) -> Cubin {
    let text = format!(".version 8.0\n.target {target}\n.address_size 64\n{kernels}");
    let compiled = Compiler::builder().build().expect("no settings").compile_ptx(&text).expect("it compiles");
    Cubin::parse(compiled.cubin.as_bytes()).expect("a cubin")
}

fn words(cubin: &Cubin, kernel: &str, number: u8) -> Option<Vec<u32>> {
    let function = cubin.functions.iter().find(|function| function.name == kernel).expect("the kernel");
    function.info.iter().find(|record| record.number == number).map(|record| record.as_words())
}

/// The offsets of the instructions that are such.
fn offsets(cubin: &Cubin, kernel: &str, arch: Arch, is: impl Fn(&Inst) -> bool) -> Vec<u32> {
    let function = cubin.functions.iter().find(|function| function.name == kernel).expect("the kernel");
    let (words, _) = cubin.code(function).as_chunks::<16>();
    let insts = (0u32..).step_by(16).zip(words);
    let found =
        insts.filter(|(at, word)| decode(u128::from_le_bytes(**word), arch, u64::from(*at)).is_ok_and(|i| is(&i)));
    found.map(|(at, _)| at).collect()
}

const TARGETS: [(&str, Arch); 3] = [("sm_80", Arch::Sm80), ("sm_89", Arch::Sm89), ("sm_90a", Arch::Sm90)];

#[test]
fn exchanges_of_the_program_are_listed() {
    for (target, arch) in TARGETS {
        let cubin = compiled(target, EXCHANGES);
        let listed = words(&cubin, "k", number::COOP_GROUP_INSTR_OFFSETS).expect("the list");
        let moves = offsets(&cubin, "k", arch, |inst| matches!(inst.opcode, Opcode::SHFL | Opcode::MATCH));
        let votes = offsets(&cubin, "k", arch, |inst| matches!(inst.opcode, Opcode::VOTE | Opcode::VOTEU));
        assert_eq!((moves.len(), votes.len()), (2, 2), "{target}");
        assert!(moves.iter().all(|at| listed.contains(at)), "{target}");
        // One vote is `activemask`.
        assert_eq!(votes.iter().filter(|at| listed.contains(at)).count(), 1, "{target}");
        assert_eq!(listed.len(), 3, "{target}");
        assert_eq!(words(&cubin, "k", number::COOP_GROUP_MASK_REGIDS), Some(vec![u32::MAX; 3]), "{target}");
        assert_eq!(words(&cubin, "k", number::INT_WARP_WIDE_INSTR_OFFSETS), None, "{target}");
    }
}

#[test]
fn mbarriers_are_counted_and_listed() {
    for (target, _) in TARGETS {
        let cubin = compiled(target, MBARRIERS);
        assert_eq!(words(&cubin, "twice", number::NUM_MBARRIERS), Some(vec![2]), "{target}");
        assert_eq!(words(&cubin, "often", number::NUM_MBARRIERS), Some(vec![0xffff]), "{target}");
        let listed = words(&cubin, "twice", number::MBARRIER_INSTR_OFFSETS).expect("the list");
        let kinds: Vec<u32> = listed.chunks(4).map(|access| access[3] & 0xf).collect();
        assert_eq!(kinds, [0, 0, 1], "{target}");
    }
}
