#!/usr/bin/env python3
"""Compare Oriole's checker with ptxas on mutants of accepted PTX forms.

Each mutant changes one instruction of a form: a modifier dropped, added,
swapped or moved; a type changed; an operand dropped, doubled or replaced by
one of another kind; an older `.version`; an older target. ptxas and the
checker (`cargo build -p oriole-ptx --features examples --example verdicts`) say whether they
accept it; the report gives the agreement and the largest classes of
disagreement. Seeds make runs repeatable.

    tools/ptx_mutants.py --forms ../shared/ptx_forms --ptxas $ORIOLE_ORACLE/ptxas \
        --verdicts target/debug/examples/verdicts --count 20000 --seed 1
"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import random
import re
import subprocess
import tempfile

VERSIONS = ("6.3 6.4 6.5 7.0 7.1 7.2 7.3 7.4 7.5 7.6 7.7 7.8 8.0 8.1 8.2 8.3 8.4 8.5 8.6 8.7 8.8").split()
TARGETS = "sm_75 sm_80 sm_86 sm_89 sm_90 sm_90a sm_100a sm_120a".split()
TYPES = ("u8 u16 u32 u64 s8 s16 s32 s64 b8 b16 b32 b64 b128 f16 f16x2 bf16 bf16x2 f32 f64 pred").split()
OPERANDS = ["5", "1.5", "0f3F800000", "%mp", "%mh", "%mr", "%md", "%mf", "%me", "[%md]", "{%mr,%mr}", "_", "mv", "!%mp"]
REGISTERS = (
    ".reg .pred %mp;.reg .b16 %mh;.reg .b32 %mr;.reg .b64 %md;.reg .f32 %mf;.reg .f64 %me;.local .align 8 .b8 mv[8];"
)
INSTRUCTION = re.compile(r"(?<=[\n;{])(\s*(?:@!?%\w+\s+)?)([a-z][a-z0-9]*)((?:\.[\w:]+)*)([^;{}\n]*(?:\{[^;{}]*\}[^;{}\n]*)*);")


def split_operands(text):
    """Operands at the top level of commas."""
    found, depth, start = [], 0, 0
    for at, c in enumerate(text):
        depth += (c in "[{(") - (c in "]})")
        if c == "," and depth == 0:
            found.append(text[start:at].strip())
            start = at + 1
    rest = text[start:].strip()
    return found + [rest] if rest or found else []


def mutate(rng, form, vocabulary):
    """A mutant of a form: its class, its text and its target."""
    target = rng.choice(form["targets"])
    text = form["ptx"]
    body = text.index("{")
    places = [m for m in INSTRUCTION.finditer(text, body) if m[2] not in ("ret", "exit")]
    wanted = [m for m in places if form["id"].startswith(m[2])] or places
    if not wanted:
        return None
    place = rng.choice(wanted)
    modifiers = place[3].split(".")[1:]
    operands = split_operands(place[4])
    kind = rng.choice(
        ["drop", "add", "replace", "move", "type", "type", "operand", "operand", "drop operand", "double operand"]
        + ["version", "target"]
    )
    if kind == "version":
        older = rng.choice(VERSIONS)
        return kind, text.replace(".version 9.0", f".version {older}").replace("@TARGET@", target), target
    if kind == "target":
        target = rng.choice(TARGETS)
        return kind, text.replace("@TARGET@", target), target
    if kind in ("drop", "replace", "move") and not modifiers:
        return None
    if kind == "drop":
        del modifiers[rng.randrange(len(modifiers))]
    elif kind == "add":
        modifiers.insert(rng.randint(0, len(modifiers)), rng.choice(vocabulary[place[2]] if rng.random() < 0.7 else vocabulary[""]))
    elif kind == "replace":
        modifiers[rng.randrange(len(modifiers))] = rng.choice(vocabulary[place[2]])
    elif kind == "move":
        modifiers.insert(rng.randrange(len(modifiers)), modifiers.pop(rng.randrange(len(modifiers))))
    elif kind == "type":
        at = [i for i, m in enumerate(modifiers) if m in TYPES]
        if not at:
            return None
        modifiers[rng.choice(at)] = rng.choice(TYPES)
    elif not operands:
        return None
    elif kind == "operand":
        operands[rng.randrange(len(operands))] = rng.choice(OPERANDS)
    elif kind == "drop operand":
        del operands[rng.randrange(len(operands))]
    else:
        operands.insert(rng.randint(0, len(operands)), rng.choice(operands))
    new = place[1] + place[2] + "".join("." + m for m in modifiers) + " " + ",".join(operands) + ";"
    changed = text[: place.start()] + new + text[place.end() :]
    changed = re.sub(r"(\.entry[^{]*\{)", lambda m: m[1] + REGISTERS, changed, count=1)
    return kind, changed.replace("@TARGET@", target), target


def ask_ptxas(ptxas, job):
    """None when ptxas accepts the mutant, else its first message."""
    _, text, target = job
    with tempfile.NamedTemporaryFile("w", suffix=".ptx", delete=False) as file:
        file.write(text)
    try:
        run = subprocess.run(
            [ptxas, "-arch", target, "-O0", "-o", "/dev/null", file.name], capture_output=True, text=True, timeout=60
        )
    except subprocess.TimeoutExpired:
        return "timed out"
    finally:
        os.unlink(file.name)
    if run.returncode == 0:
        return None
    lines = [line for line in (run.stderr + run.stdout).splitlines() if "error" in line or "fatal" in line]
    return re.sub(r".*(error|fatal)\s*:\s*", "", lines[0]) if lines else "unknown"


def ask_oriole(verdicts, texts):
    """The checker's answers, in order."""
    request = "".join(json.dumps(text) + "\n" for text in texts)
    run = subprocess.run([verdicts], input=request, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in run.stdout.splitlines()]


