//! Kernels at fault, and where the fault is.

use super::{ARCH, CODE, PROLOGUE, Run, launch_on};
use crate::block::Entry;
use crate::constant::BANKS;
use crate::grid;
use crate::machine::Machine;
use crate::program::Program;
use oriole_device::texture::Objects;
use oriole_device::{Access, FaultKind, Launch, Memory, Space};

#[test]
fn an_endless_loop_meets_the_limit() {
    let fault = Run { limit: 1000, ..Run::default() }.fault("loop:\nBRA `(loop)");
    assert_eq!(fault.kind, FaultKind::InstructionLimit(1000));
}

#[test]
fn a_store_past_the_buffer_names_the_lane() {
    let text = format!("{PROLOGUE}\nSTG.E [R2.64+0xc0], R0\nEXIT");
    let fault = Run::default().fault(&text);
    assert_eq!(fault.thread, 16);
    let FaultKind::IllegalAddress { nearest, .. } = &fault.kind else { panic!("{:?}", fault.kind) };
    assert_eq!(nearest.as_ref().map(|nearest| nearest.name.as_str()), Some("the buffer"));
}

#[test]
fn running_off_the_code_is_a_bad_jump() {
    let fault = Run::default().fault("NOP");
    assert_eq!(fault.kind, FaultKind::BadJump(CODE + 16));
}

#[test]
fn a_jump_to_nowhere_names_the_instruction_that_jumps() {
    let text = "
        S2R R0, SR_LANEID
        ISETP.EQ.U32.AND P0, PT, R0, 0x5, PT
        MOV R4, 0x1230
        MOV R5, 0x7
        @P0 CALL.ABS.NOINC R4
        EXIT";
    let fault = Run::default().fault(text);
    assert_eq!((fault.kind, fault.pc, fault.thread), (FaultKind::BadJump(0x7_0000_1230), Some(CODE + 64), 5));
}

#[test]
fn a_read_past_a_constant_bank_is_a_fault_in_the_lanes_that_read() {
    let text = "
        S2R R0, SR_LANEID
        ISETP.GE.U32.AND P0, PT, R0, 0x3, PT
        @P0 LDC R4, c[0x3][R0]
        EXIT";
    let fault = Run::default().fault(text);
    let kind =
        FaultKind::IllegalAddress { space: Space::Constant, access: Access::Read, address: 3, size: 4, nearest: None };
    assert_eq!((fault.kind, fault.thread), (kind, 3));
}

#[test]
fn an_operand_past_its_constant_bank_is_a_fault_where_it_is_reached() {
    let insts = ["@!PT MOV R4, c[0x3][0x10]", "MOV R4, c[0x3][0xc]", "MOV R4, c[0x3][0x10]"];
    let words = insts.map(|text| oriole_isa::parse(text, ARCH, &|_| None).expect("an instruction"));
    let words = words.iter().flat_map(|inst| oriole_isa::encode(inst, ARCH, 0).expect("it has a word").to_le_bytes());
    let mut banks = [0; BANKS];
    (banks[0], banks[3]) = (u64::MAX, 0x10);
    let program = Program::new(ARCH, false, banks, [("k".to_owned(), CODE, words.collect())]);
    let run = |entry: &Entry, machine: &Machine<'_>| grid::run(entry, machine, 1);
    let outcome = launch_on(&program, &Memory::new(), &Objects::default(), Launch::default(), 10, run);
    let fault = outcome.fault.expect("the last one");
    assert_eq!(fault.pc, Some(CODE + 32));
    assert!(matches!(fault.kind, FaultKind::IllegalAddress { space: Space::Constant, address: 0x10, .. }));
}
