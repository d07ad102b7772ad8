//! Strict simulation on short sequences; the distances are those that ptxas's code relies on
//! (docs/sources.md, Latencies).

use crate::exec::tests::warp;
use crate::lanes::Mask;
use crate::strict::{Hazards, Issue, Watch};
use crate::warp_values::WarpValues;
use oriole_device::Hazard;
use oriole_isa::{Arch, Control, Inst};

/// An instruction and its control: stall, write scoreboard, read scoreboard, wait mask.
type Line = (&'static str, u8, Option<u8>, Option<u8>, u8);

fn judge(arch: Arch, lines: &[Line]) -> Result<(), Hazard> {
    let inst = |&(text, stall, write, read, wait_mask): &Line| {
        let mut inst = oriole_isa::parse(text, arch, &|_| None).unwrap_or_else(|error| panic!("{text}: {error}"));
        let board = |board: Option<u8>| board.unwrap_or(Control::NO_SCOREBOARD);
        let (write_scoreboard, read_scoreboard) = (board(write), board(read));
        inst.control = Control { stall, stay: false, write_scoreboard, read_scoreboard, wait_mask, ..Control::NONE };
        inst
    };
    let insts: Vec<Inst> = lines.iter().map(inst).collect();
    let mut hazards = Hazards::new(arch, false);
    let mut cycle = 0;
    for (at, inst) in insts.iter().enumerate() {
        let watch = Watch::of(inst, arch);
        let group = Mask::MAX;
        let issue = Issue { inst, watch: &watch, pc: at as u64, cycle, group, active: group };
        hazards.issue(&issue, |pc| insts.get(pc as usize))?;
        cycle += u64::from(inst.control.cycles());
    }
    Ok(())
}

fn hazard(lines: &[Line]) -> Hazard {
    judge(Arch::Sm80, lines).expect_err("a hazard")
}

fn plain(text: &'static str, stall: u8) -> Line {
    (text, stall, None, None, 0)
}

#[test]
fn fixed_latencies_are_counted_from_issue_to_issue() {
    let add = |stall| [plain("IADD3 R4, R2, 0x1, RZ", stall), plain("IADD3 R5, R4, 0x1, RZ", 1)];
    assert_eq!(judge(Arch::Sm80, &add(4)), Ok(()));
    let found = hazard(&add(3));
    assert_eq!((found.kind, found.register.as_str(), found.missing_cycles), ("read after write", "R4", 1));
    assert!(found.earlier.starts_with("IADD3 R4, R2, 0x1, RZ"), "{}", found.earlier);
    // Another instruction in between counts with its own stall.
    let three = [add(2)[0], plain("IADD3 R6, R2, 0x1, RZ", 2), add(2)[1]];
    assert_eq!(judge(Arch::Sm80, &three), Ok(()));
    let guard = |stall| [plain("ISETP.GE.AND P0, PT, R2, R3, PT", stall), plain("@P0 IADD3 R5, R4, 0x1, RZ", 1)];
    assert_eq!(judge(Arch::Sm90, &guard(13)), Ok(()));
    assert_eq!(hazard(&guard(12)).register, "P0");
}

#[test]
fn loads_need_their_scoreboard() {
    let load = ("LDG.E R4, [R2.64]", 2, Some(1), None, 0);
    let with = |wait| [load, ("IADD3 R5, R4, 0x1, RZ", 1, None, None, wait)];
    assert_eq!(judge(Arch::Sm80, &with(0b10)), Ok(()));
    assert!(hazard(&with(0b01)).remedy.contains("SB1"));
    // A wait in the very next cycle does not see the scoreboard yet.
    let hasty = [("LDG.E R4, [R2.64]", 1, Some(1), None, 0), with(0b10)[1]];
    assert_eq!(hazard(&hasty).missing_cycles, 1);
    let none = [plain("LDG.E R4, [R2.64]", 15), plain("IADD3 R5, R4, 0x1, RZ", 1)];
    assert!(hazard(&none).remedy.contains("no scoreboard"));
}

#[test]
fn sources_of_stores_are_held_until_read() {
    let store = ("STG.E [R2.64], R4", 2, None, Some(0), 0);
    let overwrite = |wait| [store, ("IADD3 R4, R5, 0x1, RZ", 1, None, None, wait)];
    assert_eq!(judge(Arch::Sm80, &overwrite(1)), Ok(()));
    assert_eq!(hazard(&overwrite(0)).kind, "write after read");
    // A load into the address of a load before it: memory instructions read in order.
    let loads = [("LDG.E R6, [R4.64]", 2, Some(0), None, 0), ("LDG.E R4, [R2.64]", 2, Some(1), None, 0)];
    assert_eq!(judge(Arch::Sm80, &loads), Ok(()));
}

#[test]
fn a_later_instruction_of_the_queue_covers_the_earlier() {
    let lines = |wait| {
        [
            plain("MUFU.RCP R4, R2", 4),
            ("MUFU.RCP R5, R3", 2, Some(2), None, 0),
            ("FADD R6, R4, R5", 1, None, None, wait),
        ]
    };
    assert_eq!(judge(Arch::Sm80, &lines(0b100)), Ok(()));
    assert_eq!(hazard(&lines(0)).register, "R4");
}

#[test]
fn depbar_leaves_the_newest_outstanding() {
    let load = |text| (text, 2, Some(0), None, 0);
    let reader = |text| plain(text, 1);
    let depbar = plain("DEPBAR.LE SB0, 0x1", 4);
    let (first, second) = (load("LDG.E R4, [R2.64]"), load("LDG.E R5, [R2.64+0x4]"));
    assert_eq!(judge(Arch::Sm80, &[first, second, depbar, reader("IADD3 R6, R4, 0x1, RZ")]), Ok(()));
    assert_eq!(hazard(&[first, second, depbar, reader("IADD3 R6, R5, 0x1, RZ")]).register, "R5");
}

#[test]
fn depbar_covers_what_comes_before_in_the_same_order() {
    // As ptxas waits for the first of several textures: the one without a scoreboard comes back before the next.
    let texture = |text, scoreboard| (text, 2, scoreboard, None, 0);
    let lines = |left| {
        [
            texture("TEX.SCR.LL RZ, R4, R2, R6, 0x0, 0x58, 2D, 0x1", None),
            texture("TEX.SCR.LL RZ, R5, R2, R6, 0x0, 0x58, 2D, 0x1", Some(5)),
            texture("TEX.SCR.LL RZ, R8, R2, R6, 0x0, 0x58, 2D, 0x1", Some(5)),
            plain(left, 4),
            plain("FADD R9, R4, 1", 1),
        ]
    };
    assert_eq!(judge(Arch::Sm80, &lines("DEPBAR.LE SB5, 0x1")), Ok(()));
    assert_eq!(hazard(&lines("DEPBAR.LE SB5, 0x2")).register, "R4");
}

#[test]
fn predicates_packed_in_a_register_are_seen() {
    let lines = |stall| [plain("R2P PR, R2, 0x2", stall), plain("@P1 IADD3 R5, R4, 0x1, RZ", 1)];
    assert_eq!(judge(Arch::Sm80, &lines(13)), Ok(()));
    assert_eq!(hazard(&lines(5)).register, "P1");
}

/// Writes of `UR4` by threads of a warp, a value each; then these threads read it.
fn read_after(writes: &[(Mask, u32)], readers: Mask) -> Result<(), Hazard> {
    let watch = |text| {
        let inst = oriole_isa::parse(text, Arch::Sm90, &|_| None).unwrap_or_else(|error| panic!("{text}: {error}"));
        Watch::of(&inst, Arch::Sm90)
    };
    let (write, read) = (watch("UMOV UR4, 0x1"), watch("IADD3 R2, R3, UR4, RZ"));
    let (mut state, mut values) = (warp(Arch::Sm90), WarpValues::new());
    for (at, (threads, value)) in writes.iter().enumerate() {
        state.set_ur(4, *value);
        values.note(&state, &write, *threads, 16 * at as u64);
    }
    values.judge(&state, &read, readers)
}

#[test]
fn a_uniform_register_holds_what_its_reader_wrote() {
    let (some, others) = (0xff, 0xff00);
    assert_eq!(read_after(&[(Mask::MAX, 7)], some), Ok(()));
    // One after the other, each for itself.
    assert_eq!(read_after(&[(Mask::MAX, 7), (some, 8)], some), Ok(()));
    // The others have not gone on meanwhile, and find something else.
    let found = read_after(&[(Mask::MAX, 7), (some, 8)], others).expect_err("overwritten");
    assert_eq!((found.kind, found.register.as_str()), ("read of another path's value", "UR4"));
    assert!(found.earlier.contains("code address 0x10") && found.earlier.contains("lane 8"), "{}", found.earlier);
    // The same value is no harm: a descriptor that is loaded wherever it is needed.
    assert_eq!(read_after(&[(Mask::MAX, 7), (some, 7)], others), Ok(()));
    // Who comes together with different values has none.
    assert!(read_after(&[(some, 7), (others, 8)], some | others).is_err());
}
