//! The chips. A number's source is the letter beside it:
//!
//! * **W** NVIDIA's whitepaper or data sheet of the chip.
//! * **G** CUDA programming and best-practices guides, throughput of native arithmetic instructions and
//!   shared-memory capacities of the compute capability.
//! * **L** Luo et al., "Benchmarking and Dissecting the Nvidia Hopper GPU Architecture through Microbenchmarking",
//!   arXiv 2402.13499: A100, RTX 4090, H800.
//! * **H** Huerta et al., "Dissecting and Modeling the Architecture of Modern GPU Cores", MICRO 2025 (arXiv
//!   2503.20481): RTX A6000, tables 1 and 2.
//! * **C** the configuration of Huerta et al.'s simulator for a Blackwell chip (RTX 5070 Ti), as
//!   github.com/WHUDYF/modern-gpu-simulator-micro-2025 has it.
//! * **J** Jia et al., "Dissecting the NVidia Turing T4 GPU via Microbenchmarking", arXiv 1903.07486, and "Dissecting
//!   the Ampere GPU Architecture through Microbenchmarking", GTC 2021 (A100, as cited by others).
//! * **A** Accel-Sim's tested configuration `SM86_RTX3070`.
//! * **S** github.com/sjfeng1999/gpu-arch-microbenchmark: RTX 2070.
//! * **D** github.com/markdewing/AI_kernels, `latency/README.md`: B200, RTX 5090.
//! * **E** the extended version of L, "Dissecting the NVIDIA Hopper Architecture through Microbenchmarking and Multiple
//!   Level Analysis", arXiv 2501.12084: H800.
//! * **R** github.com/RRZE-HPC/gpu-benches: H200 (`gpu-l2-cache`).
//! * **B** measurements of B300 in a public repository, at 2032 MHz (`shared/silicon`, s0897 to s0939), and of GB300,
//!   github.com/Antoniomv7/gb300-microbench.
//! * **T** the latency model of facebookexperimental/triton's scheduler, fitted to microbenchmarks of B200.
//! * **N** measured on GA102 by others, as reported in public notes.
//! * **?** no public number known: a guess, or the number of the nearest chip.

use super::description::{BulkCopies, Chip, Dram, FrontEnd, L1, L2, Latencies, MemoryPipe, Rates, TensorMemory, Unit};
use crate::Arch;

/// H: five instructions, one address in four cycles, 11/14/9 cycles, 512 bits a cycle. Measured on GA102, taken for
/// all (?). L: 3.27 TB/s of 114 multiprocessors at 1755 MHz in clusters of two are 16 bytes a cycle.
const MEMORY_PIPE: MemoryPipe = MemoryPipe {
    queue: 5,
    address_interval: 4,
    read_address: 11,
    read_data: 14,
    read_shared: 9,
    writeback: 64,
    remote: 16,
};

/// J: 32 KiB and 128 KiB on A100, 2 KiB for constants. C: the same sizes for instructions; H: 8 lines fit best, 79 cycles
/// where a constant misses the first level; of an instruction that misses, the same (C: one path for both). Taken for
/// all chips from A100 on (?); that the first levels for constants are 2 KiB in each quarter is read from J, who
/// measured one warp, and H, who found them in the quarters.
const FRONT_END: FrontEnd = FrontEnd {
    instruction_bytes: 32 * 1024,
    stream_lines: 8,
    constant_bytes: 2 * 1024,
    shared_bytes: 128 * 1024,
    shared_latency: 79,
};

/// E: a copy in bulk takes about 170 cycles more than a load that goes past the first level, 29 of them the look at the
/// mbarrier. The rate: as the port (?); the interval: that of B300 (?).
const BULK_COPIES: BulkCopies = BulkCopies { latency: 141, interval: 49, bytes_per_cycle: 64 };

/// T: 530 cycles for 16 KiB that the second level holds, 663 for 32 KiB, 925 for 64 KiB: a line a cycle (B: 125 bytes)
/// behind 400 cycles, of which 295 are D's load and 29 the look at the mbarrier. B: 49 cycles from one to the next.
const B200_BULK_COPIES: BulkCopies = BulkCopies { latency: 78, interval: 49, bytes_per_cycle: 128 };

/// W: 2.25 PFLOP/s of f16 and 4.5 POP/s of bytes are 4096 and 8192 multiply-adds at 1.86 GHz; B: 4050 on GB300. T: 559 cycles from the first of
/// four products of 64 cycles to a thread that waited at the mbarrier, 123 of them (B) for arrival and waiting; a load of
/// 64 registers takes 179 cycles, a store of 64 takes 64, of 128 takes 96.
const TENSOR_MEMORY: TensorMemory = TensorMemory { matrix: 4096, matrix_int8: 8192, drain: 180, load: 115, store: 32 };

