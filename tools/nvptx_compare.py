#!/usr/bin/env python3
"""Our PTX from LLVM IR beside a reference compiler's, and our speed beside llc's.

    nvptx_compare.py text OURS REFERENCE ...      instructions and declared registers, file by file
    nvptx_compare.py code OURS REFERENCE ...      both through `oriole compile` and the simulator's cycle model
    nvptx_compare.py speed IN.ll ...              lines per second of `oriole nvptx` and `llc-19 -O2`

OURS and REFERENCE are folders of NAME.sm_NN.ptx (tools/nvptx_reference.py makes the reference ones; upstream LLVM's
for Triton's kernels are in shared/kernels/ptx). Files that are in both are compared. Ratios are ours to theirs;
means are geometric, and a count of 0 on either side leaves the file out of that mean.

text   An instruction is a statement of a body that is no declaration, label or directive; those inside of inline
       assembly count too. Registers are those declared by `.reg`, by type: %name<N> declares N - 1 (numbers start
       at 1), a name alone declares 1. Types differ between the compilers (libNVVM and LLVM 22 hold an f32 in a .b32),
       so means are by width.
code   Registers per kernel are what `oriole compile -v` prints; cycles are the simulator's for each launch of
       shared/kernels/launch.json (see docs/timing.md: an estimate, the same for both).
speed  A module is given 1 + N times: as it is, and with N more copies of its text under other names, in
       one file, so that the difference of the two times is that of N copies without start-up. Both compilers
       take the same two files, alternately; the least of --runs times counts. Lines are those that are not empty.
"""
import argparse, collections, json, math, pathlib, re, subprocess, sys, tempfile, time

SHARED = pathlib.Path(__file__).resolve().parents[2] / "shared"
DECLARATION = re.compile(r"\.reg\s+\.(\w+)\s+([^;]+);")


def mean(ratios):
    ratios = [a / b for a, b in ratios if a > 0 and b > 0]
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan


def pairs(ours, theirs, pattern):
    names = sorted(path.name for path in ours.glob(pattern + ".ptx") if (theirs / path.name).exists())
    return [(name, ours / name, theirs / name) for name in names]


# ---------------------------------------------------------------- the text

