//! What the passes on loops and addresses make of functions: shapes of the code, and the same values as before.
//!
//! Each function is `i32 f(i32 %n, ptr %p)`; the evaluator runs it before and after.

use oriole_ireval::{Memory, Settings, Value, run as evaluate};
use oriole_nvptx::ir::{AddressSpace, Module, verify};
use oriole_nvptx::opt::{Options, run};
use oriole_nvptx::text::{parse, print};

/// Elements that `%p` points to.
const ELEMENTS: u32 = 256;

fn result(module: &Module, n: u32) -> u64 {
    let bytes: Vec<u8> = (0..ELEMENTS).flat_map(|at| (at * at + 3).to_le_bytes()).collect();
    let mut memory = Memory::for_module(module, 0).expect("no variables");
    let buffer = memory.add(AddressSpace::GLOBAL, &bytes, 256).expect("it fits");
    let symbol = module.symbol("f").expect("the function is there");
    let args = [Value::Bits(n.into()), Value::Bits(buffer.into())];
    match evaluate(module, symbol, &args, &mut memory, &Settings::default()) {
        Ok(Some(Value::Bits(bits))) => bits as u64,
        other => panic!("{other:?}"),
    }
}

/// Cleans a module up and answers its text; `values` of `%n` give the same as before.
#[track_caller]
fn clean(text: &str, values: &[u32]) -> String {
    let module = parse(text, "rule.ll").unwrap_or_else(|error| panic!("{}\n{text}", error.render(text)));
    let mut after = module.clone();
    run(&mut after, &Options::default());
    let printed = print(&after);
    verify(&after).unwrap_or_else(|error| panic!("{error}\n{printed}"));
    for &n in values {
        assert_eq!(result(&module, n), result(&after, n), "n = {n}\n{printed}");
    }
    printed
}

fn count(text: &str, what: &str) -> usize {
    text.matches(what).count()
}

/// A loop that sums what `body` makes of `%i`, as `%x`; `bound` ends it.
fn sum(start: &str, step: i32, predicate: &str, bound: &str, body: &str) -> String {
    format!(
        "define i32 @f(i32 %n, ptr %p) {{
         entry:
           br label %head
         head:
           %i = phi i32 [ {start}, %entry ], [ %next, %head ]
           %s = phi i32 [ 0, %entry ], [ %t, %head ]
           {body}
           %t = add i32 %s, %x
           %next = add nsw i32 %i, {step}
           %more = icmp {predicate} i32 %next, {bound}
           br i1 %more, label %head, label %out
         out:
           ret i32 %t
         }}"
    )
}

const LOAD: &str = "%w = sext i32 %i to i64
    %a = getelementptr inbounds i32, ptr %p, i64 %w
    %x = load i32, ptr %a, align 4";

#[test]
fn loops_of_known_count_become_straight_code() {
    let text = clean(&sum("0", 1, "slt", "5", LOAD), &[0]);
    assert_eq!((count(&text, "phi"), count(&text, "load i32"), count(&text, "br ")), (0, 5, 0), "{text}");
    // Any step that integers are counted by.
    let halving = "define i32 @f(i32 %n, ptr %p) {
        entry:
          br label %head
        head:
          %i = phi i32 [ 40, %entry ], [ %next, %body ]
          %s = phi i32 [ %n, %entry ], [ %t, %body ]
          %more = icmp ugt i32 %i, 1
          br i1 %more, label %body, label %out
        body:
          %t = mul i32 %s, 3
          %next = lshr i32 %i, 1
          br label %head
        out:
          ret i32 %s
        }";
    let text = clean(halving, &[1, 7]);
    // 3 to the power of 5: 40, 20, 10, 5, 2.
    assert!(count(&text, "phi") == 0 && text.contains("mul i32 %n, 243"), "{text}");
}

#[test]
fn a_way_out_in_the_middle_stays() {
    let text = "define i32 @f(i32 %n, ptr %p) {
        entry:
          br label %head
        head:
          %i = phi i32 [ 0, %entry ], [ %next, %tail ]
          %w = sext i32 %i to i64
          %a = getelementptr inbounds i32, ptr %p, i64 %w
          %x = load i32, ptr %a, align 4
          %found = icmp ugt i32 %x, %n
          br i1 %found, label %out, label %tail
        tail:
          %next = add nsw i32 %i, 1
          %more = icmp slt i32 %next, 6
          br i1 %more, label %head, label %out
        out:
          %y = add i32 %x, %i
          ret i32 %y
        }";
    let after = clean(text, &[0, 4, 12, 27, 100]);
    // Behind the last one both ways lead out.
    assert_eq!((count(&after, "load i32"), count(&after, "icmp ugt")), (6, 5), "{after}");
}

#[test]
fn long_loops_run_several_times_for_each_test() {
    let after = clean(&sum("0", 1, "ne", "256", LOAD), &[0]);
    assert_eq!((count(&after, "load i32"), count(&after, "icmp")), (8, 1), "{after}");
}

