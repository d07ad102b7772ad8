"""What every operation of groups.cuh gives to the threads of a group, from what the manual says of it (CUDA C++ Programming Guide,
Cooperative Groups), and the groups of every kind of groups.cu. Nothing here knows how any of it is compiled."""
import random, struct

THREADS = 128
WARPS = [range(first, first + 32) for first in range(0, THREADS, 32)]
WORD, LONG = (1 << 32) - 1, (1 << 64) - 1


def inputs(seed):
    """A random word and a random 64-bit number a thread."""
    draw = random.Random(seed)
    return [draw.getrandbits(32) for _ in range(THREADS)], [draw.getrandbits(64) for _ in range(THREADS)]


# ---- the groups of each kind: for (word of a thread) the pairs (row of the first result, threads) ----

def tiles(size):
    return lambda word: [(0, list(range(first, first + size))) for first in range(0, THREADS, size)]


def split(members, label):
    """The threads that have the same label, in their order."""
    labels = sorted({label(thread) for thread in members})
    return [[thread for thread in members if label(thread) == at] for at in labels]


def by(label, comes=lambda word: True, size=32):
    """Tiles of `size`, those threads of them that come, split by a label."""
    def groups(word):
        parts = [[t for t in range(first, first + size) if comes(word[t])] for first in range(0, THREADS, size)]
        return [(0, part) for members in parts for part in split(members, lambda t: label(word[t]))]
    return groups


