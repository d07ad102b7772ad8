; A load that an extension takes over is as aligned as it says.
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out, i64 %n) {
  %at = getelementptr i8, ptr addrspace(1) %in, i64 3
  %half = load i16, ptr addrspace(1) %at, align 1
  %wide = zext i16 %half to i32
  store i32 %wide, ptr addrspace(1) %out, align 4
  %pair = load <2 x i8>, ptr addrspace(1) %at, align 1
  %signed = sext <2 x i8> %pair to <2 x i16>
  %behind = getelementptr i8, ptr addrspace(1) %out, i64 4
  store <2 x i16> %signed, ptr addrspace(1) %behind, align 4
  ret void
}
