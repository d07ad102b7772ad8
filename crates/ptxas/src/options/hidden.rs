//! The options that ptxas takes and `--help` does not list: found among the words of ptxas 13.0.88 and asked of it and of 13.5.37,
//! which take the same. `docs/ptxas.md` says who passes them.

use super::Fate::{self, Idle, Refused};
use super::Takes::{self, List, Nothing, Number, OneOf, Truth, Word};
use super::{Name, Since, Spec};

const fn hidden(names: [&'static str; 2], takes: Takes, fate: Fate, help: &'static str) -> Spec {
    Spec::new(Name::Unasked(names[0]), names, takes, fate, Since::Hidden, help)
}

const fn obeyed(name: Name, names: [&'static str; 2], takes: Takes, help: &'static str) -> Spec {
    Spec::new(name, names, takes, Fate::Obeyed, Since::Hidden, help)
}

/// A switch for a fault of chips or of NVIDIA's compiler.
const fn work_around(names: [&'static str; 2]) -> Spec {
    const OTHERS: Fate = Idle(
        "a way around a fault that NVIDIA's compiler or chips have; code here takes none of the ways that it is for",
    );
    hidden(names, Truth, OTHERS, "Go around a fault")
}

const TIMES: Fate = Idle("`oriole compile --time-phases` tells what each phase takes");
const MASKS: Fate = Idle("masks of threads are taken as they are");
const ADDRESSES: Fate = Idle("where variables lie is for no program to rely on");
const NOT_PUBLISHED: Fate = Idle("nothing is published on it, and ptxas changes no code for it");
const INSTRUCTIONS: Fate = Refused("there are no instructions but those of PTX");

/// All.
pub(super) static HIDDEN: [Spec; 54] = [
    hidden(
        ["abi-compile", "abi"],
        OneOf(&["yes"]),
        Idle("calls follow the ABI always"),
        "Call functions by the ABI: yes",
    ),
    hidden(
        ["assume-extern-functions-do-not-sync", "assume-extern-functions-do-not-sync"],
        Truth,
        Idle("nothing is assumed of the functions of other files"),
        "Take it that functions of other files do not synchronise",
    ),
    hidden(
        ["blocks-are-clusters", "blocks-are-clusters"],
        Truth,
        Refused("`.blocksareclusters` in PTX says of a kernel that its grid is counted in clusters"),
        "Count the grid in clusters",
    ),
    hidden(
        ["cimm", "cimm"],
        Nothing,
        Idle("no code reads a bank of constants that the optimiser makes"),
        "Use immediate values for constants",
    ),
    hidden(
        ["cloning", "cloning"],
        OneOf(&["yes", "no"]),
        Idle("whether a function's code is copied into its callers changes no result"),
        "Copy functions into their callers",
    ),
    hidden(["compiler-stats", "compilerStats"], List, TIMES, "Print what the compiler's phases take"),
    hidden(["compiler-stats-file", "compilerStatsFile"], Word, TIMES, "Write what --compiler-stats tells to a file"),
    hidden(
        ["cuda-api-version", "cuda-api-version"],
        Word,
        Idle("code is the same for all versions of the driver's interface"),
        "Version of the driver's interface",
    ),
    work_around(["cuda32f3056bbb", "cudasw32f3056bbb"]),
    hidden(
        ["debug-info", "debug-info"],
        Word,
        Idle("deprecated; DWARF goes into the cubin"),
        "Write the DWARF of PTX to a file",
    ),
    hidden(
        ["device-stack-protector-frame-size-threshold", "device-stack-protector-size"],
        Number,
        Idle("stack canaries are not there"),
        "Smallest frame that gets a canary",
    ),
    hidden(
        ["disable-fast-video-emulation", "disable-fast-video-emulation"],
        Truth,
        Idle("video instructions have one expansion"),
        "Leave out the fast expansion of video instructions",
    ),
    hidden(
        ["disable-smem-reservation", "disable-smem-reservation"],
        Truth,
        Refused("the shared memory that the driver keeps for itself is always counted"),
        "From sm_100 on: keep no shared memory for the driver",
    ),
    hidden(
        ["dont-reserve-null-pointer", "dont-reserve-null-pointer"],
        Nothing,
        ADDRESSES,
        "Let a variable have address 0",
    ),
    obeyed(
        Name::ExtendedShared,
        ["enable-extended-smem", "enable-extended-smem"],
        Truth,
        "Allow static shared memory as large as a block can have: targets of one chip (sm_90a) do anyway",
    ),
    hidden(["ext-desc-file", "ext-desc-file"], Word, INSTRUCTIONS, "Read instructions that a file describes"),
    hidden(["ext-desc-string", "ext-desc-string"], Word, INSTRUCTIONS, "Read instructions that a text describes"),
    hidden(
        ["fast-compile", "fc"],
        Nothing,
        Idle("how long it may take goes by -O and --Ofast-compile"),
        "Compile sooner, to slower code",
    ),
    hidden(["fastimul", "fastimul"], Nothing, Idle("products have all their bits"), "Multiply integers in 24 bits"),
    hidden(["fdevice-time-trace", "timeTraceFile"], Word, TIMES, "Add the compiler's phases to a trace"),
    hidden(
        ["force-externals", "fext"],
        Nothing,
        Idle("deprecated; shadows of variables are the host compiler's"),
        "Make variables' shadows on the host external",
    ),
    hidden(
        ["force-rela", "force-rela"],
        Nothing,
        Idle("relocations have their addends where a linker looks for them"),
        "Write RELA sections alone",
    ),
    hidden(["ftrace-phase-after", "ftracePhaseAfter"], Word, TIMES, "Phase of a trace"),
    hidden(["key", "k"], Word, Idle("deprecated; it names code and changes none"), "Hash of the code"),
    hidden(
        ["limit-fold-fp", "limit-fold-fp"],
        Truth,
        Idle("constants are folded to what the instruction computes"),
        "Fold fewer constants of floats",
    ),
    hidden(
        ["link-info", "link-info"],
        Word,
        Idle("deprecated; names stand in the cubin's symbol table"),
        "Write the names that are imported and exported to a file",
    ),
    hidden(["membermask-overlap", "membermask-overlap"], Truth, MASKS, "Take it that masks of threads overlap"),
    hidden(
        ["no-fastreg", "no-fastreg"],
        Nothing,
        Idle("registers are allocated in one way"),
        "Leave out the fast allocation of registers",
    ),
    hidden(
        ["no-membermask-overlap", "no-membermask-overlap"],
        Truth,
        MASKS,
        "Take it that masks of threads do not overlap",
    ),
    hidden(
        ["noFwdPrg", "noFwdPrg"],
        Nothing,
        Idle("it allows other schedules of threads and asks for none"),
        "Leave out code that has all threads make progress",
    ),
    obeyed(Name::NvHost, ["nv-host", "nv-host"], Word, "Put a file word for word into section .nv.host, for the host"),
    hidden(["okey", "ok"], Number, Refused("PTX is read as it stands"), "Key of PTX that is not readable"),
    hidden(["opt-pointers", "Op"], Nothing, Idle("addresses have all their bits"), "Cut pointers to 32 bits"),
    hidden(
        ["print-potentially-overlapping-membermasks", "print-potentially-overlapping-membermasks"],
        Nothing,
        MASKS,
        "On sm_75: tell of instructions whose masks of threads may overlap",
    ),
    hidden(["profile-options", "po"], Word, Refused("there are no such options"), "Options of a profile"),
    hidden(["ptx-length", "ptxlen"], Number, Idle("PTX is read as it stands"), "Length of PTX that is not readable"),
    hidden(
        ["query-controls", "query-controls"],
        Word,
        Refused("controls are of NVIDIA's compiler; `oriole tune` looks for the fastest code of this one"),
        "Write a file of the controls that there are",
    ),
    hidden(
        ["regAllocOptLevel", "regAllocOptLevel"],
        Number,
        Idle("how registers are allocated goes by -O and --register-usage-level"),
        "How far to optimise the allocation of registers",
    ),
    hidden(["reserve-null-pointer", "reserve-null-pointer"], Nothing, ADDRESSES, "Let no variable have address 0"),
    hidden(
        ["set-texmode-raw", "set-texmode-raw"],
        Truth,
        Refused("the mode of textures goes by `.target`"),
        "Take textures for raw handles",
    ),
    hidden(["slr", "slr"], Nothing, NOT_PUBLISHED, "Not published"),
    work_around(["sw1729687", "sw1729687"]),
    work_around(["sw200387803", "sw200387803"]),
    work_around(["sw200428197", "sw200428197"]),
    work_around(["sw200764156", "sw200764156"]),
    work_around(["sw2614554", "sw2614554"]),
    work_around(["sw2837879", "sw2837879"]),
    work_around(["sw4575628", "sw4575628"]),
    work_around(["sw4915215", "sw4915215"]),
    work_around(["sw4936628", "sw4936628"]),
    hidden(["tool-name", "tool-name"], Word, Idle("messages begin with `ptxas`"), "What messages begin with"),
    hidden(["use-trace-pid", "use-trace-pid"], Number, TIMES, "Process of a trace"),
    hidden(["uumn", "uumn"], Nothing, NOT_PUBLISHED, "Not published"),
    hidden(
        ["verbose-tkinfo", "verbose-tkinfo"],
        Truth,
        Idle("notes have no command line"),
        "Put the command line into the cubin's notes",
    ),
];
