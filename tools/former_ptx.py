#!/usr/bin/env python3
"""Ask ptxas about the modules of crates/ptx/tests/data/former.txt, and write its verdicts into the file.

    former_ptx.py --ptxas PATH [--arch sm_75] [FILE]

The modules have the shape that nvcc 2.2 to 4.1 wrote. `pairs` has the versions and targets that each is tried for; a module begins with
`== TITLE`, a line of verdicts, `ok` or `no` for each pair, and its text without `.version` and `.target`. `crates/ptx/tests/former.rs` compares.
"""
import argparse
import pathlib
import subprocess
import tempfile

DEFAULT = pathlib.Path(__file__).resolve().parent.parent / "crates/ptx/tests/data/former.txt"


def verdict(options, version, target, text, folder):
    path = folder / "module.ptx"
    path.write_text(f".version {version}\n.target {target}\n{text}")
    done = subprocess.run([options.ptxas, "-arch", options.arch, path, "-o", folder / "out"], capture_output=True)
    # A crash is no verdict.
    assert done.returncode >= 0, (version, target, text)
    return "ok" if done.returncode == 0 else "no"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ptxas", required=True)
    parser.add_argument("--arch", default="sm_75")
    parser.add_argument("file", nargs="?", type=pathlib.Path, default=DEFAULT)
    options = parser.parse_args()
    head, *modules = options.file.read_text().split("\n== ")
    line = next(line for line in head.splitlines() if line.startswith("pairs: "))
    pairs = [pair.split(" ", 1) for pair in line[len("pairs: "):].split("; ")]
    parts = [head]
    with tempfile.TemporaryDirectory() as folder:
        for module in modules:
            title, _, text = module.split("\n", 2)
            verdicts = [verdict(options, version, target, text, pathlib.Path(folder)) for version, target in pairs]
            parts.append(f"{title}\n{' '.join(verdicts)}\n{text}")
    options.file.write_text("\n== ".join(parts))


if __name__ == "__main__":
    main()
