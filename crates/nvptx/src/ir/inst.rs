//! Instructions.

use cranelift_entity::packed_option::PackedOption;
use smallvec::SmallVec;

use super::attributes::Attributes;
use super::body::{BlockId, Value, ValueId};
use super::metadata::MetaId;
use super::module::CallingConvention;
use super::types::TypeId;

spelled! {
    /// A binary operation on integers, floats or vectors of them.
    pub enum BinaryOp {
        Add "add", Sub "sub", Mul "mul", UDiv "udiv", SDiv "sdiv", URem "urem", SRem "srem",
        Shl "shl", LShr "lshr", AShr "ashr", And "and", Or "or", Xor "xor",
        FAdd "fadd", FSub "fsub", FMul "fmul", FDiv "fdiv", FRem "frem",
    }
}

impl BinaryOp {
    /// True for the operations on floating-point numbers.
    #[must_use]
    pub const fn is_float(self) -> bool {
        matches!(self, BinaryOp::FAdd | BinaryOp::FSub | BinaryOp::FMul | BinaryOp::FDiv | BinaryOp::FRem)
    }

    /// True when the operands may be exchanged.
    #[must_use]
    pub const fn is_commutative(self) -> bool {
        use BinaryOp::*;
        matches!(self, Add | Mul | And | Or | Xor | FAdd | FMul)
    }

    /// True for division and remainder of integers, which may trap: they must not be executed
    /// where the program does not.
    #[must_use]
    pub const fn is_int_division(self) -> bool {
        matches!(self, BinaryOp::UDiv | BinaryOp::SDiv | BinaryOp::URem | BinaryOp::SRem)
    }
}

spelled! {
    /// A conversion.
    pub enum CastOp {
        Trunc "trunc", ZExt "zext", SExt "sext", FpTrunc "fptrunc", FpExt "fpext", FpToUi "fptoui", FpToSi "fptosi",
        UiToFp "uitofp", SiToFp "sitofp", PtrToInt "ptrtoint", IntToPtr "inttoptr", Bitcast "bitcast",
        AddrSpaceCast "addrspacecast",
    }
}

spelled! {
    /// How `icmp` compares.
    pub enum IntPredicate {
        Eq "eq", Ne "ne", Ugt "ugt", Uge "uge", Ult "ult", Ule "ule", Sgt "sgt", Sge "sge", Slt "slt", Sle "sle",
    }
}

impl IntPredicate {
    /// `a < b` for `a >= b`.
    #[must_use]
    pub const fn inverse(self) -> IntPredicate {
        use IntPredicate::*;
        match self {
            Eq => Ne,
            Ne => Eq,
            Ugt => Ule,
            Uge => Ult,
            Ult => Uge,
            Ule => Ugt,
            Sgt => Sle,
            Sge => Slt,
            Slt => Sge,
            Sle => Sgt,
        }
    }

    /// Compares integers of `bits` bits, zero-extended.
    #[must_use]
    pub const fn holds(self, a: u128, b: u128, bits: u32) -> bool {
        use IntPredicate::*;
        let unused = 128 - bits;
        let (x, y) = ((a << unused) as i128 >> unused, (b << unused) as i128 >> unused);
        match self {
            Eq => a == b,
            Ne => a != b,
            Ugt => a > b,
            Uge => a >= b,
            Ult => a < b,
            Ule => a <= b,
            Sgt => x > y,
            Sge => x >= y,
            Slt => x < y,
            Sle => x <= y,
        }
    }

    /// `b < a` for `a > b`.
    #[must_use]
    pub const fn swapped(self) -> IntPredicate {
        use IntPredicate::*;
        match self {
            Eq => Eq,
            Ne => Ne,
            Ugt => Ult,
            Uge => Ule,
            Ult => Ugt,
            Ule => Uge,
            Sgt => Slt,
            Sge => Sle,
            Slt => Sgt,
            Sle => Sge,
        }
    }

    /// True for `sgt`, `sge`, `slt`, `sle`.
    #[must_use]
    pub const fn is_signed(self) -> bool {
        matches!(self, IntPredicate::Sgt | IntPredicate::Sge | IntPredicate::Slt | IntPredicate::Sle)
    }
}

