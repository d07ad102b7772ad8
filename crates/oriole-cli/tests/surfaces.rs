//! Loads, stores and reductions in surfaces: our code at both ends of `-O` (and ptxas's, where the reference tools
//! are) on the strict simulator, against a model of surfaces on the host.

use crate::read_back;

use oriole_prerequisites::in_turn;
use std::path::Path;
use std::process::Command;

const TARGETS: [&str; 5] = ["sm_75", "sm_80", "sm_90", "sm_100a", "sm_120a"];

/// The threads of the one warp.
const THREADS: usize = 32;

fn oriole(arguments: &[&str]) -> Result<(), String> {
    let done = read_back::run(Command::new(env!("CARGO_BIN_EXE_oriole")).args(arguments));
    if done.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&done.stderr).into_owned()) }
}

/// Bytes as a linear congruential generator gives them.
fn noise(count: usize, seed: u32) -> Vec<u8> {
    let next = |state: &mut u32| {
        *state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        Some((*state >> 24) as u8)
    };
    std::iter::repeat_n((), count).scan(seed, |state, ()| next(state)).collect()
}

/// The geometry of a surface, as PTX and as the command line name it.
struct Geometry {
    ptx: &'static str,
    shape: &'static str,
    /// Texels on three axes.
    size: [i32; 3],
    /// Layers of an array.
    layers: Option<i32>,
    /// The coordinates of PTX, of `%x` (which is given by the access), `%y`, `%z` and `%l`.
    coordinates: &'static str,
}

const GEOMETRIES: [Geometry; 5] = [
    Geometry { ptx: "1d", shape: "1d", size: [64, 1, 1], layers: None, coordinates: "{%x}" },
    Geometry { ptx: "2d", shape: "2d", size: [16, 9, 1], layers: None, coordinates: "{%x,%y}" },
    Geometry { ptx: "3d", shape: "3d", size: [8, 5, 3], layers: None, coordinates: "{%x,%y,%z,%z}" },
    Geometry { ptx: "a1d", shape: "1d", size: [32, 1, 1], layers: Some(3), coordinates: "{%l,%x}" },
    Geometry { ptx: "a2d", shape: "2d", size: [16, 5, 1], layers: Some(4), coordinates: "{%l,%x,%y,%y}" },
];

/// Texels of four words, and their bytes.
const FORMAT: &str = "u32x4";
const TEXEL: i32 = 16;

impl Geometry {
    /// What the command line says of a surface whose bytes come from one file and go to another.
    fn spec(&self, format: &str, from: &str, to: &str) -> String {
        let axes = if self.shape == "1d" { 1 } else { self.shape[..1].parse().expect("a digit") };
        let size: Vec<String> = self.size[..axes].iter().map(i32::to_string).collect();
        let layers = self.layers.map_or(String::new(), |layers| format!("layers={layers}:"));
        format!("surf:{}:{}:{format}:{layers}inout:{from}:{to}", self.shape, size.join("x"))
    }

    fn bytes(&self) -> usize {
        (TEXEL * self.size.iter().product::<i32>() * self.layers.unwrap_or(1)) as usize
    }

    /// Where `bytes` bytes lie at element `x` of that size, `y`, `z`, layer `l`, and whether that is inside; else the
    /// nearest place.
    fn place(&self, bytes: i32, [x, y, z, l]: [i32; 4]) -> (usize, bool) {
        let [width, height, depth] = self.size;
        let (row, layers) = (TEXEL * width / bytes, self.layers.unwrap_or(1));
        // Coordinates that the geometry does not have are not looked at.
        let y = if self.coordinates.contains("%y") { y } else { 0 };
        let z = if self.coordinates.contains("%z") { z } else { 0 };
        let l = if self.layers.is_some() { l } else { 0 };
        let limits = [(x, row), (y, height), (z, depth), (l, layers)];
        let inside = limits.iter().all(|(at, count)| (0..*count).contains(at));
        let [x, y, z, l] = limits.map(|(at, count)| at.clamp(0, count - 1));
        ((bytes * (((l * depth + z) * height + y) * row + x)) as usize, inside)
    }
}

/// Vectors of types, with the bytes of the access.
const SHAPES: [(&str, i32); 11] = [
    ("b8", 1),
    ("b16", 2),
    ("b32", 4),
    ("b64", 8),
    ("v2.b8", 2),
    ("v4.b8", 4),
    ("v2.b16", 4),
    ("v4.b16", 8),
    ("v2.b32", 8),
    ("v4.b32", 16),
    ("v2.b64", 16),
];

