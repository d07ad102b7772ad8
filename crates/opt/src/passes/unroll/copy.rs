//! Copies of a loop's body, and the edges between them.

use super::{Body, phi_values};
use crate::passes::induction::{read_instead, readers};
use oriole_ori::{Block, BuildError, Function, Guard, Inst, InstId, Operand, OperandKind, VReg};
use rustc_hash::FxHashMap;

/// Put copies of the body in front of it.
pub(super) fn unroll(func: &mut Function, body: &Body) -> Result<(), BuildError> {
    let block = body.block;
    let Some(entrance) = func
        .phis(block)
        .first()
        .and_then(|phi| func.phi_inputs(*phi).map(|(_, pred)| pred).find(|pred| *pred != block))
    else {
        return Ok(());
    };
    let read_outside = read_outside(func, block);
    let gate = func.edit().split_edge(entrance, block)?;
    let rounds = func.edit().new_block()?;
    let rest = func.edit().new_block()?;
    let exit = func.edit().split_edge(block, body.exit)?;

    let starts = phi_values(func, block, gate);
    let first =
        starts.iter().find(|(value, _)| *value == body.counter.value).map_or(Operand::undef(), |(_, first)| *first);
    let (limit, enough) = body.counter.gate(func, gate, first)?;
    let copied = Copies::make(func, body, (gate, rounds), &starts)?;
    let again = body.counter.again(func, rounds, copied.of(Operand::reg(body.counter.next)), limit)?;
    let goes_on = Guard { pred: copied.value(body.goes_on.pred), ..body.goes_on };
    for (from, guard, to, other) in
        [(gate, enough, rounds, block), (rounds, again, rounds, rest), (rest, goes_on, block, exit)]
    {
        branch(func, body.branch, from, guard, to);
        func.edit().set_succs(from, &[to, other]);
    }
    for phi in func.phis(block).to_vec() {
        let next = func.phi_inputs(phi).find(|(_, pred)| *pred == block).map_or(Operand::undef(), |(next, _)| next);
        let left = copied.of(next);
        func.edit().update(phi, |phi| phi.operands.extend([left, Operand::block(rest)]));
    }
    for (value, readers) in read_outside {
        let met = register_like(func, value)?;
        let mut phi = Inst::phi(Operand::reg(met));
        let last = copied.of(Operand::reg(value));
        phi.operands.extend([Operand::reg(value), Operand::block(block), last, Operand::block(rest)]);
        let phi = func.edit().add(phi);
        func.edit().place(exit, 0, &[phi]);
        read_instead(func, &readers, value, met);
    }
    Ok(())
}

/// What the block gives, with those who read it in other blocks.
fn read_outside(func: &Function, block: Block) -> Vec<(VReg, Vec<InstId>)> {
    let Some(lists) = func.def_use() else { return Vec::new() };
    let mut values = Vec::new();
    for &inst in func.block_insts(block) {
        func.for_each_def(inst, |write| values.push(write.reg));
    }
    let elsewhere = |value: VReg| {
        let mut readers = readers(func, value);
        readers.retain(|reader| lists.home(*reader) != Some(block));
        readers
    };
    values.into_iter().map(|value| (value, elsewhere(value))).filter(|(_, readers)| !readers.is_empty()).collect()
}

/// `@guard BRA to` at the end of a block.
fn branch(func: &mut Function, like: InstId, from: Block, guard: Guard, to: Block) {
    let mut inst = func[like].clone();
    inst.set_guard(Some(guard));
    inst.operands
        .iter_mut()
        .filter(|operand| operand.as_block().is_some())
        .for_each(|operand| *operand = Operand::block(to));
    func.edit().append(from, inst);
}

/// What stands for the body's values in the last copy.
struct Copies(FxHashMap<VReg, VReg>);

