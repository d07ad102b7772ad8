//! The options, by the commands of Oriole that people give them to.

use super::Becomes::{Nothing, Option, Otherwise, Value, Words};
use super::{Commands, Spelling};

/// What makes code.
const COMPILERS: Commands = &["compile", "bisect", "nvptx"];

/// What writes a cubin.
const COMPILE: Commands = &["compile"];

/// What takes a target.
const OF_TARGET: Commands =
    &["compile", "run", "bisect", "tune", "nvptx", "disasm", "asm", "check", "schedule", "fatbin", "demo", "fuzz"];

const DISASM: Commands = &["disasm"];

/// Options of ptxas and nvcc, then those of nvdisasm and cuobjdump. Sources: `--help` of ptxas, nvcc, nvdisasm and cuobjdump 13.0.
pub(super) const SPELLINGS: &[Spelling] = &[
    // ptxas and nvcc.
    Spelling {
        commands: OF_TARGET,
        names: &["-arch", "--gpu-name", "-gpu-name", "--gpu-architecture"],
        becomes: Value("--arch"),
    },
    Spelling {
        commands: COMPILERS,
        names: &["--opt-level", "-opt-level", "--optimize", "--dopt"],
        becomes: Value("-O"),
    },
    Spelling {
        commands: &["compile", "nvptx", "tune"],
        names: &["--output-file", "-output-file"],
        becomes: Value("--output"),
    },
    Spelling { commands: &["compile", "bisect"], names: &["-maxrregcount"], becomes: Value("--maxrregcount") },
    Spelling { commands: COMPILE, names: &["-e", "-entry"], becomes: Value("--entry") },
    Spelling { commands: COMPILE, names: &["-lineinfo", "-generate-line-info"], becomes: Option(&["--lineinfo"]) },
    Spelling { commands: COMPILE, names: &["-G", "--device-debug", "-device-debug"], becomes: Option(&["-g"]) },
    Spelling { commands: COMPILE, names: &["-verbose"], becomes: Option(&["--verbose"]) },
    Spelling {
        commands: COMPILE,
        names: &["--compile-only", "-compile-only", "-dc", "--device-c", "-rdc=true", "--relocatable-device-code=true"],
        becomes: Option(&["-c"]),
    },
    Spelling { commands: COMPILE, names: &["-rdc=false", "--relocatable-device-code=false"], becomes: Nothing },
    Spelling { commands: COMPILE, names: &["-warn-spills"], becomes: Option(&["--warn-on-spills"]) },
    Spelling { commands: COMPILE, names: &["-warn-lmem-usage"], becomes: Option(&["--warn-on-local-memory-usage"]) },
    Spelling { commands: COMPILE, names: &["-cubin", "--cubin"], becomes: Nothing },
    Spelling { commands: COMPILERS, names: &["-m64", "-m=64", "--machine=64"], becomes: Nothing },
    Spelling {
        commands: COMPILERS,
        names: &["-fmad=false", "--fmad=false", "-fmad=0"],
        becomes: Option(&["--no-fma"]),
    },
    Spelling { commands: COMPILERS, names: &["-fmad=true", "--fmad=true"], becomes: Nothing },
    Spelling { commands: COMPILERS, names: &["-ftz=true", "--ftz=true"], becomes: Option(&["--ftz"]) },
    Spelling {
        commands: COMPILERS,
        names: &["-prec-div=false", "--prec-div=false"],
        becomes: Option(&["--no-prec-div"]),
    },
    Spelling {
        commands: COMPILERS,
        names: &["-prec-sqrt=false", "--prec-sqrt=false"],
        becomes: Option(&["--no-prec-sqrt"]),
    },
    Spelling {
        commands: COMPILERS,
        names: &["-use_fast_math", "--use_fast_math"],
        becomes: Otherwise(
            "it decides which PTX a front end writes; of LLVM IR, `--ftz --no-prec-div --no-prec-sqrt --fp-contract fast` say it",
        ),
    },
    Spelling { commands: COMPILE, names: &["-Xptxas", "--ptxas-options"], becomes: Words },
    Spelling {
        commands: COMPILERS,
        names: &["-gencode", "--generate-code", "-code", "--gpu-code"],
        becomes: Otherwise("name the chip with `--arch sm_90`; of several chips, one call makes the cubin of each"),
    },
    Spelling {
        commands: COMPILE,
        names: &["-ptx", "--ptx"],
        becomes: Otherwise("`oriole nvptx FILE -o k.ptx` makes PTX of LLVM IR"),
    },
    Spelling {
        commands: COMPILE,
        names: &["-fatbin", "--fatbin"],
        becomes: Otherwise("`compile` writes a cubin; `oriole fatbin FILE -o OUT` compiles what a fatbinary holds"),
    },
    // nvdisasm.
    Spelling {
        commands: DISASM,
        names: &[
            "-c",
            "--print-code",
            "-print-code",
            "-ndf",
            "--no-dataflow",
            "-no-dataflow",
            "-sf",
            "--separate-functions",
            "-separate-functions",
            "-raw",
            "--print-raw",
            "-print-raw",
        ],
        becomes: Nothing,
    },
    Spelling {
        commands: DISASM,
        names: &[
            "-g",
            "-gi",
            "--print-line-info",
            "-print-line-info",
            "--print-line-info-inline",
            "-print-line-info-inline",
        ],
        becomes: Option(&["--lines"]),
    },
    Spelling {
        commands: DISASM,
        names: &["-gp", "--print-line-info-ptx", "-print-line-info-ptx"],
        becomes: Option(&["--lines=ptx"]),
    },
    Spelling { commands: DISASM, names: &["-json", "--emit-json", "-emit-json"], becomes: Option(&["--json"]) },
    Spelling {
        commands: DISASM,
        names: &["-hex", "--print-instruction-encoding", "-print-instruction-encoding"],
        becomes: Otherwise("`--json` has the word of each instruction; `--hex` reads words"),
    },
    Spelling {
        commands: DISASM,
        names: &["-b", "--binary", "-binary"],
        becomes: Otherwise("`oriole disasm --hex --arch sm_90 -` reads words as lines of hexadecimal digits"),
    },
    Spelling {
        commands: DISASM,
        names: &["-cfg", "-bbcfg", "--output-control-flow-graph", "--output-control-flow-graph-with-basic-blocks"],
        becomes: Otherwise("`oriole compile k.ptx -o k.cubin --dump-cfg k.dot` draws the control-flow graph"),
    },
    Spelling {
        commands: DISASM,
        names: &["-plr", "--print-life-ranges", "-print-life-ranges"],
        becomes: Otherwise(
            "`oriole compile k.ptx -o k.cubin --pressure k.svg` shows the live registers at each instruction",
        ),
    },
    // cuobjdump.
    Spelling { commands: DISASM, names: &["-sass", "--sass", "--dump-sass", "-dump-sass"], becomes: Nothing },
    Spelling {
        commands: DISASM,
        names: &["-lelf", "--list-elf", "-list-elf", "-lptx", "--list-ptx", "-list-ptx"],
        becomes: Option(&["--list"]),
    },
    Spelling { commands: DISASM, names: &["-fun", "--function", "-function"], becomes: Value("--entry") },
    Spelling {
        commands: DISASM,
        names: &[
            "-xelf",
            "--extract-elf",
            "-extract-elf",
            "-xptx",
            "--extract-ptx",
            "-extract-ptx",
            "-ptx",
            "--ptx",
            "--dump-ptx",
            "-dump-ptx",
        ],
        becomes: Otherwise("`oriole fatbin FILE --extract DIR` takes out the images of a file, PTX and cubins"),
    },
    Spelling {
        commands: DISASM,
        names: &["-elf", "--dump-elf", "-dump-elf"],
        becomes: Otherwise(
            "`oriole disasm --all FILE` shows all that a cubin holds; `readelf -a FILE` shows its tables",
        ),
    },
    Spelling {
        commands: DISASM,
        names: &["-res-usage", "--dump-resource-usage", "-dump-resource-usage"],
        becomes: Otherwise("`oriole compile -v` prints registers, stack and shared memory as ptxas does"),
    },
];
