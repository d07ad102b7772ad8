//! What is said of a chip.

/// Execution units: each quarter of a multiprocessor has its own, but for memory and textures, which the four
/// share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Unit {
    /// Integer and logic.
    Alu,
    /// Single precision, integer multiplication, halves.
    FmaHeavy,
    /// Single precision only.
    FmaLite,
    /// Whichever of [`Unit::FmaHeavy`] and [`Unit::FmaLite`] is free.
    Fma,
    /// Halves, where they have a unit of their own.
    Half,
    /// Double precision.
    Fp64,
    /// Transcendental functions and conversions.
    Xu,
    /// Matrices.
    Tensor,
    /// The uniform datapath.
    Uniform,
    /// Branches, barriers, convergence.
    Control,
    /// The memory pipeline, including shuffles.
    Memory,
    /// Textures and surfaces.
    Texture,
}

impl Unit {
    /// Number of units.
    pub const COUNT: usize = Unit::Texture as usize + 1;

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        ["alu", "fmaheavy", "fmalite", "fma", "half", "fp64", "xu", "tensor", "uniform", "control", "lsu", "tex"]
            [self as usize]
    }
}

/// What the cycle model knows of a chip. Cycles are those of the multiprocessor's clock; the sources of the
/// numbers stand beside them in `table.rs`, and `docs/timing.md` lists them.
#[derive(Clone, Debug, PartialEq)]
pub struct Chip {
    /// Its name as a product.
    pub name: &'static str,
    /// Multiprocessors.
    pub sms: u32,
    /// Clock in MHz: the published boost clock.
    pub clock_mhz: u32,
    /// Throughput of the pipes.
    pub rates: Rates,
    /// Latencies of instructions whose latency is not fixed.
    pub latencies: Latencies,
    /// Instruction and constant caches.
    pub front_end: FrontEnd,
    /// From an instruction to its operands to the shared part of the memory pipeline.
    pub memory_pipe: MemoryPipe,
    /// The unit that copies in bulk.
    pub bulk_copies: BulkCopies,
    /// Tensor memory and the products in it.
    pub tensor_memory: TensorMemory,
    /// First-level cache and shared memory.
    pub l1: L1,
    /// Second-level cache.
    pub l2: L2,
    /// Device memory.
    pub dram: Dram,
}

/// Throughput of a whole multiprocessor: lanes (results of 32 or 64 bits, pairs of halves) a cycle; of
/// matrices multiply-adds a cycle.
#[derive(Clone, Debug, PartialEq)]
pub struct Rates {
    /// Single-precision add, multiply, multiply-add. 128: the quarters have two such pipes, `FmaHeavy` and
    /// `FmaLite`, of 16 lanes each.
    pub fp32: u32,
    /// Half-precision instructions on pairs of halves.
    pub half: u32,
    /// The unit that executes them.
    pub half_unit: Unit,
    /// Double precision.
    pub fp64: u32,
    /// 32-bit integer multiply-add.
    pub int_multiply: u32,
    /// 32-bit integer addition.
    pub int_add: u32,
    /// Logic, shifts, comparisons, selections.
    pub alu: u32,
    /// Transcendental functions, conversions, bit counts.
    pub xu: u32,
    /// Lanes that the load/store unit takes: all memory instructions, shuffles.
    pub lsu: u32,
    /// Texels.
    pub texture: u32,
    /// Instructions of the uniform datapath, for the warp as a whole: a warp instruction counts as 32 lanes.
    pub uniform: u32,
    /// Dense multiply-adds of f16 in a warp's matrix product.
    pub matrix: u32,
    /// Dense multiply-adds of 8-bit integers in a warp's matrix product; as many of 4 bits take half the time.
    pub matrix_int8: u32,
    /// The same as `matrix` in the asynchronous products of a warpgroup; 0 without them.
    pub matrix_async: u32,
    /// Products of f16 that are added up as f32 run at half that rate (GeForce chips).
    pub matrix_f32_halved: bool,
    /// Multiply-adds of f64 in a warp's matrix product.
    pub matrix_fp64: u32,
}