/// The registers of a vector, its element type and the bytes of one.
fn vector(shape: &str, bytes: i32) -> (Vec<String>, &str, i32) {
    let (count, element) = match shape.split_once('.') {
        Some((count, element)) => (count[1..].parse().expect("a number"), element),
        None => (1, shape),
    };
    let size = bytes / count;
    let prefix = match size {
        8 => "%d",
        4 => "%w",
        _ => "%h",
    };
    ((0..count).map(|k| format!("{prefix}{k}")).collect(), element, size)
}

/// `{a,b}`, or `a` by itself.
fn list(registers: &[String]) -> String {
    if let [single] = registers { single.clone() } else { format!("{{{}}}", registers.join(",")) }
}

/// Where a thread has 64 bytes: coordinates `%e` (in elements), `%y`, `%z`, `%l`, then data at 16 and on; `%own` is
/// there, `%to` where it writes. Odd threads take the second surface, `%s`; `%u` is the first.
const HEAD: &str = ".version 9.0\n.target @\n.address_size 64\n\
    .global .surfref named;\n\
    .visible .entry k(.param .u64 in, .param .u64 out, .param .u64 a, .param .u64 b) {\n\
    .reg .b16 %h<4>; .reg .b32 %w<4>, %e, %x, %y, %z, %l, %t; .reg .b64 %d<2>, %u, %s, %in, %out, %own, %to; .reg .pred %p;\n\
    ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; ld.param.u64 %u, [a]; ld.param.u64 %s, [b]; mov.u32 %t, %tid.x;\n\
    mad.wide.u32 %own, %t, 64, %in; mad.wide.u32 %to, %t, ?, %out;\n\
    and.b32 %x, %t, 1; setp.eq.u32 %p, %x, 0; selp.b64 %s, %u, %s, %p;\n\
    ld.global.v4.b32 {%e,%y,%z,%l}, [%own];\n";

/// What a launch has, and what it must leave: the second surface takes part.
struct Case<'a> {
    geometry: &'a Geometry,
    format: &'static str,
    body: String,
    /// Bytes that each thread writes.
    output: usize,
    input: Vec<u8>,
    surfaces: [Vec<u8>; 2],
    expected: Vec<u8>,
    surfaces_after: [Vec<u8>; 2],
    /// A word of the fault that it ends in.
    fault: Option<&'static str>,
}

impl Case<'_> {
    /// Compiles for every target, and compares what each makes. The targets have the levels in turn.
    fn check_all(&self) {
        TARGETS.iter().enumerate().for_each(|(at, target)| self.check(at, target));
    }

    /// Compiles for the target in every way that there is, but at the level of this turn alone where not all is asked for,
    /// and compares what each makes.
    fn check(&self, turn: usize, target: &str) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let at = |name: &str| folder.path().join(name).to_str().expect("a UTF-8 path").to_owned();
        let head = HEAD.replace('@', target).replace('?', &self.output.to_string());
        std::fs::write(at("k.ptx"), format!("{head}{}\nret;\n}}\n", self.body)).expect("the folder is there");
        std::fs::write(at("in"), &self.input).expect("the folder is there");
        for (name, surface) in ["a", "b"].iter().zip(&self.surfaces) {
            std::fs::write(at(name), surface).expect("the folder is there");
        }
        for level in in_turn(turn, ["-O3", "-O0"]) {
            let cubin = at("k.cubin");
            oriole(&["compile", &at("k.ptx"), "-o", &cubin, "--arch", target, level, "--verify"]).expect("it compiles");
            oriole(&["check", &cubin]).expect("control words that hold");
            self.run(folder.path(), &["k.cubin", "--strict"], &format!("{target} {level}"));
        }
        self.run(folder.path(), &["k.ptx", "--engine", "ptx"], &format!("{target} interpreted"));
        if ptxas(&at("k.ptx"), &at("k.cubin"), target) {
            self.run(folder.path(), &["k.cubin", "--strict"], &format!("{target} ptxas"));
        }
    }

    /// Runs a file of the folder with options.
    fn launch(&self, folder: &Path, program: &[&str]) -> Result<(), String> {
        let at = |name: &str| folder.join(name).to_str().expect("a UTF-8 path").to_owned();
        let surface = |name: &str| self.geometry.spec(self.format, &at(name), &at(&format!("{name}.after")));
        let input = format!("in:{}", at("in"));
        let output = format!("out:{}:{}", at("out"), (THREADS * self.output).max(1));
        let [a, b] = ["a", "b"].map(surface);
        // The variable stands for a surface as the first one.
        let named = format!("named={}", self.geometry.spec(self.format, &at("a"), &at("named.after")));
        let (file, launch) = (at(program[0]), ["--entry", "k", "--block", "32", "--bind", &named]);
        oriole(&[&["run", &file], &program[1..], &launch[..], &[&input, &output, &a, &b]].concat())
    }

    /// Runs a file of the folder with options, and compares what comes of it; `way` is for messages.
    fn run(&self, folder: &Path, program: &[&str], way: &str) {
        let read = |name: &str| std::fs::read(folder.join(name)).expect("the run wrote it");
        let first = |got: &[u8], want: &[u8]| got.iter().zip(want).position(|(got, want)| got != want);
        let done = self.launch(folder, program);
        match (self.fault, done) {
            (Some(word), Err(message)) => return assert!(message.contains(word), "{way}: {message}"),
            (wanted, done) => assert_eq!((wanted, done), (None, Ok(())), "{way}"),
        }
        if !self.expected.is_empty() {
            assert_eq!(first(&read("out"), &self.expected), None, "{way}: results");
        }
        for (name, want) in ["a.after", "b.after"].iter().zip(&self.surfaces_after) {
            assert_eq!(first(&read(name), want), None, "{way}: {name}");
        }
    }
}

