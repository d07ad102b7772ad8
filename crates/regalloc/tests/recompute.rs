//! What is computed again ahead of the order: results stay, and where it can help nothing goes to memory.

use oriole_isa::Arch;
use oriole_ori::analysis::Flow;
use oriole_ori::{EntityRef, FuncId, Function, Module};
use oriole_orieval::{bank, crowded_function, from_environment, how_many, random_function, run};
use oriole_regalloc::{AllocOptions, OWN_NEED, RegisterBudget, RegisterCounts, allocate_function, recompute};

const COUNT: u32 = 24;
const LIMIT: u32 = 16;

fn options(limit: u32) -> AllocOptions {
    AllocOptions { maxrregcount: Some(limit), published_minimum: true, verify: true, ..Default::default() }
}

/// Computed again for a kernel with so many registers.
fn recomputed(func: &Function, limit: u32) -> Function {
    let mut func = func.clone();
    let counts =
        RegisterCounts::settle(&mut Module::new(Arch::Sm80), &options(limit)).expect("there is nothing to settle");
    let budget = RegisterBudget::new(FuncId::new(0), &func, Arch::Sm80, &counts, &options(limit));
    recompute(&mut func, Arch::Sm80, &budget, OWN_NEED, None).expect("there are names");
    func
}

/// Bytes that spill code stores.
fn spilled(func: &Function, limit: u32) -> u32 {
    let mut func = func.clone();
    let flow = Flow::new(&func);
    allocate_function(&mut func, Arch::Sm80, flow, &options(limit)).expect("allocation succeeds").spills.stores
}

/// Values at fixed distances from the thread's number are made ahead of a loop and stored behind it. `again`: the number is
/// written once more in the loop.
fn distances(again: bool) -> Function {
    let mut text = ".function entry f\n  .frame local=0 spill=0 align=0\n".to_owned();
    (0..COUNT + 3).for_each(|reg| text += &format!("  .reg %R{reg}\n"));
    let (base, sum, pred) = (COUNT, COUNT + 1, COUNT + 3);
    text += &format!("  .reg %P{pred}\nbix0: -> bix1\n    S2R %R{base}, SR_TID.X\n    MOV %R{sum}, RZ, 0xf\n");
    for reg in 0..COUNT {
        text += &format!("    IADD3 %R{reg}, PT, PT, %R{base}, {:#x}, RZ, !PT, !PT\n", 3 + 7 * reg);
    }
    text += &format!("bix1: -> bix1, bix2\n    IADD3 %R{sum}, PT, PT, %R{sum}, 0x5, RZ, !PT, !PT\n");
    if again {
        text += &format!("    IADD3 %R{base}, PT, PT, %R{base}, 0x1, RZ, !PT, !PT\n");
    }
    text += &format!(
        "    ISETP{{cmp=LT,sign=S32}} %P{pred}, PT, %R{sum}, 0x30, PT, PT\n    @%P{pred} BRA PT, bix1, _\nbix2:\n"
    );
    for reg in 0..COUNT {
        text += &format!("    STS RZ, URZ, {:#x}, %R{reg}\n", 4 * reg);
    }
    text += &format!("    STS RZ, URZ, 0x400, %R{base}\n    EXIT PT\n.end\n");
    text.parse().expect("it is well formed")
}

#[test]
fn what_lies_at_a_distance_needs_no_register_of_its_own() {
    let func = distances(false);
    let (want, again) = (run(&func, 5, &[]).expect("it is evaluated"), recomputed(&func, LIMIT));
    assert_eq!(run(&again, 5, &[]), Ok(want));
    assert!(spilled(&func, LIMIT) > 0);
    assert_eq!(spilled(&again, LIMIT), 0);
}

/// What comes from uniform registers that do not live there any more comes from general ones then: constants, constant banks,
/// numbers of the block.
#[test]
fn what_was_uniform_is_made_in_general_registers() {
    let mut text = distances(false).to_string();
    let base = format!("%R{COUNT}");
    let mut uniform = String::new();
    for reg in 0..COUNT {
        let number = COUNT + 4 + reg;
        let brought = match reg % 3 {
            0 => format!("UMOV %UR{number}, {:#x}", 5 + reg),
            1 => format!("ULDC %UR{number}, c[0][{:#x}], URZ", 4 * reg),
            _ => format!("S2UR %UR{number}, SR_CTAID.X"),
        };
        uniform += &format!("    {brought}\n");
        let sum = format!("{base}, {:#x}, RZ, !PT, !PT\n", 3 + 7 * reg);
        assert!(text.contains(&sum), "{text}");
        text = text.replace(&sum, &format!("{base}, %UR{number}, RZ, !PT, !PT\n"));
        text = text.replace("bix0: -> bix1\n", &format!("  .reg %UR{number}\nbix0: -> bix1\n"));
    }
    let text = text.replace("SR_TID.X\n", &format!("SR_TID.X\n{uniform}"));
    let func: Function = text.parse().expect("it is well formed");
    // The same without uniform registers can be evaluated.
    let evaluate = |func: &Function| {
        let general = func.to_string().replace("%UR", "%R").replace("S2UR", "S2R").replace("], URZ", "], 0xf");
        let general = general.replace("ULDC", "MOV").replace("UMOV", "MOV");
        run(&general.parse().expect("it is well formed"), 5, &[9; 64]).expect("it is evaluated")
    };
    let again = recomputed(&func, LIMIT);
    assert_eq!(evaluate(&again), evaluate(&func), "{again}");
    assert!(spilled(&func, LIMIT) > 0);
    assert_eq!(spilled(&again, LIMIT), 0);
    let again = again.to_string();
    assert!(again.matches(" S2R ").count() > 2 && !again.contains("ULDC") && !again.contains("UMOV"), "{again}");
}

