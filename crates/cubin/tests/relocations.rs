//! The bit positions of relocations, checked against what nvlink writes and what nvdisasm shows.

use crate::common;

use std::collections::BTreeMap;

use oriole_cubin::reloc::{self, RelocKind};
use oriole_cubin::{Cubin, Relocation, SectionKind};

const FILES: [&str; 5] = ["memory_kinds", "control_flow", "sysio", "reduce", "histogram"];
const TARGETS: [&str; 2] = ["sm_80", "sm_90"];

fn value_and_bank(linked: &Cubin, name: &str) -> Option<(u64, u32)> {
    let symbol = linked.symbols.iter().find(|s| s.name == name)?;
    match linked.sections[symbol.section?].kind {
        SectionKind::Constant { bank } => Some((symbol.value, bank)),
        SectionKind::Shared => Some((symbol.value, 0)),
        _ => None,
    }
}

/// Applies one relocation of an object file to its bytes.
fn apply(object: &Cubin, relocation: &Relocation, value: u64, bank: u32) -> Vec<u8> {
    let kind = relocation.kind.unwrap();
    let start = relocation.offset as usize;
    let mut bytes = object.sections[relocation.section].data[start..start + 16].to_vec();
    let addend = relocation.addend.map_or_else(|| kind.extract(&bytes).unwrap(), |a| a as u64);
    assert!(kind.patch(&mut bytes, value + addend, bank));
    bytes
}

#[test]
fn nvlink_writes_what_the_table_says() {
    let Some(oracle) = common::oracle() else { return };
    let mut checked: BTreeMap<&str, usize> = BTreeMap::new();
    for target in TARGETS {
        for file in FILES {
            let Some(path) = common::shared(&format!("kernels/ptx/{file}.{target}.ptx")) else { return };
            let bytes = oracle.ptxas(&path, target, &["-c"]).unwrap();
            let object = Cubin::parse(&bytes).unwrap();
            let linked = Cubin::parse(&oracle.nvlink(&bytes, target).unwrap()).unwrap();
            for relocation in &object.relocations {
                let section = &object.sections[relocation.section];
                if section.kind != SectionKind::Text {
                    continue;
                }
                let Some((value, bank)) = value_and_bank(&linked, &object.symbols[relocation.symbol].name) else {
                    continue;
                };
                let other = linked.sections.iter().find(|s| s.name == section.name).unwrap();
                let at = relocation.offset as usize;
                let name = relocation.kind.unwrap().name;
                let patched = apply(&object, relocation, value, bank);
                assert_eq!(patched, other.data[at..at + 16], "{file} {target}: {name} at {at:#x} of {}", section.name);
                *checked.entry(name).or_default() += 1;
            }
        }
    }
    println!("checked: {checked:?}");
    for name in ["R_CUDA_CONST_FIELD19_40", "R_CUDA_CONST_FIELD21_38", "R_CUDA_ABS16_32"] {
        assert!(checked.contains_key(name), "{name} did not occur");
    }
}

#[test]
fn nvdisasm_shows_the_patched_address() {
    let Some(oracle) = common::oracle() else { return };
    let cases: [(&str, &str, &RelocKind); 2] =
        [("sm_80", "SM80", &reloc::ABS47_34), ("sm_90", "SM90", &reloc::ABS55_16_34)];
    for (target, raw, kind) in cases {
        let Some(path) = common::shared(&format!("kernels/ptx/sysio.{target}.ptx")) else { return };
        let object = Cubin::parse(&oracle.ptxas(&path, target, &["-c"]).unwrap()).unwrap();
        let relocation = object.relocations.iter().find(|r| r.kind == Some(kind)).unwrap();
        for address in [0x10u64, 0xff0, 0x1234_5670, 0x7f12_3456_7890] {
            let word = apply(&object, relocation, address, 0);
            let text = oracle.dump("nvdisasm", &["-b", raw], &word);
            assert!(text.contains(&format!("CALL.ABS.NOINC {address:#x}")), "{target}: {text}");
        }
        for (kind, value) in [(&reloc::ABS32_LO_32, 0x89ab_cdefu32), (&reloc::ABS32_HI_32, 0x0123_4567)] {
            let relocation = object.relocations.iter().find(|r| r.kind == Some(kind)).unwrap();
            let section = &object.sections[relocation.section];
            let mut word = section.data[relocation.offset as usize..relocation.offset as usize + 16].to_vec();
            assert!(kind.patch(&mut word, 0x0123_4567_89ab_cdef, 0));
            let text = oracle.dump("nvdisasm", &["-b", raw], &word);
            assert!(text.contains(&format!("{value:#x}")) || text.contains("HFMA2"), "{target}: {text}");
        }
    }
}
