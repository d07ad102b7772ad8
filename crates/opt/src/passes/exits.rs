//! Part of slot 73: copies that only the code behind a loop needs leave the loop, and many that only one way needs go there.
//!
//! The copies for a MovPhi stand at the ends of its predecessors. Where one of these is in a loop that the MovPhi is
//! not in, they would be made each time round, and copy and original would both live at the loop's end. They go to the edge
//! that leaves the loop, which gets a block for them if there are other ways from and to its ends. So do many copies for one
//! of two ways: on the other they would be made for nothing, and take registers.

use oriole_isa::Opcode;
use oriole_ori::analysis::{Cfg, Component, Liveness, LoopForest};
use oriole_ori::terminator::is_terminator;
use oriole_ori::{Block, BuildError, EntitySet, Function, InstId};
use rustc_hash::{FxHashMap, FxHashSet};

/// So many copies are worth a branch.
const MANY: usize = 6;

/// Move the copies. `cfg` and `loops` must be the function's.
pub(super) fn clear(func: &mut Function, cfg: &Cfg, loops: &LoopForest) -> Result<(), BuildError> {
    let leaves = |from: Block, to: Block| loops.innermost(from).is_some_and(|inner| !loops.contains(inner, to));
    let fewest = |from: Block, to: Block| if leaves(from, to) { 1 } else { MANY };
    let layout = func.layout().to_vec();
    let edges = layout.iter().filter(|from| func.succs(**from).len() == 2);
    let edges = edges.flat_map(|from| func.succs(*from).iter().map(|to| (*from, *to)));
    let edges: Vec<(Block, Block)> =
        edges.filter(|(from, to)| copies(func, *from).count() >= fewest(*from, *to)).collect();
    if edges.is_empty() {
        return Ok(());
    }
    let mut needs = Needs { live: Liveness::new(func, cfg), ways: FxHashMap::default() };
    let mut aside = Vec::new();
    for (from, to) in edges {
        let moved = movable(func, &needs, from, to);
        if moved.len() < fewest(from, to) {
            continue;
        }
        let gone: FxHashSet<InstId> = moved.iter().copied().collect();
        let mut rest = func.edit().take_insts(from);
        rest.retain(|inst| !gone.contains(inst));
        func.edit().set_insts(from, rest);
        let place = if cfg.single_pred(to) == Some(from) { to } else { func.edit().split_edge(from, to)? };
        func.edit().place(place, 0, &moved);
        let read = moved.iter().flat_map(|inst| parts(func, *inst, false)).collect();
        needs.ways.insert(place, Way { to, read });
        // What is branched to stands apart, so that the code of the loop goes on where it did.
        if place != to && func.succs(from).last() != Some(&place) {
            aside.push(place);
        }
    }
    set_aside(func, &aside);
    Ok(())
}

fn set_aside(func: &mut Function, aside: &[Block]) {
    if aside.is_empty() {
        return;
    }
    let mut apart: EntitySet<Block> = EntitySet::new();
    for block in aside {
        apart.insert(*block);
    }
    let layout =
        func.layout().iter().copied().filter(|block| !apart.contains(*block)).chain(aside.iter().copied()).collect();
    func.edit().set_layout(layout);
}

/// The plain copies at the end of a block, the last one first.
fn copies(func: &Function, block: Block) -> impl Iterator<Item = InstId> + '_ {
    let insts = func.block_insts(block).iter().rev().copied().skip_while(|inst| is_terminator(&func[*inst]));
    insts.take_while(|inst| func[*inst].opcode == Opcode::MOV && func[*inst].guard().is_none())
}

/// What is needed where, also while copies move.
struct Needs {
    /// Before any has moved.
    live: Liveness,
    /// Blocks that have got copies.
    ways: FxHashMap<Block, Way>,
}

/// The way that copies have gone.
struct Way {
    /// Where it leads.
    to: Block,
    /// What the copies read.
    read: FxHashSet<Component>,
}

impl Needs {
    /// Whether the code from `block` on may need what stands in a component there.
    fn at(&self, block: Block, part: Component) -> bool {
        let way = self.ways.get(&block);
        let to = way.map_or(block, |way| way.to);
        self.live.is_live_in(to, part.0, part.1) || way.is_some_and(|way| way.read.contains(&part))
    }
}

/// The components that an instruction reads, or those that it writes.
fn parts(func: &Function, inst: InstId, defs: bool) -> Vec<Component> {
    let mut parts = Vec::new();
    let mut add = |mention: oriole_ori::RegRef| parts.extend(mention.components());
    if defs {
        func.for_each_def(inst, &mut add);
    } else {
        func.for_each_use(inst, &mut add);
    }
    parts
}

/// Those that nothing but the code from `to` on needs, in order.
fn movable(func: &Function, needs: &Needs, from: Block, to: Block) -> Vec<InstId> {
    // What the instructions behind the one looked at read and write that stay.
    let (mut read, mut written) = (FxHashSet::<Component>::default(), FxHashSet::<Component>::default());
    let ends = func.block_insts(from).iter().rev().take_while(|inst| is_terminator(&func[**inst]));
    ends.for_each(|inst| read.extend(parts(func, *inst, false)));
    let elsewhere = |part: &Component| func.succs(from).iter().any(|succ| *succ != to && needs.at(*succ, *part));
    let mut moved = Vec::new();
    for inst in copies(func, from) {
        let (uses, defs) = (parts(func, inst, false), parts(func, inst, true));
        let stays = defs.iter().any(|part| elsewhere(part) || read.contains(part) || written.contains(part))
            || uses.iter().any(|part| written.contains(part))
            || defs.is_empty();
        if stays {
            read.extend(uses);
            written.extend(defs);
        } else {
            moved.push(inst);
        }
    }
    moved.reverse();
    moved
}
