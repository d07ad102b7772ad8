//! Small rewrites of an instruction by what makes its operands.
//!
//! | rule | |
//! |---|---|
//! | negated predicates | branches, guards and `selp` read the predicate itself, the other way round; what remains of `not` of a `setp` is the opposite comparison |
//! | booleans | a `setp.ne` of `selp 1, 0, %p` against 0 is `%p` |
//! | addresses | `[%rd1+4]` with `%rd1 = add %rd0, 8` is `[%rd0+12]` |
//! | sums of constants | `(x + 8) + 4` is `x + 12` |
//! | products | `mul.lo` with one reader, an `add` behind it in the block, is `mad.lo` |
//! | narrow stores | what only changes bits above those that a store writes is left out |
//! | extensions | two in a row are one; cutting off what an extension added is nothing |
//!
//! Rules look through registers that are written once; results that nobody reads then are left to
//! [`dead_code`](super::dead_code).

use cranelift_entity::SecondaryMap;
use oriole_ptx::ast::{self, Modifier, ScalarType};

use super::cfg::Cfg;
use super::context::Context;
use super::defs::{Defs, Place, count_uses};
use super::liveness::{Liveness, PhiUses};
use crate::machine::{Base, BlockId, Form, Forms, Function, Inst, Opcode, Operand, Reg, Terminator, VReg};

/// Runs the pass; true when something changed.
pub fn run(cx: &mut Context<'_>) -> bool {
    let cfg = Cfg::of_reachable(cx.function);
    let mut peephole = Peephole {
        live: Liveness::new(cx.function, &cfg, PhiUses::OnEdge),
        defs: Defs::new(cx.function),
        reads: count_uses(cx.function),
        function: &mut *cx.function,
        forms: &mut *cx.forms,
        changed: false,
    };
    for &block in cfg.rpo() {
        peephole.block(block);
    }
    peephole.changed
}

struct Peephole<'a> {
    function: &'a mut Function,
    forms: &'a mut Forms,
    live: Liveness,
    /// Rewriting keeps every result where it is, so that this stays right.
    defs: Defs,
    reads: SecondaryMap<VReg, u32>,
    changed: bool,
}

/// A rule: what the instruction becomes, or nothing.
type Rule<'a> = fn(&mut Peephole<'a>, &Inst, BlockId) -> Option<Inst>;

