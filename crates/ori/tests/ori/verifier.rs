//! The verifier accepts what is right and names what is wrong.

use crate::common;

use oriole_isa::{Arch, Mods, Opcode, Role};
use oriole_ori::verify::verify;
use oriole_ori::*;

const HEAD: &str = ".function entry f\n  .frame local=0 spill=0 align=0\n  .reg %P0\n  .reg %R1\n  .reg %R2\n  .reg %D3\n  .reg %UR4\n  .livein %P0 %R1\n";

fn errors(body: &str) -> Vec<String> {
    let func: Function = format!("{HEAD}{body}.end\n").parse().unwrap_or_else(|e| panic!("{e}\n{body}"));
    verify(&func, Arch::Sm80).err().unwrap_or_default().iter().map(ToString::to_string).collect()
}

#[test]
fn good_code_passes() {
    let body = "bix0: -> bix2, bix1\n    FADD %R2, -%R1, |%R1|\n    @%P0 BRA PT, bix2, _\nbix1: -> bix2\n    @%P0 MOV %R2, 0x1, 0xf\nbix2:\n    FADD %R1, %R2, RZ\n    EXIT PT\n";
    assert_eq!(errors(body), Vec::<String>::new());
}

#[test]
fn each_fault_is_named() {
    let cases = [
        ("bix0:\n    FADD %R2, %P0, %R1\n    EXIT PT\n", "Bad register class: operand 1 (A) of FADD may not be '%P0'"),
        ("bix0:\n    FADD %R2, 0x1, %R1\n    EXIT PT\n", "Bad register class: operand 1 (A) of FADD may not be '0x1'"),
        ("bix0:\n    MOV %D3, RZ, 0xf\n    EXIT PT\n", "operand 0 (D) of MOV takes 1 registers, not 2"),
        ("bix0:\n    MOV %R2, -%R1, 0xf\n    EXIT PT\n", "operand 1 (B) of MOV may not be negated"),
        ("bix0:\n    FADD %R2, %R1\n    EXIT PT\n", "FADD takes 3 operands, 2 given"),
        ("bix0:\n    FADD{bop=AND} %R2, %R1, %R1\n    EXIT PT\n", "FADD has no modifier 'bop'"),
        ("bix0:\n    @%R1 FADD %R2, %R1, %R1\n    EXIT PT\n", "Bad register class: the guard of FADD is a P, not a R"),
        ("bix0:\n    FADD %R1, %R2, %R1\n    EXIT PT\n", "Referencing undefined register: R2"),
        (
            "bix0:\n    MOV %D3.0, RZ, 0xf\n    FADD %R1, %D3.0, %D3.1\n    EXIT PT\n",
            "Referencing undefined register: R3",
        ),
        ("bix0:\n    MOV %R2, %D3.2, 0xf\n    EXIT PT\n", "components 2..3 of a register of 2"),
        ("bix0:\n    FADD %R1, %R1, %R1\n", "successors are [], but the branches go to [] and then one fall-through"),
        ("bix0: -> bix1\n    EXIT PT\nbix1:\n    EXIT PT\n", "successors are [bix1], but the branches go to []"),
        ("bix0:\n    EXIT PT\n    MOV %R1, RZ, 0xf\n", "instruction after a branch of the same block"),
        (
            "bix0: -> bix1\nbix1:\n    MOV %R2, %R1, bix1 ;phi\n    EXIT PT\n",
            "the MovPhi does not name each predecessor once",
        ),
        (
            "bix0: -> bix1\nbix1:\n    MOV %R2, %D3, bix0 ;phi\n    EXIT PT\n",
            "the MovPhi's registers differ in file or width",
        ),
    ];
    for (body, expected) in cases {
        let found = errors(body);
        assert!(found.iter().any(|e| e.contains(expected)), "{body}\nfound {found:?}\nexpected {expected}");
        assert!(found.iter().all(|e| e.starts_with("function 'f', bix")), "{found:?}");
    }
}

