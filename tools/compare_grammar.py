#!/usr/bin/env python3
"""Which statements ptxas takes and Oriole does not, and the other way round: by single changes of every form.

    compare_grammar.py --ptxas PATH --again FILE
    compare_grammar.py --ptxas PATH [--oriole target/debug/oriole | --check PATH] [--shared DIR] [--targets sm_75,sm_90a]
                       [--count N] [--seed S] [--only WORD] [--kinds A,B] [--list FILE] [--examples N]

Statements come from every line of crates/ptx/spec and from the forms of the corpus (tools/grammar_changes.py). N of them, each with one
change (another type, space, vector, modifier, order, operand, constant at its limits, version), and as they are a tenth, are compiled by
both for every target. A statement that `oriole ptx check` takes and lowering refuses counts as refused. Differences are
printed by kind, the most frequent first; --list writes each: target, verdicts, change, statement, both messages.

--again asks ptxas about the statements of a file such as crates/ptx/tests/data/changes.tsv, and writes its verdicts into the file. A line is
`TARGET<tab>VERSION<tab>VERDICT<tab>STATEMENT`; VERDICT is `ok` or `no`, a `*` behind it says that Oriole's differs on purpose.
"""
import argparse
import collections
import json
import os
import pathlib
import random
import re
import subprocess
import tempfile

import grammar_changes

BATCH = 64
CRASHED = "crashed"


class Judge:
    """Compiles modules of one statement a line, and says of each line why it is refused; None where it is taken."""

    def __init__(self, folder):
        self.source, self.out = pathlib.Path(folder, "module.ptx"), pathlib.Path(folder, "out")
        self.runs = 0

    def verdicts(self, version, target, statements):
        refused = {}
        self.settle(version, target, list(enumerate(statements)), refused)
        return [refused.get(at) for at in range(len(statements))]

    def settle(self, version, target, live, refused):
        while live:
            lines = [f".version {version}", f".target {target}", ".address_size 64", grammar_changes.PREAMBLE]
            self.source.write_text("\n".join(lines + [statement.line(at) for at, statement in live]) + "\n")
            self.runs += 1
            found = self.compile(target)
            if found is None:
                return
            bad = {line - len(lines) - 1: message for line, message in found if line > len(lines)}
            bad = {at: message for at, message in bad.items() if at < len(live)}
            if not bad and len(live) == 1:
                bad = {0: found[0][1] if found else "failed without a word"}
            for at, message in bad.items():
                refused[live[at][0]] = message
            live = [item for at, item in enumerate(live) if at not in bad]
            if not bad:
                half = len(live) // 2
                self.settle(version, target, live[:half], refused)
                self.settle(version, target, live[half:], refused)
                return

    def run(self, command):
        try:
            return subprocess.run(command, capture_output=True, text=True, timeout=120)
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(command, -1, "", "timeout")


class Ptxas(Judge):
    def __init__(self, path, folder):
        super().__init__(folder)
        self.path = path

    def compile(self, target):
        done = self.run([self.path, f"-arch={target}", "-O0", self.source, "-o", self.out])
        if done.returncode == 0:
            return None
        found = []
        for line in (done.stdout + done.stderr).splitlines():
            if m := re.search(r"line (\d+); (?:error|fatal)\s*:\s*(.*)", line):
                found.append((int(m[1]), m[2].strip()))
            elif (m := re.search(r"\bk_F(\d+)\b", line)) and ("error" in line or "fatal" in line):
                found.append((self.line_of(int(m[1])), line.strip()))
        # The first message about a line is the one that says why.
        return found[::-1] or [(0, (done.stdout + done.stderr).strip()[:200] or CRASHED)]

    def line_of(self, index):
        lines = self.source.read_text().splitlines()
        return next((at for at, line in enumerate(lines, 1) if f"k_F{index}(" in line), 0)


class Oriole(Judge):
    def __init__(self, path, folder):
        super().__init__(folder)
        self.path = path

    def compile(self, target):
        done = self.run([self.path, "compile", self.source, "--arch", target, "-O0", "-o", self.out, "--diagnostics", "json"])
        if done.returncode == 0:
            return None
        found = []
        for line in done.stderr.splitlines():
            try:
                said = json.loads(line)
            except ValueError:
                continue
            if said.get("severity") == "error":
                found.append((said.get("line") or 0, said["message"]))
        return found[::-1] or [(0, done.stderr.strip()[:200] or CRASHED)]


class Checker(Judge):
    """The checker alone: `cargo build -p oriole-ptx --features examples --example verdicts`."""

    def __init__(self, path, folder):
        super().__init__(folder)
        self.path = path

    def compile(self, target):
        text = json.dumps(self.source.read_text()) + "\n"
        done = subprocess.run([self.path], input=text, capture_output=True, text=True)
        found = [(line, message) for line, message in json.loads(done.stdout)]
        return found[::-1] or None


