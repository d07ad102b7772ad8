//! Building the interference graph of one register file from liveness.

use crate::graph::{Component, Graph, Node, PhysicalSet};
use crate::weights::BlockWeights;
use oriole_isa::{Opcode, RegFile};
use oriole_ori::{
    Block, Clobbers, Function, InstId, Operand, OperandKind, RegMask, SecondaryMap, VReg, analysis::Liveness,
};

/// The graph of a file and where each virtual register is in it.
pub(crate) struct Interference {
    pub(crate) graph: Graph,
    node_of: SecondaryMap<VReg, u32>,
}

const NO_NODE: u32 = u32::MAX;

impl Interference {
    /// The node of a register, if it belongs to this file and appears in the code.
    pub(crate) fn node(&self, reg: VReg) -> Option<Node> {
        Some(self.node_of[reg]).filter(|n| *n != NO_NODE)
    }

    fn component(&self, reg: VReg, k: u8) -> Option<Component> {
        self.node(reg).map(|n| self.graph.nodes[n as usize].base + Component::from(k))
    }
}

/// Build the graph of `file`. Temporaries of spill code (flag `SPILLED`) cannot be spilled again.
pub(crate) fn build(func: &Function, live: &Liveness, weights: &BlockWeights, file: RegFile) -> Interference {
    let mut graph = Interference { graph: Graph::default(), node_of: SecondaryMap::with_default(NO_NODE) };
    add_nodes(func, weights, file, &mut graph);
    let mut scan = Scan { func, file, live: LiveSet::new(graph.graph.owner.len()), graph };
    for block in &func.layout {
        scan.block(*block, live, weights);
    }
    scan.graph.graph.seal();
    scan.graph
}

fn add_nodes(func: &Function, weights: &BlockWeights, file: RegFile, graph: &mut Interference) {
    for (block, inst) in func.iter_insts() {
        let weight = weights.of(block);
        func.for_each_reg(inst, |mention| {
            let data = &func.vregs[mention.reg];
            if data.file() != file {
                return;
            }
            if graph.node_of[mention.reg] == NO_NODE {
                let fixed = data.physical.filter(|_| data.is_fixed());
                let node = graph.graph.add_node(mention.reg, data.components, data.align, fixed);
                graph.node_of[mention.reg] = node;
            }
            let node = &mut graph.graph.nodes[graph.node_of[mention.reg] as usize];
            node.spill_cost += weight * f32::from(data.components);
            if data.flags.contains(oriole_ori::VRegFlags::SPILLED) {
                node.spill_cost = f32::INFINITY;
            }
        });
    }
}

struct Scan<'f> {
    func: &'f Function,
    file: RegFile,
    live: LiveSet,
    graph: Interference,
}

