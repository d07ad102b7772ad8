; Loops that follow each other inside of one that is unrolled, each with runs ahead: what enters the next one changes with
; what leaves the last.
target triple = "nvptx64-nvidia-cuda"
declare i16 @llvm.sshl.sat.i16(i16, i16)
declare i16 @llvm.ssub.sat.i16(i16, i16)
@table2 = internal addrspace(1) constant [16 x bfloat] [bfloat 0xR4780, bfloat 0xR3F00, bfloat 0xRFF80, bfloat 0xR42C8, bfloat 0xR3F00, bfloat 0xR4050, bfloat 0xR42C8, bfloat 0xR8000, bfloat 0xR3F00, bfloat 0xRD015, bfloat 0xR8000, bfloat 0xR7F80, bfloat 0xR8000, bfloat 0xR3F00, bfloat 0xR3A83, bfloat 0xR4050], align 4

define ptx_kernel void @k(ptr addrspace(1) %0, ptr addrspace(1) %1, i64 %2) {
  %4 = alloca [2 x half], align 16
  store i32 67108863, ptr %4, align 4
  %5 = call i16 @llvm.sshl.sat.i16(i16 14, i16 6)
  br label %6

6:
  %7 = phi i16 [ 0, %3 ], [ %26, %25 ]
  %8 = load i32, ptr %4, align 16
  %9 = and i32 %8, 7
  %10 = add i32 %9, 1
  br label %11

11:
  %12 = phi i32 [ %10, %6 ], [ %21, %11 ]
  %13 = getelementptr inbounds i8, ptr addrspace(1) @table2, i64 0
  %14 = load <5 x i8>, ptr addrspace(1) %13, align 4
  %15 = and i32 0, 1
  %16 = getelementptr inbounds i16, ptr %4, i32 %15
  %17 = load i16, ptr %16, align 2
  %18 = call i16 @llvm.ssub.sat.i16(i16 %17, i16 %7)
  %19 = getelementptr i8, ptr addrspace(1) %1, i64 44
  %20 = load float, ptr addrspace(1) %19, align 4
  %21 = sub i32 %12, 1
  %22 = icmp ne i32 %21, 0
  br i1 %22, label %11, label %23

23:
  %24 = phi float [ %20, %11 ]
  br label %25

25:
  %26 = add i16 %7, 1
  %27 = icmp slt i16 %26, 8
  br i1 %27, label %6, label %28

28:
  store float %24, ptr addrspace(1) %1, align 4
  store i16 %5, ptr addrspace(1) %1, align 1
  ret void
}