/// L: l1, shared. H: constant (29), copy_to_shared (39). A: xu (21). N: shuffle (26). The others: ?; double
/// precision is that of V100 in Accel-Sim's configurations; `barrier` 22 is what Zhang et al. ("A Study of Single
/// and Multi-device Synchronization Methods in Nvidia GPUs", 2020) are said to report for V100. `arrival`
/// and, below, `cluster_barrier`: B, 123 cycles for an arrival and a wait, 29 of them the look that finds the phase over, and 102 for a
/// barrier of the cluster without order, taken for H100 too (?). `cluster`, below: L's latency of the network between the
/// multiprocessors of H100, taken for later chips too (B: 165 to 215).
const A100_LATENCIES: Latencies = Latencies {
    l1: 38,
    shared: 29,
    constant: 29,
    xu: 21,
    shuffle: 26,
    special: 30,
    fp64: 8,
    matrix: 26,
    atomic_shared: 40,
    copy_to_shared: 45,
    texture: 80,
    barrier: 22,
    arrival: 94,
    cluster: 0,
    cluster_barrier: 0,
    branch: 5,
};

/// G: compute capability 8.0. W: 1024 multiply-adds of f16 a cycle, 64 of f64; lsu 32 lanes. Uniform: ?.
const A100_RATES: Rates = Rates {
    fp32: 64,
    half: 128,
    half_unit: Unit::Half,
    fp64: 32,
    int_multiply: 64,
    int_add: 64,
    alu: 64,
    xu: 16,
    lsu: 32,
    texture: 4,
    uniform: 64,
    matrix: 1024,
    matrix_int8: 2048,
    matrix_async: 0,
    matrix_f32_halved: false,
    matrix_fp64: 64,
};

const A100: Chip = Chip {
    name: "A100 SXM4 40 GB",
    sms: 108,        // W
    clock_mhz: 1410, // W
    rates: A100_RATES,
    latencies: A100_LATENCIES,
    front_end: FRONT_END,
    memory_pipe: MEMORY_PIPE,
    bulk_copies: BULK_COPIES,
    tensor_memory: TENSOR_MEMORY,
    // W; G; the fill rate of 64 bytes is W's.
    l1: L1 { bytes: 192 * 1024, carve_outs: &[0, 8, 16, 32, 64, 100, 132, 164], fill_bytes: 64 },
    // W: 40 MB, 80 slices. L: 2007.9 bytes a cycle of 5120 by W; 261.5 cycles.
    l2: L2 { bytes: 40 << 20, slices: 80, bytes_per_cycle: 2008, latency: 261 },
    // W: 1555 GB/s, five stacks of eight channels. L: 90%, 466.3 cycles.
    dram: Dram { megabytes_per_second: 1_555_000, efficiency: 90, channels: 40, latency: 466 },
};

/// S: 32, 236 and 23 cycles. G, W: rates. Double precision as A's; device memory: the step of A100 (?).
const T4: Chip = Chip {
    name: "T4",
    sms: 40,         // W
    clock_mhz: 1590, // W
    rates: Rates {
        half: 64,
        half_unit: Unit::FmaHeavy,
        fp64: 2,
        lsu: 16,
        matrix: 512,
        matrix_int8: 1024,
        matrix_fp64: 0,
        ..A100_RATES
    },
    latencies: Latencies { l1: 32, shared: 23, fp64: 64, ..A100_LATENCIES },
    // J: 16 KiB, 2 KiB, about 46 KiB for instructions and constants; S: 62 cycles.
    front_end: FrontEnd { instruction_bytes: 16 * 1024, shared_bytes: 46 * 1024, shared_latency: 62, ..FRONT_END },
    memory_pipe: MEMORY_PIPE,
    bulk_copies: BULK_COPIES,
    tensor_memory: TENSOR_MEMORY,
    l1: L1 { bytes: 96 * 1024, carve_outs: &[32, 64], fill_bytes: 64 },
    // W: 4 MB. Slices and their width: ?, as 64 bytes each.
    l2: L2 { bytes: 4 << 20, slices: 16, bytes_per_cycle: 1024, latency: 236 },
    // W: 320 GB/s, 8 channels of 32 bits. Share: ?.
    dram: Dram { megabytes_per_second: 320_000, efficiency: 85, channels: 8, latency: 441 },
};

