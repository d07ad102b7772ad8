//! Scoreboards: which one each variable-latency instruction releases, and who waits for which.
//!
//! Every variable-latency instruction gets a scoreboard for its results and one for its sources ([`choice`]). A forward dataflow over the control-flow graph then knows at each point
//! which results and reads are still pending, so that an instruction waits for just those scoreboards
//! that guard registers it touches, on any path. What nobody waits for is not set.
//!
//! Some instructions release a scoreboard for an effect rather than a register ([`COMPLETIONS`]), and the
//! groups of asynchronous copies are counted by a scoreboard of their own ([`GROUPS`]): a function that has
//! such groups gives that one to nobody else.
//!
//! What a control word may carry is the ISA's to say ([`Carries`]). Products of a warpgroup set no scoreboard:
//! `WARPGROUP.DEPBAR`, across which nothing moves, says that they are done. Where an instruction must not wait, a
//! NOP before it does.

mod ahead;
mod choice;

use crate::code::{AWAITED, Accesses, ByRegister, Code, Op, REGISTERS, Reg, mask_of, succs};
use oriole_isa::{Carries, Control, Effects, Opcode};
use oriole_ori::MachineFunction;
use smallvec::SmallVec;

/// Scoreboards of a warp.
const SCOREBOARDS: usize = 6;

/// The scoreboard that counts groups of asynchronous copies: what `DEPBAR.LE SB0, n` of `cp.async.wait_group`
/// and `cp.async.bulk.wait_group` waits for.
const GROUPS: u8 = 0;
/// The instructions that end a group, and whether the scoreboard is that of results (else that of sources).
/// Source: control words of ptxas 13.0.88.
const GROUP_ENDS: [(Opcode, bool); 2] = [(Opcode::LDGDEPBAR, true), (Opcode::UTMACMDFLUSH, false)];

/// An effect that later instructions wait for, as if it were a register; numbered after the registers.
#[derive(Clone, Copy)]
enum Completion {
    /// Memory barriers; a fence of the asynchronous proxy waits.
    MemoryBarrier,
    /// Fences of the asynchronous proxy and mbarrier initialisations; whatever has an effect waits.
    Proxy,
    /// A change of how many registers the warp has; everything waits.
    Registers,
}

/// Instructions whose completion others wait for; as a result, or as a source. Source: control words of
/// ptxas 13.0.88.
const COMPLETIONS: [(Opcode, Completion, bool); 4] = [
    (Opcode::MEMBAR, Completion::MemoryBarrier, false),
    (Opcode::FENCE, Completion::Proxy, true),
    (Opcode::SYNCSU, Completion::Proxy, true),
    (Opcode::USETMAXREG, Completion::Registers, true),
];

impl Completion {
    const ALL: [Completion; AWAITED] = [Completion::MemoryBarrier, Completion::Proxy, Completion::Registers];

    /// The number that stands for it among the registers.
    fn reg(self) -> Reg {
        REGISTERS as Reg + self as Reg
    }

    /// Whether `op` waits for it.
    fn is_awaited_by(self, op: &Op) -> bool {
        match self {
            Completion::MemoryBarrier => op.opcode == Opcode::FENCE,
            Completion::Proxy => {
                let effects = [Effects::READS_MEMORY, Effects::WRITES_MEMORY, Effects::SIDE_EFFECT];
                effects.into_iter().any(|effect| op.has(effect))
            }
            Completion::Registers => true,
        }
    }
}

/// One release: an instruction's results, or its sources.
struct Release {
    scoreboard: u8,
    /// Registers that are busy until then.
    regs: SmallVec<[Reg; 4]>,
    /// The registers are still to be written, rather than read.
    is_result: bool,
    needed: bool,
}

/// What one instruction releases: numbers of releases.
#[derive(Clone, Copy, Default)]
struct OwnReleases {
    result: Option<u32>,
    source: Option<u32>,
}

impl OwnReleases {
    fn is_empty(self) -> bool {
        self.result.is_none() && self.source.is_none()
    }
}

struct Assignment {
    releases: Vec<Release>,
    /// Some release is of a [`Completion`].
    has_completions: bool,
    /// By block and instruction.
    own: Vec<Vec<OwnReleases>>,
}

/// Set scoreboards and wait masks of all instructions.
pub(crate) fn assign(code: &mut Code, machine: &mut MachineFunction) {
    let mut assignment = releases(code);
    choice::choose(code, machine, &mut assignment);
    let mut state = Pending::new(&assignment);
    let entry = pending_at_entry(code, machine, &assignment, &mut state);
    let mut before = Vec::new();
    let mut needed = Vec::new();
    for (block, pending) in entry.iter().enumerate() {
        state.set(pending, &assignment.releases);
        for at in 0..code.ops[block].len() {
            let (op, own) = (&code.ops[block][at], assignment.own[block][at]);
            let mask = state.step(&code.accesses, op, own, &assignment.releases, &mut needed);
            if mask != 0 && !code.ops[block][at].carries.contains(Carries::WAIT) {
                before.push((block, at, mask));
            } else {
                code.ops[block][at].control.wait_mask = mask;
            }
            needed.drain(..).for_each(|release| assignment.releases[release as usize].needed = true);
        }
    }
    set_releases(code, &assignment);
    // From the back, so that the places of the others stay.
    for (block, at, wait_mask) in before.into_iter().rev() {
        code.ops[block].insert(at, Op::nop(machine, Control { wait_mask, ..Control::NONE }));
    }
}

