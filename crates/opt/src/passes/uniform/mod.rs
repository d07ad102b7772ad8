//! Slots 74 and 86: what is the same in all threads of a warp goes to the uniform datapath (`docs/uniform.md`).

mod choice;
mod form;
mod hold;
mod places;

use crate::{Changed, Context, PhaseError};
use choice::{Choice, choose, twin_of};
use form::Forms;
use oriole_ori::analysis::Analyses;
use oriole_ori::{Function, FunctionKind, InstId};
use places::Places;

/// What is counted.
pub(crate) const RULES: &[&str] = &["to the uniform datapath", "constants brought there"];
const CONVERTED: usize = 0;
const CONSTANTS: usize = 1;

/// Convert a kernel.
pub(crate) fn convert(func: &mut Function, context: &Context, analyses: &mut Analyses) -> Result<Changed, PhaseError> {
    if func.kind() != FunctionKind::Entry || !context.tally.is_open() || context.knobs.get("uniform") == 0 {
        return Ok(Changed::No);
    }
    let arch = context.arch;
    let constants = load_constants(func, context);
    let (cfg, uniformity, live, loops) =
        (analyses.cfg(func), analyses.uniformity(func, arch), analyses.live(func), analyses.loops(func));
    let places = Places::new(func, &uniformity, &cfg, &live);
    let Choice { mut names, sites, chosen } = choose(func, arch, &uniformity, (&loops, &live), &places)?;
    if chosen.is_empty() {
        return Ok(constants);
    }
    for &reg in &chosen {
        names[reg] = twin_of(func, reg)?.into();
    }
    for site in sites {
        let mut named = false;
        func.for_each_reg(site.inst, |mention| named |= names[mention.reg].is_some());
        if !named {
            continue;
        }
        let (forms, inst) = (Forms { func, arch, names: &names }, &func[site.inst]);
        let twin = if site.writes { forms.twin(inst) } else { None };
        let converted = u32::from(twin.is_some());
        if let Some(new) = twin.or_else(|| forms.reader(inst)) {
            func.edit().replace(site.inst, new);
            context.tally.add(CONVERTED, converted);
        }
    }
    hold::hold(func, &places);
    Ok(Changed::Yes)
}

/// What `R2UR` brings of constants is written there at once.
fn load_constants(func: &mut Function, context: &Context) -> Changed {
    let all: Vec<InstId> = func.iter_insts().map(|(_, inst)| inst).collect();
    let mut changed = Changed::No;
    for id in all {
        if let Some(new) = form::constant_move(&func[id]) {
            func.edit().replace(id, new);
            context.tally.count(CONSTANTS);
            changed = Changed::Yes;
        }
    }
    changed
}
