//! The command line's grammar (docs/cli.md), for clap.

use super::batch_args::{
    BatchArgs, CacheArgs, CacheCommandArgs, CompletionsArgs, GlobalArgs, ManArgs, TargetsArgs, parse_bytes,
};
use super::disasm_lines::LinesOf;
use super::fatbin::FatbinArgs;
use super::fuzz_args::FuzzArgs;
use super::images::ImageArgs;
use super::merge::{self, MergeArgs};
use super::ptxas::Words;
use super::run_args::RunArgs;
use super::schedule::What;
use super::schedule_args::ScheduleArgs;
use super::test_args::TestArgs;
use super::tune_args::{self, TuneArgs};
use crate::timings::TimesForm;
use crate::uniformity::UniformityForm;
use clap::{Args, Parser, Subcommand, ValueEnum};
use oriole_codegen::FastCompile;
use std::path::PathBuf;

/// Oriole: PTX in, optimised SASS in a cubin out, and a simulator that runs it.
#[derive(Debug, Parser)]
#[command(name = "oriole", version, max_term_width = 100, disable_help_subcommand = false)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
}

/// The subcommands. The grammar of one is made when its name is read: 3 % of a small compile went to the others'.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
// A description of a structure below would take the place of the one given here: theirs are plain comments.
pub(crate) enum Command {
    /// Compile a bundled kernel, show its SASS, run it on the simulator.
    #[command(after_help = "Example:\n  oriole demo --arch sm_80")]
    Demo(DemoArgs),
    /// Compile PTX, or LLVM IR, to a cubin.
    #[command(after_help = "Examples:\n  oriole compile kernel.ptx -o kernel.cubin --arch sm_90 -v\n  \
                            oriole compile kernel.ll -o kernel.cubin --link libdevice.10.bc\n  \
                            oriole compile kernel.ptx -o kernel.cubin --pass-limit 12\n  \
                            oriole compile *.ptx --out-dir cubins --cache ~/.cache/oriole\n  \
                            oriole compile --knob list=1")]
    Compile(CompileArgs),
    /// Show what each phase did to each function, from a folder that `compile --dump-all` wrote.
    #[command(
        after_help = "Examples:\n  oriole compile kernel.ptx -o kernel.cubin --dump-all phases\n  oriole diff phases\n  \
                            oriole diff phases --phase GeneralOptimize --function kernel"
    )]
    Diff(DiffArgs),
    /// Show the SASS of a cubin, or of hexadecimal words.
    #[command(
        after_help = "Examples:\n  oriole disasm kernel.cubin --control\n  oriole disasm kernel.cubin --lines --source\n  \
                            echo 00005800ff0477ac0fca00000000a800 | oriole disasm --arch sm_90 --hex -"
    )]
    Disasm(DisasmArgs),
    /// Make a cubin from its assembly, or hexadecimal words from lines of SASS.
    #[command(after_help = "Examples:\n  oriole disasm --all k.cubin > k.sass\n  oriole asm k.sass -o k.cubin\n  \
                            echo 'FADD R0, R1, R2' | oriole asm --arch sm_90 --hex -")]
    Asm(AsmArgs),
    /// Run a kernel on the simulator (or on a GPU).
    #[command(after_help = "Examples:\n  oriole run vecadd.ptx --entry vecadd --grid 64 --block 256 \\\n    \
                            in:a.bin in:b.bin out:c.bin:65536 s32:16300\n  \
                            oriole run vecadd.ptx --entry vecadd --grid 64 --block 256 \\\n    \
                            in:a.npy:f32 in:b.npy:f32 out:c.npy:f32[16384] s32:16384")]
    Run(RunArgs),
    /// Run the launches of a manifest on the simulator and compare what they leave with what is expected.
    #[command(after_help = "Examples:\n  oriole test kernels.toml --jobs 8 --junit report.xml\n  \
                            oriole test kernels.toml --filter saxpy --targets sm_80,sm_90 --levels 0,3\n\n\
                            docs/testing.md describes the manifest.")]
    Test(TestArgs),
    /// Prove that the control words of a cubin cover every dependence; list what is not covered.
    #[command(after_help = "Example:\n  oriole check kernel.cubin\n\nExit status 1 if anything is found.")]
    Check(CheckArgs),
    /// Show when the instructions of a cubin issue, and what each of them waits for: one warp, block by block, by the control words and
    /// the tables of latencies.
    #[command(
        after_help = "Example: oriole schedule k.cubin --entry saxpy, then --explain 0xd0 for the instruction at that address, or \
                      --explain-schedule=0xd0 for why it stands there."
    )]
    Schedule(ScheduleArgs),
    /// List, take out or compile anew the images of a fatbinary, or of a host executable, library, object or archive.
    #[command(
        after_help = "Examples:\n  oriole fatbin libkernels.so\n  oriole fatbin libkernels.so --extract images\n  \
                            oriole fatbin a.out -o ours --arch sm_90"
    )]
    Fatbin(FatbinArgs),
    /// Test the compiler, the interpreter and the simulator by each other on random kernels.
    #[command(after_help = "Example:\n  oriole fuzz --count 1000 --seed 7 --arch sm_90 --ptxas /opt/cuda/bin/ptxas")]
    Fuzz(FuzzArgs),
    /// Work on PTX itself.
    #[command(after_help = "Example:\n  oriole ptx check kernel.ptx")]
    Ptx(PtxArgs),
    /// Stand in for NVIDIA's ptxas: its options, its messages. A link named `ptxas` does the same.
    #[command(
        disable_help_flag = true,
        after_help = "Examples:\n  oriole ptxas -arch=sm_90 -v kernel.ptx -o kernel.cubin\n  ln -s $(which oriole) ptxas && \
                      TRITON_PTXAS_PATH=$PWD/ptxas python kernel.py\n  oriole ptxas --help"
    )]
    Ptxas(Words),
    /// Compile LLVM IR to PTX.
    #[command(after_help = "Example:\n  oriole nvptx kernel.ll -o kernel.ptx --arch sm_90 --link libdevice.10.bc")]
    Nvptx(NvptxArgs),
    /// Find the pass, and the rewrite in it, that first makes a program wrong.
    #[command(
        after_help = "Examples:\n  oriole bisect kernel.ptx --arch sm_90 -- --entry k --block 64 --strict in:a.bin out:c.bin:256\n  \
                            oriole bisect kernel.ptx --judge 'oriole disasm $CUBIN > k.sass && ./is-right k.sass'\n\n\
                            Right is what leaves what the code of -O0 leaves, or what the judge ends with status 0 for."
    )]
    Bisect(BisectArgs),
    /// Look for the options with which launches take the fewest cycles: orders, unrolling, registers, knobs, passes.
    #[command(after_help = tune_args::EXAMPLES)]
    Tune(TuneArgs),
    /// Put the reports of all shards of a run of `test`, `fuzz` or `tune` together.
    #[command(after_help = merge::EXAMPLES)]
    Merge(MergeArgs),
    /// Print the pipeline: every published slot with what fills it.
    #[command(after_help = "Examples:\n  oriole phases | grep optional\n  oriole phases --pipeline")]
    Phases(PhasesArgs),
    /// Read the instruction-set data.
    #[command(after_help = "Examples:\n  oriole isa list --arch sm_90\n  oriole isa show FADD")]
    Isa(IsaArgs),
    /// Say how much is in a folder of `compile --cache`, or empty it.
    #[command(after_help = "Examples:\n  oriole cache ~/.cache/oriole\n  oriole cache ~/.cache/oriole --clear")]
    Cache(CacheCommandArgs),
    /// List the targets with what a multiprocessor of each offers.
    #[command(after_help = "Example:\n  oriole targets --json")]
    Targets(TargetsArgs),
    /// Print the script that completes this command line in a shell.
    #[command(after_help = "Example:\n  oriole completions bash > ~/.local/share/bash-completion/completions/oriole")]
    Completions(CompletionsArgs),
    /// Write a manual page for each command.
    #[command(after_help = "Example:\n  oriole man ~/.local/share/man/man1 && man oriole-compile")]
    Man(ManArgs),
}

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Target.
    #[arg(long, default_value = "sm_90")]
    pub(crate) arch: String,
}

