//! The allocation checker: each of the ten problems in an allocation that was broken by hand, and random allocations broken
//! at random, of which the evaluator says whether they still mean the same.

use crate::random::Random;
use oriole_isa::Arch;
use oriole_ori::*;
use oriole_orieval::{bank, crowded_function, from_environment, how_many, run, run_from};
use oriole_regalloc::{AllocOptions, CheckError, Problem, allocate_function, check};

/// A function before and after allocation from one text, line by line: ` ` stands in both, `-` only before, `+` only after,
/// and `<` before becomes the `>` that follows. Directives and labels belong to both.
fn pair(text: &str) -> (Function, Function) {
    let without = |marks: [char; 2]| -> Function {
        let kept = text.lines().filter(|line| !line.starts_with(marks));
        let plain: Vec<&str> = kept.map(|line| line.trim_start_matches(['+', '-', '<', '>'])).collect();
        plain.join("\n").parse().unwrap_or_else(|error| panic!("{error}\n{text}"))
    };
    let (before, shown) = (without(['+', '>']), without(['-', '<']));
    let mut after = before.clone();
    let mut blocks = before.layout().iter();
    let mut code: Option<(Block, std::slice::Iter<'_, InstId>, std::slice::Iter<'_, InstId>)> = None;
    let (mut list, mut changed) = (Vec::new(), None);
    for line in text.lines() {
        if line.starts_with("bix") || line.starts_with(".end") {
            if let Some((block, ..)) = code {
                after.edit().set_insts(block, std::mem::take(&mut list));
            }
            code = blocks.next().map(|b| (*b, before.block_insts(*b).iter(), shown.block_insts(*b).iter()));
            continue;
        }
        let Some((_, old, new)) = code.as_mut().filter(|_| !line.trim().is_empty()) else { continue };
        match line.as_bytes()[0] {
            b'-' => drop(old.next()),
            b'<' => changed = old.next(),
            b'+' => list.push(after.edit().add(shown[*new.next().unwrap()].clone())),
            b'>' => {
                let inst = *changed.take().expect("a line with < before");
                after.edit().replace(inst, shown[*new.next().unwrap()].clone());
                list.push(inst);
            }
            _ => {
                new.next();
                list.push(*old.next().unwrap());
            }
        }
    }
    (before, after)
}

fn judge(text: &str) -> Result<(), Box<CheckError>> {
    let (before, after) = pair(text);
    check(&before, &after, Arch::Sm80)
}

/// The allocation is right; with `old` replaced by `new` it is wrong, in this way.
fn caught(text: &str, old: &str, new: &str, problem: Problem) -> CheckError {
    judge(text).unwrap_or_else(|error| panic!("what is right: {error}\n{text}"));
    assert_eq!(text.matches(old).count(), 1, "{old} stands in it once");
    let broken = text.replace(old, new);
    let error = judge(&broken).expect_err(&format!("nothing is found\n{broken}"));
    assert_eq!(error.problem, problem, "{error}\n{broken}");
    *error
}

/// `%R0` waits in memory while `%R1` has its register.
const SPILL: &str = "
.function entry f
  .frame local=0 spill=16 align=16
  .reg %R0 physical=2
  .reg %R1 physical=2
  .reg %R2 physical=4
  .reg %R3 physical=9
bix0:
    S2R %R0, SR_TID.X
+   STL{mem_size=B32} R1, _, s:8, %R0 ;spill
    IADD3 %R1, PT, PT, RZ, 0x7, RZ, !PT, !PT
    STS RZ, _, s:0, %R1
+   LDL{mem_size=B32} %R2, R1, _, s:8 ;refill
<   STS RZ, _, s:4, %R0
>   STS RZ, _, s:4, %R2
    EXIT PT
.end";

#[test]
fn a_refill_without_its_spill() {
    let other_slot = caught(SPILL, "R1, _, s:8, %R0", "R1, _, s:12, %R0", Problem::MissingSpill);
    assert_eq!(other_slot.slot.as_deref(), Some("local[R1+0x8]"));
    // Something is stored there, but it is not the value.
    let late = "+   STL{mem_size=B32} R1, _, s:8, %R1 ;spill\n+   LDL";
    let other_value = caught(SPILL, "+   LDL", late, Problem::MissingSpill);
    assert_eq!(other_value.value.as_deref(), Some("%R0"));
    assert_eq!(other_value.register.as_deref(), Some("R4"));
    assert_eq!(other_value.slot.as_deref(), Some("local[R1+0x8]"));
    assert!(other_value.to_string().contains("%R1 stands there"), "{other_value}");
    // The register that slots are addressed from is another.
    let moved = "+   MOV R1, %R0, 0xf\n+   LDL";
    caught(SPILL, "+   LDL", moved, Problem::UninitializedMemory);
}

