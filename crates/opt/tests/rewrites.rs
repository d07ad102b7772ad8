//! Rewrites against plain evaluation: what the phases make of a function leaves the same memory.
//!
//! [`every_form`] takes each opcode that rules know with all its modifiers, and all choices of registers, constants
//! and copies of constants as sources: every other choice, or each with `ORIOLE_THOROUGH=1`. [`random_functions`] chains
//! such instructions under guards, branches and loops, with registers written many times. `ORIOLE_SEED` chooses others,
//! `ORIOLE_COUNT` says how many.

use fastrand::Rng;
use oriole_isa::{Arch, Bop, Field, Mods, Opcode, Role};
use oriole_opt::pipeline::{Code, PIPELINE, works_on_ssa_form};
use oriole_opt::{CallBarriers, Changed, Context, knobs::Knobs, synchronise};
use oriole_ori::analysis::{Analyses, Kept};
use oriole_ori::{BuildError, EntitySet, Function, FunctionKind, Operand, RegType, verify};
use oriole_orieval::{
    EDGES, PARAMETERS, Shape, Source, bank, blank, from_environment, head, how_many, random_function, run, shapes,
    short_function, twin_function,
};
use oriole_passes::Tally;
use oriole_prerequisites::is_thorough;

const ARCH: Arch = Arch::Sm80;

fn context() -> Context {
    Context { arch: ARCH, knobs: Knobs::default(), leaving_uniform: EntitySet::new(), tally: Tally::default() }
}

/// Runs a phase; a function that is not in the form that the phase works on is brought into it before.
fn apply(func: &mut Function, name: &str) {
    if works_on_ssa_form(name) && func.first_value().is_none() {
        apply(func, "GenerateMovPhi");
    }
    let phase = PIPELINE.iter().find(|phase| phase.name == name).unwrap_or_else(|| panic!("no phase {name}"));
    let done = match phase.run {
        Code::Function { run, .. } => run(func, &context(), &mut Analyses::default()),
        Code::Module(_) => synchronise(func, ARCH, CallBarriers::STANDARD),
    };
    done.unwrap_or_else(|fault| panic!("{name}: {fault}\n{func}"));
    if let Err(errors) = verify::verify(func, ARCH) {
        panic!("after {name}: {errors:?}\n{func}");
    }
}

/// Runs the phases one after the other; the function leaves the same memory after each as it did before.
fn same_after(func: &Function, phases: &[&str], inputs: &[Vec<u32>]) {
    let run = |func: &Function, words: &[u32]| run(func, words[0] & 31, &bank(words));
    let before: Vec<_> = inputs
        .iter()
        .map(|words| run(func, words).unwrap_or_else(|fault| panic!("before any phase: {fault}\n{func}")))
        .collect();
    let mut now = func.clone();
    for phase in phases {
        let last = now.clone();
        apply(&mut now, phase);
        for (words, expected) in inputs.iter().zip(&before) {
            let found = run(&now, words);
            assert!(
                found.as_ref() == Ok(expected),
                "{phase} changes what is computed for {words:x?}: {expected:x?} before, {found:x?} after\n{last}\nbecomes\n{now}"
            );
        }
    }
}

/// All tuples of `length` of the items.
fn tuples<T: Copy>(items: &[T], length: usize) -> Vec<Vec<T>> {
    (0..length).fold(vec![Vec::new()], |all, _| {
        all.iter().flat_map(|tuple| items.iter().map(move |item| [tuple.clone(), vec![*item]].concat())).collect()
    })
}

