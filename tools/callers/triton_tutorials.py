#!/usr/bin/env python3
"""Triton's own tutorials, as they are published, on the simulator: PyTorch on the CPU says what is right.

    triton_tutorials.py FOLDER [--arch sm_90] [--only REGEX]

FOLDER has 01-vector-add.py to 05-layer-norm.py of Triton's repository (python/tutorials). Each runs unchanged as a program, in an
environment with Triton 3.6.0, PyTorch, numpy and Oriole's Python package. What they measure at the end is left out: benchmarks of
gigabytes. Most compare with PyTorch themselves; where one only prints a difference it is looked at here. Each has to launch kernels,
each cubin has to be Oriole's. Exit status 1 if anything is wrong.
"""
import argparse, contextlib, io, os, pathlib, re, runpy, sys, tempfile, time


def same(names, text):
    """Whether the tutorial's two results are equal, or as near as floats go."""
    return names["torch"].allclose(names["output_triton"], names["output_torch"])


# By tutorial: whether it is right, from its names and what it printed. Assertions of its own come on top.
TUTORIALS = {
    "01-vector-add": same,
    "02-fused-softmax": lambda names, text: True,
    "03-matrix-multiplication": lambda names, text: "Triton and Torch match" in text and "differ" not in text,
    "04-low-memory-dropout": lambda names, text: "keep mask" in text,
    "05-layer-norm": lambda names, text: True,
}
NOTE = b"oriole".ljust(12, b"\0")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--only", default="")
    return parser.parse_args()


def prepare():
    """Marks that measure run nothing, and PyTorch's layer norm of halves is computed in floats: on the CPU it adds halves up in
    halves, and is further from the sum of a thousand gradients (0.07) than the tutorial allows (0.01)."""
    import torch, triton
    plain = torch.nn.functional.layer_norm

    def layer_norm(x, shape, weight, bias, eps):
        return plain(x.float(), shape, weight.float(), bias.float(), eps).to(x.dtype)

    torch.nn.functional.layer_norm = layer_norm
    triton.testing.perf_report = lambda benchmarks: lambda function: type("Unmeasured", (), {"run": lambda *words, **names: None})()


def tried(path, is_right):
    """What is wrong with a tutorial, or nothing."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        names = runpy.run_path(str(path), run_name="__main__")
        right = is_right(names, output.getvalue())
    return "" if right else f"wrong: {output.getvalue()[-300:]}"


def main():
    options = arguments()
    sys.dont_write_bytecode = True
    # Plots are for windows.
    os.environ["MPLBACKEND"] = "Agg"
    failed = 0
    with tempfile.TemporaryDirectory(prefix="tutorials.") as folder:
        os.environ["TRITON_CACHE_DIR"] = folder
        import oriole_gpu.triton
        driver = oriole_gpu.triton.activate(options.arch)
        prepare()
        for name, is_right in TUTORIALS.items():
            if not re.search(options.only, name):
                continue
            start, before = time.monotonic(), driver.launches
            try:
                error = tried(options.folder / f"{name}.py", is_right)
            except Exception as problem:
                error = f"{type(problem).__name__}: {problem}"
            ran = driver.launches - before
            error = error or ("" if ran else "no kernel ran")
            failed += bool(error)
            print(f"{name} {options.arch}: {ran} launches, {error or 'right'} ({time.monotonic() - start:.1f} s)", flush=True)
        cubins = list(pathlib.Path(folder).rglob("*.cubin"))
        own = sum(NOTE in cubin.read_bytes() for cubin in cubins)
        print(f"{len(cubins)} cubins, {own} of them Oriole's", flush=True)
    return 1 if failed or own != len(cubins) or not cubins else 0


if __name__ == "__main__":
    sys.exit(main())
