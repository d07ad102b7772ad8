//! What the writer needs to know: a plain description of a module.
//!
//! Everything refers to everything by name, so that a compiler can fill it function by function.

use crate::model::{Binding, FileKind};
use crate::nvinfo::Attribute;
use crate::target::Target;
use crate::unwind::Unwind;

/// A module to write with [`crate::write`].
#[derive(Clone, Debug)]
pub struct ModuleSpec {
    /// The SM that the code is for.
    pub target: Target,
    /// Linked file or object file.
    pub kind: FileKind,
    /// Kernels and device functions, in the order in which they shall stand in the file.
    pub functions: Vec<FunctionSpec>,
    /// `.global` variables.
    pub globals: Vec<VariableSpec>,
    /// `.const` variables: constant bank 3.
    pub constants: Vec<VariableSpec>,
    /// Constant bank 4: 8-byte slots, each with the address of a symbol. Code reads the slot `i`
    /// as `c[4][8*i]`.
    pub address_table: Vec<AddressSlot>,
    /// External functions (`vprintf`, `malloc`, `__assertfail`, …) that relocations may name.
    pub externs: Vec<String>,
    /// `.shared` variables of an object file: the linker lays them out.
    pub shared: Vec<VariableSpec>,
    /// Variables of an object file that are defined elsewhere.
    pub extern_variables: Vec<ExternVariable>,
    /// Functions of an object file that others can call or whose address is taken, external ones too.
    pub prototypes: Vec<Prototype>,
    /// Names of the driver for the bytes of an entry of its tables, which it puts into code.
    pub driver_values: Vec<String>,
    /// Textures, samplers and surfaces that the driver binds to names of the module.
    pub objects: Vec<ObjectSpec>,
    /// Samplers stand by themselves: `.target texmode_independent`.
    pub independent_samplers: bool,
    /// What it tells the program on the host, word for word: section `.nv.host`.
    pub host: Option<Vec<u8>>,
    /// Where in the source the instructions come from.
    pub debug: Option<DebugSpec>,
}

impl ModuleSpec {
    /// An empty module for `target`.
    pub fn new(target: Target) -> Self {
        ModuleSpec {
            target,
            kind: FileKind::Executable,
            functions: Vec::new(),
            globals: Vec::new(),
            constants: Vec::new(),
            address_table: Vec::new(),
            externs: Vec::new(),
            shared: Vec::new(),
            extern_variables: Vec::new(),
            prototypes: Vec::new(),
            driver_values: Vec::new(),
            objects: Vec::new(),
            independent_samplers: false,
            host: None,
            debug: None,
        }
    }
}

/// The memory that a variable is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// `.global`.
    Global,
    /// `.shared`.
    Shared,
    /// `.const`.
    Constant,
}

/// What the driver binds to a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectKind {
    /// `.texref`
    Texture,
    /// `.samplerref`
    Sampler,
    /// `.surfref`
    Surface,
}

/// A texture, sampler or surface that the driver binds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectSpec {
    /// Symbol name.
    pub name: String,
    /// What it is.
    pub kind: ObjectKind,
    /// The kernel that has it as a parameter, if it is no variable.
    pub kernel: Option<String>,
    /// A sampler's initial address modes of three axes and filter, a byte each from the lowest on, numbered as
    /// the PTX manual lists their words; 0xff: not given.
    pub modes: u32,
    /// A sampler's `force_unnormalized_coords`.
    pub unnormalized: Option<bool>,
}

/// A 32-bit word of a kernel's bank 0, behind the parameters, with the numbers of objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectSlot {
    /// Byte offset in the bank.
    pub offset: u32,
    /// Names of the objects: one, or a texture and its sampler.
    pub objects: Vec<String>,
}

/// A variable that another file defines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternVariable {
    /// Symbol name.
    pub name: String,
    /// Where it is.
    pub memory: Memory,
    /// Size in bytes as declared; 0 for an array without a size.
    pub size: u64,
}

/// What a function takes and gives, so that linkers find calls through addresses that may reach it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prototype {
    /// The function.
    pub function: String,
    /// As ptxas spells it: `#`, the result, the parameters; `i`, `l`, `f`, `d` for 4 and 8 bytes of integer
    /// and float, `bN` for N bytes, a number behind an array of them, `v` for no result.
    pub text: String,
    /// Its address is taken.
    pub address_taken: bool,
}

/// Source lines, for the sections `.debug_line`, `.nv_debug_line_sass` and `.nv_debug_ptx_txt`, and what is in others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DebugSpec {
    /// Source files; rows name them by their index here.
    pub files: Vec<String>,
    /// The PTX text.
    pub ptx: String,
    /// Rows of each function section, by the name of its function.
    pub functions: Vec<FunctionLines>,
    /// Name of the PTX file, where `.debug_info` with a compile unit and its functions is wanted too.
    pub compile_unit: Option<String>,
    /// Further sections, as they are.
    pub sections: Vec<DebugSection>,
}