/// What each instruction releases. By what is not known yet.
fn releases(code: &Code) -> Assignment {
    let mut releases = Vec::new();
    let own = code.ops.iter().map(|ops| ops.iter().map(|op| releases_of(op, code, &mut releases)).collect()).collect();
    let has_completions = code.ops.iter().flatten().any(|op| completion_of(op).is_some());
    Assignment { releases, has_completions, own }
}

/// The effect of an instruction that others wait for, and whether as a result.
fn completion_of(op: &Op) -> Option<(Completion, bool)> {
    COMPLETIONS
        .iter()
        .find(|(opcode, ..)| *opcode == op.opcode)
        .map(|(_, completion, as_result)| (*completion, *as_result))
}

fn releases_of(op: &Op, code: &Code, releases: &mut Vec<Release>) -> OwnReleases {
    let mut own = OwnReleases::default();
    // Most carry neither.
    if op.leaves || !op.carries.contains(Carries::WRITE) && !op.carries.contains(Carries::READ) {
        return own;
    }
    let mut add = |regs: SmallVec<[Reg; 4]>, is_result: bool| {
        releases.push(Release { scoreboard: 0, regs, is_result, needed: false });
        Some(releases.len() as u32 - 1)
    };
    let mut regs: SmallVec<[Reg; 4]> = code.accesses.uses(op).iter().filter(|u| u.late).map(|u| u.reg).collect();
    let mut results: SmallVec<[Reg; 4]> =
        code.accesses.defs(op).iter().filter(|_| op.variable).map(|d| d.reg).collect();
    if let Some((completion, as_result)) = completion_of(op) {
        if as_result { &mut results } else { &mut regs }.push(completion.reg());
    }
    if !results.is_empty() && op.carries.contains(Carries::WRITE) {
        own.result = add(results, true);
    }
    if !regs.is_empty() && op.carries.contains(Carries::READ) {
        own.source = add(regs, false);
    }
    own
}

/// The releases that are outstanding of one register.
#[derive(Clone, Default)]
struct Busy {
    results: SmallVec<[u32; 2]>,
    sources: SmallVec<[u32; 2]>,
}

impl Busy {
    fn is_empty(&self) -> bool {
        self.results.is_empty() && self.sources.is_empty()
    }

    fn all(&self) -> impl Iterator<Item = u32> + '_ {
        self.results.iter().chain(&self.sources).copied()
    }
}

/// The releases that may be outstanding at a point, by register and scoreboard.
struct Pending {
    by_reg: ByRegister<Busy>,
    by_scoreboard: [Vec<u32>; SCOREBOARDS],
    /// By scoreboard: a superset of the registers that are busy, register `r` at bit `r % 64`.
    busy: [u64; SCOREBOARDS],
    /// By release: whether it is one of them.
    is_pending: Vec<bool>,
    /// Some may be of a [`Completion`].
    has_completions: bool,
}

impl Pending {
    /// None of those of an assignment.
    fn new(assignment: &Assignment) -> Self {
        Pending {
            by_reg: ByRegister::new(),
            by_scoreboard: Default::default(),
            busy: [0; SCOREBOARDS],
            is_pending: vec![false; assignment.releases.len()],
            has_completions: assignment.has_completions,
        }
    }

    /// These and no others.
    fn set(&mut self, pending: &[u32], releases: &[Release]) {
        (0..SCOREBOARDS).for_each(|scoreboard| self.clear(scoreboard, releases));
        pending.iter().for_each(|release| self.add(*release, releases));
    }

    fn add(&mut self, number: u32, releases: &[Release]) {
        if std::mem::replace(&mut self.is_pending[number as usize], true) {
            return;
        }
        let release = &releases[number as usize];
        let scoreboard = usize::from(release.scoreboard);
        self.by_scoreboard[scoreboard].push(number);
        self.busy[scoreboard] |= mask_of(release.regs.iter().copied());
        for reg in &release.regs {
            let busy = self.by_reg.get_mut(*reg);
            if release.is_result { &mut busy.results } else { &mut busy.sources }.push(number);
        }
    }