impl Scan<'_> {
    fn block(&mut self, block: Block, live: &Liveness, weights: &BlockWeights) {
        self.live.clear();
        for (reg, k) in live.live_out(block) {
            if let Some(component) = self.graph.component(reg, k) {
                self.live.insert(component);
            }
        }
        for inst in self.func.block_insts(block).iter().rev() {
            self.inst(*inst, weights.of(block));
        }
        if self.func.entry() == Some(block) {
            self.function_entry();
        }
    }

    fn inst(&mut self, inst: InstId, weight: f32) {
        let copies = copy_of(self.func, inst);
        self.clobbers(inst);
        // All results are written together: each meets the others and what lives on.
        self.for_each(inst, true, |scan, component, _| scan.live.insert(component));
        self.for_each(inst, true, |scan, component, k| {
            let source = copies.and_then(|(reg, first)| scan.graph.component(reg, first + k));
            scan.meet(component, source);
            if let Some(source) = source {
                scan.graph.graph.prefer(component, source, weight);
            }
        });
        if !self.func.insts[inst].writes_partly() {
            self.for_each(inst, true, |scan, component, _| scan.live.remove(component));
        }
        self.for_each(inst, false, |scan, component, _| scan.live.insert(component));
    }

    /// `visit` gets each component of this file that `inst` writes (or reads), and its place in the operand.
    fn for_each(&mut self, inst: InstId, defs: bool, mut visit: impl FnMut(&mut Self, Component, u8)) {
        let func = self.func;
        let mut mentions: smallvec::SmallVec<[(Component, u8); 8]> = smallvec::SmallVec::new();
        let collect = |mention: oriole_ori::RegRef| {
            for (place, k) in mention.range.clone().enumerate() {
                if let Some(component) = self.graph.component(mention.reg, k) {
                    mentions.push((component, place as u8));
                }
            }
        };
        if defs {
            func.for_each_def(inst, collect)
        } else {
            func.for_each_use(inst, collect)
        }
        for (component, place) in mentions {
            visit(self, component, place);
        }
    }

    fn meet(&mut self, component: Component, source: Option<Component>) {
        for other in &self.live.members {
            if *other != component && Some(*other) != source {
                self.graph.graph.interfere(component, *other);
            }
        }
    }

    fn clobbers(&mut self, inst: InstId) {
        let Some(call) = self.func.insts[inst].call.expand() else { return };
        let site = &self.func.calls[call];
        let mask = match &site.clobbers {
            Clobbers::Mask(mask) => *mask,
            Clobbers::ByCallee => RegMask::ALL,
        };
        let set = physical_set(&mask, self.file);
        if set == [0; 4] {
            return;
        }
        let mut results: smallvec::SmallVec<[Component; 8]> = smallvec::SmallVec::new();
        self.for_each(inst, true, |_, component, _| results.push(component));
        for component in &self.live.members {
            if !results.contains(component) {
                self.graph.graph.forbid(*component, &set);
            }
        }
    }

    /// Registers with a value on entry are all written at once by the caller.
    fn function_entry(&mut self) {
        let arrivals: Vec<Component> = self
            .func
            .live_in
            .iter()
            .flat_map(|reg| (0..self.func.vregs[*reg].components).map(|k| (*reg, k)))
            .filter_map(|(reg, k)| self.graph.component(reg, k))
            .collect();
        for component in arrivals {
            self.meet(component, None);
        }
    }
}

/// For a plain copy: the source register and its first component.
fn copy_of(func: &Function, inst: InstId) -> Option<(VReg, u8)> {
    match move_operands(func, inst)?.1.kind() {
        OperandKind::Reg(reg, piece) => Some((reg, piece.range(func.vregs[reg].components).start)),
        _ => None,
    }
}

/// Destination and source of an unguarded register move without flags.
pub(crate) fn move_operands(func: &Function, inst: InstId) -> Option<(Operand, Operand)> {
    let data = &func.insts[inst];
    if data.opcode != Opcode::MOV || data.guard().is_some() {
        return None;
    }
    let (to, from) = (*data.operands.first()?, *data.operands.get(1)?);
    (!from.has_flags() && to.as_reg().is_some() && from.as_reg().is_some()).then_some((to, from))
}

/// The part of a mask that lies in one file.
pub(crate) fn physical_set(mask: &RegMask, file: RegFile) -> PhysicalSet {
    match file {
        RegFile::R => mask.r,
        RegFile::UR => [mask.ur as u64, (mask.ur >> 64) as u64, 0, 0],
        RegFile::P => [u64::from(mask.p), 0, 0, 0],
        RegFile::UP => [u64::from(mask.up), 0, 0, 0],
        RegFile::B => [u64::from(mask.b), 0, 0, 0],
        RegFile::SB => [0; 4],
    }
}

/// A set of components with constant-time insertion and removal and iteration over the members.
struct LiveSet {
    members: Vec<Component>,
    place: Vec<u32>,
}

const ABSENT: u32 = u32::MAX;

impl LiveSet {
    fn new(components: usize) -> Self {
        LiveSet { members: Vec::new(), place: vec![ABSENT; components] }
    }

    fn clear(&mut self) {
        for member in self.members.drain(..) {
            self.place[member as usize] = ABSENT;
        }
    }

    fn insert(&mut self, component: Component) {
        let place = &mut self.place[component as usize];
        if *place == ABSENT {
            *place = self.members.len() as u32;
            self.members.push(component);
        }
    }

    fn remove(&mut self, component: Component) {
        let place = std::mem::replace(&mut self.place[component as usize], ABSENT);
        if place != ABSENT {
            self.members.swap_remove(place as usize);
            if let Some(moved) = self.members.get(place as usize) {
                self.place[*moved as usize] = place;
            }
        }
    }
}
