//! The tables of the published register classes (docs/sources.md), as data copied from there, against the class table.

use oriole_nvptx::machine::RegClass;
use oriole_nvptx::machine::class::SPECIAL;
use oriole_nvptx::machine::reg::{BadRegisterClass, EncodedReg, PhysReg};
use oriole_ptx::ast::SpecialReg;

/// "The Nine Register Classes": tag, name, PTX type, prefix, encoded id, width.
const CLASSES: [(u32, &str, &str, &str, u32, u32); 9] = [
    (1, "Int1Regs", ".pred", "%p", 0x1000_0000, 1),
    (2, "Int16Regs", ".b16", "%rs", 0x2000_0000, 16),
    (3, "Int32Regs", ".b32", "%r", 0x3000_0000, 32),
    (4, "Int64Regs", ".b64", "%rd", 0x4000_0000, 64),
    (5, "Float32Regs", ".f32", "%f", 0x5000_0000, 32),
    (6, "Float64Regs", ".f64", "%fd", 0x6000_0000, 64),
    (7, "Int16HalfRegs", ".b16", "%h", 0x7000_0000, 16),
    (8, "Int32HalfRegs", ".b32", "%hh", 0x8000_0000, 32),
    (9, "Int128Regs", ".b128", "%rq", 0x9000_0000, 128),
];

/// "Copy Opcodes": class, same-class opcode, cross-class opcode.
const COPIES: [(&str, u32, u32); 9] = [
    ("Int1Regs", 39424, 39424),
    ("Int16Regs", 39296, 39296),
    ("Int32Regs", 39552, 10816),
    ("Int64Regs", 39680, 11008),
    ("Float32Regs", 30656, 10880),
    ("Float64Regs", 30784, 11072),
    ("Int16HalfRegs", 30528, 10688),
    ("Int32HalfRegs", 39552, 39552),
    ("Int128Regs", 39168, 39168),
];

/// "Per-Class Detail": the legal types of each class.
const LEGAL_TYPES: [(&str, &[&str]); 9] = [
    ("Int1Regs", &["i1"]),
    ("Int16Regs", &["i16"]),
    ("Int32Regs", &["i32"]),
    ("Int64Regs", &["i64"]),
    ("Float32Regs", &["f32"]),
    ("Float64Regs", &["f64"]),
    ("Int16HalfRegs", &["f16", "bf16"]),
    ("Int32HalfRegs", &["v2f16", "v2bf16", "v2i16", "v4i8"]),
    ("Int128Regs", &["i128"]),
];

/// "Coalescing Constraints": the classes whose flag is set; that of Int128Regs is cleared.
const COALESCEABLE: [&str; 8] =
    ["Int1Regs", "Int16Regs", "Int32Regs", "Int64Regs", "Float32Regs", "Float64Regs", "Int16HalfRegs", "Int32HalfRegs"];

/// "Naming Discrepancy": the emission name and the one of the allocator.
const ALIASES: [(&str, &str); 3] =
    [("Int16HalfRegs", "Float16Regs"), ("Int32HalfRegs", "Float16x2Regs"), ("Int128Regs", "SpecialRegs")];

fn named(name: &str) -> RegClass {
    RegClass::from_name(name).unwrap_or_else(|| panic!("no class {name}"))
}

#[test]
fn the_nine_classes() {
    let found = RegClass::ALL.map(|class| {
        let info = class.info();
        let encoded = EncodedReg::virtual_reg(class, 0).map(EncodedReg::bits);
        (info.tag.unwrap_or(0), info.name, info.ptx_type, info.prefix, encoded.unwrap_or(0), info.width)
    });
    assert_eq!(found, CLASSES);
    for (class, (name, types)) in RegClass::ALL.into_iter().zip(LEGAL_TYPES) {
        assert_eq!((class.info().name, class.info().legal_types), (name, types));
    }
}

#[test]
fn copy_opcodes() {
    for (name, same, cross) in COPIES {
        let class = named(name);
        assert_eq!(class.copy_opcode(class), same, "{name}");
        for other in RegClass::ALL.into_iter().filter(|&other| other != class) {
            assert_eq!(class.copy_opcode(other), cross, "{name}");
        }
    }
    // "The five classes with distinct cross-class opcodes".
    let distinct: Vec<_> = COPIES.iter().filter(|(_, same, cross)| same != cross).map(|row| row.0).collect();
    assert_eq!(distinct, ["Int32Regs", "Int64Regs", "Float32Regs", "Float64Regs", "Int16HalfRegs"]);
}

#[test]
fn coalescing_constraints() {
    for class in RegClass::ALL {
        assert_eq!(class.info().coalesceable, COALESCEABLE.contains(&class.info().name), "{}", class.info().name);
    }
}

#[test]
fn aliases() {
    for (name, alias) in ALIASES {
        assert_eq!(named(alias), named(name));
        assert_eq!(named(alias).info().name, name);
    }
    assert_eq!(RegClass::from_name("Special"), None);
    assert_eq!(RegClass::from_name("Int8Regs"), None);
}

/// "encoded_register = class_tag | (register_index & 0x0FFFFFFF)"
#[test]
fn virtual_registers_are_tag_and_index() {
    for (tag, name, _, prefix, id, _) in CLASSES {
        for index in [0, 1, 46, 0x00FF_FFFF, 0x0FFF_FFFF] {
            let encoded = EncodedReg::virtual_reg(named(name), index).unwrap();
            assert_eq!(encoded.bits(), id | index);
            assert_eq!(encoded.bits() >> 28, tag);
            assert_eq!((encoded.class(), encoded.index()), (Some(named(name)), index));
            assert_eq!(encoded.to_string(), format!("{prefix}{index}"));
        }
    }
}

#[test]
fn an_index_of_more_than_28_bits_is_a_bad_register_class() {
    for class in RegClass::ALL {
        let error = EncodedReg::virtual_reg(class, 1 << 28).unwrap_err();
        assert_eq!(error.to_string(), "Bad register class");
    }
}

/// The tenth class prints `!Special!` for both words and has no encoded id.
#[test]
fn the_internal_class() {
    let info = RegClass::Special.info();
    assert_eq!((info.ptx_type, info.prefix, SPECIAL), ("!Special!", "!Special!", "!Special!"));
    assert_eq!(info.tag, None);
    assert_eq!(EncodedReg::virtual_reg(RegClass::Special, 0), Err(BadRegisterClass));
    assert!(!RegClass::ALL.contains(&RegClass::Special), "it is never declared");
}

/// "Physical register: returns the raw index directly (low 28 bits)".
#[test]
fn physical_registers_are_raw_numbers() {
    let regs = [PhysReg::Sp, PhysReg::Spl, PhysReg::Special(SpecialReg::Envreg10), PhysReg::Special(SpecialReg::Tid)];
    for reg in regs {
        let encoded = EncodedReg::physical(reg);
        assert_eq!((encoded.bits(), encoded.class()), (reg.number(), None));
        assert!(encoded.bits() < 1 << 28);
    }
    let mut numbers = regs.map(PhysReg::number).to_vec();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), regs.len(), "each has its own number");
}
