//! What the conversion leaves twice: copies, constants and groups of them on the uniform datapath are read where they stand first.
//!
//! Within a block, by value numbers: a component has the number of what was moved to it. A register that is named in this block alone is
//! not read where another of its type holds the same numbers. Where the warp may turn to other threads of its own nothing is known any more:
//! they may write what is not held for these. Dead code takes the moves out.

use super::COPIES;
use super::places::{self, Places};
use crate::{Changed, Context};
use oriole_isa::{Opcode, RegFile, Role};
use oriole_ori::{Block, EntitySet, Function, InstId, PackedOption, RegType, SecondaryMap, VReg};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Instructions without a mention of a register behind which it is not read for another: it would be kept for too long.
const NEAR: usize = 32;

/// The number of a value.
type Number = u32;
/// The numbers of the components of a register.
type Numbers = SmallVec<[Number; 4]>;

/// Read each value from the register that had it first.
pub(super) fn forward(func: &mut Function, context: &Context, places: &Places) -> Changed {
    if !func.iter_insts().any(|(_, inst)| func[inst].opcode == Opcode::UMOV) {
        return Changed::No;
    }
    let several = wide_spread(func);
    let mut replaced = 0;
    for block in func.layout().to_vec() {
        let mut values = Values::default();
        for (now, inst) in func.block_insts(block).to_vec().into_iter().enumerate() {
            if context.tally.is_open() {
                let read = values.forwarded(func, &several, inst, now);
                context.tally.add(COPIES, u32::from(!read.is_empty()));
                replaced += read.len();
                read.into_iter().for_each(|(at, reg)| {
                    let operand = func[inst].operands[at].with_reg(reg);
                    func.edit().set_operand(inst, at, operand);
                });
            }
            values.pass(func, inst, now);
            if !places.is_whole(block) && places::turns(func, inst) {
                values = Values::default();
            }
        }
    }
    Changed::when(replaced > 0)
}

/// The registers that are named in several blocks, or before the first.
fn wide_spread(func: &Function) -> EntitySet<VReg> {
    let mut home: SecondaryMap<VReg, PackedOption<Block>> = SecondaryMap::new();
    home.resize(func.regs().len());
    let mut several = EntitySet::new();
    func.live_in().iter().for_each(|reg| {
        several.insert(*reg);
    });
    for (block, inst) in func.iter_insts() {
        func.for_each_reg(inst, |mention| {
            if home[mention.reg].expand().is_some_and(|home| home != block) {
                several.insert(mention.reg);
            }
            home[mention.reg] = block.into();
        });
    }
    several
}

/// What uniform registers hold at a place of a block.
#[derive(Default)]
struct Values {
    next: Number,
    constants: FxHashMap<u32, Number>,
    of: FxHashMap<(VReg, u8), Number>,
    /// The register of a type that holds these values.
    holders: FxHashMap<(RegType, Numbers), VReg>,
    /// Where a register was mentioned last.
    last: FxHashMap<VReg, usize>,
}

impl Values {
    fn fresh(&mut self) -> Number {
        self.next += 1;
        self.next
    }

    /// The number of a component; a new one for what was written before the block.
    fn number(&mut self, reg: VReg, k: u8) -> Number {
        if let Some(known) = self.of.get(&(reg, k)) {
            return *known;
        }
        let fresh = self.fresh();
        self.of.insert((reg, k), fresh);
        fresh
    }

    /// The numbers of a register of which all components are known.
    fn known(&self, func: &Function, reg: VReg) -> Option<Numbers> {
        (0..func[reg].components).map(|k| self.of.get(&(reg, k)).copied()).collect()
    }

    /// The register of a type that holds these numbers and was mentioned not long ago.
    fn holder(&self, func: &Function, key: &(RegType, Numbers), now: usize) -> Option<VReg> {
        let holder = *self.holders.get(key)?;
        let is_near = self.last.get(&holder).is_some_and(|last| now.saturating_sub(*last) <= NEAR);
        (is_near && self.known(func, holder)? == key.1).then_some(holder)
    }

    /// The operands of an instruction that may be read from another register, each with that.
    fn forwarded(
        &self,
        func: &Function,
        several: &EntitySet<VReg>,
        inst: InstId,
        now: usize,
    ) -> SmallVec<[(usize, VReg); 2]> {
        let data = &func[inst];
        let other = |reg: VReg| {
            let is_written = data.defs().any(|(_, to)| to.as_reg() == Some(reg));
            if !is_uniform(func, reg) || several.contains(reg) || is_written {
                return None;
            }
            self.holder(func, &(func[reg].reg_type, self.known(func, reg)?), now).filter(|holder| *holder != reg)
        };
        data.uses().filter_map(|(at, from)| Some((at, other(from.as_whole_reg()?)?))).collect()
    }

    /// What is known behind an instruction.
    fn pass(&mut self, func: &Function, inst: InstId, now: usize) {
        let moved = self.moved(func, inst);
        let mut written = SmallVec::<[VReg; 2]>::new();
        func.for_each_reg(inst, |mention| {
            if !is_uniform(func, mention.reg) {
                return;
            }
            self.last.insert(mention.reg, now);
            if mention.is_def {
                for k in mention.range.clone() {
                    let number = moved.unwrap_or_else(|| self.fresh());
                    self.of.insert((mention.reg, k), number);
                }
                written.push(mention.reg);
            }
        });
        written.into_iter().for_each(|reg| self.hold(func, reg, now));
    }

    /// The number of what a move writes.
    fn moved(&mut self, func: &Function, inst: InstId) -> Option<Number> {
        let data = &func[inst];
        let from = data.operand(Role::B).filter(|from| !from.has_flags())?;
        if data.opcode != Opcode::UMOV || !data.is_machine() || data.guard().is_some() {
            return None;
        }
        if let Some(bits) = from.as_imm() {
            if let Some(known) = self.constants.get(&bits) {
                return Some(*known);
            }
            let fresh = self.fresh();
            self.constants.insert(bits, fresh);
            return Some(fresh);
        }
        let (reg, piece) = from.as_piece()?;
        let range = piece.range(func[reg].components);
        if range.len() != 1 || !is_uniform(func, reg) {
            return None;
        }
        let number = self.number(reg, range.start);
        self.hold(func, reg, self.last.get(&reg).copied().unwrap_or_default());
        Some(number)
    }

    /// A register holds what it does for others, unless one does that is near.
    fn hold(&mut self, func: &Function, reg: VReg, now: usize) {
        let Some(numbers) = self.known(func, reg) else { return };
        let key = (func[reg].reg_type, numbers);
        if self.holder(func, &key, now).is_none() {
            self.holders.insert(key, reg);
        }
    }
}

/// Whether it is a register of the uniform datapath that allocation chooses.
fn is_uniform(func: &Function, reg: VReg) -> bool {
    func[reg].file() == RegFile::UR && !func[reg].is_fixed()
}
