//! From LLVM assembly to PTX that runs.

use oriole_device::{Launch, Memory};
use oriole_interp::{Interpreter, Options as RunOptions};
use oriole_nvptx::driver::{self, DumpOf, Error, Library, Options};
use oriole_ptx::ast;

use super::build::ptxas_takes;

fn compile(source: &str, library: &str, options: &Options) -> Result<ast::Module, Error> {
    let module = driver::read(source.as_bytes(), "test.ll").expect("LLVM assembly");
    let library = Library { bytes: library.as_bytes(), file_name: "library.ll" };
    driver::compile(module, &[library], options).map(|output| output.module)
}

/// Runs `k`, whose parameter is the address of `out`, in a block of 32 threads.
fn run(module: ast::Module) -> Vec<u32> {
    let text = oriole_ptx::print(&module);
    assert!(oriole_ptx::load(&text).is_ok(), "{text}");
    ptxas_takes(&text);
    let interpreter = Interpreter::new(&module, RunOptions::default()).expect("it loads");
    let mut memory = Memory::new();
    interpreter.place_variables(&mut memory);
    let out = memory.allocate("out", 128);
    let launch = Launch { block: [32, 1, 1], params: out.to_le_bytes().to_vec(), ..Launch::default() };
    interpreter.launch("k", &launch, &mut memory).expect("no fault");
    let bytes = memory.read(out, 128).expect("it is there");
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().expect("four bytes"))).collect()
}

const LIBRARY: &str = r#"
@step = internal addrspace(1) constant i32 5
define i32 @helper(i32 %x) {
  %s = load i32, ptr addrspace(1) @step
  %y = add i32 %x, %s
  ret i32 %y
}
define i32 @not.needed(i32 %x) {
  ret i32 %x
}
"#;

/// Calls of every kind, a table of functions, a frame, a shared variable, a branch table, inline assembly
/// with a label of its own.
const SOURCE: &str = r#"
target triple = "nvptx64-nvidia-cuda"
@functions = internal addrspace(1) constant [2 x ptr] [ptr @twice, ptr @thrice]
@exchange = internal addrspace(3) global [32 x i32] undef
declare i32 @helper(i32)
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier0()
define internal i32 @twice(i32 %x) noinline {
  %y = shl i32 %x, 1
  ret i32 %y
}
define internal i32 @thrice(i32 %x) noinline {
  %y = mul i32 %x, 3
  ret i32 %y
}
define ptx_kernel void @k(ptr addrspace(1) %out) {
entry:
  %frame = alloca [4 x i32]
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %odd = and i32 %t, 1
  %slot = getelementptr [2 x ptr], ptr addrspace(1) @functions, i32 0, i32 %odd
  %f = load ptr, ptr addrspace(1) %slot
  %a = call i32 %f(i32 %t)
  %b = call i32 @helper(i32 %a)
  %which = and i32 %t, 3
  %cell = getelementptr [4 x i32], ptr %frame, i32 0, i32 %which
  store i32 %b, ptr %cell
  switch i32 %which, label %done [ i32 0, label %zero
                                   i32 1, label %one
                                   i32 2, label %two
                                   i32 3, label %three ]
zero:
  br label %done
one:
  br label %done
two:
  br label %done
three:
  br label %done
done:
  %c = phi i32 [ 0, %entry ], [ 100, %zero ], [ 200, %one ], [ 300, %two ], [ 400, %three ]
  %again = load i32, ptr %cell
  %d = add i32 %again, %c
  %e = call i32 asm sideeffect "{ .reg .pred q; setp.lt.u32 q, $1, 8; mov.u32 $0, $1; @q bra SKIP${:uid}; add.u32 $0, $1, 1000; SKIP${:uid}: }", "=&r,r"(i32 %d)
  %mine = getelementptr [32 x i32], ptr addrspace(3) @exchange, i32 0, i32 %t
  store i32 %e, ptr addrspace(3) %mine
  call void @llvm.nvvm.barrier0()
  %other = xor i32 %t, 31
  %theirs = getelementptr [32 x i32], ptr addrspace(3) @exchange, i32 0, i32 %other
  %g = load i32, ptr addrspace(3) %theirs
  %to = getelementptr i32, ptr addrspace(1) %out, i32 %t
  store i32 %g, ptr addrspace(1) %to
  ret void
}
"#;

fn expected(thread: u32) -> u32 {
    let t = thread ^ 31;
    let called = if t.is_multiple_of(2) { t * 2 } else { t * 3 } + 5;
    let switched = called + [100, 200, 300, 400][t as usize % 4];
    if switched < 8 { switched } else { switched + 1000 }
}

#[test]
fn a_module_runs_at_every_level() {
    for level in 0..=3 {
        let options = Options { arch: "sm_90".to_owned(), level, ..Options::default() };
        let module = compile(SOURCE, LIBRARY, &options).expect("PTX");
        assert!(module.symbols.get("not_$_needed").is_none(), "what is not needed is not linked");
        assert_eq!(run(module), (0..32).map(expected).collect::<Vec<_>>(), "-O{level}");
    }
}

#[test]
fn errors_name_the_stage() {
    let options = Options { arch: "gfx900".to_owned(), ..Options::default() };
    assert!(matches!(compile(SOURCE, LIBRARY, &options), Err(Error::Arch(name)) if name == "gfx900"));
    let error = compile(SOURCE, "define @", &Options::default()).unwrap_err();
    assert!(matches!(error, Error::Library { library: 0, .. }), "{error}");
    let old = Options { arch: "sm_90".to_owned(), ptx_version: Some((7, 5)), ..Options::default() };
    let error = compile(SOURCE, LIBRARY, &old).unwrap_err();
    assert!(error.to_string().contains("`sm_90` needs PTX 7.8, but this module says 7.5"), "{error}");
}

#[test]
fn dumps_have_the_functions_that_are_asked_for() {
    let module = driver::read(SOURCE.as_bytes(), "test.ll").expect("LLVM assembly");
    let options = Options { dump: DumpOf::Function("twice".to_owned()), ..Options::default() };
    let dump = driver::compile(module, &[], &options).expect("PTX").dump;
    let titles: Vec<_> = dump.lines().filter(|line| line.starts_with(';')).collect();
    assert_eq!(titles, ["; twice after selection", "; twice after machine passes"]);
}

#[test]
fn assembly_outside_of_functions_declares_what_it_says() {
    let source = r#"
module asm ".func (.param .b32 r) plus_seven(.param .b32 x) { .reg .b32 t; ld.param.b32 t, [x];"
module asm "add.u32 t, t, 7; st.param.b32 [r], t; ret; }"
declare i32 @plus_seven(i32)
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
define ptx_kernel void @k(ptr addrspace(1) %out) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %a = call i32 @plus_seven(i32 %t)
  %to = getelementptr i32, ptr addrspace(1) %out, i32 %t
  store i32 %a, ptr addrspace(1) %to
  ret void
}
"#;
    assert_eq!(run(compile(source, LIBRARY, &Options::default()).expect("PTX")), (7..39).collect::<Vec<_>>());
    let wrong = source.replace("add.u32 t", "add.u32 u");
    let error = compile(&wrong, LIBRARY, &Options::default()).unwrap_err();
    assert!(error.to_string().contains("undefined name `u`"), "{error}");
}
