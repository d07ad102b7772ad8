//! What may be executed ahead of time, on small functions whose answers are plain.

use oriole_isa::Arch;
use oriole_ori::analysis::{Cfg, DomTree, Passed, Speculation};
use oriole_ori::*;
use std::rc::Rc;

/// A kernel in SSA form: `before`, a branch around `body`, and the end. `%R1` and `%R2` are an address, as are `%R4` and `%R5`.
fn kernel(attributes: &str, before: &str, body: &str) -> Function {
    let regs: String = (0..20).filter(|n| *n != 3).map(|n| format!("  .reg %R{n}\n")).collect();
    let regs = regs.replacen("  .reg %R4\n", "  .reg %P3\n  .reg %R4\n", 1);
    let lines = |code: &str| code.lines().map(|line| format!("    {}\n", line.trim())).collect::<String>();
    let values =
        "MOV %R1, c[0][0x160], 0xf\nMOV %R2, c[0][0x164], 0xf\nMOV %R4, c[0][0x168], 0xf\nMOV %R5, c[0][0x16c], 0xf";
    let text = format!(
        ".function entry f\n{attributes}  .frame local=32 spill=0 align=8\n{regs}  .values 0\nbix0: -> bix2, bix1\n{}{}{}\
         bix1: -> bix2\n{}bix2:\n    EXIT PT\n.end\n",
        lines("S2R %R0, SR_TID.X\nISETP{bop=AND,cmp=LT,sign=S32} %P3, PT, %R0, 0x7, PT, PT"),
        lines(values) + &lines(before),
        "    @%P3 BRA PT, bix2, _\n",
        lines(body),
    );
    text.parse().unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// Whether the instruction may be executed ahead of the branch.
fn may(attributes: &str, before: &str, inst: &str) -> bool {
    let func = kernel(attributes, before, inst);
    let faults = verify::verify(&func, Arch::Sm80);
    assert!(faults.is_ok(), "{inst}: {faults:?}");
    let dominators = Rc::new(DomTree::dominators(&Cfg::new(&func)));
    let speculation = Speculation::new(&func, Arch::Sm80, dominators);
    let (branches, body) = (Block::new(0), Block::new(1));
    speculation.may_execute(&func, func.block_insts(body)[0], branches)
}

fn load(offset: i32, size: &str) -> String {
    format!("LDG{{mem_size={size}}} %R10, <%R1 %R2>, _, s:{offset}, _")
}

#[test]
fn what_computes_may_and_what_tells_may_not() {
    for (inst, answer) in [
        ("IADD3 %R10, PT, PT, %R0, %R1, RZ, !PT, !PT", true),
        ("MUFU{mufu=RCP} %R10, %R0", true),
        ("S2R %R10, SR_CTAID.X", true),
        ("S2R %R10, SR_VIRTID", false),
        ("LDC{mem_size=B32} %R10, RZ, c[0][0x160]", true),
        ("LDC{mem_size=B32} %R10, %R0, c[0][0x160]", false),
        ("CS2R{cs2r_size=X32} %R10, SR_CLOCKLO ;volatile", false),
        ("@%P3 IADD3 %R10, PT, PT, %R0, %R1, RZ, !PT, !PT, undef, _, _", false),
        ("VOTE{vote=ANY} %R10, PT, %P3", false),
        ("SHFL{shfl=IDX} PT, %R10, %R0, RZ, 0x1f", false),
        ("STS{mem_size=B32} RZ, _, s:0, %R0", false),
        ("BAR{bar_op=SYNC,defer_blocking=ON} 0x0, RZ, PT", false),
    ] {
        assert_eq!(may("  .barriers 1\n", "", inst), answer, "{inst}");
    }
}

#[test]
fn loads_may_where_each_thread_has_accessed_the_bytes() {
    let before = "LDG{mem_size=B128} <%R6 %R7 %R8 %R9>, <%R1 %R2>, _, s:16, _";
    for (offset, size, answer) in [
        (16, "B32", true),
        (28, "B32", true),
        (24, "B64", true),
        (31, "U8", true),
        (12, "B32", false),
        (32, "B32", false),
        (28, "B64", false),
        // Within, but no multiple of its size from an address that is aligned.
        (20, "B64", false),
        (18, "B32", false),
    ] {
        let inst = load(offset, size).replace("%R10", if size == "B64" { "<%R10 %R11>" } else { "%R10" });
        assert_eq!(may("", before, &inst), answer, "{inst}");
    }
    assert!(!may("", "", &load(16, "B32")), "nobody has accessed it");
}

#[test]
fn another_base_or_space_or_a_guard_says_nothing() {
    let inst = load(0, "B32");
    for (before, answer) in [
        ("STG{mem_size=B32} <%R1 %R2>, _, s:0, _, %R0", true),
        ("STG{mem_size=B32} <%R4 %R5>, _, s:0, _, %R0", false),
        ("STG{mem_size=B32} <%R1 %R5>, _, s:0, _, %R0", false),
        ("@%P3 STG{mem_size=B32} <%R1 %R2>, _, s:0, _, %R0", false),
        ("STS{mem_size=B32} %R1, _, s:0, %R0", false),
    ] {
        assert_eq!(may("", before, &inst), answer, "{before}");
    }
    let access = load(0, "B32").replace("%R10", "%R9");
    for (inst, answer) in [
        (inst.clone() + " ;volatile", false),
        (inst.replace("LDG{", "LDG{mem=STRONG_GPU,"), false),
        (inst.replace("LDG{", "LDG{mem=CONSTANT,"), true),
    ] {
        assert_eq!(may("", &access, &inst), answer, "{inst}");
    }
}

#[test]
fn the_kernels_own_memory_may_be_loaded() {
    for (inst, answer) in [
        ("LDS{mem_size=B32} %R10, RZ, _, s:60", true),
        ("LDS{mem_size=B32} %R10, RZ, _, s:64", false),
        ("LDS{mem_size=B32} %R10, RZ, _, s:58", false),
        ("LDS{mem_size=B32} %R10, RZ, _, s:-4", false),
        ("LDS{mem_size=B32} %R10, %R0, _, s:0", false),
        ("LDL{mem_size=B32} %R10, R1, _, s:28", true),
        ("LDL{mem_size=B32} %R10, R1, _, s:32", false),
        ("LDL{mem_size=B32} %R10, RZ, _, s:0", false),
        ("LDL{mem_size=B64} <%R10 %R11>, R1, _, s:8", true),
        ("LDL{mem_size=B128} <%R10 %R11 %R12 %R13>, R1, _, s:0", false),
    ] {
        assert_eq!(may("  .shared_bytes 64\n", "", inst), answer, "{inst}");
    }
}

#[test]
fn a_load_passes_what_neither_writes_its_memory_nor_waits() {
    let load = "LDG{mem_size=B32} %R10, <%R1 %R2>, _, s:0, _";
    for (before, answer) in [
        ("IADD3 %R11, PT, PT, %R0, %R1, RZ, !PT, !PT", true),
        ("LDG{mem_size=B32} %R11, <%R1 %R2>, _, s:0, _", true),
        ("STS{mem_size=B32} RZ, _, s:0, %R0", true),
        ("STG{mem_size=B32} <%R4 %R5>, _, s:0, _, %R0", false),
        ("ST{mem_size=B32} <%R4 %R5>, _, s:0, _, %R0", false),
        ("LDG{mem=STRONG_GPU,mem_size=B32} %R11, <%R4 %R5>, _, s:0, _", false),
        ("LDS{mem_size=B32} %R11, RZ, _, s:0 ;volatile", false),
        ("BAR{bar_op=SYNC,defer_blocking=ON} 0x0, RZ, PT", false),
        ("VOTE{vote=ANY} %R11, PT, %P3", false),
    ] {
        let func = kernel("  .barriers 1\n", "", &format!("{before}\n{load}"));
        let insts = func.block_insts(Block::new(1));
        let mut passed = Passed::default();
        passed.add(&func[insts[0]]);
        assert_eq!(passed.lets_pass(&func[insts[1]]), answer, "{before}");
    }
}
