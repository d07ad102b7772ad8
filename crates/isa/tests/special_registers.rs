//! Special registers: their names, and what is read where there is none.

use oriole_isa::Arch;
use oriole_isa::special_registers::{SRZ, Scope, by_name, by_number, by_ptx_name, is_constant, parse, print, read};

#[test]
fn names_print_and_parse_back_for_all_numbers() {
    for arch in Arch::ALL {
        for number in 0..=255 {
            assert_eq!(parse(&print(number, arch), arch), Some(number));
        }
    }
}

#[test]
fn hopper_alone_names_the_cluster_registers() {
    assert_eq!(print(136, Arch::Sm90), "SR_CgaCtaId");
    assert_eq!(print(136, Arch::Sm80), "SR136");
    assert_eq!(by_ptx_name("%tid.x", Arch::Sm80).map(|r| r.number), Some(33));
    assert_eq!(by_number(SRZ, Arch::Sm89).map(|r| r.name), Some("SRZ"));
}

/// Rules of the published description of special registers (docs/sources.md).
#[test]
fn what_is_not_there_reads_as_zero() {
    let tid = 0xffff_ffff;
    assert_eq!(read(32, Arch::Sm50, false, tid), 0xffff_07ff);
    assert_eq!(read(0, Arch::Sm50, false, 0xff), 31);
    assert_eq!(read(0, Arch::Sm50, true, 0xff), 0, "CS2R of a register that is not coupled");
    assert_eq!(read(80, Arch::Sm90, true, 7), 7);
    assert_eq!(read(84, Arch::Sm50, false, 7), 0, "a number without a register");
    assert_eq!(read(3, Arch::Sm61, false, u32::MAX), 0x7fff_7f1f);
}

/// The PTX manual (special registers): a thread keeps its place in the block and the grid; its warp's slot and
/// multiprocessor may change, clocks and counters do.
#[test]
fn only_a_threads_place_is_constant() {
    let constant = |name| by_name(name, Arch::Sm80).map(|register| is_constant(register.number, Arch::Sm80));
    for name in ["SR_TID.X", "SR_TID.Z", "SR_CTAID.Y", "SR_LANEID"] {
        assert_eq!(constant(name), Some(true), "{name}");
    }
    for name in ["SR_CLOCKLO", "SR_CLOCKHI", "SR_GLOBALTIMERLO", "SR_VIRTID", "SR_PM3"] {
        assert_eq!(constant(name), Some(false), "{name}");
    }
    let shape = by_name("SR_CgaSize", Arch::Sm100).expect("sm_100 has it");
    assert!(is_constant(shape.number, Arch::Sm100));
}

/// `%warpid` is bits 8 to 14 of the virtual identity, of which the lane alone is the thread's.
#[test]
fn of_the_virtual_identity_the_lane_alone_varies() {
    let named = |name| by_name(name, Arch::Sm80).expect("it is there");
    assert_eq!(named("SR_VIRTID").varying_bits(), 0x1f);
    assert_eq!(named("SR_TID").varying_bits(), 0xffff_07ff);
    assert_eq!(named("SR_CTAID.X").varying_bits(), 0);
    let shared_by = |name| named(name).shared_by();
    assert_eq!(shared_by("SR_CTAID.X"), Scope::Cta);
    assert_eq!(shared_by("SR_SWINHI"), Scope::Global);
    // It counts down as threads end; the clock runs.
    assert_eq!(["SR_NTID", "SR_CLOCKLO", "SR_VIRTUALSMID"].map(shared_by), [Scope::Warp; 3]);
    assert_eq!(shared_by("SR_TID.X"), Scope::Thread);
}

#[test]
fn counters_have_other_numbers_before_volta() {
    assert_eq!(by_name("SR_PM3", Arch::Sm61).map(|r| r.number), Some(7));
    assert_eq!(by_name("SR_PM3", Arch::Sm70).map(|r| r.number), Some(106));
    assert_eq!(print(24, Arch::Sm75), "SR_MACHINE_ID_0");
    assert_eq!(print(24, Arch::Sm80), "SR_SW_SCRATCH");
}
