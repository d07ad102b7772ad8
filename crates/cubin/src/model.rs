//! What is in a cubin, as a reader sees it.
//!
//! [`Cubin`] keeps the ELF tables as they are (sections, symbols, relocations, all with their ELF
//! indices) and beside them the view that a loader wants: functions, constant banks, globals.

use crate::nvinfo::Attribute;
use crate::reloc::RelocKind;
use crate::target::Target;

/// Index of a section in [`Cubin::sections`]; the ELF section index.
pub type SectionIndex = usize;
/// Index of a symbol in [`Cubin::symbols`]; the ELF symbol index.
pub type SymbolIndex = usize;

/// A cubin that has been read.
#[derive(Clone, Debug)]
pub struct Cubin {
    /// The SM that the code is for.
    pub target: Target,
    /// Linked (`ET_EXEC`) or to be linked (`ET_REL`).
    pub kind: FileKind,
    /// `e_flags` as they stand in the file.
    pub e_flags: u32,
    /// `e_ident[EI_ABIVERSION]`: 7 for CUDA 12 and before, 8 for CUDA 13 (and sm_100 in 12.9).
    pub abi_version: u8,
    /// `e_ident[EI_OSABI]`: 0x33 for CUDA 12 and before, 0x41 for CUDA 13 (and sm_100 in 12.9).
    pub os_abi: u8,
    /// All sections; element 0 is the null section.
    pub sections: Vec<Section>,
    /// All symbols; element 0 is the null symbol.
    pub symbols: Vec<Symbol>,
    /// All relocations, in the order of the file.
    pub relocations: Vec<Relocation>,
    /// Kernels and device functions, in the order of their symbols.
    pub functions: Vec<Function>,
    /// Constant banks with contents, of the module and of single kernels.
    pub constant_banks: Vec<ConstantBank>,
    /// Variables in global memory.
    pub globals: Vec<Variable>,
    /// Variables in constant banks (`.const`: bank 3).
    pub constants: Vec<Variable>,
    /// Records of the module-wide `.nv.info`.
    pub info: Vec<Attribute>,
    /// Which function calls which, from `.nv.callgraph`: (caller, callee) symbols.
    pub calls: Vec<(SymbolIndex, SymbolIndex)>,
    /// Functions whose address is taken, from `.nv.callgraph`.
    pub address_taken: Vec<SymbolIndex>,
    /// Functions that call through addresses, from `.nv.callgraph`.
    pub indirect_callers: Vec<SymbolIndex>,
}

/// How far the file has been linked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FileKind {
    /// `ET_EXEC`: can be loaded.
    #[default]
    Executable,
    /// `ET_REL` (`ptxas -c`): external functions and variables may be missing.
    Relocatable,
}

/// What a section holds, from its name and type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SectionKind {
    /// `.text.NAME`: code of the function NAME (and of device functions put into it).
    Text,
    /// `.nv.constantN` (module wide) or `.nv.constantN.NAME` (of one kernel).
    Constant {
        /// Bank number N.
        bank: u32,
    },
    /// `.nv.shared.NAME`: static shared memory of the kernel NAME; only a size. `.nv_debug.shared` of object files:
    /// shared variables that no kernel owns.
    Shared,
    /// `.nv.shared.reserved.0`: shared memory that the system keeps (sm_90 and later).
    SharedReserved,
    /// `.nv.local.NAME`: local memory of a function; only a size.
    Local,
    /// `.nv.global`: global variables that start as zero; only a size.
    Global,
    /// `.nv.global.init`: global variables with initial contents.
    GlobalInit,
    /// `.nv.info` or `.nv.info.NAME`.
    Info,
    /// Debug information: `.debug_*`, `.nv_debug_*`.
    Debug,
    /// Everything else: tables of ELF, notes, call graph.
    Other,
}

/// One ELF section.
#[derive(Clone, Debug)]
pub struct Section {
    /// Name, e.g. `.text.vecadd`.
    pub name: String,
    /// What it holds.
    pub kind: SectionKind,
    /// `sh_type`.
    pub sh_type: u32,
    /// `sh_flags`.
    pub sh_flags: u64,
    /// `sh_link`.
    pub sh_link: u32,
    /// `sh_info`.
    pub sh_info: u32,
    /// Size in bytes; for `NOBITS` sections the memory that they stand for.
    pub size: u64,
    /// Alignment in bytes, at least 1.
    pub align: u64,
    /// Offset of the contents in the file.
    pub file_offset: u64,
    /// Contents; empty for `NOBITS` sections.
    pub data: Vec<u8>,
    /// Section that this one belongs to (`SHF_INFO_LINK`): for `.nv.constant0.K`,
    /// `.nv.shared.K`, `.nv.info.K` the section `.text.K`, for `.rel*` the patched section.
    pub target: Option<SectionIndex>,
}

/// Kind of a symbol (`STT_*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SymbolKind {
    /// No type.
    NoType,
    /// Variable.
    Object,
    /// Function.
    Function,
    /// Section.
    Section,
    /// CUDA texture, surface, sampler or another number.
    Other(u8),
}

/// Binding of a symbol (`STB_*`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Binding {
    /// Seen only in this file.
    Local,
    /// Seen by other files.
    #[default]
    Global,
    /// As global, and may be overridden.
    Weak,
}

