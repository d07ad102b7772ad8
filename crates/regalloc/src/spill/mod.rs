//! Spilling: a register that found no place is kept in memory, computed again, or kept in a file that has more room (a
//! predicate, a uniform register), and each instruction that names it gets a temporary of its own. Where it names one component of
//! a wide register, the temporary is that component: an aligned group may not be free.

mod uniform;

use crate::AllocError;
use crate::shortage::Shortage;
use crate::stack::{SlotAccess, load_slot, store_slot};
use oriole_isa::{Arch, Cmp, Mods, Opcode, RegFile, Role, Sign};
use oriole_ori::{
    Function, Inst, InstFlags, InstId, Operand, OperandKind, RegType, SecondaryMap, Slot, VReg, VRegFlags,
};
use smallvec::SmallVec;
use std::ops::Range;

/// How a spilled register's value comes back.
#[derive(Clone, Debug)]
enum Home {
    /// From its slot in the frame: byte offset in the spill area.
    Slot(u32),
    /// By executing this instruction again.
    Recompute(Inst),
    /// From a general register (predicates): non-zero is true.
    General(VReg),
    /// From a bit of a general register that several predicates share.
    Bit(Bit),
    /// From a uniform register (uniform predicates): non-zero is true.
    Uniform(VReg),
    /// From general registers (uniform registers): one for each component.
    Lanes(SmallVec<[VReg; 4]>),
}

/// A place in a register of predicates.
#[derive(Clone, Copy, Debug)]
struct Bit {
    word: VReg,
    /// The bit alone.
    mask: u32,
}

/// So many predicates at least share registers: each costs an instruction more where it is written.
const SHARING: usize = 3;

/// Bytes stored and loaded by the spill code of one function, for reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpillBytes {
    /// Bytes of spill stores.
    pub stores: u32,
    /// Bytes of spill loads.
    pub loads: u32,
}

impl SpillBytes {
    /// Both together.
    pub(crate) fn plus(self, other: SpillBytes) -> SpillBytes {
        SpillBytes { stores: self.stores + other.stores, loads: self.loads + other.loads }
    }

    /// Whether anything was spilled.
    pub fn any(self) -> bool {
        self.stores + self.loads > 0
    }
}

/// Rewrite `func` so that none of `regs` appears any more.
pub(crate) fn spill(func: &mut Function, arch: Arch, regs: &[VReg], bytes: &mut SpillBytes) -> Result<(), AllocError> {
    let mut homes: SecondaryMap<VReg, Option<Home>> = SecondaryMap::with_default(None);
    let definitions = Definitions::new(func, regs);
    let predicates: Vec<VReg> = regs.iter().copied().filter(|reg| func[*reg].file() == RegFile::P).collect();
    if predicates.len() >= SHARING {
        share_words(func, &predicates, &mut homes)?;
    }
    for reg in regs {
        func.edit().update_reg(*reg, |data| data.flags |= VRegFlags::SPILLED);
        if homes[*reg].is_none() {
            homes[*reg] = Some(find_home(func, arch, *reg, &definitions)?);
        }
    }
    for block in func.layout().to_vec() {
        let old = func.edit().take_insts(block);
        let mut new = Vec::with_capacity(old.len());
        for inst in old {
            rewrite(func, arch, inst, &homes, &mut new, bytes)?;
        }
        func.edit().set_insts(block, new);
    }
    Ok(())
}

/// Give each predicate a bit, 32 to a general register; none of its bits is set at the start.
fn share_words(
    func: &mut Function,
    predicates: &[VReg],
    homes: &mut SecondaryMap<VReg, Option<Home>>,
) -> Result<(), AllocError> {
    for sharing in predicates.chunks(32) {
        let word = func.new_vreg(RegType::R)?;
        for (reg, at) in sharing.iter().zip(0..) {
            homes[*reg] = Some(Home::Bit(Bit { word, mask: 1 << at }));
        }
        if let Some(entry) = func.entry() {
            let mut clear = Inst::copy(RegFile::R, Operand::reg(word), Operand::rz());
            clear.flags |= InstFlags::BIT_SPILL;
            let clear = func.edit().add(clear);
            let mut insts = func.edit().take_insts(entry);
            insts.insert(0, clear);
            func.edit().set_insts(entry, insts);
        }
    }
    Ok(())
}

