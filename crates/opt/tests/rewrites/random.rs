//! Random functions: statements of all shapes under guards, branches and loops, over few registers.

use crate::build::{Head, blank, head};
use crate::shapes::{Shape, shapes};
use crate::{EDGES, PARAMETERS};
use fastrand::Rng;
use oriole_isa::{Field, Mods, Opcode, Role, cmp, mem_size, mul, sign};
use oriole_ori::{Block, BuildError, Function, FunctionBuilder, FunctionKind, Guard, Inst, Operand, RegType, VReg};

/// A random function over a few registers that are written again and again.
struct Generator<'f> {
    rng: Rng,
    b: FunctionBuilder<'f>,
    words: Vec<VReg>,
    pairs: Vec<VReg>,
    preds: Vec<VReg>,
    shapes: Vec<Shape>,
}

impl Generator<'_> {
    fn pick(&mut self, from: &[VReg]) -> VReg {
        from[self.rng.usize(..from.len())]
    }

    fn word(&mut self) -> Operand {
        let words = self.words.clone();
        let pairs = self.pairs.clone();
        match self.rng.u8(..10) {
            0 | 1 => Operand::comp(self.pick(&pairs), self.rng.u8(..2)),
            _ => self.pick(&words).into(),
        }
    }

    fn bit(&mut self) -> Operand {
        let preds = self.preds.clone();
        match self.rng.u8(..4) {
            0 => Operand::pt().with_not(self.rng.bool()),
            _ => Operand::reg(self.pick(&preds)).with_not(self.rng.bool()),
        }
    }

    fn guard(&mut self) -> Option<Guard> {
        let preds = self.preds.clone();
        (self.rng.u8(..4) == 0).then(|| Guard { pred: self.pick(&preds), negated: self.rng.bool() })
    }

    /// One instruction of any shape that the target has.
    fn statement(&mut self) -> Result<(), BuildError> {
        match self.rng.u8(..12) {
            0 => return self.constant(),
            1 => return self.memory(),
            2 => return self.wide_sum(),
            3 => return self.predicate_logic(),
            _ => {}
        }
        let at = self.rng.usize(..self.shapes.len());
        let (opcode, sources, takes, results) = {
            let shape = &self.shapes[at];
            (shape.opcode, shape.sources, shape.takes, shape.results)
        };
        let count = self.shapes[at].mods.len();
        let mut inst = blank(opcode, self.shapes[at].mods[self.rng.usize(..count)].clone());
        for role in sources {
            let operand = self.word();
            let zero = *role != Role::B && self.rng.u8(..6) == 0;
            inst.set_role(*role, if zero { Operand::rz() } else { operand });
        }
        for role in takes {
            let bit = self.bit();
            inst.set_role(*role, bit);
        }
        if let Some((role, values)) = &self.shapes[at].immediates {
            let value = values[self.rng.usize(..values.len())];
            inst.set_role(*role, Operand::imm(value));
        }
        self.set_results(&mut inst, results);
        self.finish(inst)
    }

    fn set_results(&mut self, inst: &mut Inst, results: &[(Role, RegType)]) {
        let mut written: Vec<Operand> = Vec::new();
        for (role, kind) in results {
            let to = match kind {
                RegType::Pair => self.pick(&self.pairs.clone()).into(),
                RegType::P => self.pick(&self.preds.clone()).into(),
                _ => self.word(),
            };
            let first = *role == results[0].0;
            if (first || self.rng.u8(..3) == 0) && !written.contains(&to) {
                inst.set_role(*role, to);
                written.push(to);
            }
        }
    }

    fn finish(&mut self, inst: Inst) -> Result<(), BuildError> {
        let guard = self.guard();
        self.b.push(inst.guarded(guard)).map(|_| ())
    }

    fn constant(&mut self) -> Result<(), BuildError> {
        let mut inst = Inst::neutral(Opcode::MOV, Mods::new());
        let value = match self.rng.u8(..3) {
            0 => self.word(),
            1 => Operand::cbank(0, PARAMETERS + 4 * self.rng.u32(..4)),
            _ => Operand::imm(EDGES[self.rng.usize(..EDGES.len())]),
        };
        inst.set_role(Role::B, value);
        let to = self.word();
        inst.set_role(Role::D, to);
        self.finish(inst)
    }

    /// A load or a store of one or two words.
    fn memory(&mut self) -> Result<(), BuildError> {
        let stores = self.rng.bool();
        let opcode = if stores { Opcode::STS } else { Opcode::LDS };
        let wide = self.rng.bool();
        let size = if wide { mem_size::B64 } else { mem_size::B32 };
        let mut inst = Inst::neutral(opcode, [(Field::MemSize, size)].into_iter().collect());
        let (word, pair) = (self.word(), self.pick(&self.pairs.clone()).into());
        inst.set_role(if stores { Role::Data } else { Role::D }, if wide { pair } else { word });
        if self.rng.bool() {
            let base = self.word();
            inst.set_role(Role::Base, base);
        }
        inst.set_role(Role::Offset, Operand::imm_signed(0x200 + 4 * self.rng.i32(-4..4)));
        self.finish(inst)
    }

    /// A sum of two pairs in two instructions, perhaps with an instruction between.
    fn wide_sum(&mut self) -> Result<(), BuildError> {
        let pairs = self.pairs.clone();
        let (d, x, y) = (self.pick(&pairs), self.pick(&pairs), self.pick(&pairs));
        let carry = self.pick(&self.preds.clone());
        let mut low = Inst::neutral(Opcode::IADD3, Mods::new());
        let mut high = Inst::neutral(Opcode::IADD3, [(Field::X, 1)].into_iter().collect());
        for (inst, k) in [(&mut low, 0), (&mut high, 1)] {
            inst.set_role(Role::D, Operand::comp(d, k));
            inst.set_role(Role::A, Operand::comp(x, k));
            inst.set_role(Role::B, Operand::comp(y, k));
        }
        low.set_role(Role::PD, carry.into());
        high.set_role(Role::PA, carry.into());
        self.b.push(low)?;
        if self.rng.u8(..4) == 0 {
            self.constant()?;
        }
        self.b.push(high).map(|_| ())
    }

    fn predicate_logic(&mut self) -> Result<(), BuildError> {
        let mut inst = Inst::neutral(Opcode::PLOP3, Mods::new());
        for role in [Role::PA, Role::PB, Role::PC] {
            let bit = self.bit();
            inst.set_role(role, bit);
        }
        for role in [Role::Lut, Role::Lut2] {
            inst.set_role(role, Operand::imm(u32::from(self.rng.u8(..))));
        }
        let preds = self.preds.clone();
        let (first, second) = (self.pick(&preds), self.pick(&preds));
        inst.set_role(Role::PD, first.into());
        if first != second && self.rng.bool() {
            inst.set_role(Role::PD2, second.into());
        }
        self.finish(inst)
    }

    fn statements(&mut self) -> Result<(), BuildError> {
        for _ in 0..self.rng.usize(1..7) {
            self.statement()?;
        }
        Ok(())
    }

    /// Straight code, then an `if` with or without `else`, or a loop of some rounds with a way to its next round.
    fn region(&mut self, depth: usize) -> Result<(), BuildError> {
        self.statements()?;
        if depth == 0 {
            return Ok(());
        }
        match self.rng.u8(..4) {
            0 => self.choice(depth, false)?,
            1 => self.choice(depth, true)?,
            2 => self.rounds(depth)?,
            _ => {}
        }
        self.region(depth - 1)
    }

    fn choice(&mut self, depth: usize, two_sided: bool) -> Result<(), BuildError> {
        let (yes, no, join) = (self.b.new_block()?, self.b.new_block()?, self.b.new_block()?);
        let guard = Guard { pred: self.pick(&self.preds.clone()), negated: self.rng.bool() };
        self.b.branch(guard, yes, no)?;
        for (block, full) in [(yes, true), (no, two_sided)] {
            self.b.switch_to(block);
            if full && self.rng.bool() {
                self.region(depth - 1)?;
            } else if full {
                self.statements()?;
            }
            self.b.jump(join)?;
        }
        self.b.switch_to(join);
        Ok(())
    }

    fn rounds(&mut self, depth: usize) -> Result<(), BuildError> {
        let (counter, more) = (self.b.vreg(RegType::R)?, self.b.vreg(RegType::P)?);
        let count = Operand::imm(self.rng.u32(1..5));
        self.b.emit_roles(Opcode::MOV, Mods::new(), &[(Role::D, counter.into()), (Role::B, count)])?;
        let (body, rest, next, behind) =
            (self.b.new_block()?, self.b.new_block()?, self.b.new_block()?, self.b.new_block()?);
        self.b.jump(body)?;
        self.b.switch_to(body);
        self.statements()?;
        let guard = Guard { pred: self.pick(&self.preds.clone()), negated: self.rng.bool() };
        self.branch_or_jump(guard, next, rest)?;
        self.b.switch_to(rest);
        self.region(depth - 1)?;
        self.b.jump(next)?;
        self.b.switch_to(next);
        let operands = [(Role::D, counter.into()), (Role::A, counter.into()), (Role::B, Operand::imm(u32::MAX))];
        self.b.emit_roles(Opcode::IADD3, Mods::new(), &operands)?;
        let greater: Mods = [(Field::Cmp, cmp::GT), (Field::Sign, sign::S32)].into_iter().collect();
        let operands = [(Role::PD, more.into()), (Role::A, counter.into()), (Role::B, Operand::rz())];
        self.b.emit_roles(Opcode::ISETP, greater, &operands)?;
        self.b.branch(Guard { pred: more, negated: false }, body, behind)?;
        self.b.switch_to(behind);
        Ok(())
    }

    /// A `continue`, or none.
    fn branch_or_jump(&mut self, guard: Guard, taken: Block, otherwise: Block) -> Result<(), BuildError> {
        if self.rng.bool() {
            return self.b.branch(guard, taken, otherwise).map(|_| ());
        }
        self.b.jump(otherwise)
    }
}

