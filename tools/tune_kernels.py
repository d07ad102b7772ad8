#!/usr/bin/env python3
"""`oriole tune` on launches of ../shared/kernels, one after the other, as a table of docs/tuning.md.

    tune_kernels.py --oriole PATH [--target sm_90] [--only NAME,...] [--sms N] [--json FILE] [TUNE OPTION...]

What stands behind the options of this script goes to `oriole tune`: --seconds 60 --jobs 2 --seed 7. One line a launch: cycles and
registers of plain -O3 and of the best code, what is gained, how many candidates there were and how many were refused; the geometric
mean at the end. With --sms the chip has so many multiprocessors, which a launch of this size fills. With --json each launch's report
too. Each cubin is run once more by `oriole run`, with the figures that are printed and against ../shared/kernels/expected as
run_kernels.py compares: what differs is an error.
"""
import argparse, json, math, pathlib, re, subprocess, sys, tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "shared" / "tools"))
import run_kernels as rk

PTX = pathlib.Path(rk.KERNELS) / "ptx"
# Ten that are bound by different things: products from registers and through shared memory, one of Triton's on tensor cores, a
# search without loads, chains of special functions, stencils, reductions.
TEN = ("sgemm_vec", "gemm_naive", "sph_density", "knn8", "nqueens", "covar_mean", "bilateral", "kmeans_assign",
       "triton_matmul_f16", "triton_softmax_1k")


def call(command):
    return subprocess.run(list(map(str, command)), capture_output=True, text=True)


def tuned(oriole, launch, target, options, sms, where):
    """The report of a launch; its cubin is what the report says."""
    words, _ = rk.command_args(launch, str(where), target)
    words = (["--timing-sms", sms] if sms else []) + words
    cubin, report = where / "tuned.cubin", where / "report.json"
    source = PTX / f"{launch['file']}.{target}.ptx"
    done = call([oriole, "tune", source, "-q", "-o", cubin, "--report", report, *options, "--", *words])
    if done.returncode:
        sys.exit(f"{launch['name']}: {done.stderr}")
    found = json.loads(report.read_text())
    run = call([oriole, "run", cubin, "--timing", *words])
    cycles = re.search(r"cycles +(\d+)", run.stderr)
    if run.returncode or not cycles or int(cycles[1]) != found["best"]["cycles"]:
        sys.exit(f"{launch['name']}: the cubin is not what the report says: {run.stderr[-300:]}")
    again = argparse.Namespace(oriole=oriole, engine="sim", strict=True, timeout=600)
    _, right, message, _ = rk.run_and_check(launch, target, str(cubin), str(where), again)
    if not right:
        sys.exit(f"{launch['name']}: the cubin is wrong: {message}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--oriole", required=True)
    parser.add_argument("--target", default="sm_90")
    parser.add_argument("--only", default=",".join(TEN))
    parser.add_argument("--sms")
    parser.add_argument("--json")
    own, options = parser.parse_known_args()
    names = own.only.split(",")
    launches = {launch["name"]: launch for launch in rk.load(files=("launch.json", "launch_triton.json"))}
    reports, gains = {}, []
    print("| launch | plain | best | fewer cycles | registers | candidates, codes | refused |\n|---|---|---|---|---|---|---|")
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            found = tuned(own.oriole, launches[name], own.target, options, own.sms, pathlib.Path(folder))
        plain, best = found["plain"], found["best"]
        gains.append(best["cycles"] / plain["cycles"])
        reports[name] = found
        registers = " -> ".join(str(max(side["registers"])) for side in (plain, best))
        print(f"| `{name}` | {plain['cycles']} | {best['cycles']} | {best['gain_percent']:.1f} % | {registers} | "
              f"{found['candidates']}, {found['codes']} | {len(found['refused'])} |", flush=True)
    mean = math.exp(sum(map(math.log, gains)) / len(gains))
    print(f"| geometric mean | | {mean:.3f} of plain | {100 * (1 - mean):.1f} % | | | |")
    if own.json:
        pathlib.Path(own.json).write_text(json.dumps(reports, indent=1) + "\n")


if __name__ == "__main__":
    main()
