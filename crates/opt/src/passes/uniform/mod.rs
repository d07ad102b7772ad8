//! Slot 74: what is the same in all threads of a warp goes to the uniform datapath.

mod choice;
mod form;
mod places;

use crate::{Changed, Context, PhaseError};
use choice::{Choice, choose, twin_of};
use form::Forms;
use oriole_ori::analysis::Analyses;
use oriole_ori::{Function, FunctionKind, Inst, InstId, Operand};
use places::Places;

/// What is counted.
pub(crate) const RULES: &[&str] = &["to the uniform datapath"];

/// Convert a kernel that calls nothing.
pub(crate) fn convert(func: &mut Function, context: &Context, analyses: &mut Analyses) -> Result<Changed, PhaseError> {
    if func.kind() != FunctionKind::Entry || !context.tally.is_open() || context.knobs.get("uniform") == 0 {
        return Ok(Changed::No);
    }
    let arch = context.arch;
    let (cfg, uniformity, live, loops) =
        (analyses.cfg(func), analyses.uniformity(func, arch), analyses.live(func), analyses.loops(func));
    let places = Places::new(func, &uniformity, &cfg, &live);
    let Choice { mut names, sites, chosen } = choose(func, arch, &uniformity, (&loops, &live), &places)?;
    if chosen.is_empty() {
        return Ok(Changed::No);
    }
    for &reg in &chosen {
        names[reg] = twin_of(func, reg)?.into();
    }
    for site in sites {
        let forms = Forms { func, arch, names: &names };
        let inst = &func[site.inst];
        let named = {
            let mut named = false;
            func.for_each_reg(site.inst, |mention| named |= names[mention.reg].is_some());
            named
        };
        if !named {
            continue;
        }
        let twin = if site.writes { forms.twin(inst) } else { None };
        let moved = twin.is_some();
        if let Some(new) = twin.or_else(|| forms.reader(inst)) {
            func.edit().replace(site.inst, new);
            context.tally.add(0, u32::from(moved));
        }
    }
    hold(func, &places);
    Ok(Changed::Yes)
}

/// Slot 86: what threads hold in uniform registers that have gone another way is held until all are together again.
fn hold(func: &mut Function, places: &Places) {
    let mut analyses = Analyses::default();
    let live = analyses.live(func);
    let mut holds: Vec<(oriole_ori::Block, bool, Vec<Operand>)> = Vec::new();
    for region in &places.regions {
        let writes =
            |block: &oriole_ori::Block| func.block_insts(*block).iter().any(|inst| writes_uniform(func, *inst));
        let calls = |block: &oriole_ori::Block| func.block_insts(*block).iter().any(|inst| func[*inst].call.is_some());
        if !region.iter().any(writes) || region.iter().any(calls) {
            continue;
        }
        let mut held: Vec<_> = region.iter().flat_map(|block| live.uniform_live_in(*block)).collect();
        held.sort_unstable();
        held.dedup();
        held.retain(|(reg, _)| !func[*reg].is_fixed());
        let held: Vec<Operand> = held
            .into_iter()
            .map(|(reg, k)| if func[reg].components == 1 { Operand::reg(reg) } else { Operand::comp(reg, k) })
            .collect();
        if held.is_empty() {
            continue;
        }
        let mut joins = oriole_ori::EntitySet::new();
        for &block in region {
            let succs = func.succs(block);
            if succs.is_empty() {
                holds.push((block, true, held.clone()));
            }
            for succ in succs.iter().filter(|succ| places.is_whole(**succ)) {
                if joins.insert(*succ) {
                    holds.push((*succ, false, held.clone()));
                }
            }
        }
    }
    for (block, at_end, held) in holds {
        let inst = func.edit().add(Inst::hold(&held));
        let at = if at_end { func.block_insts(block).len().saturating_sub(1) } else { 0 };
        func.edit().place(block, at, &[inst]);
    }
}

fn writes_uniform(func: &Function, inst: InstId) -> bool {
    let mut writes = false;
    func.for_each_def(inst, |mention| writes |= func[mention.reg].reg_type.is_uniform());
    writes
}
