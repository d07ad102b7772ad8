//! Atomic operations that PTX has no instruction for.

use super::{compiled, run};

/// Each of 32 threads applies `op` with its own number to one element beside others, which stay.
fn by_all_threads(op: &str, ty: &str, size: usize, arch: &str, start: u64, value: &str) -> u64 {
    let text = format!(
        "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
define ptx_kernel void @k(ptr %in, ptr %out) {{
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
{value}  %p = getelementptr i8, ptr %out, i64 {size}
  %old = atomicrmw {op} ptr %p, {ty} %v syncscope(\"device\") acq_rel
  ret void
}}
"
    );
    let mut before = vec![0xC3; size];
    before.extend(&start.to_le_bytes()[..size]);
    before.resize(16, 0x3C);
    let after = run(&text, arch, &[0; 16], &before, 32);
    assert_eq!(after[..size], before[..size], "{op} {ty}: the element before");
    assert_eq!(after[2 * size..], before[2 * size..], "{op} {ty}: the element behind");
    let mut bytes = [0; 8];
    bytes[..size].copy_from_slice(&after[size..2 * size]);
    u64::from_le_bytes(bytes)
}

/// `%v`: a number from the thread's.
fn number(ty: &str) -> String {
    match ty {
        "i32" => "  %v = add i32 %tid, 1\n".to_owned(),
        "i64" => "  %w = add i32 %tid, 1\n  %v = zext i32 %w to i64\n".to_owned(),
        "float" | "double" | "half" | "bfloat" => {
            format!("  %w = add i32 %tid, 1\n  %v = uitofp i32 %w to {ty}\n")
        }
        _ => format!("  %w = add i32 %tid, 1\n  %v = trunc i32 %w to {ty}\n"),
    }
}

#[test]
fn bytes_and_halfwords() {
    for arch in ["sm_60", "sm_80"] {
        for (ty, size, mask) in [("i8", 1, 0xFFu64), ("i16", 2, 0xFFFF)] {
            let sum: u64 = (1..=32).sum();
            assert_eq!(by_all_threads("add", ty, size, arch, 5, &number(ty)), (5 + sum) & mask);
            assert_eq!(by_all_threads("sub", ty, size, arch, 5, &number(ty)), 5u64.wrapping_sub(sum) & mask);
            assert_eq!(by_all_threads("or", ty, size, arch, 0, &number(ty)), 63);
            assert_eq!(by_all_threads("umax", ty, size, arch, 5, &number(ty)), 32);
            assert_eq!(by_all_threads("min", ty, size, arch, mask, &number(ty)), mask);
            assert_eq!(by_all_threads("xor", ty, size, arch, 0, &number(ty)), (1..=32).fold(0, |a, b| a ^ b));
        }
    }
}

#[test]
fn operations_without_an_instruction() {
    for (ty, size) in [("i32", 4), ("i64", 8)] {
        let ones = u64::MAX >> (64 - 8 * size as u32);
        // not(x & 0) is all ones whatever comes before.
        let zero = format!("  %v = add {ty} 0, 0\n");
        assert_eq!(by_all_threads("nand", ty, size, "sm_80", 5, &zero), ones);
        let seven = format!("  %v = add {ty} 7, 0\n");
        assert_eq!(by_all_threads("usub_sat", ty, size, "sm_80", 100, &seven), 0);
        assert_eq!(by_all_threads("usub_cond", ty, size, "sm_80", 100, &seven), 100 % 7);
    }
    // 32 steps around a circle of 8, or 11 numbers.
    let circle = |limit: u64| format!("  %v = add i64 {limit}, 0\n");
    assert_eq!(by_all_threads("uinc_wrap", "i64", 8, "sm_80", 3, &circle(7)), (3 + 32) % 8);
    assert_eq!(by_all_threads("udec_wrap", "i64", 8, "sm_80", 3, &circle(10)), (3 + 3 * 11) - 32);
}

#[test]
fn sums_and_extremes_of_floats() {
    let largest = by_all_threads("fmax", "float", 4, "sm_80", 0, &number("float"));
    assert_eq!(f32::from_bits(largest as u32), 32.0);
    let least = by_all_threads("fmin", "double", 8, "sm_80", 100f64.to_bits(), &number("double"));
    assert_eq!(f64::from_bits(least), 1.0);
    let sum = by_all_threads(
        "fadd",
        "bfloat",
        2,
        "sm_80",
        0,
        &number("i16").replace("trunc i32 %w to i16", "uitofp i1 1 to bfloat"),
    );
    assert_eq!(half::bf16::from_bits(sum as u16).to_f32(), 32.0);
}

#[test]
fn pairs_of_halves() {
    // Lanes: the thread's number, and its negative.
    let value = "  %w = add i32 %tid, 1
  %h = uitofp i32 %w to half
  %n = fneg half %h
  %one = insertelement <2 x half> poison, half %h, i32 0
  %v = insertelement <2 x half> %one, half %n, i32 1
";
    let lanes = |bits: u64| [bits as u16, (bits >> 16) as u16].map(|lane| half::f16::from_bits(lane).to_f32());
    assert_eq!(lanes(by_all_threads("fmax", "<2 x half>", 4, "sm_80", 0, value)), [32.0, 0.0]);
    assert_eq!(lanes(by_all_threads("fmin", "<2 x half>", 4, "sm_80", 0, value)), [0.0, -32.0]);
    assert_eq!(lanes(by_all_threads("fadd", "<2 x half>", 4, "sm_80", 0, value)), [528.0, -528.0]);
    let value = value.replace("half", "bfloat");
    let after = by_all_threads("fsub", "<2 x bfloat>", 4, "sm_80", 0, &value);
    // Sums up to 256 are exact in `bfloat`; beyond, the order of the threads would matter.
    assert_eq!(after >> 16 & 0x7FFF, after & 0x7FFF);
    assert_eq!(after >> 15 & 1, 1);
}

#[test]
fn exchange_of_bytes() {
    for (arch, ty) in [("sm_60", "i8"), ("sm_80", "i8"), ("sm_60", "i16")] {
        let text = format!(
            "define ptx_kernel void @k(ptr %in, ptr %out) {{
  %p = getelementptr {ty}, ptr %out, i64 1
  %hit = cmpxchg ptr %p, {ty} 3, {ty} 77 seq_cst monotonic
  %old = extractvalue {{ {ty}, i1 }} %hit, 0
  %yes = extractvalue {{ {ty}, i1 }} %hit, 1
  %miss = cmpxchg ptr %p, {ty} 3, {ty} 99 acq_rel acquire
  %no = extractvalue {{ {ty}, i1 }} %miss, 1
  %now = extractvalue {{ {ty}, i1 }} %miss, 0
  %q = getelementptr i8, ptr %out, i64 8
  store {ty} %old, ptr %q
  %q2 = getelementptr i8, ptr %out, i64 10
  store {ty} %now, ptr %q2
  %q3 = getelementptr i8, ptr %out, i64 12
  %y = zext i1 %yes to i8
  store i8 %y, ptr %q3
  %q4 = getelementptr i8, ptr %out, i64 13
  %z = zext i1 %no to i8
  store i8 %z, ptr %q4
  ret void
}}
"
        );
        let size = if ty == "i8" { 1 } else { 2 };
        let mut before = vec![0u8; 16];
        before[0] = 200;
        before[size] = 3;
        before[2 * size] = 201;
        let mut expected = before.clone();
        expected[size] = 77;
        expected[8] = 3;
        expected[10] = 77;
        expected[12] = 1;
        assert_eq!(run(&text, arch, &[0; 16], &before, 1), expected, "{ty} {arch}");
    }
}

#[test]
fn memory_of_one_thread_needs_no_atomics() {
    let text = "define ptx_kernel void @k(ptr %in, ptr %out) {
  %slot = alloca [4 x i32], align 4, addrspace(5)
  %i = load i32, ptr %in
  %p = getelementptr [4 x i32], ptr addrspace(5) %slot, i32 0, i32 %i
  store i32 9, ptr addrspace(5) %p
  %old = atomicrmw nand ptr addrspace(5) %p, i32 1 seq_cst
  %pair = cmpxchg ptr addrspace(5) %p, i32 -2, i32 40 seq_cst seq_cst
  %new = load i32, ptr addrspace(5) %p
  %sum = add i32 %old, %new
  store i32 %sum, ptr %out
  ret void
}
";
    assert_eq!(run(text, "sm_80", &2u32.to_le_bytes(), &[0; 4], 1), 49u32.to_le_bytes());
    let ptx = oriole_ptx::print(&compiled(text, 0, "sm_80"));
    assert!(!ptx.contains("atom."), "{ptx}");
}