/// A spill in both branches, and the refill behind them; the slot is in shared memory.
const BRANCHES: &str = "
.function entry f
  .frame local=0 spill=16 align=16
  .reg %D0 physical=2
  .reg %P1 physical=0
  .reg %D2 physical=8
bix0: -> bix2, bix1
    S2R %D0.0, SR_TID.X
    S2R %D0.1, SR_TID.Y
    ISETP{bop=AND,cmp=LT,sign=S32} %P1, PT, %D0.0, 0x1, PT, PT
    @%P1 BRA PT, bix2, _
bix1: -> bix3
    IADD3 %D0.1, PT, PT, %D0.0, 0x7, RZ, !PT, !PT
+   STS{mem_size=B64} R20, _, s:64, %D0 ;spill
bix2: -> bix3
+   STS{mem_size=B32} R20, _, s:64, %D0.0 ;spill
+   STS{mem_size=B32} R20, _, s:68, %D0.1 ;spill
bix3:
+   LDS{mem_size=B64} %D2, R20, _, s:64 ;refill
<   STS{mem_size=B64} RZ, _, s:0, %D0
>   STS{mem_size=B64} RZ, _, s:0, %D2
    EXIT PT
.end";

#[test]
fn a_refill_of_what_one_path_has_not_stored() {
    let line = "+   STS{mem_size=B32} R20, _, s:68, %D0.1 ;spill\n";
    let error = caught(BRANCHES, line, "", Problem::UninitializedMemory);
    assert_eq!(error.slot.as_deref(), Some("shared[R20+0x44]"));
    assert_eq!(error.block, Block::from_u32(3));
}

/// A predicate that is written and read under a guard, in a loop, and waits in memory: the first time round nothing is there.
const UNDER_A_GUARD: &str = "
.function entry f
  .frame local=0 spill=16 align=16
  .reg %R0 physical=2
  .reg %P1 physical=0
  .reg %P2 physical=1
  .reg %R3 physical=3
  .reg %P4 physical=2
bix0: -> bix1
    S2R %R0, SR_TID.X
bix1: -> bix1, bix2
    ISETP{bop=AND,cmp=LT,sign=S32} %P2, PT, %R0, 0x8, PT, PT
+   LDL{mem_size=B32} %R3, R1, _, s:8 ;refill
+   ISETP{cmp=NE,sign=U32} %P4, PT, %R3, RZ, PT, PT ;bit_refill
<   @%P2 ISETP{bop=AND,cmp=LT,sign=S32} %P1, PT, %R0, 0x4, PT, PT
>   @%P2 ISETP{bop=AND,cmp=LT,sign=S32} %P4, PT, %R0, 0x4, PT, PT
+   SEL %R3, RZ, 0x1, !%P4 ;bit_spill
+   STL{mem_size=B32} R1, _, s:8, %R3 ;spill
<   @%P2 SEL %R0, %R0, 0x9, %P1
>   @%P2 SEL %R0, %R0, 0x9, %P4
    @%P2 BRA PT, bix1, _
bix2:
    STS RZ, _, s:0, %R0
    EXIT PT
.end";

#[test]
fn what_is_undefined_may_come_from_where_nothing_is() {
    assert_eq!(judge(UNDER_A_GUARD), Ok(()));
    // Written in any case ahead of the loop it is not undefined there.
    let first = "    ISETP{bop=AND,cmp=LT,sign=S32} %P1, PT, RZ, 0x4, PT, PT\nbix1: ->";
    let error = judge(&UNDER_A_GUARD.replace("bix1: ->", first)).expect_err("the loop reads it");
    assert_eq!(error.problem, Problem::UninitializedMemory, "{error}");
    // Nobody reads what is written under the guard.
    let unread = UNDER_A_GUARD.replace("0x9, %P1", "0x9, %P2").replace("0x9, %P4", "0x9, %P2");
    let never_stored = unread.lines().filter(|line| !line.contains("_spill") && !line.contains(";spill"));
    assert_eq!(judge(&never_stored.collect::<Vec<_>>().join("\n")), Ok(()));
}

