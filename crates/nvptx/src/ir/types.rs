//! Types, interned: two equal types have the same [`TypeId`].

use cranelift_entity::{PrimaryMap, entity_impl};
use rustc_hash::FxHashMap;

/// Index of an interned [`Type`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TypeId(u32);
entity_impl!(TypeId, "ty");

/// The number in `ptr addrspace(n)`, with the meaning that NVPTX gives it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct AddressSpace(pub u32);

impl Default for AddressSpace {
    fn default() -> AddressSpace {
        AddressSpace::GENERIC
    }
}

impl AddressSpace {
    /// Any space, told apart by the address itself.
    pub const GENERIC: AddressSpace = AddressSpace(0);
    /// Device memory.
    pub const GLOBAL: AddressSpace = AddressSpace(1);
    /// Shared memory of the thread block.
    pub const SHARED: AddressSpace = AddressSpace(3);
    /// Constant memory.
    pub const CONSTANT: AddressSpace = AddressSpace(4);
    /// Memory of one thread.
    pub const LOCAL: AddressSpace = AddressSpace(5);
    /// Tensor memory (sm_100a).
    pub const TENSOR: AddressSpace = AddressSpace(6);
    /// Shared memory of the cluster.
    pub const SHARED_CLUSTER: AddressSpace = AddressSpace(7);
    /// Kernel parameters.
    pub const PARAM: AddressSpace = AddressSpace(101);
}

/// One type of LLVM IR.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Type {
    /// `void`
    Void,
    /// `iN`: width in bits, 1 to 2^23
    Int(u32),
    /// `half`: IEEE 754 binary16
    Half,
    /// `bfloat`: the upper 16 bits of a binary32
    BFloat,
    /// `float`: IEEE 754 binary32
    Float,
    /// `double`: IEEE 754 binary64
    Double,
    /// `fp128`, `x86_fp80`, `ppc_fp128`: read, refused by the back end
    OtherFloat(&'static str),
    /// `ptr`, `ptr addrspace(n)`, and typed pointers of older text
    Pointer(AddressSpace),
    /// `<n x T>`
    Vector(TypeId, u32),
    /// `[n x T]`
    Array(TypeId, u64),
    /// `{ … }`, or `<{ … }>` when packed; named structures are the same type as their fields
    Struct {
        /// The fields, in order.
        fields: Box<[TypeId]>,
        /// No padding, alignment 1.
        packed: bool,
    },
    /// `%name = type opaque`: only ever behind a pointer
    Opaque(Box<str>),
    /// `R (A, B, ...)`
    Function {
        /// The result.
        ret: TypeId,
        /// The fixed parameters.
        params: Box<[TypeId]>,
        /// Whether more arguments may follow.
        varargs: bool,
    },
    /// `label`
    Label,
    /// `metadata`: an argument of debug intrinsics
    Metadata,
    /// `token`
    Token,
}

/// All types of a module.
#[derive(Clone, Debug)]
pub struct Types {
    list: PrimaryMap<TypeId, Type>,
    index: FxHashMap<Type, TypeId>,
}

