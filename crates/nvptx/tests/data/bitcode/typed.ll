; Typed pointers, as LLVM 14 wrote them; types of `byval`, and named structures that contain each other.
source_filename = "typed.cu"
target datalayout = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

%node = type { %tree*, i32, float* }
%tree = type { %node, [2 x %node*] }
%hidden = type opaque

@root = addrspace(1) global %tree zeroinitializer, align 8
@link = addrspace(1) global %node { %tree* addrspacecast (%tree addrspace(1)* @root to %tree*), i32 4, float* null }
@key = private constant [11 x i8] c"__CUDA_FTZ\00"
@third = internal addrspace(4) constant i32* bitcast (float* getelementptr (float, float* null, i64 3) to i32*)

declare i32 @__nvvm_reflect(i8*)
declare void @outside(%hidden*)

define i32 @walk(%node* byval(%node) align 8 %start, i32 (i32)* %visit, <2 x i32*> %lanes) {
entry:
  %child = getelementptr inbounds %node, %node* %start, i64 0, i32 0
  %tree = load %tree*, %tree** %child, align 8
  %inner = getelementptr %tree, %tree* %tree, i32 1, i32 1, i64 1
  %deep = load %node*, %node** %inner, align 8
  %count = getelementptr inbounds %node, %node* %deep, i64 0, i32 1
  store i32 7, i32* %count, align 4
  %old = atomicrmw umax i32* %count, i32 9 seq_cst, align 4
  %xchg = cmpxchg i32* %count, i32 %old, i32 1 monotonic monotonic, align 4
  %ok = extractvalue { i32, i1 } %xchg, 1
  %visited = call i32 %visit(i32 %old)
  %cast = bitcast i32* %count to %hidden*
  call void @outside(%hidden* %cast)
  %flush = call i32 @__nvvm_reflect(i8* getelementptr inbounds ([11 x i8], [11 x i8]* @key, i32 0, i32 0))
  %moved = getelementptr i32, <2 x i32*> %lanes, i64 4
  %lane = extractelement <2 x i32*> %moved, i32 1
  %value = load atomic i32, i32* %lane syncscope("singlethread") unordered, align 4
  %sum = add i32 %value, %flush
  %result = select i1 %ok, i32 %sum, i32 %visited
  ret i32 %result
}
