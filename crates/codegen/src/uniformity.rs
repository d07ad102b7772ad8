//! Over which threads each value is the same, and why not over more: listings of the code as it stands at slot 70.

use crate::by_function::ByFunction;
use crate::session::Session;
use oriole_isa::Arch;
use oriole_opt::pipeline::{Code, PIPELINE};
use oriole_opt::{PhaseError, Watcher};
use oriole_ori::analysis::{Cfg, Liveness, Reason, Sameness, UniformityLevels, post_dominators};
use oriole_ori::text::{commented, inst_text, reg_name};
use oriole_ori::{Block, Function, FunctionKind, InstId, Module};
use oriole_passes::{Changed, Pass, Tally};
use std::collections::BTreeMap;
use std::time::Duration;

/// The slot of OriPropagateVaryingSecond: SSA form is still there, and what follows goes by the answer.
const SLOT: u16 = 70;

/// A function, with over which threads its values are the same.
#[derive(Clone, Debug)]
pub struct UniformityListing {
    /// Name of the function.
    pub function: String,
    /// Whether it is a kernel.
    pub is_kernel: bool,
    /// The function as the text form of Ori has it, each result's state and reason in a comment.
    pub text: String,
    /// The instructions that have results or part threads, in their order.
    pub insts: Vec<UniformityInst>,
}

/// An instruction.
#[derive(Clone, Debug)]
pub struct UniformityInst {
    /// Number of its block.
    pub block: u32,
    /// Its line in the source, where it is known: from 1.
    pub line: Option<u32>,
    /// As the text form of Ori has it.
    pub text: String,
    /// What it writes, by the register's name.
    pub results: Vec<(String, UniformityState)>,
    /// Over which threads all go the same way behind it, where it has several.
    pub branch: Option<UniformityState>,
}

/// Over which threads something is the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UniformityState {
    /// All that agree.
    pub sameness: Sameness,
    /// Why not more, from the first cause back to where the difference begins; nothing where it is the same in the grid.
    pub reasons: Vec<Reason>,
}

impl UniformityState {
    /// The state with its reason, such as "varying: S2R SR_TID.X, line 12".
    pub fn summary(&self) -> String {
        match self.reasons.is_empty() {
            true => self.sameness.to_string(),
            false => format!("{}: {}", self.sameness, Reason::summary(&self.reasons)),
        }
    }
}

impl UniformityListing {
    /// Of a function as it stands.
    pub fn new(func: &Function, arch: Arch) -> Self {
        let cfg = Cfg::new(func);
        let levels = UniformityLevels::new(func, arch, &cfg, &post_dominators(func, &cfg), &Liveness::new(func, &cfg));
        let insts: Vec<(InstId, UniformityInst)> = func
            .iter_insts()
            .map(|(block, inst)| (inst, describe(func, &levels, block, inst)))
            .filter(|(_, inst)| !inst.results.is_empty() || inst.branch.is_some())
            .collect();
        let comments: BTreeMap<InstId, String> = insts.iter().map(|(id, inst)| (*id, comment(inst))).collect();
        UniformityListing {
            function: func.name().to_owned(),
            is_kernel: func.kind() == FunctionKind::Entry,
            text: commented(func, |inst| comments.get(&inst).cloned()).to_string(),
            insts: insts.into_iter().map(|(_, inst)| inst).collect(),
        }
    }
}

fn describe(func: &Function, levels: &UniformityLevels, block: Block, id: InstId) -> UniformityInst {
    let mut results = Vec::new();
    func.for_each_def(id, |result| {
        let state = UniformityState { sameness: levels.of(result.reg), reasons: levels.reasons(func, result.reg) };
        let result = (reg_name(func, result.reg), state);
        // A wide register whose words are written one by one, or both results of an instruction, are one.
        if !results.contains(&result) {
            results.push(result);
        }
    });
    let parts = func.succs(block).len() > 1 && func.block_insts(block).last() == Some(&id);
    let branch = || UniformityState { sameness: levels.of_branch(block), reasons: levels.branch_reasons(func, block) };
    let loc = func[id].loc.expand().and_then(|loc| func.source_locs().get(loc));
    UniformityInst {
        block: block.as_u32(),
        line: loc.map(|loc| loc.line),
        // Without its notes.
        text: inst_text(func, id).split(" ;").next().unwrap_or_default().to_owned(),
        results,
        branch: parts.then(branch),
    }
}

fn comment(inst: &UniformityInst) -> String {
    let results = inst.results.iter().map(|(register, state)| format!("{register} {}", state.summary()));
    let branch = inst.branch.iter().map(|state| format!("branch {}", state.summary()));
    results.chain(branch).collect::<Vec<_>>().join("; ")
}

/// Looks on like a session, and lists each function at the slot.
pub(crate) struct Lister<'s> {
    session: &'s Session<'s>,
    /// The last pass of the level before the slot.
    place: Option<&'static str>,
    found: ByFunction<UniformityListing>,
}

impl<'s> Lister<'s> {
    pub(crate) fn new(session: &'s Session<'s>, level: u8) -> Self {
        let before = PIPELINE.iter().rfind(|pass| pass.level <= level && pass.number() <= SLOT);
        Lister { session, place: before.map(|pass| pass.name), found: ByFunction::default() }
    }

    /// What it has listed, in the order of the module's functions.
    pub(crate) fn take(&self, module: &Module) -> Vec<UniformityListing> {
        self.found.take(module)
    }
}

impl Watcher for Lister<'_> {
    fn after(&self, pass: &Pass<Code>, func: &Function, changed: Changed, time: Option<Duration>, tally: &Tally) {
        self.session.after(pass, func, changed, time, tally);
    }

    fn rewrite(&self, pass: &Pass<Code>, arch: Arch, func: &mut Function) -> Result<Changed, PhaseError> {
        let changed = self.session.rewrite(pass, arch, func)?;
        if Some(pass.name) == self.place {
            let listing = UniformityListing::new(func, arch);
            self.found.insert(func, listing);
        }
        Ok(changed)
    }

    fn is_stopped(&self) -> bool {
        self.session.is_stopped()
    }
}
