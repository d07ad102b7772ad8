//! Packed operands against the published layout.

use oriole_isa::{Mods, Opcode, RegFile};
use oriole_ori::*;
use proptest::prelude::*;

/// The worked example: `add.f32 %f3, %f1, %f2` is FADD R3, R1, R2.
#[test]
fn worked_example_word_for_word() {
    let mut func = Function::new("example", FunctionKind::Entry);
    let regs: Vec<VReg> = (0..4).map(|_| func.new_vreg(RegType::R).unwrap()).collect();
    let operands = [regs[3].into(), regs[1].into(), regs[2].into()];
    let inst = Inst::new(Opcode::FADD, Mods::new(), &operands);
    assert_eq!(inst.opcode.ori_number(), Some(12));
    assert_eq!(inst.opcode.rot13_name(), "SNQQ");
    assert_eq!(inst.operands.len(), 3);
    let words: Vec<[u32; 2]> = inst.operands.iter().map(|o| o.words()).collect();
    assert_eq!(words, [[0x1000_0003, 0], [0x1000_0001, 0], [0x1000_0002, 0]]);
    assert_eq!(std::mem::size_of::<Operand>(), 8);
}

/// Field by field, with the masks of the published extraction pattern.
#[test]
fn fields_stand_where_the_layout_says() {
    let word = |o: Operand| (o.words()[0] & 0xf_ffff, o.words()[0] >> 20 & 0xff, o.words()[0] >> 28 & 7);
    let reg = Operand::reg(VReg::new(0xf_fffe));
    assert_eq!(word(reg), (0xf_fffe, 0, 1));
    assert_eq!(reg.neg().words()[0] >> 31, 1);
    assert_eq!(reg.abs().words()[1] & 0xfe00_0000, 0x0400_0000);
    assert_eq!(reg.with_reuse(true).words()[1] & 0xfe00_0000, 0x0200_0000);
    assert_eq!(Operand::piece(VReg::new(5), 2, 2).words()[0] >> 24 & 1, 1, "pair extension");
    let constant = Operand::cbank(3, 0x10);
    assert_eq!(word(constant), (0x10, 0, 5));
    assert_eq!(constant.words()[1], 0x0100_0003);
    assert_eq!(word(Operand::symbol(SymRef::new(9))), (9, 0, 5));
    assert_eq!(Operand::symbol(SymRef::new(9)).words()[1], 0);
    assert_eq!(word(Operand::rz()).0, 1023);
    assert_eq!(word(Operand::urz()).0, 1023);
    assert_eq!(word(Operand::pt()).0, 31);
    assert_eq!(word(Operand::upt()).0, 31);
    assert_eq!(word(Operand::guard(VReg::new(2), true)), (2, 5, 6));
    assert_eq!(Operand::guard(VReg::new(2), true).words()[1], 1);
}

#[test]
fn flags_toggle_and_stay_apart_from_values() {
    let all_bits = Operand::imm(u32::MAX);
    assert_eq!(all_bits.kind(), OperandKind::Imm(u32::MAX, ImmKind::Bits));
    assert!(!all_bits.has_flags());
    let flagged = all_bits.neg().not().with_abs(true);
    assert_eq!(flagged.kind(), OperandKind::Imm(u32::MAX, ImmKind::Bits));
    assert!(flagged.is_neg() && flagged.is_not() && flagged.is_abs());
    assert_eq!(flagged.plain(), all_bits);
    let reg = Operand::reg(VReg::new(1));
    assert_eq!(reg.neg().neg(), reg);
    assert!(!reg.neg().abs().is_neg(), "|-x| is |x|");
    assert_eq!(reg.as_imm(), None);
    assert!(Operand::imm(0).is_zero() && Operand::rz().is_zero() && !Operand::imm(1).is_zero());
}

fn kinds() -> impl Strategy<Value = Operand> {
    let file = prop_oneof![Just(RegFile::R), Just(RegFile::UR), Just(RegFile::P), Just(RegFile::UP), Just(RegFile::B)];
    let index = 0..MAX_INDEX as u32;
    prop_oneof![
        index.clone().prop_map(|i| Operand::reg(VReg::from_u32(i))),
        (index.clone(), any::<u8>(), 1..=255u8).prop_map(|(i, f, c)| Operand::piece(VReg::from_u32(i), f, c)),
        any::<u32>().prop_map(Operand::imm),
        any::<i32>().prop_map(Operand::imm_signed),
        (file, 0..256u16, 1..=8u8).prop_map(|(f, n, c)| Operand::phys_group(f, n, c)),
        index.clone().prop_map(|i| Operand::block(Block::from_u32(i))),
        (0..32u8, index.clone()).prop_map(|(b, o)| Operand::cbank(b, o)),
        (index, 0..0x1_0000u32).prop_map(|(i, o)| Operand::cbank_bindless(VReg::from_u32(i), o)),
        any::<u8>().prop_map(Operand::special),
    ]
}

proptest! {
    /// What goes in comes out, whatever the flags.
    #[test]
    fn packing_loses_nothing(plain in kinds(), neg: bool, abs: bool, not: bool, reuse: bool) {
        let is_reg = matches!(plain.kind(), OperandKind::Reg(..) | OperandKind::Phys { .. });
        let flagged = plain.with_neg(neg).with_abs(abs).with_not(not).with_reuse(reuse);
        prop_assert_eq!(flagged.kind(), plain.kind());
        prop_assert_eq!(flagged.is_neg(), neg);
        prop_assert_eq!(flagged.is_abs(), abs);
        prop_assert_eq!(flagged.is_not(), not);
        prop_assert_eq!(flagged.is_reuse(), reuse && is_reg);
        prop_assert_eq!(flagged.plain(), plain);
        prop_assert_eq!(Operand::from_words(flagged.words()), flagged);
    }

    /// Any two words can be looked at.
    #[test]
    fn any_words_have_a_kind(a: u32, b: u32) {
        let operand = Operand::from_words([a, b]);
        let _ = (operand.kind(), operand.has_flags(), operand.plain());
    }
}

#[test]
fn too_many_registers_is_an_error_with_a_name() {
    let mut func = Function::new("huge", FunctionKind::Entry);
    for _ in 0..MAX_INDEX {
        func.new_vreg(RegType::R).unwrap();
    }
    let error = func.new_vreg(RegType::R).unwrap_err();
    assert!(error.to_string().contains("'huge' needs more than 1048576 virtual registers"), "{error}");
}
