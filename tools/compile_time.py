#!/usr/bin/env python3
"""CPU time of whole compilations, Oriole's beside ptxas's: every .ptx file below a folder, each for its own target.

    compile_time.py --ptxas PATH [--oriole target/release/oriole] [--runs N] [FOLDER]

The two take turns; of each file counts the least time of either (user and system, of the process). Prints the geometric
mean of the ratios, lines of PTX for each second of ours, an empty module beside `true`, and the files with the least ratio.
"""
import argparse, math, os, pathlib, re, sys, tempfile

EMPTY = ".version 8.0\n.target sm_80\n.address_size 64\n"


def cpu_seconds(command):
    """Of one run; None where it fails. Not by `fork`: to copy this process's page tables is counted to the child, 0.7 ms."""
    quiet = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_WRONLY, 0) for stream in (1, 2)]
    pid = os.posix_spawnp(command[0], command, os.environ, file_actions=quiet)
    _, status, usage = os.wait4(pid, 0)
    return usage.ru_utime + usage.ru_stime if status == 0 else None


def least(commands, runs):
    """The least CPU seconds of each command; None for one that fails. They take turns."""
    times = [[cpu_seconds([str(word) for word in command]) for command in commands] for _ in range(runs)]
    return [None if None in column else min(column) for column in zip(*times)]


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--ptxas", required=True)
    parser.add_argument("--oriole", default="target/release/oriole")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("folder", nargs="?", default="../shared/kernels")
    options = parser.parse_args()
    rows, lines = [], 0
    with tempfile.TemporaryDirectory() as work:
        ours, theirs, empty = (pathlib.Path(work) / name for name in ("ours.cubin", "theirs.cubin", "empty.ptx"))
        compile = lambda ptx: [options.oriole, "compile", ptx, "-o", ours]
        for ptx in sorted(pathlib.Path(options.folder).rglob("*.ptx")):
            text = ptx.read_text()
            target = re.search(r"\.target\s+(sm_\w+)", text)[1]
            a, b = least([compile(ptx), [options.ptxas, f"-arch={target}", ptx, "-o", theirs]], options.runs)
            if a is None or b is None:
                print(f"{ptx}: not compiled by {'Oriole' if a is None else 'ptxas'}")
                continue
            rows.append((b / a, a, b, ptx))
            lines += text.count("\n")
        empty.write_text(EMPTY)
        nothing, true = least([compile(empty), ["true"]], 20 * options.runs)
    if not rows:
        sys.exit("no file was compiled by both")
    print(f"{len(rows)} files: {mean([row[0] for row in rows]):.2f} times as fast as ptxas in the geometric mean, "
          f"{lines / sum(row[1] for row in rows):,.0f} lines a CPU second")
    print(f"empty module {1e3 * nothing:.2f} ms, `true` {1e3 * true:.2f} ms")
    for ratio, a, b, ptx in sorted(rows)[:5]:
        print(f"{ratio:6.2f}  {1e3 * a:8.2f} ms  {1e3 * b:8.2f} ms  {ptx}")


if __name__ == "__main__":
    main()
