#!/usr/bin/env python3
"""The code of several builds of Oriole (or of one with different knobs, or of ptxas) beside each other, launch by launch.

    compare_builds.py --simulator oriole [--targets sm_80,sm_90,sm_100a,sm_120a] [--only GLOB,...] [--worst 12]
                      [--cache FILE] [--limit 1.02] NAME=BINARY[,ARGUMENT...] NAME=BINARY[,ARGUMENT...] ...

The first is what the others are compared with. BINARY is an `oriole`; one whose file name is `ptxas` is called as ptxas is.
    compare_builds.py --simulator o-new old=o-old new=o-new without=o-new,--knob,uniform=0 ptxas=$P

Every cubin runs on the same simulator with the cycle model. For each target, once for Triton's launches and once for the
others: geometric means of cycles and executed warp instructions against the first, the share of instructions that execute on
the uniform datapath, executed R2UR, launches with lower occupancy than the first's, and the launches whose cycles exceed the
first's by more than --limit. Targets without PTX of their own get sm_90's where it asks for nothing of sm_90a. Results are
kept in --cache by the contents of the binaries, so that a build is measured once.
"""
import argparse, concurrent.futures, fnmatch, hashlib, json, math, pathlib, re, subprocess, sys, tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "shared" / "tools"))
import run_kernels as rk

PTX = pathlib.Path(rk.KERNELS) / "ptx"
OWN = ("sm_75", "sm_80", "sm_90", "sm_100")


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


def launches(target, patterns):
    """(launch, PTX file) of a target."""
    source = target if target in OWN else "sm_90"
    for launch in rk.load(files=("launch.json", "launch_triton.json")):
        path = PTX / f"{launch['file']}.{source}.ptx"
        wanted = any(fnmatch.fnmatch(launch[key], p) for p in patterns for key in ("name", "file"))
        if not wanted or source not in launch["targets"] or launch["check"]["mode"] == "fault":
            continue
        if target in OWN or not re.search(r"^\s*\.target\s+sm_90a", path.read_text(), re.M):
            yield launch, path


def measure(simulator, build, target, launch, path):
    binary, *arguments = build
    source = target if target in OWN else "sm_90"
    arch = rk.arch(str(path)) if target in OWN else target
    with tempfile.TemporaryDirectory(prefix="oriole.") as where:
        where = pathlib.Path(where)
        cubin, timing, stats = where / "cubin", where / "timing.json", where / "stats.json"
        if pathlib.Path(binary).name == "ptxas":
            command = [binary, f"-arch={arch}", path, "-o", cubin, *arguments]
        else:
            command = [binary, "compile", path, "--arch", arch, "-o", cubin, *arguments]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, errors="replace")
        if done.returncode:
            return {"error": done.stderr.strip()[-200:]}
        inputs, _ = rk.command_args(launch, str(where), source)
        command = [simulator, "run", cubin, "--threads", "1", "--timing", "--timing-file", timing, "--stats", stats, *inputs]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, errors="replace")
        if done.returncode:
            return {"error": done.stderr.strip()[-200:]}
        timing, stats = json.loads(timing.read_text()), json.loads(stats.read_text())
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
                lower = [l for l, r in chosen if r[name]["occupancy"] < r[first]["occupancy"] - 1e-9]
                line += (f"; cycles {mean([x for x, _ in ratios]):.4f}, instructions "
                         f"{mean([r[name]['warp'] / max(1, r[first]['warp']) for _, r in chosen]):.4f}"
                         f"\n      above {options.limit}: {len(above)}: {', '.join(above[:options.worst])}"
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
    parser.add_argument("builds", nargs="+", metavar="NAME=BINARY[,ARGUMENT...]")
    options = parser.parse_args()
    builds = {name: value.split(",") for name, _, value in (b.partition("=") for b in options.builds)}
    contents = lambda path: hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()[:16]
    keys = {name: ",".join([contents(b[0]), *b[1:]]) for name, b in builds.items()}
    known = json.loads(options.cache.read_text()) if options.cache and options.cache.exists() else {}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for target in options.targets:
            cases = list(launches(target, options.only))
            tasks = {}
            for name, build in builds.items():
                kept = known.setdefault(f"{keys[name]} {target}", {})
                for launch, path in cases:
                    if launch["name"] not in kept:
                        tasks[name, launch["name"]] = pool.submit(measure, options.simulator, build, target, launch, path)
            for (name, launch), task in tasks.items():
                known[f"{keys[name]} {target}"][launch] = task.result()
            if options.cache:
                options.cache.write_text(json.dumps(known))
            rows = [(l["name"], {n: known[f"{keys[n]} {target}"][l["name"]] for n in builds}) for l, _ in cases]
            report(target, rows, list(builds), options)


if __name__ == "__main__":
    main()
