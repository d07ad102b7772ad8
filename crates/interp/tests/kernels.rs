//! Memory, variables, calls and the system's functions, one small kernel each.

use crate::common::{fault, module, run, try_run};
use oriole_device::{FaultKind, Launch, Memory, Space};
use oriole_interp::{Interpreter, Options};

#[test]
fn variables_hold_their_initial_values() {
    let head = ".global .align 4 .u16 table[2][3] = {{1, 2, 3}, {4, 5}}; .const .f32 half = 0.5;
        .global .u64 pointer = generic(table) + 4; .global .b8 text[4] = {97, 98}; .global .u32 flat[4] = {7, 8};
        .func f() { ret; } .func g() { ret; }
        .global .u64 code[2] = {f, g};";
    let body =
        "ld.global.u64 %rd1, [pointer]; ld.u16 %r1, [%rd1]; ld.global.u16 %r2, [table+8]; ld.const.u32 %r3, [half];
        ld.global.u16 %r4, [text]; ld.global.u32 %r5, [flat+4]; ld.global.u64 %rd2, [code+8]; mov.u64 %rd3, g;
        setp.eq.u64 %p1, %rd2, %rd3; selp.u32 %r6, 1, 0, %p1; ld.global.u16 %r7, [table+10];
        st.global.v4.u32 [%out], {%r1, %r2, %r3, %r4}; st.global.v4.u32 [%out+16], {%r5, %r6, %r7, 9}; ret;";
    let run = try_run(&module(head, body), 8, Launch::default(), Options::default()).expect("no fault");
    assert_eq!(run.out, [3, 5, 0.5f32.to_bits(), 0x6261, 8, 1, 0, 9]);
}

#[test]
fn every_space_is_reached_by_its_generic_address() {
    let head = ".const .u32 c = 11; .global .u32 g = 22; .extern .shared .align 8 .b8 dynamic[];";
    let body =
        ".shared .u32 s; .local .u32 l; st.shared.u32 [s], 33; st.local.u32 [l], 44; st.shared.u32 [dynamic+4], 55;
        cvta.const.u64 %rd1, c; cvta.global.u64 %rd2, g; mov.u64 %rd3, s; cvta.shared.u64 %rd3, %rd3;
        mov.u64 %rd4, l; cvta.local.u64 %rd4, %rd4; mov.u64 %rd5, dynamic; cvta.shared.u64 %rd5, %rd5;
        cvta.param.u64 %rd6, out; ld.u64 %rd7, [%rd6]; sub.u64 %rd7, %rd7, %out; cvt.u32.u64 %r6, %rd7;
        ld.u32 %r1, [%rd1]; ld.u32 %r2, [%rd2]; ld.u32 %r3, [%rd3]; ld.u32 %r4, [%rd4]; ld.u32 %r5, [%rd5+4];
        isspacep.shared %p1, %rd5; isspacep.local %p2, %rd4; isspacep.global %p3, %rd2; isspacep.const %p4, %rd1;
        isspacep.global %p5, %rd3; and.pred %p1, %p1, %p2; and.pred %p1, %p1, %p3; and.pred %p1, %p1, %p4;
        not.pred %p5, %p5; and.pred %p1, %p1, %p5; selp.u32 %r7, 1, 0, %p1;
        st.global.v4.u32 [%out], {%r1, %r2, %r3, %r4}; st.global.v2.u32 [%out+16], {%r5, %r6};
        st.global.u32 [%out+24], %r7; ret;";
    let launch = Launch { shared_bytes: 8, ..Launch::default() };
    let run = try_run(&module(head, body), 7, launch, Options::default()).expect("no fault");
    assert_eq!(run.out, [11, 22, 33, 44, 55, 0, 1]);
}

#[test]
fn narrow_values_are_extended_to_their_registers() {
    let body = "mov.u32 %r1, 0x1280ff7f; st.global.u32 [%at], %r1; ld.global.s8 %r2, [%at+1]; ld.global.u8 %r3, [%at+1];
        ld.global.s16 %r4, [%at]; ld.global.s8 %h1, [%at+2]; cvt.s32.s16 %r5, %h1; ld.global.s16 %rd1, [%at];
        shr.u64 %rd1, %rd1, 32; cvt.u32.u64 %r6, %rd1; add.u32 %r2, %r2, %r3; add.u32 %r4, %r4, %r5; add.u32 %r2, %r2, %r4;
        add.u32 %r2, %r2, %r6; st.global.u32 [%at], %r2; ret;";
    let sum = (-1i32 as u32).wrapping_add(0xff).wrapping_add(-129i32 as u32).wrapping_add(-128i32 as u32);
    assert_eq!(run("", body, 1).out, [sum.wrapping_add(u32::MAX)]);
}

