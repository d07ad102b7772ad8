//! What loads and stores of all spaces do, and what they report.

use super::{PROLOGUE, Run};
use crate::block::Entry;
use crate::lanes::Mask;
use crate::machine::Machine;
use crate::stats::Counts;
use crate::warp::Step;
use oriole_device::Space;
use oriole_isa::{Arch, Opcode};

#[test]
fn generic_addresses_take_negative_offsets() {
    let text = format!(
        "{PROLOGUE}
        IADD3 R12, P0, R2, 0x4, RZ
        IADD3.X R13, R3, RZ, RZ, P0, !PT
        ST.E [R12.64+-0x4], R0
        LD.E R4, [R12.64+-0x4]
        IADD3 R4, R4, 0x1, RZ
        STG.E [R12.64+-0x4], R4
        EXIT"
    );
    assert_eq!(Run::default().words(&text)[..32], (1..33).collect::<Vec<u32>>());
}

#[test]
fn a_copy_whose_source_is_ignored_leaves_zeros() {
    // Lanes below 8 ignore the source, with ZFILL and without; the places of lanes below 4 are not touched at all.
    for fills in ["", ".ZFILL"] {
        let text = format!(
            "{PROLOGUE}
            MOV R4, 0x777
            SHF.L.U32 R5, R0, 0x3, RZ
            STS [R5], R4
            STS [R5+0x4], R4
            STG.E [R2.64], R0
            IMAD.WIDE.U32 R6, R0, 0x8, R10
            ISETP.GE.U32.AND P0, PT, R0, 0x8, PT
            ISETP.GE.U32.AND P1, PT, R0, 0x4, PT
            @P1 LDGSTS.E.64{fills} [R5], [R6.64], P0
            LDGDEPBAR
            DEPBAR.LE SB0, 0x0
            LDS.64 R8, [R5]
            IMAD R9, R9, 0x3e8, R8
            STG.E [R2.64+0x80], R9
            EXIT"
        );
        let words = Run::default().words(&text);
        let expected = |lane: u32| match lane {
            0..4 => 0x777 * 1001,
            4..8 => 0,
            // Words 2 * lane and 2 * lane + 1 of the buffer, whose first 32 count.
            8..16 => (2 * lane + 1) * 1000 + 2 * lane,
            _ => 0,
        };
        assert_eq!(words[32..64], (0..32).map(expected).collect::<Vec<u32>>(), "{fills}");
    }
}

#[test]
fn the_words_of_a_mask_lie_in_consecutive_registers() {
    // Mask 0xd5: words 0 and 2 of the lower half in R12 and R13, 0, 2 and 3 of the upper in R16, R17 and R18.
    let text = "
        S2R R0, SR_TID.X
        MOV R2, c[0x0][0x380]
        MOV R3, c[0x0][0x384]
        IMAD.WIDE.U32 R4, R0, 0x4, R2
        STG.E [R4.64], R0
        MOV R14, 0x63
        MOV R15, 0x63
        MOV R19, 0x63
        LDG.E.ENL2.256 R16, R12, [R2.64], 0xd5
        ISETP.EQ.U32.AND P0, PT, R0, 0x0, PT
        @P0 STG.E.128 [R2.64+0x80], R12
        @P0 STG.E.128 [R2.64+0x90], R16
        @P0 STG.E.ENL2.256 [R2.64+0xa0], R12, R16, 0xd5
        EXIT";
    let words = Run { arch: Arch::Sm100, ..Run::default() }.words(text);
    assert_eq!(words[32..40], [0, 2, 0x63, 0x63, 4, 6, 7, 0x63]);
    assert_eq!(words[40..48], [0, 0, 2, 0, 4, 0, 6, 7]);
}

