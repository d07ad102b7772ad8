//! The statistics block of `--stats`: what the finished code says of itself.
//!
//! Latencies come from the control words, which the scheduler has made, and from the facts of the chip that stands for
//! the target (`oriole_isa::chip`). A block is followed instruction by instruction: each issues when the stall counts of
//! those before it have passed and the scoreboards that it waits on are free. Paths go forward only, so that a loop
//! counts for one trip, and calls count for their own instructions.

use oriole_codegen::Compiled;
use oriole_isa::chip::{Chip, Unit};
use oriole_isa::{Arch, Family, Inst, Opcode, Pipe, SmDescription};
use oriole_ori::analysis::Cfg;
use oriole_ori::dump::Statistics;
use oriole_ori::{Block, FuncId, Function, FunctionKind, SecondaryMap};
use oriole_sim::{Needs, Occupancy};

/// Scoreboards that a control word can name.
const SCOREBOARDS: usize = 6;

/// The statistics of every function of the module, in its order.
pub(crate) fn of_module(compiled: &Compiled) -> impl Iterator<Item = (FuncId, Statistics)> {
    compiled.module.functions.iter().map(|(id, func)| (id, of_function(compiled, func)))
}

fn of_function(compiled: &Compiled, func: &Function) -> Statistics {
    let arch = compiled.module.arch;
    let mut stats = Statistics::count(func);
    // Every target that code is made for has a chip.
    let Some(chip) = arch.chip() else { return stats };
    let code = Code::new(func, arch, chip);
    stats.tepid = code.steps().filter(|step| step.is_tepid).count();
    let registers = compiled.function_spec(func).map(|spec| spec.registers);
    let registers = registers.unwrap_or(stats.r_registers);
    stats.occupancy = occupancy(func, registers, arch.sm());
    stats.worst_case_latency = code.worst();
    stats.estimated_latency = stats.worst_case_latency as u64;
    let average = code.average();
    stats.average_case_latency = average.cycles;
    let warps = stats.occupancy * f64::from(arch.sm().max_warps) / f64::from(arch.sm().schedulers);
    stats.issue_throughput = (warps * average.issued / average.cycles.max(1.0)).min(average.most_per_cycle());
    stats.fp_throughput = stats.issue_throughput * average.floats / average.issued.max(1.0);
    stats
}

/// Resident warps over the most that the multiprocessor holds. Without a block size in the kernel only its registers are
/// known to limit it.
fn occupancy(func: &Function, registers: u32, sm: &SmDescription) -> f64 {
    let threads = func.attributes().block_threads().filter(|_| func.kind() == FunctionKind::Entry);
    let Some(threads) = threads else {
        return f64::from(sm.warps_by_registers(registers)) / f64::from(sm.max_warps);
    };
    let shared = func.attributes().shared_bytes.saturating_sub(sm.shared_base);
    Occupancy::of(&Needs { threads, registers, shared, cluster: 1 }, sm).theoretical()
}

/// An instruction as far as time goes.
struct Step {
    stall: f64,
    /// Scoreboards that it waits for, one bit each.
    waits: u8,
    write_scoreboard: usize,
    read_scoreboard: usize,
    /// Cycles until its results are there: with every access to memory as slow as can be, and as usual.
    worst: f64,
    typical: f64,
    unit: Unit,
    /// Cycles of the unit.
    busy: f64,
    is_float: bool,
    is_tepid: bool,
}

impl Step {
    fn new(inst: &Inst, chip: &Chip) -> Step {
        let control = inst.control;
        let latency = f64::from(chip.latency(inst));
        let (worst, typical) = if goes_to_cache(inst) {
            (f64::from(chip.dram.latency).max(latency), f64::from(chip.l2.latency).max(latency))
        } else {
            (latency, latency)
        };
        let demand = chip.demand(inst);
        Step {
            stall: f64::from(control.stall.max(1)),
            waits: control.wait_mask,
            write_scoreboard: control.write_scoreboard.into(),
            read_scoreboard: control.read_scoreboard.into(),
            worst,
            typical,
            unit: demand.unit,
            busy: f64::from(demand.cycles),
            is_float: matches!(inst.opcode.info().family, Family::Float | Family::Half | Family::Double),
            is_tepid: inst.opcode.info().pipe == Pipe::Memory && !goes_to_cache(inst) && !is_constant(inst.opcode),
        }
    }
}

/// Reads memory through the caches, or changes it there: hot.
fn goes_to_cache(inst: &Inst) -> bool {
    let info = inst.opcode.info();
    let is_global = matches!(
        inst.opcode,
        Opcode::LDG
            | Opcode::LD
            | Opcode::STG
            | Opcode::ST
            | Opcode::ATOM
            | Opcode::ATOMG
            | Opcode::REDG
            | Opcode::LDGSTS
    );
    is_global || matches!(info.family, Family::Texture | Family::Surface | Family::Async)
}

