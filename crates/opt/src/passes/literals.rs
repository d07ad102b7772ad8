//! Slot 75, on SSA form: constants of 64 bits are operands of double-precision arithmetic.
//!
//! Where the lower word is zero the upper one is an immediate. Others stand in the kernel's bank 2, where ptxas keeps
//! them too on sm_75 to sm_89; from sm_90 on it makes them on the uniform datapath, which slot 74 does here. Only kernels have such a
//! bank: what they call may be called by several.

use super::general::commute::legal_form;
use super::general::constant_of;
use super::late_arch::{BANK, IMMEDIATES};
use crate::{Changed, Context, PhaseError};
use oriole_isa::{Arch, Family};
use oriole_ori::{Function, FunctionKind, Inst, InstId, Literals, Operand};

/// The sign of a double, in its upper word.
const SIGN: u32 = 1 << 31;

/// Put constants where they are read.
pub(super) fn run(func: &mut Function, context: &Context) -> Result<Changed, PhaseError> {
    let readers: Vec<InstId> = func.iter_insts().map(|(_, inst)| inst).filter(|inst| is_reader(&func[*inst])).collect();
    if readers.is_empty() {
        return Ok(Changed::No);
    }
    func.edit().keep_def_use();
    let mut changed = false;
    for id in readers {
        let mut inst = func[id].clone();
        while context.tally.is_open() {
            let Some((rule, new)) = with_literal(func, context.arch, &inst) else { break };
            inst = new;
            context.tally.count(rule);
            changed = true;
            func.edit().replace(id, inst.clone());
        }
    }
    Ok(Changed::when(changed))
}

fn is_reader(inst: &Inst) -> bool {
    inst.is_machine() && inst.opcode.info().family == Family::Double
}

/// The instruction with one more constant as an operand, and the rule.
fn with_literal(func: &mut Function, arch: Arch, inst: &Inst) -> Option<(usize, Inst)> {
    // What stays where a guard does not hold comes behind these.
    let places = inst.opcode.signature().len();
    (0..places).find_map(|at| {
        let bits = if inst.is_def(at) { None } else { wide_constant(func, inst.operands[at]) }?;
        with_immediate(func, arch, inst, at, bits)
            .map(|new| (IMMEDIATES, new))
            .or_else(|| with_word(func, arch, inst, at, bits).map(|new| (BANK, new)))
    })
}

/// The value of a pair of registers that hold constants.
fn wide_constant(func: &Function, operand: Operand) -> Option<u64> {
    let [low, high] = *func.tuple_values(operand.as_tuple()?) else { return None };
    let (low, high) = (constant_of(func, low)?, constant_of(func, high)?);
    let bits = u64::from(high) << 32 | u64::from(low);
    // Zero is RZ, by the rules of slot 29.
    (bits != 0).then_some(bits)
}

fn with_immediate(func: &Function, arch: Arch, inst: &Inst, at: usize, bits: u64) -> Option<Inst> {
    let (old, high) = (inst.operands[at], (bits >> 32) as u32);
    if bits as u32 != 0 || high == 0 || old.is_not() {
        return None;
    }
    let high = if old.is_abs() { high & !SIGN } else { high };
    let mut new = inst.clone();
    new.operands[at] = Operand::imm_high(if old.is_neg() { high ^ SIGN } else { high });
    legal_form(func, arch, new)
}

/// With the place of the constant in the kernel's bank, which it gets if the instruction can read it there.
fn with_word(func: &mut Function, arch: Arch, inst: &Inst, at: usize, bits: u64) -> Option<Inst> {
    if arch >= Arch::Sm90 || func.kind() != FunctionKind::Entry {
        return None;
    }
    let reads = |offset: u32| {
        let mut new = inst.clone();
        new.operands[at] = inst.operands[at].flags_onto(Operand::cbank(Literals::BANK, offset));
        new
    };
    legal_form(func, arch, reads(func.literals().base))?;
    let offset = func.literals_mut().place(bits)?;
    legal_form(func, arch, reads(offset))
}
