//! Seeded mistakes of synchronisation, and of global memory that threads and blocks share.

use super::{Seed, seed};

/// Two threads of a warp wait for all of it, the others wait elsewhere.
pub(crate) const SYNCWARP_IN_BRANCH: Seed = seed(
    "a warp synchronisation in a branch that names all lanes",
    "setp.gt.u32 %p1, %r1, 1; @%p1 bra JOIN; bar.warp.sync 0xffffffff; JOIN: bar.sync 0; st.global.u32 [%rd4], %r1;",
    &["waits-elsewhere"],
);

/// All seeds.
pub(crate) const SEEDS: &[Seed] = &[
    seed(
        "barriers on both sides of a branch",
        "and.b32 %r5, %r1, 16; setp.eq.u32 %p1, %r5, 0; @%p1 bra LOW; bar.sync 0; bra DONE; LOW: bar.sync 0; DONE: ",
        &["divergent-barrier"],
    ),
    seed(
        "a barrier where the sides of a branch join",
        "and.b32 %r5, %r1, 16; setp.eq.u32 %p1, %r5, 0; @%p1 bra LOW; st.global.u32 [%rd4], %r1; bra DONE; \
         LOW: st.global.u32 [%rd4], %r5; DONE: bar.sync 0;",
        &[],
    ),
    seed(
        "barriers that threads may come to apart, on both sides of a branch",
        "and.b32 %r5, %r1, 16; setp.eq.u32 %p1, %r5, 0; @%p1 bra LOW; barrier.sync 0; bra DONE; LOW: barrier.sync 0; DONE: ",
        &[],
    ),
    seed("a barrier of one and a half warps", "mov.u32 %r5, 48; bar.sync 1, %r5;", &["barrier-count"]),
    seed("a barrier of two warps", "mov.u32 %r5, 64; bar.sync 1, %r5;", &[]),
    seed("a barrier of more threads than there are", "mov.u32 %r5, 128; bar.arrive 1, %r5;", &["barrier-count"]),
    seed("a thread that is not in its mask", "bar.warp.sync 0xffff;", &["wrong-mask"]),
    seed("threads that are in their mask", "bar.warp.sync 0xffffffff;", &[]),
    seed(
        "a shuffle from lanes that have exited",
        "and.b32 %r5, %r1, 16; setp.ne.u32 %p1, %r5, 0; @%p1 bra DONE; shfl.sync.bfly.b32 %r6, %r1, 16, 31, -1; \
         st.global.u32 [%rd4], %r6; DONE: ",
        &["absent-lane"],
    ),
    seed(
        "a shuffle among the lanes that are left",
        "and.b32 %r5, %r1, 16; setp.ne.u32 %p1, %r5, 0; @%p1 bra DONE; shfl.sync.bfly.b32 %r6, %r1, 8, 31, 0xffff; \
         st.global.u32 [%rd4], %r6; DONE: ",
        &[],
    ),
    SYNCWARP_IN_BRANCH,
    seed(
        "a warp synchronisation in a branch that names the lanes there",
        "setp.gt.u32 %p1, %r1, 1; @%p1 bra JOIN; bar.warp.sync 3; JOIN: bar.sync 0; st.global.u32 [%rd4], %r1;",
        &[],
    ),
    seed(
        "all threads count in one word",
        "ld.global.u32 %r5, [g8]; add.u32 %r5, %r5, 1; st.global.u32 [g8], %r5;",
        &["race"],
    ),
    seed("all threads count by an atomic", "red.global.add.u32 [g8], 1;", &[]),
    seed("lanes of one store write different values", "st.global.u32 [g8], %r1;", &["race"]),
    seed("all threads write the same", "mov.u32 %r5, 7; st.global.u32 [g8], %r5;", &[]),
    seed(
        "a global word of another warp without a barrier",
        "mov.u32 %r5, %ctaid.x; mul.wide.u32 %rd10, %r5, 256; add.s64 %rd11, %rd4, %rd10; st.global.u32 [%rd11], %r1; \
         xor.b32 %r6, %r2, 128; sub.u32 %r6, %r6, %r2; cvt.s64.s32 %rd12, %r6; add.s64 %rd13, %rd11, %rd12; \
         ld.global.u32 %r7, [%rd13]; st.shared.u32 [%r3], %r7;",
        &["race", "uninitialised"],
    ),
    seed(
        "a global word of another warp after a barrier",
        "mov.u32 %r5, %ctaid.x; mul.wide.u32 %rd10, %r5, 256; add.s64 %rd11, %rd4, %rd10; st.global.u32 [%rd11], %r1; \
         bar.sync 0; xor.b32 %r6, %r2, 128; sub.u32 %r6, %r6, %r2; cvt.s64.s32 %rd12, %r6; add.s64 %rd13, %rd11, %rd12; \
         ld.global.u32 %r7, [%rd13]; st.shared.u32 [%r3], %r7;",
        &[],
    ),
    seed(
        "a word handed to another block without a fence",
        "setp.ne.u32 %p1, %r1, 0; @%p1 bra DONE; mov.u32 %r5, %ctaid.x; setp.eq.u32 %p2, %r5, 0; @%p2 bra GIVE; \
         SPIN: atom.global.or.b32 %r6, [g8], 0; setp.eq.u32 %p3, %r6, 0; @%p3 bra SPIN; membar.gl; \
         ld.global.u32 %r7, [g8+4]; st.global.u32 [%rd4], %r7; bra DONE; \
         GIVE: st.global.u32 [g8+4], 5; atom.global.exch.b32 %r9, [g8], 1; DONE: ",
        &["race"],
    ),
    seed(
        "a word handed to another block with fences",
        "setp.ne.u32 %p1, %r1, 0; @%p1 bra DONE; mov.u32 %r5, %ctaid.x; setp.eq.u32 %p2, %r5, 0; @%p2 bra GIVE; \
         SPIN: ld.volatile.global.u32 %r6, [g8]; setp.eq.u32 %p3, %r6, 0; @%p3 bra SPIN; membar.gl; \
         ld.global.u32 %r7, [g8+4]; st.global.u32 [%rd4], %r7; bra DONE; \
         GIVE: st.global.u32 [g8+4], 5; membar.gl; st.volatile.global.u32 [g8], 1; DONE: ",
        &[],
    ),
];
