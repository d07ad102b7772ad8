//! Instructions.

use cranelift_entity::packed_option::PackedOption;
use smallvec::SmallVec;

use super::attributes::Attributes;
use super::ids::{BlockId, MetaId, Value, ValueId};
use super::linkage::CallingConvention;
use super::ops::{BinaryOp, CastOp, FloatPredicate, GepFlags, InstFlags, IntPredicate, Ordering, RmwOp, SyncScope};
use super::types::TypeId;
use oriole_checkpoint::checkpoint;

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
        checkpoint(1);
        walk_values!(self, iter, |value: &Value| f(*value));
    }

    /// Calls `f` with each value that is read, to change it.
    pub fn for_each_value_mut(&mut self, mut f: impl FnMut(&mut Value)) {
        checkpoint(1);
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
