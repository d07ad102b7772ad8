//! Random functions keep their meaning under allocation: the evaluator of Ori executes them on virtual registers
//! before, and on physical registers and stack slots after. Also: limits and alignment. The allocation checker
//! looks at all of them.

use crate::random::Random;
use oriole_isa::{Arch, Cmp, Field, Mods, Opcode, RegFile, Role, Sign, special_registers};
use oriole_ori::*;
use oriole_orieval::{bank, from_environment, how_many, run};
use oriole_regalloc::{AllocOptions, allocate_function};

/// A straight-line function over `count` scalars, some pairs, copies of their halves and some predicates, some written twice; every value is used
/// again at the end, so that all are live together.
fn random_function(seed: u64, count: usize) -> Function {
    let mut random = Random(seed);
    let mut func = Function::new("f", FunctionKind::Entry);
    let mut b = FunctionBuilder::new(&mut func);
    let entry = b.new_block().unwrap();
    b.switch_to(entry);
    let mut words = Vec::new();
    for i in 0..count {
        let reg = b.vreg(RegType::R).unwrap();
        let value = Operand::imm(random.below(1 << 30) as u32);
        b.emit_roles(Opcode::MOV, Mods::new(), &[(Role::D, Operand::reg(reg)), (Role::B, value)]).unwrap();
        words.push(Operand::reg(reg));
        if i % 5 == 0 {
            let pair = b.vreg(RegType::Pair).unwrap();
            for half in [Operand::lo(pair), Operand::hi(pair)] {
                let (x, y) = (words[random.below(words.len())], words[random.below(words.len())]);
                add(&mut b, half, x, y);
                words.push(half);
            }
            for half in [Operand::hi(pair), Operand::lo(pair)] {
                let copy = Operand::reg(b.vreg(RegType::R).unwrap());
                b.emit_roles(Opcode::MOV, Mods::new(), &[(Role::D, copy), (Role::B, half)]).unwrap();
                words.push(copy);
            }
        }
    }
    // Some constants are followed by others in the same register.
    for (i, word) in words.clone().into_iter().enumerate().filter(|(i, _)| i % 4 == 0) {
        store(&mut b, word, 1024 + 4 * i as i32);
        let value = Operand::imm(random.below(1 << 30) as u32);
        b.emit_roles(Opcode::MOV, Mods::new(), &[(Role::D, word), (Role::B, value)]).unwrap();
    }
    let mut predicates = Vec::new();
    for _ in 0..9 {
        let pred = b.vreg(RegType::P).unwrap();
        let (x, y) = (words[random.below(words.len())], words[random.below(words.len())]);
        let mods = Mods::new().with(Field::CMP, Cmp::LT).with(Field::SIGN, Sign::U32);
        b.emit_roles(Opcode::ISETP, mods, &[(Role::PD, Operand::reg(pred)), (Role::A, x), (Role::B, y)]).unwrap();
        predicates.push(pred);
    }
    for (i, word) in words.clone().into_iter().enumerate() {
        let to = b.vreg(RegType::R).unwrap();
        let pred = Operand::reg(predicates[i % predicates.len()]);
        let other = words[random.below(words.len())];
        let operands = [(Role::D, Operand::reg(to)), (Role::A, word), (Role::B, other), (Role::PA, pred)];
        b.emit_roles(Opcode::SEL, Mods::new(), &operands).unwrap();
        store(&mut b, Operand::reg(to), 4 * i as i32);
    }
    b.exit().unwrap();
    func
}

fn add(b: &mut FunctionBuilder<'_>, to: Operand, x: Operand, y: Operand) {
    b.emit_roles(Opcode::IADD3, Mods::new(), &[(Role::D, to), (Role::A, x), (Role::B, y)]).unwrap();
}

