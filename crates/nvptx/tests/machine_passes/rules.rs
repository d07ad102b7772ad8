//! One rule of a pass each, as text before and after. Where a test expects that something goes, it names
//! the pass `dead-code` too.

use oriole_nvptx::machine::passes::verify::{Fault, Stage, verify};
use oriole_nvptx::machine::passes::{Context, PASSES, PassOptions};

use super::text::{Text, read};

/// Runs passes by name.
fn run(passes: &str, text: &str, max_reg: Option<u32>) -> Text {
    let mut read = read(text);
    verify(&read.function, Stage::Ssa).unwrap_or_else(|fault| panic!("{fault}\n{text}"));
    let options = PassOptions { max_reg, ..PassOptions::default() };
    for name in passes.split(' ') {
        let pass = PASSES.iter().find(|pass| pass.name == name).unwrap_or_else(|| panic!("no pass {name}"));
        let Text { function, forms, .. } = &mut read;
        (pass.run)(&mut Context { function, forms, options: &options });
        verify(&read.function, pass.leaves).unwrap_or_else(|fault| panic!("{name}: {fault}\n{}", read.dump()));
    }
    read
}

#[track_caller]
fn check(passes: &str, before: &str, after: &str) {
    let lines = |text: &str| {
        text.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect::<Vec<_>>()
    };
    assert_eq!(lines(&run(passes, before, None).dump()).join("\n"), lines(after).join("\n"));
}

/// A block that begins with values of most classes, and what is read at its end.
fn block(body: &str) -> String {
    format!(
        "bb0:
            %r0 = mov.u32 %tid.x
            %r1 = mov.u32 %tid.y
            %rd2 = ld.param.u64 [p]
            {body}
            st.global.b32 [%rd2+64], %r1
            ret"
    )
}

#[track_caller]
fn check_block(passes: &str, before: &str, after: &str) {
    check(passes, &block(before), &block(after));
}

#[test]
fn what_nothing_reads_goes() {
    check(
        "dead-code",
        "bb0:
            %r0 = mov.u32 %tid.x
            %r1 = add.s32 %r0, 1
            %r2 = ld.global.b32 [x]
            %rd8 = mov.u64 %clock64
            %r3 = ld.volatile.global.b32 [x]
            st.global.b32 [x], %r0
            goto bb1
        bb1:
            %r4 = phi [bb0: 0], [bb1: %r5]
            %r5 = add.s32 %r4, 1
            %p6 = setp.eq.s32 %r0, 0
            branch %p6 bb1, bb2
        bb2:
            ret
        bb3:
            goto bb2",
        "bb0:
            %r0 = mov.u32 %tid.x
            %rd8 = mov.u64 %clock64
            %r3 = ld.volatile.global.b32 [x]
            st.global.b32 [x], %r0
            goto bb1
        bb1:
            %p6 = setp.eq.s32 %r0, 0
            branch %p6 bb1, bb2
        bb2:
            ret",
    );
}

#[test]
fn loads_are_shared_until_something_is_written() {
    check_block(
        "cse",
        "%r3 = ld.global.b32 [%rd2]
         %r4 = ld.global.b32 [%rd2]
         st.global.b32 [%rd2], %r4
         %r5 = ld.global.b32 [%rd2]
         st.global.b32 [%rd2+4], %r5",
        "%r3 = ld.global.b32 [%rd2]
         st.global.b32 [%rd2], %r3
         %r5 = ld.global.b32 [%rd2]
         st.global.b32 [%rd2+4], %r5",
    );
}

#[test]
fn sums_are_shared_in_either_order_but_not_carries_clocks_or_guarded() {
    check_block(
        "cse",
        "%p9 = setp.eq.s32 %r0, %r1
         %r3 = add.s32 %r0, %r1
         %r4 = add.s32 %r1, %r0
         %r5 = add.cc.u32 %r3, %r4
         %r6 = add.cc.u32 %r3, %r4
         %rd7 = mov.u64 %clock64
         %rd8 = mov.u64 %clock64
         @%p9 st.global.b32 [%rd2], %r5
         @%p9 st.global.b32 [%rd2], %r5",
        "%p9 = setp.eq.s32 %r0, %r1
         %r3 = add.s32 %r0, %r1
         %r5 = add.cc.u32 %r3, %r3
         %r6 = add.cc.u32 %r3, %r3
         %rd7 = mov.u64 %clock64
         %rd8 = mov.u64 %clock64
         @%p9 st.global.b32 [%rd2], %r5
         @%p9 st.global.b32 [%rd2], %r5",
    );
}

