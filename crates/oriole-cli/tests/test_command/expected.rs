//! Launches that leave what is expected.

use super::{Bench, summary};
use crate::scratch::text;

/// NumPy's format (version 1.0) of a vector.
pub(super) fn npy(descr: &str, count: usize, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({count},), }}\n");
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header.as_bytes());
    file.extend(data);
    file
}

pub(super) fn bytes(values: impl Iterator<Item = f32>) -> Vec<u8> {
    values.flat_map(f32::to_le_bytes).collect()
}

/// A launch of 100 threads on 90 numbers.
const SAXPY: &str = "[[launch]]
entry = 'saxpy'
grid = 2
block = [50]
";

#[test]
fn arrays_of_files_lists_and_rules() {
    let (x, y) = (|i: usize| i as f32 * 0.75 - 3.0, |i: usize| 1.0 / (i as f32 + 1.0));
    let result = |i: usize| 2.5f32.mul_add(x(i), y(i));
    let args =
        "args = [{ value = 2.5, type = 'f32' }, { in = { fill = 'iota', start = -3, step = 0.75 }, type = 'f32[90]' },
        { inout = 'y.npy', expect = 'want.bin' }, 'u32:90']\n[[launch]]\nentry = 'saxpy'\nname = 'list'\nblock = 4\n\
        args = ['f32:2', 'in:x.bin', { inout = [1, 2, 3, 4], type = 'f32', expect = [3, 0, 13, 2e1] }, 's32:4']";
    let bench = Bench::of("saxpy.ptx", &format!("{SAXPY}{args}"));
    bench.0.write("y.npy", npy("<f4", 90, &bytes((0..90).map(y))));
    bench.0.write("want.bin", bytes((0..90).map(result)));
    bench.0.write("x.bin", bytes([1.0, -1.0, 5.0, 8.0].into_iter()));
    assert_eq!(summary(&bench.says("--strict --check all", 0)), "2 launches: 2 passed");
    // One number differs in its last place.
    let mut want: Vec<f32> = (0..90).map(result).collect();
    want[31] = f32::from_bits(want[31].to_bits() + 1);
    bench.0.write("want.bin", bytes(want.into_iter()));
    assert!(bench.says("", 1).contains("1 of 90 elements differ\n    first [31]: "));
}

#[test]
fn tolerances_of_defaults_launches_and_arguments() {
    let launch = |keys: &str, of_argument: &str| {
        format!(
            "[[launch]]\nentry = 'saxpy'\nblock = 1\n{keys}\nargs = ['f32:0', 'zero:4', {{ inout = [1], type = 'f32', \
             expect = [1.25]{of_argument} }}, 'u32:1']\n"
        )
    };
    let status = |defaults: &str, keys: &str, of_argument: &str, status| {
        Bench::of("saxpy.ptx", &format!("[defaults]\n{defaults}\n{}", launch(keys, of_argument))).says("", status);
    };
    status("", "", "", 1);
    status("atol = 0.25", "", "", 0);
    status("atol = 0.25", "atol = 0.125", "", 1);
    status("", "atol = 0.125", ", atol = 0.25", 0);
    status("", "rtol = 0.2", "", 0);
    status("rtol = 0.2", "", ", rtol = 0.19", 1);
}

/// Parameters of every size and class get the bytes that Rust gives such numbers.
#[test]
fn scalars_of_all_types() {
    let mut want = Vec::new();
    want.extend((-0.1f64).to_le_bytes());
    want.extend(i64::MIN.to_le_bytes());
    want.extend(0.1f32.to_le_bytes());
    want.extend(u32::MAX.to_le_bytes());
    want.extend(half::f16::from_f32(1.5).to_le_bytes());
    want.extend((-2i16).to_le_bytes());
    want.extend([200, 0xfe]);
    let out = format!("{{ out = 'u8[{}]', expect = 'want.bin' }}", want.len());
    let table = |ty: &str, value: &str| format!("{{ type = '{ty}', value = {value} }}");
    let tables = [
        table("f64", "-0.1"),
        table("s64", "-9223372036854775808"),
        table("f32", "0.1"),
        table("u32", "'0xffffffff'"),
        table("f16", "1.5"),
        table("s16", "-2"),
        table("u8", "200"),
        table("b8", "'0xfe'"),
    ];
    let texts =
        "'f64:-0.1', 's64:-9223372036854775808', 'f32:0.1', 'u32:0xffffffff', 'f16:1.5', 's16:-2', 'u8:200', 'b8:254'";
    let launch = |name: &str, args: &str| {
        format!("[[launch]]\nname = '{name}'\nentry = 'store'\nblock = 1\nargs = [{out}, {args}]\n")
    };
    let launches = launch("tables", &tables.join(", ")) + &launch("texts", texts);
    let interpreted = launch("interpreted", texts) + "engine = 'ptx'\n";
    let bench = Bench::of("store.ptx", &format!("{launches}{interpreted}"));
    bench.0.write("want.bin", &want);
    assert_eq!(summary(&bench.says("", 0)), "3 launches: 3 passed");
}

