; Fields of packed structures, and vectors of odd integers, as parameters and results.
target triple = "nvptx64-nvidia-cuda"

define internal <{ i8, i64, <2 x half>, i32 }> @packed(<{ i8, i64, <2 x half>, i32 }> %value, <2 x i1> %flags, { <3 x i12>, i8 } %odd) noinline {
  %wide = extractvalue <{ i8, i64, <2 x half>, i32 }> %value, 1
  %flag = extractelement <2 x i1> %flags, i32 1
  %more = zext i1 %flag to i64
  %sum = add i64 %wide, %more
  %vector = extractvalue { <3 x i12>, i8 } %odd, 0
  %element = extractelement <3 x i12> %vector, i32 2
  %number = sext i12 %element to i32
  %byte = extractvalue { <3 x i12>, i8 } %odd, 1
  %one = insertvalue <{ i8, i64, <2 x half>, i32 }> %value, i64 %sum, 1
  %two = insertvalue <{ i8, i64, <2 x half>, i32 }> %one, i32 %number, 3
  %three = insertvalue <{ i8, i64, <2 x half>, i32 }> %two, i8 %byte, 0
  ret <{ i8, i64, <2 x half>, i32 }> %three
}

define internal <3 x i1> @flags(i64 %n) noinline {
  %cut = trunc i64 %n to i3
  %flags = bitcast i3 %cut to <3 x i1>
  ret <3 x i1> %flags
}

define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out, i64 %n) {
  %value = load <{ i8, i64, <2 x half>, i32 }>, ptr addrspace(1) %in, align 1
  %flags = call <3 x i1> @flags(i64 %n)
  %two = shufflevector <3 x i1> %flags, <3 x i1> poison, <2 x i32> <i32 2, i32 1>
  %cut = trunc i64 %n to i36
  %odd = bitcast i36 %cut to <3 x i12>
  %one = insertvalue { <3 x i12>, i8 } undef, <3 x i12> %odd, 0
  %both = insertvalue { <3 x i12>, i8 } %one, i8 77, 1
  %result = call <{ i8, i64, <2 x half>, i32 }> @packed(<{ i8, i64, <2 x half>, i32 }> %value, <2 x i1> %two, { <3 x i12>, i8 } %both)
  store <{ i8, i64, <2 x half>, i32 }> %result, ptr addrspace(1) %out, align 1
  ret void
}