#[derive(Debug, Args)]
pub(crate) struct CompileArgs {
    /// PTX, a file that holds PTX, or LLVM assembly or bitcode; `-` for standard input; several with --out-dir.
    #[arg(required_unless_present = "knob")]
    pub(crate) input: Vec<PathBuf>,
    /// Cubin to write, or `-` for standard output.
    #[arg(short, long, required_unless_present_any = ["knob", "out_dir"])]
    pub(crate) output: Option<PathBuf>,
    /// Several files at a time.
    #[command(flatten)]
    pub(crate) batch: BatchArgs,
    /// Where results are kept.
    #[command(flatten)]
    pub(crate) cache: CacheArgs,
    /// Which PTX.
    #[command(flatten)]
    pub(crate) image: ImageArgs,
    /// What to make of the module.
    #[command(flatten)]
    pub(crate) code: CodeArgs,
    /// Print what ptxas prints with -v.
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// Print the Ori of each function after this phase.
    #[arg(long, value_name = "PHASE")]
    pub(crate) dump_after: Vec<String>,
    /// Write the Ori of each function after each phase into this folder, with an index for `oriole diff`.
    #[arg(long, value_name = "DIR")]
    pub(crate) dump_all: Option<PathBuf>,
    /// Spell mnemonics in dumps as the published opcode table does, letters turned by 13.
    #[arg(long)]
    pub(crate) rot13: bool,
    /// Write the control-flow graph of each function, with its code before allocation, to this DOT file.
    #[arg(long, value_name = "DOTFILE")]
    pub(crate) dump_cfg: Option<PathBuf>,
    /// Print the reverse post-order of each function's blocks and its backedges.
    #[arg(long)]
    pub(crate) dump_rpo: bool,
    /// Print the statistics block of each function.
    #[arg(long)]
    pub(crate) stats: bool,
    /// Write how many registers are live at each instruction, and which values make the most of it: as JSON, or as SVG.
    #[arg(long, value_name = "FILE.json|.svg")]
    pub(crate) pressure: Option<PathBuf>,
    /// Write when each instruction issues and what it waits for, as `oriole schedule` does: as JSON, as SVG, or as text.
    #[arg(long, value_name = "FILE[.json|.svg]")]
    pub(crate) schedule: Option<PathBuf>,
    /// Print why instructions stand where they stand, as `oriole schedule` does: those at ADDRESS (0x1a0), with TEXT in them (LDG), of one
    /// FUNCTION: or of all; those of the longest way through the hottest block if nothing is said.
    #[arg(long, value_name = "FUNCTION:ADDRESS|TEXT", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub(crate) explain_schedule: Option<What>,
    /// Print the Ori before it leaves SSA form, with over which threads each value is the same and why not over more; or
    /// that as JSON.
    #[arg(long, value_name = "FORM", num_args = 0..=1, require_equals = true, default_missing_value = "text")]
    pub(crate) uniformity: Option<UniformityForm>,
    /// Print the time of stages and phases with what their rules did, as a table or as JSON.
    #[arg(long, value_name = "FORM", num_args = 0..=1, require_equals = true, default_missing_value = "text")]
    pub(crate) time_phases: Option<TimesForm>,
    /// Make an object file for a linker: other functions and variables may be elsewhere.
    #[arg(short = 'c')]
    pub(crate) relocatable: bool,
    /// With -c: upper bound of R registers of functions that are no kernels, instead of --maxrregcount.
    #[arg(long, value_name = "N")]
    pub(crate) device_function_maxrregcount: Option<u32>,
    /// Warn where registers are spilled to local memory.
    #[arg(long)]
    pub(crate) warn_on_spills: bool,
    /// Warn where local memory is used.
    #[arg(long)]
    pub(crate) warn_on_local_memory_usage: bool,
    /// Add source lines and functions for debuggers, and compile at -O0; no other level can be given.
    #[arg(short = 'g')]
    pub(crate) debug: bool,
    /// Add source lines for debuggers and profilers.
    #[arg(long, visible_alias = "generate-line-info")]
    pub(crate) lineinfo: bool,
}

