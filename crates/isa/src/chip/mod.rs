//! Chips: for each target the one that stands for it in the cycle model, with its multiprocessors, pipes,
//! caches and memory. Limits of a launch are in [`crate::SmDescription`], fixed latencies in
//! [`crate::latency`].

mod description;
mod table;
mod tensor;
mod work;

pub use description::{
    BulkCopies, CONSTANT_LINE, CONSTANT_WAYS, Chip, Dram, FrontEnd, INSTRUCTION_WAYS, L1, L2, L2_WAYS, LINE, Latencies,
    MemoryPipe, Rates, SECTOR, SHARED_BYTES, TensorMemory, Unit,
};
pub use tensor::{TensorProduct, tensor_access};
pub use work::Demand;

use crate::Arch;

impl Arch {
    /// The chip that stands for this target in the cycle model; `None` before Turing, of which the model
    /// has no data.
    pub fn chip(self) -> Option<&'static Chip> {
        table::CHIPS.iter().find(|(arch, _)| *arch == self).map(|(_, chip)| chip)
    }
}