def load_forms(folder):
    for file in sorted(pathlib.Path(folder, "forms").glob("*.jsonl")):
        yield from map(json.loads, file.read_text().splitlines())


def vocabulary_of(forms):
    """By opcode: the modifiers that its accepted forms have; under "": all."""
    found = collections.defaultdict(set)
    for form in forms:
        for m in INSTRUCTION.finditer(form["ptx"], form["ptx"].index("{")):
            found[m[2]].update(m[3].split(".")[1:])
            found[""].update(m[3].split(".")[1:])
    return collections.defaultdict(lambda: ["f32"], {op: sorted(words) or ["f32"] for op, words in found.items()})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--forms", required=True)
    parser.add_argument("--ptxas", required=True)
    parser.add_argument("--verdicts", required=True)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--examples", type=int, default=2, help="examples shown per class of disagreement")
    parser.add_argument("--by-family", action="store_true", help="as many mutants of each family")
    args = parser.parse_args()
    rng = random.Random(args.seed)
    forms = list(load_forms(args.forms))
    vocabulary = vocabulary_of(forms)
    families = collections.defaultdict(list)
    for form in forms:
        families[form["family"]].append(form)
    names = sorted(families)
    jobs = []
    while len(jobs) < args.count:
        form = rng.choice(families[rng.choice(names)] if args.by_family else forms)
        if job := mutate(rng, form, vocabulary):
            jobs.append(job)
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        theirs = list(pool.map(lambda job: ask_ptxas(args.ptxas, job), jobs))
    ours = ask_oriole(args.verdicts, [text for _, text, _ in jobs])
    report(args, jobs, theirs, ours)


def report(args, jobs, theirs, ours):
    agree = collections.Counter()
    classes = collections.defaultdict(list)
    for (kind, text, target), message, answer in zip(jobs, theirs, ours):
        same = (message is None) == answer["ok"]
        agree[kind, same] += 1
        if not same:
            changed = [line for line in text.splitlines()]
            at = changed[answer["line"] - 1] if not answer["ok"] else ""
            said = re.sub(r"'[^']*'", "X", message or "") or re.sub(r"`[^`]*`", "X", answer["message"])
            classes[("accepted" if answer["ok"] else "rejected"), said].append((kind, target, message, answer, text, at))
    total = len(jobs)
    good = sum(count for (_, same), count in agree.items() if same)
    accepted = sum(message is None for message in theirs)
    print(f"{good} of {total} agree ({100 * good / total:.2f} %); ptxas accepts {accepted}")
    for kind in sorted({kind for kind, _ in agree}):
        print(f"  {kind}: {agree[kind, True]} agree, {agree[kind, False]} do not")
    for (what, said), found in sorted(classes.items(), key=lambda item: -len(item[1])):
        print(f"{len(found):5} {what} by us: {said}")
        for kind, target, message, answer, text, at in found[: args.examples]:
            lines = [at] if at else [line for line in text.splitlines() if "%m" in line or "mv" in line][-1:]
            shown = at or changed_line(text)
            print(f"        {kind}, {target}: {shown.strip()[:150]}")


def changed_line(text):
    """The last line before the stores: where forms have their instruction."""
    lines = [line for line in text.splitlines() if line and not re.match(r"\s*(st\.global|ret|\}|ld\.global|\.|mov\.u32 %tx)", line)]
    return lines[-1] if lines else ""


if __name__ == "__main__":
    main()
