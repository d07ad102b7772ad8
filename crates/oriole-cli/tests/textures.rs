//! Texture instructions, interpreted, and compiled and run on the strict simulator, to values computed here: texels at places where
//! filtering needs no rounding. With `ORIOLE_ORACLE`, a folder with ptxas, its code must give the same.

use crate::read_back;

use oriole_prerequisites::in_turn;
use std::path::{Path, PathBuf};
use std::process::Command;

const TARGETS: [&str; 5] = ["sm_75", "sm_80", "sm_90", "sm_100a", "sm_120a"];
const THREADS: u32 = 32;

/// Options of the strict simulator.
const STRICT: &[&str] = &["--strict"];
/// Options of the interpreter.
const INTERPRETED: &[&str] = &["--engine", "ptx"];

/// A kernel that reads four words for each thread, does something, and writes four words.
struct Case {
    /// `.global` declarations.
    declarations: &'static str,
    /// Parameters behind `in` and `out`.
    params: &'static str,
    /// From `%r0`…`%r3` (the same as singles in `%f0`…) to `%o0`…`%o3`.
    body: &'static str,
    /// Objects for names; `@N` is the file with the texels of N slices, `@levels` that with three levels of six.
    bind: &'static [&'static str],
    /// The four words of a thread.
    input: fn(u32) -> [u32; 4],
    /// What it must write.
    expected: fn(u32) -> [u32; 4],
}

/// Components of the texel (x, y) of slice or layer z of every texture here, whose slices have 8 x 4 texels.
fn texel(x: u32, y: u32, z: u32) -> [f32; 4] {
    std::array::from_fn(|c| (1000 * z + 100 * y + 10 * x + c as u32) as f32)
}

fn bits(components: [f32; 4]) -> [u32; 4] {
    components.map(f32::to_bits)
}

/// The bytes of so many slices.
fn slices(count: u32) -> Vec<u8> {
    let texels = (0..count).flat_map(|z| (0..4).flat_map(move |y| (0..8).flat_map(move |x| texel(x, y, z))));
    texels.flat_map(f32::to_le_bytes).collect()
}

/// The bytes of two smaller levels of six slices, which hold 7 and 9 everywhere.
fn smaller_levels() -> Vec<u8> {
    let (second, third) = (4 * 2 * 3, 2);
    let texels = std::iter::repeat_n(7f32, 4 * second).chain(std::iter::repeat_n(9f32, 4 * third));
    texels.flat_map(f32::to_le_bytes).collect()
}

/// An integer from 1 to 2047 as a half.
fn half(number: u32) -> u32 {
    let exponent = number.ilog2();
    (exponent + 15) << 10 | (number - (1 << exponent)) << (10 - exponent)
}

fn place(t: u32) -> (u32, u32) {
    (t % 8, t / 8)
}

/// The middle of a texel for each thread.
fn middles(t: u32) -> [u32; 4] {
    let (x, y) = place(t);
    bits([x as f32 + 0.5, y as f32 + 0.5, 0.5, 0.0])
}

/// The numbers of a texel for each thread.
fn numbers(t: u32) -> [u32; 4] {
    let (x, y) = place(t);
    [x, y, t % 6, 0]
}

fn texel_of(t: u32) -> [u32; 4] {
    let (x, y) = place(t);
    bits(texel(x, y, 0))
}

const NAMED: Case = Case {
    declarations: ".global .texref t;",
    params: "",
    body: "tex.2d.v4.f32.f32 {%o0,%o1,%o2,%o3}, [t, {%f0,%f1}];",
    bind: &["t=tex:2d:8x4:f32x4:nearest:in:@1"],
    input: middles,
    expected: texel_of,
};

