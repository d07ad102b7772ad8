//! Where all threads of a warp that have not ended are at one place, nobody has to be waited for.
//!
//! A kernel begins so. A branch that may go different ways ends it, but where its other way ends the threads that take it
//! at once; a call does, and so does a wait that stays and is not of the whole warp. It comes back with a `BSYNC` of a barrier that was set while all were together, if nobody takes himself out of
//! it, and with a `WARPSYNC` of the whole warp. What holds on all ways to a place holds there.

use super::shape::{ends_at_once, only_ends};
use crate::Changed;
use crate::passes::member_masks::{exchanges, waits_by_mask};
use oriole_isa::{Field, Opcode, RegFile, Role};
use oriole_ori::analysis::Cfg;
use oriole_ori::{Block, EntitySet, Function, FunctionKind, Inst, InstFlags, InstId, OperandKind, SecondaryMap};

/// Whether threads wait for each other by their masks anywhere.
pub(super) fn has_waits(func: &Function) -> bool {
    func.iter_insts().any(|(_, inst)| is_wait(&func[inst]))
}

fn is_wait(inst: &Inst) -> bool {
    inst.opcode == Opcode::WARPSYNC
}

/// Take out every `WARPSYNC` that finds the threads together; `parts` says of which blocks' ends they may go different ways.
/// One that also makes writes to memory visible (`bar.warp.sync`, [`InstFlags::VOLATILE`]) stays.
///
/// `meets_again`: threads that part at a wait for those of their own mask alone will meet again behind their exchange.
pub(super) fn remove_waits(func: &mut Function, meets_again: bool, parts: impl Fn(Block) -> bool) -> Changed {
    let rules = Rules { broken: broken(func), meets_again };
    let starts = Solver { func, parts, ends: ends_at_once, cfg: &Cfg::new(func), rules, starts: Starts::new() }.solve();
    let mut changed = Changed::No;
    for block in func.layout().to_vec() {
        let Some(mut state) = starts[block] else { continue };
        let mut idle: EntitySet<InstId> = EntitySet::new();
        for &id in func.block_insts(block) {
            let inst = &func[id];
            if is_wait(inst) && state.together && !inst.flags.contains(InstFlags::VOLATILE) {
                idle.insert(id);
            }
            state.step(func, inst, rules);
        }
        if idle.is_empty() {
            continue;
        }
        // What stands behind another wait then is no exchange of that one's members.
        for exchange in exchanges(func, block).iter().filter(|exchange| idle.contains(exchange.wait)) {
            for inst in &exchange.insts {
                func.edit().update(*inst, |inst| inst.flags -= InstFlags::BY_MASK);
            }
        }
        changed = Changed::Yes;
        func.edit().retain_insts(block, |_, id| !idle.contains(id));
    }
    changed
}

/// Whether what varies may be another thing once waits have gone: one has its mask in a register, or a guard, or exchanges differ from mask to mask.
pub(super) fn change_what_varies(func: &Function) -> bool {
    let reads = |inst: &Inst| inst.guard().is_some() || inst.operands.iter().any(|operand| operand.names_registers());
    func.iter_insts().map(|(_, inst)| &func[inst]).any(|inst| {
        let wait = inst.opcode == Opcode::WARPSYNC && (waits_by_mask(inst) || reads(inst));
        wait || inst.flags.contains(InstFlags::BY_MASK)
    })
}

/// The blocks that all threads of the warp which have not ended go through together, from the first instruction to the last;
/// `parts` says of which blocks' ends they may go different ways. What threads do before they end others do not do with them.
pub(crate) fn whole_blocks(func: &Function, cfg: &Cfg, parts: impl Fn(Block) -> bool) -> EntitySet<Block> {
    let rules = Rules { broken: broken(func), meets_again: false };
    let starts = Solver { func, parts, ends: only_ends, cfg, rules, starts: Starts::new() }.solve();
    let is_whole = |block: Block| {
        let Some(mut state) = starts[block] else { return false };
        func.block_insts(block).iter().all(|inst| {
            let before = state.together;
            state.step(func, &func[*inst], rules);
            before && state.together
        })
    };
    let mut whole = EntitySet::new();
    for block in func.layout().iter().copied().filter(|block| is_whole(*block)) {
        whole.insert(block);
    }
    whole
}

