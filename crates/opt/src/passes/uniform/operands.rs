//! Constants that are operands go to registers where the uniform datapath could do the rest.
//!
//! Before sm_90 its instructions read no constant bank, but for `ULDC`. So what is the same in a warp and reads a word of a bank
//! gets that word from a register of its own first, as ptxas does it; where that has not helped it goes back. What several instructions
//! write, counters of loops above all, is left alone: a general register is as good there, and reads the bank itself.

use crate::passes::general::commute;
use oriole_isa::{Arch, Opcode, RegFile};
use oriole_ori::analysis::{LoopForest, Uniformity};
use oriole_ori::{
    BuildError, EntitySet, Function, Inst, InstFlags, InstId, Operand, OperandKind, RegType, SecondaryMap, VReg,
};
use rustc_hash::{FxHashMap, FxHashSet};

/// A constant that has left an instruction.
struct Left {
    inst: InstId,
    constant: Operand,
    /// In which it is.
    reg: VReg,
}

/// What has been done.
#[derive(Default)]
pub(super) struct Words {
    left: Vec<Left>,
    /// The copies of constants.
    copies: Vec<InstId>,
}

/// Put constants into registers.
pub(super) fn split(
    func: &mut Function,
    arch: Arch,
    uniformity: &Uniformity,
    loops: &LoopForest,
) -> Result<Words, BuildError> {
    let mut words = Words::default();
    if arch >= Arch::Sm90 {
        return Ok(words);
    }
    let writes = writes(func);
    // In a loop a load would come with each round.
    let straight: Vec<_> = func.layout().iter().copied().filter(|block| loops.depth(*block) == 0).collect();
    for block in straight {
        let takers: Vec<(InstId, usize)> = func
            .block_insts(block)
            .iter()
            .filter_map(|inst| Some((*inst, constant_of_uniform(func, uniformity, &writes, *inst)?)))
            .collect();
        if takers.is_empty() {
            continue;
        }
        let mut known: FxHashMap<Operand, VReg> = FxHashMap::default();
        let mut ahead: FxHashMap<InstId, InstId> = FxHashMap::default();
        for (inst, at) in takers {
            let operand = func[inst].operands[at];
            let constant = operand.plain();
            let reg = match known.get(&constant) {
                Some(reg) => *reg,
                None => {
                    let reg = func.new_vreg(RegType::R)?;
                    known.insert(constant, reg);
                    let mut copy = Inst::copy(RegFile::R, Operand::reg(reg), constant);
                    copy.loc = func[inst].loc;
                    let copy = func.edit().add(copy);
                    words.copies.push(copy);
                    ahead.insert(inst, copy);
                    reg
                }
            };
            func.edit().set_operand(inst, at, operand.flags_onto(Operand::reg(reg)));
            words.left.push(Left { inst, constant, reg });
        }
        func.edit().rewrite_block(block, |_, inst, list| {
            list.extend(ahead.get(&inst).copied());
            list.push(inst);
        });
    }
    Ok(words)
}

/// How many instructions write each register.
fn writes(func: &Function) -> SecondaryMap<VReg, u32> {
    let mut writes = SecondaryMap::new();
    for (_, inst) in func.iter_insts() {
        func.for_each_def(inst, |mention| writes[mention.reg] += 1);
    }
    writes
}

/// The place of the constant of an instruction that the uniform datapath could execute but for that.
fn constant_of_uniform(
    func: &Function,
    uniformity: &Uniformity,
    writes: &SecondaryMap<VReg, u32>,
    id: InstId,
) -> Option<usize> {
    let inst = &func[id];
    let plain = inst.is_machine() && inst.guard().is_none() && !inst.flags.contains(InstFlags::VOLATILE);
    if !plain || inst.opcode == Opcode::MOV || inst.opcode == Opcode::LDC || inst.opcode.info().uniform.is_none() {
        return None;
    }
    let mut registers = 0;
    let mut same = true;
    func.for_each_reg(id, |mention| {
        same &= !uniformity.is_varying(mention.reg) && !func[mention.reg].is_fixed();
        same &= !mention.is_def || writes[mention.reg] == 1;
        registers += usize::from(!mention.is_def);
    });
    let mut constants = inst.uses().filter(|(_, operand)| matches!(operand.kind(), OperandKind::Const { .. }));
    let (at, _) = constants.next().filter(|(at, _)| inst.width(*at) == 1)?;
    (same && registers > 0 && constants.next().is_none()).then_some(at)
}

impl Words {
    /// Nothing has been done.
    pub(super) fn is_empty(&self) -> bool {
        self.copies.is_empty()
    }

    /// Put constants back into those that have stayed, where they still have a form for it, and take out copies that nobody reads.
    pub(super) fn restore(self, func: &mut Function, arch: Arch) {
        if self.is_empty() {
            return;
        }
        for Left { inst, constant, reg } in self.left {
            let data = &func[inst];
            // Sources may have changed places.
            let Some(at) = data.operands.iter().position(|operand| operand.as_reg() == Some(reg)) else { continue };
            let mut new = data.clone();
            new.operands[at] = data.operands[at].flags_onto(constant);
            if let Some(form) = commute::legal_form(func, arch, new) {
                func.edit().replace(inst, form);
            }
        }
        let mut read: EntitySet<VReg> = EntitySet::new();
        for (_, inst) in func.iter_insts() {
            func.for_each_use(inst, |mention| {
                read.insert(mention.reg);
            });
        }
        let unread = |func: &Function, inst: InstId| {
            let mut unread = true;
            func.for_each_def(inst, |mention| unread &= !read.contains(mention.reg));
            unread
        };
        let gone: FxHashSet<InstId> = self.copies.into_iter().filter(|copy| unread(func, *copy)).collect();
        for block in func.layout().to_vec() {
            if func.block_insts(block).iter().any(|inst| gone.contains(inst)) {
                func.edit().retain_insts(block, |_, inst| !gone.contains(&inst));
            }
        }
    }
}