/// A function around one instruction, or `None` where the target has no such form.
fn around(
    shape: &Shape,
    mods: &Mods,
    sources: &[Source],
    takes: &[Option<bool>],
    immediate: Option<u32>,
) -> Result<Option<Function>, BuildError> {
    let mut func = Function::new("form", FunctionKind::Entry);
    let mut at = head(&mut func)?;
    let mut inst = blank(shape.opcode, mods.clone());
    for (role, source) in shape.sources.iter().zip(sources) {
        let operand = at.source(*source)?;
        inst.set_role(*role, operand);
    }
    for (role, take) in shape.takes.iter().zip(takes) {
        let pred = take.map_or(Operand::pt(), |negated| Operand::reg(at.pred).with_not(negated));
        inst.set_role(*role, pred);
    }
    if let (Some((role, _)), Some(bits)) = (&shape.immediates, immediate) {
        inst.set_role(*role, Operand::imm(bits));
    }
    let mut results = Vec::new();
    for (role, kind) in shape.results {
        let reg = at.b.vreg(*kind)?;
        inst.set_role(*role, reg.into());
        results.push((reg, *kind));
    }
    at.b.push(inst.clone())?;
    for (k, (reg, kind)) in results.into_iter().enumerate() {
        at.store(reg, kind, 8 * k as i32)?;
    }
    at.b.exit()?;
    Ok(func.is_legal(&inst, ARCH).then_some(func))
}

/// Each opcode with all its modifiers and choices of sources, on pairs of edge values. Choices of sources have turns.
#[test]
fn every_form() {
    let choices = [
        Source::Input(0),
        Source::Input(1),
        Source::Zero,
        Source::Copied(1),
        Source::Copied(31),
        Source::Copied(0x8000_0000),
    ];
    let more = [Source::Copied(u32::MAX), Source::Copied(0x7fff_ffff), Source::Copied(5)];
    let few: Vec<Vec<u32>> = tuples(&[0, 1, 31, 0x7fff_ffff, 0x8000_0000, u32::MAX, 0x7fc0_0000], 2);
    let (mut forms, mut number) = (0, 0);
    for shape in shapes() {
        let two: Vec<Source> = choices.iter().chain(&more).copied().collect();
        let items = if shape.sources.len() < 3 { &two[..] } else { &choices[..4] };
        let sources = tuples(items, shape.sources.len());
        let takes = tuples(&[None, Some(false), Some(true)], shape.takes.len());
        let immediates: Vec<Option<u32>> =
            shape.immediates.as_ref().map_or(vec![None], |(_, values)| values.iter().map(|v| Some(*v)).collect());
        for mods in &shape.mods {
            for immediate in &immediates {
                for (sources, takes) in sources.iter().flat_map(|s| takes.iter().map(move |t| (s, t))) {
                    number += 1;
                    if !is_thorough() && number % 2 == 0 {
                        continue;
                    }
                    let func = around(&shape, mods, sources, takes, *immediate).unwrap_or_else(|e| panic!("{e}"));
                    if let Some(func) = func {
                        forms += 1;
                        // Every function on some pairs of values; all functions together on all pairs.
                        let inputs: Vec<Vec<u32>> = few.iter().skip(forms % 7).step_by(7).cloned().collect();
                        same_after(&func, &["GeneralOptimize", "ConvertAllMovPhiToMov"], &inputs);
                    }
                }
            }
        }
    }
    println!("{forms} forms");
    assert!(forms > 10_000, "only {forms} forms");
}

/// Words to try a function on: equal and small ones, edge values, any.
fn inputs(seed: u64) -> Vec<Vec<u32>> {
    let mut rng = Rng::with_seed(seed);
    // Only equal and small words tell some comparisons apart.
    let mut word = |kind: usize| match kind {
        0..2 => rng.u32(..3),
        2..5 => EDGES[rng.usize(..EDGES.len())],
        _ => rng.u32(..),
    };
    (0..7).map(|kind| (0..4).map(|_| word(kind)).collect()).collect()
}

/// The phases one after the other on the functions that `make` gives, as many as `count` or the environment says.
fn random(make: impl Fn(u64) -> Result<Function, BuildError>, count: u64, phases: &[&str]) {
    let seed = from_environment("ORIOLE_SEED", 1);
    let count = how_many(count);
    println!("seed {seed}, {count} functions");
    let mut tried = 0;
    for number in 0..count {
        let seed = seed.wrapping_mul(1_000_003).wrapping_add(number);
        let func = make(seed).unwrap_or_else(|fault| panic!("program {seed}: {fault}"));
        // A form that the target lacks: the next one.
        if verify::verify(&func, ARCH).is_err() {
            continue;
        }
        tried += 1;
        same_after(&func, phases, &inputs(seed));
    }
    assert!(tried * 2 > count, "only {tried} of {count} functions have forms on the target");
}

