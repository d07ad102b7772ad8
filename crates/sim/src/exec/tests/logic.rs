//! Bits against definitions bit by bit, and the tables of the PTX manual.

use super::{Warp, wide_words, words};
use crate::lanes::WARP;
use oriole_isa::Arch;

#[test]
fn lop3_applies_every_table() {
    let [a, b, c] = [words(1), words(2), words(3)];
    let row = |bit: u32, lane: usize| [a, b, c].iter().fold(0, |row, v| row << 1 | v[lane] >> bit & 1);
    for table in 0..256u32 {
        let text = format!("LOP3.LUT P0, R4, R0, R1, R2, {table:#x}, !PT");
        let warp = Warp::new(Arch::Sm80).with(0, a).with(1, b).with(2, c).run(&text);
        for lane in 0..WARP {
            let expected = (0..32).fold(0, |word, bit| word | (table >> row(bit, lane) & 1) << bit);
            assert_eq!(warp.r(4)[lane], expected, "table {table:#x}");
            assert_eq!(warp.p(0, lane), expected != 0);
        }
    }
}

#[test]
fn plop3_applies_its_tables() {
    let warp = Warp::new(Arch::Sm80).with_predicate(0, 0xf0f0_f0f0).with_predicate(1, 0xcccc_cccc);
    let warp = warp.with_predicate(2, 0xaaaa_aaaa).run("PLOP3.LUT P3, P4, P0, P1, P2, 0x96, 0xe8");
    // Parity and majority of three.
    assert_eq!(warp.state.p(3), 0x9696_9696);
    assert_eq!(warp.state.p(4), 0xe8e8_e8e8);
}

#[test]
fn shifts_of_words_and_pairs() {
    for seed in 0..20 {
        let value = wide_words(seed);
        for amount in [0u32, 1, 7, 31, 32, 33, 63, 64, 65, 200, u32::MAX] {
            let warp = Warp::new(Arch::Sm80).with_wide(0, value).with(2, [amount; WARP]).run(
                "SHF.L.U32 R4, R0, R2, RZ
                 SHF.R.U32.HI R5, RZ, R2, R0
                 SHF.R.S32.HI R6, RZ, R2, R0
                 SHF.L.U32 R8, R0, R2, RZ
                 SHF.L.U64.HI R9, R0, R2, R1
                 SHF.R.U64 R10, R0, R2, R1
                 SHF.R.U32.HI R11, RZ, R2, R1
                 SHF.R.S64 R12, R0, R2, R1
                 SHF.R.S32.HI R13, RZ, R2, R1
                 SHF.L.W.U32.HI R14, R0, R2, R0
                 SHF.R.W.U32 R15, R0, R2, R0
                 SHF.L.U32.HI R16, R0, R2, R1
                 SHF.R.U32 R17, R0, R2, R1",
            );
            for lane in 0..WARP {
                let (wide, word) = (value[lane], value[lane] as u32);
                // What PTX says of `shl`, `shr`: amounts above the width count as the width.
                assert_eq!(warp.r(4)[lane], word.checked_shl(amount).unwrap_or(0));
                assert_eq!(warp.r(5)[lane], word.checked_shr(amount).unwrap_or(0));
                assert_eq!(warp.r(6)[lane] as i32, word as i32 >> amount.min(31));
                assert_eq!(warp.wide(8)[lane], wide.checked_shl(amount).unwrap_or(0));
                assert_eq!(warp.wide(10)[lane], wide.checked_shr(amount).unwrap_or(0));
                assert_eq!(warp.wide(12)[lane] as i64, wide as i64 >> amount.min(63));
                assert_eq!(warp.r(14)[lane], word.rotate_left(amount & 31));
                assert_eq!(warp.r(15)[lane], word.rotate_right(amount & 31));
                // `shf.l.clamp` and `shf.r.clamp`.
                assert_eq!(warp.r(16)[lane], ((u128::from(wide) << amount.min(32)) >> 32) as u32);
                assert_eq!(warp.r(17)[lane], (wide >> amount.min(32)) as u32);
            }
        }
    }
}

#[test]
fn prmt_modes_are_those_of_the_manual() {
    // Bytes that tell their own index: C:A = 07 06 05 04 03 02 01 00.
    let modes: [(&str, [u32; 4]); 6] = [
        ("F4E", [0x0302_0100, 0x0403_0201, 0x0504_0302, 0x0605_0403]),
        ("B4E", [0x0506_0700, 0x0607_0001, 0x0700_0102, 0x0001_0203]),
        ("RC8", [0x0000_0000, 0x0101_0101, 0x0202_0202, 0x0303_0303]),
        ("ECL", [0x0302_0100, 0x0302_0101, 0x0302_0202, 0x0303_0303]),
        ("ECR", [0x0000_0000, 0x0101_0100, 0x0202_0100, 0x0302_0100]),
        ("RC16", [0x0100_0100, 0x0302_0302, 0x0100_0100, 0x0302_0302]),
    ];
    let selectors = std::array::from_fn(|lane| lane as u32);
    for (mode, expected) in modes {
        let warp = Warp::new(Arch::Sm80).with(0, [0x0302_0100; WARP]).with(1, selectors).with(2, [0x0706_0504; WARP]);
        let warp = warp.run(&format!("PRMT.{mode} R4, R0, R1, R2"));
        for lane in 0..WARP {
            assert_eq!(warp.r(4)[lane], expected[lane & 3], "{mode} {lane}");
        }
    }
    let warp = Warp::new(Arch::Sm80).with(0, [0x8302_0180; WARP]).with(2, [0x0706_85f4; WARP]);
    let warp = warp.run("PRMT R4, R0, 0x7531, R2\nPRMT R5, R0, 0xdb98, R2");
    assert_eq!(warp.r(4)[0], 0x0785_8301);
    assert_eq!(warp.r(5)[0], 0xffff_00ff, "signs of bytes 5, 3, 1, 0");
}

