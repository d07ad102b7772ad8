; The words of <3 x half> are of two sizes.
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out, i64 %n) {
  %cut = trunc i64 %n to i48
  %halves = bitcast i48 %cut to <3 x half>
  store <3 x half> %halves, ptr addrspace(1) %out, align 8
  %bytes = bitcast <3 x half> %halves to <6 x i8>
  %third = extractelement <6 x i8> %bytes, i32 3
  %behind = getelementptr i8, ptr addrspace(1) %out, i64 8
  store i8 %third, ptr addrspace(1) %behind, align 1
  ret void
}
