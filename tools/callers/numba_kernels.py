#!/usr/bin/env python3
"""numba-cuda's kernels compiled by Oriole, as ptxas would be called on their PTX; what they compute is compared.

    numba_kernels.py --oriole target/release/oriole [--targets sm_80,sm_90] [--only REGEX]

Run by the Python of an environment with numba-cuda; no device is needed: pip install "numba-cuda[cu13]" numpy. numba-cuda calls no
ptxas, it links in its own process; what it gives to others is `cuda.compile_ptx`, whose PTX goes to a link named `ptxas` here. The
launches run on the strict simulator against numpy. Exit status 1 if anything is missing or wrong.
"""
import math, os, pathlib, re, subprocess, sys, tempfile
import numpy as np
from numba import cuda, float32, float64, int32, uint32
from launches import NOTE, link_ptxas, parser

N = 256
GENERATOR = np.random.default_rng(63)
X = GENERATOR.uniform(-1, 1, N).astype(np.float32)
Y = GENERATOR.uniform(0.5, 2, N).astype(np.float32)
BYTES = GENERATOR.integers(0, 16, N).astype(np.uint32)
SQUARE = GENERATOR.uniform(-1, 1, (16, 16))


def saxpy(x, y, a):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = a * x[i] + y[i]


def block_sum(x, out):
    part = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    part[t] = x[cuda.grid(1)]
    cuda.syncthreads()
    step = 64
    while step > 0:
        if t < step:
            part[t] += part[t + step]
        cuda.syncthreads()
        step //= 2
    if t == 0:
        out[cuda.blockIdx.x] = part[0]


def histogram(values, bins):
    cuda.atomic.add(bins, values[cuda.grid(1)], 1)


