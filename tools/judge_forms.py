#!/usr/bin/env python3
"""Judge the simulator and the PTX interpreter by each other on the PTX forms.

    judge_forms.py --oriole PATH --ptxas PATH [--targets sm_80,sm_90] [-O 3] [--cubins DIR] [--family NAME]...
                   [--shared DIR] [--strict] [--no-interpreter] [--check] [--sample N] [--seed S] [--jobs N] [--failures FILE]

Every deterministic form that ptxas compiles is run from ptxas's cubin on the simulator, and from its PTX on
the interpreter, over the same random input; outputs are compared bit for bit, and those of approximate
functions within the bound that `oriole run --engine ptx` states for them (docs/interp.md). Inputs, sizes and
the list of forms are those of conformance.py in the shared tools. --cubins keeps ptxas's cubins between runs
(DIR/sm_90-O3/INDEX.cubin). --check also runs `oriole check` on each cubin. A row per family and target: forms
whose cubin is built, run on the simulator, run on the interpreter, equal; with --failures, a line per shortfall.
"""
import argparse
import collections
import concurrent.futures
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent

# Instructions whose results NVIDIA publishes an error bound for and no bits (docs/interp.md, docs/sim-arithmetic.md):
# prefix of the form's id, type of the result, absolute and relative error allowed between two approximations.
APPROXIMATE = [
    ("div.approx", "f", 0, 2**-20), ("div.full", "f", 0, 2**-20), ("rcp.approx.ftz.f64", "d", 0, 2**-18),
    ("rsqrt.approx.ftz.f64", "d", 0, 2**-18), ("rsqrt.approx.f64", "d", 0, 2**-18), ("rsqrt.approx", "f", 0, 2**-20),
    ("rcp.approx", "f", 0, 2**-21), ("sqrt.approx", "f", 0, 2**-20), ("sin.approx", "f", 2**-18, 2**-18),
    ("cos.approx", "f", 2**-18, 2**-18), ("lg2.approx", "f", 2**-20, 2**-20), ("ex2.approx.ftz.bf16", "b", 0, 2**-6),
    ("ex2.approx.f16", "h", 2**-24, 2**-9), ("ex2.approx.ftz.f16", "h", 2**-24, 2**-9), ("ex2.approx", "f", 0, 2**-20),
    ("tanh.approx.f16", "h", 2**-10, 2**-9), ("tanh.approx.bf16", "b", 2**-8, 2**-6), ("tanh.approx", "f", 0, 2**-9),
]


def values(data, kind):
    """The numbers in `data`: f32, f64, f16 or bf16."""
    if kind == "b":
        return [struct.unpack("<f", b"\0\0" + data[i:i + 2])[0] for i in range(0, len(data), 2)]
    size = struct.calcsize(kind if kind != "h" else "e")
    code = {"f": "f", "d": "d", "h": "e"}[kind]
    return list(struct.unpack(f"<{len(data) // size}{code}", data))


def equal(form, a, b):
    """Compare two outputs; returns "" or what differs first."""
    if a == b:
        return ""
    bound = next((row for row in APPROXIMATE if form["id"].startswith(row[0])), None)
    if bound:
        _, kind, absolute, relative = bound
        close = lambda x, y: x == y or (x != x and y != y) or abs(x - y) <= absolute + relative * abs(y)
        if all(close(x, y) for x, y in zip(values(a, kind), values(b, kind))):
            return ""
    at = next(i for i in range(len(a)) if a[i] != b[i]) & ~3
    return f"byte {at}: simulator {a[at:at + 4].hex()}, interpreter {b[at:at + 4].hex()}"


def judge(index, form, target, options, conformance):
    """Return the list of (stage, message) that this form fell short in, and the stages reached."""
    reached, short = set(), []
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        ptx, data = work / "k.ptx", work / "in"
        ptx.write_text(form["ptx"].replace("@TARGET@", target))
        cubin = work / "k.cubin"
        if options.cubins:
            cubin = pathlib.Path(options.cubins) / f"{target}-O{options.opt_level}" / f"{index}.cubin"
        if not cubin.exists():
            cubin.parent.mkdir(parents=True, exist_ok=True)
            ok, said = conformance.call([options.ptxas, f"-O{options.opt_level}", "-arch", target, ptx, "-o", cubin])
            if not ok:
                return reached, [("ptxas", said)]
        reached.add("built")
        if options.check:
            ok, said = conformance.call([options.oriole, "check", cubin])
            reached.add("checked") if ok else short.append(("check", said))
        data.write_bytes(conformance.input_bytes(form, options.seed))
        threads = form.get("threads", 32)
        size = form["out_bytes"] * threads

        def run(file, out, *more):
            command = [options.oriole, "run", file, "--entry", "k", "--arch", target, "--block", str(threads),
                       "--threads", "1", *more, f"in:{data}", f"out:{out}:{size}"]
            return conformance.call(command)

        strict = ["--strict"] if options.strict else []
        ok, said = run(cubin, work / "a", *strict)
        if not ok:
            return reached, short + [("simulator", said)]
        reached.add("simulated")
        if options.no_interpreter:
            return reached, short
        ok, said = run(ptx, work / "b", "--engine", "ptx")
        if not ok:
            return reached, short + [("interpreter", said)]
        reached.add("interpreted")
        different = equal(form, (work / "a").read_bytes(), (work / "b").read_bytes())
        reached.add("equal") if not different else short.append(("differs", different))
        return reached, short


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--oriole", default="target/release/oriole")
    parser.add_argument("--ptxas", required=True)
    parser.add_argument("--targets", default="sm_80,sm_90")
    parser.add_argument("-O", dest="opt_level", default="3")
    parser.add_argument("--cubins")
    parser.add_argument("--family", action="append")
    parser.add_argument("--shared", default=HERE.parent.parent / "shared")
    parser.add_argument("--strict", action="store_true")
    parser.add_argument("--no-interpreter", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--sample", type=int)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--failures")
    options = parser.parse_args()

    shared = pathlib.Path(options.shared)
    sys.path.insert(0, str(shared / "tools"))
    import conformance

    forms = list(enumerate(conformance.load_forms(shared / "ptx_forms" / "forms", None)))
    wanted = lambda form: form["deterministic"] and form["out_bytes"] and (not options.family or form["family"] in options.family)
    jobs = [(index, form, target) for target in options.targets.split(",") for index, form in forms
            if target in form["targets"] and wanted(form)]
    if options.sample and options.sample < len(jobs):
        jobs = random.Random(options.seed).sample(jobs, options.sample)
    table, failures = collections.defaultdict(collections.Counter), []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        answers = pool.map(lambda job: judge(*job, options, conformance), jobs)
        for (_, form, target), (reached, short) in zip(jobs, answers):
            table[target, form["family"]].update(reached)
            failures += [f"{target}\t{form['id']}\t{stage}\t{said}" for stage, said in short]
    if options.failures:
        pathlib.Path(options.failures).write_text("".join(line + "\n" for line in failures))
    stages = ["built", "simulated", "interpreted", "equal"] + (["checked"] if options.check else [])
    print(f"{'target':8} {'family':24} " + " ".join(f"{stage:>11}" for stage in stages))
    total = collections.Counter()
    for (target, family), row in sorted(table.items()):
        print(f"{target:8} {family:24} " + " ".join(f"{row[stage]:11}" for stage in stages))
        total.update(row)
    print(f"{'all':33} " + " ".join(f"{total[stage]:11}" for stage in stages))
    sys.exit(0 if not failures else 1)


if __name__ == "__main__":
    main()
