#!/usr/bin/env python3
"""On how many functions of the corpus each phase changes something, and how often its rules fire, as a Markdown table.

    phase_changes.py [--oriole target/release/oriole] [--targets sm_80,sm_90] [--jobs N] [--option=OPTION]... [FOLDER]

Every FILE.TARGET.ptx of FOLDER is compiled with --dump-all for the target that it names itself. A phase counts as changing a
function if its Ori text is another one than before; phases that --dump-all does not name have not run.
"""
import argparse, concurrent.futures, json, pathlib, subprocess, sys, tempfile


def index(oriole, ptx, options):
    """What `oriole diff` reads: the functions with their phases."""
    with tempfile.TemporaryDirectory(prefix="oriole.") as folder:
        command = [oriole, "compile", ptx, "-o", "/dev/null", "--dump-all", folder, *options]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{ptx}: {done.stderr.strip()}")
        return json.loads((pathlib.Path(folder) / "phases.json").read_text())["functions"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--oriole", default="target/release/oriole")
    parser.add_argument("--targets", default="sm_80,sm_90")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--option", action="append", default=[])
    parser.add_argument("folder", nargs="?", default="../shared/kernels/ptx")
    options = parser.parse_args()
    targets = options.targets.split(",")
    functions, order, changed, rewrites = {}, [], {}, {}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for target in targets:
            files = sorted(pathlib.Path(options.folder).glob(f"*.{target}.ptx"))
            functions[target] = 0
            for found in pool.map(lambda ptx: index(options.oriole, ptx, options.option), files):
                functions[target] += len(found)
                for phase in (phase for function in found for phase in function["phases"][1:]):
                    name = phase["phase"]
                    if name not in order:
                        order.append(name)
                    key = (name, target)
                    changed[key] = changed.get(key, 0) + phase["changed"]
                    rewrites[key] = rewrites.get(key, 0) + sum(phase["rules"].values())
    heads = [f"{target}: functions of {functions[target]} | rewrites" for target in targets]
    print("| phase | " + " | ".join(heads) + " |")
    print("|---" * (1 + 2 * len(targets)) + "|")
    for name in order:
        cells = [f"{changed.get((name, target), 0)} | {rewrites.get((name, target), 0) or '-'}" for target in targets]
        print(f"| {name} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
