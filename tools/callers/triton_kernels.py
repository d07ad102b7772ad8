#!/usr/bin/env python3
"""Triton compiles its kernels by Oriole; what they compute on the simulator is compared.

    triton_kernels.py --oriole target/release/oriole [--targets sm_80,sm_90] [--only REGEX] [--package | --ir text | --ir bitcode]

Run by the Python of an environment with Triton 3.6 to 3.9 and NumPy; no device is needed:
    python3 -m venv triton && triton/bin/pip install triton==3.9.0 numpy && triton/bin/python tools/callers/triton_kernels.py --oriole …

The cases are those of ../shared/kernels/triton/kernels.py. Each is compiled in a cache folder of its own, told of Oriole by
TRITON_PTXAS_PATH alone (a link named `ptxas`), or with --package by `oriole_gpu.triton.activate`, where the environment has Oriole's
Python package. Each cubin has to have Oriole's note: ptxas's own code has none, so what passes was compiled here. Each launch of a
case then runs on the strict simulator with the threads, shared memory and scratch memory that this Triton asks for, against
../shared/kernels/expected. Launches that want more shared memory than the target has, which Triton refuses, and those of code for
the tensor cores of sm_100 and sm_103 (`tcgen05`), which the simulator has not yet, are counted and not run. With --ir the cubins
are those that `oriole compile` makes of Triton's LLVM IR, its text or what the LLVM of its wheel writes as bitcode. Exit status 1 if
anything is missing or wrong.
"""
import os, pathlib, re, subprocess, sys, tempfile
from launches import KERNELS, Tally, link_ptxas, parser, shared_limits

# The target whose launches are those of another: sm_75 has no code of its own there, and what sm_90 computes later targets do.
LIKE = {"sm_75": "sm_80", "sm_80": "sm_80", "sm_86": "sm_80", "sm_89": "sm_80"}

# Cases that Triton's own passes end with an error for a target.
LEFT = {("matmul_i8", "sm_75")}


def arguments():
    options = parser(__doc__)
    way = options.add_mutually_exclusive_group()
    way.add_argument("--package", action="store_true", help="by oriole_gpu.triton in place of TRITON_PTXAS_PATH")
    way.add_argument("--ir", choices=["text", "bitcode"], help="from Triton's LLVM IR")
    return options.parse_args()


def as_triton(target):
    """The target with the suffix that Triton gives it: from sm_90 on its code is for that chip alone."""
    return target + "a" if int(target[3:]) >= 90 else target


def use(options, folder):
    """Have Triton call Oriole, as its users would."""
    os.environ["TRITON_CACHE_DIR"] = os.path.join(folder, "cache")
    if not options.package:
        link = link_ptxas(options.oriole, folder)
        os.environ["TRITON_PTXAS_PATH"] = os.environ["TRITON_PTXAS_BLACKWELL_PATH"] = link


def compiled(case, arch):
    """A case as Triton compiled it; None where it is not for the architecture."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    kernel, signature, constants, options = case
    options = dict(options)
    if arch < options.pop("min_arch", 0):
        return None
    order = kernel.arg_names
    types_of = {name: "constexpr" if name in constants else signature[name] for name in order}
    aligned = ("sam", "sbk", "scm", "sm", "sh", "sx", "so", "cols", "K", "N", "n", "xnumel", "rnumel")
    attributes = {(at,): [["tt.divisibility", 16]] for at, name in enumerate(order)
                  if types_of[name].startswith("*") or name in aligned}
    values = {(order.index(name),): value for name, value in constants.items()}
    source = ASTSource(kernel, types_of, values, attributes)
    return triton.compile(source, target=GPUTarget("cuda", arch, 32), options=options)


def of_ir(kernel, target, options, folder):
    """The cubin that Oriole makes of the kernel's LLVM IR."""
    text = kernel.asm["llir"]
    if options.ir == "bitcode":
        sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "llvm"))
        import triton_llvm
        path, content = os.path.join(folder, "kernel.bc"), triton_llvm.bitcode(text)
    else:
        path, content = os.path.join(folder, "kernel.ll"), text.encode()
    pathlib.Path(path).write_bytes(content)
    cubin = os.path.join(folder, "kernel.cubin")
    done = subprocess.run([options.oriole, "compile", path, "--arch", target, "-o", cubin], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip())
    return pathlib.Path(cubin).read_bytes()


def fitted(launch, kernel, limit):
    """A launch with the sizes that Triton gives for the kernel; None where it needs what the simulator or the target has not."""
    metadata = kernel.metadata
    if "tcgen05" in kernel.asm["ptx"] or metadata.shared > limit:
        return None
    blocks = launch["grid"][0] * launch["grid"][1] * launch["grid"][2] * metadata.num_ctas
    scratch = {"scratch": metadata.global_scratch_size, "profile": metadata.profile_scratch_size}

    def argument(given):
        size = scratch.get(given["name"], 0) * blocks
        return {"kind": "in", "name": given["name"], "type": "u8", "count": size, "fill": "zeros"} if size else given

    return {**launch, "block": [32 * metadata.num_warps, 1, 1], "shared": metadata.shared, "args": [argument(a) for a in launch["args"]]}


def main():
    options = arguments()
    sys.path.insert(0, str(KERNELS / "triton"))
    failed, limits = 0, shared_limits(options.oriole)
    with tempfile.TemporaryDirectory(prefix="triton.") as folder:
        use(options, folder)
        import triton
        from kernels import CASES
        caller = f"Triton {triton.__version__}" + (" with oriole_gpu.triton" if options.package else "")
        caller += f", its IR's {options.ir}" if options.ir else ""
        for target in options.targets.split(","):
            if options.package:
                import oriole_gpu.triton
                oriole_gpu.triton.activate(target)
            tally = Tally(options.oriole, caller, target, folder, files=("launch_triton.json",))
            for name, case in CASES.items():
                if not re.search(options.only, name) or (name, target) in LEFT:
                    continue
                try:
                    kernel = compiled(case, int(target[3:]))
                    cubin = kernel and (of_ir(kernel, as_triton(target), options, folder) if options.ir else kernel.asm["cubin"])
                except Exception as error:
                    tally.refuse(name, f"{type(error).__name__}: {error}")
                    continue
                if kernel is not None:
                    tally.add(f"triton_{name}", cubin, LIKE.get(target, "sm_90"),
                              lambda launch: fitted(launch, kernel, limits[target]))
            failed += tally.close()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
