//! Relocation types: which value goes into which bits.
//!
//! The numbers and names are those that cuobjdump prints; the bit positions are in the names
//! (`ABS32_LO_32`: the low 32 bits of an absolute address at bit 32) and were checked against
//! linked code where ptxas makes that type, see `docs/cubin.md`.

/// What a relocation puts in, before it is cut into fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelocValue {
    /// Nothing is patched. A linker may make NOP of YIELD; the code is right with either.
    Nothing,
    /// Address of the symbol in its own space: global address, code address, offset in shared
    /// memory or in a constant bank.
    Address,
    /// Generic address of the symbol.
    GenericAddress,
    /// Address of a function's descriptor, for indirect calls.
    FunctionAddress,
    /// Address in the unified function table, for indirect calls (sm_90 and later).
    UnifiedAddress,
    /// Byte offset of the symbol in its constant bank, and the bank's number.
    ConstantOffset,
    /// Distance from the instruction behind the patched one.
    PcRelative,
    /// Zero: the field is cleared.
    Zero,
    /// Number of a texture, surface or sampler: left to whoever binds objects to the module's variables.
    Object,
    /// Descriptors of textures and surfaces, patched instructions: only named here.
    Other,
}

/// Where the bits of a field come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldSource {
    /// The value shifted right by so many bits.
    Value(u8),
    /// The number of the symbol's constant bank.
    Bank,
}

/// A run of bits that a relocation fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// First bit, counted from the least significant bit of the bytes at the relocation's offset.
    pub position: u8,
    /// Number of bits.
    pub width: u8,
    /// What is put in; higher bits are cut off.
    pub source: FieldSource,
}

/// A relocation type.
#[derive(Debug, PartialEq, Eq)]
pub struct RelocKind {
    /// Number in the ELF file.
    pub number: u32,
    /// Name with its `R_CUDA_`.
    pub name: &'static str,
    /// What is put in.
    pub value: RelocValue,
    /// Where it is put; empty for types that are only named.
    pub fields: &'static [Field],
}

/// Marks a field of the table below that takes the bank number.
const BANK: u8 = u8::MAX;

const fn field(position: u8, width: u8, shift: u8) -> Field {
    let source = if shift == BANK { FieldSource::Bank } else { FieldSource::Value(shift) };
    Field { position, width, source }
}

macro_rules! relocations {
    ($($number:literal $name:ident $text:literal $value:ident $(($pos:expr, $width:expr, $shift:expr))*;)*) => {
        $(
            #[doc = concat!("`", $text, "`.")]
            pub static $name: RelocKind = RelocKind {
                number: $number,
                name: $text,
                value: RelocValue::$value,
                fields: &[$(field($pos, $width, $shift)),*],
            };
        )*

        /// All relocation types; the index is the number.
        pub static ALL: &[&RelocKind] = &[$(&$name),*];
    };
}

