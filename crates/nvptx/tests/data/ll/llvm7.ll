; LLVM 7, as NVVM reads and clang of that time wrote it: typed pointers.
source_filename = "llvm7.ll"
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-f32:32:32-f64:64:64-v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

%struct.list = type { i32, %struct.list*, void (%struct.list*)* }
%struct.late = type { %struct.inner, [2 x %struct.inner*] }
%struct.hidden = type opaque

@data = addrspace(1) global [4 x i32] zeroinitializer, align 4
@text = private unnamed_addr constant [6 x i8] c"%d %f\00", align 1
@table = internal constant [2 x void (i32*)*] [void (i32*)* @callee, void (i32*)* bitcast (void (i8*)* @other to void (i32*)*)]
@hidden = external global %struct.hidden
@expr = global i64 add (i64 ptrtoint ([6 x i8]* @text to i64), i64 4)
@folded = global i32 select (i1 icmp ult (i32 1, i32 2), i32 zext (i8 -1 to i32), i32 0)
@float = global float fadd (float 1.000000e+00, float fmul (float 2.000000e+00, float 3.000000e+00))
@string = global i8* getelementptr inbounds ([6 x i8], [6 x i8]* @text, i32 0, i32 0), align 8
@range = global i8* getelementptr inbounds ({ [6 x i8] }, { [6 x i8] }* bitcast ([6 x i8]* @text to { [6 x i8] }*), i32 0, inrange i32 0, i32 0)
@alias = alias i8, i8* getelementptr inbounds ([6 x i8], [6 x i8]* @text, i64 0, i64 1)
@llvm.used = appending global [1 x i8*] [i8* bitcast (void (i32 addrspace(1)*, %struct.late*)* @kernel to i8*)], section "llvm.metadata"

define void @kernel(i32 addrspace(1)* nocapture readonly %in, %struct.late* byval align 8 %s) #0 !dbg !7 {
entry:
  %slot = alloca %struct.list*, align 8
  %0 = bitcast %struct.list** %slot to i8*
  call void @llvm.lifetime.start.p0i8(i64 8, i8* nonnull %0)
  call void @llvm.dbg.declare(metadata %struct.list** %slot, metadata !8, metadata !DIExpression()), !dbg !9
  call void @llvm.dbg.value(metadata i32 0, metadata !8, metadata !DIExpression()), !dbg !9
  %1 = load i32, i32 addrspace(1)* %in, align 4, !tbaa !5
  %arrayidx = getelementptr inbounds i32, i32 addrspace(1)* %in, i64 1
  %2 = bitcast i32 addrspace(1)* %arrayidx to <2 x i32> addrspace(1)*
  %3 = load <2 x i32>, <2 x i32> addrspace(1)* %2, align 4
  %4 = getelementptr inbounds %struct.late, %struct.late* %s, i64 0, i32 1, i64 1
  %5 = load %struct.inner*, %struct.inner** %4, align 8
  %6 = getelementptr inbounds %struct.inner, %struct.inner* %5, i64 0, i32 0
  %7 = extractelement <2 x i32> %3, i32 0
  store i32 %7, i32* %6, align 4
  br label %10

; <label>:8:                                      ; preds = %10
  %9 = addrspacecast i32 addrspace(1)* %arrayidx to i32*
  call void @callee(i32* %9), !dbg !9
  ret void

; <label>:10:                                     ; preds = %entry
  %11 = load %struct.list*, %struct.list** %slot
  %12 = getelementptr inbounds %struct.list, %struct.list* %11, i64 0, i32 2
  %13 = load void (%struct.list*)*, void (%struct.list*)** %12
  call void %13(%struct.list* %11)
  %14 = call i32 (i8*, ...) @printf(i8* getelementptr inbounds ([6 x i8], [6 x i8]* @text, i32 0, i32 0), i32 %1, double 1.000000e+00)
  %15 = call i32 bitcast (i32 (i8*)* @one to i32 (i64*)*)(i64* null)
  %16 = fsub float -0.000000e+00, 1.000000e+00
  br label %8
}

declare void @callee(i32*) #1
declare void @other(i8*) readonly argmemonly nounwind
declare i32 @one(i8* nocapture) local_unnamed_addr
declare i32 @printf(i8*, ...)
declare void @llvm.lifetime.start.p0i8(i64, i8* nocapture)
declare void @llvm.dbg.declare(metadata, metadata, metadata)
declare void @llvm.dbg.value(metadata, metadata, metadata)

%struct.inner = type { i32, float }

attributes #0 = { convergent nounwind "no-infs-fp-math"="false" }
attributes #1 = { nounwind readnone }

!nvvm.annotations = !{!0}
!nvvmir.version = !{!1}
!llvm.dbg.cu = !{!2}
!llvm.module.flags = !{!10}

!0 = !{void (i32 addrspace(1)*, %struct.late*)* @kernel, !"kernel", i32 1}
!1 = !{i32 2, i32 0, i32 3, i32 1}
!2 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus, file: !3, producer: "clang", isOptimized: true, runtimeVersion: 0, emissionKind: FullDebug, enums: !4)
!3 = !DIFile(filename: "a.cu", directory: "/tmp")
!4 = !{}
!5 = !{!6, !6, i64 0}
!6 = !{!"int", !4, i64 0}
!7 = distinct !DISubprogram(name: "kernel", scope: !3, file: !3, line: 1, type: !11, isLocal: false, isDefinition: true, scopeLine: 1, isOptimized: true, unit: !2)
!8 = !DILocalVariable(name: "slot", scope: !7, file: !3, line: 2, type: !12)
!9 = !DILocation(line: 2, column: 3, scope: !7)
!10 = !{i32 2, !"Debug Info Version", i32 3}
!11 = !DISubroutineType(types: !4)
!12 = !DIBasicType(name: "int", size: 32, encoding: DW_ATE_signed)
