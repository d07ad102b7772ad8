//! What differs between targets, as data. A new SM is a new row.

use crate::nvinfo::number;
use crate::spec::ObjectKind::{self, Sampler, Surface, Texture};
use crate::target::{Suffix, Target};

/// A record that the writer can put into `.nv.info.NAME`. The rows below give the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InfoItem {
    /// Version of the interface to the driver that the file follows: `CUDA_API_VERSION`.
    ApiVersion,
    /// A flag that is always there on this target.
    Flag(u8),
    /// A byte with a fixed value.
    Byte(u8, u8),
    /// A half word with a fixed value.
    Half(u8, u16),
    /// A word with a fixed value.
    Word(u8, u32),
    /// `PARAM_CBANK`, if there are parameters.
    ParamCbank,
    /// `CBANK_PARAM_SIZE`, if there are parameters.
    ParamSize,
    /// `KPARAM_INFO` of every parameter, the last first.
    Params,
    /// `MAXREG_COUNT`.
    MaxRegCount,
    /// `NUM_BARRIERS`, if any is used.
    NumBarriers,
    /// `EXTERNS`, if it calls functions outside its section.
    Externs,
    /// `SYSCALL_OFFSETS`, if it calls external functions.
    Syscalls,
    /// The lists of exchanges in the warp and of what is done with mbarriers.
    Instructions,
    /// `EXIT_INSTR_OFFSETS`, if any.
    Exits,
    /// `CTAIDZ_USED`, if so.
    CtaidZ,
    /// `MAX_THREADS`, `REQNTID`, if given.
    BlockShape,
    /// `AT_ENTRY_FRAGMENTS`, `RESERVED_SMEM_USED`, where tensor memory is allocated.
    TensorBook,
    /// `TCGEN05_1CTA_USED` or `TCGEN05_2CTA_USED`, where an instruction says which.
    TensorBlocks,
    /// `VRC_CTA_INIT_COUNT`: units of the SM's pool that a block with tensor memory takes.
    PoolUnits,
    /// `MAX_CLUSTER_RANK`, `EXPLICIT_CLUSTER`, `CTA_PER_CLUSTER`, if given.
    Cluster,
    /// `CRS_STACK_SIZE` (always 0), if it calls anything.
    CallStack,
    /// The bank, 0, that holds the numbers of objects, where it holds one of these kinds.
    ObjectBank(u8, &'static [ObjectKind]),
}

/// How cubins of one SM look.
pub(super) struct Layout {
    pub(super) sm: u32,
    /// Byte offset of the first parameter in constant bank 0: of few and of many of them.
    param_bases: [u32; 2],
    /// Bytes at the start of shared memory that the system keeps.
    pub(super) reserved_shared: u32,
    /// Registers stand in the top byte of `sh_info` of text sections.
    pub(super) registers_in_header: bool,
    /// All relocations have an explicit addend; else those with addend 0 are REL entries.
    pub(super) always_rela: bool,
    /// There is a `.nv.compat` section; this is what its last record says of the targets that the code can
    /// be made fit for quickly.
    pub(super) compat: Option<Fastpath>,
    /// Bytes of `.nv.shared.reserved.0`, where there is one.
    pub(super) reserved_section: Option<u64>,
    /// A texture and its sampler have a word of bank 0 each; else they share one.
    pub(super) samplers_apart: bool,
    /// Bank 0 stands before the code, as old targets have it.
    pub(super) bank0_first: bool,
    /// Order of the records of `.nv.info.NAME`.
    pub(super) info: &'static [InfoItem],
}

/// `CAN_FASTPATH_FINALIZE` of a module with code.
#[derive(Clone, Copy)]
pub(super) struct Fastpath {
    /// Where the siblings of the chip need other control words.
    pub(super) own: u32,
    /// Where they need the same.
    pub(super) all: u32,
}

impl Fastpath {
    const NONE: Fastpath = Fastpath { own: 0, all: 0 };
}

/// Bytes of kernel parameters that every driver takes.
const SMALL_PARAMETERS: u32 = 4352;

impl Layout {
    /// Byte offset of the first parameter in constant bank 0 if there are that many bytes of them.
    pub(super) fn param_base(&self, bytes: u32) -> u32 {
        self.param_bases[usize::from(bytes > SMALL_PARAMETERS)]
    }
}

use InfoItem::{
    ApiVersion, BlockShape, Byte, CallStack, Cluster, CtaidZ, Exits, Externs, Flag, Half, Instructions, MaxRegCount,
    NumBarriers, ObjectBank, ParamCbank, ParamSize, Params, PoolUnits, Syscalls, TensorBlocks, TensorBook, Word,
};

macro_rules! before_hopper {
    ([$($first:expr),*] $($special:expr),*) => {
        Layout {
            sm: 0,
            param_bases: [0x160, 0x1a80],
            reserved_shared: 0,
            registers_in_header: true,
            always_rela: false,
            compat: None,
            reserved_section: None,
            samplers_apart: false,
            bank0_first: true,
            info: &[
                $($first,)* ApiVersion, $($special,)* ParamCbank, ParamSize, Params, MaxRegCount,
                ObjectBank(number::BINDLESS_SURFACE_BANK, &[Surface]),
                ObjectBank(number::BINDLESS_TEXTURE_BANK, &[Texture, Sampler]), NumBarriers,
                Externs, Half(number::MERCURY_ISA_VERSION, 0), Instructions, Syscalls, Exits, CtaidZ, BlockShape, CallStack,
            ],
        }
    };
}

