"""`spcompress` and `spdecompress` (PTX 9.4).

Which of equal elements are kept, the manual leaves open: no group has equal ones of which one is kept. That the elements which are kept stay in order, it shows in
a figure only.
"""

from bits import mask, random_of
from formats import BF16, E2M3, E3M2, E4M3, E5M2, F16, exactly
from table import Table

SCRIPT = "sparsity.py"
NEEDS = "9.4 sm_107a"
GROUP, KEPT = 4, 2
# By bits of an element: type in the descriptor, and how bits are read.
TYPES = {
    16: [(0, F16), (1, BF16)],
    8: [(0, "u8"), (1, "s8"), (2, E5M2), (3, E4M3), (4, E3M2), (5, E2M3)],
}
OPERATIONS = ["MAX", "MAXABS", "MIN", "MINABS"]


def key(bits, kind, operation):
    """What is compared: NaN first, then the value, -0 below +0."""
    if kind == "u8":
        nan, value, below = False, bits, 0
    elif kind == "s8":
        nan, value, below = False, bits - 256 if bits > 127 else bits, 0
    else:
        number = kind.decode(bits & mask(kind.width))
        nan, value, below = number.is_nan, 0 if number.is_nan else number.value, -int(number.negative)
    if "ABS" in operation:
        value, below = abs(value), 0
    sign = -1 if "MIN" in operation else 1
    return (nan, 0, 0) if nan else (nan, sign * value, sign * below)


def chosen(group, kind, operation):
    """The places of the two that are kept, or None where that is open."""
    keys = [key(bits, kind, operation) for bits in group]
    order = sorted(range(GROUP), key=lambda at: keys[at], reverse=True)
    return None if keys[order[1]] == keys[order[2]] else sorted(order[:KEPT])


