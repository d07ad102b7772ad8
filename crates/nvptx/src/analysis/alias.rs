//! May two accesses touch the same bytes?

mod types;

use cranelift_entity::SecondaryMap;

use super::View;
use super::effects::{Effects, call_memory, effects};
use super::intrinsics::{Intrinsic, called};
use crate::ir::{
    AddressSpace, Attachment, Call, CastOp, ConstExpr, Constant, InstId, MemoryEffects, MetaId, Op, ParamFlags,
    SymbolId, SymbolKind, Type, Value, ValueDef, ValueId,
};

/// What is at the root of an address.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Base {
    /// An `alloca`.
    Frame(ValueId),
    /// A variable of the module.
    Variable(SymbolId),
    /// A parameter that nothing else points to: `noalias`, or the copy that `byval` makes.
    Param(ValueId),
    /// Anything else.
    Other(Value),
}

/// Some bytes of memory.
#[derive(Clone, Copy, Debug)]
pub struct Location {
    /// Where the address comes from.
    pub base: Base,
    /// Bytes from there; `None` when it varies.
    pub offset: Option<i64>,
    /// The address itself.
    pub pointer: Value,
    /// Length in bytes; `None` when it is not known.
    pub size: Option<u64>,
    /// The space of the address, as far as it is known.
    pub space: AddressSpace,
    /// What the source language says of the type (`!tbaa`).
    pub tag: Option<MetaId>,
}

/// How two locations lie to each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Alias {
    /// They have no byte in common.
    No,
    /// They may have.
    May,
    /// They start at the same byte.
    Must,
}

/// Walks from an address to its root, through offsets and changes of space.
#[must_use]
pub fn location(view: View<'_>, pointer: Value, size: Option<u64>) -> Location {
    let mut at = pointer;
    let mut offset = Some(0i64);
    let mut space = AddressSpace::GENERIC;
    // Chains of offsets end at a value that is none; the bound is for circles in code that never runs.
    for _ in 0..=view.body.inst_count() {
        if let Some(own) = view.module.types.address_space(view.ty(at)).filter(|own| *own != AddressSpace::GENERIC) {
            space = own;
        }
        let next = match at {
            Value::Local(_) => match view.op(at) {
                Some(Op::Gep { source, base, indices, .. }) => {
                    let step = constant_offset(view, *source, indices.iter().map(|&index| view.signed(index)));
                    offset = offset.zip(step).and_then(|(a, b)| a.checked_add(b));
                    Some(*base)
                }
                Some(Op::Cast(CastOp::AddrSpaceCast | CastOp::Bitcast, _, from)) => Some(*from),
                _ => None,
            },
            Value::Const(id) => match &view.module.constants[id] {
                Constant::Expr(_, expr) => match &**expr {
                    ConstExpr::Gep { source, base, indices, .. } => {
                        let step =
                            constant_offset(view, *source, indices.iter().map(|&index| view.signed(index.into())));
                        offset = offset.zip(step).and_then(|(a, b)| a.checked_add(b));
                        Some((*base).into())
                    }
                    ConstExpr::Cast(CastOp::AddrSpaceCast | CastOp::Bitcast, from) => Some((*from).into()),
                    _ => None,
                },
                _ => None,
            },
        };
        match next.filter(|&next| matches!(view.module.types[view.ty(next)], Type::Pointer(_))) {
            Some(next) => at = next,
            None => break,
        }
    }
    let base = root(view, at);
    if matches!(base, Base::Frame(_)) {
        space = AddressSpace::LOCAL;
    }
    Location { base, offset, pointer, size, space, tag: None }
}

/// Bytes that the indices of a `getelementptr` add, when all are constant.
pub fn constant_offset(
    view: View<'_>,
    source: crate::ir::TypeId,
    indices: impl Iterator<Item = Option<i64>>,
) -> Option<i64> {
    let (types, layout) = (&view.module.types, &view.module.layout);
    let mut ty = source;
    let mut offset = 0i64;
    for (at, index) in indices.enumerate() {
        let index = index?;
        let step = if at == 0 {
            i64::try_from(layout.size(types, ty)).ok()?.checked_mul(index)?
        } else {
            let step = match &types[ty] {
                Type::Array(element, _) => i64::try_from(layout.size(types, *element)).ok()?.checked_mul(index)?,
                Type::Vector(element, _) => {
                    // Elements of vectors lie without padding between them.
                    i64::try_from(layout.bits(types, *element) / 8).ok()?.checked_mul(index)?
                }
                _ => i64::try_from(layout.element_offset(types, ty, u64::try_from(index).ok()?)).ok()?,
            };
            ty = match &types[ty] {
                Type::Struct { .. } => types.element(ty, u64::try_from(index).ok()?)?,
                Type::Array(element, _) | Type::Vector(element, _) => *element,
                _ => return None,
            };
            step
        };
        offset = offset.checked_add(step)?;
    }
    Some(offset)
}