#[test]
fn the_source_decides_about_unrolling() {
    let with = |mark: &str, bound: &str| {
        let text = sum("0", 1, "slt", bound, LOAD).replace("label %out\n", "label %out, !llvm.loop !0\n");
        format!("{text}\n!0 = distinct !{{!0, !1}}\n!1 = !{{!\"llvm.loop.unroll.{mark}}}\n")
    };
    let copies = |text: &str, values: &[u32]| count(&clean(text, values), "load i32");
    assert_eq!(copies(&with("disable\"", "5"), &[0]), 1);
    assert_eq!(copies(&with("disable\"", "%n"), &[3]), 1);
    assert_eq!(copies(&with("count\", i32 3", "%n"), &[1, 2, 3, 4, 9, 17]), 3);
    assert_eq!(copies(&with("full\"", "200"), &[0]), 200);
}

#[test]
fn loops_of_unknown_count_run_ahead() {
    let values: Vec<u32> = (1..20).chain([63, 64, 65]).collect();
    for (start, step, predicate, bound) in [
        ("0", 1, "slt", "%n"),
        ("0", 1, "ult", "%n"),
        ("0", 3, "slt", "%n"),
        ("0", 2, "sle", "%n"),
        ("1", 2, "ule", "%n"),
        ("%n", -1, "sgt", "0"),
        ("%n", -3, "sge", "2"),
        ("%n", -2, "sgt", "-1"),
    ] {
        let after = clean(&sum(start, step, predicate, bound, LOAD), &values);
        // Four runs, and the loop itself.
        assert_eq!(count(&after, "load i32"), 5, "{predicate} {step}\n{after}");
    }
    let after = clean(&sum("0", 1, "ne", "%n", LOAD), &values);
    assert_eq!(count(&after, "load i32"), 5, "{after}");
    // Limits at the ends of the range: nothing may wrap around.
    let narrow = sum("%n", 1, "slt", "2147483647", "%x = load i32, ptr %p, align 4");
    clean(&narrow, &[2_147_483_640, 2_147_483_645, 2_147_483_646]);
    let narrow = sum("%n", -1, "sgt", "-2147483648", "%x = load i32, ptr %p, align 4");
    clean(&narrow, &[2_147_483_655, 2_147_483_650, 2_147_483_649]);
}

#[test]
fn threads_that_wait_for_each_other_stay_together() {
    let barrier = format!("{LOAD}\n    call void @llvm.nvvm.barrier0()");
    let text = format!("declare void @llvm.nvvm.barrier0()\n{}", sum("0", 1, "slt", "%n", &barrier));
    let module = parse(&text, "rule.ll").expect("IR");
    let mut after = module.clone();
    run(&mut after, &Options::default());
    assert_eq!(count(&print(&after), "load i32"), 1, "{}", print(&after));
}

/// A function that sums loads at the indices that `lines` make of `%n`.
fn loads(lines: &[&str]) -> String {
    let mut text = String::from("define i32 @f(i32 %n, ptr %p) {\n  %s0 = add i32 0, 0\n");
    for (at, line) in lines.iter().enumerate() {
        let next = at + 1;
        text += &format!(
            "  %i{at} = {line}\n  %w{at} = sext i32 %i{at} to i64\n  %a{at} = getelementptr inbounds i32, ptr %p, i64 %w{at}\n  \
             %x{at} = load i32, ptr %a{at}, align 4\n  %s{next} = add i32 %s{at}, %x{at}\n"
        );
    }
    text + &format!("  ret i32 %s{}\n}}\n", lines.len())
}

#[test]
fn constants_of_indices_become_offsets() {
    let after = clean(&loads(&["add nsw i32 %n, 1", "add nsw i32 %n, 2", "add nsw i32 %n, 5"]), &[1, 9]);
    assert_eq!(count(&after, "[4 x i8], ptr"), 1, "one address for all:\n{after}");
    for offset in ["i64 4\n", "i64 8\n", "i64 20\n"] {
        assert!(after.contains(offset), "{offset}{after}");
    }
    // A sum that may wrap around is not the sum of what is extended.
    let wrapping = clean(&loads(&["add i32 %n, 1", "add i32 %n, 2"]), &[1, 9, u32::MAX]);
    assert_eq!(count(&wrapping, "sext"), 2, "{wrapping}");
}

#[test]
fn addresses_one_value_apart_are_made_from_each_other() {
    let lines =
        ["mul nsw i32 %n, %n", "add nsw i32 %n, 1", "mul nsw i32 %i1, %n", "add nsw i32 %n, 2", "mul nsw i32 %i3, %n"];
    let after = clean(&loads(&lines), &[0, 3, 7]);
    assert_eq!(count(&after, "mul"), 1, "{after}");
}

