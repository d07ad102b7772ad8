//! The simulator against ptxas's constant folding.
//!
//! A PTX operation on constants is folded when it is compiled; the same operation on values loaded from
//! memory is executed by the simulator. Both must give the same bits. Needs ptxas in the folder that
//! `ORIOLE_ORACLE` names.

use crate::ptxas;

use oriole_device::{Launch, Memory};
use oriole_sim::{Options, Simulator};
use std::fmt::Write;

/// Width of an operand in bits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Width {
    B16,
    B32,
    B64,
}
use Width::{B16, B32, B64};

impl Width {
    fn bytes(self) -> usize {
        match self {
            B16 => 2,
            B32 => 4,
            B64 => 8,
        }
    }

    fn ptx(self) -> &'static str {
        match self {
            B16 => "b16",
            B32 => "b32",
            B64 => "b64",
        }
    }
}

/// Operations with the widths of their sources and of their result.
const OPERATIONS: &[(&str, &[Width], Width)] = &[
    ("add.rn.f32", &[B32, B32], B32),
    ("add.rm.ftz.f32", &[B32, B32], B32),
    ("add.rp.sat.f32", &[B32, B32], B32),
    ("mul.rz.f32", &[B32, B32], B32),
    ("mul.rn.ftz.sat.f32", &[B32, B32], B32),
    ("fma.rn.f32", &[B32, B32, B32], B32),
    ("fma.rm.f32", &[B32, B32, B32], B32),
    ("fma.rp.ftz.f32", &[B32, B32, B32], B32),
    ("min.f32", &[B32, B32], B32),
    ("max.NaN.f32", &[B32, B32], B32),
    ("div.rn.f32", &[B32, B32], B32),
    ("div.rp.f32", &[B32, B32], B32),
    ("div.full.f32", &[B32, B32], B32),
    ("rcp.rn.f32", &[B32], B32),
    ("sqrt.rn.f32", &[B32], B32),
    ("sqrt.rm.f32", &[B32], B32),
    ("rcp.approx.f32", &[B32], B32),
    ("rcp.approx.ftz.f32", &[B32], B32),
    ("rsqrt.approx.ftz.f32", &[B32], B32),
    ("sqrt.approx.ftz.f32", &[B32], B32),
    ("ex2.approx.ftz.f32", &[B32], B32),
    ("ex2.approx.f32", &[B32], B32),
    ("lg2.approx.ftz.f32", &[B32], B32),
    ("lg2.approx.f32", &[B32], B32),
    ("tanh.approx.f16", &[B16], B16),
    ("ex2.approx.f16", &[B16], B16),
    ("cvt.rmi.f32.f32", &[B32], B32),
    ("cvt.rzi.s32.f32", &[B32], B32),
    ("cvt.rpi.ftz.u32.f32", &[B32], B32),
    ("cvt.rni.s64.f32", &[B32], B64),
    ("cvt.rni.s16.f64", &[B64], B16),
    ("cvt.rmi.u64.f64", &[B64], B64),
    ("cvt.rn.f32.f64", &[B64], B32),
    ("cvt.rp.ftz.f32.f64", &[B64], B32),
    ("cvt.rz.f32.u64", &[B64], B32),
    ("cvt.rm.f64.s64", &[B64], B64),
    ("cvt.rn.f16.f32", &[B32], B16),
    ("cvt.rz.bf16.f32", &[B32], B16),
    ("cvt.f64.f32", &[B32], B64),
    ("cvt.f32.f16", &[B16], B32),
    ("cvt.f64.f16", &[B16], B64),
    ("cvt.rna.tf32.f32", &[B32], B32),
    ("add.rn.f64", &[B64, B64], B64),
    ("add.rz.f64", &[B64, B64], B64),
    ("fma.rn.f64", &[B64, B64, B64], B64),
    ("div.rn.f64", &[B64, B64], B64),
    ("min.f64", &[B64, B64], B64),
    ("sqrt.rn.f64", &[B64], B64),
    ("add.f16", &[B16, B16], B16),
    ("fma.rn.relu.f16", &[B16, B16, B16], B16),
    ("max.NaN.f16", &[B16, B16], B16),
    ("fma.rn.f16x2", &[B32, B32, B32], B32),
    ("fma.rn.bf16x2", &[B32, B32, B32], B32),
    ("mul.hi.s32", &[B32, B32], B32),
    ("mad.hi.u32", &[B32, B32, B32], B32),
    ("div.s32", &[B32, B32], B32),
    ("rem.u32", &[B32, B32], B32),
    ("sub.sat.s32", &[B32, B32], B32),
    ("div.s64", &[B64, B64], B64),
    ("mul.hi.u64", &[B64, B64], B64),
    ("shf.l.clamp.b32", &[B32, B32, B32], B32),
    ("prmt.b32.b4e", &[B32, B32, B32], B32),
    ("bfe.s32", &[B32, B32, B32], B32),
    ("szext.wrap.u32", &[B32, B32], B32),
    ("bmsk.clamp.b32", &[B32, B32], B32),
    ("dp4a.s32.u32", &[B32, B32, B32], B32),
    ("bfind.shiftamt.u32", &[B32], B32),
];

