//! Random functions of several blocks, empty ones among them: the control words keep every distance and every
//! scoreboard on every path. The judge walks all paths by itself, from each instruction as far as its results
//! take, and asks the latency tables about each pair of registers that meet.
//! `ORIOLE_SEED` is the first seed, `ORIOLE_CASES` how many functions per target.

use oriole_isa::access::orders;
use oriole_isa::latency::{self, Slot};
use oriole_isa::{Arch, Control, Guard, Inst, Opcode, RegFile, Value};
use oriole_ori::{Block, Function};
use oriole_prerequisites::sample;
use oriole_sched::{Options, OrderSeed, schedule};
use std::collections::HashMap;
use std::env;

/// Functions per target, or half of them without `ORIOLE_THOROUGH=1`, unless `ORIOLE_CASES` says how many.
const CASES: u64 = 400;
/// splitmix64.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) % bound
    }

    fn of<'a>(&mut self, texts: &[&'a str]) -> &'a str {
        texts[self.below(texts.len() as u64) as usize]
    }
}

pub(super) const REGISTERS: &str = "  .reg %R0 physical=0\n  .reg %R1 physical=2\n  .reg %R2 physical=3\n  .reg %D3 physical=4\n  \
     .reg %D4 physical=6\n  .reg %P5 physical=0\n  .reg %P6 physical=1\n  .reg %P7 physical=2\n";
const SINGLES: [&str; 3] = ["%R0", "%R1", "%R2"];
const PAIRS: [&str; 2] = ["%D3", "%D4"];
const PREDICATES: [&str; 3] = ["%P5", "%P6", "%P7"];

/// One instruction, with a guard or without.
pub(super) fn instruction(random: &mut Random) -> String {
    let mut r = || random.of(&SINGLES).to_owned();
    let (d, a, b) = (r(), r(), r());
    let (e, f) = (random.of(&PAIRS).to_owned(), random.of(&PAIRS).to_owned());
    let (p, q) = (random.of(&PREDICATES).to_owned(), random.of(&PREDICATES).to_owned());
    let body = match random.below(12) {
        0 | 1 => format!("IADD3 {d}, PT, PT, {a}, {b}, RZ, !PT, !PT"),
        2 | 3 => format!("ISETP{{cmp=LT,sign=S32}} {p}, PT, {a}, {b}, {q}, PT"),
        4 => format!("IMAD {d}, PT, {a}, {b}, RZ, !PT"),
        5 => format!("IMAD{{mul=WIDE}} {e}, PT, {a}, {b}, {f}, !PT"),
        6 => format!("FADD {d}, {a}, {b}"),
        7 => format!("PLOP3 {p}, PT, {q}, PT, PT, 0x80, 0x8"),
        8 => format!("SEL {d}, {a}, {b}, {p}"),
        9 => format!("DADD {e}, {f}, {e}"),
        10 => format!("LDS {d}, {a}, URZ, 0x0"),
        _ => format!("MUFU {d}, {a}"),
    };
    match random.below(3) {
        0 => format!("    @{q} {body}\n"),
        1 => format!("    @!{q} {body}\n"),
        _ => format!("    {body}\n"),
    }
}

/// Two to seven blocks; each ends in a branch, in both kinds of branch, by falling through, or with EXIT.
fn function(random: &mut Random) -> String {
    let blocks = 2 + random.below(6);
    let mut text = format!(".function entry f\n  .frame local=0 spill=0 align=0\n{REGISTERS}");
    for block in 0..blocks {
        let (last, target) = (block + 1 == blocks, random.below(blocks));
        let guard = random.of(&PREDICATES);
        let body: String = (0..random.below(5)).map(|_| instruction(random)).collect();
        let (succs, end) = match random.below(4) {
            _ if last => (String::new(), "    EXIT PT\n".to_owned()),
            0 => (format!("bix{target}, bix{}", block + 1), format!("    @{guard} BRA PT, bix{target}, _\n")),
            1 => {
                let other = random.below(blocks);
                let both = format!("    @{guard} BRA PT, bix{target}, _\n    BRA PT, bix{other}, _\n");
                (format!("bix{target}, bix{other}"), both)
            }
            _ => (format!("bix{}", block + 1), String::new()),
        };
        let arrow = if succs.is_empty() { String::new() } else { format!(" -> {succs}") };
        text.push_str(&format!("bix{block}:{arrow}\n{body}{end}"));
    }
    text + ".end\n"
}

/// One instruction with its control word, and where the thread may go next.
struct Step {
    inst: Inst,
    next: Vec<usize>,
}

