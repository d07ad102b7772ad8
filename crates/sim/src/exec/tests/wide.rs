//! 64-bit integers in pairs of registers against the host's.

use super::{Warp, wide_words};
use crate::lanes::WARP;
use oriole_isa::Arch;

#[test]
fn pairs_are_added_compared_and_selected() {
    for seed in 0..50 {
        let (a, b) = (wide_words(seed), wide_words(seed + 1000));
        let warp = Warp::new(Arch::Sm120).with_wide(0, a).with_wide(2, b).with_predicate(3, 0x0f0f_3355).run(
            "IADD.64 R4, P0, R0, -R2
             IADD.64.X R6, R0, ~R2, P0
             IADD.64 R8, R0, -0x7
             IMNMX.S64 PT, PT, R10, R0, R2, PT, !PT
             IMNMX.U64 PT, PT, R12, R0, R2, !PT, !PT
             SEL.64 R14, R0, -0x1, P3
             ISETP.LE.S64.AND P1, PT, R0, R2, PT
             ISETP.GT.U64.AND P2, PT, R0, R2, PT
             MOV.64 R16, R2",
        );
        for lane in 0..WARP {
            let (x, y) = (a[lane], b[lane]);
            assert_eq!(warp.wide(4)[lane], x.wrapping_sub(y));
            let no_borrow = x >= y;
            assert_eq!(warp.p(0, lane), no_borrow);
            assert_eq!(warp.wide(6)[lane], x.wrapping_sub(y).wrapping_sub(u64::from(!no_borrow)));
            assert_eq!(warp.wide(8)[lane], x.wrapping_sub(7));
            assert_eq!(warp.wide(10)[lane] as i64, (x as i64).min(y as i64));
            assert_eq!(warp.wide(12)[lane], x.max(y));
            assert_eq!(warp.wide(14)[lane], if 0x0f0f_3355u32 >> lane & 1 != 0 { x } else { u64::MAX });
            assert_eq!(warp.p(1, lane), x as i64 <= y as i64);
            assert_eq!(warp.p(2, lane), x > y);
            assert_eq!(warp.wide(16)[lane], y);
        }
    }
}

#[test]
fn the_uniform_datapath_has_types_of_its_own() {
    for (a, b) in wide_words(5).into_iter().zip(wide_words(6)) {
        let mut warp = Warp::new(Arch::Sm120);
        warp.state.set_ur_wide(4, a);
        warp.state.set_ur_wide(6, b);
        let warp = warp.run(
            "UIADD3.64 UR8, UPT, UPT, UR4, -UR6, URZ
             UIMNMX.S64 UPT, UPT, UR10, UR4, UR6, UPT, UPT
             UVIADD.S32.ISAT UR12, UR4, UR6
             UVIMNMX.S8x4 UR13, UR4, UR6, !UPT
             UISETP.LT.U64.AND UP0, UPT, UR4, UR6, UPT",
        );
        assert_eq!(warp.state.ur_wide(8), a.wrapping_sub(b));
        assert_eq!(warp.state.ur_wide(10) as i64, (a as i64).min(b as i64));
        assert_eq!(warp.state.ur(12) as i32, (a as i32).saturating_add(b as i32));
        let bytes = |v: u64| (v as u32).to_le_bytes().map(|byte| byte as i8);
        let most: [i8; 4] = std::array::from_fn(|i| bytes(a)[i].max(bytes(b)[i]));
        assert_eq!(warp.state.ur(13).to_le_bytes().map(|byte| byte as i8), most);
        assert_eq!(warp.state.up(0), a < b);
    }
}
