//! What declarations say: variables, parameters and their initial values, linkage, directives of functions.

use super::name::Name;
use super::name::Span;
use super::operand::Imm;
use super::vocabulary::{ScalarType, Space, VectorLen};

/// Visibility of a file-level name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Linkage {
    /// no directive: local to the module
    None,
    /// `.extern`
    Extern,
    /// `.visible`
    Visible,
    /// `.weak`
    Weak,
    /// `.common`
    Common,
    /// `.hidden`, of kernel parameters alone: the program that launches the kernel passes none, the runtime of its language puts the
    /// value there (CUDA Tile's tensor maps).
    Hidden,
}

impl Linkage {
    /// The directive without its dot; empty for [`Linkage::None`].
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Linkage::None => "",
            Linkage::Extern => "extern",
            Linkage::Visible => "visible",
            Linkage::Weak => "weak",
            Linkage::Common => "common",
            Linkage::Hidden => "hidden",
        }
    }
}

/// The languages of `.language` by number; those without a name are reserved (PTX 9.4, ".language").
pub const LANGUAGES: [Option<&str>; 11] = [
    Some("unknown"),
    None,
    None,
    Some("ptx"),
    Some("nvvm"),
    Some("cuda c++"),
    Some("cuda c++ tile"),
    Some("tile ir"),
    Some("python-cutile"),
    Some("fortran"),
    Some("optix"),
];

/// A directive between the parameters and the body of a function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FunctionDirective {
    /// `.maxntid x, y, z` (1 where absent)
    MaxNTid([u32; 3]),
    /// `.reqntid x, y, z` (1 where absent)
    ReqNTid([u32; 3]),
    /// `.minnctapersm n`
    MinNCtaPerSm(u32),
    /// `.maxnctapersm n`
    MaxNCtaPerSm(u32),
    /// `.maxnreg n`
    MaxNReg(u32),
    /// `.reqnctapercluster x, y, z` (1 where absent)
    ReqNCtaPerCluster([u32; 3]),
    /// `.maxclusterrank n`
    MaxClusterRank(u32),
    /// `.explicitcluster`
    ExplicitCluster,
    /// `.blocksareclusters`
    BlocksAreClusters,
    /// `.noreturn`
    NoReturn,
    /// `.language list`: the numbers of the languages that the code was made of, [`LANGUAGES`] by number.
    Language(Box<[u8]>),
    /// `.minperctamemory n`: bytes of global memory that each block must have of its own.
    MinPerCtaMemory(u32),
    /// `.abi_preserve n`
    AbiPreserve(u32),
    /// `.abi_preserve_control n`
    AbiPreserveControl(u32),
    /// `.pragma "…";` before the body
    Pragma(Vec<String>),
}

/// One member of `.attribute(…)`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Attribute {
    /// `.managed`
    Managed,
    /// `.unified(uuid1, uuid2)`
    Unified(u64, u64),
}

/// `.ptr .space .align n` of a kernel parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PtrInfo {
    /// What the pointer points into; `None` when it is not said.
    pub space: Option<Space>,
    /// Alignment of what it points to, in bytes.
    pub align: Option<u32>,
}

/// A variable or parameter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Variable {
    /// Visibility; [`Linkage::None`] inside functions.
    pub linkage: Linkage,
    /// Where it lives; `Reg` and `Param` for parameters.
    pub space: Space,
    /// `.attribute(…)`
    pub attributes: Vec<Attribute>,
    /// `.align`, in bytes.
    pub align: Option<u32>,
    /// Element type.
    pub ty: ScalarType,
    /// `.v2`, `.v4`
    pub vector: Option<VectorLen>,
    /// `.ptr` of a kernel parameter.
    pub ptr: Option<PtrInfo>,
    /// The name; `None` for `_` in prototypes.
    pub name: Option<Name>,
    /// Array dimensions, outermost first; `None` for `[]`.
    pub dims: Vec<Option<u64>>,
    /// The initial value.
    pub init: Option<Init>,
    /// The initial value of a variable of opaque type: the properties of each
    /// array element, or of the one value.
    pub properties: Vec<Vec<Property>>,
    /// The whole declaration.
    pub span: Span,
}

impl Variable {
    /// Size in bytes: element, vector and all dimensions; 0 when a dimension
    /// is left open, `None` when the size does not fit 64 bits.
    #[must_use]
    pub fn size(&self) -> Option<u64> {
        let element = u64::from(self.ty.bytes()) * self.vector.map_or(1, |v| v.len() as u64);
        self.dims.iter().try_fold(element, |size, dim| size.checked_mul(dim.unwrap_or(0)))
    }

    /// Alignment in bytes: as declared, or that of the element or vector.
    #[must_use]
    pub fn alignment(&self) -> u32 {
        let natural = self.ty.bytes() * self.vector.map_or(1, |v| v.len() as u32);
        self.align.unwrap_or(natural).max(1)
    }
}

/// The initial value of a variable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Init {
    /// A constant.
    Imm(Imm, Span),
    /// The address of a variable or function.
    Address {
        /// The variable or function.
        name: Name,
        /// Bytes added to it.
        offset: i64,
        /// True for `generic(name)`: its generic address.
        generic: bool,
        /// `0xff00(name)`: only these bits of the address, shifted down to bit 0.
        mask: Option<u64>,
    },
    /// `{…}`
    List(Vec<Init>, Span),
    /// `"…"`: the bytes between the quotes.
    Text(String, Span),
}

/// `addr_mode_0 = clamp_to_edge`: one property in the initial value of a
/// `.samplerref`, `.texref` or `.surfref`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Property {
    /// The property, such as `filter_mode`.
    pub name: String,
    /// Its value.
    pub value: PropertyValue,
}

/// The value of an [`Property`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PropertyValue {
    /// A word such as `nearest`.
    Word(String),
    /// A number.
    Int(i64),
}
