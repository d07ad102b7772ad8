//! Slot 99: convergence barriers.
//!
//! Threads of a warp that part at a divergent branch meet again at the branch's immediate
//! post-dominator, the *join*. `BSSY Bn, join` before the branch notes the threads, `BSYNC Bn` at the
//! join waits for them. Branches with the same join share one barrier. The place of the BSSY (the
//! *fork*) must be passed by every thread that reaches the BSYNC, exactly once per meeting: it dominates
//! all the edges into the join that come from its branches, it is in no loop that does not hold the
//! join (a loop is entered through a fresh preheader), no way leads back to it that does not pass the
//! join, and the join post-dominates it. Where no such
//! place exists the threads stay apart until an outer join; the code is right either way.

use crate::{Changed, Context, PhaseError};
use oriole_isa::{Field, Mods, Opcode, RegFile, Role, clear};
use oriole_ori::analysis::{Cfg, DomTree, Liveness, Loop, LoopForest, Uniformity};
use oriole_ori::{Block, EntitySet, Function, Inst, Operand, RegType};
use std::collections::BTreeMap;

/// Convergence barriers of a warp, `B0`–`B15`.
const BARRIERS: u8 = 16;

/// Insert BSSY and BSYNC.
pub(crate) fn run(func: &mut Function, context: &Context) -> Result<Changed, PhaseError> {
    let mut meetings = {
        let shape = Shape::new(func, context);
        let mut meetings = shape.meetings(func);
        number(&mut meetings, context.first_barrier);
        meetings
    };
    meetings.retain(|m| m.barrier.is_some());
    // Joins first: a block may be the join of one meeting and the loop header of another's fork, and
    // then the threads of the first meet before those of the second are noted.
    let mut joins = Vec::with_capacity(meetings.len());
    for meeting in &meetings {
        joins.push(insert_join(func, meeting)?);
    }
    let mut preheaders = BTreeMap::new();
    for (meeting, join) in meetings.iter().zip(&joins) {
        let note = func.add_inst(bssy(meeting, *join));
        match meeting.fork {
            Fork::EndOf(block) => {
                let at = first_terminator(func, block);
                func.blocks[block].insts.insert(at, note);
            }
            Fork::Before(header) => {
                let preheader = match preheaders.get(&header) {
                    Some(preheader) => *preheader,
                    None => make_preheader(func, header, &meeting.entries, &meetings, &joins)?,
                };
                preheaders.insert(header, preheader);
                func.blocks[preheader].insts.push(note);
            }
        }
    }
    let used: Vec<u8> = meetings.iter().filter_map(|m| m.barrier).collect();
    if context.recursive && !used.is_empty() {
        save_barriers(func, &used)?;
    }
    Ok(Changed::when(!used.is_empty()))
}

/// Where the BSSY stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fork {
    /// Before the terminators of this block.
    EndOf(Block),
    /// In a fresh block on the edges that enter the loop with this header.
    Before(Block),
}

/// One join with its fork.
#[derive(Clone, Debug)]
struct Meeting {
    fork: Fork,
    join: Block,
    /// Predecessors of the join whose threads passed the fork.
    arrivals: Vec<Block>,
    /// Every predecessor is one of them.
    all_arrive: bool,
    /// Predecessors from outside the loop, for [`Fork::Before`].
    entries: Vec<Block>,
    /// Blocks between fork and join.
    region: EntitySet<Block>,
    /// Reverse post-order number of the fork, for a stable order.
    order: u32,
    barrier: Option<u8>,
}

impl Meeting {
    /// The barrier; meetings without one are dropped before code is made.
    fn operand(&self) -> Operand {
        barrier_operand(self.barrier.unwrap_or_default())
    }
}

struct Shape {
    cfg: Cfg,
    dom: DomTree,
    postdom: DomTree,
    loops: LoopForest,
    uniformity: Uniformity,
}

impl Shape {
    fn new(func: &Function, context: &Context) -> Self {
        let cfg = Cfg::new(func);
        let dom = DomTree::dominators(func, &cfg);
        let postdom = DomTree::post_dominators(func, &cfg);
        let loops = LoopForest::new(&cfg, &dom);
        let liveness = Liveness::new(func, &cfg);
        let uniformity = Uniformity::new(func, context.arch, &cfg, &postdom, &liveness);
        Shape { cfg, dom, postdom, loops, uniformity }
    }