/// A marker gives a register of any width a value; BREAK reads the barrier that BSSY set.
#[test]
fn markers_and_barriers() {
    let body = "bix0: -> bix1\n    MOV %D3 ;undef\n    FADD %R2, %D3.0, %D3.1\n    BSSY %B5, PT, bix1\n    BREAK PT, %B5\n\
                bix1:\n    BSYNC PT, %B5\n    EXIT PT\n";
    let text = format!("{HEAD}{body}.end\n").replace("  .livein", "  .reg %B5\n  .livein");
    let func: Function = text.parse().unwrap();
    assert_eq!(verify(&func, Arch::Sm80), Ok(()));
    let (_, broken) = func.iter_insts().nth(3).unwrap();
    let mut read = Vec::new();
    func.for_each_use(broken, |r| read.push(r.reg));
    assert_eq!(read, [VReg::new(5)]);
    assert!(!func.emits_code(func.iter_insts().next().unwrap().1));
}

/// A register written on one of two paths may be read after them: PTX allows that.
#[test]
fn written_on_some_path_is_enough() {
    let body = "bix0: -> bix2, bix1\n    @%P0 BRA PT, bix2, _\nbix1: -> bix2\n    MOV %R2, 0x1, 0xf\nbix2:\n    FADD %R1, %R2, RZ\n    EXIT PT\n";
    assert_eq!(errors(body), Vec::<String>::new());
}

#[test]
fn built_code_passes_and_bad_arity_does_not() {
    let mut func = Function::new("built", FunctionKind::Entry);
    let mut b = FunctionBuilder::new(&mut func);
    let (entry, body, end) = (b.new_block().unwrap(), b.new_block().unwrap(), b.new_block().unwrap());
    b.switch_to(entry);
    let (p, x, y) = (b.vreg(RegType::P).unwrap(), b.vreg(RegType::R).unwrap(), b.vreg(RegType::R).unwrap());
    b.emit_roles(Opcode::MOV, Mods::new(), &[(Role::D, x.into()), (Role::B, Operand::cbank(0, 0x160))]).unwrap();
    b.emit_roles(Opcode::FSETP, Mods::new(), &[(Role::PD, p.into()), (Role::A, x.into()), (Role::B, Operand::rz())])
        .unwrap();
    let arity = b.emit(Opcode::FADD, Mods::new(), &[y.into(), x.into()]).unwrap_err();
    assert_eq!(arity.to_string(), "function 'built': FADD takes 3 operands, 2 given");
    b.branch(Guard { pred: p, negated: true }, body, end).unwrap();
    b.switch_to(body);
    b.emit(Opcode::FADD, Mods::new(), &[y.into(), x.into(), Operand::reg(x).neg()]).unwrap();
    b.jump(end).unwrap();
    assert!(b.emit(Opcode::FADD, Mods::new(), &[y.into(), x.into(), x.into()]).is_err(), "no current block");
    b.switch_to(end);
    b.exit().unwrap();
    assert_eq!(verify(&func, Arch::Sm80), Ok(()));

    // A layout in which no fall-through is next needs branches, and loses them again.
    func.edit().set_layout(vec![entry, end, body]);
    let before = func.inst_count();
    layout::make_fallthroughs_explicit(&mut func);
    assert_eq!(verify(&func, Arch::Sm80), Ok(()));
    assert_eq!(func.inst_count(), before + 1, "{func}");
    func.edit().set_layout(vec![entry, body, end]);
    assert!(layout::remove_redundant_branches(&mut func));
    assert_eq!((func.inst_count(), verify(&func, Arch::Sm80)), (before, Ok(())));
}

/// Edits of the control flow leave a valid function.
#[test]
fn edits_keep_functions_valid() {
    for seed in 0..100 {
        let mut dice = common::Dice::new(seed);
        let count = 2 + dice.below(10);
        let mut func = common::graph(count, &common::random_edges(&mut dice, count));
        let before = func.inst_count();
        for block in func.layout().to_vec() {
            for succ in func.succs(block).to_vec() {
                func.edit().split_edge(block, succ).unwrap();
            }
            func.edit().split_block(block, 0).unwrap();
        }
        assert_eq!(verify(&func, Arch::Sm80), Ok(()), "seed {seed}\n{func}");
        assert_eq!(func.inst_count(), before);
        layout::make_fallthroughs_explicit(&mut func);
        assert_eq!(verify(&func, Arch::Sm80), Ok(()), "seed {seed}\n{func}");
        let cfg = oriole_ori::analysis::Cfg::new(&func);
        layout::remove_unreachable(&mut func, &cfg);
        assert_eq!(verify(&func, Arch::Sm80), Ok(()), "seed {seed}\n{func}");
    }
}

