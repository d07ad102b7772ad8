//! The code: BSSY, BSYNC, BREAK, BMOV, and the blocks on edges that they stand in.

use super::edges::Crossing;
use super::number::Kept;
use super::regions::{RegionId, Regions};
use super::scopes::{Node, Scopes};
use crate::PhaseError;
use oriole_isa::{Field, Mods, Opcode, RegFile, Role};
use oriole_ori::{Block, EntitySet, Function, Inst, Operand, RegType, SecondaryMap, VReg};
use std::collections::BTreeMap;

/// What has been decided.
pub(super) struct Plan<'a> {
    pub(super) scopes: &'a Scopes,
    pub(super) regions: &'a Regions,
    /// Where the threads of each region are noted.
    pub(super) kept: &'a [Kept],
    /// The block at whose end the region of the whole function begins.
    pub(super) start: Option<Block>,
    /// Barriers are cleared before they are set.
    pub(super) clears: bool,
}

impl Plan<'_> {
    fn is_kept(&self, region: RegionId) -> bool {
        self.kept[region as usize] != Kept::Nowhere
    }

    /// What is left of a crossing without the regions that have no barrier.
    fn real(&self, crossing: &Crossing) -> Crossing {
        let mut real = crossing.clone();
        real.leaves.retain(|region| self.is_kept(*region));
        real.begins.retain(|region| self.is_kept(*region));
        real.meets = real.meets.filter(|region| self.is_kept(*region));
        real
    }

    /// The block at whose end the region begins, if it does not begin before a loop.
    fn fork(&self, id: RegionId) -> Option<Block> {
        if Some(id) == self.regions.whole {
            return self.start;
        }
        let region = self.regions.get(id);
        match self.scopes.scope(region.scope).nodes[region.fork as usize] {
            Node::Block(block) => Some(block),
            Node::Loop(_) | Node::Back => None,
        }
    }
}

/// Write the code. Gives the barriers that it uses, a bit each.
pub(super) fn insert(func: &mut Function, plan: &Plan<'_>, crossings: &[Crossing]) -> Result<u16, PhaseError> {
    let crossings: Vec<Crossing> = crossings.iter().map(|crossing| plan.real(crossing)).collect();
    let hosts = Hosts::new(func);
    let mut writer = Writer { func, plan, made: Made::default(), notes: BTreeMap::new() };
    let mut chains = Vec::with_capacity(crossings.len());
    for crossing in &crossings {
        chains.push(writer.chain(crossing)?);
    }
    writer.fill()?;
    let used = writer.made.joins.keys().fold(0, |used, region| match plan.kept[*region as usize] {
        Kept::Barrier(barrier) | Kept::Register(barrier) => used | 1 << barrier,
        Kept::Nowhere => used,
    });
    let made = writer.made.order;
    place(func, &hosts, &crossings, &chains, &made);
    Ok(used)
}

/// Blocks on edges.
#[derive(Default)]
struct Made {
    /// By region: the block with its BSYNC, and where threads go on then.
    joins: BTreeMap<RegionId, (Block, Block)>,
    /// By block where a loop is entered and the first region that begins there: the block with the BSSYs.
    heads: BTreeMap<(Block, RegionId), (Block, Vec<RegionId>)>,
    /// By the block that follows and the regions left: the block with the BREAKs.
    breaks: BTreeMap<(Block, Vec<RegionId>), Block>,
    /// All of them, each with the block that the edge led to.
    order: Vec<(Block, Block)>,
}

struct Writer<'f, 'p> {
    func: &'f mut Function,
    plan: &'p Plan<'p>,
    made: Made,
    /// The registers of regions that are kept in one.
    notes: BTreeMap<RegionId, VReg>,
}

impl Writer<'_, '_> {
    /// Lead the edge through blocks for all that happens on it; these blocks, in order.
    fn chain(&mut self, crossing: &Crossing) -> Result<Vec<Block>, PhaseError> {
        let (mut next, mut chain) = (crossing.to, Vec::new());
        if let Some(&first) = crossing.begins.first() {
            next = match self.made.heads.get(&(crossing.to, first)) {
                Some((head, _)) => *head,
                None => {
                    let head = self.block(next, crossing.to)?;
                    self.made.heads.insert((crossing.to, first), (head, crossing.begins.to_vec()));
                    head
                }
            };
            chain.push(next);
        }
        if let Some(region) = crossing.meets {
            next = match self.made.joins.get(&region) {
                Some((join, _)) => *join,
                None => {
                    let join = self.block(next, crossing.to)?;
                    self.made.joins.insert(region, (join, next));
                    join
                }
            };
            chain.push(next);
        }
        if !crossing.leaves.is_empty() {
            let key = (next, crossing.leaves.to_vec());
            next = match self.made.breaks.get(&key) {
                Some(block) => *block,
                None => {
                    let block = self.block(next, crossing.to)?;
                    self.made.breaks.insert(key, block);
                    block
                }
            };
            chain.push(next);
        }
        if next != crossing.to {
            self.func.edit().redirect(crossing.from, crossing.to, next);
        }
        chain.reverse();
        Ok(chain)
    }

