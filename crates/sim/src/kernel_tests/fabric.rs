//! Other devices' memory behind the fabric is refused by its name: no launch here has it.

use super::Run;
use oriole_device::FaultKind;
use oriole_isa::Arch;

/// Registers of a copy as the code of `fabric` instructions has them: the address of endpoint 1 in UR4, shared memory and the mbarrier
/// in UR8 and UR9, one unit.
const OPERANDS: &str = "
    UMOV UR4, 0x80
    UMOV UR5, 0x200400
    UMOV UR8, 0x200
    UMOV UR9, 0x100
    UMOV UR10, 0x1
";

#[test]
fn copies_of_the_fabric_are_refused_by_name() {
    for (copy, what) in [
        ("UBLKCP.S.G.STRONG.SYS [UR8], [UR4], UR10", "behind the fabric, at 0x20040000000080"),
        ("UBLKCP.G.S.STRONG.SYS [UR4], [UR8], UR10", "behind the fabric, at 0x20040000000080"),
        ("UBLKRED.G.S.ADD.STRONG.SYS [UR4], [UR8], UR10", "behind the fabric, at 0x20040000000080"),
        ("UBLKCP.G.S.COUNTED.STRONG.SYS [UR4], [UR8], UR10", "a copy that is counted"),
        (
            "MOV R4, UR4\nMOV R5, UR5\nATOMG.E.ADD.STRONG.SYS PT, R2, [R4.64+URZ], R6",
            "behind the fabric, at 0x20040000000080",
        ),
        (
            "MOV R4, UR4\nMOV R5, UR5\nLDGMC.E.ADD.32.STRONG.SYS R2, [R4.64+URZ]",
            "behind the fabric, at 0x20040000000080",
        ),
    ] {
        let fault = Run { arch: Arch::Sm100, ..Run::default() }.fault(&format!("{OPERANDS}\n{copy}\nEXIT"));
        let (FaultKind::Misuse(message) | FaultKind::Unsupported(message)) = fault.kind else {
            panic!("{copy}: {:?}", fault.kind)
        };
        assert!(message.contains(what), "{copy}: {message}");
    }
}
