#!/usr/bin/env python3
"""tilelang's kernels compiled by nvcc with Oriole where its ptxas would be; what they compute is compared.

    tilelang_kernels.py --oriole target/release/oriole --toolkit FOLDER [--targets sm_80,sm_90a,sm_120a] [--only REGEX]

Run by the Python of an environment with tilelang and NumPy; no device is needed. FOLDER is a CUDA toolkit, which is left as it is:
tilelang finds one of this test's own by CUDA_HOME, where bin/ptxas is a link to Oriole. Eight kernels, as tilelang makes them:
products of f16, bf16, int8 and fp8 (made f16 on the way), attention, a sum, softmax and a norm of rows. Each cubin has to have
Oriole's note; the launches run on the strict simulator, with the sizes and tensor maps that tilelang's host code gives, against
numpy. Exit status 1 if anything is missing or wrong.
"""
import os, pathlib, re, subprocess, sys, tempfile
import numpy as np
from launches import NOTE, parser
from nvcc_kernels import shadow

GENERATOR = np.random.default_rng(63)
# Rows, columns and inner extent of products; rows and columns of what goes by rows.
M, N, K = 128, 128, 64
ROWS, COLUMNS = 64, 256
# The numbers of CUtensorMapDataType and of CUtensorMapSwizzle, as `oriole run` calls them.
MAP_TYPES = ("u8", "u16", "u32", "s32", "u64", "s64", "f16", "f32", "f64", "bf16", "f32.ftz", "tf32", "tf32.ftz")
MAP_SWIZZLES = ((), ("swizzle32",), ("swizzle64",), ("swizzle128",))


