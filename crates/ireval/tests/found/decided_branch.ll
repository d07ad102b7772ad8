; A branch on a constant leaves nothing of the edge that is not taken: not in the phi either.
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out, i64 %n) {
start:
  br i1 false, label %join, label %other
other:
  br label %join
join:
  %value = phi i64 [ 0, %start ], [ %n, %other ]
  store i64 %value, ptr addrspace(1) %out, align 8
  ret void
}
