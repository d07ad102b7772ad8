//! What a multiprocessor of each target offers, and where compiled code finds the facts of its
//! launch in constant bank 0.

use crate::{Arch, Mem};
use std::ops::Range;

/// Of the registers that a kernel has, those with the highest numbers hold the program counters of a warp's threads, and no
/// instruction may name them. Source: the Volta architecture white paper (table 2, footnote), for all targets since; every
/// kernel of ptxas 13.0.88 declares two more than its highest register needs, and with `--maxrregcount 64` names R0 to R61.
pub const KEPT_REGISTERS: u32 = 2;

/// Sizes and limits of one target's multiprocessor.
///
/// Source: the published compute-capability tables of the CUDA programming guide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SmDescription {
    /// Most general registers of one thread that a kernel may ask for, those among them that it must not name
    /// ([`KEPT_REGISTERS`]).
    pub max_registers_per_thread: u32,
    /// 32-bit registers of the SM (of each CTA too).
    pub registers: u32,
    /// Registers are given to a warp in multiples of this many.
    pub register_allocation_unit: u32,
    /// Registers per thread are rounded up to a multiple of this.
    pub register_granularity: u32,
    /// Uniform registers of a warp that can be written.
    pub uniform_registers: u32,
    /// Threads of a warp.
    pub warp_size: u32,
    /// Ordering ([`crate::Field::MEM`]) of a strong access of block scope.
    pub strong_in_block: Mem,
    /// `BAR` can let the warps that wait give way (`.DEFER_BLOCKING`), as ptxas has it do.
    pub defers_blocking: bool,
    /// Arithmetic instructions read constant banks.
    pub constant_operands: bool,
    /// A launch without clusters has no cluster barrier, so that code asks `%is_explicit_cluster` first and takes
    /// the block's barrier instead.
    pub cluster_barrier_if_explicit: bool,
    /// Addresses of functions that a linker gives out are relative to a table common to host and device
    /// (`__UFT_OFFSET`), whose place a call through a register adds.
    pub unified_functions: bool,
    /// Warp schedulers, each with a quarter of the register file.
    pub schedulers: u32,
    /// Warps that the SM holds at a time.
    pub max_warps: u32,
    /// Blocks that the SM holds at a time.
    pub max_ctas: u32,
    /// Threads that the SM holds at a time.
    pub max_threads: u32,
    /// Threads of one block.
    pub max_threads_per_cta: u32,
    /// Largest block in x, y, z.
    pub max_block: [u32; 3],
    /// Largest grid in x, y, z.
    pub max_grid: [u32; 3],
    /// Named barriers of a block.
    pub barriers_per_cta: u32,
    /// Convergence barriers (`B` registers) of a warp.
    pub convergence_barriers: u32,
    /// Shared memory of the SM in bytes.
    pub shared_memory: u32,
    /// Blocks for each of which an SM has memory of its own (`.minperctamemory`), as ptxas 13.5.37 counts them.
    pub per_cta_slots: u32,
    /// Most shared memory of one block in bytes, dynamic part by opting in.
    pub max_shared_per_cta: u32,
    /// Most static shared memory of one block in bytes.
    pub max_static_shared: u32,
    /// Shared memory is given out in multiples of this many bytes.
    pub shared_allocation_unit: u32,
    /// Bytes that the system takes of each block's shared memory.
    pub reserved_shared_per_cta: u32,
    /// Shared address of the first byte that is the program's: on sm_90 the reserved part lies
    /// below the program's variables, before it lies elsewhere.
    pub shared_base: u32,
    /// Where in that part the code of a block may keep something itself: `%reserved_smem_offset_0`.
    pub reserved_shared_begin: u32,
    /// Columns of tensor memory that `tcgen05.alloc.exclusive` takes, as ptxas 13.5.37's code has them; 0 where there is none.
    pub tensor_columns: u32,
    /// Most local memory of one thread in bytes.
    pub max_local_per_thread: u32,
    /// Bytes of kernel parameters (CUDA 12.1 and later).
    pub max_parameter_bytes: u32,
    /// Bytes of one constant bank.
    pub constant_bank_bytes: u32,
    /// The layout of constant bank 0.
    pub bank0: Bank0,
}

