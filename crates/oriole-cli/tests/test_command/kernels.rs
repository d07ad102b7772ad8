//! The kernels of these tests.

/// By file name.
pub(super) const ALL: [(&str, &str); 7] = [
    ("saxpy.ptx", SAXPY),
    ("store.ptx", STORE),
    ("twice.ll", TWICE),
    ("table.ptx", TABLE),
    ("hello.ptx", HELLO),
    ("endless.ptx", ENDLESS),
    ("wrong.ptx", crate::scratch::WRONG),
];

/// `y = a * x + y` on `n` numbers.
const SAXPY: &str = ".version 8.0
.target sm_80
.address_size 64
.visible .entry saxpy(.param .f32 a, .param .u64 x, .param .u64 y, .param .u32 n) {
  .reg .b64 %x, %y; .reg .b32 %i, %b, %s, %n; .reg .f32 %a, %v, %w; .reg .pred %p;
  ld.param.f32 %a, [a]; ld.param.u64 %x, [x]; ld.param.u64 %y, [y]; ld.param.u32 %n, [n];
  mov.u32 %i, %tid.x; mov.u32 %b, %ctaid.x; mov.u32 %s, %ntid.x; mad.lo.u32 %i, %b, %s, %i;
  setp.ge.u32 %p, %i, %n;
  @%p ret;
  mad.wide.u32 %x, %i, 4, %x; mad.wide.u32 %y, %i, 4, %y;
  ld.global.f32 %v, [%x]; ld.global.f32 %w, [%y];
  fma.rn.f32 %w, %a, %v, %w;
  st.global.f32 [%y], %w;
  ret;
}
";

/// Stores a parameter of each size and class, one after the other.
const STORE: &str = ".version 8.0
.target sm_80
.address_size 64
.visible .entry store(.param .u64 p, .param .f64 a, .param .s64 b, .param .f32 c, .param .u32 d, .param .f16 e,
                      .param .s16 f, .param .u8 g, .param .b8 h) {
  .reg .b64 %p, %w; .reg .b32 %v; .reg .b16 %h;
  ld.param.u64 %p, [p];
  ld.param.b64 %w, [a]; st.global.b64 [%p], %w;
  ld.param.b64 %w, [b]; st.global.b64 [%p+8], %w;
  ld.param.b32 %v, [c]; st.global.b32 [%p+16], %v;
  ld.param.b32 %v, [d]; st.global.b32 [%p+20], %v;
  ld.param.b16 %h, [e]; st.global.b16 [%p+24], %h;
  ld.param.b16 %h, [f]; st.global.b16 [%p+26], %h;
  ld.param.b8 %h, [g]; st.global.b8 [%p+28], %h;
  ld.param.b8 %h, [h]; st.global.b8 [%p+29], %h;
  ret;
}
";

/// Doubles integers.
const TWICE: &str = "target triple = \"nvptx64-nvidia-cuda\"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
define ptx_kernel void @twice(ptr addrspace(1) %p) {
  %i = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %a = getelementptr i32, ptr addrspace(1) %p, i32 %i
  %v = load i32, ptr addrspace(1) %a
  %w = shl i32 %v, 1
  store i32 %w, ptr addrspace(1) %a
  ret void
}
";

/// Copies a variable of the module; of its second half nobody has written anything in shared memory.
const TABLE: &str = ".version 8.0
.target sm_80
.address_size 64
.visible .const .align 4 .b32 table[4];
.visible .entry table_out(.param .u64 p) {
  .reg .b64 %p, %t, %o; .reg .b32 %i, %v;
  ld.param.u64 %p, [p]; mov.u32 %i, %tid.x; mul.wide.u32 %o, %i, 4;
  mov.u64 %t, table; add.u64 %t, %t, %o; add.u64 %p, %p, %o;
  ld.const.b32 %v, [%t]; st.global.b32 [%p], %v;
  ret;
}
.visible .entry unwritten(.param .u64 p) {
  .reg .b64 %p; .reg .b32 %v;
  ld.param.u64 %p, [p]; ld.global.b32 %v, [%p]; st.global.b32 [%p+4], %v;
  ret;
}
";

/// Prints \"hello\".
const HELLO: &str = ".version 8.0
.target sm_80
.address_size 64
.extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);
.global .align 1 .b8 text[7] = {104, 101, 108, 108, 111, 10, 0};
.visible .entry hello() {
  .reg .b64 %t;
  mov.u64 %t, text; cvta.global.u64 %t, %t;
  { .param .b64 f; .param .b64 a; .param .b32 o; st.param.b64 [f], %t; st.param.b64 [a], 0; call (o), vprintf, (f, a); }
  ret;
}
";

/// Never ends; or traps.
const ENDLESS: &str = ".version 8.0
.target sm_80
.address_size 64
.visible .entry endless(.param .u64 p) {
  .reg .b64 %p; .reg .b32 %v;
  ld.param.u64 %p, [p];
again:
  ld.volatile.global.b32 %v, [%p]; add.u32 %v, %v, 1; st.volatile.global.b32 [%p], %v;
  bra again;
}
.visible .entry traps() { trap; ret; }
";