spelled! {
    /// How `fcmp` compares: `o…` is false when an operand is a NaN, `u…` true.
    pub enum FloatPredicate {
        False "false", Oeq "oeq", Ogt "ogt", Oge "oge", Olt "olt", Ole "ole", One "one", Ord "ord",
        Ueq "ueq", Ugt "ugt", Uge "uge", Ult "ult", Ule "ule", Une "une", Uno "uno", True "true",
    }
}

impl FloatPredicate {
    /// The negation.
    #[must_use]
    pub const fn inverse(self) -> FloatPredicate {
        use FloatPredicate::*;
        match self {
            False => True,
            Oeq => Une,
            Ogt => Ule,
            Oge => Ult,
            Olt => Uge,
            Ole => Ugt,
            One => Ueq,
            Ord => Uno,
            Ueq => One,
            Ugt => Ole,
            Uge => Olt,
            Ult => Oge,
            Ule => Ogt,
            Une => Oeq,
            Uno => Ord,
            True => False,
        }
    }

    /// The predicate for exchanged operands.
    #[must_use]
    pub const fn swapped(self) -> FloatPredicate {
        use FloatPredicate::*;
        match self {
            Ogt => Olt,
            Oge => Ole,
            Olt => Ogt,
            Ole => Oge,
            Ugt => Ult,
            Uge => Ule,
            Ult => Ugt,
            Ule => Uge,
            same => same,
        }
    }
}

spelled! {
    /// Memory ordering of atomic operations; plain accesses have [`Ordering::NotAtomic`].
    pub enum Ordering {
        NotAtomic "notatomic", Unordered "unordered", Monotonic "monotonic", Acquire "acquire", Release "release",
        AcqRel "acq_rel", SeqCst "seq_cst",
    }
}

spelled! {
    /// The operation of `atomicrmw`.
    pub enum RmwOp {
        Xchg "xchg", Add "add", Sub "sub", And "and", Nand "nand", Or "or", Xor "xor", Max "max", Min "min",
        UMax "umax", UMin "umin", FAdd "fadd", FSub "fsub", FMax "fmax", FMin "fmin", FMaximum "fmaximum",
        FMinimum "fminimum", UIncWrap "uinc_wrap",
        UDecWrap "udec_wrap", USubCond "usub_cond", USubSat "usub_sat",
    }
}

impl RmwOp {
    /// True for operations on floats and vectors of them.
    #[must_use]
    pub const fn is_float(self) -> bool {
        use RmwOp::*;
        matches!(self, FAdd | FSub | FMax | FMin | FMaximum | FMinimum)
    }
}

/// `syncscope("…")`
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum SyncScope {
    /// none, or `""`: all of the system
    #[default]
    System,
    /// `"device"`, `"agent"`
    Device,
    /// `"cluster"`
    Cluster,
    /// `"block"`, `"workgroup"`
    Block,
    /// `"singlethread"`
    Thread,
}

bitflags::bitflags! {
    /// `nsw`, `contract` and the like.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct InstFlags: u16 {
        /// `nuw`
        const NUW = 1;
        /// `nsw`
        const NSW = 1 << 1;
        /// `exact`
        const EXACT = 1 << 2;
        /// `disjoint` of `or`: no bit is 1 in both operands
        const DISJOINT = 1 << 3;
        /// `nneg` of `zext` and `uitofp`: the operand is not negative
        const NNEG = 1 << 4;
        /// `samesign` of `icmp`: both operands have the same sign bit
        const SAME_SIGN = 1 << 5;
        /// `nnan`
        const NO_NANS = 1 << 6;
        /// `ninf`
        const NO_INFS = 1 << 7;
        /// `nsz`: the sign of a zero does not matter
        const NO_SIGNED_ZEROS = 1 << 8;
        /// `arcp`: division may become multiplication by the reciprocal
        const ALLOW_RECIPROCAL = 1 << 9;
        /// `contract`: may be fused with its neighbour
        const CONTRACT = 1 << 10;
        /// `afn`: an approximation will do
        const APPROX_FUNC = 1 << 11;
        /// `reassoc`
        const REASSOC = 1 << 12;
        /// `fast`: all of the above
        const FAST = 0x7F << 6;
    }
}

