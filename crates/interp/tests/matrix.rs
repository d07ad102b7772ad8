//! Matrix instructions, asynchronous copies and `mbarrier` against the host's arithmetic.

mod common;

use common::{fault, run};

#[test]
fn integer_products_are_exact() {
    // A[i][k] = i - k, B[k][j] = 3 k + j - 20; registers hold four elements along K.
    let body = "shr.u32 %r1, %lane, 2; and.b32 %r2, %lane, 3; shl.b32 %r2, %r2, 2;
        sub.u32 %r3, %r1, %r2; and.b32 %r4, %r3, 255; sub.u32 %r5, %r3, 1; and.b32 %r5, %r5, 255; shl.b32 %r5, %r5, 8;
        or.b32 %r4, %r4, %r5; sub.u32 %r5, %r3, 2; and.b32 %r5, %r5, 255; shl.b32 %r5, %r5, 16; or.b32 %r4, %r4, %r5;
        sub.u32 %r5, %r3, 3; shl.b32 %r5, %r5, 24; or.b32 %r4, %r4, %r5;
        mad.lo.u32 %r3, %r2, 3, %r1; sub.u32 %r3, %r3, 20; and.b32 %r6, %r3, 255; add.u32 %r5, %r3, 3; and.b32 %r5, %r5, 255;
        shl.b32 %r5, %r5, 8; or.b32 %r6, %r6, %r5; add.u32 %r5, %r3, 6; and.b32 %r5, %r5, 255; shl.b32 %r5, %r5, 16;
        or.b32 %r6, %r6, %r5; add.u32 %r5, %r3, 9; shl.b32 %r5, %r5, 24; or.b32 %r6, %r6, %r5;
        mov.u32 %r10, 1000; mov.u32 %r11, -1000;
        mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%r12, %r13}, {%r4}, {%r6}, {%r10, %r11};
        shl.b32 %r14, %r13, 16; and.b32 %r12, %r12, 0xffff; or.b32 %r14, %r14, %r12; st.global.u32 [%at], %r14; ret;";
    let out = run("", body, 32).out;
    let product = |row: i32, column: i32| (0..16).map(|k| (row - k) * (3 * k + column - 20)).sum::<i32>();
    for (lane, &word) in (0i32..).zip(&out) {
        let (row, column) = (lane / 4, 2 * (lane % 4));
        let expected = [product(row, column) + 1000, product(row, column + 1) - 1000].map(|sum| sum as u16);
        assert_eq!([word as u16, (word >> 16) as u16], expected, "lane {lane}");
    }
}

#[test]
fn halves_multiply_and_singles_accumulate() {
    // All of A is 1.5 and of B 2; C is the lane: each result is 16 * 3 + lane.
    let body = "mov.u32 %r1, 0x3e003e00; mov.u32 %r2, 0x40004000; cvt.rn.f32.u32 %f1, %lane;
        mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f2, %f3, %f4, %f5}, {%r1, %r1, %r1, %r1}, {%r2, %r2},
            {%f1, %f1, %f1, %f1};
        add.f32 %f2, %f2, %f5; st.global.f32 [%at], %f2; ret;";
    for (lane, &word) in run("", body, 32).out.iter().enumerate() {
        assert_eq!(f32::from_bits(word), 2.0 * (48.0 + lane as f32));
    }
}

#[test]
fn matrices_go_to_memory_and_come_back_transposed() {
    // Element (r, c) of the matrix is 8 r + c.
    let head = ".shared .align 16 .b8 tile[128];";
    let body = "shl.b32 %r1, %lane, 1; add.u32 %r2, %r1, 1; shl.b32 %r2, %r2, 16; or.b32 %r1, %r1, %r2;
        mov.u32 %r3, tile; and.b32 %r4, %lane, 7; mad.lo.u32 %r3, %r4, 16, %r3;
        stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r3], {%r1};
        ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%r5}, [%r3];
        st.global.u32 [%at], %r5; ret;";
    for (lane, &word) in (0u32..).zip(&run(head, body, 32).out) {
        let (row, column) = (lane / 4, 2 * (lane % 4));
        assert_eq!(word, (8 * column + row) | (8 * (column + 1) + row) << 16, "lane {lane}");
    }
}

#[test]
fn threads_wait_for_a_phase_of_an_mbarrier() {
    // Thread 63 comes last, and brings what the others wait for; then a second phase by parity.
    let head = ".shared .align 8 .b64 bar; .shared .b32 word;";
    let body = "mov.u32 %r1, bar; setp.eq.u32 %p1, %t, 0; @%p1 mbarrier.init.shared.b64 [%r1], 64; bar.sync 0;
        setp.eq.u32 %p2, %t, 63; @!%p2 bra A; mov.u32 %r2, 77; st.shared.u32 [word], %r2;
        A: mbarrier.arrive.shared.b64 %rd1, [%r1];
        W: mbarrier.test_wait.shared.b64 %p3, [%r1], %rd1; @!%p3 bra W;
        ld.shared.u32 %r3, [word]; mbarrier.arrive.shared.b64 _, [%r1];
        V: mbarrier.try_wait.parity.shared.b64 %p3, [%r1], 1; @!%p3 bra V;
        st.global.u32 [%at], %r3; ret;";
    assert_eq!(run(head, body, 64).out, [77; 64]);
}

