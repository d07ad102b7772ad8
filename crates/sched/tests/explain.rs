//! What is said of an instruction's place, against facts found by other ways: pairs of instructions and the latency tables, delays
//! that are let run through the block, the order that the scheduler makes by itself.

use super::paths::{REGISTERS, Random, instruction, touches};
use oriole_isa::latency::{self, Slot};
use oriole_isa::{Arch, Control, Guard, Inst, RegFile};
use oriole_ori::Function;
use oriole_sched::{BlockOrder, Cause, Explainer, Options, OrderSeed, Passed, Reasons, schedule};

const CASES: u64 = 60;
const ARCHS: [Arch; 3] = [Arch::Sm75, Arch::Sm90, Arch::Sm120];

/// A scheduled block with the cycles in which its instructions issue.
struct Case {
    arch: Arch,
    code: Vec<(Inst, u32)>,
    order: BlockOrder,
}

impl Case {
    fn new(body: &str, arch: Arch, reorder: bool) -> Case {
        let text =
            format!(".function entry f\n  .frame local=0 spill=0 align=0\n{REGISTERS}bix0:\n{body}    EXIT PT\n.end\n");
        let mut func: Function = text.parse().unwrap_or_else(|error| panic!("{error}\n{text}"));
        schedule(&mut func, arch, &Options { reorder, constant_lines: 0, seed: OrderSeed::default() })
            .expect("it can be scheduled");
        let machine = |(_, id)| func.machine_inst(id, |_| 0).expect("registers are physical").inst;
        let code = issued(func.iter_insts().map(machine).collect(), arch);
        let order = Explainer::new(arch).block(code.iter().map(|(inst, cycle)| (inst, *cycle)));
        Case { arch, code, order }
    }

    /// Random instructions.
    fn random(seed: u64, arch: Arch, reorder: bool) -> Case {
        let mut random = Random(seed);
        let body: String = (0..10 + random.below(40)).map(|_| instruction(&mut random)).collect();
        Case::new(&body, arch, reorder)
    }

    fn reasons(&self) -> Vec<Reasons> {
        (0..self.code.len()).map(|at| self.order.reasons(at).expect("there is one")).collect()
    }
}

fn each_case(reorder: bool, mut look: impl FnMut(&Case)) {
    for arch in ARCHS {
        (0..CASES).for_each(|seed| look(&Case::random(seed, arch, reorder)));
    }
}

/// By the control words: one behind the other by the stall counts, and when the scoreboards say so.
fn issued(code: Vec<Inst>, arch: Arch) -> Vec<(Inst, u32)> {
    let (mut until, mut cycle, mut all) = ([0; 6], 0, Vec::new());
    for inst in code {
        let waited = (0..6).filter(|at| inst.control.wait_mask >> at & 1 == 1).map(|at| until[at]).max();
        cycle = waited.unwrap_or(0).max(cycle);
        let takes = if latency::is_variable(&inst, arch) { inst.opcode.estimate() } else { 0 };
        for scoreboard in [inst.control.write_scoreboard, inst.control.read_scoreboard] {
            if scoreboard != Control::NO_SCOREBOARD {
                until[usize::from(scoreboard)] = until[usize::from(scoreboard)].max(cycle + takes);
            }
        }
        let next = cycle + u32::from(inst.control.cycles());
        all.push((inst, cycle));
        cycle = next;
    }
    all
}

type Touch = ((RegFile, u16), Slot);

/// The least distance from an instruction to the last that a register asks for, if one does. A register that has been written since whatever
/// the guards are is not looked at.
fn distance(code: &[(Inst, u32)], arch: Arch) -> Option<u32> {
    let [(first, _), between @ .., (second, _)] = code else { return None };
    let is_over = |touch: &Touch| {
        let always = between.iter().filter(|(inst, _)| inst.guard == Guard::ALWAYS);
        always.into_iter().any(|(inst, _)| touches(inst, true).iter().any(|write| write.0 == touch.0))
    };
    let mut writes = touches(first, true);
    let mut reads = touches(first, false);
    writes.retain(|touch| !is_over(touch));
    reads.retain(|touch| !is_over(touch));
    let (later_writes, later_reads) = (touches(second, true), touches(second, false));
    let same = |a: &Touch, all: &[Touch]| all.iter().filter(|b| a.0 == b.0).map(|b| b.1).collect::<Vec<Slot>>();
    let result = |cycles: u8| if latency::is_variable(first, arch) { first.opcode.estimate() } else { cycles.into() };
    let mut cycles = Vec::new();
    for write in &writes {
        let raw = |place: Slot| latency::raw(first, write.1, second, place, arch);
        cycles.extend(same(write, &later_reads).into_iter().map(|place| result(raw(place))));
        cycles.extend(same(write, &later_writes).iter().map(|_| result(latency::waw(first, write.1, second, arch))));
    }
    for read in &reads {
        let war = || u32::from(latency::war(first, read.1, second, arch));
        cycles.extend(same(read, &later_writes).iter().map(|_| war()));
    }
    cycles.into_iter().max()
}