bitflags::bitflags! {
    /// Flags of `getelementptr`.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct GepFlags: u8 {
        /// `inbounds`
        const INBOUNDS = 1;
        /// `nusw`
        const NUSW = 1 << 1;
        /// `nuw`
        const NUW = 1 << 2;
    }
}

/// `tail`, `musttail`, `notail` before a call.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Tail {
    /// nothing
    #[default]
    None,
    /// `tail`
    Tail,
    /// `musttail`
    Must,
    /// `notail`
    Not,
}

/// Operand bundles that say nothing that code depends on. Those of `llvm.assume` are such too; readers refuse others.
pub const HARMLESS_BUNDLES: &[&str] = &["convergencectrl", "kcfi", "clang.arc.attachedcall", "ignore"];

/// Whether a call of the function `name` says something only to debuggers and alias analysis, in metadata: readers
/// drop it.
#[must_use]
pub fn is_annotation(name: &str) -> bool {
    name.starts_with("llvm.dbg.") || name == "llvm.experimental.noalias.scope.decl"
}

/// `asm sideeffect "…", "=r,r"`
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct InlineAsm {
    /// The text with `$0`, `${1:x}`, `$$`.
    pub text: Box<str>,
    /// The constraints, as written.
    pub constraints: Box<str>,
    /// `sideeffect`: must not be removed, moved or merged.
    pub side_effects: bool,
}

/// What a call calls.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Callee {
    /// A function or a function pointer. Direct calls are to a [`super::Constant::Symbol`].
    Value(Value),
    /// Inline assembly.
    Asm(Box<InlineAsm>),
}

/// A call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Call {
    /// What is called.
    pub callee: Callee,
    /// The function type: parameters of a variadic function differ from the arguments.
    pub signature: TypeId,
    /// The arguments.
    pub args: SmallVec<[Value; 4]>,
    /// Attributes of the call itself.
    pub attributes: Attributes,
    /// Attributes of the result.
    pub ret_attributes: Attributes,
    /// Attributes of arguments that have any, by index, in order.
    pub arg_attributes: Vec<(u32, Attributes)>,
    /// The calling convention.
    pub convention: CallingConvention,
    /// `tail` and the like.
    pub tail: Tail,
    /// Fast-math flags.
    pub flags: InstFlags,
}