def again(options):
    """Writes ptxas's verdicts into a file of statements, and what stands around them into its head."""
    path = pathlib.Path(options.again)
    rows = [line.split("\t") for line in path.read_text().splitlines() if not line.startswith("#")]
    with tempfile.TemporaryDirectory() as folder:
        judge = Ptxas(options.ptxas, folder)
        for row in rows:
            target, version, verdict, text = row
            # Each alone: a syntax error may be told of the line behind it.
            said, = judge.verdicts(version, target, [grammar_changes.in_kernel(text, version)])
            row[2] = ("no" if said else "ok") + "*" * verdict.endswith("*")
    since = ["\t".join(["#since", version, text]) for version, text in grammar_changes.SINCE]
    head = ["# Verdicts of ptxas 13.0.88; tools/compare_grammar.py says what the lines mean and asks again.",
            "#before\t" + grammar_changes.PREAMBLE, "#kernel\t" + grammar_changes.GRAMMAR_KERNEL, *since,
            "#behind\t" + grammar_changes.GRAMMAR_END]
    path.write_text("\n".join(head + ["\t".join(row) for row in rows]) + "\n")


def statements(options, rng):
    """The statements that are asked about: those of the grammar and the corpus, most of them with one change."""
    grammar = grammar_changes.of_grammar(rng)
    corpus = grammar_changes.of_corpus(pathlib.Path(options.shared, "ptx_forms"))
    words = grammar_changes.words_by_opcode(grammar + corpus)
    pools = [[s for s in pool if options.only in s.instruction()] for pool in (grammar, corpus)]
    pools = [pool for pool in pools if pool]
    by_opcode = [collections.defaultdict(list) for _ in pools]
    for pool, opcodes in zip(pools, by_opcode):
        for statement in pool:
            opcodes[statement.opcode].append(statement)
    kinds = [kind for kind in grammar_changes.KINDS if not options.kinds or kind in options.kinds.split(",")]
    found = {}
    while len(found) < options.count:
        at = rng.randrange(len(pools))
        # Half by opcode, so that those with few forms are seen too.
        base = rng.choice(pools[at]) if rng.random() < 0.5 else rng.choice(by_opcode[at][rng.choice(sorted(by_opcode[at]))])
        new = base if rng.random() < 0.1 else grammar_changes.change(rng, base, words, kinds)
        if new:
            found[new.line(0)] = new
    return list(found.values())


def plain(message):
    """A message without the names in it."""
    return re.sub(r"'[^']*'|`[^`]*`|%\w+|-?\d+", "X", message or "")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ptxas", required=True)
    parser.add_argument("--oriole", default="target/debug/oriole")
    parser.add_argument("--check", help="ask the checker alone: crates/ptx/examples/verdicts.rs, built")
    parser.add_argument("--shared", default=os.environ.get("ORIOLE_SHARED", "../shared"))
    parser.add_argument("--targets", default="sm_75,sm_80,sm_90a,sm_100a,sm_103a,sm_120a")
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="statements that hold this text")
    parser.add_argument("--kinds", help="of changes, by name: " + ", ".join(sorted(set(grammar_changes.KINDS))))
    parser.add_argument("--list")
    parser.add_argument("--examples", type=int, default=3)
    parser.add_argument("--again", help="a file of statements")
    options = parser.parse_args()
    if options.again:
        return again(options)
    asked = statements(options, random.Random(options.seed))
    by_version = collections.defaultdict(list)
    for statement in asked:
        by_version[statement.version].append(statement)
    differences, total, taken = [], 0, 0
    with tempfile.TemporaryDirectory() as folder:
        ours = Checker(options.check, folder) if options.check else Oriole(options.oriole, folder)
        judges = Ptxas(options.ptxas, folder), ours
        for target in options.targets.split(","):
            for version, group in by_version.items():
                for start in range(0, len(group), BATCH):
                    batch = group[start:start + BATCH]
                    theirs, ours = (judge.verdicts(version, target, batch) for judge in judges)
                    total += len(batch)
                    taken += theirs.count(None)
                    for statement, *said in zip(batch, theirs, ours):
                        if (said[0] is None) != (said[1] is None):
                            # Alone, since a line may spoil the next one.
                            their, our = (judge.verdicts(version, target, [statement])[0] for judge in judges)
                            if (their is None) != (our is None) and their != CRASHED:
                                differences.append((target, statement, their, our))
    report(options, differences, total, taken)


def report(options, differences, total, taken):
    lenient = sum(ours is None for *_, ours in differences)
    print(f"{total} verdicts, {taken} taken by ptxas; {len(differences)} differ: {lenient} taken by us alone, "
          f"{len(differences) - lenient} by ptxas alone")
    kinds = collections.defaultdict(list)
    for target, statement, theirs, ours in differences:
        kinds[ours is None, statement.opcode, plain(theirs or ours)].append((target, statement))
    for (lenient, opcode, message), found in sorted(kinds.items(), key=lambda item: -len(item[1])):
        print(f"{len(found):5} {'ours' if lenient else 'ptxas'} alone, {opcode}: {message[:150]}")
        seen = {}
        for target, statement in found:
            seen.setdefault(statement.instruction(), (statement, []))[1].append(target)
        for statement, targets in list(seen.values())[:options.examples]:
            print(f"        {statement.change}, {statement.version}, {','.join(targets)}: {statement.instruction()[:160]}")
    if options.list:
        rows = ["\t".join([target, "ptxas" if theirs is None else "ours", statement.change, statement.version, statement.instruction(),
                           str(theirs), str(ours)]) for target, statement, theirs, ours in differences]
        pathlib.Path(options.list).write_text("\n".join(rows) + "\n")


if __name__ == "__main__":
    main()
