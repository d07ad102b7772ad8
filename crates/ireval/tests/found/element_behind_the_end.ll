; An element behind the end of a vector is poison, not a register that nobody writes.
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out, i64 %n) {
  %bytes = load <4 x i8>, ptr addrspace(1) %in, align 4
  %none = extractelement <4 x i8> %bytes, i64 766435501
  %small = icmp ult i64 %n, 0
  %chosen = select i1 %small, i8 %none, i8 7
  store i8 %chosen, ptr addrspace(1) %out, align 1
  ret void
}
