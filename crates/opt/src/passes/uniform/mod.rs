//! Slots 74 and 86: what is the same in all threads of a warp goes to the uniform datapath (`docs/uniform.md`).

mod bridges;
mod choice;
mod copies;
mod form;
mod hold;
mod operands;
mod places;

use crate::passes::dead_code;
use crate::{Changed, Context, PhaseError};
use choice::{Choice, choose, twin_of};
use form::Forms;
use oriole_isa::{Mods, Opcode, Role};
use oriole_ori::analysis::Analyses;
use oriole_ori::{Function, FunctionKind, Inst, InstId, Operand, VReg};
use places::Places;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// What is counted.
pub(crate) const RULES: &[&str] =
    &["to the uniform datapath", "constants brought there", "bridges", "read where they stand first"];
const CONVERTED: usize = 0;
const CONSTANTS: usize = 1;
const BRIDGES: usize = 2;
const COPIES: usize = 3;

/// Convert a kernel.
pub(crate) fn convert(func: &mut Function, context: &Context, analyses: &mut Analyses) -> Result<Changed, PhaseError> {
    if func.kind() != FunctionKind::Entry || !context.tally.is_open() || !context.knobs.is_set("uniform") {
        return Ok(Changed::No);
    }
    // Ahead of all analyses, which do not outlive a change.
    let constants = if context.knobs.is_set("uniform-promotion") { load_constants(func, context) } else { Changed::No };
    let (uniformity, loops) = (analyses.uniformity(func, context.arch), analyses.loops(func));
    let words = operands::split(func, context.arch, &uniformity, &loops)?;
    let split = Changed::when(!words.is_empty());
    let places = convert_chosen(func, context, analyses)?;
    words.restore(func, context.arch);
    let Some(places) = places else { return Ok(split.or(constants)) };
    if copies::forward(func, context, &places) == Changed::Yes {
        dead_code::remove(func, analyses);
    }
    Ok(Changed::Yes)
}

/// Convert the registers for which everything has a form. Gives where uniform registers may be written, unless there are none.
fn convert_chosen(
    func: &mut Function,
    context: &Context,
    analyses: &mut Analyses,
) -> Result<Option<Places>, PhaseError> {
    let arch = context.arch;
    let (cfg, uniformity, loops) = (analyses.cfg(func), analyses.uniformity(func, arch), analyses.loops(func));
    let places = Places::new(func, &uniformity, &cfg, &context.leaving_uniform, || analyses.live(func));
    let Choice { mut names, sites, chosen, both, bridged } =
        choose(func, arch, &uniformity, &places, &loops, |func| analyses.live(func))?;
    if chosen.is_empty() && !names_uniform(func) {
        return Ok(None);
    }
    let live = (!places.regions.is_empty()).then(|| analyses.live(func));
    for &reg in &chosen {
        names[reg] = twin_of(func, reg)?.into();
    }
    for site in sites {
        let mut named = false;
        func.for_each_reg(site.inst, |mention| named |= names[mention.reg].is_some());
        if !named {
            continue;
        }
        let (forms, inst) = (Forms { func, arch, names: &names, both: &both, bridged: &bridged }, &func[site.inst]);
        let twin = if site.writes { forms.twin(inst) } else { None };
        let converted = u32::from(twin.is_some());
        if let Some(new) = twin.or_else(|| forms.reader(inst)) {
            func.edit().replace(site.inst, new);
            context.tally.add(CONVERTED, converted);
        }
    }
    let twin = |reg: VReg| names[reg].expand().filter(|_| both.contains(reg));
    let crossings = chosen.iter().filter_map(|reg| Some((*reg, twin(*reg)?)));
    bridge(
        func,
        context,
        crossings.map(|(reg, twin)| match bridged.contains(reg) {
            true => (reg, Crossing { to: twin, from: reg, opcode: Opcode::R2UR, role: Role::A }),
            false => (twin, Crossing { to: reg, from: twin, opcode: Opcode::MOV, role: Role::B }),
        }),
    );
    if let Some(live) = live {
        hold::hold(func, &places, &context.leaving_uniform, &live, |reg| names[reg].expand());
    }
    Ok(Some(places))
}

/// Whether there are uniform registers that were not converted.
fn names_uniform(func: &Function) -> bool {
    func.regs().values().any(|data| data.reg_type.is_uniform() && !data.is_fixed())
}

/// How a register gets to the other file.
#[derive(Clone, Copy)]
struct Crossing {
    to: VReg,
    from: VReg,
    opcode: Opcode,
    /// Of its source.
    role: Role,
}

/// Bring registers over right where they are written.
fn bridge(func: &mut Function, context: &Context, crossings: impl Iterator<Item = (VReg, Crossing)>) {
    let of: FxHashMap<VReg, Crossing> = crossings.collect();
    if of.is_empty() {
        return;
    }
    for block in func.layout().to_vec() {
        func.edit().rewrite_block(block, |func, inst, list| {
            list.push(inst);
            let mut written = SmallVec::<[Crossing; 2]>::new();
            func.for_each_def(inst, |mention| written.extend(of.get(&mention.reg).copied()));
            for Crossing { to, from, opcode, role } in written {
                let mut new = Inst::neutral(opcode, Mods::new());
                new.set_role(Role::D, Operand::reg(to));
                new.set_role(role, Operand::reg(from));
                new.loc = func[inst].loc;
                list.push(func.edit().add(new));
                context.tally.count(BRIDGES);
            }
        });
    }
}

/// What `R2UR` brings of constants is written there at once.
fn load_constants(func: &mut Function, context: &Context) -> Changed {
    let constant = |(_, id): (_, InstId)| form::constant_move(&func[id]).map(|new| (id, new));
    let moves: Vec<(InstId, Inst)> = func.iter_insts().filter_map(constant).collect();
    context.tally.add(CONSTANTS, moves.len() as u32);
    let changed = Changed::when(!moves.is_empty());
    for (id, new) in moves {
        func.edit().replace(id, new);
    }
    changed
}
