//! How many registers a function may use.

use crate::AllocOptions;
use crate::stack::makes_calls;
use oriole_isa::Arch;
use oriole_ori::{Function, FunctionKind};

/// The smallest limit that a function can be given. The register model's table ("Minimum Register Counts") has 16 before
/// sm_90 and 24 from then on, ptxas 13.0 raises every limit to 24 on all targets. Where arguments and the way back are
/// passed in R4 to R21 fewer do not go; other kernels may have the 16.
fn abi_minimum(func: &Function, arch: Arch) -> u32 {
    let passes_values = func.kind() != FunctionKind::Entry || makes_calls(func);
    if arch.number() >= 90 || passes_values { 24 } else { 16 }
}

/// The R registers that `func` may use, from the command line, `.maxnreg`, `.maxntid` with
/// `.minnctapersm`, and the hardware; and what there is to say about it.
pub(crate) fn register_limit(func: &Function, arch: Arch, options: &AllocOptions) -> (u16, Option<String>) {
    let sm = arch.sm();
    let attributes = func.attributes();
    let minimum = abi_minimum(func, arch);
    let mut limit = sm.max_registers_per_thread;
    let asked = attributes.maxnreg.or(options.maxrregcount);
    let mut warning = None;
    if let Some(asked) = asked {
        if asked < minimum {
            // Warning 7016, in the register model's words.
            warning = Some(format!("regcount {asked} specified below abi_minimum of {minimum}"));
        }
        limit = limit.min(asked.max(minimum));
    }
    let threads = attributes.reqntid.or(attributes.maxntid).map(|[x, y, z]| x.saturating_mul(y).saturating_mul(z));
    if let Some(threads) = threads.filter(|t| *t > 0) {
        let blocks = attributes.minnctapersm.unwrap_or(1).max(1);
        limit = limit.min(registers_for_occupancy(arch, threads, blocks).max(minimum));
    }
    (limit.min(255) as u16, warning)
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
    let (limit, _) = register_limit(func, arch, options);
    let is_kernel = func.kind() == FunctionKind::Entry;
    move |needed| if is_kernel { at_same_occupancy(arch, needed) } else { needed }.min(limit.into())
}

/// Most registers per thread with which as many warps run at a time as with `needed`.
fn at_same_occupancy(arch: Arch, needed: u32) -> u32 {
    let sm = arch.sm();
    registers_for_occupancy(arch, sm.warps_by_registers(needed) * sm.warp_size, 1)
}
