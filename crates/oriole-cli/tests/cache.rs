//! The cache of results: what was compiled before is taken from it, and nothing that happens to its folder ever shows in a
//! cubin or makes a compilation fail.

use crate::scratch::{Scratch, WRONG, error_text, finished, kernel, text};
use oriole_prerequisites::sample;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const HIT: &str = "cache: 1 hits, 0 misses";
const MISS: &str = "cache: 0 hits, 1 misses";

/// Entries and bytes as `oriole cache` says.
fn contents(scratch: &Scratch, folder: &str) -> (usize, u64) {
    let output = scratch.run(&format!("cache {folder} --json"));
    let json: serde_json::Value = serde_json::from_str(&text(&output)).expect("JSON");
    (json["entries"].as_u64().expect("a number") as usize, json["bytes"].as_u64().expect("a number"))
}

/// The files of results in a folder.
fn entries(scratch: &Scratch, folder: &str) -> Vec<PathBuf> {
    let all = std::fs::read_dir(scratch.path(folder)).expect("it is there");
    let paths = all.map(|item| item.expect("an entry").path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "entry")).collect()
}

/// The size that the file system knows.
fn bytes(paths: &[PathBuf]) -> u64 {
    paths.iter().map(|path| path.metadata().map_or(0, |there| there.len())).sum()
}

#[test]
fn the_second_time_is_a_hit_with_the_same_bytes_and_words() {
    let scratch = Scratch::with_three();
    // Two warnings that a result has to bring along: registers that are too few spill.
    let loads: String = (0..40).map(|at| format!("ld.volatile.global.u32 %r{at}, [%p+{}];\n", 4 * at)).collect();
    let stores: String = (0..40).map(|at| format!("st.volatile.global.u32 [%p+{}], %r{at};\n", 4 * at)).collect();
    let spilling = kernel("spilling", 0, 0).replace("ret;", &format!("{loads}{stores}ret;"));
    scratch.write("s.ptx", spilling.replace(".reg .b64 %p;", ".reg .b64 %p; .reg .b32 %r<40>;"));
    for words in ["a.ptx", "s.ptx --maxrregcount 24 --warn-on-spills --warn-on-local-memory-usage", "b.ptx -O0 -g"] {
        let plain = scratch.says(&format!("compile {words} -v -o plain.cubin"), 0);
        let first = scratch.says(&format!("compile {words} -v -o first.cubin --cache folder"), 0);
        let second = scratch.says(&format!("compile {words} -v -o second.cubin --cache folder"), 0);
        assert!(first.contains(MISS) && second.contains(HIT), "{first}\n{second}");
        assert_eq!(scratch.read("plain.cubin"), scratch.read("first.cubin"), "{words}");
        assert_eq!(scratch.read("plain.cubin"), scratch.read("second.cubin"), "{words}");
        let timeless = |said: &str| {
            said.lines()
                .filter(|line| !line.contains("Compile time") && !line.starts_with("cache:"))
                .collect::<Vec<_>>()
                .join("\n")
        };
        assert_eq!(timeless(&plain), timeless(&second), "{words}");
        assert_eq!(timeless(&plain).contains("spilled"), words.contains("spills"), "{plain}");
    }
    let (count, size) = contents(&scratch, "folder");
    assert_eq!((count, size), (3, bytes(&entries(&scratch, "folder"))));
}

/// Whatever changes the code is a miss; what does not is none.
#[test]
fn what_the_key_is() {
    let scratch = Scratch::with_three();
    let compile = |words: &str| scratch.says(&format!("compile {words} -v -o out.cubin --cache folder"), 0);
    assert!(compile("a.ptx").contains(MISS));
    let others = [
        "-O0",
        "-O1",
        "-O2",
        "--arch sm_90",
        "--maxrregcount 32",
        "--register-usage-level 3",
        "--entry kernel_a",
        "--lineinfo",
        "-g",
        "-c",
        "--fast-compile=max",
        "--disable-pass OriBranchOpt",
        "--no-fma",
        "-c --device-function-maxrregcount 40",
    ];
    for option in others {
        assert!(compile(&format!("a.ptx {option}")).contains(MISS), "{option}");
        assert!(compile(&format!("a.ptx {option}")).contains(HIT), "{option}");
    }
    // Neither threads nor the name of the file get into the code; into line tables the name does.
    assert!(compile("a.ptx --jobs 2").contains(HIT));
    scratch.write("same.ptx", scratch.read("a.ptx"));
    assert!(compile("same.ptx").contains(HIT));
    assert!(compile("same.ptx -g").contains(MISS));
    scratch.write("a.ptx", kernel("kernel_a", 1, 399));
    assert!(compile("a.ptx").contains(MISS));
}