/// Byte offsets in constant bank 0 of what a launch puts there.
///
/// Read off ptxas 13.0.88's code for kernels that use the PTX feature named at each field. `None`:
/// the target's code does not read it from the bank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bank0 {
    /// `%ntid.x`, `.y`, `.z`: 32 bits each.
    pub ntid: [u16; 3],
    /// `%nctaid.x`, `.y`, `.z`: 32 bits each.
    pub nctaid: [u16; 3],
    /// `cvta.shared`: generic address of shared address 0, 64 bits. On sm_90 the high word is
    /// `SR_SWINHI`, the low word is 0 and byte 3 of a shared address names the block in its cluster.
    pub shared_window: Option<u16>,
    /// `cvta.local`: generic address of local address 0, 64 bits.
    pub local_window: u16,
    /// First value of the stack pointer `R1`: a local address, 32 bits.
    pub stack: u16,
    /// `%dynamic_smem_size` in bytes, 32 bits.
    pub dynamic_shared_size: u16,
    /// `%gridid`, 64 bits.
    pub grid_id: u16,
    /// Generic address of this constant bank, 64 bits: a parameter's generic address is this plus
    /// its offset here.
    pub bank_window: Option<u16>,
    /// Generic address of the first parameter, 64 bits.
    pub parameter_window: Option<u16>,
    /// Generic address just past the last parameter, 64 bits.
    pub parameter_window_end: Option<u16>,
    /// Offset of the end of the parameters in this bank, 32 bits.
    pub parameter_end: Option<u16>,
    /// `cvta.const`: generic address of the bank of `.const` variables (bank 3), 64 bits.
    pub constant_window: u16,
    /// `%envreg0`, `%envreg1`, `%envreg2`: 32 bits each.
    pub envreg: [u16; 3],
    /// `%nsmid`, 32 bits.
    pub nsmid: u16,
    /// Memory that blocks have of their own (`.minperctamemory`), as ptxas 13.5.37 reads it: the address of all of it, 64 bits, and the
    /// bytes of one block's, `%perctamemorysize`, 32 bits. A driver without such memory leaves zeros.
    pub per_cta_memory: Option<[u16; 2]>,
    /// Bytes of shared memory that the system reserves in the block, 32 bits: `%total_smem_size`
    /// is `SR_SMEMSZ` less this.
    pub reserved_shared_size: Option<u16>,
    /// `%reserved_smem_offset_end`, where the system's part of shared memory ends, and `%reserved_smem_offset_1`: 32 bits each.
    pub reserved_shared_offsets: Option<[u16; 2]>,
    /// Descriptor that global-memory accesses name, 64 bits (loaded to a uniform pair).
    pub global_descriptor: Option<u16>,
    /// Addresses of the tables of properties that `txq` and `suq` read, 64 bits each: of textures, of
    /// samplers, of surfaces.
    pub property_tables: [u16; 3],
    /// Textures and samplers have numbers of their own, in a word of the bank each, and instructions take them
    /// in a pair of uniform registers. Else they share a word, the sampler's number from bit 20 on.
    pub samplers_apart: bool,
    /// First kernel parameter; [`Bank0::parameters_of`] tells it of parameters of any size.
    pub parameters: u16,
    /// First kernel parameter where the parameters take more than 4352 bytes.
    pub large_parameters: u16,
    /// What clusters add.
    pub cluster: Option<ClusterBank0>,
    /// What a launch with several shapes of clusters has once for each: the record that a block goes by lies
    /// `SR_CgaSize` times the record's size below this one.
    pub shape_record: Option<Range<u16>>,
}

