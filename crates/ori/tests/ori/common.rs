//! Functions for the tests: with a given control flow, and random ones.

use oriole_isa::{Control, Mods, Opcode};
use oriole_ori::*;

/// A function with `count` blocks and the given edges. Blocks with two successors branch on a
/// predicate that the entry defines, blocks with none exit.
pub(crate) fn graph(count: usize, edges: &[(usize, usize)]) -> Function {
    let mut func = Function::new("graph", FunctionKind::Entry);
    let pred = func.new_vreg(RegType::P).unwrap();
    func.edit().add_live_in(pred);
    let blocks: Vec<Block> = (0..count).map(|_| func.edit().new_block().unwrap()).collect();
    for &(from, to) in edges {
        let succs: Vec<Block> = func.succs(blocks[from]).iter().copied().chain([blocks[to]]).collect();
        func.edit().set_succs(blocks[from], &succs);
    }
    for &block in &blocks {
        finish(&mut func, block, pred);
    }
    func
}

/// Give a block the branch that its successors ask for.
fn finish(func: &mut Function, block: Block, pred: VReg) {
    match func.succs(block).len() {
        0 => {
            func.edit().append(block, Inst::neutral(Opcode::EXIT, Mods::new()));
        }
        1 => {}
        _ => {
            let target = func.succs(block)[0];
            func.edit().append(block, Inst::bra(target).guarded(Some(Guard { pred, negated: false })));
        }
    }
}

/// Numbers from a seed, the same everywhere.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 33) as usize) % bound
    }

    pub(crate) fn chance(&mut self) -> bool {
        self.below(2) == 0
    }
}

/// A random control-flow graph: every block but the first has an earlier predecessor.
pub(crate) fn random_edges(dice: &mut Dice, count: usize) -> Vec<(usize, usize)> {
    let mut succs = vec![Vec::new(); count];
    for to in 1..count {
        let from = dice.below(to);
        if succs[from].len() < 2 {
            succs[from].push(to);
        } else if let Some(from) = (0..to).find(|f| succs[*f].len() < 2) {
            succs[from].push(to);
        }
    }
    for targets in succs.iter_mut().filter(|targets| targets.len() == 1) {
        if dice.chance() {
            targets.push(dice.below(count));
        }
    }
    succs.iter().enumerate().flat_map(|(from, to)| to.iter().map(move |t| (from, *t))).collect()
}

/// A random function: control flow as above; moves and additions on scalars, pairs and quads, whole and
/// by pieces, some guarded, with all kinds of flags and notes.
pub(crate) fn random_function(seed: u64) -> Function {
    let mut dice = Dice::new(seed);
    let count = 1 + dice.below(9);
    let edges = random_edges(&mut dice, count);
    let mut func = graph(count, &edges);
    let pred = VReg::new(0);
    let types = [RegType::R, RegType::Pair, RegType::Quad, RegType::Ur, RegType::P, RegType::UrPair];
    let regs: Vec<VReg> = (0..6 + dice.below(6)).map(|i| func.new_vreg(types[i % types.len()]).unwrap()).collect();
    let group = func.new_group(8, 4).unwrap();
    let fixed = func.fixed_vreg(RegType::Pair, 20).unwrap();
    func.edit().update_reg(regs[0], |data| data.spill_slot = dice.chance().then_some(16));
    for block in func.layout().to_vec() {
        let tail = func.edit().take_insts(block);
        for _ in 0..dice.below(6) {
            let inst = random_inst(&mut func, &mut dice, &regs, group, fixed, pred);
            func.edit().append(block, inst);
        }
        tail.into_iter().for_each(|inst| func.edit().place_last(block, inst));
    }
    func
}

fn random_inst(func: &mut Function, dice: &mut Dice, regs: &[VReg], group: VReg, fixed: VReg, pred: VReg) -> Inst {
    let mut operand = |func: &Function| {
        let reg = [regs[dice.below(regs.len())], group, fixed][[0, 0, 0, 1, 2][dice.below(5)]];
        let components = func[reg].components;
        let choice = dice.below(4);
        let plain = match dice.below(8) {
            0 => Operand::imm(dice.below(1 << 31) as u32),
            1 => Operand::cbank(0, 0x160 + 4 * dice.below(16) as u32),
            2 => [Operand::rz(), Operand::imm_signed(-8), Operand::imm_high(0x3ff0_0000), Operand::NONE][choice],
            3 if components > 1 => Operand::comp(reg, dice.below(usize::from(components)) as u8),
            4 if components > 2 => Operand::piece(reg, 2, 2),
            _ => Operand::reg(reg),
        };
        let is_reg = plain.as_reg().is_some();
        plain
            .with_neg(dice.chance())
            .with_abs(dice.chance())
            .with_not(dice.chance())
            .with_reuse(is_reg && dice.chance())
    };
    let (a, b) = (operand(func), operand(func));
    let dst = regs[dice.below(regs.len())];
    let components = func[dst].components;
    let dst =
        if dice.chance() { Operand::reg(dst) } else { Operand::comp(dst, dice.below(usize::from(components)) as u8) };
    let mut inst = match dice.chance() {
        true => Inst::new(Opcode::MOV, Mods::new(), &[dst, a, Operand::imm(15)]),
        false => Inst::new(Opcode::FADD, Mods::new(), &[dst, a, b]),
    };
    if dice.below(4) == 0 {
        inst.set_guard(Some(Guard { pred, negated: dice.chance() }));
    }
    if dice.chance() {
        let (file, line) = (dice.below(3) as u32, dice.below(99) as u32);
        inst.loc = func.source_loc(SourceLoc { file, line, column: 7 }).into();
    }
    if dice.below(3) == 0 {
        inst.flags = InstFlags::VOLATILE | InstFlags::SPILL;
        inst.control = Control {
            stall: 4,
            stay: dice.chance(),
            write_scoreboard: 2,
            read_scoreboard: 7,
            wait_mask: 5,
            ..Control::NONE
        };
    }
    inst
}
