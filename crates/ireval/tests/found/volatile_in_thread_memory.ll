; PTX has no volatile accesses to local and constant memory.
target triple = "nvptx64-nvidia-cuda"

@table = internal addrspace(4) constant [2 x i32] [i32 5, i32 7], align 4

define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out, i64 %n) {
  %slot = alloca i32, align 4
  %known = load volatile i32, ptr addrspace(4) @table, align 4
  store volatile i32 %known, ptr %slot, align 4
  %again = load volatile i32, ptr %slot, align 4
  store volatile i32 %again, ptr addrspace(1) %out, align 4
  ret void
}
