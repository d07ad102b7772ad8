//! The walk over the blocks that decides what is in registers where.

use super::distances::Distances;
use super::plan::{Action, Anchor, Plan};
use super::pressure::most_live;
use super::{NEVER, Room, Scene};
use crate::code::Access;
use crate::constants::constants;
use crate::live_set::LiveSet;
use crate::node::{Component, owners};
use oriole_checkpoint::checkpoint;
use oriole_ori::{Block, InstId, SecondaryMap};
use rustc_hash::FxHashMap;

/// Where components are at a place in the code, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    pub(super) regs: Vec<Component>,
    /// Those whose home in memory holds their value.
    pub(super) memory: Vec<Component>,
}

impl State {
    pub(super) fn has(&self, component: Component) -> bool {
        self.regs.binary_search(&component).is_ok()
    }

    pub(super) fn keeps(&self, component: Component) -> bool {
        self.memory.binary_search(&component).is_ok()
    }
}

pub(super) struct Walk<'a> {
    pub(super) scene: &'a Scene<'a>,
    pub(super) room: Room,
    pub(super) distances: Distances,
    /// By loop-header: what the loop needs at most.
    pub(super) most: SecondaryMap<Block, u32>,
    /// By component: it never leaves its register.
    pinned: Vec<bool>,
    /// By component: how many instructions write it, as far as it matters: none, one or more.
    pub(super) writes: Vec<u8>,
    pub(super) entries: SecondaryMap<Block, Option<State>>,
    pub(super) exits: SecondaryMap<Block, Option<State>>,
    pub(super) plan: Plan,
    here: Here,
}

/// At the place that the walk has come to.
struct Here {
    block: Block,
    anchor: Anchor,
    regs: LiveSet,
    /// By component: its home holds its value.
    memory: Vec<bool>,
    /// By component: the line that reads it next.
    next: Vec<u32>,
    /// Components that the tables may say something of.
    touched: Vec<Component>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(scene: &'a Scene<'a>, room: Room) -> Self {
        let count = scene.lines.components as usize;
        let nodes = &scene.lines.nodes;
        let constants = constants(scene.func, scene.code, scene.lines, scene.arch);
        let stays = |(node, constant): (u32, &Option<InstId>)| {
            let node = &nodes[node as usize];
            node.fixed || node.spill_cost.is_infinite() || (room.only_constants && constant.is_none())
        };
        let block = scene.func.entry().unwrap_or(Block::from_u32(0));
        Walk {
            scene,
            room,
            distances: Distances::new(scene),
            most: most_in_loops(scene),
            pinned: owners(nodes).into_iter().zip(&constants).map(stays).collect(),
            writes: writes(scene),
            entries: SecondaryMap::with_default(None),
            exits: SecondaryMap::with_default(None),
            plan: Plan {
                blocks: SecondaryMap::new(),
                constants,
                at_definition: FxHashMap::default(),
                definitions: 0.0,
                short: false,
            },
            here: Here {
                block,
                anchor: None,
                regs: LiveSet::new(count),
                memory: vec![false; count],
                next: vec![NEVER; count],
                touched: Vec::new(),
            },
        }
    }

    pub(super) fn run(mut self) -> Plan {
        let mut places: SecondaryMap<Block, usize> = SecondaryMap::new();
        for (place, block) in self.scene.func.layout().iter().enumerate() {
            places[*block] = place;
        }
        for block in self.scene.flow.cfg.rpo() {
            let entry = self.choose_entry(*block);
            self.enter(*block, &entry);
            self.entries[*block] = Some(entry);
            self.block(places[*block]);
            if self.has_failed() {
                return self.plan;
            }
            self.leave();
        }
        self.join_edges();
        self.store_at_definitions();
        self.plan
    }

    /// Where nothing may go to memory, nobody wants a plan that falls short.
    fn has_failed(&self) -> bool {
        self.plan.short && self.room.only_constants
    }

    pub(super) fn is_constant(&self, component: Component) -> bool {
        self.plan.constants[component as usize].is_some()
    }