/// Whether the reference compiler is there; then it has compiled the file.
fn ptxas(ptx: &str, cubin: &str, target: &str) -> bool {
    let Some(tool) = oriole_prerequisites::tool("ptxas") else { return false };
    let done = Command::new(tool).args(["-arch", target, ptx, "-o", cubin]).output();
    assert!(done.expect("ptxas starts").status.success(), "ptxas compiles it");
    true
}

/// Coordinates of each thread, a fourth of them outside on some axis.
fn coordinates(geometry: &Geometry) -> Vec<[i32; 4]> {
    let [width, height, depth] = geometry.size;
    // Elements of 16 bytes; smaller ones are inside then too.
    let limits = [width, height, depth, geometry.layers.unwrap_or(1)];
    let random = noise(5 * THREADS, 7);
    let one = |t: usize| {
        let mut at: [i32; 4] = std::array::from_fn(|k| i32::from(random[5 * t + k]) % limits[k]);
        if t.is_multiple_of(4) {
            let axis = usize::from(random[5 * t + 4]) % 4;
            // Far outside for elements of any size.
            at[axis] = if t.is_multiple_of(8) { -1 - at[axis] } else { 100_000 + at[axis] };
        }
        at
    };
    (0..THREADS).map(one).collect()
}

/// The threads' coordinates with their data behind them.
fn records(coordinates: &[[i32; 4]], data: &[u8]) -> Vec<u8> {
    let one = |(at, data): (&[i32; 4], &[u8])| {
        at.iter().flat_map(|word| word.to_le_bytes()).chain(data.iter().copied()).collect::<Vec<u8>>()
    };
    coordinates.iter().zip(data.chunks(48)).flat_map(one).collect()
}

/// `%x` = the byte that element `%e` starts at.
fn scale(bytes: i32) -> String {
    format!("mul.lo.u32 %x, %e, {bytes};\n")
}

#[test]
fn loads_give_the_bytes_of_the_surface() {
    // The cache operator changes nothing here.
    let operators = ["", ".ca", ".cg", ".cs", ".cv"];
    for geometry in &GEOMETRIES {
        let at = coordinates(geometry);
        let surfaces = [noise(geometry.bytes(), 1), noise(geometry.bytes(), 2)];
        let mut body = String::new();
        let mut expected = vec![0; THREADS * 16 * 2 * SHAPES.len()];
        for (n, ((shape, bytes), mode)) in SHAPES.iter().flat_map(|s| ["zero", "clamp"].map(|m| (*s, m))).enumerate() {
            let (registers, element, size) = vector(shape, bytes);
            let (operator, handle) = (operators[n % 5], if n % 3 == 0 { "%u" } else { "%s" });
            body += &scale(bytes);
            let (geometry_name, places) = (geometry.ptx, geometry.coordinates);
            let to = list(&registers);
            body += &format!("suld.b.{geometry_name}{operator}.{shape}.{mode} {to}, [{handle},{places}];\n");
            for (k, register) in registers.iter().enumerate() {
                body += &format!("st.global.{element} [%to+{}], {register};\n", 16 * n + k * size as usize);
            }
            for (t, at) in at.iter().enumerate() {
                let (place, inside) = geometry.place(bytes, *at);
                let from = &surfaces[if handle == "%s" { t % 2 } else { 0 }][place..place + bytes as usize];
                if inside || mode == "clamp" {
                    let start = 16 * (2 * SHAPES.len() * t + n);
                    expected[start..start + bytes as usize].copy_from_slice(from);
                }
            }
        }
        let input = records(&at, &noise(48 * THREADS, 3));
        let surfaces_after = surfaces.clone();
        let output = 16 * 2 * SHAPES.len();
        let case =
            Case { geometry, format: FORMAT, body, output, input, surfaces, expected, surfaces_after, fault: None };
        case.check_all();
    }
}

