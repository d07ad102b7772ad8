#!/usr/bin/env python3
"""The code of several builds of Oriole (or of one with different knobs, or of ptxas) beside each other, launch by launch.

    compare_builds.py --simulator oriole [--targets sm_80,sm_90,sm_100a,sm_120a] [--only GLOB,...] [--worst 12]
                      [--cache FILE] [--limit 1.02] [--ir LIBDEVICE] NAME=BINARY[,ARGUMENT...] NAME=BINARY[,ARGUMENT...] ...

The first is what the others are compared with. BINARY is an `oriole`; one whose file name is `ptxas` is called as ptxas is.
    compare_builds.py --simulator o-new old=o-old new=o-new without=o-new,--knob,uniform=0 ptxas=$P

With --ir the way starts from shared/kernels/ll: `oriole nvptx` with the ARGUMENTs, linked with LIBDEVICE, then `oriole compile`.
    compare_builds.py --simulator o-new --ir libdevice.10.bc --targets sm_80,sm_90 all=o-new without=o-new,--disable-pass,unroll

Every cubin runs on the same simulator with the cycle model, and what it computes is compared with shared/kernels/expected:
what is wrong is listed and counts in no mean (lines that kernels print are not compared). Cubins of the same bytes run once for
each launch. For each target, once for Triton's launches and once for the others: geometric means of cycles and executed warp instructions against the first, the share of instructions that execute on
the uniform datapath, executed R2UR, launches with lower occupancy than the first's, the launches whose cycles exceed the
first's by more than --limit, and those that fall short of them by as much. Targets without PTX of their own get sm_90's where it asks for nothing of sm_90a. Results are
kept in --cache by the contents of the binaries, so that a build is measured once.
"""
import argparse, concurrent.futures, fnmatch, functools, hashlib, json, math, pathlib, re, subprocess, sys, tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "shared" / "tools"))
import run_kernels as rk

PTX = pathlib.Path(rk.KERNELS) / "ptx"
IR = pathlib.Path(rk.KERNELS) / "ll"
OWN = ("sm_75", "sm_80", "sm_90", "sm_100")
# Seconds that a command may take.
TIMEOUT = 120


def contents(path):
    """A short digest of a file."""
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()[:16]


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


def launches(target, patterns, ir):
    """(launch, PTX or IR file) of a target."""
    source = target if target in OWN else "sm_90"
    for launch in rk.load(files=("launch.json", "launch_triton.json")):
        path = PTX / f"{launch['file']}.{source}.ptx"
        wanted = any(fnmatch.fnmatch(launch[key], p) for p in patterns for key in ("name", "file"))
        if not wanted or source not in launch["targets"] or launch["check"]["mode"] == "fault":
            continue
        if ir:
            of_ir = [IR / f"{launch['file']}{target}.ll" for target in ("", f".{source}")]
            yield from ((launch, path) for path in of_ir if path.exists() and defines(path, launch["entry"]))
            continue
        if target in OWN or not re.search(r"^\s*\.target\s+sm_90a", path.read_text(), re.M):
            yield launch, path


@functools.cache
def defines(path, entry):
    """Whether a module of LLVM IR has a kernel."""
    return re.search(rf"^define .*@{re.escape(entry)}\(", path.read_text(), re.M) is not None


def call(command):
    """None when a command succeeds, else the end of what it says."""
    try:
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, errors="replace", timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        return f"no end after {TIMEOUT} s"
    return (done.stderr.strip()[-200:] or f"exit status {done.returncode}") if done.returncode else None


def compiling(build, arch, launch, path, where, library):
    """The commands that make `where`/cubin."""
    binary, *arguments = build
    cubin = where / "cubin"
    if pathlib.Path(binary).name == "ptxas":
        return [[binary, f"-arch={arch}", path, "-o", cubin, *arguments]]
    if path.suffix == ".ll":
        ptx = where / "ir.ptx"
        return [[binary, "nvptx", path, "--arch", arch, "-o", ptx, "--link", library, *arguments],
                [binary, "compile", ptx, "--arch", arch, "-o", cubin, "--entry", launch["entry"]]]
    return [[binary, "compile", path, "--arch", arch, "-o", cubin, *arguments]]


def wrong(launch, paths):
    """None when the buffers hold what they must, else a sentence."""
    for (number, argument, check), path in zip(rk.outputs(launch), paths):
        expected = pathlib.Path(rk.KERNELS) / "expected" / f"{launch['name']}.{number}.bin"
        want = b"" if check["mode"] in ("any", "range") else expected.read_bytes()
        message = rk.compare(pathlib.Path(path).read_bytes(), want, argument["type"], check)
        if message:
            return f"output {number}: {message}"
    return None


