//! Launches that do not leave what is expected: what is said, and the exit status.

use super::{Bench, summary};

/// A launch of one thread; `keys` are its own.
fn launch(entry: &str, keys: &str) -> String {
    format!("[[launch]]\nentry = '{entry}'\nblock = 1\n{keys}\n")
}

#[test]
fn buffers_that_differ() {
    let args = "block = 3\nargs = ['f32:2', { in = [1, 2, 3], type = 'f32' }, { inout = [1, 1, 1], type = 'f32[3,1]', \
                expect = [3, 4, 8.75] }, 'u32:3']";
    let bench = Bench::of("saxpy.ptx", &format!("[[launch]]\nentry = 'saxpy'\n{args}"));
    let said = bench.says("", 1);
    // 2 * 2 + 1 is 5 and not 4; 2 * 3 + 1 is 7 and not 8.75.
    let block = "failed: saxpy [-O3] (m.toml:3)\n  argument 2, f32[3,1]: 2 of 3 elements differ\n    first [1,0]: expected 4.0, got \
                 5.0\n    max absolute error 1.75 at [2,0]: expected 8.75, got 7.0\n    max relative error 0.25 at [1,0]: expected 4.0, got 5.0\n1 launch: 0 passed, 1 failed, ";
    assert!(said.starts_with(block), "{said}");
    let report = bench.json("", 1);
    let problem = &report["launches"][0]["problems"][0];
    assert_eq!((&problem["kind"], &problem["argument"]), (&"differs".into(), &2.into()));
    let difference = &problem["difference"];
    assert_eq!((&difference["differ"], &difference["elements"]), (&2.into(), &3.into()));
    assert_eq!(difference["first"], serde_json::json!({ "index": "[1,0]", "expected": "4.0", "got": "5.0" }));
    assert_eq!(
        difference["max_absolute"],
        serde_json::json!({ "error": 1.75, "index": "[2,0]", "expected": "8.75", "got": "7.0" })
    );
}

#[test]
fn nans_by_policy() {
    let args = "args = ['f32:nan', 'zero:4', { inout = [1], type = 'f32', expect = ['nan'] }, 'u32:1']";
    Bench::of("saxpy.ptx", &launch("saxpy", args)).says("", 0);
    let said = Bench::of("saxpy.ptx", &launch("saxpy", &format!("nan = 'differ'\n{args}"))).says("", 1);
    assert!(said.contains("first [0]: expected NaN, got NaN"), "{said}");
}

/// Faults that nobody expects, another one than that expected, and none.
#[test]
fn faults() {
    let bench = Bench::of("endless.ptx", &launch("traps", "prints = ''"));
    let said = bench.says("--strict", 3);
    assert!(said.starts_with("faulted: traps [-O3] (m.toml:3)\n  fault: trap\n    in kernel traps"), "{said}");
    assert!(said.contains("endless.ptx:11"), "{said}");
    assert_eq!(summary(&said), "1 launch: 0 passed, 1 faulted");
    let said = Bench::of("endless.ptx", &launch("traps", "fault = 'deadlock'")).says("", 3);
    assert!(said.contains("fault, but not deadlock as expected: trap"), "{said}");
    let keys = "fault = 'trap'\nargs = ['f32:0', 'zero:4', 'zero:4', 'u32:1']";
    let said = Bench::of("saxpy.ptx", &launch("saxpy", keys)).says("", 1);
    assert!(said.contains("came to its end; expected was the fault trap"), "{said}");
}

#[test]
fn a_loop_without_end_is_stopped() {
    for engine in ["sim", "ptx"] {
        let limit = |keys: &str| {
            let keys = format!("{keys}\nengine = '{engine}'\nargs = [{{ inout = [0], type = 'u32', expect = [0] }}]");
            let started = std::time::Instant::now();
            let report = Bench::of("endless.ptx", &launch("endless", &keys)).json("", 3);
            assert!(started.elapsed().as_secs() < 60);
            report["launches"][0]["problems"][0]["fault"].clone()
        };
        assert_eq!(limit("timeout = 0.25"), "time-limit", "{engine}");
        assert_eq!(limit("max_instructions = 5000"), "instruction-limit", "{engine}");
    }
}

#[test]
fn memory_that_nobody_has_written() {
    let args = |role: &str| format!("check = 'global-init'\nargs = [{{ {role}, expect = [0, 0] }}]");
    Bench::of("table.ptx", &launch("unwritten", &args("inout = [0, 0], type = 'u32'"))).says("", 0);
    let bench = Bench::of("table.ptx", &launch("unwritten", &args("out = 'u32[2]'")));
    let said = bench.says("", 3);
    assert!(said.contains("uninitialised: global") && said.contains("table.ptx:14"), "{said}");
    assert_eq!(bench.json("", 3)["launches"][0]["problems"][0]["report"]["errors"], 1);
}

/// What cannot be launched fails alone: the others run.
#[test]
fn what_cannot_be_compiled_or_launched() {
    let good = "[[launch]]\nprogram = 'hello'\nentry = 'hello'\nblock = 1\nprints = \"hello\\n\"\n";
    let programs = "hello = 'hello.ptx'\nwrong = 'wrong.ptx'\nsaxpy = 'saxpy.ptx'";
    let rows = [
        ("program = 'wrong'\nentry = 'k'", "wrong.ptx:6:"),
        ("program = 'hello'\nentry = 'nobody'", "no kernel 'nobody'; the module has: hello"),
        ("program = 'saxpy'\nentry = 'saxpy'\nargs = ['u32:1']", "argument 0, 'u32:1': the kernel's parameter is .f32"),
        ("program = 'saxpy'\nentry = 'saxpy'\nargs = ['f32:1']", "takes 4 arguments, 1 were given"),
        ("program = 'hello'\nentry = 'hello'\ncluster = 3", "cluster"),
    ];
    for (keys, reason) in rows {
        let launches = format!("{good}[[launch]]\nname = 'bad'\n{keys}\nblock = 1\nprints = ''\n");
        let said = Bench::new(programs, &launches).says("", 1);
        assert!(said.contains("error: bad [-O3] (m.toml:10)") && said.contains(reason), "{said}");
        assert_eq!(summary(&said), "2 launches: 1 passed, 1 error");
    }
}

#[test]
fn text_that_is_not_as_expected() {
    let said = Bench::of("hello.ptx", &launch("hello", "prints = \"hullo\\nworld\\n\"")).says("", 1);
    let block = "  printed:\n    \"hello\\n\"\n  expected:\n    \"hullo\\n\"\n    \"world\\n\"\n";
    assert!(said.contains(block), "{said}");
    let said = Bench::of("hello.ptx", &launch("hello", "fault = 'trap'")).says("", 1);
    assert!(said.contains("  it printed:\n    hello\n"), "{said}");
}

/// Faults tell more than buffers that differ: the exit status is theirs.
#[test]
fn the_gravest_failure_decides() {
    let wrong = "args = ['f32:0', 'zero:4', { inout = [1], type = 'f32', expect = [2] }, 'u32:1']\nprogram = 'saxpy'";
    let launches = launch("saxpy", wrong) + &launch("traps", "program = 'endless'\nstrict = true");
    let bench = Bench::new("saxpy = 'saxpy.ptx'\nendless = 'endless.ptx'", &launches);
    assert_eq!(summary(&bench.says("", 3)), "2 launches: 0 passed, 1 failed, 1 faulted");
    bench.says("--filter saxpy", 1);
}
