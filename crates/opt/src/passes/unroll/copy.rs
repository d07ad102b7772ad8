//! Copies of a loop's body, and the edges between them.

use super::{Body, Rounds};
use crate::passes::copied::{Copied, in_value, phi_like, register_like};
use crate::passes::induction::{read_instead, readers};
use crate::passes::one_block::phi_values;
use oriole_ori::{Block, BuildError, Function, Guard, Inst, InstId, Operand, VReg};

/// Put copies of the body in front of it.
pub(super) fn unroll(func: &mut Function, body: &Body) -> Result<(), BuildError> {
    let block = body.this.block;
    let read_outside = read_outside(func, block);
    let gate = func.edit().split_edge(body.this.entrance, block)?;
    let left = body.once.is_some().then(|| func.edit().split_edge(gate, block)).transpose()?;
    let rounds = func.edit().new_block_after(gate)?;
    let rest = func.edit().new_block_after(rounds)?;
    let exit = func.edit().split_edge(block, body.this.exit)?;

    let starts = phi_values(func, block, left.unwrap_or(gate));
    let (limit, enough) = body.rounds.counter.gate(func, gate, first(&starts, &body.rounds))?;
    let copied = Copies::make(func, body, (gate, rounds), body.rounds.copies, &starts)?;
    copied.come_round(func, body, rounds);
    let counted = copied.0.of(Operand::reg(body.rounds.counter.next));
    let again = body.rounds.counter.again(func, rounds, counted, limit)?;
    let goes_on = Guard { pred: copied.0.value(body.this.goes_on.pred), ..body.this.goes_on };
    let behind = left.unwrap_or(block);
    for (from, guard, to, other) in
        [(gate, enough, rounds, behind), (rounds, again, rounds, rest), (rest, goes_on, behind, exit)]
    {
        branch(func, body.this.branch, from, guard, to);
        func.edit().set_succs(from, &[to, other]);
    }
    let mut ends = vec![(rest, copied)];
    match (left, &body.once) {
        (Some(left), Some(once)) => {
            let starts = meet(func, body, left, (gate, &starts), (rest, &ends[0].1))?;
            ends.push(once_more(func, body, once, left, &starts, exit)?);
        }
        _ => ends[0].1.go_on(func, body, rest),
    }
    for (value, readers) in read_outside {
        let met = register_like(func, value)?;
        let mut phi = Inst::phi(Operand::reg(met));
        phi.operands.extend([Operand::reg(value), Operand::block(block)]);
        for (end, copied) in &ends {
            phi.operands.extend([copied.0.of(Operand::reg(value)), Operand::block(*end)]);
        }
        let phi = func.edit().add(phi);
        func.edit().place(exit, 0, &[phi]);
        read_instead(func, &readers, value, met);
    }
    Ok(())
}

/// What the counter is when the loop begins.
fn first(starts: &[(VReg, Operand)], rounds: &Rounds) -> Operand {
    let of_counter = starts.iter().find(|(value, _)| *value == rounds.counter.value);
    of_counter.map_or(Operand::undef(), |(_, first)| *first)
}

/// At the head of `left`, MovPhis of what the body's values are there: what they start with at the gate, or what the copies leave. The
/// body, which `left` goes to, takes it from there.
fn meet(
    func: &mut Function,
    body: &Body,
    left: Block,
    (gate, starts): (Block, &[(VReg, Operand)]),
    (rest, copied): (Block, &Copies),
) -> Result<Vec<(VReg, Operand)>, BuildError> {
    let nexts = phi_values(func, body.this.block, body.this.block);
    let mut met = Vec::with_capacity(starts.len());
    for ((value, first), (_, next)) in starts.iter().zip(nexts) {
        let reg = phi_like(func, left, *value, &[(*first, gate), (copied.0.of(next), rest)])?;
        met.push((*value, Operand::reg(reg)));
    }
    for phi in func.phis(body.this.block).to_vec() {
        let Some(value) = func[phi].operands[0].as_reg() else { continue };
        let Some((_, now)) = met.iter().find(|(of, _)| *of == value) else { continue };
        let at = func.phi_inputs(phi).position(|(_, pred)| pred == left);
        func.edit().update(phi, |phi| at.into_iter().for_each(|at| phi.operands[1 + 2 * at] = *now));
    }
    Ok(met)
}

/// Behind `left`, where enough rounds are left for them, some copies that are executed once: the block that they are in, which goes
/// on to the body or to the exit.
fn once_more(
    func: &mut Function,
    body: &Body,
    once: &Rounds,
    left: Block,
    starts: &[(VReg, Operand)],
    exit: Block,
) -> Result<(Block, Copies), BuildError> {
    let block = func.edit().new_block_after(left)?;
    let (_, enough) = once.counter.gate(func, left, first(starts, once))?;
    branch(func, body.this.branch, left, enough, block);
    func.edit().set_succs(left, &[block, body.this.block]);
    let copied = Copies::make(func, body, (left, block), once.copies, starts)?;
    let goes_on = Guard { pred: copied.0.value(body.this.goes_on.pred), ..body.this.goes_on };
    branch(func, body.this.branch, block, goes_on, body.this.block);
    func.edit().set_succs(block, &[body.this.block, exit]);
    copied.go_on(func, body, block);
    Ok((block, copied))
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

/// The copies of a body, by what stands for its values in the last one.
struct Copies(Copied);

impl Copies {
    fn make(
        func: &mut Function,
        body: &Body,
        (gate, to): (Block, Block),
        copies: usize,
        starts: &[(VReg, Operand)],
    ) -> Result<Copies, BuildError> {
        let insts = body.this.insts(func).to_vec();
        let nexts = phi_values(func, body.this.block, body.this.block);
        let mut now = Copied::default();
        for (value, first) in starts {
            now.set(*value, phi_like(func, to, *value, &[(*first, gate)])?);
        }
        for round in 0..copies {
            for &inst in insts.iter().filter(|inst| **inst != body.this.branch) {
                let copy = now.copy(func, inst)?;
                func.edit().place_last(to, copy);
            }
            if round + 1 < copies {
                let moved: Vec<(VReg, Operand)> = nexts.iter().map(|(value, next)| (*value, now.of(*next))).collect();
                for (value, next) in moved {
                    let (next, copy) = in_value(func, value, next)?;
                    copy.into_iter().for_each(|copy| func.edit().place_last(to, copy));
                    now.set(value, next);
                }
            }
        }
        Ok(Copies(now))
    }

    /// The MovPhis of the block of the copies take what they leave when it comes round.
    fn come_round(&self, func: &mut Function, body: &Body, rounds: Block) {
        let nexts = phi_values(func, body.this.block, body.this.block);
        for (phi, (_, next)) in func.phis(rounds).to_vec().into_iter().zip(nexts) {
            let next = self.0.of(next);
            func.edit().update(phi, |phi| phi.operands.extend([next, Operand::block(rounds)]));
        }
    }

    /// The body's MovPhis take from `block` what the copies leave.
    fn go_on(&self, func: &mut Function, body: &Body, block: Block) {
        for phi in func.phis(body.this.block).to_vec() {
            let of_body = func.phi_inputs(phi).find(|(_, pred)| *pred == body.this.block);
            let left = self.0.of(of_body.map_or(Operand::undef(), |(next, _)| next));
            func.edit().update(phi, |phi| phi.operands.extend([left, Operand::block(block)]));
        }
    }
}
