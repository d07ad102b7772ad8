#!/usr/bin/env python3
"""NVIDIA's nvcc compiles CUDA C++ with Oriole where its ptxas would be; what the programs compute is compared.

    nvcc_kernels.py --oriole target/release/oriole --toolkit FOLDER [--targets sm_80,sm_90] [--only REGEX] [--cupy PYTHON]

FOLDER is a CUDA toolkit: the folder above the one that holds nvcc. It is left as it is: its files are linked into a folder of this
test's own, where bin/ptxas is a link to Oriole. Three ways of nvcc are gone:

* `-cubin`, for each file of ../shared/kernels/src; its launches run on the strict simulator against ../shared/kernels/expected;
* `-rdc=true` for two files, linked by NVIDIA's nvlink: one has the kernel, the other a function and a variable that it uses;
* an object of the host with code for two targets, read back by NVIDIA's cuobjdump.

With --cupy, a Python that has CuPy, its own `compile_using_nvcc` makes cubins in its two ways, whole and linked. Each cubin has to
have Oriole's note. Exit status 1 if anything is missing or wrong.
"""
import concurrent.futures, os, pathlib, re, struct, subprocess, sys, tempfile
from launches import KERNELS, NOTE, Tally, link_ptxas, parser

FUNCTION = """__device__ float gain[4] = {1, 2, 3, 4};
__device__ __noinline__ float twice(float x) { return 2 * x * gain[1]; }
"""
DECLARED = "extern __device__ float gain[4];\nextern __device__ float twice(float x);\n"
KERNEL = """extern "C" __global__ void scale(float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = twice(y[i]) + gain[i & 3];
}
"""
# Run by another Python: CuPy's own functions, with a module whole and in two steps.
CUPY = """
import sys
from cupy.cuda.compiler import compile_using_nvcc
source, target, whole, linked = sys.argv[1:]
for path, options, steps in ((whole, (), False), (linked, ("--device-c",), True)):
    cubin = compile_using_nvcc(source, options=options, arch=target[3:], code_type="cubin", separate_compilation=steps)
    open(path, "wb").write(cubin)
"""


def arguments():
    options = parser(__doc__)
    options.add_argument("--toolkit", required=True)
    options.add_argument("--cupy")
    return options.parse_args()


def shadow(toolkit, oriole, folder):
    """A toolkit like the given one, with Oriole as its ptxas; its nvcc."""
    binaries = os.path.join(folder, "cuda", "bin")
    os.makedirs(binaries)
    for name in os.listdir(toolkit):
        if name != "bin":
            os.symlink(os.path.join(toolkit, name), os.path.join(folder, "cuda", name))
    for name in os.listdir(os.path.join(toolkit, "bin")):
        path = os.path.join(toolkit, "bin", name)
        # nvcc looks for its profile and its programs beside the file that it is, wherever a link to it stands.
        if name in ("nvcc", "nvcc.profile"):
            pathlib.Path(binaries, name).write_bytes(pathlib.Path(path).read_bytes())
        elif name != "ptxas":
            os.symlink(path, os.path.join(binaries, name))
    link_ptxas(oriole, binaries)
    nvcc = os.path.join(binaries, "nvcc")
    os.chmod(nvcc, 0o755)
    return nvcc


def called(*words, **options):
    """What the program says, where it fails; else nothing."""
    ended = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    return f"{words[0]}: {ended.stdout[-300:] or ended.returncode}" if ended.returncode else ""


def has_half(nvcc):
    """Whether the toolkit has what its own cuda_fp16.h includes; it is a package of its own in the Python index."""
    include = os.path.join(os.path.dirname(nvcc), "../include")
    return any(os.path.exists(os.path.join(include, folder, "nv/target")) for folder in (".", "cccl"))


def kernels(nvcc, target, folder, options):
    """Each file of kernels by itself."""
    tally = Tally(options.oriole, "nvcc", target, folder)
    files = [file for file in sorted((KERNELS / "src").glob("*.cu")) if re.search(options.only, file.stem)]
    # Its declarations of functions of the device run time are not those of CUDA's headers.
    files = [file for file in files if file.stem != "sysio"]
    if not has_half(nvcc):
        files = [file for file in files if file.stem != "half"]

    def compiled(file):
        cubin = os.path.join(folder, f"{file.stem}.{target}.nvcc")
        return cubin, called(nvcc, f"-arch={target}", "-cubin", "-w", "-o", cubin, str(file))

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for file, (cubin, error) in zip(files, pool.map(compiled, files)):
            if error:
                tally.refuse(file.stem, error)
            else:
                tally.add(file.stem, pathlib.Path(cubin).read_bytes())
    return tally.close()