impl Copies {
    fn make(
        func: &mut Function,
        body: &Body,
        (gate, rounds): (Block, Block),
        starts: &[(VReg, Operand)],
    ) -> Result<Copies, BuildError> {
        let insts: Vec<InstId> = func.block_insts(body.block).to_vec();
        let (phis, insts) = insts.split_at(func.phis(body.block).len());
        let nexts = phi_values(func, body.block, body.block);
        let mut now = Copies(FxHashMap::default());
        let mut heads: Vec<InstId> = Vec::with_capacity(phis.len());
        for (value, first) in starts {
            let head = register_like(func, *value)?;
            let mut phi = Inst::phi(Operand::reg(head));
            phi.operands.extend([*first, Operand::block(gate)]);
            let phi = func.edit().add(phi);
            func.edit().place_last(rounds, phi);
            heads.push(phi);
            now.0.insert(*value, head);
        }
        for round in 0..body.copies {
            for &inst in insts.iter().filter(|inst| **inst != body.branch) {
                now.copy(func, inst, rounds)?;
            }
            if round + 1 < body.copies {
                let moved: Vec<(VReg, Operand)> = nexts.iter().map(|(value, next)| (*value, now.of(*next))).collect();
                for (value, next) in moved {
                    let next = in_value(func, rounds, value, next)?;
                    now.0.insert(value, next);
                }
            }
        }
        for (phi, (_, next)) in heads.into_iter().zip(&nexts) {
            let next = now.of(*next);
            func.edit().update(phi, |phi| phi.operands.extend([next, Operand::block(rounds)]));
        }
        Ok(now)
    }

    /// Append a copy of an instruction.
    fn copy(&mut self, func: &mut Function, inst: InstId, to: Block) -> Result<(), BuildError> {
        let mut written: Vec<VReg> = Vec::new();
        func.for_each_def(inst, |write| written.push(write.reg));
        let mut new: FxHashMap<VReg, VReg> = FxHashMap::default();
        for value in written {
            new.insert(value, register_like(func, value)?);
        }
        let mut copy = func[inst].clone();
        if let Some(guard) = copy.guard() {
            copy.set_guard(Some(Guard { pred: self.value(guard.pred), ..guard }));
        }
        for at in 0..copy.operands.len() {
            let is_def = copy.is_def(at);
            let rename = |value: VReg| if is_def { new[&value] } else { self.value(value) };
            let operand = copy.operands[at];
            copy.operands[at] = match operand.kind() {
                OperandKind::Tuple(_) => {
                    let values: Vec<VReg> = func.named(operand).into_iter().map(rename).collect();
                    operand.flags_onto(func.tuple(&values))
                }
                OperandKind::Reg(reg, _) => operand.with_reg(rename(reg)),
                OperandKind::ConstBindless { handle, .. } => operand.with_reg(rename(handle)),
                _ => operand,
            };
        }
        func.edit().append(to, copy);
        self.0.extend(new);
        Ok(())
    }

    fn value(&self, value: VReg) -> VReg {
        self.0.get(&value).copied().unwrap_or(value)
    }

    fn of(&self, operand: Operand) -> Operand {
        operand.as_reg().map_or(operand, |reg| operand.with_reg(self.value(reg)))
    }
}

/// What a MovPhi takes, as a value.
fn in_value(func: &mut Function, block: Block, like: VReg, input: Operand) -> Result<VReg, BuildError> {
    if let Some(value) = input.as_reg() {
        return Ok(value);
    }
    let value = register_like(func, like)?;
    let inst = match input.kind() {
        OperandKind::Undef => Inst::undef(Operand::reg(value)),
        _ => Inst::copy(func[like].file(), Operand::reg(value), input),
    };
    func.edit().append(block, inst);
    Ok(value)
}

/// A register for another value of the same variable.
fn register_like(func: &mut Function, value: VReg) -> Result<VReg, BuildError> {
    let (new, home) = (func.new_vreg_like(value)?, func[value].home);
    func.edit().update_reg(new, |data| data.home = home);
    Ok(new)
}
