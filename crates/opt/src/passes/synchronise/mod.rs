//! Slot 99: convergence barriers.
//!
//! Threads of a warp that part at a divergent branch, or come out of a loop at different times, meet again at the *join* of
//! a *region*: `BSSY Bn` where the region begins notes the threads, `BSYNC Bn` before the join waits for them, and
//! `BREAK Bn` takes those out that leave the region by another way. `docs/convergence.md` has the scheme and the argument
//! that every barrier that is waited at has been set, and that nobody waits for threads that do not come.
//!
//! | file | |
//! |---|---|
//! | `shape.rs` | gives the function the form that the rest relies on: one return, an entry that is no loop |
//! | `scopes.rs` | the function as nested graphs without cycles |
//! | `tree.rs` | dominator trees of these |
//! | `regions.rs` | where regions begin and end |
//! | `edges.rs` | what happens on each edge |
//! | `number.rs` | which register holds a region's threads |
//! | `insert.rs` | the code |
//! | `alone.rs` | lanes of one mask exchange alone |
//! | `together.rs` | takes out what waits for threads that are there |
//! | `module.rs` | the functions of a module, callees first |

mod alone;
mod edges;
mod insert;
mod module;
mod number;
mod regions;
mod scopes;
mod shape;
pub(crate) mod together;
mod tree;

use crate::{CallBarriers, Changed, PhaseError};
pub(crate) use module::run_all;
use oriole_isa::Arch;
use oriole_ori::analysis::{Analyses, DomTree, Uniformity};
use oriole_ori::{Block, Function, FunctionKind};
use regions::Regions;
use scopes::Scopes;

/// Insert BSSY, BSYNC and BREAK into a function whose calls do that to barriers, and take out the WARPSYNCs that wait for
/// nobody.
///
/// # Errors
/// A limit of the IR.
pub fn run(func: &mut Function, arch: Arch, calls: CallBarriers) -> Result<Changed, PhaseError> {
    synchronise(func, arch, calls).map(|(changed, _)| changed)
}

/// The same, and what varies between the threads of a warp, if somebody asked: barriers change nothing of that, and the blocks
/// that are added for them do not fork.
fn synchronise(
    func: &mut Function,
    arch: Arch,
    calls: CallBarriers,
) -> Result<(Changed, Option<Uniformity>), PhaseError> {
    let changed = shape::free_entry(func)?.or(shape::free_return_points(func)?);
    let mut analyses = Analyses::default();
    let cfg = analyses.cfg(func);
    if cfg.rpo().iter().all(|block| func.succs(*block).len() < 2) {
        let (waits, _) = wait_for_members(func, |_| false)?;
        return Ok((changed.or(waits), None));
    }
    let uniformity = analyses.uniformity(func, arch);
    if !cfg.rpo().iter().any(|block| uniformity.is_divergent(*block)) {
        let holds = !together::change_what_varies(func);
        let (waits, _) = wait_for_members(func, |_| false)?;
        return Ok((changed.or(waits), holds.then(|| (*uniformity).clone())));
    }
    let returns = shape::join_returns(func)?;
    let cfg = analyses.cfg(func);
    let outside = shape::outside(func, returns);
    let scopes = Scopes::new(func, &cfg, &outside);
    let mut regions = Regions::new(&scopes, &uniformity);
    let ends = |block: Block| Some(block) != returns && shape::ends_at_once(func, block);
    if returns.is_some() && regions.scatters(&scopes, ends) {
        regions.add_whole(&scopes);
    }
    regions.add_calls(&scopes, cfg.rpo().iter().copied().filter(|block| shape::calls(func, *block)));
    let crossings = edges::crossings(func, &cfg, &scopes, &regions, returns, ends);
    for region in crossings.iter().flat_map(|crossing| &crossing.leaves) {
        regions.all[*region as usize].leaves = true;
    }
    let kept = number::number(&regions, calls);
    let start = regions.whole.and(returns).and_then(|join| whole_fork(&analyses.dominators(func), &scopes, join));
    let registers = func.regs().len();
    let clears = arch.adds_to_barriers();
    let plan = insert::Plan { scopes: &scopes, regions: &regions, kept: &kept, start, clears };
    let used = insert::insert(func, &plan, &crossings)?;
    let changes = together::change_what_varies(func);
    let (waits, around) = wait_for_members(func, |block| uniformity.is_divergent(block))?;
    if func.kind() != FunctionKind::Entry {
        insert::save_barriers(func, (used | around) & CallBarriers::KEPT)?;
    }
    // What a wait alone has read does not live to where paths meet any more. Barriers that are saved, and those of regions too deep for the file, are in registers of which nothing is known; and where
    // returns were joined, what they give back comes from several ways now.
    let holds = returns.is_none() && !changes && func.regs().len() == registers;
    let known = holds.then(|| (*uniformity).clone());
    Ok((changed.or(waits).or(Changed::when(used != 0)), known))
}

/// Take out the waits that find their members there, and let those that part lanes of different masks bring them back. Gives the barriers that this
/// takes, a bit each. `parts` says of which blocks' ends threads may go different ways.
fn wait_for_members(func: &mut Function, parts: impl Fn(Block) -> bool) -> Result<(Changed, u16), PhaseError> {
    if !together::has_waits(func) {
        return Ok((Changed::No, 0));
    }
    let barrier = number::free(together::barriers_of(func));
    let waits = together::remove_waits(func, barrier.is_some(), parts);
    let around = barrier.map_or(Ok(0), |barrier| alone::meet_behind(func, barrier))?;
    Ok((waits.or(Changed::when(around != 0)), around))
}

/// The lowest block in no loop that all ways to the return pass.
fn whole_fork(dominators: &DomTree, scopes: &Scopes, join: Block) -> Option<Block> {
    let mut fork = dominators.idom(join)?;
    while scopes.home(fork).is_none_or(|place| scopes.scope(place.scope).parent.is_some()) {
        fork = dominators.idom(fork)?;
    }
    Some(fork)
}
