//! How many registers a function may use, as ptxas 13.0.88 decides it (measured; docs/regalloc.md, Budget).

use crate::AllocOptions;
use crate::stack::makes_calls;
use oriole_isa::Arch;
use oriole_ori::{Function, FunctionKind};

/// Registers that `.maxnreg` and `--maxrregcount` leave a thread at least, on all targets.
const MINIMUM: u32 = 24;

/// The most that `--maxrregcount` can ask for.
const MAXIMUM: u32 = 255;

/// What a function may use, and what there is to say about it.
#[derive(Clone, Debug, Default)]
pub(crate) struct RegisterLimit {
    /// R registers.
    pub(crate) most: u16,
    /// What the user should know.
    pub(crate) warnings: Vec<String>,
    /// How the limit came about.
    pub(crate) notes: Vec<String>,
}

/// What the launch bounds leave a thread.
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
        let global = options.maxrregcount.map(|asked| limit.global(asked, minimum, arch, options));
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
        limit
    }

    /// What the command line asks for.
    fn global(&mut self, asked: u32, minimum: u32, arch: Arch, options: &AllocOptions) -> u32 {
        if asked > MAXIMUM {
            self.warnings.push(format!("Too big maxrregcount value specified {asked}, will be ignored"));
        }
        self.raise(&format!("profile {arch}"), asked.min(MAXIMUM), minimum, options)
    }

    /// `.maxnreg`.
    fn own(&mut self, func: &Function, minimum: u32, options: &AllocOptions) -> Option<u32> {
        let asked = func.attributes().maxnreg?;
        Some(self.raise(&format!("entry {}", func.name()), asked, minimum, options))
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

/// By how many R registers `func` needs: how many it can use without fewer warps running at a time, and within its limit.
/// A function that others call should not use more than it needs: what it changes its callers lose.
pub fn register_budget(func: &Function, arch: Arch, options: &AllocOptions) -> impl Fn(u32) -> u32 + use<> {
    budget_within(func, arch, RegisterLimit::new(func, arch, options).most)
}

/// The same where the limit is known.
pub(crate) fn budget_within(func: &Function, arch: Arch, limit: u16) -> impl Fn(u32) -> u32 + use<> {
    let is_kernel = func.kind() == FunctionKind::Entry;
    move |needed| if is_kernel { at_same_occupancy(arch, needed) } else { needed }.min(limit.into())
}

/// Most registers per thread with which as many warps run at a time as with `needed`.
fn at_same_occupancy(arch: Arch, needed: u32) -> u32 {
    let sm = arch.sm();
    registers_for_occupancy(arch, sm.warps_by_registers(needed) * sm.warp_size, 1)
}

/// Most registers per thread with which more warps run at a time than with `needed`; `None` where all run.
pub(crate) fn fewer_for_more_warps(arch: Arch, needed: u16) -> Option<u16> {
    let sm = arch.sm();
    let warps = sm.warps_by_registers(needed.into());
    (1..needed).rev().find(|fewer| sm.warps_by_registers((*fewer).into()) > warps)
}