/// Two predicates packed into one register, which goes to memory and comes back.
const PACK: &str = "
.function entry f
  .frame local=0 spill=16 align=16
  .reg %R0 physical=2
  .reg %P1 physical=0
  .reg %P2 physical=3
  .reg %P3 physical=0
  .reg %P4 physical=3
  .reg %R5 physical=5
  .reg %R6 physical=6
  .reg %R7 physical=7
  .reg %R8 physical=8
bix0:
    S2R %R0, SR_TID.X
    ISETP{bop=AND,cmp=LT,sign=S32} %P1, PT, %R0, 0x1, PT, PT
    ISETP{bop=AND,cmp=LT,sign=S32} %P2, PT, %R0, 0x2, PT, PT
+   P2R{p2r_byte=B0} %R5, RZ, 0x1 ;bit_spill
+   P2R{p2r_byte=B1} %R5, %R5, 0x8 ;bit_spill
+   STL{mem_size=B32} R1, _, s:0, %R5 ;spill
    ISETP{bop=AND,cmp=LT,sign=S32} %P3, PT, %R0, 0x3, PT, PT
    ISETP{bop=AND,cmp=LT,sign=S32} %P4, PT, %R0, 0x4, PT, PT
    @%P3 STS RZ, _, s:0, %R0
    @%P4 STS RZ, _, s:4, %R0
+   LDL{mem_size=B32} %R6, R1, _, s:0 ;refill
+   MOV %R7, %R6, 0xf
    IADD3 %R8, PT, PT, %R0, 0x7, RZ, !PT, !PT
+   R2P{p2r_byte=B0} %R7, 0x1 ;bit_refill
+   R2P{p2r_byte=B1} %R7, 0x8 ;bit_refill
    @%P1 STS RZ, _, s:8, %R8
    @%P2 STS RZ, _, s:12, %R8
    EXIT PT
.end";

#[test]
fn packed_predicates_that_are_not_those_unpacked() {
    for (old, new) in [
        // Not packed at all, another of them, another byte, without what was there.
        ("%R5, RZ, 0x1", "%R5, RZ, 0x2"),
        ("R2P{p2r_byte=B0}", "R2P{p2r_byte=B2}"),
        ("P2R{p2r_byte=B1} %R5", "P2R{p2r_byte=B3} %R5"),
        ("%R5, %R5, 0x8", "%R5, RZ, 0x8"),
    ] {
        caught(PACK, old, new, Problem::PackMismatch);
    }
    // Another value in the predicate that is packed.
    let spill = "+   P2R{p2r_byte=B0} %R5, RZ, 0x1 ;bit_spill\n";
    let late = PACK.replace(spill, &format!("    ISETP{{bop=AND,cmp=LT,sign=S32}} %P3, PT, %R0, 0x3, PT, PT\n{spill}"));
    assert_eq!(judge(&late).expect_err("P0 is another predicate").problem, Problem::PackMismatch);
}

#[test]
fn packed_predicates_whose_register_is_overwritten() {
    let error = caught(PACK, ".reg %R8 physical=8", ".reg %R8 physical=7", Problem::PackBaseDestroyed);
    assert_eq!(error.value.as_deref(), Some("%P1"));
    assert!(error.found.contains("IADD3"), "{error}");
    // Its slot was never written.
    caught(PACK, "+   STL{mem_size=B32} R1, _, s:0, %R5 ;spill\n", "", Problem::MissingSpill);
}

/// A predicate in a general register.
const BIT: &str = "
.function entry f
  .frame local=0 spill=0 align=16
  .reg %R0 physical=2
  .reg %P1 physical=0
  .reg %P2 physical=0
  .reg %P3 physical=1
  .reg %R4 physical=4
  .reg %R5 physical=5
bix0:
    S2R %R0, SR_TID.X
    ISETP{bop=AND,cmp=LT,sign=S32} %P1, PT, %R0, 0x1, PT, PT
+   SEL %R4, RZ, 0x1, !%P1 ;bit_spill
    ISETP{bop=AND,cmp=LT,sign=S32} %P2, PT, %R0, 0x2, PT, PT
    IADD3 %R5, PT, PT, %R0, 0x7, RZ, !PT, !PT
    @%P2 STS RZ, _, s:0, %R5
