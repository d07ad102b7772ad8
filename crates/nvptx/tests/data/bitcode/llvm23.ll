; What the bitcode of LLVM 23 has and that of LLVM 22 has not.
source_filename = "llvm23.cu"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

@singles = global <4 x float> splat (float f0x3FB8AA3B)
@halves = global <2 x half> splat (half -inf)
@ints = global <8 x i16> splat (i16 -3)
@wide = global <2 x i128> splat (i128 36893488147419103231)
@byte = global b32 7
@bytes = global <4 x b8> splat (b8 -1)
@wide_byte = global b128 36893488147419103231

define float @atomics(ptr %p, float %x) {
  %a = atomicrmw fmaximum ptr %p, float %x monotonic, align 4
  %b = atomicrmw fminimum ptr %p, float %a monotonic, align 4
  ret float %b
}

define i64 @address(ptr %p) {
  %a = ptrtoaddr ptr %p to i64
  ret i64 %a
}

define ptr @through_a_byte(ptr %p) {
  %a = bitcast ptr %p to b64
  %b = bitcast b64 %a to ptr
  ret ptr %b
}

define float @flushed(float %x, float %y) denormal_fpenv(float: preservesign) {
  %z = fmul float %x, %y
  ret float %z
}

define float @of_caller(float %x, float %y) noipa denormal_fpenv(preservesign|dynamic, float: dynamic) {
  %z = fmul float %x, %y
  ret float %z
}