    /// The meetings of the function, outer forks first.
    fn meetings(&self, func: &Function) -> Vec<Meeting> {
        let mut branches: BTreeMap<u32, (Block, Vec<Block>)> = BTreeMap::new();
        for block in self.cfg.rpo() {
            if !self.uniformity.is_divergent(*block) {
                continue;
            }
            let Some(join) = self.postdom.idom(*block) else { continue };
            let Some(number) = self.cfg.rpo_number(join) else { continue };
            branches.entry(number).or_insert_with(|| (join, Vec::new())).1.push(*block);
        }
        let mut meetings: Vec<Meeting> =
            branches.values().filter_map(|(join, branches)| self.meeting(func, *join, branches)).collect();
        meetings.sort_by_key(|m| m.order);
        meetings
    }

    fn meeting(&self, func: &Function, join: Block, branches: &[Block]) -> Option<Meeting> {
        let mut region = EntitySet::new();
        for branch in branches {
            self.reach(func, *branch, join, &mut region);
        }
        let arrivals: Vec<Block> = self.cfg.preds(join).iter().copied().filter(|p| region.contains(*p)).collect();
        let fork = self.fork(func, join, branches, &arrivals)?;
        let start = match fork {
            Fork::EndOf(block) | Fork::Before(block) => block,
        };
        self.reach(func, start, join, &mut region);
        let entries = match fork {
            Fork::EndOf(_) => Vec::new(),
            Fork::Before(header) => self.outside(header),
        };
        let all_arrive = arrivals.len() == self.cfg.preds(join).len() && func.entry() != Some(join);
        let order = self.cfg.rpo_number(start)?;
        Some(Meeting { fork, join, arrivals, all_arrive, entries, region, order, barrier: None })
    }

    /// Add the blocks that `from` reaches without passing `join`, itself included.
    fn reach(&self, func: &Function, from: Block, join: Block, region: &mut EntitySet<Block>) {
        let mut work = vec![from];
        while let Some(block) = work.pop() {
            if block != join && region.insert(block) {
                work.extend(func.succs(block));
            }
        }
    }

    /// Predecessors of a loop header from outside the loop.
    fn outside(&self, header: Block) -> Vec<Block> {
        self.cfg.preds(header).iter().copied().filter(|p| !self.dom.dominates(header, *p)).collect()
    }

    fn fork(&self, func: &Function, join: Block, branches: &[Block], arrivals: &[Block]) -> Option<Fork> {
        let mut at = branches.iter().chain(arrivals).copied().reduce(|a, b| self.common_dominator(a, b))?;
        loop {
            if let Some(outer) = self.loop_to_leave(at, join) {
                let header = self.loops.data(outer).header;
                let covers = arrivals.iter().all(|a| self.dom.dominates(header, *a));
                if covers && self.postdom.dominates(join, header) && !self.outside(header).is_empty() {
                    return Some(Fork::Before(header));
                }
                at = self.dom.idom(header)?;
            } else if self.postdom.dominates(join, at) && join != at {
                return (!self.comes_back(func, at, join)).then_some(Fork::EndOf(at));
            } else {
                at = self.dom.idom(at)?;
            }
        }
    }

    /// True when a thread can pass `block` twice before it gets to `join`: two loops with one header, or a way back to
    /// the header from before the join. Those ahead would wait for a thread that has since noted others.
    fn comes_back(&self, func: &Function, block: Block, join: Block) -> bool {
        let mut seen = EntitySet::new();
        for next in func.succs(block) {
            self.reach(func, *next, join, &mut seen);
        }
        seen.contains(block)
    }

    /// The outermost loop that holds `block` and not `join`.
    fn loop_to_leave(&self, block: Block, join: Block) -> Option<Loop> {
        let mut found = None;
        let mut inner = self.loops.innermost(block);
        while let Some(this) = inner {
            if self.loops.contains(this, join) {
                break;
            }
            found = Some(this);
            inner = self.loops.data(this).parent;
        }
        found
    }

    fn common_dominator(&self, a: Block, b: Block) -> Block {
        let mut at = a;
        while !self.dom.dominates(at, b) {
            match self.dom.idom(at) {
                Some(up) => at = up,
                None => return at,
            }
        }
        at
    }
}

/// Give each meeting a barrier that no meeting around it or inside it has. Meetings that find none
/// (more than 16 deep) stay without.
fn number(meetings: &mut [Meeting], first: u8) {
    for i in 0..meetings.len() {
        let (before, rest) = meetings.split_at_mut(i);
        let this = &mut rest[0];
        let meets = |other: &&Meeting| other.barrier.is_some() && overlap(other, this);
        let taken: Vec<u8> = before.iter().filter(meets).filter_map(|other| other.barrier).collect();
        this.barrier = (first..BARRIERS).find(|b| !taken.contains(b));
    }
}