/// One ELF symbol.
#[derive(Clone, Debug)]
pub struct Symbol {
    /// Name; sections have the name of their section.
    pub name: String,
    /// Kind.
    pub kind: SymbolKind,
    /// Binding.
    pub binding: Binding,
    /// `st_other`: visibility and CUDA's flags (0x10 marks a kernel's entry).
    pub other: u8,
    /// Section that defines it, or `None` where it is undefined (external).
    pub section: Option<SectionIndex>,
    /// Byte offset in that section; the alignment of shared variables in object files, and of common ones.
    pub value: u64,
    /// Size in bytes.
    pub size: u64,
    /// A variable (`.common`) that no section holds: a linker makes one of all that have its name.
    pub is_common: bool,
}

/// One relocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relocation {
    /// The section that is patched.
    pub section: SectionIndex,
    /// Byte offset in that section: of the instruction for code, of the field for data.
    pub offset: u64,
    /// ELF relocation number.
    pub number: u32,
    /// The row of the relocation table, `None` if the number is not in it.
    pub kind: Option<&'static RelocKind>,
    /// The symbol whose value is put in.
    pub symbol: SymbolIndex,
    /// Addend. `None` for a REL entry: the addend is what stands in the patched field.
    pub addend: Option<i64>,
}

/// A kernel or a device function.
#[derive(Clone, Debug)]
pub struct Function {
    /// Name of the symbol. Device functions that ptxas puts into a kernel's section are called
    /// `$kernel$function`.
    pub name: String,
    /// Its symbol.
    pub symbol: SymbolIndex,
    /// Section with its code.
    pub section: SectionIndex,
    /// Byte offset of its first instruction in the section.
    pub offset: u64,
    /// Size of its code in bytes. A kernel's size includes device functions put behind it.
    pub size: u64,
    /// Whether it can be launched.
    pub is_kernel: bool,
    /// Registers per thread that a launch allocates. For device functions inside a kernel's
    /// section, the kernel's.
    pub registers: u32,
    /// Number of hardware barriers (`BAR`) used.
    pub barriers: u32,
    /// Local stack frame of this function alone, in bytes.
    pub frame_size: u32,
    /// Stack that one thread needs for this function and its callees, in bytes, as far as the
    /// compiler knows it (not for recursion).
    pub min_stack_size: u32,
    /// Most stack that it can need, in bytes, where the compiler says so.
    pub max_stack_size: Option<u32>,
    /// Parameters of a kernel, in order.
    pub params: Vec<Param>,
    /// Place of the parameters in constant bank 0; `None` for device functions.
    pub param_area: Option<ParamArea>,
    /// Static shared memory in bytes, with what the system reserves at its start (0x400 bytes on
    /// sm_90 when shared memory is used).
    pub shared_size: u64,
    /// The section `.nv.shared.NAME`.
    pub shared_section: Option<SectionIndex>,
    /// Launch bounds and such.
    pub limits: Limits,
    /// Records of `.nv.info.NAME`.
    pub info: Vec<Attribute>,
}

/// Place of a kernel's parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ParamArea {
    /// Constant bank (0).
    pub bank: u32,
    /// Byte offset of the first parameter: 0x160 for sm_70 to sm_89 (0x1a80 if there are more than 4352 bytes),
    /// 0x210 for sm_90, 0x380 for sm_100 and later.
    pub base: u32,
    /// Bytes of all parameters.
    pub size: u32,
}

/// A kernel parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Param {
    /// Number of the parameter, from 0.
    pub ordinal: u16,
    /// Byte offset from [`ParamArea::base`].
    pub offset: u32,
    /// Size in bytes.
    pub size: u32,
}

impl Param {
    /// The offset of a texture, sampler or surface: it has no place among the parameters.
    pub(crate) const OBJECT: u32 = 0xffff;

    /// It is a texture, sampler or surface, which is bound to its name and not passed.
    pub fn is_object(&self) -> bool {
        self.offset == Param::OBJECT && self.size == 0
    }
}

/// What a kernel demands of its launch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// `.maxntid`: no block may be larger.
    pub max_threads: Option<[u32; 3]>,
    /// `.reqntid`: every block must have this shape.
    pub required_threads: Option<[u32; 3]>,
    /// `.maxnreg` or `--maxrregcount`; 255 where there is no limit.
    pub max_registers: Option<u32>,
    /// `.reqnctapercluster`: cluster shape.
    pub cluster: Option<[u32; 3]>,
    /// `.maxclusterrank`.
    pub max_cluster_rank: Option<u32>,
    /// `.explicitcluster`.
    pub explicit_cluster: bool,
    /// `.minperctamemory`: bytes of global memory that each block must have of its own. A file has the most that any kernel needs.
    pub min_per_cta_memory: Option<u32>,
    /// `.language`: the numbers of the languages that it was made of, in their order.
    pub languages: Vec<u8>,
}

/// A constant bank with contents.
#[derive(Clone, Debug)]
pub struct ConstantBank {
    /// Bank number N of `c[N][…]`.
    pub bank: u32,
    /// Section with its contents; relocations may still have to be applied to them.
    pub section: SectionIndex,
    /// Name of the kernel that it belongs to, `None` for the whole module.
    pub function: Option<String>,
    /// Size in bytes.
    pub size: u64,
}

/// A variable in global, constant or shared memory.
#[derive(Clone, Debug)]
pub struct Variable {
    /// Name.
    pub name: String,
    /// Its symbol.
    pub symbol: SymbolIndex,
    /// Section that it is in.
    pub section: SectionIndex,
    /// Byte offset in the section.
    pub offset: u64,
    /// Size in bytes.
    pub size: u64,
}