/// The earliest cycle is that of the latest of all pairs whose registers meet; nothing issues before it.
#[test]
fn the_earliest_cycle_is_that_of_the_latest_dependence() {
    each_case(true, |case| {
        let last = case.code.len() - 1;
        for (at, reasons) in case.reasons().iter().enumerate().take(last) {
            let pair = |first: usize| Some(case.code[first].1 + distance(&case.code[first..=at], case.arch)?);
            let (inst, cycle) = &case.code[at];
            let latest = (0..at).filter_map(pair).max().unwrap_or(0);
            assert_eq!(reasons.earliest, latest, "{}: {reasons:?}", inst.display(case.arch));
            assert!(reasons.earliest <= *cycle && reasons.cycle == *cycle, "{reasons:?}");
        }
    });
}

/// Each instruction that follows names the one that it follows, in the same words.
#[test]
fn both_ends_of_a_dependence_say_the_same() {
    each_case(true, |case| {
        let reasons = case.reasons();
        for (at, one) in reasons.iter().enumerate() {
            for dependence in &one.followed_by {
                let back = reasons[dependence.other].follows.iter();
                let same = back
                    .filter(|back| back.other == at && (back.cause, back.from) == (dependence.cause, dependence.from));
                assert!(same.count() > 0, "{dependence:?}");
            }
        }
    });
}

/// When the block ends if an instruction is put off, and what follows it goes by that.
fn end_with_delay(reasons: &[Reasons], delayed: usize, cycles: u32) -> u32 {
    let mut times: Vec<u32> = Vec::new();
    for (at, one) in reasons.iter().enumerate() {
        let own = one.cycle + if at == delayed { cycles } else { 0 };
        times.push(one.follows.iter().map(|d| times[d.other] + d.latency).fold(own, u32::max));
    }
    times.into_iter().max().unwrap_or(0) + 1
}

#[test]
fn slack_is_the_longest_delay_that_costs_nothing() {
    each_case(true, |case| {
        let reasons = case.reasons();
        for (at, one) in reasons.iter().enumerate() {
            assert_eq!(end_with_delay(&reasons, at, one.slack), case.order.length(), "{at}: {one:?}");
            assert!(end_with_delay(&reasons, at, one.slack + 1) > case.order.length(), "{at}: {one:?}");
        }
    });
}

/// The longest way is one of dependences, as long as it says, and all on it are critical.
#[test]
fn the_longest_way_is_one_of_dependences() {
    each_case(true, |case| {
        let (reasons, way) = (case.reasons(), case.order.longest_way());
        let step = |pair: &[usize]| {
            let to = reasons[pair[0]].followed_by.iter().filter(|d| d.other == pair[1]);
            to.map(|d| d.latency).max().expect("a dependence")
        };
        assert_eq!(way.windows(2).map(step).sum::<u32>() + 1, case.order.longest());
        assert!(way.iter().all(|at| reasons[*at].is_critical));
        assert!(reasons.iter().all(|one| one.height <= case.order.longest()));
    });
}

/// What the list scheduler has put in order is explained by its rules; an order that is not its own now and then is not.
#[test]
fn the_schedulers_choices_are_explained() {
    let (mut own, mut other, mut kinds) = (0, 0, std::collections::HashSet::new());
    let mut count = |reorder: bool, found: &mut usize| {
        each_case(reorder, |case| {
            for (_, passed) in case.reasons().iter().flat_map(|one| &one.passed) {
                *found += usize::from(*passed == Passed::OtherOrder);
                kinds.insert(std::mem::discriminant(passed));
            }
        });
    };
    count(true, &mut own);
    count(false, &mut other);
    assert!(own == 0 && other > 0, "{own} and {other} choices are not explained");
    assert!(kinds.len() >= 5, "{kinds:?}");
}

/// A load and its sum, and the end.
#[test]
fn a_load_is_what_binds() {
    let case = Case::new("    LDS %R0, %R1, URZ, 0x0\n    FADD %R2, %R0, %R1\n", Arch::Sm90, true);
    let reasons = case.reasons();
    let binding = reasons[1].follows[0];
    let Cause::ReadAfterWrite(Some(register)) = binding.cause else { panic!("{binding:?}") };
    assert_eq!((binding.other, register.to_string().as_str()), (0, "R0"));
    assert_eq!((binding.latency, reasons[1].earliest), (case.code[0].0.opcode.estimate(), binding.from));
    assert!(
        reasons[2].is_fence && reasons[2].is_terminator && reasons[2].follows.iter().all(|d| d.cause == Cause::Ahead)
    );
    assert_eq!(case.order.longest_way(), [0, 1, 2]);
    assert!(case.order.reasons(3).is_none());
}
