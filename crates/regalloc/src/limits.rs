//! How many registers a function may use, as ptxas 13.0.88 decides it (measured; docs/regalloc.md, Budget).

use crate::AllocOptions;
use crate::counts::RegisterCounts;
use crate::stack::makes_calls;
use oriole_isa::{Arch, KEPT_REGISTERS, RegFile};
use oriole_ori::analysis::Cfg;
use oriole_ori::{Block, FuncId, Function, FunctionKind, RegMask, SecondaryMap, VRegData};

/// Registers that `.maxnreg` and `--maxrregcount` leave a thread at least, on all targets.
const MINIMUM: u32 = 24;

/// Registers that allocation needs beyond those of values: the stack pointer, and gaps before wide ones.
const GAPS: u32 = 8;

/// The most that `--maxrregcount` and `.maxnreg` can ask for.
pub const MAXIMUM: u32 = 255;

/// What a function may use, and what there is to say about it.
#[derive(Clone, Debug, Default)]
pub(crate) struct RegisterLimit {
    /// R registers.
    pub(crate) most: u16,
    /// The same where the kernel or the command line says how many each thread begins with: `.maxnreg`, `.minnctapersm`
    /// with threads, or `--maxrregcount` where there is nothing else.
    pub(crate) asked: Option<u16>,
    /// What the user should know.
    pub(crate) warnings: Vec<String>,
    /// How the limit came about.
    pub(crate) notes: Vec<String>,
}

/// What the launch bounds leave a thread.
#[derive(Clone, Copy)]
struct ByThreads {
    registers: u32,
    /// By how many blocks shall run on a multiprocessor, too.
    with_blocks: bool,
}

/// The register model's table ("Minimum Register Counts") has 16 before sm_90 and 24 from then on. Where arguments and the
/// way back are passed in R4 to R21 fewer do not go.
fn published_minimum(func: &Function, arch: Arch) -> u32 {
    let passes_values = func.kind() != FunctionKind::Entry || makes_calls(func);
    if arch.number() >= 90 || passes_values { MINIMUM } else { 16 }
}

impl RegisterLimit {
    /// The R registers that `func` may use: what the kernel says itself (`.maxnreg`, or `.maxntid` and `.reqntid` with
    /// `.minnctapersm`) goes before `--maxrregcount`.
    pub(crate) fn new(func: &Function, arch: Arch, options: &AllocOptions) -> Self {
        let mut limit = RegisterLimit::default();
        let minimum = if options.published_minimum { published_minimum(func, arch) } else { MINIMUM };
        let for_devices = options.device_maxrregcount.filter(|_| options.object && func.kind() != FunctionKind::Entry);
        let global = for_devices.or(options.maxrregcount).map(|asked| limit.global(asked, minimum, arch, options));
        let own = limit.own(func, minimum, options);
        let threads = limit.by_threads(func, arch);
        let hardware = arch.sm().max_registers_per_thread;
        let most = match (own, threads, global) {
            (Some(own), threads, global) => {
                limit.overrides(global, own, "of .maxnreg");
                own.min(threads.map_or(hardware, |threads| threads.registers))
            }
            (None, Some(threads), global) => {
                if threads.with_blocks {
                    limit.overrides(global, threads.registers, "computed using thread count");
                }
                threads.registers.max(minimum)
            }
            (None, None, Some(global)) => {
                if func.kind() == FunctionKind::Entry {
                    let name = func.name();
                    limit.notes.push(format!(
                        "Overriding maximum register limit 256 for '{name}' with  {global} of maxrregcount option"
                    ));
                }
                global
            }
            (None, None, None) => hardware,
        };
        limit.most = most.min(hardware).min(MAXIMUM) as u16;
        let is_asked = match (own, threads) {
            (Some(_), _) => true,
            (None, Some(threads)) => threads.with_blocks,
            (None, None) => global.is_some(),
        };
        limit.asked = is_asked.then_some(limit.most);
        limit
    }

    /// What the command line asks for.
    fn global(&mut self, asked: u32, minimum: u32, arch: Arch, options: &AllocOptions) -> u32 {
        if asked > MAXIMUM {
            self.warnings.push(format!("Too big maxrregcount value specified {asked}, will be ignored"));
        }
        self.raise(&format!("profile {arch}"), asked.min(MAXIMUM), minimum, options)
    }

    /// `.maxnreg`; what there is where it asks for more, as Triton does.
    fn own(&mut self, func: &Function, minimum: u32, options: &AllocOptions) -> Option<u32> {
        let asked = func.attributes().maxnreg?;
        if asked > MAXIMUM {
            self.warnings.push(format!("Too many maxnreg specified for entry {}, will be ignored", func.name()));
        }
        Some(self.raise(&format!("entry {}", func.name()), asked.min(MAXIMUM), minimum, options))
    }