/// What holds in the whole function.
#[derive(Clone, Copy)]
struct Rules {
    /// The barriers that threads take themselves out of.
    broken: u16,
    /// Threads that part at a `WARPSYNC.EXCLUSIVE` meet right behind their exchange, and the code does not say so yet.
    meets_again: bool,
}

/// What is known at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    together: bool,
    /// The barriers that were set while the threads were together, a bit each.
    whole: u16,
}

impl State {
    fn step(&mut self, func: &Function, inst: &Inst, rules: Rules) {
        let named = barriers(func, inst);
        match inst.opcode {
            Opcode::BSSY if self.together => self.whole |= named,
            Opcode::BSYNC => {
                self.together |= named & self.whole & !rules.broken != 0;
                self.whole &= !named;
            }
            Opcode::WARPSYNC if is_for_all(inst) => self.together = true,
            Opcode::WARPSYNC if waits_by_mask(inst) => self.together &= rules.meets_again,
            // What stays lets threads of different masks, or without its guard, go on by themselves.
            Opcode::WARPSYNC if inst.flags.contains(InstFlags::VOLATILE) => self.together = false,
            _ => self.whole &= !named,
        }
        if inst.call.is_some() {
            self.together = false;
        }
    }

    fn meet(self, other: State) -> State {
        State { together: self.together && other.together, whole: self.whole & other.whole }
    }
}

/// The barriers that an instruction names.
fn barriers(func: &Function, inst: &Inst) -> u16 {
    let registers = inst.operands.iter().filter_map(|operand| func.physical(*operand));
    let numbers = registers.filter(|(file, ..)| *file == RegFile::B).map(|(_, number, _)| number);
    numbers.fold(0, |all, number| all | 1u16.checked_shl(number.into()).unwrap_or(0))
}

/// The barriers that the code names, a bit each.
pub(super) fn barriers_of(func: &Function) -> u16 {
    func.iter_insts().fold(0, |all, (_, inst)| all | barriers(func, &func[inst]))
}

/// The barriers that threads take themselves out of.
fn broken(func: &Function) -> u16 {
    let breaks = func.iter_insts().map(|(_, inst)| &func[inst]).filter(|inst| inst.opcode == Opcode::BREAK);
    breaks.fold(0, |all, inst| all | barriers(func, inst))
}

fn is_for_all(inst: &Inst) -> bool {
    let mask = inst.operand(Role::A).map(|operand| operand.kind());
    inst.guard().is_none()
        && (inst.mods.get(Field::WARPSYNC_ALL) == Some(true) || matches!(mask, Some(OperandKind::Imm(u32::MAX, _))))
}

/// What is known where each block begins; nothing of blocks that nobody gets to.
type Starts = SecondaryMap<Block, Option<State>>;

struct Solver<'f, P> {
    func: &'f Function,
    parts: P,
    /// Threads that go to a block need not be told from those that have ended.
    ends: fn(&Function, Block) -> bool,
    cfg: &'f Cfg,
    rules: Rules,
    starts: Starts,
}

impl<P: Fn(Block) -> bool> Solver<'_, P> {
    /// From the entry along the edges until nothing is lost any more: a block's knowledge shrinks at most 17 times.
    fn solve(mut self) -> Starts {
        let Some(entry) = self.func.entry() else { return self.starts };
        let together = self.func.kind() == FunctionKind::Entry;
        self.starts[entry] = Some(State { together, whole: 0 });
        let order = self.cfg.rpo().to_vec();
        let mut again = true;
        while std::mem::take(&mut again) {
            for block in &order {
                again |= self.leave(*block);
            }
        }
        self.starts
    }

    /// Tell the successors of a block; whether one of them learns something.
    fn leave(&mut self, block: Block) -> bool {
        let Some(mut state) = self.starts[block] else { return false };
        let func = self.func;
        func.block_insts(block).iter().for_each(|inst| state.step(func, &func[*inst], self.rules));
        let going_on = func.succs(block).iter().filter(|succ| !(self.ends)(func, **succ)).count();
        state.together &= !(self.parts)(block) || going_on < 2;
        let mut learnt = false;
        for succ in func.succs(block) {
            let start = &mut self.starts[*succ];
            let new = start.map_or(state, |known| known.meet(state));
            learnt |= start.replace(new) != Some(new);
        }
        learnt
    }
}
