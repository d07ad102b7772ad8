//! Matrix products D = A B + C of a warp, and the instructions that the targets have for them.

use crate::chapters::tensor::fragment;
use crate::error::{Lowered, invalid};
use crate::function::FnLower;
use crate::handler::unknown;
use oriole_isa::Role::{A, B, C, D};
use oriole_isa::{
    Field, Mods, Opcode as Sass, bmma_shape, dmma_shape, hmma_shape, hmma_type, imma_shape, mma_acc, mma_float,
    mma_int, mma_sp, qmma_shape,
};
use oriole_ori::{Inst, Operand};
use oriole_ptx::ast::{self, Instruction, ScalarType, Word};

/// What elements are, as far as it decides the instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// f16 and bf16.
    Half,
    /// tf32.
    Tf32,
    /// f64.
    Double,
    /// u8 and s8.
    Byte,
    /// u4 and s4.
    Nibble,
    /// b1.
    Bit,
    /// Floats of 8 bits, and of 6 and 4 bits in bytes.
    Float8,
    /// Floats of 4 bits, eight in a register.
    Float4,
}

impl Kind {
    /// Bits that an element takes in a register.
    fn bits(self, ty: ScalarType) -> u32 {
        if self == Kind::Float8 { 8 } else { ty.bits() }
    }
}

/// The kind of an element type.
pub(crate) fn kind_of(ty: ScalarType) -> Option<Kind> {
    Some(match ty {
        ScalarType::F16 | ScalarType::Bf16 => Kind::Half,
        ScalarType::Tf32 => Kind::Tf32,
        ScalarType::F64 => Kind::Double,
        ScalarType::U8 | ScalarType::S8 => Kind::Byte,
        ScalarType::U4 | ScalarType::S4 => Kind::Nibble,
        ScalarType::B1 => Kind::Bit,
        ScalarType::E4m3 | ScalarType::E5m2 => Kind::Float8,
        _ => return None,
    })
}

/// The kind of an element type in an instruction, which may say how narrow floats are stored.
pub(crate) fn kind_in(instruction: &Instruction, ty: ScalarType) -> Option<Kind> {
    let narrow = matches!(ty, ScalarType::E2m1 | ScalarType::E2m3 | ScalarType::E3m2);
    let in_bytes = instruction.has(Word::KindF8f6f4) || instruction.has(Word::KindMxf8f6f4);
    let packed = instruction.has(Word::KindMxf4) || instruction.has(Word::KindMxf4nvf4);
    match ty {
        _ if narrow && in_bytes => Some(Kind::Float8),
        ScalarType::E2m1 if packed => Some(Kind::Float4),
        _ => kind_of(ty),
    }
}

/// Two of four elements (pairs of them, of 4-bit elements) of a row of A are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sparsity {
    /// The register that says which.
    pub(super) metadata: Operand,
    /// Which threads of a group of four give it.
    pub(super) selector: u32,
}

/// A product of matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Product {
    /// Rows of A and D.
    pub(super) m: u16,
    /// Columns of B and D.
    pub(super) n: u16,
    /// Columns of A and rows of B.
    pub(super) k: u16,
    /// What A and B consist of.
    pub(super) kind: Kind,
    /// Element type of A.
    pub(super) a: ScalarType,
    /// Element type of B.
    pub(super) b: ScalarType,
    /// Element type of C and D.
    pub(super) d: ScalarType,
    /// Integer results keep to their range.
    pub(super) saturate: bool,
    /// [`Field::BmmaOp`]: how bits are combined.
    pub(super) bits: u8,
    /// [`Field::Rnd`]: how doubles are rounded.
    pub(super) rounding: u8,
    /// Of sparse products.
    pub(super) sparsity: Option<Sparsity>,
}

/// The words of the fragments that a product takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Factors<'w> {
    pub(super) a: &'w [Operand],
    pub(super) b: &'w [Operand],
    pub(super) c: &'w [Operand],
}

impl Product {
    /// 32-bit words that a thread holds of A, B, and of C and D.
    pub(super) fn words(&self) -> [usize; 3] {
        let words =
            |rows: u16, columns: u16, bits: u32| usize::from(rows) * usize::from(columns) * bits as usize / 1024;
        let stored = if self.sparsity.is_some() { self.k / 2 } else { self.k };
        [
            words(self.m, stored, self.kind.bits(self.a)),
            words(self.k, self.n, self.kind.bits(self.b)),
            words(self.m, self.n, self.d.bits()),
        ]
    }

    /// The same product of another shape.
    pub(super) fn shaped(self, m: u16, n: u16, k: u16) -> Product {
        Product { m, n, k, ..self }
    }

    /// The same product of elements of other types.
    pub(super) fn typed(self, kind: Kind, a: ScalarType, b: ScalarType) -> Product {
        Product { kind, a, b, ..self }
    }
}

/// A product that is one instruction on some target: kind of the elements, M, N and K, sparse; the
/// instruction, its shape field and code.
type Native = (Kind, [u16; 3], bool, Sass, Field, u8);

