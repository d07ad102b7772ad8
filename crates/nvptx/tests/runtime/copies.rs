//! Copies and fills of any length.

use super::run;

/// A kernel that calls `call` with the length from the input, on the bytes behind it.
fn kernel(declaration: &str, call: &str) -> String {
    format!(
        "{declaration}
define ptx_kernel void @k(ptr %in, ptr %out) {{
  %n = load i64, ptr %in
  %from = getelementptr i8, ptr %in, i64 16
{call}  ret void
}}
"
    )
}

fn input(length: u64) -> Vec<u8> {
    let mut bytes = length.to_le_bytes().to_vec();
    bytes.resize(16, 0);
    bytes.extend((0..128).map(|n| n as u8 ^ 0x5A));
    bytes
}

#[test]
fn copies_of_any_length_and_alignment() {
    let declaration = "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)";
    for align in [1, 4, 16] {
        let call = format!(
            "  call void @llvm.memcpy.p0.p0.i64(ptr align {align} %out, ptr align {align} %from, i64 %n, i1 false)\n"
        );
        let text = kernel(declaration, &call);
        for length in [0, 1, 3, 4, 15, 16, 17, 100] {
            let bytes = input(length);
            let result = run(&text, "sm_80", &bytes, &[0xEE; 128], 1);
            let (copied, rest) = result.split_at(length as usize);
            assert_eq!(copied, &bytes[16..16 + length as usize], "{length} bytes");
            assert!(rest.iter().all(|&byte| byte == 0xEE), "{length} bytes: more was written");
        }
    }
}

#[test]
fn fills_of_any_length() {
    let declaration = "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)";
    for align in [1, 8] {
        let call = format!(
            "  %v = load i8, ptr %from\n  call void @llvm.memset.p0.i64(ptr align {align} %out, i8 %v, i64 %n, i1 false)\n"
        );
        let text = kernel(declaration, &call);
        for length in [0, 1, 7, 8, 9, 65] {
            let result = run(&text, "sm_80", &input(length), &[0xEE; 128], 1);
            let expected: Vec<u8> = (0..128).map(|at| if at < length { 0x5A } else { 0xEE }).collect();
            assert_eq!(result, expected, "{length} bytes");
        }
    }
}

#[test]
fn moves_within_one_buffer() {
    let declaration = "declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)";
    for (align, to, from) in [(1, 0, 3), (1, 3, 0), (4, 0, 8), (4, 8, 0), (4, 16, 16)] {
        let call = format!(
            "  %a = getelementptr i8, ptr %out, i64 {to}\n  %b = getelementptr i8, ptr %out, i64 {from}\n  call void @llvm.memmove.p0.p0.i64(ptr align {align} %a, ptr align {align} %b, i64 %n, i1 false)\n"
        );
        let text = kernel(declaration, &call);
        for length in [0usize, 1, 5, 40, 63] {
            let before: Vec<u8> = (0..128).collect();
            let mut expected = before.clone();
            expected.copy_within(from..from + length, to);
            assert_eq!(run(&text, "sm_80", &input(length as u64), &before, 1), expected, "{from} to {to}, {length}");
        }
    }
}

#[test]
fn long_copies_are_loops() {
    let text = "declare void @llvm.memcpy.p1.p1.i32(ptr addrspace(1), ptr addrspace(1), i32, i1)
define ptx_kernel void @k(ptr %in, ptr %out) {
  %a = addrspacecast ptr %in to ptr addrspace(1)
  %b = addrspacecast ptr %out to ptr addrspace(1)
  call void @llvm.memcpy.p1.p1.i32(ptr addrspace(1) align 8 %b, ptr addrspace(1) align 8 %a, i32 5003, i1 true)
  ret void
}
";
    let bytes: Vec<u8> = (0..5003u32).map(|n| ((n * 7) >> 3) as u8).collect();
    assert_eq!(run(text, "sm_80", &bytes, &[0; 5003], 1), bytes);
}

#[test]
fn copies_between_spaces() {
    // Through a variable of the block's and a slot of the thread's, with lengths that are only known at run time.
    let text = "@shared = internal addrspace(3) global [128 x i8] undef, align 16
declare void @llvm.memcpy.p3.p1.i64(ptr addrspace(3), ptr addrspace(1), i64, i1)
declare void @llvm.memmove.p5.p3.i64(ptr addrspace(5), ptr addrspace(3), i64, i1)
declare void @llvm.memmove.p0.p5.i64(ptr, ptr addrspace(5), i64, i1)
define ptx_kernel void @k(ptr %in, ptr %out) {
  %slot = alloca [128 x i8], align 16, addrspace(5)
  %n = load i64, ptr %in
  %from = getelementptr i8, ptr %in, i64 16
  %global = addrspacecast ptr %from to ptr addrspace(1)
  call void @llvm.memcpy.p3.p1.i64(ptr addrspace(3) align 16 @shared, ptr addrspace(1) align 16 %global, i64 %n, i1 false)
  call void @llvm.memmove.p5.p3.i64(ptr addrspace(5) align 8 %slot, ptr addrspace(3) align 8 @shared, i64 %n, i1 false)
  call void @llvm.memmove.p0.p5.i64(ptr align 4 %out, ptr addrspace(5) align 4 %slot, i64 %n, i1 false)
  ret void
}
";
    for length in [0, 5, 16, 61, 128] {
        let bytes = input(length as u64);
        let result = run(text, "sm_80", &bytes, &[0xEE; 128], 1);
        assert_eq!(result[..length], bytes[16..16 + length], "{length} bytes");
        assert!(result[length..].iter().all(|&byte| byte == 0xEE), "{length} bytes: more was written");
    }
}
