; Arithmetic on i1, and reductions of 128 bits.
target triple = "nvptx64-nvidia-cuda"

declare i1 @llvm.ctpop.i1(i1)
declare i1 @llvm.cttz.i1(i1, i1)
declare i1 @llvm.fshl.i1(i1, i1, i1)
declare i1 @llvm.fshr.i1(i1, i1, i1)
declare i1 @llvm.sadd.sat.i1(i1, i1)
declare i1 @llvm.ssub.sat.i1(i1, i1)
declare i1 @llvm.abs.i1(i1, i1)
declare { i1, i1 } @llvm.smul.with.overflow.i1(i1, i1)
declare { i1, i1 } @llvm.ssub.with.overflow.i1(i1, i1)
declare i1 @llvm.vector.reduce.add.v8i1(<8 x i1>)
declare i1 @llvm.vector.reduce.smax.v8i1(<8 x i1>)
declare i1 @llvm.vector.reduce.smin.v8i1(<8 x i1>)
declare i8 @llvm.fshl.i8(i8, i8, i8)
declare i128 @llvm.vector.reduce.smax.v2i128(<2 x i128>)
declare i128 @llvm.vector.reduce.mul.v2i128(<2 x i128>)

define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out, i64 %n) {
  %all = load <8 x i1>, ptr addrspace(1) %in, align 1
  %a = extractelement <8 x i1> %all, i32 0
  %b = extractelement <8 x i1> %all, i32 1
  %r0 = call i1 @llvm.ctpop.i1(i1 %a)
  %r1 = call i1 @llvm.cttz.i1(i1 %a, i1 false)
  %r2 = call i1 @llvm.fshl.i1(i1 %a, i1 %b, i1 %b)
  %r3 = call i1 @llvm.fshr.i1(i1 %a, i1 %b, i1 %a)
  %r4 = call i1 @llvm.sadd.sat.i1(i1 %a, i1 %b)
  %r5 = call i1 @llvm.ssub.sat.i1(i1 %a, i1 %b)
  %r6 = call i1 @llvm.abs.i1(i1 %a, i1 false)
  %r7 = call { i1, i1 } @llvm.smul.with.overflow.i1(i1 %a, i1 %b)
  %r8 = call { i1, i1 } @llvm.ssub.with.overflow.i1(i1 %a, i1 %b)
  %r9 = call i1 @llvm.vector.reduce.add.v8i1(<8 x i1> %all)
  %r10 = call i1 @llvm.vector.reduce.smax.v8i1(<8 x i1> %all)
  %r11 = call i1 @llvm.vector.reduce.smin.v8i1(<8 x i1> %all)
  %mul = extractvalue { i1, i1 } %r7, 0
  %mulo = extractvalue { i1, i1 } %r7, 1
  %sub = extractvalue { i1, i1 } %r8, 0
  %subo = extractvalue { i1, i1 } %r8, 1
  %v0 = insertelement <16 x i1> zeroinitializer, i1 %r0, i32 0
  %v1 = insertelement <16 x i1> %v0, i1 %r1, i32 1
  %v2 = insertelement <16 x i1> %v1, i1 %r2, i32 2
  %v3 = insertelement <16 x i1> %v2, i1 %r3, i32 3
  %v4 = insertelement <16 x i1> %v3, i1 %r4, i32 4
  %v5 = insertelement <16 x i1> %v4, i1 %r5, i32 5
  %v6 = insertelement <16 x i1> %v5, i1 %r6, i32 6
  %v7 = insertelement <16 x i1> %v6, i1 %mul, i32 7
  %v8 = insertelement <16 x i1> %v7, i1 %mulo, i32 8
  %v9 = insertelement <16 x i1> %v8, i1 %sub, i32 9
  %v10 = insertelement <16 x i1> %v9, i1 %subo, i32 10
  %v11 = insertelement <16 x i1> %v10, i1 %r9, i32 11
  %v12 = insertelement <16 x i1> %v11, i1 %r10, i32 12
  %v13 = insertelement <16 x i1> %v12, i1 %r11, i32 13
  store <16 x i1> %v13, ptr addrspace(1) %out, align 2
  %byte = load i8, ptr addrspace(1) %in, align 1
  %turned = call i8 @llvm.fshl.i8(i8 %byte, i8 90, i8 %byte)
  %at2 = getelementptr i8, ptr addrspace(1) %out, i64 2
  store i8 %turned, ptr addrspace(1) %at2, align 1
  %wide = load <2 x i128>, ptr addrspace(1) %in, align 32
  %most = call i128 @llvm.vector.reduce.smax.v2i128(<2 x i128> %wide)
  %product = call i128 @llvm.vector.reduce.mul.v2i128(<2 x i128> %wide)
  %at16 = getelementptr i8, ptr addrspace(1) %out, i64 16
  store i128 %most, ptr addrspace(1) %at16, align 16
  %at32 = getelementptr i8, ptr addrspace(1) %out, i64 32
  store i128 %product, ptr addrspace(1) %at32, align 16
  ret void
}