/// The function as it is emitted: the blocks in their order, an empty one being the place of the next.
fn machine_code(func: &Function) -> Vec<Step> {
    let mut starts = HashMap::new();
    let mut count = 0;
    for block in func.layout() {
        starts.insert(*block, count);
        count += func.block_insts(*block).len();
    }
    let mut steps = Vec::new();
    for block in func.layout() {
        let mut targets = func.succs(*block).iter().map(|succ: &Block| starts[succ]);
        for id in func.block_insts(*block) {
            let inst = func.machine_inst(*id, |_| 0).expect("registers are physical").inst;
            let target = if inst.opcode == Opcode::BRA { targets.next() } else { None };
            let ends = matches!(inst.opcode, Opcode::BRA | Opcode::EXIT) && inst.guard == Guard::ALWAYS;
            let behind = (!ends).then_some(steps.len() + 1);
            steps.push(Step { inst, next: target.into_iter().chain(behind).collect() });
        }
    }
    steps
}

/// The registers that it reads or writes, and where.
pub(super) fn touches(inst: &Inst, definitions: bool) -> Vec<((RegFile, u16), Slot)> {
    let mut all = Vec::new();
    if !definitions && inst.guard != Guard::ALWAYS {
        all.push(((RegFile::P, inst.guard.predicate.into()), Slot::Guard));
    }
    for (i, _) in inst.opcode.signature().iter().enumerate().filter(|(_, spec)| spec.is_def == definitions) {
        let Value::Reg(file, first) = inst.operands[i].value else { continue };
        for register in (0..inst.width(i)).filter(|_| file.zero() != Some(first)) {
            all.push(((file, first + u16::from(register)), Slot::Operand { index: i as u8, register }));
        }
    }
    all
}

/// Cycles that have to lie between two instructions, whatever else there is.
fn fixed_distance(first: &Inst, second: &Inst, arch: Arch) -> u64 {
    let mut cycles = 0;
    for (reg, def) in touches(first, true) {
        for (_, place) in touches(second, false).iter().filter(|(other, _)| *other == reg) {
            cycles = cycles.max(latency::raw(first, def, second, *place, arch));
        }
        if touches(second, true).iter().any(|(other, _)| *other == reg) {
            cycles = cycles.max(latency::waw(first, def, second, arch));
        }
    }
    for (reg, place) in touches(first, false) {
        if touches(second, true).iter().any(|(other, _)| *other == reg) && !latency::reads_late(first, place, arch) {
            cycles = cycles.max(latency::war(first, place, second, arch));
        }
    }
    cycles.into()
}

fn bit(scoreboard: u8) -> u8 {
    if scoreboard == Control::NO_SCOREBOARD { 0 } else { 1 << scoreboard }
}

/// What a way has waited for of the instruction at its start. An instruction with results has read its sources when these are there (ptxas 13.0.88 for
/// sm_80: of 1,109 sources without a scoreboard of their own that are written again, 1,082 behind a wait for the results).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Awaited {
    /// The scoreboards that tell of its results, and of its sources.
    told_by: [u8; 2],
    /// One of them has been waited for.
    done: [bool; 2],
    /// Its guard is what it was.
    guard_kept: bool,
}

impl Awaited {
    fn of(first: &Inst) -> Awaited {
        let (write, read) = (bit(first.control.write_scoreboard), bit(first.control.read_scoreboard));
        Awaited { told_by: [write, write | read], done: [false; 2], guard_kept: !changes_guard_of(first, first) }
    }

    fn wait(&mut self, second: &Inst) {
        for (done, told_by) in self.done.iter_mut().zip(self.told_by) {
            *done |= told_by & second.control.wait_mask != 0;
        }
        self.done[1] |= self.done[0];
    }

    /// A later instruction of an order tells of the earlier ones, if it is executed where they are.
    fn follow(&mut self, first: &Inst, second: &Inst, arch: Arch) {
        let (write, read) = (bit(second.control.write_scoreboard), bit(second.control.read_scoreboard));
        if second.guard == Guard::ALWAYS || self.guard_kept && second.guard == first.guard {
            let same = orders(first, arch).into_iter().zip(orders(second, arch));
            for ((tells, scoreboards), (one, other)) in self.told_by.iter_mut().zip([write, write | read]).zip(same) {
                *tells |= if one.is_some() && one == other { scoreboards } else { 0 };
            }
        }
        self.guard_kept &= !changes_guard_of(second, first);
    }
}

fn changes_guard_of(inst: &Inst, first: &Inst) -> bool {
    touches(inst, true).iter().any(|(reg, _)| *reg == (RegFile::P, first.guard.predicate.into()))
}

/// An instruction which meets the registers of `first` has to have waited for: its results, its sources.
fn needs_wait(first: &Inst, second: &Inst, arch: Arch) -> [bool; 2] {
    let (reads, writes) = (touches(second, false), touches(second, true));
    let met = |reg| reads.iter().chain(&writes).any(|(other, _)| *other == reg);
    let late = |(reg, place): &(_, Slot)| {
        latency::reads_late(first, *place, arch) && writes.iter().any(|(other, _)| other == reg)
    };
    let results = latency::is_variable(first, arch) && touches(first, true).iter().any(|(reg, _)| met(*reg));
    [results, touches(first, false).iter().any(late)]
}