+   ISETP{bop=AND,cmp=NE,sign=U32} %P3, PT, %R4, RZ, PT, PT ;bit_refill
<   @!%P1 STS RZ, _, s:4, %R0
>   @!%P3 STS RZ, _, s:4, %R0
    EXIT PT
.end";

#[test]
fn a_predicate_that_does_not_come_back_from_its_register() {
    caught(BIT, "RZ, 0x1, !%P1", "RZ, 0x1, %P1", Problem::BitMismatch);
    caught(BIT, "cmp=NE", "cmp=EQ", Problem::BitMismatch);
    caught(BIT, "%R4, RZ, 0x1", "%R4, RZ, 0x0", Problem::BitMismatch);
    let late = "+   SEL %R4, RZ, 0x1, !%P2 ;bit_spill\n+   ISETP";
    caught(BIT, "+   ISETP", late, Problem::BitMismatch);
}

#[test]
fn a_predicate_whose_general_register_is_overwritten() {
    let error = caught(BIT, ".reg %R5 physical=5", ".reg %R5 physical=4", Problem::BitBaseDestroyed);
    assert_eq!((error.value.as_deref(), error.register.as_deref()), (Some("%P1"), Some("P1")));
}

/// Two predicates in bits of one general register.
const WORD: &str = "
.function entry f
  .frame local=0 spill=0 align=16
  .reg %R0 physical=2
  .reg %P1 physical=0
  .reg %P2 physical=0
  .reg %P3 physical=1
  .reg %R4 physical=4
  .reg %R5 physical=5
  .reg %R6 physical=6
bix0:
+   MOV %R4, RZ, 0xf
    S2R %R0, SR_TID.X
    ISETP{bop=AND,cmp=LT,sign=S32} %P1, PT, %R0, 0x1, PT, PT
+   SEL %R5, RZ, 0x1, !%P1 ;bit_spill
+   LOP3 PT, %R4, %R4, 0xfffffffe, %R5, 0xe2, !PT ;bit_spill
    ISETP{bop=AND,cmp=LT,sign=S32} %P2, PT, %R0, 0x2, PT, PT
+   SEL %R5, RZ, 0x2, !%P2 ;bit_spill
+   LOP3 PT, %R4, %R4, 0xfffffffd, %R5, 0xe2, !PT ;bit_spill
    IADD3 %R6, PT, PT, %R0, 0x7, RZ, !PT, !PT
    STS RZ, _, s:0, %R6
+   LOP3 %P3, RZ, %R4, 0x1, RZ, 0xc0, !PT ;bit_refill
<   @!%P1 STS RZ, _, s:4, %R0
>   @!%P3 STS RZ, _, s:4, %R0
+   LOP3 %P3, RZ, %R4, 0x2, RZ, 0xc0, !PT ;bit_refill
<   @!%P2 STS RZ, _, s:8, %R0
>   @!%P3 STS RZ, _, s:8, %R0
    EXIT PT
.end";

#[test]
fn predicates_that_share_a_register_keep_their_bits() {
    // The second one's mask takes the first one's bit, too; and the first one's keeps what was there.
    caught(WORD, "0xfffffffd", "0xfffffffc", Problem::BitMismatch);
    caught(WORD, "0xfffffffe", "0xffffffff", Problem::BitMismatch);
    // All bits of both, or the bits of the mask from the other register.
    caught(WORD, "0xfffffffd, %R5, 0xe2", "0xfffffffd, %R5, 0xfa", Problem::BitMismatch);
    caught(WORD, "0xfffffffd, %R5, 0xe2", "0xfffffffd, %R5, 0xb8", Problem::BitMismatch);
    // The bit of the other one, or one of both.
    caught(WORD, "%R4, 0x1, RZ, 0xc0", "%R4, 0x2, RZ, 0xc0", Problem::BitMismatch);
    caught(WORD, "%R4, 0x1, RZ, 0xc0", "%R4, 0x3, RZ, 0xc0", Problem::BitMismatch);
    caught(WORD, "%R4, 0x1, RZ, 0xc0", "%R4, 0x1, RZ, 0xf0", Problem::BitMismatch);
    caught(WORD, ".reg %R6 physical=6", ".reg %R6 physical=4", Problem::BitBaseDestroyed);
}

