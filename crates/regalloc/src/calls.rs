//! Copies around calls: what lives across one is somewhere else meanwhile.
//!
//! A value that lives across a call cannot be in the registers that the callee changes, and so nowhere in its life. With
//! copies before and behind the call only the copy is bound so; where value and copy get one register, both copies go.

use crate::AllocError;
use crate::belady::Scene;
use crate::code::FileCode;
use crate::function::Facts;
use crate::graph::PhysicalSet;
use crate::live_set::LiveSet;
use crate::node::{Component, owners};
use oriole_ori::analysis::Cfg;
use oriole_ori::{Block, Function, Inst, InstId, Operand, VReg};
use rustc_hash::FxHashMap;

/// Put copies around all calls that change registers; whether there are any.
pub(crate) fn copy_around(func: &mut Function, facts: &Facts<'_>, lines: &FileCode) -> Result<bool, AllocError> {
    let cfg = &facts.flow.cfg;
    let mut crossing = crossing(&facts.scene(func, lines));
    crossing.retain(|(block, inst, _)| place_behind(func, cfg, *block, *inst).is_some());
    let owner = owners(&lines.nodes);
    let mut around: FxHashMap<InstId, Vec<(Operand, Operand)>> = FxHashMap::default();
    for (_, inst, parts) in &crossing {
        let pairs = around.entry(*inst).or_default();
        for group in parts.chunk_by(|a, b| owner[*a as usize] == owner[*b as usize]) {
            let node = &lines.nodes[owner[group[0] as usize] as usize];
            let meanwhile = func.new_vreg_like(node.vreg)?;
            let piece = |reg: VReg, part: &Component| Operand::piece(reg, (part - node.base) as u8, 1);
            pairs.extend(group.iter().map(|part| (piece(node.vreg, part), piece(meanwhile, part))));
        }
    }
    if around.is_empty() {
        return Ok(false);
    }
    for (block, inst, _) in crossing {
        let (Some(pairs), Some((next, at))) = (around.get(&inst), place_behind(func, cfg, block, inst)) else {
            continue;
        };
        let behind = copies(func, lines, pairs.iter().copied());
        func.edit().place(next, at, &behind);
        let before = func.block_insts(block).iter().rposition(|other| *other == inst).unwrap_or(0);
        let ahead = copies(func, lines, pairs.iter().map(|(value, meanwhile)| (*meanwhile, *value)));
        func.edit().place(block, before, &ahead);
    }
    Ok(true)
}

fn copies(func: &mut Function, lines: &FileCode, pairs: impl Iterator<Item = (Operand, Operand)>) -> Vec<InstId> {
    pairs.map(|(to, from)| func.edit().add(Inst::copy(lines.file, to, from))).collect()
}

/// Where the code goes on behind a call, if it comes from nowhere else: a call at the end of a block returns to the start
/// of the next.
fn place_behind(func: &Function, cfg: &Cfg, block: Block, inst: InstId) -> Option<(Block, usize)> {
    let insts = func.block_insts(block);
    let at = insts.iter().rposition(|other| *other == inst)?;
    if at + 1 < insts.len() {
        return Some((block, at + 1));
    }
    match func.succs(block) {
        [next] => (cfg.single_pred(*next) == Some(block)).then_some((*next, 0)),
        _ => None,
    }
}

/// A call in its block, and the components that live across it, in order.
type Crossing = (Block, InstId, Vec<Component>);

/// By call.
fn crossing(scene: &Scene<'_>) -> Vec<Crossing> {
    let (func, lines) = (scene.func, scene.lines);
    let owner = owners(&lines.nodes);
    let mut set = LiveSet::new(lines.components as usize);
    let mut found = Vec::new();
    for (place, block) in func.layout().iter().enumerate() {
        set.clear();
        scene.live_out(*block).for_each(|component| set.insert(component, 0));
        for access in lines.lines_backwards(place) {
            if !access.line.partly {
                access.writes.iter().flat_map(|write| write.components()).for_each(|part| set.remove(part, 0));
            }
            let changes = |call| lines.clobbers(func, call) != PhysicalSet::default();
            if access.line.call.is_some_and(changes) {
                let free = |part: &Component| !lines.nodes[owner[*part as usize] as usize].fixed;
                let mut parts: Vec<Component> = set.members.iter().copied().filter(free).collect();
                parts.sort_unstable();
                found.push((*block, access.line.inst, parts));
            }
            access.reads.iter().flat_map(|read| read.components()).for_each(|part| set.insert(part, 0));
        }
    }
    found.retain(|(.., parts): &Crossing| !parts.is_empty());
    found
}