/// `shared[offset] = data`: what the evaluator reports.
fn store(b: &mut FunctionBuilder<'_>, data: Operand, offset: i32) {
    b.emit_roles(Opcode::STS, Mods::new(), &[(Role::Offset, Operand::imm_signed(offset)), (Role::Data, data)]).unwrap();
}

fn allocate(func: &mut Function, limit: u32) -> oriole_regalloc::Allocation {
    let options =
        AllocOptions { maxrregcount: Some(limit), published_minimum: true, verify: true, ..Default::default() };
    let flow = analysis::Flow::new(func);
    allocate_function(func, Arch::Sm80, flow, &options).expect("allocation succeeds")
}

#[test]
fn meaning_is_kept_with_and_without_spills() {
    for seed in 0..40 {
        let limit = [16, 24, 40, 255][seed as usize % 4];
        let mut func = random_function(seed, 12 + 4 * (seed as usize % 9));
        let want = run(&func, 0, &[]).expect("it is evaluated");
        let allocation = allocate(&mut func, limit);
        assert_eq!(run(&func, 0, &[]), Ok(want), "seed {seed}, limit {limit}");
        let over = (limit as u16..255).find(|n| allocation.used.contains(RegFile::R, *n));
        assert_eq!(over, None, "seed {seed}: a register beyond the limit of {limit}");
    }
}

/// More than a thousand components live at once: what to spill is chosen ahead of colouring.
#[test]
fn meaning_is_kept_in_crowds() {
    for (seed, limit) in [(0, 255), (1, 255), (2, 40), (3, 16)] {
        let mut func = random_function(seed, 900);
        let want = run(&func, 0, &[]).expect("it is evaluated");
        let allocation = allocate(&mut func, limit);
        assert_eq!(run(&func, 0, &[]), Ok(want), "seed {seed}, limit {limit}");
        assert!(allocation.spills.stores > 0, "seed {seed}, limit {limit}: {:?}", allocation.spills);
    }
}

/// The functions that `make` makes keep their meaning with registers below each of `limits`. Gives how many have been tried
/// and how many of them load what they have spilled.
fn keeps_meaning(make: impl Fn(u64) -> Result<Function, BuildError>, count: u64, limits: &[u32]) -> (u64, u64) {
    let seed = from_environment("ORIOLE_SEED", 1);
    let count = how_many(count);
    println!("seed {seed}, {count} functions");
    let inputs = [[3, 5, 7, 9], [u32::MAX, 1, 0x8000_0000, 0], [0, 0, 0, 0]];
    let mut spilled = 0;
    for number in 0..count {
        let seed = seed.wrapping_mul(1_000_003).wrapping_add(number);
        let func = make(seed).expect("it has few registers");
        let evaluate = |func: &Function| inputs.map(|words| run(func, words[0] & 31, &bank(&words)));
        let want = evaluate(&func);
        let mut loads = 0;
        for limit in limits {
            let mut allocated = func.clone();
            loads += allocate(&mut allocated, *limit).spills.loads;
            let found = evaluate(&allocated);
            assert!(found == want, "seed {seed}, limit {limit}: {found:?} for {want:?}\n{func}\nbecomes\n{allocated}");
        }
        spilled += u64::from(loads > 0);
    }
    (count, spilled)
}

/// Registers that are written many times, by halves and under guards, in branches and loops.
#[test]
fn control_flow_is_kept() {
    keeps_meaning(oriole_orieval::random_function, 1_000, &[16, 255]);
}

/// The same with more of them than there are: values leave and come back within loops and over joins.
#[test]
fn control_flow_is_kept_with_spills() {
    let (count, spilled) = keeps_meaning(oriole_orieval::crowded_function, 300, &[16, 19, 24]);
    assert!(10 * spilled > 9 * count, "{spilled} of {count} functions spill");
}

