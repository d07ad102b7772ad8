#!/usr/bin/env python3
"""Which instruction LLVM selects for each intrinsic of NVVM, and which we do.

    python intrinsics.py --oriole target/release/oriole [--only REGEX] [--targets sm_100a,sm_90a,sm_103a,sm_120a,sm_80] [--features +ptx90]

The Python has Triton installed (its LLVM is the newest that the index has: LLVM 23 in 3.9.0). Each intrinsic is called by a kernel of its own,
for several values of its constant arguments; the first target for which LLVM has code counts. The last line has the sums; above it stand those
that are refused here, and those for which the instructions differ. 2,625 intrinsics take about ten minutes.
"""
import argparse, collections, itertools, re, subprocess, tempfile

import triton_llvm

# Instructions around the one that an intrinsic stands for: parameters, results and their conversions.
AROUND = re.compile(r"(ld\.param|ret|mov|cvta|cvt\.[us]|st\.global|selp|and\.b|or\.|shl|shr|setp)")
# Values of constant arguments that are no flags.
VALUES = [0, 1, 2, 3, 4, 5, 6, 8, 16, 128]
# Calls of one intrinsic at most.
CALLS = 64


def parts(text):
    """The parts of a list, of which some have commas in brackets."""
    found, depth, part = [], 0, ""
    for letter in text:
        depth += (letter in "{<[(") - (letter in "}>])")
        if letter == "," and depth == 0:
            found, part = found + [part.strip()], ""
        else:
            part += letter
    return found + [part.strip()] if part.strip() else found


def split(signature):
    """Result and arguments of a function type."""
    depth = 0
    for at in range(len(signature) - 1, -1, -1):
        depth += (signature[at] == ")") - (signature[at] == "(")
        if depth == 0:
            return signature[:at].strip(), parts(signature[at + 1:-1])


def kernel(name, signature, constants):
    result, types = split(signature)
    values = [f"{ty} {constants[at]}" if at in constants else f"{ty} %a{at}" for at, ty in enumerate(types)]
    params = [value for at, value in enumerate(values) if at not in constants] + ["ptr addrspace(1) %out"]
    call = f"call {result} @{name}({', '.join(values)})"
    body = f"  {call}\n" if result == "void" else f"  %r = {call}\n  store {result} %r, ptr addrspace(1) %out\n"
    return (f'target triple = "{triton_llvm.TRIPLE}"\ndeclare {result} @{name}({", ".join(types)})\n'
            f"define ptx_kernel void @k({', '.join(params)}) {{\n{body}  ret void\n}}\n")


def choices(types, numbers):
    """Values of the constant arguments: all, or so many that stand all over them."""
    every = list(itertools.product(*([0, 1] if types[at] == "i1" else VALUES for at in numbers)))
    return [dict(zip(numbers, choice)) for choice in every[::max(1, len(every) // CALLS)]]


def instructions(ptx):
    body = re.sub(r"//[^\n]*", "", ptx[ptx.index("{"):])
    words = [statement.strip().lstrip("{} ") for statement in re.sub(r"\s+", " ", body).split(";")]
    found = [re.match(r"(?:@!?%p\d+ )?([a-z][a-z0-9_.:]*)(?: |$)", word) for word in words]
    return [match[1] for match in found if match and "." in match[1] and not AROUND.match(match[1])]


def ours(oriole, text, target):
    with tempfile.NamedTemporaryFile("w", suffix=".ll") as file:
        file.write(text)
        file.flush()
        done = subprocess.run([oriole, "nvptx", "--arch", target, file.name, "-o", "-"], capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else None


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--oriole", required=True)
    options.add_argument("--only", default="")
    options.add_argument("--targets", default="sm_100a,sm_90a,sm_103a,sm_120a,sm_80")
    options.add_argument("--features", default="+ptx90")
    options = options.parse_args()
    sums = collections.Counter()
    for name, signature, numbers in triton_llvm.Intrinsics().of_nvvm():
        types = split(signature)[1]
        if not re.search(options.only, name) or "metadata" in types or "..." in types:
            continue
        verdicts = set()
        for constants in choices(types, [int(number) for number in numbers.split()]):
            text = kernel(name, signature, constants)
            asked = ((target, triton_llvm.ptx(text, target, options.features)) for target in options.targets.split(","))
            target, theirs = next(((target, ptx) for target, ptx in asked if ptx), (None, None))
            if not theirs:
                continue
            own = ours(options.oriole, text, target)
            verdict = "refused" if own is None else "same" if instructions(own) == instructions(theirs) else "differs"
            if verdict != "same" and verdict not in verdicts:
                print(f"{verdict} {name} {constants or ''} {target}: {' '.join(instructions(theirs))}", flush=True)
            verdicts.add(verdict)
        order = ["refused", "differs", "same"]
        sums[next((verdict for verdict in order if verdict in verdicts), "LLVM has no code")] += 1
    print(", ".join(f"{count} {verdict}" for verdict, count in sums.most_common()))


if __name__ == "__main__":
    main()
