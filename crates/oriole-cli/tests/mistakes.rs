//! The same mistake has the same exit status and the same words, whichever command it is made with; and nothing is left.

use crate::scratch::{Scratch, WRONG, error_text, finished, kernel};

/// A mistake, the exit status, how the message begins, and what makes it.
struct Mistake {
    what: &'static str,
    status: i32,
    says: &'static str,
    commands: &'static [&'static str],
}

/// `docs/cli.md` says what each status means.
const MISTAKES: &[Mistake] = &[
    Mistake {
        what: "an input that is not there",
        status: 1,
        says: "error: nowhere: cannot be read: No such file or directory (os error 2)\n",
        commands: &[
            "compile nowhere -o out",
            "compile nowhere -o out --diagnostics text",
            "disasm nowhere",
            "disasm --all nowhere",
            "disasm --json nowhere",
            "disasm --lines nowhere",
            "disasm --hex --arch sm_90 nowhere",
            "asm nowhere -o out",
            "asm --hex --arch sm_90 nowhere",
            "run nowhere --entry k zero:4",
            "run nowhere --entry k zero:4 --engine ptx",
            "run k.ptx --entry k --block 1 in:nowhere",
            "run k.ptx --entry k --block 1 --engine ptx in:nowhere",
            "run k.ptx --entry k zero:4 --global v=nowhere",
            "check nowhere",
            "check k.cubin nowhere --json",
            "nvptx nowhere -o out",
            "nvptx k.ll -o out --link nowhere",
            "compile k.ll -o out --link nowhere",
            "ptx check nowhere",
            "bisect nowhere -- --entry k zero:4",
            "tune nowhere -- --entry k zero:4",
            "bisect nowhere --judge true",
        ],
    },
    Mistake {
        what: "an input that is a folder",
        status: 1,
        says: "error: folder: cannot be read: Is a directory (os error 21)\n",
        commands: &[
            "compile folder -o out",
            "disasm folder",
            "asm folder -o out",
            "run folder --entry k zero:4",
            "check folder",
            "nvptx folder -o out",
            "ptx check folder",
            "bisect folder -- --entry k zero:4",
            "tune folder -- --entry k zero:4",
        ],
    },
    Mistake {
        what: "an output in a folder that is not there",
        status: 1,
        says: "error: no/out: cannot be written: No such file or directory (os error 2)\n",
        commands: &[
            "compile k.ptx -o no/out",
            "compile k.ptx -o out --dump-cfg no/out",
            "asm k.sass -o no/out",
            "nvptx k.ll -o no/out",
            "run k.ptx --entry k --block 1 out:no/out:4",
            "run k.ptx --entry k --block 1 --engine ptx out:no/out:4",
            "run k.ptx --entry k --block 1 --stats no/out zero:4",
            "run k.ptx --entry k --block 1 --check all --check-report no/out zero:4",
        ],
    },
    Mistake {
        what: "an output that is a folder",
        status: 1,
        says: "error: folder: cannot be written: Is a directory (os error 21)\n",
        commands: &[
            "compile k.ptx -o folder",
            "asm k.sass -o folder",
            "nvptx k.ll -o folder",
            "run k.ptx --entry k --block 1 out:folder:4",
        ],
    },
    Mistake {
        what: "a folder for outputs that cannot be made",
        status: 1,
        says: "error: k.ptx/out: cannot be made: Not a directory (os error 20)\n",
        commands: &["compile k.ptx --out-dir k.ptx/out", "compile k.ptx -o out --dump-all k.ptx/out", "man k.ptx/out"],
    },
    Mistake {
        what: "a target for which no code is made",
        status: 1,
        says: "error: no code is made for target 'sm_99'; targets: sm_75 sm_80 ",
        commands: &[
            "compile k.ptx -o out --arch sm_99",
            "compile k.ll -o out --arch sm_99",
            "compile k.ptx --out-dir outs --arch sm_99",
            "run k.ptx --entry k zero:4 --arch sm_99",
            "bisect k.ptx --arch sm_99 -- --entry k zero:4",
            "tune k.ptx --arch sm_99 -- --entry k zero:4",
            "demo --arch sm_99",
            "fuzz --count 1 --arch sm_99",
        ],
    },
    Mistake {
        what: "a target that there is not, where no code is made",
        status: 1,
        says: "error: unknown target 'sm_99'; targets: sm_50 ",
        commands: &[
            "disasm --hex --arch sm_99 lines",
            "asm --hex --arch sm_99 lines",
            "run k.cubin --entry k zero:4 --arch sm_99",
            "run k.ptx --entry k zero:4 --engine ptx --arch sm_99",
            "nvptx k.ll -o out --arch sm_99",
            "ptx check k.ptx --arch sm_99",
            "isa list --arch sm_99",
        ],
    },
    Mistake {
        what: "PTX that is wrong",
        status: 1,
        says: "error: undefined register `%nowhere`\n  ┌─ wrong.ptx:6:19\n",
        commands: &[
            "compile wrong.ptx -o out",
            "run wrong.ptx --entry k zero:4",
            "run wrong.ptx --entry k zero:4 --engine ptx",
            "ptx check wrong.ptx",
            "bisect wrong.ptx -- --entry k zero:4",
            "tune wrong.ptx -- --entry k zero:4",
            "bisect wrong.ptx --judge true",
        ],
    },
    Mistake {
        what: "an empty file for PTX",
        status: 1,
        says: "error: the file does not start with a `.version` directive\n  ┌─ empty:1:1\n",
        commands: &[
            "compile empty -o out",
            "run empty --entry k zero:4",
            "run empty --entry k zero:4 --engine ptx",
            "ptx check empty",
            "bisect empty --judge true",
            "tune empty -- --entry k zero:4",
        ],
    },
    Mistake {
        what: "an empty file for a cubin, its text or LLVM IR",
        status: 1,
        says: "error: empty: the file is empty\n",
        commands: &[
            "disasm empty",
            "disasm --all empty",
            "disasm --json empty",
            "check empty",
            "asm empty -o out",
            "nvptx empty -o out",
        ],
    },
    Mistake {
        what: "no text for PTX",
        status: 1,
        says: "error: noise: line 1: not PTX: the file is not UTF-8 text\n",
        commands: &[
            "compile noise -o out",
            "run noise --entry k zero:4",
            "run noise --entry k zero:4 --engine ptx",
            "ptx check noise",
            "bisect noise --judge true",
            "tune noise -- --entry k zero:4",
        ],
    },
    Mistake {
        what: "no cubin for a cubin",
        status: 1,
        says: "error: noise: not a cubin: it does not begin as an ELF file\n",
        commands: &["disasm noise", "disasm --all noise", "disasm --json noise", "check noise"],
    },
    Mistake {
        what: "a program of the host's for a cubin",
        status: 1,
        says: "error: host: a host file that holds no device code\n",
        commands: &["disasm host", "disasm --all host", "check host", "run host --entry k zero:4"],
    },
    Mistake {
        what: "a kernel that is not in the module",
        status: 1,
        says: "error: k.ptx: no kernel 'nix'; the module has: k\n",
        commands: &[
            "compile k.ptx -o out --entry nix",
            "run k.ptx --entry nix --block 1 zero:4",
            "run k.ptx --entry nix --block 1 zero:4 --engine ptx",
            "bisect k.ptx -- --entry nix zero:4",
            "tune k.ptx -- --entry nix zero:4",
        ],
    },
    Mistake {
        what: "a kernel that is not in the cubin",
        status: 1,
        says: "error: k.cubin: no kernel 'nix'; the module has: k\n",
        commands: &["run k.cubin --entry nix --block 1 zero:4"],
    },
    Mistake {
        what: "a function that is not in the cubin",
        status: 1,
        says: "error: k.cubin: no function 'nix'; the cubin has: k\n",
        commands: &["disasm k.cubin --entry nix", "disasm k.cubin --json --entry nix", "check k.cubin --entry nix"],
    },
    Mistake {
        what: "a function that is not in a folder of dumps",
        status: 1,
        says: "error: dumps: no function 'nix'; the folder has: k\n",
        commands: &["diff dumps --function nix", "diff dumps --function nix --json"],
    },
    Mistake {
        what: "a manifest that is not there: a wrong one is wrong usage of `test`, whose 1 says that a launch fails",
        status: 2,
        says: "error: nowhere: cannot be read: No such file or directory (os error 2)\n",
        commands: &["test nowhere", "test nowhere --list"],
    },
];

