//! Matrices of 8 bits and less of sm_100 and later against the host's arithmetic.

use crate::common::{module, try_run};
use oriole_device::Launch;
use oriole_interp::Options;

/// The four words that each lane of a warp stores.
fn words(head: &str, body: &str) -> Vec<[u32; 4]> {
    let text = module(head, &format!("mad.wide.u32 %at, %lane, 16, %out;\n{body}")).replace("sm_90", "sm_120a");
    let launch = Launch { block: [32, 1, 1], ..Launch::default() };
    let run = try_run(&text, 128, launch, Options::default()).unwrap_or_else(|fault| panic!("{fault}\n{text}"));
    run.out.chunks(4).map(|four| four.try_into().expect("four words")).collect()
}

/// Row and column of the accumulator's elements of a lane (PTX manual).
fn places(lane: usize) -> [(usize, usize); 4] {
    [0, 1, 2, 3].map(|i| (lane / 4 + 8 * (i / 2), 2 * (lane % 4) + i % 2))
}

#[test]
fn rows_and_columns_are_scaled_by_powers_of_two() {
    // A and B are ones. Row r is scaled by 2^lane of byte 1 of lanes 4 g and 4 g + 1, column j by 2^-j of byte 2 of
    // lane 4 j + 3; the other scales are NaNs.
    let body = "mov.u32 %r1, 0x38383838; mov.f32 %f1, 0f3f800000; and.b32 %r4, %lane, 3;
        add.u32 %r2, %lane, 127; shl.b32 %r2, %r2, 8; or.b32 %r2, %r2, 0xffff00ff;
        setp.gt.u32 %p1, %r4, 1; @%p1 mov.u32 %r2, -1;
        shr.u32 %r3, %lane, 2; sub.u32 %r3, 127, %r3; shl.b32 %r3, %r3, 16; or.b32 %r3, %r3, 0xff00ffff;
        setp.ne.u32 %p1, %r4, 3; @%p1 mov.u32 %r3, -1;
        mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.f32.ue8m0
            {%f2, %f3, %f4, %f5}, {%r1, %r1, %r1, %r1}, {%r1, %r1}, {%f1, %f1, %f1, %f1}, %r2, {1, 0}, %r3, {2, 3};
        st.global.v4.f32 [%at], {%f2, %f3, %f4, %f5}; ret;";
    for (lane, found) in words("", body).into_iter().enumerate() {
        let expected = places(lane).map(|(row, column)| {
            let scale = (4 * (row % 8) + row / 8) as i32 - column as i32;
            // One more, where single precision has it: sums are cut.
            let products = 32.0 * 2f64.powi(scale);
            if products < 2f64.powi(24) { (products + 1.0) as f32 } else { products as f32 }
        });
        assert_eq!(found.map(f32::from_bits), expected, "lane {lane}");
    }
}

#[test]
fn blocks_of_sixteen_have_fractional_scales() {
    // Rows from 0 to 7 are scaled by 1, 2, 4 and 1.5, the others by 1; the threads 0 and 1 have NaNs.
    let body = "mov.u32 %r1, 0x22222222; cvt.rn.f32.u32 %f1, %lane; and.b32 %r4, %lane, 3;
        mov.u32 %r2, 0x7f7f7f7f; mov.u32 %r3, 0x38383838;
        setp.eq.u32 %p1, %r4, 2; @%p1 mov.u32 %r2, 0x3c484038; setp.eq.u32 %p1, %r4, 3; @%p1 mov.u32 %r2, %r3;
        mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3
            {%f2, %f3, %f4, %f5}, {%r1, %r1, %r1, %r1}, {%r1, %r1}, {%f1, %f1, %f1, %f1}, %r2, {0, 1}, %r3, {0, 0};
        st.global.v4.f32 [%at], {%f2, %f3, %f4, %f5}; ret;";
    for (lane, found) in words("", body).into_iter().enumerate() {
        let expected = places(lane).map(|(row, _)| if row < 8 { 16.0 * 8.5 } else { 64.0 } + lane as f32);
        assert_eq!(found.map(f32::from_bits), expected, "lane {lane}");
    }
}

/// A tile of sixteen rows of sixteen bytes, byte `column` of row `row` being `16 row + column`; %r3 is the address of
/// the row of the lane.
const TILE: &str = "mov.u32 %r3, tile; mad.lo.u32 %r3, %lane, 16, %r3; and.b32 %r4, %lane, 15;
    mad.lo.u32 %r4, %r4, 0x10101010, 0x03020100; st.shared.u32 [%r3], %r4; add.u32 %r4, %r4, 0x04040404;
    st.shared.u32 [%r3+4], %r4; add.u32 %r4, %r4, 0x04040404; st.shared.u32 [%r3+8], %r4;
    add.u32 %r4, %r4, 0x04040404; st.shared.u32 [%r3+12], %r4; bar.warp.sync -1; mov.u32 %r5, 0; mov.u32 %r6, 0;";
const HEAD: &str = ".shared .align 16 .b8 tile[512];";
const STORE: &str = "st.global.v4.u32 [%at], {%r5, %r6, 0, 0}; ret;";

#[test]
fn nibbles_become_bytes() {
    let load = "ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.b4x16_p64 {%r5}, [%r3];";
    for (lane, found) in words(HEAD, &format!("{TILE}{load}{STORE}")).into_iter().enumerate() {
        let nibble = |column: usize| (16 * (lane / 4) + column / 2) >> (4 * (column % 2)) & 15;
        let expected = [0, 1, 2, 3].map(|byte| nibble(4 * (lane % 4) + byte) as u8);
        assert_eq!(found[0].to_le_bytes(), expected, "lane {lane}");
    }
}

#[test]
fn tall_matrices_of_bytes_are_transposed() {
    // Four rows of a column in a register, of the column eight on in the next.
    let load = "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r5, %r6}, [%r3];";
    for (lane, found) in words(HEAD, &format!("{TILE}{load}{STORE}")).into_iter().enumerate() {
        let (column, row) = (lane / 4, 4 * (lane % 4));
        for (register, column) in [(0, column), (1, column + 8)] {
            let expected = [0, 1, 2, 3].map(|below| (16 * (row + below) + column) as u8);
            assert_eq!(found[register].to_le_bytes(), expected, "lane {lane}");
        }
    }
}
