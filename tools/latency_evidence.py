#!/usr/bin/env python3
"""Writes crates/isa/tests/data/latency.tsv: for each cell of crates/isa/spec/latency/{raw,waw,war}.tsv the number that
it has to have, from where the tables were not made by hand. crates/isa/tests/latency.rs compares the two, cell by cell.

    python3 tools/latency_evidence.py [../shared]

What a number rests on stands behind it:
  m  the smallest distance of the pair in ptxas's code, as ../shared/latency has it, pooled by class
  p  the published number (NAK's), as ../shared/latency/nak.tsv has it; sm_90 goes by sm_80's
  f  tools/latency_floors.tsv
  s  neither: settled by the rules in the head of latency_tables.py, or found since. These are kept as they stand in the
     file; new ones and what was `seen` are taken over from the tables and named on standard error: each wants a look.
A cell of the tables that m or p say otherwise of is an error, unless its source says that it departs from them.
"""
import os
import re
import sys

import latency_tables as tables

DATA = os.path.join(tables.HERE, "..", "crates", "isa", "tests", "data", "latency.tsv")
HEAD = """# The number of each cell of spec/latency/*.tsv and what it rests on: m mined, p published, f floor, s settled.
# Made by tools/latency_evidence.py from ../shared/latency; its head says more.
"""


def kept():
    """What the file has: {(kind, file, first, second): {target: cell}}."""
    found = {}
    if os.path.exists(DATA):
        with open(DATA) as lines:
            for line in lines:
                cells = line.rstrip("\n").split("\t")
                if not line.startswith("#") and cells[0] != "kind":
                    found[tuple(cells[:4])] = dict(zip(tables.COLUMNS, cells[4:]))
    return found


def main():
    shared = sys.argv[1] if len(sys.argv) > 1 else os.path.join(tables.HERE, "..", "..", "shared")
    sys.path.insert(0, os.path.join(shared, "tools"))
    import mine_latency as miner
    folder = os.path.join(shared, "latency")
    tables.NEW.update({target: target for target in tables.OLD})
    mined = {target: tables.Mined(miner, folder, target) for target in tables.COLUMNS[1:]}
    published = miner.nak_values(os.path.join(folder, "nak.tsv"))
    known = {target: tables.published_for(target, published) for target in tables.COLUMNS[1:]}
    known["sm_90"] = known["sm_90"] or known["sm_80"]
    before, wrong = kept(), 0
    with open(DATA, "w") as out:
        out.write(HEAD + "\t".join(["kind", "file", "first", "second"] + tables.COLUMNS) + "\n")
        for kind in ("raw", "waw", "war"):
            for key, row in sorted(tables.read_table(kind)[2].items()):
                cells = []
                for target in tables.COLUMNS:
                    number, source = row.get(target, ("-", "-"))
                    of = "sm_75" if target == "sm_70" else target
                    least = mined[of].cells[kind].get(key, ("-",))[0]
                    said = known[of].get(key, ("-",))[0] if kind == "raw" else "-"
                    if target == "sm_70":
                        source = row.get(of, ("-", "-"))[1]
                    if number == "-":
                        cell = "-"
                    elif re.match(r"\d+x\d+$", source) and least != "-":
                        cell = "%sm" % least
                    elif re.match(r"nak(\(\d+\))?$", source) and said != "-":
                        cell = "%sp" % said
                    elif source.startswith("floor"):
                        cell = source[6:-1] + "f"
                    else:
                        old = before.get((kind,) + key, {}).get(target, "-")
                        cell = old if old.endswith("s") and not source.startswith("seen") else number + "s"
                        if before and cell != old:
                            print(kind, *key, target, "settled at", number, source, file=sys.stderr)
                    if cell != "-" and cell[:-1] != number:
                        print(kind, *key, target, "has", number, source, "and not", cell, file=sys.stderr)
                        wrong += 1
                    cells.append(cell)
                out.write("\t".join((kind,) + key + tuple(cells)) + "\n")
    sys.exit(wrong != 0)


if __name__ == "__main__":
    main()
