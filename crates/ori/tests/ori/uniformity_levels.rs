//! Over which threads registers are the same, on small functions whose answers are plain; and the reasons.

use Sameness::{Block as Cta, Grid, Varying, Warp};
use oriole_isa::{Arch, Mods, Opcode, Role};
use oriole_ori::analysis::{Cause, Cfg, Liveness, Sameness, Uniformity, UniformityLevels, post_dominators};
use oriole_ori::*;

/// A kernel with registers %R0 to %R7, %P8, %P9, %UR10, %D11.
fn kernel(directives: &str, body: &str) -> Function {
    let general: String = (0..8).map(|number| format!("  .reg %R{number}\n")).collect();
    let regs = format!("{general}  .reg %P8\n  .reg %P9\n  .reg %UR10\n  .reg %D11\n");
    let text = format!(".function entry f\n{directives}  .frame local=0 spill=0 align=0\n{regs}{body}.end\n");
    text.parse().unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn levels(func: &Function) -> UniformityLevels {
    let cfg = Cfg::new(func);
    let (postdom, live) = (post_dominators(func, &cfg), Liveness::new(func, &cfg));
    let levels = UniformityLevels::new(func, Arch::Sm80, &cfg, &postdom, &live);
    // The two answers are one.
    let plain = Uniformity::new(func, Arch::Sm80, &cfg, &postdom, &live);
    for reg in func.regs().keys() {
        assert_eq!(levels.of(reg) == Varying, plain.is_varying(reg), "{reg}");
    }
    for block in func.layout() {
        assert_eq!(levels.of_branch(*block) == Varying, plain.is_divergent(*block), "{block}");
    }
    levels
}

/// Of %R0 and on.
fn of<const N: usize>(directives: &str, body: &str) -> [Sameness; N] {
    let levels = levels(&kernel(directives, body));
    std::array::from_fn(|reg| levels.of(VReg::from_u32(reg as u32)))
}

#[test]
fn special_registers_are_the_same_as_far_as_their_scope_reaches() {
    let read = |register: &str| {
        let [level] = of("", &format!("bix0:\n    S2R %R0, {register}\n    EXIT PT\n"));
        level
    };
    for thread in ["SR_TID.X", "SR_TID.Y", "SR_TID.Z", "SR_LANEID", "SR_LTMASK", "SR_TID"] {
        assert_eq!(read(thread), Varying, "{thread}");
    }
    for cta in ["SR_CTAID.X", "SR_CTAID.Y", "SR_CTAID.Z"] {
        assert_eq!(read(cta), Cta, "{cta}");
    }
    // What changes while the block runs is read by its warps at different times.
    for warp in ["SR_CLOCKLO", "SR_NTID", "SR_GLOBALTIMERLO", "SR_VIRTUALSMID"] {
        assert_eq!(read(warp), Warp, "{warp}");
    }
    assert_eq!(read("SR_SWINHI"), Grid);
}

#[test]
fn what_reads_several_is_the_same_where_all_are() {
    let body = "bix0:\n    S2R %R0, SR_CTAID.X\n    MOV %R1, c[0][0x160], 0xf\n    FADD %R2, %R0, %R1\n    S2R %R3, SR_CLOCKLO\n\
                    FADD %R4, %R3, %R2\n    S2R %R5, SR_TID.X\n    FADD %R6, %R4, %R5\n    FADD %R7, %R1, 0x1\n    EXIT PT\n";
    assert_eq!(of("", body), [Cta, Grid, Cta, Warp, Warp, Varying, Varying, Grid]);
}

/// A lane's number is the lower five bits of the virtual identity, and no other bit of it is the thread's.
#[test]
fn the_warps_bits_of_the_virtual_identity_are_the_warps() {
    let after = |code: &str| {
        let [_, level] = of("", &format!("bix0:\n    S2R %R0, SR_VIRTID\n    {code}\n    EXIT PT\n"));
        level
    };
    assert_eq!(after("PRMT %R1, %R0, 0x4441, RZ"), Warp);
    assert_eq!(after("PRMT %R1, RZ, 0x0005, %R0"), Warp);
    assert_eq!(after("PRMT %R1, %R0, 0x4440, RZ"), Varying);
    assert_eq!(after("PRMT %R1, %R0, 0x4449, RZ"), Warp, "the sign of byte 1");
    assert_eq!(after("LOP3 PT, %R1, %R0, 0x7f00, RZ, 0xc0, !PT"), Warp);
    assert_eq!(after("LOP3 PT, %R1, %R0, 0x7f10, RZ, 0xc0, !PT"), Varying);
    assert_eq!(after("LOP3 PT, %R1, %R0, 0x1f, RZ, 0xfc, !PT"), Warp, "A or 31");
    assert_eq!(after("LOP3 PT, %R1, %R0, 0x7f00, RZ, 0x3c, !PT"), Varying, "exclusive or");
    assert_eq!(after("LOP3 PT, %R1, %R0, %R2, RZ, 0xc0, !PT"), Varying, "an unknown mask");
    assert_eq!(after("FADD %R1, %R0, RZ"), Varying);
    assert_eq!(after("PRMT %R1, %R0, 0x4441, %R0"), Varying, "byte 0 comes in by C");
    // Not where another write may have given it other bits.
    let written = "bix0:\n    S2R %R0, SR_VIRTID\n    S2R %R0, SR_TID.X\n    PRMT %R1, %R0, 0x4441, RZ\n    EXIT PT\n";
    assert_eq!(of("", written), [Varying, Varying]);
}

/// Warps are 32 threads in the order x, y, z.
#[test]
fn the_shape_of_a_block_says_how_far_the_threads_place_is_the_same() {
    let place = |directive: &str| {
        of(directive, "bix0:\n    S2R %R0, SR_TID.X\n    S2R %R1, SR_TID.Y\n    S2R %R2, SR_TID.Z\n    EXIT PT\n")
    };
    assert_eq!(place(""), [Varying; 3]);
    assert_eq!(place("  .reqntid 64 4 2\n"), [Varying, Warp, Warp]);
    assert_eq!(place("  .reqntid 16 4 2\n"), [Varying, Varying, Warp]);
    assert_eq!(place("  .reqntid 48 2 2\n"), [Varying, Varying, Warp]);
    assert_eq!(place("  .reqntid 8 3 5\n"), [Varying; 3]);
    assert_eq!(place("  .reqntid 128 1 1\n"), [Varying, Grid, Grid]);
    assert_eq!(place("  .reqntid 1 64 1\n"), [Grid, Varying, Grid]);
    // The product alone is guaranteed.
    assert_eq!(place("  .maxntid 64 1 1\n"), [Varying; 3]);
}

/// Of %tid.x the lane's five bits vary and no others, where rows are whole warps or there is one row.
#[test]
fn the_warps_part_of_a_threads_number_is_the_warps() {
    let after = |directive: &str, code: &str| {
        let func = kernel(directive, &format!("bix0:\n    S2R %R0, SR_TID.X\n    {code}\n    EXIT PT\n"));
        levels(&func).of(VReg::from_u32(if code.contains("%P8") { 8 } else { 1 }))
    };
    let shift = |directive: &str| after(directive, "SHF{shift_dir=R,shift_type=U32,hi=ON} %R1, RZ, 0x5, %R0");
    assert_eq!(shift("  .reqntid 96 2 1\n"), Warp);
    assert_eq!(shift("  .reqntid 100 1 1\n"), Warp);
    assert_eq!(shift("  .reqntid 100 2 1\n"), Varying);
    assert_eq!(shift("  .maxntid 96 1 1\n"), Varying);
    let known = "  .reqntid 128 1 1\n";
    let at = |code: &str| after(known, code);
    assert_eq!(at("SHF{shift_dir=R,shift_type=S32} %R1, %R0, 0x6, RZ"), Warp);
    assert_eq!(at("SHF{shift_dir=R,shift_type=U32,hi=ON} %R1, RZ, 0x4, %R0"), Varying);
    assert_eq!(at("SHF{shift_dir=R,shift_type=U32} %R1, RZ, 0x5, %R0"), Varying, "the lower bits come in from above");
    assert_eq!(at("SHF{shift_dir=L,shift_type=U32} %R1, %R0, 0x5, RZ"), Varying);
    assert_eq!(at("LOP3 PT, %R1, %R0, 0x60, RZ, 0xc0, !PT"), Warp);
    let compared =
        |cmp: &str, bound: &str| at(&format!("ISETP{{cmp={cmp},sign=U32,bop=AND}} %P8, PT, %R0, {bound}, PT, PT"));
    for (cmp, bound, level) in [
        ("LT", "0x20", Warp),
        ("GE", "0x40", Warp),
        ("GT", "0x1f", Warp),
        ("LE", "0x5f", Warp),
        ("LT", "0x21", Varying),
        ("GT", "0x20", Varying),
        ("EQ", "0x20", Varying),
        ("LT", "%R2", Varying),
        ("GE", "RZ", Warp),
    ] {
        assert_eq!(compared(cmp, bound), level, "{cmp} {bound}");
    }
}

/// A block of one warp shares what a warp shares.
#[test]
fn in_a_block_of_one_warp_warp_and_block_are_one() {
    let clock = |directive: &str| of::<1>(directive, "bix0:\n    S2R %R0, SR_CLOCKLO\n    EXIT PT\n");
    assert_eq!(clock("  .maxntid 32 1 1\n"), [Cta]);
    assert_eq!(clock("  .reqntid 4 4 2\n"), [Cta]);
    assert_eq!(clock("  .maxntid 33 1 1\n"), [Warp]);
    let called = "  .reqntid 32 1 1\n";
    let mut func = kernel(called, "bix0:\n    S2R %R0, SR_CLOCKLO\n    EXIT PT\n").to_string();
    func = func.replace(".function entry", ".function device");
    let func: Function = func.parse().expect("the same");
    assert_eq!(levels(&func).of(VReg::from_u32(0)), Warp, "directives are the kernel's");
}

#[test]
fn constant_memory_has_the_level_of_its_address_and_other_memory_at_most_the_warps() {
    let load = |code: &str| {
        let start = "bix0:\n    S2R %R0, SR_TID.X\n    S2R %R1, SR_CTAID.X\n    MOV %D11.0, c[0][0x160], 0xf\n    MOV %D11.1, c[0][0x164], 0xf\n";
        let [.., level] = of::<3>("", &format!("{start}    {code}\n    EXIT PT\n"));
        level
    };
    assert_eq!(load("LDC %R2, RZ, c[3][0x10], 0xf"), Grid);
    assert_eq!(load("LDC %R2, %R1, c[3][0x10], 0xf"), Cta);
    assert_eq!(load("LDC %R2, %R0, c[3][0x10], 0xf"), Varying);
    let global = |memory: &str, flag: &str| load(&format!("LDG{{{memory}}} %R2, %D11, _, 0x0, _{flag}"));
    assert_eq!(global("mem=WEAK", ""), Warp);
    assert_eq!(global("mem=CONSTANT", " ;invariant"), Grid);
    assert_eq!(global("mem=STRONG_SYS", " ;volatile"), Varying);
}

/// Fragments, atomics and shuffles are each lane's own, votes the warp's, and so is what all take from one lane.
#[test]
fn lanes_get_of_each_other_what_the_instruction_set_says() {
    let result = |opcode: Opcode, role: Role| {
        let mut func = kernel("", "bix0:\n    EXIT PT\n");
        let reg = func.regs().keys().next().expect("a register");
        let mut inst = Inst::neutral(opcode, Mods::new());
        inst.set_role(role, Operand::reg(reg));
        let inst = func.edit().add(inst);
        let entry = func.layout()[0];
        func.edit().place(entry, 0, &[inst]);
        levels(&func).of(reg)
    };
    use Opcode::*;
    for own in [HMMA, IMMA, DMMA, QMMA, HGMMA, LDTM, LDSM, LDL, LD, ATOMG, ATOMS, ATOM, SHFL, MATCH] {
        assert_eq!(result(own, Role::D), Varying, "{}", own.name());
    }
    for warp in [VOTE, B2R, LDS, LDG, TEX] {
        assert_eq!(result(warp, Role::D), Warp, "{}", warp.name());
    }
    for plain in [IADD3, LDC, MOV] {
        assert_eq!(result(plain, Role::D), Grid, "{}", plain.name());
    }
    let start = "bix0:\n    S2R %R0, SR_TID.X\n    ";
    let [_, one] = of("", &format!("{start}SHFL{{shfl=IDX}} PT, %R1, %R0, 0x5, 0x1f\n    EXIT PT\n"));
    assert_eq!(one, Warp);
    let [_, several] = of("", &format!("{start}SHFL{{shfl=IDX}} PT, %R1, %R0, 0x5, 0x1c1f\n    EXIT PT\n"));
    assert_eq!(several, Varying, "of each segment its own");
}

/// Uniform files hold one value for a warp, though others may have another.
#[test]
fn uniform_registers_are_the_warps_at_least() {
    let uniform = |code: &str| {
        let func = kernel("", &format!("bix0:\n    S2R %R0, SR_TID.X\n    {code}\n    EXIT PT\n"));
        levels(&func).of(VReg::from_u32(10))
    };
    assert_eq!(uniform("R2UR PT, %UR10, %R0"), Warp);
    assert_eq!(uniform("S2UR %UR10, SR_CTAID.X"), Cta);
    assert_eq!(uniform("UMOV %UR10, 0x7"), Grid);
}

/// Two values meet behind a branch of each level; `%P8` decides.
fn diamond(source: &str) -> String {
    format!(
        "bix0: -> bix2, bix1\n    S2R %R0, {source} ;at=0:7:0\n    FSETP %P8, PT, %R0, RZ, PT ;at=0:8:0\n    @%P8 BRA PT, bix2 ;at=0:9:0\n\
         bix1: -> bix3\n    MOV %R1, 0x1, 0xf\n    BRA PT, bix3\nbix2: -> bix3\n    MOV %R1, 0x2, 0xf\n\
         bix3:\n    FADD %R2, %R1, %R1 ;at=0:12:0\n    EXIT PT\n"
    )
}

#[test]
fn what_meets_behind_a_branch_is_no_better_than_its_condition() {
    for (source, level) in [("SR_TID.X", Varying), ("SR_CLOCKLO", Warp), ("SR_CTAID.X", Cta), ("SR_SWINHI", Grid)] {
        let func = kernel("", &diamond(source));
        let levels = levels(&func);
        let found: [Sameness; 3] = std::array::from_fn(|reg| levels.of(VReg::from_u32(reg as u32)));
        assert_eq!(found, [level; 3], "{source}");
        assert_eq!(levels.of_branch(Block::new(0)), level);
    }
}

/// A uniform register is written on one of two ways that warps of a block go.
#[test]
fn uniform_registers_differ_between_warps_that_go_different_ways() {
    let func = kernel(
        "",
        &diamond("SR_CLOCKLO").replace("MOV %R1, 0x2, 0xf", "UMOV %UR10, 0x2").replace("%R1, %R1", "%R1, %UR10"),
    );
    assert_eq!(levels(&func).of(VReg::from_u32(10)), Warp);
}

/// Warps that leave a loop at different times have different counts behind it, and the same in each iteration.
#[test]
fn values_that_leave_a_loop_are_no_better_than_its_condition() {
    let counted = |source: &str| {
        format!(
            "bix0: -> bix1\n    S2R %R0, {source}\n    MOV %R1, RZ, 0xf\n\
             bix1: -> bix1, bix2\n    FADD %R1, %R1, 0x1\n    FSETP %P8, PT, %R1, %R0, PT\n    FADD %R3, %R1, RZ\n    @%P8 BRA PT, bix1\n\
             bix2:\n    FADD %R2, %R1, RZ\n    EXIT PT\n"
        )
    };
    for (source, level) in [("SR_TID.X", Varying), ("SR_CLOCKLO", Warp), ("SR_CTAID.X", Cta)] {
        assert_eq!(of("", &counted(source)), [level; 4], "{source}");
    }
    let inside = counted("SR_CLOCKLO").replace("FADD %R2, %R1, RZ", "FADD %R2, RZ, RZ");
    assert_eq!(of("", &inside), [Warp, Grid, Grid, Grid], "not read behind it");
}

/// A branch through a table whose place is a tuple of values varies with them.
#[test]
fn indirect_branches_vary_with_the_values_of_a_tuple() {
    let text = ".function entry f\n  .frame local=0 spill=0 align=0\n  .reg %R0\n  .reg %R1\n  .reg %R2\n  .values 0\n\
                bix0: -> bix1, bix2\n    S2R %R0, SR_TID.X\n    MOV %R1, RZ, 0xf\n    BRX PT, <%R0 %R1>, _, 0x0\nbix1: -> bix2\nbix2:\n    EXIT PT\n.end\n";
    let func: Function = text.parse().unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(levels(&func).of_branch(Block::new(0)), Varying);
}

#[test]
fn a_guard_that_differs_makes_what_it_guards_differ() {
    let body = "bix0:\n    S2R %R0, SR_CTAID.X\n    FSETP %P8, PT, %R0, RZ, PT\n    MOV %R1, RZ, 0xf\n    @%P8 MOV %R1, 0x1, 0xf\n    @%P8 VOTE %R2, PT, PT\n    EXIT PT\n";
    assert_eq!(of("", body), [Cta, Cta, Warp]);
}

fn texts(func: &Function, reg: u32) -> Vec<String> {
    levels(func).reasons(func, VReg::from_u32(reg)).into_iter().map(|reason| reason.text).collect()
}

#[test]
fn reasons_lead_back_to_where_a_difference_begins() {
    let func = kernel("", &diamond("SR_TID.X"));
    let root = "S2R SR_TID.X, line 7";
    let meet = "values that meet behind the divergent branch of bix0, line 9";
    assert_eq!(texts(&func, 0), [root]);
    assert_eq!(texts(&func, 1), [meet, "reads %P8", "reads %R0", root]);
    assert_eq!(texts(&func, 2), ["reads %R1", meet, "reads %P8", "reads %R0", root]);
    let levels = levels(&func);
    let branch: Vec<_> = levels.branch_reasons(&func, Block::new(0)).into_iter().map(|reason| reason.text).collect();
    assert_eq!(branch, ["reads %P8", "reads %R0", root]);
    assert!(matches!(levels.cause(VReg::from_u32(1)), Some(Cause::Join { .. })));
    let uniform = kernel("", &diamond("SR_CTAID.X"));
    assert_eq!(texts(&uniform, 1)[0], "values that meet behind the block-uniform branch of bix0, line 9");
    assert!(texts(&kernel("", &diamond("SR_SWINHI")), 2).is_empty());
}

/// The cause is that of the level reached, not of one on the way.
#[test]
fn the_reason_is_that_of_the_level() {
    let body = "bix0:\n    S2R %R0, SR_CTAID.X\n    S2R %R1, SR_TID.X\n    FADD %R2, %R0, %R1\n    @%P8 MOV %R2, RZ, 0xf\n    EXIT PT\n";
    assert_eq!(texts(&kernel("", body), 2), ["reads %R1", "S2R SR_TID.X"]);
    let guarded =
        "bix0:\n    S2R %R0, SR_TID.X\n    FSETP %P8, PT, %R0, RZ, PT\n    @%P8 MOV %R2, 0x1, 0xf\n    EXIT PT\n";
    assert_eq!(texts(&kernel("", guarded), 2)[0], "stays as it was where %P8 is false");
}
