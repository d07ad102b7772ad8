//! Allocated Ori as hardware instructions.

use oriole_isa::{Guard as MachineGuard, Opcode, OperandFlags, RegFile, Value};
use oriole_ori::*;

const ALLOCATED: &str = ".function entry f
  .frame local=0 spill=0 align=0
  .reg %R0 physical=9
  .reg %D1 physical=4
  .reg %P2 physical=3
  .reg %UD3 physical=6
  .reg %R4
  .symref ref0 sym0 +16 low
bix0: -> bix1
    @!%P2 FADD %D1.1, -|%R0|.reuse, h:0x3ff00000
    MOV %R0, cx[%UD3][0x20], 0xf
    MOV RZ, ref0, s:-1
    MOV %R0, %R4, 0xf
bix1:
    BRA !PT, bix1
.end
";

#[test]
fn operands_become_hardware_operands() {
    let func: Function = ALLOCATED.parse().unwrap();
    let insts: Vec<InstId> = func.iter_insts().map(|(_, i)| i).collect();
    let machine = |i: usize| func.machine_inst(insts[i], |b| 0x100 + 16 * i64::from(b.as_u32()));
    let values = |i: usize| machine(i).unwrap().inst.operands.iter().map(|o| o.value).collect::<Vec<_>>();

    let first = machine(0).unwrap().inst;
    assert_eq!((first.opcode, first.guard), (Opcode::FADD, MachineGuard { predicate: 3, negated: true }));
    assert_eq!(values(0), [Value::Reg(RegFile::R, 5), Value::Reg(RegFile::R, 9), Value::Imm(0x3ff0_0000 << 32)]);
    let flags = OperandFlags::NEG.with(OperandFlags::ABS).with(OperandFlags::REUSE);
    assert_eq!(first.operands[1].flags, flags);

    assert_eq!(values(1)[1], Value::ConstBindless { ureg: 6, offset: 0x20 });
    assert_eq!(values(2), [Value::Reg(RegFile::R, 255), Value::Imm(16), Value::Imm(u64::MAX)]);
    let symbol = func[SymRef::new(0)];
    assert_eq!(machine(2).unwrap().relocs.as_slice(), [(1, symbol)]);
    let unassigned = machine(3).unwrap_err().to_string();
    assert_eq!(unassigned, "function 'f', inst3 'MOV %R0, %R4, 0xf': %R4 has no physical register");
    assert_eq!(values(4), [Value::Reg(RegFile::P, 7), Value::Label(0x110)]);
}

#[test]
fn physical_mentions_cover_guard_operands_and_calls() {
    let text = ALLOCATED
        .replace("  .symref", "  .call call0 indirect (%D1) -> (R4:2) callee\n  .symref")
        .replace("MOV %R0, %R4, 0xf", "MOV R1, %R0, 0xf ;call0");
    let func: Function = text.parse().unwrap();
    let insts: Vec<InstId> = func.iter_insts().map(|(_, i)| i).collect();
    let mentions = |i: usize| {
        let mut all = Vec::new();
        func.for_each_phys(insts[i], |r| all.push((r.file, r.number, r.count, r.is_def)));
        all
    };
    use RegFile::{P, R, UR};
    assert_eq!(mentions(0), [(P, 3, 1, false), (R, 9, 1, false), (R, 5, 1, true)]);
    assert_eq!(mentions(1), [(UR, 6, 2, false), (R, 9, 1, true)]);
    assert_eq!(mentions(3), [(R, 9, 1, false), (R, 4, 2, false), (R, 1, 1, true), (R, 4, 2, true)]);
    assert_eq!(dump::Statistics::count(&func).r_registers, 10);
}

/// What a function of 100,000 instructions takes is made of these.
#[test]
fn instructions_are_small() {
    assert_eq!((size_of::<Inst>(), size_of::<MachineData>()), (120, 64));
}

/// What names an address waits for it; all else has its word, which is what the encoder makes of the same instruction.
#[test]
fn machine_functions_hold_words_and_what_waits_for_addresses() {
    let text = ".function entry f\n  .frame local=0 spill=0 align=0\n  .reg %R0 physical=9\n  .reg %D1 physical=20\n  .symref ref0 sym0 +16 low\n\
                bix0: -> bix1\n    DADD %D1, %D1, RZ\n    MOV %R0, ref0, 0xf\nbix1: -> bix1\n    BRA PT, bix1, _\n.end\n";
    let func: Function = text.parse().expect("it parses");
    let arch = oriole_isa::Arch::Sm80;
    let mut seen = Vec::new();
    let mut machine = MachineFunction::new(&func, arch, |_, data, inst| seen.push((data.opcode, inst.clone())))
        .expect("it has forms");
    assert_eq!(seen.iter().map(|(opcode, _)| *opcode).collect::<Vec<_>>(), [Opcode::DADD, Opcode::MOV, Opcode::BRA]);
    assert_eq!((machine.inst_count(), machine.registers), (3, 22));
    let nop = machine.add_nop(oriole_isa::Control { stall: 3, ..oriole_isa::Control::NONE });
    machine.blocks[1].insts.insert(0, nop);
    let code = machine.finish().expect("all may carry what they do");
    let ([add, _, wait, _], [(1, mov), (3, branch)]) = (&code.words[..], &code.open[..]) else {
        panic!("a symbol and a block are waited for, and nothing else");
    };
    assert_eq!((code.bytes(), code.registers), (64, 22));
    assert_eq!(*add, oriole_isa::encode(&seen[0].1, arch, 0x100).expect("it has a form"));
    assert_eq!(oriole_isa::decode(*wait, arch, 0x120).expect("a word").control.stall, 3);
    let (mov, branch) = (MachineCode::placed(mov, 0x100), MachineCode::placed(branch, 0x100));
    assert_eq!(mov.relocs.as_slice(), [(1, func[SymRef::new(0)])]);
    assert!(branch.inst.operands.iter().any(|operand| operand.value == Value::Label(0x120)));
}
