//! The function as nested graphs without cycles.
//!
//! A *scope* is the inside of a loop, or a part of the function's top level. Its nodes are blocks and whole inner loops,
//! and its edges are those that stay in it: edges that leave are *exits*, edges to the loop's header lead to the node
//! [`Node::Back`]. So a scope has no cycle, and every node reaches its last one, the *end*.
//!
//! Loops are the strongly connected parts of the scope around them. One that is entered at several blocks (irreducible)
//! gets the first of them in reverse post-order as header, and the others stay entries of its scope.
//!
//! The top level has no header. It is cut into scopes by where threads end up: of its last nodes, the one that most
//! nodes lead to takes all of these, the next one what is left, and so on. An early exit is in a scope of its own so.

use oriole_ori::analysis::Cfg;
use oriole_ori::{Block, EntitySet, Function, SecondaryMap, entry_for_each};
use smallvec::SmallVec;
use std::cmp::Reverse;

/// Ends of the top level that are compared by how many nodes lead there; further ones come in order.
const COMPARED_ENDS: usize = 16;

/// Number of a scope in [`Scopes::all`]; scopes come before those inside them.
pub(super) type ScopeId = u32;

/// What stands at a place of a scope's graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Node {
    /// A block.
    Block(Block),
    /// An inner loop.
    Loop(ScopeId),
    /// The way back to the header.
    Back,
}

/// A node of a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) scope: ScopeId,
    pub(super) node: u32,
}

/// An edge out of a scope.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exit {
    /// The node that it leaves.
    pub(super) node: u32,
    /// The block outside.
    pub(super) to: Block,
}

/// The graph of one scope.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    /// Where the loop stands; `None` at the top level.
    pub(super) parent: Option<Place>,
    /// Loops around its blocks.
    pub(super) depth: u32,
    /// The loop's header; `None` at the top level.
    pub(super) header: Option<Block>,
    /// In topological order; the end is the last.
    pub(super) nodes: Vec<Node>,
    pub(super) succs: Vec<SmallVec<[u32; 2]>>,
    pub(super) preds: Vec<SmallVec<[u32; 2]>>,
    /// Nodes that are entered from outside.
    pub(super) entries: Vec<bool>,
    pub(super) exits: Vec<Exit>,
    /// The loop is entered at more than one block.
    pub(super) many_entries: bool,
}

/// The scopes of a function.
pub(super) struct Scopes {
    pub(super) all: Vec<Scope>,
    home: SecondaryMap<Block, Option<Place>>,
}

/// A loop, or the top level, that is still to be cut.
struct Part {
    parent: Option<Place>,
    /// In reverse post-order.
    blocks: Vec<Block>,
    header: Option<Block>,
}

struct Builder<'f> {
    func: &'f Function,
    cfg: &'f Cfg,
    scopes: Scopes,
    /// By block: one more than the number of the part that it was last found in.
    part: SecondaryMap<Block, u32>,
    /// By block: its node in that part.
    node_of: SecondaryMap<Block, u32>,
    /// Scopes of the top level.
    top: usize,
    search: Search,
}

/// Tarjan's search for strongly connected parts.
#[derive(Default)]
struct Search {
    /// One more than the order of the first visit; 0: not seen.
    order: SecondaryMap<Block, u32>,
    low: SecondaryMap<Block, u32>,
    waiting: EntitySet<Block>,
    clock: u32,
}

impl Scopes {
    /// Cut the function up. Blocks of `outside` are in no scope: edges to them leave the function.
    pub(super) fn new(func: &Function, cfg: &Cfg, outside: &EntitySet<Block>) -> Self {
        let count = func.blocks().len();
        let scopes = Scopes { all: Vec::new(), home: entry_for_each(count) };
        let (part, node_of) = (entry_for_each(count), entry_for_each(count));
        let mut builder = Builder { func, cfg, scopes, part, node_of, top: 0, search: Search::default() };
        let blocks = cfg.rpo().iter().copied().filter(|block| !outside.contains(*block)).collect();
        let mut parts = vec![Part { parent: None, blocks, header: None }];
        let mut number = 0;
        while let Some(part) = parts.get_mut(number) {
            let part = Part { parent: part.parent, blocks: std::mem::take(&mut part.blocks), header: part.header };
            number += 1;
            builder.cut(number as u32, part, &mut parts);
        }
        builder.scopes
    }

    /// Where the block stands.
    pub(super) fn home(&self, block: Block) -> Option<Place> {
        self.home[block]
    }

    /// The scope.
    pub(super) fn scope(&self, id: ScopeId) -> &Scope {
        &self.all[id as usize]
    }