#[test]
fn a_bulk_copy_completes_its_barrier() {
    let head =
        ".shared .align 8 .b64 bar; .shared .align 16 .b8 tile[128];\n.global .align 16 .b32 from[4] = {5, 6, 7, 8};";
    let body = "mov.u32 %r1, bar; mov.u32 %r2, tile; mov.u64 %rd1, from; setp.ne.u32 %p1, %t, 0; @%p1 bra S;
        mbarrier.init.shared.b64 [%r1], 1; mbarrier.arrive.expect_tx.shared.b64 %rd2, [%r1], 16;
        cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd1], 16, [%r1];
        S: bar.sync 0; V: mbarrier.try_wait.parity.shared.b64 %p3, [%r1], 0; @!%p3 bra V;
        and.b32 %r3, %lane, 3; mad.lo.u32 %r2, %r3, 4, %r2; ld.shared.u32 %r4, [%r2]; st.global.u32 [%at], %r4; ret;";
    assert_eq!(run(head, body, 32).out, std::array::from_fn::<u32, 32, _>(|lane| 5 + lane as u32 % 4));
}

#[test]
fn what_a_copy_does_not_read_is_zero() {
    let head = ".shared .align 16 .b8 tile[512];\n.global .align 16 .b32 from[4] = {0x11111111, 0x22222222, 3, 4};";
    let body = "mov.u32 %r1, tile; mad.lo.u32 %r1, %lane, 16, %r1; mov.u64 %rd1, from; and.b32 %r2, %lane, 7;
        cp.async.ca.shared.global [%r1], [%rd1], 8, %r2; cp.async.wait_all;
        ld.shared.u32 %r3, [%r1+4]; ld.shared.u32 %r4, [%r1]; sub.u32 %r3, %r4, %r3; st.global.u32 [%at], %r3; ret;";
    for (lane, &word) in run(head, body, 32).out.iter().enumerate() {
        let mut bytes = [0x11u8, 0x11, 0x11, 0x11, 0x22, 0x22, 0x22, 0x22];
        bytes[lane % 8..].fill(0);
        let [low, high] = [0, 4].map(|at| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes")));
        assert_eq!(word, low.wrapping_sub(high), "lane {lane}");
    }
}

#[test]
fn one_arrival_too_many_is_a_fault() {
    let head = ".shared .align 8 .b64 bar;";
    let body =
        "mov.u32 %r1, bar; mbarrier.init.shared.b64 [%r1], 1; mbarrier.expect_tx.relaxed.cta.shared.b64 [%r1], 16;
        mbarrier.arrive.shared.b64 _, [%r1]; mbarrier.arrive.shared.b64 _, [%r1]; ret;";
    let fault = fault(head, body, 1);
    assert!(fault.to_string().contains("arrivals at an mbarrier"), "{fault}");
}

#[test]
fn wmma_multiplies_tiles_by_rows_and_columns() {
    // A by rows and B by columns are the same bytes, A[i][k] = B[k][i] = 16 i + k modulo 128, so the product is
    // A times its transpose. C is 5.
    let head = ".shared .align 32 .b8 tile[256]; .shared .align 32 .b32 result[256];";
    let body = "mov.u32 %r1, 0; L: mad.lo.u32 %r2, %r1, 32, %lane; and.b32 %r3, %r2, 127; mov.u32 %r4, tile;
        add.u32 %r4, %r4, %r2; st.shared.u8 [%r4], %r3; add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 8; @%p1 bra L;
        bar.warp.sync -1; mov.u32 %r5, tile; mov.u32 %r6, 5; mov.u32 %r7, result;
        wmma.load.a.sync.aligned.row.m16n16k16.shared.u8 {%r10, %r11}, [%r5], 16;
        wmma.load.b.sync.aligned.col.m16n16k16.shared.u8 {%r12, %r13}, [%r5];
        wmma.mma.sync.aligned.row.col.m16n16k16.s32.u8.u8.s32 {%r20, %r21, %r22, %r23, %r24, %r25, %r26, %r27},
            {%r10, %r11}, {%r12, %r13}, {%r6, %r6, %r6, %r6, %r6, %r6, %r6, %r6};
        wmma.store.d.sync.aligned.row.m16n16k16.shared.s32 [%r7], {%r20, %r21, %r22, %r23, %r24, %r25, %r26, %r27};
        bar.warp.sync -1; mad.lo.u32 %r7, %lane, 28, %r7; ld.shared.u32 %r8, [%r7]; st.global.u32 [%at], %r8; ret;";
    let element = |row: u32, column: u32| (16 * row + column) % 128;
    for (lane, &word) in (0u32..).zip(&run(head, body, 32).out) {
        let (row, column) = (7 * lane / 16, 7 * lane % 16);
        let product: u32 = (0..16).map(|k| element(row, k) * element(column, k)).sum();
        assert_eq!(word, product + 5, "lane {lane}");
    }
}
