#!/usr/bin/env python3
"""Make packs of launches for replay.py, and judge its results.

    pack.py kernels|forms|programs|witness --oriole PATH --ptxas PATH --out PACK [--sample N] [--jobs N]
    pack.py kernels|forms|programs|witness --oriole PATH --judge RESULTS

`kernels`: the launches of ../shared/kernels for sm_90, judged by the expected outputs; the times of our code and of ptxas's.
`forms`: the modules of ../shared/ptx_forms, judged by the PTX interpreter; where ptxas's code gives the same as ours, the
interpreter is in doubt, else our code.
`programs`: random programs of `oriole fuzz`, N of each kind, judged by the interpreter or, of member masks, by the host.
`witness`: the tables of tests/witness; `--witness` names what `cargo run -p oriole-witness --example silicon pack` wrote. Its judge
reads what `--judge` with `--lines FILE` leaves.
Each launch is compiled by us at -O3 and -O0 and by ptxas: the last part of its id says by whom.
"""
import argparse, concurrent.futures, json, lzma, os, pathlib, pickle, re, struct, subprocess, sys, tempfile

SHARED = pathlib.Path(__file__).resolve().parents[3] / "shared"
sys.path.insert(0, str(SHARED / "tools"))
import conformance, run_kernels  # noqa: E402

COMPILERS = ("O3", "O0", "ptxas")


def compiled(options, by, ptx, arch, entry=None):
    """The cubin, or nothing and what the compiler said."""
    with tempfile.NamedTemporaryFile(suffix=".cubin") as out:
        if by == "ptxas":
            command = [options.ptxas, f"-arch={arch}", str(ptx), "-o", out.name]
        else:
            command = [options.oriole, "compile", str(ptx), "-o", out.name, "--arch", arch, f"-{by}", *(["--entry", entry] if entry else [])]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace")
        data = pathlib.Path(out.name).read_bytes()
        return (data, None) if done.returncode == 0 and data else (None, (done.stderr or done.stdout).strip().splitlines()[-1:])


class Pack:
    def __init__(self):
        self.cubins, self.jobs, self.numbers = [], [], {}

    def add(self, job, cubin):
        if cubin not in self.numbers:
            self.numbers[cubin] = len(self.cubins)
            self.cubins.append(cubin)
        self.jobs.append({**job, "cubin": self.numbers[cubin]})

    def write(self, path):
        # Cubins that are alike stand side by side.
        with lzma.open(path, "wb", preset=8) as file:
            pickle.dump({"cubins": self.cubins, "jobs": self.jobs}, file)
        print(f"{len(self.jobs)} launches, {len(self.cubins)} cubins, {os.path.getsize(path) >> 10} KB")


def kernel_job(launch, target):
    buffers, params = [], []

    def buffer(argument):
        back = argument["kind"] != "in"
        buffers.append((run_kernels.buffer_bytes(argument) if argument["kind"] != "out" else bytes(argument["count"] * run_kernels.SIZE[argument["type"]]), back))
        return len(buffers) - 1

    for argument in launch["args"]:
        if argument["kind"] == "value":
            params.append((run_kernels.encode([run_kernels.number(str(argument["value"]))], argument["type"]), []))
        elif argument["kind"] == "bytes":
            patches = [(pointer["offset"], buffer(pointer["buffer"]), 0) for pointer in argument.get("pointers", [])]
            params.append((bytes.fromhex(argument["hex"]), patches))
        else:
            params.append((bytes(8), [(0, buffer(argument), 0)]))
    shared = launch.get("shared") or 0
    three = lambda shape: (list(shape) + [1, 1, 1])[:3]
    return {"entry": launch["entry"], "grid": three(launch["grid"]), "block": three(launch["block"]),
            "cluster": three(launch["cluster"]) if launch.get("cluster") else None,
            "shared": shared[target] if isinstance(shared, dict) else shared, "buffers": buffers, "params": params,
            "globals": {g["name"]: run_kernels.buffer_bytes(dict(g, kind="in")) for g in launch.get("globals", [])}, "time": True}  # fmt: skip


def kernel_launches():
    return [launch for launch in run_kernels.load(files=("launch.json", "launch_triton.json")) if "sm_90" in launch["targets"]]


