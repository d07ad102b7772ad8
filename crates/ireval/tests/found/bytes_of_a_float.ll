; Bytes are taken out of a float by integer instructions.
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out, i64 %n) {
  %low = load float, ptr addrspace(1) %in, align 4
  %ordered = fcmp ord float %low, %low
  %number = select i1 %ordered, float %low, float 1.0
  %bytes = bitcast float %number to <4 x i8>
  %twice = shl <4 x i8> %bytes, splat (i8 1)
  store <4 x i8> %twice, ptr addrspace(1) %out, align 4
  %behind = getelementptr i8, ptr addrspace(1) %out, i64 4
  store volatile <4 x i8> %bytes, ptr addrspace(1) %behind, align 2
  %bits = bitcast float %number to i32
  %last = getelementptr i8, ptr addrspace(1) %out, i64 1000
  %old = cmpxchg ptr addrspace(1) %last, i32 %bits, i32 0 monotonic monotonic, align 4
  %hit = extractvalue { i32, i1 } %old, 1
  %at8 = getelementptr i8, ptr addrspace(1) %out, i64 8
  store i1 %hit, ptr addrspace(1) %at8, align 1
  ret void
}
