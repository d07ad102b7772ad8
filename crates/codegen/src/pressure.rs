//! How many registers hold values at each instruction, and which values make the most of it.
//!
//! Counted are the physical registers of the code as allocation leaves it: in the order in which it was allocated, and with
//! the marks of undefined values, which say where a live range begins that a guarded write seems to continue. R1, which
//! allocation does not give out, does not count. [`final_pressure`] counts the same of the finished code.

use crate::pipeline::Compiled;
use oriole_isa::{Arch, RegFile, SmDescription};
use oriole_ori::analysis::Cfg;
use oriole_ori::text::{inst_text, reg_name};
use oriole_ori::{Block, FuncId, Function, FunctionKind, InstId, PhysRef, RegMask, SecondaryMap};

/// The files that are counted, in the order of all counts.
pub const PRESSURE_FILES: [RegFile; 5] = [RegFile::R, RegFile::UR, RegFile::P, RegFile::UP, RegFile::B];

/// Registers in use of each of [`PRESSURE_FILES`].
pub type PressureCounts = [u32; PRESSURE_FILES.len()];

/// The registers that a function uses, instruction by instruction.
#[derive(Clone, Debug)]
pub struct Pressure {
    /// Name of the function.
    pub function: String,
    /// Whether it is a kernel.
    pub is_kernel: bool,
    /// R registers of a thread as a launch allocates them.
    pub registers: u32,
    /// The instructions in their order.
    pub insts: Vec<PressureInst>,
    /// Where most registers of each file are in use: of files that are not used, nowhere.
    pub peaks: [Option<Peak>; PRESSURE_FILES.len()],
    /// How many warps run at a time by the R registers of a thread: those that matter below and at `registers`, the most
    /// registers first.
    pub steps: Vec<OccupancyStep>,
}

/// An instruction.
#[derive(Clone, Debug)]
pub struct PressureInst {
    /// Number of its block.
    pub block: u32,
    /// Its line in the source, where it is known: from 1.
    pub line: Option<u32>,
    /// As the text form of Ori has it.
    pub text: String,
    /// The registers that hold a value before it or behind it, whichever are more; its results count even where nobody
    /// reads them.
    pub counts: PressureCounts,
}

/// The first instruction at which most registers of a file are in use.
#[derive(Clone, Debug)]
pub struct Peak {
    /// How many.
    pub count: u32,
    /// Place of the instruction in [`Pressure::insts`].
    pub inst: usize,
    /// The registers in use, with what is in them.
    pub values: Vec<LiveValue>,
}

/// What is in a register.
#[derive(Clone, Debug)]
pub struct LiveValue {
    /// Number of the register in its file.
    pub register: u16,
    /// Name in Ori of what was written there last, such as `%R17` or, of a wide value, `%D5`.
    pub name: Option<String>,
    /// The last instruction up to there that writes it; none where it comes from behind, round a loop, or from a caller.
    pub written: Option<usize>,
    /// The first instruction from there on that reads it; none where it is read before, round a loop, or by a caller.
    pub read: Option<usize>,
}

/// With how many registers how many warps run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OccupancyStep {
    /// Most R registers of a thread.
    pub registers: u32,
    /// Warps that run on a multiprocessor at a time, as far as registers limit them.
    pub warps: u32,
    /// Blocks, where the kernel says how large they are.
    pub blocks: Option<u32>,
}

/// What the function uses; `None` where there is none of that number, or [`crate::CompileOptions::pressure`] was not asked for.
pub fn pressure(compiled: &Compiled, id: FuncId) -> Option<Pressure> {
    let func = compiled.allocated.as_ref()?.functions.get(id)?;
    let registers = compiled.function_spec(func).map_or(0, |spec| spec.registers);
    let mut walk = Walk::new(func);
    let live_out = live_out(func);
    for &block in func.layout() {
        walk.block(block, live_out[block]);
    }
    Some(Pressure {
        function: func.name().to_owned(),
        is_kernel: func.kind() == FunctionKind::Entry,
        registers,
        peaks: std::array::from_fn(|file| walk.peak(file)),
        insts: walk.insts,
        steps: steps(func, compiled.module.arch, registers),
    })
}