// Options that change the code.
#[derive(Clone, Debug, Args, Default)]
pub(crate) struct CodeArgs {
    /// Target, such as sm_90; the module's .target by default.
    #[arg(long)]
    pub(crate) arch: Option<String>,
    /// Optimisation level 0 to 3; 3 by default.
    #[arg(short = 'O', value_name = "LEVEL", value_parser = clap::value_parser!(u8).range(0..=3))]
    pub(crate) opt_level: Option<u8>,
    /// Leave out what takes time: little of it (min), what takes much (mid, if nothing is said), or all that does not make
    /// what comes behind it faster (max).
    #[arg(long, value_enum, value_name = "HOW MUCH", num_args = 0..=1, require_equals = true, default_missing_value = "mid",
          default_value_t)]
    pub(crate) fast_compile: FastCompileArg,
    /// Upper bound of R registers per thread.
    #[arg(long, value_name = "N")]
    pub(crate) maxrregcount: Option<u32>,
    /// How readily registers are spent where they cost warps, 0 to 10; 5 by default.
    #[arg(long, value_name = "LEVEL", value_parser = clap::value_parser!(u8).range(0..=10))]
    pub(crate) register_usage_level: Option<u8>,
    /// Compile only these kernels.
    #[arg(long, value_name = "NAME")]
    pub(crate) entry: Vec<String>,
    /// Set what the phases go by: an int, a double or a bool; `oriole compile --knob list=1` prints them all.
    #[arg(long, value_name = "N=V")]
    pub(crate) knob: Vec<String>,
    /// Threads that compile functions, or files, side by side; one by default for one file. The bytes do not depend on it.
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<std::num::NonZeroUsize>,
    /// Most bytes by which compiling may make the process grow, such as 500M or 2G, on Linux; $ORIOLE_MEMORY by default.
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    pub(crate) memory: Option<u64>,
    /// Verify the IR after every phase.
    #[arg(long)]
    pub(crate) verify: bool,
    /// Leave an optional phase out; `oriole phases` names them.
    #[arg(long, value_name = "NAME")]
    pub(crate) disable_pass: Vec<String>,
    /// Let only the first N runs of optional phases happen, counted over the functions, in the last of them only the first
    /// M rewrites, and name the last.
    #[arg(long, value_name = "N[:M]")]
    pub(crate) pass_limit: Option<oriole_codegen::Limit>,
    /// What to make of LLVM IR.
    #[command(flatten)]
    pub(crate) ir: IrArgs,
}

