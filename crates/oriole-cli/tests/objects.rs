//! Object files (`compile -c`, `ptxas -c`) run as they are: the loader does what a linker would. Ptxas's are tried
//! where `ORIOLE_ORACLE` names a folder with it; the interpreter says what is right.

use std::path::Path;
use std::process::Command;

/// A table of branches in the kernel and one in a function, called by name and through a table of addresses.
const MODULE: &str = ".version 8.7
.target sm_80
.address_size 64
.func (.reg .b32 o) f0(.reg .b32 i) { add.u32 o, i, 1; ret; }
.func (.reg .b32 o) f1(.reg .b32 i) { mul.lo.u32 o, i, 3; ret; }
.func (.reg .b32 o) f2(.reg .b32 i) {
  .reg .b32 %t;
  table: .branchtargets X0, X1, X2, X3;
  and.b32 %t, i, 3; brx.idx %t, table;
  X0: mov.u32 o, 100; ret;
  X1: mov.u32 o, 200; bra X2;
  X2: add.u32 o, i, 7; ret;
  X3: sub.u32 o, 0, i; ret;
}
.global .align 8 .u64 fns[3] = {f0, f1, f2};
.const .align 4 .b32 c[8] = {1, 2, 3, 4, 5, 6, 7, 8};
.visible .entry k(.param .u64 a)
{
 .reg .b64 %d<6>; .reg .b32 %r<9>;
 ld.param.u64 %d1, [a]; mov.u32 %r0, %tid.x; mul.wide.u32 %d2, %r0, 4; add.u64 %d1, %d1, %d2;
 rem.u32 %r1, %r0, 5;
 table: .branchtargets A, B, C, D, E;
 brx.idx %r1, table;
A: mov.u32 %r2, 10; bra M;
B: mul.lo.u32 %r2, %r0, %r0; bra M;
C: not.b32 %r2, %r0; bra M;
D: xor.b32 %r2, %r0, 77; bra M;
E: ld.const.u32 %r2, [c+20];
M: rem.u32 %r3, %r0, 3; mul.wide.u32 %d3, %r3, 8; mov.u64 %d4, fns; add.u64 %d4, %d4, %d3; ld.global.u64 %d5, [%d4];
 proto: .callprototype (.reg .b32 _) _ (.reg .b32 _);
 call (%r4), %d5, (%r2), proto;
 call (%r5), f2, (%r4);
 add.u32 %r4, %r4, %r5;
 st.global.u32 [%d1], %r4;
 ret;
}
";