/// The instructions of a kernel's own code as they stand in the cubin, from its beginning on: 16 bytes each. `None` where
/// there is no function of that number.
///
/// The finished code has no marks of undefined values any more: what is first written under a guard counts from where the
/// register was written before.
pub fn final_pressure(compiled: &Compiled, id: FuncId) -> Option<Vec<PressureInst>> {
    let func = compiled.module.functions.get(id)?;
    let mut walk = Walk::new(func);
    let live_out = live_out(func);
    func.layout().iter().for_each(|block| walk.block(*block, live_out[*block]));
    Some(walk.insts)
}

/// The most registers of each file that hold a value at one instruction of an allocated function.
pub(crate) fn physical_peaks(func: &Function) -> PressureCounts {
    let mut walk = Walk::new(func);
    let live_out = live_out(func);
    func.layout().iter().for_each(|block| walk.block(*block, live_out[*block]));
    walk.most.map(|most| most.count)
}

/// A step for each number of warps, up to as many as run with one step more than `registers`.
fn steps(func: &Function, arch: Arch, registers: u32) -> Vec<OccupancyStep> {
    let sm = arch.sm();
    let size = func.attributes().block_threads().filter(|_| func.kind() == FunctionKind::Entry);
    let threads = size.map(|threads| threads.max(1));
    let step = |registers: u32| {
        let warps = sm.warps_by_registers(registers);
        OccupancyStep { registers, warps, blocks: threads.map(|threads| blocks(threads, warps, sm)) }
    };
    let mut steps: Vec<OccupancyStep> = Vec::new();
    for candidate in (1..=registers.max(1).next_multiple_of(sm.register_granularity)).rev().map(step) {
        let more = |last: &OccupancyStep| match (candidate.blocks, last.blocks) {
            (Some(blocks), Some(before)) => blocks > before,
            _ => candidate.warps > last.warps,
        };
        if steps.last().is_none_or(more) {
            steps.push(candidate);
        }
    }
    steps
}

fn blocks(threads: u32, warps: u32, sm: &SmDescription) -> u32 {
    (warps / threads.div_ceil(sm.warp_size)).min(sm.max_ctas)
}

/// What the instruction reads and writes, of the files that are counted; and whether it writes for certain.
fn accesses(func: &Function, inst: InstId) -> (RegMask, RegMask, bool) {
    let (mut reads, mut writes) = (RegMask::EMPTY, RegMask::EMPTY);
    func.for_each_phys(inst, |access: PhysRef| {
        let mask = if access.is_def { &mut writes } else { &mut reads };
        (access.number..access.number + u16::from(access.count)).for_each(|number| mask.insert(access.file, number));
    });
    for mask in [&mut reads, &mut writes] {
        mask.remove(RegFile::R, 1);
    }
    (reads, writes, func[inst].guard().is_none())
}

/// From the point behind an instruction to the point before it. Gives what is in use behind it with its results, read or not.
fn step_back(live: &mut RegMask, func: &Function, inst: InstId) -> RegMask {
    let (reads, writes, certain) = accesses(func, inst);
    let mut behind = *live;
    behind.union(&writes);
    if certain {
        live.subtract(&writes);
    }
    live.union(&reads);
    behind
}

/// What is live at the end of each block.
fn live_out(func: &Function) -> SecondaryMap<Block, RegMask> {
    let cfg = Cfg::new(func);
    let (mut ins, mut outs): (SecondaryMap<Block, RegMask>, SecondaryMap<Block, RegMask>) = Default::default();
    let mut changed = true;
    while std::mem::take(&mut changed) {
        for &block in cfg.rpo().iter().rev() {
            let mut live = RegMask::EMPTY;
            func.succs(block).iter().for_each(|succ| live.union(&ins[*succ]));
            outs[block] = live;
            for inst in func.block_insts(block).iter().rev() {
                step_back(&mut live, func, *inst);
            }
            changed |= std::mem::replace(&mut ins[block], live) != live;
        }
    }
    outs
}

