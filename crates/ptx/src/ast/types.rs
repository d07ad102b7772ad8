//! Scalar types, state spaces and the other closed vocabularies that appear in
//! declarations as well as in instructions.

use super::table::name_table;

name_table! {
    /// A type name. Widths are those of one value of the type, in bits.
    pub enum ScalarType {
        Pred "pred",
        U2 "u2", U4 "u4", U8 "u8", U16 "u16", U32 "u32", U64 "u64",
        S2 "s2", S4 "s4", S8 "s8", S16 "s16", S32 "s32", S64 "s64",
        B1 "b1", B2 "b2", B4 "b4", B8 "b8", B16 "b16", B32 "b32", B64 "b64", B128 "b128",
        B1024 "b1024",
        F16 "f16", F32 "f32", F64 "f64", Bf16 "bf16", Tf32 "tf32",
        F16x2 "f16x2", Bf16x2 "bf16x2", F32x2 "f32x2", U16x2 "u16x2", S16x2 "s16x2",
        U8x4 "u8x4", S8x4 "s8x4",
        E4m3 "e4m3", E5m2 "e5m2", E2m1 "e2m1", E2m3 "e2m3", E3m2 "e3m2", Ue8m0 "ue8m0",
        Ue4m3 "ue4m3",
        E4m3x2 "e4m3x2", E5m2x2 "e5m2x2", E2m1x2 "e2m1x2", E2m3x2 "e2m3x2", E3m2x2 "e3m2x2",
        Ue8m0x2 "ue8m0x2",
        E4m3x4 "e4m3x4", E5m2x4 "e5m2x4", E2m1x4 "e2m1x4", E2m3x4 "e2m3x4", E3m2x4 "e3m2x4",
        B8x16 "b8x16", B6x16P32 "b6x16_p32", B4x16P64 "b4x16_p64", B6p2x16 "b6p2x16",
        B4x16 "b4x16",
        Texref "texref", Samplerref "samplerref", Surfref "surfref",
    }
}

/// What the bits of a [`ScalarType`] mean.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TypeClass {
    /// `.pred`
    Predicate,
    /// `.uN`, and packed unsigned integers
    Unsigned,
    /// `.sN`, and packed signed integers
    Signed,
    /// `.bN`, and packed containers of untyped bits
    Bits,
    /// floating point of any format, packed or not
    Float,
    /// `.texref`, `.samplerref`, `.surfref`
    Opaque,
}

impl ScalarType {
    /// Width in bits of one value; 1 for `.pred`, 64 for opaque references.
    #[must_use]
    pub const fn bits(self) -> u32 {
        use ScalarType::*;
        match self {
            Pred | B1 => 1,
            U2 | S2 | B2 => 2,
            U4 | S4 | B4 | E2m1 => 4,
            E2m3 | E3m2 => 6,
            U8 | S8 | B8 | E4m3 | E5m2 | Ue8m0 | Ue4m3 | E2m1x2 => 8,
            U16 | S16 | B16 | F16 | Bf16 | E4m3x2 | E5m2x2 | E2m3x2 | E3m2x2 | Ue8m0x2 | E2m1x4 => 16,
            U32 | S32 | B32 | F32 | Tf32 | F16x2 | Bf16x2 | U16x2 | S16x2 | U8x4 | S8x4 | E4m3x4 | E5m2x4 | E2m3x4
            | E3m2x4 => 32,
            U64 | S64 | B64 | F64 | F32x2 | Texref | Samplerref | Surfref => 64,
            B128 | B8x16 | B6x16P32 | B4x16P64 | B6p2x16 | B4x16 => 128,
            B1024 => 1024,
        }
    }

    /// Size in bytes in memory, rounded up to a whole byte.
    #[must_use]
    pub const fn bytes(self) -> u32 {
        self.bits().div_ceil(8)
    }

    /// What the bits mean.
    #[must_use]
    pub const fn class(self) -> TypeClass {
        use ScalarType::*;
        match self {
            Pred => TypeClass::Predicate,
            U2 | U4 | U8 | U16 | U32 | U64 | U16x2 | U8x4 => TypeClass::Unsigned,
            S2 | S4 | S8 | S16 | S32 | S64 | S16x2 | S8x4 => TypeClass::Signed,
            B1 | B2 | B4 | B8 | B16 | B32 | B64 | B128 | B1024 | B8x16 | B6x16P32 | B4x16P64 | B6p2x16 | B4x16 => {
                TypeClass::Bits
            }
            Texref | Samplerref | Surfref => TypeClass::Opaque,
            _ => TypeClass::Float,
        }
    }

    /// True for `.sN`.
    #[must_use]
    pub const fn is_signed(self) -> bool {
        matches!(self.class(), TypeClass::Signed)
    }

    /// True for every floating-point format.
    #[must_use]
    pub const fn is_float(self) -> bool {
        matches!(self.class(), TypeClass::Float)
    }