/// Cases whose handles are names.
const CASES: [Case; 14] = [
    NAMED,
    Case {
        params: ", .param .texref p",
        declarations: "",
        body: "tex.2d.v4.f32.f32 {%o0,%o1,%o2,%o3}, [p, {%f0,%f1}];",
        bind: &["p=tex:2d:8x4:f32x4:nearest:in:@1"],
        ..NAMED
    },
    // Half way to the next texel on both axes: the mean of four.
    Case {
        bind: &["t=tex:2d:8x4:f32x4:linear:in:@1"],
        input: |t| bits([(place(t).0 % 7 + 1) as f32, (place(t).1 % 3 + 1) as f32, 0.0, 0.0]),
        expected: |t| bits(texel(place(t).0 % 7, place(t).1 % 3, 0).map(|v| v + 55.0)),
        ..NAMED
    },
    Case {
        declarations: ".global .texref t; .global .samplerref s;",
        body: "tex.2d.v4.f32.s32 {%o0,%o1,%o2,%o3}, [t, s, {%r0,%r1}];",
        bind: &["t=tex:2d:8x4:f32x4:nearest:in:@1", "s=sampler:nearest"],
        input: numbers,
        ..NAMED
    },
    Case {
        body: "mov.u32 %r3, 1; tex.2d.v4.f32.s32 {%o0,%o1,%o2,%o3}, [t, {%r0,%r1}], {%r3,%r3};",
        input: |t| [t % 7, t / 8 % 3, 0, 0],
        expected: |t| bits(texel(t % 7 + 1, t / 8 % 3 + 1, 0)),
        ..NAMED
    },
    // Layers beyond the last are the last.
    Case {
        body: "tex.a2d.v4.f32.s32 {%o0,%o1,%o2,%o3}, [t, {%r2,%r0,%r1,%r1}];",
        bind: &["t=tex:2d:8x4:f32x4:nearest,layers=3:in:@3"],
        input: |t| [t % 8, t / 8, [0, 1, 2, 70_000][t as usize % 4], 0],
        expected: |t| bits(texel(t % 8, t / 8, [0, 1, 2, 2][t as usize % 4])),
        ..NAMED
    },
    Case {
        body: "tex.3d.v4.f32.f32 {%o0,%o1,%o2,%o3}, [t, {%f0,%f1,%f2,%f2}];",
        bind: &["t=tex:3d:8x4x6:f32x4:nearest:in:@6"],
        input: |t| bits([place(t).0 as f32 + 0.5, place(t).1 as f32 + 0.5, (t % 6) as f32 + 0.5, 0.0]),
        expected: |t| bits(texel(t % 8, t / 8, t % 6)),
        ..NAMED
    },
    // Of the four texels around a corner the lower left, lower right, upper right and upper left.
    Case {
        body: "tld4.g.2d.v4.f32.f32 {%o0,%o1,%o2,%o3}, [t, {%f0,%f1}];",
        input: |t| bits([(t % 7 + 1) as f32, (t / 8 % 3 + 1) as f32, 0.0, 0.0]),
        expected: |t| {
            let corner = |right, down| texel(t % 7 + right, t / 8 % 3 + down, 0)[1];
            bits([corner(0, 1), corner(1, 1), corner(1, 0), corner(0, 0)])
        },
        ..NAMED
    },
    Case {
        body: "mov.f32 %f2, 0f42480000; tex.2d.v4.f32.f32 {%o0,%o1,%o2,%o3}, [t, {%f0,%f1}], %f2; mov.b32 %o3, 0; \
               mov.b32 %o1, 0; mov.b32 %o2, 0;",
        bind: &["t=tex:2d:8x4:f32x4:nearest,ge:in:@1"],
        // 50 is not below the texel's first component.
        expected: |t| [u32::from(50.0 >= texel(t % 8, t / 8, 0)[0]) * 1f32.to_bits(), 0, 0, 0],
        ..NAMED
    },
    Case {
        body: "tex.2d.v2.f16x2.f32 {%o0,%o1}, [t, {%f0,%f1}]; mov.b32 %o2, 0; mov.b32 %o3, 0;",
        input: |t| middles(t | 1),
        expected: |t| {
            let [r, g, b, a] = texel((t % 8) | 1, t / 8, 0).map(|component| half(component as u32));
            [r | g << 16, b | a << 16, 0, 0]
        },
        ..NAMED
    },
    Case {
        body: "txq.width.b32 %o0, [t]; txq.height.b32 %o1, [t]; txq.level.width.b32 %o2, [t], 1; \
               txq.normalized_coords.b32 %o3, [t];",
        bind: &["t=tex:3d:8x4x6:f32x4:nearest,levels=3,normalized:in:@levels"],
        expected: |_| [8, 4, 4, 1],
        ..NAMED
    },
    // A step of two texels along x: the second level.
    Case {
        body: "mov.f32 %f0, 0f00000000; mov.f32 %f1, 0f3e800000; \
               tex.grad.3d.v4.f32.f32 {%o0,%o1,%o2,%o3}, [t, {%f2,%f2,%f2,%f2}], {%f1,%f0,%f0,%f0}, {%f0,%f0,%f0,%f0};",
        bind: &["t=tex:3d:8x4x6:f32x4:nearest,levels=3,normalized:in:@levels"],
        expected: |_| bits([7.0; 4]),
        ..NAMED
    },
    Case {
        body: "tex.level.3d.v4.f32.f32 {%o0,%o1,%o2,%o3}, [t, {%f2,%f2,%f2,%f2}], 0f40000000;",
        bind: &["t=tex:3d:8x4x6:f32x4:nearest,levels=3,normalized:in:@levels"],
        expected: |_| bits([9.0; 4]),
        ..NAMED
    },
    // A guard, and a result that is not wanted.
    Case {
        body: "setp.lt.u32 %p, %r2, 3; mov.b32 %o0, 5; mov.b32 %o1, 5; mov.b32 %o2, 5; mov.b32 %o3, 5; \
               @%p tex.2d.v4.f32.s32 {%o0,_,%o2,%o3}, [t, {%r0,%r1}];",
        input: numbers,
        expected: |t| {
            let [r, _, b, a] = bits(texel(t % 8, t / 8, 0));
            if t % 6 < 3 { [r, 5, b, a] } else { [5; 4] }
        },
        ..NAMED
    },
];