/// A uniform register waits in a general one, a uniform predicate in a uniform register, and the mark holds what is left.
const UNIFORM: &str = "
.function entry f
  .frame local=0 spill=0 align=16
  .reg %UR0 physical=4
  .reg %UR1 physical=4
  .reg %R2 physical=6
  .reg %UR3 physical=5
  .reg %R4 physical=7
  .reg %UP5 physical=0
  .reg %UP6 physical=0
  .reg %UR7 physical=8
  .reg %UP8 physical=1
  .reg %UR9 physical=9
bix0:
    S2UR %UR0, SR_CTAID.X
+   MOV %R2, %UR0, 0xf ;spill
    S2UR %UR1, SR_CTAID.Y
    UISETP{cmp=LT,sign=S32} %UP5, UPT, %UR1, 0x1, UPT, UPT
+   USEL %UR7, URZ, 0x1, !%UP5 ;bit_spill
    S2UR %UR9, SR_CTAID.Z
    UISETP{cmp=LT,sign=S32} %UP6, UPT, %UR1, 0x2, UPT, UPT
    USEL %UR1, %UR1, 0x3, %UP6
    S2R %R4, SR_TID.X
<   MOV %UR0, %UP5, %UR9 ;hold
>   MOV %UR9 ;hold
<   IADD3{x=OFF} %R4, PT, PT, %R4, %UR0, RZ, !PT, !PT
>   IADD3{x=OFF} %R4, PT, PT, %R4, %R2, RZ, !PT, !PT
+   R2UR PT, %UR3, %R2 ;refill
+   UISETP{cmp=NE,sign=U32} %UP8, UPT, %UR7, URZ, UPT, UPT ;bit_refill
<   USEL %UR1, %UR1, %UR0, %UP5
>   USEL %UR1, %UR1, %UR3, %UP8
    IADD3{x=OFF} %R4, PT, PT, %R4, %UR1, RZ, !PT, !PT
    STS RZ, _, s:0, %R4
    EXIT PT
.end";

#[test]
fn a_uniform_register_that_does_not_come_back() {
    let other = caught(UNIFORM, "PT, %UR3, %R2 ;refill", "PT, %UR3, %R4 ;refill", Problem::MissingSpill);
    assert_eq!((other.value.as_deref(), other.register.as_deref()), (Some("%UR0"), Some("UR5")));
    // Its general register is another's when it is read.
    let overwritten = caught(UNIFORM, "+   R2UR", "+   MOV %R2, %UR1, 0xf\n+   R2UR", Problem::MissingSpill);
    assert_eq!(overwritten.value.as_deref(), Some("%UR0"));
    // Who reads it there finds another.
    caught(
        UNIFORM,
        ">   IADD3{x=OFF} %R4, PT, PT, %R4, %R2,",
        ">   IADD3{x=OFF} %R4, PT, PT, %R4, %R4,",
        Problem::ExtraDefinitions,
    );
}

#[test]
fn a_uniform_predicate_that_does_not_come_back() {
    caught(UNIFORM, "UISETP{cmp=NE,sign=U32}", "UISETP{cmp=EQ,sign=U32}", Problem::BitMismatch);
    caught(UNIFORM, "!%UP5 ;bit_spill", "%UP5 ;bit_spill", Problem::BitMismatch);
    caught(UNIFORM, ".reg %UR9 physical=9", ".reg %UR9 physical=8", Problem::BitBaseDestroyed);
}

#[test]
fn what_a_mark_holds_stays() {
    let lost = caught(
        UNIFORM,
        "    S2R %R4, SR_TID.X\n",
        "    S2R %R4, SR_TID.X\n+   UMOV %UR9, 0x7\n",
        Problem::ExtraDefinitions,
    );
    assert_eq!(lost.value.as_deref(), Some("%UR9"));
}

#[test]
fn an_operand_that_is_nowhere() {
    caught(SPILL, ">   STS RZ, _, s:4, %R2", ">   STS RZ, _, s:4, %R3", Problem::Uninitialized);
}

/// A loop: `%R1` is written in each round and read in the next, `%R0` lives through.
const LOOP: &str = "
.function entry f
  .frame local=0 spill=0 align=16
  .reg %R0 physical=2
  .reg %R1 physical=3
  .reg %P2 physical=0
  .reg %R3 physical=5
  .reg %D4 physical=6
  .reg %R5 physical=2
bix0: -> bix1
    S2R %R0, SR_TID.X
-   MOV %R5, %R0, 0xf
    IADD3 %R1, PT, PT, RZ, 0x0, RZ, !PT, !PT