#[test]
fn spills_happen_only_when_the_limit_forces_them() {
    let mut free = random_function(7, 30);
    assert_eq!(allocate(&mut free, 255).spills.stores, 0);
    assert_eq!(free.frame().spill_bytes, 0);
    let mut tight = random_function(7, 30);
    let spills = allocate(&mut tight, 16).spills;
    assert!(spills.stores > 0 && spills.loads > 0 && tight.frame().spill_bytes > 0, "{spills:?}");
}

/// Values of one half of the code and of the other are in memory at different times.
#[test]
fn slots_are_shared_by_what_is_not_in_memory_at_once() {
    let mut func = Function::new("f", FunctionKind::Entry);
    let mut b = FunctionBuilder::new(&mut func);
    let entry = b.new_block().unwrap();
    b.switch_to(entry);
    let thread = Operand::reg(b.vreg(RegType::R).unwrap());
    let index = special_registers::by_name("SR_TID.X", Arch::Sm80).unwrap().number;
    b.emit_roles(Opcode::S2R, Mods::new(), &[(Role::D, thread), (Role::A, Operand::special(index))]).unwrap();
    for half in 0..2 {
        let sums: Vec<Operand> = (0..30).map(|_| Operand::reg(b.vreg(RegType::R).unwrap())).collect();
        sums.iter().zip(1..).for_each(|(sum, n)| add(&mut b, *sum, thread, Operand::imm(100 * half + n)));
        sums.iter().zip(0..).for_each(|(sum, n)| store(&mut b, *sum, 4 * (30 * half as i32 + n)));
    }
    b.exit().unwrap();
    let want = run(&func, 5, &[]).expect("it is evaluated");
    let spills = allocate(&mut func, 16).spills;
    assert_eq!(run(&func, 5, &[]), Ok(want));
    // Half as many, but for words that go by one access: they stand side by side, and so share less.
    assert!(spills.stores > 0 && 4 * func.frame().spill_bytes <= 3 * spills.stores, "{spills:?} {:?}", func.frame());
}

#[test]
fn pairs_are_even_and_r1_is_left_alone() {
    let mut func = random_function(3, 60);
    let allocation = allocate(&mut func, 255);
    let pairs = func.regs().values().filter(|v| v.reg_type == RegType::Pair);
    assert!(pairs.clone().count() > 5);
    assert!(pairs.filter_map(|v| v.physical).all(|first| first % 2 == 0));
    assert!(!allocation.used.contains(RegFile::R, 1));
}

#[test]
fn a_limit_below_the_interface_minimum_is_raised_with_a_warning() {
    let mut func = random_function(1, 10);
    let warnings = allocate(&mut func, 8).warnings;
    assert_eq!(warnings, ["regcount 8 specified below abi_minimum of 16"]);
}

/// No instruction writes them: what keeps them apart is that the caller writes all.
#[test]
fn values_on_entry_have_registers_of_their_own() {
    let mut func = Function::new("f", FunctionKind::Device);
    let mut b = FunctionBuilder::new(&mut func);
    let entry = b.new_block().unwrap();
    b.switch_to(entry);
    let arrivals: Vec<VReg> = (0..4).map(|_| b.vreg(RegType::R).unwrap()).collect();
    for (at, reg) in arrivals.iter().enumerate() {
        store(&mut b, Operand::reg(*reg), 4 * at as i32);
    }
    b.exit().unwrap();
    arrivals.iter().for_each(|reg| func.edit().add_live_in(*reg));
    allocate(&mut func, 255);
    let mut places: Vec<_> = arrivals.iter().map(|reg| func[*reg].physical).collect();
    places.sort();
    places.dedup();
    assert_eq!(places.len(), 4, "{func}");
}

#[test]
fn launch_bounds_limit_registers() {
    let mut func = random_function(5, 80);
    func.attributes_mut().maxntid = Some([256, 1, 1]);
    func.attributes_mut().minnctapersm = Some(8);
    // 65536 registers for 8 * 256 threads: 32 each.
    let allocation = allocate(&mut func, 255);
    assert!((32..255).all(|n| !allocation.used.contains(RegFile::R, n)));
}