/// Where the most is found so far of a file.
#[derive(Clone, Copy, Default)]
struct Most {
    count: u32,
    inst: usize,
    live: RegMask,
}

struct Walk<'a> {
    func: &'a Function,
    insts: Vec<PressureInst>,
    ids: Vec<InstId>,
    most: [Most; PRESSURE_FILES.len()],
}

impl<'a> Walk<'a> {
    fn new(func: &'a Function) -> Self {
        Walk { func, insts: Vec::new(), ids: Vec::new(), most: Default::default() }
    }

    /// Count a block's instructions from its end to its start, and put them behind the others.
    fn block(&mut self, block: Block, mut live: RegMask) {
        let func = self.func;
        let start = self.insts.len();
        self.ids.extend(func.block_insts(block).iter().filter(|inst| func.emits_code(**inst)));
        for inst in &self.ids[start..] {
            self.insts.push(describe(func, *inst, block));
        }
        let mut at = self.ids.len();
        for &inst in func.block_insts(block).iter().rev() {
            let behind = step_back(&mut live, func, inst);
            // What marks an undefined value ends a live range all the same.
            if func.emits_code(inst) {
                at -= 1;
                self.note(at, &live);
                self.note(at, &behind);
            }
        }
    }

    /// These registers are live before or behind an instruction.
    fn note(&mut self, at: usize, live: &RegMask) {
        for (file, which) in PRESSURE_FILES.into_iter().enumerate() {
            let count = live.count(which);
            let shown = &mut self.insts[at].counts[file];
            *shown = count.max(*shown);
            let most = &mut self.most[file];
            // Of equals the first in the code: blocks come in order, their instructions from the end.
            let earlier = most.count == count && count > 0 && most.inst > at;
            if most.count < count || earlier {
                *most = Most { count, inst: at, live: *live };
            }
        }
    }

    fn peak(&self, file: usize) -> Option<Peak> {
        let Most { count, inst, live } = self.most[file];
        let file = PRESSURE_FILES[file];
        let numbers = (0..256).filter(|number| live.contains(file, *number));
        let values = numbers.map(|register| self.value(file, register, inst)).collect();
        (count > 0).then_some(Peak { count, inst, values })
    }

    /// What is in a register at an instruction.
    fn value(&self, file: RegFile, register: u16, at: usize) -> LiveValue {
        let (ids, func) = (&self.ids, self.func);
        let written = (0..=at).rev().find(|inst| accesses(func, ids[*inst]).1.contains(file, register));
        let read = (at..ids.len()).find(|inst| accesses(func, ids[*inst]).0.contains(file, register));
        let name = written.and_then(|inst| {
            let mut name = None;
            func.for_each_def(ids[inst], |write| {
                let data = &func[write.reg];
                let first = data.physical.filter(|_| data.file() == file);
                let parts = first.map(|first| first..first + u16::from(data.components));
                if parts.is_some_and(|parts| parts.contains(&register)) {
                    name = Some(reg_name(func, write.reg));
                }
            });
            name
        });
        LiveValue { register, name, written, read }
    }
}

fn describe(func: &Function, inst: InstId, block: Block) -> PressureInst {
    let loc = func[inst].loc.expand().and_then(|loc| func.source_locs().get(loc));
    PressureInst {
        block: block.as_u32(),
        line: loc.map(|loc| loc.line),
        // Without its notes.
        text: inst_text(func, inst).split(" ;").next().unwrap_or_default().to_owned(),
        counts: [0; PRESSURE_FILES.len()],
    }
}
