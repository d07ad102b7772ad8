//! What random programs are made of.

bitflags::bitflags! {
    /// What programs are made of.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
    pub struct Kinds: u32 {
        /// `i128`
        const WIDE = 1;
        /// Integers of odd widths: `i5`, `i24`, `i48`
        const ODD = 1 << 1;
        /// `half`
        const HALF = 1 << 2;
        /// `bfloat`
        const BFLOAT = 1 << 3;
        /// `float` and `double`
        const FLOAT = 1 << 4;
        /// Vectors.
        const VECTORS = 1 << 5;
        /// Structures and arrays as values.
        const AGGREGATES = 1 << 6;
        /// Branches, loops, switches.
        const FLOW = 1 << 7;
        /// Calls of functions of the module.
        const CALLS = 1 << 8;
        /// Local variables, tables, loads and stores at computed addresses.
        const MEMORY = 1 << 9;
        /// `memcpy`, `memmove`, `memset`
        const BLOCKS = 1 << 10;
        /// `atomicrmw`, `cmpxchg`, atomic loads and stores
        const ATOMICS = 1 << 11;
        /// `llvm.*`
        const INTRINSICS = 1 << 12;
        /// `llvm.nvvm.*`
        const NVVM = 1 << 13;
        /// Inline assembly.
        const ASM = 1 << 14;
        /// `llvm.vector.reduce.*`
        const REDUCTIONS = 1 << 15;
        /// `llvm.fptosi.sat` and `llvm.fptoui.sat`
        const SATURATING_CASTS = 1 << 16;
        /// Division and remainder of integers.
        const DIVISION = 1 << 17;
        /// Conversions between integers and floating-point numbers.
        const CONVERSIONS = 1 << 18;
        /// `llvm.minimum`, `llvm.maximum`
        const MINIMUM = 1 << 19;
        /// Vectors and aggregates of `i128` or integers of odd widths as arguments and results.
        const ANY_ARGUMENT = 1 << 20;
        /// `memmove` between address spaces.
        const ANY_MEMMOVE = 1 << 21;
        /// Vectors in memory whose elements are no whole bytes.
        const PACKED_VECTORS = 1 << 22;
        /// `volatile`
        const VOLATILE = 1 << 23;
        /// Blocks of memory of a computed length.
        const VARIABLE_BLOCKS = 1 << 24;
        /// Atomic operations that no instruction does: `nand`, `uinc_wrap` of `i64`…
        const ATOMIC_LOOPS = 1 << 25;
        /// Pointers chosen by conditions, kept in memory, called.
        const POINTERS = 1 << 26;
        /// Functions that call themselves.
        const RECURSION = 1 << 27;
        /// What no single instruction does: `llvm.ushl.sat`, `frem`, `llvm.is.fpclass`.
        const LIBRARY = 1 << 28;
    }
}

/// How programs are made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Statements of a kernel at most; a statement is a few instructions.
    pub statements: u32,
    /// What there may be.
    pub kinds: Kinds,
}

impl Default for Options {
    fn default() -> Options {
        Options { statements: 24, kinds: Kinds::all() }
    }
}

/// Bytes of the input buffer that a thread reads.
pub const INPUT_STRIDE: u32 = 256;

/// Bytes of the output buffer that a thread writes.
pub const OUTPUT_STRIDE: u32 = 1024;

/// Threads of the launch.
pub(super) const THREADS: u32 = 4;
