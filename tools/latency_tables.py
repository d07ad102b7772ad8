#!/usr/bin/env python3
"""Makes the columns of crates/isa/spec/latency/{raw,waw,war}.tsv that come from ../shared/latency.

    python3 tools/latency_tables.py [../shared]

The columns sm_80 to sm_90 stay as they are in the files; sm_75, sm_100 (mined as sm_100a) and sm_120 (sm_120a) are
made anew, sm_70 is sm_75's. Running it twice changes nothing. Classes of opcodes are those of ../shared/tools/mine_latency.py
but for what `first_class` and `reader_class` say; crates/isa/tests/mined.rs tests them against the spec's own.

A number comes from the first of these that there is (names of sources as in docs/isa/latency.md):
  seen(K)   as it stands in the file: found in code of ptxas that the mined data lack; `R2UR`, taken for VOTE, too
  floor(D)  the published number, raised to what large samples of ptxas's code never go below: tools/latency_floors.tsv
  AxB       five pairs or more at the smallest distance; or fewer, if that is not above the published number or
            (without one) not above the longest distance that the producer's other rows have
  nak(N)    pairs only at N, which is more than the published number, which is taken: N has fewer than five pairs, or
            is twice what all other readers need, or the nearest target that was mined for the pair has the published
            number from five pairs or more, or for the same reason; but not where a near target has N from five pairs or more, too
  nak       no pair seen: the published number
  thin(N)   fewer than five pairs at N: the longest distance of the producer's other rows
  row max   readers without a number (`*`): the longest distance of the producer, of published readers if there are any
  sibling   `*` of producers with numbers for fewer than ten readers: that of the nearest target, if longer
  ALU       parts of sm_120's ALU: the number of the ALU proper
  pipe      readers without a number: that of the producer with many readers on the same pipe (VOTE: the ALU)
  MMA       as `sibling`, for a shape of matrices: the longest of all shapes here
Writes after writes and after reads know no published numbers, but `cap(N)`: N seen, more than the longest
distance, which is taken.
"""
import os
import re
import sys

OLD = ["sm_80", "sm_86", "sm_89", "sm_90"]
NEW = {"sm_75": "sm_75", "sm_100": "sm_100a", "sm_120": "sm_120a"}
COLUMNS = ["sm_70", "sm_75"] + OLD + ["sm_100", "sm_120"]
NEAREST = {"sm_75": ["sm_80"], "sm_100": ["sm_90", "sm_80"], "sm_120": ["sm_100", "sm_90", "sm_80"]}
HERE = os.path.dirname(os.path.abspath(__file__))
TABLES = os.path.join(HERE, "..", "crates", "isa", "spec", "latency")
ENOUGH = 5
WELL_KNOWN = 10                                 # readers: with fewer numbers the nearest target's longest counts too
TOO_LONG = 64                                   # nothing is relied on at such a distance

# sm_120 has two halves of the ALU; 64-bit work takes both, one after the other.
DUAL = {"ISETP", "FSETP", "SEL", "FSEL", "MOV", "FMNMX", "FMNMX3", "VIMNMX", "VIMNMX3", "VIADDMNMX"}
ALU64 = {"IADD.64", "MOV.64", "SEL.64", "IMNMX"}
KEPT = ("seen(", "R2UR", "random modules", "an H200")   # sources of cells that stay as they are in the files
UNMINED = {"FP16 ALU"}                          # classes that the mined data do not tell from others: their rows stay
BLOCK_WAITS = {"warp": 4, "matrix": 8}          # of a write after a read that has no row: rules.tsv


def alu(op, target):
    """The part of the ALU; only sm_120 tells them apart."""
    if target != "sm_120":
        return "ALU"
    base = op.split(".")[0]
    return "ALU 64" if op in ALU64 else "ALU dual" if base in DUAL else "ALU"