def count(path):
    """(instructions, registers by PTX type)."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", path.read_text(), flags=re.S)
    registers = collections.Counter()
    for kind, names in DECLARATION.findall(text):
        for name in names.split(","):
            many = re.search(r"<\s*(\d+)\s*>", name)
            registers[kind] += int(many[1]) - 1 if many else 1
    instructions = 0
    for body in re.findall(r"\)?\s*(?:\.\w+ [^{};]*)*\{(.*?)^\}", text, flags=re.S | re.M):
        for statement in re.split(r"[;{}]", re.sub(r"\{[^{};]*\}", "", body)):
            statement = re.sub(r"^(?:\s*[\w$%]+:)+", "", statement).strip()
            statement = re.sub(r"^(?:\.(?:loc|file|pragma)\b[^\n]*\n\s*)+", "", statement)
            instructions += bool(statement) and not statement.startswith((".", '"'))
    return instructions, registers


def compare_text(options):
    for theirs in options.references:
        counts, registers = [], collections.defaultdict(list)
        for name, a, b in pairs(options.ours, theirs, options.only):
            (x, rx), (y, ry) = count(a), count(b)
            counts.append((x, y))
            row = [f"{kind} {rx[kind]}/{ry[kind]}" for kind in sorted(rx | ry)]
            for width in ("pred", "16", "32", "64", "128", ""):
                registers[width or "all"].append(tuple(sum(n for kind, n in side.items() if kind.endswith(width)) for side in (rx, ry)))
            print(f"{name:44} {x:6} {y:6} {x / max(y, 1):6.3f}  {' '.join(row)}")
        print(f"{theirs}: {len(counts)} files, instructions {mean(counts):.3f}; registers "
              + ", ".join(f"{kind} {mean(ratios):.3f}" for kind, ratios in registers.items() if any(a and b for a, b in ratios)))


# ---------------------------------------------------------------- the code

def compiled(options, ptx, target, out):
    """Registers of each kernel; the cubin is written to `out`."""
    done = subprocess.run([options.oriole, "compile", ptx, "--arch", target, "-o", out, "-v"], capture_output=True, text=True)
    if done.returncode:
        return None
    names = re.findall(r"Compiling entry function '([^']+)'", done.stderr)
    return dict(zip(names, map(int, re.findall(r"Used (\d+) registers", done.stderr)), strict=True))


def cycles(options, kernels, launch, cubin, where):
    """The cycles of a launch, None when it fails."""
    where.mkdir()
    args, _ = kernels.command_args(launch, str(where))
    report = where / "timing.json"
    command = [options.oriole, "run", cubin, "--timing", "--timing-file", report, *args]
    try:
        done = subprocess.run(command, capture_output=True, timeout=options.timeout)
    except subprocess.TimeoutExpired:
        return None
    return json.loads(report.read_text())["cycles"] if done.returncode == 0 else None


def compare_code(options):
    sys.path.insert(0, str(options.shared / "tools"))
    import run_kernels as kernels
    launches = [launch for launch in kernels.load() if not {"fault", "spin"} & set(launch.get("needs", []))]
    for theirs in options.references:
        registers, times = [], []
        for name, *files in pairs(options.ours, theirs, options.only):
            stem, target = name.removesuffix(".ptx").rsplit(".", 1)
            with tempfile.TemporaryDirectory(prefix="compare.") as folder:
                where = pathlib.Path(folder)
                cubins = [where / "ours.cubin", where / "theirs.cubin"]
                used = [compiled(options, *pair) for pair in zip(files, (target, target), cubins)]
                if None in used:
                    print(f"{name}: {'ours does' if used[0] is None else 'theirs does'} not compile")
                    continue
                for kernel in used[0].keys() & used[1].keys():
                    registers.append((used[0][kernel], used[1][kernel]))
                for number, launch in enumerate(l for l in launches if l["file"] == stem and target in l["targets"]):
                    took = [cycles(options, kernels, launch, cubin, where / f"{number}.{side}") for side, cubin in enumerate(cubins)]
                    if None in took:
                        print(f"{name} {launch['name']}: {'ours' if took[0] is None else 'theirs'} does not run")
                        continue
                    times.append(took)
                    x, y = (side.get(launch["entry"], 0) for side in used)
                    print(f"{launch['name']:32} {target} registers {x:4} {y:4} cycles {took[0]:9} {took[1]:9} {took[0] / took[1]:6.3f}", flush=True)
        print(f"{theirs}: {len(registers)} kernels, R registers {mean(registers):.3f}; {len(times)} launches, cycles {mean(times):.3f}")


# ---------------------------------------------------------------- the speed

def copies(text, number):
    """The module with `number` more copies of its definitions, under other names; copies of kernels are kernels."""
    parts = re.findall(r"^(?:define .*?^\}|@[\w.$]+ = .*?$)\n", text, flags=re.S | re.M)
    parts = [part for part in parts if not part.startswith("@llvm.")]
    names = {re.search(r"@([\w.$]+)", part)[1] for part in parts}
    own = re.compile(r"@(" + "|".join(map(re.escape, sorted(names, key=len, reverse=True))) + r")(?![\w.$])")
    # A comdat has the name of what is in it.
    body = "".join(re.sub(r",? comdat\b(?:\(\$[\w.]+\))?", "", part) for part in parts)
    marks = re.findall(r"^!\d+ = (!\{ptr @[\w.$]+, !\"kernel\", i32 1\})", text, flags=re.M)
    free = max(map(int, re.findall(r"^!(\d+) =", text, flags=re.M)), default=-1) + 1
    nodes = [own.sub(rf"@copy{n}.\1", mark) for n in range(number) for mark in marks]
    listed = "".join(f", !{free + n}" for n in range(len(nodes)))
    text = re.sub(r"^(!nvvm\.annotations = !\{.*)\}$", rf"\1{listed}}}", text, flags=re.M)
    return text + "".join(own.sub(rf"@copy{n}.\1", body) for n in range(number)) + "".join(
        f"!{free + n} = {node}\n" for n, node in enumerate(nodes))


def least_time(commands, runs):
    """The least time of each command, taken by turns."""
    best = [math.inf] * len(commands)
    for _ in range(runs):
        for number, command in enumerate(commands):
            start = time.perf_counter()
            subprocess.run([str(part) for part in command], check=True, capture_output=True)
            best[number] = min(best[number], time.perf_counter() - start)
    return best


def compare_speed(options):
    import nvptx_reference
    ratios = []
    for path in options.inputs:
        text = nvptx_reference.for_llvm_19(path.read_text())
        with tempfile.TemporaryDirectory(prefix="speed.") as folder:
            where = pathlib.Path(folder)
            once, often, out = where / "once.ll", where / "often.ll", where / "out.ptx"
            once.write_text(text)
            often.write_text(copies(text, options.copies))
            ours = [[*options.ours_command.split(), file, "-o", out, "--arch", options.arch] for file in (once, often)]
            theirs = [["llc-19", "-march=nvptx64", f"-mcpu={options.arch}", "-mattr=+ptx83", "-O2", file, "-o", out]
                      for file in (once, often)]
            a, b, c, d = least_time(ours + theirs, options.runs)
            lines = sum(sum(1 for line in file.read_text().splitlines() if line.strip()) * sign for file, sign in ((often, 1), (once, -1)))
        ratios.append((d - c, b - a))
        print(f"{path.name:40} {lines:7} lines {lines / (b - a):10.0f}/s {lines / (d - c):10.0f}/s {(d - c) / (b - a):6.2f} times", flush=True)
    print(f"{len(ratios)} files: geometric mean {mean(ratios):.2f} times llc-19 -O2's lines per second")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--shared", type=pathlib.Path, default=SHARED)
    parser.add_argument("--oriole", default="target/release/oriole")
    kinds = parser.add_subparsers(dest="kind", required=True)
    for kind in ("text", "code"):
        sub = kinds.add_parser(kind)
        sub.add_argument("ours", type=pathlib.Path)
        sub.add_argument("references", type=pathlib.Path, nargs="+")
        sub.add_argument("--only", default="*", help="files by glob, without .ptx")
        sub.add_argument("--timeout", type=float, default=300)
    sub = kinds.add_parser("speed")
    sub.add_argument("inputs", type=pathlib.Path, nargs="+")
    sub.add_argument("--copies", type=int, default=20)
    sub.add_argument("--runs", type=int, default=5)
    sub.add_argument("--arch", default="sm_80")
    sub.add_argument("--ours-command", help="the command before FILE -o OUT --arch TARGET (default: ORIOLE nvptx)")
    options = parser.parse_args()
    if options.kind == "speed":
        options.ours_command = options.ours_command or f"{options.oriole} nvptx"
    {"text": compare_text, "code": compare_code, "speed": compare_speed}[options.kind](options)


if __name__ == "__main__":
    main()