#[test]
fn functions_call_themselves_and_through_addresses() {
    let head = ".func (.param .u32 o) sum(.param .u32 i) { .reg .b32 %i, %o; .reg .pred %p; .local .u32 keep;
          ld.param.u32 %i, [i]; st.local.u32 [keep], %i; st.param.u32 [o], 0; setp.eq.u32 %p, %i, 0; @%p ret;
          { .param .u32 a; .param .u32 b; sub.u32 %i, %i, 1; st.param.u32 [a], %i; call (b), sum, (a);
            ld.param.u32 %o, [b]; }
          ld.local.u32 %i, [keep]; add.u32 %o, %o, %i; st.param.u32 [o], %o; ret; }
        .func (.param .u32 o) twice(.param .u32 i) { .reg .b32 %i; ld.param.u32 %i, [i]; add.u32 %i, %i, %i;
          st.param.u32 [o], %i; ret; }";
    let body = "mov.u64 %rd1, sum; mov.u64 %rd2, twice; and.b32 %r1, %lane, 1; setp.eq.u32 %p1, %r1, 0;
        selp.b64 %rd3, %rd1, %rd2, %p1; P: .callprototype (.param .u32 _) _ (.param .u32 _);
        { .param .u32 a; .param .u32 b; st.param.u32 [a], %lane; call (b), %rd3, (a), P; ld.param.u32 %r2, [b]; }
        activemask.b32 %r3; setp.eq.u32 %p2, %r3, -1; @!%p2 trap; st.global.u32 [%at], %r2; ret;";
    let expected = |lane: u32| if lane.is_multiple_of(2) { lane * (lane + 1) / 2 } else { 2 * lane };
    assert_eq!(run(head, body, 32).out, (0..32).map(expected).collect::<Vec<u32>>());
}

#[test]
fn the_stack_grows_and_shrinks() {
    let body =
        ".reg .b64 %s; stacksave.u64 %s; mul.wide.u32 %rd1, %lane, 4; add.u64 %rd1, %rd1, 8; alloca.u64 %rd2, %rd1, 64;
        st.local.u32 [%rd2+4], %lane; alloca.u64 %rd3, 16; st.local.u32 [%rd3], 1000; ld.local.u32 %r1, [%rd2+4];
        and.b64 %rd4, %rd2, 63; cvt.u32.u64 %r2, %rd4; stackrestore.u64 %s; alloca.u64 %rd5, %rd1, 64;
        sub.u64 %rd5, %rd5, %rd2; cvt.u32.u64 %r3, %rd5; add.u32 %r1, %r1, %r2; add.u32 %r1, %r1, %r3;
        st.global.u32 [%at], %r1; ret;";
    assert_eq!(run("", body, 32).out, (0..32).collect::<Vec<u32>>());
}

#[test]
fn atomics_on_shared_and_global_memory() {
    let head = ".shared .u32 sum; .global .u32 most; .shared .align 8 .b8 pair[8]; .global .u32 wrap;";
    let body = "setp.eq.u32 %p1, %t, 0; @%p1 st.shared.u32 [sum], 0; @%p1 st.shared.u64 [pair], 0; bar.sync 0;
        atom.shared.add.u32 %r1, [sum], %t; red.global.max.u32 [most], %t; mov.u32 %r9, 4;
        atom.global.inc.u32 %r4, [wrap], 4; mov.b64 %rd1, {%r9, %t}; atom.shared.add.u64 %rd2, [pair], %rd1;
        bar.sync 0; ld.shared.u32 %r2, [sum]; ld.global.u32 %r3, [most]; ld.shared.v2.u32 {%r5, %r6}, [pair];
        add.u32 %r2, %r2, %r3; add.u32 %r2, %r2, %r5; add.u32 %r2, %r2, %r6; ld.global.u32 %r7, [wrap];
        add.u32 %r2, %r2, %r7; st.global.u32 [%at], %r2; ret;";
    let (sum, steps) = ((0..96).sum::<u32>(), 96 % 5);
    assert_eq!(run(head, body, 96).out, vec![sum + 95 + 4 * 96 + sum + steps; 96]);
}

