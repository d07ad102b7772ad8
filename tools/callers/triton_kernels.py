#!/usr/bin/env python3
"""Triton compiles its kernels by Oriole, with TRITON_PTXAS_PATH alone; what they compute on the simulator is compared.

    triton_kernels.py --oriole target/release/oriole [--targets sm_80,sm_90] [--only REGEX]

Run by the Python of an environment with Triton 3.6.0 and NumPy; no device is needed:
    python3 -m venv triton && triton/bin/pip install triton==3.6.0 numpy && triton/bin/python tools/callers/triton_kernels.py --oriole …

The cases are those of ../shared/kernels/triton/kernels.py. Each is compiled in a cache folder of its own by a link named `ptxas`, and
each cubin has to have Oriole's note: ptxas's own code has none, so what passes was compiled here. Each launch of a case then runs
on the strict simulator, against ../shared/kernels/expected. Exit status 1 if anything is missing or wrong.
"""
import os, re, sys, tempfile
from launches import KERNELS, Tally, link_ptxas, parser

# Architectures that get a suffix from Triton, so that the note of a target is found under its plain name.
ARCHS = {"sm_80": 80, "sm_90": 90, "sm_100": 100}


def arguments():
    options = parser(__doc__)
    return options.parse_args()


def use(oriole, folder):
    """Have Triton call Oriole: by the environment, as its users would."""
    os.environ["TRITON_PTXAS_PATH"] = os.environ["TRITON_PTXAS_BLACKWELL_PATH"] = link_ptxas(oriole, folder)
    os.environ["TRITON_CACHE_DIR"] = os.path.join(folder, "cache")


def compiled(case, arch):
    """The cubin of a case; None where it is not for the architecture."""
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
    return triton.compile(source, target=GPUTarget("cuda", arch, 32), options=options).asm["cubin"]


def main():
    options = arguments()
    sys.path.insert(0, str(KERNELS / "triton"))
    failed = 0
    with tempfile.TemporaryDirectory(prefix="triton.") as folder:
        use(options.oriole, folder)
        from kernels import CASES
        for target in options.targets.split(","):
            tally = Tally(options.oriole, "Triton", target, folder, files=("launch_triton.json",))
            for name, case in CASES.items():
                if not re.search(options.only, name):
                    continue
                try:
                    cubin = compiled(case, ARCHS[target])
                except Exception as error:
                    tally.refuse(name, f"{type(error).__name__}: {error}")
                    continue
                if cubin is not None:
                    tally.add(f"triton_{name}", cubin)
            failed += tally.close()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
