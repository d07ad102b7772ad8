//! Random functions: statements of all shapes under guards, branches and loops, over few registers.

use crate::build::{Head, PARAMETERS, blank, head};
use crate::shapes::{Shape, shapes};
use fastrand::Rng;
use oriole_isa::{Cmp, Field, MemSize, Mods, Mul, Opcode, Role, ShiftDir, ShiftType, Sign};
use oriole_ori::{Block, BuildError, Function, FunctionBuilder, FunctionKind, Guard, Inst, Operand, RegType, VReg};

/// Values at which arithmetic changes its mind.
pub const EDGES: [u32; 12] =
    [0, 1, 2, 31, 32, 0x80, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 0xffff_fff0, 0x3f80_0000, 0x7fc0_0000];

/// A random function over a few registers that are written again and again.
struct Generator<'f> {
    rng: Rng,
    b: FunctionBuilder<'f>,
    words: Vec<VReg>,
    pairs: Vec<VReg>,
    preds: Vec<VReg>,
    /// Registers that were written once, in this block, and that nobody has read: words and predicates.
    fresh_words: Vec<VReg>,
    fresh_preds: Vec<VReg>,
    /// How many results of six go to a register of their own.
    fresh_of_six: u8,
    shapes: Vec<Shape>,
}

impl Generator<'_> {
    fn pick(&mut self, from: &[VReg]) -> VReg {
        from[self.rng.usize(..from.len())]
    }

    /// A register to read: often the only read of one.
    fn word(&mut self) -> Operand {
        match self.rng.u8(..10) {
            0..5 if !self.fresh_words.is_empty() => self.fresh_words.pop().map_or(Operand::rz(), Operand::reg),
            _ => self.old_word(),
        }
    }

    /// A register that is written many times.
    fn old_word(&mut self) -> Operand {
        let (words, pairs) = (self.words.clone(), self.pairs.clone());
        match self.rng.u8(..5) {
            0 => Operand::comp(self.pick(&pairs), self.rng.u8(..2)),
            _ => self.pick(&words).into(),
        }
    }

    fn bit(&mut self) -> Operand {
        let preds = self.preds.clone();
        let pred = match self.rng.u8(..8) {
            0 => Operand::pt(),
            1..5 if !self.fresh_preds.is_empty() => self.fresh_preds.pop().map_or(Operand::pt(), Operand::reg),
            _ => Operand::reg(self.pick(&preds)),
        };
        pred.with_not(self.rng.bool())
    }

    fn guard(&mut self) -> Option<Guard> {
        let preds = self.preds.clone();
        (self.rng.u8(..4) == 0).then(|| Guard { pred: self.pick(&preds), negated: self.rng.bool() })
    }

    /// One instruction of any shape that the target has.
    fn statement(&mut self) -> Result<(), BuildError> {
        match self.rng.u8(..14) {
            4 => return self.bit_test(),
            5 => return self.wide_address(),
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
            let constant = *role != Role::A && self.rng.u8(..3) == 0;
            let operand = if constant { self.constant_word(opcode)? } else { self.word() };
            let zero = *role != Role::B && self.rng.u8(..6) == 0;
            inst.set_role(*role, if zero { Operand::rz() } else { operand });
        }
        for role in takes {
            let bit = if self.rng.bool() { Operand::pt() } else { self.bit() };
            inst.set_role(*role, bit);
        }
        if let Some((role, values)) = &self.shapes[at].immediates {
            let value = values[self.rng.usize(..values.len())];
            inst.set_role(*role, Operand::imm(value));
        }
        if self.rng.u8(..6) < self.fresh_of_six {
            return self.write_fresh(inst, results);
        }
        self.set_results(&mut inst, results);
        self.finish(inst)
    }

    /// The instruction writes a register of its own, which a later one may read.
    fn write_fresh(&mut self, mut inst: Inst, results: &[(Role, RegType)]) -> Result<(), BuildError> {
        let (role, kind) = results[0];
        let reg = self.b.vreg(kind)?;
        inst.set_role(role, reg.into());
        self.b.push(inst)?;
        match kind {
            RegType::P => self.fresh_preds.push(reg),
            RegType::R => self.fresh_words.push(reg),
            _ => {}
        }
        Ok(())
    }

    /// A register with a constant of a kind that the opcode has rules for.
    fn constant_word(&mut self, opcode: Opcode) -> Result<Operand, BuildError> {
        let bits = match opcode {
            Opcode::PRMT => self.rng.u32(..0x1_0000),
            Opcode::SHF => self.rng.u32(..34),
            Opcode::LOP3 => (1 << self.rng.u32(..32)) | if self.rng.bool() { 0x18 } else { 0 },
            _ => EDGES[self.rng.usize(..EDGES.len())],
        };
        let reg = self.b.vreg(RegType::R)?;
        self.b.emit_roles(Opcode::MOV, Mods::new(), &[(Role::D, reg.into()), (Role::B, Operand::imm(bits))])?;
        Ok(reg.into())
    }

    /// `(x >> n & mask) == bound`, or `!=`: what tests of bits look like.
    fn bit_test(&mut self) -> Result<(), BuildError> {
        let mask = [1 << self.rng.u32(..32), 3 << self.rng.u32(..31), 0xff, 0x8000_0001][self.rng.usize(..4)];
        let mut value = self.word();
        if self.rng.bool() {
            let reg = self.b.vreg(RegType::R)?;
            let kind = [ShiftType::U32, ShiftType::S32][self.rng.usize(..2)];
            let mods: Mods = [Field::SHIFT_DIR.is(ShiftDir::R), Field::SHIFT_TYPE.is(kind), Field::HI.is(true)]
                .into_iter()
                .collect();
            let count = Operand::imm(self.rng.u32(..32));
            let operands = [(Role::D, reg.into()), (Role::A, Operand::rz()), (Role::B, count), (Role::C, value)];
            self.b.emit_roles(Opcode::SHF, mods, &operands)?;
            value = reg.into();
        }
        let masked = self.b.vreg(RegType::R)?;
        let operands = [
            (Role::D, masked.into()),
            (Role::A, value),
            (Role::B, Operand::imm(mask)),
            (Role::Lut, Operand::imm(0xc0)),
        ];
        self.b.emit_roles(Opcode::LOP3, Mods::new(), &operands)?;
        let compare = [Cmp::EQ, Cmp::NE][self.rng.usize(..2)];
        let bound = if self.rng.bool() { Operand::rz() } else { Operand::imm(mask) };
        let mut test = Inst::neutral(Opcode::ISETP, [Field::CMP.is(compare)].into_iter().collect());
        test.set_role(Role::A, masked.into());
        test.set_role(Role::B, bound);
        self.write_fresh(test, &[(Role::PD, RegType::P)])
    }

    /// A product of 64 bits and its sum with a pair, or a value extended and shifted: what addresses look like.
    fn wide_address(&mut self) -> Result<(), BuildError> {
        let (pair, x) = (self.b.vreg(RegType::Pair)?, self.old_word());
        let to = self.pick(&self.pairs.clone());
        if self.rng.bool() {
            let factor = Operand::imm(1 << self.rng.u32(..8));
            let mods: Mods = [Field::MUL.is(Mul::WIDE), Field::SIGN.is(Sign::VALUES[usize::from(self.rng.u8(..2))])]
                .into_iter()
                .collect();
            let operands = [(Role::D, pair.into()), (Role::A, x), (Role::B, factor), (Role::C, Operand::rz())];
            self.b.emit_roles(Opcode::IMAD, mods, &operands)?;
        } else {
            let high = self.b.vreg(RegType::R)?;
            let sign: Mods =
                [Field::SHIFT_DIR.is(ShiftDir::R), Field::SHIFT_TYPE.is(ShiftType::S32), Field::HI.is(true)]
                    .into_iter()
                    .collect();
            let operands =
                [(Role::D, high.into()), (Role::A, Operand::rz()), (Role::B, Operand::imm(31)), (Role::C, x)];
            self.b.emit_roles(Opcode::SHF, sign, &operands)?;
            let count = Operand::imm(self.rng.u32(1..32));
            for (k, kind) in [(0, ShiftType::U32), (1, ShiftType::U64)] {
                let mods: Mods = [Field::SHIFT_DIR.is(ShiftDir::L), Field::SHIFT_TYPE.is(kind), Field::HI.is(k == 1)]
                    .into_iter()
                    .collect();
                let operands = [
                    (Role::D, Operand::comp(pair, k)),
                    (Role::A, x),
                    (Role::B, count),
                    (Role::C, if k == 1 { high.into() } else { Operand::rz() }),
                ];
                self.b.emit_roles(Opcode::SHF, mods, &operands)?;
            }
        }
        let other = self.pick(&self.pairs.clone());
        self.sum_of_pairs(to, pair, other)
    }

    fn set_results(&mut self, inst: &mut Inst, results: &[(Role, RegType)]) {
        let mut written: Vec<Operand> = Vec::new();
        for (role, kind) in results {
            let to = match kind {
                RegType::Pair => self.pick(&self.pairs.clone()).into(),
                RegType::P => self.pick(&self.preds.clone()).into(),
                _ => self.old_word(),
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
        let to = self.old_word();
        inst.set_role(Role::D, to);
        self.finish(inst)
    }

    /// A load or a store of one or two words.
    fn memory(&mut self) -> Result<(), BuildError> {
        let stores = self.rng.bool();
        let opcode = if stores { Opcode::STS } else { Opcode::LDS };
        let wide = self.rng.bool();
        let size = if wide { MemSize::B64 } else { MemSize::B32 };
        let mut inst = Inst::neutral(opcode, [Field::MEM_SIZE.is(size)].into_iter().collect());
        let (word, pair) = (if stores { self.word() } else { self.old_word() }, self.pick(&self.pairs.clone()).into());
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
        self.sum_of_pairs(d, x, y)
    }

    /// `d = x + y`, where the carry may be read again later.
    fn sum_of_pairs(&mut self, d: VReg, x: VReg, y: VReg) -> Result<(), BuildError> {
        let carry = if self.rng.bool() { self.pick(&self.preds.clone()) } else { self.b.vreg(RegType::P)? };
        let mut low = Inst::neutral(Opcode::IADD3, Mods::new());
        let mut high = Inst::neutral(Opcode::IADD3, [Field::X.is(true)].into_iter().collect());
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
        // Two inputs and a constant more often than not: that is what comparisons take in.
        let inputs = if self.rng.u8(..3) == 0 { 3 } else { 2 };
        for role in [Role::PA, Role::PB, Role::PC].into_iter().take(inputs) {
            let bit = self.bit();
            inst.set_role(role, bit);
        }
        if inputs == 2 {
            inst.set_role(Role::PC, Operand::pt());
        }
        for role in [Role::Lut, Role::Lut2] {
            inst.set_role(role, Operand::imm(u32::from(self.rng.u8(..))));
        }
        if self.rng.bool() {
            return self.write_fresh(inst, &[(Role::PD, RegType::P)]);
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
        self.fresh_words.clear();
        self.fresh_preds.clear();
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

    /// An `if` whose two sides are the same statements in the same order, and another one somewhere among those of each.
    fn twins(&mut self) -> Result<(), BuildError> {
        const BOTH: usize = 5;
        let (yes, no, join) = (self.b.new_block()?, self.b.new_block()?, self.b.new_block()?);
        let guard = Guard { pred: self.pick(&self.preds.clone()), negated: self.rng.bool() };
        self.b.branch(guard, yes, no)?;
        let (mut own, both) = (self.rng.fork(), self.rng.fork());
        for block in [yes, no] {
            self.b.switch_to(block);
            self.fresh_words.clear();
            self.fresh_preds.clear();
            self.rng = both.clone();
            let other = own.usize(..BOTH);
            for k in 0..BOTH {
                if k == other {
                    std::mem::swap(&mut self.rng, &mut own);
                    self.statement()?;
                    std::mem::swap(&mut self.rng, &mut own);
                }
                self.statement()?;
            }
            self.b.jump(join)?;
        }
        self.rng = own;
        self.fresh_words.clear();
        self.fresh_preds.clear();
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
        let greater: Mods = [Field::CMP.is(Cmp::GT), Field::SIGN.is(Sign::S32)].into_iter().collect();
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

/// Words, and as many pairs and predicates, that the whole function goes on writing.
const FEW: u32 = 3;
const MANY: u32 = 8;

/// Function number `seed`: some hundred instructions with branches and loops.
///
/// # Errors
///
/// A limit of the IR.
pub fn random_function(seed: u64) -> Result<Function, BuildError> {
    function(seed, FEW, 2, |generator| generator.region(3))
}

/// Function number `seed`: the same with so many variables that a thread of the fewest registers cannot hold them.
///
/// # Errors
///
/// A limit of the IR.
pub fn crowded_function(seed: u64) -> Result<Function, BuildError> {
    function(seed, MANY, 2, |generator| generator.region(3))
}

/// Function number `seed` of a few instructions, most of which read what one before them gave.
///
/// # Errors
///
/// A limit of the IR.
pub fn short_function(seed: u64) -> Result<Function, BuildError> {
    function(seed, FEW, 5, |generator| {
        for _ in 0..generator.rng.usize(2..5) {
            generator.statement()?;
        }
        Ok(())
    })
}

/// Two branches whose sides have most statements in common.
///
/// # Errors
///
/// A limit of the IR.
pub fn twin_function(seed: u64) -> Result<Function, BuildError> {
    function(seed, FEW, 3, |generator| {
        for _ in 0..2 {
            generator.statements()?;
            generator.twins()?;
        }
        generator.statements()
    })
}

fn function(
    seed: u64,
    variables: u32,
    fresh_of_six: u8,
    body: impl FnOnce(&mut Generator<'_>) -> Result<(), BuildError>,
) -> Result<Function, BuildError> {
    let mut func = Function::new("random", FunctionKind::Entry);
    let mut at = head(&mut func)?;
    let (mut words, mut pairs, mut preds) = (at.inputs.to_vec(), Vec::new(), vec![at.pred]);
    for k in 0..variables {
        let (word, pair, pred) = first_values(&mut at, k)?;
        words.push(word);
        pairs.push(pair);
        preds.push(pred);
    }
    let mut generator = Generator {
        rng: Rng::with_seed(seed),
        b: at.b,
        words,
        pairs,
        preds,
        fresh_words: Vec::new(),
        fresh_preds: Vec::new(),
        fresh_of_six,
        shapes: shapes(),
    };
    body(&mut generator)?;
    let Generator { b, mut words, pairs, mut preds, fresh_words, fresh_preds, .. } = generator;
    let mut at = Head { b, inputs: [words[0], words[1]], pred: preds[0] };
    words.extend(fresh_words);
    preds.extend(fresh_preds);
    let kinds = [(words, RegType::R), (pairs, RegType::Pair), (preds, RegType::P)];
    let all = kinds.iter().flat_map(|(regs, kind)| regs.iter().map(move |reg| (*reg, *kind)));
    for (k, (reg, kind)) in all.enumerate() {
        at.store(reg, kind, 8 * k as i32)?;
    }
    at.b.exit()?;
    Ok(func)
}

/// A word, a pair and a predicate made of the inputs.
fn first_values(at: &mut Head<'_>, k: u32) -> Result<(VReg, VReg, VReg), BuildError> {
    let (word, pair, pred) = (at.b.vreg(RegType::R)?, at.b.vreg(RegType::Pair)?, at.b.vreg(RegType::P)?);
    let [x, y] = at.inputs;
    let lut = Operand::imm((0x96 + 17 * k) & 0xff);
    let operands = [(Role::D, word.into()), (Role::A, x.into()), (Role::B, y.into()), (Role::Lut, lut)];
    at.b.emit_roles(Opcode::LOP3, Mods::new(), &operands)?;
    let operands = [(Role::D, pair.into()), (Role::A, x.into()), (Role::B, word.into()), (Role::C, Operand::rz())];
    at.b.emit_roles(Opcode::IMAD, [Field::MUL.is(Mul::WIDE)].into_iter().collect(), &operands)?;
    let mods: Mods = [Field::CMP.is(Cmp::VALUES[1 + k as usize % 6])].into_iter().collect();
    at.b.emit_roles(Opcode::ISETP, mods, &[(Role::PD, pred.into()), (Role::A, word.into()), (Role::B, y.into())])?;
    Ok((word, pair, pred))
}