class Mined:
    """The mined pairs of one target, pooled by class."""

    def __init__(self, miner, folder, target):
        self.miner, self.target, self.sm = miner, target, int(target[3:])
        base = os.path.join(folder, NEW[target])
        self.variable = {c[0] for c in miner.rows_of(base + ".opcodes.tsv") if int(c[5]) > 0}
        self.cells = {"raw": {}, "waw": {}, "war": {}}
        for c in miner.rows_of(base + ".raw.tsv"):
            second = self.reader_class(c[1], c[2], c[3])
            # A comparison of 64-bit numbers, which the mined names do not tell from one of 32 bits.
            if (c[0].split("+")[0], c[1]) != ("IMNMX", "ISETP"):
                self.pool("raw", c[3], self.first_class(c[0]), second, c[4:7])
        for c in miner.rows_of(base + ".waw.tsv"):
            self.pool("waw", c[2], self.first_class(c[0]), self.writer_class(c[1]), c[3:6])
        for c in miner.rows_of(base + ".war.tsv"):
            self.pool("war", c[3], self.war_reader_class(c[0], c[1]), self.writer_class(c[2]), c[4:7])

    def pool(self, kind, file, first, second, numbers):
        if first and second and numbers[0] != "-" and int(numbers[0]) < TOO_LONG:
            self.miner.pool(self.cells[kind], (file, first, second), *map(int, numbers))

    def first_class(self, key):
        op = key.split("+")[0]
        if op.startswith("CREDUX"):
            return "CREDUX"
        group = self.miner.producer_group(key.replace(".SF.", "."), self.sm)
        return alu(op, self.target) if group == "ALU" else group

    def reader_class(self, op, role, file):
        base = op.split(".")[0]
        if base in ("SHFL", "MOVM") and role != "guard" and file == "R":
            return "data"
        if base == "WARPSYNC" and file == "R":
            return base
        if op == "SYNCS.EXCH" and file == "UR":
            return None
        group = self.miner.consumer_group(op, role, file, self.sm)
        if group == "tex" or base in ("LDTM", "STTM"):
            return None
        if group == "desc" and role.split("+")[0] in ("gdesc", "idesc", "tmem"):
            return None
        if file in ("R", "P") and group in ("ALU", "ALU pred") and base != "P2R":
            return group.replace("ALU", alu(op, self.target))
        return group

    def writer_class(self, key):
        op = re.split(r"[!+]", key)[0]
        group = self.miner.op_group(op, self.sm)
        group = {"tex": "mem", "LDC": "mem", "sync, tmem": "sfu"}.get(group, group)
        if op.startswith("CREDUX"):
            group = "CREDUX"
        if op.startswith("DMMA"):
            group = "DMMA"
        return group + ("!" if "!" in key else "")

    def war_reader_class(self, key, role):
        op = key.rstrip("!")
        group = self.miner.op_group(op, self.sm)
        if role == "guard":
            return self.miner.consumer_group(op, role, "P", self.sm)
        group = {"tex": "mem", "LDC": "mem", "sync, tmem": "sfu"}.get(group, group)
        if op in self.variable or group == "mem":
            # Without a scoreboard of its own something else made the writer wait.
            return group + "!" if key.endswith("!") else None
        return group

    def enough(self, kind, key):
        cell = self.cells[kind].get(key)
        return cell is not None and cell[1] >= ENOUGH


def read_table(kind):
    """Head lines, names of the two classes, and {(file, first, second): {column: (number, source)}}."""
    head, rows, columns = [], {}, None
    with open(os.path.join(TABLES, kind + ".tsv")) as lines:
        for line in lines:
            cells = line.rstrip("\n").split("\t")
            if line.startswith("#"):
                head.append(line)
            elif columns is None:
                columns = cells
            else:
                numbers = dict(zip(columns[3:-1], cells[3:-1]))
                sources = cells[-1].split("; ")
                rows[tuple(cells[:3])] = {t: (n, s) for (t, n), s in zip(numbers.items(), sources)}
    return head, columns[:3], rows


def write_table(kind, head, names, rows):
    with open(os.path.join(TABLES, kind + ".tsv"), "w") as out:
        out.writelines(head)
        out.write("\t".join(names + COLUMNS + ["source"]) + "\n")
        for key in sorted(rows):
            row = [rows[key].get(t, ("-", "-")) for t in COLUMNS]
            if any(number != "-" for number, _ in row):
                out.write("\t".join(list(key) + [n for n, _ in row] + ["; ".join(s for _, s in row)]) + "\n")


def floors(target):
    """{(file, reader): (least number, why)} from latency_floors.tsv."""
    found = {}
    with open(os.path.join(HERE, "latency_floors.tsv")) as lines:
        for line in lines:
            cells = line.rstrip("\n").split("\t")
            if cells[0] == target:
                found[(cells[1], cells[2])] = int(cells[3])
    return found


def published_for(target, published):
    """{(file, producer, reader): (number, source)}; what is published for a class holds for its parts."""
    least, known = floors(target), {}
    for (t, file, first, second), number in published.items():
        if t != NEW[target]:
            continue
        firsts, seconds = [first], [second]
        if first == "CS2R":
            firsts.append("CS2R hi")
        if target == "sm_120":
            firsts += ["ALU dual", "ALU 64"] if first == "ALU" else []
            seconds += [second.replace("ALU", part) for part in ("ALU dual", "ALU 64")] if second in ("ALU", "ALU pred") else []
        raised = max(int(number), least.get((file, second), 0))
        source = "nak" if raised == int(number) else "floor(%d)" % raised
        known.update({(file, p, q): (raised, source) for p in firsts for q in seconds})
    return known


