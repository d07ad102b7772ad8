//! Where threads part and meet: the regions of each scope.

use super::scopes::{Exit, Node, Place, Scope, ScopeId, Scopes};
use super::tree::Tree;
use oriole_ori::Block;
use oriole_ori::analysis::Uniformity;
use std::collections::BTreeMap;

/// Number of a region in [`Regions::all`].
pub(super) type RegionId = u32;

/// In place of a scope: the region from the start of a function to its return.
const WHOLE: ScopeId = ScopeId::MAX;

/// A part of a scope from where threads may part (the fork) to where those that stay in it meet again (the join). The fork
/// dominates all of it and the join post-dominates all of it, in the scope's graph.
#[derive(Clone, Debug)]
pub(super) struct Region {
    pub(super) scope: ScopeId,
    /// A block, at whose end the region begins; or a loop, which it holds.
    pub(super) fork: u32,
    pub(super) join: u32,
    /// The region around it in the same scope.
    below: Option<RegionId>,
    /// Some edge leaves it, and the function goes on there.
    pub(super) leaves: bool,
    /// There are calls in it.
    pub(super) calls: bool,
}

/// The regions of one scope, by node.
#[derive(Clone, Debug, Default)]
struct Armed {
    /// The innermost region around the node's start.
    before: Vec<Option<RegionId>>,
    /// The innermost one around the node's end (around all of a loop).
    after: Vec<Option<RegionId>>,
    /// The innermost one around the loop that the scope is.
    around: Option<RegionId>,
    /// Threads may come out of the scope at different times, or by different ways.
    parts: bool,
    /// Nodes where threads part.
    parting: Vec<bool>,
    /// There is a place where threads part without a region of their own.
    incomplete: bool,
}

impl Armed {
    /// Some threads may take this way out of the scope, and others another, or at another time.
    fn leaks(&self, exit: &Exit) -> bool {
        let node = exit.node as usize;
        self.incomplete || self.parting[node] || self.after[node].is_some()
    }
}

/// The regions of a function.
pub(super) struct Regions {
    /// Those of inner loops first; [`Regions::outer_first`] has another order.
    pub(super) all: Vec<Region>,
    /// The region that ends where the function returns.
    pub(super) whole: Option<RegionId>,
    armed: Vec<Armed>,
    /// The regions that begin before a loop or at a block's end, outer ones first.
    forks: BTreeMap<(ScopeId, u32), Vec<RegionId>>,
}

impl Regions {
    /// Draw the regions. Where a call comes back cannot be a join: nothing else leads there (`shape::free_return_points`),
    /// and no threads part at the call.
    pub(super) fn new(scopes: &Scopes, uniformity: &Uniformity) -> Self {
        let armed = vec![Armed::default(); scopes.all.len()];
        let mut regions = Regions { all: Vec::new(), whole: None, armed, forks: BTreeMap::new() };
        // Inner loops first: whether threads come out of them together says whether they part here.
        for id in (0..scopes.all.len() as ScopeId).rev() {
            regions.draw(scopes, id, uniformity);
        }
        regions.nest(scopes);
        regions
    }

    /// Put each loop's regions into those around the loop.
    fn nest(&mut self, scopes: &Scopes) {
        for (id, scope) in scopes.all.iter().enumerate() {
            let around = scope.parent.map_or(self.whole, |place| self.after(place));
            self.armed[id].around = around;
        }
    }

    /// Add a region around all others, whose join is where the function returns.
    pub(super) fn add_whole(&mut self, scopes: &Scopes) {
        self.whole = Some(self.all.len() as RegionId);
        self.all.push(Region { scope: WHOLE, fork: 0, join: 0, below: None, leaves: false, calls: false });
        self.nest(scopes);
    }

    /// Note the calls in the regions around them.
    pub(super) fn add_calls(&mut self, scopes: &Scopes, calls: impl Iterator<Item = Block>) {
        for block in calls {
            let mut at = scopes.home(block).and_then(|place| self.before(place));
            while let Some(region) = at.filter(|region| !self.get(*region).calls) {
                self.all[region as usize].calls = true;
                at = self.around(region);
            }
        }
    }

    /// All regions, outer ones before those inside them.
    pub(super) fn outer_first(&self) -> Vec<RegionId> {
        let mut order: Vec<RegionId> = (0..self.all.len() as RegionId).collect();
        order.sort_by_key(|region| (Some(*region) != self.whole, self.get(*region).scope, *region));
        order
    }