def warp_sum(x, out):
    value = x[cuda.grid(1)]
    for step in (16, 8, 4, 2, 1):
        value += cuda.shfl_down_sync(0xffffffff, value, step)
    if cuda.laneid == 0:
        out[cuda.grid(1) // 32] = value


def functions(x, out):
    i = cuda.grid(1)
    out[i] = math.sin(x[i]) + math.exp(x[i]) * math.sqrt(math.fabs(x[i]))


def product(a, b, c):
    i, j = cuda.threadIdx.y, cuda.threadIdx.x
    total = 0.0
    for k in range(a.shape[1]):
        total += a[i, k] * b[k, j]
    c[i, j] = total


def collatz(start, steps):
    i = cuda.grid(1)
    value, count = start[i], 0
    while value > 1:
        value = value // 2 if value % 2 == 0 else 3 * value + 1
        count += 1
    steps[i] = count


def polynomial(x, coefficients, out):
    i = cuda.grid(1)
    own = cuda.local.array(4, float32)
    for k in range(4):
        own[k] = coefficients[k] * (i % 3)
    total = float32(0)
    for k in range(4):
        total = total * x[i] + own[(k + i) % 4]
    out[i] = total


def collatz_steps(value):
    count = 0
    while value > 1:
        value = value // 2 if value % 2 == 0 else 3 * value + 1
        count += 1
    return count


def polynomial_at(i):
    own = np.array([1, 2, 3, 4], np.float64) * (i % 3)
    total = 0.0
    for k in range(4):
        total = total * X[i] + own[(k + i) % 4]
    return total


# By name: kernel, types, arguments, threads of a block, which argument is the result, what it is to be.
CASES = {
    "saxpy": (saxpy, (float32[::1], float32[::1], float32), (X, Y, np.float32(1.5)), (128,), 1, 1.5 * X + Y),
    "block_sum": (block_sum, (float32[::1], float32[::1]), (X, np.zeros(2, np.float32)), (128,), 1, X.reshape(2, 128).sum(1)),
    "histogram": (histogram, (uint32[::1], int32[::1]), (BYTES, np.zeros(16, np.int32)), (128,), 1, np.bincount(BYTES, minlength=16)),
    "warp_sum": (warp_sum, (float32[::1], float32[::1]), (X, np.zeros(8, np.float32)), (128,), 1, X.reshape(8, 32).sum(1)),
    "functions": (functions, (float32[::1], float32[::1]), (X, np.zeros(N, np.float32)), (128,), 1,
                  np.sin(X) + np.exp(X) * np.sqrt(np.abs(X))),
    "product": (product, (float64[:, ::1],) * 3, (SQUARE, SQUARE.T.copy(), np.zeros((16, 16))), (16, 16), 2, SQUARE @ SQUARE.T),
    "collatz": (collatz, (uint32[::1], int32[::1]), (np.arange(N, dtype=np.uint32), np.zeros(N, np.int32)), (128,), 1,
                np.array([collatz_steps(value) for value in range(N)])),
    "polynomial": (polynomial, (float32[::1],) * 3, (X, np.arange(1, 5, dtype=np.float32), np.zeros(N, np.float32)), (128,), 2,
                   np.array([polynomial_at(i) for i in range(N)])),
}


def parameters(value, at, result, folder):
    """The arguments of `oriole run` for one of Numba's: of an array its seven and more fields, of a number itself."""
    if not isinstance(value, np.ndarray):
        return [f"f32:{float(value)}"]
    given, left = os.path.join(folder, f"{at}.in"), os.path.join(folder, f"{at}.out")
    value.tofile(given)
    sizes = [f"s64:{size}" for size in (*value.shape, *value.strides)]
    data = f"inout:{given}:{left}" if at == result else f"in:{given}"
    return ["u64:0", "u64:0", f"s64:{value.size}", f"s64:{value.itemsize}", data, *sizes]


def tried(case, target, oriole, ptxas, folder):
    """What is wrong with a case, or nothing."""
    kernel, types, values, block, result, expected = case
    text, _ = cuda.compile_ptx(kernel, types, cc=(int(target[3:-1]), int(target[-1])))
    source, cubin = os.path.join(folder, "k.ptx"), os.path.join(folder, "k.cubin")
    pathlib.Path(source).write_text(text)
    compiled = subprocess.run([ptxas, f"-arch={target}", source, "-o", cubin], capture_output=True, text=True)
    if compiled.returncode:
        return compiled.stderr
    if NOTE not in pathlib.Path(cubin).read_bytes():
        return "not Oriole's"
    entry = re.search(r"\.entry\s+([\w$]+)", text)[1]
    arguments = [word for at, value in enumerate(values) for word in parameters(value, at, result, folder)]
    grid = 1 if len(block) == 2 else N // block[0]
    ran = subprocess.run([oriole, "run", cubin, "--entry", entry, "--strict", "--grid", str(grid), "--block", ",".join(map(str, block)), *arguments],
                         capture_output=True, text=True)
    if ran.returncode:
        return ran.stderr
    got = np.fromfile(os.path.join(folder, f"{result}.out"), values[result].dtype).reshape(expected.shape)
    return "" if np.allclose(got, expected, rtol=1e-5, atol=1e-5) else f"other values, up to {np.abs(got - expected).max():.3g} away"


def main():
    options = parser(__doc__).parse_args()
    failed = 0
    with tempfile.TemporaryDirectory(prefix="numba.") as folder:
        ptxas = link_ptxas(options.oriole, folder)
        for target in options.targets.split(","):
            chosen = [name for name in CASES if re.search(options.only, name)]
            wrong = {name: why for name in chosen if (why := tried(CASES[name], target, options.oriole, ptxas, folder))}
            for name, why in wrong.items():
                print(f"numba-cuda, {name} {target}: {why.strip()[:300]}", flush=True)
            print(f"{target}: {len(chosen)} kernels by numba-cuda, {len(chosen) - len(wrong)} compiled by Oriole and right", flush=True)
            failed += len(wrong)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