/// What the verifier says of a body in SSA form: registers P0 and R1 are received, those from R2 on are values.
fn errors_of_values(body: &str) -> Vec<String> {
    let head = ".function entry f\n  .frame local=0 spill=0 align=0\n  .reg %P0\n  .reg %R1\n  .reg %R2\n  .reg %R3\n  .reg %R4\n  .reg %UR5\n  .values 2\n  .livein %P0 %R1\n";
    let func: Function = format!("{head}{body}.end\n").parse().unwrap_or_else(|e| panic!("{e}\n{body}"));
    verify(&func, Arch::Sm80).err().unwrap_or_default().iter().map(ToString::to_string).collect()
}

#[test]
fn values_have_one_definition_that_reaches_their_uses() {
    let good = "bix0: -> bix2, bix1\n    MOV %R2, %R1, 0xf\n    @%P0 BRA PT, bix2, _\nbix1: -> bix2\n    @%P0 MOV %R3, 0x1, 0xf, %R2\nbix2:\n    MOV %R4, %R2, bix0, %R3, bix1 ;phi\n    STS{mem_size=B64} RZ, _, s:0, <%R4 %R2>\n    EXIT PT\n";
    assert_eq!(errors_of_values(good), Vec::<String>::new());
    let cases = [
        ("bix0:\n    MOV %R2, RZ, 0xf\n    MOV %R2, RZ, 0xf\n    EXIT PT\n", "value v2 is defined twice"),
        (
            "bix0:\n    IADD3 %R3, PT, PT, %R2, RZ, RZ, !PT, !PT\n    MOV %R2, RZ, 0xf\n    EXIT PT\n",
            "the definition of value v2 does not reach its use",
        ),
        (
            "bix0: -> bix2, bix1\n    @%P0 BRA PT, bix2, _\nbix1: -> bix2\n    MOV %R2, RZ, 0xf\nbix2:\n    MOV %R3, %R2, 0xf\n    EXIT PT\n",
            "the definition of value v2 does not reach its use",
        ),
        ("bix0:\n    @%P0 MOV %R2, RZ, 0xf\n    EXIT PT\n", "the old values do not fit what is written in part"),
        ("bix0:\n    MOV %R2, RZ, 0xf, undef\n    EXIT PT\n", "the old values do not fit what is written in part"),
        ("bix0:\n    @%P0 MOV %R2, RZ, 0xf, _\n    EXIT PT\n", "the old values do not fit what is written in part"),
        (
            "bix0:\n    MOV %R2, RZ, 0xf\n    STS{mem_size=B64} RZ, _, s:0, <%R2 %R1>\n    EXIT PT\n",
            "v1 in a tuple is no value",
        ),
        (
            "bix0:\n    MOV %R2, RZ, 0xf\n    S2UR %UR5, SR_CTAID.X\n    STS{mem_size=B64} RZ, _, s:0, <%R2 %UR5>\n    EXIT PT\n",
            "a tuple of two files",
        ),
        (
            "bix0:\n    MOV %R2, RZ, 0xf\n    STS{mem_size=B32} RZ, _, s:0, <%R2 %R2>\n    EXIT PT\n",
            "takes 1 registers, not 2",
        ),
        ("bix0:\n    STS{mem_size=B32} RZ, _, s:0, undef\n    EXIT PT\n", "may not be 'undef'"),
    ];
    for (body, expected) in cases {
        let found = errors_of_values(body);
        assert!(found.iter().any(|e| e.contains(expected)), "{body}{found:#?}\nexpected: {expected}");
    }
}