/// A debug section whose contents are given: DWARF that the PTX carries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DebugSection {
    /// `.debug_info`, `.debug_abbrev`…
    pub name: String,
    /// Contents, zero where an address goes.
    pub bytes: Vec<u8>,
    /// Addresses in it.
    pub relocations: Vec<RelocSpec>,
}

/// The source lines of the code of one section.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionLines {
    /// Symbol at the start of the section.
    pub symbol: String,
    /// Bytes of code.
    pub size: u64,
    /// Where the line changes, by ascending offset.
    pub rows: Vec<LineRow>,
}

/// From this instruction on the code comes from these lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineRow {
    /// Byte offset in the section.
    pub offset: u64,
    /// Line of the PTX text, from 1.
    pub ptx_line: u32,
    /// Place in a source file; `None` where the PTX names none.
    pub source: Option<SourcePlace>,
}

/// A place in a source file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourcePlace {
    /// Index in [`DebugSpec::files`].
    pub file: u32,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1; 0: unknown.
    pub column: u32,
}

/// One slot of constant bank 4.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressSlot {
    /// Symbol whose address is put in.
    pub symbol: String,
    /// Added to the address.
    pub addend: i64,
}

/// A kernel or a device function.
#[derive(Clone, Debug)]
pub struct FunctionSpec {
    /// Symbol name.
    pub name: String,
    /// Kernel (`.entry`) or device function (`.func`).
    pub is_kernel: bool,
    /// Binding of the symbol: global for `.visible` and for kernels, else local; weak for `.weak`.
    pub binding: Binding,
    /// Encoded instructions, 16 bytes each, little endian. The writer adds nothing to them: end
    /// them as the hardware wants it (a branch to itself, then NOPs up to a multiple of 128 bytes).
    pub code: Vec<u8>,
    /// Registers per thread that the launch allocates.
    pub registers: u32,
    /// Number of hardware barriers used (0 to 16).
    pub barriers: u32,
    /// Local stack frame of this function in bytes.
    pub frame_size: u32,
    /// Stack need with callees in bytes; not below `frame_size`.
    pub min_stack_size: u32,
    /// Parameters of a kernel, in order.
    pub params: Vec<ParamSpec>,
    /// Bytes of static shared memory, laid out by the compiler from offset 0 of its own data (what
    /// the system reserves is added by the writer, see [`crate::reserved_shared`]).
    pub shared_size: u32,
    /// Alignment of that memory, a power of two; 0 counts as 16.
    pub shared_align: u32,
    /// Whether it uses dynamic shared memory (`extern .shared`).
    pub uses_dynamic_shared: bool,
    /// Names inside the shared memory, for relocations and debuggers. A relocation puts in the
    /// offset given here; on sm_90 the code itself adds [`crate::reserved_shared`] to it.
    pub shared_symbols: Vec<SymbolSpec>,
    /// Contents of constant bank 2 (literals of this kernel).
    pub literals: Vec<u8>,
    /// Relocations inside `code`.
    pub relocations: Vec<RelocSpec>,
    /// Device functions inside `code`, behind the kernel's own instructions.
    pub inner_functions: Vec<InnerFunctionSpec>,
    /// Names of functions outside its own section that it calls (`vprintf`, …).
    pub callees: Vec<String>,
    /// Prototypes of its calls through addresses (object files), spelled as in [`Prototype::text`].
    pub indirect_calls: Vec<String>,
    /// Byte offsets of the instructions that call external functions.
    pub syscalls: Vec<u32>,
    /// Byte offsets of the EXIT instructions.
    pub exits: Vec<u32>,
    /// Of each jump by a table: its byte offset, a zero, the number of targets, their byte offsets.
    pub jumps: Vec<u32>,
    /// Whether it reads `SR_CTAID.Z`.
    pub uses_ctaid_z: bool,
    /// Its threads wait for each other, or it calls: it has a `BSSY`, `WARPSYNC` or `CALL`.
    pub gathers: bool,
    /// What `.sync` instructions of the program are in the code, by ascending offset.
    pub exchanges: Vec<Exchange>,
    /// Byte offsets of exchanges in the warp that the compiler has added.
    pub added_exchanges: Vec<u32>,
    /// What it does with mbarriers, if it has any.
    pub mbarriers: Option<Mbarriers>,
    /// Offsets of copies in bulk with bytes at the ends of their sources that may be out of bounds.
    pub copies_ignoring_bounds: Vec<u32>,
    /// Loads of which not all is read, by ascending offset: the byte offset and the bytes that are read, a bit each.
    pub unused_bytes: Vec<(u32, u32)>,
    /// Accesses to a word in the place of 16 bits of it, by ascending offset.
    pub half_words: Vec<HalfWord>,
    /// What its instructions ask of the GPU.
    pub demands: Demands,
    /// Tensor memory, if it uses it.
    pub tensor_memory: Option<TensorMemory>,
    /// Launch bounds.
    pub limits: crate::model::Limits,
    /// Words of bank 0 that hold objects.
    pub object_slots: Vec<ObjectSlot>,
    /// Further records for `.nv.info.NAME`, written as they are.
    pub extra_info: Vec<Attribute>,
    /// Where its caller's frame is.
    pub unwind: Unwind,
}

