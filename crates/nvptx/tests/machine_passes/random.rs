//! Random functions in SSA form: any graph of blocks, `phi`s whose values come from anywhere that is
//! allowed (so that swaps, circles and lost copies are frequent), copies within and between classes.

use cranelift_entity::EntityRef;
use fastrand::Rng;
use oriole_nvptx::machine::RegClass::{self, Float32, Int1, Int16, Int32, Int64, Int128};
use oriole_nvptx::machine::dump::Dump;
use oriole_nvptx::machine::{
    Base, Block, BlockId, Forms, Function, Inst, Opcode, Operand, Phi, PhysReg, Reg, Terminator, VReg,
};
use oriole_ptx::ast::{Selector, SpecialReg, SymbolTable};
use smallvec::SmallVec;

/// A function under construction.
pub(crate) struct Builder {
    pub function: Function,
    pub forms: Forms,
    rng: Rng,
    /// For each block, what is written on all ways to its end.
    available: Vec<Vec<VReg>>,
    symbols: SymbolTable,
}

const COMPARISONS: [&str; 6] = ["eq", "ne", "lt", "le", "gt", "ge"];

/// A random function.
pub(crate) fn function(seed: u64) -> Builder {
    let mut rng = Rng::with_seed(seed);
    let mut symbols = SymbolTable::new();
    let name = symbols.intern("random");
    let count = rng.usize(1..12);
    let mut builder = Builder {
        function: Function::new(name, true),
        forms: Forms::default(),
        rng,
        available: vec![Vec::new(); count],
        symbols,
    };
    for _ in 0..count {
        let block =
            builder.function.blocks.push(Block { phis: Vec::new(), insts: Vec::new(), terminator: Terminator::Ret });
        builder.function.layout.push(block);
    }
    let edges: Vec<Vec<usize>> = (0..count).map(|from| builder.targets(from, count)).collect();
    let dominators = dominators(&edges);
    builder.fill_blocks(&edges, &dominators);
    builder.fill_phis();
    builder
}

/// The closest dominator of each block, by definition: what all ways from the entry have in common.
/// Blocks that are not reached have none.
fn dominators(edges: &[Vec<usize>]) -> Vec<Option<Vec<usize>>> {
    let reached = |without: Option<usize>| {
        let (mut seen, mut work) = (vec![false; edges.len()], vec![0]);
        while let Some(at) = work.pop() {
            if Some(at) != without && !seen[at] {
                seen[at] = true;
                work.extend(&edges[at]);
            }
        }
        seen
    };
    let all = reached(None);
    let without: Vec<Vec<bool>> = (0..edges.len()).map(|block| reached(Some(block))).collect();
    (0..edges.len())
        .map(|block| {
            all[block].then(|| (0..edges.len()).filter(|&d| d != block && all[d] && !without[d][block]).collect())
        })
        .collect()
}

impl Builder {
    /// The text of the function.
    pub(crate) fn dump(&self) -> String {
        Dump { function: &self.function, forms: &self.forms, symbols: &self.symbols }.to_string()
    }

    fn targets(&mut self, from: usize, count: usize) -> Vec<usize> {
        let number = match self.rng.u32(0..10) {
            0 => 0,
            1..=3 => 1,
            4..=8 => 2,
            _ => 4,
        };
        let number = if from == 0 { number.max(1) } else { number };
        let number = if from + 1 == count { 0 } else { number };
        // Nothing leads to the entry, and more edges lead on than back.
        let target = |rng: &mut Rng| {
            let first = if rng.u32(0..3) == 0 { 1 } else { from + 1 };
            rng.usize(first..count)
        };
        (0..number).map(|_| target(&mut self.rng)).collect()
    }

    fn fill_blocks(&mut self, edges: &[Vec<usize>], dominators: &[Option<Vec<usize>>]) {
        // Blocks with fewer dominators first: a block comes after those that dominate it.
        let mut order: Vec<usize> = (0..edges.len()).collect();
        order.sort_by_key(|&block| dominators[block].as_ref().map_or(usize::MAX, Vec::len));
        for block in order {
            let id = BlockId::new(block);
            let mut here: Vec<VReg> = Vec::new();
            for &above in dominators[block].iter().flatten() {
                here.extend(&self.available[above]);
            }
            here.sort_unstable();
            here.dedup();
            let has_preds = edges.iter().any(|targets| targets.contains(&block));
            if dominators[block].is_none() || block == 0 {
                // Blocks that are not reached live from their own values.
                self.first_values(id, &mut here);
            } else if has_preds {
                for _ in 0..self.rng.usize(0..6) {
                    let class = [Int32, Int32, Int32, Int1, Int64, Float32, Int16, Int128][self.rng.usize(0..8)];
                    let dst = self.function.regs.push(class);
                    self.function.blocks[id].phis.push(Phi { dst, incoming: SmallVec::new() });
                    here.push(dst);
                }
            }
            for _ in 0..self.rng.usize(0..7) {
                self.instruction(id, &mut here);
            }
            self.terminator(id, &edges[block], &mut here);
            self.available[block] = here;
        }
    }

