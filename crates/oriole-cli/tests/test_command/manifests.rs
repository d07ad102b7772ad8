//! Manifests that are wrong: exit status 2, the place, and what would be right.

use super::Bench;

/// A launch of `saxpy` that is right, with these keys besides.
fn launch(keys: &str) -> String {
    format!("[[launch]]\nentry = 'saxpy'\nblock = 1\nstrict = true\n{keys}\n")
}

#[test]
fn wrong_keys_and_values_have_places() {
    let rows = [
        ("gird = 4", "m.toml:7:1", "unknown key `gird`"),
        ("gird = 4", "m.toml:7:1", "did you mean 'grid'?"),
        ("grid = 0", "m.toml:7:8", "0 is no size"),
        ("grid = [1, 2, 3, 4]", "m.toml:7:8", "one to three"),
        ("grid = 'x'", "m.toml:7:8", "a number"),
        ("levels = [4]", "m.toml:7:10", "0 to 3"),
        ("targets = ['sm_1']", "m.toml:7:11", "sm_1"),
        ("engine = 'gpu'", "m.toml:7:10", "on no GPU"),
        ("engine = 'ptx'", "m.toml:3:1", "strict and check do nothing"),
        ("levels = []", "m.toml:7:10", "no level"),
        ("targets = []", "m.toml:7:11", "no target"),
        ("timeout = 0", "m.toml:7:11", "above zero"),
        ("timeout = -1.5", "m.toml:7:11", "negative"),
        ("max_instructions = 0", "m.toml:7:20", "no limit"),
        ("rtol = -1", "m.toml:7:8", "no tolerance"),
        ("nan = 'maybe'", "m.toml:7:7", "`equal` or `differ`"),
        ("check = 'rave'", "m.toml:7:9", "no check 'rave'"),
        ("fault = 'trop'", "m.toml:7:9", "did you mean 'trap'?"),
        ("program = 'saxpi'", "m.toml:7:11", "did you mean 'saxpy'?"),
        ("args = [7]", "m.toml:7:9", "an ARG of oriole run"),
        ("args = ['u33:7']", "m.toml:7:9", "no kind of argument"),
        ("args = ['u8:256']", "m.toml:7:9", "does not fit"),
        ("args = ['out:a:4']", "m.toml:7:9", "writes a file"),
        ("args = ['in:nowhere']", "m.toml:7:9", "nowhere"),
        ("args = ['zero:4', { in = 'nowhere' }]", "m.toml:7:19", "argument 1: cannot read"),
        ("args = [{ in = [1] }]", "m.toml:7:9", "need a type"),
        ("args = [{ in = [1], type = 'f33' }]", "m.toml:7:28", "'f33' is no type"),
        ("args = [{ in = [1], inout = [1] }]", "m.toml:7:9", "one of value, in, inout, out, scratch"),
        ("args = [{ value = 1 }]", "m.toml:7:9", "value needs type"),
        ("args = [{ out = 'f32[2]' }]", "m.toml:7:9", "out needs expect"),
        ("args = [{ out = 'f32', expect = [1] }]", "m.toml:7:9", "has no shape"),
        ("args = [{ out = 'f32[2]', expect = [1] }]", "m.toml:7:9", "a list of 1 elements is no f32[2]"),
        ("args = [{ in = [1], type = 'f32', expect = [1] }]", "m.toml:7:9", "expect goes with inout and out"),
        ("args = [{ inout = [1], type = 'f32', rtol = 1 }]", "m.toml:7:9", "go with expect"),
        ("args = [{ in = { fill = 'ones' }, type = 'f32[2]' }]", "m.toml:7:16", "no fill 'ones'"),
        ("args = [{ in = { fill = 'zeros', seed = 1 }, type = 'f32[2]' }]", "m.toml:7:16", "does not go by 'seed'"),
        ("globals.a = { in = [1] }", "m.toml:7:13", "a: elements need a type"),
        ("shared = -1", "m.toml:7:10", "-1"),
        ("shared = 1\nshared = 2", "m.toml:8:1", "duplicate key"),
        ("fault = 'trap'\nargs = [{ out = 'u8[1]', expect = [1] }]", "m.toml:7:9", "do not go together"),
        ("shared = ", "m.toml:7:", ""),
    ];
    for (keys, place, reason) in rows {
        let said = Bench::of("saxpy.ptx", &launch(keys)).says("", 2);
        assert!(said.contains(place) && said.contains(reason), "{keys}: {place}, {reason}:\n{said}");
    }
}