const TURING: Layout = before_hopper!([] Word(number::SW_WAR, 1));
const AMPERE: Layout = before_hopper!([] Flag(number::SW2861232_WAR));
/// Kernels begin with code that sets convergence barriers.
const ORIN: Layout = before_hopper!([Word(number::SW_WAR, 2)] Flag(number::SW2861232_WAR));
const ADA: Layout = before_hopper!([]);

const HOPPER: Layout = Layout {
    sm: 90,
    param_bases: [0x210; 2],
    reserved_shared: 0x400,
    registers_in_header: false,
    always_rela: true,
    compat: Some(Fastpath::NONE),
    reserved_section: Some(0),
    samplers_apart: true,
    bank0_first: false,
    info: &[
        ApiVersion,
        Params,
        Cluster,
        Half(number::SPARSE_MMA_MASK, 0),
        MaxRegCount,
        NumBarriers,
        Externs,
        Half(number::MERCURY_ISA_VERSION, 0x101),
        Instructions,
        Syscalls,
        Exits,
        BlockShape,
        CallStack,
        ParamSize,
        ParamCbank,
        Word(number::SW_WAR, 8),
        ObjectBank(number::BINDLESS_TEXTURE_BANK, &[Texture, Sampler, Surface]),
        ObjectBank(number::BINDLESS_SURFACE_BANK, &[Texture, Sampler, Surface]),
    ],
};

/// Blackwell's, of which the word of `SW_WAR` and the version of the instruction set differ, and what comes last.
macro_rules! blackwell {
    ($workaround:expr, $isa:expr, $($last:expr),*) => {
        Layout {
            param_bases: [0x380; 2],
            reserved_section: Some(0x40),
            info: &[
                ApiVersion,
                Params,
                Cluster,
                TensorBook,
                Half(number::SPARSE_MMA_MASK, 0),
                TensorBlocks,
                MaxRegCount,
                NumBarriers,
                Externs,
                Half(number::MERCURY_ISA_VERSION, $isa),
                PoolUnits,
                Instructions,
                Syscalls,
                Exits,
                BlockShape,
                CallStack,
                ParamSize,
                ParamCbank,
                Word(number::SW_WAR, $workaround),
                ObjectBank(number::BINDLESS_TEXTURE_BANK, &[Texture, Sampler, Surface]),
                ObjectBank(number::BINDLESS_SURFACE_BANK, &[Texture, Sampler, Surface]),
                $($last),*
            ],
            ..HOPPER
        }
    };
}

const DATACENTER: Layout = blackwell!(8, 0x101,);
const DESKTOP: Layout = blackwell!(0, 0x101,);
/// With a record that ptxas 13.5.37 puts into each kernel of sm_107, and which its own tools do not name.
const DATACENTER_107: Layout = blackwell!(0, 0x103, Byte(0x67, 0));

static LAYOUTS: &[Layout] = &[
    Layout { sm: 75, ..TURING },
    Layout { sm: 80, ..AMPERE },
    Layout { sm: 86, ..AMPERE },
    Layout { sm: 87, ..ORIN },
    Layout { sm: 88, ..AMPERE },
    Layout { sm: 89, ..ADA },
    HOPPER,
    // Bit 0 is the chip itself, bit 3 the siblings.
    Layout { sm: 100, compat: Some(Fastpath { own: 1, all: 9 }), ..DATACENTER },
    Layout { sm: 103, ..DATACENTER },
    Layout { sm: 107, ..DATACENTER_107 },
    // Behind the first 0x40 bytes `__nv_reservedSMEM_gb10b_war_var` of 0x80.
    Layout { sm: 110, reserved_section: Some(0xc0), ..DATACENTER },
    Layout { sm: 120, compat: Some(Fastpath { own: 0x50, all: 0x50 }), ..DESKTOP },
    Layout { sm: 121, ..DESKTOP },
];

/// The row of a target.
pub(super) fn layout(target: Target) -> Option<&'static Layout> {
    let row = LAYOUTS.iter().find(|row| row.sm == target.sm)?;
    let exists = match target.suffix {
        Suffix::None => true,
        Suffix::Arch => row.sm >= 90,
        Suffix::Family => row.sm >= 100,
    };
    exists.then_some(row)
}

/// Every target that can be written.
pub fn targets() -> impl Iterator<Item = Target> {
    let suffixes = [Suffix::None, Suffix::Family, Suffix::Arch];
    let names = LAYOUTS.iter().flat_map(move |row| suffixes.map(|suffix| Target { sm: row.sm, suffix }));
    names.filter(|target| layout(*target).is_some())
}

/// Byte offset of the first kernel parameter in constant bank 0 if there are that many bytes of them, `None`
/// for a target that cannot be written.
pub fn param_base(target: Target, bytes: u32) -> Option<u32> {
    layout(target).map(|row| row.param_base(bytes))
}

/// Bytes at the start of a block's shared memory that the system keeps, and so the first address
/// of a kernel's own shared memory: 0x400 from sm_90 on, 0 before. 0 for a target that cannot be
/// written.
pub fn reserved_shared(target: Target) -> u32 {
    layout(target).map_or(0, |row| row.reserved_shared)
}