#[test]
fn stores_change_the_surface() {
    for geometry in &GEOMETRIES {
        // No place twice, also where those outside go to the nearest: the order of threads is open.
        let at: Vec<[i32; 4]> = (0..THREADS as i32)
            .map(|t| match geometry.ptx {
                "1d" => [2 * t - 3, -5, -5, -5],
                "a1d" => [2 * (t / 4), -5, -5, t % 4],
                "3d" => [t % 4, t / 4 % 5, if t == 31 { 9 } else { t / 20 }, -5],
                _ => [t % 8, if t == 29 { 100 } else { t / 8 }, -5, t % 3],
            })
            .collect();
        let before = [noise(geometry.bytes(), 1), noise(geometry.bytes(), 2)];
        let data = noise(48 * THREADS, 9);
        for (n, (shape, bytes)) in SHAPES.into_iter().enumerate() {
            let (registers, element, size) = vector(shape, bytes);
            let (operator, mode) = (["", ".wb", ".cg", ".cs", ".wt"][n % 5], ["zero", "clamp"][n % 2]);
            let mut body = scale(bytes);
            for (k, register) in registers.iter().enumerate() {
                body += &format!("ld.global.{element} {register}, [%own+{}];\n", 16 + k * size as usize);
            }
            let (geometry_name, places, from) = (geometry.ptx, geometry.coordinates, list(&registers));
            body += &format!("sust.b.{geometry_name}{operator}.{shape}.{mode} [%s,{places}], {from};\n");
            let mut surfaces_after = before.clone();
            for (t, at) in at.iter().enumerate() {
                let (place, inside) = geometry.place(bytes, *at);
                if inside || mode == "clamp" {
                    surfaces_after[t % 2][place..place + bytes as usize]
                        .copy_from_slice(&data[48 * t..48 * t + bytes as usize]);
                }
            }
            let input = records(&at, &data);
            let surfaces = before.clone();
            let case = Case {
                geometry,
                format: FORMAT,
                body,
                output: 0,
                input,
                surfaces,
                expected: Vec::new(),
                surfaces_after,
                fault: None,
            };
            case.check(n / TARGETS.len(), TARGETS[n % TARGETS.len()]);
        }
    }
}

#[test]
fn texels_are_stored_in_the_format() {
    // Words are stored as they are in formats of words.
    for (count, format) in [(1, "u32x1"), (2, "s32x2"), (4, "f32x4")] {
        let geometry = &GEOMETRIES[1];
        let texel = 4 * count;
        let row = geometry.size[0] as usize;
        let before = [noise(row * 9 * texel, 1), noise(row * 9 * texel, 2)];
        let at: Vec<[i32; 4]> = (0..THREADS as i32).map(|t| [t % 8 - 1, t / 4, -5, -5]).collect();
        let data = noise(48 * THREADS, 9);
        let registers: Vec<String> = (0..count).map(|k| format!("%w{k}")).collect();
        let mut body = String::new();
        for (k, register) in registers.iter().enumerate() {
            body += &format!("ld.global.b32 {register}, [%own+{}];\n", 16 + 4 * k);
        }
        let vector = ["", ".v2", "", ".v4"][count - 1];
        body += &format!("sust.p.2d{vector}.b32.zero [%s,{{%e,%y}}], {};\n", list(&registers));
        let mut surfaces_after = before.clone();
        for (t, &[x, y, ..]) in at.iter().enumerate().filter(|(_, at)| at[0] >= 0) {
            let place = texel * (y as usize * row + x as usize);
            surfaces_after[t % 2][place..place + texel].copy_from_slice(&data[48 * t..48 * t + texel]);
        }
        let input = records(&at, &data);
        let (surfaces, expected) = (before, Vec::new());
        let case = Case { geometry, format, body, output: 0, input, surfaces, expected, surfaces_after, fault: None };
        case.check_all();
    }
}

