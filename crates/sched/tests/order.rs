//! A new order keeps what a function computes: random functions on virtual and on physical registers, with accesses of
//! all spaces and widths to few addresses, before and after scheduling.

use fastrand::Rng;
use oriole_isa::{Arch, Field, MemSize, Mods, Opcode, Role};
use oriole_ori::*;
use oriole_orieval::{SHARED_WINDOW, bank, from_environment, how_many, random_function, run};
use oriole_prerequisites::sample;
use oriole_sched::{MOVE_CYCLES, Options, OrderSeed, Usage, order_values, schedule};
use std::collections::HashSet;

/// Loads and stores with 32-bit and 64-bit addresses.
const ACCESSES: [(Opcode, bool); 8] = [
    (Opcode::LDS, false),
    (Opcode::STS, false),
    (Opcode::LDL, false),
    (Opcode::STL, false),
    (Opcode::LDG, true),
    (Opcode::STG, true),
    (Opcode::LD, true),
    (Opcode::ST, true),
];

/// Sizes with the registers that they move.
const SIZES: [(MemSize, u16); 7] = [
    (MemSize::U8, 1),
    (MemSize::S8, 1),
    (MemSize::U16, 1),
    (MemSize::S16, 1),
    (MemSize::B32, 1),
    (MemSize::B64, 2),
    (MemSize::B128, 4),
];

/// One of so many blocks of memory accesses has so many of them that they are not compared one by one.
const LONG_EVERY: u64 = 40;

pub(super) fn register(first: u16, count: u8) -> Operand {
    Operand::phys_group(oriole_isa::RegFile::R, first, count)
}

/// An instruction from operands by role; neutral elsewhere.
pub(super) fn inst(opcode: Opcode, mods: Mods, operands: &[(Role, Operand)]) -> Inst {
    let mut inst = Inst::neutral(opcode, mods);
    operands.iter().for_each(|(role, operand)| inst.set_role(*role, *operand));
    inst
}

fn push(func: &mut Function, block: Block, opcode: Opcode, mods: Mods, operands: &[(Role, Operand)]) {
    func.edit().append(block, inst(opcode, mods, operands));
}

/// A block of memory accesses: 32-bit bases in R2 and R3, 64-bit ones in R4:R5 (global) and R6:R7 (shared), data in R8
/// to R31. Bases are moved by a few bytes now and then.
fn memory_block(rng: &mut Rng, steps: usize) -> Result<Function, BuildError> {
    let mut func = Function::new("memory", FunctionKind::Entry);
    let block = func.edit().new_block()?;
    for number in 2..32 {
        let value = match number {
            5 => 0,
            7 => SHARED_WINDOW,
            2..8 => 4 * rng.u32(..3),
            _ => rng.u32(..),
        };
        let operands = [(Role::D, register(number, 1)), (Role::B, Operand::imm(value))];
        push(&mut func, block, Opcode::MOV, Mods::new(), &operands);
    }
    for _ in 0..steps {
        match rng.u8(..6) {
            0 => {
                let base = register([2, 3, 4, 6][rng.usize(..4)], 1);
                let operands = [(Role::D, base), (Role::A, base), (Role::B, Operand::imm(rng.u32(..5)))];
                push(&mut func, block, Opcode::IADD3, Mods::new(), &operands);
            }
            1 => {
                let operands = [(Role::D, 8), (Role::A, 8), (Role::B, 8)]
                    .map(|(role, low)| (role, register(low + rng.u16(..24), 1)));
                push(&mut func, block, Opcode::IADD3, Mods::new(), &operands);
            }
            _ => access(&mut func, block, rng),
        }
    }
    for number in 8..32 {
        let operands =
            [(Role::Offset, Operand::imm_signed(0x1000 + 4 * i32::from(number))), (Role::Data, register(number, 1))];
        push(&mut func, block, Opcode::STS, Mods::new(), &operands);
    }
    func.edit().append(block, Inst::new(Opcode::EXIT, Mods::new(), &[Operand::pt()]));
    Ok(func)
}

