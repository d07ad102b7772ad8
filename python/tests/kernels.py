"""PTX of the tests."""

HEADER = ".version 8.0\n.target sm_80\n.address_size 64\n"


def saxpy(kind: str, size: int) -> str:
    """`y[i] = a * x[i] + y[i]` for `i < n`, in floats of that type."""
    return (
        HEADER
        + f""".visible .entry saxpy(.param .{kind} a, .param .u64 x, .param .u64 y, .param .u32 n) {{
    .reg .b64 %x, %y; .reg .b32 %i, %b, %s, %n; .reg .{kind} %a, %v, %w; .reg .pred %p;
    ld.param.{kind} %a, [a]; ld.param.u64 %x, [x]; ld.param.u64 %y, [y]; ld.param.u32 %n, [n];
    mov.u32 %i, %tid.x; mov.u32 %b, %ctaid.x; mov.u32 %s, %ntid.x; mad.lo.u32 %i, %b, %s, %i;
    setp.ge.u32 %p, %i, %n;
    @%p ret;
    mad.wide.u32 %x, %i, {size}, %x; mad.wide.u32 %y, %i, {size}, %y;
    ld.global.{kind} %v, [%x]; ld.global.{kind} %w, [%y];
    fma.rn.{kind} %w, %a, %v, %w;
    st.global.{kind} [%y], %w;
    ret;
}}
"""
    )


SAXPY = saxpy("f32", 4)

#: The sum of 256 words by a tree in shared memory.
REDUCTION = (
    HEADER
    + """.visible .entry reduce(.param .u64 in, .param .u64 out) {
    .reg .b64 %in, %out; .reg .b32 %t, %b, %g, %v, %w, %at, %step, %far; .reg .pred %p;
    .shared .align 4 .b8 words[1024];
    ld.param.u64 %in, [in]; ld.param.u64 %out, [out];
    mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; mad.lo.u32 %g, %b, 256, %t;
    mad.wide.u32 %in, %g, 4, %in;
    ld.global.u32 %v, [%in];
    mov.u32 %at, words; mad.lo.u32 %at, %t, 4, %at;
    st.shared.u32 [%at], %v;
    mov.u32 %step, 128;
next:
    SYNC
    setp.ge.u32 %p, %t, %step;
    @%p bra idle;
    mad.lo.u32 %far, %step, 4, %at;
    ld.shared.u32 %w, [%far]; ld.shared.u32 %v, [%at]; add.u32 %v, %v, %w; st.shared.u32 [%at], %v;
idle:
    shr.u32 %step, %step, 1;
    setp.ne.u32 %p, %step, 0;
    @%p bra next;
    setp.ne.u32 %p, %t, 0;
    @%p ret;
    mad.wide.u32 %out, %b, 4, %out;
    ld.shared.u32 %v, [words]; st.global.u32 [%out], %v;
    ret;
}
"""
)


def reduction(sync: str = "bar.sync 0;") -> str:
    """The reduction with that barrier between its steps."""
    return REDUCTION.replace("SYNC", sync)


def stores(kind: str, register: str) -> str:
    """`*out = value` for a value of that type."""
    return (
        HEADER
        + f""".visible .entry put(.param .{kind} value, .param .u64 out) {{
    .reg .b64 %out; .reg .{register} %v;
    ld.param.u64 %out, [out]; ld.param.{kind} %v, [value]; st.global.{kind} [%out], %v;
    ret;
}}
"""
    )


#: Each block multiplies a word by 3 and adds its number, by a load and a store that race with those of others.
RACING = (
    HEADER
    + """.visible .entry racing(.param .u64 out) {
    .reg .b64 %out; .reg .b32 %b, %v;
    ld.param.u64 %out, [out]; mov.u32 %b, %ctaid.x;
    ld.global.u32 %v, [%out]; mad.lo.u32 %v, %v, 3, %b; st.global.u32 [%out], %v;
    ret;
}
"""
)

ENDLESS = HEADER + ".visible .entry endless() { again: bra again; }\n"

TWICE_LLVM = """; A module of LLVM assembly.
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
define ptx_kernel void @twice(ptr addrspace(1) %data, i32 %times) {
  %i = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %at = getelementptr i32, ptr addrspace(1) %data, i32 %i
  %old = load i32, ptr addrspace(1) %at
  %new = mul i32 %old, %times
  store i32 %new, ptr addrspace(1) %at
  ret void
}
"""
