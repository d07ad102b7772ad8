//! Modules of several kernels and functions, run on the strict simulator to results computed here.

use crate::read_back;

use gimli::{EndianSlice, LittleEndian};
use oriole_cubin::{Cubin, FileKind};
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
    let done = read_back::run(&mut command);
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

/// A kernel's constants of 64 bits stand in its bank 2 behind the offsets of the functions that it calls through addresses.
#[test]
fn constants_stand_behind_the_functions_of_bank_two() {
    let scaled = "cvt.rn.f64.u32 %fd1, %r3; mul.rn.f64 %fd1, %fd1, 0d3FD5555555555555;
            add.rn.f64 %fd1, %fd1, 0d3FB999999999999A; cvt.rzi.u32.f64 %r3, %fd1; add.s32";
    let module =
        table_module().replace(".reg .b32 %r<8>;\n            ld.param", ".reg .b32 %r<8>; .reg .f64 %fd<2>; ld.param");
    let scratch = Scratch::new(&module.replace("add.s32 %r3, %r3", &format!("{scaled} %r3, %r3")));
    let cubin = scratch.compile(&["--arch", "sm_80", "-O3"]);
    let text = String::from_utf8(read_back::run(oriole().arg("disasm").arg(&cubin)).stdout).expect("text");
    // Two functions have numbers from 1 on.
    assert!(text.contains("c[0x2][0x18]") && text.contains("c[0x2][0x20]"), "{text}");
    for (kernel, more) in [("first", 0), ("second", 100)] {
        for input in [6, 7, 0x1234_5678u32] {
            let called = if input & 1 == 0 { input + 3 } else { input * 3 };
            let scaled = (f64::from(called) * f64::from_bits(0x3fd5_5555_5555_5555) + 0.1) as u32;
            assert_eq!(scratch.run(&cubin, kernel, &[input], 1), [scaled + more], "{kernel}({input})");
        }
    }
}

/// A jump by an index over `targets`, each of which computes something else.
fn switch(name: &str, targets: &[u32]) -> String {
    let labels: Vec<String> = targets.iter().map(|target| format!("{name}_{target}")).collect();
    let arms = (0..=*targets.iter().max().expect("targets"))
        .map(|arm| format!("{name}_{arm}: mad.lo.u32 %r2, %r2, {}, {}; bra {name}_end;\n", arm + 3, arm * arm + 1));
    format!(
        "{name}_list: .branchtargets {};\n brx.idx %r1, {name}_list;\n {} {name}_end:\n",
        labels.join(", "),
        arms.collect::<String>()
    )
}

/// What [`switch`] computes.
fn switched(targets: &[u32], index: u32, value: u32) -> u32 {
    let arm = targets[index as usize];
    value.wrapping_mul(arm + 3).wrapping_add(arm * arm + 1)
}

/// Jumps by tables: two in a kernel, one in a function that two kernels call, and constants behind them; and what is told by bits of a word
/// and searched.
#[test]
fn jumps_by_index_go_where_they_should() {
    let dense: Vec<u32> = (0..20).collect();
    let sparse: Vec<u32> = (0..40).map(|index| if index % 3 == 0 { index / 3 } else { 14 }).collect();
    let bits: Vec<u32> = (0..30).map(|index| 0x2d5a_96a5 >> index & 1).collect();
    let few: Vec<u32> = (0..12).map(|index| index / 4).collect();
    let called = switch("f", &sparse);
    let function = format!(
        ".func (.param .b32 r) chosen(.param .b32 a, .param .b32 b) {{ .reg .b32 %r<4>;
        ld.param.u32 %r1, [a]; ld.param.u32 %r2, [b]; {called} st.param.b32 [r], %r2; ret; }}\n"
    );
    let kernel = |name: &str, first: &[u32], second: &[u32]| {
        format!(
            ".visible .entry {name}(.param .u64 in, .param .u64 out) {{
            .reg .b64 %rd<8>; .reg .b32 %r<8>; .reg .f64 %fd<3>;
            ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out]; ld.global.u32 %r1, [%rd1]; mov.u32 %r2, 5;
            {} {}
            {{ .param .b32 p; .param .b32 q; .param .b32 s; st.param.b32 [p], %r1; st.param.b32 [q], %r2;
            call (s), chosen, (p, q); ld.param.b32 %r2, [s]; }}
            cvt.rn.f64.u32 %fd1, %r2; mul.rn.f64 %fd1, %fd1, 0d3FD5555555555555; cvt.rzi.u32.f64 %r3, %fd1;
            st.global.u32 [%rd2], %r3; ret; }}\n",
            switch(&format!("{name}a"), first),
            switch(&format!("{name}b"), second)
        )
    };
    let kernels = kernel("first", &dense, &sparse) + &kernel("second", &bits, &few);
    let scratch = Scratch::new(&[&HEAD.replace("sm_80", "sm_75"), function.as_str(), &kernels].concat());
    for options in [
        ["--arch", "sm_75", "-O3"],
        ["--arch", "sm_80", "-O0"],
        ["--arch", "sm_90", "-O3"],
        ["--arch", "sm_100", "-O1"],
    ] {
        let cubin = scratch.compile(&options);
        let file = std::fs::read(&cubin).expect("the cubin");
        let found = oriole_check::check(&Cubin::parse(&file).expect("a cubin"), &[]).expect("readable code");
        assert!(found.findings.is_empty(), "{options:?}: {:?}", found.findings);
        for (name, lists) in [("first", [&dense, &sparse]), ("second", [&bits, &few])] {
            for index in 0..lists.iter().map(|list| list.len()).min().expect("lists") as u32 {
                let value = lists.into_iter().fold(5, |value, list| switched(list, index, value));
                let value = switched(&sparse, index, value);
                let expected = (f64::from(value) * f64::from_bits(0x3fd5_5555_5555_5555)) as u32;
                assert_eq!(scratch.run(&cubin, name, &[index], 1), [expected], "{name}({index}) {options:?}");
            }
        }
    }
}