#[test]
fn invariants_leave_loops_but_loads_and_predicates_stay() {
    check(
        "licm",
        "bb0:
            %r0 = mov.u32 %tid.x
            %rd1 = ld.param.u64 [p]
            goto bb1
        bb1:
            %r2 = phi [bb0: 0], [bb1: %r3]
            %rd4 = mul.wide.s32 %r0, 4
            %rd5 = add.s64 %rd1, %rd4
            %r6 = ld.global.nc.b32 [%rd5]
            %r3 = add.s32 %r2, %r6
            %p7 = setp.lt.s32 %r0, 9
            branch %p7 bb1, bb2
        bb2:
            ret",
        "bb0:
            %r0 = mov.u32 %tid.x
            %rd1 = ld.param.u64 [p]
            %rd4 = mul.wide.s32 %r0, 4
            %rd5 = add.s64 %rd1, %rd4
            goto bb1
        bb1:
            %r2 = phi [bb0: 0], [bb1: %r3]
            %r6 = ld.global.nc.b32 [%rd5]
            %r3 = add.s32 %r2, %r6
            %p7 = setp.lt.s32 %r0, 9
            branch %p7 bb1, bb2
        bb2:
            ret",
    );
}

#[test]
fn values_sink_to_the_only_block_that_reads_them() {
    check(
        "sink",
        "bb0:
            %r0 = mov.u32 %tid.x
            %p1 = setp.eq.s32 %r0, 0
            %r2 = add.s32 %r0, 1
            %r3 = mul.lo.s32 %r2, 3
            branch %p1 bb1, bb2
        bb1:
            st.global.b32 [x], %r3
            st.global.b32 [x], %r0
            ret
        bb2:
            ret",
        "bb0:
            %r0 = mov.u32 %tid.x
            %p1 = setp.eq.s32 %r0, 0
            branch %p1 bb1, bb2
        bb1:
            %r2 = add.s32 %r0, 1
            %r3 = mul.lo.s32 %r2, 3
            st.global.b32 [x], %r3
            st.global.b32 [x], %r0
            ret
        bb2:
            ret",
    );
}

#[test]
fn cheap_values_are_made_again_when_registers_are_short() {
    let text = "bb0:
            %r0 = mov.u32 %tid.x
            %rd1 = ld.global.b64 [x]
            goto bb1
        bb1:
            %rd2 = ld.global.b64 [x+8]
            %rd3 = ld.global.b64 [x+16]
            st.global.b64 [x], %rd2
            st.global.b64 [x], %rd3
            goto bb2
        bb2:
            st.global.b32 [x], %r0
            st.global.b64 [x], %rd1
            st.global.b32 [x], %r0
            ret";
    assert_eq!(run("remat", text, Some(7)).dump(), read(text).dump(), "seven are enough");
    let found = run("remat dead-code", text, Some(6)).dump();
    assert!(found.starts_with("bb0:\n    %rd1 = ld.global.b64 [x]\n    goto bb1"), "{found}");
    assert_eq!(found.matches("mov.u32 %tid.x").count(), 1, "{found}");
    assert!(found.contains("bb2:\n    %r4 = mov.u32 %tid.x\n    st.global.b32 [x], %r4"), "{found}");
}

/// The loop of the usual shape needs no copy: the web of the counter is one register.
#[test]
fn a_loop_counter_is_one_register() {
    check(
        "out-of-ssa layout",
        "bb0:
            %r0 = mov.u32 %tid.x
            goto bb1
        bb1:
            %r1 = phi [bb0: %r0], [bb1: %r2]
            st.global.b32 [x], %r1
            %r2 = add.s32 %r1, 1
            %p3 = setp.lt.s32 %r2, 9
            branch %p3 bb1, bb2
        bb2:
            ret",
        "bb0:
            %r0 = mov.u32 %tid.x
            goto bb1
        bb1:
            st.global.b32 [x], %r0
            %r0 = add.s32 %r0, 1
            %p1 = setp.lt.s32 %r0, 9
            branch %p1 bb1, bb2
        bb2:
            ret",
    );
}

/// The lost copy: the old value of the counter is read behind the loop. One copy is needed.
#[test]
fn the_lost_copy() {
    let found = run(
        "out-of-ssa layout",
        "bb0:
            goto bb1
        bb1:
            %r0 = phi [bb0: 7], [bb1: %r1]
            %r1 = add.s32 %r0, 1
            %p2 = setp.lt.s32 %r1, 9
            branch %p2 bb1, bb2
        bb2:
            st.global.b32 [x], %r0
            ret",
        None,
    );
    assert_eq!(found.dump().matches("copy.39552").count(), 1, "{}", found.dump());
}

/// The swap: two registers change places in each turn, by three copies with one more register.
#[test]
fn the_swap() {
    let found = run(
        "out-of-ssa layout",
        "bb0:
            %r0 = mov.u32 %tid.x
            %r1 = mov.u32 %tid.y
            %p2 = setp.lt.s32 %r0, 9
            goto bb1
        bb1:
            %r3 = phi [bb0: %r0], [bb1: %r4]
            %r4 = phi [bb0: %r1], [bb1: %r3]
            st.global.b32 [x], %r3
            branch %p2 bb1, bb2
        bb2:
            ret",
        None,
    );
    assert_eq!(found.dump().matches("copy.39552").count(), 3, "{}", found.dump());
    assert_eq!(found.function.regs.len(), 4, "{}", found.dump());
}

