//! Varying registers and divergent branches on small functions whose answers are plain.

use oriole_isa::{Arch, Mods, Opcode, Role};
use oriole_ori::analysis::{Cfg, Liveness, Uniformity, post_dominators};
use oriole_ori::*;

fn analyse(body: &str) -> (Function, Uniformity) {
    let regs = "  .reg %R0\n  .reg %R1\n  .reg %R2\n  .reg %R3\n  .reg %P4\n  .reg %P5\n  .reg %UR6\n";
    let text = format!(".function entry f\n  .frame local=0 spill=0 align=0\n{regs}{body}.end\n");
    let func: Function = text.parse().unwrap_or_else(|e| panic!("{e}\n{text}"));
    let result = uniformity(&func);
    (func, result)
}

fn uniformity(func: &Function) -> Uniformity {
    let cfg = Cfg::new(func);
    let postdom = post_dominators(func, &cfg);
    Uniformity::new(func, Arch::Sm80, &cfg, &postdom, &Liveness::new(func, &cfg))
}

fn varying(result: &Uniformity) -> Vec<u32> {
    (0..7).filter(|r| result.is_varying(VReg::from_u32(*r))).collect()
}

#[test]
fn thread_ids_vary_and_block_ids_do_not() {
    let (_, u) = analyse(
        "bix0:\n    S2R %R0, SR_TID.X\n    S2R %R1, SR_CTAID.X\n    FADD %R2, %R0, %R1\n    FADD %R3, %R1, c[0][0x160]\n    EXIT PT\n",
    );
    assert_eq!(varying(&u), [0, 2]);
}

/// `R1` is 1 or 2 by thread after the join; `R2` is set on both sides of a uniform branch.
#[test]
fn values_vary_where_paths_join_after_a_varying_branch() {
    let side = |pred: &str, reg: &str| {
        format!(
            "bix0: -> bix2, bix1\n    S2R %R0, SR_TID.X\n    FSETP %P4, PT, %R0, RZ, PT\n    FSETP %P5, PT, RZ, RZ, PT\n    @{pred} BRA PT, bix2\n\
             bix1: -> bix3\n    MOV {reg}, 0x1, 0xf\n    BRA PT, bix3\nbix2: -> bix3\n    MOV {reg}, 0x2, 0xf\n\
             bix3:\n    FADD %R3, {reg}, {reg}\n    EXIT PT\n"
        )
    };
    let (_, u) = analyse(&side("%P4", "%R1"));
    assert_eq!(varying(&u), [0, 1, 3, 4]);
    assert!(u.is_divergent(Block::new(0)));
    let (_, u) = analyse(&side("%P5", "%R1"));
    assert_eq!(varying(&u), [0, 4]);
    assert!(!u.is_divergent(Block::new(0)));
}

/// Inside a loop that threads leave at different times the counter is the same for those still in it,
/// yet we keep one answer per register: it varies if it is read after the loop, and only then.
#[test]
fn loop_counters_vary_only_when_read_after_a_divergent_exit() {
    let counted = |after: &str| {
        format!(
            "bix0: -> bix1\n    S2R %R0, SR_TID.X\n    MOV %R1, RZ, 0xf\n\
             bix1: -> bix1, bix2\n    FADD %R1, %R1, 0x1\n    FSETP %P4, PT, %R1, %R0, PT\n    @%P4 BRA PT, bix1\n\
             bix2:\n    FADD %R2, {after}, RZ\n    EXIT PT\n"
        )
    };
    assert_eq!(varying(&analyse(&counted("%R1")).1), [0, 1, 2, 4]);
    assert_eq!(varying(&analyse(&counted("RZ")).1), [0, 4]);
}

/// Two loops with one header and no end: threads take the shorter way round as often as they like, and nothing holds them until
/// the others have taken the longer one. So the counter of the longer one varies.
#[test]
fn counters_of_endless_loops_vary_where_threads_part() {
    let (_, u) = analyse(
        "bix0: -> bix1\n    S2R %R0, SR_TID.X\n    MOV %R1, RZ, 0xf\n\
         bix1: -> bix1, bix2\n    FADD %R2, %R0, %R1\n    FSETP %P4, PT, %R2, RZ, PT\n    @%P4 BRA PT, bix1\n\
         bix2: -> bix1\n    FADD %R1, %R1, 0x1\n    BRA PT, bix1\n",
    );
    assert_eq!(varying(&u), [0, 1, 2, 4]);
}

/// Threads that left by EXIT meet nobody: what the others compute does not vary by it.
#[test]
fn early_exits_do_not_make_values_vary() {
    let (func, u) = analyse(
        "bix0: -> bix1\n    S2R %R0, SR_TID.X\n    FSETP %P4, PT, %R0, RZ, PT\n    @%P4 EXIT PT\n\
         bix1:\n    MOV %R1, 0x1, 0xf\n    FADD %R2, %R1, %R1\n    EXIT PT\n",
    );
    assert_eq!(varying(&u), [0, 4], "{func}");
}

#[test]
fn guards_and_lanes_make_values_vary_and_uniform_files_never_do() {
    let (_, u) = analyse(
        "bix0:\n    S2R %R0, SR_LANEID\n    FSETP %P4, PT, %R0, RZ, PT\n    MOV %R1, RZ, 0xf\n    @%P4 MOV %R1, 0x1, 0xf\n    FADD %R2, %UR6, %R3\n    EXIT PT\n",
    );
    assert_eq!(varying(&u), [0, 1, 4]);
    let text = analyse("bix0:\n    FADD %R2, RZ, R7\n    FADD %R3, RZ, R1\n    EXIT PT\n");
    assert_eq!(varying(&text.1), [2], "physical registers vary, the stack pointer does not");
}

/// Fragments of matrix products and of tensor memory are each lane's own, even of uniform operands; votes are the warp's,
/// even of varying ones, but lanes that a guard leaves out keep what they had.
#[test]
fn the_opcode_says_how_results_differ_by_lane() {
    let result_varies = |opcode: Opcode, role: Role| {
        let (mut func, _) = analyse("bix0:\n    EXIT PT\n");
        let result = func.regs().keys().next().expect("analyse declares registers");
        let mut inst = Inst::neutral(opcode, Mods::new());
        inst.set_role(role, Operand::reg(result));
        let inst = func.edit().add(inst);
        let entry = func.layout()[0];
        func.edit().place(entry, 0, &[inst]);
        uniformity(&func).is_varying(result)
    };
    use Opcode::*;
    for opcode in [HMMA, IMMA, BMMA, DMMA, QMMA, HGMMA, IGMMA, QGMMA, BGMMA, LDTM, LDSM, LDL, LD, ATOMG, ATOMS, SHFL] {
        assert!(result_varies(opcode, Role::D), "{}", opcode.name());
    }
    for opcode in [VOTE, B2R, LDS, LDG, LDC, IADD3] {
        assert!(!result_varies(opcode, Role::D), "{}", opcode.name());
    }
    assert!(result_varies(ELECT, Role::PD));
    let vote = |guard: &str| {
        let start = "bix0:\n    S2R %R0, SR_TID.X\n    FSETP %P4, PT, %R0, RZ, PT\n    FSETP %P5, PT, RZ, RZ, PT\n";
        varying(&analyse(&format!("{start}    {guard}VOTE %R1, PT, %P4\n    FADD %R2, %R1, RZ\n    EXIT PT\n")).1)
    };
    assert_eq!(vote(""), [0, 4]);
    assert_eq!(vote("@%P5 "), [0, 4]);
    assert_eq!(vote("@%P4 "), [0, 1, 2, 4]);
}
