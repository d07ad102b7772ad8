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

fn oriole(arguments: &[&str]) {
    let output = Command::new(env!("CARGO_BIN_EXE_oriole")).args(arguments).output().expect("oriole starts");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// What 64 threads leave, run from `file`.
fn result(file: &Path, engine: &str) -> Vec<u8> {
    let out = file.with_extension("out");
    let (file, buffer) = (file.display().to_string(), format!("out:{}:256", out.display()));
    oriole(&["run", &file, "--entry", "k", "--block", "64", "--engine", engine, "--timeout", "60", &buffer]);
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
