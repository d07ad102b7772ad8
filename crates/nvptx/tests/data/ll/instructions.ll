; Every instruction with every flag that LLVM 19 has and NVPTX can take.
source_filename = "instructions.ll"
target datalayout = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

module asm ".extern .func trap_\22quoted\22;"
module asm "second \\ line"

%pair = type { i32, float }
%packed = type <{ i8, i32, [3 x i16] }>
%"with space" = type { %pair, [2 x %pair] }
%opaque = type opaque
%0 = type { i64, ptr }

$group = comdat any

@counter = addrspace(1) externally_initialized global i32 0, align 4
@table = internal addrspace(4) constant [4 x i32] [i32 1, i32 -2, i32 3, i32 -2147483648], align 16
@tile = internal unnamed_addr addrspace(3) global [64 x float] undef, align 16
@dynamic = external addrspace(3) global [0 x i8], align 16
@"quoted \22name\22" = dso_local global %pair { i32 7, float 1.500000e+00 }, section ".mine", align 8
@weak = weak_odr hidden global i32 5, comdat($group), align 4
@common = common dso_local global i32 0, align 4
@thread = thread_local(localexec) global i32 0
@missing = extern_weak global i32
@something = external global %opaque
@second = alias i32, ptr @common
@0 = private unnamed_addr constant [3 x i8] c"\00\FFa", align 1
@llvm.used = appending global [1 x ptr] [ptr @plain], section "llvm.metadata"
@targets = internal constant [2 x ptr] [ptr blockaddress(@indirect, %a), ptr blockaddress(@indirect, %b)]

define void @plain() #0 {
  ret void
}

define i32 @integers(i32 %a, i32 noundef range(i32 0, 100) %b, <4 x i32> %v) {
entry:
  %0 = add i32 %a, %b
  %1 = add nuw nsw i32 %0, 5
  %2 = sub nsw i32 %1, %a
  %3 = mul nuw i32 %2, -3
  %4 = udiv exact i32 %3, 7
  %5 = sdiv i32 %4, %a
  %6 = urem i32 %5, 9
  %7 = srem i32 %6, %b
  %8 = shl nuw nsw i32 %7, 1
  %9 = lshr exact i32 %8, 1
  %10 = ashr i32 %9, 2
  %11 = and i32 %10, 255
  %12 = or disjoint i32 %11, 256
  %13 = xor i32 %12, -1
  %14 = add <4 x i32> %v, <i32 1, i32 2, i32 3, i32 poison>
  %15 = extractelement <4 x i32> %14, i32 2
  %16 = insertelement <4 x i32> %v, i32 %15, i64 1
  %17 = shufflevector <4 x i32> %16, <4 x i32> poison, <2 x i32> <i32 3, i32 poison>
  %18 = shufflevector <2 x i32> %17, <2 x i32> %17, <4 x i32> zeroinitializer
  %19 = extractelement <4 x i32> %18, i32 %13
  %20 = icmp eq i32 %19, 0
  %21 = icmp ne i32 %19, 1
  %22 = icmp ugt i32 %19, 2
  %23 = icmp uge i32 %19, 3
  %24 = icmp ult i32 %19, 4
  %25 = icmp ule i32 %19, 5
  %26 = icmp sgt i32 %19, 6
  %27 = icmp sge i32 %19, 7
  %28 = icmp slt i32 %19, 8
  %29 = icmp sle <4 x i32> %v, splat (i32 9)
  %30 = select i1 %20, i32 %a, i32 %b
  %31 = select <4 x i1> %29, <4 x i32> %v, <4 x i32> zeroinitializer
  %32 = freeze <4 x i32> %31
  %33 = extractelement <4 x i32> %32, i8 0
  %34 = add i32 %33, %30
  ret i32 %34
}

define double @floats(float %x, double %y, half %h, bfloat %b) {
  %1 = fadd float %x, 1.000000e+00
  %2 = fsub fast float %1, 0x3FB99999A0000000
  %3 = fmul reassoc nnan ninf nsz arcp contract afn float %2, %x
  %4 = fdiv contract float %3, -0.0
  %5 = frem nnan float %4, 0x7FF0000000000000
  %6 = fneg nsz float %5
  %7 = fcmp oeq float %6, %x
  %8 = fcmp ogt float %6, %x
  %9 = fcmp oge float %6, %x
  %10 = fcmp olt float %6, %x
  %11 = fcmp ole float %6, %x
  %12 = fcmp one float %6, %x
  %13 = fcmp ord float %6, %x
  %14 = fcmp ueq float %6, %x
  %15 = fcmp ugt float %6, %x
  %16 = fcmp uge float %6, %x
  %17 = fcmp ult float %6, %x
  %18 = fcmp ule float %6, %x
  %19 = fcmp une float %6, 0x7FF8000000000000
  %20 = fcmp uno float %6, 0x7FF4000000000000
  %21 = fcmp true float %6, %x
  %22 = fcmp fast false float %6, %x
  %23 = select nnan i1 %22, float %6, float %x
  %24 = fadd half %h, 0xH3C01
  %25 = fadd bfloat %b, 0xR3F81
  %26 = fpext half %24 to double
  %27 = fpext bfloat %25 to float
  %28 = fptrunc double %y to float
  %29 = fadd double %26, 1.000000e-01
  %30 = fptosi float %28 to i32
  %31 = fptoui double %29 to i64
  %32 = sitofp i32 %30 to float
  %33 = uitofp nneg i64 %31 to double
  ret double %33
}