/// Calls a function of another module, through a pointer too, and reads that module's variables.
const CALLER: &str = "
.extern .func (.param .b32 r) there(.param .b32 a);
.extern .global .align 4 .u32 far;
.extern .const .align 4 .u32 limits[4];
.visible .const .align 4 .u32 near = 5;
.func (.param .b32 r) here(.param .b32 a) { .reg .b32 %r<3>; ld.param.u32 %r1, [a];
    mul.lo.s32 %r2, %r1, 3; st.param.b32 [r], %r2; ret; }
.global .align 8 .u64 table[1] = { here };
.visible .entry k(.param .u64 in, .param .u64 out) {
    .reg .b64 %rd<8>; .reg .b32 %r<8>; .shared .align 4 .u32 cell[2];
    ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out]; ld.global.u32 %r1, [%rd1];
    { .param .b32 p; .param .b32 q; st.param.b32 [p], %r1; call (q), there, (p); ld.param.b32 %r2, [q]; }
    mov.u64 %rd6, there;
    { .param .b32 p; .param .b32 q; st.param.b32 [p], %r2;
      again: .callprototype (.param .b32 _) _ (.param .b32 _);
      call (q), %rd6, (p), again; ld.param.b32 %r2, [q]; }
    ld.global.u64 %rd5, [table];
    { .param .b32 p; .param .b32 q; st.param.b32 [p], %r2;
      one_to_one: .callprototype (.param .b32 _) _ (.param .b32 _);
      call (q), %rd5, (p), one_to_one; ld.param.b32 %r3, [q]; }
    ld.global.u32 %r4, [far]; add.s32 %r3, %r3, %r4;
    ld.const.u32 %r5, [limits+8]; add.s32 %r3, %r3, %r5;
    ld.const.u32 %r5, [near]; add.s32 %r3, %r3, %r5;
    st.shared.u32 [cell+4], %r3; ld.shared.u32 %r6, [cell+4];
    st.global.u32 [%rd2], %r6; ret; }
";

/// The other module, which has functions and a table of its own.
const CALLED: &str = "
.visible .global .align 4 .u32 far = 11;
.visible .const .align 4 .u32 limits[4] = { 21, 22, 23, 24 };
.func (.param .b64 r) twice(.param .b64 a) { .reg .b64 %rd<3>; ld.param.u64 %rd1, [a];
    shl.b64 %rd2, %rd1, 1; st.param.b64 [r], %rd2; ret; }
.global .align 8 .u64 others[1] = { twice };
.visible .func (.param .b32 r) there(.param .b32 a) { .reg .b32 %r<3>; .reg .b64 %rd<3>; ld.param.u32 %r1, [a];
    .shared .align 4 .u32 own; st.shared.u32 [own], %r1; ld.shared.u32 %r2, [own];
    add.s32 %r2, %r2, 1000; cvt.u64.u32 %rd1, %r2; ld.global.u64 %rd2, [others];
    { .param .b64 p; .param .b64 q; st.param.b64 [p], %rd1;
      wide: .callprototype (.param .b64 _) _ (.param .b64 _);
      call (q), %rd2, (p), wide; ld.param.b64 %rd1, [q]; }
    cvt.u32.u64 %r2, %rd1; st.param.b32 [r], %r2; ret; }
