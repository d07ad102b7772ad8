; A wide product reads what is extended; then the load cannot give the extended value alone.
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out, i64 %n) {
  %narrow = load i32, ptr addrspace(1) %in, align 4
  %wide = sext i32 %narrow to i64
  %square = mul i64 %wide, %wide
  store i64 %square, ptr addrspace(1) %out, align 8
  %behind = getelementptr i8, ptr addrspace(1) %out, i64 8
  store i64 %wide, ptr addrspace(1) %behind, align 8
  ret void
}