/// Function number `seed`.
pub(crate) fn random_function(seed: u64) -> Result<Function, BuildError> {
    let mut func = Function::new("random", FunctionKind::Entry);
    let mut at = head(&mut func)?;
    let (mut words, mut pairs, mut preds) = (at.inputs.to_vec(), Vec::new(), vec![at.pred]);
    for k in 0..3 {
        let (word, pair, pred) = (at.b.vreg(RegType::R)?, at.b.vreg(RegType::Pair)?, at.b.vreg(RegType::P)?);
        let [x, y] = at.inputs;
        let lut = Operand::imm(0x96 + 17 * k);
        let sources = [(Role::A, x.into()), (Role::B, y.into()), (Role::Lut, lut)];
        at.b.emit_roles(Opcode::LOP3, Mods::new(), &[&[(Role::D, word.into())][..], &sources].concat())?;
        at.b.emit_roles(
            Opcode::IMAD,
            [(Field::Mul, mul::WIDE)].into_iter().collect(),
            &[(Role::D, pair.into()), (Role::A, x.into()), (Role::B, word.into()), (Role::C, Operand::rz())],
        )?;
        let mods: Mods = [(Field::Cmp, cmp::LT + k as u8)].into_iter().collect();
        at.b.emit_roles(Opcode::ISETP, mods, &[(Role::PD, pred.into()), (Role::A, word.into()), (Role::B, y.into())])?;
        words.push(word);
        pairs.push(pair);
        preds.push(pred);
    }
    let b = at.b;
    let mut generator = Generator { rng: Rng::with_seed(seed), b, words, pairs, preds, shapes: shapes() };
    generator.region(3)?;
    let Generator { b, words, pairs, preds, .. } = generator;
    let mut at = Head { b, inputs: [words[0], words[1]], pred: preds[0] };
    let kinds = [(words, RegType::R), (pairs, RegType::Pair), (preds, RegType::P)];
    let all = kinds.iter().flat_map(|(regs, kind)| regs.iter().map(move |reg| (*reg, *kind)));
    for (k, (reg, kind)) in all.enumerate() {
        at.store(reg, kind, 8 * k as i32)?;
    }
    at.b.exit()?;
    Ok(func)
}