/// `--fast-compile`, with ptxas's words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum FastCompileArg {
    /// Nothing is left out.
    #[default]
    #[value(name = "0")]
    Off,
    /// What takes much time for little.
    Min,
    /// What takes time, where much of what it is good for stays.
    Mid,
    /// All that does not save as much time behind it as it takes.
    Max,
}

impl From<FastCompileArg> for FastCompile {
    fn from(arg: FastCompileArg) -> Self {
        match arg {
            FastCompileArg::Off => FastCompile::Off,
            FastCompileArg::Min => FastCompile::Min,
            FastCompileArg::Mid => FastCompile::Mid,
            FastCompileArg::Max => FastCompile::Max,
        }
    }
}

// Options for LLVM IR, which `compile` and `nvptx` share. Of PTX, `compile` takes --no-fma alone.
#[derive(Clone, Debug, Args, Default)]
pub(crate) struct IrArgs {
    /// Take what the module needs from this bitcode or LLVM assembly, such as libdevice.10.bc.
    #[arg(long, value_name = "FILE")]
    pub(crate) link: Vec<PathBuf>,
    /// Do not fuse products and sums of floats (of PTX: those that it leaves open).
    #[arg(long)]
    pub(crate) no_fma: bool,
    /// Which products and sums of floats in LLVM IR are fused: none, those that say `contract`, or all as nvcc does.
    #[arg(long, value_enum, default_value_t, value_name = "WHICH", conflicts_with = "no_fma")]
    pub(crate) fp_contract: FpContractArg,
    /// Flush subnormals of float to zero.
    #[arg(long)]
    pub(crate) ftz: bool,
    /// Quotients of float need not be rounded correctly.
    #[arg(long)]
    pub(crate) no_prec_div: bool,
    /// Square roots of float need not be rounded correctly.
    #[arg(long)]
    pub(crate) no_prec_sqrt: bool,
}

