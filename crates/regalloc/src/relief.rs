//! What is done where the R registers do not suffice, from the cheapest on.
//!
//! Values leave by their next use first ([`crate::belady`]), until as many are live as there are registers: ahead of
//! colouring in functions of many values, else when it fails. Where it fails all the same (wide values find no
//! neighbours, or values that live across calls nothing but what the callees leave), copies go around calls, and then the
//! plan is made again with registers to spare, or what found none is spilled whole, whichever executes less.

use crate::assign::Registers;
use crate::belady::{self, Plan, Room, Scene, Slots, most_live, split_latches};
use crate::calls::copy_around;
use crate::code::{Code, FileCode};
use crate::fatpoint::{below, usable};
use crate::function::{Allocation, Facts};
use crate::{AllocError, webs};
use oriole_isa::RegFile;
use oriole_ori::analysis::Liveness;
use oriole_ori::{Block, Function};

/// Registers that are left over at most.
const MOST_SPARE: u32 = 12;
/// By how many more at most each time: one for so many values without a register.
const SPARE_STEP: u32 = 4;
const FAILURES_FOR_ONE: usize = 3;
/// Both are meant for so many registers.
const REGISTERS_FOR_ONE: u32 = 64;
/// Registers that are left over at most where it is for the sake of more warps.
const MOST_SPARE_LOWER: u32 = 6;
/// Colourings that are spent on it.
const MOST_LOWERED: u32 = 3;
/// Of all that is executed, what may be computed again for it.
const MOST_AGAIN: f32 = 0.02;

/// The means that are left, for one function.
pub(crate) struct Relief {
    room: Room,
    slots: Slots,
    /// A plan has been made.
    begun: bool,
    /// There are copies around calls.
    copied: bool,
    /// For the sake of more warps: with so many registers it is tried, of which so many are to spare next.
    lower: Option<(u16, u32)>,
    /// How often it has been.
    lowered: u32,
}

impl Relief {
    /// For a function that may use these registers.
    pub(crate) fn new(registers: &Registers<'_>) -> Self {
        let usable = usable(registers.most, &registers.reserved);
        Relief {
            room: Room { usable, spare: 0, only_constants: registers.is_firm },
            slots: Slots::new(),
            begun: false,
            copied: false,
            lower: None,
            lowered: 0,
        }
    }

    /// Values leave by their next use: ahead of colouring, or when that has failed. Whether the code has changed.
    pub(crate) fn begin(
        &mut self,
        func: &mut Function,
        lines: &FileCode,
        facts: &mut Facts<'_>,
        allocation: &mut Allocation,
    ) -> Result<bool, AllocError> {
        self.begun = true;
        let crowded = self.is_crowded(&facts.scene(func, lines));
        if !crowded && lines.call().is_none() {
            return Ok(false);
        }
        let split = split_latches(func, &facts.flow.cfg, &facts.loops)?;
        let again;
        let lines = if split {
            facts.see_anew(func);
            again = facts.read(func);
            &again
        } else {
            lines
        };
        let plan = belady::plan(&facts.scene(func, lines), self.room);
        if plan.is_empty() && !split || plan.short && self.room.only_constants {
            return Ok(false);
        }
        self.carry_out(func, lines, &plan, facts, allocation)?;
        Ok(true)
    }

    /// Whether somewhere more values are live than there are registers.
    fn is_crowded(&self, scene: &Scene<'_>) -> bool {
        let sizes = scene.func.layout().iter().map(|block| scene.room(self.room, *block).size());
        let components = scene.lines.components as usize;
        sizes.clone().any(|size| components > size)
            && most_live(scene).into_iter().zip(sizes).any(|(most, size)| most as usize > size)
    }

    /// So that `limit` registers suffice, with which more warps run: constants are not kept but computed again, where nothing else
    /// has to be done and that costs little. Whether the code has changed.
    pub(crate) fn compute_again(
        &mut self,
        func: &mut Function,
        lines: &FileCode,
        limit: u16,
        facts: &mut Facts<'_>,
        allocation: &mut Allocation,
    ) -> Result<bool, AllocError> {
        if self.lowered == MOST_LOWERED {
            return Ok(false);
        }
        self.lowered += 1;
        if self.lower.is_none_or(|(lower, _)| lower != limit) {
            self.lower = Some((limit, lines.nodes.iter().any(|node| node.width > 1).into()));
        }
        let below = below(limit);
        let usable = std::array::from_fn(|word| below[word] & self.room.usable[word]);
        let executed = |block: &Block| facts.weights.of(*block) * func.block_insts(*block).len() as f32;
        let most = MOST_AGAIN * func.layout().iter().map(executed).sum::<f32>();
        while let Some((_, spare)) = self.lower.as_mut().filter(|(_, spare)| *spare <= MOST_SPARE_LOWER) {
            let room = Room { usable, spare: *spare, only_constants: true };
            *spare += 1;
            let plan = belady::plan(&facts.scene(func, lines), room);
            if plan.short || plan.price(&facts.weights) > most {
                return Ok(false);
            }
            if !plan.is_empty() {
                self.carry_out(func, lines, &plan, facts, allocation)?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// After `failed` values have found no register, which it would cost `price` to spill whole. Whether the code has changed;
    /// if not, that is the cheapest.
    pub(crate) fn go_on(
        &mut self,
        func: &mut Function,
        lines: &FileCode,
        (failed, price): (usize, f32),
        facts: &mut Facts<'_>,
        allocation: &mut Allocation,
    ) -> Result<bool, AllocError> {
        if !self.begun && self.begin(func, lines, facts, allocation)? {
            return Ok(true);
        }
        if !std::mem::replace(&mut self.copied, true) && copy_around(func, facts, lines)? {
            facts.renew(func, RegFile::R);
            return Ok(true);
        }
        // Of many registers more go at a time: each try is another colouring.
        let scale = (self.room.all() / REGISTERS_FOR_ONE).max(1);
        while self.room.spare < MOST_SPARE * scale {
            self.room.spare += ((failed / FAILURES_FOR_ONE) as u32).clamp(1, SPARE_STEP) * scale;
            let plan = belady::plan(&facts.scene(func, lines), self.room);
            if plan.is_empty() {
                continue;
            }
            if plan.price(&facts.weights) > price {
                return Ok(false);
            }
            self.carry_out(func, lines, &plan, facts, allocation)?;
            return Ok(true);
        }
        Ok(false)
    }

    fn carry_out(
        &mut self,
        func: &mut Function,
        lines: &FileCode,
        plan: &Plan,
        facts: &mut Facts<'_>,
        allocation: &mut Allocation,
    ) -> Result<(), AllocError> {
        belady::apply(func, lines, plan, &mut self.slots, &mut allocation.spills);
        facts.flow.live = Liveness::new(func, &facts.flow.cfg);
        let constants = plan.constants.iter().flatten().copied().collect();
        webs::split(func, &facts.flow.live, &plan.moved(lines), &constants)?;
        facts.renew(func, RegFile::R);
        Ok(())
    }
}

impl Facts<'_> {
    /// The R registers of the function as it is now.
    pub(crate) fn read(&mut self, func: &Function) -> FileCode {
        self.code = Code::new(func, &self.weights, &[RegFile::R]);
        self.code.take(RegFile::R)
    }
}