bix1: -> bix1, bix2
    IADD3 %R1, PT, PT, %R1, %R0, RZ, !PT, !PT
    ISETP{bop=AND,cmp=LT,sign=S32} %P2, PT, %R1, 0x64, PT, PT
    IADD3 %D4.0, PT, PT, %R1, %R5, RZ, !PT, !PT
    STS RZ, _, s:0, %D4.0
    @%P2 BRA PT, bix1, _
bix2:
+   MOV %R3, %R1, 0xf
<   STS RZ, _, s:4, %R1
>   STS RZ, _, s:4, %R3
    EXIT PT
.end";

#[test]
fn a_register_that_something_else_writes() {
    let shared = caught(LOOP, ".reg %D4 physical=6", ".reg %D4 physical=2", Problem::ExtraDefinitions);
    assert_eq!((shared.block, shared.value.as_deref()), (Block::from_u32(1), Some("%R0")));
    assert!(shared.found.contains("IADD3 %D4.0"), "{shared}");
    caught(LOOP, ">   STS RZ, _, s:4, %R3", ">   STS RZ, _, s:4, %D4", Problem::ExtraDefinitions);
    // What allocation has no reason to add, and what is in another order.
    caught(LOOP, "+   MOV %R3", "+   STG RZ, _, s:0, %R1\n+   MOV %R3", Problem::ExtraDefinitions);
    let (before, mut after) = pair(LOOP);
    let first = after.layout()[0];
    let mut insts = after.edit().take_insts(first);
    insts.reverse();
    after.edit().set_insts(first, insts);
    assert_eq!(check(&before, &after, Arch::Sm80).expect_err("another order").problem, Problem::ExtraDefinitions);
}

#[test]
fn a_copy_that_is_gone_without_its_register() {
    caught(LOOP, ".reg %R5 physical=2", ".reg %R5 physical=9", Problem::Uninitialized);
}

/// A constant is made again, a word of a constant bank is loaded again: one of two.
const AGAIN: &str = "
.function entry f
  .frame local=0 spill=0 align=16
  .reg %R0 physical=2
  .reg %D1 physical=4
  .reg %R2 physical=8
  .reg %D3 physical=10
bix0:
-   MOV %R0, 0x2a, 0xf
-   LDC{mem_size=B64} %D1, RZ, c[0][0x160]
+   MOV %R2, 0x2a, 0xf ;remat
<   STS RZ, _, s:0, %R0
>   STS RZ, _, s:0, %R2
+   LDC{mem_size=B32} %D3.1, RZ, c[0][0x164] ;remat
<   STS RZ, _, s:4, %D1.1
>   STS RZ, _, s:4, %D3.1
    EXIT PT
.end";

#[test]
fn what_is_computed_again_is_another_value() {
    let other = caught(AGAIN, "+   MOV %R2, 0x2a", "+   MOV %R2, 0x2b", Problem::Rematerialization);
    assert_eq!((other.value.as_deref(), other.register.as_deref()), (Some("%R0"), Some("R8")));
    caught(AGAIN, "c[0][0x164]", "c[0][0x160]", Problem::Rematerialization);
}

/// A mark of an undefined value is made again where another value has taken the register.
const MARKED: &str = "
.function entry f
  .frame local=0 spill=0 align=16
  .reg %R0 physical=2
  .reg %R1 physical=3
  .reg %R2 physical=3
  .reg %R3 physical=4
bix0:
    S2R %R0, SR_TID.X
    MOV %R1 ;undef
    PRMT %R2, %R1, 0x5410, %R0
    STS RZ, _, s:0, %R2
+   MOV %R3 ;undef ;remat
<   PRMT %R2, %R0, 0x7610, %R1
>   PRMT %R2, %R0, 0x7610, %R3
    STS RZ, _, s:4, %R2
    EXIT PT
.end";

#[test]
fn what_is_undefined_may_be_so_again() {
    assert_eq!(judge(MARKED), Ok(()));
    caught(MARKED, "MOV %R1 ;undef", "MOV %R1, 0x5, 0xf", Problem::Rematerialization);
}

/// `%R0` has another value on one of two ways.
const TWO_DEFINITIONS: &str = "
.function entry f
  .frame local=0 spill=0 align=16
  .reg %R0 physical=2
  .reg %P1 physical=0
