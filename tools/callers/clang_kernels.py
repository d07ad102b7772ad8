#!/usr/bin/env python3
"""clang compiles CUDA C++ with Oriole as its ptxas, by --ptxas-path alone; what the kernels compute is compared.

    clang_kernels.py --oriole target/release/oriole --libdevice libdevice.10.bc [--clang clang-19] [--targets sm_80,sm_90] [--only REGEX]

The files are those of ../shared/kernels/src, with the shim that stands in for CUDA's headers (all but textures and half, which the
shim does not do); the shim leaves the functions of libdevice open, which every CUDA toolkit has. Each cubin has to have Oriole's note, and each launch runs on the strict simulator against
../shared/kernels/expected. Exit status 1 if anything is missing or wrong.
"""
import concurrent.futures, os, pathlib, re, shlex, subprocess, sys, tempfile
from launches import KERNELS, Tally, link_ptxas, parser

# What the shim does not do.
LEFT = ("textures", "half")
# From sm_90 on the file has a kernel of clusters, an attribute that clang 19 does not know.
LEFT_WITH_CLUSTERS = "async_copy"
# Launches that clang's own PTX fails, whoever assembles it: what the PTX interpreter computes on simd_bytes is what NVIDIA's ptxas's
# code and Oriole's compute, and the release of spin_lock stands behind the place where the warp comes together, so that ptxas's
# code waits for ever too.
FAILED_BY_CLANG = ("simd_bytes", "spin_lock")


def arguments():
    options = parser(__doc__)
    options.add_argument("--libdevice", required=True)
    options.add_argument("--clang", default="clang-19")
    return options.parse_args()


def compiled(options, ptxas, target, file, cubin):
    """Nothing, or what clang says."""
    ended = subprocess.run(
        [*shlex.split(options.clang), "-x", "cuda", "--cuda-device-only", f"--cuda-gpu-arch={target}", f"--ptxas-path={ptxas}", "-nocudainc",
         "-nocudalib", "-Xclang", "-mlink-builtin-bitcode", "-Xclang", options.libdevice, "-Xclang", "-target-feature", "-Xclang",
         "+ptx83", "-std=c++17", "-O2", "-ffp-contract=fast", "-w", "-fno-crash-diagnostics",
         "-include", str(KERNELS / "ll-shim" / "shim.h"), "-c", str(file), "-o", cubin],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return ended.stdout[-300:] if ended.returncode else ""


def main():
    options = arguments()
    options.oriole = os.path.abspath(options.oriole)
    files = [file for file in sorted((KERNELS / "src").glob("*.cu")) if file.stem not in LEFT and re.search(options.only, file.stem)]
    failed = 0
    with tempfile.TemporaryDirectory(prefix="clang.") as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        ptxas = link_ptxas(options.oriole, folder)
        for target in options.targets.split(","):
            tally = Tally(options.oriole, "clang", target, folder)
            tally.launches = [launch for launch in tally.launches if launch["name"] not in FAILED_BY_CLANG]
            chosen = [file for file in files if target < "sm_90" or file.stem != LEFT_WITH_CLUSTERS]
            cubins = [os.path.join(folder, f"{file.stem}.{target}.clang") for file in chosen]
            errors = pool.map(lambda file, cubin: compiled(options, ptxas, target, file, cubin), chosen, cubins)
            for file, cubin, error in zip(chosen, cubins, errors):
                if error:
                    tally.refuse(file.stem, error)
                else:
                    tally.add(file.stem, pathlib.Path(cubin).read_bytes())
            failed += tally.close()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
