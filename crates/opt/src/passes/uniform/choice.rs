//! Which registers become uniform ones: the most for which every instruction that names them has a form.

use super::form::Forms;
use super::places::Places;
use oriole_isa::{Arch, Opcode, RegFile, Role};
use oriole_ori::analysis::{LiveSet, Liveness, LoopForest, Uniformity};
use oriole_ori::{
    BuildError, EntityRef, EntitySet, Function, InstId, OperandKind, PackedOption, RegType, SecondaryMap, Slot, VReg,
};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::rc::Rc;

/// One instruction that names candidates.
pub(super) struct Site {
    pub(super) inst: InstId,
    /// It writes some.
    pub(super) writes: bool,
    /// How often it is executed, about.
    pub(super) weight: f32,
}

/// The registers that may become uniform, and those that shall.
#[derive(Default)]
pub(super) struct Choice {
    /// By register: one that stands for the uniform one.
    pub(super) names: SecondaryMap<VReg, PackedOption<VReg>>,
    /// Instructions that name candidates, in the order of the code.
    pub(super) sites: Vec<Site>,
    /// The candidates that are left.
    pub(super) chosen: Vec<VReg>,
    /// Those of them that are in both files: brought over where they are written.
    pub(super) both: EntitySet<VReg>,
    /// Those of these that stay where they are, and are brought to the uniform datapath by `R2UR`; the others are made there.
    pub(super) bridged: EntitySet<VReg>,
}

/// The uniform register type of a register's, if it has one.
fn twin_type(func: &Function, reg: VReg) -> Option<RegType> {
    let data = &func[reg];
    if data.is_fixed() {
        return None;
    }
    match data.file() {
        RegFile::P => Some(RegType::Up),
        RegFile::R => RegType::of_width(RegFile::UR, data.components).filter(|twin| !twin.is_group()),
        _ => None,
    }
}

/// A register of the twin type.
pub(super) fn twin_of(func: &mut Function, reg: VReg) -> Result<Option<VReg>, BuildError> {
    twin_type(func, reg).map(|twin| func.new_vreg(twin)).transpose()
}

/// The most registers for which everything has a form.
pub(super) fn choose(
    func: &mut Function,
    arch: Arch,
    uniformity: &Uniformity,
    places: &Places,
    loops: &LoopForest,
    mut live: impl FnMut(&Function) -> Rc<Liveness>,
) -> Result<Choice, BuildError> {
    let candidates = candidates(func, uniformity, places);
    if candidates.is_empty() {
        return Ok(Choice::default());
    }
    let mut stand_ins: FxHashMap<RegType, VReg> = FxHashMap::default();
    let mut names: SecondaryMap<VReg, PackedOption<VReg>> = SecondaryMap::new();
    names.resize(func.regs().len());
    for &reg in &candidates {
        let Some(twin) = twin_type(func, reg) else { continue };
        let stand_in = match stand_ins.get(&twin) {
            Some(known) => *known,
            None => *stand_ins.entry(twin).or_insert(func.new_vreg(twin)?),
        };
        names[reg] = stand_in.into();
    }
    let mut solver = Solver::new(func, arch, names, loops);
    solver.run_without_lonely_loads();
    solver.build_bridges();
    // What is given up for want of registers takes others along, never the other way.
    loop {
        let files = solver.files_beyond_room(&candidates);
        if files.is_empty() || !solver.give_up_beyond_room(&live(solver.func), &files) {
            break;
        }
        solver.is_short = true;
        solver.run();
    }
    let Solver { names, sites, both, bridged, .. } = solver;
    let chosen = candidates.into_iter().filter(|reg| names[*reg].is_some()).collect();
    Ok(Choice { names, sites, chosen, both, bridged })
}

/// Registers that are the same in all threads, and are written where a uniform register may be. One that is only marked as undefined
/// gains nothing: lanes that are apart would read what others have in it.
fn candidates(func: &Function, uniformity: &Uniformity, places: &Places) -> Vec<VReg> {
    let mut written = EntitySet::new();
    let mut out: EntitySet<VReg> = EntitySet::new();
    for &reg in func.live_in() {
        out.insert(reg);
    }
    for (block, inst) in func.iter_insts() {
        func.for_each_reg(inst, |mention| {
            let by_call = matches!(mention.slot, Slot::CallArg(_) | Slot::CallResult(_));
            if by_call || mention.is_def && !places.may_write(block, mention.reg) {
                out.insert(mention.reg);
            }
            if mention.is_def && !func[inst].is_undef() {
                written.insert(mention.reg);
            }
        });
    }
    let may = |reg: VReg| !uniformity.is_varying(reg) && !out.contains(reg) && twin_type(func, reg).is_some();
    func.regs().keys().filter(|reg| written.contains(*reg) && may(*reg)).collect()
}

