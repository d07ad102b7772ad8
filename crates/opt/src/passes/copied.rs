//! Copies of code on SSA form: each value has one that stands for it there.

use oriole_ori::{Block, BuildError, Function, Guard, Inst, InstId, Operand, OperandKind, VReg};
use rustc_hash::FxHashMap;

/// What stands for values in the last copy of their code. Values without an entry stand for themselves.
#[derive(Default)]
pub(super) struct Copied(FxHashMap<VReg, VReg>);

impl Copied {
    /// From now on `new` stands for `value`.
    pub(super) fn set(&mut self, value: VReg, new: VReg) {
        self.0.insert(value, new);
    }

    /// A copy of an instruction, in no block yet, which reads what stands for its values. New registers stand for what it writes.
    pub(super) fn copy(&mut self, func: &mut Function, inst: InstId) -> Result<InstId, BuildError> {
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
        self.0.extend(new);
        Ok(func.edit().add(copy))
    }

    /// What stands for a value.
    pub(super) fn value(&self, value: VReg) -> VReg {
        self.0.get(&value).copied().unwrap_or(value)
    }

    /// What stands for an operand of one register; others stand for themselves.
    pub(super) fn of(&self, operand: Operand) -> Operand {
        operand.as_reg().map_or(operand, |reg| operand.with_reg(self.value(reg)))
    }
}

/// What a MovPhi takes, as a value: `input` itself, or what the instruction gives that is to stand ahead of who reads it.
pub(super) fn in_value(func: &mut Function, like: VReg, input: Operand) -> Result<(VReg, Option<InstId>), BuildError> {
    if let Some(value) = input.as_reg() {
        return Ok((value, None));
    }
    let value = register_like(func, like)?;
    let inst = Inst::copy(func[like].file(), Operand::reg(value), input);
    Ok((value, Some(func.edit().add(inst))))
}

/// A MovPhi for another value of the same variable, behind those of a block: what it takes, and from where.
pub(super) fn phi_like(
    func: &mut Function,
    block: Block,
    value: VReg,
    inputs: &[(Operand, Block)],
) -> Result<VReg, BuildError> {
    let reg = register_like(func, value)?;
    let mut phi = Inst::phi(Operand::reg(reg));
    phi.operands.extend(inputs.iter().flat_map(|(input, pred)| [*input, Operand::block(*pred)]));
    let (phi, at) = (func.edit().add(phi), func.phis(block).len());
    func.edit().place(block, at, &[phi]);
    Ok(reg)
}

/// A register for another value of the same variable.
pub(super) fn register_like(func: &mut Function, value: VReg) -> Result<VReg, BuildError> {
    let (new, home) = (func.new_vreg_like(value)?, func[value].home);
    func.edit().update_reg(new, |data| data.home = home);
    Ok(new)
}