    /// True for `.uN` and `.sN`.
    #[must_use]
    pub const fn is_integer(self) -> bool {
        matches!(self.class(), TypeClass::Signed | TypeClass::Unsigned)
    }
}

name_table! {
    /// A state space, with the sub-spaces that instructions may name.
    pub enum Space {
        Reg "reg", SReg "sreg", Const "const", Global "global", Local "local", Param "param",
        ParamEntry "param::entry", ParamFunc "param::func",
        Shared "shared", SharedCta "shared::cta", SharedCluster "shared::cluster", Tex "tex",
    }
}

name_table! {
    /// A rounding modifier.
    pub enum Rounding {
        Rn "rn", Rz "rz", Rm "rm", Rp "rp", Rna "rna", Rs "rs",
        Rni "rni", Rzi "rzi", Rmi "rmi", Rpi "rpi",
    }
}

name_table! {
    /// A comparison operator of `set`, `setp`, `vset`.
    pub enum CmpOp {
        Eq "eq", Ne "ne", Lt "lt", Le "le", Gt "gt", Ge "ge",
        Lo "lo", Ls "ls", Hi "hi", Hs "hs",
        Equ "equ", Neu "neu", Ltu "ltu", Leu "leu", Gtu "gtu", Geu "geu",
        Num "num", Nan "nan",
    }
}

name_table! {
    /// The set of threads that a memory operation is ordered against.
    pub enum Scope { Cta "cta", Cluster "cluster", Gpu "gpu", Sys "sys" }
}

name_table! {
    /// The memory-ordering semantics of a load, store, atomic or fence.
    pub enum Semantics {
        Weak "weak", Relaxed "relaxed", Acquire "acquire", Release "release",
        AcqRel "acq_rel", Sc "sc", Volatile "volatile", Mmio "mmio",
    }
}

name_table! {
    /// How many elements a vector type or access has.
    pub enum VectorLen { V2 "v2", V4 "v4", V8 "v8" }
}

impl VectorLen {
    /// The number of elements.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "never empty")]
    pub const fn len(self) -> usize {
        match self {
            VectorLen::V2 => 2,
            VectorLen::V4 => 4,
            VectorLen::V8 => 8,
        }
    }
}

/// A suffix of a register operand: an element of a vector register, or the
/// bytes or half-words that a video instruction takes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Selector {
    /// `.x` or `.r`
    X,
    /// `.y` or `.g`
    Y,
    /// `.z` or `.b`
    Z,
    /// `.w` or `.a`
    W,
    /// `.b0`, `.b7362`, `.h1`, `.h03`
    Lanes(Lanes),
}

/// Bytes or half-words chosen by a video instruction, as written: the most
/// significant lane first. Indices above those of one register choose from
/// the second source.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Lanes {
    /// True for `.h` (16-bit lanes), false for `.b` (8-bit lanes).
    pub halves: bool,
    /// The chosen lanes; unused entries are 0.
    pub index: [u8; 4],
    /// How many there are, 1 to 4.
    pub count: u8,
}

impl Selector {
    /// The selector spelled `name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Selector> {
        Some(match name {
            "x" | "r" => Selector::X,
            "y" | "g" => Selector::Y,
            "z" | "b" => Selector::Z,
            "w" | "a" => Selector::W,
            _ => Selector::Lanes(Lanes::from_name(name)?),
        })
    }

    /// Index of a vector element, from 0; `None` for [`Selector::Lanes`].
    #[must_use]
    pub const fn element(self) -> Option<usize> {
        match self {
            Selector::X => Some(0),
            Selector::Y => Some(1),
            Selector::Z => Some(2),
            Selector::W => Some(3),
            Selector::Lanes(_) => None,
        }
    }
}

impl Lanes {
    fn from_name(name: &str) -> Option<Lanes> {
        let (halves, digits) = match name.strip_prefix('h') {
            Some(digits) => (true, digits),
            None => (false, name.strip_prefix('b')?),
        };
        let (highest, most) = if halves { (b'3', 2) } else { (b'7', 4) };
        if !(1..=most).contains(&digits.len()) || !digits.bytes().all(|b| (b'0'..=highest).contains(&b)) {
            return None;
        }
        let mut index = [0; 4];
        for (lane, digit) in index.iter_mut().zip(digits.bytes()) {
            *lane = digit - b'0';
        }
        Some(Lanes { halves, index, count: digits.len() as u8 })
    }
}

impl std::fmt::Display for Selector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let lanes = match self {
            Selector::X => return f.write_str("x"),
            Selector::Y => return f.write_str("y"),
            Selector::Z => return f.write_str("z"),
            Selector::W => return f.write_str("w"),
            Selector::Lanes(lanes) => lanes,
        };
        f.write_str(if lanes.halves { "h" } else { "b" })?;
        lanes.index[..usize::from(lanes.count)].iter().try_for_each(|lane| write!(f, "{lane}"))
    }
}
