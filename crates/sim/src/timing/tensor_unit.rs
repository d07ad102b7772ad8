//! Products in tensor memory, and copies to it: one after the other on a unit of the multiprocessor; and the warps' accesses to it.

use oriole_isa::chip::TensorMemory;

/// Quarters of a multiprocessor, each with a part of tensor memory.
const QUARTERS: usize = 4;

/// The unit.
#[derive(Clone, Debug)]
pub(crate) struct TensorUnit {
    figures: TensorMemory,
    /// When the last product or copy leaves the unit.
    free: u64,
    /// When the loads and stores of each quarter do.
    loads: [u64; QUARTERS],
    stores: [u64; QUARTERS],
}

impl TensorUnit {
    /// An idle unit.
    pub(crate) fn new(figures: &TensorMemory) -> Self {
        TensorUnit { figures: figures.clone(), free: 0, loads: [0; QUARTERS], stores: [0; QUARTERS] }
    }

    /// Takes a product or a copy that issues at `now` and lasts `cycles`.
    pub(crate) fn begin(&mut self, now: u64, cycles: u64) {
        self.free = self.free.max(now) + cycles;
    }

    /// When all that was issued until `now` is done.
    pub(crate) fn drained(&self, now: u64) -> u64 {
        if self.free > 0 { now.max(self.free + u64::from(self.figures.drain)) } else { now }
    }

    /// A warp of a quarter loads or stores `registers` registers of each thread from `now` on; when it is done.
    pub(crate) fn access(&mut self, quarter: usize, now: u64, registers: u16, stores: bool) -> u64 {
        let registers = u64::from(registers);
        let (free, cycles, latency) = match stores {
            true => (&mut self.stores[quarter], registers.div_ceil(2), self.figures.store),
            false => (&mut self.loads[quarter], registers, self.figures.load),
        };
        *free = (*free).max(now) + cycles;
        *free + u64::from(latency)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_queue_and_accesses_take_their_registers() {
        let mut unit =
            TensorUnit::new(&TensorMemory { matrix: 4096, matrix_int8: 8192, drain: 180, load: 115, store: 32 });
        assert_eq!(unit.drained(7), 7, "nothing was begun");
        for _ in 0..4 {
            unit.begin(100, 64);
        }
        assert_eq!(unit.drained(110), 100 + 4 * 64 + 180);
        assert_eq!(unit.drained(9000), 9000);
        assert_eq!(unit.access(0, 1000, 64, false), 1000 + 179);
        assert_eq!(unit.access(0, 1000, 64, false), 1000 + 64 + 179, "behind the other of the quarter");
        assert_eq!(unit.access(1, 1000, 128, true), 1000 + 96);
    }
}
