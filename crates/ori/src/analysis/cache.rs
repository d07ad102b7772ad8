//! Analyses that are kept between passes while they hold.

use super::{Cfg, DomTree, Liveness, LoopForest, Uniformity, post_dominators};
use crate::entity::Block;
use crate::function::{Epochs, Function};
use oriole_isa::{Arch, RegFile};
use std::cell::LazyCell;
use std::rc::Rc;

/// What a pass leaves as it was, whatever it has touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kept {
    /// What the epochs say, and no more.
    Nothing,
    /// Blocks and edges: the graph, dominators and loops hold.
    Flow,
    /// Everything.
    All,
}

/// An analysis with the epochs of the function that it is of.
struct Held<T> {
    result: Rc<T>,
    of: Epochs,
}

/// One analysis of the function as it was last asked for.
struct Slot<T>(Option<Held<T>>);

impl<T> Default for Slot<T> {
    fn default() -> Self {
        Slot(None)
    }
}

impl<T> Slot<T> {
    /// What is held, if it is of the function as it stands.
    fn get(&self, now: Epochs, needs: Needs) -> Option<&Rc<T>> {
        self.0.as_ref().filter(|held| needs.hold(held.of, now)).map(|held| &held.result)
    }

    /// The same, made where it is not held.
    fn get_or_make(&mut self, now: Epochs, needs: Needs, make: impl FnOnce() -> T) -> Rc<T> {
        if let Some(held) = self.get(now, needs) {
            return held.clone();
        }
        let result = Rc::new(make());
        self.0 = Some(Held { result: result.clone(), of: now });
        result
    }

    /// What held at the epochs `before` holds at `after` too.
    fn keep(&mut self, needs: Needs, before: Epochs, after: Epochs) {
        if let Some(held) = self.0.as_mut().filter(|held| needs.hold(held.of, before)) {
            held.of = after;
        }
    }
}

/// Which changes of a function an analysis does not outlive.
#[derive(Clone, Copy)]
enum Needs {
    Flow,
    Code,
}

impl Needs {
    /// Whether what was true at the epochs `of` is true `now`. A register that no instruction names changes nothing.
    fn hold(self, of: Epochs, now: Epochs) -> bool {
        match self {
            Needs::Flow => of.flow == now.flow,
            Needs::Code => of.flow == now.flow && of.insts == now.insts,
        }
    }
}

/// The analyses of one function, each computed when first asked for, and again when the function's [`Epochs`] say that
/// it has changed. (For another function, begin with others.)
#[derive(Default)]
pub struct Analyses {
    cfg: Slot<Cfg>,
    dominators: Slot<DomTree>,
    post_dominators: Slot<DomTree>,
    loops: Slot<LoopForest>,
    live: Slot<Liveness>,
    uniformity: Slot<Uniformity>,
    settled: Vec<(&'static str, Epochs)>,
}

impl Analyses {
    /// None but what varies between the threads of a warp, as it is known of the function at the epochs `of`.
    pub fn with_uniformity(uniformity: Uniformity, of: Epochs) -> Analyses {
        Analyses { uniformity: Slot(Some(Held { result: Rc::new(uniformity), of })), ..Analyses::default() }
    }

    /// The control-flow graph.
    pub fn cfg(&mut self, func: &Function) -> Rc<Cfg> {
        let now = func.epochs();
        self.cfg.get_or_make(now, Needs::Flow, || Cfg::new(func))
    }

    /// The dominator tree.
    pub fn dominators(&mut self, func: &Function) -> Rc<DomTree> {
        let (cfg, now) = (self.cfg(func), func.epochs());
        self.dominators.get_or_make(now, Needs::Flow, || DomTree::dominators(&cfg))
    }

    /// The post-dominator tree.
    pub fn post_dominators(&mut self, func: &Function) -> Rc<DomTree> {
        let (cfg, now) = (self.cfg(func), func.epochs());
        // What ends in an exit is seen in the last instructions.
        self.post_dominators.get_or_make(now, Needs::Code, || post_dominators(func, &cfg))
    }

    /// The natural loops.
    pub fn loops(&mut self, func: &Function) -> Rc<LoopForest> {
        let (cfg, dominators, now) = (self.cfg(func), self.dominators(func), func.epochs());
        self.loops.get_or_make(now, Needs::Flow, || LoopForest::new(&cfg, &dominators))
    }

