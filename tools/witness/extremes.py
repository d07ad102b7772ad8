"""`mma` and `wmma` where sums leave their format, and with infinities and NaNs among the elements (9.7.14.4, 9.7.14.5).

The manual says nothing of a sum that is too great. Published measurements of tensor cores (Fasi, Higham, Mikaitis and Pranesh, PeerJ CS 7:e330;
MMA-Sim, arXiv:2511.10909) give an infinity of its sign, and a NaN for an infinity times zero, for both infinities, and for a NaN. Rows
whose terms cancel after they have left the range are left out: the order of the additions decides there, which nobody promises.
"""

from fractions import Fraction

from formats import exactly
from fragments import LANES, columns_of, rows_of, sums_of
from matrix import FLOATS, bits_of, by_lane, kernel, vector
from table import Table
from wmma import memory

SCRIPT = "extremes.py"
# Element, sums, depth, target.
KINDS = [
    ("f16", "f16", 8, "sm_75"),
    ("f16", "f16", 16, "sm_80"),
    ("f16", "f32", 16, "sm_80"),
    ("bf16", "f32", 16, "sm_80"),
    ("tf32", "f32", 8, "sm_80"),
    ("e5m2", "f32", 32, "sm_89"),
    ("e5m2", "f16", 32, "sm_89"),
    ("e4m3", "f16", 32, "sm_89"),
]
NOTE = [("o", "the manual does not say what a sum that is too great becomes")]


def special(kind):
    """Bits of the greatest number, of infinity and of a NaN; E4M3 has no infinity."""
    format = FLOATS[kind]
    greatest = format.pack(format.greatest)
    infinity = format.top(False) if format.infinities else greatest
    nan = format.nan if kind != "tf32" else 0x7FC00000
    return greatest, infinity, nan, format.sign


def matrices(kind, c_kind, depth, rows=16, columns=8):
    """Each row of A is a case; B has columns of ones, minus ones, zeros, and halves."""
    top, infinity, nan, sign = special(kind)
    c_top, c_infinity, c_nan, c_sign = special(c_kind)
    one = FLOATS[kind].encode(exactly(1))
    two = FLOATS[kind].encode(exactly(2))
    line = lambda **at: [at.get(f"_{k}", 0) for k in range(depth)]
    a = [
        [top] * depth,
        [top | sign] * depth,
        line(_0=top, _1=top, _2=one),
        line(_0=infinity, _1=one),
        line(_2=infinity | sign),
        line(_0=infinity, _3=infinity | sign),
        line(_1=nan, _2=one),
        [one] * depth,
        [one | sign] * depth,
        line(_0=one, _3=infinity),
        line(_0=top),
        line(_3=top | sign),
        [0] * depth,
        line(_1=one, _2=two),
        line(_3=nan, _0=infinity),
        line(_0=two, _2=two | sign),
    ][:rows]
    c = [[0] * columns for _ in range(rows)]
    for column in range(columns):
        for row, value in ((7, c_infinity), (8, c_infinity | c_sign), (9, c_infinity | c_sign), (10, c_top), (11, c_top | c_sign), (12, c_nan), (13, c_infinity)):
            if row < rows:
                c[row][column] = value
    b = [[0] * columns for _ in range(depth)]
    for k in range(depth):
        for column, value in enumerate([one, one | sign, two, top, 0, two, one, top][:columns]):
            b[k][column] = value
    return a, b, c


def results(a, b, c, kind, c_kind, d_kind):
    """Infinity beyond the rang's letter where the order of additions decides."""
    source, own, to = FLOATS[kind], FLOATS[c_kind], FLOATS[d_kind]
    out = []
    for i, row in enumerate(a):
        line = []
        for j, column in enumerate(zip(*b)):
            terms, bad = [own.decode(c[i][j])], False
            for x, y in zip(row, column):
                x, y = source.decode(x), source.decode(y)
                bad |= x.is_nan or y.is_nan or (x.is_infinite and y.is_zero) or (x.is_zero and y.is_infinite)
                if not bad:
                    negative = x.negative != y.negative
                    terms.append(exactly(0)._replace(negative=negative, size=x.size if x.is_infinite else y.size if y.is_infinite else x.size * y.size))
            infinite = {term.negative for term in terms if term.is_infinite}
            bad |= any(term.is_nan for term in terms) or len(infinite) == 2
            if bad:
                line.append("nan")
                continue
            finite = [term.value for term in terms if not term.is_infinite]
            greatest = max((abs(value) for value in finite), default=0)
            if infinite and sum(abs(value) for value in finite) > to.greatest:
                # Parts of the sum may become the other infinity.
                line.append("?o")
                continue
            if infinite:
                line.append(to.top(False) | (to.sign if infinite.pop() else 0))
                continue
            total = sum((term.value for term in terms), Fraction(0))
            if abs(total) <= to.greatest and any(abs(term.value) > to.greatest for term in terms):
                line.append("?o")
            elif abs(total) > to.greatest:
                # Far beyond, so that every rounding says so.
                line.append("?o" if abs(total) < to.greatest + to.step(to.greatest) else to.top(False) | (to.sign if total < 0 else 0))
            else:
                # Exact, also with ten bits below the greatest term, or open: what is cut depends on the target.
                unit = Fraction(2) ** (greatest.numerator.bit_length() - greatest.denominator.bit_length() - 10) if greatest else 1
                line.append(to.encode(exactly(total)) if all((value / unit).denominator == 1 for value in finite) else "?o")
        out.append(line)
    return out


