; The bit cast has its source write its register; lanes of the cast are taken from there.
target triple = "nvptx64-nvidia-cuda"

define internal i8 @f(<4 x i8> %bytes) noinline {
  %third = extractelement <4 x i8> %bytes, i32 2
  ret i8 %third
}

define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out, i64 %n) {
  %flags = load <2 x i1>, ptr addrspace(1) %in, align 1
  %chosen = select <2 x i1> %flags, <2 x bfloat> <bfloat 1.0, bfloat 2.0>, <2 x bfloat> <bfloat 3.0, bfloat 4.0>
  %bytes = bitcast <2 x bfloat> %chosen to <4 x i8>
  %third = call i8 @f(<4 x i8> %bytes)
  store <4 x i8> %bytes, ptr addrspace(1) %out, align 2
  %behind = getelementptr i8, ptr addrspace(1) %out, i64 4
  store i8 %third, ptr addrspace(1) %behind, align 1
  ret void
}