    /// Whether the component may leave its register.
    pub(super) fn may_leave(&self, component: Component) -> bool {
        !self.pinned[component as usize]
    }

    /// How many components may be in registers in a block.
    pub(super) fn size(&self, block: Block) -> usize {
        self.scene.room(self.room, block).size()
    }

    fn enter(&mut self, block: Block, entry: &State) {
        let here = &mut self.here;
        (here.block, here.anchor) = (block, None);
        here.regs.clear();
        for component in here.touched.drain(..) {
            (here.memory[component as usize], here.next[component as usize]) = (false, NEVER);
        }
        entry.regs.iter().for_each(|component| here.regs.insert(*component, 0));
        entry.memory.iter().for_each(|component| here.memory[*component as usize] = true);
        here.touched.extend(entry.regs.iter().chain(&entry.memory));
    }

    fn block(&mut self, place: usize) {
        let lines = self.scene.lines;
        let mut later = self.reads_from_here(place);
        // What the entry holds and nobody reads any more.
        let dead = |next: &[u32], c: Component| next[c as usize] == NEVER;
        let gone: Vec<Component> =
            self.here.regs.members.iter().copied().filter(|c| dead(&self.here.next, *c)).collect();
        gone.into_iter().for_each(|component| self.here.regs.remove(component, 0));
        for (line, access) in (0..).zip(lines.lines(place)) {
            self.here.anchor = Some(access.line.inst);
            self.line(line, &access, &mut later);
            if self.has_failed() {
                return;
            }
        }
        self.here.anchor = None;
        self.come_round(lines.lines(place).len() as u32);
    }

    /// From the end of the block to its start: when each component is read next. What that is behind each mention is
    /// kept, the last mention first.
    fn reads_from_here(&mut self, place: usize) -> Vec<u32> {
        let lines = self.scene.lines;
        let count = lines.lines(place).len() as u32;
        let Here { block, next, touched, .. } = &mut self.here;
        self.distances.at_end(self.scene, *block, |component, distance| {
            let next = &mut next[component as usize];
            *next = (*next).min(distance.saturating_add(count).min(NEVER - 1));
            touched.push(component);
        });
        let mut later = Vec::new();
        for (line, access) in (0..count).rev().zip(lines.lines_backwards(place)) {
            touched.extend(access.reads.iter().chain(access.writes).flat_map(|mention| mention.components()));
            for component in access.writes.iter().flat_map(|write| write.components()) {
                let next = &mut next[component as usize];
                later.push(*next);
                // The old value is one of those that it reads.
                *next = if access.line.partly && *next != NEVER { line } else { NEVER };
            }
            for component in access.reads.iter().flat_map(|read| read.components()) {
                later.push(std::mem::replace(&mut next[component as usize], line));
            }
        }
        later
    }

    fn line(&mut self, line: u32, access: &Access<'_>, later: &mut Vec<u32>) {
        let reads = || access.reads.iter().flat_map(|read| read.components());
        let writes = || access.writes.iter().flat_map(|write| write.components());
        let kept = writes().filter(|component| self.here.next[*component as usize] == line);
        let needed: Vec<Component> = reads().chain(kept).collect();
        needed.into_iter().for_each(|component| self.bring(component));
        self.make_room(self.size(self.here.block), line);
        for component in reads().collect::<Vec<_>>().into_iter().rev() {
            self.here.next[component as usize] = later.pop().unwrap_or(NEVER);
        }
        reads().for_each(|component| self.drop_dead(component));
        if let Some(call) = access.line.call {
            let clobbers = self.scene.lines.clobbers(self.scene.func, call);
            let room = self.scene.room(self.room, self.here.block);
            self.make_room(room.across(&clobbers), line);
        }
        let new = writes().filter(|component| !self.here.regs.contains(*component)).count();
        self.make_room(self.size(self.here.block).saturating_sub(new), line);
        for component in writes().collect::<Vec<_>>().into_iter().rev() {
            self.here.next[component as usize] = later.pop().unwrap_or(NEVER);
            self.here.regs.insert(component, 0);
            self.here.memory[component as usize] = false;
        }
        writes().for_each(|component| self.drop_dead(component));
    }

