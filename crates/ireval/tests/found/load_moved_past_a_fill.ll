; Two neighbouring loads become one, but not past the fill that writes the bytes of the second.
target triple = "nvptx64-nvidia-cuda"

declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

define internal i32 @f({ <2 x i32> } %pair, ptr byval({ <2 x i32> }) align 8 %copy) noinline {
  %behind = getelementptr inbounds i8, ptr %copy, i64 4
  %high = load i32, ptr %behind, align 4
  call void @llvm.memset.p0.i64(ptr align 1 %copy, i8 0, i64 4, i1 false)
  %low = load i32, ptr %copy, align 8
  %sum = add i32 %high, %low
  ret i32 %sum
}

define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out, i64 %n) {
  %slot = alloca { <2 x i32> }, align 8
  store i64 %n, ptr %slot, align 8
  %sum = call i32 @f({ <2 x i32> } zeroinitializer, ptr byval({ <2 x i32> }) align 8 %slot)
  store i32 %sum, ptr addrspace(1) %out, align 4
  ret void
}
