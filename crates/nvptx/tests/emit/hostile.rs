//! Numbers at the limits of their types: nothing wraps, nothing is called internal, nothing takes long.

use oriole_nvptx::driver::{self, Options};

/// Modules with sizes, alignments, counts and indices that no program has.
const MODULES: &[&str] = &[
    "define i64 @f(i64 %i) {
  %p = alloca [2305843009213693951 x i64]
  %q = alloca [2305843009213693951 x i64]
  %r = getelementptr i64, ptr %p, i64 %i
  store i64 %i, ptr %r
  %s = getelementptr i64, ptr %q, i64 %i
  store i64 %i, ptr %s
  %v = load i64, ptr %p
  ret i64 %v
}",
    "define i64 @f(i64 %i) {
  %p = alloca i64, i64 18446744073709551615
  %r = getelementptr i64, ptr %p, i64 %i
  store i64 %i, ptr %r
  %v = load i64, ptr %p
  ret i64 %v
}",
    "@g = global [4611686018427387904 x i32] zeroinitializer
@h = addrspace(3) global [18446744073709551615 x i64] undef
define i32 @f() {
  %v = load i32, ptr @g
  %w = load i32, ptr addrspace(3) @h
  %x = add i32 %v, %w
  ret i32 %x
}",
    "%s = type { [9223372036854775807 x i8], i64, [9223372036854775807 x i8], [2305843009213693951 x i64] }
define i32 @f(ptr %p) {
  %q = getelementptr %s, ptr %p, i64 9223372036854775807, i32 3, i64 -9223372036854775808
  %v = load i32, ptr %q
  ret i32 %v
}",
    "define i32 @f(ptr %p, i64 %i) {
  %q = getelementptr [4611686018427387904 x i32], ptr %p, i64 4611686018427387905, i64 -1
  %r = getelementptr [4611686018427387904 x i32], ptr %q, i64 %i, i64 9223372036854775807
  %s = getelementptr i8, ptr %r, i64 9223372036854775807
  %t = getelementptr i8, ptr %s, i64 9223372036854775807
  %v = load i32, ptr %t
  ret i32 %v
}",
    "%s = type { [4611686018427387904 x i32] }
define i32 @f(ptr byval(%s) align 1073741824 %p, i64 %i) {
  %q = getelementptr i32, ptr %p, i64 %i
  %v = load i32, ptr %q
  ret i32 %v
}",
    "define ptx_kernel void @k(ptr byval(i32) align 4294967296 %p) { ret void }",
    "define void @f({ i32 } alignstack(2147483648) %p) { ret void }",
    "define void @f({ i32 } alignstack(4294967295) %p) { ret void }",
    "define void @f({ i32 } alignstack(3) %p) { ret void }",
    "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
define void @f(ptr %p, ptr %q) {
  call void @llvm.memcpy.p0.p0.i64(ptr %p, ptr %q, i64 -1, i1 false)
  call void @llvm.memset.p0.i64(ptr %p, i8 1, i64 9223372036854775807, i1 false)
  ret void
}",
    "define i32 @f(i64 %x) {
  switch i64 %x, label %d [ i64 -9223372036854775808, label %a
    i64 9223372036854775807, label %a
    i64 0, label %d
    i64 -1, label %a
    i64 1, label %a ]
a:
  ret i32 1
d:
  ret i32 0
}",
    "define i8 @f(<65536 x i8> %x, i64 %i) {
  %v = extractelement <65536 x i8> %x, i64 18446744073709551615
  %w = extractelement <65536 x i8> %x, i64 %i
  %r = add i8 %v, %w
  ret i8 %r
}",
    "define <65536 x half> @f(ptr %p, <65536 x half> %x) {
  %r = atomicrmw fadd ptr %p, <65536 x half> %x monotonic
  ret <65536 x half> %r
}",
    "define i256 @f(ptr %p, i256 %x) {
  %r = atomicrmw xor ptr %p, i256 %x monotonic
  ret i256 %r
}",
    "define i32 @f(ptr addrspace(16777215) %p) {
  %r = load i32, ptr addrspace(16777215) %p
  ret i32 %r
}",
    "@a = common addrspace(16777215) global i32 0, align 4294967296
define i32 @f() {
  %r = load i32, ptr addrspace(16777215) @a, align 4294967296
  ret i32 %r
}",
    "define void @k() \"nvvm.maxntid\"=\"4294967295,4294967295,4294967295\" \"nvvm.maxnreg\"=\"4294967295\" { ret void }
!nvvm.annotations = !{!0}
!0 = !{ptr @k, !\"kernel\", i32 1, !\"align\", i32 -1, !\"reqntidx\", i32 -1}",
    "define i64 @f(...) {
  %l = alloca ptr
  call void @llvm.va_start.p0(ptr %l)
  %v = va_arg ptr %l, [1152921504606846976 x i64]
  %r = extractvalue [1152921504606846976 x i64] %v, 4294967295
  ret i64 %r
}
declare void @llvm.va_start.p0(ptr)",
    "define i128 @f(i128 %x) {
  %a = shl i128 %x, 340282366920938463463374607431768211455
  %b = lshr i128 %a, 128
  %c = sdiv i128 %b, -1
  %d = srem i128 -170141183460469231731687303715884105728, %c
  %e = mul i128 %d, -170141183460469231731687303715884105728
  ret i128 %e
}",
    "define i1 @f(i1 %x, i1 %y) {
  %a = sdiv i1 %x, %y
  %b = shl i1 %a, %y
  %c = mul nsw i1 %b, %x
  ret i1 %c
}",
    "define i32 @f(i32 %n) {
entry:
  br label %loop
loop:
  %i = phi i32 [ 2147483647, %entry ], [ %j, %loop ]
  %j = add i32 %i, 2147483647
  %c = icmp slt i32 %j, -2147483648
  br i1 %c, label %loop, label %done
done:
  ret i32 %j
}",
];

#[test]
fn numbers_at_the_limits() {
    for source in MODULES {
        for level in [0, 3] {
            let Ok(module) = driver::read(source.as_bytes(), "case.ll") else { continue };
            let begun = std::time::Instant::now();
            if let Err(error) = driver::compile(module, &[], &Options { level, ..Options::default() }) {
                assert!(!error.to_string().contains("internal"), "{error}\n{source}");
            }
            let seconds = begun.elapsed().as_secs();
            assert!(seconds < 10, "{seconds} s\n{source}");
        }
    }
}
