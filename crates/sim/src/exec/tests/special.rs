//! Special registers: every row of the table has the value that a launch gives it, worked out here from the order
//! of threads, or is a fault that names it.

use super::documented::listed;
use crate::constant::ConstantBanks;
use crate::identity::WarpIdentity;
use crate::lanes::Lanes;
use crate::special::read;
use crate::state::State;
use oriole_isa::Arch;
use oriole_isa::special_registers::{SpecialRegister, all, by_number};
use std::sync::Arc;

const BLOCK: [u32; 3] = [12, 5, 3];
const WARP_NUMBER: u32 = 4;
const CLOCK: u64 = 0x12_3456_789a;

fn state(arch: Arch) -> State {
    let identity = WarpIdentity {
        arch,
        tid: WarpIdentity::thread_ids(BLOCK, WARP_NUMBER),
        ctaid: [0x1_0003, 7, 9],
        warp: WARP_NUMBER,
        threads: 180,
        shared_size: 0x2480,
        registers: 40,
        block: 110,
        cluster_rank: 3,
    };
    let mut state = State::new(Arc::new(ConstantBanks::new()), identity).expect("there is room");
    (state.active, state.clock) = (u32::MAX, CLOCK);
    state
}

/// The threads of the warp, counted out with x fastest.
fn threads() -> Vec<[u32; 3]> {
    let [width, height, depth] = BLOCK;
    let planes = (0..depth + 1).flat_map(|z| (0..height).map(move |y| (y, z)));
    let all = planes.flat_map(|(y, z)| (0..width).map(move |x| [x, y, z]));
    all.skip(32 * WARP_NUMBER as usize).take(32).collect()
}

/// The lanes of which `holds(lane, other)`, as a mask for each lane.
fn mask(holds: fn(u32, u32) -> bool) -> Lanes {
    std::array::from_fn(|lane| (0..32).filter(|&other| holds(lane as u32, other)).map(|other| 1u32 << other).sum())
}

/// What a register of a kernel's warp holds, by its name; `None` where the table alone says it.
fn expected(name: &str, arch: Arch) -> Option<Lanes> {
    let threads = threads();
    let each = |f: &dyn Fn(usize) -> u32| std::array::from_fn(f);
    let same = |value: u32| [value; 32];
    Some(match name {
        "SR_LANEID" => each(&|lane| lane as u32),
        "SR_EQMASK" => mask(|lane, other| other == lane),
        "SR_LTMASK" => mask(|lane, other| other < lane),
        "SR_LEMASK" => mask(|lane, other| other <= lane),
        "SR_GTMASK" => mask(|lane, other| other > lane),
        "SR_GEMASK" => mask(|lane, other| other >= lane),
        "SR_TID" => each(&|lane| threads[lane][0] + 0x1_0000 * threads[lane][1] + 0x400_0000 * threads[lane][2]),
        "SR_TID.X" => each(&|lane| threads[lane][0]),
        "SR_TID.Y" => each(&|lane| threads[lane][1]),
        "SR_TID.Z" => each(&|lane| threads[lane][2]),
        // Warp 4 on multiprocessor 110 - 108.
        "SR_VIRTID" => each(&|lane| lane as u32 + 0x400 + 0x20_0000),
        "SR_VIRTUALSMID" => same(2),
        // 32 lanes; warps and blocks of the programming guide's table; 108 multiprocessors.
        "SR_VIRTCFG" => {
            let (warps, blocks) = match arch {
                Arch::Sm75 => (32, 16),
                Arch::Sm86 | Arch::Sm87 => (48, 16),
                Arch::Sm89 | Arch::Sm88 | Arch::Sm110 | Arch::Sm107 | Arch::Sm120 | Arch::Sm121 => (48, 24),
                _ => (64, 32),
            };
            same(32 + warps * 0x100 + blocks % 16 * 0x1_0000 + 108 * 0x10_0000 + blocks / 16 * 0x2000_0000)
        }
        "SR_CTAID.X" => same(0x1_0003),
        "SR_CTAID.Y" => same(7),
        "SR_CTAID.Z" => same(9),
        "SR_NTID" | "SR_NLATC" => same(180),
        // The windows are at 2^32 and 2^33, of 16 MiB.
        "SR_SWINHI" => same(1),
        "SR_LWINHI" => same(2),
        "SR_SWINSZ" | "SR_LWINSZ" => same(16 << 20),
        "SR_SMEMSZ" => same(0x2480),
        "SR_SMEMBANKS" => same(32),
        // The stack begins at 15 MiB and has 512 KiB.
        "SR_LMEMHIOFF" => same((15 << 20) - (512 << 10)),
        "SR_REGALLOC" => same(40),
        "SR_CLOCK" | "SR_CLOCKLO" | "SR_GLOBALTIMERLO" => same(0x3456_789a),
        "SR_CLOCKHI" | "SR_GLOBALTIMERHI" => same(0x12),
        "SR_CgaCtaId" => same(3),
        "SR_CgaSize" => same(0),
        "SR_WARPGROUPID" => same(1),
        _ => return None,
    })
}

fn is_of_kernels(register: &SpecialRegister) -> bool {
    ["all", "compute"].iter().any(|kind| register.shaders.split(',').any(|shader| shader == *kind))
}

#[test]
fn every_row_has_a_value_or_is_a_fault() {
    let unknown = listed("Special registers without a value");
    let rows = |arch: Arch| all().iter().filter(move |register| register.exists_on(arch));
    for name in &unknown {
        assert!(Arch::MODELLED.iter().any(|&arch| rows(arch).any(|row| row.name == *name)), "{name} does not exist");
    }
    for arch in Arch::MODELLED {
        for register in rows(arch) {
            let outcome = read(register.number, false, &state(arch));
            let is_unknown = unknown.contains(register.name);
            match outcome {
                Err(fault) => {
                    assert!(is_unknown, "{arch}: {} is no value", register.name);
                    assert!(format!("{fault:?}").contains(register.name), "{fault:?}");
                }
                Ok(values) => {
                    assert!(!is_unknown, "{arch}: {} has a value", register.name);
                    let expected = expected(register.name, arch).filter(|_| is_of_kernels(register));
                    assert_eq!(values, expected.unwrap_or([0; 32]), "{arch}: {}", register.name);
                }
            }
        }
    }
}

/// Rules of the published description of special registers (docs/sources.md): numbers that the target does not have
/// read as zero, and so does `CS2R` of registers that are not coupled.
#[test]
fn what_is_not_there_reads_as_zero() {
    for arch in Arch::MODELLED {
        for number in 0..=255 {
            let value = |coupled| read(number, coupled, &state(arch)).map_err(|fault| format!("{fault:?}"));
            match by_number(number, arch) {
                None => assert_eq!((value(false), value(true)), (Ok([0; 32]), Ok([0; 32])), "{arch}: SR{number}"),
                Some(register) if !register.coupled => {
                    assert_eq!(value(true), Ok([0; 32]), "{arch}: {}", register.name)
                }
                Some(_) => assert_eq!(value(true), value(false), "{arch}: SR{number}"),
            }
        }
    }
}