/// Bytes of kernel parameters that every driver takes; more have come with CUDA 12.1.
const SMALL_PARAMETERS: u32 = 4352;

impl Bank0 {
    /// Where the parameters of a kernel begin that takes this many bytes of them.
    ///
    /// Source: `PARAM_CBANK` of ptxas 13.0.88's kernels with 4352 and 4353 bytes.
    pub fn parameters_of(&self, bytes: u32) -> u16 {
        if bytes > SMALL_PARAMETERS { self.large_parameters } else { self.parameters }
    }
}

/// Byte offsets in constant bank 0 of what a launch with clusters puts there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterBank0 {
    /// Upper bound of `%aggr_smem_size`, 32 bits: the register is the smaller of it and `SR_SMEMSZ`.
    pub aggregate_shared_limit: u16,
    /// `%is_explicit_cluster`: 1 if it is, 32 bits.
    pub explicit: u16,
    /// `%cluster_nctaid.x`, `.y`, `.z`: 32 bits each.
    pub nctaid: [u16; 3],
    /// Reciprocals of `nctaid`, 32-bit floats: `%clusterid` is `%ctaid` times this, truncated.
    pub nctaid_reciprocal: [u16; 3],
    /// `%nclusterid.x`, `.y`, `.z`: 32 bits each.
    pub nclusterid: [u16; 3],
    /// `%cluster_nctarank`, 32 bits.
    pub nctarank: u16,
    /// `%current_graph_exec`, 64 bits.
    pub graph_exec: u16,
}

const AMPERE_BANK0: Bank0 = Bank0 {
    ntid: [0x0, 0x4, 0x8],
    nctaid: [0xc, 0x10, 0x14],
    shared_window: Some(0x18),
    local_window: 0x20,
    stack: 0x28,
    dynamic_shared_size: 0x2c,
    grid_id: 0x30,
    bank_window: Some(0x40),
    parameter_window: None,
    parameter_window_end: None,
    parameter_end: Some(0x12c),
    constant_window: 0x50,
    envreg: [0x88, 0x8c, 0x90],
    nsmid: 0x10c,
    per_cta_memory: Some([0x158, 0x14c]),
    reserved_shared_size: Some(0x114),
    reserved_shared_offsets: Some([0x120, 0x124]),
    global_descriptor: Some(0x118),
    property_tables: [0x70, 0x78, 0x80],
    samplers_apart: false,
    parameters: 0x160,
    large_parameters: 0x1a80,
    cluster: None,
    shape_record: None,
};

/// Turing's, which Volta shares: that of Ampere without a descriptor and a reserved part of shared memory.
const TURING_BANK0: Bank0 = Bank0 {
    parameter_end: Some(0x114),
    per_cta_memory: None,
    reserved_shared_size: None,
    reserved_shared_offsets: None,
    global_descriptor: None,
    ..AMPERE_BANK0
};

const HOPPER_BANK0: Bank0 = Bank0 {
    ntid: [0x0, 0x4, 0x8],
    nctaid: [0xc, 0x10, 0x14],
    shared_window: None,
    local_window: 0x20,
    stack: 0x28,
    dynamic_shared_size: 0x2c,
    grid_id: 0x30,
    bank_window: None,
    parameter_window: Some(0x198),
    parameter_window_end: Some(0x1a0),
    parameter_end: None,
    constant_window: 0xd0,
    envreg: [0x40, 0x44, 0x48],
    nsmid: 0x10c,
    per_cta_memory: Some([0x1c0, 0x1c8]),
    reserved_shared_size: Some(0x114),
    reserved_shared_offsets: Some([0x68, 0x6c]),
    global_descriptor: Some(0x208),
    property_tables: [0xf0, 0xf8, 0x100],
    samplers_apart: true,
    parameters: 0x210,
    large_parameters: 0x210,
    cluster: Some(ClusterBank0 {
        aggregate_shared_limit: 0x13c,
        explicit: 0x140,
        nctaid: [0x144, 0x148, 0x14c],
        nctaid_reciprocal: [0x150, 0x154, 0x158],
        nclusterid: [0x15c, 0x160, 0x164],
        nctarank: 0x188,
        graph_exec: 0x190,
    }),
    shape_record: None,
};