    /// A fresh block before `next`, on edges that led to `to`.
    fn block(&mut self, next: Block, to: Block) -> Result<Block, PhaseError> {
        let block = self.func.edit().new_detached_block()?;
        self.func.edit().set_succs(block, &[next]);
        self.made.order.push((block, to));
        Ok(block)
    }

    /// Write the instructions.
    fn fill(&mut self) -> Result<(), PhaseError> {
        for (region, (block, _)) in self.made.joins.clone() {
            let code = self.wait(region)?;
            self.append(block, code);
        }
        for ((_, regions), block) in self.made.breaks.clone() {
            for region in regions {
                // A region that threads leave has a barrier of its own.
                if let Kept::Barrier(barrier) = self.plan.kept[region as usize] {
                    self.append(block, vec![bar(Opcode::BREAK, barrier)]);
                }
            }
        }
        for (block, regions) in self.made.heads.clone().into_values() {
            for region in regions {
                let code = self.begin(region)?;
                self.append(block, code);
            }
        }
        for region in self.plan.regions.outer_first() {
            let Some(block) = self.plan.fork(region).filter(|_| self.plan.is_kept(region)) else { continue };
            let code = self.begin(region)?;
            let at = first_terminator(self.func, block);
            let code: Vec<_> = code.into_iter().map(|inst| self.func.edit().add(inst)).collect();
            self.func.edit().place(block, at, &code);
        }
        Ok(())
    }

    fn append(&mut self, block: Block, code: Vec<Inst>) {
        for inst in code {
            self.func.edit().append(block, inst);
        }
    }

    /// The threads that execute this are those of the region.
    fn begin(&mut self, region: RegionId) -> Result<Vec<Inst>, PhaseError> {
        let Some(&(_, target)) = self.made.joins.get(&region) else { return Ok(Vec::new()) };
        let bssy = |barrier: u8| {
            let mut inst = bar(Opcode::BSSY, barrier);
            inst.set_role(Role::Target, Operand::block(target));
            inst
        };
        Ok(match self.plan.kept[region as usize] {
            Kept::Nowhere => Vec::new(),
            Kept::Barrier(barrier) if self.plan.clears => vec![take(Operand::rz(), barrier), bssy(barrier)],
            Kept::Barrier(barrier) => vec![bssy(barrier)],
            Kept::Register(barrier) => {
                let (outer, note) = (self.func.new_vreg(RegType::R)?, self.note(region)?);
                vec![take_to(outer, barrier), bssy(barrier), take_to(note, barrier), put(barrier, outer)]
            }
        })
    }

    /// They wait for each other.
    fn wait(&mut self, region: RegionId) -> Result<Vec<Inst>, PhaseError> {
        Ok(match self.plan.kept[region as usize] {
            Kept::Nowhere => Vec::new(),
            Kept::Barrier(barrier) => vec![bar(Opcode::BSYNC, barrier)],
            Kept::Register(barrier) => {
                let (outer, note) = (self.func.new_vreg(RegType::R)?, self.note(region)?);
                vec![take_to(outer, barrier), put(barrier, note), bar(Opcode::BSYNC, barrier), put(barrier, outer)]
            }
        })
    }

    fn note(&mut self, region: RegionId) -> Result<VReg, PhaseError> {
        if let Some(note) = self.notes.get(&region) {
            return Ok(*note);
        }
        let note = self.func.new_vreg(RegType::R)?;
        self.notes.insert(region, note);
        Ok(note)
    }
}

/// BSSY, BSYNC or BREAK without its other operands.
pub(super) fn bar(opcode: Opcode, barrier: u8) -> Inst {
    let mut inst = Inst::neutral(opcode, Mods::new());
    inst.set_role(Role::Bar, barrier_operand(barrier));
    inst
}

/// `BMOV.32.CLEAR R, B`.
fn take_to(to: VReg, barrier: u8) -> Inst {
    take(Operand::reg(to), barrier)
}

