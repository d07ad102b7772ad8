; Memory has zeros above the bits of an i33; what is stored may have anything there.
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out, i64 %n) {
  %wide = load i64, ptr addrspace(1) %in, align 8
  %odd = trunc i64 %wide to i33
  store i33 %odd, ptr addrspace(1) %out, align 8
  %behind = getelementptr i8, ptr addrspace(1) %out, i64 8
  %both = insertvalue { i33, i7 } undef, i33 %odd, 0
  %narrow = trunc i64 %wide to i7
  %full = insertvalue { i33, i7 } %both, i7 %narrow, 1
  store { i33, i7 } %full, ptr addrspace(1) %behind, align 8
  %again = load i33, ptr addrspace(1) %behind, align 8
  %extended = zext i33 %again to i64
  %last = getelementptr i8, ptr addrspace(1) %out, i64 32
  store i64 %extended, ptr addrspace(1) %last, align 8
  ret void
}