/// A scratch folder with the texels.
struct Scratch(tempfile::TempDir);

impl Scratch {
    fn new() -> Self {
        let scratch = Scratch(tempfile::tempdir().expect("a temporary folder"));
        let levels = [slices(6), smaller_levels()].concat();
        for (name, bytes) in [("@1", slices(1)), ("@3", slices(3)), ("@6", slices(6)), ("@levels", levels)] {
            std::fs::write(scratch.path(name), bytes).expect("it can be written");
        }
        scratch
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// What a case's code or text makes of its input, run with these options.
    fn run(&self, case: &Case, program: &Path, options: &[&str]) -> Vec<u32> {
        let input: Vec<u8> = (0..THREADS).flat_map(case.input).flat_map(u32::to_le_bytes).collect();
        std::fs::write(self.path("in"), input).expect("it can be written");
        let mut command = Command::new(env!("CARGO_BIN_EXE_oriole"));
        command.arg("run").arg(program).args(["--entry", "k", "--block", "32"]).args(options);
        for object in case.bind {
            command.arg("--bind").arg(object.replace('@', &format!("{}/@", self.0.path().display())));
        }
        command.arg(format!("in:{}", self.path("in").display()));
        succeed(command.arg(format!("out:{}:{}", self.path("out").display(), 16 * THREADS)));
        let bytes = std::fs::read(self.path("out")).expect("the run wrote it");
        bytes.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect()
    }

    fn compile(&self, case: &Case, target: &str) -> PathBuf {
        std::fs::write(self.path("k.ptx"), case.ptx(target)).expect("it can be written");
        let cubin = self.path("ours.cubin");
        let mut command = Command::new(env!("CARGO_BIN_EXE_oriole"));
        succeed(command.arg("compile").arg(self.path("k.ptx")).arg("-o").arg(&cubin).args(["--arch", target]));
        let mut command = Command::new(env!("CARGO_BIN_EXE_oriole"));
        succeed(command.arg("check").arg(&cubin));
        cubin
    }
}

fn succeed(command: &mut Command) {
    let done = read_back::run(command);
    assert!(done.status.success(), "{command:?}: {}", String::from_utf8_lossy(&done.stderr));
}

impl Case {
    fn ptx(&self, target: &str) -> String {
        let mode = if self.declarations.contains("samplerref") { ", texmode_independent" } else { "" };
        let Case { declarations, params, body, .. } = self;
        format!(
            ".version 9.0\n.target {target}{mode}\n.address_size 64\n{declarations}\n\
             .visible .entry k(.param .u64 in, .param .u64 out{params}) {{\n\
             .reg .b32 %r<4>, %o<4>, %t; .reg .f32 %f<4>; .reg .b64 %in, %out; .reg .pred %p;\n\
             ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; mov.u32 %t, %tid.x;\n\
             mad.wide.u32 %in, %t, 16, %in; mad.wide.u32 %out, %t, 16, %out;\n\
             ld.global.v4.b32 {{%r0,%r1,%r2,%r3}}, [%in];\n\
             mov.b32 %f0, %r0; mov.b32 %f1, %r1; mov.b32 %f2, %r2; mov.b32 %f3, %r3;\n\
             {body}\nst.global.v4.b32 [%out], {{%o0,%o1,%o2,%o3}};\nret; }}\n"
        )
    }