/// A library that is linked counts by its contents.
#[test]
fn linked_files_are_part_of_the_key() {
    let scratch = Scratch::new();
    let head = "target triple = \"nvptx64-nvidia-cuda\"\n";
    let main = "declare i32 @f()\ndefine ptx_kernel void @k(ptr addrspace(1) %p) {\n  %x = call i32 @f()\n  \
                store i32 %x, ptr addrspace(1) %p\n  ret void\n}\n";
    scratch.write("k.ll", format!("{head}{main}"));
    let mut cubins = Vec::new();
    for number in [7, 11, 7] {
        scratch.write("f.ll", format!("{head}define i32 @f() {{\n  ret i32 {number}\n}}\n"));
        let words = "compile k.ll --link f.ll --arch sm_80 -v --cache folder -o";
        let said = scratch.says(&format!("{words} out.cubin"), 0);
        cubins.push((said.contains(HIT), scratch.read("out.cubin")));
    }
    assert_eq!(cubins.iter().map(|(hit, _)| *hit).collect::<Vec<_>>(), [false, false, true]);
    assert_eq!(cubins[0].1, cubins[2].1);
    assert_ne!(cubins[0].1, cubins[1].1);
}

/// The environment names the folder too; errors are not kept; what needs the compiler itself goes round the cache.
#[test]
fn environment_errors_and_reports() {
    let scratch = Scratch::with_three();
    for expected in [MISS, HIT] {
        let mut command = scratch.command("compile a.ptx -v -o a.cubin");
        command.env("ORIOLE_CACHE", scratch.path("by environment"));
        let said = error_text(&finished(command));
        assert!(said.contains(expected), "{said}");
    }
    scratch.write("wrong.ptx", WRONG);
    for _ in 0..2 {
        let said = scratch.says("compile wrong.ptx -o wrong.cubin --cache folder", 1);
        assert!(said.contains("nowhere"), "{said}");
    }
    assert_eq!(contents(&scratch, "folder").0, 0);
    let with = text(&scratch.run("compile a.ptx -o a.cubin --cache folder --stats"));
    assert_eq!(with, text(&scratch.run("compile a.ptx -o a.cubin --stats")));
    assert!(!with.is_empty());
    scratch.says("compile a.ptx -o a.cubin --cache-size 1G", 2);
    scratch.says("compile a.ptx -o a.cubin --cache folder --cache-size much", 2);
}

#[test]
fn batches_share_it() {
    let scratch = Scratch::with_three();
    let files = "a.ptx b.ptx c.ptx";
    let first = scratch.says(&format!("compile {files} --out-dir cold --cache folder -v --jobs 3"), 0);
    assert!(first.contains("cache: 0 hits, 3 misses"), "{first}");
    let second = scratch.says(&format!("compile {files} --out-dir warm --cache folder -v"), 0);
    assert!(second.contains("cache: 3 hits, 0 misses"), "{second}");
    for name in ["a.cubin", "b.cubin", "c.cubin"] {
        assert_eq!(scratch.read(format!("cold/{name}")), scratch.read(format!("warm/{name}")));
    }
    assert!(scratch.says("compile b.ptx -o b.cubin --cache folder -v", 0).contains(HIT));
}

/// A damaged entry is a miss, goes, and is made anew.
#[test]
fn damaged_entries() {
    let scratch = Scratch::with_three();
    let compile = || scratch.says("compile a.ptx -v -o out.cubin --cache folder", 0);
    compile();
    let cubin = scratch.read("out.cubin");
    let [path] = entries(&scratch, "folder").try_into().expect("one entry");
    let whole = scratch.read(&path);
    // The entry's middle is in the cubin; a flipped bit there would be a wrong instruction.
    let flipped = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        bytes
    };
    let longer = [whole.as_slice(), b"\0"].concat();
    let damaged = [
        Vec::new(),
        whole[..10].to_vec(),
        whole[..whole.len() / 2].to_vec(),
        whole[..whole.len() - 1].to_vec(),
        longer,
        flipped(0),
        flipped(whole.len() / 2),
        flipped(whole.len() - 1),
        vec![0; whole.len()],
    ];
    for (number, bytes) in damaged.into_iter().enumerate() {
        std::fs::write(&path, bytes).expect("it can be written");
        let said = compile();
        assert!(said.contains(MISS) && !said.contains("warning"), "{number}: {said}");
        assert_eq!(scratch.read("out.cubin"), cubin, "{number}");
        assert!(compile().contains(HIT), "{number}");
    }
    // A whole entry under another one's name is none either.
    scratch.says("compile b.ptx -o b.cubin --cache folder", 0);
    let other = entries(&scratch, "folder").into_iter().find(|entry| *entry != path).expect("two entries");
    std::fs::copy(other, &path).expect("it can be copied");
    assert!(compile().contains(MISS));
    assert_eq!(scratch.read("out.cubin"), cubin);
}

