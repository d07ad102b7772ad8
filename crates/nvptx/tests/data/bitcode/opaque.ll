; Every record of a function body that LLVM 19 writes and the back end supports, with opaque pointers.
source_filename = "opaque.cu"
target datalayout = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

module asm ".extern .func first"
module asm ".extern .func second"

%pair = type { i32, [2 x float] }
%outer = type <{ i8, %pair, ptr addrspace(3) }>

@numbers = addrspace(1) global [4 x i32] [i32 1, i32 -2, i32 3, i32 4], align 16
@text = private unnamed_addr constant [6 x i8] c"a\22b\0A\C3\00", align 1
@floats = internal addrspace(4) constant [3 x float] [float 1.0, float -0.0, float 0x7FF8000000000000], align 4
@shared = internal addrspace(3) global [64 x double] undef, align 8
@wide = addrspace(1) global i128 -170141183460469231731687303715884105727, align 16
@nested = addrspace(1) global %outer <{ i8 7, %pair { i32 9, [2 x float] [float 2.0, float 3.0] }, ptr addrspace(3) getelementptr inbounds ([64 x double], ptr addrspace(3) @shared, i64 0, i64 5) }>, section "data", align 1
@zero = weak hidden addrspace(1) externally_initialized global %pair zeroinitializer
@pointers = addrspace(1) global [3 x ptr] [ptr addrspacecast (ptr addrspace(1) @numbers to ptr), ptr null, ptr @kernel]
@sum = addrspace(1) global i64 add (i64 ptrtoint (ptr addrspace(1) @numbers to i64), i64 12)
@vectors = addrspace(1) global <2 x half> <half 1.0, half 0xH7C00>
@brain = addrspace(1) global bfloat 0xR3F80
@elsewhere = external addrspace(1) global i32
@llvm.used = appending global [1 x ptr] [ptr @kernel], section "llvm.metadata"
@other_name = alias i32 (i32), ptr @helper

declare noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x() #2
declare i32 @vprintf(ptr, ...)
declare void @take(ptr byval(%pair) align 8, ptr sret(i64) align 8)

define internal i32 @helper(i32 noundef %n) #0 {
  ret i32 %n
}

define ptx_kernel void @kernel(ptr addrspace(1) noalias nocapture noundef readonly align 16 %in, ptr addrspace(1) writeonly %out, i32 noundef %n, float %x) #1 !dbg !20 {
entry:
  %room = alloca [4 x i32], align 16
  %many = alloca i64, i32 %n, align 8
  %tid = tail call i32 @llvm.nvvm.read.ptx.sreg.tid.x(), !range !10, !dbg !23
  %later = icmp ult i32 %tid, %n
  br i1 %later, label %loop, label %end, !prof !11

loop:                                             ; preds = %loop, %entry
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %acc = phi float [ %x, %entry ], [ %added, %loop ]
  %wide.i = zext nneg i32 %i to i64
  %slot = getelementptr inbounds [4 x float], ptr addrspace(1) %in, i64 %wide.i, i64 1
  %value = load float, ptr addrspace(1) %slot, align 4, !invariant.load !12
  %scaled = fmul contract float %value, 2.5
  %added = fadd fast float %acc, %scaled
  %neg = fneg nnan ninf float %added
  %less = fcmp olt float %neg, %x
  %picked = select nsz i1 %less, float %neg, float %added
  store volatile float %picked, ptr addrspace(1) %out, align 4, !nontemporal !13
  %next = add nuw nsw i32 %i, 1
  %again = icmp slt i32 %next, 8
  br i1 %again, label %loop, label %shapes, !llvm.loop !14