    /// The places of an edge's blocks in the innermost scope that has both; `None` where none does. Loops that the edge
    /// enters are added to `entered`, inner ones first.
    pub(super) fn common(&self, from: Block, to: Block, entered: &mut Vec<Place>) -> Option<(Place, Place)> {
        let (mut a, mut b) = (self.home(from)?, self.home(to)?);
        while a.scope != b.scope {
            if self.scope(a.scope).depth >= self.scope(b.scope).depth && self.scope(a.scope).parent.is_some() {
                a = self.scope(a.scope).parent?;
            } else {
                b = self.scope(b.scope).parent?;
                entered.push(b);
            }
        }
        Some((a, b))
    }
}

impl Builder<'_> {
    /// Make the scope (or scopes, of the top level) of a part; its loops are parts of their own.
    fn cut(&mut self, number: u32, part: Part, parts: &mut Vec<Part>) {
        for &block in &part.blocks {
            self.part[block] = number;
        }
        let mut components = self.components(number, &part);
        components.reverse();
        for (node, component) in components.iter().enumerate() {
            component.iter().for_each(|block| self.node_of[*block] = node as u32);
        }
        let mut raw = self.graph(number, &part, components.len());
        let is_loop = |component: &[Block]| match component {
            [block] => part.header != Some(*block) && self.func.succs(*block).contains(block),
            _ => true,
        };
        let loops: Vec<bool> = components.iter().map(|component| is_loop(component)).collect();
        let places = match part.header {
            Some(_) => {
                raw.nodes = vec![Node::Back; components.len() + 1];
                (raw.parent, raw.header) = (part.parent, part.header);
                raw.depth = part.parent.map_or(0, |place| self.scopes.scope(place.scope).depth + 1);
                let scope = self.scopes.all.len() as ScopeId;
                self.scopes.all.push(raw);
                (0..components.len() as u32).map(|node| Place { scope, node }).collect()
            }
            None => self.split(number, &part.blocks, raw),
        };
        for ((mut component, is_loop), place) in components.into_iter().zip(loops).zip(places) {
            component.sort_by_key(|block| self.cfg.rpo_number(*block));
            let node = match component[..] {
                [block] if !is_loop => {
                    self.scopes.home[block] = Some(place);
                    Node::Block(block)
                }
                // A component has a block, and its first in reverse post-order is entered from outside.
                _ => {
                    let header = component.first().copied();
                    parts.push(Part { parent: Some(place), blocks: component, header });
                    // Parts become scopes in order, after those of the top level.
                    Node::Loop((self.top + parts.len() - 2) as ScopeId)
                }
            };
            self.scopes.all[place.scope as usize].nodes[place.node as usize] = node;
        }
    }

    /// The graph of a part whose strongly connected components are the nodes, and after them `Back` where it has a header.
    fn graph(&self, number: u32, part: &Part, components: usize) -> Scope {
        let count = components + usize::from(part.header.is_some());
        let mut scope = Scope { entries: vec![false; count], ..Scope::default() };
        scope.succs.resize(count, SmallVec::new());
        scope.preds.resize(count, SmallVec::new());
        for &block in &part.blocks {
            let node = self.node_of[block];
            for &succ in self.func.succs(block) {
                if self.part[succ] != number {
                    scope.exits.push(Exit { node, to: succ });
                    continue;
                }
                let to = if part.header == Some(succ) { components as u32 } else { self.node_of[succ] };
                if to != node {
                    scope.succs[node as usize].push(to);
                }
            }
            let is_entry = |pred: &Block| self.cfg.is_reachable(*pred) && self.part[*pred] != number;
            if self.func.entry() == Some(block) || self.cfg.preds(block).iter().any(is_entry) {
                scope.many_entries |= part.header.is_some_and(|header| header != block);
                scope.entries[node as usize] = true;
            }
        }
        for node in 0..count {
            scope.succs[node].sort_unstable();
            scope.succs[node].dedup();
            for at in 0..scope.succs[node].len() {
                let succ = scope.succs[node][at] as usize;
                scope.preds[succ].push(node as u32);
            }
        }
        scope
    }

    /// Cut the top level's graph into scopes by ends; where each node has gone.
    fn split(&mut self, number: u32, blocks: &[Block], raw: Scope) -> Vec<Place> {
        let owner = owners(&raw);
        let mut scopes: Vec<Scope> = Vec::new();
        let mut places: Vec<Place> = Vec::with_capacity(owner.len());
        for &scope in &owner {
            if scopes.len() <= scope {
                scopes.resize(scope + 1, Scope::default());
            }
            places.push(Place { scope: scope as ScopeId, node: scopes[scope].nodes.len() as u32 });
            scopes[scope].nodes.push(Node::Back);
        }
        for (node, place) in places.iter().enumerate() {
            let inside = |at: &&u32| places[**at as usize].scope == place.scope;
            let local = |list: &[u32]| list.iter().filter(inside).map(|at| places[*at as usize].node).collect();
            let scope = &mut scopes[place.scope as usize];
            scope.succs.push(local(&raw.succs[node]));
            scope.preds.push(local(&raw.preds[node]));
            scope.entries.push(raw.entries[node] || !raw.preds[node].iter().all(|at| inside(&at)));
        }
        for exit in raw.exits {
            let place = places[exit.node as usize];
            scopes[place.scope as usize].exits.push(Exit { node: place.node, ..exit });
        }
        for &from in blocks {
            let place = places[self.node_of[from] as usize];
            for &to in self.func.succs(from).iter().filter(|to| self.part[**to] == number) {
                if places[self.node_of[to] as usize].scope != place.scope {
                    scopes[place.scope as usize].exits.push(Exit { node: place.node, to });
                }
            }
        }
        self.top = scopes.len();
        self.scopes.all = scopes;
        places
    }

    /// Strongly connected components, each after those that it leads to; edges to the header do not count.
    fn components(&mut self, number: u32, part: &Part) -> Vec<Vec<Block>> {
        let mut components = Vec::new();
        for &block in &part.blocks {
            self.search.order[block] = 0;
        }
        for &root in &part.blocks {
            if self.search.order[root] == 0 {
                self.search_from(root, number, part.header, &mut components);
            }
        }
        components
    }

    fn search_from(&mut self, root: Block, number: u32, header: Option<Block>, components: &mut Vec<Vec<Block>>) {
        let search = &mut self.search;
        let mut waiting = vec![root];
        let mut stack = vec![(root, 0usize)];
        search.enter(root);
        while let Some((block, next)) = stack.last_mut() {
            let block = *block;
            if let Some(&succ) = self.func.succs(block).get(*next) {
                *next += 1;
                if self.part[succ] != number || header == Some(succ) {
                    continue;
                }
                if search.order[succ] == 0 {
                    search.enter(succ);
                    waiting.push(succ);
                    stack.push((succ, 0));
                } else if search.waiting.contains(succ) {
                    search.low[block] = search.low[block].min(search.order[succ]);
                }
                continue;
            }
            stack.pop();
            if let Some((above, _)) = stack.last() {
                search.low[*above] = search.low[*above].min(search.low[block]);
            }
            if search.low[block] == search.order[block] {
                let at = waiting.iter().rposition(|one| *one == block).unwrap_or(0);
                let component = waiting.split_off(at);
                component.iter().for_each(|one| {
                    search.waiting.remove(*one);
                });
                components.push(component);
            }
        }
    }
}

