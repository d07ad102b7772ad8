//! Matrix instructions, asynchronous copies and `mbarrier` against the host's arithmetic.

use crate::common::{fault, run};

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

/// A kernel that multiplies by `wmma` what lies in `.global` memory, and the words of the result of a warp.
fn wmma(shape: &str, types: [&str; 4], counts: [usize; 4], memory: [String; 3], words: usize) -> Vec<u32> {
    let [d, a, b, c] = types;
    let list = |name: &str, count: usize| (0..count).map(|n| format!("%{name}{n}")).collect::<Vec<_>>().join(", ");
    let [of_d, of_a, of_b, of_c] = counts;
    let [a_bytes, b_bytes, c_bytes] = memory;
    let factors = if a == "f16" { String::new() } else { format!(".{a}.{b}") };
    let operation = if a == "b1" { ".xor.popc" } else { "" };
    let head = format!(
        ".global .align 32 .b8 ma[] = {{{a_bytes}}}; .global .align 32 .b8 mb[] = {{{b_bytes}}};
        .global .align 32 .b8 mc[] = {{{c_bytes}}}; .shared .align 32 .b8 md[1024];"
    );
    (0..words.div_ceil(32))
        .flat_map(|part| {
            let body = format!(
                ".reg .b32 %xa<16>, %xb<16>, %xc<16>, %xd<16>; .reg .b64 %ra, %rb, %rc;
                mov.u64 %ra, ma; mov.u64 %rb, mb; mov.u64 %rc, mc; mov.u32 %r1, md;
                wmma.load.a.sync.aligned.row.{shape}.global.{a} {{{}}}, [%ra];
                wmma.load.b.sync.aligned.col.{shape}.global.{b} {{{}}}, [%rb];
                wmma.load.c.sync.aligned.row.{shape}.global.{c} {{{}}}, [%rc];
                wmma.mma{operation}.sync.aligned.row.col.{shape}.{d}{factors}.{c} {{{}}}, {{{}}}, {{{}}}, {{{}}};
                wmma.store.d.sync.aligned.row.{shape}.shared.{d} [%r1], {{{}}};
                bar.warp.sync -1; mad.lo.u32 %r1, %lane, 4, %r1; ld.shared.u32 %r2, [%r1+{}];
                st.global.u32 [%at], %r2; ret;",
                list("xa", of_a),
                list("xb", of_b),
                list("xc", of_c),
                list("xd", of_d),
                list("xa", of_a),
                list("xb", of_b),
                list("xc", of_c),
                list("xd", of_d),
                128 * part,
            );
            run(&head, &body, 32).out
        })
        .take(words)
        .collect()
}

fn bytes(all: impl IntoIterator<Item = u8>) -> String {
    all.into_iter().map(|byte| byte.to_string()).collect::<Vec<_>>().join(", ")
}

#[test]
fn wmma_of_nibbles_and_bits() {
    let data: Vec<u8> = (0u32..256).map(|n| (n * n * 37 + n * 11 + 5) as u8).collect();
    let (a, b) = (&data[..128], &data[128..]);
    let c: Vec<u8> = (0i32..64).flat_map(|n| (1000 * n - 9).to_le_bytes()).collect();
    let memory = || [bytes(a.iter().copied()), bytes(b.iter().copied()), bytes(c.iter().copied())];
    let nibble = |of: &[u8], n: usize| i32::from((of[n / 2] >> (4 * (n % 2))) << 4) << 24 >> 28;
    let out = wmma("m8n8k32", ["s32", "s4", "s4", "s32"], [2, 1, 1, 2], memory(), 64);
    for (n, &word) in out.iter().enumerate() {
        let product: i32 = (0..32).map(|k| nibble(a, n / 8 * 32 + k) * nibble(b, n % 8 * 32 + k)).sum();
        assert_eq!(word as i32, product + 1000 * n as i32 - 9, "element {n} of s4");
    }
    let out = wmma("m8n8k128", ["s32", "b1", "b1", "s32"], [2, 1, 1, 2], memory(), 64);
    for (n, &word) in out.iter().enumerate() {
        let differ: u32 = (0..16).map(|k| (a[n / 8 * 16 + k] ^ b[n % 8 * 16 + k]).count_ones()).sum();
        assert_eq!(word as i32, differ as i32 + 1000 * n as i32 - 9, "element {n} of b1");
    }
}

#[test]
fn wmma_of_halves_with_two_types_of_sums() {
    // A[i][k] = i - k, B[k][j] = k + j - 9, C = 0.25 i j: sums are exact in singles.
    let half = |value: f32| half::f16::from_f32(value).to_le_bytes();
    let (a, b) = (|i: usize, k: usize| i as f32 - k as f32, |k: usize, j: usize| (k + j) as f32 - 9.0);
    for (shape, m, n) in [("m16n16k16", 16, 16), ("m8n32k16", 8, 32), ("m32n8k16", 32, 8)] {
        let c = |i: usize, j: usize| 0.25 * ((i % 4) * (j % 4)) as f32;
        let places = |rows: usize, columns: usize| (0..rows * columns).map(move |x| (x / columns, x % columns));
        let ma = bytes(places(m, 16).flat_map(|(i, k)| half(a(i, k))));
        let mb = bytes(places(n, 16).flat_map(|(j, k)| half(b(k, j))));
        let halves = bytes(places(m, n).flat_map(|(i, j)| half(c(i, j))));
        let singles = bytes(places(m, n).flat_map(|(i, j)| c(i, j).to_le_bytes()));
        let expected: Vec<f32> =
            places(m, n).map(|(i, j)| (0..16).map(|k| a(i, k) * b(k, j)).sum::<f32>() + c(i, j)).collect();
        let out = wmma(shape, ["f32", "f16", "f16", "f16"], [8, 8, 8, 4], [ma.clone(), mb.clone(), halves], 256);
        assert_eq!(out, expected.iter().map(|sum| sum.to_bits()).collect::<Vec<_>>(), "{shape}");
        let out = wmma(shape, ["f16", "f16", "f16", "f32"], [4, 8, 8, 8], [ma, mb, singles], 128);
        let pairs = expected.chunks(2).map(|two| {
            let [low, high] = [two[0], two[1]].map(|sum| u32::from(half::f16::from_f32(sum).to_bits()));
            low | high << 16
        });
        assert_eq!(out, pairs.collect::<Vec<_>>(), "{shape}");
    }
}
