#!/usr/bin/env python3
"""Run the launches of tests/data/launches/extra.json and compare with the expected outputs.

    run_extra.py [--oriole PATH] [--ptxas PATH] [--targets sm_80,sm_90] [--only GLOB] [--shared DIR]

With --ptxas the code is ptxas's, otherwise Oriole's. Each cubin is checked (`oriole check`), and each launch runs twice:
as it is and with --strict. A row per launch and target; exit status 1 if anything is not right.
"""
import argparse, fnmatch, json, pathlib, re, subprocess, sys, tempfile

LAUNCHES = pathlib.Path(__file__).resolve().parent.parent / "tests" / "data" / "launches"
SHARED = LAUNCHES.parents[3] / "shared"


def call(command):
    """None when the command succeeds, else the last line of its errors."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    return f"exit status {done.returncode}: {done.stderr.strip().splitlines()[-1:]}" if done.returncode else None


def argument(arg, where, number, kernels):
    """The ARG of the command line, and the file that it writes, if any."""
    if arg["kind"] == "value":
        return f"{arg['type']}:{arg['value']}", None
    text, out = kernels.buffer_arg(arg.get("data", arg), str(where), f"arg{number}")
    if arg["kind"] not in ("tex", "surf"):
        return text, out
    if arg["data"]["kind"] == "out":
        text = f"out:{out}"
    size, options = "x".join(map(str, arg["size"])), ",".join(arg["options"] or ["nearest"])
    return f"{arg['kind']}:{arg['shape']}:{size}:{arg['format']}:{options}:{text}", out


def run(launch, cubin, where, strict, options, kernels):
    """None when the outputs are right, else what is wrong."""
    args, outs = zip(*(argument(arg, where, n, kernels) for n, arg in enumerate(launch["args"])))
    place = ["--entry", launch["entry"], "--shared", str(launch["shared"])]
    for name in ("grid", "block"):
        place += [f"--{name}", ",".join(map(str, launch[name]))]
    error = call([options.oriole, "run", cubin, *place, *["--strict"] * strict, *args])
    if error:
        return error
    buffers = [arg.get("data", arg) for arg, out in zip(launch["args"], outs) if out]
    check = launch["check"]
    checks = check["outputs"] if check["mode"] == "each" else [check] * len(buffers)
    for number, (path, buffer, check) in enumerate(zip(filter(None, outs), buffers, checks, strict=True)):
        expected = LAUNCHES / "expected" / f"{launch['name']}.{number}.bin"
        want = b"" if check["mode"] == "range" else expected.read_bytes()
        wrong = kernels.compare(pathlib.Path(path).read_bytes(), want, buffer["type"], check)
        if wrong:
            return f"output {number}: {wrong}"
    return None


def judge(launch, target, options, kernels):
    """What is wrong with a launch on a target: pairs of a step's name and a message."""
    with tempfile.TemporaryDirectory(prefix="extra.") as folder:
        where = pathlib.Path(folder)
        cubin = where / "kernel.cubin"
        ptx = options.shared / "kernels" / "ptx" / f"{launch['file']}.{target}.ptx"
        # Triton's files for sm_90 are for sm_90a.
        arch = re.search(r"^\.target\s+(\w+)", ptx.read_text(), re.M)[1]
        ours = [options.oriole, "compile", ptx, "-o", cubin, "--arch", arch, "--entry", launch["entry"]]
        theirs = [options.ptxas, f"-arch={arch}", ptx, "-o", cubin]
        error = call(theirs if options.ptxas else ours)
        if error:
            return [("compile", error)]
        steps = [("check", call([options.oriole, "check", cubin, "--entry", launch["entry"]]))]
        steps += [(("run", "strict")[strict], run(launch, cubin, where, strict, options, kernels)) for strict in (False, True)]
        return [(step, error) for step, error in steps if error]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--oriole", default="target/release/oriole")
    parser.add_argument("--ptxas")
    parser.add_argument("--targets", default="sm_80,sm_90")
    parser.add_argument("--only", default="*")
    parser.add_argument("--shared", type=pathlib.Path, default=SHARED)
    options = parser.parse_args()
    sys.path.insert(0, str(options.shared / "tools"))
    import run_kernels as kernels
    launches = json.loads((LAUNCHES / "extra.json").read_text())["launches"]
    launches = [launch for launch in launches if fnmatch.fnmatch(launch["name"], options.only)]
    right = rows = 0
    for target in options.targets.split(","):
        for launch in (launch for launch in launches if target in launch["targets"]):
            wrong = judge(launch, target, options, kernels)
            rows, right = rows + 1, right + (not wrong)
            result = "; ".join(f"WRONG {step}: {error}" for step, error in wrong) or "right"
            print(f"{launch['name']:34} {target:6} {result}")
    print(f"{right} of {rows} right")
    return 0 if right == rows else 1


if __name__ == "__main__":
    sys.exit(main())