#[test]
fn printf_malloc_and_assert() {
    let head = ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
        .extern .func (.param .b64 r) malloc(.param .b64 n); .extern .func free(.param .b64 p);
        .global .b8 f[8] = \"%d %s\\n\"; .global .b8 s[3] = {104, 105};";
    let head = head.replace("\"%d %s\\n\"", "{37, 100, 32, 37, 115, 10, 0, 0}");
    let body = ".local .align 8 .b8 v[16]; { .param .b64 a; .param .b64 b; st.param.b64 [a], 64; call (b), malloc, (a);
          ld.param.b64 %rd1, [b]; } st.u32 [%rd1+60], %lane; ld.u32 %r1, [%rd1+60]; st.local.u32 [v], %r1;
        mov.u64 %rd2, s; st.local.u64 [v+8], %rd2; mov.u64 %rd3, v; cvta.local.u64 %rd3, %rd3; mov.u64 %rd4, f;
        { .param .b64 a; .param .b64 b; .param .b32 c; st.param.b64 [a], %rd4; st.param.b64 [b], %rd3;
          call (c), vprintf, (a, b); ld.param.b32 %r2, [c]; }
        { .param .b64 a; st.param.b64 [a], %rd1; call free, (a); } st.global.u32 [%at], %r2; ret;";
    let run = run(&head, body, 3);
    assert_eq!(String::from_utf8_lossy(&run.report.printed), "0 hi\n1 hi\n2 hi\n");
    assert_eq!(run.out, [5, 5, 5]);
}

#[test]
fn faults_name_their_place() {
    let text = module("", "ld.global.u32 %r1, [%at+64];\nst.global.u32 [%at], %r1; ret;");
    let launch = Launch { block: [8, 1, 1], grid: [2, 1, 1], ..Launch::default() };
    let fault = try_run(&text, 20, launch, Options::default()).err().expect("the fifth thread reads too far");
    let FaultKind::IllegalAddress { space: Space::Global, size: 4, nearest: Some(nearest), .. } = &fault.kind else {
        panic!("{fault}")
    };
    assert_eq!((nearest.name.as_str(), nearest.size), ("out", 80));
    assert_eq!((fault.place.kernel.as_str(), fault.place.block, fault.place.thread), ("k", [0; 3], [4, 0, 0]));
    assert_eq!(fault.place.instruction, "ld.global.u32 %r1, [%at+64]");
    assert!(text[fault.place.pc as usize..].starts_with("ld.global.u32 %r1"));
}

#[test]
fn wild_accesses_are_faults() {
    let kind = |body| fault("", body, 1).kind;
    assert!(matches!(kind("st.global.u16 [%at+1], %h1; ret;"), FaultKind::Misaligned { .. }));
    assert!(matches!(kind("mov.u64 %at, 0; ld.global.u32 %r1, [%at]; ret;"), FaultKind::IllegalAddress { .. }));
    assert!(matches!(kind("mov.u64 %at, 0xfffff0; ld.shared.u32 %r1, [%at]; ret;"), FaultKind::IllegalAddress { .. }));
    assert!(matches!(kind("ld.local.u32 %r1, [0xfffffff0]; ret;"), FaultKind::IllegalAddress { .. }));
    assert!(matches!(kind("mov.u64 %at, 0; ld.const.u32 %r1, [%at]; ret;"), FaultKind::IllegalAddress { .. }));
    assert!(matches!(kind("mov.u64 %rd1, out; st.u32 [%rd1], 1; ret;"), FaultKind::IllegalAddress { .. }));
    assert!(matches!(kind("P: .callprototype _ (); call %out, (), P; ret;"), FaultKind::BadJump(_)));
    assert!(matches!(kind("alloca.u64 %rd1, 0x7fffffff; ret;"), FaultKind::Misuse(_)));
    assert!(matches!(kind("trap;"), FaultKind::Trap));
    let endless = ".func f() { call f, (); ret; }";
    assert!(matches!(fault(endless, "call f, (); ret;", 32).kind, FaultKind::Misuse(_)));
}

#[test]
fn variables_are_set_by_name() {
    let text = module(
        ".global .u32 g[2]; .const .u32 c;",
        "ld.global.u32 %r1, [g+4]; ld.const.u32 %r2, [c]; add.u32 %r1, %r1, %r2; st.global.u32 [%at], %r1; ret;",
    );
    let module = oriole_ptx::load(&text).expect("it is PTX");
    let mut interpreter = Interpreter::new(&module, Options::default()).expect("it loads");
    let mut memory = Memory::new();
    interpreter.set_variable("g", &[1, 0, 0, 0, 2, 0, 0, 0], &mut memory).expect("there is g");
    interpreter.set_variable("c", &[40, 0, 0, 0], &mut memory).expect("there is c");
    assert!(interpreter.set_variable("g", &[0; 9], &mut memory).is_err());
    assert!(interpreter.set_variable("k", &[0], &mut memory).is_err());
    let slots = interpreter.parameters("k").expect("there is k");
    assert_eq!((slots.len(), slots[0].offset, slots[0].size), (1, 0, 8));
    let out = memory.allocate("out", 4);
    let launch = Launch { params: out.to_le_bytes().to_vec(), ..Launch::default() };
    interpreter.launch("k", &launch, &mut memory).expect("no fault");
    assert_eq!(memory.read(out, 4), Some(vec![42, 0, 0, 0]));
    assert!(interpreter.launch("none", &launch, &mut memory).is_err());
}
