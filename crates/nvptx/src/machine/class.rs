//! The nine register classes, and the one that is internal.
//!
//! Source: the published register classes of NVIDIA's compiler (docs/sources.md). The classes are disjoint: PTX has no
//! sub-registers, so nothing of one class ever shares storage with another.

/// A register class.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum RegClass {
    /// Predicates.
    Int1,
    /// 16-bit integers; `i8` is promoted to them.
    Int16,
    /// 32-bit integers.
    Int32,
    /// 64-bit integers and pointers.
    Int64,
    /// Single-precision numbers.
    Float32,
    /// Double-precision numbers.
    Float64,
    /// Half-precision numbers: `f16` and `bf16`.
    Int16Half,
    /// Packed pairs and quadruples of 32 bits: the only class of vectors.
    Int32Half,
    /// 128-bit values.
    Int128,
    /// Environment and special registers: never declared, never encoded.
    Special,
}

/// What the table says of a class.
#[derive(Clone, Copy, Debug)]
pub struct ClassInfo {
    /// Bits 31:28 of an encoded register; `None` for the internal class.
    pub tag: Option<u32>,
    /// The canonical name.
    pub name: &'static str,
    /// The name by meaning, where there is a second one.
    pub alias: Option<&'static str>,
    /// The type in `.reg`, with its dot.
    pub ptx_type: &'static str,
    /// What register names start with.
    pub prefix: &'static str,
    /// Width in bits.
    pub width: u32,
    /// The machine value types that live in it.
    pub legal_types: &'static [&'static str],
    /// Opcode number of a copy within the class.
    pub copy: u32,
    /// Opcode number of a copy to the class of the same width that reads the bits differently;
    /// the same number where there is no such class.
    pub cross_copy: u32,
    /// Whether copies within the class may be coalesced.
    pub coalesceable: bool,
}

/// What both the type and the prefix of the internal class read.
pub const SPECIAL: &str = "!Special!";

const NUMBERS_16: &[&str] = &["f16", "bf16"];
const PACKED_32: &[&str] = &["v2f16", "v2bf16", "v2i16", "v4i8"];

#[rustfmt::skip]
const TABLE: [ClassInfo; 10] = [
    info(1, "Int1Regs",      None,                  ".pred", "%p",    1, &["i1"],   39424, 39424, true),
    info(2, "Int16Regs",     None,                  ".b16",  "%rs",  16, &["i16"],  39296, 39296, true),
    info(3, "Int32Regs",     None,                  ".b32",  "%r",   32, &["i32"],  39552, 10816, true),
    info(4, "Int64Regs",     None,                  ".b64",  "%rd",  64, &["i64"],  39680, 11008, true),
    info(5, "Float32Regs",   None,                  ".f32",  "%f",   32, &["f32"],  30656, 10880, true),
    info(6, "Float64Regs",   None,                  ".f64",  "%fd",  64, &["f64"],  30784, 11072, true),
    info(7, "Int16HalfRegs", Some("Float16Regs"),   ".b16",  "%h",   16, NUMBERS_16, 30528, 10688, true),
    info(8, "Int32HalfRegs", Some("Float16x2Regs"), ".b32",  "%hh",  32, PACKED_32, 39552, 39552, true),
    info(9, "Int128Regs",    Some("SpecialRegs"),   ".b128", "%rq", 128, &["i128"], 39168, 39168, false),
    ClassInfo {
        tag: None, name: "Special", alias: None, ptx_type: SPECIAL, prefix: SPECIAL, width: 0, legal_types: &[],
        copy: 0, cross_copy: 0, coalesceable: false,
    },
];

#[allow(clippy::too_many_arguments)] // one row of a table
const fn info(
    tag: u32,
    name: &'static str,
    alias: Option<&'static str>,
    ptx_type: &'static str,
    prefix: &'static str,
    width: u32,
    legal_types: &'static [&'static str],
    copy: u32,
    cross_copy: u32,
    coalesceable: bool,
) -> ClassInfo {
    ClassInfo { tag: Some(tag), name, alias, ptx_type, prefix, width, legal_types, copy, cross_copy, coalesceable }
}

impl RegClass {
    /// The nine classes that registers are declared in, in order of their tags.
    pub const ALL: [RegClass; 9] = [
        RegClass::Int1,
        RegClass::Int16,
        RegClass::Int32,
        RegClass::Int64,
        RegClass::Float32,
        RegClass::Float64,
        RegClass::Int16Half,
        RegClass::Int32Half,
        RegClass::Int128,
    ];

    /// The row of the class table.
    #[must_use]
    pub const fn info(self) -> &'static ClassInfo {
        &TABLE[self as usize]
    }

    /// The class of a name or alias.
    #[must_use]
    pub fn from_name(name: &str) -> Option<RegClass> {
        RegClass::ALL.into_iter().find(|class| class.info().name == name || class.info().alias == Some(name))
    }

    /// The number of the opcode that copies a register of class `self` to one of class `to`.
    #[must_use]
    pub const fn copy_opcode(self, to: RegClass) -> u32 {
        if self as usize == to as usize { self.info().copy } else { self.info().cross_copy }
    }
}