fn access(func: &mut Function, block: Block, rng: &mut Rng) {
    let (opcode, wide) = ACCESSES[rng.usize(..ACCESSES.len())];
    let (size, words) = SIZES[rng.usize(..SIZES.len())];
    let generic = matches!(opcode, Opcode::LD | Opcode::ST);
    let base = match wide {
        true if generic && rng.bool() => register(6, 2),
        true => register(4, 2),
        false => register(2 + rng.u16(..2), 1),
    };
    let data = register(8 + words * rng.u16(..24 / words), words as u8);
    let operands =
        [(Role::Base, base), (Role::Offset, Operand::imm_signed(rng.i32(-4..12))), (Role::Data, data), (Role::D, data)];
    push(func, block, opcode, [Field::MEM_SIZE.is(size)].into_iter().collect(), &operands);
}

/// Instructions of a block that is too long to be put in order as a whole.
const LONG: usize = 2_048;
/// Registers that such a block may use.
const BUDGET: u32 = 64;
/// Words of shared memory that it reads and writes.
const WORDS: u32 = 512;
/// Loads at the end of such a block whose values nobody reads. They take no room.
const FOR_NOBODY: usize = 8;

/// A long block on virtual registers: `%R0` and `%R1` are bases, `%R2` is a sum, and behind it stands a register for each
/// load of a group. In each group all loads come first and are added to the sum, in another order, afterwards. Behind one
/// of so many loads and additions the sum is stored.
fn loads_before_uses(rng: &mut Rng, group: usize, one_in: u32) -> Function {
    let registers: String = (0..group + 3).map(|number| format!("  .reg %R{number}\n")).collect();
    let mut text = format!(".function entry f\n  .frame local=0 spill=0 align=0\n{registers}bix0:\n");
    let set = |number: usize, value: u32| format!("    MOV %R{number}, RZ, {value:#x}\n");
    let add = |number: usize, term: &str| format!("    IADD3 %R{number}, PT, PT, %R{number}, {term}, RZ, !PT, !PT\n");
    let store = |rng: &mut Rng| format!("    STS %R0, URZ, {:#x}, %R2\n", 4 * rng.u32(..WORDS));
    text += &(set(0, 0) + &set(1, 64) + &set(2, 7));
    let mut order: Vec<usize> = (3..group + 3).collect();
    while text.lines().count() < 2 * LONG + group {
        let moved = rng.usize(..16 * group);
        for number in 3..group + 3 {
            let base = u8::from(rng.u8(..16) == 0);
            text += &format!("    LDS %R{number}, %R{base}, URZ, {:#x}\n", 4 * rng.u32(..WORDS));
            // Loads from there may wait no longer.
            text += &if number == moved { add(1, "0x4") } else { String::new() };
            text += &if rng.u32(..one_in) == 0 { store(rng) } else { String::new() };
        }
        rng.shuffle(&mut order);
        for number in &order {
            // What was loaded is not read then: another value takes its place.
            text += &if rng.u8(..32) == 0 { set(*number, 5) } else { String::new() };
            text += &add(2, &format!("%R{number}"));
            text += &if rng.u32(..one_in) == 0 { store(rng) } else { String::new() };
        }
    }
    text += &store(rng);
    (3..3 + FOR_NOBODY).for_each(|number| text += &format!("    LDS %R{number}, %R0, URZ, 0x0\n"));
    text += "    EXIT PT\n.end\n";
    text.parse().expect("it is well formed")
}

/// Most loads whose value stands unread in its register, along the order.
fn most_in_flight(func: &Function) -> usize {
    let mut in_flight = HashSet::new();
    let steps = func.iter_insts().map(|(_, inst)| {
        let inst = &func[inst];
        in_flight.retain(|reg| inst.operands.iter().all(|operand| operand.as_reg() != Some(*reg)));
        in_flight.extend(inst.operands[0].as_reg().filter(|_| inst.opcode == Opcode::LDS));
        in_flight.len()
    });
    steps.max().unwrap_or(0)
}