/// `--fp-contract`, with LLVM's words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum FpContractArg {
    /// None; `llvm.fmuladd` is a product and a sum.
    Off,
    /// Those that say `contract`, and `llvm.fmuladd`.
    #[default]
    On,
    /// All.
    Fast,
}

#[derive(Debug, Args)]
pub(crate) struct NvptxArgs {
    /// LLVM assembly or bitcode; `-` for standard input.
    pub(crate) input: PathBuf,
    /// PTX to write, or `-` for standard output.
    #[arg(short, long)]
    pub(crate) output: PathBuf,
    /// Target, such as sm_90; that of the module's functions by default, or else sm_80.
    #[arg(long)]
    pub(crate) arch: Option<String>,
    /// PTX version, such as 8.0; the least that has what is used by default.
    #[arg(long, value_name = "N.M", value_parser = parse_version)]
    pub(crate) ptx_version: Option<(u32, u32)>,
    /// Optimisation level 0 to 3.
    #[arg(short = 'O', value_name = "LEVEL", default_value_t = 3, value_parser = clap::value_parser!(u8).range(0..=3))]
    pub(crate) opt_level: u8,
    /// Upper bound of registers per thread.
    #[arg(long, value_name = "N")]
    pub(crate) maxreg: Option<u32>,
    /// Leave an optional pass out; a name that there is not lists them.
    #[arg(long, value_name = "NAME")]
    pub(crate) disable_pass: Vec<String>,
    /// Write source lines as .loc.
    #[arg(long)]
    pub(crate) lineinfo: bool,
    /// Print the machine instructions of this function, or of all, after selection and before emission.
    #[arg(long, value_name = "FUNCTION", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub(crate) dump_machine: Option<String>,
    /// What to make of LLVM IR.
    #[command(flatten)]
    pub(crate) ir: IrArgs,
}

#[derive(Debug, Args)]
pub(crate) struct BisectArgs {
    /// PTX, or LLVM assembly or bitcode.
    pub(crate) input: PathBuf,
    /// What to make of the module.
    #[command(flatten)]
    pub(crate) code: CodeArgs,
    /// Shell command that ends with status 0 if the cubin that $CUBIN names is right.
    #[arg(long, value_name = "COMMAND", required_unless_present = "launch", conflicts_with = "launch")]
    pub(crate) judge: Option<String>,
    /// A launch, as `oriole run` takes it behind its input: --entry NAME, options, kernel parameters.
    #[arg(last = true, value_name = "LAUNCH")]
    pub(crate) launch: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct PhasesArgs {
    /// Print the passes in the order in which they run, with level, repetition and the slots that each fills.
    #[arg(long)]
    pub(crate) pipeline: bool,
    /// Print the published table as Markdown, as docs/phases.md has it.
    #[arg(long, conflicts_with = "pipeline")]
    pub(crate) markdown: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// What `compile --dump-all` wrote.
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// Only these functions.
    #[arg(long, value_name = "NAME")]
    pub(crate) function: Vec<String>,
    /// Only this phase, with the difference of the Ori before and behind it.
    #[arg(long, value_name = "NAME")]
    pub(crate) phase: Option<String>,
    /// Also the phases that ran and changed nothing.
    #[arg(long, conflicts_with = "phase")]
    pub(crate) all: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DisasmArgs {
    /// Cubin, a file that holds some, or a text of hexadecimal words with --hex; `-` for standard input.
    pub(crate) input: PathBuf,
    /// The input is text: lines of HEX128 [ADDRESS].
    #[arg(long)]
    pub(crate) hex: bool,
    /// Target of the words with --hex; of a file with several images the chip for which they are picked as a driver does. PTX is
    /// compiled for it.
    #[arg(long)]
    pub(crate) arch: Option<String>,
    /// Which image.
    #[command(flatten)]
    pub(crate) image: ImageArgs,
    /// List the images of the file, as `oriole fatbin` does.
    #[arg(long, conflicts_with_all = ["hex", "arch", "image", "entry", "control", "lines", "json", "all", "extract"])]
    pub(crate) list: bool,
    /// Write the images of the file into this folder, as `oriole fatbin` does.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["hex", "arch", "entry", "control", "lines", "json", "all"])]
    pub(crate) extract: Option<PathBuf>,
    /// Show only these functions.
    #[arg(long, value_name = "NAME", conflicts_with = "hex")]
    pub(crate) entry: Vec<String>,
    /// Show stall counts, scoreboards and waits.
    #[arg(long)]
    pub(crate) control: bool,
    /// Show where the line of the source changes, or with =ptx the line of the PTX: for a cubin with line tables, as
    /// --lineinfo and -g make them.
    #[arg(
        long,
        value_name = "OF",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "source",
        conflicts_with = "hex"
    )]
    pub(crate) lines: Option<LinesOf>,
    /// With --lines: show the text of the lines too, of files that are found and of the PTX that is in the cubin.
    #[arg(long, requires = "lines")]
    pub(crate) source: bool,
    /// Print JSON.
    #[arg(long, conflicts_with_all = ["hex", "control", "source"])]
    pub(crate) json: bool,
    /// Write everything that the file holds, so that `oriole asm` makes the same file from it.
    #[arg(long, conflicts_with_all = ["hex", "entry", "control", "lines", "json"])]
    pub(crate) all: bool,
}

