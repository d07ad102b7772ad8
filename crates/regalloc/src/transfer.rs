//! Wide values that go from one slot to another, a component at a time.
//!
//! What is copied around a call is spilled on both sides of the copy if registers are few: the copy is then a load and a store of
//! the whole. No neighbouring registers may be free for it, where a call's arguments have theirs; single ones are enough.

use crate::AllocError;
use crate::slots::is_spill_code;
use crate::stack::access;
use oriole_isa::{MemSize, Opcode, Role};
use oriole_ori::{Function, Inst, InstId, Operand, OperandKind, RegType, SecondaryMap, Slot, VReg, VRegFlags};

/// Name a register for each component of those that only spill code names. Whether there were any among `regs`.
pub(crate) fn component_by_component(func: &mut Function, regs: &[VReg]) -> Result<bool, AllocError> {
    let mut wide: SecondaryMap<VReg, bool> = SecondaryMap::new();
    for reg in regs {
        wide[*reg] = func[*reg].components > 1;
    }
    for (_, inst) in func.iter_insts() {
        func.for_each_reg(inst, |mention| wide[mention.reg] &= named_in_transfer(func, inst) == Some(mention.slot));
    }
    let mut parts: SecondaryMap<VReg, Vec<VReg>> = SecondaryMap::new();
    for reg in regs.iter().filter(|reg| wide[**reg]) {
        for _ in 0..func[*reg].components {
            let part = func.new_vreg(RegType::R)?;
            func.edit().update_reg(part, |data| data.flags |= VRegFlags::SPILLED);
            parts[*reg].push(part);
        }
    }
    if !regs.iter().any(|reg| wide[*reg]) {
        return Ok(false);
    }
    for block in func.layout().to_vec() {
        func.edit().rewrite_block(block, |func, inst, new| match by_component(func, inst, &parts) {
            Some(insts) => new.extend(insts.into_iter().map(|inst| func.edit().add(inst))),
            None => new.push(inst),
        });
    }
    Ok(true)
}

/// Where an access of spill code, of which all happens, names what it loads or stores.
fn named_in_transfer(func: &Function, inst: InstId) -> Option<Slot> {
    let data = &func[inst];
    let role = if data.opcode == Opcode::STL { Role::Data } else { Role::D };
    (is_spill_code(data) && data.guard().is_none()).then(|| data.opcode.position(role).map(Slot::Operand))?
}

/// The accesses that stand for one of a register that has `parts`.
fn by_component(func: &Function, inst: InstId, parts: &SecondaryMap<VReg, Vec<VReg>>) -> Option<Vec<Inst>> {
    let Slot::Operand(at) = named_in_transfer(func, inst)? else { return None };
    let data = &func[inst];
    let mut named = None;
    func.for_each_reg(inst, |mention| named = Some((mention.reg, mention.range)));
    let (reg, range) = named.filter(|(reg, _)| !parts[*reg].is_empty())?;
    let base = func.physical(data.operands[data.opcode.position(Role::Base)?])?.1;
    let OperandKind::Imm(offset, _) = data.operands[data.opcode.position(Role::Offset)?].kind() else { return None };
    let one = |(part, offset): (u8, u32)| {
        let mut single = access(data.opcode, base, offset, MemSize::B32);
        single.operands[at] = Operand::reg(parts[reg][usize::from(part)]);
        single.flags = data.flags;
        single.loc = data.loc;
        single
    };
    Some(range.zip((offset..).step_by(4)).map(one).collect())
}