/// A folder with what the commands read.
fn files() -> Scratch {
    let scratch = Scratch::new();
    scratch.write("k.ptx", kernel("k", 1, 1));
    scratch.write("wrong.ptx", WRONG);
    scratch.write("k.ll", "target triple = \"nvptx64-nvidia-cuda\"\n");
    scratch.write("empty", "");
    scratch.write("noise", [0xfe, 0x00, 0x80, 0xff].repeat(40));
    scratch.write("lines", "EXIT\n");
    std::fs::create_dir(scratch.path("folder")).expect("it can be made");
    scratch.says("compile k.ptx -o k.cubin --dump-all dumps", 0);
    let output = scratch.run("disasm --all k.cubin");
    scratch.write("k.sass", output.stdout);
    // The same file for another machine: x86-64.
    let mut host = scratch.read("k.cubin");
    host[18..20].copy_from_slice(&62u16.to_le_bytes());
    scratch.write("host", host);
    scratch
}

#[test]
fn a_mistake_has_one_status_and_one_wording() {
    let scratch = files();
    let before = names(&scratch);
    for Mistake { what, status, says, commands } in MISTAKES {
        for command in *commands {
            let output = finished(scratch.command(command));
            let text = error_text(&output);
            assert_eq!(output.status.code(), Some(*status), "{what}: {command}: {text}");
            // What the checks of memory have found stands above.
            let message = text.split_once("notes\n").map_or(text.as_str(), |(_, message)| message);
            assert!(message.starts_with(says), "{what}: {command}: {text}");
            assert!(!text.contains(".tmp"), "{what}: {command}: a temporary file's name: {text}");
        }
    }
    assert_eq!(names(&scratch), before, "files are left");
}

/// What is in the folder.
fn names(scratch: &Scratch) -> Vec<String> {
    let entries = std::fs::read_dir(scratch.path("")).expect("it is there").flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Where the system's own folder for temporary files is not there, its name is said and none that nobody has given.
#[test]
fn a_system_without_a_temporary_folder() {
    let scratch = files();
    let mut command = scratch.command("bisect k.ptx --judge true");
    let output = finished({
        command.env("TMPDIR", "/nowhere/at/all");
        command
    });
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        error_text(&output),
        "error: /nowhere/at/all: no temporary folder can be made in it: No such file or directory (os error 2)\n"
    );
}

/// In a batch each file's own message is that of a file alone.
#[test]
fn a_batch_says_what_a_file_alone_says() {
    let scratch = files();
    for name in ["nowhere", "wrong.ptx", "empty", "noise", "folder"] {
        let alone = scratch.says(&format!("compile {name} -o out"), 1);
        let batch = scratch.says(&format!("compile {name} k.ptx --out-dir outs"), 1);
        assert!(batch.contains(&alone), "{name}: {batch}, alone: {alone}");
    }
}
