//! Modules of several kernels and functions, run on the strict simulator to results computed here.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A scratch folder with a PTX module in it.
struct Scratch(tempfile::TempDir);

impl Scratch {
    fn new(ptx: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::write(folder.path().join("in.ptx"), ptx).expect("it can be written");
        Scratch(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Compiles the module with these options; gives the cubin's path.
    fn compile(&self, options: &[&str]) -> PathBuf {
        let cubin = self.path("out.cubin");
        let mut command = oriole();
        command.arg("compile").arg(self.path("in.ptx")).arg("-o").arg(&cubin).args(options);
        succeed(command);
        cubin
    }

    /// Runs a kernel of one thread over `input`; gives `count` words of output.
    fn run(&self, cubin: &Path, kernel: &str, input: &[u32], count: usize) -> Vec<u32> {
        let (from, to) = (self.path("in.bin"), self.path("out.bin"));
        std::fs::write(&from, input.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>()).expect("written");
        let mut command = oriole();
        command.args(["run", "--strict", "--entry", kernel]).arg(cubin);
        command.arg(format!("in:{}", from.display())).arg(format!("out:{}:{}", to.display(), 4 * count));
        succeed(command);
        let bytes = std::fs::read(&to).expect("the run wrote its output");
        bytes.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect()
    }
}

fn oriole() -> Command {
    Command::new(env!("CARGO_BIN_EXE_oriole"))
}

fn succeed(mut command: Command) {
    let done = command.output().expect("oriole starts");
    assert!(done.status.success(), "{command:?}: {}", String::from_utf8_lossy(&done.stderr));
}

const HEAD: &str = ".version 8.3\n.target sm_80\n.address_size 64\n";

/// Two functions, a table of them, and a kernel that calls the one of the input's lowest bit and adds `more`.
fn table_module() -> String {
    let kernel = |name: &str, more: u32| {
        format!(
            ".visible .entry {name}(.param .u64 in, .param .u64 out) {{
            .reg .b64 %rd<8>; .reg .b32 %r<8>;
            ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out];
            ld.global.u32 %r1, [%rd1]; and.b32 %r2, %r1, 1; mul.wide.u32 %rd3, %r2, 8;
            mov.u64 %rd4, table; add.s64 %rd4, %rd4, %rd3; ld.global.u64 %rd5, [%rd4];
            {{ .param .b32 p; .param .b32 q; st.param.b32 [p], %r1;
            one_to_one: .callprototype (.param .b32 _) _ (.param .b32 _);
            call (q), %rd5, (p), one_to_one; ld.param.b32 %r3, [q]; }}
            add.s32 %r3, %r3, {more}; st.global.u32 [%rd2], %r3; ret; }}\n"
        )
    };
    let function = |name: &str, operation: &str| {
        format!(
            ".func (.param .b32 r) {name}(.param .b32 a) {{ .reg .b32 %r<3>; ld.param.u32 %r1, [a];
            {operation} %r2, %r1, 3; st.param.b32 [r], %r2; ret; }}\n"
        )
    };
    let functions = function("plus", "add.s32") + &function("times", "mul.lo.s32");
    let table = ".global .align 8 .u64 table[2] = { plus, times };\n";
    [HEAD, &functions, table, &kernel("first", 0), &kernel("second", 100)].concat()
}

/// Each kernel has its own copy of the functions; the table is one for both.
#[test]
fn two_kernels_call_through_one_table() {
    let scratch = Scratch::new(&table_module());
    for options in [["--arch", "sm_80", "-O3"], ["--arch", "sm_90", "-O3"], ["--arch", "sm_80", "-O0"]] {
        let cubin = scratch.compile(&options);
        for (kernel, more) in [("first", 0), ("second", 100)] {
            for input in [6, 7, 0x8000_0001u32] {
                let called = if input & 1 == 0 { input.wrapping_add(3) } else { input.wrapping_mul(3) };
                let got = scratch.run(&cubin, kernel, &[input], 1);
                assert_eq!(got, [called.wrapping_add(more)], "{kernel}({input}) {options:?}");
            }
        }
    }
}