    fn draw(&mut self, scopes: &Scopes, id: ScopeId, uniformity: &Uniformity) {
        let scope = scopes.scope(id);
        let parts = |node: &Node| match node {
            Node::Block(block) => uniformity.is_divergent(*block),
            Node::Loop(inner) => self.armed[*inner as usize].parts,
            Node::Back => false,
        };
        let parting: Vec<bool> = scope.nodes.iter().map(parts).collect();
        let mut armed = Armed::default();
        let drafts = if parting.contains(&true) {
            let can_join = |node: u32| match scope.nodes[node as usize] {
                Node::Block(_) | Node::Back => true,
                Node::Loop(inner) => !scopes.scope(inner).many_entries,
            };
            Graph::new(scope).drafts(&parting, can_join, &mut armed.incomplete)
        } else {
            Vec::new()
        };
        self.arm(id, scope, drafts, &mut armed);
        armed.parting = parting;
        armed.parts = scope.many_entries || scope.exits.iter().any(|exit| armed.leaks(exit));
        self.armed[id as usize] = armed;
    }

    /// Number the regions and note for each node which are around it.
    fn arm(&mut self, id: ScopeId, scope: &Scope, mut drafts: Vec<(u32, u32)>, armed: &mut Armed) {
        let count = scope.nodes.len();
        (armed.before, armed.after) = (vec![None; count], vec![None; count]);
        if drafts.is_empty() {
            return;
        }
        // At one fork the outer region, whose join is further on, comes first.
        drafts.sort_by_key(|(fork, join)| (*fork, std::cmp::Reverse(*join)));
        let dominators = dominators(scope);
        let mut drafts = drafts.into_iter().peekable();
        for node in 0..count as u32 {
            let above = dominators.parent(node);
            let mut top = if above as usize == count { None } else { armed.after[above as usize] };
            // A node is in the regions that its dominator is in, but for those that it is the join of.
            while let Some(region) = top.filter(|region| self.all[*region as usize].join == node) {
                top = self.all[region as usize].below;
            }
            armed.before[node as usize] = top;
            while let Some((fork, join)) = drafts.next_if(|(fork, _)| *fork == node) {
                let region = self.all.len() as RegionId;
                self.all.push(Region { scope: id, fork, join, below: top, leaves: false, calls: false });
                self.forks.entry((id, fork)).or_default().push(region);
                top = Some(region);
            }
            armed.after[node as usize] = top;
        }
    }

    /// The region.
    pub(super) fn get(&self, region: RegionId) -> &Region {
        &self.all[region as usize]
    }

    /// The region around a region.
    pub(super) fn around(&self, region: RegionId) -> Option<RegionId> {
        let Region { below, scope, .. } = self.get(region);
        below.or_else(|| self.armed.get(*scope as usize).and_then(|armed| armed.around))
    }

    /// The innermost region around the start of the block there, in any scope.
    pub(super) fn before(&self, place: Place) -> Option<RegionId> {
        let armed = &self.armed[place.scope as usize];
        armed.before[place.node as usize].or(armed.around)
    }

    /// The innermost region around its end.
    pub(super) fn after(&self, place: Place) -> Option<RegionId> {
        let armed = &self.armed[place.scope as usize];
        armed.after[place.node as usize].or(armed.around)
    }

    /// The regions that begin at the end of the block there, or before the loop there, outer ones first.
    pub(super) fn forks(&self, place: Place) -> &[RegionId] {
        self.forks.get(&(place.scope, place.node)).map_or(&[], Vec::as_slice)
    }

    /// Whether threads part at the top level and may come to the end of the function, or to some part of the top level,
    /// by themselves. `ends`: threads that get to this block end.
    pub(super) fn scatters(&self, scopes: &Scopes, ends: impl Fn(Block) -> bool) -> bool {
        let top = scopes.all.iter().zip(&self.armed).take_while(|(scope, _)| scope.parent.is_none());
        let leaks = |scope: &Scope, armed: &Armed| scope.exits.iter().any(|exit| armed.leaks(exit) && !ends(exit.to));
        top.into_iter().any(|(scope, armed)| armed.incomplete || leaks(scope, armed))
    }
}

/// Dominators of a scope's nodes; the root, whose number is one more than the last node's, stands before all entries.
fn dominators(scope: &Scope) -> Tree {
    let count = scope.nodes.len();
    let root = count as u32;
    let mut tree = Tree::new(count + 1, root);
    for node in 0..count {
        let start = scope.entries[node].then_some(root);
        let above = start.into_iter().chain(scope.preds[node].iter().copied()).reduce(|a, b| tree.common(a, b));
        tree.hang(node as u32, above.unwrap_or(root));
    }
    tree
}

