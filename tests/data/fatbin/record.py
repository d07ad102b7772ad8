"""record.py CUOBJDUMP > cuobjdump.txt: what cuobjdump says of the files of this folder, and what it takes out of them.

The contents of what it takes out stand here as a size and a sum (FNV-1a, 64 bits).
"""

import subprocess
import sys
import tempfile
from pathlib import Path

folder = Path(__file__).resolve().parent


def say(path, *options, cwd=None):
    command = [sys.argv[1], *options, str(path)]
    text = subprocess.run(command, cwd=cwd, capture_output=True, text=True).stdout
    lines = [line for line in text.splitlines() if line and not line.startswith("cuobjdump ")]
    return "".join(line.replace(str(path), path.name) + "\n" for line in lines)


def fnv(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return value


for path in sorted(folder.iterdir()):
    if path.suffix not in (".fatbin", ".o", ".a") and not path.name.startswith("host"):
        continue
    for options in (["-lelf", "-lptx"], ["-all", "-lelf", "-lptx"], ["-all"]):
        print("$", *options, path.name)
        print(say(path, *options), end="")
    print("$ -all -xelf all -xptx all", path.name)
    with tempfile.TemporaryDirectory() as out:
        say(path, "-all", "-xelf", "all", "-xptx", "all", cwd=out)
        for made in sorted(Path(out).iterdir()):
            data = made.read_bytes()
            print(made.name, len(data), f"{fnv(data):016x}")