fn find_home(func: &mut Function, arch: Arch, reg: VReg, definitions: &Definitions) -> Result<Home, AllocError> {
    match func[reg].file() {
        RegFile::P => Ok(Home::General(func.new_vreg(RegType::R)?)),
        RegFile::R => Ok(match recomputable(func, reg, definitions) {
            Some(inst) => Home::Recompute(inst),
            None => Home::Slot(new_slot(func, reg)),
        }),
        RegFile::UP => uniform::home_of_predicate(func),
        RegFile::UR => uniform::home_of_register(func, reg, definitions.single(reg), arch),
        file => Err(AllocError::OutOfRegisters(Shortage::unexplained(func, file, 0).into())),
    }
}

/// A place for the register in the spill area: its byte offset there.
pub(crate) fn new_slot(func: &mut Function, reg: VReg) -> u32 {
    let bytes = 4 * u32::from(func[reg].components);
    let offset = func.frame_mut().add_slot(bytes);
    func.edit().update_reg(reg, |data| data.spill_slot = Some(offset));
    offset
}

/// How often some registers are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Writes {
    /// The register is not one of them.
    NotAsked,
    None,
    One(InstId),
    Several,
}

/// The writes of the registers that are spilled, from one walk over the function.
struct Definitions(SecondaryMap<VReg, Writes>);

impl Definitions {
    fn new(func: &Function, regs: &[VReg]) -> Self {
        let mut writes = SecondaryMap::with_default(Writes::NotAsked);
        for reg in regs {
            writes[*reg] = Writes::None;
        }
        for (_, inst) in func.iter_insts() {
            func.for_each_def(inst, |mention| {
                let Some(found) = Some(mention.reg).filter(|reg| writes[*reg] != Writes::NotAsked) else { return };
                writes[found] = match writes[found] {
                    Writes::None => Writes::One(inst),
                    same if same == Writes::One(inst) => same,
                    _ => Writes::Several,
                };
            });
        }
        Definitions(writes)
    }

    fn single(&self, reg: VReg) -> Option<InstId> {
        match self.0[reg] {
            Writes::One(inst) => Some(inst),
            _ => None,
        }
    }
}

/// The only definition of `reg`, if repeating it anywhere gives the same value: a move of an
/// immediate or of a constant.
fn recomputable(func: &Function, reg: VReg, definitions: &Definitions) -> Option<Inst> {
    let inst = &func[definitions.single(reg)?];
    let constant = |o: &Operand| {
        matches!(o.kind(), OperandKind::Imm(..) | OperandKind::Const { .. } | OperandKind::Symbol(_) | OperandKind::Rz)
    };
    let simple = inst.opcode == Opcode::MOV
        && inst.guard().is_none()
        && inst.operands[0].as_whole_reg() == Some(reg)
        && inst.operands.get(1).is_some_and(constant);
    simple.then(|| inst.clone())
}

/// What one instruction does with one spilled register.
struct Access {
    reg: VReg,
    /// Components of the register that the instruction names: all, or the one piece that it names wherever it names any.
    piece: Range<u8>,
    /// Is these.
    temporary: VReg,
    /// Components whose old value is needed, as a bit mask: the others may never have been stored.
    reads: u128,
    /// Components written, as a bit mask.
    writes: u128,
}

impl Access {
    fn is_narrow(&self, func: &Function) -> bool {
        self.piece != (0..func[self.reg].components)
    }

    /// The temporary's components in the place of those in `mask`, each with where it is kept.
    fn components(&self, func: &Function, lanes: &[VReg], mask: u128) -> Vec<(Operand, VReg)> {
        let temporary = |k: u8| match func[self.temporary].components {
            1 => Operand::reg(self.temporary),
            _ => Operand::comp(self.temporary, k - self.piece.start),
        };
        let named = self.piece.clone().filter(|k| mask >> k & 1 != 0);
        named.filter_map(|k| Some((temporary(k), *lanes.get(usize::from(k))?))).collect()
    }

    /// Where the temporary's components are in memory if the register's are `offset` bytes into the spill area.
    fn slot(&self, func: &Function, offset: u32) -> SlotAccess {
        SlotAccess {
            base: func.frame().base(),
            offset: func.frame().local_bytes + offset + 4 * u32::from(self.piece.start),
            components: func[self.temporary].components,
        }
    }
}