/// `BMOV.32.CLEAR` to a register or to nowhere.
fn take(to: Operand, barrier: u8) -> Inst {
    let mut inst = Inst::neutral(Opcode::BMOV, Mods::new());
    inst.mods.set(Field::CLEAR, true);
    inst.set_role(Role::D, to);
    inst.set_role(Role::A, barrier_operand(barrier));
    inst
}

/// `BMOV.32 B, R`.
fn put(barrier: u8, from: VReg) -> Inst {
    let mut inst = Inst::neutral(Opcode::BMOV, Mods::new());
    inst.set_role(Role::D, barrier_operand(barrier));
    inst.set_role(Role::A, Operand::reg(from));
    inst
}

fn barrier_operand(number: u8) -> Operand {
    Operand::phys(RegFile::B, u16::from(number))
}

fn first_terminator(func: &Function, block: Block) -> usize {
    let insts = func.block_insts(block);
    insts.iter().position(|i| oriole_ori::terminator::is_terminator(&func[*i])).unwrap_or(insts.len())
}

/// Which blocks end with a jump to, or fall through to, which: a block put behind one of them takes the place of that jump.
struct Hosts {
    last: SecondaryMap<Block, Option<Block>>,
    /// The block before it in the layout goes on to this one.
    falls: EntitySet<Block>,
}

impl Hosts {
    fn new(func: &Function) -> Self {
        let mut hosts = Hosts { last: SecondaryMap::new(), falls: EntitySet::new() };
        for (at, &block) in func.layout().iter().enumerate() {
            let last = func.succs(block).last().copied();
            hosts.last[block] = last;
            if let Some(next) = func.layout().get(at + 1).filter(|next| last == Some(**next)) {
                hosts.falls.insert(*next);
            }
        }
        hosts
    }
}

/// Put the fresh blocks into the layout: behind a block that goes on there anyway, or else before the block that the edge
/// led to, if nothing falls through to that, or else at the end.
fn place(func: &mut Function, hosts: &Hosts, crossings: &[Crossing], chains: &[Vec<Block>], made: &[(Block, Block)]) {
    let mut placed = EntitySet::new();
    let mut after: SecondaryMap<Block, Vec<Block>> = SecondaryMap::new();
    // The last such block is the most likely to stand right before.
    for (crossing, chain) in crossings.iter().zip(chains).rev() {
        let is_host = hosts.last[crossing.from] == Some(crossing.to);
        if !is_host || chain.first().is_none_or(|first| placed.contains(*first)) {
            continue;
        }
        let fresh = chain.iter().copied().filter(|block| placed.insert(*block));
        after[crossing.from] = fresh.collect();
    }
    let mut before: SecondaryMap<Block, Vec<Block>> = SecondaryMap::new();
    let mut end = Vec::new();
    for (block, to) in made.iter().rev().filter(|(block, _)| !placed.contains(*block)) {
        if hosts.falls.contains(*to) { end.push(*block) } else { before[*to].push(*block) }
    }
    let mut layout = Vec::with_capacity(func.layout().len());
    for &block in func.layout() {
        layout.append(&mut before[block]);
        layout.push(block);
        layout.append(&mut after[block]);
    }
    layout.append(&mut end);
    func.edit().set_layout(layout);
}

/// Save the barriers of the mask at the function's entry and restore them before each RET.
pub(super) fn save_barriers(func: &mut Function, barriers: u16) -> Result<(), PhaseError> {
    let Some(entry) = func.entry().filter(|_| barriers != 0) else { return Ok(()) };
    let mut saved = Vec::new();
    for (at, barrier) in (0..16).filter(|barrier| barriers >> barrier & 1 != 0).enumerate() {
        let reg = func.new_vreg(RegType::R)?;
        let save = func.edit().add(take_to(reg, barrier));
        func.edit().place(entry, at, &[save]);
        saved.push((barrier, reg));
    }
    for block in func.layout().to_vec() {
        let returns = func.block_insts(block).last().is_some_and(|inst| func[*inst].opcode == Opcode::RET);
        if !returns {
            continue;
        }
        func.edit().rewrite_block(block, |func, inst, new| {
            if func[inst].opcode == Opcode::RET {
                let restores = saved.iter().map(|(barrier, reg)| put(*barrier, *reg));
                new.extend(restores.map(|inst| func.edit().add(inst)).collect::<Vec<_>>());
            }
            new.push(inst);
        });
    }
    Ok(())
}