impl FunctionSpec {
    /// A kernel with this code and nothing else.
    pub fn kernel(name: impl Into<String>, code: Vec<u8>, registers: u32) -> Self {
        FunctionSpec {
            name: name.into(),
            is_kernel: true,
            binding: Binding::Global,
            code,
            registers,
            barriers: 0,
            frame_size: 0,
            min_stack_size: 0,
            params: Vec::new(),
            shared_size: 0,
            shared_align: 0,
            uses_dynamic_shared: false,
            shared_symbols: Vec::new(),
            literals: Vec::new(),
            relocations: Vec::new(),
            inner_functions: Vec::new(),
            callees: Vec::new(),
            indirect_calls: Vec::new(),
            syscalls: Vec::new(),
            exits: Vec::new(),
            jumps: Vec::new(),
            uses_ctaid_z: false,
            gathers: false,
            exchanges: Vec::new(),
            added_exchanges: Vec::new(),
            mbarriers: None,
            copies_ignoring_bounds: Vec::new(),
            unused_bytes: Vec::new(),
            half_words: Vec::new(),
            demands: Demands::default(),
            tensor_memory: None,
            limits: crate::model::Limits::default(),
            object_slots: Vec::new(),
            extra_info: Vec::new(),
            unwind: Unwind::default(),
        }
    }

    /// A device function in a section of its own.
    pub fn device(name: impl Into<String>, code: Vec<u8>, registers: u32) -> Self {
        FunctionSpec { is_kernel: false, ..Self::kernel(name, code, registers) }
    }
}

/// An instruction that threads of a warp execute for the members of a mask: a shuffle, a vote, a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// Byte offset.
    pub offset: u32,
    /// The register that has the mask where the instruction stands; `None` where none has.
    pub mask: Option<MaskRegister>,
}

/// An access to the word around the 16 bits that the program means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HalfWord {
    /// Byte offset of the instruction.
    pub offset: u32,
    /// The number of the general register with the address of the 16 bits, its low word; `None` where none has it.
    pub address: Option<u8>,
}

/// What the instructions of a function ask of the GPU, for `.nv.compat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demands {
    /// `ISA_CLASS`: 1 what every chip of the generation has; 2 textures, tensor copies, narrow floats and such; 3 and 4 what
    /// one chip alone has.
    pub isa_class: u8,
    /// `INST_TENSORMAP_V1`: [`Demands::TENSOR_COPIES`], [`Demands::REPLACES_TENSOR_MAPS`].
    pub tensor_maps: u8,
    /// There are products of integers in tensor memory.
    pub integer_tensor_products: bool,
    /// The control words are those that the siblings of the chip need too.
    pub fits_siblings: bool,
}

impl Demands {
    /// Boxes of tensors are copied.
    pub const TENSOR_COPIES: u8 = 1;
    /// Fields of tensors' descriptions are replaced.
    pub const REPLACES_TENSOR_MAPS: u8 = 2;

    /// Those of both.
    pub fn and(self, other: Demands) -> Demands {
        Demands {
            isa_class: self.isa_class.max(other.isa_class),
            tensor_maps: self.tensor_maps | other.tensor_maps,
            integer_tensor_products: self.integer_tensor_products || other.integer_tensor_products,
            fits_siblings: self.fits_siblings && other.fits_siblings,
        }
    }
}

impl Default for Demands {
    fn default() -> Self {
        Demands { isa_class: 1, tensor_maps: 0, integer_tensor_products: false, fits_siblings: true }
    }
}

/// A register with a mask of members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaskRegister {
    /// `R` and this number.
    Thread(u8),
    /// `UR` and this number.
    Uniform(u8),
}

/// What a function does with mbarriers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mbarriers {
    /// How many instructions initialise one; `None` where one of them is in a loop.
    pub initialised: Option<u16>,
    /// The instructions on them, by ascending offset.
    pub accesses: Vec<MbarrierAccess>,
}