/// Cycles from issue until the write scoreboard is released, where nothing is in the way.
#[derive(Clone, Debug, PartialEq)]
pub struct Latencies {
    /// A 32-bit load from global memory that hits the first-level cache.
    pub l1: u16,
    /// A 32-bit load from shared memory without bank conflicts.
    pub shared: u16,
    /// `LDC` and `LDCU` that hit.
    pub constant: u16,
    /// The transcendental and conversion unit.
    pub xu: u16,
    /// Shuffles, votes by the memory pipe, `MATCH`, `REDUX`.
    pub shuffle: u16,
    /// Special registers through a scoreboard (`S2R`, `S2UR`), moves of convergence barriers.
    pub special: u16,
    /// Double precision where it is of variable latency.
    pub fp64: u16,
    /// Matrix products where they are of variable latency.
    pub matrix: u16,
    /// Atomics of shared memory, without conflicts.
    pub atomic_shared: u16,
    /// `LDGSTS` whose source is in the first-level cache.
    pub copy_to_shared: u16,
    /// Textures that hit.
    pub texture: u16,
    /// From the last arrival at a barrier of the block until its warps may issue.
    pub barrier: u16,
    /// From an arrival at an mbarrier of the block until a warp that looks at it finds the phase over.
    pub arrival: u16,
    /// An access to shared memory of another block of the cluster, and an arrival at its mbarrier; 0 where there are no clusters.
    pub cluster: u16,
    /// From the last arrival at the barrier of the cluster until its warps may issue; 0 where there are no clusters.
    pub cluster_barrier: u16,
    /// Cycles without an instruction after a taken branch, beyond the stall count of the branch.
    pub branch: u16,
}

/// Instruction and constant caches of a multiprocessor. Each quarter has a first level for instructions (L0) and one
/// for the constants that are operands; behind them is one level for both (the L1 instruction cache, which is the L1.5
/// constant cache), and behind that the second-level cache.
#[derive(Clone, Debug, PartialEq)]
pub struct FrontEnd {
    /// Bytes of a quarter's L0; 0: instructions are always at hand.
    pub instruction_bytes: u32,
    /// Lines that the prefetcher of a quarter's L0, a stream buffer, keeps ahead of the line that missed.
    pub stream_lines: u16,
    /// Bytes of a quarter's first level for constants, and of that for `LDC` and `LDCU`; 0: constants are always at hand.
    pub constant_bytes: u32,
    /// Bytes of the level behind them.
    pub shared_bytes: u32,
    /// Cycles from a request of a first level until it has what the level behind it holds.
    pub shared_latency: u16,
}

/// The part of the memory pipeline before the caches.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryPipe {
    /// Instructions that a quarter buffers before its issue stops.
    pub queue: u16,
    /// Cycles between two instructions of a quarter that leave its address unit.
    pub address_interval: u16,
    /// Cycles from issue until the address registers of a load may be overwritten (32-bit data).
    pub read_address: u16,
    /// The same for the data of a store of 32 bits; each further word adds two.
    pub read_data: u16,
    /// The same for shared memory, where addresses are made in the shared part.
    pub read_shared: u16,
    /// Bytes a cycle from the caches to the registers of a quarter.
    pub writeback: u16,
    /// Bytes a cycle of the multiprocessor's accesses to shared memory of other blocks of the cluster.
    pub remote: u16,
}

/// The unit that copies in bulk (TMA), one for the multiprocessor; chips without one are never asked.
#[derive(Clone, Debug, PartialEq)]
pub struct BulkCopies {
    /// Cycles from the issue of a copy until its first line is asked for, beyond those of a load to shared memory, and until
    /// the mbarrier knows of the last.
    pub latency: u16,
    /// Least cycles from the start of one copy to that of the next.
    pub interval: u16,
    /// Bytes of lines that it asks for a cycle, at most a line.
    pub bytes_per_cycle: u16,
}