    fn fill_phis(&mut self) {
        let preds = |function: &Function, block: BlockId| {
            let leads = |from: &BlockId| {
                let mut found = false;
                function.blocks[*from].terminator.for_each_successor(|to| found |= to == block);
                found
            };
            function.layout.iter().copied().filter(leads).collect::<Vec<_>>()
        };
        for at in 0..self.function.layout.len() {
            let block = self.function.layout[at];
            let preds = preds(&self.function, block);
            for phi in 0..self.function.blocks[block].phis.len() {
                let class = self.function.regs[self.function.blocks[block].phis[phi].dst];
                for &from in &preds {
                    let here = self.available[from.index()].clone();
                    let value = self.value(class, &here);
                    self.function.blocks[block].phis[phi].incoming.push((from, value));
                }
            }
        }
    }

    /// A register of a class, or now and then a constant.
    fn value(&mut self, class: RegClass, here: &[VReg]) -> Operand {
        let fitting: Vec<VReg> = here.iter().copied().filter(|&reg| self.function.regs[reg] == class).collect();
        let constant = class != Int128 && self.rng.u32(0..6) == 0;
        match self.rng.choice(fitting) {
            Some(reg) if !constant => reg.into(),
            _ if class == Int1 => Operand::Imm(-i64::from(self.rng.bool())),
            _ if class == Float32 => Operand::F32(self.rng.u32(..)),
            _ => Operand::Imm(self.rng.i64(-20..20)),
        }
    }

    /// A register of a class that is there.
    fn reg(&mut self, class: RegClass, here: &[VReg]) -> VReg {
        let fitting: Vec<VReg> = here.iter().copied().filter(|&reg| self.function.regs[reg] == class).collect();
        self.rng.choice(fitting).unwrap_or_else(|| unreachable!("each block begins with a value of each class"))
    }

    fn push(&mut self, block: BlockId, form: &str, defs: u16, operands: Vec<Operand>) {
        let opcode = match form {
            "copy" => Opcode::Copy,
            text => Opcode::Form(self.forms.intern(text).unwrap_or_else(|| unreachable!("{text} is PTX"))),
        };
        let inst = Inst { opcode, defs, guard: None, operands: operands.into(), loc: None.into(), source: None.into() };
        self.function.blocks[block].insts.push(inst);
    }

    /// A new register of a class, written by `form` with `args`.
    fn define(
        &mut self,
        block: BlockId,
        here: &mut Vec<VReg>,
        class: RegClass,
        form: &str,
        args: Vec<Operand>,
    ) -> VReg {
        let dst = self.function.regs.push(class);
        self.push(block, form, 1, [vec![dst.into()], args].concat());
        here.push(dst);
        dst
    }

    fn first_values(&mut self, block: BlockId, here: &mut Vec<VReg>) {
        let tid = |part| Operand::Part(Reg::Physical(PhysReg::Special(SpecialReg::Tid)), part);
        let x = self.define(block, here, Int32, "mov.u32", vec![tid(Selector::X)]);
        let y = self.define(block, here, Int32, "mov.u32", vec![tid(Selector::Y)]);
        let param = self.symbols.intern("param");
        self.define(block, here, Int64, "ld.param.u64", vec![Operand::address(Base::Symbol(param), 0)]);
        self.define(block, here, Int1, "setp.lt.s32", vec![x.into(), y.into()]);
        self.define(block, here, Float32, "copy", vec![y.into()]);
        self.define(block, here, Int16, "mov.b16", vec![Operand::Imm(7)]);
        self.define(block, here, Int128, "ld.global.b128", vec![Operand::address(Base::Absolute, 64)]);
    }

