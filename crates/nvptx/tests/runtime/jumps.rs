//! Addresses as numbers: jumps to blocks, and constant expressions.

use super::run;

#[test]
fn a_machine_of_threaded_code() {
    // A program of bytes: 0 adds 3, 1 doubles, 2 ends.
    let text = "@ways = internal addrspace(1) constant [3 x ptr] [ptr blockaddress(@k, %add), ptr blockaddress(@k, %double), ptr blockaddress(@k, %end)]
define ptx_kernel void @k(ptr %in, ptr %out) {
entry:
  br label %next
next:
  %at = phi i64 [ 0, %entry ], [ %at.add, %add ], [ %at.double, %double ]
  %x = phi i32 [ 1, %entry ], [ %sum, %add ], [ %twice, %double ]
  %p = getelementptr i8, ptr %in, i64 %at
  %op = load i8, ptr %p
  %index = zext i8 %op to i64
  %q = getelementptr ptr, ptr addrspace(1) @ways, i64 %index
  %way = load ptr, ptr addrspace(1) %q
  indirectbr ptr %way, [label %add, label %double, label %end]
add:
  %sum = add i32 %x, 3
  %at.add = add i64 %at, 1
  br label %next
double:
  %twice = mul i32 %x, 2
  %at.double = add i64 %at, 1
  br label %next
end:
  store i32 %x, ptr %out
  ret void
}
";
    let program = [0, 1, 1, 0, 1, 2];
    let mut expected = 1;
    for op in &program[..5] {
        expected = if *op == 0 { expected + 3 } else { expected * 2 };
    }
    assert_eq!(run(text, "sm_80", &program, &[0; 4], 1), u32::to_le_bytes(expected));
}

#[test]
fn the_address_of_a_block_is_not_null() {
    let text = "define ptx_kernel void @k(ptr %in, ptr %out) {
entry:
  %n = load i32, ptr %in
  %c = icmp eq i32 %n, 7
  %to = select i1 %c, ptr blockaddress(@k, %x), ptr blockaddress(@k, %y)
  %some = icmp ne ptr %to, null
  %bit = zext i1 %some to i32
  indirectbr ptr %to, [label %x, label %y]
x:
  br label %y
y:
  %r = phi i32 [ 10, %x ], [ 20, %entry ]
  %s = add i32 %r, %bit
  store i32 %s, ptr %out
  ret void
}
";
    for (input, expected) in [(7u32, 11u32), (8, 21)] {
        assert_eq!(run(text, "sm_80", &input.to_le_bytes(), &[0; 4], 1), expected.to_le_bytes());
    }
}

#[test]
fn differences_of_addresses() {
    let text = "@a = internal addrspace(1) global [8 x i32] zeroinitializer, align 4
define ptx_kernel void @k(ptr %in, ptr %out) {
entry:
  store i64 sub (i64 ptrtoint (ptr addrspace(1) getelementptr (i32, ptr addrspace(1) @a, i64 5) to i64), i64 ptrtoint (ptr addrspace(1) @a to i64)), ptr %out
  %n = load i32, ptr %in
  %c = icmp eq i32 %n, 7
  br i1 %c, label %x, label %y
x:
  br label %y
y:
  %v = phi i64 [ 0, %entry ], [ add (i64 ptrtoint (ptr addrspace(1) @a to i64), i64 9), %x ]
  %w = sub i64 %v, ptrtoint (ptr addrspace(1) @a to i64)
  %t = trunc i64 %w to i32
  %u = add i32 %t, trunc (i64 sub (i64 ptrtoint (ptr addrspace(1) @a to i64), i64 ptrtoint (ptr addrspace(1) @a to i64)) to i32)
  %p = getelementptr i8, ptr %out, i64 8
  store i32 %u, ptr %p
  ret void
}
";
    let mut expected = 20u64.to_le_bytes().to_vec();
    expected.extend(9u32.to_le_bytes());
    assert_eq!(run(text, "sm_80", &7u32.to_le_bytes(), &[0; 12], 1), expected);
}

/// What a `phi` reads of a shared variable is its generic address: the store goes where the other way's address says, or to shared memory.
#[test]
fn phis_of_generic_addresses_of_variables() {
    let text = "@buf = internal addrspace(3) global [4 x i32] undef, align 4
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
define ptx_kernel void @k(ptr %in, ptr %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %odd = trunc i32 %tid to i1
  %own = getelementptr i32, ptr %out, i32 %tid
  br i1 %odd, label %shared, label %plain
plain:
  br label %both
shared:
  br label %both
both:
  %p = phi ptr [ %out, %plain ], [ addrspacecast (ptr addrspace(3) @buf to ptr), %shared ]
  %q = getelementptr i32, ptr %p, i32 %tid
  %v = add i32 %tid, 70
  store i32 %v, ptr %q
  br i1 %odd, label %copy, label %done
copy:
  %s = getelementptr i32, ptr addrspace(3) @buf, i32 %tid
  %w = load i32, ptr addrspace(3) %s
  %x = add i32 %w, 100
  store i32 %x, ptr %own
  br label %done
done:
  ret void
}
";
    let expected: Vec<u8> = [70u32, 171, 72, 173].into_iter().flat_map(u32::to_le_bytes).collect();
    assert_eq!(super::run(text, "sm_80", &[0; 4], &[0; 16], 4), expected);
}