def words_of(values, size):
    """Values one behind the other in words."""
    joined = sum(value << size * at for at, value in enumerate(values))
    count = -(-len(values) * size // 32)
    return [joined >> 32 * n & mask(32) for n in range(count)]


def specials(kind, size):
    if isinstance(kind, str):
        return [0, 1, 127, 128, 255, 254]
    bits = [0, kind.sign, 1, 1 | kind.sign, kind.encode(exactly(1)), kind.encode(exactly(-1)), kind.pack(kind.greatest), kind.pack(kind.greatest) | kind.sign]
    if kind.nan is not None:
        bits += [kind.nan, kind.nan | kind.sign]
    return bits + ([kind.top(False)] if kind.infinities else [])


def groups_of(random, kind, size, operation, count):
    """Random groups whose choice is decided."""
    found = []
    some = specials(kind, size)
    width = size if isinstance(kind, str) else kind.width
    while len(found) < count:
        group = [random.choice(some) if random.random() < 0.5 else random.getrandbits(width) for _ in range(GROUP)]
        if chosen(group, kind, operation) is not None:
            found.append(group)
    return found


def names(prefix, count):
    return "{" + ", ".join(f"{prefix}{n}" for n in range(count)) + "}"


def compress():
    t = Table("data/spcompress", SCRIPT)
    threads = 8
    for size in (8, 16):
        for index in (2, 4):
            for times in (1, 4, 16) if index == 2 else (2, 8):
                data, kept, places = 2 * times, times, -(-times * index // size)
                registers = f".reg .b32 a<{data}>, c<{kept}>, m<{places}>, s, w; .reg .b64 p, q, t;"
                code = [".visible .entry k(.param .u64 in, .param .u64 out)", "{", registers]
                code += ["ld.param.u64 p, [in];", "ld.param.u64 q, [out];", "mov.u32 w, %tid.x;"]
                code += [f"mul.wide.u32 t, w, {4 * data};", "add.u64 p, p, t;", f"mul.wide.u32 t, w, {4 * (kept + places)};", "add.u64 q, q, t;"]
                code += [f"ld.param.u64 t, [in];", f"ld.global.u32 s, [t+{4 * data * threads}];"]
                code += [f"ld.global.u32 a{n}, [p+{4 * n}];" for n in range(data)]
                code += [f"spcompress.b{size}.b{index}.sp::2:4.x{times} {names('m', places)}, {names('c', kept)}, {names('a', data)}, s;"]
                code += [f"st.global.u32 [q+{4 * n}], c{n};" for n in range(kept)]
                code += [f"st.global.u32 [q+{4 * (kept + n)}], m{n};" for n in range(places)]
                code += ["ret;", "}"]
                cases = []
                for code_of_type, kind in TYPES[size]:
                    for number, operation in enumerate(OPERATIONS):
                        label = f"{kind if isinstance(kind, str) else kind.name} {operation}"
                        random = random_of(f"spcompress {size} {index} {times} {label}")
                        given, expected = [], []
                        for _ in range(threads):
                            groups = groups_of(random, kind, size, operation, 32 * times // (KEPT * size))
                            at = [chosen(group, kind, operation) for group in groups]
                            given += words_of([bits for group in groups for bits in group], size)
                            expected += words_of([group[n] for group, two in zip(groups, at) for n in two], size)
                            expected += words_of([n for two in at for n in two], index)
                        cases.append((label, "u32", given + [code_of_type << 2 | number], "u32", expected))
                t.section("9.7.10.30 spcompress (PTX 9.4)")
                t.program(f"b{size}.b{index}.x{times}", "\n".join(code), cases, shape=[f"block {threads}"], needs=NEEDS)
    return t


FACTORS = [(1, 2), (1, 4), (1, 8), (1, 16), (2, 4), (2, 8), (2, 16), (4, 8), (4, 16)]


def decompress():
    t = Table("data/spdecompress", SCRIPT)
    threads = 4
    for kept, group in FACTORS:
        for size in (8, 16):
            for index in (2, 4):
                if kept * size > 32 or (index == 2 and group > 4):
                    continue
                times = {2: 4, 4: 8, 8: 2, 16: 1}[group] * (1 if size == 16 else 2)
                data, values, places = (-(-times * bits // 32) for bits in (group * size, kept * size, kept * index))
                registers = f".reg .b32 a<{data}>, c<{values}>, m<{places}>, w; .reg .b64 p, q, t;"
                code = [".visible .entry k(.param .u64 in, .param .u64 out)", "{", registers]
                code += ["ld.param.u64 p, [in];", "ld.param.u64 q, [out];", "mov.u32 w, %tid.x;"]
                code += [f"mul.wide.u32 t, w, {4 * (values + places)};", "add.u64 p, p, t;", f"mul.wide.u32 t, w, {4 * data};", "add.u64 q, q, t;"]
                code += [f"ld.global.u32 c{n}, [p+{4 * n}];" for n in range(values)]
                code += [f"ld.global.u32 m{n}, [p+{4 * (values + n)}];" for n in range(places)]
                code += [f"spdecompress.b{size}.b{index}.sp::{kept}:{group}.x{times} {names('a', data)}, {names('m', places)}, {names('c', values)};"]
                code += [f"st.global.u32 [q+{4 * n}], a{n};" for n in range(data)]
                code += ["ret;", "}"]
                random = random_of(f"spdecompress {kept} {group} {size} {index}")
                given, expected = [], []
                for _ in range(threads):
                    elements = [random.getrandbits(size) for _ in range(times * kept)]
                    at = [place for _ in range(times) for place in random.sample(range(group), kept)]
                    given += words_of(elements, size) + words_of(at, index)
                    whole = [0] * (times * group)
                    for n, place in enumerate(at):
                        whole[n // kept * group + place] = elements[n]
                    expected += words_of(whole, size)
                t.section("9.7.10.31 spdecompress (PTX 9.4)")
                cases = [("random", "u32", given, "u32", expected)]
                t.program(f"b{size}.b{index}.{kept}:{group}.x{times}", "\n".join(code), cases, shape=[f"block {threads}"], needs=NEEDS)
    return t


def tables():
    return [compress(), decompress()]
