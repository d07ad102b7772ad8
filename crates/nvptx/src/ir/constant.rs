//! Constants, interned: two equal constants have the same [`ConstId`].

use cranelift_entity::PrimaryMap;
use rustc_hash::FxHashMap;

use super::ids::{BlockId, ConstId, SymbolId};
use super::ops::{BinaryOp, CastOp, FloatPredicate, GepFlags, IntPredicate};
use super::types::TypeId;

/// One constant, with its type.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Constant {
    /// An integer of at most 128 bits, zero-extended: bits above its width are 0.
    Int(TypeId, u128),
    /// The bits of a `half`, `bfloat`, `float` or `double`, in the low bits.
    Float(TypeId, u64),
    /// `null`
    Null(TypeId),
    /// `zeroinitializer` of a vector, array or structure
    Zero(TypeId),
    /// `undef`
    Undef(TypeId),
    /// `poison`
    Poison(TypeId),
    /// A vector, array or structure, element by element.
    Aggregate(TypeId, Box<[ConstId]>),
    /// An array of `i8`: `c"…"`.
    Bytes(TypeId, Box<[u8]>),
    /// The address of a function, variable or alias: type `ptr addrspace(n)`.
    Symbol(TypeId, SymbolId),
    /// `blockaddress(@f, %b)`
    BlockAddress(TypeId, SymbolId, BlockId),
    /// An operation on constants that is not folded.
    Expr(TypeId, Box<ConstExpr>),
    /// An argument of type `metadata` that is a string: `!"round.tonearest"`.
    MetadataString(Box<str>),
    /// An argument of type `metadata` that is anything else; what it says is dropped.
    Metadata,
    /// `none` of type `token`
    TokenNone,
}

/// A constant expression.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ConstExpr {
    /// `getelementptr (T, ptr base, indices…)`
    Gep {
        /// The type that the first index steps over.
        source: TypeId,
        /// `inbounds` and the like.
        flags: GepFlags,
        /// The address.
        base: ConstId,
        /// The indices.
        indices: Box<[ConstId]>,
    },
    /// `bitcast (…)`, `ptrtoint (…)`, `addrspacecast (…)`…
    Cast(CastOp, ConstId),
    /// `add (…)`, `sub (…)`, `and (…)`…
    Binary(BinaryOp, ConstId, ConstId),
    /// `icmp eq (…)`
    ICmp(IntPredicate, ConstId, ConstId),
    /// `fcmp oeq (…)`
    FCmp(FloatPredicate, ConstId, ConstId),
    /// `select (…)`
    Select(ConstId, ConstId, ConstId),
    /// `extractelement (…)`
    ExtractElement(ConstId, ConstId),
    /// `insertelement (…)`
    InsertElement(ConstId, ConstId, ConstId),
}

/// Calls `$f` with each operand of a constant expression, shared or mutable.
macro_rules! walk_operands {
    ($expr:expr, $iter:ident, $f:expr) => {{
        let mut f = $f;
        match $expr {
            ConstExpr::Gep { base, indices, .. } => {
                f(base);
                indices.$iter().for_each(f);
            }
            ConstExpr::Cast(_, a) => f(a),
            ConstExpr::Binary(_, a, b)
            | ConstExpr::ICmp(_, a, b)
            | ConstExpr::FCmp(_, a, b)
            | ConstExpr::ExtractElement(a, b) => {
                f(a);
                f(b);
            }
            ConstExpr::Select(a, b, c) | ConstExpr::InsertElement(a, b, c) => {
                f(a);
                f(b);
                f(c);
            }
        }
    }};
}

impl ConstExpr {
    /// Calls `f` with each operand, in order.
    pub fn for_each_operand(&self, mut f: impl FnMut(ConstId)) {
        walk_operands!(self, iter, |operand: &ConstId| f(*operand));
    }

    /// Calls `f` with each operand, to change it.
    pub fn for_each_operand_mut(&mut self, mut f: impl FnMut(&mut ConstId)) {
        walk_operands!(self, iter_mut, |operand: &mut ConstId| f(operand));
    }
}

impl Constant {
    /// Calls `f` with each type that is named, to change it.
    pub fn for_each_type_mut(&mut self, mut f: impl FnMut(&mut TypeId)) {
        match self {
            Constant::Int(ty, _)
            | Constant::Float(ty, _)
            | Constant::Null(ty)
            | Constant::Zero(ty)
            | Constant::Undef(ty)
            | Constant::Poison(ty)
            | Constant::Aggregate(ty, _)
            | Constant::Bytes(ty, _)
            | Constant::Symbol(ty, _)
            | Constant::BlockAddress(ty, ..) => f(ty),
            Constant::Expr(ty, expr) => {
                f(ty);
                if let ConstExpr::Gep { source, .. } = &mut **expr {
                    f(source);
                }
            }
            Constant::MetadataString(_) | Constant::Metadata | Constant::TokenNone => {}
        }
    }
}