";

/// An object file leaves what is elsewhere to a linker, by name.
#[test]
fn objects_name_what_is_elsewhere() {
    for arch in ["sm_80", "sm_90"] {
        let scratch = Scratch::new(&format!("{HEAD}{CALLER}"));
        let object = scratch.compile(&["-c", "--arch", arch]);
        let cubin = Cubin::parse(&std::fs::read(object).expect("the object")).expect("it is a cubin");
        assert_eq!(cubin.kind, FileKind::Relocatable);
        for function in ["k", "here"] {
            assert!(cubin.sections.iter().any(|section| section.name == format!(".text.{function}")), "{function}");
        }
        for name in ["there", "far", "limits"] {
            let at = cubin.symbols.iter().position(|symbol| symbol.name == name).expect(name);
            assert_eq!(cubin.symbols[at].section, None, "{name} is defined");
            assert!(cubin.relocations.iter().any(|relocation| relocation.symbol == at), "{name} is not used");
        }
    }
    let scratch = Scratch::new(&format!("{HEAD}{CALLER}"));
    let mut linked = oriole();
    linked.arg("compile").arg(scratch.path("in.ptx")).arg("-o").arg(scratch.path("out.cubin"));
    let done = linked.output().expect("oriole starts");
    assert_eq!(done.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&done.stderr).contains("there"), "the missing function is named");
}

/// NVIDIA's linker takes two of our objects, and the program computes what the sources say.
#[test]
fn linked_objects_run() {
    let Some(nvlink) = oriole_prerequisites::tool("nvlink") else { return };
    for arch in ["sm_75", "sm_80", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_103a", "sm_110a", "sm_120", "sm_121a"] {
        let modules = [CALLER, CALLED].map(|text| Scratch::new(&format!("{HEAD}{text}")));
        let objects = modules.each_ref().map(|scratch| scratch.compile(&["-c", "--arch", arch]));
        let program = modules[0].path("linked.cubin");
        let mut linker = Command::new(&nvlink);
        linker.args(["-arch", arch]).args(&objects).arg("-o").arg(&program);
        succeed(linker);
        for input in [6u32, 0xffff_ff00] {
            let there = |value: u32| value.wrapping_add(1000).wrapping_mul(2);
            let want = there(there(input)).wrapping_mul(3).wrapping_add(11 + 23 + 5);
            assert_eq!(modules[0].run(&program, "k", &[input], 1), [want], "{arch}");
        }
    }
}

/// `mul` and `sub` that name no rounding are one FMA, as with ptxas; at `-O0`, or where they name one, two steps.
#[test]
fn open_products_and_sums_round_once() {
    let body = |rounding: &str| {
        format!(
            "{HEAD}.visible .entry k(.param .u64 in, .param .u64 out) {{ .reg .b64 %rd<3>; .reg .f32 %f<6>;
            ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out];
            ld.global.f32 %f1, [%rd1]; ld.global.f32 %f2, [%rd1+4]; ld.global.f32 %f3, [%rd1+8];
            mul{rounding}.f32 %f4, %f1, %f2; sub{rounding}.f32 %f5, %f3, %f4;
            st.global.f32 [%rd2], %f5; ret; }}"
        )
    };
    let [a, b] = [1.000_000_1_f32, 1.234_567_8];
    let c = a * b;
    let input = [a, b, c].map(f32::to_bits);
    let (once, twice) = ((-a).mul_add(b, c), c - a * b);
    assert_ne!(once, twice);
    for (rounding, level, want) in [("", "-O3", once), ("", "-O0", twice), (".rn", "-O3", twice)] {
        let scratch = Scratch::new(&body(rounding));
        let cubin = scratch.compile(&[level]);
        assert_eq!(scratch.run(&cubin, "k", &input, 1), [want.to_bits()], "mul{rounding} {level}");
    }
}

