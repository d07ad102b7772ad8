//! Tests that are repeated where more predicates are live than there are: results stay, and none goes to a general register.

use oriole_isa::{Arch, Opcode};
use oriole_ori::Function;
use oriole_ori::analysis::Flow;
use oriole_orieval::{bank, crowded_function, from_environment, how_many, run};
use oriole_regalloc::{AllocOptions, allocate_function, retest};

const COUNT: u32 = 12;

fn retested(func: &Function) -> Function {
    let mut func = func.clone();
    retest(&mut func, None).expect("there are names");
    func
}

/// How often allocation puts a predicate's bit into a general register.
fn saved(func: &Function) -> usize {
    let mut func = func.clone();
    let flow = Flow::new(&func);
    let options = AllocOptions { verify: true, ..Default::default() };
    allocate_function(&mut func, Arch::Sm80, flow, &options).expect("allocation succeeds");
    func.iter_insts().filter(|(_, inst)| func[*inst].opcode == Opcode::SEL).count()
}

/// Tests of the thread's number, all ahead of who reads them, which stand in another block if `across`. `between` comes behind
/// the tests.
fn up_and_down(across: bool, between: &str) -> Function {
    let (thread, first) = (COUNT, COUNT + 1);
    let mut text = ".function entry f\n  .frame local=0 spill=0 align=0\n".to_owned();
    (0..=COUNT).for_each(|reg| text += &format!("  .reg %R{reg}\n"));
    (0..COUNT).for_each(|bit| text += &format!("  .reg %P{}\n", first + bit));
    let next = if across { "bix0: -> bix1\n" } else { "bix0:\n" };
    text += &format!("{next}    S2R %R{thread}, SR_TID.X\n");
    for bit in 0..COUNT {
        let pred = first + bit;
        text += &format!("    ISETP{{cmp=GT,sign=S32}} %P{pred}, PT, %R{thread}, {:#x}, PT, PT\n", 1 + bit);
        text += &format!("    @!%P{pred} STS RZ, URZ, {:#x}, %R{thread}\n", 4 * bit);
    }
    text += between;
    text += if across { "bix1:\n" } else { "" };
    for bit in (0..COUNT).rev() {
        text += &format!("    MOV %R{bit}, RZ, 0xf\n    @%P{} MOV %R{bit}, %R{thread}, 0xf\n", first + bit);
        text += &format!("    STS RZ, URZ, {:#x}, %R{bit}\n", 0x80 + 4 * bit);
    }
    text += "    EXIT PT\n.end\n";
    text.parse().unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn tests(func: &Function) -> usize {
    func.iter_insts().filter(|(_, inst)| func[*inst].opcode == Opcode::ISETP).count()
}

/// Within a block, and in another one, what has no place is tested again.
#[test]
fn what_has_no_place_is_tested_again() {
    for across in [false, true] {
        let func = up_and_down(across, "");
        let again = retested(&func);
        for thread in [0, 5, 31] {
            assert_eq!(run(&again, thread, &[]), run(&func, thread, &[]), "{again}");
        }
        assert!(saved(&func) > 0, "there were places enough");
        assert_eq!(saved(&again), 0, "{again}");
        let more = tests(&again) - tests(&func);
        assert!((1..=COUNT as usize).contains(&more), "{more} tests more\n{again}");
    }
}

/// What is tested has changed by then: nothing is tested again.
#[test]
fn what_has_changed_is_not_tested_again() {
    let between = format!("    IADD3 %R{COUNT}, PT, PT, %R{COUNT}, 0x1, RZ, !PT, !PT\n");
    for across in [false, true] {
        let func = up_and_down(across, &between);
        assert_eq!(retested(&func).to_string(), func.to_string());
    }
}

/// What a loop writes once may be another value when the predicate is read, in the next round: nothing is tested again in another
/// block.
#[test]
fn what_a_loop_writes_is_not_tested_again_elsewhere() {
    let text = up_and_down(true, "").to_string();
    let (thread, more) = (format!("%R{COUNT}"), 2 * COUNT + 1);
    let number = format!("    S2R {thread}, SR_TID.X\n");
    assert!(text.contains(&number), "{text}");
    let text = text.replace(&number, &format!("    MOV %R0, RZ, 0xf\nbix2: -> bix1\n{number}"));
    let again = format!(
        "    ISETP{{cmp=GT,sign=S32}} %P{more}, PT, {thread}, 0x40, PT, PT\n    @%P{more} BRA PT, bix2, _\nbix3:\n    EXIT PT\n"
    );
    let text = text
        .replace("    EXIT PT\n", &again)
        .replace("bix0: -> bix1", "bix0: -> bix2")
        .replace("bix1:\n", "bix1: -> bix2, bix3\n");
    let text = text.replace(&format!("  .reg %P{}\n", more - 1), &format!("  .reg %P{}\n  .reg %P{more}\n", more - 1));
    let func: Function = text.parse().unwrap_or_else(|error| panic!("{error}\n{text}"));
    let outside: String = text.replace(&format!("bix2: -> bix1\n{number}"), &format!("{number}bix2: -> bix1\n"));
    assert_eq!(tests(&retested(&func)), tests(&func), "{}", retested(&func));
    let func: Function = outside.parse().unwrap_or_else(|error| panic!("{error}\n{outside}"));
    assert!(tests(&retested(&func)) > tests(&func));
}

/// Fewer predicates than there are stay where they are.
#[test]
fn with_places_for_all_nothing_is_tested_again() {
    let text = up_and_down(true, "").to_string();
    let few: String = text
        .lines()
        .filter(|line| !(6..COUNT).any(|bit| mentions(line, bit)))
        .map(|line| format!("{line}\n"))
        .collect();
    let func: Function = few.parse().unwrap_or_else(|error| panic!("{error}\n{few}"));
    assert_eq!(retested(&func).to_string(), func.to_string());
}

/// Whether a line reads or writes the predicate of a bit.
fn mentions(line: &str, bit: u32) -> bool {
    !line.contains(".reg") && line.contains(&format!("%P{}", COUNT + 1 + bit))
}

/// Random functions with many variables mean what they did; in some of them tests are repeated.
#[test]
fn random_functions_stay_what_they_were() {
    let (first, count) = (from_environment("ORIOLE_SEED", 1), how_many(700));
    let mut repeated = 0;
    for seed in first..first + count {
        let func = crowded_function(seed).expect("it is made");
        let again = retested(&func);
        repeated += usize::from(tests(&again) != tests(&func));
        for thread in [0, 5] {
            assert_eq!(
                run(&again, thread, &bank(&[3, 5, 7, seed as u32])),
                run(&func, thread, &bank(&[3, 5, 7, seed as u32])),
                "seed {seed}\n{func}\n{again}"
            );
        }
    }
    assert!(repeated > 0 || count < 100, "no function of {count} repeats a test");
}
