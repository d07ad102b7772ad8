//! Attributes of functions, calls, parameters and results: those that change
//! what the back end does, and `"key"="value"` pairs as they are.

use super::types::TypeId;

bitflags::bitflags! {
    /// Attributes of a function or call site that are a single word.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct FnFlags: u16 {
        /// `convergent`: may not be made control-dependent on more than it is.
        const CONVERGENT = 1;
        /// `noinline`
        const NO_INLINE = 1 << 1;
        /// `alwaysinline`
        const ALWAYS_INLINE = 1 << 2;
        /// `noreturn`
        const NO_RETURN = 1 << 3;
        /// `willreturn`
        const WILL_RETURN = 1 << 4;
        /// `nounwind`
        const NO_UNWIND = 1 << 5;
        /// `optnone`
        const OPT_NONE = 1 << 6;
        /// `speculatable`
        const SPECULATABLE = 1 << 7;
        /// `norecurse`
        const NO_RECURSE = 1 << 8;
        /// `cold`
        const COLD = 1 << 9;
    }
}

bitflags::bitflags! {
    /// Attributes of a parameter, argument or result that are a single word.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct ParamFlags: u16 {
        /// `signext`
        const SIGN_EXT = 1;
        /// `zeroext`
        const ZERO_EXT = 1 << 1;
        /// `noalias`
        const NO_ALIAS = 1 << 2;
        /// `nocapture`, `captures(none)`
        const NO_CAPTURE = 1 << 3;
        /// `readonly`
        const READ_ONLY = 1 << 4;
        /// `writeonly`
        const WRITE_ONLY = 1 << 5;
        /// `readnone`
        const READ_NONE = 1 << 6;
        /// `nonnull`
        const NON_NULL = 1 << 7;
        /// `noundef`
        const NO_UNDEF = 1 << 8;
        /// `returned`
        const RETURNED = 1 << 9;
        /// `"grid_constant"` or `nvvm.grid_constant`: the parameter itself may be addressed
        const GRID_CONSTANT = 1 << 10;
    }
}

/// What a function may do to memory: `memory(…)` and the older words.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum MemoryEffects {
    /// nothing: `memory(none)`, `readnone`
    None,
    /// reads what its arguments point to: `memory(argmem: read)`, `argmemonly readonly`
    ReadArgs,
    /// reads: `memory(read)`, `readonly`
    Read,
    /// touches only memory that the program cannot name: `memory(inaccessiblemem: …)`
    Inaccessible,
    /// reads and writes what its arguments point to: `memory(argmem: readwrite)`
    Args,
    /// anything
    #[default]
    Any,
}

impl MemoryEffects {
    /// True when memory that the program can name is not written.
    #[must_use]
    pub const fn writes_nothing(self) -> bool {
        matches!(self, MemoryEffects::None | MemoryEffects::ReadArgs | MemoryEffects::Read)
    }
}

/// The attributes of one function, parameter or result.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Attributes {
    /// Words of a function or call.
    pub function: FnFlags,
    /// Words of a parameter or result.
    pub param: ParamFlags,
    /// What a function does to memory.
    pub memory: MemoryEffects,
    /// `align N`, in bytes; 0 when absent.
    pub align: u32,
    /// `alignstack(N)`, which cicc and Triton use as the alignment of a `.param`; 0 when absent.
    pub stack_align: u32,
    /// `dereferenceable(N)`, in bytes; 0 when absent.
    pub dereferenceable: u64,
    /// `byval(T)`: the argument is copied.
    pub by_val: Option<TypeId>,
    /// `sret(T)`
    pub sret: Option<TypeId>,
    /// `range(iN lo, hi)`: half-open, zero-extended bounds.
    pub range: Option<(u128, u128)>,
    /// `"key"="value"` and `"key"`, in order.
    pub strings: Vec<(Box<str>, Box<str>)>,
}

impl Attributes {
    /// The value of `"key"`; empty when it has none.
    #[must_use]
    pub fn string(&self, key: &str) -> Option<&str> {
        self.strings.iter().find(|(name, _)| &**name == key).map(|(_, value)| &**value)
    }

    /// Calls `f` with each type that an attribute names, to change it.
    pub fn for_each_type_mut(&mut self, mut f: impl FnMut(&mut TypeId)) {
        self.by_val.iter_mut().for_each(&mut f);
        self.sret.iter_mut().for_each(f);
    }

    /// Adds what `other` says, as an attribute group does.
    pub fn merge(&mut self, other: &Attributes) {
        self.function |= other.function;
        self.param |= other.param;
        if other.memory != MemoryEffects::Any {
            self.memory = other.memory;
        }
        self.align = self.align.max(other.align);
        self.stack_align = self.stack_align.max(other.stack_align);
        self.dereferenceable = self.dereferenceable.max(other.dereferenceable);
        self.by_val = other.by_val.or(self.by_val);
        self.sret = other.sret.or(self.sret);
        self.range = other.range.or(self.range);
        self.strings.extend(other.strings.iter().cloned());
    }
}