/// Bytes of a line of the constant caches.
const LINE: u32 = 64;

/// Registers that are loaded from a line of constants from which nothing else comes. Before sm_100 a `ULDC` whose line is not
/// there holds up the warp, where an `LDC` lets it go on: one for one register does not pay.
fn lonely_loads(func: &Function, arch: Arch, names: &SecondaryMap<VReg, PackedOption<VReg>>) -> Vec<VReg> {
    if arch != Arch::Sm90 {
        return Vec::new();
    }
    let mut lines: FxHashMap<(u8, u32), (u32, Vec<VReg>)> = FxHashMap::default();
    let loads = func.iter_insts().filter(|(_, id)| matches!(func[*id].opcode, Opcode::LDC | Opcode::ULDC));
    for (_, id) in loads {
        let inst = &func[id];
        let place = inst.operand(Role::Bank).map(|operand| operand.kind());
        let Some(OperandKind::Const { bank, offset }) = place else { continue };
        let line = lines.entry((bank, offset / LINE)).or_default();
        match (inst.opcode, inst.operands.first().and_then(|to| to.as_reg())) {
            (Opcode::ULDC, _) => line.0 += 2,
            (Opcode::LDC, Some(to)) if names[to].is_some() => {
                line.0 += 1;
                line.1.push(to);
            }
            _ => {}
        }
    }
    let mut lonely: Vec<VReg> =
        lines.into_values().filter(|(count, _)| *count < 2).flat_map(|(_, regs)| regs).collect();
    lonely.sort_unstable();
    lonely
}

/// How many uniform registers and predicates may be in use at a time.
#[derive(Clone, Copy)]
struct Room {
    registers: usize,
    predicates: usize,
}

impl Room {
    /// Some of the file are left alone: the descriptor's pair, and gaps before wide values.
    fn of(arch: Arch) -> Room {
        const LEFT: usize = 12;
        const PREDICATES: usize = 5;
        Room { registers: (arch.sm().uniform_registers as usize).saturating_sub(LEFT), predicates: PREDICATES }
    }
}

/// Gives up candidates until every instruction has a form.
pub(super) struct Solver<'f> {
    pub(super) func: &'f Function,
    arch: Arch,
    pub(super) names: SecondaryMap<VReg, PackedOption<VReg>>,
    /// Of all candidates: what has been given up keeps its stand-in here.
    pub(super) stand_ins: SecondaryMap<VReg, PackedOption<VReg>>,
    pub(super) both: EntitySet<VReg>,
    pub(super) bridged: EntitySet<VReg>,
    pub(super) sites: Vec<Site>,
    /// By register: the sites that name it.
    of_reg: oriole_graph::Rows<u32>,
    /// By register: what is won.
    gain: SecondaryMap<VReg, f32>,
    work: Vec<u32>,
    queued: Vec<bool>,
    /// Some have been given up because there are too few registers.
    is_short: bool,
}

impl<'f> Solver<'f> {
    fn new(func: &'f Function, arch: Arch, names: SecondaryMap<VReg, PackedOption<VReg>>, loops: &LoopForest) -> Self {
        let (mut sites, mut mentions) = (Vec::new(), Vec::new());
        let mut gain: SecondaryMap<VReg, f32> = SecondaryMap::new();
        gain.resize(func.regs().len());
        for &block in func.layout() {
            let weight = 10f32.powi(loops.depth(block).min(8) as i32);
            for &inst in func.block_insts(block) {
                let (mut named, mut writes) = (false, false);
                func.for_each_reg(inst, |mention| {
                    if names[mention.reg].is_some() {
                        named = true;
                        writes |= mention.is_def;
                        mentions.push((mention.reg.as_u32(), sites.len() as u32));
                        gain[mention.reg] += weight * won(func, arch, inst, mention.is_def);
                    }
                });
                if named {
                    sites.push(Site { inst, writes, weight });
                }
            }
        }
        let of_reg = oriole_graph::Rows::new(func.regs().len(), mentions.into_iter());
        let (work, queued) = ((0..sites.len() as u32).rev().collect(), vec![true; sites.len()]);
        let stand_ins = names.clone();
        let (both, bridged) = (EntitySet::new(), EntitySet::new());
        Solver { func, arch, names, stand_ins, both, bridged, sites, of_reg, gain, work, queued, is_short: false }
    }