    fn expected(&self) -> Vec<u32> {
        (0..THREADS).flat_map(self.expected).collect()
    }
}

/// Cases have the targets in turn.
#[test]
fn reads_give_the_texels() {
    let scratch = Scratch::new();
    for (number, case) in CASES.iter().enumerate() {
        for target in in_turn(number, TARGETS) {
            let cubin = scratch.compile(case, target);
            assert_eq!(scratch.run(case, &cubin, STRICT), case.expected(), "{target}: {}", case.body);
        }
        assert_eq!(scratch.run(case, &scratch.path("k.ptx"), INTERPRETED), case.expected(), "{}", case.body);
    }
}

/// Threads of a warp read three textures, each by the handle that it has.
#[test]
fn handles_may_differ_between_threads() {
    let case = Case {
        declarations: "",
        body: "cvt.u64.u32 %in, %r3; tex.2d.v4.f32.f32 {%o0,%o1,%o2,%o3}, [%in, {%f0,%f1}];",
        bind: &[
            "a=tex:2d:8x4:f32x4:nearest:in:@1",
            "b=tex:2d:4x8:f32x4:nearest:in:@1",
            "c=tex:2d:8x4:f32x4:linear:in:@1",
        ],
        input: |t| {
            let [x, y, z, _] = middles(t % 4);
            [x, y, z, 1 + t % 3]
        },
        expected: |t| bits(texel(t % 4, 0, 0)),
        ..NAMED
    };
    let scratch = Scratch::new();
    for target in TARGETS {
        let cubin = scratch.compile(&case, target);
        assert_eq!(scratch.run(&case, &cubin, STRICT), case.expected(), "{target}");
        assert_eq!(scratch.run(&case, &scratch.path("k.ptx"), INTERPRETED), case.expected(), "{target}");
    }
}

#[test]
fn handles_tell_what_they_are_of() {
    let case = Case {
        declarations: ".global .texref t; .global .surfref u;",
        body: "mov.u64 %in, t; istypep.texref %p, %in; selp.u32 %o0, 1, 0, %p; \
               istypep.surfref %p, %in; selp.u32 %o1, 1, 0, %p; mov.u64 %in, u; istypep.surfref %p, %in; \
               selp.u32 %o2, 1, 0, %p; istypep.samplerref %p, %in; selp.u32 %o3, 1, 0, %p;",
        bind: &["t=tex:2d:8x4:f32x4:nearest:in:@1", "u=surf:2d:8x4:f32x4:in:@1"],
        expected: |_| [1, 0, 1, 0],
        ..NAMED
    };
    let scratch = Scratch::new();
    for target in TARGETS {
        let cubin = scratch.compile(&case, target);
        assert_eq!(scratch.run(&case, &cubin, STRICT), case.expected(), "{target}");
        assert_eq!(scratch.run(&case, &scratch.path("k.ptx"), INTERPRETED), case.expected(), "{target}");
    }
}

/// Nothing is bound to the texture of a program: both engines name it.
#[test]
fn variables_without_a_texture_are_named() {
    let scratch = Scratch::new();
    let cubin = scratch.compile(&NAMED, "sm_80");
    for (program, options) in [(cubin, STRICT), (scratch.path("k.ptx"), INTERPRETED)] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_oriole"));
        command.arg("run").arg(program).args(["--entry", "k", "--block", "32"]).args(options);
        let done = read_back::run(command.args(["zero:512", "zero:512"]));
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(
            !done.status.success() && said.contains("nothing is bound to the texture, surface or sampler 't'"),
            "{said}"
        );
    }
}

/// ptxas's code gives what is computed here. (From sm_90 on it calls the driver for gradients of volumes.)
#[test]
fn ptxas_reads_the_same() {
    let Some(tool) = oriole_prerequisites::tool("ptxas") else { return };
    let scratch = Scratch::new();
    for case in CASES.iter().filter(|case| !case.body.contains("grad.3d")) {
        for target in TARGETS {
            std::fs::write(scratch.path("k.ptx"), case.ptx(target)).expect("it can be written");
            let cubin = scratch.path("theirs.cubin");
            let mut ptxas = Command::new(&tool);
            succeed(ptxas.arg(format!("-arch={target}")).arg(scratch.path("k.ptx")).arg("-o").arg(&cubin));
            assert_eq!(scratch.run(case, &cubin, &[]), case.expected(), "{target}: {}", case.body);
        }
    }
}