/// Post-dominators of a scope's nodes; the root is the end.
fn post_dominators(scope: &Scope) -> Tree {
    let count = scope.nodes.len();
    let end = count.saturating_sub(1) as u32;
    let mut tree = Tree::new(count, end);
    for node in (0..end).rev() {
        let below = scope.succs[node as usize].iter().copied().reduce(|a, b| tree.common(a, b));
        tree.hang(node, below.unwrap_or(end));
    }
    tree
}

/// No node.
const NONE: u32 = u32::MAX;

/// What drawing the regions of a scope asks of its graph.
struct Graph<'s> {
    scope: &'s Scope,
    dom: Tree,
    post: Tree,
    /// By node: the two members of its dominance frontier whose dominators are highest ([`NONE`]: there is none).
    frontier: Vec<[u32; 2]>,
}

impl<'s> Graph<'s> {
    fn new(scope: &'s Scope) -> Self {
        let frontier = vec![[NONE; 2]; scope.nodes.len()];
        let mut graph = Graph { scope, dom: dominators(scope), post: post_dominators(scope), frontier };
        graph.find_frontiers();
        graph
    }

    fn root(&self) -> u32 {
        self.scope.nodes.len() as u32
    }

    /// The frontier of a node is what its edges and the frontiers of the nodes that it dominates lead to and it does not
    /// dominate itself. Going up, members are lost in the order of their dominators, so two of them are enough to know
    /// whether there is one besides a given node.
    fn find_frontiers(&mut self) {
        for node in (0..self.root()).rev() {
            for at in 0..self.scope.succs[node as usize].len() {
                self.add_frontier(node, self.scope.succs[node as usize][at]);
            }
            let above = self.dom.parent(node);
            for member in self.frontier[node as usize] {
                if above != self.root() && member != NONE {
                    self.add_frontier(above, member);
                }
            }
        }
    }

    fn add_frontier(&mut self, node: u32, member: u32) {
        if self.dom.parent(member) == node {
            return;
        }
        let key = |member: u32| if member == NONE { u32::MAX } else { self.dom.depth(self.dom.parent(member)) };
        let [first, second] = self.frontier[node as usize];
        if member == first || member == second || key(member) >= key(second) && second != NONE {
            return;
        }
        let pair = if first == NONE || key(member) < key(first) { [member, first] } else { [first, member] };
        self.frontier[node as usize] = pair;
    }

    /// Fork and join of every region. `parting`: the nodes where threads part. `incomplete` becomes true where one of them
    /// gets no region.
    fn drafts(&self, parting: &[bool], can_join: impl Fn(u32) -> bool, incomplete: &mut bool) -> Vec<(u32, u32)> {
        // Nodes with the same join share a region if one node that the join post-dominates dominates them.
        let mut groups: BTreeMap<(u32, u32), u32> = BTreeMap::new();
        for node in 0..self.root() {
            let splits = match (&self.scope.nodes[node as usize], &self.scope.succs[node as usize][..]) {
                (_, []) => false,
                // A branch may lead to two entries of one loop.
                (Node::Block(_), [one]) => !can_join(*one),
                _ => true,
            };
            if !parting[node as usize] || !splits {
                continue;
            }
            let mut join = self.post.parent(node);
            while !can_join(join) && self.post.parent(join) != join {
                join = self.post.parent(join);
            }
            if !can_join(join) {
                *incomplete = true;
                continue;
            }
            let highest = self.dom.climb(node, |at| at != self.root() && self.post.is_above(join, at));
            let fork = groups.entry((join, highest)).or_insert(node);
            *fork = self.dom.common(*fork, node);
        }
        let mut drafts = Vec::with_capacity(groups.len());
        for ((join, _), fork) in groups {
            match self.settle(fork, join) {
                Some(fork) => drafts.push((fork, join)),
                None => *incomplete = true,
            }
        }
        drafts
    }

    /// The lowest node at or above `fork` that dominates all that can be reached from it before the join.
    fn settle(&self, mut fork: u32, join: u32) -> Option<u32> {
        loop {
            if fork == self.root() || fork == join || !self.post.is_above(join, fork) {
                return None;
            }
            // Nothing comes in from elsewhere on the way to a node that the fork dominates. Where it does not dominate the
            // join, its frontier tells.
            if self.dom.is_above(fork, join) {
                return Some(fork);
            }
            match self.frontier[fork as usize].into_iter().find(|member| *member != NONE && *member != join) {
                Some(other) => fork = self.dom.parent(other),
                None => return Some(fork),
            }
        }
    }
}