#[test]
fn neighbours_are_loaded_and_stored_together() {
    let four = "define i32 @f(i32 %n, ptr align 16 %p) {
          %b = getelementptr i8, ptr %p, i64 4
          %c = getelementptr i8, ptr %p, i64 8
          %d = getelementptr i8, ptr %p, i64 12
          %w = load i32, ptr %p, align 16
          %x = load i32, ptr %b, align 4
          MIDDLE
          %y = load i32, ptr %c, align 8
          %z = load i32, ptr %d, align 4
          %s = sub i32 %w, %x
          %t = shl i32 %y, 3
          %u = add i32 %z, %t
          %v = xor i32 %s, %u
          ret i32 %v
        }";
    let after = clean(&four.replace("MIDDLE", ""), &[0]);
    assert_eq!((count(&after, "load <4 x i32>"), count(&after, "load i32")), (1, 0), "{after}");
    // What is written in between stays in between.
    let after = clean(&four.replace("MIDDLE", "store i32 %n, ptr %d, align 4"), &[77]);
    assert_eq!((count(&after, "load <4 x i32>"), count(&after, "load <2 x i32>")), (0, 1), "{after}");
    let stores = "define i32 @f(i32 %n, ptr align 8 %p) {
          %b = getelementptr i8, ptr %p, i64 4
          store i32 %n, ptr %b, align 4
          store i32 5, ptr %p, align 8
          %x = load i64, ptr %p, align 8
          %y = lshr i64 %x, 31
          %z = trunc i64 %y to i32
          ret i32 %z
        }";
    let after = clean(stores, &[9, u32::MAX]);
    assert_eq!((count(&after, "store <2 x i32>"), count(&after, "store i32")), (1, 0), "{after}");
}

#[test]
fn types_of_the_source_keep_accesses_apart() {
    let text = |tag: &str| {
        format!(
            "define i32 @f(i32 %n, ptr %p) {{
               %q = getelementptr i8, ptr %p, i64 16
               %at = sext i32 %n to i64
               %r = getelementptr i32, ptr %p, i64 %at
               %x = load i32, ptr %q, align 4, !tbaa !0
               store float 1.0, ptr %r, align 4{tag}
               %y = load i32, ptr %q, align 4, !tbaa !0
               %z = add i32 %x, %y
               ret i32 %z
             }}
             !0 = !{{!1, !1, i64 0}}
             !1 = !{{!\"int\", !4, i64 0}}
             !2 = !{{!3, !3, i64 0}}
             !3 = !{{!\"float\", !4, i64 0}}
             !4 = !{{!\"omnipotent char\", !5, i64 0}}
             !5 = !{{!\"Simple C++ TBAA\"}}
             !6 = !{{!4, !4, i64 0}}\n"
        )
    };
    assert_eq!(count(&clean(&text(", !tbaa !2"), &[9]), "load i32"), 1);
    for tag in ["", ", !tbaa !6", ", !tbaa !0"] {
        assert_eq!(count(&clean(&text(tag), &[4, 9]), "load i32"), 2, "{tag}");
    }
}

#[test]
fn what_memory_holds_is_not_loaded_or_stored_again() {
    let text = |middle: &str| {
        format!(
            "define i32 @f(i32 %n, ptr %p) {{
               %at = and i32 %n, 63
               %w = zext i32 %at to i64
               %a = getelementptr inbounds i32, ptr %p, i64 %w
               %b = getelementptr inbounds i32, ptr %p, i64 5
               store i32 %n, ptr %a, align 4
               {middle}
               %x = load i32, ptr %a, align 4
               store i32 %x, ptr %a, align 4
               ret i32 %x
             }}"
        )
    };
    let accesses = |middle: &str| {
        let after = clean(&text(middle), &[0, 5, 9]);
        (count(&after, "load i32"), count(&after, "store i32"))
    };
    assert_eq!(accesses(""), (0, 1));
    // What is written in between may be the same place, and is, when %n is 5; what is loaded then is there already.
    assert_eq!(accesses("store i32 77, ptr %b, align 4"), (1, 2));
}

#[test]
fn one_of_a_value_and_its_extension_goes_around_a_loop() {
    let text = "define i32 @f(i32 %n, ptr %p) {
        entry:
          br label %head
        head:
          %i = phi i32 [ 0, %entry ], [ %next, %head ]
          %j = phi i64 [ 0, %entry ], [ %wide, %head ]
          %s = phi i32 [ 0, %entry ], [ %t, %head ]
          %k = and i64 %j, 63
          %a = getelementptr inbounds i32, ptr %p, i64 %k
          %x = load volatile i32, ptr %a, align 4
          %t = add i32 %s, %x
          %step = and i32 %x, 7
          %up = add i32 %i, %step
          %next = add i32 %up, 1
          %wide = zext i32 %next to i64
          %more = icmp ult i32 %next, %n
          br i1 %more, label %head, label %out
        out:
          ret i32 %t
        }";
    let after = clean(text, &[1, 40, 200]);
    assert_eq!((count(&after, "phi i64"), count(&after, "phi i32")), (0, 2), "{after}");
}