def kernels(options, pack):
    def make(launch):
        ptx = SHARED / "kernels/ptx" / f"{launch['file']}.sm_90.ptx"
        job = kernel_job(launch, "sm_90")
        return [(by, job, compiled(options, by, ptx, run_kernels.arch(ptx), launch["entry"])) for by in options.by.split(",")]

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        launches = kernel_launches()
        for launch, made in zip(launches, pool.map(make, launches)):
            for by, job, (cubin, said) in made:
                if cubin:
                    pack.add({**job, "id": f"kernel {launch['name']} {by}"}, cubin)
                else:
                    print(launch["name"], by, said)


def judge_kernels(options, results):
    times = {}
    for launch in kernel_launches():
        for by in COMPILERS:
            result = results.get(f"kernel {launch['name']} {by}")
            if result is None:
                continue
            wrong = []
            if "error" in result:
                wrong = [] if launch["check"]["mode"] == "fault" else [result["error"]]
            elif launch["check"]["mode"] not in ("stdout", "fault"):
                for (number, argument, check), got in zip(run_kernels.outputs(launch), result["out"]):
                    expected = SHARED / "kernels/expected" / f"{launch['name']}.{number}.bin"
                    want = b"" if check["mode"] in ("any", "range") else expected.read_bytes()
                    message = run_kernels.compare(got, want, argument["type"], check)
                    wrong += [f"output {number}: {message}"] if message else []
            if wrong:
                print(f"{launch['name']} {by}: {'; '.join(wrong)}")
            if "ns" in result:
                times.setdefault(launch["name"], {})[by] = result["ns"]
    for name, by in sorted(times.items()):
        if "O3" in by and "ptxas" in by:
            print(f"time\t{name}\t{by['O3']:.0f}\t{by['ptxas']:.0f}\t{by['O3'] / by['ptxas']:.3f}")


