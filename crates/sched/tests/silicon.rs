//! What an H200 asked for (docs/silicon.md).

use oriole_isa::{Arch, Control, Opcode};
use oriole_ori::Function;
use oriole_sched::{Options, OrderSeed, schedule};

const REGISTERS: &str = "  .reg %R0 physical=0\n  .reg %R1 physical=2\n  .reg %R2 physical=3\n  .reg %D3 physical=4\n";
const BARRIER: &str = "    BAR{bar_op=SYNC,defer_blocking=ON} 0x0, RZ, PT\n";
const ADDITION: &str = "    IADD3 %R2, PT, PT, %R2, 0x1, RZ, !PT, !PT\n";
const LOAD: &str = "    LDS %R0, %R1, URZ, 0x0\n";
const COPY: &str = "    LDGSTS{mem_size=B128} %R1, _, s:0, %D3, URZ, s:0, UR36:2, PT\n";

/// The hardware instructions of a block in this order, each with its control word.
fn scheduled(body: &str, arch: Arch) -> Vec<(Opcode, Control)> {
    let text =
        format!(".function entry f\n  .frame local=0 spill=0 align=0\n{REGISTERS}bix0:\n{body}    EXIT PT\n.end\n");
    let mut func: Function = text.parse().unwrap_or_else(|error| panic!("{error}\n{text}"));
    let options = Options { reorder: false, constant_lines: 0, seed: OrderSeed::default() };
    let machine = schedule(&mut func, arch, &options).expect("it can be scheduled");
    machine.iter_insts().map(|inst| (inst.opcode, inst.control)).collect()
}

#[test]
fn memory_comes_six_cycles_behind_a_barrier_whatever_stands_between() {
    for arch in [Arch::Sm80, Arch::Sm90, Arch::Sm100, Arch::Sm120] {
        for additions in 0..4 {
            let body = format!("{BARRIER}{}{LOAD}", ADDITION.repeat(additions));
            let code = scheduled(&body, arch);
            let load = code.iter().position(|(opcode, _)| *opcode == Opcode::LDS).expect("the load");
            let passed: u32 = code[..load].iter().map(|(_, control)| u32::from(control.cycles())).sum();
            assert!(passed >= 6, "{passed} cycles with {additions} additions on {arch}");
        }
    }
}

#[test]
fn copies_stand_behind_empty_loads() {
    let opcodes = |body: &str, arch| scheduled(body, arch).iter().map(|(opcode, _)| *opcode).collect::<Vec<_>>();
    let (lds, copy) = (Opcode::LDS, Opcode::LDGSTS);
    for arch in [Arch::Sm80, Arch::Sm90, Arch::Sm100, Arch::Sm120] {
        let two = opcodes(&format!("{COPY}{COPY}"), arch);
        assert_eq!(two, [lds, lds, lds, copy, copy, Opcode::EXIT], "one time for neighbours on {arch}");
        let behind = opcodes(&format!("{COPY}{LOAD}{COPY}"), arch);
        assert_eq!(
            behind,
            [lds, lds, lds, copy, lds, lds, lds, lds, copy, Opcode::EXIT],
            "again behind a load on {arch}"
        );
        let behind = opcodes(&format!("{COPY}{BARRIER}{COPY}"), arch);
        let wanted = [lds, lds, lds, copy, Opcode::BAR, lds, lds, lds, copy, Opcode::EXIT];
        assert_eq!(behind, wanted, "again behind a barrier on {arch}");
    }
}