def raw_column(target, mined, published, rows):
    """Adds the numbers of reads after writes to `rows`."""
    cells, known = mined[target].cells["raw"], published_for(target, published)
    for file, first in sorted({key[:2] for key in cells} | {key[:2] for key in known}):
        own = {k: v for k, v in cells.items() if k[:2] == (file, first)}
        table = {k: v for k, v in known.items() if k[:2] == (file, first)}
        numbers = {}
        for key in sorted(set(own) | set(table)):
            distance, at, pairs = own.get(key, (None, 0, 0))
            name = table.get(key)
            if distance is None:
                numbers[key] = name
            elif name and name[0] < distance and (at < ENOUGH or follows(key, name[0], distance, own, mined, rows, target)):
                numbers[key] = (name[0], "%s(%d)" % (name[1].split("(")[0], distance))
            elif at >= ENOUGH or name:
                numbers[key] = (distance, "%dx%d" % (at, pairs))
        # A reader without a published number is no measure where the producer's others have one.
        counted = [n for key, (n, _) in numbers.items() if key in table or not table]
        longest, source = max(counted, default=0), "row max"
        if is_matrix(first) and len(counted) < WELL_KNOWN:
            shapes = [n for k, (n, _) in known.items() if is_matrix(k[1])]
            shapes += [d for k, (d, at, _) in cells.items() if is_matrix(k[1]) and (at >= ENOUGH or k in own)]
            longest, source = max(shapes), "MMA"
        elif len(counted) < WELL_KNOWN:
            near = next((rows[k][t] for t in NEAREST[target] for k in [(file, first, "*")] if t in rows.get(k, {})), None)
            if near and near[0] != "-" and int(near[0]) > longest:
                longest, source = int(near[0]), "sibling"
        for key in set(own) - set(numbers):
            distance, at, pairs = own[key]
            thin = 0 < longest < distance
            numbers[key] = (longest, "thin(%d)" % distance) if thin else (distance, "%dx%d" % (at, pairs))
        for key, (number, name) in numbers.items():
            rows.setdefault(key, {})[target] = (str(number), name)
        if not longest:
            longest = max(n for n, _ in numbers.values())
        rows.setdefault((file, first, "*"), {})[target] = (str(longest), source)


def is_matrix(first):
    return re.match(r"[HIBQO]MMA\.", first) is not None


def well_seen(source):
    """Whether a source names five pairs or more."""
    at = re.match(r"(\d+)x\d+$", source)
    return at is not None and int(at.group(1)) >= ENOUGH


def follows(key, number, distance, own, mined, rows, target):
    """Whether to take the published number although five pairs or more are all at a longer distance."""
    if any(rows.get(key, {}).get(near, ("-",))[0] == str(distance) and well_seen(rows[key][near][1]) for near in NEAREST[target]):
        return False
    others = [d for k, (d, at, _) in own.items() if k != key and at >= ENOUGH]
    if others and distance > 2 * max(others):
        return True
    for near in NEAREST[target]:
        source = rows.get(key, {}).get(near, ("-", "-"))[1]
        if source.startswith("nak("):
            return True
        if near in mined and key in mined[near].cells["raw"]:
            return mined[near].enough("raw", key) and mined[near].cells["raw"][key][0] == number
        if re.match(r"\d+x\d+$", source):
            return rows[key][near][0] == str(number) and well_seen(source)
    return False


def classes_of_alu(target, rows):
    """What lacks a number among the pairs of the ALU's parts, on the target that has parts: the ALU's own, but for the
    64-bit part no less than its longest distance."""
    if target != "sm_120":
        return
    for file, parts in (("R", ("ALU", "ALU dual", "ALU 64")), ("P", ("ALU pred", "ALU dual pred", "ALU 64 pred"))):
        longest = {k[1]: row[target] for k, row in rows.items() if k[0] == file and k[2] == "*" and target in row}
        for first, number in longest.items():
            base = rows.get((file, first, parts[0]), {}).get(target)
            near = number if base is None or first.startswith("ALU") else (base[0], "ALU")
            for part in parts[1:]:
                rows.setdefault((file, first, part), {}).setdefault(target, near)
        readers = {k[2]: row[target] for k, row in rows.items() if k[:2] == (file, "ALU") and target in row}
        for second, base in readers.items():
            for first in {"ALU dual", "ALU 64"} & set(longest):
                own = longest[first]
                raised = first == "ALU 64" and int(own[0]) > int(base[0])
                rows.setdefault((file, first, second), {}).setdefault(target, own if raised else (base[0], "ALU"))


