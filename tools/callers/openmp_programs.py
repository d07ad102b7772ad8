#!/usr/bin/env python3
"""OpenMP programs by clang with its device runtime, compiled by Oriole, against what the host computes.

    openmp_programs.py --oriole target/release/oriole --libdevice libdevice.10.bc [--llvm /usr/lib/llvm-19/bin] [--runtime /usr/lib/llvm-19/lib]
                       [--targets sm_80,sm_90] [--only REGEX] [--ptxas PTXAS]

The programs are those of openmp/. Each is linked with the whole device runtime (libomptarget-nvptx of clang's OpenMP package), and becomes PTX in two ways for
each of -O1 to -O3: `linked`, by llc alone, with all functions of the runtime that are reached, and `optimised`, by opt and llc. The kernels run on the strict simulator, what they leave is
compared with the same file compiled for the host. With --ptxas: the instructions and registers of its code beside ours. Exit status 1 if anything is
missing or wrong.
"""
import ctypes, math, os, pathlib, re, subprocess, sys, tempfile
import numpy as np
from launches import parser

HERE = pathlib.Path(__file__).resolve().parent / "openmp"
WAYS = ("linked", "optimised")
RANDOM = np.random.default_rng(65)


def doubles(count, low=0.5, high=1.5):
    return RANDOM.uniform(low, high, count)


def ints(count, low, high):
    return RANDOM.integers(low, high, count).astype(np.int32)


def singles(count):
    return RANDOM.uniform(0, 1, count).astype(np.float32)


# By program: the arguments of its function by name, and its launches: the kernel's number in the file, blocks, threads, and the arguments in the
# kernel's order, which is that of their first use. A name in capitals is a variable that the host's function keeps to itself, with its first value and
# where the function leaves it.
PROGRAMS = {
    "calls": (dict(out=np.zeros(100, np.int32), **{"in": ints(100, 0, 1000)}, n=100), [(0, 1, 128, "n in out")]),
    "capture": (dict(list=np.zeros(200, np.int32), count=np.zeros(1, np.int32), sum=np.zeros(1, np.float32), **{"in": singles(200)}, n=200),
                [(0, 1, 128, "n in count list sum")]),
    "mathematics": (dict(out=np.zeros(150), **{"in": doubles(150)}, fout=np.zeros(150, np.float32), fin=singles(150), n=150),
                    [(0, 1, 128, "n out in fout fin")]),
    "nested": (dict(out=np.zeros(256, np.int32), **{"in": ints(256, 0, 50)}, rounds=3), [(0, 1, 128, "rounds in out")]),
    "reductions": (dict(a=doubles(1000), b=ints(1000, -5000, 5000), out=np.zeros(2), bits=np.zeros(2, np.int32)),
                   [(0, 1, 128, "S a"), (1, 1, 128, "b M X"), (2, 1, 128, "P a")]),
    "schedule": (dict(out=np.zeros(90, np.int32), **{"in": ints(90, 0, 100000)}, n=90), [(0, 1, 128, "n in out")]),
    "sections": (dict(out=np.zeros(300, np.int32), n=300), [(0, 1, 64, "n out")]),
    "simd": (dict(c=np.zeros(24 * 24, np.float32), a=singles(24 * 24), b=singles(24 * 24), n=24), [(0, 1, 128, "n a b c")]),
    "stencil": (dict(u=doubles(20 * 20), v=np.zeros(20 * 20), n=20, steps=1), [(0, 1, 128, "n u v"), (1, 1, 128, "n u v")]),
    "tasks": (dict(out=np.zeros(70, np.int32), **{"in": ints(70, 0, 30)}, n=70), [(0, 1, 128, "n in out")]),
}
HIDDEN = {"S": (np.zeros(1), "out", 0), "P": (np.ones(1), "out", 1), "M": (np.full(1, -1000000, np.int32), "bits", 0),
          "X": (np.zeros(1, np.int32), "bits", 1)}
# Sums are added in another order than on the host.
TOLERANCE = {np.dtype(np.float64): 1e-12, np.dtype(np.float32): 1e-4, np.dtype(np.int32): 0}
# Which thread comes first is open: the list is compared as a set.
UNORDERED = {("capture", "list")}


def run(command):
    ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if ended.returncode:
        raise RuntimeError(f"{command[0]}: {ended.stdout.strip()[-300:]}")
    return ended.stdout


def by_host(name, arguments, folder):
    """What the function leaves in its arguments."""
    library = os.path.join(folder, f"{name}.so")
    run(["cc", "-O1", "-w", "-shared", "-fPIC", "-D_OPENMP=0", "-I", folder, str(HERE / f"{name}.c"), "-o", library, "-lm"])
    left = {key: value.copy() if isinstance(value, np.ndarray) else value for key, value in arguments.items()}
    passed = [value.ctypes.data_as(ctypes.c_void_p) if isinstance(value, np.ndarray) else ctypes.c_int(value) for value in left.values()]
    getattr(ctypes.CDLL(library), name)(*passed)
    return left


