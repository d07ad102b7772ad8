//! The known attribute numbers, as data.

/// What the value of an attribute means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Present or absent.
    Flag,
    /// One number.
    Number,
    /// Three words: x, y, z.
    Shape,
    /// Pairs of a symbol index and a number about that symbol.
    OfSymbol,
    /// Symbol indices.
    Symbols,
    /// Byte offsets of instructions in the function.
    CodeOffsets,
    /// Place of the parameters: symbol of the constant section, then base and size in half words.
    ParamArea,
    /// One kernel parameter: index, ordinal and offset, size and flags.
    Param,
    /// Not known to this crate, or none of the above.
    Raw,
}

/// A known attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Eiattr {
    /// Number in the record.
    pub number: u8,
    /// Name, without the `EIATTR_` that NVIDIA's tools print before it.
    pub name: &'static str,
    /// What its value means.
    pub shape: Shape,
}

macro_rules! eiattrs {
    ($($number:literal $name:ident $shape:ident;)*) => {
        impl Eiattr {
            /// All known attributes, by number.
            pub const ALL: &'static [Eiattr] = &[
                $(Eiattr { number: $number, name: stringify!($name), shape: Shape::$shape },)*
            ];
        }

        /// Attribute numbers by name.
        pub mod number {
            $(
                #[doc = concat!("`EIATTR_", stringify!($name), "`.")]
                pub const $name: u8 = $number;
            )*
        }
    };
}