# Producers of which few readers were seen, and the one with many readers that has the same pipe.
PIPE = {("R", "VOTE"): "ALU", ("R", "CS2R.32"): "ALU"}


def readers_of_the_pipe(target, rows):
    """What lacks a number among the readers of a producer has that of its pipe. The longest distance of the few pairs that were seen is
    no measure: an H200 reads the old value where `IMAD` follows `VOTE` in 4 cycles, and 5 is the ALU's (docs/silicon.md). It stays in `*`, by
    which writes after writes are capped."""
    number = lambda *key: rows.get(key, {}).get(target, ("-",))[0]
    for (file, producer), pipe in PIPE.items():
        readers = {key[2] for key in rows if key[0] == file and key[2] != "*" and number(*key) != "-"}
        for reader in readers if number(file, producer, "*") != "-" else ():
            of_pipe = number(file, pipe, reader)
            if number(file, producer, reader) == "-":
                cell = (of_pipe if of_pipe != "-" else number(file, pipe, "*"), "pipe")
                rows.setdefault((file, producer, reader), {})[target] = cell


def siblings(target, rows):
    """`*` of producers that the target's data lack."""
    longest = max((int(r[target][0]) for k, r in rows.items() if is_matrix(k[1]) and target in r), default=None)
    if longest:
        rows.setdefault(("R", "MMA", "*"), {})[target] = (str(longest), "row max")
    for key, row in rows.items():
        if key[2] == "*" and target not in row and is_matrix(key[1]) and longest:
            if key[1].startswith("OMMA") and target != "sm_120":
                continue                        # sm_120 alone has it
            row[target] = (str(longest), "MMA")
        elif key[2] == "*" and target not in row:
            for near in NEAREST[target]:
                if row.get(near, ("-",))[0] != "-":
                    row[target] = (row[near][0], "sibling")
                    break


def capped_column(kind, target, mined, longest, rows):
    for key, (distance, at, pairs) in sorted(mined[target].cells[kind].items()):
        limit = longest(key)
        cell = (str(limit), "cap(%d)" % distance) if distance > limit else (str(distance), "%dx%d" % (at, pairs))
        rows.setdefault(key, {})[target] = cell


def main():
    shared = sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "..", "..", "shared")
    sys.path.insert(0, os.path.join(shared, "tools"))
    import mine_latency as miner
    folder = os.path.join(shared, "latency")
    mined = {target: Mined(miner, folder, target) for target in NEW}
    published = miner.nak_values(os.path.join(folder, "nak.tsv"))
    tables = {kind: read_table(kind) for kind in ("raw", "waw", "war")}
    kept = []                                   # rows, targets and their cells
    for kind, (_, _, rows) in tables.items():
        for key, row in rows.items():
            stays = lambda cell: cell[1].startswith(KEPT) or UNMINED & set(key)
            kept += [(row, target, row[target]) for target in NEW if target in row and stays(row[target])]
            for target in ["sm_70"] + list(NEW):
                row.pop(target, None)
    raw = tables["raw"][2]
    for target in OLD:
        longest = [int(r[target][0]) for k, r in raw.items() if k[2] == "*" and is_matrix(k[1]) and r[target][0] != "-"]
        raw.setdefault(("R", "MMA", "*"), {})[target] = (str(max(longest)), "row max")
    for target in NEW:
        raw_column(target, mined, published, raw)
        classes_of_alu(target, raw)
        siblings(target, raw)
        after_write = lambda key: int(raw.get(key[:2] + ("*",), {}).get(target, ("14",))[0])
        after_read = lambda key: BLOCK_WAITS["matrix" if key[1] == "MMA" else "warp"]
        capped_column("waw", target, mined, after_write, tables["waw"][2])
        capped_column("war", target, mined, after_read, tables["war"][2])
    for target in OLD + list(NEW):
        readers_of_the_pipe(target, raw)
    for row, target, cell in kept:
        row[target] = cell
    for kind, (head, names, rows) in tables.items():
        for key, row in rows.items():
            if key[0] == "B":
                # Convergence barriers: no pairs on these targets.
                for target in NEW:
                    near = "sm_80" if target == "sm_75" else "sm_90"
                    row[target] = (row[near][0], "in order" if row[near][1] == "in order" else "sibling")
            if "sm_75" in row:
                row["sm_70"] = (row["sm_75"][0], "sm_75")
        write_table(kind, head, names, rows)


if __name__ == "__main__":
    main()