fn root(view: View<'_>, at: Value) -> Base {
    match at {
        Value::Const(id) => match view.module.constants[id] {
            Constant::Symbol(_, symbol) if matches!(view.module.symbols[symbol].kind, SymbolKind::Variable(_)) => {
                Base::Variable(symbol)
            }
            _ => Base::Other(at),
        },
        Value::Local(id) => match view.body.def(id) {
            ValueDef::Param(index) => {
                let param = view.function().and_then(|function| function.params.get(index as usize));
                let own = param.is_some_and(|param| {
                    param.attributes.param.contains(ParamFlags::NO_ALIAS) || param.attributes.by_val.is_some()
                });
                if own { Base::Param(id) } else { Base::Other(at) }
            }
            ValueDef::Inst(inst) => match view.body[inst].op {
                Op::Alloca { .. } => Base::Frame(id),
                _ => Base::Other(at),
            },
        },
    }
}

/// The bytes that a load, store, atomic operation or memory intrinsic touches; the first operand's for copies.
#[must_use]
pub fn accessed(view: View<'_>, inst: InstId) -> Option<Location> {
    let size = |ty| Some(view.module.layout.store_size(&view.module.types, ty));
    let tag = view.body.attachment(inst, Attachment::Tbaa);
    match &view.body[inst].op {
        Op::Load { ptr, .. } => Some(Location { tag, ..location(view, *ptr, size(view.body[inst].ty)) }),
        Op::Store { value, ptr, .. } => Some(Location { tag, ..location(view, *ptr, size(view.ty(*value))) }),
        Op::AtomicRmw { value, ptr, .. } => Some(location(view, *ptr, size(view.ty(*value)))),
        Op::CmpXchg { ptr, new, .. } => Some(location(view, *ptr, size(view.ty(*new)))),
        Op::Call(call) => match called(view, call)? {
            Intrinsic::MemCpy
            | Intrinsic::MemMove
            | Intrinsic::MemSet
            | Intrinsic::MemCpyInline
            | Intrinsic::MemSetInline => {
                let length = view.int(*call.args.get(2)?).and_then(|length| u64::try_from(length).ok());
                Some(location(view, call.args[0], length))
            }
            _ => None,
        },
        _ => None,
    }
}

/// How two locations lie to each other.
#[must_use]
pub fn alias(view: View<'_>, a: &Location, b: &Location) -> Alias {
    if a.pointer == b.pointer {
        return Alias::Must;
    }
    if let (Some(a), Some(b)) = (a.tag, b.tag)
        && types::are_apart(&view.module.metadata, a, b)
    {
        return Alias::No;
    }
    if a.base == b.base {
        let (Some(first), Some(second)) = (a.offset, b.offset) else { return Alias::May };
        if first == second {
            return Alias::Must;
        }
        let (low, high, length) = if first < second { (first, second, a.size) } else { (second, first, b.size) };
        let apart = length.is_some_and(|length| i128::from(low) + i128::from(length) <= i128::from(high));
        return if apart { Alias::No } else { Alias::May };
    }
    if spaces_are_apart(a.space, b.space) {
        return Alias::No;
    }
    let distinct = match (a.base, b.base) {
        // A variable that is another's alias, or that the linker may merge with it, is no concern: they have names.
        (Base::Frame(_) | Base::Variable(_) | Base::Param(_), Base::Frame(_) | Base::Variable(_) | Base::Param(_)) => {
            true
        }
        (Base::Frame(_), Base::Other(other)) | (Base::Other(other), Base::Frame(_)) => {
            !may_hold_frame_address(view, other)
        }
        (Base::Param(_), Base::Other(other)) | (Base::Other(other), Base::Param(_)) => {
            // What a `noalias` pointer leads to is not reached by others, unless they were made from it: a loaded
            // or selected pointer may have been.
            view.param(other).is_some()
        }
        (Base::Variable(_), Base::Other(_))
        | (Base::Other(_), Base::Variable(_))
        | (Base::Other(_), Base::Other(_)) => false,
    };
    if distinct { Alias::No } else { Alias::May }
}

/// True when no address of one space is the same byte as one of the other.
#[must_use]
pub fn spaces_are_apart(a: AddressSpace, b: AddressSpace) -> bool {
    const APART: [AddressSpace; 4] =
        [AddressSpace::GLOBAL, AddressSpace::SHARED, AddressSpace::LOCAL, AddressSpace::PARAM];
    let place = |space: AddressSpace| match space {
        AddressSpace::SHARED_CLUSTER => AddressSpace::SHARED,
        // Constant memory is global memory through another cache.
        AddressSpace::CONSTANT => AddressSpace::GLOBAL,
        other => other,
    };
    let (a, b) = (place(a), place(b));
    a != b && APART.contains(&a) && APART.contains(&b)
}