fn rewrite(
    func: &mut Function,
    arch: Arch,
    inst: InstId,
    homes: &SecondaryMap<VReg, Option<Home>>,
    new: &mut Vec<InstId>,
    bytes: &mut SpillBytes,
) -> Result<(), AllocError> {
    let home = |reg: VReg| homes[reg].as_ref();
    if !func[inst].is_hold() {
        uniform::read_lanes(func, inst, arch, home);
    } else if !uniform::release(func, inst, home, new) {
        return Ok(());
    }
    let accesses = accesses(func, inst, homes)?;
    if accesses.is_empty() {
        new.push(inst);
        return Ok(());
    }
    let dead_definition = |a: &Access| a.writes != 0 && a.reads == 0 && matches!(home(a.reg), Some(Home::Recompute(_)));
    if accesses.iter().any(dead_definition) {
        return Ok(());
    }
    for access in accesses.iter().filter(|a| a.reads != 0) {
        refill(func, access, home(access.reg), new, bytes);
    }
    for access in &accesses {
        if access.is_narrow(func) {
            take_piece(func, inst, access);
        }
    }
    func.edit().rename_regs(inst, |reg, _| accesses.iter().find(|a| a.reg == reg).map_or(reg, |a| a.temporary));
    new.push(inst);
    for access in accesses.iter().filter(|a| a.writes != 0) {
        save(func, access, home(access.reg), new, bytes)?;
    }
    Ok(())
}

fn accesses(
    func: &mut Function,
    inst: InstId,
    homes: &SecondaryMap<VReg, Option<Home>>,
) -> Result<Vec<Access>, AllocError> {
    let mut found: Vec<Access> = Vec::new();
    func.for_each_reg(inst, |mention| {
        let Some(home) = &homes[mention.reg] else { return };
        let (reg, all) = (mention.reg, 0..func[mention.reg].components);
        if !found.iter().any(|a| a.reg == reg) {
            let narrow = matches!((home, mention.slot), (Home::Slot(_) | Home::Lanes(_), Slot::Operand(_)));
            let piece = if narrow { mention.range.clone() } else { all.clone() };
            found.push(Access { reg, piece, temporary: reg, reads: 0, writes: 0 });
        }
        if let Some(access) = found.iter_mut().find(|a| a.reg == reg) {
            if access.piece != mention.range {
                access.piece = all;
            }
            let mask = mention.range.clone().fold(0, |mask, k| mask | 1 << k);
            // Where the write may not happen, the old value is stored again.
            access.reads |= if !mention.is_def || mention.conditional { mask } else { 0 };
            access.writes |= if mention.is_def { mask } else { 0 };
        }
    });
    for access in &mut found {
        access.temporary = match access.piece.len() {
            1 if access.is_narrow(func) && func[access.reg].file() == RegFile::UR => func.new_vreg(RegType::Ur)?,
            1 if access.is_narrow(func) => func.new_vreg(RegType::R)?,
            _ => {
                access.piece = 0..func[access.reg].components;
                func.new_vreg_like(access.reg)?
            }
        };
        func.edit().update_reg(access.temporary, |data| data.flags |= VRegFlags::SPILLED);
    }
    Ok(found)
}

/// Name the temporary where the instruction names the one component that it is.
fn take_piece(func: &mut Function, inst: InstId, access: &Access) {
    for at in 0..func[inst].operands.len() {
        let operand = func[inst].operands[at];
        if operand.as_reg() == Some(access.reg) {
            func.edit().set_operand(inst, at, operand.flags_onto(Operand::reg(access.temporary)));
        }
    }
}