/// Tensor memory of a multiprocessor and the products in it (`tcgen05`); chips without it are never asked.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorMemory {
    /// Dense multiply-adds of f16 a cycle of the products in it.
    pub matrix: u32,
    /// The same of 8-bit integers.
    pub matrix_int8: u32,
    /// Cycles from the end of the last product or copy on the unit until `UTCBAR` arrives.
    pub drain: u16,
    /// Cycles of a load, beyond one for each register.
    pub load: u16,
    /// Cycles of a store, beyond one for two registers.
    pub store: u16,
}

/// First-level cache and shared memory, which share their storage.
#[derive(Clone, Debug, PartialEq)]
pub struct L1 {
    /// Bytes of both together.
    pub bytes: u32,
    /// Sizes in KiB that shared memory may have; the driver is taken to choose the least that holds the
    /// blocks which the other limits let reside.
    pub carve_outs: &'static [u32],
    /// Bytes that it takes from the second level a cycle.
    pub fill_bytes: u32,
}

/// Bytes that shared memory moves a cycle: 32 banks of four.
pub const SHARED_BYTES: u64 = 128;

/// Bytes of a cache line.
pub const LINE: u64 = 128;
/// Bytes of a sector, the unit of transfer.
pub const SECTOR: u64 = 32;
/// Ways of a set of the second-level cache: no number is public; 16 as in Accel-Sim's configurations.
pub const L2_WAYS: usize = 16;

/// Bytes of a line of the first level for constants (Jia et al., "Dissecting the NVidia Turing T4 GPU via
/// Microbenchmarking", 2019).
pub const CONSTANT_LINE: u64 = 64;
/// Ways of a set of the L0 instruction cache, and of the level behind it: as in the configurations of Huerta et al.'s
/// simulator.
pub const INSTRUCTION_WAYS: (usize, usize) = (32, 16);
/// Ways of a set of the first level for constants: a guess.
pub const CONSTANT_WAYS: usize = 4;

/// Second-level cache.
#[derive(Clone, Debug, PartialEq)]
pub struct L2 {
    /// Bytes.
    pub bytes: u64,
    /// Slices, each with its own queue.
    pub slices: u32,
    /// Bytes a cycle of all slices together.
    pub bytes_per_cycle: u32,
    /// Cycles of a load that hits here, from issue to release.
    pub latency: u16,
}

/// Device memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Dram {
    /// Published peak in MB a second.
    pub megabytes_per_second: u32,
    /// Share of the peak that measurements reach, in percent.
    pub efficiency: u32,
    /// Channels, each with its own queue.
    pub channels: u32,
    /// Cycles of a load that comes from here, from issue to release.
    pub latency: u16,
}

impl Chip {
    /// The chip with another number of multiprocessors: second-level cache, its bandwidth and that of the memory
    /// shrink or grow with it, the multiprocessors themselves stay.
    #[must_use]
    pub fn with_sms(&self, sms: u32) -> Chip {
        let share = |whole: u64| (whole * u64::from(sms) / u64::from(self.sms)).max(1);
        let share32 = |whole: u32| share(u64::from(whole)).min(u64::from(u32::MAX)) as u32;
        let mut chip = Chip { sms, ..self.clone() };
        chip.l2.bytes = share(self.l2.bytes);
        chip.l2.slices = share32(self.l2.slices);
        chip.l2.bytes_per_cycle = share32(self.l2.bytes_per_cycle);
        chip.dram.megabytes_per_second = share32(self.dram.megabytes_per_second);
        chip.dram.channels = share32(self.dram.channels);
        chip
    }
}

impl Dram {
    /// Bytes a cycle of a chip with this clock, at the rate that measurements reach.
    pub fn bytes_per_cycle(&self, clock_mhz: u32) -> f64 {
        f64::from(self.megabytes_per_second) * f64::from(self.efficiency) / 100.0 / f64::from(clock_mhz)
    }
}

impl L1 {
    /// Bytes left for the cache when shared memory has to hold `shared` bytes.
    pub fn cache_bytes(&self, shared: u32) -> u32 {
        let largest = self.carve_outs.last().copied().unwrap_or(0);
        let fitting = self.carve_outs.iter().copied().find(|kib| kib * 1024 >= shared);
        self.bytes.saturating_sub(fitting.unwrap_or(largest) * 1024)
    }
}