#[test]
fn a_warp_is_driven_instruction_by_instruction() {
    let text = format!("{PROLOGUE}\n ISETP.LT.U32.AND P0, PT, R0, 0xa, PT\n @P0 STG.E [R2.64+0x8], R0\n EXIT");
    let drive = |entry: &Entry, machine: &Machine<'_>| {
        let (mut warps, mut block) = entry.start(0, 0, machine).expect("there is room");
        block.log = Some(Box::default());
        let mut seen = Vec::new();
        let mut counts = Counts::default();
        while let Step::Issued(issued) = warps[0].step_one(machine, &mut block, &mut counts).expect("no fault") {
            let accesses = block.log.as_ref().expect("we gave one").accesses().to_vec();
            seen.push((issued.op.inst.as_ref().expect("decoded").opcode, issued.active, accesses));
        }
        (entry.launch.params.clone(), seen)
    };
    let ((params, seen), _) = Run::default().with(&text, drive);
    let buffer = u64::from_le_bytes(params.try_into().expect("one address"));
    let opcodes: Vec<Opcode> = seen.iter().map(|(opcode, ..)| *opcode).collect();
    assert_eq!(opcodes[7..], [Opcode::ISETP, Opcode::STG, Opcode::EXIT]);
    for (opcode, active, accesses) in seen {
        if opcode != Opcode::STG {
            assert_eq!((active, accesses.len()), (Mask::MAX, 0), "{opcode:?}");
            continue;
        }
        let [access] = &accesses[..] else { panic!("{accesses:?}") };
        assert_eq!((active, access.lanes, access.bytes), (0x3ff, 0x3ff, 4));
        assert_eq!((access.space, access.kind), (Space::Global, oriole_device::Access::Write));
        let expected: Vec<u64> = (0..10).map(|thread| buffer + 4 * thread + 8).collect();
        assert_eq!(access.addresses[..10], expected);
    }
}

#[test]
fn lanes_of_one_load_may_go_to_several_spaces() {
    let text = format!(
        "{PROLOGUE}
        IMAD R4, R0, 0x3, RZ
        STG.E [R2.64], R4
        IADD3 R6, R4, 0x64, RZ
        SHF.L.U32 R5, R0, 0x2, RZ
        STS [R5], R6
        MOV R8, R2
        MOV R9, R3
        ISETP.LT.U32.AND P0, PT, R0, 0xa, PT
        @P0 MOV R8, R5
        @P0 MOV R9, 0x1
        LD.E R7, [R8.64]
        STG.E [R2.64], R7
        EXIT"
    );
    let words = Run::default().words(&text);
    let expected: Vec<u32> = (0..32).map(|thread| 3 * thread + if thread < 10 { 100 } else { 0 }).collect();
    assert_eq!(words[..32], expected);
}

#[test]
fn vectors_and_parts_of_words_come_to_their_lanes() {
    // Each thread stores four words to shared memory and loads its right neighbour's, backwards, and
    // one byte of the second of them.
    let text = format!(
        "{PROLOGUE}
        IMAD R4, R0, 0x4, RZ
        IADD3 R5, R4, 0x101, RZ
        IADD3 R6, R4, 0x202, RZ
        IADD3 R7, R4, 0x303, RZ
        SHF.L.U32 R12, R0, 0x4, RZ
        STS.128 [R12], R4
        IADD3 R13, R12, 0x10, RZ
        LOP3.LUT R13, R13, 0x1ff, RZ, 0xc0, !PT
        LDS.128 R16, [R13]
        LDS.U8 R20, [R13+0x4]
        LDS.S16 R21, [R13+0xc]
        IADD3 R22, R16, R17, R18
        IADD3 R22, R22, R19, R20
        IADD3 R22, R22, R21, RZ
        STG.E [R2.64], R22
        EXIT"
    );
    let words = Run::default().words(&text);
    let expected = |thread: u32| {
        let first = 4 * ((thread + 1) % 32);
        4 * first + 0x606 + ((first + 0x101) & 0xff) + first + 0x303
    };
    assert_eq!(words[..32], (0..32).map(expected).collect::<Vec<u32>>());
}