def scaled(oriole, cubin, folder):
    """Whether the kernel of two files, in a cubin, computes what it says: what is wrong, or nothing."""
    data, result = os.path.join(folder, "y.in"), os.path.join(folder, "y.out")
    values = [float(at) for at in range(40)]
    pathlib.Path(data).write_bytes(struct.pack("<40f", *values))
    error = called(oriole, "run", cubin, "--entry", "scale", "--strict", "--grid", "2", "--block", "32",
                   f"inout:{data}:{result}", "s32:40")
    if error:
        return error
    got = struct.unpack("<40f", pathlib.Path(result).read_bytes())
    return "" if all(y == 2 * x * 2 + at % 4 + 1 for at, (x, y) in enumerate(zip(values, got))) else "other values"


def linked(nvcc, target, folder, oriole):
    """Two files by nvlink: what is wrong, or nothing."""
    where = os.path.join(folder, f"linked.{target}")
    os.makedirs(where)
    pathlib.Path(where, "a.cu").write_text(DECLARED + KERNEL)
    pathlib.Path(where, "b.cu").write_text(FUNCTION)
    error = called(nvcc, f"-arch={target}", "-rdc=true", "-dc", "a.cu", "b.cu", cwd=where) \
        or called(nvcc, f"-arch={target}", "-dlink", "-cubin", "a.o", "b.o", "-o", "linked.cubin", cwd=where)
    return error or own(os.path.join(where, "linked.cubin")) or scaled(oriole, os.path.join(where, "linked.cubin"), where)


def own(cubin):
    """Nothing, if the file has Oriole's note."""
    return "" if NOTE in pathlib.Path(cubin).read_bytes() else f"{cubin} is not Oriole's"


def embedded(nvcc, targets, folder):
    """An object of the host with code for all targets: what is wrong with what it has in it, or nothing."""
    where = os.path.join(folder, "embedded")
    os.makedirs(where)
    pathlib.Path(where, "k.cu").write_text(FUNCTION + KERNEL + "int main() { scale<<<1, 32>>>(nullptr, 0); return 0; }\n")
    codes = [f"-gencode=arch=compute_{target[3:]},code={target}" for target in targets]
    error = called(nvcc, *codes, "-c", "k.cu", "-o", "k.o", cwd=where) \
        or called(os.path.join(os.path.dirname(nvcc), "cuobjdump"), "-xelf", "all", "k.o", cwd=where)
    cubins = list(pathlib.Path(where).glob("*.cubin"))
    if not error and len(cubins) != len(targets):
        error = f"{len(cubins)} cubins in the object"
    return error or "".join(own(cubin) for cubin in cubins)


def by_cupy(python, nvcc, target, folder, oriole):
    """CuPy's own calls: what is wrong, or nothing."""
    cubins = [os.path.join(folder, f"cupy.{way}.{target}.cubin") for way in ("whole", "linked")]
    environment = dict(os.environ, NVCC=nvcc, CUDA_PATH=os.path.dirname(os.path.dirname(nvcc)))
    error = called(python, "-c", CUPY, FUNCTION + KERNEL, target, *cubins, env=environment)
    return error or "".join(own(cubin) or scaled(oriole, cubin, folder) for cubin in cubins)


def said(what, error):
    """Prints a line on what was tried; 1 if it went wrong."""
    print(f"{what}: {error.strip() or 'right'}", flush=True)
    return 1 if error else 0


def main():
    options = arguments()
    targets, failed = options.targets.split(","), 0
    options.oriole = os.path.abspath(options.oriole)
    with tempfile.TemporaryDirectory(prefix="nvcc.") as folder:
        nvcc = shadow(os.path.abspath(options.toolkit), options.oriole, folder)
        failed += said("host object", embedded(nvcc, targets, folder))
        for target in targets:
            failed += said(f"{target}, two files by nvlink", linked(nvcc, target, folder, options.oriole))
            if options.cupy:
                failed += said(f"{target}, CuPy", by_cupy(options.cupy, nvcc, target, folder, options.oriole))
            failed += kernels(nvcc, target, folder, options)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
