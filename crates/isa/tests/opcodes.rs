//! What is said of opcodes: the fields and operands that they have on each target, and their pages in the manual.

use oriole_isa::{Arch, AtomType, Field, HalfFmt, Opcode, Role};

#[test]
fn targets_differ_in_fields_and_operands() {
    let with_bf16 = |arch| Opcode::HADD2.takes(Field::HALF_FMT.is(HalfFmt::BF16_V2), arch);
    assert_eq!([Arch::Sm80, Arch::Sm90].map(with_bf16), [false, true]);
    assert!(Opcode::REDG.takes(Field::ATOM_TYPE.is(AtomType::U32), Arch::Sm75));
    let labelled = |arch| Opcode::LEPC.places(Role::Target, arch);
    assert_eq!([Arch::Sm89, Arch::Sm90, Arch::Sm120].map(labelled), [false, true, true]);
}

#[test]
fn every_page_names_operands_and_forms() {
    for arch in Arch::ALL {
        for opcode in Opcode::of(arch) {
            let page = opcode.manual(arch);
            assert!(page.contains("Encodings on"), "{page}");
            assert!(page.contains("0x"), "{page}");
            assert!(opcode.signature().iter().all(|o| page.contains(o.role.name())), "{page}");
        }
    }
}