bix0: -> bix2, bix1
    S2R %R0, SR_TID.X
    ISETP{bop=AND,cmp=LT,sign=S32} %P1, PT, %R0, 0x1, PT, PT
    @%P1 BRA PT, bix2, _
bix1: -> bix2
    MOV %R0, 0x5, 0xf
bix2:
    STS RZ, _, s:0, %R0
    EXIT PT
.end";

#[test]
fn a_definition_that_is_gone() {
    caught(TWO_DEFINITIONS, "    MOV %R0", "-   MOV %R0", Problem::DefinitionsDisappeared);
    // Nor may what has an effect go.
    caught(TWO_DEFINITIONS, "    STS RZ", "-   STS RZ", Problem::DefinitionsDisappeared);
}

/// One small change of an allocation.
fn break_somewhere(func: &mut Function, own: usize, random: &mut Random) {
    let added: Vec<(Block, InstId)> = func.iter_insts().filter(|(_, inst)| inst.index() >= own).collect();
    let (block, inst) = added[random.below(added.len())];
    let places: Vec<VReg> = func.regs().iter().filter(|(_, d)| d.physical.is_some()).map(|(reg, _)| reg).collect();
    let at = func.block_insts(block).iter().position(|other| *other == inst).unwrap_or(0);
    match random.below(4) {
        0 => func.edit().retain_insts(block, |_, other| other != inst),
        1 => {
            // Another place of the same kind.
            let reg = places[random.below(places.len())];
            let same: Vec<VReg> = places.into_iter().filter(|r| func[*r].reg_type == func[reg].reg_type).collect();
            let other = func[same[random.below(same.len())]].physical;
            func.edit().update_reg(reg, |data| data.physical = other);
        }
        2 if at + 1 < func.block_insts(block).len() => {
            let mut insts = func.edit().take_insts(block);
            insts.swap(at, at + 1);
            func.edit().set_insts(block, insts);
        }
        _ => func.edit().update(inst, |data| {
            for operand in &mut data.operands {
                if let OperandKind::Imm(offset, ImmKind::Signed) = operand.kind() {
                    *operand = Operand::imm_signed(offset as i32 ^ 4);
                }
            }
        }),
    }
}

/// Whatever changes what a function does is found.
#[test]
fn no_change_of_meaning_is_missed() {
    let inputs = [[3, 5, 7, 9], [u32::MAX, 1, 0x8000_0000, 0]];
    let evaluate = |func: &Function| inputs.map(|words| run(func, words[0] & 31, &bank(&words)));
    // The checker goes by bits, the evaluator by words: a register of predicates of which some bits are undefined is so as a whole.
    // Whether that matters shows in what comes of different bits.
    let from = |func: &Function, before| inputs.map(|words| run_from(func, words[0] & 31, &bank(&words), before));
    let (mut changed, mut found) = (0, 0);
    let (first, count) = (from_environment("ORIOLE_SEED", 0), how_many(60));
    println!("seed {first}, {count} functions");
    for seed in (0..count).map(|number| first.wrapping_mul(1_000_003).wrapping_add(number)) {
        let before = crowded_function(seed).expect("it has few registers");
        let options = AllocOptions {
            maxrregcount: Some([16, 19, 24][seed as usize % 3]),
            published_minimum: true,
            verify: false,
            ..Default::default()
        };
        let mut after = before.clone();
        let flow = analysis::Flow::new(&after);
        allocate_function(&mut after, Arch::Sm80, flow, &options).expect("it is allocated");
        check(&before, &after, Arch::Sm80).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let want = evaluate(&before);
        for number in 0..40 {
            let mut broken = after.clone();
            break_somewhere(
                &mut broken,
                before.insts().len(),
                &mut Random(seed.wrapping_mul(1_000).wrapping_add(number)),
            );
            let verdict = check(&before, &broken, Arch::Sm80);
            found += u32::from(verdict.is_err());
            if [0, u32::MAX, 0x9e37_79b9].into_iter().any(|before| from(&broken, before) != want) {
                changed += 1;
                assert!(
                    verdict.is_err(),
                    "seed {seed}, change {number}\n{before}\nbecomes\n{after}\nbroken\n{broken}\n{want:?}\n{:?}",
                    from(&broken, 0)
                );
            }
        }
    }
    println!("{changed} changes mattered, {found} were found");
    assert!(changed > 5 * count, "{changed} changes mattered, {found} were found");
}