/// Two kernels with shared memory of their own, of the module, of a function that both call, and dynamic; constants
/// and variables of all kinds. Thread t leaves `1000 * n + (t ^ 1)` for the n-th array of shared memory, then
/// 5 + 6 + 7 + 0.
const SPACES: &str = ".version 8.7
.target sm_80
.address_size 64
.extern .shared .align 16 .b8 dynamic[];
.shared .align 8 .b8 module[256];
.const .align 2 .u16 c0[3] = {1, 5, 2};
.const .align 16 .u64 c1[2] = {0, 6};
.global .align 4 .u32 g0[3] = {1, 2, 7};
.global .align 128 .u32 g1[4];
.common .global .align 8 .b8 common[512];
.func (.reg .b32 o) exchange(.reg .b32 at, .reg .b32 tag)
{
 .reg .b32 %r<8>; .shared .align 4 .b8 own[256];
 mov.u32 %r0, %tid.x; shl.b32 %r1, %r0, 2;
 mov.u32 %r2, own; add.u32 %r2, %r2, %r1; st.shared.u32 [%r2], %r0;
 mov.u32 %r3, dynamic; add.u32 %r3, %r3, %r1; add.u32 %r4, %r0, 5000; st.shared.u32 [%r3], %r4;
 add.u32 %r5, at, %r1; add.u32 %r4, tag, %r0; st.shared.u32 [%r5], %r4;
 bar.sync 0;
 xor.b32 %r1, %r1, 4; mov.u32 %r2, own; add.u32 %r2, %r2, %r1; ld.shared.u32 %r7, [%r2];
 add.u32 %r5, at, %r1; ld.shared.u32 o, [%r5];
 xor.b32 %r6, %r0, 1; sub.u32 %r7, %r7, %r6; add.u32 o, o, %r7;
 bar.sync 0; ret;
}
.visible .entry k(.param .u64 a)
{
 .reg .b64 %d<9>; .reg .b32 %r<30>;
 .shared .align 4 .b8 first[256]; .shared .align 16 .b8 second[512]; .shared .align 1 .b8 odd[3];
 ld.param.u64 %d1, [a]; mov.u32 %r0, %tid.x; mul.wide.u32 %d2, %r0, 32; add.u64 %d1, %d1, %d2; shl.b32 %r1, %r0, 2;
 mov.u32 %r2, odd; add.u32 %r3, %r2, 2; mov.u32 %r4, 99; st.shared.u8 [%r3], %r4;
 mov.u32 %r10, second; add.u32 %r10, %r10, %r1; add.u32 %r11, %r0, 2000; st.shared.u32 [%r10], %r11;
 mov.u32 %r12, module; mov.u32 %r14, 3000; call (%r13), exchange, (%r12, %r14);
 mov.u32 %r15, first; mov.u32 %r16, 1000; call (%r17), exchange, (%r15, %r16);
 st.global.u32 [%d1], %r17;
 xor.b32 %r1, %r1, 4;
 mov.u32 %r10, second; add.u32 %r10, %r10, %r1; ld.shared.u32 %r11, [%r10]; st.global.u32 [%d1+4], %r11;
 mov.u32 %r10, module; add.u32 %r10, %r10, %r1; ld.shared.u32 %r11, [%r10]; st.global.u32 [%d1+8], %r11;
 mov.u32 %r10, dynamic; add.u32 %r10, %r10, %r1; ld.shared.u32 %r11, [%r10]; add.u32 %r11, %r11, -1000;
 st.global.u32 [%d1+12], %r11;
 ld.const.u16 %r18, [c0+2]; ld.const.u32 %r19, [c1+8]; ld.global.u32 %r20, [g0+8]; ld.global.u32 %r21, [g1+12];
 mov.u64 %d3, common; mul.wide.u32 %d4, %r0, 8; add.u64 %d3, %d3, %d4; ld.global.u32 %r22, [%d3+4];
 add.u32 %r18, %r18, %r19; add.u32 %r20, %r20, %r21; add.u32 %r18, %r18, %r20; add.u32 %r18, %r18, %r22;
 st.global.u32 [%d1+16], %r18;
 ret;
}
.visible .entry small(.param .u64 a)
{
 .reg .b64 %d<9>; .reg .b32 %r<30>;
 .shared .align 4 .b8 mine[256];
 ld.param.u64 %d1, [a]; mov.u32 %r0, %tid.x; mul.wide.u32 %d2, %r0, 32; add.u64 %d1, %d1, %d2;
 mov.u32 %r15, mine; mov.u32 %r16, 1000; call (%r17), exchange, (%r15, %r16);
 st.global.u32 [%d1], %r17;
 ret;
}
";

/// What thread t of `SPACES` leaves: arithmetic of its own.
fn spaces(kernel: &str) -> Vec<u8> {
    let thread = |t: u32| match kernel {
        "k" => [1000 + (t ^ 1), 2000 + (t ^ 1), 3000 + (t ^ 1), 4000 + (t ^ 1), 5 + 6 + 7, 0, 0, 0],
        _ => [1000 + (t ^ 1), 0, 0, 0, 0, 0, 0, 0],
    };
    (0..64).flat_map(thread).flat_map(u32::to_le_bytes).collect()
}

/// What the command prints.
fn oriole(arguments: &[&str]) -> Vec<u8> {
    let output = Command::new(env!("CARGO_BIN_EXE_oriole")).args(arguments).output().expect("oriole starts");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// What 64 threads leave, run from `file`.
fn result(file: &Path, engine: &str) -> Vec<u8> {
    result_of(file, "k", engine, 256, &[])
}

/// The `bytes` bytes that 64 threads of `kernel` leave.
fn result_of(file: &Path, kernel: &str, engine: &str, bytes: usize, options: &[&str]) -> Vec<u8> {
    let out = file.with_extension("out");
    let (file, buffer) = (file.display().to_string(), format!("out:{}:{bytes}", out.display()));
    let arguments = ["run", &file, "--entry", kernel, "--block", "64", "--engine", engine, "--timeout", "60", &buffer];
    oriole(&[&arguments, options].concat());
    std::fs::read(out).expect("it was written")
}

#[test]
fn objects_with_tables_of_branches_and_functions_run() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let ptxas = oriole_prerequisites::tool("ptxas");
    for arch in ["sm_75", "sm_80", "sm_90", "sm_100"] {
        let source = folder.path().join(format!("{arch}.ptx"));
        std::fs::write(&source, MODULE.replace("sm_80", arch)).expect("the folder is ours");
        let expected = result(&source, "ptx");
        let (input, object) = (source.display().to_string(), folder.path().join("k.o"));
        let output = object.display().to_string();
        for level in ["-O0", "-O3"] {
            oriole(&["compile", "-c", level, "--arch", arch, &input, "-o", &output]);
            assert_eq!(result(&object, "sim"), expected, "{arch} {level}");
            let Some(ptxas) = &ptxas else { continue };
            let arguments = ["-c", level, "-arch", arch, &input, "-o", &output];
            assert!(Command::new(ptxas).args(arguments).status().expect("ptxas starts").success());
            assert_eq!(result(&object, "sim"), expected, "ptxas {arch} {level}");
        }
    }
}

