//! Video instructions: the manual's semantics where ptxas keeps to them, and its differences by example,
//! the sources chosen so that the two answers differ.

use super::{function, rows};

#[test]
fn bytes_are_added_side_by_side() {
    let add = function("vadd4.u32.u32.u32.sat %d, %a, %b, %c");
    let average = function("vavrg4.s32.s32.s32 %d, %a, %b, %c");
    let difference = function("vabsdiff4.u32.u32.u32.add %d, %a, %b, %c");
    for [a, b, c] in rows(2000) {
        let (x, y) = (a.to_le_bytes(), b.to_le_bytes());
        let each = |of: &dyn Fn(u8, u8) -> u8| u32::from_le_bytes(std::array::from_fn(|n| of(x[n], y[n])));
        assert_eq!(add.of_u32([a, b, c]), each(&|x, y| x.saturating_add(y)));
        let rounded = |x: u8, y: u8| {
            let sum = i32::from(x as i8) + i32::from(y as i8);
            (f64::from(sum) / 2.0).round() as i32 as u8
        };
        assert_eq!(average.of_u32([a, b, c]), each(&rounded));
        let distance: u32 = (0..4).map(|n| u32::from(x[n].abs_diff(y[n]))).sum();
        assert_eq!(difference.of_u32([a, b, c]), c.wrapping_add(distance));
    }
}

#[test]
fn lanes_are_selected_and_masked() {
    let half = function("vmin2.s32.s32.s32 %d.h1, %a.h03, %b.h21, %c");
    for [a, b, c] in rows(1000) {
        let halves = [a as i16, (a >> 16) as i16, b as i16, (b >> 16) as i16];
        let high = halves[0].min(halves[2]);
        assert_eq!(half.of_u32([a, b, c]), u32::from(high as u16) << 16 | c & 0xffff);
    }
    let set = function("vset4.u32.u32.lt %d.b20, %a, %b, %c");
    assert_eq!(set.of_u32([0x0102_0304, 0x0202_0404, 0xaabb_ccdd]), 0xaa00_cc00);
}

#[test]
fn parts_are_extended_and_merged() {
    let add = function("vadd.s32.s32.u32 %d.b2, %a.b3, %b.h0, %c");
    for [a, b, c] in rows(1000) {
        let sum = i32::from((a >> 24) as i8) + i32::from(b as u16);
        assert_eq!(add.of_u32([a, b, c]), c & 0xff00_ffff | u32::from(sum as u8) << 16);
    }
    let wrap = function("vshr.s32.s32.u32.wrap %d, %a.h1, %b");
    assert_eq!(wrap.of_u32([0x8000_0000, 36]), (-0x8000i32 >> 4) as u32);
}

/// Each with what the manual says beside it.
#[test]
fn differences_of_ptxas() {
    let value = |text: &str, sources: [u32; 3]| function(text).of_u32(sources);
    // No saturation above of unsigned words: the manual gives 0xffffffff.
    assert_eq!(function("vadd.u32.u32.u32.sat %d, %a, %b").of_u32([0xffff_ffff, 2]), 1);
    // Sums wrap before a second operation: the manual takes the greater sum, 0x1_0000_0001.
    assert_eq!(value("vadd.u32.u32.u32.max %d, %a, %b, %c", [0xffff_ffff, 2, 5]), 5);
    // A negative value saturates to the greatest of a byte: the manual gives 0x80.
    assert_eq!(value("vsub.s32.s32.s32.sat %d.b0, %a, %b, %c", [0, 300, 0]), 0x7f);
    // Shifts saturate as words: the manual gives 0x7fff and 0xff.
    assert_eq!(value("vshl.s32.u32.u32.sat.clamp %d.h0, %a, %b, %c", [1, 15, 0]), 0x8000);
    assert_eq!(value("vshl.s32.u32.u32.sat.clamp %d.h0, %a, %b, %c", [1, 31, 0]), 0xffff);
    assert_eq!(value("vshr.u32.u32.u32.sat.clamp %d.b0, %a, %b, %c", [0x1_2345, 4, 0]), 0x34);
    // Saturated sums and shifts are signed words before a second operation: the manual gives 0x8000_0000 three times.
    for text in ["vadd.u32.u32.u32.sat.min", "vsub.u32.u32.u32.sat.min", "vshl.u32.u32.u32.sat.wrap.min"] {
        assert_eq!(value(&format!("{text} %d, %a, %b, %c"), [0x8000_0000, 0, u32::MAX]), u32::MAX);
    }
    // C is signed: the manual gives 0xffff_ffff.
    assert_eq!(value("vset.s32.s32.eq.max %d, %a, %b, %c", [5, 5, u32::MAX]), 1);
    // The high half-word takes the high half of the result: the manual gives 0x0003_0000.
    assert_eq!(value("vadd.u32.u32.u32 %d.h1, %a, %b, %c", [1, 2, 0]), 0);
    // Words are multiplied as signed ones: the manual gives 0x01ff_ffff.
    assert_eq!(value("vmad.u32.u32.u32.shr7 %d, %a, %b, %c", [0xffff_ffff, 1, 0]), 0xffff_ffff);
}

#[test]
fn multiply_add_scales_and_negates() {
    let scaled = function("vmad.s32.s32.s32.shr15 %d, %a, %b, %c");
    let negated = function("vmad.s32.s32.s32.sat %d, %a, -%b, %c");
    let rounded = function("vmad.s32.s32.s32.po %d, %a.h0, %b.h1, %c");
    for [a, b, c] in rows(1000) {
        let (x, y, z) = (i64::from(a as i32), i64::from(b as i32), i64::from(c as i32));
        assert_eq!(scaled.of_u32([a, b, c]), ((x * y + z) >> 15) as u32);
        let bounded = (z - x * y).clamp(i32::MIN.into(), i32::MAX.into());
        assert_eq!(negated.of_u32([a, b, c]), bounded as u32);
        let product = i64::from(a as i16) * i64::from((b >> 16) as i16);
        assert_eq!(rounded.of_u32([a, b, c]), (product + z + 1) as u32);
    }
}
