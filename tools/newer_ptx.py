#!/usr/bin/env python3
"""Asks ptxas from which version on, and for which targets, it takes statements of PTX 9.1 and later.

    newer_ptx.py PTXAS [crates/ptx/tests/data/newer.tsv]

Each line of the file is version, targets and a statement; the first two are written again, `-` where no target takes it. PTXAS is that
of CUDA 13.5 or later. `crates/ptx/tests/newer.rs` holds the checker to the file.
"""
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
FILE = os.path.join(HERE, "..", "crates", "ptx", "tests", "data", "newer.tsv")
TARGETS = [f"sm_{name}" for name in "75 80 86 89 90 90a 100 100f 100a 103 103f 103a 107 107f 107a 110 110f 110a 120 120f 120a 121 121f 121a".split()]
VERSIONS = ["9.0", "9.1", "9.2", "9.3", "9.4", "9.5"]
# The kernel around a statement; crates/ptx/tests/newer.rs has the same.
MODULE = """.version {version}
.target {target}
.address_size 64
.visible .entry k()
{{
    .reg .pred p<4>; .reg .b8 c<4>; .reg .b16 h<8>; .reg .b32 r<240>; .reg .b64 d<20>; .reg .b128 q<4>;
    .reg .f32 f<20>; .reg .f64 e<4>;
    {statement}
    ret;
}}
"""


def takes(ptxas, version, target, statement):
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
        file.write(MODULE.format(version=version, target=target, statement=statement))
        file.flush()
        return subprocess.run([ptxas, "-arch", target, file.name, "-o", "/dev/null"], capture_output=True).returncode == 0


def verdict(ptxas, statement):
    """The lowest version, and the targets, in words of the file."""
    targets = [target for target in TARGETS if takes(ptxas, VERSIONS[-1], target, statement)]
    if not targets:
        return "-", "-"
    return next(version for version in VERSIONS if takes(ptxas, version, targets[-1], statement)), " ".join(name[3:] for name in targets)


def main():
    ptxas, path = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else FILE
    with open(path) as file:
        lines = [line.rstrip("\n") for line in file]
    statements = [line.split("\t")[-1] for line in lines if line and not line.startswith("#")]
    with ThreadPoolExecutor() as pool:
        verdicts = dict(zip(statements, pool.map(lambda statement: verdict(ptxas, statement), statements)))
    with open(path, "w") as out:
        for line in lines:
            statement = line.split("\t")[-1]
            out.write(line + "\n" if statement not in verdicts else "\t".join((*verdicts[statement], statement)) + "\n")


if __name__ == "__main__":
    main()
