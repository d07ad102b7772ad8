//! Definitions and uses that the editor keeps, against those of the code as it stands.

use crate::common::{Dice, random_function};
use oriole_isa::{Mods, Opcode, RegFile};
use oriole_ori::analysis::Analyses;
use oriole_ori::ssa::construct;
use oriole_ori::{Block, Function, Guard, Inst, InstId, Operand, RegType, VReg};

/// A random function in SSA form, with its lists.
fn in_ssa(seed: u64) -> Function {
    let mut func = random_function(seed);
    let mut analyses = Analyses::default();
    let (cfg, dominators, live) = (analyses.cfg(&func), analyses.dominators(&func), analyses.live(&func));
    construct(&mut func, &cfg, &dominators, &live).expect("few registers");
    func.edit().keep_def_use();
    func
}

/// The difference between what is kept and what is there.
fn difference(func: &Function) -> Option<String> {
    func.def_use().expect("they are kept").difference(func)
}

struct Place {
    block: Block,
    inst: InstId,
}

fn any_place(func: &Function, dice: &mut Dice) -> Option<Place> {
    let all: Vec<Place> = func.iter_insts().map(|(block, inst)| Place { block, inst }).collect();
    let count = all.len();
    (count > 0).then(|| all.into_iter().nth(dice.below(count))).flatten()
}

/// One random change. It keeps values to one definition; it need not mean anything.
fn change(func: &mut Function, dice: &mut Dice) {
    let Some(Place { block, inst }) = any_place(func, dice) else { return };
    let regs = func.regs().len();
    let some_reg = VReg::from_u32(dice.below(regs) as u32);
    let plain = func[inst].is_machine() && !func[inst].operands.is_empty();
    match dice.below(12) {
        0 => func.edit().retain_insts(block, |_, other| other != inst),
        1 if plain => {
            let at = func[inst].operands.len() - 1;
            if !func[inst].is_def(at) {
                func.edit().set_operand(inst, at, Operand::reg(some_reg));
            }
        }
        2 => {
            let old = func.edit().replace(inst, Inst::new(Opcode::NOP, Mods::new(), &[]));
            func.edit().replace(inst, old);
        }
        3 => func.edit().rename_regs(inst, |reg, is_def| if is_def { reg } else { some_reg }),
        4 => {
            let fresh = func.new_vreg(RegType::R).expect("few registers");
            let copy = Inst::copy(RegFile::R, Operand::reg(fresh), Operand::reg(some_reg));
            func.edit().append(block, copy);
        }
        5 => {
            let at = dice.below(func.block_insts(block).len() + 1);
            func.edit().split_block(block, at).expect("few blocks");
        }
        6 => {
            let mut insts = func.edit().take_insts(block);
            insts.reverse();
            func.edit().set_insts(block, insts);
        }
        7 => {
            func.edit().pop(block);
        }
        8 => {
            let pred = func.regs().iter().find(|(_, data)| data.file() == RegFile::P).map(|(reg, _)| reg);
            let guard = pred.filter(|_| dice.chance()).map(|pred| Guard { pred, negated: false });
            func.edit().update(inst, |inst| inst.set_guard(guard));
        }
        9 => {
            let fresh = func.edit().add(Inst::new(Opcode::NOP, Mods::new(), &[]));
            func.edit().place(block, 0, &[fresh]);
        }
        10 => {
            if let Some(&succ) = func.succs(block).first() {
                func.edit().split_edge(block, succ).expect("few blocks");
            }
        }
        _ => {
            // The instructions move to the end of another block.
            let other = func.layout()[dice.below(func.layout().len())];
            let moved = func.edit().take_insts(block);
            let end = func.block_insts(other).len();
            func.edit().place(other, end, &moved);
        }
    }
}

#[test]
fn lists_follow_random_changes() {
    for seed in 0..200 {
        let mut func = in_ssa(seed);
        assert_eq!(difference(&func), None, "seed {seed}, before");
        let mut dice = Dice::new(seed);
        for step in 0..40 {
            change(&mut func, &mut dice);
            assert_eq!(difference(&func), None, "seed {seed}, step {step}\n{func}");
        }
    }
}

#[test]
fn differences_are_seen() {
    let text = ".function entry f\n  .frame local=0 spill=0 align=0\n  .values 0\n  .reg %R0\n  .reg %R1\n  .reg %R2\nbix0:\n    \
                MOV %R0, 0x7, 0xf\n    MOV %R1, %R0, 0xf\n    MOV %R2, %R0, 0xf\n    EXIT PT\n.end\n";
    let mut func: Function = text.parse().expect("it parses");
    func.edit().keep_def_use();
    let lists = func.def_use().expect("they are kept").clone();
    assert_eq!((lists.count(VReg::from_u32(0)), lists.count(VReg::from_u32(1))), (2, 0));
    let insts = func.block_insts(func.layout()[0]).to_vec();
    let mut users: Vec<InstId> = lists.users(VReg::from_u32(0)).collect();
    users.sort();
    assert_eq!(users, insts[1..3]);
    assert_eq!(lists.definition(VReg::from_u32(2)), Some(insts[2]));
    assert_eq!(lists.difference(&func), None);

    let mut reads_other = func.clone();
    reads_other.edit().set_operand(insts[2], 1, Operand::reg(VReg::from_u32(1)));
    assert!(lists.difference(&reads_other).is_some_and(|text| text.contains("is read by")));
    let mut lacks_one = func.clone();
    lacks_one.edit().retain_insts(func.layout()[0], |_, inst| inst != insts[2]);
    assert!(lists.difference(&lacks_one).is_some());
    let mut moved = func.clone();
    moved.edit().split_block(func.layout()[0], 2).expect("few blocks");
    assert!(lists.difference(&moved).is_some_and(|text| text.contains("the lists say elsewhere")));
}

#[test]
fn epochs_count_what_changes() {
    let mut func = in_ssa(3);
    let before = func.epochs();
    let block = func.layout()[0];
    func.edit().append(block, Inst::new(Opcode::NOP, Mods::new(), &[]));
    let with_inst = func.epochs();
    assert!(with_inst.insts > before.insts && with_inst.flow == before.flow);
    func.edit().new_block().expect("few blocks");
    assert!(func.epochs().flow > with_inst.flow);
    func.new_vreg(RegType::R).expect("few registers");
    assert!(func.epochs().regs > with_inst.regs);
}