define i64 @conversions(i8 %x, i64 %y, ptr %p, <2 x i32> %v) {
  %1 = zext nneg i8 %x to i32
  %2 = sext i8 %x to i64
  %3 = trunc nuw nsw i64 %y to i32
  %4 = ptrtoint ptr %p to i64
  %5 = inttoptr i64 %4 to ptr addrspace(3)
  %6 = addrspacecast ptr addrspace(3) %5 to ptr
  %7 = bitcast <2 x i32> %v to i64
  %8 = bitcast i64 %7 to <4 x half>
  %9 = bitcast <4 x half> %8 to double
  %10 = bitcast double %9 to i64
  %11 = icmp eq ptr %6, null
  %12 = zext i1 %11 to i64
  %13 = add i64 %12, %10
  ret i64 %13
}

define void @memory(ptr %p, ptr addrspace(1) %g, i32 %n) {
  %1 = alloca i32, align 4
  %2 = alloca %pair, i32 %n, align 16
  %3 = alloca [4 x i8], align 1, addrspace(5)
  %4 = load i32, ptr %1, align 4, !range !0, !noundef !1
  %5 = load volatile i64, ptr %p, align 8
  %6 = load atomic i32, ptr %p acquire, align 4
  %7 = load atomic volatile i32, ptr %p syncscope("block") monotonic, align 4
  %8 = load i128, ptr addrspace(1) %g, align 16, !invariant.load !1, !nontemporal !2
  store i32 %4, ptr %1, align 4, !tbaa !3
  store volatile i64 %5, ptr %p, align 4
  store atomic i32 %6, ptr %p syncscope("device") release, align 4
  store atomic i32 %7, ptr %p seq_cst, align 4
  store i128 %8, ptr addrspace(1) %g, align 16
  %9 = getelementptr inbounds %"with space", ptr %p, i64 1, i32 1, i64 %5, i32 0
  %10 = getelementptr nuw i8, ptr %9, i64 4
  %11 = getelementptr nusw i8, ptr %10, <4 x i64> <i64 0, i64 1, i64 2, i64 3>
  %12 = extractelement <4 x ptr> %11, i32 0
  %13 = cmpxchg ptr %12, i32 0, i32 1 acq_rel monotonic, align 4
  %14 = cmpxchg weak volatile ptr addrspace(1) %g, i64 0, i64 1 syncscope("block") seq_cst acquire, align 8
  %15 = extractvalue { i32, i1 } %13, 0
  %16 = atomicrmw add ptr %p, i32 1 monotonic, align 4
  %17 = atomicrmw volatile xchg ptr %p, i32 1 syncscope("device") acquire, align 4
  %18 = atomicrmw sub ptr %p, i32 1 release, align 4
  %19 = atomicrmw and ptr %p, i32 1 acq_rel, align 4
  %20 = atomicrmw nand ptr %p, i32 1 seq_cst, align 4
  %21 = atomicrmw or ptr %p, i32 1 monotonic, align 4
  %22 = atomicrmw xor ptr %p, i32 1 monotonic, align 4
  %23 = atomicrmw max ptr %p, i32 1 monotonic, align 4
  %24 = atomicrmw min ptr %p, i32 1 monotonic, align 4
  %25 = atomicrmw umax ptr %p, i32 1 monotonic, align 4
  %26 = atomicrmw umin ptr %p, i32 1 monotonic, align 4
  %27 = atomicrmw fadd ptr %p, float 1.0 monotonic, align 4
  %28 = atomicrmw fsub ptr %p, double 1.0 monotonic, align 8
  %29 = atomicrmw fmax ptr %p, float 1.0 monotonic, align 4
  %30 = atomicrmw fmin ptr %p, float 1.0 monotonic, align 4
  %31 = atomicrmw uinc_wrap ptr %p, i32 1 monotonic, align 4
  %32 = atomicrmw udec_wrap ptr %p, i32 1 syncscope("singlethread") monotonic, align 4
  fence acquire
  fence syncscope("block") seq_cst
  call void @llvm.memcpy.p0.p1.i64(ptr align 4 %p, ptr addrspace(1) align 4 %g, i64 16, i1 false)
  ret void
}