/// H: latencies of the same chip, 32 (load, general address) and 24. A: second level 187 beyond the first, device
/// memory 254 beyond that. G, W: rates; N: half-precision at two instructions a cycle.
const A6000: Chip = Chip {
    name: "RTX A6000",
    sms: 84,         // W
    clock_mhz: 1800, // W
    rates: Rates {
        fp32: 128,
        half: 64,
        half_unit: Unit::FmaHeavy,
        fp64: 2,
        lsu: 16,
        matrix: 512,
        matrix_int8: 1024,
        matrix_fp64: 0,
        ..A100_RATES
    },
    latencies: Latencies { l1: 32, shared: 24, fp64: 64, copy_to_shared: 39, ..A100_LATENCIES },
    front_end: FRONT_END,
    memory_pipe: MEMORY_PIPE,
    bulk_copies: BULK_COPIES,
    tensor_memory: TENSOR_MEMORY,
    l1: L1 { bytes: 128 * 1024, carve_outs: &[0, 8, 16, 32, 64, 100], fill_bytes: 64 },
    // W: 6 MB. Slices: 2 for each of 24 channels of 16 bits, 32 bytes each (?).
    l2: L2 { bytes: 6 << 20, slices: 48, bytes_per_cycle: 1536, latency: 226 },
    // W: 768 GB/s. Share: that of L's GDDR6X chip.
    dram: Dram { megabytes_per_second: 768_000, efficiency: 92, channels: 24, latency: 480 },
};

/// GA10B. W (Jetson AGX Orin technical brief): 16 multiprocessors of GA10x with the 192 KiB of GA100, 4 MiB of second level, 204.8 GB/s of
/// LPDDR5 in 16 channels of 16 bits, 1.3 GHz; tensor cores of twice GA10x's rate. The rest: that of GA102 (?).
const ORIN: Chip = Chip {
    name: "Jetson AGX Orin",
    sms: 16,         // W
    clock_mhz: 1300, // W
    rates: Rates { matrix: 1024, matrix_int8: 2048, ..A6000.rates },
    l1: A100.l1,
    l2: L2 { bytes: 4 << 20, slices: 16, bytes_per_cycle: 512, latency: 226 },
    dram: Dram { megabytes_per_second: 204_800, efficiency: 85, channels: 16, latency: 480 },
    ..A6000
};

/// L: latencies, 92% of the peak, 2.6 times less second-level throughput than H800. G, W: rates.
const RTX4090: Chip = Chip {
    name: "GeForce RTX 4090",
    sms: 128,        // W
    clock_mhz: 2520, // W
    rates: Rates { matrix_f32_halved: true, ..A6000.rates },
    latencies: Latencies { l1: 43, shared: 30, fp64: 64, ..A100_LATENCIES },
    front_end: FRONT_END,
    memory_pipe: MEMORY_PIPE,
    bulk_copies: BULK_COPIES,
    tensor_memory: TENSOR_MEMORY,
    l1: L1 { bytes: 128 * 1024, carve_outs: &[0, 8, 16, 32, 64, 100], fill_bytes: 64 },
    l2: L2 { bytes: 72 << 20, slices: 48, bytes_per_cycle: 1516, latency: 273 },
    dram: Dram { megabytes_per_second: 1_008_000, efficiency: 92, channels: 24, latency: 541 },
};

/// L: latencies, 91% of the peak, and 62.9% of the matrix peak for the products of one warp. R: the second level's
/// throughput, 9.78 TB/s at 1980 MHz on the same die (L: 3942 bytes a cycle of 114 multiprocessors, a little less for each).
/// G, W: rates and sizes.
const H100: Chip = Chip {
    name: "H100 SXM5",
    sms: 132,        // W
    clock_mhz: 1830, // W: boost clock at which the peaks of the matrix units are given
    rates: Rates {
        fp32: 128,
        half_unit: Unit::Fma,
        fp64: 64,
        matrix: 1288,
        matrix_int8: 2576,
        matrix_async: 2048,
        matrix_fp64: 128,
        ..A100_RATES
    },
    latencies: Latencies { l1: 41, shared: 29, cluster: 180, cluster_barrier: 102, ..A100_LATENCIES },
    front_end: FRONT_END,
    memory_pipe: MEMORY_PIPE,
    bulk_copies: BULK_COPIES,
    tensor_memory: TENSOR_MEMORY,
    l1: L1 { bytes: 256 * 1024, carve_outs: &[0, 8, 16, 32, 64, 100, 132, 164, 196, 228], fill_bytes: 64 },
    l2: L2 { bytes: 50 << 20, slices: 96, bytes_per_cycle: 4939, latency: 263 },
    dram: Dram { megabytes_per_second: 3_352_000, efficiency: 91, channels: 80, latency: 479 },
};

