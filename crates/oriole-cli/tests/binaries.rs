//! Fatbinaries, and executables, objects and archives with some in them (`tests/data/fatbin`, made by nvcc 13.0 and libnvfatbin 12.9):
//! what is in them by cuobjdump's word, which image is taken, what it computes by the host's arithmetic.

use crate::scratch::{Scratch, error_text, text};
use std::path::PathBuf;

/// All forms, for sm_80 and sm_90 or more.
const FILES: [&str; 16] = [
    "cuda12-default.fatbin",
    "cuda12-lz4.fatbin",
    "cuda12-named.fatbin",
    "cuda12-zstd.fatbin",
    "default.fatbin",
    "host",
    "host-rdc",
    "lto.o",
    "lz4.fatbin",
    "mixed.a",
    "named.fatbin",
    "plain.fatbin",
    "ptx.fatbin",
    "rdc.a",
    "uses.o",
    "zstd.fatbin",
];

/// A folder with the files, and with `x.bin` and `y.bin`, 64 floats each.
fn scratch() -> Scratch {
    let scratch = Scratch::new();
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/fatbin");
    for name in FILES {
        scratch.write(name, std::fs::read(folder.join(name)).expect("a bundled file"));
    }
    scratch.write("cuobjdump.txt", std::fs::read(folder.join("cuobjdump.txt")).expect("a bundled file"));
    scratch.write("x.bin", bytes(|at| at as f32));
    scratch.write("y.bin", bytes(|at| 0.5 * at as f32));
    scratch
}

fn bytes(value: impl Fn(usize) -> f32) -> Vec<u8> {
    (0..64).flat_map(|at| value(at).to_le_bytes()).collect()
}

/// What cuobjdump said to these options.
fn recorded(scratch: &Scratch, options: &str) -> Vec<String> {
    let text = String::from_utf8(scratch.read("cuobjdump.txt")).expect("text");
    let lines = text.lines().skip_while(|line| *line != format!("$ {options}"));
    lines.skip(1).take_while(|line| !line.starts_with('$')).map(str::to_owned).collect()
}

fn succeeds(scratch: &Scratch, words: &str) -> (String, String) {
    let output = scratch.run(words);
    assert!(output.status.success(), "{words}: {}", error_text(&output));
    (text(&output), error_text(&output))
}

#[test]
fn lists_and_files_have_cuobjdump_s_names() {
    let scratch = scratch();
    for name in FILES {
        let listed: Vec<String> =
            succeeds(&scratch, &format!("fatbin {name}")).0.lines().filter_map(as_cuobjdump).collect();
        let theirs = recorded(&scratch, &format!("-all -lelf -lptx {name}"));
        let theirs: Vec<&String> = theirs.iter().filter(|line| !line.starts_with("member")).collect();
        assert_eq!(listed.iter().collect::<Vec<_>>(), theirs, "{name}");

        succeeds(&scratch, &format!("disasm {name} --extract {name}.images"));
        for line in recorded(&scratch, &format!("-all -xelf all -xptx all {name}")) {
            let mut words = line.split(' ');
            let image = words.next().expect("a name");
            let size: usize = words.next().and_then(|size| size.parse().ok()).expect("a size");
            assert_eq!(scratch.read(format!("{name}.images/{image}")).len(), size, "{name} {image}");
        }
    }
}

/// A line of the list as cuobjdump has it; link-time code it does not list.
fn as_cuobjdump(line: &str) -> Option<String> {
    let mut words = line.split_ascii_whitespace();
    let (kind, number, name) = (words.next()?, words.next()?, words.next()?);
    matches!(kind, "ELF" | "PTX").then(|| format!("{kind} file {number:>4}: {name}"))
}

#[test]
fn a_chip_takes_what_a_driver_takes() {
    let scratch = scratch();
    let rows = [
        ("default.fatbin", "sm_86", "sm_80", false),
        ("default.fatbin", "sm_90", "sm_90", false),
        ("default.fatbin", "sm_100", "sm_100", true),
        ("cuda12-lz4.fatbin", "sm_90", "sm_90a", false),
        ("cuda12-zstd.fatbin", "sm_103", "sm_103", true),
        ("zstd.fatbin", "sm_103", "sm_100", false),
        ("zstd.fatbin", "sm_89", "sm_80", false),
        ("zstd.fatbin", "sm_121", "sm_120", false),
    ];
    for (file, chip, target, is_compiled) in rows {
        let (listing, said) = succeeds(&scratch, &format!("disasm {file} --arch {chip} --entry saxpy"));
        assert!(listing.starts_with(&format!("\t.target\t{target}\n")), "{file} {chip}: {listing:.60}");
        assert_eq!(said.contains("PTX, compiled for"), is_compiled, "{file} {chip}: {said}");
    }
    let said = scratch.says("disasm default.fatbin --arch sm_75", 1);
    assert!(said.contains("nothing that runs on sm_75; it holds: default.1.sm_80.cubin"), "{said}");
}