#[test]
fn objects_with_variables_in_all_spaces_run() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let ptxas = oriole_prerequisites::tool("ptxas");
    for arch in ["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"] {
        let source = folder.path().join(format!("{arch}.ptx"));
        std::fs::write(&source, SPACES.replace("sm_80", arch)).expect("the folder is ours");
        let (input, object) = (source.display().to_string(), folder.path().join("spaces.o"));
        let output = object.display().to_string();
        let run = |kernel: &str| result_of(&object, kernel, "sim", 2048, &["--shared", "256"]);
        for level in ["-O0", "-O3"] {
            oriole(&["compile", "-c", level, "--arch", arch, &input, "-o", &output]);
            for kernel in ["k", "small"] {
                assert_eq!(run(kernel), spaces(kernel), "{arch} {level} {kernel}");
            }
            let Some(ptxas) = &ptxas else { continue };
            let arguments = ["-c", level, "-arch", arch, &input, "-o", &output];
            assert!(Command::new(ptxas).args(arguments).status().expect("ptxas starts").success());
            for kernel in ["k", "small"] {
                assert_eq!(run(kernel), spaces(kernel), "ptxas {arch} {level} {kernel}");
            }
        }
    }
}

/// What must come from another file is named; nothing runs without it.
#[test]
fn objects_that_need_another_file_are_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let declarations = [
        (".extern .shared .align 4 .b8 elsewhere[64];", "mov.u32 %r0, elsewhere;"),
        (".extern .global .align 4 .u32 elsewhere;", "ld.global.u32 %r0, [elsewhere];"),
        (".extern .const .align 4 .u32 elsewhere;", "ld.const.u32 %r0, [elsewhere];"),
        (".extern .func (.reg .b32 r) elsewhere();", "call (%r0), elsewhere, ();"),
    ];
    for (declaration, use_of_it) in declarations {
        let (source, object) = (folder.path().join("k.ptx"), folder.path().join("k.o"));
        let text = format!(
            ".version 8.7\n.target sm_80\n.address_size 64\n{declaration}\n.visible .entry k(.param .u64 a)\n{{\n\
             .reg .b32 %r<2>; .reg .b64 %d<2>; ld.param.u64 %d1, [a]; {use_of_it} st.global.u32 [%d1], %r0; ret;\n}}\n"
        );
        std::fs::write(&source, text).expect("the folder is ours");
        let (input, output) = (source.display().to_string(), object.display().to_string());
        oriole(&["compile", "-c", &input, "-o", &output]);
        let run = Command::new(env!("CARGO_BIN_EXE_oriole"))
            .args(["run", &output, "--entry", "k", "zero:4"])
            .output()
            .expect("oriole starts");
        let error = String::from_utf8_lossy(&run.stderr).into_owned();
        assert!(!run.status.success(), "{declaration}");
        assert!(error.contains("`elsewhere` is not defined: another file must be linked"), "{declaration}: {error}");
    }
}

/// A section of shared memory takes no space in the file, however large it is.
#[test]
fn objects_with_much_shared_memory_are_taken_apart_and_put_together() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let text = ".version 8.7\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 a)\n{\n\
        .shared .align 4 .b8 much[40000]; .reg .b32 %r<2>; .reg .b64 %d<2>;\n\
        ld.param.u64 %d1, [a]; mov.u32 %r1, much; st.global.u32 [%d1], %r1; ret;\n}\n";
    std::fs::write(path("k.ptx"), text).expect("the folder is ours");
    let mut objects = vec!["ours.o"];
    oriole(&["compile", "-c", &path("k.ptx"), "-o", &path("ours.o")]);
    if let Some(ptxas) = oriole_prerequisites::tool("ptxas") {
        let arguments = ["-c", "-arch", "sm_80", &path("k.ptx"), "-o", &path("ptxas.o")];
        assert!(Command::new(ptxas).args(arguments).status().expect("ptxas starts").success());
        objects.push("ptxas.o");
    }
    for object in objects {
        std::fs::write(path("k.s"), oriole(&["disasm", "--all", &path(object)])).expect("the folder is ours");
        oriole(&["asm", &path("k.s"), "-o", &path("back.o")]);
        let read = |name: &str| std::fs::read(path(name)).expect("it was written");
        assert!(read("back.o") == read(object), "{object} is not what it was");
    }
}