    #[rustfmt::skip]
    fn instruction(&mut self, block: BlockId, here: &mut Vec<VReg>) {
        let a = self.reg(Int32, here);
        let b = self.value(Int32, here);
        let wide = self.reg(Int64, here);
        match self.rng.u32(0..30) {
            0 | 1 => _ = self.define(block, here, Int32, "add.s32", vec![a.into(), b]),
            2 => _ = self.define(block, here, Int32, "sub.s32", vec![a.into(), b]),
            3 => _ = self.define(block, here, Int32, "mul.lo.s32", vec![a.into(), b]),
            4 => _ = self.define(block, here, Int32, "and.b32", vec![a.into(), b]),
            5 => {
                let number = Operand::Imm(self.rng.i64(0..5));
                self.define(block, here, Int32, "mov.b32", vec![number]);
            }
            6 => {
                let p = self.reg(Int1, here);
                self.define(block, here, Int32, "selp.b32", vec![a.into(), b, p.into()]);
            }
            7 | 8 => {
                let form = format!("setp.{}.s32", COMPARISONS[self.rng.usize(0..6)]);
                self.define(block, here, Int1, &form, vec![a.into(), b]);
            }
            9 => {
                let p = self.reg(Int1, here);
                self.define(block, here, Int1, "not.pred", vec![p.into()]);
            }
            10 | 11 => {
                let class = [Int32, Int1, Int64, Float32, Int16, Int128][self.rng.usize(0..6)];
                let from = self.reg(class, here);
                self.define(block, here, class, "copy", vec![from.into()]);
            }
            12 => _ = self.define(block, here, Float32, "copy", vec![a.into()]),
            13 => {
                let from = self.reg(Float32, here);
                self.define(block, here, Int32, "copy", vec![from.into()]);
            }
            14 => _ = self.define(block, here, Int64, "cvt.s64.s32", vec![a.into()]),
            15 => _ = self.define(block, here, Int64, "mul.wide.s32", vec![a.into(), Operand::Imm(4)]),
            16 => {
                let other = self.value(Int64, here);
                self.define(block, here, Int64, "add.s64", vec![wide.into(), other]);
            }
            17 => _ = self.define(block, here, Int32, "ld.global.b32", vec![Operand::address(Base::Reg(wide.into()), 4)]),
            18 => {
                let (x, y) = (self.function.regs.push(Int32), self.function.regs.push(Int32));
                let both = Operand::Vector([x.into(), y.into()].into());
                self.push(block, "ld.global.v2.b32", 1, vec![both, Operand::address(Base::Reg(wide.into()), 0)]);
                here.extend([x, y]);
            }
            19 => {
                let class = [Int1, Int64, Float32, Int16][self.rng.usize(0..4)];
                let reg = self.reg(class, here);
                let value = if class == Int1 {
                    self.define(block, here, Int32, "selp.b32", vec![Operand::Imm(1), Operand::Imm(0), reg.into()])
                } else {
                    reg
                };
                let width = self.function.regs[value].info().width;
                let to = Operand::address(Base::Absolute, 0x100);
                self.push(block, &format!("st.global.b{width}"), 0, vec![to, value.into()]);
            }
            22 => _ = self.define(block, here, Int64, "add.s64", vec![wide.into(), Operand::Imm(4)]),
            23 => {
                // What came last, so that chains of the forms that rules know arise.
                let last = |class| here.iter().rev().copied().find(|&reg| self.function.regs[reg] == class);
                let (int, pred, short) = (last(Int32).unwrap_or(a), last(Int1), last(Int16));
                match self.rng.u32(0..6) {
                    0 => _ = self.define(block, here, Int32, "add.s32", vec![int.into(), b]),
                    1 => pred.into_iter().for_each(|p| _ = self.define(block, here, Int1, "not.pred", vec![p.into()])),
                    2 => _ = self.define(block, here, Int1, "setp.ne.s32", vec![int.into(), Operand::Imm(0)]),
                    3 => _ = self.define(block, here, Int64, "cvt.u64.u32", vec![int.into()]),
                    4 => _ = self.define(block, here, Int16, "cvt.u16.u32", vec![int.into()]),
                    _ => short.into_iter().for_each(|s| _ = self.define(block, here, Int32, "cvt.s32.s16", vec![s.into()])),
                }
            }
            24 => _ = self.define(block, here, Int32, "cvt.u32.u64", vec![wide.into()]),
            25 => {
                let p = self.reg(Int1, here);
                self.define(block, here, Int32, "selp.b32", vec![Operand::Imm(1), Operand::Imm(0), p.into()]);
            }
            26 => _ = self.define(block, here, Int32, "and.b32", vec![a.into(), Operand::Imm(0xFF)]),
            27 => {
                let last = here.iter().rev().copied().find(|&reg| self.function.regs[reg] == Int32).unwrap_or(a);
                self.push(block, "st.global.b8", 0, vec![Operand::address(Base::Absolute, 0x200), last.into()]);
            }
            _ => {
                self.push(block, "st.global.b32", 0, vec![Operand::address(Base::Reg(wide.into()), 4), a.into()]);
                if self.rng.u32(0..3) == 0 {
                    let guard = self.reg(Int1, here);
                    let negated = self.rng.bool();
                    self.function.blocks[block].insts.last_mut().iter_mut().for_each(|inst| inst.guard = Some((guard, negated)));
                }
            }
        }
    }

    fn terminator(&mut self, block: BlockId, targets: &[usize], here: &mut Vec<VReg>) {
        let to = |n: usize| BlockId::new(targets[n]);
        self.function.blocks[block].terminator = match targets.len() {
            0 => [Terminator::Ret, Terminator::Exit, Terminator::Trap][self.rng.usize(0..3)].clone(),
            1 => Terminator::Goto(to(0)),
            2 => {
                let (pred, negated) = (self.reg(Int1, here), self.rng.bool());
                Terminator::Branch { pred, negated, then: to(0), otherwise: to(1) }
            }
            _ => {
                let from = self.reg(Int32, here);
                let index = self.define(block, here, Int32, "and.b32", vec![from.into(), Operand::Imm(3)]);
                Terminator::Table { index, targets: (0..4).map(to).collect() }
            }
        };
    }
}