fn refill(func: &mut Function, access: &Access, home: Option<&Home>, new: &mut Vec<InstId>, bytes: &mut SpillBytes) {
    match home {
        Some(Home::Slot(offset)) => {
            let slot = access.slot(func, *offset);
            for (inst, loaded) in load_slot(access.temporary, slot, access.reads >> access.piece.start) {
                new.push(func.edit().add(inst));
                bytes.loads += 4 * u32::from(loaded);
            }
        }
        Some(Home::Recompute(inst)) => {
            let mut again = inst.clone();
            again.operands[0] = Operand::reg(access.temporary);
            again.flags |= InstFlags::REMAT;
            new.push(func.edit().add(again));
        }
        Some(Home::General(general)) => {
            let mut test = Inst::neutral(Opcode::ISETP, Mods::new());
            test.mods.set(oriole_isa::Field::CMP, Cmp::NE);
            test.mods.set(oriole_isa::Field::SIGN, Sign::U32);
            test.set_role(Role::PD, Operand::reg(access.temporary));
            test.set_role(Role::A, Operand::reg(*general));
            test.set_role(Role::B, Operand::rz());
            test.flags |= InstFlags::BIT_REFILL;
            new.push(func.edit().add(test));
        }
        Some(Home::Bit(Bit { word, mask })) => {
            let mut test = logic([Operand::rz(), Operand::reg(*word), Operand::imm(*mask), Operand::rz()], A & B);
            test.set_role(Role::PD, Operand::reg(access.temporary));
            test.flags |= InstFlags::BIT_REFILL;
            new.push(func.edit().add(test));
        }
        Some(Home::Uniform(from)) => {
            new.push(func.edit().add(uniform::refill_predicate(access.temporary, *from)));
        }
        Some(Home::Lanes(lanes)) => {
            for (to, lane) in access.components(func, lanes, access.reads) {
                new.push(func.edit().add(uniform::refill_component(to, lane)));
            }
        }
        None => {}
    }
}

/// The truth tables of LOP3's operands.
const A: u32 = 0xf0;
const B: u32 = 0xcc;
const C: u32 = 0xaa;

/// `LOP3` with D, A, B and C, bit by bit by a truth table.
fn logic([to, a, b, c]: [Operand; 4], table: u32) -> Inst {
    let mut inst = Inst::neutral(Opcode::LOP3, Mods::new());
    for (role, operand) in
        [(Role::D, to), (Role::A, a), (Role::B, b), (Role::C, c), (Role::Lut, Operand::imm(table & 0xff))]
    {
        inst.set_role(role, operand);
    }
    inst
}

/// `SEL to, RZ, bits, !predicate`: the bits where it is true.
fn select(to: VReg, bits: u32, predicate: VReg) -> Inst {
    let mut select = Inst::neutral(Opcode::SEL, Mods::new());
    select.set_role(Role::D, Operand::reg(to));
    select.set_role(Role::A, Operand::rz());
    select.set_role(Role::B, Operand::imm(bits));
    select.set_role(Role::PA, Operand::reg(predicate).not());
    select.flags |= InstFlags::BIT_SPILL;
    select
}

fn save(
    func: &mut Function,
    access: &Access,
    home: Option<&Home>,
    new: &mut Vec<InstId>,
    bytes: &mut SpillBytes,
) -> Result<(), AllocError> {
    match home {
        Some(Home::Slot(offset)) => {
            let slot = access.slot(func, *offset);
            for (inst, stored) in store_slot(access.temporary, slot, access.writes >> access.piece.start) {
                new.push(func.edit().add(inst));
                bytes.stores += 4 * u32::from(stored);
            }
        }
        Some(Home::General(general)) => {
            new.push(func.edit().add(select(*general, 1, access.temporary)));
        }
        Some(Home::Bit(Bit { word, mask })) => {
            let own = func.new_vreg(RegType::R)?;
            func.edit().update_reg(own, |data| data.flags |= VRegFlags::SPILLED);
            new.push(func.edit().add(select(own, *mask, access.temporary)));
            // The other bits stay.
            let operands = [*word, *word, own].map(Operand::reg);
            let mut put = logic([operands[0], operands[1], Operand::imm(!mask), operands[2]], A & B | !B & C);
            put.flags |= InstFlags::BIT_SPILL;
            new.push(func.edit().add(put));
        }
        Some(Home::Uniform(to)) => new.push(func.edit().add(uniform::save_predicate(*to, access.temporary))),
        Some(Home::Lanes(lanes)) => {
            for (from, lane) in access.components(func, lanes, access.writes) {
                new.push(func.edit().add(uniform::save_component(lane, from)));
            }
        }
        Some(Home::Recompute(_)) | None => {}
    }
    Ok(())
}
