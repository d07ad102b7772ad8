//! Definitions before uses: a read that no write of any path reaches is an error.

use super::Verifier;
use crate::analysis::{Cfg, Component, Liveness};
use crate::entity::{Block, InstId};
use crate::function::Function;
use cranelift_entity::SecondaryMap;
use fixedbitset::FixedBitSet;
use oriole_isa::RegFile;
use rustc_hash::FxHashMap;

pub(super) fn check(v: &mut Verifier<'_>) {
    let cfg = v.cfg();
    for (block, inst, component) in undefined_reads(v.func, &cfg) {
        let message = undefined_message(v.func, component);
        v.fail(Some(block), Some(inst), message);
    }
}

/// The published words for a register without value (docs/sources.md, the IR of ptxas).
fn undefined_message(func: &Function, (reg, k): Component) -> String {
    let data = &func[reg];
    let file = match data.file() {
        RegFile::R => "R",
        RegFile::UR => "UR",
        RegFile::P => "P",
        RegFile::UP => "UP",
        RegFile::B => "B",
        RegFile::SB => "SB",
    };
    let number = data.physical.map_or(reg.as_u32(), |base| u32::from(base) + u32::from(k));
    format!("Referencing undefined register: {file}{number}")
}

/// Reads of components that nothing can have written before.
fn undefined_reads(func: &Function, cfg: &Cfg) -> Vec<(Block, InstId, Component)> {
    let Some(entry) = func.entry() else { return Vec::new() };
    let liveness = Liveness::new(func, cfg);
    let suspects: Vec<Component> = liveness.live_in(entry).filter(|(reg, _)| !func.live_in().contains(reg)).collect();
    if suspects.is_empty() {
        return Vec::new();
    }
    let index: FxHashMap<Component, usize> = suspects.iter().enumerate().map(|(i, c)| (*c, i)).collect();
    let defined = may_be_defined(func, cfg, &index);
    let mut found = Vec::new();
    for &block in cfg.rpo() {
        let mut now = defined[block].clone();
        for &inst in func.block_insts(block) {
            if !func[inst].is_phi() {
                func.for_each_use(inst, |r| {
                    let missing = r.components().find(|c| index.get(c).is_some_and(|i| !now.contains(*i)));
                    found.extend(missing.map(|component| (block, inst, component)));
                });
            }
            define(func, inst, &index, &mut now);
        }
    }
    found
}

fn define(func: &Function, inst: InstId, index: &FxHashMap<Component, usize>, now: &mut FixedBitSet) {
    func.for_each_def(inst, |r| {
        for k in r.range.clone() {
            if let Some(i) = index.get(&(r.reg, k)) {
                now.insert(*i);
            }
        }
    });
}

/// For each block, the suspects that some path to it has written.
fn may_be_defined(func: &Function, cfg: &Cfg, index: &FxHashMap<Component, usize>) -> SecondaryMap<Block, FixedBitSet> {
    let mut entry: SecondaryMap<Block, FixedBitSet> =
        SecondaryMap::with_default(FixedBitSet::with_capacity(index.len()));
    let mut exit = entry.clone();
    for &block in cfg.rpo() {
        for &inst in func.block_insts(block) {
            define(func, inst, index, &mut exit[block]);
        }
    }
    let mut changed = true;
    while changed {
        changed = false;
        for &block in cfg.rpo() {
            for pred in cfg.preds(block) {
                entry[block].union_with(&exit[*pred]);
            }
            if !entry[block].is_subset(&exit[block]) {
                let all = entry[block].clone();
                exit[block].union_with(&all);
                changed = true;
            }
        }
    }
    entry
}