// The names are those that cuobjdump prints for each number.
eiattrs! {
    0x00 ERROR Raw;
    0x01 PAD Flag;
    0x02 IMAGE_SLOT Raw;
    0x03 JUMPTABLE_RELOCS Raw;
    0x04 CTAIDZ_USED Flag;
    0x05 MAX_THREADS Shape;
    0x06 IMAGE_OFFSET Raw;
    0x07 IMAGE_SIZE Raw;
    0x08 TEXTURE_NORMALIZED Raw;
    0x09 SAMPLER_INIT Raw;
    0x0a PARAM_CBANK ParamArea;
    0x0b SMEM_PARAM_OFFSETS Raw;
    0x0c CBANK_PARAM_OFFSETS Raw;
    0x0d SYNC_STACK OfSymbol;
    0x0e TEXID_SAMPID_MAP Raw;
    0x0f EXTERNS Symbols;
    0x10 REQNTID Shape;
    0x11 FRAME_SIZE OfSymbol;
    0x12 MIN_STACK_SIZE OfSymbol;
    0x13 SAMPLER_FORCE_UNNORMALIZED Raw;
    0x14 BINDLESS_IMAGE_OFFSETS CodeOffsets;
    0x15 BINDLESS_TEXTURE_BANK Raw;
    0x16 BINDLESS_SURFACE_BANK Raw;
    0x17 KPARAM_INFO Param;
    0x18 SMEM_PARAM_SIZE Number;
    0x19 CBANK_PARAM_SIZE Number;
    0x1a QUERY_NUMATTRIB Raw;
    0x1b MAXREG_COUNT Number;
    0x1c EXIT_INSTR_OFFSETS CodeOffsets;
    0x1d S2RCTAID_INSTR_OFFSETS CodeOffsets;
    0x1e CRS_STACK_SIZE Number;
    0x1f NEED_CNP_WRAPPER Flag;
    0x20 NEED_CNP_PATCH Flag;
    0x21 EXPLICIT_CACHING Flag;
    0x22 ISTYPEP_USED Flag;
    0x23 MAX_STACK_SIZE OfSymbol;
    0x24 SUQ_USED Flag;
    0x25 LD_CACHEMOD_INSTR_OFFSETS CodeOffsets;
    0x26 LOAD_CACHE_REQUEST Raw;
    0x27 ATOM_SYS_INSTR_OFFSETS CodeOffsets;
    0x28 COOP_GROUP_INSTR_OFFSETS CodeOffsets;
    0x29 COOP_GROUP_MASK_REGIDS Raw;
    0x2a SW1850030_WAR Flag;
    0x2b WMMA_USED Flag;
    0x2c HAS_PRE_V10_OBJECT Flag;
    0x2d ATOMF16_EMUL_INSTR_OFFSETS CodeOffsets;
    0x2e ATOM16_EMUL_INSTR_REG_MAP Raw;
    0x2f REGCOUNT OfSymbol;
    0x30 SW2393858_WAR Flag;
    0x31 INT_WARP_WIDE_INSTR_OFFSETS CodeOffsets;
    0x32 SHARED_SCRATCH Raw;
    0x33 STATISTICS Raw;
    0x34 INDIRECT_BRANCH_TARGETS Raw;
    0x35 SW2861232_WAR Flag;
    0x36 SW_WAR Number;
    0x37 CUDA_API_VERSION Number;
    0x38 NUM_MBARRIERS Number;
    0x39 MBARRIER_INSTR_OFFSETS CodeOffsets;
    0x3a COROUTINE_RESUME_ID_OFFSETS CodeOffsets;
    0x3b SAM_REGION_STACK_SIZE Raw;
    0x3c PER_REG_TARGET_PERF_STATS Raw;
    0x3d CTA_PER_CLUSTER Shape;
    0x3e EXPLICIT_CLUSTER Flag;
    0x3f MAX_CLUSTER_RANK Number;
    0x40 INSTR_REG_MAP Raw;
    0x41 RESERVED_SMEM_USED Flag;
    0x42 RESERVED_SMEM_0_SIZE Number;
    0x43 UCODE_SECTION_DATA Raw;
    0x44 UNUSED_LOAD_BYTE_OFFSET Raw;
    0x45 KPARAM_INFO_V2 Param;
    0x46 SYSCALL_OFFSETS CodeOffsets;
    0x47 SW_WAR_MEMBAR_SYS_INSTR_OFFSETS CodeOffsets;
    0x48 GRAPHICS_GLOBAL_CBANK Raw;
    0x49 SHADER_TYPE Number;
    0x4a VRC_CTA_INIT_COUNT Number;
    0x4b TOOLS_PATCH_FUNC Raw;
    0x4c NUM_BARRIERS Number;
    0x4d TEXMODE_INDEPENDENT Flag;
    0x4e PERF_STATISTICS Raw;
    0x4f AT_ENTRY_FRAGMENTS Raw;
    0x50 SPARSE_MMA_MASK Number;
    0x51 TCGEN05_1CTA_USED Flag;
    0x52 TCGEN05_2CTA_USED Flag;
    0x53 GEN_ERRBAR_AT_EXIT Flag;
    0x54 REG_RECONFIG Flag;
    0x55 ANNOTATIONS Raw;
    0x57 STACK_CANARY_TRAP_OFFSETS CodeOffsets;
    0x58 STUB_FUNCTION_KIND Raw;
    0x59 LOCAL_CTA_ASYNC_STORE_OFFSETS CodeOffsets;
    0x5a MERCURY_FINALIZER_OPTIONS Raw;
    0x5b BLOCKS_ARE_CLUSTERS Flag;
    0x5c SANITIZE Raw;
    0x5d SYSCALLS_FALLBACK Flag;
    0x5e CUDA_REQ Raw;
    0x5f MERCURY_ISA_VERSION Number;
    0x61 RTCORE_ENTRY Raw;
    0x62 CLUSTER_LAUNCH_CONTROL_USED Flag;
    0x64 MIN_PER_CTA_MEMORY_SIZE Raw;
    0x65 IGNOREOOB_CP_ASYNC_BULK_INSTR_OFFSETS CodeOffsets;
    0x66 LANGUAGE Number;
}

impl Eiattr {
    /// The row of a number.
    pub fn by_number(number: u8) -> Option<&'static Eiattr> {
        let at = Self::ALL.binary_search_by_key(&number, |row| row.number).ok()?;
        Self::ALL.get(at)
    }

    /// The row of a name such as `FRAME_SIZE`.
    pub fn by_name(name: &str) -> Option<&'static Eiattr> {
        Self::ALL.iter().find(|row| row.name == name)
    }
}
