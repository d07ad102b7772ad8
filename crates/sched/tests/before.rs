//! The order before allocation: how far loads move ahead of their uses, by the registers that there are.

use oriole_isa::{Arch, Opcode};
use oriole_ori::Function;
use oriole_sched::{MOVE_CYCLES, OrderSeed, Usage, order_values};

const LOADS: usize = 12;
/// Registers that the order leaves to allocation, the stack pointer apart.
const GAPS: u32 = 2;

/// Loads of neighbouring words, each added to a sum at once: two values are in use at a time, and the address.
fn sum() -> Function {
    let mut text = ".function entry f\n  .frame local=0 spill=0 align=0\n  .reg %R0\n  .reg %R1\n".to_owned();
    (0..LOADS).for_each(|at| text += &format!("  .reg %R{}\n", 2 + at));
    text += "bix0:\n    S2R %R0, SR_TID.X\n    MOV %R1, RZ, 0xf\n";
    for at in 0..LOADS {
        text += &format!("    LDS %R{}, %R0, URZ, {:#x}\n", 2 + at, 4 * at);
        text += &format!("    IADD3 %R1, PT, PT, %R1, %R{}, RZ, !PT, !PT\n", 2 + at);
    }
    text += "    STS %R0, URZ, 0x0, %R1\n    EXIT PT\n.end\n";
    text.parse().expect("it is well formed")
}

/// Most loads whose value has not been read yet, along the order.
fn most_in_flight(func: &Function) -> usize {
    let mut in_flight = 0usize;
    let steps = func.iter_insts().map(|(_, inst)| {
        match func[inst].opcode {
            Opcode::LDS => in_flight += 1,
            Opcode::IADD3 => in_flight -= 1,
            _ => {}
        }
        in_flight
    });
    steps.max().unwrap_or(0)
}

fn in_flight_with(spare: u32) -> usize {
    let mut func = sum();
    order_values(
        &mut func,
        Arch::Sm80,
        None,
        None,
        Usage {
            budget: |needed| needed + GAPS + spare,
            in_block: |_| u32::MAX,
            move_cycles: MOVE_CYCLES,
            seed: OrderSeed::default(),
        },
    );
    most_in_flight(&func)
}

#[test]
fn loads_stand_ahead_of_their_uses() {
    assert_eq!(most_in_flight(&sum()), 1);
    assert_eq!(in_flight_with(100), LOADS);
}

/// Registers beyond those of the budget for an order that is a tenth shorter with them.
const WIDER: usize = 2;

/// The address, the sum and one value are the source's three; each register to spare takes one more load.
#[test]
fn no_more_loads_are_in_flight_than_there_are_registers() {
    for spare in 0..LOADS as u32 - 1 {
        let most = (1 + spare as usize + WIDER).min(LOADS);
        let in_flight = in_flight_with(spare);
        assert!(in_flight <= most, "{spare} to spare: {in_flight}");
        // With few, one more hides a good part of the time; with many it saves less than a tenth.
        assert!(in_flight == most || spare > 0 && in_flight > spare as usize, "{spare} to spare: {in_flight}");
    }
}

/// The same with loads that happen only where a predicate holds: without one the values are undefined.
fn guarded_sum() -> Function {
    let guard = 2 + LOADS;
    let mut text = sum().to_string();
    text = text.replace("bix0:\n", &format!("  .reg %P{guard}\nbix0:\n"));
    let test = format!("    ISETP{{bop=AND,cmp=LT,sign=S32}} %P{guard}, PT, %R0, 0x10, PT, PT\n");
    for at in 2..2 + LOADS {
        text = text.replace(&format!("    LDS %R{at},"), &format!("    MOV %R{at} ;undef\n    @%P{guard} LDS %R{at},"));
    }
    let start = text.find("    MOV %R1, RZ").expect("the sum begins");
    text.insert_str(start, &test);
    text.parse().expect("it is well formed")
}

/// Orders with room for as many registers as there may be.
fn order_freely(func: &mut Function) {
    let usage = Usage {
        budget: |needed| needed + 100,
        in_block: |_| u32::MAX,
        move_cycles: MOVE_CYCLES,
        seed: OrderSeed::default(),
    };
    order_values(func, Arch::Sm80, None, None, usage);
}

#[test]
fn undefined_values_that_nobody_reads_stay_ahead_of_the_end_of_the_block() {
    let unread = 2 + LOADS;
    let text = sum().to_string().replace("bix0:\n", &format!("  .reg %P{unread}\nbix0:\n    MOV %P{unread} ;undef\n"));
    let mut func: Function = text.parse().expect("it is well formed");
    order_freely(&mut func);
    assert_eq!(most_in_flight(&func), LOADS, "it is ordered");
    let opcodes: Vec<Opcode> = func.iter_insts().map(|(_, inst)| func[inst].opcode).collect();
    assert_eq!(opcodes.last(), Some(&Opcode::EXIT), "{func}");
    assert_eq!(opcodes.iter().filter(|opcode| **opcode == Opcode::EXIT).count(), 1);
}

#[test]
fn undefined_values_are_made_where_they_are_needed() {
    let mut func = guarded_sum();
    order_freely(&mut func);
    assert_eq!(most_in_flight(&func), LOADS, "the loads stand ahead of their uses");
    let insts: Vec<_> = func.iter_insts().map(|(_, inst)| inst).collect();
    let marks: Vec<_> = insts.windows(2).filter(|pair| func[pair[0]].is_undef()).collect();
    assert_eq!(marks.len(), LOADS);
    for pair in marks {
        assert_eq!(func[pair[0]].operands[0], func[pair[1]].operands[0], "{func}");
    }
}
