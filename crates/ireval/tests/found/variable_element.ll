; Elements put into packed words at a place that is not known.
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out, i64 %n) {
  %low = load i32, ptr addrspace(1) %in, align 4
  %index = and i32 %low, 3
  %halves = load <4 x half>, ptr addrspace(1) %in, align 8
  %with = insertelement <4 x half> %halves, half 0xH3C00, i32 %index
  store <4 x half> %with, ptr addrspace(1) %out, align 8
  %bytes = load <8 x i8>, ptr addrspace(1) %in, align 8
  %filled = insertelement <8 x i8> %bytes, i8 -1, i32 %index
  %behind = getelementptr i8, ptr addrspace(1) %out, i64 8
  store <8 x i8> %filled, ptr addrspace(1) %behind, align 8
  ret void
}