/// Random functions keep their meaning through the phases that rewrite.
#[test]
fn random_functions() {
    let phases = [
        "AnalyzeControlFlow",
        "OriBranchOpt",
        "GenerateMovPhi",
        "GeneralOptimize",
        "OriLoopUnrolling",
        "OriPerformLiveDeadSecond",
        "GeneralOptimizeMid",
        "GvnCse",
        "SpeculativeHoistComInsts",
        "OriDoPredication",
        "LateOriCommoning",
        "GeneralOptimizeLate2",
        "ConvertAllMovPhiToMov",
        "OriBackCopyPropagate",
        "OriPerformLiveDeadFourth",
    ];
    random(random_function, 500, &phases);
}

/// What both ways of a branch compute is computed once, and the same.
#[test]
fn ways_with_much_in_common() {
    let phases = ["GenerateMovPhi", "SpeculativeHoistComInsts", "OriDoPredication", "GeneralOptimizeLate2"];
    random(twin_function, 1_000, &[&phases[..], &["ConvertAllMovPhiToMov"]].concat());
    let hoisted = |seed: &u64| {
        let mut func = twin_function(*seed).unwrap_or_else(|fault| panic!("program {seed}: {fault}"));
        apply(&mut func, phases[0]);
        let before = func.inst_count();
        apply(&mut func, phases[1]);
        func.inst_count() < before
    };
    let works = (0..200).filter(|seed| verify::verify(&twin_function(*seed).expect("a function"), ARCH).is_ok());
    let works: Vec<u64> = works.collect();
    let fewer = works.iter().filter(|seed| hoisted(seed)).count();
    assert!(fewer * 2 > works.len(), "only {fewer} of {} functions have become shorter", works.len());
}

/// Where the last phase that removes dead code relies on what earlier ones say they leave, it finds as little as if it looked.
#[test]
fn nothing_dead_is_taken_on_trust() {
    let (seed, count) = (from_environment("ORIOLE_SEED", 1), how_many(700));
    println!("seed {seed}, {count} functions");
    let last =
        PIPELINE.iter().position(|phase| phase.name == "OriPerformLiveDeadFourth").expect("a phase of that name");
    let run = |func: &mut Function, at: usize, analyses: &mut Analyses| {
        let Code::Function { run, keeps } = PIPELINE[at].run else { return Changed::No };
        let before = func.epochs();
        let changed = run(func, &context(), analyses).unwrap_or_else(|fault| panic!("{fault}\n{func}"));
        analyses.keep(if changed == Changed::Yes { keeps } else { Kept::All }, func, before);
        changed
    };
    let mut clean = 0;
    for number in 0..count {
        let seed = seed.wrapping_mul(1_000_003).wrapping_add(number);
        let mut func = random_function(seed).unwrap_or_else(|fault| panic!("program {seed}: {fault}"));
        if verify::verify(&func, ARCH).is_err() {
            continue;
        }
        let mut analyses = Analyses::default();
        for at in 0..last {
            run(&mut func, at, &mut analyses);
        }
        if run(&mut func, last, &mut analyses) == Changed::No {
            clean += 1;
            let before = func.to_string();
            let found = run(&mut func, last, &mut Analyses::default());
            assert_eq!(found, Changed::No, "program {seed}: something is dead in\n{before}\nand this is left\n{func}");
        }
    }
    assert!(clean * 2 > count, "only {clean} of {count} functions had nothing dead");
}

/// Short functions, in which most instructions read what one before gave: where rules meet.
#[test]
fn instructions_that_follow_each_other() {
    random(short_function, 5_000, &["GeneralOptimize", "ConvertAllMovPhiToMov"]);
}

