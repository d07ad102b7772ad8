//! What depends on the order of blocks is the same on any number of host threads.

use super::Run;

#[test]
fn tickets_are_given_in_the_order_of_blocks_on_any_number_of_threads() {
    // Word b = the ticket that block b draws; word 63 counts.
    let text = "
        S2R R1, SR_CTAID.X
        MOV R2, c[0x0][0x160]
        MOV R3, c[0x0][0x164]
        MOV R4, 0x1
        ATOMG.E.ADD.STRONG.GPU PT, R5, [R2.64+0xfc], R4
        IMAD.WIDE.U32 R2, R1, 0x4, R2
        STG.E [R2.64], R5
        EXIT";
    for workers in [1, 2, 5] {
        let words = Run { grid: 40, block: 1, workers, ..Run::default() }.words(text);
        assert_eq!(words[..40], (0..40).collect::<Vec<u32>>());
    }
}

#[test]
fn a_barrier_of_the_whole_grid_is_passed() {
    // Every block adds one to word 63 and waits until all have; then each writes what it sees.
    let text = "
        S2R R1, SR_CTAID.X
        MOV R2, c[0x0][0x160]
        MOV R3, c[0x0][0x164]
        MOV R4, 0x1
        ATOMG.E.ADD.STRONG.GPU PT, R5, [R2.64+0xfc], R4
        wait:
        LDG.E.STRONG.GPU R6, [R2.64+0xfc]
        ISETP.NE.U32.AND P0, PT, R6, c[0x0][0xc], PT
        @P0 BRA `(wait)
        IMAD.WIDE.U32 R2, R1, 0x4, R2
        STG.E [R2.64], R6
        EXIT";
    for workers in [1, 4] {
        let run = Run { grid: 8, block: 1, workers, limit: 100_000_000, ..Run::default() };
        assert_eq!(run.words(text)[..8], [8; 8]);
    }
}

#[test]
fn float_sums_are_in_the_order_of_blocks_on_any_number_of_threads() {
    // Block b adds the float with bits 0x3f800000 + b * 0x300000: rounding depends on the order.
    let text = "
        S2R R1, SR_CTAID.X
        MOV R2, c[0x0][0x160]
        MOV R3, c[0x0][0x164]
        IMAD R5, R1, 0x300000, RZ
        IADD3 R5, R5, 0x3f800000, RZ
        RED.E.ADD.F32.FTZ.RN.STRONG.GPU [R2.64], R5
        EXIT";
    let values = (0..60u32).map(|block| f32::from_bits(0x3f80_0000 + block * 0x30_0000));
    let expected = values.clone().fold(0.0f32, |sum, value| sum + value);
    assert_ne!(expected, values.rev().fold(0.0f32, |sum, value| sum + value), "the order matters");
    for workers in [1, 2, 7] {
        let words = Run { grid: 60, block: 1, workers, ..Run::default() }.words(text);
        assert_eq!(f32::from_bits(words[0]), expected);
    }
}