/// Two registers with the same value become one although both are live.
#[test]
fn equal_values_do_not_interfere() {
    check_block(
        "out-of-ssa",
        "%r3 = copy.39552 %r0
         st.global.b32 [%rd2], %r3
         st.global.b32 [%rd2], %r0",
        "st.global.b32 [%rd2], %r0
         st.global.b32 [%rd2], %r0",
    );
}

/// "Int128Regs: never coalesced"; casts between classes survive.
#[test]
fn the_rules_of_classes() {
    check_block(
        "out-of-ssa",
        "%rq3 = ld.global.b128 [%rd2]
         %rq4 = copy.39168 %rq3
         %f5 = copy.10816 %r0
         st.global.b128 [%rd2], %rq4
         st.global.f32 [%rd2], %f5
         st.global.b32 [%rd2], %r1",
        "%rq3 = ld.global.b128 [%rd2]
         %rq4 = copy.39168 %rq3
         %f5 = copy.10816 %r0
         st.global.b128 [%rd2], %rq4
         st.global.f32 [%rd2], %f5
         st.global.b32 [%rd2], %r1",
    );
}

/// A copy that only the way out of a loop needs does not run in the loop.
#[test]
fn copies_of_loop_exits_stay_outside() {
    let found = run(
        "out-of-ssa layout",
        "bb0:
            %r0 = mov.u32 %tid.x
            %p1 = setp.lt.s32 %r0, 9
            branch %p1 bb1, bb2
        bb1:
            %r2 = ld.volatile.global.b32 [x]
            %p3 = setp.lt.s32 %r2, 9
            branch %p3 bb1, bb2
        bb2:
            %r4 = phi [bb0: 5], [bb1: 6]
            st.global.b32 [x], %r4
            ret",
        None,
    );
    let text = found.dump();
    let at_loop = text.find("ld.volatile").unwrap_or(0);
    let six = text.find("mov.b32 6").unwrap_or(0);
    let block_of = |at: usize| text[..at].matches(":\n").count();
    assert_ne!(block_of(at_loop), block_of(six), "{text}");
}

#[test]
fn blocks_follow_each_other_and_traps_come_last() {
    check(
        "out-of-ssa layout",
        "bb0:
            %r0 = mov.u32 %tid.x
            %p1 = setp.eq.s32 %r0, 0
            branch %p1 bb1, bb2
        bb1:
            trap
        bb2:
            goto bb3
        bb3:
            st.global.b32 [x], %r0
            goto bb4
        bb4:
            ret",
        "bb0:
            %r0 = mov.u32 %tid.x
            %p1 = setp.eq.s32 %r0, 0
            branch %p1 bb1, bb3
        bb3:
            st.global.b32 [x], %r0
            ret
        bb1:
            trap",
    );
}

#[test]
fn the_verifier_finds_each_fault() {
    let fault = |text: &str| verify(&read(text).function, Stage::Ssa).expect_err("a fault").to_string();
    let begin = "bb0:\n%r0 = mov.u32 %tid.x\n";
    for (rest, expected) in [
        ("%rd1 = copy.39552 %r0\nret", "the copy of %v0 to %v1 in bb0 is between different widths"),
        ("%r0 = mov.u32 %tid.y\nret", "%v0 is written again in bb0"),
        ("st.global.b32 [x], %r1\nret", "%v1 is read in bb0 but not written on all ways to it"),
        (
            "goto bb1\nbb1:\n%r1 = phi [bb1: 0]\ngoto bb1",
            "the phi of %v1 in bb1 has not one value for each predecessor",
        ),
    ] {
        assert_eq!(fault(&format!("{begin}{rest}")), expected);
    }
    let with_phi = read("bb0:\ngoto bb1\nbb1:\n%r0 = phi [bb0: 0]\nret");
    assert!(matches!(verify(&with_phi.function, Stage::Plain), Err(Fault::PhiLeft(..))));
}

#[test]
fn pressure_counts_registers_of_32_bits() {
    let text = block(
        "%rd3 = ld.global.b64 [%rd2]
         %rs4 = cvt.u16.u32 %r0
         st.global.b64 [%rd2], %rd3
         st.global.b16 [%rd2], %rs4",
    );
    let pressure = oriole_nvptx::machine::passes::pressure::Pressure::new(&read(&text).function);
    // %r0 or %rs4, %r1, %rd2 and %rd3.
    assert_eq!(pressure.to_string(), "6 registers of 32 bits (%rs 1, %r 2, %rd 2), predicates 0");
}