/// Each comparison with each way to combine its result with another predicate.
#[test]
fn every_combined_comparison() {
    let comparisons = shapes().into_iter().filter(|shape| [Opcode::ISETP, Opcode::FSETP].contains(&shape.opcode));
    let plain = comparisons
        .flat_map(|shape| shape.mods.iter().map(move |mods| (shape.opcode, mods.clone())).collect::<Vec<_>>());
    let plain: Vec<_> =
        plain.filter(|(_, mods)| mods.get(Field::EX).is_none() && mods.get(Field::BOP) == Some(Bop::AND)).collect();
    let words = [vec![5, 5], vec![1, 2], vec![2, 1], vec![u32::MAX, 1], vec![1, u32::MAX], vec![0x7fc0_0000, 1]];
    for (opcode, mods) in plain {
        for (first, table) in [true, false].into_iter().flat_map(|first| (0..16).map(move |table| (first, table))) {
            let func = combined(opcode, &mods, first, table).unwrap_or_else(|fault| panic!("{fault}"));
            same_after(&func, &["GeneralOptimize", "ConvertAllMovPhiToMov"], &words);
        }
    }
}

/// `(A cmp B) table P`, with the comparison as the first or the second input of the table.
fn combined(opcode: Opcode, mods: &Mods, first: bool, table: u32) -> Result<Function, BuildError> {
    let mut func = Function::new("combined", FunctionKind::Entry);
    let mut at = head(&mut func)?;
    let (compared, result) = (at.b.vreg(RegType::P)?, at.b.vreg(RegType::P)?);
    let mut compare = blank(opcode, mods.clone());
    for (role, operand) in [(Role::PD, compared), (Role::A, at.inputs[0]), (Role::B, at.inputs[1])] {
        compare.set_role(role, operand.into());
    }
    at.b.push(compare)?;
    let mut combine = blank(Opcode::PLOP3, Mods::new());
    let inputs = if first { [compared, at.pred] } else { [at.pred, compared] };
    // Bit 2a + b of `table` is the result; the third input, which is true, doubles each.
    let lut = (0..8).fold(0, |lut, bit| lut | (table >> (bit / 2) & 1) << bit);
    let operands = [(Role::PD, result.into()), (Role::PA, inputs[0].into()), (Role::PB, inputs[1].into())];
    let others = [(Role::PC, Operand::pt()), (Role::Lut, Operand::imm(lut))];
    operands.into_iter().chain(others).for_each(|(role, operand)| combine.set_role(role, operand));
    at.b.push(combine)?;
    at.store(result, RegType::P, 0)?;
    at.b.exit()?;
    Ok(func)
}

/// A loop with a counter: how it begins, what is added, and what it is compared with.
#[derive(Clone, Copy, Debug)]
struct Count {
    first: u32,
    step: u32,
    bound: u32,
    /// The comparison by which the loop goes on, or, where `leaves`, by which it ends.
    cmp: &'static str,
    signed: bool,
    leaves: bool,
    /// The sum is compared, else what was there before.
    next: bool,
    /// The bound stands in the code.
    known: bool,
}

impl Count {
    /// How many rounds there are, if they are few.
    fn rounds(self) -> Option<u32> {
        let mut now = self.first;
        (1..=150).find(|_| {
            let next = now.wrapping_add(self.step);
            let a = if self.next { next } else { now };
            now = next;
            let order = if self.signed { (a as i32).cmp(&(self.bound as i32)) } else { a.cmp(&self.bound) };
            let holds = match self.cmp {
                "LT" => order.is_lt(),
                "LE" => order.is_le(),
                "GT" => order.is_gt(),
                "GE" => order.is_ge(),
                _ => order.is_ne(),
            };
            holds == self.leaves
        })
    }