def placed(fragment, matrix):
    """Results in the order of the registers' elements."""
    return [matrix[row][column] for lane in range(LANES) for register in range(fragment.registers) for row, column in fragment.place(lane, register)]


def products():
    t = Table("matrix/extremes", SCRIPT)
    t.section("9.7.14.5 mma; sums that are too great: MMA-Sim, arXiv:2511.10909")
    for kind, c_kind, depth, need in KINDS:
        a, b, c = matrices(kind, c_kind, depth)
        d = results(a, b, c, kind, c_kind, c_kind)
        count = 32 // bits_of(kind)
        a_at, b_at, c_at = rows_of(16, depth, count), columns_of(depth, count), sums_of(16, 32 // bits_of(c_kind))
        name = f"mma.sync.aligned.m16n8k{depth}.row.col.{c_kind}.{kind}.{kind}.{c_kind}"
        statement = f"{name} {vector('d', c_at.registers)}, {vector('a', a_at.registers)}, {vector('b', b_at.registers)}, {vector('c', c_at.registers)};"
        parts = [("a", a_at.registers), ("b", b_at.registers), ("c", c_at.registers)]
        given = by_lane(a_at.pack(a, bits_of(kind)), b_at.pack(b, bits_of(kind)), c_at.pack(c, bits_of(c_kind)))
        expected = placed(c_at, d)
        t.program(name, kernel(parts, statement, ("d", c_at.registers)), [("extremes", "b32", given, c_kind, expected)], ["block 32"], need, notes=NOTE if "?o" in expected else ())
    t.section("9.7.14.4 wmma; sums that are too great: MMA-Sim, arXiv:2511.10909")
    for c_kind, d_kind in (("f16", "f16"), ("f32", "f32"), ("f32", "f16"), ("f16", "f32")):
        a, b, c = matrices("f16", c_kind, 16, 16, 8)
        b, c = [row + row for row in b], [row + row for row in c]
        d = results(a, b, c, "f16", c_kind, d_kind)
        registers = {"f16": 4, "f32": 8}
        parts = [memory(matrix, kind, "row") for matrix, kind in ((a, "f16"), (b, "f16"), (c, c_kind))]
        lines = [
            ".visible .entry k(.param .u64 in, .param .u64 out) {",
            f".reg .b32 %a<8>, %b<8>, %c<{registers[c_kind]}>, %d<{registers[d_kind]}>; .reg .b64 %from, %to, %p;",
            "ld.param.u64 %from, [in]; ld.param.u64 %to, [out];",
            f"wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {vector('a', 8)}, [%from], 16; add.u64 %p, %from, {4 * len(parts[0])};",
            f"wmma.load.b.sync.aligned.row.m16n16k16.global.f16 {vector('b', 8)}, [%p], 16; add.u64 %p, %p, {4 * len(parts[1])};",
            f"wmma.load.c.sync.aligned.row.m16n16k16.global.{c_kind} {vector('c', registers[c_kind])}, [%p], 16;",
            f"wmma.mma.sync.aligned.row.row.m16n16k16.{d_kind}.{c_kind} {vector('d', registers[d_kind])}, {vector('a', 8)}, {vector('b', 8)}, {vector('c', registers[c_kind])};",
            f"wmma.store.d.sync.aligned.row.m16n16k16.global.{d_kind} [%to], {vector('d', registers[d_kind])}, 16;",
            "ret; }",
        ]
        expected = [value for row in d for value in row]
        t.program(f"wmma.{d_kind}.{c_kind}", "\n".join(lines), [("extremes", "b32", sum(parts, []), d_kind, expected)], ["block 32"], "sm_75", notes=NOTE if "?o" in expected else ())
    return t


# Scales of rows and of columns: huge, one, tiny, and the NaN of the format in one block or in all; what C is in a row, where it is not zero.
SCALES = {"ue8m0": [0xFE, 0x7F, 0x01, 0xFF], "ue4m3": [0x7E, 0x38, 0x01, 0x7F]}
SCALED = [("mxf8f6f4", 1, ".scale_vec::1X", "ue8m0", 32, "e4m3"), ("mxf4", 2, ".scale_vec::2X", "ue8m0", 64, "e2m1"), ("mxf4nvf4", 2, ".scale_vec::2X", "ue8m0", 64, "e2m1"), ("mxf4nvf4", 4, ".scale_vec::4X", "ue4m3", 64, "e2m1")]


def number_of(kind, bits):
    """The number that a scale is, or None."""
    if kind == "ue8m0":
        return None if bits == 0xFF else Fraction(2) ** (bits - 127)
    return None if bits == 0x7F else FLOATS["e4m3"].decode(bits).value


def scaled():
    """Sums that are too great by their scales, and scales that are NaNs; with `.block_scale` the same is assumed as without."""
    t = Table("matrix/extremes_scaled", SCRIPT)
    t.section("9.7.14.3 block scaling, 9.7.14.5 mma; sums that are too great: MMA-Sim, arXiv:2511.10909")
    for kind, blocks, shown, scale_kind, depth, element in SCALED:
        one = FLOATS[element].encode(exactly(1))
        signs = [0, 0, FLOATS[element].sign, FLOATS[element].sign]
        a = [[one | signs[row % 4]] * depth for row in range(16)]
        a[15] = [0] * depth
        b = [[one] * 8 for _ in range(depth)]
        huge, plain, tiny, nan = SCALES[scale_kind]
        of_rows = [[huge] * 4, [plain] * 4, [huge] * 4, [plain] * 4, [nan] + [plain] * 3, [plain, nan] + [plain] * 2, [tiny] * 4] + [[plain] * 4] * 9
        of_columns = [[huge] * 4, [plain] * 4, [tiny] * 4, [nan] * 4, [plain, plain, plain, nan], [plain] * 4, [huge] * 4, [plain] * 4]
        top, infinity, c_nan, sign = special("f32")
        c = [[0] * 8 for _ in range(16)]
        for row, value in ((7, infinity), (8, infinity | sign), (9, c_nan), (10, top), (11, top | sign), (12, infinity), (14, infinity | sign)):
            c[row] = [value] * 8
        expected = []
        for i in range(16):
            line = []
            for j in range(8):
                scales = [(number_of(scale_kind, of_rows[i][n]), number_of(scale_kind, of_columns[j][n])) for n in range(blocks)]
                own = FLOATS["f32"].decode(c[i][j])
                if own.is_nan or any(x is None or y is None for x, y in scales):
                    line.append("nan")
                    continue
                parts = [FLOATS[element].decode(a[i][0]).value * (depth // blocks) * x * y for x, y in scales]
                if own.is_infinite:
                    opposite = sum(parts) and (sum(parts) < 0) != own.negative and abs(sum(parts)) > FLOATS["f32"].greatest
                    line.append("?o" if opposite else c[i][j])
                    continue
                total = own.value + sum(parts)
                close = own.value and sum(parts)
                if abs(total) > FLOATS["f32"].greatest * (1 + Fraction(1, 1 << 20)):
                    line.append(infinity | (sign if total < 0 else 0))
                else:
                    line.append("?o" if close or (total and abs(total) < FLOATS["f32"].least) else FLOATS["f32"].encode(exactly(total)))
            expected.append(line)
        count = 32 // (8 if depth == 32 else 4)
        a_at, b_at, c_at = rows_of(16, depth, count), columns_of(depth, count), sums_of(16, 1)
        word = lambda four: sum(byte << 8 * n for n, byte in enumerate(four))
        a_words = [word(of_rows[lane // 4 + 8 * (lane % 2)]) for lane in range(LANES)]
        b_words = [word(of_columns[lane // 4]) for lane in range(LANES)]
        name = f"mma.sync.aligned.m16n8k{depth}.row.col.kind::{kind}.block_scale{shown}.f32.{element}.{element}.f32.{scale_kind}"
        statement = f"{name} {vector('d', 4)}, {vector('a', 4)}, {vector('b', 2)}, {vector('c', 4)}, %x0, {{0, 0}}, %x1, {{0, 0}};"
        given = by_lane(a_at.pack(a, 32 // count), b_at.pack(b, 32 // count), c_at.pack(c, 32), a_words, b_words)
        out = placed(c_at, expected)
        t.program(name, kernel([("a", 4), ("b", 2), ("c", 4), ("x", 2)], statement, ("d", 4)), [("extremes", "b32", given, "f32", out)], ["block 32"], "sm_120a", notes=NOTE if "?o" in out else ())
    return t


def tables():
    return [products(), scaled()]