/// Parameters of more than 4352 bytes lie elsewhere before sm_90.
#[test]
fn large_parameters_are_read() {
    let bytes: Vec<u8> = (0..6000u32).map(|n| (n * 7 + n / 256) as u8).collect();
    let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    for arch in ["sm_80", "sm_90"] {
        let scratch = Scratch::new(&format!(
            "{HEAD}.visible .entry k(.param .align 4 .b8 many[6000], .param .u64 out) {{
            .reg .b64 %rd<2>; .reg .b32 %r<4>;
            ld.param.u64 %rd1, [out]; ld.param.u32 %r1, [many+8]; ld.param.u32 %r2, [many+5996];
            add.s32 %r3, %r1, %r2; st.global.u32 [%rd1], %r3; ret; }}"
        ));
        let cubin = scratch.compile(&["--arch", arch]);
        let out = scratch.path("out.bin");
        let mut run = oriole();
        run.args(["run", "--strict", "--entry", "k"]).arg(&cubin).arg(format!("bytes:{text}"));
        run.arg(format!("out:{}:4", out.display()));
        assert!(run.status().expect("oriole starts").success(), "{arch}");
        let sum = word(8).wrapping_add(word(5996));
        assert_eq!(std::fs::read(&out).expect("the output"), sum.to_le_bytes(), "{arch}");
    }
}

/// Code of two files: a load from one, an addition from the other.
const LINES: &str = ".file 1 \"/src/a.cu\"\n.file 2 \"/src/inc/b.h\"
.visible .entry k(.param .u64 out) { .reg .b64 %rd<2>; .reg .b32 %r<3>;
.loc 1 30 2
    ld.param.u64 %rd1, [out]; ld.global.u32 %r1, [%rd1];
.loc 2 7 9
    add.s32 %r2, %r1, 5;
.loc 1 31 4
    st.global.u32 [%rd1], %r2;
.loc 1 32 1
    ret; }
";

/// The rows of the line table: address, file, line, column.
fn line_rows(cubin: &Cubin) -> Vec<(u64, String, u64, u64)> {
    let section = cubin.sections.iter().find(|section| section.name == ".debug_line");
    let table = gimli::DebugLine::new(&section.expect("a line table").data, LittleEndian);
    let program = table.program(gimli::DebugLineOffset(0), 8, None, None).expect("a program");
    let mut rows = program.rows();
    let mut found = Vec::new();
    while let Some((header, row)) = rows.next_row().expect("rows") {
        let file = row.file(header).expect("a file").path_name();
        let name = match file {
            gimli::AttributeValue::String(name) => EndianSlice::to_string_lossy(&name).into_owned(),
            other => panic!("{other:?}"),
        };
        let column = match row.column() {
            gimli::ColumnType::LeftEdge => 0,
            gimli::ColumnType::Column(column) => column.get(),
        };
        found.push((row.address(), name, row.line().map_or(0, std::num::NonZero::get), column));
    }
    found
}

/// Statements that optimisation, or a lucky register, would leave nothing of: each is a line.
const STEPS: [&str; 20] = [
    "ld.param.u64 %rd1, [out];",
    "cvta.to.global.u64 %rd2, %rd1;",
    "ld.param.u32 %r1, [n];",
    "mov.u32 %r2, %r1;",
    "mul.lo.u32 %r3, %r2, 1;",
    "add.u32 %r4, %r3, 0;",
    "mov.u32 %r5, 7;",
    "shl.b32 %r6, %r5, 2;",
    "setp.gt.u32 %p1, %r4, 3;",
    "@%p1 bra DONE;",
    "st.global.u32 [%rd2], %r4;",
    "mov.u32 %r2, %r4;",
    "bra.uni NEXT; NEXT:",
    "add.u32 %r2, %r2, 1; BACK:",
    "cvt.u32.u32 %r7, %r2; DONE:",
    "mov.b64 %rd3, {%r2, %r5};",
    "mov.b64 {%r8, %r9}, %rd3;",
    "setp.eq.u32 %p2, %r8, 77;",
    "@%p2 bra BACK;",
    "ret;",
];