/// Reads a constant bank: cold.
fn is_constant(opcode: Opcode) -> bool {
    matches!(opcode, Opcode::LDC | Opcode::LDCU | Opcode::ULDC)
}

/// The state on arrival at a point of the code, in cycles from the start of the function.
#[derive(Clone, Copy, Default)]
struct Point {
    cycle: f64,
    /// When each scoreboard is free.
    free: [f64; SCOREBOARDS],
}

impl Point {
    /// After a block's instructions.
    fn after(mut self, steps: &[Step], latency: fn(&Step) -> f64) -> Point {
        for step in steps {
            for (at, free) in self.free.iter().enumerate() {
                if step.waits >> at & 1 != 0 {
                    self.cycle = self.cycle.max(*free);
                }
            }
            let done = self.cycle + latency(step);
            // The number of no scoreboard is out of range.
            for scoreboard in [step.write_scoreboard, step.read_scoreboard] {
                if let Some(free) = self.free.get_mut(scoreboard) {
                    *free = free.max(done);
                }
            }
            self.cycle += step.stall;
        }
        self
    }

    /// Part by part.
    fn with(self, other: Point, merge: impl Fn(f64, f64) -> f64) -> Point {
        let free = std::array::from_fn(|at| merge(self.free[at], other.free[at]));
        Point { cycle: merge(self.cycle, other.cycle), free }
    }
}

/// What is expected of one warp that goes through the function.
#[derive(Default)]
struct Average {
    cycles: f64,
    issued: f64,
    floats: f64,
    /// Cycles that each unit is busy.
    busy: [f64; Unit::COUNT],
}

impl Average {
    /// Instructions that a scheduler can issue a cycle with any number of warps: one, or as many as the busiest unit takes.
    fn most_per_cycle(&self) -> f64 {
        let busiest = self.busy.iter().copied().fold(0.0, f64::max);
        if busiest > self.issued { self.issued / busiest } else { 1.0 }
    }
}

/// A function's blocks in reverse post-order, with the edges that go forward.
struct Code {
    blocks: Vec<(Block, Vec<Step>, Vec<Block>)>,
    /// Quarters that share the memory pipeline.
    schedulers: f64,
}

impl Code {
    fn new(func: &Function, arch: Arch, chip: &Chip) -> Code {
        let cfg = Cfg::new(func);
        let insts = |block: Block| func.block_insts(block).iter().filter(|inst| func.emits_code(**inst));
        // What has no hardware form would have stopped the scheduler.
        let steps = |block| insts(block).filter_map(|inst| func.machine_inst(*inst, |_| 0).ok());
        let blocks = cfg.rpo().iter().map(|&block| {
            let forward = func.succs(block).iter().copied().filter(|succ| !cfg.backedges().contains(&(block, *succ)));
            (block, steps(block).map(|machine| Step::new(&machine.inst, chip)).collect(), forward.collect())
        });
        Code { blocks: blocks.collect(), schedulers: f64::from(arch.sm().schedulers) }
    }

    fn steps(&self) -> impl Iterator<Item = &Step> {
        self.blocks.iter().flat_map(|(_, steps, _)| steps)
    }

    /// Cycles of the longest path, with every access to memory as slow as can be.
    fn worst(&self) -> f64 {
        let mut entries: SecondaryMap<Block, Point> = SecondaryMap::new();
        let mut longest = 0.0f64;
        for (block, steps, forward) in &self.blocks {
            let end = entries[*block].after(steps, |step| step.worst);
            longest = longest.max(end.cycle);
            for succ in forward {
                entries[*succ] = entries[*succ].with(end, f64::max);
            }
        }
        longest
    }

    /// The mean over the paths, each successor of a block as likely as the others.
    fn average(&self) -> Average {
        let mut shares: SecondaryMap<Block, f64> = SecondaryMap::new();
        let mut sums: SecondaryMap<Block, Point> = SecondaryMap::new();
        let mut average = Average::default();
        if let Some((first, ..)) = self.blocks.first() {
            shares[*first] = 1.0;
        }
        for (block, steps, forward) in &self.blocks {
            let share = shares[*block];
            let scale = |sum: f64, by: f64| if by > 0.0 { sum / by } else { 0.0 };
            let entry = sums[*block].with(Point::default(), |sum, _| scale(sum, share));
            let end = entry.after(steps, |step| step.typical);
            self.add(&mut average, share, steps);
            let part = share / forward.len().max(1) as f64;
            for succ in forward {
                shares[*succ] += part;
                sums[*succ] = sums[*succ].with(end, |sum, end| sum + part * end);
            }
            if forward.is_empty() {
                average.cycles += share * end.cycle;
            }
        }
        average
    }

    fn add(&self, average: &mut Average, share: f64, steps: &[Step]) {
        for step in steps {
            average.issued += share;
            average.floats += if step.is_float { share } else { 0.0 };
            let sharers = if matches!(step.unit, Unit::Memory | Unit::Texture) { self.schedulers } else { 1.0 };
            average.busy[step.unit as usize] += share * step.busy * sharers;
        }
    }
}
