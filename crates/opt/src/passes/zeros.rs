//! Slot 81: two neighbouring registers of an operand that become zero do so at once, as with ptxas (`CS2R R2, SRZ`).

use super::dead_code::LOOKED_AT;
use crate::{Changed, Context, PhaseError};
use oriole_isa::{Arch, Cs2rSize, Field, Mods, Opcode, RegFile, Role, special_registers};
use oriole_ori::analysis::Analyses;
use oriole_ori::{Block, Function, Inst, InstFlags, InstId, Operand, VReg};
use rustc_hash::{FxHashMap, FxHashSet};

/// What is counted.
pub(crate) const RULES: &[&str] = &["pairs of zeros"];

/// Registers of as many components belong to matrices: who reads pairs and quads often wants one half early.
const WIDE: u8 = 4;

/// Join what stands in one block, where nothing touches the first register between the two moves.
pub(crate) fn run(func: &mut Function, context: &Context, analyses: &mut Analyses) -> Result<Changed, PhaseError> {
    let was_looked_at = analyses.is_settled(LOOKED_AT, func);
    let mut joined = 0;
    for block in func.layout().to_vec() {
        let mut gone: FxHashSet<InstId> = FxHashSet::default();
        for (first, second, reg, k) in pairs(func, block) {
            let pair = zero_pair(Operand::piece(reg, k, 2), context.arch).filter(|_| context.tally.is_open());
            let Some(mut inst) = pair else { break };
            inst.loc = func[second].loc;
            func.edit().replace(second, inst);
            context.tally.add(0, 1);
            joined += 1;
            gone.insert(first);
        }
        if !gone.is_empty() {
            func.edit().retain_insts(block, |_, inst| !gone.contains(&inst));
        }
    }
    if was_looked_at {
        // What two moves wrote, one instruction writes.
        analyses.settle(LOOKED_AT, func);
    }
    Ok(Changed::when(joined > 0))
}

/// `CS2R to, SRZ`: both registers of an operand become zero, where the target has it.
pub fn zero_pair(to: Operand, arch: Arch) -> Option<Inst> {
    let zero = special_registers::by_name("SRZ", arch)?;
    let mods: Mods = std::iter::once(Field::CS2R_SIZE.is(Cs2rSize::X64)).collect();
    let mut inst = Inst::neutral(Opcode::CS2R, mods);
    inst.set_role(Role::D, to);
    inst.set_role(Role::A, Operand::special(zero.number));
    Some(inst)
}

/// What a plain move makes zero.
pub fn made_zero(inst: &Inst) -> Option<Operand> {
    let plain = inst.is_machine() && inst.opcode == Opcode::MOV && inst.guard().is_none();
    let (to, from) = (*inst.operands.first()?, *inst.operands.get(1)?);
    (plain && from.is_zero() && !from.has_flags() && !inst.flags.contains(InstFlags::VOLATILE)).then_some(to)
}

/// Both moves of each pair, the register, and the first of the two components.
fn pairs(func: &Function, block: Block) -> Vec<(InstId, InstId, VReg, u8)> {
    let mut waiting: FxHashMap<(VReg, u8), InstId> = FxHashMap::default();
    let mut pairs = Vec::new();
    for &inst in func.block_insts(block) {
        if let Some((reg, k)) = zeroed(func, inst) {
            // A second zero in the same place is none of a pair.
            if let Some(first) = waiting.remove(&(reg, k ^ 1)) {
                pairs.push((first, inst, reg, k & !1));
            } else {
                waiting.insert((reg, k), inst);
            }
        } else if !waiting.is_empty() {
            func.for_each_reg(inst, |mention| {
                mention.range.clone().for_each(|k| {
                    waiting.remove(&(mention.reg, k));
                });
            });
        }
    }
    pairs
}

/// The component of a wide register that a move makes zero.
fn zeroed(func: &Function, inst: InstId) -> Option<(VReg, u8)> {
    let (reg, piece) = made_zero(&func[inst])?.as_piece()?;
    let of = &func[reg];
    let range = piece.range(of.components);
    let fits = of.file() == RegFile::R && of.components >= WIDE && of.align >= 2 && !of.is_fixed();
    // The other half must be there too.
    (fits && range.len() == 1 && range.start | 1 < of.components).then_some((reg, range.start))
}
