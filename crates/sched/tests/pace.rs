//! Other instructions keep pace with a slow unit, and nobody asks for memory's results while there is something else to do.

use oriole_isa::{Arch, Opcode};
use oriole_ori::Function;
use oriole_sched::{Options, OrderSeed, schedule};

/// The opcodes of a block in their new order.
fn order(registers: &str, body: &str, arch: Arch) -> Vec<Opcode> {
    let text =
        format!(".function entry f\n  .frame local=0 spill=0 align=0\n{registers}bix0:\n{body}    EXIT PT\n.end\n");
    let mut func: Function = text.parse().unwrap_or_else(|error| panic!("{error}\n{text}"));
    schedule(&mut func, arch, &Options { reorder: true, constant_lines: 0, seed: OrderSeed::default() })
        .expect("it can be scheduled");
    // What fills up the time of a slow unit is not counted.
    func.iter_insts().map(|(_, inst)| func[inst].opcode).filter(|opcode| *opcode != Opcode::NOP).collect()
}

/// Eight products of doubles, and 24 constants that nobody needs, ahead of them.
fn products(arch: Arch) -> Vec<Opcode> {
    let registers: String = (0..24).map(|n| format!("  .reg %R{n} physical={n}\n")).collect::<String>()
        + &(24..32).map(|n| format!("  .reg %D{n} physical={}\n", 2 * n)).collect::<String>();
    let constants = (0..24).map(|n| format!("    MOV %R{n}, 0x{n:x}, 0xf\n")).collect::<String>();
    let products = (24..32).map(|n| format!("    DMUL %D{n}, %D{n}, %D{n}\n")).collect::<String>();
    order(&registers, &(constants + &products), arch)
}

/// The longest run of instructions that are no products.
fn longest_run(order: &[Opcode]) -> usize {
    let plain = &order[..order.len() - 1];
    plain.split(|opcode| *opcode == Opcode::DMUL).map(<[Opcode]>::len).max().unwrap_or(0)
}

#[test]
fn what_stands_between_two_of_a_slow_unit_is_no_more_than_on_the_average() {
    // Two lanes for doubles: 64 cycles for a warp. 24 between eight.
    assert!(longest_run(&products(Arch::Sm120)) <= 4, "{:?}", products(Arch::Sm120));
}

#[test]
fn a_fast_unit_sets_no_pace() {
    // 16 lanes a quarter: two cycles for a warp, and all the products go first.
    assert!(longest_run(&products(Arch::Sm90)) >= 8, "{:?}", products(Arch::Sm90));
}

#[test]
fn memory_is_waited_for_last() {
    // The sum of what was loaded has the longest way to the end; the others are more than the caches' latency long.
    let registers = "  .reg %R0 physical=0\n  .reg %R1 physical=1\n  .reg %R2 physical=2\n  .reg %D3 physical=4\n";
    let own = "    IADD3 %R1, PT, PT, %R1, 0x1, RZ, !PT, !PT\n".repeat(20);
    let loaded = "    FADD %R0, %R0, %R0\n".repeat(40);
    let body = format!("    LDG{{mem_size=B32}} %R0, %D3, _, s:0, UR4:2\n{loaded}{own}");
    let order = order(registers, &body, Arch::Sm90);
    let first_sum = order.iter().position(|opcode| *opcode == Opcode::FADD);
    let last_other = order.iter().rposition(|opcode| *opcode == Opcode::IADD3);
    assert!(last_other < first_sum, "{order:?}");
}