/// What an instruction does. Results have the type of [`Inst::ty`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Op {
    /// `add`, `fmul`…
    Binary(BinaryOp, InstFlags, [Value; 2]),
    /// `fneg`
    FNeg(InstFlags, Value),
    /// `zext … to …`
    Cast(CastOp, InstFlags, Value),
    /// `icmp`
    ICmp(IntPredicate, InstFlags, [Value; 2]),
    /// `fcmp`
    FCmp(FloatPredicate, InstFlags, [Value; 2]),
    /// `select`: condition, value if true, value if false
    Select(InstFlags, [Value; 3]),
    /// `freeze`
    Freeze(Value),
    /// `load`
    Load {
        /// The address.
        ptr: Value,
        /// Alignment in bytes.
        align: u32,
        /// `volatile`
        volatile: bool,
        /// `atomic` ordering.
        ordering: Ordering,
        /// Scope of an atomic load.
        scope: SyncScope,
    },
    /// `store`
    Store {
        /// The value stored.
        value: Value,
        /// The address.
        ptr: Value,
        /// Alignment in bytes.
        align: u32,
        /// `volatile`
        volatile: bool,
        /// `atomic` ordering.
        ordering: Ordering,
        /// Scope of an atomic store.
        scope: SyncScope,
    },
    /// `alloca`
    Alloca {
        /// The type of an element.
        element: TypeId,
        /// How many elements.
        count: Value,
        /// Alignment in bytes.
        align: u32,
    },
    /// `getelementptr`
    Gep {
        /// The type that the first index steps over.
        source: TypeId,
        /// `inbounds` and the like.
        flags: GepFlags,
        /// The address.
        base: Value,
        /// The indices.
        indices: SmallVec<[Value; 2]>,
    },
    /// `cmpxchg`: the result is `{ T, i1 }`
    CmpXchg {
        /// The address.
        ptr: Value,
        /// What is expected there.
        expected: Value,
        /// What is stored then.
        new: Value,
        /// Alignment in bytes.
        align: u32,
        /// `volatile`
        volatile: bool,
        /// `weak`
        weak: bool,
        /// Ordering on success and failure.
        orderings: [Ordering; 2],
        /// Scope.
        scope: SyncScope,
    },
    /// `atomicrmw`
    AtomicRmw {
        /// The operation.
        op: RmwOp,
        /// The address.
        ptr: Value,
        /// The operand.
        value: Value,
        /// Alignment in bytes.
        align: u32,
        /// `volatile`
        volatile: bool,
        /// Ordering.
        ordering: Ordering,
        /// Scope.
        scope: SyncScope,
    },
    /// `fence`
    Fence(Ordering, SyncScope),
    /// `extractvalue`
    ExtractValue(Value, SmallVec<[u32; 2]>),
    /// `insertvalue`: aggregate, value
    InsertValue([Value; 2], SmallVec<[u32; 2]>),
    /// `extractelement`: vector, index
    ExtractElement([Value; 2]),
    /// `insertelement`: vector, element, index
    InsertElement([Value; 3]),
    /// `shufflevector`: two vectors, and which element of both each result element is (-1: any)
    Shuffle([Value; 2], Box<[i32]>),
    /// `phi`
    Phi(SmallVec<[(BlockId, Value); 2]>),
    /// `call`
    Call(Box<Call>),
    /// `va_arg`
    VaArg(Value),
    /// `ret`
    Ret(Option<Value>),
    /// `br label`
    Br(BlockId),
    /// `br i1`: condition, where to if true, where to if false
    CondBr(Value, [BlockId; 2]),
    /// `switch`
    Switch {
        /// The integer looked at.
        value: Value,
        /// Where to when no case fits.
        default: BlockId,
        /// Cases: zero-extended value, block.
        cases: Vec<(u128, BlockId)>,
    },
    /// `indirectbr`: address, possible targets
    IndirectBr(Value, Vec<BlockId>),
    /// `unreachable`
    Unreachable,
}

/// One instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Inst {
    /// What it does.
    pub op: Op,
    /// The type of its result; `void` for none.
    pub ty: TypeId,
    /// The value that it defines; none when the type is `void`.
    pub result: PackedOption<ValueId>,
    /// `!dbg`
    pub loc: PackedOption<MetaId>,
}

/// Walks over the callee, where it is a value, and the arguments of a call.
macro_rules! walk_call {
    ($call:expr, iter, $f:ident) => {
        walk_call!(@ &**$call, iter, $f)
    };
    ($call:expr, iter_mut, $f:ident) => {
        walk_call!(@ &mut **$call, iter_mut, $f)
    };
    (@ $call:expr, $iter:ident, $f:ident) => {{
        let Call { callee, args, .. } = $call;
        if let Callee::Value(value) = callee {
            $f(value);
        }
        args.$iter().for_each($f);
    }};
}