impl<'a> Peephole<'a> {
    /// The rules of each opcode.
    const RULES: [(ast::Opcode, Rule<'a>); 11] = [
        (ast::Opcode::Selp, Self::select_by_negated),
        (ast::Opcode::Not, Self::opposite_comparison),
        (ast::Opcode::Setp, Self::comparison_of_boolean),
        (ast::Opcode::Add, Self::sum_of_constants),
        (ast::Opcode::Add, Self::sum_of_product),
        (ast::Opcode::Cvt, Self::conversion_of_conversion),
        (ast::Opcode::St, Self::narrow_store),
        (ast::Opcode::St, Self::address),
        (ast::Opcode::Ld, Self::address),
        (ast::Opcode::Atom, Self::address),
        (ast::Opcode::Red, Self::address),
    ];

    fn block(&mut self, block: BlockId) {
        for at in 0..self.function.blocks[block].insts.len() {
            let mut inst = self.function.blocks[block].insts[at].clone();
            let mut changed = self.guard(&mut inst);
            if let Opcode::Form(_) = inst.opcode {
                changed |= self.apply_rules(&mut inst, block);
            }
            if changed {
                self.function.blocks[block].insts[at] = inst;
                self.changed = true;
            }
        }
        let mut terminator = self.function.blocks[block].terminator.clone();
        if let Terminator::Branch { pred, negated, .. } = &mut terminator
            && let Some(positive) = self.negated(*pred)
        {
            (*pred, *negated) = (positive, !*negated);
            self.function.blocks[block].terminator = terminator;
            self.changed = true;
        }
    }

    fn apply_rules(&mut self, inst: &mut Inst, block: BlockId) -> bool {
        let mut changed = false;
        for (opcode, rule) in Self::RULES {
            while self.form(inst).is_some_and(|form| form.opcode == opcode)
                && let Some(better) = rule(self, inst, block)
            {
                *inst = better;
                changed = true;
            }
        }
        changed
    }

    fn form(&self, inst: &Inst) -> Option<&Form> {
        match inst.opcode {
            Opcode::Form(form) => Some(&self.forms[form]),
            _ => None,
        }
    }

    /// The instruction that makes a value, unless it is guarded.
    fn maker(&self, reg: VReg) -> Option<(&Inst, Place)> {
        let place = self.defs.once(reg)?;
        Some((place.inst(self.function)?, place))
    }

    fn is_value(&self, reg: VReg) -> bool {
        self.defs.once(reg).is_some()
    }

    /// The predicate of which `reg` is the opposite.
    fn negated(&self, reg: VReg) -> Option<VReg> {
        let (inst, _) = self.maker(reg)?;
        let is_not = self.form(inst).is_some_and(|form| &*form.text == "not.pred");
        inst.uses().first()?.vreg().filter(|&source| is_not && self.is_value(source))
    }

    fn guard(&self, inst: &mut Inst) -> bool {
        let Some((guard, negated)) = &mut inst.guard else { return false };
        let Some(positive) = self.negated(*guard) else { return false };
        (*guard, *negated) = (positive, !*negated);
        true
    }

    /// `selp a, b, !p` is `selp b, a, p`.
    fn select_by_negated(&mut self, inst: &Inst, _: BlockId) -> Option<Inst> {
        let positive = self.negated(inst.operands.get(3)?.vreg()?)?;
        let mut better = inst.clone();
        better.operands.swap(1, 2);
        better.operands[3] = positive.into();
        Some(better)
    }

    /// `not` of a comparison that nothing else reads is the opposite comparison.
    fn opposite_comparison(&mut self, inst: &Inst, _: BlockId) -> Option<Inst> {
        let source = inst.uses().first()?.vreg()?;
        let (compare, _) = self.maker(source)?;
        let form = self.form(compare)?;
        let plain = compare.operands.len() == 3 && compare.operands[0].vreg() == Some(source);
        if form.opcode != ast::Opcode::Setp || !plain || self.reads[source] != 1 || !self.reads_values(compare) {
            return None;
        }
        let text = opposite(form)?;
        let operands = [inst.operands[0].clone(), compare.operands[1].clone(), compare.operands[2].clone()];
        let opcode = Opcode::Form(self.forms.intern(&text)?);
        Some(Inst { opcode, operands: operands.into_iter().collect(), ..inst.clone() })
    }

    /// `setp.ne x, 0` with `x = selp 1, 0, p` is `p`, `setp.eq` its opposite.
    fn comparison_of_boolean(&mut self, inst: &Inst, _: BlockId) -> Option<Inst> {
        let [Operand::Reg(_), Operand::Reg(Reg::Virtual(x)), Operand::Imm(0)] = inst.operands.as_slice() else {
            return None;
        };
        let form = self.form(inst)?;
        let [Modifier::Cmp(op), Modifier::Type(ty)] = form.modifiers.as_slice() else { return None };
        let (select, _) = self.maker(*x)?;
        let [_, Operand::Imm(yes), Operand::Imm(no), Operand::Reg(Reg::Virtual(pred))] = select.operands.as_slice()
        else {
            return None;
        };
        let pred = *pred;
        let is_select = self.form(select)?.opcode == ast::Opcode::Selp;
        if !is_select || ty.is_float() || !self.is_value(pred) {
            return None;
        }
        // Which of both values differs from 0 decides.
        let holds = match (op, *yes != 0, *no != 0) {
            (ast::CmpOp::Ne, true, false) | (ast::CmpOp::Eq, false, true) => true,
            (ast::CmpOp::Ne, false, true) | (ast::CmpOp::Eq, true, false) => false,
            _ => return None,
        };
        let opcode = if holds { Opcode::Copy } else { Opcode::Form(self.forms.intern("not.pred")?) };
        Some(Inst { opcode, operands: [inst.operands[0].clone(), pred.into()].into_iter().collect(), ..inst.clone() })
    }

    /// What a value is plus a constant: `add %rd1, %rd0, 8`.
    fn constant_sum(&self, reg: VReg) -> Option<(VReg, i64)> {
        let (inst, _) = self.maker(reg)?;
        let form = self.form(inst)?;
        let is_add = form.opcode == ast::Opcode::Add
            && matches!(form.modifiers.as_slice(), [Modifier::Type(ty)] if ty.is_integer());
        match inst.operands.as_slice() {
            [_, Operand::Reg(Reg::Virtual(base)), Operand::Imm(offset)] if is_add && self.is_value(*base) => {
                Some((*base, *offset))
            }
            _ => None,
        }
    }

    /// `(x + a) + b` is `x + (a + b)`.
    fn sum_of_constants(&mut self, inst: &Inst, block: BlockId) -> Option<Inst> {
        let [_, Operand::Reg(Reg::Virtual(reg)), Operand::Imm(second)] = inst.operands.as_slice() else { return None };
        let is_plain = matches!(self.form(inst)?.modifiers.as_slice(), [Modifier::Type(ty)] if ty.is_integer());
        let (base, first) = self.constant_sum(*reg)?;
        if !is_plain || !self.is_near(base, *reg, block) {
            return None;
        }
        let width = self.function.regs[base].info().width;
        let sum = first.wrapping_add(*second);
        // As a number of the width of the registers.
        let sum = sum << (64 - width.min(64)) >> (64 - width.min(64));
        let mut better = inst.clone();
        better.operands[1] = base.into();
        better.operands[2] = Operand::Imm(sum);
        Some(better)
    }

    /// True when reading `base` in the place of `sum` in `block` keeps nothing alive for longer: it is live there
    /// anyway, or `sum` is made in the same block.
    fn is_near(&self, base: VReg, sum: VReg, block: BlockId) -> bool {
        self.defs.once(sum).is_some_and(|place| place.block == block)
            || self.live.live_in(block).binary_search(&base).is_ok()
    }

    /// `[r + b]` with `r = x + a` is `[x + (a + b)]`.
    fn address(&mut self, inst: &Inst, block: BlockId) -> Option<Inst> {
        let at = inst.operands.iter().position(|operand| matches!(operand, Operand::Address(_)))?;
        let Operand::Address(address) = &inst.operands[at] else { return None };
        let Base::Reg(Reg::Virtual(reg)) = address.base else { return None };
        let (base, offset) = self.constant_sum(reg)?;
        // A sum of 32 bits may wrap round.
        let whole = self.function.regs[reg].info().width == 64;
        let offset = i64::from(i32::try_from(address.offset.checked_add(offset)?).ok()?);
        if !whole || !address.rest.is_empty() || !self.is_near(base, reg, block) {
            return None;
        }
        let mut better = inst.clone();
        better.operands[at] = Operand::address(Base::Reg(base.into()), offset);
        Some(better)
    }

    fn reads_values(&self, inst: &Inst) -> bool {
        let mut all = true;
        inst.for_each_use(|reg| all &= self.is_value(reg));
        all
    }

    /// `add x, c` with `x = mul.lo a, b` of the same block, read here only, is `mad.lo a, b, c`.
    fn sum_of_product(&mut self, inst: &Inst, block: BlockId) -> Option<Inst> {
        let [Modifier::Type(ty)] = self.form(inst)?.modifiers.as_slice() else { return None };
        let ty = *ty;
        if !matches!(ty, ScalarType::S32 | ScalarType::U32 | ScalarType::S64 | ScalarType::U64) {
            return None;
        }
        for (product, other) in [(1, 2), (2, 1)] {
            let Some(reg) = inst.operands[product].vreg() else { continue };
            let Some((multiply, place)) = self.maker(reg) else { continue };
            let is_product = self.form(multiply).is_some_and(|form| {
                let low = matches!(form.modifiers.as_slice(), [Modifier::Word(ast::Word::Lo), Modifier::Type(t)] if t.bits() == ty.bits());
                form.opcode == ast::Opcode::Mul && low
            });
            if is_product && self.reads[reg] == 1 && place.block == block && self.reads_values(multiply) {
                let operands = [&inst.operands[0], &multiply.operands[1], &multiply.operands[2], &inst.operands[other]];
                let operands = operands.into_iter().cloned().collect();
                let opcode = Opcode::Form(self.forms.intern(&format!("mad.lo.{}", ty.as_str()))?);
                return Some(Inst { opcode, operands, ..inst.clone() });
            }
        }
        None
    }

    /// The types of a conversion between integers that keeps the low bits: to and from.
    fn integer_conversion(&self, inst: &Inst) -> Option<(ScalarType, ScalarType)> {
        let form = self.form(inst)?;
        match form.modifiers.as_slice() {
            [Modifier::Type(to), Modifier::Type(from)]
                if form.opcode == ast::Opcode::Cvt && to.is_integer() && from.is_integer() =>
            {
                Some((*to, *from))
            }
            _ => None,
        }
    }

    /// Cutting off what an extension added gives what it extended; two extensions are one.
    fn conversion_of_conversion(&mut self, inst: &Inst, _: BlockId) -> Option<Inst> {
        let [Operand::Reg(Reg::Virtual(result)), Operand::Reg(Reg::Virtual(middle))] = inst.operands.as_slice() else {
            return None;
        };
        let (to, from) = self.integer_conversion(inst)?;
        let (first, _) = self.maker(*middle)?;
        let (first_to, first_from) = self.integer_conversion(first)?;
        let source = first.operands.get(1)?.vreg().filter(|&source| self.is_value(source))?;
        let width = |reg: VReg| self.function.regs[reg].info().width;
        let whole = to.bits() == width(*result) && first_to.bits() == width(*middle);
        let opcode = if whole && to.bits() <= from.bits().min(first_from.bits()).min(first_to.bits()) {
            match self.function.regs[source] {
                class if class == self.function.regs[*result] => Opcode::Copy,
                class if class.info().width > to.bits() => {
                    let text = format!("cvt.u{}.u{}", to.bits(), class.info().width);
                    Opcode::Form(self.forms.intern(&text)?)
                }
                _ => return None,
            }
        } else if whole && from.bits() == first_to.bits() && from.bits() < to.bits() && first_from.bits() < from.bits()
        {
            let letter = match (first_from.is_signed(), from.is_signed()) {
                (false, _) => 'u',
                (true, true) => 's',
                (true, false) => return None,
            };
            Opcode::Form(self.forms.intern(&format!("cvt.{letter}{}.{}", to.bits(), first_from.as_str()))?)
        } else {
            return None;
        };
        let operands = [inst.operands[0].clone(), source.into()].into_iter().collect();
        Some(Inst { opcode, operands, ..inst.clone() })
    }

    /// A store of 8 or 16 bits reads no more: masks and conversions that keep those are not needed. PTX
    /// lets the register be wider than what is stored.
    fn narrow_store(&mut self, inst: &Inst, _: BlockId) -> Option<Inst> {
        let [Operand::Address(_), Operand::Reg(Reg::Virtual(value))] = inst.operands.as_slice() else { return None };
        let Some(Modifier::Type(ty)) = self.form(inst)?.modifiers.last() else { return None };
        let bits = ty.bits();
        if bits > 16 || ty.is_float() {
            return None;
        }
        let (maker, _) = self.maker(*value)?;
        let kept = match maker.operands.as_slice() {
            [_, source, Operand::Imm(mask)] if self.form(maker)?.opcode == ast::Opcode::And => {
                let all = (1i64 << bits) - 1;
                source.vreg().filter(|_| mask & all == all)?
            }
            [_, source] => {
                let (to, from) = self.integer_conversion(maker)?;
                source.vreg().filter(|_| to.bits() >= bits && from.bits() >= bits)?
            }
            _ => return None,
        };
        let mut better = inst.clone();
        better.operands[1] = kept.into();
        self.is_value(kept).then_some(better)
    }
}

/// The form of the comparison that is true where this one is false. For floating-point numbers one of
/// both is true when a number is none.
fn opposite(form: &Form) -> Option<String> {
    const INTEGERS: [(&str, &str); 5] = [("eq", "ne"), ("lt", "ge"), ("gt", "le"), ("lo", "hs"), ("hi", "ls")];
    const NUMBERS: [(&str, &str); 7] =
        [("eq", "neu"), ("ne", "equ"), ("lt", "geu"), ("le", "gtu"), ("gt", "leu"), ("ge", "ltu"), ("num", "nan")];
    let Some(Modifier::Type(ty)) = form.modifiers.last() else { return None };
    let table: &[(&str, &str)] = if ty.is_float() { &NUMBERS } else { &INTEGERS };
    let mut words = form.text.split('.');
    let (name, op) = (words.next()?, words.next()?);
    let other = table.iter().find_map(|&(a, b)| if a == op { Some(b) } else { (b == op).then_some(a) })?;
    Some(std::iter::once(name).chain([other]).chain(words).collect::<Vec<_>>().join("."))
}
