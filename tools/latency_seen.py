#!/usr/bin/env python3
"""Lowers numbers of crates/isa/spec/latency/{raw,waw,war}.tsv to what code of ptxas is found to rely on.

    oriole check --json CUBIN > REPORT          for cubins that ptxas made at -O3, and so on
    python3 tools/latency_seen.py NAME REPORT...

Every finding of too few cycles names the row that it went by; the smallest distance of each row and target becomes its
number, with the source `seen(NAME)`. What is seen on one of sm_80, sm_86, sm_87, sm_88 and sm_89 goes for all of them, what is seen on
sm_103 and sm_110 for sm_100, on sm_121 for sm_120; but where the column was mined from pairs of its own, the number
stands in chips.tsv for the chip alone.

A path that cannot be taken is no evidence. So only straight code counts: the later instruction stands behind the earlier
one in the same function, with no more instructions between the two than cycles passed. The rest is named on standard
error. Afterwards tools/latency_evidence.py takes the numbers over for the tests.
"""
import json
import os
import re
import sys

import latency_tables as tables

# The columns for which what is seen on a target holds: those that ptxas schedules alike.
ALIKE = ("sm_80", "sm_86", "sm_89")
COLUMNS = {"sm_103": ("sm_100",), "sm_110": ("sm_100",), "sm_121": ("sm_120",), **dict.fromkeys((*ALIKE, "sm_87", "sm_88"), ALIKE)}
CHIPS = os.path.join(tables.TABLES, "chips.tsv")

KINDS = {"read after write": "raw", "write after write": "waw", "write after read": "war"}


INSTRUCTION = 16  # bytes


def is_straight(earlier, later, passed):
    """Whether nothing but the instructions that stand between the two can have issued between them."""
    instructions = (later["address"] - earlier["address"]) // INSTRUCTION
    return earlier["function"] == later["function"] and 0 < instructions <= passed


def main():
    name, *reports = sys.argv[1:]
    least = {}
    for report in reports:
        with open(report) as file:
            text = file.read()
        found = json.loads(text) if text.strip() else {"findings": []}
        for finding in found["findings"]:
            row = finding["missing"].get("row")
            if row is None or finding["kind"] not in KINDS:
                continue
            passed = finding["missing"]["passed"]
            target = found["arch"]
            if not is_straight(finding["earlier"], finding["later"], passed):
                print(report, *row, target, passed, "not straight", file=sys.stderr)
                continue
            # Only sm_120 tells the parts of the ALU apart.
            parts = row[1:] if target == "sm_120" else [re.sub(r"^ALU (dual|64)", "ALU", part) for part in row[1:]]
            key = (KINDS[finding["kind"]], (row[0], *parts), target)
            least[key] = min(least.get(key, passed), passed)
    chips = []
    for kind in ("raw", "waw", "war"):
        head, names, rows = tables.read_table(kind)
        for (of, row, target), number in sorted(least.items()):
            if of != kind or number <= 0:
                continue
            cells = rows.setdefault(row, {})
            for column in COLUMNS.get(target, (target,)):
                before = cells.get(column, ("-", "-"))
                if column != target and re.match(r"\d+x\d+$", before[1]):
                    if target not in tables.COLUMNS:
                        chips.append([kind, *row, target, str(number), "seen(%s)" % name])
                    continue
                if before[0] == "-" or int(before[0]) > number:
                    print(kind, *row, target, column, *before, "->", number)
                    cells[column] = (str(number), "seen(%s)" % name)
                    if column == "sm_75":
                        cells["sm_70"] = (str(number), "sm_75")
        tables.write_table(kind, head, names, rows)
    add_chips(chips)


def add_chips(found):
    """Puts rows into chips.tsv, in place of those that it has of the same pair."""
    with open(CHIPS) as file:
        rows = [line.rstrip("\n").split("\t") for line in file]
    known = {tuple(row[:5]): row for row in rows if len(row) == 7}
    for row in found:
        print(*row)
        if tuple(row[:5]) in known:
            known[tuple(row[:5])][5:] = row[5:]
        else:
            rows.append(row)
    with open(CHIPS, "w") as out:
        out.writelines("\t".join(row) + "\n" for row in rows)


if __name__ == "__main__":
    main()
