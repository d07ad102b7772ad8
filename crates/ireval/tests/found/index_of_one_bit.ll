; An index of one bit is 0 or -1.
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out, i64 %n) {
  %back = trunc i64 %n to i1
  %behind = getelementptr i8, ptr addrspace(1) %out, i64 8
  %place = getelementptr i32, ptr addrspace(1) %behind, i1 %back
  store i32 7, ptr addrspace(1) %place, align 4
  ret void
}