#[derive(Debug, Args)]
pub(crate) struct AsmArgs {
    /// What `oriole disasm --all` wrote, patched or not, or with --hex lines of INSTRUCTION [@ADDRESS] or of a
    /// listing; `-` for standard input.
    pub(crate) input: PathBuf,
    /// Cubin to write, or `-` for standard output.
    #[arg(short, long, required_unless_present = "hex", conflicts_with = "hex")]
    pub(crate) output: Option<PathBuf>,
    /// Print one hexadecimal word per line of the input.
    #[arg(long, requires = "arch")]
    pub(crate) hex: bool,
    /// Target of the lines; needed with --hex.
    #[arg(long, conflicts_with = "output")]
    pub(crate) arch: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// Cubins, whoever made them, or files that hold some; `-` for standard input.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) inputs: Vec<PathBuf>,
    /// Of files with several images check those that a driver takes for this chip; all cubins by default.
    #[arg(long)]
    pub(crate) arch: Option<String>,
    /// Which image.
    #[command(flatten)]
    pub(crate) image: ImageArgs,
    /// Check only these functions, and what they call.
    #[arg(long, value_name = "NAME")]
    pub(crate) entry: Vec<String>,
    /// Print JSON: one object per file.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PtxArgs {
    /// What to do.
    #[command(subcommand)]
    pub(crate) what: PtxCommand,
}

// What `oriole ptx` does.
#[derive(Debug, Subcommand)]
pub(crate) enum PtxCommand {
    /// Only check: report every error, write nothing. Exit status 1 if there is any.
    Check {
        /// PTX files; `-` for standard input.
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// Also check that the modules may be compiled for this target.
        #[arg(long)]
        arch: Option<String>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct IsaArgs {
    /// What to show.
    #[command(subcommand)]
    pub(crate) what: IsaCommand,
}

// What `oriole isa` shows.
#[derive(Debug, Subcommand)]
pub(crate) enum IsaCommand {
    /// Mnemonics, one a line, with family and pipe.
    List {
        /// Target.
        #[arg(long)]
        arch: String,
    },
    /// The manual page of an instruction, by its name or its ROT13 name.
    Show {
        /// Mnemonic.
        mnemonic: String,
        /// Only the forms of this target.
        #[arg(long)]
        arch: Option<String>,
    },
    /// Write the manual as Markdown: an index, a page per family, the special registers.
    Manual {
        /// Folder for the files.
        folder: PathBuf,
    },
    /// The published encodings: operand words, register fields, memory spaces, opcode numbers.
    Published,
    /// Special registers: number, name, bits, how they are read.
    SpecialRegisters {
        /// Only those of this target.
        #[arg(long)]
        arch: Option<String>,
    },
}

/// `8.0`.
fn parse_version(text: &str) -> Result<(u32, u32), String> {
    let parse = || {
        let (major, minor) = text.split_once('.')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    };
    parse().ok_or_else(|| format!("'{text}' is no version such as 8.0"))
}