#[test]
fn several_images_are_named_where_one_is_needed() {
    let scratch = scratch();
    let names = "default.1.sm_80.cubin, default.2.sm_90.cubin; --arch picks as a driver does, --image NAME takes one";
    for words in ["disasm --json default.fatbin", "disasm --all default.fatbin", "schedule default.fatbin"] {
        let said = scratch.says(words, 1);
        assert!(said.contains(&format!("holds 2 images that fit: {names}")), "{words}: {said}");
    }
    let (listing, _) = succeeds(&scratch, "disasm default.fatbin");
    assert!(listing.contains("// default.fatbin:default.1.sm_80.cubin\n"), "{listing}");
    let (report, _) = succeeds(&scratch, "check default.fatbin --image default.2.sm_90.cubin");
    assert!(report.contains("default.fatbin:default.2.sm_90.cubin: sm_90, functions: 1"), "{report}");
    for words in
        ["disasm default.fatbin --image nothing", "run lto.o --entry k", "compile default.fatbin -o o --arch sm_80"]
    {
        scratch.says(words, 1);
    }
    succeeds(&scratch, "fatbin default.fatbin --extract .");
    for words in ["disasm default.1.sm_80.cubin --arch sm_80", "check default.1.sm_80.cubin --image a"] {
        scratch.says(words, 2);
    }
}

/// `y = 2 x + y` of the files' cubins and PTX.
#[test]
fn what_is_taken_computes_what_it_ought_to() {
    let scratch = scratch();
    let saxpy = "--entry saxpy --block 64 s32:64 f32:2 in:x.bin inout:y.bin:out.bin";
    let runs = [
        "run lz4.fatbin --arch sm_80",
        "run zstd.fatbin --arch sm_90",
        "run cuda12-lz4.fatbin --arch sm_80",
        "run cuda12-zstd.fatbin --image cuda12-zstd.3.sm_120.ptx",
        "run default.fatbin --arch sm_100 --strict",
        "run default.fatbin --engine ptx",
    ];
    for run in runs {
        succeeds(&scratch, &format!("{run} {saxpy}"));
        assert!(scratch.read("out.bin") == bytes(|at| 2.5 * at as f32), "{run}");
    }
    succeeds(&scratch, "compile ptx.fatbin -o k.cubin --arch sm_86");
    succeeds(&scratch, &format!("run k.cubin --strict {saxpy}"));
    assert!(scratch.read("out.bin") == bytes(|at| 2.5 * at as f32));
}

/// An executable has the same size and the same images with our cubin for sm_90 in it: it says who made it, and scales.
#[test]
fn an_executable_gets_our_cubins() {
    let scratch = scratch();
    let (_, said) = succeeds(&scratch, "fatbin host -o ours");
    assert!(said.contains("compiled for sm_90") && said.contains("sm_80: no PTX that becomes code for it"), "{said}");
    assert_eq!(scratch.read("ours").len(), scratch.read("host").len());
    let names = |words: &str| succeeds(&scratch, words).0.lines().filter_map(as_cuobjdump).collect::<Vec<_>>();
    let renamed =
        |names: Vec<String>| names.into_iter().map(|name| name.replace(": host.", ": ours.")).collect::<Vec<_>>();
    assert_eq!(names("fatbin ours"), renamed(names("fatbin host")));
    let scale = "--entry _Z5scalePff --block 64 inout:x.bin:out.bin f32:3";
    succeeds(&scratch, &format!("run ours --strict --arch sm_90 {scale}"));
    assert!(scratch.read("out.bin") == bytes(|at| 3.0 * at as f32));
    let (whole, _) = succeeds(&scratch, "disasm ours --all --image ours.2.sm_90.cubin");
    assert!(whole.contains("oriole"), "{whole:.400}");
}

#[test]
fn a_fatbinary_grows_and_a_host_file_does_not() {
    let scratch = scratch();
    succeeds(&scratch, "fatbin ptx.fatbin -o more.fatbin --arch sm_80,sm_90a,sm_120 --compress lz4");
    let (list, _) = succeeds(&scratch, "fatbin more.fatbin");
    let names: Vec<String> = list.lines().filter_map(as_cuobjdump).collect();
    let expected = [
        "PTX file    1: more.1.sm_80.ptx",
        "ELF file    1: more.1.sm_80.cubin",
        "ELF file    2: more.2.sm_90a.cubin",
        "ELF file    3: more.3.sm_120.cubin",
    ];
    assert_eq!(names, expected);
    let said = scratch.says("fatbin host -o none --arch sm_90,sm_100,sm_103,sm_110,sm_120,sm_121 --compress none", 1);
    assert!(said.contains("its place has"), "{said}");
    assert!(!scratch.path("none").exists());
    let said = scratch.says("fatbin rdc.a -o ours.a", 1);
    assert!(said.contains("rdc.a:rdc.1.sm_90.ptx: compiled for sm_90") && said.contains("its place has"), "{said}");
}
