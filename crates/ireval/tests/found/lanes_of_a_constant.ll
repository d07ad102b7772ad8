; Lanes of a bit cast are taken from its source, unless that is a constant.
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out, i64 %n) {
  %halves = bitcast i32 782609097 to <2 x half>
  store <2 x half> %halves, ptr addrspace(1) %out, align 2
  ret void
}
