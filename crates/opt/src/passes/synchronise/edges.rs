//! What happens on each edge: regions left, regions that end, regions that begin before a loop.

use super::regions::{RegionId, Regions};
use super::scopes::{Place, ScopeId, Scopes};
use oriole_ori::analysis::Cfg;
use oriole_ori::{Block, Function};
use smallvec::SmallVec;

/// An edge on which something happens, in this order.
#[derive(Clone, Debug)]
pub(super) struct Crossing {
    pub(super) from: Block,
    pub(super) to: Block,
    /// Regions that threads leave before they are over, inner ones first.
    pub(super) leaves: SmallVec<[RegionId; 2]>,
    /// The region whose join `to` is.
    pub(super) meets: Option<RegionId>,
    /// Regions that begin, outer ones first.
    pub(super) begins: SmallVec<[RegionId; 2]>,
}

/// All such edges, in the order of the layout. `returns`: the block that returns, if it is in no scope; `ends`: threads
/// that get to this block end there, and nobody has to be told.
pub(super) fn crossings(
    func: &Function,
    cfg: &Cfg,
    scopes: &Scopes,
    regions: &Regions,
    returns: Option<Block>,
    ends: impl Fn(Block) -> bool,
) -> Vec<Crossing> {
    let mut found = Vec::new();
    for &from in func.layout().iter().filter(|block| cfg.is_reachable(**block)) {
        let succs = func.succs(from);
        for (_, &to) in succs.iter().enumerate().filter(|(at, to)| !succs[..*at].contains(*to)) {
            let Some(home) = scopes.home(from) else { continue };
            let crossing = match scopes.home(to) {
                Some(_) => inside(scopes, regions, from, to, home),
                None if Some(to) == returns => outward(regions, from, to, home),
                None => continue,
            };
            // Threads that wait before they end have to be taken out of what they have left, too.
            let tells = crossing.meets.is_some() || !ends(to);
            let leaves = if tells { crossing.leaves } else { SmallVec::new() };
            if !leaves.is_empty() || crossing.meets.is_some() || !crossing.begins.is_empty() {
                found.push(Crossing { leaves, ..crossing });
            }
        }
    }
    found
}

/// An edge to the return.
fn outward(regions: &Regions, from: Block, to: Block, home: Place) -> Crossing {
    let leaves = left(regions, home, |_| true);
    Crossing { from, to, leaves, meets: regions.whole, begins: SmallVec::new() }
}

/// An edge between blocks of scopes.
fn inside(scopes: &Scopes, regions: &Regions, from: Block, to: Block, home: Place) -> Crossing {
    let mut entered = Vec::new();
    let common = scopes.common(from, to, &mut entered);
    let begins = entered.iter().rev().flat_map(|place| regions.forks(*place).iter().copied()).collect();
    let Some((start, end)) = common else {
        let leaves = left(regions, home, |_| true);
        return Crossing { from, to, leaves, meets: None, begins };
    };
    let scope = scopes.scope(start.scope);
    let node = if scope.header == Some(to) { scope.nodes.len() as u32 - 1 } else { end.node };
    let is_inner = |other: ScopeId| scopes.scope(other).depth > scope.depth;
    let leaves = left(regions, home, is_inner);
    let meets = regions.after(start).filter(|region| {
        let region = regions.get(*region);
        region.scope == start.scope && region.join == node
    });
    Crossing { from, to, leaves, meets, begins }
}

/// The regions around the end of a block whose scopes are left, inner ones first.
fn left(regions: &Regions, home: Place, is_left: impl Fn(ScopeId) -> bool) -> SmallVec<[RegionId; 2]> {
    let mut leaves = SmallVec::new();
    let mut at = regions.after(home);
    while let Some(region) = at.filter(|at| Some(*at) != regions.whole && is_left(regions.get(*at).scope)) {
        leaves.push(region);
        at = regions.around(region);
    }
    leaves
}