// number, constant, name, value, fields: (first bit, bits, right shift of the value or BANK)
relocations! {
    0 NONE "R_CUDA_NONE" Nothing;
    1 R32 "R_CUDA_32" Address (0, 32, 0);
    2 R64 "R_CUDA_64" Address (0, 64, 0);
    3 G32 "R_CUDA_G32" GenericAddress (0, 32, 0);
    4 G64 "R_CUDA_G64" GenericAddress (0, 64, 0);
    5 ABS32_26 "R_CUDA_ABS32_26" Address (26, 32, 0);
    6 TEX_HEADER_INDEX "R_CUDA_TEX_HEADER_INDEX" Object;
    7 SAMP_HEADER_INDEX "R_CUDA_SAMP_HEADER_INDEX" Object;
    8 SURF_HW_DESC "R_CUDA_SURF_HW_DESC" Other;
    9 SURF_HW_SW_DESC "R_CUDA_SURF_HW_SW_DESC" Other;
    10 ABS32_LO_26 "R_CUDA_ABS32_LO_26" Address (26, 32, 0);
    11 ABS32_HI_26 "R_CUDA_ABS32_HI_26" Address (26, 32, 32);
    12 ABS32_23 "R_CUDA_ABS32_23" Address (23, 32, 0);
    13 ABS32_LO_23 "R_CUDA_ABS32_LO_23" Address (23, 32, 0);
    14 ABS32_HI_23 "R_CUDA_ABS32_HI_23" Address (23, 32, 32);
    15 ABS24_26 "R_CUDA_ABS24_26" Address (26, 24, 0);
    16 ABS24_23 "R_CUDA_ABS24_23" Address (23, 24, 0);
    17 ABS16_26 "R_CUDA_ABS16_26" Address (26, 16, 0);
    18 ABS16_23 "R_CUDA_ABS16_23" Address (23, 16, 0);
    19 TEX_SLOT "R_CUDA_TEX_SLOT" Other;
    20 SAMP_SLOT "R_CUDA_SAMP_SLOT" Other;
    21 SURF_SLOT "R_CUDA_SURF_SLOT" Other;
    22 TEX_BINDLESSOFF13_32 "R_CUDA_TEX_BINDLESSOFF13_32" Other;
    23 TEX_BINDLESSOFF13_47 "R_CUDA_TEX_BINDLESSOFF13_47" Other;
    24 CONST_FIELD19_28 "R_CUDA_CONST_FIELD19_28" ConstantOffset (28, 14, 2) (42, 5, BANK);
    25 CONST_FIELD19_23 "R_CUDA_CONST_FIELD19_23" ConstantOffset (23, 14, 2) (37, 5, BANK);
    26 TEX_SLOT9_49 "R_CUDA_TEX_SLOT9_49" Other;
    27 R6_31 "R_CUDA_6_31" Other;
    28 R2_47 "R_CUDA_2_47" Other;
    29 TEX_BINDLESSOFF13_41 "R_CUDA_TEX_BINDLESSOFF13_41" Other;
    30 TEX_BINDLESSOFF13_45 "R_CUDA_TEX_BINDLESSOFF13_45" Other;
    31 FUNC_DESC32_23 "R_CUDA_FUNC_DESC32_23" FunctionAddress (23, 32, 0);
    32 FUNC_DESC32_LO_23 "R_CUDA_FUNC_DESC32_LO_23" FunctionAddress (23, 32, 0);
    33 FUNC_DESC32_HI_23 "R_CUDA_FUNC_DESC32_HI_23" FunctionAddress (23, 32, 32);
    34 FUNC_DESC_32 "R_CUDA_FUNC_DESC_32" FunctionAddress (0, 32, 0);
    35 FUNC_DESC_64 "R_CUDA_FUNC_DESC_64" FunctionAddress (0, 64, 0);
    36 CONST_FIELD21_26 "R_CUDA_CONST_FIELD21_26" ConstantOffset (26, 16, 0) (42, 5, BANK);
    37 QUERY_DESC21_37 "R_CUDA_QUERY_DESC21_37" Other;
    38 CONST_FIELD19_26 "R_CUDA_CONST_FIELD19_26" ConstantOffset (26, 14, 2) (40, 5, BANK);
    39 CONST_FIELD21_23 "R_CUDA_CONST_FIELD21_23" ConstantOffset (23, 16, 0) (39, 5, BANK);
    40 PCREL_IMM24_26 "R_CUDA_PCREL_IMM24_26" PcRelative (26, 24, 0);
    41 PCREL_IMM24_23 "R_CUDA_PCREL_IMM24_23" PcRelative (23, 24, 0);
    42 ABS32_20 "R_CUDA_ABS32_20" Address (20, 32, 0);
    43 ABS32_LO_20 "R_CUDA_ABS32_LO_20" Address (20, 32, 0);
    44 ABS32_HI_20 "R_CUDA_ABS32_HI_20" Address (20, 32, 32);
    45 ABS24_20 "R_CUDA_ABS24_20" Address (20, 24, 0);
    46 ABS16_20 "R_CUDA_ABS16_20" Address (20, 16, 0);
    47 FUNC_DESC32_20 "R_CUDA_FUNC_DESC32_20" FunctionAddress (20, 32, 0);
    48 FUNC_DESC32_LO_20 "R_CUDA_FUNC_DESC32_LO_20" FunctionAddress (20, 32, 0);
    49 FUNC_DESC32_HI_20 "R_CUDA_FUNC_DESC32_HI_20" FunctionAddress (20, 32, 32);
    50 CONST_FIELD19_20 "R_CUDA_CONST_FIELD19_20" ConstantOffset (20, 14, 2) (34, 5, BANK);
    51 BINDLESSOFF13_36 "R_CUDA_BINDLESSOFF13_36" Other;
    52 SURF_HEADER_INDEX "R_CUDA_SURF_HEADER_INDEX" Object;
    53 INSTRUCTION64 "R_CUDA_INSTRUCTION64" Other;
    54 CONST_FIELD21_20 "R_CUDA_CONST_FIELD21_20" ConstantOffset (20, 16, 0) (36, 5, BANK);
    55 ABS32_32 "R_CUDA_ABS32_32" Address (32, 32, 0);
    56 ABS32_LO_32 "R_CUDA_ABS32_LO_32" Address (32, 32, 0);
    57 ABS32_HI_32 "R_CUDA_ABS32_HI_32" Address (32, 32, 32);
    58 ABS47_34 "R_CUDA_ABS47_34" Address (34, 47, 2);
    59 ABS16_32 "R_CUDA_ABS16_32" Address (32, 16, 0);
    60 ABS24_32 "R_CUDA_ABS24_32" Address (32, 24, 0);
    61 FUNC_DESC32_32 "R_CUDA_FUNC_DESC32_32" FunctionAddress (32, 32, 0);
    62 FUNC_DESC32_LO_32 "R_CUDA_FUNC_DESC32_LO_32" FunctionAddress (32, 32, 0);
    63 FUNC_DESC32_HI_32 "R_CUDA_FUNC_DESC32_HI_32" FunctionAddress (32, 32, 32);
    64 CONST_FIELD19_40 "R_CUDA_CONST_FIELD19_40" ConstantOffset (40, 14, 2) (54, 5, BANK);
    65 BINDLESSOFF14_40 "R_CUDA_BINDLESSOFF14_40" Other;
    66 CONST_FIELD21_38 "R_CUDA_CONST_FIELD21_38" ConstantOffset (38, 16, 0) (54, 5, BANK);
    67 INSTRUCTION128 "R_CUDA_INSTRUCTION128" Other;
    68 YIELD_OPCODE9_0 "R_CUDA_YIELD_OPCODE9_0" Nothing;
    69 YIELD_CLEAR_PRED4_87 "R_CUDA_YIELD_CLEAR_PRED4_87" Nothing;
    70 R32_LO "R_CUDA_32_LO" Address (0, 32, 0);
    71 R32_HI "R_CUDA_32_HI" Address (0, 32, 32);
    72 UNUSED_CLEAR32 "R_CUDA_UNUSED_CLEAR32" Zero (0, 32, 0);
    73 UNUSED_CLEAR64 "R_CUDA_UNUSED_CLEAR64" Zero (0, 64, 0);
    74 ABS24_40 "R_CUDA_ABS24_40" Address (40, 24, 0);
    75 ABS55_16_34 "R_CUDA_ABS55_16_34" Address (16, 8, 2) (34, 47, 10);
    76 R8_0 "R_CUDA_8_0" Address (0, 8, 0);
    77 R8_8 "R_CUDA_8_8" Address (0, 8, 8);
    78 R8_16 "R_CUDA_8_16" Address (0, 8, 16);
    79 R8_24 "R_CUDA_8_24" Address (0, 8, 24);
    80 R8_32 "R_CUDA_8_32" Address (0, 8, 32);
    81 R8_40 "R_CUDA_8_40" Address (0, 8, 40);
    82 R8_48 "R_CUDA_8_48" Address (0, 8, 48);
    83 R8_56 "R_CUDA_8_56" Address (0, 8, 56);
    84 G8_0 "R_CUDA_G8_0" GenericAddress (0, 8, 0);
    85 G8_8 "R_CUDA_G8_8" GenericAddress (0, 8, 8);
    86 G8_16 "R_CUDA_G8_16" GenericAddress (0, 8, 16);
    87 G8_24 "R_CUDA_G8_24" GenericAddress (0, 8, 24);
    88 G8_32 "R_CUDA_G8_32" GenericAddress (0, 8, 32);
    89 G8_40 "R_CUDA_G8_40" GenericAddress (0, 8, 40);
    90 G8_48 "R_CUDA_G8_48" GenericAddress (0, 8, 48);
    91 G8_56 "R_CUDA_G8_56" GenericAddress (0, 8, 56);
    92 FUNC_DESC_8_0 "R_CUDA_FUNC_DESC_8_0" FunctionAddress (0, 8, 0);
    93 FUNC_DESC_8_8 "R_CUDA_FUNC_DESC_8_8" FunctionAddress (0, 8, 8);
    94 FUNC_DESC_8_16 "R_CUDA_FUNC_DESC_8_16" FunctionAddress (0, 8, 16);
    95 FUNC_DESC_8_24 "R_CUDA_FUNC_DESC_8_24" FunctionAddress (0, 8, 24);
    96 FUNC_DESC_8_32 "R_CUDA_FUNC_DESC_8_32" FunctionAddress (0, 8, 32);
    97 FUNC_DESC_8_40 "R_CUDA_FUNC_DESC_8_40" FunctionAddress (0, 8, 40);
    98 FUNC_DESC_8_48 "R_CUDA_FUNC_DESC_8_48" FunctionAddress (0, 8, 48);
    99 FUNC_DESC_8_56 "R_CUDA_FUNC_DESC_8_56" FunctionAddress (0, 8, 56);
    100 ABS20_44 "R_CUDA_ABS20_44" Address (44, 20, 0);
    101 SAMP_HEADER_INDEX_0 "R_CUDA_SAMP_HEADER_INDEX_0" Object;
    102 UNIFIED "R_CUDA_UNIFIED" UnifiedAddress (0, 64, 0);
    103 UNIFIED_32 "R_CUDA_UNIFIED_32" UnifiedAddress (0, 32, 0);
    104 UNIFIED_8_0 "R_CUDA_UNIFIED_8_0" UnifiedAddress (0, 8, 0);
    105 UNIFIED_8_8 "R_CUDA_UNIFIED_8_8" UnifiedAddress (0, 8, 8);
    106 UNIFIED_8_16 "R_CUDA_UNIFIED_8_16" UnifiedAddress (0, 8, 16);
    107 UNIFIED_8_24 "R_CUDA_UNIFIED_8_24" UnifiedAddress (0, 8, 24);
    108 UNIFIED_8_32 "R_CUDA_UNIFIED_8_32" UnifiedAddress (0, 8, 32);
    109 UNIFIED_8_40 "R_CUDA_UNIFIED_8_40" UnifiedAddress (0, 8, 40);
    110 UNIFIED_8_48 "R_CUDA_UNIFIED_8_48" UnifiedAddress (0, 8, 48);
    111 UNIFIED_8_56 "R_CUDA_UNIFIED_8_56" UnifiedAddress (0, 8, 56);
    112 UNIFIED32_LO_32 "R_CUDA_UNIFIED32_LO_32" UnifiedAddress (32, 32, 0);
    113 UNIFIED32_HI_32 "R_CUDA_UNIFIED32_HI_32" UnifiedAddress (32, 32, 32);
    114 ABS56_16_34 "R_CUDA_ABS56_16_34" Address (16, 8, 2) (34, 48, 10);
    115 CONST_FIELD22_37 "R_CUDA_CONST_FIELD22_37" ConstantOffset (37, 17, 0) (54, 5, BANK);
}