    /// The same, and give up what would be fetched alone from its line of constants ([`lonely_loads`]): at first, and among what is
    /// left then.
    fn run_without_lonely_loads(&mut self) {
        let mut lonely = lonely_loads(self.func, self.arch, &self.names);
        loop {
            lonely.iter().for_each(|reg| self.give_up(*reg));
            self.run();
            lonely = lonely_loads(self.func, self.arch, &self.names);
            if lonely.is_empty() {
                break;
            }
        }
    }

    /// Give up candidates until every instruction has a form.
    pub(super) fn run(&mut self) {
        while let Some(at) = self.work.pop() {
            self.queued[at as usize] = false;
            let Site { inst, writes, .. } = self.sites[at as usize];
            if writes && self.twin_is_there(inst) {
                continue;
            }
            self.give_up_results(inst);
            while !self.reads_well(inst) {
                self.give_up_one(inst);
            }
        }
    }

    pub(super) fn forms(&self) -> Forms<'_> {
        Forms { func: self.func, arch: self.arch, names: &self.names, both: &self.both, bridged: &self.bridged }
    }

    /// Whether the instruction goes to the uniform datapath.
    pub(super) fn twin_is_there(&self, inst: InstId) -> bool {
        self.forms().twin(&self.func[inst]).is_some()
    }

    /// Whether it stays and has a form for the uniform registers that it reads.
    pub(super) fn reads_well(&self, inst: InstId) -> bool {
        let mut reads = false;
        let by_name = |reg: VReg| self.names[reg].is_some() && !self.both.contains(reg);
        self.func.for_each_use(inst, |mention| reads |= by_name(mention.reg));
        !reads || self.forms().reader(&self.func[inst]).is_some()
    }

    fn give_up_results(&mut self, inst: InstId) {
        let mut results = SmallVec::<[VReg; 4]>::new();
        self.func.for_each_def(inst, |mention| {
            if !self.bridged.contains(mention.reg) {
                results.push(mention.reg);
            }
        });
        results.into_iter().for_each(|reg| self.give_up(reg));
    }

    /// Give up the register that an instruction reads and by which the least is lost.
    fn give_up_one(&mut self, inst: InstId) {
        let mut least: Option<VReg> = None;
        self.func.for_each_use(inst, |mention| {
            let reg = mention.reg;
            if self.names[reg].is_some()
                && !self.both.contains(reg)
                && least.is_none_or(|least| self.gain[reg] < self.gain[least])
            {
                least = Some(reg);
            }
        });
        match least {
            // What others are made of is brought back for those that stay for want of room.
            Some(reg) if self.is_short && is_single(self.func, reg) && self.feeds(reg) => {
                self.both.insert(reg);
            }
            least => least.into_iter().for_each(|reg| self.give_up(reg)),
        }
    }

    /// The files in which there would be more registers than there is room for, all together.
    fn files_beyond_room(&self, candidates: &[VReg]) -> SmallVec<[RegFile; 2]> {
        let room = Room::of(self.arch);
        let all = |own: RegFile, twin: RegFile| {
            let uniform = self.func.regs().values().filter(|data| data.file() == own).map(|data| data.components);
            let chosen = candidates.iter().filter(|reg| self.names[**reg].is_some()).map(|reg| &self.func[*reg]);
            uniform
                .chain(chosen.filter(|data| data.file() == twin).map(|data| data.components))
                .map(usize::from)
                .sum::<usize>()
        };
        let files = [(RegFile::UR, RegFile::R, room.registers), (RegFile::UP, RegFile::P, room.predicates)];
        let beyond = |(own, twin, most)| (all(own, twin) > most).then_some(own);
        files.into_iter().filter_map(beyond).collect()
    }

    /// Give up what is in use where more uniform registers would be than there are, those first by which the least is lost; whether there
    /// was any.
    fn give_up_beyond_room(&mut self, live: &Liveness, files: &[RegFile]) -> bool {
        let room = Room::of(self.arch);
        let (func, mut set, mut any) = (self.func, live.empty_set(), false);
        for &block in func.layout() {
            live.walk_back(func, block, &mut set, |_, set| {
                for file in files {
                    any |= self.give_up_at(*file, room, set);
                }
            });
        }
        any
    }

    /// The same where `set` is live.
    fn give_up_at(&mut self, file: RegFile, room: Room, set: &LiveSet<'_>) -> bool {
        let twin = if file == RegFile::UR { RegFile::R } else { RegFile::P };
        let in_file = |solver: &Self, reg: VReg| {
            let own = solver.func[reg].file();
            own == file || own == twin && solver.names[reg].is_some()
        };
        let most = if file == RegFile::UR { room.registers } else { room.predicates };
        if set.len() <= most {
            return false;
        }
        let excess = set.iter().filter(|(reg, _)| in_file(self, *reg)).count().saturating_sub(most);
        if excess == 0 {
            return false;
        }
        let mut movable: Vec<VReg> = set
            .iter()
            .map(|(reg, _)| reg)
            .filter(|reg| self.names[*reg].is_some() && self.func[*reg].file() == twin)
            .collect();
        movable.sort_unstable();
        movable.dedup();
        // What others are made of goes last: they would go along.
        let loss = |reg: VReg| (self.feeds(reg), self.gain[reg]);
        movable.sort_by(|a, b| {
            let ((feeds, gain), (other_feeds, other_gain)) = (loss(*a), loss(*b));
            feeds.cmp(&other_feeds).then(gain.total_cmp(&other_gain))
        });
        movable.iter().take(excess).for_each(|reg| self.give_up(*reg));
        !movable.is_empty()
    }

    /// Whether something on the uniform datapath is made of it.
    fn feeds(&self, reg: VReg) -> bool {
        self.sites_of(reg).any(|site| {
            let Site { inst, writes, .. } = self.sites[site];
            let mut reads = false;
            self.func.for_each_use(inst, |read| reads |= read.reg == reg);
            reads && writes && self.twin_is_there(inst)
        })
    }

    pub(super) fn give_up(&mut self, reg: VReg) {
        if self.names[reg].take().is_some() {
            self.queue(reg);
        }
    }

    /// Try once more with a register that has been given up.
    pub(super) fn take_up(&mut self, reg: VReg) {
        self.names[reg] = self.stand_ins[reg];
        self.queue(reg);
    }

    /// The sites that name a register.
    pub(super) fn sites_of(&self, reg: VReg) -> impl Iterator<Item = usize> + '_ {
        self.of_reg.row(reg.index()).iter().map(|site| *site as usize)
    }

    /// The sites that write it.
    pub(super) fn writers(&self, reg: VReg) -> impl Iterator<Item = usize> + '_ {
        let writes = move |site: &usize| {
            let mut writes = false;
            self.func.for_each_def(self.sites[*site].inst, |mention| writes |= mention.reg == reg);
            writes
        };
        self.sites_of(reg).filter(|site| self.sites[*site].writes).filter(writes)
    }

    /// The instructions that write it.
    pub(super) fn definitions(&self, reg: VReg) -> impl Iterator<Item = InstId> + '_ {
        self.writers(reg).map(|site| self.sites[site].inst)
    }

    /// Whether the instruction of a site has a form as things stand.
    pub(super) fn has_form(&self, site: usize) -> bool {
        let Site { inst, writes, .. } = self.sites[site];
        writes && self.twin_is_there(inst) || self.reads_well(inst)
    }

    fn queue(&mut self, reg: VReg) {
        for &site in self.of_reg.row(reg.index()) {
            if !std::mem::replace(&mut self.queued[site as usize], true) {
                self.work.push(site);
            }
        }
    }
}

/// One general register.
pub(super) fn is_single(func: &Function, reg: VReg) -> bool {
    func[reg].file() == RegFile::R && func[reg].components == 1
}

/// What is won where an instruction names a register and it is a uniform one.
fn won(func: &Function, arch: Arch, inst: InstId, is_def: bool) -> f32 {
    match (func[inst].opcode, is_def) {
        (Opcode::S2R, true) => 3.5,
        (Opcode::LDC, true) if arch <= Arch::Sm90 => 3.0,
        (Opcode::R2UR, false) => 4.0,
        (_, true) => 1.0,
        _ => 0.0,
    }
}

/// The one item that there is.
pub(super) fn single<T>(mut items: impl Iterator<Item = T>) -> Option<T> {
    let first = items.next()?;
    items.next().is_none().then_some(first)
}