define { i32, [2 x float] } @aggregates({ i32, [2 x float] } %a, float %x) {
  %1 = insertvalue { i32, [2 x float] } %a, i32 3, 0
  %2 = insertvalue { i32, [2 x float] } %1, float %x, 1, 1
  %3 = extractvalue { i32, [2 x float] } %2, 1, 0
  %4 = insertvalue { i32, [2 x float] } undef, [2 x float] [float 1.0, float 2.0], 1
  %5 = insertvalue { i32, [2 x float] } %4, float %3, 1, 0
  ret { i32, [2 x float] } %5
}

define i32 @branches(i32 %n, i1 %c) {
start:
  br i1 %c, label %loop, label %"odd name"

loop:
  %i = phi i32 [ 0, %start ], [ %next, %loop ]
  %f = phi fast float [ 0.0, %start ], [ %g, %loop ]
  %g = fadd float %f, 1.0
  %next = add i32 %i, 1
  %done = icmp eq i32 %next, %n
  br i1 %done, label %"odd name", label %loop, !llvm.loop !4, !prof !6

"odd name":
  switch i32 %n, label %other [
    i32 0, label %zero
    i32 -1, label %zero
    i32 2147483647, label %big
  ]

zero:
  ret i32 0

big:
  br label %other

other:
  %r = phi i32 [ 1, %big ], [ %n, %"odd name" ]
  ret i32 %r
}

define void @indirect(ptr %p) {
  indirectbr ptr %p, [label %a, label %b]

a:
  br label %b

b:
  unreachable
}

define void @calls(ptr sret(%0) align 8 %r, ptr byval(%pair) align 8 %s, ptr %f, ...) {
  %1 = call i32 @branches(i32 5, i1 true)
  %2 = tail call noundef range(i32 0, 1024) i32 @branches(i32 noundef 5, i1 zeroext false) #2
  %3 = notail call fastcc i32 @fast(i32 %2)
  %4 = call fast float @llvm.sqrt.f32(float 2.0)
  call void %f()
  call ptx_device void %f(i32 signext 1)
  call void @calls2(ptr byval(%pair) align 8 %s, ptr nonnull dereferenceable(16) %r)
  %5 = call i32 (ptr, ...) @vprintf(ptr @0, i32 %3, double 1.0)
  %6 = call i32 asm "add.s32 $0, $1, $2;", "=r,r,r"(i32 %1, i32 %5) #2
  call void asm sideeffect "bar.sync \09 $$0; // \22x\22", "~{memory}"()
  %7 = call { i32, i32 } asm sideeffect "mov $0, $1;", "=r,=r"()
  %8 = va_arg ptr %f, i32
  call void @llvm.assume(i1 true) [ "align"(ptr %f, i64 16) ]
  musttail call void (ptr, ptr, ptr, ...) @calls(ptr sret(%0) align 8 %r, ptr byval(%pair) align 8 %s, ptr %f, ...)
  ret void
}

declare fastcc i32 @fast(i32) local_unnamed_addr
declare void @calls2(ptr byval(%pair) align 8, ptr) #1
declare i32 @vprintf(ptr, ...)
declare float @llvm.sqrt.f32(float)
declare void @llvm.memcpy.p0.p1.i64(ptr noalias nocapture writeonly, ptr addrspace(1) noalias nocapture readonly, i64, i1 immarg)
declare void @llvm.assume(i1 noundef)

define ptx_kernel void @kernel(ptr addrspace(1) nocapture noundef readonly align 16 %in, ptr noalias "nvvm.grid_constant" byval([4 x i32]) %c) #1 section ".text.kernel" align 128 {
  ret void
}

attributes #0 = { convergent noinline nounwind optnone alignstack=16 "key"="value" "alone" "esc"="\22\5C" }
attributes #1 = { nofree norecurse nounwind willreturn memory(argmem: read, inaccessiblemem: none) vscale_range(1,2) uwtable(sync) }
attributes #2 = { nounwind memory(none) }

!nvvm.annotations = !{!7}
!odd\20name = !{!1}

!0 = !{i32 0, i32 100}
!1 = !{}
!2 = !{i32 1}
!3 = !{!8, !8, i64 0}
!4 = distinct !{!4, !5}
!5 = !{!"llvm.loop.unroll.count", i32 4}
!6 = !{!"branch_weights", i32 1, i32 99}
!7 = !{ptr @kernel, !"kernel", i32 1, null, !"a \22string\22"}
!8 = !{!"int", !9, i64 0}
!9 = !{!"Simple C++ TBAA"}