/// Numbers at the ends of ranges, as integers and as floats.
const CORNERS: [u64; 16] = [
    0,
    0x8000_0000_8000_8000,
    0x3ff0_0000_0000_0001,
    0x0000_0000_3f80_3c00,
    0xbff0_0000_bf80_bc00,
    0x7ff0_0000_7f80_0000,
    0xfff0_0000_ff80_fc00,
    0x7ff8_0000_7fc0_7e00,
    0x000f_ffff_007f_ffff,
    0x7fef_ffff_7f7f_ffff,
    0x3fe0_0000_3f00_3555,
    0x41df_ffff_ffc0_0000,
    0xc1e0_0000_0020_0000,
    0x0000_0000_0000_001f,
    0xffff_ffff_ffff_ffff,
    0x47ef_ffff_f000_0000,
];

/// Operands of one operation, 48 times: pairs of corners, then mixed bits.
fn cases(operation: &str, widths: &[Width]) -> Vec<Vec<u64>> {
    let mut state = operation.bytes().fold(7u64, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into()));
    let mut next = || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        let mixed = state ^ state >> 29;
        if mixed & 3 == 0 { mixed.rotate_left(17) } else { CORNERS[(mixed >> 8) as usize % CORNERS.len()] }
    };
    let cut = |value: u64, width: Width| value & (u64::MAX >> (64 - 8 * width.bytes()));
    (0..48).map(|_| widths.iter().map(|&width| cut(next(), width)).collect()).collect()
}

/// A kernel that applies the operation to all cases, given as constants or, at `%rd1`, in memory.
fn kernel(operation: &str, widths: &[Width], result: Width, cases: &[Vec<u64>], folded: bool) -> String {
    let register = |width: Width, n: usize| format!("%{}{n}", ["h", "r", "d"][width.bytes().ilog2() as usize - 1]);
    let mut body = String::new();
    for (at, case) in cases.iter().enumerate() {
        let mut sources = String::new();
        for (n, (&width, value)) in widths.iter().zip(case).enumerate() {
            let (to, ptx) = (register(width, n + 1), width.ptx());
            let from = 8 * (3 * at + n);
            // Writing to a string cannot fail.
            let _ = match folded {
                true => writeln!(body, "mov.{ptx} {to}, {value:#x};"),
                false => writeln!(body, "ld.global.{ptx} {to}, [%rd1+{from}];"),
            };
            sources += &format!(", {to}");
        }
        let (to, ptx) = (register(result, 0), result.ptx());
        let _ = writeln!(body, "{operation} {to}{sources};\nst.global.{ptx} [%rd0+{}], {to};", 8 * at);
    }
    format!(
        ".version 8.8\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u64 q) {{\n\
         .reg .b16 %h<5>; .reg .b32 %r<5>; .reg .b64 %d<5>; .reg .b64 %rd<3>;\n\
         ld.param.u64 %rd0, [p]; ld.param.u64 %rd1, [q];\n{body}ret;\n}}\n"
    )
}

/// Compiles by ptxas and runs; the results, 8 bytes apart.
fn run(ptx: &str, data: &[u8], results: u64) -> Option<Vec<u8>> {
    let cubin = ptxas::compile("sm_80", ptx)?;
    let simulator = Simulator::new(&cubin, Options::default()).expect("a module for sm_80");
    let mut memory = Memory::new();
    let (to, from) = (memory.allocate("results", results), memory.allocate_with("data", data));
    let params = [to, from].iter().flat_map(|address| address.to_le_bytes()).collect();
    let launch = Launch { grid: [1; 3], block: [1; 3], params, ..Launch::default() };
    simulator.launch("k", &launch, &mut memory).unwrap_or_else(|error| panic!("{error}"));
    Some(memory.read(to, results).expect("it is allocated"))
}

/// The result is a NaN of a float of that width.
fn is_nan(bytes: &[u8], width: Width) -> bool {
    let bits = bytes.iter().rev().fold(0u64, |bits, &byte| bits << 8 | u64::from(byte));
    match width {
        B16 => bits & 0x7fff > 0x7c00,
        B32 => f32::from_bits(bits as u32).is_nan(),
        B64 => f64::from_bits(bits).is_nan(),
    }
}

#[test]
fn executed_operations_agree_with_folded_ones() {
    let mut wrong = String::new();
    for &(operation, widths, result) in OPERATIONS {
        let cases = cases(operation, widths);
        let mut data = vec![0; 8 * 3 * cases.len()];
        for (at, case) in cases.iter().enumerate() {
            for (n, value) in case.iter().enumerate() {
                data[8 * (3 * at + n)..][..8].copy_from_slice(&value.to_le_bytes());
            }
        }
        let size = 8 * cases.len() as u64;
        let [Some(folded), Some(executed)] =
            [true, false].map(|folded| run(&kernel(operation, widths, result, &cases, folded), &data, size))
        else {
            return;
        };
        for (at, case) in cases.iter().enumerate() {
            let (folded, executed) = (&folded[8 * at..][..8], &executed[8 * at..][..8]);
            // Which of two NaNs a minimum gives depends on the instructions that ptxas chooses.
            let any_nan = operation.starts_with("min") && is_nan(folded, result) && is_nan(executed, result);
            if folded != executed && !any_nan {
                let _ = writeln!(wrong, "{operation} {case:x?}: folded {folded:x?}, executed {executed:x?}");
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
