//! Matrix products D = A B + C of a warp, and the instructions that the targets have for them.

use crate::chapters::tensor::fragment;
use crate::error::{Lowered, invalid};
use crate::function::{FnLower, ops, sources};
use crate::handler::unknown;
use oriole_isa::Role::{A, B, C, D};
use oriole_isa::{
    BmmaOp, BmmaShape, DmmaShape, Field, HmmaShape, HmmaType, ImmaShape, MmaAcc, MmaFloat, MmaInt, Mods,
    Opcode as Sass, QmmaShape, Rnd, Setting,
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
    /// [`Field::BMMA_OP`]: how bits are combined.
    pub(super) bits: BmmaOp,
    /// [`Field::RND`]: how doubles are rounded.
    pub(super) rounding: Rnd,
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
/// instruction and its shape.
type Native = (Kind, [u16; 3], bool, Sass, Setting);

const NATIVE: [Native; 29] = {
    use Kind::{Bit, Byte, Double, Float8, Half, Nibble, Tf32};
    const fn half(kind: Kind, k: u16, sparse: bool, shape: HmmaShape) -> Native {
        (kind, [16, 8, k], sparse, Sass::HMMA, Field::HMMA_SHAPE.is(shape))
    }
    const fn int(kind: Kind, m: u16, k: u16, sparse: bool, shape: ImmaShape) -> Native {
        (kind, [m, 8, k], sparse, Sass::IMMA, Field::IMMA_SHAPE.is(shape))
    }
    const fn bit(m: u16, k: u16, shape: BmmaShape) -> Native {
        (Bit, [m, 8, k], false, Sass::BMMA, Field::BMMA_SHAPE.is(shape))
    }
    const fn double(m: u16, k: u16, shape: DmmaShape) -> Native {
        (Double, [m, 8, k], false, Sass::DMMA, Field::DMMA_SHAPE.is(shape))
    }
    const fn narrow(k: u16, sparse: bool, shape: QmmaShape) -> Native {
        (Float8, [16, 8, k], sparse, Sass::QMMA, Field::QMMA_SHAPE.is(shape))
    }
    [
        half(Half, 8, false, HmmaShape::M16N8K8),
        half(Half, 16, false, HmmaShape::M16N8K16),
        half(Half, 16, true, HmmaShape::M16N8K16),
        half(Half, 32, true, HmmaShape::M16N8K32),
        half(Tf32, 4, false, HmmaShape::M16N8K4),
        half(Tf32, 8, false, HmmaShape::M16N8K8),
        half(Tf32, 8, true, HmmaShape::M16N8K8),
        half(Tf32, 16, true, HmmaShape::M16N8K16),
        int(Byte, 8, 16, false, ImmaShape::M8N8K16),
        int(Byte, 16, 16, false, ImmaShape::M16N8K16),
        int(Byte, 16, 32, false, ImmaShape::M16N8K32),
        int(Byte, 16, 32, true, ImmaShape::M16N8K32),
        int(Byte, 16, 64, true, ImmaShape::M16N8K64),
        int(Nibble, 8, 32, false, ImmaShape::M8N8K32),
        int(Nibble, 16, 32, false, ImmaShape::M16N8K32),
        int(Nibble, 16, 64, false, ImmaShape::M16N8K64),
        int(Nibble, 16, 64, true, ImmaShape::M16N8K64),
        int(Nibble, 16, 128, true, ImmaShape::M16N8K128),
        bit(8, 128, BmmaShape::M8N8K128),
        bit(16, 128, BmmaShape::M16N8K128),
        bit(16, 256, BmmaShape::M16N8K256),
        double(8, 4, DmmaShape::M8N8K4),
        double(16, 4, DmmaShape::M16N8K4),
        double(16, 8, DmmaShape::M16N8K8),
        double(16, 16, DmmaShape::M16N8K16),
        narrow(16, false, QmmaShape::M16N8K16),
        narrow(32, false, QmmaShape::M16N8K32),
        narrow(64, true, QmmaShape::M16N8K64),
        narrow(32, true, QmmaShape::M16N8K32),
    ]
};

/// The element type in [`Field::HMMA_TYPE`]; the first one for types of instructions that lack the field.
pub(crate) fn half_type(ty: ScalarType) -> HmmaType {
    match ty {
        ScalarType::Bf16 => HmmaType::BF16,
        ScalarType::Tf32 => HmmaType::TF32,
        _ => HmmaType::F16,
    }
}

/// The element type in [`Field::INT_A`], [`Field::INT_B`]; the first one for types of instructions that lack them.
pub(crate) fn int_type(ty: ScalarType) -> MmaInt {
    match ty {
        ScalarType::S8 => MmaInt::S8,
        ScalarType::U4 => MmaInt::U4,
        ScalarType::S4 => MmaInt::S4,
        _ => MmaInt::U8,
    }
}

/// The element type in [`Field::FLOAT_A`], [`Field::FLOAT_B`]; the first one for types of instructions that lack them.
pub(crate) fn float_type(ty: ScalarType) -> MmaFloat {
    match ty {
        ScalarType::E5m2 => MmaFloat::E5M2,
        ScalarType::E3m2 => MmaFloat::E3M2,
        ScalarType::E2m3 => MmaFloat::E2M3,
        ScalarType::E2m1 => MmaFloat::E2M1,
        _ => MmaFloat::E4M3,
    }
}

/// The instruction of a product, without operands, where the target has one.
pub(crate) fn native(cx: &FnLower<'_, '_>, product: &Product) -> Option<Inst> {
    let sparse = product.sparsity.is_some();
    let wanted = (product.kind, [product.m, product.n, product.k], sparse);
    let (_, _, _, opcode, shape) =
        NATIVE.iter().find(|(kind, shape, sparse, ..)| (*kind, *shape, *sparse) == wanted)?;
    let mut mods = Mods::new();
    let single = if product.d == ScalarType::F16 { MmaAcc::F16 } else { MmaAcc::F32 };
    let fields = [
        *shape,
        Field::MMA_SP.is(sparse),
        Field::MMA_ACC.is(single),
        Field::HMMA_TYPE.is(half_type(product.a)),
        Field::INT_A.is(int_type(product.a)),
        Field::INT_B.is(int_type(product.b)),
        Field::FLOAT_A.is(float_type(product.a)),
        Field::FLOAT_B.is(float_type(product.b)),
        Field::SAT.is(product.saturate),
        Field::BMMA_OP.is(product.bits),
        Field::RND.is(product.rounding),
    ];
    for setting in fields {
        if opcode.has_field(setting.field()) && setting.code() != opcode.default_code(setting.field()) {
            mods.apply(setting);
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
    let metadata = sources::src(cx, metadata.single())?;
    let metadata = ops::in_reg(cx, metadata)?;
    Ok(Some(Sparsity { metadata, selector }))
}