impl RelocKind {
    /// The type with this number.
    pub fn by_number(number: u32) -> Option<&'static RelocKind> {
        ALL.get(usize::try_from(number).ok()?).copied()
    }

    /// Bytes from the relocation's offset on that the fields touch: 0, 1, 4, 8 or 16.
    pub fn patched_bytes(&self) -> usize {
        let bits = self.fields.iter().map(|f| u32::from(f.position) + u32::from(f.width)).max();
        match bits.unwrap_or(0) {
            0 => 0,
            1..=8 => 1,
            9..=32 => 4,
            33..=64 => 8,
            _ => 16,
        }
    }

    /// Puts `value` and `bank` into the fields of `bytes`, which start at the relocation's
    /// offset. Returns false, and changes nothing, if there are too few bytes.
    #[must_use]
    pub fn patch(&self, bytes: &mut [u8], value: u64, bank: u32) -> bool {
        let count = self.patched_bytes();
        let Some(bytes) = bytes.get_mut(..count) else { return false };
        let mut word = load(bytes);
        for f in self.fields {
            let source = match f.source {
                FieldSource::Value(shift) => value >> shift,
                FieldSource::Bank => u64::from(bank),
            };
            let mask = f.mask();
            word = (word & !(mask << f.position)) | ((u128::from(source) & mask) << f.position);
        }
        for (i, byte) in bytes.iter_mut().enumerate() {
            *byte = (word >> (8 * i)) as u8;
        }
        true
    }

    /// Reads the value back from the fields of `bytes`: the addend of a REL entry. Bits that no
    /// field holds are zero. `None` if there are too few bytes.
    pub fn extract(&self, bytes: &[u8]) -> Option<u64> {
        let word = load(bytes.get(..self.patched_bytes())?);
        let fields = self.fields.iter().filter_map(|f| match f.source {
            FieldSource::Value(shift) => Some((((word >> f.position) & f.mask()) as u64) << shift),
            FieldSource::Bank => None,
        });
        Some(fields.fold(0, |value, part| value | part))
    }
}

impl Field {
    fn mask(&self) -> u128 {
        (1u128 << self.width) - 1
    }
}

/// Up to 16 bytes as a little-endian number.
fn load(bytes: &[u8]) -> u128 {
    bytes.iter().rev().fold(0, |word, byte| (word << 8) | u128::from(*byte))
}