/// At `-O0` a debugger stops on every line, in the order of the source: results that nobody reads are written, and what becomes
/// a move within a register, or a jump to what follows, is an instruction.
#[test]
fn every_line_steps_without_optimisation() {
    let body: String = (1..).zip(STEPS).map(|(line, text)| format!(".loc 1 {line} 1\n{text}\n")).collect();
    let ptx = format!(
        "{HEAD}.file 1 \"a.cu\"\n.visible .entry k(.param .u64 out, .param .u32 n) {{ .reg .b64 %rd<4>; .reg .b32 %r<10>; \
         .reg .pred %p<3>;\n{body}}}\n"
    );
    let lines = |options: &[&str]| {
        let file = std::fs::read(Scratch::new(&ptx).compile(options)).expect("the cubin");
        let mut lines: Vec<u64> = line_rows(&Cubin::parse(&file).expect("a cubin")).iter().map(|row| row.2).collect();
        lines.dedup();
        lines
    };
    let all: Vec<u64> = (1..=STEPS.len() as u64).collect();
    for options in [&["-g"][..], &["-O0", "--lineinfo"], &["-O0", "--lineinfo", "--arch", "sm_90"]] {
        let found = lines(options);
        assert!(found.is_sorted(), "{options:?}: {found:?}");
        assert_eq!(found, all, "{options:?}");
    }
    assert!(lines(&["-O1", "--lineinfo"]).len() < STEPS.len(), "these lines show nothing");
}

/// The line table leads from each instruction to the `.loc` that stands before it in the PTX.
#[test]
fn line_tables_have_the_lines_of_the_source() {
    let lines = [("LDG", "a.cu", 30, 2), ("IADD3", "b.h", 7, 9), ("STG", "a.cu", 31, 4), ("EXIT", "a.cu", 32, 1)];
    for option in ["--lineinfo", "-g"] {
        let scratch = Scratch::new(&format!("{HEAD}{LINES}"));
        let file = std::fs::read(scratch.compile(&[option])).expect("the cubin");
        let cubin = Cubin::parse(&file).expect("it is a cubin");
        let section = |name: &str| cubin.sections.iter().find(|section| section.name == name);
        let found = line_rows(&cubin);
        let text = oriole().arg("disasm").arg(scratch.path("out.cubin")).output().expect("oriole starts").stdout;
        let text = String::from_utf8(text).expect("text");
        for (mnemonic, name, line, column) in lines {
            let listed = text.lines().find(|line| line.contains(&format!(" {mnemonic}"))).expect(mnemonic);
            let digits = listed.split("/*").nth(1).and_then(|rest| rest.split("*/").next()).expect("an address");
            let address = u64::from_str_radix(digits, 16).expect("hexadecimal");
            let row = found.iter().rev().find(|row| row.0 <= address).expect("a row");
            assert_eq!((row.1.as_str(), row.2, row.3), (name, line, column), "{mnemonic} {option}\n{text}");
        }
        assert_eq!(section(".debug_info").is_some(), option == "-g");
        let ptx = section(".nv_debug_ptx_txt").expect("the PTX");
        assert!(ptx.data.starts_with(b".version 8.3\0.target sm_80\0"));
    }
}

/// DWARF that the PTX carries, with a label of each kind of use.
const DWARF: &str = ".global .align 4 .b32 g[2]; .file 1 \"/src/a.cu\"
.visible .entry k(.param .u64 out) { .reg .b64 %rd<2>; .reg .b32 %r<3>;
.loc 1 30 2
$begin:
    ld.param.u64 %rd1, [out]; ld.global.u32 %r1, [g];
$middle:
.loc 1 31 4
    st.global.u32 [%rd1], %r1;
    ret;
$end:
}
.section .debug_str { $name: .b8 107, 0 $other: .b8 111, 0 }
.section .debug_abbrev { .b8 1, 17, 0, 0 }
.section .debug_info {
.b32 7
.b32 .debug_abbrev
.b32 $other+1
.b32 $other-$name
.b8 -1
.b64 $begin
.b64 $middle
.b64 $end
.b64 g+4
.b64 k
.b32 -2
}
";