shapes:                                           ; preds = %loop
  %v0 = insertelement <4 x i32> poison, i32 %n, i64 0
  %v1 = shufflevector <4 x i32> %v0, <4 x i32> <i32 5, i32 6, i32 7, i32 8>, <4 x i32> <i32 0, i32 poison, i32 5, i32 7>
  %e = extractelement <4 x i32> %v1, i32 %tid
  %cmp = icmp eq <4 x i32> %v1, zeroinitializer
  %mask = zext <4 x i1> %cmp to <4 x i32>
  %agg = insertvalue %pair undef, i32 %e, 0
  %agg2 = insertvalue %pair %agg, float %x, 1, 1
  %back = extractvalue %pair %agg2, 1, 1
  %frozen = freeze float %back
  %bits = bitcast float %frozen to i32
  %half = fptrunc float %frozen to half
  %dbl = fpext half %half to double
  %int = fptosi double %dbl to i64
  %low = trunc i64 %int to i16
  %disjoint = or disjoint i16 %low, 1
  %exact = lshr exact i16 %disjoint, 1
  %rem = srem i16 %exact, 3
  %generic = addrspacecast ptr addrspace(1) %out to ptr
  %addr = ptrtoint ptr %generic to i64
  %ptr = inttoptr i64 %addr to ptr
  %old = atomicrmw add ptr addrspace(1) %out, i32 %bits syncscope("device") monotonic, align 4
  %fold = atomicrmw fadd ptr %ptr, float %x seq_cst, align 4
  %xchg = cmpxchg weak ptr addrspace(1) %out, i32 %old, i32 %e syncscope("block") acq_rel monotonic, align 4
  %won = extractvalue { i32, i1 } %xchg, 1
  fence syncscope("block") release
  %seen = load atomic i32, ptr %ptr acquire, align 4
  store atomic i32 %seen, ptr %ptr syncscope("device") release, align 4
  %asm = call { i32, i32 } asm sideeffect "mov.b64 {$0, $1}, $2;", "=r,=r,l,~{memory}"(i64 %addr) #3, !dbg !24
  %first = extractvalue { i32, i32 } %asm, 0
  call void @take(ptr byval(%pair) align 8 %room, ptr sret(i64) align 8 %many), !dbg !24
  %printed = call i32 (ptr, ...) @vprintf(ptr @text, i32 %first, double %dbl)
  %indirect = load ptr, ptr addrspace(1) @pointers, align 8
  %called = call fastcc i32 %indirect(i32 %printed)
  switch i32 %called, label %end [
    i32 0, label %unreached
    i32 -5, label %end
    i32 2147483647, label %end
  ]

unreached:                                        ; preds = %shapes
  unreachable

end:                                              ; preds = %shapes, %shapes, %shapes, %entry
  ret void
}

attributes #0 = { noinline nounwind "target-cpu"="sm_80" }
attributes #1 = { convergent mustprogress norecurse nounwind memory(argmem: readwrite) "nvvm.maxntid"="256" }
attributes #2 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #3 = { convergent nounwind }

!llvm.module.flags = !{!0, !1}
!llvm.dbg.cu = !{!2}
!nvvm.annotations = !{!5}

!0 = !{i32 4, !"nvvm-reflect-ftz", i32 1}
!1 = !{i32 2, !"Debug Info Version", i32 3}
!2 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus_14, file: !3, producer: "by hand", isOptimized: true, runtimeVersion: 0, emissionKind: FullDebug)
!3 = !DIFile(filename: "opaque.cu", directory: "/tmp")
!5 = !{ptr @kernel, !"maxntidx", i32 256, !6}
!6 = distinct !{!6, null, !"self"}
!10 = !{i32 0, i32 1024}
!11 = !{!"branch_weights", i32 2000, i32 1}
!12 = !{}
!13 = !{i32 1}
!14 = distinct !{!14, !15}
!15 = !{!"llvm.loop.unroll.disable"}
!20 = distinct !DISubprogram(name: "kernel", linkageName: "kernel", scope: !3, file: !3, line: 10, type: !21, scopeLine: 11, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !2)
!21 = !DISubroutineType(types: !22)
!22 = !{null}
!23 = !DILocation(line: 12, column: 3, scope: !20)
!24 = !DILocation(line: 30, column: 9, scope: !25, inlinedAt: !23)
!25 = distinct !DILexicalBlock(scope: !20, file: !3, line: 29, column: 5)