    /// Liveness.
    pub fn live(&mut self, func: &Function) -> Rc<Liveness> {
        let (cfg, now) = (self.cfg(func), func.epochs());
        self.live.get_or_make(now, Needs::Code, || Liveness::new(func, &cfg))
    }

    /// What varies between the threads of a warp; `arch` is the function's target, always the same one.
    pub fn uniformity(&mut self, func: &Function, arch: Arch) -> Rc<Uniformity> {
        if let Some(held) = self.uniformity.get(func.epochs(), Needs::Code) {
            return held.clone();
        }
        let (cfg, post_dominators, now) = (self.cfg(func), self.post_dominators(func), func.epochs());
        let live = LazyCell::new(|| self.live.get_or_make(now, Needs::Code, || Liveness::new(func, &cfg)));
        let make = || Uniformity::on_demand(func, arch, &cfg, &post_dominators, &|| &live);
        self.uniformity.get_or_make(now, Needs::Code, make)
    }

    /// Whether work of a name was said to be done on the function as it stands.
    pub fn is_settled(&self, work: &'static str, func: &Function) -> bool {
        let now = func.epochs();
        self.settled.iter().any(|(done, of)| *done == work && Needs::Code.hold(*of, now))
    }

    /// Say that work of a name is done: it would change nothing until something else changes the function.
    pub fn settle(&mut self, work: &'static str, func: &Function) {
        self.settled.retain(|(done, _)| *done != work);
        self.settled.push((work, func.epochs()));
    }

    /// What has changed since the epochs `before` leaves the same registers live at the starts and ends of blocks.
    pub fn keep_live(&mut self, func: &Function, before: Epochs) {
        self.live.keep(Needs::Code, before, func.epochs());
    }

    /// The function stood at the epochs `before` when a pass began that left so much as it was: what held then holds now,
    /// though what the pass kept has been touched.
    pub fn keep(&mut self, kept: Kept, func: &Function, before: Epochs) {
        let now = func.epochs();
        if kept >= Kept::Flow {
            self.cfg.keep(Needs::Flow, before, now);
            self.dominators.keep(Needs::Flow, before, now);
            self.loops.keep(Needs::Flow, before, now);
        }
        if kept == Kept::All {
            self.post_dominators.keep(Needs::Code, before, now);
            self.live.keep(Needs::Code, before, now);
            self.uniformity.keep(Needs::Code, before, now);
            let held = self.settled.iter_mut().filter(|(_, of)| Needs::Code.hold(*of, before));
            held.for_each(|(_, of)| *of = now);
        }
    }

    /// Compute what is held anew and compare: the name of the first analysis that does not hold.
    pub fn stale(&self, func: &Function, arch: Arch) -> Option<&'static str> {
        let mut fresh = Analyses::default();
        let now = func.epochs();
        let blocks = || func.layout().iter().copied();
        if let Some(held) = self.cfg.get(now, Needs::Flow) {
            let cfg = fresh.cfg(func);
            let same = |b: Block| held.succs(b) == cfg.succs(b) && held.preds(b) == cfg.preds(b);
            if held.rpo() != cfg.rpo() || !blocks().all(same) {
                return Some("control-flow graph");
            }
        }
        if let Some(held) = self.dominators.get(now, Needs::Flow) {
            let dominators = fresh.dominators(func);
            if held.preorder() != dominators.preorder() || !blocks().all(|b| held.idom(b) == dominators.idom(b)) {
                return Some("dominators");
            }
        }
        if let Some(held) = self.loops.get(now, Needs::Flow) {
            let loops = fresh.loops(func);
            let header = |all: &LoopForest, b| all.innermost(b).map(|around| all[around].header);
            if !blocks().all(|b| held.depth(b) == loops.depth(b) && header(held, b) == header(&loops, b)) {
                return Some("loops");
            }
        }
        if let Some(held) = self.live.get(now, Needs::Code) {
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
        if let Some(held) = self.uniformity.get(now, Needs::Code) {
            let uniformity = fresh.uniformity(func, arch);
            // What has become the same may still be taken to vary.
            let regs = func.regs().keys().filter(|reg| func[*reg].file() != RegFile::B);
            let mut missed = regs.filter(|reg| uniformity.is_varying(*reg) && !held.is_varying(*reg));
            let mut forks = blocks().filter(|b| uniformity.is_divergent(*b) && !held.is_divergent(*b));
            if missed.next().is_some() || forks.next().is_some() {
                return Some("uniformity");
            }
        }
        None
    }
}
