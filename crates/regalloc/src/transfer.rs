//! Wide values that go from one slot to another, a component at a time.
//!
//! What is copied around a call is spilled on both sides of the copy if registers are few: the copy is then a load and a store of
//! the whole. No neighbouring registers may be free for it, where a call's arguments have theirs; single ones are enough.

use crate::AllocError;
use crate::slots::{data_role, is_spill_code, words};
use crate::stack::{SlotAccess, load_slot, store_slot};
use oriole_isa::Opcode;
use oriole_ori::{Function, Inst, InstId, RegType, SecondaryMap, Slot, VReg, VRegFlags};

/// Name a register for each component of those that only spill code names. Whether there were any among `regs`.
pub(crate) fn component_by_component(func: &mut Function, regs: &[VReg]) -> Result<bool, AllocError> {
    let mut wide: SecondaryMap<VReg, bool> = SecondaryMap::new();
    for reg in regs {
        wide[*reg] = func[*reg].components > 1;
    }
    for (_, inst) in func.iter_insts() {
        func.for_each_reg(inst, |mention| wide[mention.reg] &= named_in_transfer(func, inst) == Some(mention.slot));
    }
    if !regs.iter().any(|reg| wide[*reg]) {
        return Ok(false);
    }
    let mut parts: SecondaryMap<VReg, Vec<VReg>> = SecondaryMap::new();
    for reg in regs.iter().filter(|reg| wide[**reg]) {
        for _ in 0..func[*reg].components {
            let part = func.new_vreg(RegType::R)?;
            func.edit().update_reg(part, |data| data.flags |= VRegFlags::SPILLED);
            parts[*reg].push(part);
        }
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
    let plain = is_spill_code(data) && data.guard().is_none();
    plain.then(|| data.position(data_role(data.opcode)).map(Slot::Operand))?
}

/// The accesses that stand for one of a register that has `parts`.
fn by_component(func: &Function, inst: InstId, parts: &SecondaryMap<VReg, Vec<VReg>>) -> Option<Vec<Inst>> {
    let data = &func[inst];
    let (reg, piece) = data.operand(data_role(data.opcode))?.as_piece()?;
    let (first, _) = words(func, inst).filter(|_| !parts[reg].is_empty())?;
    let single = if data.opcode == Opcode::STL { store_slot } else { load_slot };
    let frame = func.frame();
    let one = |(part, word): (u8, u32)| {
        let slot = SlotAccess { base: frame.base(), offset: frame.local_bytes + 4 * word, components: 1 };
        single(parts[reg][usize::from(part)], slot, 1).into_iter().map(|(inst, _)| inst)
    };
    Some(piece.range(func[reg].components).zip(first..).flat_map(one).collect())
}