def product(T, kind, total, as_kind=None):
    """A tiled product; `as_kind` is the type that the multiplicands are made on the way."""
    tile, inner = 64, as_kind or kind

    @T.prim_func
    def main(A: T.Tensor((M, K), kind), B: T.Tensor((K, N), kind), C: T.Tensor((M, N), total)):
        with T.Kernel(N // tile, M // tile, threads=128) as (bx, by):
            a, b = T.alloc_shared((tile, 32), inner), T.alloc_shared((32, tile), inner)
            c = T.alloc_fragment((tile, tile), total)
            T.clear(c)
            for k in T.Pipelined(K // 32, num_stages=2):
                T.copy(A[by * tile, k * 32], a)
                T.copy(B[k * 32, bx * tile], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * tile, bx * tile])
    return main


def attention(T):
    """One head of 128 rows, 64 wide, by online softmax."""
    rows, width, tile, scale = 128, 64, 64, 0.125

    @T.prim_func
    def main(Q: T.Tensor((rows, width), "float16"), KEYS: T.Tensor((rows, width), "float16"), V: T.Tensor((rows, width), "float16"),
             O: T.Tensor((rows, width), "float32")):
        with T.Kernel(rows // tile, threads=128) as bx:
            q, k, v = (T.alloc_shared((tile, width), "float16") for _ in range(3))
            scores, weights = T.alloc_fragment((tile, tile), "float32"), T.alloc_fragment((tile, tile), "float16")
            out = T.alloc_fragment((tile, width), "float32")
            highest, before, factor, part, total = (T.alloc_fragment((tile,), "float32") for _ in range(5))
            T.copy(Q[bx * tile, 0], q)
            T.clear(out)
            T.clear(total)
            T.fill(highest, -1e30)
            for j in T.serial(rows // tile):
                T.copy(KEYS[j * tile, 0], k)
                T.copy(V[j * tile, 0], v)
                T.clear(scores)
                T.gemm(q, k, scores, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                T.copy(highest, before)
                T.reduce_max(scores, highest, dim=1, clear=False)
                for i in T.Parallel(tile):
                    factor[i] = T.exp((before[i] - highest[i]) * scale)
                for i, l in T.Parallel(tile, tile):
                    scores[i, l] = T.exp((scores[i, l] - highest[i]) * scale)
                T.reduce_sum(scores, part, dim=1)
                for i in T.Parallel(tile):
                    total[i] = total[i] * factor[i] + part[i]
                for i, l in T.Parallel(tile, width):
                    out[i, l] = out[i, l] * factor[i]
                T.copy(scores, weights)
                T.gemm(weights, v, out, policy=T.GemmWarpPolicy.FullRow)
            for i, l in T.Parallel(tile, width):
                out[i, l] = out[i, l] / total[i]
            T.copy(out, O[bx * tile, 0])
    return main


def row_sum(T):
    @T.prim_func
    def main(X: T.Tensor((ROWS, COLUMNS), "float32"), S: T.Tensor((ROWS,), "float32")):
        with T.Kernel(ROWS // 16, threads=128) as bx:
            x, s = T.alloc_fragment((16, COLUMNS), "float32"), T.alloc_fragment((16,), "float32")
            T.copy(X[bx * 16, 0], x)
            T.reduce_sum(x, s, dim=1)
            T.copy(s, S[bx * 16])
    return main


def softmax(T):
    @T.prim_func
    def main(X: T.Tensor((ROWS, COLUMNS), "float32"), Y: T.Tensor((ROWS, COLUMNS), "float32")):
        with T.Kernel(ROWS // 16, threads=128) as bx:
            x, most, total = T.alloc_fragment((16, COLUMNS), "float32"), T.alloc_fragment((16,), "float32"), T.alloc_fragment((16,), "float32")
            T.copy(X[bx * 16, 0], x)
            T.reduce_max(x, most, dim=1)
            for i, j in T.Parallel(16, COLUMNS):
                x[i, j] = T.exp(x[i, j] - most[i])
            T.reduce_sum(x, total, dim=1)
            for i, j in T.Parallel(16, COLUMNS):
                x[i, j] = x[i, j] / total[i]
            T.copy(x, Y[bx * 16, 0])
    return main


def rms_norm(T):
    @T.prim_func
    def main(X: T.Tensor((ROWS, COLUMNS), "float32"), Y: T.Tensor((ROWS, COLUMNS), "float32")):
        with T.Kernel(ROWS // 16, threads=128) as bx:
            x, squares, total = T.alloc_fragment((16, COLUMNS), "float32"), T.alloc_fragment((16, COLUMNS), "float32"), T.alloc_fragment((16,), "float32")
            T.copy(X[bx * 16, 0], x)
            for i, j in T.Parallel(16, COLUMNS):
                squares[i, j] = x[i, j] * x[i, j]
            T.reduce_sum(squares, total, dim=1)
            for i, j in T.Parallel(16, COLUMNS):
                x[i, j] = x[i, j] * T.rsqrt(total[i] / COLUMNS + 1e-5)
            T.copy(x, Y[bx * 16, 0])
    return main


def small(*shape):
    """Values with four bits, which every type of the products holds: sums of their products are exact."""
    return GENERATOR.integers(-4, 5, shape)


def bf16(values):
    return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


def e4m3(values):
    """Whole numbers up to 15 as fp8 with four bits of exponent."""
    def bits(value):
        sign, size = (0x80 if value < 0 else 0), abs(int(value))
        top = size.bit_length() - 1
        return sign | (((top + 7) << 3) | ((size << 3 >> top) & 7) if size else 0)
    return np.vectorize(bits)(values).astype(np.uint8)


def weighted(q, k, v):
    weights = np.exp((q @ k.T) * 0.125)
    return weights / weights.sum(1, keepdims=True) @ v


def cases():
    """By name: what makes the kernel, its inputs by name as they lie in memory, name and type of its output, what it is to be."""
    a, b = small(M, K), small(K, N)
    q, k, v = (GENERATOR.uniform(-1, 1, (128, 64)).astype(np.float16) for _ in range(3))
    x = GENERATOR.uniform(-2, 2, (ROWS, COLUMNS)).astype(np.float32)
    raised = np.exp(x)
    return {
        "product_f16": (lambda T: product(T, "float16", "float32"), {"A": a.astype(np.float16), "B": b.astype(np.float16)}, "C", np.float32, a @ b),
        "product_bf16": (lambda T: product(T, "bfloat16", "float32"), {"A": bf16(a), "B": bf16(b)}, "C", np.float32, a @ b),
        "product_i8": (lambda T: product(T, "int8", "int32"), {"A": a.astype(np.int8), "B": b.astype(np.int8)}, "C", np.int32, a @ b),
        "product_fp8": (lambda T: product(T, "float8_e4m3fn", "float32", "float16"), {"A": e4m3(a), "B": e4m3(b)}, "C", np.float32, a @ b),
        "attention": (attention, {"Q": q, "KEYS": k, "V": v}, "O", np.float32, weighted(*(m.astype(np.float64) for m in (q, k, v)))),
        "row_sum": (row_sum, {"X": x}, "S", np.float32, x.astype(np.float64).sum(1)),
        "softmax": (softmax, {"X": x}, "Y", np.float32, raised / raised.sum(1, keepdims=True)),
        "rms_norm": (rms_norm, {"X": x}, "Y", np.float32, x / np.sqrt((x.astype(np.float64) ** 2).mean(1, keepdims=True) + 1e-5)),
    }


def compiled(make, target, folder):
    """A kernel as tilelang compiled it: its cubin, and the sizes of its launch."""
    import tilelang
    import tilelang.language as T
    from tilelang import tvm
    chosen = {"kind": "cuda", "arch": target}
    with tvm.transform.PassContext(config={"cuda.kernels_output_dir": folder}), tvm.target.Target(chosen):
        made = tilelang.lower(make(T), target=chosen, enable_device_compile=True)
    (cubin,) = pathlib.Path(folder).glob("*.cubin")
    host, device = made.host_mod.script(), made.device_mod.script()
    # The host's call has the kernel's arguments and its sizes in the order of the kernel's own axes, then the dynamic shared memory.
    words = [word.strip() for word in re.search(r'call_packed\("main_kernel", ([^)]*)\)', host)[1].split(",")]
    names = [word for word in words if not word.isdigit()]
    extents = dict(re.findall(r'launch_thread\("(\w+\.[xyz])", (\d+)\)', device))
    shared = re.search(r'"dyn_shared_memory_buf": (\d+)', device)
    sizes = {what: ",".join(extents.get(f"{what}.{axis}", "1") for axis in "xyz") for what in ("blockIdx", "threadIdx")}
    return cubin, names, sizes, shared[1] if shared else "0", tensor_maps(host)


def tensor_maps(host):
    """By name: the buffer of a tensor map of the host code, and what `oriole run` calls it before the buffer."""
    maps = {}
    for call in re.findall(r'call_packed\("__tvm_tensormap_create_tiled", ([^)]*)\)', host):
        name, kind, rank, buffer, *numbers = (word.strip() for word in call.split(","))
        dims, strides, box, steps = (numbers[at * int(rank):(at + 1) * int(rank)] for at in range(4))
        swizzle = MAP_SWIZZLES[int(numbers[4 * int(rank) + 1])]
        maps[name] = buffer, ":".join(["tensormap", MAP_TYPES[int(kind)], ",".join(dims), ",".join(strides[1:]), ",".join(box), *swizzle,
                                       ",".join(steps)])
    return maps


def tried(case, target, oriole, folder):
    """What is wrong with a case, or nothing."""
    make, inputs, output, kind, expected = case
    cubin, names, sizes, shared, maps = compiled(make, target, folder)
    if NOTE not in cubin.read_bytes():
        return "not Oriole's"
    left = os.path.join(folder, "out")
    given = {output: f"out:{left}:{expected.size * np.dtype(kind).itemsize}"}
    for name, value in inputs.items():
        path = os.path.join(folder, f"{name}.in")
        value.tofile(path)
        given[name] = f"in:{path}"
    given.update({name: f"{text}={given[buffer]}" for name, (buffer, text) in maps.items()})
    ran = subprocess.run([oriole, "run", cubin, "--entry", "main_kernel", "--strict", "--grid", sizes["blockIdx"], "--block", sizes["threadIdx"],
                          "--shared", shared, *(given[name] for name in names)], capture_output=True, text=True)
    if ran.returncode:
        return ran.stderr
    got = np.fromfile(left, kind).reshape(expected.shape)
    return "" if np.allclose(got, expected, rtol=2e-3, atol=2e-3) else f"other values, up to {np.abs(got - expected).max():.3g} away"


def main():
    options = parser(__doc__)
    options.add_argument("--toolkit", required=True)
    options = options.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory(prefix="tilelang.") as folder:
        nvcc = shadow(os.path.abspath(options.toolkit), options.oriole, folder)
        os.environ.update(CUDA_HOME=os.path.dirname(os.path.dirname(nvcc)), TILELANG_CACHE_DIR=os.path.join(folder, "cache"))
        for target in options.targets.split(","):
            chosen, right = {name: case for name, case in cases().items() if re.search(options.only, name)}, 0
            for name, case in chosen.items():
                where = os.path.join(folder, f"{name}.{target}")
                os.makedirs(where)
                try:
                    wrong = tried(case, target, options.oriole, where)
                except Exception as error:
                    wrong = f"{type(error).__name__}: {error}"
                right += not wrong
                if wrong:
                    print(f"tilelang, {name} {target}: {wrong.strip()[-600:]}", flush=True)
            print(f"{target}: {len(chosen)} kernels by tilelang, {right} compiled by Oriole and right", flush=True)
            failed += len(chosen) - right
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