    fn raise(&mut self, for_what: &str, asked: u32, minimum: u32, options: &AllocOptions) -> u32 {
        if asked < minimum {
            self.warnings.push(if options.published_minimum {
                // Warning 7016, in the register model's words.
                format!("regcount {asked} specified below abi_minimum of {minimum}")
            } else {
                format!("For {for_what} adjusting per thread register count of {asked} to lower bound of {minimum}")
            });
        }
        asked.max(minimum)
    }

    /// What the block size leaves each thread, with so many blocks on a multiprocessor as are asked for.
    fn by_threads(&mut self, func: &Function, arch: Arch) -> Option<ByThreads> {
        let attributes = func.attributes();
        let threads = attributes.block_threads().filter(|threads| *threads > 0)?;
        let mut blocks = attributes.minnctapersm;
        let sm = arch.sm();
        if threads.div_ceil(sm.warp_size).saturating_mul(blocks.unwrap_or(1)) > sm.max_warps {
            self.warnings.push(format!(
                "Value of threads per SM for entry {} is out of range. .minnctapersm will be ignored",
                func.name()
            ));
            blocks = None;
        }
        let registers = registers_for_occupancy(arch, threads, blocks.unwrap_or(1).max(1));
        Some(ByThreads { registers, with_blocks: blocks.is_some() })
    }

    fn overrides(&mut self, global: Option<u32>, own: u32, whence: &str) {
        if let Some(global) = global.filter(|global| *global != own) {
            let note = format!("Overriding global maxrregcount {global} with entry-specific value {own} {whence}");
            self.notes.push(note);
        }
    }
}

/// Most registers per thread with which `blocks` blocks of `threads` threads fit on one SM.
fn registers_for_occupancy(arch: Arch, threads: u32, blocks: u32) -> u32 {
    let sm = arch.sm();
    let warps = threads.div_ceil(sm.warp_size).saturating_mul(blocks).max(1);
    let per_warp = sm.registers / warps / sm.register_allocation_unit * sm.register_allocation_unit;
    (per_warp / sm.warp_size).min(sm.max_registers_per_thread)
}

/// What a level of register usage means for a kernel.
#[derive(Clone, Copy, Debug)]
struct Usage {
    /// So many registers fewer than were needed are tried for the sake of more warps.
    near: u16,
    /// So many steps of occupancy may be lost for an order in which results have time to come.
    steps: u32,
    /// No register is used but those that are needed.
    spares: bool,
}

/// The level where none is asked for.
pub const USUAL_LEVEL: u8 = 5;

/// By `--register-usage-level`. In ptxas lower levels keep optimisations back that cost registers; here it is how near
/// the next step of occupancy has to be, and what the order before allocation may spend.
const USAGE: [Usage; 11] = [
    Usage { near: 48, steps: 0, spares: true },
    Usage { near: 32, steps: 0, spares: true },
    Usage { near: 24, steps: 0, spares: false },
    Usage { near: 16, steps: 0, spares: false },
    Usage { near: 12, steps: 0, spares: false },
    Usage { near: 8, steps: 0, spares: false },
    Usage { near: 4, steps: 0, spares: false },
    Usage { near: 0, steps: 0, spares: false },
    Usage { near: 0, steps: 1, spares: false },
    Usage { near: 0, steps: 2, spares: false },
    Usage { near: 0, steps: 3, spares: false },
];

/// How many R registers a function may name: [`KEPT_REGISTERS`] fewer than its warps have.
#[derive(Clone, Debug)]
pub struct RegisterBudget {
    arch: Arch,
    usage: Usage,
    is_kernel: bool,
    limit: u16,
    /// By block, where the number changes on the way (`setmaxnreg`).
    by_block: Option<SecondaryMap<Block, u16>>,
}

impl RegisterBudget {
    /// Of `function`, whose body is `func`.
    pub fn new(function: FuncId, func: &Function, arch: Arch, counts: &RegisterCounts, options: &AllocOptions) -> Self {
        let by_block = counts.of(function).map(|counts| counts.limits(func, &Cfg::new(func)));
        Self::within(func, arch, RegisterLimit::new(func, arch, options).most, by_block, options)
    }

    /// The same where the limits are known.
    pub(crate) fn within(
        func: &Function,
        arch: Arch,
        most: u16,
        by_block: Option<SecondaryMap<Block, u16>>,
        options: &AllocOptions,
    ) -> RegisterBudget {
        let limit = match &by_block {
            Some(limits) => func.layout().iter().map(|block| limits[*block]).max().unwrap_or(most),
            None => most.saturating_sub(KEPT_REGISTERS as u16),
        };
        let usage = USAGE[usize::from(options.usage_level.unwrap_or(USUAL_LEVEL)).min(USAGE.len() - 1)];
        RegisterBudget { arch, usage, is_kernel: func.kind() == FunctionKind::Entry, limit, by_block }
    }