/// Walks over the values that an [`Op`] reads, shared (`iter`) or mutable (`iter_mut`).
macro_rules! walk_values {
    ($op:expr, $iter:ident, $f:expr) => {{
        let mut f = $f;
        match $op {
            Op::Binary(_, _, args)
            | Op::ICmp(_, _, args)
            | Op::FCmp(_, _, args)
            | Op::InsertValue(args, _)
            | Op::ExtractElement(args)
            | Op::Shuffle(args, _) => args.$iter().for_each(f),
            Op::Select(_, args) | Op::InsertElement(args) => args.$iter().for_each(f),
            Op::FNeg(_, value)
            | Op::Cast(_, _, value)
            | Op::Freeze(value)
            | Op::ExtractValue(value, _)
            | Op::VaArg(value)
            | Op::CondBr(value, _)
            | Op::IndirectBr(value, _)
            | Op::Load { ptr: value, .. }
            | Op::Alloca { count: value, .. }
            | Op::Switch { value, .. } => f(value),
            Op::Store { value, ptr, .. } | Op::AtomicRmw { value, ptr, .. } => {
                f(value);
                f(ptr);
            }
            Op::Gep { base, indices, .. } => {
                f(base);
                indices.$iter().for_each(f);
            }
            Op::CmpXchg { ptr, expected, new, .. } => {
                f(ptr);
                f(expected);
                f(new);
            }
            Op::Phi(incoming) => incoming.$iter().for_each(|(_, value)| f(value)),
            Op::Call(call) => {
                walk_call!(call, $iter, f);
            }
            Op::Ret(value) => value.$iter().for_each(f),
            Op::Fence(..) | Op::Br(_) | Op::Unreachable => {}
        }
    }};
}

/// Walks over the blocks that a terminator names, shared or mutable.
macro_rules! walk_successors {
    ($op:expr, $iter:ident, $f:expr) => {{
        let mut f = $f;
        match $op {
            Op::Br(block) => f(block),
            Op::CondBr(_, blocks) => blocks.$iter().for_each(f),
            Op::Switch { default, cases, .. } => {
                f(default);
                cases.$iter().for_each(|(_, block)| f(block));
            }
            Op::IndirectBr(_, blocks) => blocks.$iter().for_each(f),
            _ => {}
        }
    }};
}

impl Op {
    /// A load that is neither volatile nor atomic.
    #[must_use]
    pub const fn load(ptr: Value, align: u32) -> Op {
        Op::Load { ptr, align, volatile: false, ordering: Ordering::NotAtomic, scope: SyncScope::System }
    }

    /// A store that is neither volatile nor atomic.
    #[must_use]
    pub const fn store(value: Value, ptr: Value, align: u32) -> Op {
        Op::Store { value, ptr, align, volatile: false, ordering: Ordering::NotAtomic, scope: SyncScope::System }
    }

    /// True for what ends a block.
    #[must_use]
    pub const fn is_terminator(&self) -> bool {
        matches!(
            self,
            Op::Ret(_) | Op::Br(_) | Op::CondBr(..) | Op::Switch { .. } | Op::IndirectBr(..) | Op::Unreachable
        )
    }

    /// Calls `f` with each value that is read, in order; those of a `phi` too.
    pub fn for_each_value(&self, mut f: impl FnMut(Value)) {
        walk_values!(self, iter, |value: &Value| f(*value));
    }

    /// Calls `f` with each value that is read, to change it.
    pub fn for_each_value_mut(&mut self, mut f: impl FnMut(&mut Value)) {
        walk_values!(self, iter_mut, |value: &mut Value| f(value));
    }

    /// Calls `f` with each type that is named, to change it; that of the result is not among them.
    pub fn for_each_type_mut(&mut self, mut f: impl FnMut(&mut TypeId)) {
        match self {
            Op::Alloca { element: ty, .. } | Op::Gep { source: ty, .. } => f(ty),
            Op::Call(call) => {
                f(&mut call.signature);
                call.attributes.for_each_type_mut(&mut f);
                call.ret_attributes.for_each_type_mut(&mut f);
                call.arg_attributes.iter_mut().for_each(|(_, attributes)| attributes.for_each_type_mut(&mut f));
            }
            _ => {}
        }
    }

    /// Calls `f` with each block that a terminator may go to; twice if it is named twice.
    pub fn for_each_successor(&self, mut f: impl FnMut(BlockId)) {
        walk_successors!(self, iter, |block: &BlockId| f(*block));
    }

    /// Calls `f` with each block that a terminator may go to, to change it.
    pub fn for_each_successor_mut(&mut self, mut f: impl FnMut(&mut BlockId)) {
        walk_successors!(self, iter_mut, |block: &mut BlockId| f(block));
    }
}