/// What is wrong with two instructions when the second issues `age` cycles after the first on a way on which
/// `awaited` has been waited for.
fn fault(first: &Inst, second: &Inst, age: u64, awaited: Awaited, arch: Arch) -> Option<String> {
    let needed = fixed_distance(first, second, arch);
    let [results, sources] = needs_wait(first, second, arch);
    let set = [first.control.write_scoreboard, first.control.read_scoreboard];
    let named = |s: u8| s != Control::NO_SCOREBOARD && second.control.wait_mask >> s & 1 == 1;
    let what = if age < needed {
        format!("{age} of {needed} cycles")
    } else if results && !awaited.done[0] || sources && !awaited.done[1] {
        format!("no wait for one of {:?}", awaited.told_by)
    } else if age < u64::from(latency::SET_TO_WAIT) && set.into_iter().any(named) {
        "waits too early".to_owned()
    } else {
        return None;
    };
    Some(format!("{} -> {}: {what}", first.display(arch), second.display(arch)))
}

/// What is wrong with the control words of a scheduled function: every instruction against all that may come
/// after it, by every way.
fn faults(func: &Function, arch: Arch) -> Vec<String> {
    let code = machine_code(func);
    let mut faults = Vec::new();
    for first in &code {
        // The fewest cycles at which an instruction was met, by what was waited for on the way.
        let mut met: HashMap<(usize, Awaited), u64> = HashMap::new();
        let (start, none) = (u64::from(first.inst.control.cycles()), Awaited::of(&first.inst));
        let mut work: Vec<(usize, u64, Awaited)> = first.next.iter().map(|next| (*next, start, none)).collect();
        while let Some((at, age, mut awaited)) = work.pop() {
            let known = met.entry((at, awaited)).or_insert(u64::MAX);
            if age >= *known {
                continue;
            }
            *known = age;
            let second = &code[at];
            awaited.wait(&second.inst);
            faults.extend(fault(&first.inst, &second.inst, age, awaited, arch));
            awaited.follow(&first.inst, &second.inst, arch);
            let age = u64::from(latency::LONGEST).min(age + u64::from(second.inst.control.cycles()));
            work.extend(second.next.iter().map(|next| (*next, age, awaited)));
        }
    }
    faults
}

fn check(text: &str, arch: Arch, reorder: bool) {
    let mut func: Function = text.parse().expect("the function is well formed");
    schedule(&mut func, arch, &Options { reorder, constant_lines: 0, seed: OrderSeed::default() })
        .expect("it can be scheduled");
    let faults = faults(&func, arch);
    assert!(faults.is_empty(), "{arch}, reorder {reorder}: {faults:#?}\n{text}{func}");
}

#[test]
fn every_path_keeps_its_distances() {
    let setting = |name: &str| env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let (seed, cases) =
        (setting("ORIOLE_SEED").unwrap_or(14), setting("ORIOLE_CASES").unwrap_or_else(|| sample(CASES)));
    println!("ORIOLE_SEED={seed}");
    for arch in Arch::ALL.into_iter().filter(|arch| *arch >= Arch::Sm75) {
        for case in 0..cases {
            let mut random = Random(seed << 32 | (arch as u64) << 24 | case);
            let text = function(&mut random);
            check(&text, arch, false);
            check(&text, arch, true);
        }
    }
}

/// The branch to itself leaves a block without instructions behind it, whose first neighbour reads what the
/// comparison writes.
#[test]
fn an_empty_block_hands_on_what_is_asked_of_it() {
    let body = "bix0: -> bix1\n    ISETP{cmp=LT,sign=S32} %P7, PT, %R0, %R1, PT, PT\n\
                bix1: -> bix1, bix2\n    @%P5 BRA PT, bix1, _\nbix2: -> bix3\n\
                bix3:\n    @%P7 IADD3 %R0, PT, PT, %R1, %R2, RZ, !PT, !PT\n    EXIT PT\n";
    check(&format!(".function entry f\n  .frame local=0 spill=0 align=0\n{REGISTERS}{body}.end\n"), Arch::Sm80, false);
}

/// The sum in the second block waits for a comparison of the first; what comes after it is late anyway, so the block
/// ends no later, and the third block meets the sum sooner.
#[test]
fn a_delay_inside_a_block_makes_it_younger_at_the_end() {
    let body = "bix0: -> bix1\n    ISETP{cmp=LT,sign=S32} %P7, PT, %R0, %R1, PT, PT\n\
                bix1: -> bix2\n    ISETP{cmp=LT,sign=S32} %P5, PT, %R0, %R1, PT, PT\n    @%P7 FADD %R2, %R1, %R1\n    \
                @%P5 FADD %R0, %R1, %R1\nbix2:\n    FADD %R1, %R2, %R2\n    EXIT PT\n";
    check(&format!(".function entry f\n  .frame local=0 spill=0 align=0\n{REGISTERS}{body}.end\n"), Arch::Sm80, false);
}