/// `old op new`, both extended to 128 bits as their type says.
type Step = fn(i128, i128) -> i128;

/// The operations of reductions with their types.
const REDUCTIONS: [(&str, &str, Step); 7] = [
    ("add", "u32 s32 u64", |a, b| a.wrapping_add(b)),
    ("min", "u32 s32", i128::min),
    ("min", "u64 s64", i128::min),
    ("max", "u32 s32", i128::max),
    ("max", "u64 s64", i128::max),
    ("and", "b32", |a, b| a & b),
    ("or", "b32", |a, b| a | b),
];

/// The little-endian number at `place`.
fn number(from: &[u8], place: usize, bytes: usize, signed: bool) -> i128 {
    let value = from[place..place + bytes].iter().rev().fold(0, |value: i128, byte| value << 8 | i128::from(*byte));
    let bits = 8 * bytes as u32;
    if signed { value << (128 - bits) >> (128 - bits) } else { value }
}

#[test]
fn reductions_join_the_threads() {
    let geometry = &GEOMETRIES[0];
    let before = [noise(geometry.bytes(), 1), noise(geometry.bytes(), 2)];
    let (mut surfaces_after, data, mut body) = (before.clone(), noise(48 * THREADS, 9), String::new());
    let named = |(op, types, step): (&'static str, &'static str, Step)| types.split(' ').map(move |ty| (op, ty, step));
    for (n, (op, ty, step)) in REDUCTIONS.into_iter().flat_map(named).enumerate() {
        let bytes = if ty.ends_with("64") { 8 } else { 4 };
        // Each has 64 bytes of its own; the threads share three numbers there.
        let value = if bytes == 8 { "%d0" } else { "%w0" };
        body += &format!("rem.u32 %x, %t, 3; mad.lo.u32 %x, %x, {bytes}, {};\n", 64 * n);
        body += &format!("ld.global.b{} {value}, [%own+16];\n", 8 * bytes);
        body += &format!("sured.b.{op}.1d.{ty}.{} [%s,{{%x}}], {value};\n", ["trap", "clamp", "zero"][n % 3]);
        for t in 0..THREADS {
            let place = 64 * n + bytes * (t % 3);
            let surface = &mut surfaces_after[t % 2];
            let signed = ty.starts_with('s');
            let old = number(surface, place, bytes, signed);
            let new = step(old, number(&data, 48 * t, bytes, signed));
            surface[place..place + bytes].copy_from_slice(&new.to_le_bytes()[..bytes]);
        }
    }
    let input = records(&[[0; 4]; THREADS], &data);
    let (format, surfaces, expected) = (FORMAT, before, Vec::new());
    let case = Case { geometry, format, body, output: 0, input, surfaces, expected, surfaces_after, fault: None };
    case.check_all();
}

#[test]
fn reductions_of_texels_take_the_sign_from_the_format() {
    let geometry = &GEOMETRIES[0];
    for (format, signed) in [("s32x1", true), ("u32x1", false)] {
        let before = [noise(4 * 64, 1), noise(4 * 64, 2)];
        let (mut surfaces_after, data, mut body) = (before.clone(), noise(48 * THREADS, 9), String::new());
        for (n, (op, _, step)) in REDUCTIONS.into_iter().filter(|(_, types, _)| types.contains("32")).enumerate() {
            body += &format!("rem.u32 %x, %t, 5; add.u32 %x, %x, {}; ld.global.b32 %w0, [%own+16];\n", 8 * n);
            body += &format!("sured.p.{op}.1d.b32.zero [%s,{{%x}}], %w0;\n");
            for t in 0..THREADS {
                let place = 4 * (8 * n + t % 5);
                let surface = &mut surfaces_after[t % 2];
                let new = step(number(surface, place, 4, signed), number(&data, 48 * t, 4, signed));
                surface[place..place + 4].copy_from_slice(&new.to_le_bytes()[..4]);
            }
        }
        let input = records(&[[0; 4]; THREADS], &data);
        let (surfaces, expected) = (before, Vec::new());
        let case = Case { geometry, format, body, output: 0, input, surfaces, expected, surfaces_after, fault: None };
        case.check_all();
    }
}

