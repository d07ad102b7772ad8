//! Analyses that are kept between passes while they hold.

use super::{Cfg, DomTree, Liveness, LoopForest};
use crate::entity::Block;
use crate::function::Function;
use std::rc::Rc;

/// What a pass that changed a function leaves as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kept {
    /// Nothing: blocks or edges are others.
    Nothing,
    /// Blocks and edges: the graph, dominators and loops hold.
    Flow,
    /// Everything.
    All,
}

/// The analyses of one function, each computed when first asked for.
#[derive(Default)]
pub struct Analyses {
    cfg: Option<Rc<Cfg>>,
    dominators: Option<Rc<DomTree>>,
    loops: Option<Rc<LoopForest>>,
    live: Option<Rc<Liveness>>,
}

impl Analyses {
    /// The control-flow graph.
    pub fn cfg(&mut self, func: &Function) -> Rc<Cfg> {
        self.cfg.get_or_insert_with(|| Rc::new(Cfg::new(func))).clone()
    }

    /// The dominator tree.
    pub fn dominators(&mut self, func: &Function) -> Rc<DomTree> {
        let cfg = self.cfg(func);
        self.dominators.get_or_insert_with(|| Rc::new(DomTree::dominators(&cfg))).clone()
    }

    /// The natural loops.
    pub fn loops(&mut self, func: &Function) -> Rc<LoopForest> {
        let (cfg, dominators) = (self.cfg(func), self.dominators(func));
        self.loops.get_or_insert_with(|| Rc::new(LoopForest::new(&cfg, &dominators))).clone()
    }

    /// Liveness.
    pub fn live(&mut self, func: &Function) -> Rc<Liveness> {
        let cfg = self.cfg(func);
        self.live.get_or_insert_with(|| Rc::new(Liveness::new(func, &cfg))).clone()
    }

    /// The function has changed: forget all but what was kept.
    pub fn changed(&mut self, kept: Kept) {
        if kept < Kept::All {
            self.live = None;
        }
        if kept < Kept::Flow {
            *self = Analyses::default();
        }
    }

    /// Compute what is held anew and compare: the name of the first analysis that does not hold.
    pub fn stale(&self, func: &Function) -> Option<&'static str> {
        let mut fresh = Analyses::default();
        let blocks = || func.layout.iter().copied();
        if let Some(held) = &self.cfg {
            let cfg = fresh.cfg(func);
            let same = |b: Block| held.succs(b) == cfg.succs(b) && held.preds(b) == cfg.preds(b);
            if held.rpo() != cfg.rpo() || !blocks().all(same) {
                return Some("control-flow graph");
            }
        }
        if let Some(held) = &self.dominators {
            let dominators = fresh.dominators(func);
            if held.preorder() != dominators.preorder() || !blocks().all(|b| held.idom(b) == dominators.idom(b)) {
                return Some("dominators");
            }
        }
        if let Some(held) = &self.loops {
            let loops = fresh.loops(func);
            let header = |all: &LoopForest, b| all.innermost(b).map(|around| all[around].header);
            if !blocks().all(|b| held.depth(b) == loops.depth(b) && header(held, b) == header(&loops, b)) {
                return Some("loops");
            }
        }
        if let Some(held) = &self.live {
            let live = fresh.live(func);
            let sorted = |all: &Liveness, b| {
                let mut components: Vec<_> = all.live_in(b).chain(all.live_out(b)).collect();
                components.sort_unstable();
                components
            };
            if !blocks().all(|b| sorted(held, b) == sorted(&live, b)) {
                return Some("liveness");
            }
        }
        None
    }
}
