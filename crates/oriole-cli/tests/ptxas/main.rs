//! `oriole ptxas` beside ptxas: what callers call, and what they look for.

mod callers;
mod lines;
mod programs;
mod sccache;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Two kernels, the second with shared memory and a barrier.
const KERNELS: &str = ".version 8.0
.target sm_75
.address_size 64
.visible .entry a(.param .u64 p){ .reg .b64 %p; .reg .b32 %v; ld.param.u64 %p,[p]; ld.global.u32 %v,[%p]; add.u32 %v,%v,%v; st.global.u32 [%p],%v; ret; }
.visible .entry b(.param .u64 p){ .reg .b64 %p; .reg .b32 %v; .shared .b32 s[32]; ld.param.u64 %p,[p]; ld.global.u32 %v,[%p]; st.shared.u32 [s], %v; bar.sync 0; ld.shared.u32 %v,[s+4]; st.global.u32 [%p],%v; ret; }
";
/// A kernel that calls a function.
const CALL: &str = ".version 8.0
.target sm_75
.address_size 64
.visible .func (.reg .b32 r) g(.reg .b32 x) { add.u32 r, x, 1; ret; }
.visible .entry a(.param .u64 p){ .reg .b64 %p; .reg .b32 %v; ld.param.u64 %p,[p]; ld.global.u32 %v,[%p]; call (%v), g, (%v); st.global.u32 [%p],%v; ret; }
";
/// A kernel with an array of its own.
const LOCAL: &str = ".version 8.0
.target sm_75
.address_size 64
.visible .entry a(.param .u64 p, .param .u32 i){ .local .b32 s[64]; .reg .b64 %p,%q; .reg .b32 %v,%i; ld.param.u64 %p,[p]; ld.param.u32 %i,[i]; mov.u64 %q, s; mad.wide.u32 %q,%i,4,%q; st.local.u32 [%q],%i; ld.local.u32 %v,[s+8]; st.global.u32 [%p],%v; ret; }
";
/// A kernel on doubles.
const DOUBLES: &str = ".version 8.0
.target sm_75
.address_size 64
.visible .entry a(.param .u64 p){ .reg .b64 %p; .reg .f64 %v; ld.param.u64 %p,[p]; ld.global.f64 %v,[%p]; add.f64 %v,%v,%v; st.global.f64 [%p],%v; ret; }
";

/// A folder with the inputs of all tests, and a link named `ptxas`.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        let folder = Folder(tempfile::tempdir().expect("a temporary folder"));
        let external = CALL.replace(
            ".visible .func (.reg .b32 r) g(.reg .b32 x) { add.u32 r, x, 1; ret; }",
            ".extern .func (.reg .b32 r) g(.reg .b32 x);",
        );
        let inputs = [
            ("k.ptx", KERNELS.to_owned()),
            ("bad.ptx", KERNELS.replace("add.u32 %v", "add.u32 %q")),
            ("v.ptx", KERNELS.replace(".version 8.0", ".version 99.9")),
            ("t90.ptx", KERNELS.replace("sm_75", "sm_90")),
            ("t90a.ptx", KERNELS.replace("sm_75", "sm_90a")),
            (
                "c.ptx",
                ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry c(.param .u64 p){ ret; }\n".to_owned(),
            ),
            (
                "big.ptx",
                ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry b(.param .u64 p){ .reg .b32 %r<3>; \
                 .shared .b8 s[65536]; mov.u32 %r1, s; st.shared.u32 [%r1+65532], %r1; ld.shared.u32 %r2, [%r1]; \
                 st.shared.u32 [%r1], %r2; ret; }\n"
                    .to_owned(),
            ),
            ("f.ptx", CALL.to_owned()),
            ("ext.ptx", external),
            ("loc.ptx", LOCAL.to_owned()),
            ("dbl.ptx", DOUBLES.to_owned()),
            ("empty.ptx", String::new()),
            ("optf", "-arch=sm_80 -v\n".to_owned()),
            ("named", "-arch=sm_80\n-o \"my file.o\"\n".to_owned()),
            ("input", "k.ptx\n".to_owned()),
        ];
        inputs.iter().for_each(|(name, text)| std::fs::write(folder.path(name), text).expect("written"));
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_oriole"), folder.path("ptxas")).expect("linked");
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The link, with these arguments, in the folder.
    fn run(&self, arguments: &[&str]) -> Output {
        self.run_tool(&self.path("ptxas"), arguments)
    }

    fn run_tool(&self, tool: &Path, arguments: &[&str]) -> Output {
        let mut command = Command::new(tool);
        command
            .args(arguments)
            .current_dir(self.0.path())
            .env_remove("ORIOLE_PTXAS_BANNER")
            .env_remove("ORIOLE_PTXAS_VERSION");
        command.stdin(std::process::Stdio::null()).output().expect("it runs")
    }

    /// The outputs that are there, which are removed.
    fn outputs(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).expect("the folder is there");
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut names: Vec<String> =
            names.filter(|name| [".o", ".cubin"].iter().any(|end| name.ends_with(end))).collect();
        names.sort();
        names.iter().for_each(|name| std::fs::remove_file(self.path(name)).expect("removed"));
        names
    }
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
