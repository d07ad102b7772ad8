//! Which control words an instruction may have. `nvdisasm.rs` asks the same of nvdisasm, for every opcode and form;
//! what stands here is what it said.

use oriole_isa::{Arch, Control, ControlFault, EncodeError, Inst, control_fault, encode, parse};

/// No scoreboards and no waits.
const PLAIN: Control = Control { stall: 2, ..Control::NONE };
const SETS_RESULTS: Control = Control { write_scoreboard: 0, ..PLAIN };
const SETS_SOURCES: Control = Control { read_scoreboard: 3, ..PLAIN };
const WAITS: Control = Control { wait_mask: 0b100, ..PLAIN };

fn with(text: &str, arch: Arch, control: Control) -> Inst {
    let inst = parse(text, arch, &|_| None).unwrap_or_else(|error| panic!("{text}: {error}"));
    Inst { control, ..inst }
}

/// Whether results, sources and waits are allowed.
fn carries(text: &str, arch: Arch) -> [bool; 3] {
    [SETS_RESULTS, SETS_SOURCES, WAITS].map(|control| {
        let inst = with(text, arch, control);
        let fault = control_fault(&inst, arch);
        let encoded = encode(&inst, arch, 0);
        assert_eq!(encoded.is_ok(), fault.is_none(), "{text}");
        if let Some(fault) = fault {
            assert_eq!(encoded, Err(EncodeError::Control { mnemonic: inst.opcode.name(), fault }));
        }
        fault.is_none()
    })
}

#[test]
fn scoreboards_go_with_what_has_results_and_sources_of_no_fixed_time() {
    let (all, results, sources, waits) = ([true; 3], [true, false, true], [false, true, true], [false, false, true]);
    for (text, arch, allowed) in [
        ("LDG.E R0, desc[UR4][R2.64]", Arch::Sm90, all),
        ("FFMA R0, R1, R2, R3", Arch::Sm80, all),
        ("STG.E desc[UR4][R2.64], R0", Arch::Sm90, sources),
        ("STS [R2], R0", Arch::Sm75, sources),
        ("MEMBAR.SC.GPU", Arch::Sm80, sources),
        ("BAR.SYNC.DEFER_BLOCKING 0x0", Arch::Sm80, sources),
        ("CCTL.E.PF1 [R2]", Arch::Sm80, sources),
        ("CCTL.IVALL", Arch::Sm80, waits),
        ("BMOV.32.CLEAR R2, B6", Arch::Sm80, results),
        ("BMOV.32 B6, R2", Arch::Sm80, sources),
        ("BMOV.32 B6, 0x10", Arch::Sm80, waits),
        ("LDCU UR4, c[0x3][0x6c]", Arch::Sm100, results),
        ("EXIT", Arch::Sm80, waits),
        ("BSYNC B0", Arch::Sm80, waits),
        ("WARPSYNC R4", Arch::Sm80, waits),
        ("NANOSLEEP 0x10", Arch::Sm80, waits),
        ("HGMMA.64x8x16.F32 R4, gdesc[UR4], R4, gsb0", Arch::Sm90, waits),
        ("WARPGROUP.ARRIVE", Arch::Sm90, waits),
        ("WARPGROUP.DEPBAR.LE gsb0, 0x0", Arch::Sm90, [false; 3]),
    ] {
        assert_eq!(carries(text, arch), allowed, "{text}");
    }
}

/// ptxas's words keep this too: none of 70,000 golden ones breaks it (`vectors.rs` encodes them all).
#[test]
fn a_warp_stays_for_one_to_eleven_cycles() {
    for stall in 0..16 {
        let inst = with("FFMA R0, R1, R2, R3", Arch::Sm80, Control { stall, stay: true, ..PLAIN });
        let fault = (!(1..=11).contains(&stall)).then_some(ControlFault::Stay);
        assert_eq!(control_fault(&inst, Arch::Sm80), fault, "{stall}");
        let leaves = with("FFMA R0, R1, R2, R3", Arch::Sm80, Control { stall, ..PLAIN });
        assert_eq!(control_fault(&leaves, Arch::Sm80), None, "{stall}");
    }
}

#[test]
fn operands_are_kept_by_a_warp_that_stays() {
    let text = "FFMA R0, R1.reuse, R2, R3";
    let stays = with(text, Arch::Sm80, Control { stall: 1, stay: true, ..PLAIN });
    assert_eq!(control_fault(&stays, Arch::Sm80), None);
    assert_eq!(control_fault(&with(text, Arch::Sm80, PLAIN), Arch::Sm80), Some(ControlFault::Reuse));
}
