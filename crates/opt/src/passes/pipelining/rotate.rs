//! The loads of a stage go a round ahead.

use super::stage::{Load, Stage};
use crate::passes::copied::{Copied, in_value, phi_like};
use crate::passes::induction::{read_instead, readers};
use crate::passes::one_block::phi_values;
use crate::passes::predicate::combined;
use crate::passes::sink::place_at_end;
use oriole_ori::{Block, BuildError, Function, Guard, InstId, Operand, OperandKind, VReg};
use rustc_hash::{FxHashMap, FxHashSet};

/// Truth table of the first and the second input of PLOP3.
const BOTH: u32 = 0xc0;

/// Rebuild the loop.
pub(super) fn rotate(func: &mut Function, stage: &Stage) -> Result<(), BuildError> {
    let body = stage.body;
    let entrance = match func.succs(body.entrance) {
        [_] => body.entrance,
        _ => func.edit().split_edge(body.entrance, body.block)?,
    };
    let mut first = Copies::begin(func, stage, entrance)?;
    for load in &stage.loads {
        first.load(func, load)?;
    }
    place_at_end(func, entrance, &first.made);

    let mut second = Copies::begin(func, stage, body.block)?;
    let loaded = meet(func, stage, entrance, &first.copied)?;
    for (value, met) in &loaded {
        let readers = readers(func, *value);
        read_instead(func, &readers, *value, *met);
    }
    rebuild(func, stage, &mut second, &loaded)?;
    for (value, met) in &loaded {
        let next = Operand::reg(second.copied.value(*value));
        if let Some(phi) = func.definition(*met) {
            func.edit().update(phi, |phi| phi.operands.extend([next, Operand::block(body.block)]));
        }
    }
    Ok(())
}

/// MovPhis of what is loaded, with what they take from the copies ahead of the loop: each value with that of its MovPhi.
fn meet(func: &mut Function, stage: &Stage, entrance: Block, first: &Copied) -> Result<Vec<(VReg, VReg)>, BuildError> {
    let mut loaded = Vec::new();
    for load in &stage.loads {
        func.for_each_def(load.inst, |write| loaded.push(write.reg));
    }
    let mut met = Vec::with_capacity(loaded.len());
    for value in loaded {
        let input = Operand::reg(first.value(value));
        met.push((value, phi_like(func, stage.body.block, value, &[(input, entrance)])?));
    }
    Ok(met)
}

/// Put the loop's instructions together: behind the stage's place its copies for the next round.
fn rebuild(func: &mut Function, stage: &Stage, second: &mut Copies, loaded: &[(VReg, VReg)]) -> Result<(), BuildError> {
    let body = stage.body;
    let insts = body.insts(func).to_vec();
    let gone: FxHashSet<InstId> = stage.loads.iter().map(|load| load.inst).collect();
    let mut placed: FxHashSet<InstId> = FxHashSet::default();
    let mut list: Vec<InstId> = func.phis(body.block).to_vec();
    for (number, inst) in insts.iter().copied().enumerate() {
        if !gone.contains(&inst) && placed.insert(inst) {
            list.push(inst);
        }
        if number == stage.place {
            list.extend(stage.again.iter().copied().filter(|inst| placed.insert(*inst)));
            for load in &stage.loads {
                let copy = second.load(func, load)?;
                second.guard(func, copy, body.goes_on, loaded)?;
            }
            list.append(&mut second.made);
        }
    }
    func.edit().take_insts(body.block);
    func.edit().set_insts(body.block, list);
    gone.into_iter().for_each(|load| func.edit().remove(load));
    Ok(())
}

/// Copies of the stage for one round.
#[derive(Default)]
struct Copies {
    copied: Copied,
    done: FxHashSet<InstId>,
    /// By guard of a load: what holds where that holds and there is another round.
    guards: FxHashMap<(VReg, bool), VReg>,
    /// In order, in no block yet.
    made: Vec<InstId>,
}

impl Copies {
    /// Of the round that is entered from a block.
    fn begin(func: &mut Function, stage: &Stage, from: Block) -> Result<Copies, BuildError> {
        let mut copies = Copies::default();
        for (value, input) in phi_values(func, stage.body.block, from) {
            if stage.heads.contains(&value) {
                let (now, copy) = in_value(func, value, input)?;
                copies.made.extend(copy);
                copies.copied.set(value, now);
            }
        }
        Ok(copies)
    }

    /// Copy a load and what it needs.
    fn load(&mut self, func: &mut Function, load: &Load) -> Result<InstId, BuildError> {
        for &inst in &load.slice {
            if self.done.insert(inst) {
                self.copy(func, inst)?;
            }
        }
        self.copy(func, load.inst)
    }

    fn copy(&mut self, func: &mut Function, inst: InstId) -> Result<InstId, BuildError> {
        let made = self.copied.copy(func, inst)?;
        self.made.push(made);
        Ok(made)
    }

    /// Let the last copy, of a load, happen only where there is another round.
    fn guard(
        &mut self,
        func: &mut Function,
        load: InstId,
        goes_on: Guard,
        loaded: &[(VReg, VReg)],
    ) -> Result<(), BuildError> {
        let (guard, olds) = match func[load].guard() {
            Some(own) => (Guard { pred: self.both(func, [own, goes_on], load)?, negated: false }, Vec::new()),
            // Else what was loaded stays in its register.
            None => (goes_on, self.kept(func, load, loaded)),
        };
        func.edit().update(load, |inst| {
            inst.set_guard(Some(guard));
            inst.operands.extend(olds);
        });
        Ok(())
    }

    /// For each operand that a copy of a load writes, what the round before has loaded.
    fn kept(&self, func: &mut Function, load: InstId, loaded: &[(VReg, VReg)]) -> Vec<Operand> {
        let before = |value: VReg| {
            let of_copy = |(of, _): &&(VReg, VReg)| self.copied.value(*of) == value;
            loaded.iter().find(of_copy).map_or(value, |(_, met)| *met)
        };
        let written: Vec<Operand> = func[load].defs().map(|(_, operand)| operand).collect();
        let mut kept = Vec::with_capacity(written.len());
        for operand in written {
            kept.push(match operand.kind() {
                OperandKind::Tuple(_) => {
                    let values: Vec<VReg> = func.named(operand).into_iter().map(before).collect();
                    func.tuple(&values)
                }
                OperandKind::Reg(reg, _) => operand.with_reg(before(reg)),
                _ => Operand::NONE,
            });
        }
        kept
    }

    /// What holds where both guards do, computed ahead of the last copy, a load.
    fn both(&mut self, func: &mut Function, [own, goes_on]: [Guard; 2], load: InstId) -> Result<VReg, BuildError> {
        if let Some(both) = self.guards.get(&(own.pred, own.negated)) {
            return Ok(*both);
        }
        let both = func.new_vreg_like(goes_on.pred)?;
        let mut logic = combined(both, [own, goes_on], BOTH);
        logic.loc = func[load].loc;
        let logic = func.edit().add(logic);
        let last = self.made.len().saturating_sub(1);
        self.made.insert(last, logic);
        self.guards.insert((own.pred, own.negated), both);
        Ok(both)
    }
}
