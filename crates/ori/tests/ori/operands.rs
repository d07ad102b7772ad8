//! Packed operands.

use oriole_isa::RegFile;
use oriole_ori::*;
use proptest::prelude::*;

#[test]
fn an_operand_is_eight_bytes() {
    assert_eq!(std::mem::size_of::<Operand>(), 8);
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
