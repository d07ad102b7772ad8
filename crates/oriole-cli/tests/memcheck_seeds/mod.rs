//! Seeded mistakes: bodies of kernels, and the kinds of findings that each must give.

pub(crate) mod sync;

/// A kernel with a mistake, or its correct variant.
pub(crate) struct Seed {
    /// What is wrong, or right.
    pub(crate) name: &'static str,
    /// Variables of its own.
    pub(crate) declarations: &'static str,
    /// Statements.
    pub(crate) body: &'static str,
    /// Kinds, in the order of the report.
    pub(crate) finds: &'static [&'static str],
    /// What ptxas 13.0 makes of it for sm_80, where Oriole does not compile it.
    pub(crate) cubin: Option<&'static [u8]>,
}

const fn seed(name: &'static str, body: &'static str, finds: &'static [&'static str]) -> Seed {
    Seed { name, declarations: "", body, finds, cubin: None }
}

const fn compiled(
    name: &'static str,
    body: &'static str,
    finds: &'static [&'static str],
    cubin: &'static [u8],
) -> Seed {
    Seed { name, declarations: "", body, finds, cubin: Some(cubin) }
}

/// An array in local memory.
const LOCAL: &str = ".local .align 16 .b8 l[64];";

/// All seeds.
pub(crate) const SEEDS: &[Seed] = &[
    seed(
        "read of what another warp writes",
        "st.shared.u32 [%r3], %r1;\nld.shared.u32 %r5, [%r4];\nst.global.u32 [%rd4], %r5;",
        &["race", "uninitialised"],
    ),
    seed(
        "read of what another warp has written before a barrier",
        "st.shared.u32 [%r3], %r1; bar.sync 0; ld.shared.u32 %r5, [%r4]; st.global.u32 [%rd4], %r5;",
        &[],
    ),
    seed(
        "write of what another warp reads",
        "st.shared.u32 [%r3], %r1; bar.sync 0; ld.shared.u32 %r5, [%r4]; st.shared.u32 [%r3], %r5;",
        &["race"],
    ),
    seed(
        "write of what another warp has read before a barrier",
        "st.shared.u32 [%r3], %r1; bar.sync 0; ld.shared.u32 %r5, [%r4]; bar.sync 0; st.shared.u32 [%r3], %r5;",
        &[],
    ),
    seed("all threads write their number to one word", "st.shared.u32 [s], %r1;", &["race"]),
    seed("all threads write the same to one word", "mov.u32 %r5, 7; st.shared.u32 [s], %r5;", &[]),
    seed(
        "bytes of one word by different warps",
        "mov.u32 %r7, s; shr.u32 %r8, %r1, 5; and.b32 %r9, %r1, 31; shl.b32 %r9, %r9, 2; add.u32 %r7, %r7, %r9; \
         add.u32 %r7, %r7, %r8; st.shared.u8 [%r7], %r1;",
        &[],
    ),
    seed(
        "plain read among atomics",
        "mov.u32 %r5, 0; st.shared.u32 [s], %r5; bar.sync 0; red.shared.add.u32 [s], %r1; ld.shared.u32 %r6, [s]; \
         st.global.u32 [%rd4], %r6;",
        &["race"],
    ),
    seed(
        "plain read after atomics and a barrier",
        "mov.u32 %r5, 0; st.shared.u32 [s], %r5; bar.sync 0; red.shared.add.u32 [s], %r1; bar.sync 0; \
         ld.shared.u32 %r6, [s]; st.global.u32 [%rd4], %r6;",
        &[],
    ),
    seed(
        "a producer that arrives before it has written",
        "setp.ge.u32 %p1, %r1, 32; @%p1 bra CONSUME; bar.arrive 1, 64; st.shared.u32 [%r3], %r1; bra DONE; \
         CONSUME: bar.sync 1, 64; ld.shared.u32 %r5, [%r4]; st.global.u32 [%rd4], %r5; DONE: ",
        &["race"],
    ),
    seed(
        "a producer that arrives after it has written",
        "setp.ge.u32 %p1, %r1, 32; @%p1 bra CONSUME; st.shared.u32 [%r3], %r1; bar.arrive 1, 64; bra DONE; \
         CONSUME: bar.sync 1, 64; ld.shared.u32 %r5, [%r4]; st.global.u32 [%rd4], %r5; DONE: ",
        &[],
    ),
    seed(
        "warps that wait at different barriers",
        "setp.ge.u32 %p1, %r1, 32; @%p1 bra OTHER; st.shared.u32 [%r3], %r1; bar.sync 1, 32; bra DONE; \
         OTHER: bar.sync 2, 32; ld.shared.u32 %r5, [%r4]; st.global.u32 [%rd4], %r5; DONE: ",
        &["race"],
    ),
    seed(
        "a flag handed on without a fence",
        "mov.u32 %r5, 0; st.shared.u32 [s], %r5; bar.sync 0; setp.eq.u32 %p1, %r1, 0; @%p1 bra GIVE; \
         setp.ne.u32 %p2, %r1, 32; @%p2 bra DONE; \
         SPIN: atom.shared.cas.b32 %r7, [s], 1, 1; setp.ne.u32 %p3, %r7, 1; @%p3 bra SPIN; \
         ld.shared.u32 %r8, [s+4]; st.global.u32 [%rd4], %r8; bra DONE; \
         GIVE: st.shared.u32 [s+4], 5; atom.shared.exch.b32 %r9, [s], 1; DONE: ",
        &["race"],
    ),
    seed(
        "a flag handed on with fences",
        "mov.u32 %r5, 0; st.shared.u32 [s], %r5; bar.sync 0; setp.eq.u32 %p1, %r1, 0; @%p1 bra GIVE; \
         setp.ne.u32 %p2, %r1, 32; @%p2 bra DONE; \
         SPIN: atom.shared.cas.b32 %r7, [s], 1, 1; setp.ne.u32 %p3, %r7, 1; @%p3 bra SPIN; membar.cta; \
         ld.shared.u32 %r8, [s+4]; st.global.u32 [%rd4], %r8; bra DONE; \
         GIVE: st.shared.u32 [s+4], 5; membar.cta; atom.shared.exch.b32 %r9, [s], 1; DONE: ",
        &[],
    ),
    compiled(
        "a copy that is not waited for",
        "cp.async.ca.shared.global [%r3], [%rd5], 4; cp.async.commit_group; ld.shared.u32 %r5, [%r3]; \
         st.global.u32 [%rd4], %r5;",
        &["race"],
        include_bytes!("a_copy_that_is_not_waited_for.cubin"),
    ),
    compiled(
        "a copy that is waited for",
        "cp.async.ca.shared.global [%r3], [%rd5], 4; cp.async.commit_group; cp.async.wait_group 0; \
         ld.shared.u32 %r5, [%r3]; st.global.u32 [%rd4], %r5;",
        &[],
        include_bytes!("a_copy_that_is_waited_for.cubin"),
    ),
    compiled(
        "a copy of which one group too many may be outstanding",
        "cp.async.ca.shared.global [%r3], [%rd5], 4; cp.async.commit_group; cp.async.wait_group 1; \
         ld.shared.u32 %r5, [%r3]; st.global.u32 [%rd4], %r5;",
        &["race"],
        include_bytes!("a_copy_of_which_one_group_too_many_may_be_outstanding.cubin"),
    ),
    compiled(
        "a copy of another warp without a barrier",
        "cp.async.ca.shared.global [%r3], [%rd5], 4; cp.async.wait_all; ld.shared.u32 %r5, [%r4]; \
         st.global.u32 [%rd4], %r5;",
        &["race", "uninitialised"],
        include_bytes!("a_copy_of_another_warp_without_a_barrier.cubin"),
    ),
    compiled(
        "a copy of another warp after a barrier",
        "cp.async.ca.shared.global [%r3], [%rd5], 4; cp.async.wait_all; bar.sync 0; ld.shared.u32 %r5, [%r4]; \
         st.global.u32 [%rd4], %r5;",
        &[],
        include_bytes!("a_copy_of_another_warp_after_a_barrier.cubin"),
    ),
    seed("shared memory without contents", "ld.shared.u32 %r5, [%r3]; st.global.u32 [%rd4], %r5;", &["uninitialised"]),
    seed(
        "one byte of four written",
        "st.shared.u8 [%r3+1], %r1; ld.shared.u32 %r5, [%r3]; st.global.u32 [%rd4], %r5;",
        &["uninitialised"],
    ),
    seed(
        "two halves written",
        "st.shared.u16 [%r3], %r1; st.shared.u16 [%r3+2], %r1; ld.shared.u32 %r5, [%r3]; st.global.u32 [%rd4], %r5;",
        &[],
    ),
    seed("an output read", "ld.global.u32 %r5, [%rd4]; st.shared.u32 [%r3], %r5;", &["uninitialised"]),
    seed(
        "an output read after it was written",
        "mov.u32 %r5, %ctaid.x; mul.wide.u32 %rd10, %r5, 256; add.s64 %rd11, %rd4, %rd10; st.global.u32 [%rd11], %r1; \
         ld.volatile.global.u32 %r5, [%rd11]; st.shared.u32 [%r3], %r5;",
        &[],
    ),
    seed("a variable of the module is zero", "ld.global.u32 %r5, [g8]; st.global.u32 [%rd4], %r5;", &[]),
    Seed {
        name: "a local array without contents",
        declarations: LOCAL,
        body: "ld.global.u32 %r5, [%rd5]; and.b32 %r5, %r5, 12; cvt.u64.u32 %rd6, %r5; mov.u64 %rd7, l; \
               add.s64 %rd8, %rd7, %rd6; st.local.u32 [%rd8+16], %r1; ld.local.u32 %r7, [%rd8+32]; \
               st.global.u32 [%rd4], %r7;",
        finds: &["uninitialised"],
        cubin: None,
    },
    Seed {
        name: "a local array with contents",
        declarations: LOCAL,
        body: "ld.global.u32 %r5, [%rd5]; and.b32 %r5, %r5, 12; cvt.u64.u32 %rd6, %r5; mov.u64 %rd7, l; \
               add.s64 %rd8, %rd7, %rd6; st.local.u32 [%rd8+16], %r1; ld.local.u32 %r7, [%rd8+16]; \
               st.global.u32 [%rd4], %r7;",
        finds: &[],
        cubin: None,
    },
    Seed {
        name: "a local array below its start",
        declarations: LOCAL,
        body: "ld.global.u32 %r5, [%rd5]; and.b32 %r5, %r5, 12; cvt.u64.u32 %rd6, %r5; mov.u64 %rd7, l; \
               sub.s64 %rd8, %rd7, %rd6; st.local.u32 [%rd8+-64], %r1;",
        finds: &["outside-frame"],
        cubin: None,
    },
    seed(
        "the padding behind a global variable",
        "st.global.u16 [g6+6], 1; st.global.u16 [g8], 1;",
        &["outside-variable"],
    ),
    seed("the end of a global variable", "st.global.u16 [g6+4], 1; st.global.u16 [g8], 1;", &[]),
    compiled(
        "a heap block used after free",
        "mov.u64 %rd10, 24; { .param .b64 a; .param .b64 b; st.param.b64 [a], %rd10; call (b), malloc, (a); \
         ld.param.b64 %rd11, [b]; } st.global.u32 [%rd11], %r1; { .param .b64 a; st.param.b64 [a], %rd11; call free, (a); } \
         st.global.u32 [%rd11+4], %r1;",
        &["use-after-free"],
        include_bytes!("a_heap_block_used_after_free.cubin"),
    ),
    compiled(
        "a heap block overrun",
        "mov.u64 %rd10, 20; { .param .b64 a; .param .b64 b; st.param.b64 [a], %rd10; call (b), malloc, (a); \
         ld.param.b64 %rd11, [b]; } st.global.u32 [%rd11+20], %r1; { .param .b64 a; st.param.b64 [a], %rd11; call free, (a); }",
        &["outside-heap-block"],
        include_bytes!("a_heap_block_overrun.cubin"),
    ),
    seed(
        "a heap block without contents, never given back",
        "mov.u64 %rd10, 24; { .param .b64 a; .param .b64 b; st.param.b64 [a], %rd10; call (b), malloc, (a); \
         ld.param.b64 %rd11, [b]; } ld.global.u32 %r5, [%rd11]; st.global.u32 [%rd4], %r5;",
        &["uninitialised", "leak"],
    ),
    compiled(
        "a heap block used and given back",
        "mov.u64 %rd10, 24; { .param .b64 a; .param .b64 b; st.param.b64 [a], %rd10; call (b), malloc, (a); \
         ld.param.b64 %rd11, [b]; } st.global.u32 [%rd11+20], %r1; { .param .b64 a; st.param.b64 [a], %rd11; call free, (a); }",
        &[],
        include_bytes!("a_heap_block_used_and_given_back.cubin"),
    ),
];
