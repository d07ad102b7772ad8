//! The registers that launch bounds leave a thread.

use oriole_isa::SmDescription;
use oriole_ori::Attributes;

/// The limit for a kernel that has `used` registers: `.maxnreg`, or what each thread can have so that `.minnctapersm`
/// blocks of the most threads fit. ptxas ignores a demand for more threads than there can be. `None` where nothing limits
/// them, or where the kernel takes more all the same.
pub(super) fn registers(attributes: &Attributes, sm: &SmDescription, used: u32) -> Option<u32> {
    if let Some(asked) = attributes.maxnreg {
        return Some(asked.min(oriole_regalloc::MAXIMUM_REGISTERS));
    }
    let [x, y, z] = attributes.reqntid.or(attributes.maxntid)?;
    let threads = x.checked_mul(y)?.checked_mul(z)?;
    let warps = threads.div_ceil(sm.warp_size).checked_mul(attributes.minnctapersm?)?;
    if warps == 0 || warps > sm.max_warps {
        return None;
    }
    let each = sm.registers / (warps.next_multiple_of(sm.schedulers) * sm.warp_size);
    let each = each - each % sm.register_granularity;
    Some(each).filter(|each| (used..oriole_regalloc::MAXIMUM_REGISTERS).contains(each))
}

#[cfg(test)]
mod tests {
    use super::registers;
    use oriole_isa::Arch;
    use oriole_ori::Attributes;

    /// What ptxas 13.0.88 writes for these bounds.
    #[test]
    fn the_limits_are_those_of_ptxas() {
        for (arch, threads, blocks, limit) in [
            (Arch::Sm75, [256, 2, 1], 2, Some(64)),
            (Arch::Sm75, [96, 1, 1], 3, Some(168)),
            (Arch::Sm75, [64, 1, 1], 8, Some(128)),
            (Arch::Sm75, [128, 1, 1], 1, None),
            (Arch::Sm75, [128, 1, 1], 16, None),
            (Arch::Sm80, [128, 1, 1], 16, Some(32)),
            (Arch::Sm86, [128, 1, 1], 16, None),
        ] {
            let attributes = Attributes { maxntid: Some(threads), minnctapersm: Some(blocks), ..Attributes::default() };
            assert_eq!(registers(&attributes, arch.sm(), 20), limit, "{arch} {threads:?} {blocks}");
        }
    }
}