/// What holds the compiler's hash may be damaged too: the program is read again, and the key is the same.
#[test]
fn a_damaged_hash_of_the_compiler() {
    let scratch = Scratch::with_three();
    let compile = || scratch.says("compile a.ptx -v -o out.cubin --cache folder", 0);
    compile();
    for item in std::fs::read_dir(scratch.path("folder")).expect("it is there") {
        let path = item.expect("an entry").path();
        if path.extension().is_some_and(|extension| extension == "compiler") {
            std::fs::write(path, [7; 64]).expect("it can be written");
        }
    }
    assert!(compile().contains(HIT));
}

/// Another program, be it by one byte behind its end, finds nothing of this one.
#[test]
fn another_build_misses() {
    let scratch = Scratch::with_three();
    scratch.says("compile a.ptx -o a.cubin --cache folder", 0);
    let other = scratch.path("oriole");
    std::fs::copy(env!("CARGO_BIN_EXE_oriole"), &other).expect("it can be copied");
    let run = || {
        let mut command = std::process::Command::new(&other);
        command.args(["compile", "a.ptx", "-o", "a.cubin", "--cache", "folder", "-v"]).current_dir(scratch.path("."));
        error_text(&finished(command))
    };
    assert!(run().contains(HIT), "the same bytes elsewhere");
    use std::io::Write;
    let mut file = std::fs::OpenOptions::new().append(true).open(&other).expect("it can be opened");
    file.write_all(b"x").expect("it can be written");
    drop(file);
    assert!(run().contains(MISS));
}

/// A folder that cannot be one, cannot be written, or goes: a warning, and the cubin all the same.
#[test]
fn folders_that_are_none() {
    let scratch = Scratch::with_three();
    scratch.says("compile a.ptx -o plain.cubin", 0);
    scratch.write("file", "");
    // /proc takes no files, from root either.
    for folder in ["file", "file/below", "/proc/oriole", "/proc/self"] {
        let said = scratch.says(&format!("compile a.ptx -o out.cubin --cache {folder}"), 0);
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(said.starts_with(&format!("warning: cache {folder}: ")), "{said}");
        assert!(!said.contains(".part"), "no name of a temporary file: {said}");
        assert_eq!(scratch.read("out.cubin"), scratch.read("plain.cubin"));
        let said = scratch.says(&format!("compile a.ptx b.ptx --out-dir out --cache {folder}"), 0);
        assert_eq!(said.matches("warning").count(), 1, "{said}");
    }
    assert_eq!(scratch.says("compile a.ptx -q -o out.cubin --cache file", 0), "");
    scratch.says("cache gone", 1);
}

/// Folders that go while compilations use them.
#[test]
fn a_folder_that_vanishes() {
    let scratch = Scratch::with_three();
    scratch.says("compile a.ptx b.ptx c.ptx --out-dir expected", 0);
    let end = Instant::now() + Duration::from_secs(sample(2));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while Instant::now() < end {
                let _ = std::fs::remove_dir_all(scratch.path("folder"));
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        while Instant::now() < end {
            scratch.says("compile a.ptx b.ptx c.ptx --out-dir out --cache folder", 0);
            for name in ["a.cubin", "b.cubin", "c.cubin"] {
                assert_eq!(scratch.read(format!("out/{name}")), scratch.read(format!("expected/{name}")));
            }
        }
    });
}

/// The folder stays within its bound; what was used last stays longest.
#[test]
fn the_bound() {
    let scratch = Scratch::new();
    let most = 64 << 10;
    let compile = |number: u32| {
        let name = format!("k{number}.ptx");
        scratch.write(&name, kernel("k", number, 20));
        scratch.says(&format!("compile {name} -v -o k.cubin --cache folder --cache-size {}K", most >> 10), 0)
    };
    let count = sample(60) as u32;
    for number in 0..count {
        compile(number);
        // File times are as fine as the system's clock ticks.
        std::thread::sleep(Duration::from_millis(12));
        assert!(number == 0 || compile(0).contains(HIT), "{number}: what is used again and again stays");
        assert!(bytes(&entries(&scratch, "folder")) <= most, "{number}");
    }
    assert!(compile(1).contains(MISS), "what was used long ago went");
    assert!(compile(count - 1).contains(HIT));
    // A result larger than the bound is not kept, and drives nothing out.
    let before = contents(&scratch, "folder");
    scratch.write("large.ptx", kernel("k", 0, 20));
    scratch.says("compile large.ptx -O1 -o k.cubin --cache folder --cache-size 100", 0);
    assert_eq!(contents(&scratch, "folder"), before);
}

