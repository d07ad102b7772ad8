; The elements of such vectors lie in memory without gaps, and bit casts see them so.
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out, i64 %n) {
  %mask = load <8 x i1>, ptr addrspace(1) %in, align 1
  %not = xor <8 x i1> %mask, splat (i1 true)
  store <8 x i1> %not, ptr addrspace(1) %out, align 1
  %byte = bitcast <8 x i1> %mask to i8
  %at1 = getelementptr i8, ptr addrspace(1) %out, i64 1
  store i8 %byte, ptr addrspace(1) %at1, align 1
  %from4 = getelementptr i8, ptr addrspace(1) %in, i64 4
  %bits = load i64, ptr addrspace(1) %from4, align 4
  %cut = trunc i64 %bits to i36
  %twelve = bitcast i36 %cut to <3 x i12>
  %product = mul <3 x i12> %twelve, splat (i12 29)
  %at8 = getelementptr i8, ptr addrspace(1) %out, i64 8
  store <3 x i12> %product, ptr addrspace(1) %at8, align 8
  %twenty = trunc i64 %bits to i20
  %fives = bitcast i20 %twenty to <4 x i5>
  %more = add <4 x i5> %fives, <i5 1, i5 2, i5 3, i5 4>
  %again = bitcast <4 x i5> %more to i20
  %at16 = getelementptr i8, ptr addrspace(1) %out, i64 16
  store i20 %again, ptr addrspace(1) %at16, align 4
  %long = sext <3 x i12> %product to <3 x i63>
  %at32 = getelementptr i8, ptr addrspace(1) %out, i64 32
  store <3 x i63> %long, ptr addrspace(1) %at32, align 1
  %back = load <3 x i63>, ptr addrspace(1) %at32, align 1
  %second = extractelement <3 x i63> %back, i32 1
  %wide = sext i63 %second to i64
  %at64 = getelementptr i8, ptr addrspace(1) %out, i64 64
  store i64 %wide, ptr addrspace(1) %at64, align 8
  %i100 = sext i63 %second to i100
  %at80 = getelementptr i8, ptr addrspace(1) %out, i64 80
  store i100 %i100, ptr addrspace(1) %at80, align 16
  ret void
}
