//! One exchange as PTX: `%s` and `%z` are the low and the high word that a lane brings, `%m` its mask, `%r` what it gets.

use super::tree::Op;
use std::fmt::Write;

/// Registers that these lines use besides.
pub(super) const SCRATCH: &str = ".reg .b32 %t<4>; .reg .pred %q<2>; .reg .b64 %u<2>;";

/// The lines of an exchange under a guard (`@%g ` or nothing). `name` is that of the program, for its shared memory.
pub(super) fn lines(op: Op, guard: &str, name: &str) -> String {
    let wide = |wide: bool| if wide { ("b64", "%u0") } else { ("b32", "%s") };
    let pair = "mov.b64 %u0, {%s, %z};";
    let truth = "selp.b32 %r, 1, 0, %q0;";
    // A mask may name lanes that have ended, of which nothing can be read.
    let alive = format!("mov.b32 %t3, 1; setp.eq.b32 %q1, %m, %m; {guard}vote.sync.ballot.b32 %t3, %q1, %m;");
    let first = "brev.b32 %t0, %t3; clz.b32 %t0, %t0;";
    let source = "and.b32 %t0, %s, 1; setp.ne.u32 %q1, %t0, 0;";
    match op {
        Op::Ballot => format!("{source} {guard}vote.sync.ballot.b32 %r, %q1, %m;"),
        Op::Vote(mode) => format!("{source} {guard}vote.sync.{mode}.pred %q0, %q1, %m; {truth}"),
        Op::MatchAny { wide: is_wide } => {
            let (ty, value) = wide(is_wide);
            format!("{pair} {guard}match.any.sync.{ty} %r, {value}, %m;")
        }
        Op::MatchAll { wide: is_wide, pred } => {
            let (ty, value) = wide(is_wide);
            let (to, then) = if pred { ("%r|%q0", truth) } else { ("%r", "") };
            format!("{pair} {guard}match.all.sync.{ty} {to}, {value}, %m; {then}")
        }
        Op::Reduce(op) => format!("{guard}redux.sync.{op} %r, %s, %m;"),
        Op::Elect { pred: true } => format!("{guard}elect.sync _|%q0, %m; {truth}"),
        Op::Elect { pred: false } => format!("{guard}elect.sync %r|%q0, %m;"),
        Op::Index { last: false } => format!("{alive} {first} {guard}shfl.sync.idx.b32 %r, %s, %t0, 31, %m;"),
        Op::Index { last: true } => {
            format!("{alive} clz.b32 %t0, %t3; sub.u32 %t0, 31, %t0; {guard}shfl.sync.idx.b32 %r, %s, %t0, 31, %m;")
        }
        Op::Shift { up, by } => {
            let (sign, mode, clamp) = if up { ("sub", "up", 0) } else { ("add", "down", 31) };
            let mut text = format!("{alive} mov.u32 %t0, %laneid; {sign}.u32 %t0, %t0, {by};");
            let shuffle = format!("shfl.sync.{mode}.b32 %t1, %s, {by}, {clamp}, %m;");
            from_member(&mut text, guard, &shuffle);
            text
        }
        Op::Butterfly(bits) => {
            let mut text = format!("{alive} mov.u32 %t0, %laneid; xor.b32 %t0, %t0, {bits};");
            from_member(&mut text, guard, &format!("shfl.sync.bfly.b32 %t1, %s, {bits}, 31, %m;"));
            text
        }
        Op::Memory => format!(
            "{alive} mov.u32 %t0, %tid.x; mov.u64 %u0, {name}_shared; mad.wide.u32 %u1, %t0, 4, %u0; {guard}st.shared.b32 [%u1], %s; \
             {guard}bar.warp.sync %m; {first} and.b32 %t1, %t0, 31; mov.u32 %t0, %tid.x; and.b32 %t0, %t0, -32; \
             add.u32 %t0, %t0, %t1; mad.wide.u32 %u1, %t0, 4, %u0; {guard}ld.shared.b32 %r, [%u1]; \
             {guard}bar.warp.sync %m;"
        ),
    }
}

/// What a shuffle leaves in `%t1`, if the lane `%t0` is a member; otherwise the lane's own value.
fn from_member(text: &mut String, guard: &str, shuffle: &str) {
    // A string takes whatever is written to it.
    let _ = write!(
        text,
        " {guard}{shuffle} shr.u32 %t2, %t3, %t0; and.b32 %t2, %t2, 1; setp.ne.u32 %q0, %t2, 0; selp.b32 %r, %t1, %s, %q0;"
    );
}