#[test]
fn clearing_leaves_what_is_not_its_own() {
    let scratch = Scratch::with_three();
    scratch.says("compile a.ptx b.ptx c.ptx --out-dir out --cache folder", 0);
    let own = ["folder/notes.txt", "folder/k.cubin", "folder/oriole-mine.entry", "folder/oriole"];
    for name in own {
        scratch.write(name, "mine");
    }
    std::fs::create_dir(scratch.path("folder/oriole-abc.part")).expect("it can be made");
    scratch.write("folder/oriole-Ab12Cd.part", "left by a killed process");
    assert_eq!(contents(&scratch, "folder").0, 3);
    let said = text(&scratch.run("cache folder --clear"));
    assert!(said.starts_with("3 entries, "), "{said}");
    assert_eq!(contents(&scratch, "folder"), (0, 0));
    let mut left: Vec<_> = std::fs::read_dir(scratch.path("folder"))
        .expect("it is there")
        .map(|item| item.expect("an entry").file_name().into_string().expect("UTF-8"))
        .collect();
    left.sort();
    assert_eq!(left, ["k.cubin", "notes.txt", "oriole", "oriole-abc.part", "oriole-mine.entry"]);
    assert!(scratch.says("compile a.ptx -o a.cubin -v --cache folder", 0).contains(MISS));
}

/// Eight processes at a time on one folder with a small bound, killed at random: no reader ever gets a wrong cubin. For
/// `ORIOLE_STRESS_SECONDS`, 2 by default.
#[test]
fn killed_at_random() {
    const PROGRAMS: u32 = 24;
    let seconds =
        std::env::var("ORIOLE_STRESS_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or_else(|| sample(2));
    let scratch = Scratch::new();
    for number in 0..PROGRAMS {
        scratch.write(&format!("k{number}.ptx"), kernel(&format!("k{number}"), number, 5 + 10 * number));
    }
    let names: Vec<String> = (0..PROGRAMS).map(|number| format!("k{number}.ptx")).collect();
    scratch.says(&format!("compile {} --out-dir expected -q", names.join(" ")), 0);
    let expected: Vec<_> = (0..PROGRAMS).map(|number| scratch.read(format!("expected/k{number}.cubin"))).collect();
    let end = Instant::now() + Duration::from_secs(seconds);
    let [whole, killed, hits] = [const { AtomicUsize::new(0) }; 3];
    let worker = &|number: usize| {
        let mut random = fastrand::Rng::with_seed(number as u64);
        while Instant::now() < end {
            let program = random.usize(..expected.len());
            let output = format!("out{number}.cubin");
            let _ = std::fs::remove_file(scratch.path(&output));
            let size = if random.u8(..4) == 0 { "20K" } else { "150K" };
            let words = format!("compile k{program}.ptx -v -o {output} --cache folder --cache-size {size}");
            let mut child = scratch.command(&words).stderr(Stdio::piped()).spawn().expect("oriole starts");
            if random.bool() {
                std::thread::sleep(Duration::from_micros(random.u64(..60_000)));
                // It may have ended before.
                let _ = child.kill();
            }
            let done = child.wait_with_output().expect("it ends");
            let said = error_text(&done);
            if done.status.success() {
                assert!(!said.contains("warning"), "{said}");
                assert!(scratch.read(&output) == expected[program], "k{program}: {said}");
                hits.fetch_add(usize::from(said.contains(HIT)), Ordering::Relaxed);
                whole.fetch_add(1, Ordering::Relaxed);
            } else {
                assert_eq!(done.status.code(), None, "{said}");
                // Killed before or behind its last step: the output is not there, or whole.
                assert!(std::fs::read(scratch.path(&output)).map_or(true, |bytes| bytes == expected[program]));
                killed.fetch_add(1, Ordering::Relaxed);
            }
        }
    };
    std::thread::scope(|scope| (0..8).for_each(|number| drop(scope.spawn(move || worker(number)))));
    let counts = [&whole, &killed, &hits].map(|count| count.load(Ordering::Relaxed));
    eprintln!("{} ended, {} were killed, {} found their result", counts[0], counts[1], counts[2]);
    assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
    let warm = scratch.says(&format!("compile {} --out-dir warm -v --cache folder", names.join(" ")), 0);
    for (number, bytes) in expected.iter().enumerate() {
        assert!(scratch.read(format!("warm/k{number}.cubin")) == *bytes, "k{number}: {warm}");
    }
}