/// A parameter cannot point into the frame of the function that it is handed to.
fn may_hold_frame_address(view: View<'_>, value: Value) -> bool {
    view.param(value).is_none() && !matches!(value, Value::Const(_))
}

/// Frame slots whose address nobody else can know: it is loaded from and stored to, and not itself stored or passed.
#[derive(Clone, Debug)]
pub struct Private {
    escaped: SecondaryMap<ValueId, bool>,
}

impl Private {
    /// Looks at all uses of frame slots and addresses in them.
    #[must_use]
    pub fn new(view: View<'_>) -> Private {
        let mut escaped = SecondaryMap::with_default(false);
        escaped.resize(view.body.value_count());
        let mut escape = |value: Value| {
            if matches!(view.module.types[view.ty(value)], Type::Pointer(_))
                && let Base::Frame(slot) = location(view, value, None).base
            {
                escaped[slot] = true;
            }
        };
        for (_, inst) in view.body.insts_in_order() {
            match &view.body[inst].op {
                Op::Load { .. } | Op::Gep { .. } | Op::ICmp(..) => {}
                Op::Cast(CastOp::AddrSpaceCast | CastOp::Bitcast, ..) => {}
                Op::Store { value, .. } | Op::AtomicRmw { value, .. } => escape(*value),
                Op::CmpXchg { expected, new, .. } => {
                    escape(*expected);
                    escape(*new);
                }
                Op::Call(call) if keeps_private(view, call) => {}
                op => op.for_each_value(&mut escape),
            }
        }
        Private { escaped }
    }

    /// True when only accesses through addresses made from the slot itself can touch it.
    #[must_use]
    pub fn is_private(&self, slot: ValueId) -> bool {
        !self.escaped[slot]
    }
}

/// True for the intrinsics that touch memory but do not keep its address.
fn keeps_private(view: View<'_>, call: &Call) -> bool {
    matches!(
        called(view, call),
        Some(
            Intrinsic::MemCpy
                | Intrinsic::MemMove
                | Intrinsic::MemSet
                | Intrinsic::MemCpyInline
                | Intrinsic::MemSetInline
                | Intrinsic::LifetimeStart
                | Intrinsic::LifetimeEnd
        )
    )
}

/// What an instruction may write, found once to be asked about many locations.
#[derive(Clone, Debug)]
pub enum Written {
    /// No memory that the program can name.
    Nothing,
    /// These bytes; other accesses are ordered by it when the flag is set.
    At(Location, bool),
    /// What these point to.
    Through(Vec<Location>),
    /// Anything but private slots.
    Anything,
}

impl Written {
    /// What `inst` may write.
    #[must_use]
    pub fn by(view: View<'_>, inst: InstId) -> Written {
        let what = effects(view, inst);
        if !what.contains(Effects::WRITES) {
            return Written::Nothing;
        }
        let at = |ordered: bool| accessed(view, inst).map_or(Written::Anything, |to| Written::At(to, ordered));
        match &view.body[inst].op {
            Op::Store { .. } | Op::AtomicRmw { .. } | Op::CmpXchg { .. } => at(what.contains(Effects::ORDERED)),
            Op::Call(call) => match called(view, call) {
                Some(remark) if remark.is_remark() => Written::Nothing,
                // The slot is the last argument, after the size that older versions have.
                Some(Intrinsic::LifetimeStart | Intrinsic::LifetimeEnd) => {
                    Written::Through(call.args.last().iter().map(|&&slot| location(view, slot, None)).collect())
                }
                Some(
                    Intrinsic::MemCpy
                    | Intrinsic::MemMove
                    | Intrinsic::MemSet
                    | Intrinsic::MemCpyInline
                    | Intrinsic::MemSetInline,
                ) => at(what.contains(Effects::ORDERED)),
                _ => match call_memory(view, call) {
                    MemoryEffects::Inaccessible => Written::Nothing,
                    MemoryEffects::Args => {
                        let is_pointer = |arg: &&Value| matches!(view.module.types[view.ty(**arg)], Type::Pointer(_));
                        let pointers = call.args.iter().filter(is_pointer);
                        Written::Through(pointers.map(|&arg| location(view, arg, None)).collect())
                    }
                    _ => Written::Anything,
                },
            },
            op if op.is_terminator() => Written::Nothing,
            _ => Written::Anything,
        }
    }

    /// True when a byte of `location` may be written, or accesses to it are ordered.
    #[must_use]
    pub fn may_touch(&self, view: View<'_>, private: &Private, location: &Location) -> bool {
        // The address of a private slot is in no pointer but those made from it.
        let own = matches!(location.base, Base::Frame(slot) if private.is_private(slot));
        let overlaps =
            |written: &Location| (!own || written.base == location.base) && alias(view, written, location) != Alias::No;
        match self {
            Written::Nothing => false,
            Written::At(written, ordered) => *ordered && !own || overlaps(written),
            Written::Through(list) => list.iter().any(overlaps),
            Written::Anything => !own,
        }
    }
}