/// The value would be another.
#[test]
fn what_is_computed_from_what_changes_stays() {
    let func = distances(true);
    assert_eq!(recomputed(&func, LIMIT).to_string(), func.to_string());
}

/// What is in a register from the start is somebody else's behind a call.
#[test]
fn what_is_computed_from_arguments_stays() {
    let text = distances(false).to_string();
    // The thread's number comes as an argument, in R4.
    let number = format!("%R{COUNT}");
    let read = format!("    S2R {number}, SR_TID.X\n");
    let argument = text.replace(&format!("  .reg {number}\n"), &format!("  .reg {number} physical=4 fixed\n"));
    assert!(text.contains(&read) && argument != text, "{text}");
    let func: Function = argument.replace(&read, "").parse().expect("it is well formed");
    assert_eq!(recomputed(&func, LIMIT).to_string(), func.to_string());
}

/// A carry is made again for the sum that takes it, and with it the half of a pair that its instruction writes: the other half
/// is where it was.
#[test]
fn one_half_that_is_made_again_leaves_the_other() {
    const CROWD: u32 = 8;
    let (base, count, sum, pair, carry, more) = (CROWD, CROWD + 1, CROWD + 2, CROWD + 3, CROWD + 4, CROWD + 5);
    let mut text = ".function entry f\n  .frame local=0 spill=0 align=0\n".to_owned();
    (0..pair).for_each(|reg| text += &format!("  .reg %R{reg}\n"));
    text += &format!("  .reg %D{pair}\n  .reg %P{carry}\n  .reg %P{more}\nbix0: -> bix1\n    S2R %R{base}, SR_TID.X\n");
    (0..CROWD).for_each(|reg| text += &format!("    POPC %R{reg}, %R{base}\n"));
    text += &format!(
        "    POPC %D{pair}.0, %R{base}
    IADD3{{x=OFF}} %D{pair}.1, %P{carry}, PT, %R{base}, 0xfffffffe, RZ, !PT, !PT
    IADD3{{x=ON}} %R{sum}, PT, PT, %D{pair}.0, 0x10, RZ, %P{carry}, !PT
    MOV %R{count}, RZ, 0xf
bix1: -> bix1, bix2
    IADD3 %R{count}, PT, PT, %R{count}, 0x1, RZ, !PT, !PT
    ISETP{{cmp=LT,sign=S32}} %P{more}, PT, %R{count}, 0x3, PT, PT
    @%P{more} BRA PT, bix1, _
bix2:
    STS RZ, URZ, 0x80, %R{sum}
    STS RZ, URZ, 0x84, %R{base}
    STS RZ, URZ, 0x88, %D{pair}.0
    STS RZ, URZ, 0x8c, %D{pair}.1
"
    );
    (0..CROWD).for_each(|reg| text += &format!("    STS RZ, URZ, {:#x}, %R{reg}\n", 4 * reg));
    let func: Function = (text + "    EXIT PT\n.end\n").parse().expect("it is well formed");
    let again = recomputed(&func, LIMIT);
    assert!(again.inst_count() > func.inst_count(), "{again}");
    assert_eq!(run(&again, 5, &[]), run(&func, 5, &[]), "{again}");
}

#[test]
fn nothing_is_done_where_there_are_registers() {
    let func = distances(false);
    assert_eq!(recomputed(&func, 255).to_string(), func.to_string());
}

#[test]
fn meaning_is_kept() {
    let seed = from_environment("ORIOLE_SEED", 1);
    let count = how_many(400);
    println!("seed {seed}, {count} functions");
    let mut changed = 0;
    for number in 0..count {
        let seed = seed.wrapping_mul(1_000_003).wrapping_add(number);
        for make in [random_function, crowded_function] {
            let func: Function = make(seed).expect("it has few registers");
            for limit in [16, 19] {
                let again = recomputed(&func, limit);
                for words in [[3, 5, 7, 9], [u32::MAX, 1, 0x8000_0000, 0]] {
                    let evaluate = |func: &Function| run(func, words[0] & 31, &bank(&words));
                    assert_eq!(
                        evaluate(&again),
                        evaluate(&func),
                        "seed {seed}, limit {limit}\n{func}\nbecomes\n{again}"
                    );
                }
                changed += u64::from(again.inst_count() != func.inst_count() || again.to_string() != func.to_string());
            }
        }
    }
    assert!(changed > count / 10, "{changed} of {count} functions change");
}
