//! How many blocks of a kernel a multiprocessor holds at a time.

use oriole_isa::SmDescription;

/// What limits the number of blocks on a multiprocessor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limiter {
    /// The blocks that it holds.
    Blocks,
    /// The warps that it holds.
    Warps,
    /// Its registers.
    Registers,
    /// Its shared memory.
    SharedMemory,
}

impl Limiter {
    /// Name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Limiter::Blocks => "blocks",
            Limiter::Warps => "warps",
            Limiter::Registers => "registers",
            Limiter::SharedMemory => "shared memory",
        }
    }
}

/// Blocks of a kernel on a multiprocessor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occupancy {
    /// Warps of a block.
    pub warps_per_block: u32,
    /// Blocks that fit as far as each limit goes.
    pub limits: [(Limiter, u32); 4],
    /// Blocks that fit.
    pub blocks: u32,
    /// The limit that is reached first.
    pub limiter: Limiter,
    /// Warps that the multiprocessor could hold.
    pub max_warps: u32,
}

/// What a block needs.
#[derive(Clone, Copy, Debug)]
pub struct Needs {
    /// Threads.
    pub threads: u32,
    /// Registers of a thread.
    pub registers: u32,
    /// Bytes of shared memory, without what the system reserves.
    pub shared: u32,
    /// Blocks of its cluster, which start together.
    pub cluster: u32,
}

impl Needs {
    /// Bytes of shared memory that a block takes in all.
    pub(crate) fn shared_in_all(&self, sm: &SmDescription) -> u32 {
        let all = self.shared.saturating_add(sm.reserved_shared_per_cta);
        all.checked_next_multiple_of(sm.shared_allocation_unit).unwrap_or(u32::MAX)
    }
}

impl Occupancy {
    /// The occupancy of a kernel with these needs, by the rules of NVIDIA's occupancy calculator.
    pub fn of(needs: &Needs, sm: &SmDescription) -> Occupancy {
        let warps_per_block = needs.threads.div_ceil(sm.warp_size).max(1);
        let shared = needs.shared_in_all(sm);
        let limits = [
            (Limiter::Blocks, sm.max_ctas),
            (Limiter::Warps, sm.max_warps.min(sm.max_threads / sm.warp_size) / warps_per_block),
            (Limiter::Registers, sm.warps_by_registers(needs.registers) / warps_per_block),
            (Limiter::SharedMemory, sm.shared_memory.checked_div(shared).unwrap_or(sm.max_ctas)),
        ];
        let (limiter, blocks) = limits.into_iter().min_by_key(|(_, blocks)| *blocks).unwrap_or(limits[0]);
        Occupancy { warps_per_block, limits, blocks, limiter, max_warps: sm.max_warps }
    }

    /// Warps on the multiprocessor, as a share of those that it could hold.
    pub fn theoretical(&self) -> f64 {
        f64::from(self.blocks * self.warps_per_block) / f64::from(self.max_warps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriole_isa::Arch;

    /// Cases whose numbers are those of NVIDIA's occupancy calculator.
    #[test]
    fn published_cases() {
        let case = |arch: Arch, threads, registers, shared| {
            let occupancy = Occupancy::of(&Needs { threads, registers, shared, cluster: 1 }, arch.sm());
            (occupancy.blocks, occupancy.limiter, (occupancy.theoretical() * 1000.0).round() / 10.0)
        };
        assert_eq!(case(Arch::Sm80, 256, 32, 0), (8, Limiter::Warps, 100.0));
        assert_eq!(case(Arch::Sm80, 256, 33, 0), (6, Limiter::Registers, 75.0));
        assert_eq!(case(Arch::Sm80, 256, 128, 0), (2, Limiter::Registers, 25.0));
        assert_eq!(case(Arch::Sm80, 32, 32, 0), (32, Limiter::Blocks, 50.0));
        assert_eq!(case(Arch::Sm80, 128, 32, 48 * 1024), (3, Limiter::SharedMemory, 18.8));
        assert_eq!(case(Arch::Sm80, 1024, 64, 0), (1, Limiter::Registers, 50.0));
        assert_eq!(case(Arch::Sm86, 256, 40, 0), (6, Limiter::Warps, 100.0));
        assert_eq!(case(Arch::Sm86, 1024, 32, 0), (1, Limiter::Warps, 66.7));
        assert_eq!(case(Arch::Sm90, 384, 168, 200 * 1024), (1, Limiter::Registers, 18.8));
    }
}