macro_rules! common_types {
    ($($(#[$doc:meta])* $name:ident = $ty:expr;)*) => {
        /// The types that need no look-up, in the order of their ids.
        const COMMON: &[Type] = &[$($ty),*];

        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        #[repr(u32)]
        enum Common { $($name),* }

        impl TypeId {
            $($(#[$doc])* pub const $name: TypeId = TypeId(Common::$name as u32);)*
        }
    };
}

common_types! {
    /// `void`
    VOID = Type::Void;
    /// `i1`
    I1 = Type::Int(1);
    /// `i8`
    I8 = Type::Int(8);
    /// `i16`
    I16 = Type::Int(16);
    /// `i32`
    I32 = Type::Int(32);
    /// `i64`
    I64 = Type::Int(64);
    /// `i128`
    I128 = Type::Int(128);
    /// `half`
    HALF = Type::Half;
    /// `bfloat`
    BFLOAT = Type::BFloat;
    /// `float`
    FLOAT = Type::Float;
    /// `double`
    DOUBLE = Type::Double;
    /// `ptr`
    PTR = Type::Pointer(AddressSpace::GENERIC);
    /// `label`
    LABEL = Type::Label;
    /// `metadata`
    METADATA = Type::Metadata;
    /// `token`
    TOKEN = Type::Token;
}

impl Default for Types {
    fn default() -> Types {
        let mut types = Types { list: PrimaryMap::new(), index: FxHashMap::default() };
        for ty in COMMON {
            types.intern(ty.clone());
        }
        types
    }
}

impl std::ops::Index<TypeId> for Types {
    type Output = Type;

    fn index(&self, id: TypeId) -> &Type {
        &self.list[id]
    }
}

impl Types {
    /// The id of `ty`, added if it is new.
    pub fn intern(&mut self, ty: Type) -> TypeId {
        if let Some(&id) = self.index.get(&ty) {
            return id;
        }
        let id = self.list.push(ty.clone());
        self.index.insert(ty, id);
        id
    }

    /// `iN`
    pub fn int(&mut self, bits: u32) -> TypeId {
        self.intern(Type::Int(bits))
    }

    /// `ptr addrspace(n)`
    pub fn pointer(&mut self, space: AddressSpace) -> TypeId {
        self.intern(Type::Pointer(space))
    }

    /// `<n x T>`
    pub fn vector(&mut self, element: TypeId, len: u32) -> TypeId {
        self.intern(Type::Vector(element, len))
    }

    /// All types, in the order in which they were made.
    pub fn ids(&self) -> impl Iterator<Item = TypeId> + '_ {
        self.list.keys()
    }

    /// The number of types.
    #[must_use]
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Never true: the common types are always there.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Width in bits of an integer; `None` for every other type.
    #[must_use]
    pub fn int_bits(&self, id: TypeId) -> Option<u32> {
        match self[id] {
            Type::Int(bits) => Some(bits),
            _ => None,
        }
    }

    /// The address space of a pointer; `None` for every other type.
    #[must_use]
    pub fn address_space(&self, id: TypeId) -> Option<AddressSpace> {
        match self[id] {
            Type::Pointer(space) => Some(space),
            _ => None,
        }
    }

    /// Element type and length of a vector; `None` for every other type.
    #[must_use]
    pub fn as_vector(&self, id: TypeId) -> Option<(TypeId, u32)> {
        match self[id] {
            Type::Vector(element, len) => Some((element, len)),
            _ => None,
        }
    }

    /// The element type of a vector, or the type itself.
    #[must_use]
    pub fn scalar(&self, id: TypeId) -> TypeId {
        self.as_vector(id).map_or(id, |(element, _)| element)
    }

    /// True for `half`, `bfloat`, `float`, `double` and the wider ones.
    #[must_use]
    pub fn is_float(&self, id: TypeId) -> bool {
        matches!(self[id], Type::Half | Type::BFloat | Type::Float | Type::Double | Type::OtherFloat(_))
    }

    /// True for arrays and structures.
    #[must_use]
    pub fn is_aggregate(&self, id: TypeId) -> bool {
        matches!(self[id], Type::Array(..) | Type::Struct { .. })
    }

    /// The type of element `index` of a vector, array or structure.
    #[must_use]
    pub fn element(&self, id: TypeId, index: u64) -> Option<TypeId> {
        match &self[id] {
            Type::Vector(element, len) if index < u64::from(*len) => Some(*element),
            Type::Array(element, len) if index < *len => Some(*element),
            Type::Struct { fields, .. } => fields.get(usize::try_from(index).ok()?).copied(),
            _ => None,
        }
    }

    /// The number of elements of a vector, array or structure; 0 for other types.
    #[must_use]
    pub fn element_count(&self, id: TypeId) -> u64 {
        match &self[id] {
            Type::Vector(_, len) => u64::from(*len),
            Type::Array(_, len) => *len,
            Type::Struct { fields, .. } => fields.len() as u64,
            _ => 0,
        }
    }

    /// The type that `indices` lead to from the aggregate `id`.
    #[must_use]
    pub fn at_path(&self, id: TypeId, indices: &[u32]) -> Option<TypeId> {
        indices.iter().try_fold(id, |ty, &index| self.element(ty, u64::from(index)))
    }

    /// The type as LLVM writes it.
    #[must_use]
    pub fn text(&self, id: TypeId) -> String {
        let list = |items: &[TypeId]| items.iter().map(|&item| self.text(item)).collect::<Vec<_>>().join(", ");
        match &self[id] {
            Type::Void => "void".into(),
            Type::Int(bits) => format!("i{bits}"),
            Type::Half => "half".into(),
            Type::BFloat => "bfloat".into(),
            Type::Float => "float".into(),
            Type::Double => "double".into(),
            Type::OtherFloat(name) => (*name).into(),
            Type::Pointer(AddressSpace(0)) => "ptr".into(),
            Type::Pointer(AddressSpace(space)) => format!("ptr addrspace({space})"),
            Type::Vector(element, len) => format!("<{len} x {}>", self.text(*element)),
            Type::Array(element, len) => format!("[{len} x {}]", self.text(*element)),
            Type::Struct { fields, packed: false } => format!("{{ {} }}", list(fields)),
            Type::Struct { fields, packed: true } => format!("<{{ {} }}>", list(fields)),
            Type::Opaque(name) => format!("%{name}"),
            Type::Function { ret, params, varargs } => {
                let more = if *varargs { if params.is_empty() { "..." } else { ", ..." } } else { "" };
                format!("{} ({}{more})", self.text(*ret), list(params))
            }
            Type::Label => "label".into(),
            Type::Metadata => "metadata".into(),
            Type::Token => "token".into(),
        }
    }
}