/// An instruction on an mbarrier, whose address is `R[base] * scale + UR[uniform_base] + offset`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MbarrierAccess {
    /// Byte offset of the instruction.
    pub at: u32,
    /// What it does.
    pub kind: MbarrierKind,
    /// Number of a register; 255: none.
    pub base: u8,
    /// Number of a uniform register as the instruction has it; the highest of its field: none.
    pub uniform_base: u8,
    /// Bytes.
    pub offset: i32,
    /// The base counts 1, 4, 8 or 16 bytes.
    pub scale: u8,
}

/// What an instruction does with an mbarrier. The numbers are those of `MBARRIER_INSTR_OFFSETS`; cuobjdump 13.0 names
/// those up to 10.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum MbarrierKind {
    /// `mbarrier.init`
    Init = 0,
    /// `mbarrier.arrive`
    Arrive = 1,
    /// `mbarrier.arrive.noComplete`
    ArriveNoComplete = 2,
    /// `mbarrier.arrive_drop`
    ArriveDrop = 3,
    /// `mbarrier.arrive_drop.noComplete`
    ArriveDropNoComplete = 4,
    /// `mbarrier.test_wait`
    TestWait = 5,
    /// `mbarrier.test_wait.parity`
    TestWaitParity = 6,
    /// `cp.async.mbarrier.arrive`
    CopyArrive = 7,
    /// `mbarrier.inval`
    Invalidate = 8,
    /// `mbarrier.try_wait`
    TryWait = 9,
    /// `mbarrier.try_wait.parity`
    TryWaitParity = 10,
    /// `mbarrier.expect_tx`
    ExpectTx = 11,
    /// `mbarrier.complete_tx`
    CompleteTx = 12,
}

/// How a function uses tensor memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TensorMemory {
    /// It is accessed or allocated: not so where only the right to allocate is given up.
    pub accessed: bool,
    /// Blocks that work on it together, 1 or 2 (`.cta_group`); `None` where no instruction says.
    pub blocks: Option<u32>,
    /// It is allocated or given back, or the right to allocate is, for which the driver opens a book in the reserved part of shared memory.
    pub allocated: bool,
}

/// A kernel parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamSpec {
    /// Byte offset from the start of the parameters, as PTX's layout rules give it.
    pub offset: u32,
    /// Size in bytes.
    pub size: u32,
    /// Name of the texture, sampler or surface that it is; it then has no place and no size.
    pub object: Option<String>,
    /// Who launches the kernel passes none for it: it has its bytes in the bank, and no record.
    pub hidden: bool,
}

impl ParamSpec {
    /// `size` bytes at `offset`.
    pub fn plain(offset: u32, size: u32) -> Self {
        ParamSpec { offset, size, object: None, hidden: false }
    }

    /// The texture, sampler or surface `name`.
    pub fn object(name: impl Into<String>) -> Self {
        ParamSpec { offset: 0, size: 0, object: Some(name.into()), hidden: false }
    }
}

/// A device function inside a kernel's code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InnerFunctionSpec {
    /// Symbol name; ptxas calls them `$kernel$function`, so that two kernels can have the same.
    pub name: String,
    /// Byte offset of the first instruction in the kernel's code.
    pub offset: u32,
    /// Size in bytes.
    pub size: u32,
    /// Local stack frame in bytes.
    pub frame_size: u32,
    /// Where its caller's frame is.
    pub unwind: Unwind,
}

/// A named range inside a section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SymbolSpec {
    /// Name.
    pub name: String,
    /// Byte offset.
    pub offset: u32,
    /// Size in bytes.
    pub size: u32,
}

/// A variable in global or constant memory.
#[derive(Clone, Debug)]
pub struct VariableSpec {
    /// Symbol name.
    pub name: String,
    /// Binding of the symbol.
    pub binding: Binding,
    /// Size in bytes.
    pub size: u64,
    /// Alignment in bytes, a power of two.
    pub align: u64,
    /// Byte offset in its section, where the compiler has already used it in code (`.const`
    /// variables: offset in bank 3). `None`: behind those with an offset, in the order given, each
    /// at the next multiple of `align`.
    pub offset: Option<u64>,
    /// Initial contents; empty for zeros. May be shorter than `size` (the rest is zero).
    pub init: Vec<u8>,
    /// Addresses inside the contents.
    pub relocations: Vec<RelocSpec>,
}

/// A relocation to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelocSpec {
    /// Byte offset in the code or in the variable; for code, of the instruction.
    pub offset: u32,
    /// What is patched and how; constants are in [`crate::reloc`].
    pub kind: &'static crate::reloc::RelocKind,
    /// Symbol whose value is put in.
    pub symbol: String,
    /// Added to the value.
    pub addend: i64,
}