    /// The scoreboards that `op` waits for, and the releases that the wait covers; then its own are pending.
    fn step(
        &mut self,
        accesses: &Accesses,
        op: &Op,
        own: OwnReleases,
        releases: &[Release],
        needed: &mut Vec<u32>,
    ) -> u8 {
        let busy = self.busy.iter().fold(0, |all, busy| all | busy);
        let may_meet = busy & (op.use_mask | op.def_mask) != 0;
        let may_wait = may_meet || self.has_completions || op.awaits_all;
        let mask = if may_wait { self.wait(accesses, op, may_meet, releases, needed) } else { 0 };
        for number in [own.result, own.source].into_iter().flatten() {
            self.add(number, releases);
        }
        mask
    }

    /// The scoreboards that `op` waits for, and the releases that the wait covers: these are over. `may_meet` where it may touch a
    /// register that is busy.
    fn wait(
        &mut self,
        accesses: &Accesses,
        op: &Op,
        may_meet: bool,
        releases: &[Release],
        needed: &mut Vec<u32>,
    ) -> u8 {
        if may_meet {
            for access in accesses.uses(op) {
                needed.extend(&self.by_reg.get(access.reg).results);
            }
            for access in accesses.defs(op) {
                needed.extend(self.by_reg.get(access.reg).all());
            }
        }
        for completion in Completion::ALL.into_iter().filter(|_| self.has_completions) {
            let pending = self.by_reg.get(completion.reg());
            if !pending.is_empty() && completion.is_awaited_by(op) {
                needed.extend(pending.all());
            }
        }
        if op.awaits_all {
            needed.extend(self.by_scoreboard.iter().flatten());
        }
        let mask = needed.iter().fold(0u8, |mask, r| mask | 1 << releases[*r as usize].scoreboard);
        needed.clear();
        for scoreboard in (0..SCOREBOARDS).filter(|s| mask >> s & 1 == 1) {
            // The wait covers everything that is outstanding there, and later readers rely on that.
            needed.extend(&self.by_scoreboard[scoreboard]);
            self.clear(scoreboard, releases);
        }
        mask
    }

    fn clear(&mut self, scoreboard: usize, releases: &[Release]) {
        let others = |number: &mut u32| usize::from(releases[*number as usize].scoreboard) != scoreboard;
        self.busy[scoreboard] = 0;
        for number in self.by_scoreboard[scoreboard].drain(..) {
            self.is_pending[number as usize] = false;
            // The first release of a register takes out the others of this scoreboard with it.
            for reg in &releases[number as usize].regs {
                let busy = self.by_reg.get_mut(*reg);
                busy.results.retain(others);
                busy.sources.retain(others);
            }
        }
    }

    fn all(&self) -> impl Iterator<Item = u32> + '_ {
        self.by_scoreboard.iter().flatten().copied()
    }
}

/// Releases that may be outstanding at the start of each block: the smallest solution. `state` is for use by the way.
fn pending_at_entry(
    code: &Code,
    machine: &MachineFunction,
    assignment: &Assignment,
    state: &mut Pending,
) -> Vec<Vec<u32>> {
    let releases = &assignment.releases;
    let mut entry: Vec<Vec<u32>> = vec![Vec::new(); code.ops.len()];
    let mut queued = vec![true; code.ops.len()];
    let mut work: Vec<usize> = (0..code.ops.len()).rev().collect();
    // By release: the last edge at whose end it was pending already.
    let mut met_at = vec![0u32; releases.len()];
    let mut edge = 0;
    let mut ignored = Vec::new();
    while let Some(block) = work.pop() {
        queued[block] = false;
        if succs(machine, block).next().is_none() {
            continue;
        }
        state.set(&entry[block], releases);
        for (op, own) in code.ops[block].iter().zip(&assignment.own[block]) {
            ignored.clear();
            state.step(&code.accesses, op, *own, releases, &mut ignored);
        }
        for succ in succs(machine, block) {
            edge += 1;
            entry[succ].iter().for_each(|release| met_at[*release as usize] = edge);
            let known = entry[succ].len();
            entry[succ].extend(state.all().filter(|release| met_at[*release as usize] != edge));
            if entry[succ].len() > known && !queued[succ] {
                queued[succ] = true;
                work.push(succ);
            }
        }
    }
    entry
}

/// Write the scoreboards that somebody waits for.
fn set_releases(code: &mut Code, assignment: &Assignment) {
    let scoreboard = |release: Option<u32>| {
        let release = release.map(|number| &assignment.releases[number as usize]).filter(|r| r.needed);
        release.map_or(Control::NO_SCOREBOARD, |r| r.scoreboard)
    };
    for (ops, owns) in code.ops.iter_mut().zip(&assignment.own) {
        for (op, own) in ops.iter_mut().zip(owns) {
            op.control.write_scoreboard = scoreboard(own.result);
            op.control.read_scoreboard = scoreboard(own.source);
            match GROUP_ENDS.iter().find(|(end, _)| *end == op.opcode) {
                Some((_, true)) => op.control.write_scoreboard = GROUPS,
                Some((_, false)) => op.control.read_scoreboard = GROUPS,
                None => {}
            }
        }
    }
}