fn overlap(a: &Meeting, b: &Meeting) -> bool {
    let start = |m: &Meeting| match m.fork {
        Fork::EndOf(block) | Fork::Before(block) => block,
    };
    a.region.contains(start(b)) || b.region.contains(start(a)) || a.region.contains(b.join) || b.region.contains(a.join)
}

/// Put the BSYNC in its place; the block that holds it.
fn insert_join(func: &mut Function, meeting: &Meeting) -> Result<Block, PhaseError> {
    let join = if meeting.all_arrive { meeting.join } else { join_block(func, meeting)? };
    let mut sync = Inst::neutral(Opcode::BSYNC, Mods::new());
    sync.set_role(Role::Bar, meeting.operand());
    let sync = func.add_inst(sync);
    func.blocks[join].insts.insert(0, sync);
    Ok(join)
}

fn bssy(meeting: &Meeting, join: Block) -> Inst {
    let mut note = Inst::neutral(Opcode::BSSY, Mods::new());
    note.set_role(Role::Bar, meeting.operand());
    note.set_role(Role::Target, Operand::block(join));
    note
}

/// A fresh block on the edges that enter the loop with `header`.
fn make_preheader(
    func: &mut Function,
    header: Block,
    entries: &[Block],
    meetings: &[Meeting],
    joins: &[Block],
) -> Result<Block, PhaseError> {
    let preheader = func.new_detached_block()?;
    func.blocks[preheader].succs.push(header);
    for entry in entries {
        // The edge may go through a join block by now.
        let through = |(m, join): (&Meeting, &Block)| {
            (m.join == header && *join != header && m.arrivals.contains(entry)).then_some(*join)
        };
        let from = meetings.iter().zip(joins).find_map(through).unwrap_or(*entry);
        func.redirect(from, header, preheader);
        func.rename_phi_pred(header, from, preheader);
    }
    place_before(func, preheader, header);
    Ok(preheader)
}

/// A fresh block that takes the arrivals' edges into the join.
fn join_block(func: &mut Function, meeting: &Meeting) -> Result<Block, PhaseError> {
    let block = func.new_detached_block()?;
    func.blocks[block].succs.push(meeting.join);
    for arrival in &meeting.arrivals {
        func.redirect(*arrival, meeting.join, block);
    }
    place_before(func, block, meeting.join);
    Ok(block)
}

fn place_before(func: &mut Function, block: Block, next: Block) {
    let at = func.layout.iter().position(|b| *b == next).unwrap_or(func.layout.len());
    func.layout.insert(at, block);
}

fn first_terminator(func: &Function, block: Block) -> usize {
    let insts = func.block_insts(block);
    insts.iter().position(|i| oriole_ori::terminator::is_terminator(&func.insts[*i])).unwrap_or(insts.len())
}

fn barrier_operand(number: u8) -> Operand {
    Operand::phys(RegFile::B, u16::from(number))
}

/// Save the barriers at the function's entry and restore them before each RET.
fn save_barriers(func: &mut Function, barriers: &[u8]) -> Result<(), PhaseError> {
    let mut barriers = barriers.to_vec();
    barriers.sort_unstable();
    barriers.dedup();
    let Some(entry) = func.entry() else { return Ok(()) };
    let mut saved = Vec::new();
    for (at, barrier) in barriers.iter().enumerate() {
        let reg = func.new_vreg(RegType::R)?;
        let save = func.add_inst(barrier_move(Operand::reg(reg), barrier_operand(*barrier)));
        func.blocks[entry].insts.insert(at, save);
        saved.push((*barrier, reg));
    }
    for block in func.layout.clone() {
        func.rewrite_block(block, |func, inst, new| {
            if func.insts[inst].opcode == Opcode::RET {
                for (barrier, reg) in &saved {
                    let restore = barrier_move(barrier_operand(*barrier), Operand::reg(*reg));
                    new.push(func.add_inst(restore));
                }
            }
            new.push(inst);
        });
    }
    Ok(())
}

/// `BMOV.32.CLEAR R, B` or `BMOV.32 B, R`.
fn barrier_move(to: Operand, from: Operand) -> Inst {
    let clears = to.as_reg().is_some();
    let mut inst = Inst::neutral(Opcode::BMOV, Mods::new());
    if clears {
        inst.mods.set(Field::Clear, clear::ON);
    }
    inst.set_role(Role::D, to);
    inst.set_role(Role::A, from);
    inst
}
