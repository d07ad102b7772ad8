#!/usr/bin/env python3
"""PTX that the reference compilers make of the LLVM IR in shared/kernels/ll.

    nvptx_reference.py OUT_DIR [--shared DIR] [--oracle BIN] [--routes nvvm,llc] [--only GLOB] [--jobs N]

    OUT_DIR/nvvm/NAME.sm_NN.ptx   libNVVM with libdevice, for compute_100, retargeted (see below)
    OUT_DIR/llc/NAME.sm_NN.ptx    llvm-link-19 with libdevice, opt-19 -O3, llc-19 -O3
    OUT_DIR/README                what was made, and what each compiler said to the rest

Files of clang (NAME.ll) are made for sm_80 and sm_90; files of Triton (triton_NAME.sm_NN.ll) for their own target,
those for sm_90 as sm_90a. Upstream LLVM's PTX of Triton's files is shared/kernels/ptx/triton_NAME.sm_NN.ptx.

libNVVM reads today's LLVM text only from compute_100 on (shared/kernels/README.md), so its PTX says `.target sm_100`.
Here the line becomes `.target sm_80` or `sm_90`. A file is kept only when ptxas takes it for that target: instructions
that need sm_100 would be refused. What the code generator knows of sm_100, it has used: the comparison is of one
code generator with another, not of one target's PTX.

llc-19 is older than Triton's LLVM: `captures(...)` and `icmp samesign` are taken out, and `llvm.lifetime` gets its
first operand back, none of which means anything to a result; three newer intrinsics are written in another way.
"""
import argparse, concurrent.futures, fnmatch, os, pathlib, re, subprocess, sys, tempfile

SHARED = pathlib.Path(__file__).resolve().parents[2] / "shared"
SMS = ("80", "90")


def call(*command):
    """Standard error's last line when the command fails, else None."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    return (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1][:200] if done.returncode else None


def with_older_intrinsics(text):
    """Triton's IR with what newer intrinsics do said in words that LLVM 19 and libNVVM 13 know."""
    text = re.sub(r"@llvm\.nvvm\.barrier\.cta\.sync\.aligned\.all\(i32(?: 0)?\)", "@llvm.nvvm.barrier0()", text)
    text = re.sub(r"declare float @llvm\.nvvm\.div\.full\(.*", "", text)
    text = text.replace("@llvm.nvvm.div.full(", 'asm "div.full.f32 $0, $1, $2;", "=f,f,f"(')
    for new, old in (("fabs.f32", "fabs.f"), ("fabs.ftz.f32", "fabs.ftz.f"), ("fabs.f64", "fabs.d")):
        text = text.replace(f"@llvm.nvvm.{new}(", f"@llvm.nvvm.{old}(")
    return text


def for_llvm_19(text):
    """Triton's IR with the spellings that LLVM 19 knows."""
    text = with_older_intrinsics(text)
    text = re.sub(r"captures\([^)]*\)", "", text)
    text = re.sub(r"\bicmp samesign\b", "icmp", text)
    text = re.sub(r"(call void @llvm\.lifetime\.\w+\.\w+)\(ptr", r"\1(i64 -1, ptr", text)
    return re.sub(r"(declare void @llvm\.lifetime\.\w+\.\w+)\(ptr", r"\1(i64 immarg, ptr", text)


def target_of(path, sm):
    """ptxas's name of the target."""
    return f"sm_{sm}a" if path.name.startswith("triton_") and sm == "90" else f"sm_{sm}"


def by_nvvm(path, sm, work, options):
    """libNVVM's PTX as text, or an error."""
    source, out = work / "in.ll", work / "nvvm.ptx"
    source.write_text(with_older_intrinsics(path.read_text()).replace("@llvm.fabs.f32(", "@__nv_fabsf("))
    accelerated = "a" if path.name.startswith("triton_") else ""
    error = call(sys.executable, options.shared / "tools" / "nvvm.py", source, "-o", out, "--fix", "--libdevice",
                 f"-arch=compute_100{accelerated}")
    if error:
        return None, error
    return re.sub(r"^\.target .*", f".target {target_of(path, sm)}", out.read_text(), count=1, flags=re.M), None


def by_llc(path, sm, work, options):
    """llc's PTX as text, or an error."""
    source, linked, cleaned, out = (work / name for name in ("in.ll", "linked.bc", "opt.bc", "llc.ptx"))
    source.write_text(for_llvm_19(path.read_text()))
    cpu = [f"-mcpu={target_of(path, sm)}", "-mattr=+ptx83"]
    libdevice = options.oracle.parent / "nvvm" / "libdevice" / "libdevice.10.bc"
    steps = [["llvm-link-19", "--only-needed", "--internalize", source, libdevice, "-o", linked],
             ["opt-19", "-O3", "-mtriple=nvptx64-nvidia-cuda", *cpu, linked, "-o", cleaned],
             ["llc-19", "-march=nvptx64", "-O3", *cpu, cleaned, "-o", out]]
    for step in steps:
        error = call(*step)
        if error:
            return None, f"{step[0]}: {error}"
    return out.read_text(), None


ROUTES = {"nvvm": by_nvvm, "llc": by_llc}


def make(path, sm, route, options):
    """Writes one file; the row for README."""
    name = f"{path.stem.split('.')[0]}.sm_{sm}"
    with tempfile.TemporaryDirectory(prefix="nvptx.") as folder:
        work = pathlib.Path(folder)
        text, error = ROUTES[route](path, sm, work, options)
        if not error:
            ptx = work / "k.ptx"
            ptx.write_text(text)
            error = call(options.oracle / "ptxas", f"-arch={target_of(path, sm)}", ptx, "-o", work / "k.cubin")
            error = error and f"ptxas: {error}"
        if not error:
            (options.out / route / f"{name}.ptx").write_text(text)
    return f"{route:5} {name:44} {error or 'made'}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--shared", type=pathlib.Path, default=SHARED)
    parser.add_argument("--oracle", type=pathlib.Path, default=os.environ.get("ORIOLE_ORACLE"))
    parser.add_argument("--routes", default="nvvm,llc")
    parser.add_argument("--only", default="*")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    if not options.oracle:
        parser.error("--oracle or ORIOLE_ORACLE must name the folder of ptxas (shared/tools/oracle.sh)")
    os.environ["ORACLE"] = str(options.oracle)
    work = []
    for path in sorted((options.shared / "kernels" / "ll").glob("*.ll")):
        own = re.search(r"\.sm_(\d+)$", path.stem)
        sms = [own[1]] if own else ["80", "90"]
        if fnmatch.fnmatch(path.stem, options.only):
            work += [(path, sm, route) for route in options.routes.split(",") for sm in sms if sm in SMS]
    for route in options.routes.split(","):
        (options.out / route).mkdir(parents=True, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        rows = list(pool.map(lambda item: make(*item, options), work))
    made = sum(row.endswith(" made") for row in rows)
    (options.out / "README").write_text("\n".join(rows) + f"\n{made} of {len(rows)} made by tools/nvptx_reference.py\n")
    print(*(row for row in rows if not row.endswith(" made")), f"{made} of {len(rows)} made", sep="\n")


if __name__ == "__main__":
    main()
