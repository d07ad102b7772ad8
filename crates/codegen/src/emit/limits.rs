//! The registers that launch bounds leave a thread.

use oriole_isa::SmDescription;
use oriole_ori::Attributes;

/// The limit for a kernel that has `used` registers: `.maxnreg`, or what each thread can have so that `.minnctapersm`
/// blocks of the most threads fit. A demand for more blocks or threads than there can be counts as one for one block, as
/// ptxas has it. `None` where nothing limits them, or where the kernel takes more all the same.
pub(super) fn registers(attributes: &Attributes, sm: &SmDescription, used: u32) -> Option<u32> {
    if let Some(asked) = attributes.maxnreg {
        return Some(asked.min(oriole_regalloc::MAXIMUM_REGISTERS));
    }
    let [x, y, z] = attributes.reqntid.or(attributes.maxntid)?;
    let threads = x.checked_mul(y)?.checked_mul(z)?;
    let block = threads.div_ceil(sm.warp_size);
    let fits =
        |blocks: &u32| *blocks <= sm.max_ctas && block.checked_mul(*blocks).is_some_and(|all| all <= sm.max_warps);
    let warps = block * attributes.minnctapersm.filter(fits).unwrap_or(1);
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
            (Arch::Sm75, [256, 2, 1], Some(2), Some(64)),
            (Arch::Sm75, [96, 1, 1], Some(3), Some(168)),
            (Arch::Sm75, [64, 1, 1], Some(8), Some(128)),
            (Arch::Sm75, [128, 1, 1], Some(1), None),
            (Arch::Sm75, [128, 1, 1], Some(16), None),
            (Arch::Sm80, [128, 1, 1], Some(16), Some(32)),
            (Arch::Sm86, [128, 1, 1], Some(16), None),
            // Nothing is demanded, or more than there can be: threads, or blocks.
            (Arch::Sm80, [1024, 1, 1], None, Some(64)),
            (Arch::Sm75, [1024, 1, 1], Some(2), Some(64)),
            (Arch::Sm75, [384, 1, 1], Some(6), Some(168)),
            (Arch::Sm80, [32, 1, 1], Some(20), Some(96)),
            (Arch::Sm86, [32, 1, 1], Some(20), None),
        ] {
            let attributes = Attributes { maxntid: Some(threads), minnctapersm: blocks, ..Attributes::default() };
            assert_eq!(registers(&attributes, arch.sm(), 20), limit, "{arch} {threads:?} {blocks:?}");
        }
    }
}