#[test]
fn launches_that_lack_something() {
    let rows = [
        ("[[launch]]\nblock = 1\nstrict = true", "m.toml:3:1", "the launch has no entry"),
        ("[[launch]]\nentry = 'saxpy'\nstrict = true", "m.toml:3:1", "the launch has no block"),
        ("[[launch]]\nentry = 'saxpy'\nblock = 1", "m.toml:3:1", "expects nothing"),
        (
            "[defaults]\nstrict = true\n[[launch]]\nentry = 'saxpy'\nblock = 1\nengine = 'ptx'",
            "m.toml:5:1",
            "expects nothing",
        ),
        ("", "m.toml:1:1", "missing field `launch`"),
        ("[launch]", "m.toml:3:", "expected a sequence"),
    ];
    for (launches, place, reason) in rows {
        for options in ["", "--strict"] {
            let said = Bench::of("saxpy.ptx", launches).says(options, 2);
            assert!(said.contains(place) && said.contains(reason), "{launches}: {said}");
        }
    }
    let said = Bench::of("saxpy.ptx", &(launch("") + &launch(""))).says("", 2);
    assert!(said.contains("m.toml:8:1") && said.contains("two launches are called 'saxpy [-O3]'"), "{said}");
    // All that is wrong with the launches is said at once.
    let said = Bench::of("saxpy.ptx", &(launch("args = ['x']") + &launch("program = 'a'"))).says("", 2);
    assert!(said.contains("m.toml:7:9") && said.contains("m.toml:12:11"), "{said}");
}

#[test]
fn programs_that_cannot_be() {
    let rows = [
        ("a = 'nowhere.ptx'", "", "m.toml:2:5", "cannot read"),
        ("a = { path = 'saxpy.ptx', link = ['x.bc'] }", "", "m.toml:2:5", "link does nothing"),
        (
            "a = { path = 'saxpy.ptx', no_fma = true }",
            "engine = 'ptx'\nstrict = false\nprints = ''",
            "m.toml:2:5",
            "no_fma does",
        ),
        ("a = 'twice.ll'", "engine = 'ptx'\nstrict = false\nprints = ''", "m.toml:2:5", "not LLVM IR"),
        ("a = { pth = 'saxpy.ptx' }", "", "m.toml:2:7", "did you mean 'path'?"),
        ("a = 1", "", "m.toml:2:5", "a path, or a table with path"),
        ("a = 'saxpy.ptx'\nb = 'twice.ll'", "", "m.toml:4:1", "names no program; there are: a, b"),
    ];
    for (programs, keys, place, reason) in rows {
        let launch = if keys.is_empty() { launch("") } else { format!("[[launch]]\nentry = 'k'\nblock = 1\n{keys}") };
        let said = Bench::new(programs, &launch).says("", 2);
        assert!(said.contains(place) && said.contains(reason), "{programs}: {said}");
    }
    let bench = Bench::of("saxpy.ptx", &launch(""));
    bench.0.write("m.toml", [0xff, 0xfe]);
    assert!(bench.says("", 2).contains("UTF-8"));
    assert!(bench.0.says("test nowhere.toml", 2).contains("nowhere.toml"));
    assert!(bench.0.says("test", 2).contains("MANIFEST"));
}