/// The block in its new order, which computes the same, and how many loads are in flight there.
fn in_flight_after_ordering(func: &Function, registers: u32, seed: u64) -> usize {
    let mut ordered = func.clone();
    order_values(
        &mut ordered,
        Arch::Sm80,
        None,
        None,
        Usage { budget: |_| registers, in_block: |_| u32::MAX, move_cycles: MOVE_CYCLES, seed: OrderSeed::default() },
    );
    assert_same(func, &ordered, &[[0; 4]], seed);
    let last = ordered.iter_insts().last().map(|(_, inst)| ordered[inst].opcode);
    assert_eq!(last, Some(Opcode::EXIT), "seed {seed}");
    most_in_flight(&ordered)
}

/// All blocks of most random functions have an order by chance.
fn each_byte(seed: u64) -> OrderSeed {
    OrderSeed((seed & 0xff) * 0x0101_0101_0101_0101)
}

fn same_after_scheduling(func: &Function, arch: Arch, inputs: &[[u32; 4]], seed: u64) {
    let mut ordered = func.clone();
    schedule(&mut ordered, arch, &Options { reorder: true, constant_lines: 0, seed: each_byte(seed) })
        .unwrap_or_else(|fault| panic!("seed {seed}: {fault}\n{func}"));
    assert_same(func, &ordered, inputs, seed);
}

/// Whether the order before allocation changes the function, with some registers to spare. It computes the same.
fn changes_before_allocation(func: &Function, arch: Arch, inputs: &[[u32; 4]], seed: u64) -> bool {
    let mut ordered = func.clone();
    order_values(
        &mut ordered,
        arch,
        None,
        None,
        Usage {
            budget: |needed| needed + seed as u32 % 8,
            in_block: |_| u32::MAX,
            move_cycles: MOVE_CYCLES,
            seed: each_byte(seed),
        },
    );
    assert_same(func, &ordered, inputs, seed);
    func.iter_insts().ne(ordered.iter_insts())
}

fn assert_same(func: &Function, ordered: &Function, inputs: &[[u32; 4]], seed: u64) {
    let evaluate =
        |func: &Function| -> Vec<_> { inputs.iter().map(|words| run(func, words[0] & 31, &bank(words))).collect() };
    let want = evaluate(func);
    assert!(want.iter().all(Result::is_ok), "seed {seed}: {want:?}\n{func}");
    let found = evaluate(ordered);
    assert!(found == want, "seed {seed}: {found:?} for {want:?}\n{func}\nbecomes\n{ordered}");
}

#[test]
fn memory_accesses_that_meet_keep_their_order() {
    let seed = from_environment("ORIOLE_SEED", 1);
    let count = how_many(4_000);
    println!("seed {seed}, {count} blocks");
    let mut changed = 0;
    for number in 0..count {
        let seed = seed.wrapping_mul(1_000_003).wrapping_add(number);
        let mut rng = Rng::with_seed(seed);
        let steps = if number % LONG_EVERY == 0 { rng.usize(300..800) } else { rng.usize(4..30) };
        let func = memory_block(&mut rng, steps).expect("it has few registers");
        same_after_scheduling(&func, Arch::Sm80, &[[0; 4]], seed);
        changed += u64::from(changes_before_allocation(&func, Arch::Sm80, &[[0; 4]], seed));
    }
    assert!(2 * changed > count, "{changed} of {count} blocks got another order before allocation");
}

#[test]
fn registers_keep_their_values() {
    let seed = from_environment("ORIOLE_SEED", 1);
    let count = how_many(500);
    println!("seed {seed}, {count} functions");
    let inputs = [[3, 5, 7, 9], [u32::MAX, 1, 0x8000_0000, 0]];
    let mut changed = 0;
    for number in 0..count {
        let seed = seed.wrapping_mul(1_000_003).wrapping_add(number);
        let mut func = random_function(seed).expect("it has few registers");
        changed += u64::from(changes_before_allocation(&func, Arch::Sm80, &inputs, seed));
        let options = oriole_regalloc::AllocOptions { maxrregcount: Some(24), verify: true, ..Default::default() };
        let flow = analysis::Flow::new(&func);
        oriole_regalloc::allocate_function(&mut func, Arch::Sm80, flow, &options).expect("it is allocated");
        layout::make_fallthroughs_explicit(&mut func);
        same_after_scheduling(&func, Arch::Sm80, &inputs, seed);
    }
    assert!(4 * changed > count, "{changed} of {count} functions got another order before allocation");
}