/// Numbers and offsets in sections are bytes, labels of the code and symbols are relocations.
#[test]
fn dwarf_of_the_ptx_is_in_the_cubin() {
    let scratch = Scratch::new(&format!("{HEAD}{DWARF}"));
    let ours = std::fs::read(scratch.compile(&["-g"])).expect("the cubin");
    let listing = oriole().arg("disasm").arg(scratch.path("out.cubin")).output().expect("oriole starts").stdout;
    let listing = String::from_utf8(listing).expect("text");
    let store = listing.lines().find(|line| line.contains(" STG")).expect("a store");
    let store = store.split("/*").nth(1).and_then(|rest| rest.split("*/").next()).expect("an address");
    let store = i64::from_str_radix(store, 16).expect("hexadecimal");
    let cubin = Cubin::parse(&ours).expect("it is a cubin");
    let section = |name: &str| cubin.sections.iter().position(|section| section.name == name).expect(name);
    let data = |name: &str| cubin.sections[section(name)].data.as_slice();
    assert_eq!(data(".debug_str"), b"k\0o\0");
    assert_eq!(data(".debug_abbrev"), [1, 17, 0, 0]);
    let mut expected = vec![7, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 0xff];
    let first = expected.len() as u64;
    expected.extend([0; 5 * 8]);
    expected.extend([0xfe, 0xff, 0xff, 0xff]);
    assert_eq!(data(".debug_info"), expected);
    let info = section(".debug_info");
    let mut found: Vec<(u64, &str, i64)> = Vec::new();
    for relocation in cubin.relocations.iter().filter(|relocation| relocation.section == info) {
        let symbol = &cubin.symbols[relocation.symbol];
        found.push((relocation.offset, &symbol.name, relocation.addend.unwrap_or(0)));
    }
    found.sort_unstable();
    let places: Vec<(u64, &str)> = found.iter().map(|(offset, symbol, _)| (*offset, *symbol)).collect();
    let symbols = ["k", "k", "k", "g", "k"];
    assert_eq!(places, (0..).map(|k| first + 8 * k).zip(symbols).collect::<Vec<_>>());
    let addends: Vec<i64> = found.iter().map(|(.., addend)| *addend).collect();
    assert_eq!((addends[0], addends[3], addends[4]), (0, 4, 0));
    let code = cubin.functions.iter().find(|function| function.name == "k").expect("the kernel").size;
    assert_eq!((addends[1], addends[2]), (store, code as i64));
}

/// Two kernels enter a cycle of two functions at either end, and one enters a chain behind it: each needs the frames of
/// all functions on its deepest way, those of the cycle once.
#[test]
fn stack_needs_count_each_function_of_a_cycle_once() {
    // The functions keep a value across their call in an array of their own, at a place that is not known.
    let function = |name: &str, next: &str, words: u32| {
        format!(
            ".func (.reg .b32 o) {name}(.reg .b32 n) {{ .reg .pred %p; .reg .b32 %a, %b; .local .b32 keep[{words}]; \
             .reg .b64 %d, %e; and.b32 %b, n, 3; mov.u64 %d, keep; mul.wide.u32 %e, %b, 4; add.u64 %d, %d, %e; \
             st.local.u32 [%d], n; setp.lt.u32 %p, n, 2; mov.u32 o, 1; @%p bra S; sub.u32 %a, n, 1; \
             call (%b), {next}, (%a); ld.local.u32 %a, [%d]; add.u32 o, %a, %b; S: ret; }}\n"
        )
    };
    let kernel = |name: &str, callee: &str| {
        format!(
            ".visible .entry {name}(.param .u64 p0, .param .u64 p1) {{ .reg .b32 %a; .reg .b64 %d; \
             ld.param.u64 %d, [p0]; ld.global.u32 %a, [%d]; call (%a), {callee}, (%a); ld.param.u64 %d, [p1]; \
             st.global.u32 [%d], %a; ret; }}\n"
        )
    };
    let ptx = [
        HEAD.to_owned(),
        ".func (.reg .b32 o) b(.reg .b32 n);\n".to_owned(),
        ".func (.reg .b32 o) c(.reg .b32 n) { mov.u32 o, n; ret; }\n".to_owned(),
        function("a", "b", 8),
        function("b", "a", 24),
        function("d", "c", 40),
        kernel("from_a", "a"),
        kernel("from_b", "b"),
        kernel("from_d", "d"),
    ];
    let scratch = Scratch::new(&ptx.concat());
    let cubin = scratch.compile(&[]);
    let parsed = Cubin::parse(&std::fs::read(&cubin).expect("it was written")).expect("a cubin");
    let need = |name: &str| {
        let kernel = parsed.kernels().find(|kernel| kernel.name == name).expect("the kernel");
        kernel.min_stack_size
    };
    // Arrays of 8, 24 and 40 words at least, and a return address that each keeps.
    assert_eq!(need("from_a"), need("from_b"));
    assert!(need("from_a") >= 4 * (8 + 24), "{}", need("from_a"));
    assert!(need("from_d") >= 4 * 40 && need("from_d") < need("from_a") + 4 * 24, "{}", need("from_d"));
    // 5 + 4 + 3 + 2 + 1, and 7 + 7 - 1.
    assert_eq!(scratch.run(&cubin, "from_a", &[5], 1), [15]);
    assert_eq!(scratch.run(&cubin, "from_b", &[5], 1), [15]);
    assert_eq!(scratch.run(&cubin, "from_d", &[7], 1), [13]);
}