def measure(simulator, build, target, launch, path, library, seen):
    source = target if target in OWN else "sm_90"
    arch = rk.arch(str(PTX / f"{launch['file']}.{source}.ptx")) if target in OWN else target
    with tempfile.TemporaryDirectory(prefix="oriole.") as where:
        where = pathlib.Path(where)
        cubin, timing, stats = where / "cubin", where / "timing.json", where / "stats.json"
        error = next(filter(None, map(call, compiling(build, arch, launch, path, where, library))), None)
        if error:
            return {"error": error}
        code = f"{launch['name']} {contents(cubin)}"
        if code in seen:
            return seen[code]
        inputs, outputs = rk.command_args(launch, str(where), source)
        error = call([simulator, "run", cubin, "--threads", "1", "--timing", "--timing-file", timing, "--stats", stats, *inputs])
        error = error or wrong(launch, outputs)
        seen[code] = {"error": error} if error else counted(json.loads(timing.read_text()), json.loads(stats.read_text()))
    return seen[code]


def counted(timing, stats):
    """What is kept of a launch."""
    uniform = sum(n for op, n in stats["opcodes"].items()
                  if op.startswith(("U", "R2UR", "S2UR")) and not op.startswith(("UTMA", "UBLK")))
    return {"cycles": timing["cycles"], "warp": stats["warp_instructions"], "occupancy": timing["occupancy"]["theoretical"],
            "share": uniform / max(1, sum(stats["opcodes"].values())),
            "r2ur": sum(n for op, n in stats["opcodes"].items() if op.startswith("R2UR"))}


def report(target, rows, names, options):
    for triton in (False, True):
        chosen = [(l, r) for l, r in rows if l.startswith("triton_") == triton and all("error" not in r[n] for n in names)]
        if not chosen:
            continue
        print(f"{target}{' Triton' if triton else ''}: {len(chosen)} launches")
        first = names[0]
        for name in names:
            share = 100 * sum(r[name]["share"] for _, r in chosen) / len(chosen)
            line = f"   {name:10} uniform {share:.2f} %, R2UR {sum(r[name]['r2ur'] for _, r in chosen)}"
            if name != first:
                ratios = sorted(((r[name]["cycles"] / max(1, r[first]["cycles"]), l) for l, r in chosen), reverse=True)
                above = [f"{l} {x:.2f}" for x, l in ratios if x > options.limit]
                below = [f"{l} {x:.2f}" for x, l in reversed(ratios) if x < 1 / options.limit]
                lower = [l for l, r in chosen if r[name]["occupancy"] < r[first]["occupancy"] - 1e-9]
                line += (f"; cycles {mean([x for x, _ in ratios]):.4f}, instructions "
                         f"{mean([r[name]['warp'] / max(1, r[first]['warp']) for _, r in chosen]):.4f}"
                         f"\n      above {options.limit}: {len(above)}: {', '.join(above[:options.worst])}"
                         f"\n      below {1 / options.limit:.2f}: {len(below)}: {', '.join(below[:options.worst])}"
                         f"\n      occupancy lower: {len(lower)} {', '.join(lower[:options.worst])}")
            print(line)
    for launch, row in rows:
        for name in names:
            if "error" in row[name]:
                print(f"   {name} {launch} {target}: {row[name]['error']}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--simulator", required=True)
    parser.add_argument("--targets", default="sm_80,sm_90,sm_100a,sm_120a", type=lambda s: s.split(","))
    parser.add_argument("--only", default="*", type=lambda s: s.split(","))
    parser.add_argument("--worst", type=int, default=12)
    parser.add_argument("--limit", type=float, default=1.02)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--cache", type=pathlib.Path)
    parser.add_argument("--ir", type=pathlib.Path, metavar="LIBDEVICE")
    parser.add_argument("builds", nargs="+", metavar="NAME=BINARY[,ARGUMENT...]")
    options = parser.parse_args()
    builds = {name: value.split(",") for name, _, value in (b.partition("=") for b in options.builds)}
    if len(builds) < len(options.builds):
        parser.error("two builds have one name")
    way = ["ir"] if options.ir else []
    keys = {name: ",".join([contents(b[0]), *way, *b[1:]]) for name, b in builds.items()}
    known = json.loads(options.cache.read_text()) if options.cache and options.cache.exists() else {}
    seen = known.setdefault(f"cubins on {contents(options.simulator)}", {})
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for target in options.targets:
            cases = list(launches(target, options.only, options.ir))
            tasks = {}
            for name, build in builds.items():
                kept = known.setdefault(f"{keys[name]} {target}", {})
                for launch, path in cases:
                    if launch["name"] not in kept:
                        task = pool.submit(measure, options.simulator, build, target, launch, path, options.ir, seen)
                        tasks[name, launch["name"]] = task
            for (name, launch), task in tasks.items():
                known[f"{keys[name]} {target}"][launch] = task.result()
            if options.cache:
                options.cache.write_text(json.dumps(known))
            rows = [(l["name"], {n: known[f"{keys[n]} {target}"][l["name"]] for n in builds}) for l, _ in cases]
            report(target, rows, list(builds), options)


if __name__ == "__main__":
    main()