def form_list(options):
    every = conformance.load_forms(SHARED / "ptx_forms/forms", None)
    # What needs images or a tensor map is not launched by `in` and `out` alone: such forms are not deterministic.
    forms = [form for form in every if form.get("deterministic", True) and form["out_bytes"] and {"sm_90", "sm_90a"} & set(form["targets"])]
    step = max(len(forms) // options.sample, 1) if options.sample else 1
    return forms[::step]


def form_target(form):
    return "sm_90" if "sm_90" in form["targets"] else "sm_90a"


def forms(options, pack):
    def make(form):
        with tempfile.NamedTemporaryFile("w", suffix=".ptx") as ptx:
            ptx.write(form["ptx"].replace("@TARGET@", form_target(form)))
            ptx.flush()
            return [(by, compiled(options, by, ptx.name, form_target(form))) for by in options.by.split(",")]

    seen = {}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        chosen = form_list(options)
        made = dict(zip((id(form) for form in chosen), pool.map(make, chosen)))
    for by in options.by.split(","):
        seen.clear()
        for form in chosen:
            seen[form["id"]] = seen.get(form["id"], -1) + 1
            threads = form.get("threads", 32)
            data = conformance.input_bytes(form, "1")
            out = bytes(form["out_bytes"] * threads)
            job = {"id": f"form {form['id']} {seen[form['id']]} {by}", "entry": "k", "grid": [1, 1, 1], "block": [threads, 1, 1], "shared": 0,
                   "buffers": [(data, False), (out, True)], "params": [(bytes(8), [(0, 0, 0)]), (bytes(8), [(0, 1, 0)])]}  # fmt: skip
            cubin = next(cubin for way, (cubin, _) in made[id(form)] if way == by)
            if cubin:
                pack.add(job, cubin)


def judge_forms(options, results):
    def interpreted(form):
        with tempfile.TemporaryDirectory() as work:
            work = pathlib.Path(work)
            (work / "k.ptx").write_text(form["ptx"].replace("@TARGET@", form_target(form)))
            (work / "in").write_bytes(conformance.input_bytes(form, "1"))
            threads = form.get("threads", 32)
            done = subprocess.run([options.oriole, "run", str(work / "k.ptx"), "--engine", "ptx", "--entry", "k", "--block", str(threads),
                                   f"in:{work / 'in'}", f"out:{work / 'out'}:{form['out_bytes'] * threads}"], capture_output=True, text=True)  # fmt: skip
            return (work / "out").read_bytes() if done.returncode == 0 else done.stderr.strip().splitlines()[-1][:150]

    seen, counts = {}, {}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        chosen = form_list(options)
        for form, want in zip(chosen, pool.map(interpreted, chosen)):
            seen[form["id"]] = seen.get(form["id"], -1) + 1
            found = {by: results.get(f"form {form['id']} {seen[form['id']]} {by}") for by in COMPILERS}
            got = {by: (result["out"][0] if "out" in result else result["error"]) if result else None for by, result in found.items()}
            verdict = "".join({True: "=", False: "!"}[got[by] == want] if got[by] is not None else "-" for by in COMPILERS)
            counts[verdict] = counts.get(verdict, 0) + 1
            if set(verdict) & set("!") or isinstance(want, str):
                said = {by: value if isinstance(value, str) else first_difference(value, want) for by, value in got.items() if value is not None and value != want}
                print(f"{verdict}\t{form['family']}\t{form['id']}\t{said}")
    print(counts)


PROGRAMS = ("kernels", "whole", "masks")
WIDTHS = {"u8": 1, "s8": 1, "u16": 2, "s16": 2, "f16": 2, "bf16": 2, "u32": 4, "s32": 4, "f32": 4, "u64": 8, "s64": 8, "f64": 8}


def program(options, kind, number):
    """A random program: its text, its launch, and what its buffers hold afterwards where the host knows."""
    shown = subprocess.run([options.oriole, "fuzz", "--seed", "90", "--arch", "sm_90", "--kind", kind, "--show", str(number)], capture_output=True, text=True)
    text, buffers, params, values = shown.stdout, [], [], {}
    job = {"grid": [1, 1, 1], "block": [1, 1, 1], "cluster": None, "shared": 0}
    for line in text.splitlines():
        found = re.match(r"// (\w+): (.*)", line)
        if not found:
            break
        key, rest = found[1], found[2]
        if key in ("grid", "block", "cluster"):
            job[key] = ([int(part) for part in rest.split(",")] + [1, 1, 1])[:3]
        elif key == "shared":
            job["shared"] = int(rest)
        elif key == "expect":
            values.setdefault(int(rest.split()[1]), []).extend(int(word, 0) for word in rest.split("= ")[1].split())
        elif key == "arg":
            words = rest.split()
            if words[0] in ("in", "inout"):
                width = WIDTHS[words[1]]
                if words[2] == "=":
                    data = b"".join(int(word, 0).to_bytes(width, "little") for word in words[3:])
                else:
                    data = conformance.input_bytes({"id": f"{kind} {number}", "in_bytes": int(words[2]) * width, "threads": 1}, "1")
                    if "zeros" in words:
                        zeros = int(words[words.index("zeros") + 1]) * width
                        data = data[: len(data) - zeros] + bytes(zeros)
                buffers.append((data, words[0] == "inout"))
                params.append((bytes(8), [(0, len(buffers) - 1, 0)]))
            elif words[0] == "out":
                buffers.append((bytes(int(words[1])), True))
                params.append((bytes(8), [(0, len(buffers) - 1, 0)]))
            else:
                params.append((int(words[1], 0).to_bytes(WIDTHS[words[0]], "little"), []))
    entry = re.search(r"\.entry (\w+)", text)[1]
    return text, {**job, "entry": entry, "buffers": buffers, "params": params}, values


def every_program(options):
    return [(kind, number) for kind in PROGRAMS for number in range(options.sample or 100)]


def programs(options, pack):
    def make(which):
        text, job, _ = program(options, *which)
        with tempfile.NamedTemporaryFile("w", suffix=".ptx") as ptx:
            ptx.write(text)
            ptx.flush()
            return job, [(by, *compiled(options, by, ptx.name, "sm_90")) for by in options.by.split(",")]

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for (kind, number), (job, made) in zip(every_program(options), pool.map(make, every_program(options))):
            for by, cubin, said in made:
                if cubin:
                    pack.add({**job, "id": f"program {kind} {number} {by}"}, cubin)
                else:
                    print(kind, number, by, said)


def judge_programs(options, results):
    def expected(which):
        text, job, values = program(options, *which)
        if values:
            return [b"".join(word.to_bytes(4, "little") for word in words) for _, words in sorted(values.items())]
        with tempfile.TemporaryDirectory() as work:
            work = pathlib.Path(work)
            (work / "k.ptx").write_text(text)
            arguments, outs = [], []
            for number, (value, patches) in enumerate(job["params"]):
                if not patches:
                    arguments.append(f"u{8 * len(value)}:{int.from_bytes(value, 'little')}")
                    continue
                data, back = job["buffers"][patches[0][1]]
                (work / f"i{number}").write_bytes(data)
                arguments.append(f"inout:{work / f'i{number}'}:{work / f'o{number}'}" if back else f"in:{work / f'i{number}'}")
                outs += [work / f"o{number}"] if back else []
            three = lambda shape: ",".join(map(str, shape))
            command = [options.oriole, "run", str(work / "k.ptx"), "--engine", "ptx", "--entry", job["entry"], "--grid", three(job["grid"]), "--block", three(job["block"]),
                       "--shared", str(job["shared"]), *(["--cluster", three(job["cluster"])] if job["cluster"] else []), *arguments]  # fmt: skip
            done = subprocess.run(command, capture_output=True, text=True)
            return [out.read_bytes() for out in outs] if done.returncode == 0 else done.stderr.strip().splitlines()[-1][:150]

    counts = {}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for which, want in zip(every_program(options), pool.map(expected, every_program(options))):
            found = {by: results.get(f"program {which[0]} {which[1]} {by}") for by in COMPILERS}
            got = {by: result.get("out", result.get("error")) for by, result in found.items() if result}
            verdict = which[0] + " " + "".join("-" if by not in got else "=" if got[by] == want else "!" for by in COMPILERS)
            counts[verdict] = counts.get(verdict, 0) + 1
            if "!" in verdict:
                said = {by: value if isinstance(value, str) or isinstance(want, str) else [first_difference(a, b) for a, b in zip(value, want) if a != b] for by, value in got.items() if value != want}
                print(verdict, which[1], want if isinstance(want, str) else "", {by: value if isinstance(value, str) else value[:1] if not isinstance(want, str) else "" for by, value in said.items()})
    print(counts)


def witness(options, pack):
    for line in open(options.witness):
        module = json.loads(line)
        for launch in module["jobs"]:
            params = [(bytes.fromhex(text), [(0, *address)] if address else []) for text, address in zip(launch["params"], launch["addresses"])]
            grid, block, cluster = launch["shape"]
            job = {"id": launch["id"], "entry": launch["entry"], "grid": grid, "block": block, "cluster": cluster if cluster != [1, 1, 1] else None,
                   "shared": launch["shared"], "buffers": [(bytes.fromhex(text), number == 1) for number, text in enumerate(launch["buffers"])], "params": params,
                   "maps": launch.get("maps")}  # fmt: skip
            pack.add(job, bytes.fromhex(module["cubin"]))


def judge_witness(options, results):
    with open(options.lines, "w") as lines:
        for name, result in results.items():
            if name.startswith("witness "):
                said = {"out": result["out"][0].hex()} if "out" in result else {"error": result["error"]}
                lines.write(json.dumps({"id": name, **said}) + "\n")


def first_difference(got, want):
    if isinstance(want, str):
        return f"interpreter: {want}"
    at = next(i for i in range(len(got)) if got[i] != want[i])
    return f"byte {at} of {len(got)}: {got[at & ~3:][:4].hex()} for {want[at & ~3:][:4].hex()}"


KINDS = {"kernels": (kernels, judge_kernels), "forms": (forms, judge_forms), "programs": (programs, judge_programs), "witness": (witness, judge_witness)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=list(KINDS))
    parser.add_argument("--oriole", required=True)
    parser.add_argument("--ptxas")
    parser.add_argument("--out")
    parser.add_argument("--judge")
    parser.add_argument("--witness")
    parser.add_argument("--lines")
    parser.add_argument("--sample", type=int)
    parser.add_argument("--by", default=",".join(COMPILERS), help="whose code")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    if options.judge:
        results = pickle.loads(lzma.open(options.judge).read())
        KINDS[options.what][1](options, results)
        return
    pack = Pack()
    KINDS[options.what][0](options, pack)
    pack.write(options.out)


if __name__ == "__main__":
    main()
