#!/usr/bin/env python3
"""LLVM IR as newer releases write it: the PTX of each writing.

    python dialects.py --oriole target/release/oriole --into FOLDER [--ir ../shared/kernels/ll] [--libdevice libdevice.10.bc]

Writes FOLDER/WAY/NAME.sm_NN.ptx for each file and way that this Python has: `text` and `bitcode` of Triton's LLVM, `o3` and `o3-bitcode` of
llvmlite's at -O3. Names without a target are made for sm_80 and sm_90. What is refused is named, and is the exit status. Then:
tools/nvptx_launches.py FOLDER/WAY runs what they compute.
"""
import argparse, glob, importlib.util, os, re, subprocess, sys

DEFINED = re.compile(r'^define (?!internal|linkonce)[^@]*@"?([\w.$-]+)"?\(', re.M)


def by_triton(path, folder):
    import triton_llvm
    text, name = open(path).read(), os.path.basename(path)[:-3]
    written = triton_llvm.in_child(lambda: triton_llvm.printed(path, DEFINED.findall(text)))
    for way, ending, content in [("text", "ll", (written or "").encode()), ("bitcode", "bc", triton_llvm.bitcode(text))]:
        yield way, save(os.path.join(folder, way + "-ir", f"{name}.{ending}"), content)


def by_llvmlite(path, folder):
    from llvmlite import binding as llvm
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    name, module = os.path.basename(path)[:-3], llvm.parse_assembly(open(path).read())
    machine = llvm.Target.from_triple("nvptx64-nvidia-cuda").create_target_machine(cpu="sm_80", opt=3)
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=3))
    builder.getModulePassManager().run(module, builder)
    for way, ending, content in [("o3", "ll", str(module).encode()), ("o3-bitcode", "bc", module.as_bitcode())]:
        yield way, save(os.path.join(folder, way + "-ir", f"{name}.{ending}"), content)


def save(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)
    return path


def targets(name):
    """The name of the PTX, and the target."""
    number = re.search(r"\.sm_(\d+)$", name)
    if number:
        return [(name, {"90": "sm_90a", "100": "sm_100a"}.get(number[1], f"sm_{number[1]}"))]
    return [(f"{name}.{target}", target) for target in ("sm_80", "sm_90")]


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--oriole", required=True)
    options.add_argument("--into", required=True)
    options.add_argument("--ir", default=os.path.join(os.path.dirname(__file__), "..", "..", "..", "shared", "kernels", "ll"))
    options.add_argument("--libdevice")
    options = options.parse_args()
    writers = [writer for package, writer in [("triton", by_triton), ("llvmlite", by_llvmlite)] if importlib.util.find_spec(package)]
    made, refused = 0, 0
    for path in sorted(glob.glob(os.path.join(options.ir, "*.ll"))):
        for way, source in (pair for writer in writers for pair in writer(path, options.into)):
            for name, target in targets(os.path.basename(path)[:-3]):
                ptx = save(os.path.join(options.into, way, f"{name}.ptx"), b"")
                link = ["--link", options.libdevice] if options.libdevice else []
                done = subprocess.run([options.oriole, "nvptx", *link, "--arch", target, source, "-o", ptx], capture_output=True, text=True)
                made += 1
                if done.returncode:
                    refused += 1
                    print(f"{way} {name}: {done.stderr.strip()[:300]}", flush=True)
    print(f"{made} made, {refused} refused")
    sys.exit(refused > 0)


if __name__ == "__main__":
    main()