    fn drop_dead(&mut self, component: Component) {
        if self.here.next[component as usize] == NEVER {
            self.here.regs.remove(component, 0);
        }
    }

    /// The component is needed in a register here.
    fn bring(&mut self, component: Component) {
        if self.here.regs.contains(component) {
            return;
        }
        // What has no home has never been written on the way here.
        if self.is_constant(component) || self.here.memory[component as usize] {
            self.step(Action::Load, component);
        }
        self.here.regs.insert(component, 0);
    }

    fn step(&mut self, action: Action, component: Component) {
        self.plan.blocks[self.here.block].0.push((self.here.anchor, action, component));
    }

    /// No more than `most` components stay in registers; what `line` reads does.
    fn make_room(&mut self, most: usize, line: u32) {
        while self.here.regs.members.len() > most {
            checkpoint(self.here.regs.members.len() as u32);
            let all = self.here.regs.members.iter().copied();
            let victims =
                all.filter(|component| self.may_leave(*component) && self.here.next[*component as usize] != line);
            // Where all are read here, colouring finds out what does not fit.
            let Some(victim) = victims.max_by_key(|component| (self.gain(*component, line), *component)) else {
                self.plan.short = true;
                return;
            };
            if !self.is_constant(victim) && !self.here.memory[victim as usize] {
                self.step(Action::Store, victim);
                self.here.memory[victim as usize] = true;
            }
            self.here.regs.remove(victim, 0);
        }
    }

    /// How well a component may leave: how long its register is free, more if it need not be stored.
    fn gain(&self, component: Component, line: u32) -> u64 {
        let distance = u64::from(self.here.next[component as usize].saturating_sub(line));
        match (self.is_constant(component), self.here.memory[component as usize]) {
            (true, _) => distance * 8,
            (false, true) => distance * 2,
            (false, false) => distance,
        }
    }

    /// At the end of a block that goes back to the start of a loop: what that needs is there.
    fn come_round(&mut self, end: u32) {
        for succ in self.scene.func.succs(self.here.block) {
            let Some(entry) = &self.entries[*succ] else { continue };
            for component in entry.regs.clone() {
                self.bring(component);
                self.here.next[component as usize] = end;
            }
        }
        self.make_room(self.size(self.here.block), end);
    }

    /// Keep what is known at the end of the block.
    fn leave(&mut self) {
        let mut state = State { regs: self.here.regs.members.clone(), memory: Vec::new() };
        let live = self.scene.live_out(self.here.block);
        state.memory.extend(live.filter(|component| self.here.memory[*component as usize]));
        state.regs.sort_unstable();
        state.memory.sort_unstable();
        self.exits[self.here.block] = Some(state);
    }
}

/// By component: how often it is written.
fn writes(scene: &Scene<'_>) -> Vec<u8> {
    let mut counts = vec![0u8; scene.lines.components as usize];
    for place in 0..scene.func.layout().len() {
        for access in scene.lines.lines(place) {
            for component in access.writes.iter().flat_map(|write| write.components()) {
                let count = &mut counts[component as usize];
                *count = count.saturating_add(1);
            }
        }
    }
    counts
}

/// By header: the most components that are live at a time in the loop.
fn most_in_loops(scene: &Scene<'_>) -> SecondaryMap<Block, u32> {
    if scene.loops.is_empty() {
        return SecondaryMap::new();
    }
    let mut by_block: SecondaryMap<Block, u32> = SecondaryMap::new();
    for (block, most) in scene.func.layout().iter().zip(most_live(scene)) {
        by_block[*block] = most;
    }
    let mut most = SecondaryMap::new();
    for (_, data) in scene.loops.iter() {
        most[data.header] = data.blocks.iter().map(|block| by_block[*block]).max().unwrap_or(0);
    }
    most
}
