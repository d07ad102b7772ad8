; What LLVM 20 to 22 write beyond version 19.
target datalayout = "e-p3:32:32-p4:32:32-p5:32:32-p6:32:32-p7:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

@g = global i32 u0x2A, align 4
@h = global i16 s0xFFFF, align 2

define ptx_kernel void @kernel(ptr addrspace(1) readnone captures(none) %p, ptr dead_on_return captures(address, read_provenance) initializes((0, 4), (8, 12)) %q, float nofpclass(nan inf) %f) local_unnamed_addr #0 {
  %a = alloca i32, align 4
  call void @llvm.lifetime.start.p0(ptr nonnull %a)
  %1 = icmp samesign ult i32 5, 6
  %2 = getelementptr inbounds nuw i8, ptr %a, i64 0
  %3 = ptrtoaddr ptr %2 to i64
  %4 = atomicrmw usub_cond ptr %q, i32 1 monotonic, align 4
  %5 = atomicrmw usub_sat ptr %q, i32 1 monotonic, align 4
  %6 = atomicrmw fmaximum ptr %q, float 1.0 monotonic, align 4
  %7 = atomicrmw fminimum ptr %q, float 1.0 monotonic, align 4
    #dbg_value(i32 5, !1, !DIExpression(DW_OP_plus_uconst, 4, DW_OP_stack_value), !2)
    #dbg_declare(ptr %a, !1, !DIExpression(), !2)
  %9 = fptrunc nnan double 1.0 to float
  call void @llvm.lifetime.end.p0(ptr nonnull %a)
  ret void
}

declare void @llvm.lifetime.start.p0(ptr captures(none)) #1
declare void @llvm.lifetime.end.p0(ptr captures(none)) #1

attributes #0 = { nounwind "nvvm.reqntid"="128" nocreateundeforpoison }
attributes #1 = { nocallback nofree nosync nounwind willreturn memory(argmem: readwrite, target_mem0: none) }

!llvm.module.flags = !{!0}
!0 = !{i32 2, !"Debug Info Version", i32 3}
!1 = !DILocalVariable(name: "x", scope: !3, line: 2)
!2 = !DILocation(line: 1, column: 2, scope: !3)
!3 = distinct !DISubprogram(name: "kernel", line: 1, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !4)
!4 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus_14, file: !5, producer: "x", isOptimized: true, runtimeVersion: 0, emissionKind: DebugDirectivesOnly)
!5 = !DIFile(filename: "a.cu", directory: "/tmp", checksumkind: CSK_MD5, checksum: "0123456789abcdef0123456789abcdef")
