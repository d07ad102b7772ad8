#!/usr/bin/env python3
"""The cooperative groups of the CUDA toolkit's own headers: what every operation of every kind of group leaves, against arithmetic here.

    cooperative_groups.py --oriole target/release/oriole --oracle FOLDER [--targets sm_75,sm_80,sm_90a,sm_100a,sm_120a] [--only REGEX]
                          [--folder DIR] [--selection tests/programs]

FOLDER is the virtual environment of ../shared/tools/oracle.sh, with the package nvidia-cuda-cccl of the same CUDA version besides. NVRTC compiles
groups/groups.cu with the toolkit's headers, once for each kind of group and target; groups/model.py says what is right. Each kernel runs by the
interpreter of PTX, by our code at -O0 and -O3 on the strict simulator, and by ptxas's code of both levels. `--folder` keeps what was made. Exit
status 1 if anything differs.

`--selection` writes the programs of SELECTION with their launches in their heads (tests/programs/README.md) instead, for clones without NVRTC.
"""
import concurrent.futures, os, pathlib, re, subprocess, sys, tempfile
from launches import SHARED, parser

HERE = pathlib.Path(__file__).resolve().parent / "groups"
sys.path.insert(0, str(HERE))
import model  # noqa: E402

TARGETS = "sm_75,sm_80,sm_90a,sm_100a,sm_120a"
SEED = 60
# Kind, kernel, target of the PTX, targets to run on.
SELECTION = [
    ("tile_16", "votes", "sm_75", "sm_75, sm_80, sm_90, sm_100, sm_120"),
    ("tile_8_apart", "votes", "sm_90a", "sm_90a"),
    ("labels", "votes", "sm_75", "sm_75, sm_80, sm_90"),
    ("labels", "votes", "sm_90a", "sm_90a"),
    ("parts_of_coalesced", "sums_unsigned", "sm_80", "sm_80, sm_90, sm_120"),
    ("branches", "votes", "sm_120a", "sm_120a"),
    ("loop", "sums_int", "sm_80", "sm_80, sm_100"),
    ("tile_64", "sums_unsigned", "sm_75", "sm_75, sm_80, sm_90, sm_100, sm_120"),
]


def arguments():
    options = parser(__doc__)
    options.add_argument("--oracle", required=True)
    options.add_argument("--folder")
    options.add_argument("--selection")
    options.set_defaults(targets=TARGETS)
    return options.parse_args()


def toolkit(oracle):
    """The toolkit's folder in the virtual environment."""
    return next(pathlib.Path(oracle).resolve().glob("lib/python3*/site-packages/nvidia/cu*"))


def called(*words, **more):
    """Runs a program; its text, where it fails."""
    ended = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    return ended.stdout if ended.returncode else ""


def by_nvrtc(cuda, kind, target, folder):
    """The PTX of a kind, if it is not there yet; what is wrong, or nothing."""
    ptx = folder / f"{kind}.{target}.ptx"
    compute = target.replace("sm_", "compute_")
    nvrtc = [sys.executable, SHARED / "tools/nvrtc.py", HERE / "groups.cu", "-o", ptx, "-arch", compute, "-D", f"KIND={kind}",
             "-I", HERE, "-I", cuda / "include/cccl", "-std=c++17", "-default-device", "-w"]
    return ptx, "" if ptx.exists() else called(*nvrtc, env={**os.environ, "ORACLE": str(cuda / "bin")})


def compiled(cuda, kind, target, folder):
    """PTX of a kind, and ptxas's cubins by level."""
    ptx, error = by_nvrtc(cuda, kind, target, folder)
    programs = {"ours": ptx.name}
    for level in (0, 3):
        cubin = ptx.with_suffix(f".O{level}.cubin")
        error = error or called(cuda / "bin/ptxas", f"-arch={target}", f"-O{level}", ptx, "-o", cubin)
        programs[f"ptxas{level}"] = cubin.name
    return error, programs


def manifest(target, programs, folder):
    """The launches of a target as `oriole test` reads them; what is right is written beside it."""
    word, longs = model.inputs(SEED)
    (folder / "words.bin").write_bytes(b"".join(w.to_bytes(4, "little") for w in word))
    (folder / "longs.bin").write_bytes(b"".join(l.to_bytes(8, "little") for l in longs))
    lines = ["[programs]"]
    lines += [f'"{kind}.{side}" = "{path}"' for kind, sides in programs.items() for side, path in sides.items()]
    ways = [("ours", f'targets = ["{target}"]\nlevels = [0, 3]\nstrict = true'), ("ours", 'engine = "ptx"'), ("ptxas0", ""), ("ptxas3", "")]
    for kind, sides in programs.items():
        for kernel in model.KERNELS:
            right = model.expected(kind, kernel, word, longs)
            (folder / f"{kind}.{kernel}.bin").write_bytes(right)
            for number, (side, how) in enumerate(ways):
                lines.append(f"""
[[launch]]
name = "{kind} {kernel} {side} {number} {target}"
program = "{kind}.{side}"
entry = "{kernel}"
block = {model.THREADS}
args = ["in:words.bin", "in:longs.bin", {{ out = "u8[{len(right)}]", expect = "{kind}.{kernel}.bin" }}, {{ scratch = "u32[{model.THREADS}]" }}]
{how}""")
    path = folder / f"groups.{target}.toml"
    path.write_text("\n".join(lines) + "\n")
    return path