/// D: latencies 40, 295, 860. W: sizes; the matrix rate of one warp's products: that of H100 (?). B: 13.3 TB/s of the second
/// level, 125 bytes a cycle of a multiprocessor's copies in bulk.
const B200: Chip = Chip {
    name: "B200",
    sms: 148,
    clock_mhz: 1965,
    rates: Rates {
        half: 64,
        half_unit: Unit::FmaHeavy,
        matrix: 2048,
        matrix_int8: 4096,
        matrix_async: 0,
        matrix_fp64: 64,
        ..H100.rates
    },
    latencies: Latencies { l1: 40, shared: 29, cluster: 180, cluster_barrier: 102, ..A100_LATENCIES },
    front_end: FRONT_END,
    memory_pipe: MEMORY_PIPE,
    bulk_copies: B200_BULK_COPIES,
    tensor_memory: TENSOR_MEMORY,
    l1: L1 { bytes: 256 * 1024, carve_outs: &[0, 8, 16, 32, 64, 100, 132, 164, 196, 228], fill_bytes: 128 },
    l2: L2 { bytes: 126 << 20, slices: 160, bytes_per_cycle: 6545, latency: 295 },
    dram: Dram { megabytes_per_second: 8_000_000, efficiency: 91, channels: 128, latency: 860 },
};

/// W (data sheet of HGX B300): 1.2 TFLOP/s of f64 and a tenth of B200's integer products, which is two lanes and 256 multiply-adds of 8
/// bits a multiprocessor (measured: 238; `shared/silicon`). The rest: that of B200.
const B300: Chip = Chip {
    name: "B300",
    rates: Rates { fp64: 2, matrix_fp64: 2, matrix_int8: 256, ..B200.rates },
    tensor_memory: TensorMemory { matrix_int8: 256, ..TENSOR_MEMORY },
    ..B200
};

/// W (Jetson AGX Thor data sheet): 20 multiprocessors, 1575 MHz, 32 MiB of second level, 273 GB/s of LPDDR5X in 16 channels of 16 bits.
/// f64: ptxas keeps the pace of two lanes. The rest: that of B200 (?).
const THOR: Chip = Chip {
    name: "Jetson AGX Thor",
    sms: 20,         // W
    clock_mhz: 1575, // W
    rates: Rates { fp64: 2, matrix_fp64: 2, ..B200.rates },
    l2: L2 { bytes: 32 << 20, slices: 32, bytes_per_cycle: 1024, latency: 295 },
    dram: Dram { megabytes_per_second: 273_000, efficiency: 85, channels: 16, latency: 860 },
    ..B200
};

/// Of sm_107 nothing is published: B200 in all (?).
const CHIP_107: Chip = B200;

/// D: latencies 44, 360, 936. G: compute capability 12.0, integer additions at 128. W: sizes.
const RTX5090: Chip = Chip {
    name: "GeForce RTX 5090",
    sms: 170,
    clock_mhz: 2407,
    rates: Rates { int_add: 128, ..RTX4090.rates },
    latencies: Latencies { l1: 44, shared: 30, fp64: 64, cluster: 180, cluster_barrier: 102, ..A100_LATENCIES },
    front_end: FRONT_END,
    memory_pipe: MEMORY_PIPE,
    bulk_copies: BULK_COPIES,
    tensor_memory: TENSOR_MEMORY,
    l1: L1 { bytes: 128 * 1024, carve_outs: &[0, 8, 16, 32, 64, 100], fill_bytes: 64 },
    l2: L2 { bytes: 96 << 20, slices: 64, bytes_per_cycle: 2048, latency: 360 },
    dram: Dram { megabytes_per_second: 1_792_000, efficiency: 92, channels: 32, latency: 936 },
};

/// W (DGX Spark): 48 multiprocessors of GB202's kind, 24 MiB of second level, 273 GB/s of LPDDR5X in 16 channels of 16 bits. Clock: as
/// reported of machines that were sold (N). The rest: that of RTX 5090 (?).
const GB10: Chip = Chip {
    name: "GB10",
    sms: 48,         // W
    clock_mhz: 2418, // N
    l2: L2 { bytes: 24 << 20, slices: 32, bytes_per_cycle: 1024, latency: 360 },
    dram: Dram { megabytes_per_second: 273_000, efficiency: 85, channels: 16, latency: 936 },
    ..RTX5090
};

/// Of sm_88 nothing is published: the chip with the same limits of threads and blocks.
const ADA_88: Chip = RTX4090;

/// By target.
pub(super) static CHIPS: [(Arch, Chip); Arch::MODELLED.len()] = [
    (Arch::Sm75, T4),
    (Arch::Sm80, A100),
    (Arch::Sm86, A6000),
    (Arch::Sm87, ORIN),
    (Arch::Sm88, ADA_88),
    (Arch::Sm89, RTX4090),
    (Arch::Sm90, H100),
    (Arch::Sm100, B200),
    (Arch::Sm103, B300),
    (Arch::Sm110, THOR),
    (Arch::Sm107, CHIP_107),
    (Arch::Sm120, RTX5090),
    (Arch::Sm121, GB10),
];