/// There are so few loads in a group that each is compared with the stores that it passes. All go down to where they are
/// read but those that a store holds back.
#[test]
fn loads_of_a_long_block_pass_stores_that_do_not_touch_what_they_read() {
    const GROUP: usize = 64;
    for seed in 0..sample(40) {
        let func = loads_before_uses(&mut Rng::with_seed(seed), GROUP, 8);
        assert_eq!(most_in_flight(&func), GROUP);
        let in_flight = in_flight_after_ordering(&func, BUDGET / 2, seed);
        assert!(in_flight <= BUDGET as usize / 2 + FOR_NOBODY, "seed {seed}: {in_flight} loads in flight");
    }
}

/// Where no store is in the way, any number goes down.
#[test]
fn any_number_of_loads_of_a_long_block_come_to_their_uses() {
    for seed in 0..4 {
        let func = loads_before_uses(&mut Rng::with_seed(seed), LONG, u32::MAX);
        assert!(most_in_flight(&func) == LONG);
        let in_flight = in_flight_after_ordering(&func, BUDGET, seed);
        assert!(in_flight <= BUDGET as usize + FOR_NOBODY, "seed {seed}: {in_flight} loads in flight");
    }
}

/// With very many loads and stores, some stand for others; it computes the same.
#[test]
fn long_blocks_of_very_many_loads_and_stores_compute_the_same() {
    for seed in 0..sample(40) {
        let mut rng = Rng::with_seed(seed);
        let (group, stores_every) = (rng.usize(64..LONG), 1 << rng.u32(1..10));
        in_flight_after_ordering(&loads_before_uses(&mut rng, group, stores_every), BUDGET, seed);
    }
}

/// Places where an instruction of this kind stands, by the number of loads before it.
fn loads_before(func: &Function, opcode: Opcode) -> Vec<usize> {
    let opcodes: Vec<Opcode> = func.iter_insts().map(|(_, inst)| func[inst].opcode).collect();
    let places = (0..opcodes.len()).filter(|place| opcodes[*place] == opcode);
    places.map(|place| opcodes[..place].iter().filter(|opcode| **opcode == Opcode::LDS).count()).collect()
}

/// Registers of the volatile loads, from first to last.
fn volatile_loads(func: &Function) -> Vec<Option<VReg>> {
    let insts = func.iter_insts().map(|(_, inst)| &func[inst]);
    insts.filter(|inst| inst.flags.contains(InstFlags::VOLATILE)).map(|inst| inst.operands[0].as_reg()).collect()
}

/// Loads come down to their uses, but behind no barrier, and volatile ones keep their order.
#[test]
fn some_loads_of_a_long_block_stay_where_they_are() {
    let mut func = loads_before_uses(&mut Rng::with_seed(1), LONG, u32::MAX);
    let text = func.to_string();
    func = text
        .lines()
        .enumerate()
        .map(|(number, line)| match number % 512 {
            0 if line.contains("IADD3") => format!("    MEMBAR\n{line}\n"),
            n if n % 64 == 0 && line.contains("LDS") => format!("{line} ;volatile\n"),
            _ => format!("{line}\n"),
        })
        .collect::<String>()
        .parse()
        .expect("it is well formed");
    let (barriers, volatile) = (loads_before(&func, Opcode::MEMBAR), volatile_loads(&func));
    assert!(barriers.len() > 1 && volatile.len() > 16, "{barriers:?} {volatile:?}");
    let mut ordered = func.clone();
    order_values(
        &mut ordered,
        Arch::Sm80,
        None,
        None,
        Usage { budget: |_| BUDGET, in_block: |_| u32::MAX, move_cycles: MOVE_CYCLES, seed: OrderSeed::default() },
    );
    assert!(func.iter_insts().ne(ordered.iter_insts()));
    assert_eq!(loads_before(&ordered, Opcode::MEMBAR), barriers);
    assert_eq!(volatile_loads(&ordered), volatile);
}
