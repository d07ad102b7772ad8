#!/usr/bin/env python3
"""Compile time and code size of Oriole beside ptxas, on the kernels of tests/data/kernels.

    compare_with_ptxas.py --ptxas PATH [--oriole target/release/oriole] [--runs N] [--nvdisasm PATH]

Both compile one kernel of a file; the least CPU time of the process counts.
With --nvdisasm the instructions of both cubins are counted too (NOPs left out). Prints a row per kernel and
target, then geometric means; exit status 1 if Oriole is slower anywhere.
"""
import argparse, json, pathlib, subprocess, sys, tempfile

from compile_time import least, mean

KERNELS = pathlib.Path(__file__).resolve().parent.parent / "tests" / "data" / "kernels"


def instructions(nvdisasm, cubin):
    text = subprocess.run([nvdisasm, "-c", cubin], check=True, capture_output=True, text=True).stdout
    lines = [line for line in text.splitlines() if line.lstrip().startswith("/*")]
    return sum(" NOP" not in line for line in lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--ptxas", required=True)
    parser.add_argument("--oriole", default="target/release/oriole")
    parser.add_argument("--nvdisasm")
    parser.add_argument("--runs", type=int, default=10)
    options = parser.parse_args()
    speedups, sizes = [], []
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        ours, theirs = work / "ours.cubin", work / "theirs.cubin"
        for launch in json.loads((KERNELS / "launch.json").read_text())["launches"]:
            for target in launch["targets"]:
                ptx = KERNELS / "ptx" / f"{launch['file']}.{target}.ptx"
                entry = launch["entry"]
                a, b = least([[options.oriole, "compile", ptx, "--entry", entry, "--arch", target, "-o", ours],
                              [options.ptxas, ptx, "--entry", entry, f"-arch={target}", "-o", theirs]], options.runs)
                speedups.append(b / a)
                row = f"{launch['name']:24} {target} {a * 1e3:8.1f} ms {b * 1e3:8.1f} ms {b / a:6.2f}x"
                if options.nvdisasm:
                    x, y = (instructions(options.nvdisasm, cubin) for cubin in (ours, theirs))
                    sizes.append(x / y)
                    row += f"  {x:5} {y:5} {x / y:5.2f}"
                print(row, flush=True)
    print(f"geometric mean: {mean(speedups):.2f} times ptxas's speed, slowest {min(speedups):.2f}")
    if sizes:
        print(f"geometric mean: {mean(sizes):.3f} of ptxas's instructions")
    sys.exit(0 if min(speedups) > 1 else 1)


if __name__ == "__main__":
    main()