/// All constants of a module.
#[derive(Clone, Debug, Default)]
pub struct Constants {
    list: PrimaryMap<ConstId, Constant>,
    index: FxHashMap<Constant, ConstId>,
}

impl std::ops::Index<ConstId> for Constants {
    type Output = Constant;

    fn index(&self, id: ConstId) -> &Constant {
        &self.list[id]
    }
}

impl Constants {
    /// The id of `constant`, added if it is new.
    pub fn intern(&mut self, constant: Constant) -> ConstId {
        if let Some(&id) = self.index.get(&constant) {
            return id;
        }
        let id = self.list.push(constant.clone());
        self.index.insert(constant, id);
        id
    }

    /// An integer of `bits` bits; bits of `value` above them are dropped.
    pub fn int(&mut self, ty: TypeId, bits: u32, value: u128) -> ConstId {
        let kept = if bits >= 128 { value } else { value & ((1u128 << bits) - 1) };
        self.intern(Constant::Int(ty, kept))
    }

    /// `i1`: true or false.
    pub fn bool(&mut self, value: bool) -> ConstId {
        self.intern(Constant::Int(TypeId::I1, u128::from(value)))
    }

    /// Gives all symbols that constants name other ids. `map` gives different ids for different symbols.
    pub(super) fn map_symbols(&mut self, map: impl Fn(SymbolId) -> SymbolId) {
        let names_symbol = |constant: &Constant| matches!(constant, Constant::Symbol(..) | Constant::BlockAddress(..));
        self.index.retain(|constant, _| !names_symbol(constant));
        for (id, constant) in &mut self.list {
            if let Constant::Symbol(_, symbol) | Constant::BlockAddress(_, symbol, _) = constant {
                *symbol = map(*symbol);
                self.index.insert(constant.clone(), id);
            }
        }
    }

    /// The addresses of symbols among the constants: type and symbol.
    pub fn symbols(&self) -> impl Iterator<Item = (TypeId, SymbolId)> + '_ {
        self.list.values().filter_map(|constant| match constant {
            Constant::Symbol(ty, symbol) => Some((*ty, *symbol)),
            _ => None,
        })
    }

    /// All constants, in the order in which they were made.
    pub fn ids(&self) -> impl Iterator<Item = ConstId> + '_ {
        self.list.keys()
    }

    /// The addresses of blocks among the constants: type and block.
    pub fn block_addresses(&self) -> impl Iterator<Item = (ConstId, TypeId, BlockId)> + '_ {
        self.list.iter().filter_map(|(id, constant)| match constant {
            Constant::BlockAddress(ty, _, block) => Some((id, *ty, *block)),
            _ => None,
        })
    }

    /// Lets an id stand for another constant of the same type.
    pub(crate) fn replace(&mut self, id: ConstId, constant: Constant) {
        self.index.remove(&self.list[id]);
        self.index.entry(constant.clone()).or_insert(id);
        self.list[id] = constant;
    }

    /// The number of constants.
    #[must_use]
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// True when there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The type of a constant.
    #[must_use]
    pub fn ty(&self, id: ConstId) -> TypeId {
        match &self.list[id] {
            Constant::Int(ty, _)
            | Constant::Float(ty, _)
            | Constant::Null(ty)
            | Constant::Zero(ty)
            | Constant::Undef(ty)
            | Constant::Poison(ty)
            | Constant::Aggregate(ty, _)
            | Constant::Bytes(ty, _)
            | Constant::Symbol(ty, _)
            | Constant::BlockAddress(ty, ..)
            | Constant::Expr(ty, _) => *ty,
            Constant::MetadataString(_) | Constant::Metadata => TypeId::METADATA,
            Constant::TokenNone => TypeId::TOKEN,
        }
    }

    /// The value of an integer constant, zero-extended; a null pointer is 0.
    #[must_use]
    pub fn as_int(&self, id: ConstId) -> Option<u128> {
        match self.list[id] {
            Constant::Int(_, value) => Some(value),
            Constant::Null(_) => Some(0),
            _ => None,
        }
    }

    /// True for `undef` and `poison`.
    #[must_use]
    pub fn is_undef(&self, id: ConstId) -> bool {
        matches!(self.list[id], Constant::Undef(_) | Constant::Poison(_))
    }

    /// True when every bit is known to be 0.
    #[must_use]
    pub fn is_zero(&self, id: ConstId) -> bool {
        match &self.list[id] {
            Constant::Int(_, 0) | Constant::Float(_, 0) | Constant::Null(_) | Constant::Zero(_) => true,
            Constant::Aggregate(_, items) => items.iter().all(|&item| self.is_zero(item)),
            Constant::Bytes(_, bytes) => bytes.iter().all(|&byte| byte == 0),
            _ => false,
        }
    }
}