def ptx(options, name, level, target, way, folder):
    """The program's PTX, and the names of its kernels in the order of the file."""
    stem = os.path.join(folder, f"{name}.{target}.O{level}")
    runtime = os.path.join(options.runtime, f"libomptarget-nvptx-{target}.bc")
    tool = lambda tool: os.path.join(options.llvm, tool)
    run([tool("clang"), f"-O{level}", "-w", "-fopenmp", f"--offload-arch={target}", "-nogpulib", "-emit-llvm", "-c", "--offload-device-only",
         str(HERE / f"{name}.c"), "-o", stem + ".bc"])
    run([tool("llvm-link"), "-o", stem + ".linked", stem + ".bc", runtime, options.libdevice, "--suppress-warnings"])
    names = re.findall(r"\b(__omp_offloading\w*_l\d+)$", run([tool("llvm-nm"), stem + ".bc"]), re.M)
    kernels = sorted(set(names), key=lambda kernel: int(kernel.rsplit("_l", 1)[1]))
    run([tool("opt"), "-passes=internalize,globaldce", "-internalize-public-api-list=" + ",".join(kernels), stem + ".linked", "-o", stem + ".inner"])
    if way == "optimised":
        run([tool("opt"), f"-passes=default<O{level}>", stem + ".inner", "-o", stem + ".inner"])
    run([tool("llc"), f"-mcpu={target}", "-mattr=+ptx78", f"-O{level}", stem + ".inner", "-o", stem + f".{way}.ptx"])
    return stem + f".{way}.ptx", kernels


def launch(options, cubin, kernel, arguments, shape, memory, folder):
    """Runs one kernel on the buffers of `memory`, which it changes."""
    blocks, threads, order = shape
    # What the host's runtime passes first: counters, and where teams leave what they reduce; a single team needs none.
    passed = ["zero:64"]
    for key in order.split():
        value = memory[key]
        if isinstance(value, np.ndarray):
            path = os.path.join(folder, key)
            value.tofile(path)
            passed.append(f"inout:{path}:{path}.left")
        else:
            passed.append(f"u64:{value}")
    run([options.oriole, "run", cubin, "--strict", "--entry", kernel, "--grid", str(blocks), "--block", str(threads), *passed])
    for key in order.split():
        if isinstance(memory[key], np.ndarray):
            memory[key] = np.fromfile(os.path.join(folder, key + ".left"), memory[key].dtype)


def difference(name, arguments, memory, left):
    """What is wrong, if anything."""
    for key, (_, array, at) in HIDDEN.items():
        if key in memory:
            memory[array][at] = memory[key][0]
    for key, value in left.items():
        if not isinstance(value, np.ndarray):
            continue
        own = memory[key]
        if (name, key) in UNORDERED:
            own, value = np.sort(own), np.sort(value)
        if not np.allclose(own, value, rtol=TOLERANCE[value.dtype], atol=0):
            worst = int(np.argmax(np.abs(own.astype(float) - value.astype(float))))
            return f"{key}[{worst}] is {own[worst]}, the host has {value[worst]}"
    return None


def code(cubin):
    """Instructions of all sections of code, and registers by kernel."""
    sections = re.findall(r"\] \.text\.(\S+)\s+PROGBITS\s+\S+ \S+ (\S+)", run(["readelf", "-SW", cubin]))
    return sum(int(size, 16) // 16 for _, size in sections)


def tried(options, name, level, target, way, folder, left, sizes):
    """Whether one program is right."""
    arguments, launches = PROGRAMS[name]
    path, kernels = ptx(options, name, level, target, way, folder)
    cubin = path[:-3] + "cubin"
    run([options.oriole, "ptxas", "-arch", target, path, "-o", cubin])
    if options.ptxas:
        run([options.ptxas, "-arch", target, path, "-o", path[:-3] + "ptxas"])
        sizes.append(code(cubin) / code(path[:-3] + "ptxas"))
    memory = {key: value.copy() if isinstance(value, np.ndarray) else value for key, value in arguments.items()}
    named = {key for *_, order in launches for key in order.split()}
    memory |= {key: value.copy() for key, (value, _, _) in HIDDEN.items() if key in named}
    for number, *shape in launches:
        launch(options, cubin, kernels[number], arguments, shape, memory, folder)
    wrong = difference(name, arguments, memory, {key: value.copy() if isinstance(value, np.ndarray) else value for key, value in left.items()})
    if wrong:
        print(f"{name} -O{level} {target} {way}: {wrong}", flush=True)
    return wrong is None


def main():
    options = parser(__doc__)
    options.add_argument("--libdevice", required=True)
    options.add_argument("--llvm", default="/usr/lib/llvm-19/bin")
    options.add_argument("--runtime", default="/usr/lib/llvm-19/lib")
    options.add_argument("--ptxas")
    options = options.parse_args()
    options.oriole = os.path.abspath(options.oriole)
    failed = 0
    with tempfile.TemporaryDirectory(prefix="openmp.") as folder:
        pathlib.Path(folder, "omp.h").write_text("static int omp_get_thread_num(void) { return 0; }\nstatic int omp_get_num_threads(void) { return 1; }\n")
        chosen = [name for name in PROGRAMS if re.search(options.only, name)]
        hosts = {name: by_host(name, PROGRAMS[name][0], folder) for name in chosen}
        for target in options.targets.split(","):
            for way in WAYS:
                right, sizes = 0, []
                for name in chosen:
                    for level in (1, 2, 3):
                        try:
                            right += tried(options, name, level, target, way, folder, hosts[name], sizes)
                        except RuntimeError as error:
                            print(f"{name} -O{level} {target} {way}: {error}", flush=True)
                beside = f", code {math.exp(sum(map(math.log, sizes)) / len(sizes)):.3f} of ptxas's" if sizes else ""
                print(f"{target} {way}: {right} of {3 * len(chosen)} programs right{beside}", flush=True)
                failed += 3 * len(chosen) - right
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
