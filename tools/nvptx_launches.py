#!/usr/bin/env python3
"""Run the launches of shared/kernels and tests/data/launches with the PTX of another folder.

    nvptx_launches.py PTX_DIR [--oriole PATH] [--targets sm_80,sm_90] [--shared DIR] [option of run_kernels.py ...]

PTX_DIR holds NAME.sm_NN.ptx: what a compiler made of shared/kernels/ll. Launches whose file is not there are left out
and counted. shared/tools/run_kernels.py and tools/run_extra.py (Triton's kernels) do the work, on a folder that looks
like shared/ but has the PTX of PTX_DIR.

Some launches are wrong with the PTX of libNVVM and of llc too, also when ptxas compiles it, since clang's IR
(kernels/ll-shim/shim.h) is not what NVRTC made: simd_bytes and mma_kinds compute something else, spin_lock never ends,
bulk_copy and cluster_dsmem are not in async_copy.ll. --timeout 30 saves time for spin_lock.
"""
import argparse, json, pathlib, subprocess, sys, tempfile

TOOLS = pathlib.Path(__file__).resolve().parent
SHARED = TOOLS.parents[1] / "shared"


def overlay(where, ptx, shared):
    """A folder like shared/, with other PTX."""
    kernels = where / "kernels"
    kernels.mkdir()
    (where / "tools").symlink_to(shared / "tools")
    for path in (shared / "kernels").iterdir():
        if path.name != "ptx":
            (kernels / path.name).symlink_to(path)
    (kernels / "ptx").symlink_to(ptx.resolve())
    return where


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("ptx", type=pathlib.Path)
    parser.add_argument("--oriole", default="target/release/oriole")
    parser.add_argument("--targets", default="sm_80,sm_90")
    parser.add_argument("--shared", type=pathlib.Path, default=SHARED)
    options, more = parser.parse_known_args()
    oriole = str(pathlib.Path(options.oriole).resolve())
    launches = json.loads((options.shared / "kernels" / "launch.json").read_text())["launches"]
    extra = json.loads((TOOLS.parent / "tests" / "data" / "launches" / "extra.json").read_text())["launches"]
    extra = [launch for launch in extra if launch["file"].startswith("triton_")]
    status = 0
    with tempfile.TemporaryDirectory(prefix="overlay.") as folder:
        shared = overlay(pathlib.Path(folder), options.ptx, options.shared)
        for target in options.targets.split(","):
            there = [launch["name"] for launch in launches if (options.ptx / f"{launch['file']}.{target}.ptx").exists()]
            print(f"{target}: {len(launches) - len(there)} launches have no PTX here", flush=True)
            common = ["--oriole", oriole, "--targets", target]
            status |= subprocess.run([sys.executable, shared / "tools" / "run_kernels.py", *common, "--only", ",".join(there), *more]).returncode
            for name in (launch["name"] for launch in extra if (options.ptx / f"{launch['file']}.{target}.ptx").exists()):
                command = [sys.executable, TOOLS / "run_extra.py", *common, "--shared", shared, "--only", name]
                status |= subprocess.run(command).returncode
    return status


if __name__ == "__main__":
    sys.exit(main())