def apart(word):
    return [(0 if first // 8 % 3 == 0 else 1, list(range(first, first + 8))) for first in range(0, THREADS, 8)]


def ways(way):
    """The threads of a warp that go one way, each way with its first row; a way of None does nothing."""
    def groups(word):
        found = []
        for warp in WARPS:
            for row in sorted({way(word[t]) for t in warp} - {None}):
                found.append((row, [t for t in warp if way(word[t]) == row]))
        return found
    return groups


def loop(word):
    rounds = [(at, [t for t in warp if (word[t] >> 12 & 3) > at]) for at in range(3) for warp in WARPS]
    return [(at * 30, members) for at, members in rounds if members]


def by_4(word):
    """Those that come, four by four in their order; what is left over is a smaller tile."""
    come = [[t for t in warp if word[t] >> 12 & 3] for warp in WARPS]
    return [(0, members[at:at + 4]) for members in come for at in range(0, len(members), 4)]


def nested(word):
    if not word >> 12 & 3:
        return None
    return 0 if word >> 14 & 1 else 1


KINDS = {
    **{f"tile_{size}": tiles(size) for size in (1, 2, 4, 8, 16, 32, 64, 128)},
    "tile_4_of_16": tiles(4),
    "tile_8_apart": apart,
    "labels": by(lambda w: w >> 9 & 3),
    "many_labels": by(lambda w: w >> 9 & 15),
    "labels_of_tile_16": by(lambda w: w >> 9 & 1, size=16),
    "labels_of_coalesced": by(lambda w: w >> 9 & 3, lambda w: w >> 20 & 7),
    "parts": by(lambda w: w >> 11 & 1),
    "parts_of_coalesced": by(lambda w: w >> 11 & 1, lambda w: w >> 20 & 7),
    "coalesced": by(lambda w: 0),
    "branch": by(lambda w: 0, lambda w: w >> 12 & 1),
    "branches": ways(lambda w: 0 if w >> 12 & 1 else 1),
    "nested": ways(nested),
    "loop": loop,
    "some_gone": by(lambda w: 0, lambda w: not w >> 12 & 1),
    "coalesced_by_4": by_4,
}


# ---- what a group's threads get, as rows of columns ----

def votes(kind, members, word, longs):
    """Rows of what class `Votes` puts."""
    size, ranks = len(members), range(len(members))
    words = [word[t] for t in members]
    mask = lambda found: sum(1 << rank for rank in ranks if found(rank))
    same = lambda value: [mask(lambda other: value[other] == value[rank]) for rank in ranks]
    everywhere = lambda value: [value] * size
    rows = [
        everywhere(size),
        list(ranks),
        everywhere(int(any(w & 15 == 0 for w in words))),
        everywhere(int(all(w & 15 != 1 for w in words))),
        everywhere(words[37]) if wide(kind) else [words[w % size] for w in words],
        everywhere(longs[members[-1]] >> 32),
        [words[(rank + 1) % size] for rank in ranks],
        None,   # the counter, which the caller knows: one a time that the group has come here
        everywhere(3),
    ]
    if size <= 32 and not wide(kind):
        zero = [int(w & 15 == 0) for w in words]
        alike = len(set(zero)) == 1
        rows += [
            everywhere(mask(lambda rank: words[rank] & 64)),
            same([w >> 3 & 3 for w in words]),
            everywhere(mask(lambda rank: True) if alike else 0),
            everywhere(int(alike)),
        ]
        rows += [[words[rank - by if rank >= by else rank] for rank in ranks] for by in (1, 3)]
        rows += [[words[rank + by if rank + by < size else rank] for rank in ranks] for by in (1, 5)]
    if static_tile(kind):
        last = size - 1
        rows += [[words[rank ^ by] for rank in ranks] for by in (last, last >> 1)]
        rows += [[longs[members[rank ^ last & 21]] >> 32 for rank in ranks]]
    return rows


def wide(kind):
    return kind in ("tile_64", "tile_128")


def static_tile(kind):
    """Whether the group's size is a constant of at most a warp."""
    return kind.startswith("tile_") and not wide(kind)


def signed(value, bits):
    return value - (1 << bits) if value >> bits - 1 else value


# By kernel: the value of a thread, whether bit operations are there, and how a value is stored.
def of_int(bits):
    return lambda value: (value & ((1 << bits) - 1)).to_bytes(bits // 8, "little")


TYPES = {
    "sums_int": (lambda w, l: signed(w, 32), True, of_int(32)),
    "sums_unsigned": (lambda w, l: w, True, of_int(32)),
    "sums_long": (lambda w, l: signed(l, 64), True, of_int(64)),
    "sums_float": (lambda w, l: (w >> 8 & 2047) - 1000, False, lambda v: struct.pack("<f", v)),
    "sums_double": (lambda w, l: (w >> 4 & 2047) - 1000, False, lambda v: struct.pack("<d", v)),
}
NUMBERS = [lambda a, b: a + b, min, max]
BITS = [lambda a, b: a & b, lambda a, b: a | b, lambda a, b: a ^ b]


def sums(kernel, members, word, longs):
    """Rows of what class `Sums` puts."""
    value, has_bits, _ = TYPES[kernel]
    values, rows = [value(word[t], longs[t]) for t in members], []
    for operation in NUMBERS + (BITS if has_bits else []):
        up_to, total = [], None
        for at in values:
            total = at if total is None else operation(total, at)
            up_to.append(total)
        rows += [[total] * len(values), up_to, [0] + up_to[:-1]]
    return rows


KERNELS = ["votes", *TYPES]
ROWS = 96


def expected(kind, kernel, word, longs):
    """The bytes that a kernel leaves: ROWS rows of THREADS results, zeros where nobody writes."""
    store = of_int(32) if kernel == "votes" else TYPES[kernel][2]
    empty = bytes(len(store(0)))
    table = [[empty] * THREADS for _ in range(ROWS)]
    came = {}
    for first, members in KINDS[kind](word):
        rows = votes(kind, members, word, longs) if kernel == "votes" else sums(kernel, members, word, longs)
        came[members[0]] = came.get(members[0], 0) + 1
        for number, row in enumerate(rows):
            for column, result in zip(members, row if row is not None else [came[members[0]]] * len(members)):
                table[first + number][column] = store(result)
    return b"".join(cell for row in table for cell in row)