#[test]
fn counts_positions_and_reversal() {
    for seed in 0..30 {
        let a = words(seed);
        let warp = Warp::new(Arch::Sm80).with(0, a).run(
            "POPC R4, R0
             BREV R5, R0
             FLO.U32 R6, R0
             FLO R7, R0
             FLO.U32.SH R8, R0
             POPC R9, ~R0",
        );
        for lane in 0..WARP {
            let highest = |v: u32| (0..32u32).rev().find(|bit| v >> bit & 1 != 0);
            let magnitude = if (a[lane] as i32) < 0 { !a[lane] } else { a[lane] };
            assert_eq!(warp.r(4)[lane], (0..32).map(|bit| a[lane] >> bit & 1).sum::<u32>());
            assert_eq!(warp.r(5)[lane], (0..32).fold(0, |word, bit| word | (a[lane] >> bit & 1) << (31 - bit)));
            assert_eq!(warp.r(6)[lane], highest(a[lane]).unwrap_or(u32::MAX));
            assert_eq!(warp.r(7)[lane], highest(magnitude).unwrap_or(u32::MAX));
            assert_eq!(warp.r(8)[lane], highest(a[lane]).map_or(u32::MAX, |bit| 31 - bit));
            assert_eq!(warp.r(9)[lane], 32 - warp.r(4)[lane]);
        }
    }
}

#[test]
fn fields_are_extended_and_made() {
    let a = words(9);
    for count in (0..40).chain([64, 100, u32::MAX]) {
        let warp = Warp::new(Arch::Sm80).with(0, a).with(1, [count; WARP]).run(
            "SGXT R4, R0, R1
             SGXT.U32 R5, R0, R1
             SGXT.W R6, R0, R1
             SGXT.W.U32 R7, R0, R1",
        );
        for lane in 0..WARP {
            let bits = |count: u32| if count >= 32 { a[lane] } else { a[lane] & ((1u64 << count) - 1) as u32 };
            let extended = |count: u32| {
                let negative = count > 0 && count < 32 && a[lane] >> (count - 1) & 1 != 0;
                if negative { bits(count) | u32::MAX << count } else { bits(count) }
            };
            assert_eq!(warp.r(4)[lane], extended(count), "{count}");
            assert_eq!(warp.r(5)[lane], bits(count));
            assert_eq!(warp.r(6)[lane], extended(count & 31));
            assert_eq!(warp.r(7)[lane], bits(count & 31));
        }
    }
    for (from, count) in (0..40).flat_map(|from| (0..40).map(move |count| (from, count))) {
        let warp = Warp::new(Arch::Sm80).with(0, [from; WARP]).with(1, [count; WARP]).run("BMSK R4, R0, R1");
        let expected = (0..32).filter(|&bit| bit >= from && bit < from + count).fold(0, |word, bit| word | 1u32 << bit);
        assert_eq!(warp.r(4)[0], expected, "{from} {count}");
    }
}

#[test]
fn predicates_travel_through_registers() {
    let masks = [0xf0f0_1234, 0x5678_9abc, 0x0f0f_ffff, 0x1357_9bdf, 0x0000_ffff, 0xaaaa_5555, 0x8000_0001];
    let mut warp = Warp::new(Arch::Sm80).with(0, [0xffff_ffff; WARP]);
    for (n, mask) in masks.into_iter().enumerate() {
        warp = warp.with_predicate(n, mask);
    }
    let warp = warp.run("P2R.B1 R1, PR, R0, 0x5f\nP2R R2, PR, RZ, 0x7f");
    for lane in 0..WARP {
        let bits = masks.iter().enumerate().fold(0, |bits, (n, mask)| bits | (mask >> lane & 1) << n);
        assert_eq!(warp.r(1)[lane], 0xffff_a0ff | (bits & 0x5f) << 8);
        assert_eq!(warp.r(2)[lane], bits);
    }
    let mut warp = warp.with_predicate(0, 0).with_predicate(3, 0).with_predicate(5, 0);
    warp = warp.run("R2P PR, R1.B1, 0x29");
    assert_eq!((warp.state.p(0), warp.state.p(3)), (masks[0], masks[3]));
    assert_eq!(warp.state.p(5), u32::MAX, "bit 5 of the byte was left set in R0");
    let warp = warp.run("SEL R6, R0, R2, P3");
    for lane in 0..WARP {
        assert_eq!(warp.r(6)[lane], if warp.p(3, lane) { u32::MAX } else { warp.r(2)[lane] });
    }
}