/// Blackwell's. `SR_CgaSize` is 0 unless a launch has several shapes of clusters.
const BLACKWELL_BANK0: Bank0 = Bank0 {
    ntid: [0x360, 0x364, 0x368],
    nctaid: [0x370, 0x374, 0x378],
    shared_window: None,
    local_window: 0x2f8,
    stack: 0x37c,
    dynamic_shared_size: 0x2ac,
    grid_id: 0x140,
    bank_window: None,
    parameter_window: Some(0x348),
    parameter_window_end: Some(0x350),
    parameter_end: None,
    constant_window: 0x120,
    envreg: [0x250, 0x254, 0x258],
    nsmid: 0x2d0,
    per_cta_memory: Some([0xa8, 0xb0]),
    reserved_shared_size: Some(0x16c),
    reserved_shared_offsets: Some([0x278, 0x27c]),
    global_descriptor: Some(0x358),
    property_tables: [0x150, 0x158, 0x160],
    samplers_apart: true,
    parameters: 0x380,
    large_parameters: 0x380,
    cluster: Some(ClusterBank0 {
        aggregate_shared_limit: 0x2bc,
        explicit: 0x36c,
        nctaid: [0x2a0, 0x2a4, 0x2a8],
        nctaid_reciprocal: [0x2b0, 0x2b4, 0x2b8],
        nclusterid: [0x2c0, 0x2c4, 0x2c8],
        nctarank: 0x2cc,
        graph_exec: 0x2e8,
    }),
    shape_record: Some(0x230..0x2d0),
};

const SM_80: SmDescription = SmDescription {
    max_registers_per_thread: 255,
    registers: 65536,
    register_allocation_unit: 256,
    register_granularity: 8,
    uniform_registers: 63,
    warp_size: 32,
    strong_in_block: Mem::STRONG_SM,
    defers_blocking: true,
    constant_operands: true,
    cluster_barrier_if_explicit: false,
    unified_functions: false,
    schedulers: 4,
    max_warps: 64,
    max_ctas: 32,
    max_threads: 2048,
    max_threads_per_cta: 1024,
    max_block: [1024, 1024, 64],
    max_grid: [0x7fff_ffff, 65535, 65535],
    barriers_per_cta: 16,
    convergence_barriers: 16,
    per_cta_slots: 32,
    shared_memory: 164 * 1024,
    max_shared_per_cta: 163 * 1024,
    max_static_shared: 48 * 1024,
    shared_allocation_unit: 128,
    reserved_shared_per_cta: 1024,
    shared_base: 0,
    reserved_shared_begin: 0,
    tensor_columns: 0,
    max_local_per_thread: 512 * 1024,
    max_parameter_bytes: 32764,
    constant_bank_bytes: 64 * 1024,
    bank0: AMPERE_BANK0,
};

const SM_75: SmDescription = SmDescription {
    strong_in_block: Mem::STRONG_CTA,
    defers_blocking: false,
    max_warps: 32,
    max_ctas: 16,
    max_threads: 1024,
    shared_memory: 64 * 1024,
    max_shared_per_cta: 64 * 1024,
    reserved_shared_per_cta: 0,
    bank0: TURING_BANK0,
    ..SM_80
};

const SM_86: SmDescription = SmDescription {
    max_warps: 48,
    max_ctas: 16,
    max_threads: 1536,
    per_cta_slots: 16,
    shared_memory: 100 * 1024,
    max_shared_per_cta: 99 * 1024,
    ..SM_80
};

