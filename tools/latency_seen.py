#!/usr/bin/env python3
"""Lowers numbers of crates/isa/spec/latency/{raw,waw,war}.tsv to what code of ptxas is found to rely on.

    oriole check --json CUBIN > REPORT          for cubins that ptxas made at -O3, and so on
    python3 tools/latency_seen.py NAME REPORT...

Every finding of too few cycles names the row that it went by; the smallest distance of each row and target becomes its
number, with the source `seen(NAME)`. Look at the code before: a path that cannot be taken is no evidence. Afterwards
tools/latency_evidence.py takes the numbers over for the tests.
"""
import json
import re
import sys

import latency_tables as tables

KINDS = {"read after write": "raw", "write after write": "waw", "write after read": "war"}


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
            target = found["arch"]
            # Only sm_120 tells the parts of the ALU apart.
            parts = row[1:] if target == "sm_120" else [re.sub(r"^ALU (dual|64)", "ALU", part) for part in row[1:]]
            key = (KINDS[finding["kind"]], (row[0], *parts), target)
            least[key] = min(least.get(key, 99), finding["missing"]["passed"])
    for kind in ("raw", "waw", "war"):
        head, names, rows = tables.read_table(kind)
        for (of, row, target), number in sorted(least.items()):
            if of == kind and number > 0:
                before = rows.get(row, {}).get(target, ("-", "-"))
                print(kind, *row, target, before[0], before[1], "->", number)
                cells = rows.setdefault(row, {})
                cells[target] = (str(number), "seen(%s)" % name)
                if target == "sm_75":
                    cells["sm_70"] = (str(number), "sm_75")
        tables.write_table(kind, head, names, rows)


if __name__ == "__main__":
    main()