#[test]
fn variables_text_and_expected_faults() {
    let launches = "[[launch]]
program = 'table'
entry = 'table_out'
block = 4
args = [{ out = 'u32[4]', expect = [7, 8, 9, 0] }]
globals.table = { in = [7, 8, 9], type = 'u32' }
[[launch]]
program = 'hello'
entry = 'hello'
block = 1
prints = \"hello\\n\"
[[launch]]
program = 'endless'
entry = 'traps'
block = 1
fault = 'trap'
[[launch]]
program = 'endless'
entry = 'endless'
block = 1
fault = 'instruction-limit'
max_instructions = 1000
args = ['zero:4']
";
    let bench = Bench::new("table = 'table.ptx'\nhello = 'hello.ptx'\nendless = 'endless.ptx'", launches);
    assert_eq!(summary(&bench.says("", 0)), "4 launches: 4 passed");
    assert_eq!(bench.says("--quiet", 0), "");
}

/// Each launch runs once for each target and level; the options win over the manifest.
#[test]
fn the_matrix() {
    let launch = "[[launch]]\nentry = 'twice'\nblock = 8\nargs = [{ inout = { fill = 'iota', start = 5 }, type = 's32[8]', \
                  expect = { fill = 'iota', start = 10, step = 2 } }]\ntargets = ['sm_80', 'sm_90']\nlevels = [0, 2]\n";
    let bench = Bench::of("twice.ll", launch);
    let names = |options: &str| text(&bench.test(&format!("--list {options}"), 0));
    assert_eq!(names(""), "twice [sm_80 -O0]\ntwice [sm_80 -O2]\ntwice [sm_90 -O0]\ntwice [sm_90 -O2]\n");
    assert_eq!(names("--filter 90"), "twice [sm_90 -O0]\ntwice [sm_90 -O2]\n");
    assert_eq!(names("--targets sm_86,sm_100 --levels 1"), "twice [sm_86 -O1]\ntwice [sm_100 -O1]\n");
    let report = bench.json("--targets sm_86,sm_90 --levels 0,1,3 --jobs 3", 0);
    let seen: Vec<_> = report["launches"].as_array().expect("a list").iter().collect();
    let of = |target: &str, level: u64| {
        let found = seen.iter().find(|launch| launch["target"] == target && launch["level"] == level);
        found.unwrap_or_else(|| panic!("{target} {level}"))["instructions"].as_u64().expect("a number")
    };
    assert_eq!((seen.len(), report["passed"].as_u64()), (6, Some(6)));
    assert!(of("sm_86", 0) > of("sm_86", 3), "what is not optimised is longer");
    assert!(bench.says("--filter nowhere", 2).contains("none of 4 launches"));
    assert!(bench.says("--targets sm_1", 2).contains("sm_1"));
}

/// A cubin runs as it is, whatever targets others have; options that would act on nothing are refused.
#[test]
fn cubins() {
    let launch = "[defaults]\ntargets = ['sm_90']\n[[launch]]\nentry = 'saxpy'\nblock = 2\nargs = ['f32:3', { in = [1, 2], type = 'f32' }, \
                  { inout = [1, 1], type = 'f32', expect = [4, 7] }, 'u32:2']\n";
    let bench = Bench::of("saxpy.cubin", launch);
    bench.0.says("compile saxpy.ptx -o saxpy.cubin --arch sm_80", 0);
    let report = bench.json("", 0);
    assert_eq!((&report["launches"][0]["target"], &report["launches"][0]["name"]), (&"sm_80".into(), &"saxpy".into()));
    assert!(bench.says("--levels 0", 2).contains("nothing that is run is compiled"));
}

/// The example that the documentation walks through.
#[test]
fn the_worked_example_passes() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/testing");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_oriole"));
    let output = crate::scratch::finished({
        command.args(["test", "kernels.toml"]).current_dir(folder);
        command
    });
    let said = crate::scratch::error_text(&output);
    assert_eq!((output.status.code(), summary(&said)), (Some(0), "14 launches: 14 passed"), "{said}");
}