/// As sm_86, with the shared memory of sm_80.
const SM_87: SmDescription =
    SmDescription { shared_memory: SM_80.shared_memory, max_shared_per_cta: SM_80.max_shared_per_cta, ..SM_86 };

const SM_89: SmDescription = SmDescription { max_ctas: 24, per_cta_slots: 24, ..SM_86 };

const SM_88: SmDescription = SmDescription { per_cta_slots: 16, ..SM_89 };

const SM_90: SmDescription = SmDescription {
    constant_operands: false,
    unified_functions: true,
    shared_memory: 228 * 1024,
    max_shared_per_cta: 227 * 1024,
    shared_base: 0x400,
    bank0: HOPPER_BANK0,
    ..SM_80
};

const SM_100: SmDescription = SmDescription {
    uniform_registers: 80,
    cluster_barrier_if_explicit: true,
    reserved_shared_begin: 0x40,
    tensor_columns: 512,
    bank0: BLACKWELL_BANK0,
    ..SM_90
};

/// As sm_100 with the warps and blocks of sm_120 (also the traits of architectures in NVIDIA's CCCL).
const SM_110: SmDescription = SmDescription { max_warps: 48, max_ctas: 24, max_threads: 1536, ..SM_100 };

/// As sm_110: ptxas 13.5.37 ignores `.minnctapersm` above 1536 threads and above 24 blocks. Its shared memory is not published: that of sm_100 (?).
const SM_107: SmDescription = SmDescription { per_cta_slots: 16, tensor_columns: 576, ..SM_110 };

const SM_120: SmDescription = SmDescription {
    constant_operands: false,
    unified_functions: true,
    cluster_barrier_if_explicit: true,
    uniform_registers: 80,
    max_warps: 48,
    max_ctas: 24,
    max_threads: 1536,
    per_cta_slots: 24,
    shared_memory: 100 * 1024,
    max_shared_per_cta: 99 * 1024,
    shared_base: 0x400,
    reserved_shared_begin: 0x40,
    bank0: BLACKWELL_BANK0,
    ..SM_80
};

/// In the order of [`Arch::MODELLED`].
static DESCRIPTIONS: [SmDescription; Arch::MODELLED.len()] =
    [SM_75, SM_80, SM_86, SM_87, SM_89, SM_88, SM_90, SM_100, SM_100, SM_110, SM_107, SM_120, SM_120];

impl Arch {
    /// The chips that code is made for and that the simulator runs: those whose multiprocessor and constant bank 0 are described here.
    pub const MODELLED: [Arch; 13] = [
        Arch::Sm75,
        Arch::Sm80,
        Arch::Sm86,
        Arch::Sm87,
        Arch::Sm88,
        Arch::Sm89,
        Arch::Sm90,
        Arch::Sm100,
        Arch::Sm103,
        Arch::Sm110,
        Arch::Sm107,
        Arch::Sm120,
        Arch::Sm121,
    ];

    /// The description of this target's multiprocessor; for targets outside [`Arch::MODELLED`], which
    /// the compiler and the simulator refuse before they ask, that of the nearest one in it.
    pub fn sm(self) -> &'static SmDescription {
        let later = Arch::MODELLED.iter().position(|arch| *arch >= self);
        &DESCRIPTIONS[later.unwrap_or(DESCRIPTIONS.len() - 1)]
    }
}

impl SmDescription {
    /// Warps of a kernel that fit on the SM at a time, by registers alone.
    pub fn warps_by_registers(&self, registers_per_thread: u32) -> u32 {
        // A file may say any number of registers: all of this fits 64 bits.
        let per_thread = u64::from(registers_per_thread.max(1)).next_multiple_of(self.register_granularity.into());
        let per_warp = (per_thread * u64::from(self.warp_size)).next_multiple_of(self.register_allocation_unit.into());
        let per_scheduler = u64::from(self.registers / self.schedulers) / per_warp;
        (per_scheduler * u64::from(self.schedulers)).min(self.max_warps.into()) as u32
    }
}