const NATIVE: [Native; 29] = {
    use Kind::{Bit, Byte, Double, Float8, Half, Nibble, Tf32};
    const fn half(kind: Kind, k: u16, sparse: bool, code: u8) -> Native {
        (kind, [16, 8, k], sparse, Sass::HMMA, Field::HmmaShape, code)
    }
    const fn int(kind: Kind, m: u16, k: u16, sparse: bool, code: u8) -> Native {
        (kind, [m, 8, k], sparse, Sass::IMMA, Field::ImmaShape, code)
    }
    const fn bit(m: u16, k: u16, code: u8) -> Native {
        (Bit, [m, 8, k], false, Sass::BMMA, Field::BmmaShape, code)
    }
    const fn double(m: u16, k: u16, code: u8) -> Native {
        (Double, [m, 8, k], false, Sass::DMMA, Field::DmmaShape, code)
    }
    const fn narrow(k: u16, sparse: bool, code: u8) -> Native {
        (Float8, [16, 8, k], sparse, Sass::QMMA, Field::QmmaShape, code)
    }
    [
        half(Half, 8, false, hmma_shape::M16N8K8),
        half(Half, 16, false, hmma_shape::M16N8K16),
        half(Half, 16, true, hmma_shape::M16N8K16),
        half(Half, 32, true, hmma_shape::M16N8K32),
        half(Tf32, 4, false, hmma_shape::M16N8K4),
        half(Tf32, 8, false, hmma_shape::M16N8K8),
        half(Tf32, 8, true, hmma_shape::M16N8K8),
        half(Tf32, 16, true, hmma_shape::M16N8K16),
        int(Byte, 8, 16, false, imma_shape::M8N8K16),
        int(Byte, 16, 16, false, imma_shape::M16N8K16),
        int(Byte, 16, 32, false, imma_shape::M16N8K32),
        int(Byte, 16, 32, true, imma_shape::M16N8K32),
        int(Byte, 16, 64, true, imma_shape::M16N8K64),
        int(Nibble, 8, 32, false, imma_shape::M8N8K32),
        int(Nibble, 16, 32, false, imma_shape::M16N8K32),
        int(Nibble, 16, 64, false, imma_shape::M16N8K64),
        int(Nibble, 16, 64, true, imma_shape::M16N8K64),
        int(Nibble, 16, 128, true, imma_shape::M16N8K128),
        bit(8, 128, bmma_shape::M8N8K128),
        bit(16, 128, bmma_shape::M16N8K128),
        bit(16, 256, bmma_shape::M16N8K256),
        double(8, 4, dmma_shape::M8N8K4),
        double(16, 4, dmma_shape::M16N8K4),
        double(16, 8, dmma_shape::M16N8K8),
        double(16, 16, dmma_shape::M16N8K16),
        narrow(16, false, qmma_shape::M16N8K16),
        narrow(32, false, qmma_shape::M16N8K32),
        narrow(64, true, qmma_shape::M16N8K64),
        narrow(32, true, qmma_shape::M16N8K32),
    ]
};

/// Codes of element types in [`Field::HmmaType`], [`Field::IntA`], [`Field::FloatA`].
const TYPES: [(ScalarType, u8); 12] = [
    (ScalarType::F16, hmma_type::F16),
    (ScalarType::Bf16, hmma_type::BF16),
    (ScalarType::Tf32, hmma_type::TF32),
    (ScalarType::U8, mma_int::U8),
    (ScalarType::S8, mma_int::S8),
    (ScalarType::U4, mma_int::U4),
    (ScalarType::S4, mma_int::S4),
    (ScalarType::E4m3, mma_float::E4M3),
    (ScalarType::E5m2, mma_float::E5M2),
    (ScalarType::E3m2, mma_float::E3M2),
    (ScalarType::E2m3, mma_float::E2M3),
    (ScalarType::E2m1, mma_float::E2M1),
];

/// The code of an element type.
pub(crate) fn code_of(ty: ScalarType) -> u8 {
    TYPES.iter().find(|(known, _)| *known == ty).map_or(0, |(_, code)| *code)
}

/// The instruction of a product, without operands, where the target has one.
pub(crate) fn native(cx: &FnLower<'_, '_>, product: &Product) -> Option<Inst> {
    let sparse = product.sparsity.is_some();
    let wanted = (product.kind, [product.m, product.n, product.k], sparse);
    let (_, _, _, opcode, shape, code) =
        NATIVE.iter().find(|(kind, shape, sparse, ..)| (*kind, *shape, *sparse) == wanted)?;
    let mut mods = Mods::new();
    let single = if product.d == ScalarType::F16 { mma_acc::F16 } else { mma_acc::F32 };
    let fields = [
        (*shape, *code),
        (Field::MmaSp, if sparse { mma_sp::ON } else { mma_sp::OFF }),
        (Field::MmaAcc, single),
        (Field::HmmaType, code_of(product.a)),
        (Field::IntA, code_of(product.a)),
        (Field::IntB, code_of(product.b)),
        (Field::FloatA, code_of(product.a)),
        (Field::FloatB, code_of(product.b)),
        (Field::Sat, u8::from(product.saturate)),
        (Field::BmmaOp, product.bits),
        (Field::Rnd, product.rounding),
    ];
    for (field, value) in fields {
        let known = opcode.fields().iter().any(|(of_opcode, _)| *of_opcode == field);
        if known && value != opcode.default_of(field) {
            mods.set(field, value);
        }
    }
    fragment::form(cx, *opcode, mods, &[A, B, C, D])
}

/// Metadata and selector of a sparse product.
pub(crate) fn sparsity_of(
    cx: &mut FnLower<'_, '_>,
    instruction: &Instruction,
    extra: &[ast::Operand],
) -> Lowered<Option<Sparsity>> {
    if !instruction.has(Word::Sp) && !instruction.has(Word::SpOrderedMetadata) {
        return Ok(None);
    }
    let [metadata, selector] = extra else { return Err(unknown(cx, instruction)) };
    let number = selector.imm().and_then(|imm| imm.int_bits()).and_then(|bits| u32::try_from(bits).ok());
    let selector = number
        .filter(|number| *number < 4)
        .ok_or_else(|| invalid(selector.span(), "the sparsity selector is a constant between 0 and 3"))?;
    let metadata = cx.src(metadata)?;
    let metadata = cx.in_reg(metadata)?;
    Ok(Some(Sparsity { metadata, selector }))
}