impl Search {
    fn enter(&mut self, block: Block) {
        self.clock += 1;
        self.order[block] = self.clock;
        self.low[block] = self.clock;
        self.waiting.insert(block);
    }
}

/// By node of the top level: the number of the end that takes it. Every scope has a node.
fn owners(raw: &Scope) -> Vec<usize> {
    let count = raw.succs.len();
    let mut ends: Vec<u32> = (0..count as u32).filter(|node| raw.succs[*node as usize].is_empty()).collect();
    ends.sort_by_key(|end| (Reverse(raw.preds[*end as usize].len()), Reverse(*end)));
    let rest = ends.split_off(ends.len().min(COMPARED_ENDS));
    let mut leads = vec![0u64; count];
    for node in (0..count).rev() {
        let own = ends.iter().position(|end| *end as usize == node).map_or(0, |at| 1 << at);
        leads[node] = raw.succs[node].iter().fold(own, |mask, succ| mask | leads[*succ as usize]);
    }
    let mut owner = vec![usize::MAX; count];
    let mut left: Vec<usize> = (0..ends.len()).collect();
    let mut scopes = 0;
    while !left.is_empty() {
        let mut reached = [0usize; COMPARED_ENDS];
        for (mask, _) in leads.iter().zip(&owner).filter(|(_, owner)| **owner == usize::MAX) {
            left.iter().filter(|at| mask >> **at & 1 != 0).for_each(|at| reached[*at] += 1);
        }
        left.sort_by_key(|at| (reached[*at], Reverse(*at)));
        let Some(best) = left.pop() else { break };
        take(raw, ends[best], scopes, &mut owner);
        scopes += 1;
    }
    for end in rest {
        take(raw, end, scopes, &mut owner);
        scopes += 1;
    }
    owner
}

/// Give `end` and all that leads to it and has no owner yet to a scope.
fn take(raw: &Scope, end: u32, scope: usize, owner: &mut [usize]) {
    let mut work = vec![end];
    while let Some(node) = work.pop() {
        if owner[node as usize] == usize::MAX {
            owner[node as usize] = scope;
            work.extend(raw.preds[node as usize].iter());
        }
    }
}
