//! Building the interference graph of one register file from liveness.
//!
//! Each block is walked from its end with the set of live components. A written component meets every member of the
//! set ([`Meetings`]).

use crate::code::{Access, Code, FileCode};
use crate::graph::{Graph, PhysicalSet};
use crate::live_set::LiveSet;
use crate::meetings::Meetings;
use crate::node::Component;
use crate::weights::BlockWeights;
use oriole_ori::{Block, CallId, Function, SecondaryMap, VReg, analysis::Liveness};

/// Build the graph of the file of `lines`, whose registers `code` knows. `live` may be older than spill code: its
/// temporaries live within one instruction's code, and what was spilled has no node any more. The graph takes the nodes.
pub(crate) fn build(
    func: &Function,
    code: &Code,
    lines: &mut FileCode,
    live: &Liveness,
    weights: &BlockWeights,
) -> Graph {
    let count = lines.components as usize;
    let mut scan = Scan {
        func,
        code,
        graph: Graph::new(std::mem::take(&mut lines.nodes), count),
        lines,
        meetings: Meetings::new(count),
        live: LiveSet::new(count),
        met_at: vec![0; count],
        now: 0,
    };
    for (at, block) in func.layout().iter().enumerate() {
        scan.block(at, *block, live, weights);
    }
    let Scan { mut graph, meetings, .. } = scan;
    graph.connect(meetings);
    graph
}

/// By component: it has to be in a register below this number, as it lives in a block that has no more.
pub(crate) fn keep_below(
    func: &Function,
    code: &Code,
    lines: &FileCode,
    live: &Liveness,
    limits: &SecondaryMap<Block, u16>,
) -> Vec<u16> {
    let mut bounds = vec![u16::MAX; lines.components as usize];
    for (at, block) in func.layout().iter().enumerate() {
        let mut bound = |component: Component| {
            let bound = &mut bounds[component as usize];
            *bound = (*bound).min(limits[*block]);
        };
        // What is live at the end is so at the start, or is written.
        let at_start = live.live_in(*block).filter_map(|part| code.component(func, lines.file, &lines.nodes, part));
        at_start.for_each(&mut bound);
        for access in lines.lines_backwards(at) {
            access.reads.iter().chain(access.writes).flat_map(|mention| mention.components()).for_each(&mut bound);
        }
    }
    bounds
}

struct Scan<'f> {
    func: &'f Function,
    code: &'f Code,
    lines: &'f FileCode,
    graph: Graph,
    meetings: Meetings,
    live: LiveSet,
    /// By component: when it last met all that was live; 0: not yet.
    met_at: Vec<u32>,
    /// Counts the lines walked, from 1.
    now: u32,
}

impl Scan<'_> {
    fn block(&mut self, at: usize, block: Block, live: &Liveness, weights: &BlockWeights) {
        self.live.clear();
        for (reg, k) in live.live_out(block) {
            if let Some(component) = self.component(reg, k) {
                self.live.insert(component, self.now);
            }
        }
        let lines = self.lines;
        for access in lines.lines_backwards(at) {
            self.now += 1;
            self.line(&access, weights.of(block));
        }
        if self.func.entry() == Some(block) {
            self.function_entry();
        }
    }

    fn line(&mut self, access: &Access<'_>, weight: f32) {
        if let Some(call) = access.line.call {
            self.clobber(call, access);
        }
        // All results are written together: each meets the others and what lives on.
        for component in access.writes.iter().flat_map(|write| write.components()) {
            self.live.insert(component, self.now);
        }
        self.graph.peak = self.graph.peak.max(self.live.members.len());
        for write in access.writes {
            for (k, component) in write.components().enumerate() {
                let source = access.line.copied.map(|first| first + k as Component);
                self.meet(component, source);
                if let Some(source) = source {
                    self.graph.prefer(component, source, weight);
                }
            }
        }
        if !access.line.partly {
            for component in access.writes.iter().flat_map(|write| write.components()) {
                self.live.remove(component, self.now);
            }
        }
        for component in access.reads.iter().flat_map(|read| read.components()) {
            self.live.insert(component, self.now);
        }
    }

    /// `component` is written where all of the live set lives on, but a copy does not meet its source.
    fn meet(&mut self, component: Component, source: Option<Component>) {
        let met_at = &mut self.met_at[component as usize];
        self.meetings.meet(component, source, &self.live, *met_at);
        // What a copy left out may have to be met later.
        if source.is_none() {
            *met_at = self.now;
        }
    }

    fn clobber(&mut self, call: CallId, access: &Access<'_>) {
        let set = self.lines.clobbers(self.func, call);
        if set == PhysicalSet::default() {
            return;
        }
        for component in &self.live.members {
            if !access.writes.iter().any(|write| write.components().contains(component)) {
                self.graph.forbid(*component, &set);
            }
        }
    }

    /// Registers with a value on entry are all written at once by the caller.
    fn function_entry(&mut self) {
        self.now += 1;
        for reg in self.func.live_in() {
            for k in 0..self.func[*reg].components {
                if let Some(component) = self.component(*reg, k) {
                    self.meet(component, None);
                }
            }
        }
    }

    fn component(&self, reg: VReg, k: u8) -> Option<Component> {
        self.code.component(self.func, self.lines.file, &self.graph.nodes, (reg, k))
    }
}