    /// The most that may be named anywhere.
    pub(crate) fn limit(&self) -> u16 {
        self.limit
    }

    /// The same where it is so in every block.
    pub fn everywhere(&self) -> Option<u16> {
        self.by_block.is_none().then_some(self.limit)
    }

    /// Whether `func` has as many general registers that they may not all find a place, even if all were live at a time.
    pub fn may_be_short(&self, func: &Function) -> bool {
        let general = |data: &VRegData| if data.file() == RegFile::R { u32::from(data.components) } else { 0 };
        let all: u32 = func.regs().values().map(general).sum();
        self.by_block.is_some() || all + GAPS > self.limit.into()
    }

    /// By block, where there are such limits.
    pub(crate) fn by_block(&self) -> Option<&SecondaryMap<Block, u16>> {
        self.by_block.as_ref()
    }

    /// The most that may be named in `block`.
    pub fn in_block(&self, block: Block) -> u32 {
        self.by_block.as_ref().map_or(self.limit, |limits| limits[block]).into()
    }

    /// How many can be used if so many are needed without fewer warps running at a time, and within the limit. A function
    /// that others call should not use more than it needs: what it changes its callers lose. Where the number changes on
    /// the way, the warps have all of it.
    pub fn of(&self, needed: u32) -> u32 {
        let free = match (&self.by_block, self.is_kernel) {
            (Some(_), true) => self.limit.into(),
            (None, true) if self.usage.spares => needed,
            (None, true) => self.with_fewer_warps(needed),
            (_, false) => needed,
        };
        free.min(self.limit.into())
    }

    /// Most registers with which a kernel that calls the function has as many warps as with `needed`, within the limit.
    pub(crate) fn at_same_occupancy(&self, needed: u32) -> u32 {
        self.with_fewer_warps(needed).min(self.limit.into())
    }

    /// Most registers with which as many warps run as with `needed`, but for the steps that may be lost.
    fn with_fewer_warps(&self, needed: u32) -> u32 {
        let same = at_same_occupancy(self.arch, needed + KEPT_REGISTERS);
        let most = (0..self.usage.steps).fold(same, |most, _| at_same_occupancy(self.arch, most + 1));
        most.saturating_sub(KEPT_REGISTERS)
    }

    /// The same with no more than `cap` registers.
    pub fn capped(&self, cap: u16) -> RegisterBudget {
        RegisterBudget { limit: self.limit.min(cap), ..self.clone() }
    }

    /// How many registers a function names that has those in `used`, with those that it leaves out in between.
    pub fn named(used: &RegMask) -> u16 {
        (0..256).rev().find(|number| used.contains(RegFile::R, *number)).map_or(0, |last| last + 1)
    }

    /// Most registers with which more warps run at a time than with so many that are `named`, where more warps are wanted.
    pub fn next_step(&self, named: u16) -> Option<u16> {
        let kept = KEPT_REGISTERS as u16;
        let wanted = self.is_kernel && self.by_block.is_none() && self.usage.near > 0;
        let below = wanted.then(|| fewer_for_more_warps(self.arch, named + kept)).flatten()?;
        below.checked_sub(kept)
    }

    /// With how many registers, not many fewer than are needed, more warps run at a time.
    pub(crate) fn fewer(&self, needed: u16) -> Option<u16> {
        let kept = KEPT_REGISTERS as u16;
        let fewer = (self.is_kernel && self.by_block.is_none()).then(|| fewer_for_more_warps(self.arch, needed + kept));
        let fewer = fewer.flatten().and_then(|fewer| fewer.checked_sub(kept));
        fewer.filter(|fewer| needed - fewer <= self.usage.near)
    }
}

/// Most registers per thread with which as many warps run at a time as with `needed`, all that a warp has.
fn at_same_occupancy(arch: Arch, needed: u32) -> u32 {
    let sm = arch.sm();
    registers_for_occupancy(arch, sm.warps_by_registers(needed) * sm.warp_size, 1)
}

/// Most registers per thread with which more warps run at a time than with `needed`; `None` where all run.
fn fewer_for_more_warps(arch: Arch, needed: u16) -> Option<u16> {
    let sm = arch.sm();
    let warps = sm.warps_by_registers(needed.into());
    (1..needed).rev().find(|fewer| sm.warps_by_registers((*fewer).into()) > warps)
}