def has_room(kind, target):
    """Whether our engines have what the headers need: from sm_80 on groups of several warps use the part of shared memory that the system
    keeps, of which there is none on sm_80 to sm_89 (docs/interp.md)."""
    return not (model.wide(kind) and 80 <= int(re.sub(r"\D", "", target)) < 90)


def measure(options, cuda, folder):
    """All kinds on all targets; how many targets are wrong."""
    chosen, failed = [kind for kind in model.KINDS if re.search(options.only, kind)], 0
    for target in options.targets.split(","):
        programs, kinds = {}, [kind for kind in chosen if has_room(kind, target)]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for kind, (error, made) in zip(kinds, pool.map(lambda kind: compiled(cuda, kind, target, folder), kinds)):
                if error:
                    failed += 1
                    print(f"{kind} {target}: {error.strip()[:400]}", flush=True)
                else:
                    programs[kind] = made
        ended = subprocess.run([options.oriole, "test", manifest(target, programs, folder)], text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        failed += ended.returncode != 0
        print(f"{target}: {len(programs)} kinds of groups, {len(model.KERNELS)} kernels each\n{ended.stdout.strip()[-4000:]}", flush=True)
    return failed


def kernel_alone(ptx, kernel):
    """The module with this entry, without the others and without constants that nothing reads."""
    parts = re.split(r"(?m)^(?=\s*(?:// \.globl|\.visible \.entry))", ptx)
    wanted = re.compile(rf"\s*(// \.globl\s+{kernel}\s|\.visible \.entry {kernel}\()")
    ptx = "".join(part for part in parts if not re.match(r"\s*(// \.globl|\.visible \.entry)", part) or wanted.match(part))
    ptx = re.sub(r"(?m)^\s*//.*\n|^\s*\n", "", ptx)
    names = re.findall(r"[\w$]+", ptx)
    once = {name for name in set(names) if names.count(name) == 1 and name.startswith("_Z") or name == "THREADS"}
    constant = re.compile(r"(?m)^\.global .*?([\w$]+)(\[\d*\])?( = .*)?;\n")
    return constant.sub(lambda found: "" if found[1] in once else found[0], ptx)


def words_of(data):
    """Bytes as 32-bit words, as a head writes them."""
    return [f"{int.from_bytes(data[at:at + 4], 'little'):#x}" for at in range(0, len(data), 4)]


def head(kind, kernel, targets):
    """The comments before a program of tests/programs."""
    word, longs = model.inputs(SEED)
    right = model.expected(kind, kernel, word, longs).rstrip(b"\0")
    right += bytes(-len(right) % 4)
    lines = [f"Cooperative groups of CUDA 13.0, {kind.replace('_', ' ')}, {kernel.replace('_', ' ')}: tools/callers/groups/groups.cu by NVRTC,",
             "what is right by tools/callers/groups/model.py; written by tools/callers/cooperative_groups.py --selection.",
             f"arch: {targets}", f"block: {model.THREADS}"]
    lines += ["arg: in u32 = " + " ".join(map(hex, word)), "arg: in u64 = " + " ".join(map(hex, longs))]
    lines += [f"arg: out {model.ROWS * model.THREADS * 4}", f"arg: inout u32 {model.THREADS} zero"]
    found = words_of(right)
    lines += ["expect: arg 2 = " + " ".join(found[at:at + 32]) for at in range(0, len(found), 32)]
    return "".join(f"// {line}\n" for line in lines)


def select(options, cuda, folder):
    """Writes the selection."""
    for kind, kernel, target, targets in SELECTION:
        path, error = by_nvrtc(cuda, kind, target, folder)
        if error:
            sys.exit(error)
        ptx = kernel_alone(path.read_text(), kernel)
        name = f"groups_{kind}_{kernel}_{target.removeprefix('sm_')}.ptx"
        pathlib.Path(options.selection, name).write_text(head(kind, kernel, targets) + ptx)
    return 0


def main():
    options = arguments()
    cuda = toolkit(options.oracle)
    with tempfile.TemporaryDirectory(prefix="groups.") as temporary:
        folder = pathlib.Path(options.folder or temporary).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        return 1 if (select if options.selection else measure)(options, cuda, folder) else 0


if __name__ == "__main__":
    sys.exit(main())
