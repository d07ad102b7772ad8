//! Memory that a compilation takes.

use crate::scratch::Scratch;
use std::process::Command;

/// Address space of the command in KiB; 80,000 are enough.
const ADDRESS_SPACE: u32 = 250_000;

/// A kernel with `operations` under guards that change `predicates` values, in turn.
fn guarded(operations: u32, predicates: u32) -> String {
    let tests: String = (0..predicates).map(|i| format!("setp.gt.u32 %p{i}, %r1, {};\n", 7 * i)).collect();
    let changes: String =
        (0..operations).map(|i| format!("@%p{} mad.lo.u32 %r2, %r2, %r1, {i};\n", i % predicates)).collect();
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 a) {{\n\
         .reg .b64 %a; .reg .pred %p<{predicates}>; .reg .b32 %r<3>;\n\
         ld.param.u64 %a, [a]; ld.global.v2.u32 {{%r1, %r2}}, [%a];\n{tests}{changes}st.global.u32 [%a], %r2; ret;\n}}\n"
    )
}

/// What predication keeps of each operation does not grow with the predicates before it: this took 675 MB once.
#[test]
fn many_guarded_operations_take_little_memory() {
    let scratch = Scratch::new();
    scratch.write("k.ptx", guarded(8000, 200));
    let line = format!("ulimit -v {ADDRESS_SPACE}; exec \"$0\" compile --arch sm_80 --jobs 1 k.ptx -o k.cubin");
    let mut command = Command::new("sh");
    command.current_dir(scratch.path("")).args(["-c", &line, env!("CARGO_BIN_EXE_oriole")]);
    let output = command.output().expect("there is a shell");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