    /// Four loads in each round; the sum of all, the counter and the address are stored behind.
    fn function(self) -> Function {
        let loads: String =
            (0..4).map(|k| format!("    LDG{{mem_size=B32}} %R{}, %D5, _, s:{}, UR36:2\n", 6 + k, 4 * k)).collect();
        let sums: String = (0..4).map(|k| format!("    IMAD %R2, PT, %R2, 0x5, %R{}, !PT\n", 6 + k)).collect();
        let registers: String = (6..10).map(|k| format!("  .reg %R{k}\n")).collect();
        let sign = if self.signed { "S32" } else { "U32" };
        let bound = if self.known { format!("{:#x}", self.bound) } else { "%R1".to_owned() };
        let tested = if self.next { "%R3" } else { "%R10" };
        let (branch, succs) =
            if self.leaves { ("@%P4 BRA PT, bix2, _", "bix2, bix1") } else { ("@%P4 BRA PT, bix1, _", "bix1, bix2") };
        let parameter = |k: u32| format!("c[0][{:#x}]", PARAMETERS + 4 * k);
        let text = format!(
            ".function entry counted\n  .frame local=0 spill=0 align=16\n  .reg %R0\n  .reg %R1\n  .reg %R2\n  .reg %R3\n  .reg %P4\n  .reg %D5\n{registers}  .reg %R10\n  .reg %P11\n\
             bix0: -> bix1\n    MOV %R3, {}, 0xf\n    MOV %R1, {}, 0xf\n    MOV %R2, RZ, 0xf\n    MOV %D5.0, {}, 0xf\n    MOV %D5.1, RZ, 0xf\n\
             bix1: -> {succs}\n{loads}{sums}    IADD3{{x=OFF}} %D5.0, %P11, PT, %D5.0, 0x10, RZ, !PT, !PT\n    IADD3{{x=ON}} %D5.1, PT, PT, %D5.1, RZ, RZ, %P11, !PT\n\
             \x20   MOV %R10, %R3, 0xf\n    IADD3 %R3, PT, PT, %R3, {:#x}, RZ, !PT, !PT\n    ISETP{{bop=AND,cmp={},sign={sign}}} %P4, PT, {tested}, {bound}, PT, PT\n    {branch}\n\
             bix2:\n    STG{{mem_size=B32}} %D5, _, s:0, UR36:2, %R2\n    STG{{mem_size=B32}} %D5, _, s:4, UR36:2, %R3\n    EXIT PT\n.end\n",
            parameter(0),
            parameter(1),
            parameter(2),
            self.step,
            self.cmp,
        );
        text.parse().unwrap_or_else(|error| panic!("{error}\n{text}"))
    }
}

/// Loops with counters, near the ends of their range too, are executed as often as before, unrolled or not.
#[test]
fn counted_loops() {
    let phases =
        ["GenerateMovPhi", "GeneralOptimize", "OriLoopUnrolling", "OriPerformLiveDeadSecond", "GeneralOptimizeMid"];
    let mut rng = Rng::with_seed(from_environment("ORIOLE_SEED", 1));
    let (mut unrolled, mut tried) = (0, 0_u64);
    for number in 0..how_many(1_200) {
        let near = [0, 1, 0x7fff_ffff, 0x8000_0000, u32::MAX][rng.usize(..5)];
        let step = [1, 3, 4, u32::MAX, 4_u32.wrapping_neg()][rng.usize(..5)];
        let distance = rng.u32(..80).wrapping_sub(20).wrapping_mul(step);
        let bound = u32::wrapping_add(near, rng.u32(..9).wrapping_sub(4));
        let count = Count {
            first: bound.wrapping_sub(distance),
            step,
            bound,
            cmp: ["LT", "LE", "GT", "GE", "NE"][rng.usize(..5)],
            signed: rng.bool(),
            leaves: rng.bool(),
            next: rng.bool(),
            known: number % 2 == 0,
        };
        if count.rounds().is_none() {
            continue;
        }
        let func = count.function();
        tried += 1;
        same_after(&func, &[&phases[..], &["ConvertAllMovPhiToMov"]].concat(), &[vec![count.first, bound, 0x1000]]);
        let mut now = func;
        phases[..2].iter().for_each(|phase| apply(&mut now, phase));
        let before = now.layout().len();
        apply(&mut now, phases[2]);
        unrolled += u64::from(now.layout().len() > before);
    }
    assert!(unrolled * 5 > tried && tried > how_many(1_200) * 2 / 5, "{unrolled} of {tried} loops were unrolled");
}