/// Threads whose access is guarded off do not touch the surface, whatever their coordinates.
#[test]
fn accesses_outside_are_faults_where_that_is_asked() {
    let geometry = &GEOMETRIES[1];
    let surfaces = [noise(geometry.bytes(), 1), noise(geometry.bytes(), 2)];
    let at: Vec<[i32; 4]> = (0..THREADS as i32).map(|t| [t, t % 9, 0, 0]).collect();
    let input = records(&at, &noise(48 * THREADS, 3));
    for (guard, fault) in [("", Some("which is outside")), ("@%p ", None)] {
        let body = format!(
            "setp.lt.u32 %p, %t, 16; {} mov.b32 %w0, 77;\n{guard}suld.b.2d.b32.trap %w0, [%s,{{%x,%y}}];\n\
             st.global.b32 [%to], %w0;",
            scale(TEXEL)
        );
        let word = |(t, at): (usize, &[i32; 4])| {
            let (place, inside) = geometry.place(TEXEL, *at);
            if inside { surfaces[t % 2][place..place + 4].to_vec() } else { vec![77, 0, 0, 0] }
        };
        let expected = at.iter().enumerate().flat_map(word).collect();
        let (input, surfaces, surfaces_after) = (input.clone(), surfaces.clone(), surfaces.clone());
        let case = Case { geometry, format: FORMAT, body, output: 4, input, surfaces, expected, surfaces_after, fault };
        case.check_all();
    }
}

#[test]
fn sizes_are_those_of_the_surface() {
    for geometry in GEOMETRIES.iter().filter(|geometry| geometry.layers.is_none()) {
        let expected = geometry.size.iter().flat_map(|size| size.to_le_bytes()).collect::<Vec<u8>>();
        properties(geometry, &["width", "height", "depth"], &expected);
    }
}

/// What a driver says of a surface of four words, with the constants of the PTX manual.
#[test]
fn other_properties_are_those_of_the_driver() {
    const UNSIGNED_INT32: u32 = 0x10dc;
    const RGBA: u32 = 0x10b5;
    for (at, layers) in [(3, 3), (4, 4)] {
        let expected: Vec<u8> = [UNSIGNED_INT32, RGBA, layers].iter().flat_map(|word| word.to_le_bytes()).collect();
        properties(&GEOMETRIES[at], &["channel_data_type", "channel_order", "array_size"], &expected);
    }
}

/// All threads ask for three properties of the surface of their handle, and of a variable of the module.
fn properties(geometry: &Geometry, names: &[&str; 3], expected: &[u8]) {
    let surfaces = [noise(geometry.bytes(), 1), noise(geometry.bytes(), 2)];
    let mut body = String::new();
    for (n, property) in names.iter().enumerate() {
        for (at, surface) in [(n, "%s"), (n + 3, "named")] {
            body += &format!("suq.{property}.b32 %w0, [{surface}]; st.global.b32 [%to+{}], %w0;\n", 4 * at);
        }
    }
    let expected = expected.repeat(2 * THREADS);
    let input = records(&[[0; 4]; THREADS], &noise(48 * THREADS, 3));
    let (format, surfaces_after) = (FORMAT, surfaces.clone());
    let case = Case { geometry, format, body, output: 24, input, surfaces, expected, surfaces_after, fault: None };
    case.check_all();
}

/// A variable that the driver binds is a surface as one with a handle is.
#[test]
fn variables_name_surfaces() {
    for geometry in &GEOMETRIES {
        let at = coordinates(geometry);
        let (named, places, mut body) = (geometry.ptx, geometry.coordinates, scale(8));
        body += &format!("suld.b.{named}.b64.zero %d0, [named,{places}]; st.global.b64 [%to], %d0;\n");
        body += &format!("suld.b.{named}.b64.clamp %d1, [named,{places}]; st.global.b64 [%to+8], %d1;\n");
        let surfaces = [noise(geometry.bytes(), 1), noise(geometry.bytes(), 2)];
        let word = |at: &[i32; 4]| {
            let (place, inside) = geometry.place(8, *at);
            let value = surfaces[0][place..place + 8].to_vec();
            [if inside { value.clone() } else { vec![0; 8] }, value].concat()
        };
        let expected = at.iter().flat_map(word).collect();
        let input = records(&at, &noise(48 * THREADS, 3));
        let (format, surfaces_after) = (FORMAT, surfaces.clone());
        let case = Case { geometry, format, body, output: 16, input, surfaces, expected, surfaces_after, fault: None };
        case.check_all();
    }
}
