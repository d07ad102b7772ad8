"""PTX ISA 9.0, 9.7.9.6 shfl.sync and 9.7.13: vote, match, redux, elect, activemask. Warps of 32 lanes; all lanes of a mask have the same one."""

from bits import mask, number, random_of, signed
from formats import F32
from table import Table

SCRIPT = "warp.py"
LANES = range(32)
MASKS = (mask(32), 0x0000FFFF, 0xF0F0F0F0, 0x80000001, 0x00000100)
# The lanes of the mask come to the body; each writes WORDS words behind each other.
FRAME = """.visible .entry k(.param .u64 in, .param .u64 out)
{{
.reg .b64 %i, %o; .reg .b32 %l, %m; .reg .pred %in;
ld.param.u64 %i, [in]; ld.param.u64 %o, [out]; mov.u32 %l, %laneid;
ld.global.b32 %m, [%i]; mad.wide.u32 %i, %l, 4, %i; mad.wide.u32 %o, %l, {bytes}, %o;
shr.u32 %l, %m, %l; and.b32 %l, %l, 1; setp.eq.u32 %in, %l, 0;
@%in bra end;
{body}
end:
ret;
}}"""


def lanes(t, name, body, results, cases, needs=None, words=1, notes=()):
    """`results(members, values, lane)` are the words that a lane of the mask writes; others leave zeros."""
    launches = []
    for number, (members, values) in enumerate(cases):
        out = []
        for lane in LANES:
            out += list(results(members, values, lane)) if members >> lane & 1 else [0] * words
        launches.append((f"{number}, mask {members:08x}", "b32", [members, *values], "b32", out))
    code = FRAME.format(body=body, bytes=4 * words)
    t.program(name, code, launches, shape=["block 32"], needs=needs, notes=notes)


def member_lanes(members):
    return [lane for lane in LANES if members >> lane & 1]


def values_of(random, kinds):
    """Values of which some are the same, by kinds of how many there are."""
    pool = [random.getrandbits(32) for _ in range(kinds)]
    return [random.choice(pool) for _ in LANES]


def votes():
    t = Table("warp/vote", SCRIPT)
    t.section("9.7.13.7 vote.sync, 9.7.13.13 activemask")
    random = random_of("vote")
    cases = [(members, [bit] * 32) for members in MASKS for bit in (0, 1)]
    cases += [(members, [random.getrandbits(1) for _ in LANES]) for members in MASKS]
    cases += [(mask(32), [int(lane == at) for lane in LANES]) for at in (0, 31)] + [(mask(32), [int(lane != 17) for lane in LANES])]
    body = "{ .reg .b32 v, w; .reg .pred p, q; ld.global.b32 v, [%i+4]; setp.ne.b32 p, v, 0;\n"
    place = 0
    for sign in ("", "!"):
        for mode in ("all", "any", "uni"):
            body += f"vote.sync.{mode}.pred q, {sign}p, %m; selp.b32 w, 1, 0, q; st.global.b32 [%o+{place}], w;\n"
            place += 4
        body += f"vote.sync.ballot.b32 w, {sign}p, %m; st.global.b32 [%o+{place}], w;\n"
        place += 4
    body += f"activemask.b32 w; st.global.b32 [%o+{place}], w; }}"

    def results(members, values, lane):
        words = []
        for flip in (0, 1):
            bits = [values[at] ^ flip for at in member_lanes(members)]
            ballot = sum((values[at] ^ flip) << at for at in member_lanes(members))
            words += [int(all(bits)), int(any(bits)), int(len(set(bits)) == 1), ballot]
        return [*words, members]

    lanes(t, "vote", body, results, cases, words=9)
    return t


def shuffles():
    t = Table("warp/shfl", SCRIPT)
    t.section("9.7.9.6 shfl.sync")
    random = random_of("shfl")
    values = [random.getrandbits(32) for _ in LANES]
    for mode in ("up", "down", "bfly", "idx"):
        operands = [(b, c) for c in ((0,) if mode == "up" else (0x1F,)) for b in (0, 1, 2, 5, 16, 31, 32, 33)]
        operands += [(b, c) for b in (1, 3, 9) for c in (0x1000, 0x1807, 0x1C03, 0x181F, 0x101F, 0x0F, 0x1F00, 0x0710)]
        body = "{ .reg .b32 v, w, x; .reg .pred p; ld.global.b32 v, [%i+4];\n"
        for at, (b, c) in enumerate(operands):
            # Operands are constants and registers in turn.
            first, second = f"{b:#x}", f"{c:#x}"
            if at % 2:
                body += f"xor.b32 x, %m, {mask(32) ^ b:#x};\n"
                first = "x"
            body += f"shfl.sync.{mode}.b32 w|p, v, {first}, {second}, %m; st.global.b32 [%o+{8 * at}], w; selp.b32 w, 1, 0, p; st.global.b32 [%o+{8 * at + 4}], w;\n"
        body += "}"

        def results(members, values, lane):
            words = []
            for b, c in operands:
                offset, bound, segment = b & 31, c & 31, c >> 8 & 31
                most, least = lane & segment | bound & ~segment, lane & segment
                source = {"up": lane - offset, "down": lane + offset, "bfly": lane ^ offset, "idx": least | offset & ~segment}[mode]
                inside = source >= most if mode == "up" else source <= most
                words += [values[source if inside else lane], int(inside)]
            return words

        lanes(t, mode, body, results, [(mask(32), values)], words=2 * len(operands))
    # Each lane its own source.
    sources = [random.randrange(32) for _ in LANES]
    code = "{ .reg .b32 v, w; ld.global.b32 v, [%i+4]; shfl.sync.idx.b32 w, v, v, 0x1f, %m; st.global.b32 [%o], w; }"
    lanes(t, "idx_of_each_lane", code, lambda members, values, lane: [values[values[lane] & 31]], [(mask(32), sources), (mask(32), list(reversed(LANES)))])
    return t


def matches():
    t = Table("warp/match", SCRIPT)
    t.section("9.7.13.10 match.sync")
    random = random_of("match")
    cases = [(members, values_of(random, kinds)) for members in MASKS for kinds in (1, 2, 7)] + [(mask(32), list(LANES))]
    body = """{ .reg .b32 v, w; .reg .b64 x; .reg .pred p; ld.global.b32 v, [%i+4];
match.any.sync.b32 w, v, %m; st.global.b32 [%o], w;
match.all.sync.b32 w|p, v, %m; st.global.b32 [%o+4], w; selp.b32 w, 1, 0, p; st.global.b32 [%o+8], w;
mov.b64 x, {0, v}; match.any.sync.b64 w, x, %m; st.global.b32 [%o+12], w;
mov.b64 x, {v, 0}; match.all.sync.b64 w|p, x, %m; st.global.b32 [%o+16], w; selp.b32 w, 1, 0, p; st.global.b32 [%o+20], w; }"""

    def results(members, values, lane):
        same = sum(1 << at for at in member_lanes(members) if values[at] == values[lane])
        every = same == members
        both = [members if every else 0, int(every)]
        return [same, *both, same, *both]

    lanes(t, "match", body, results, cases, words=6)
    return t


def redux():
    t = Table("warp/redux", SCRIPT)
    t.section("9.7.13.12 redux.sync")
    random = random_of("redux")
    fill = lambda: [random.getrandbits(32) for _ in LANES]
    cases = [(members, fill()) for members in MASKS] + [(mask(32), [mask(32)] * 32), (mask(32), list(LANES)), (0x0000FFFF, [0x80000000 + lane for lane in LANES])]
    body, place = "{ .reg .b32 v, w; ld.global.b32 v, [%i+4];\n", 0
    operations = [("add", kind) for kind in ("u32", "s32")] + [(op, kind) for op in ("min", "max") for kind in ("u32", "s32")] + [(op, "b32") for op in ("and", "or", "xor")]
    for op, kind in operations:
        body += f"redux.sync.{op}.{kind} w, v, %m; st.global.b32 [%o+{place}], w;\n"
        place += 4

    def results(members, values, lane):
        words = []
        for op, kind in operations:
            parts = [number(values[at], kind.replace("b", "u")) for at in member_lanes(members)]
            total = parts[0]
            for part in parts[1:]:
                total = {"add": total + part, "min": min(total, part), "max": max(total, part), "and": total & part, "or": total | part, "xor": total ^ part}[op]
            words.append(total & mask(32))
        return words

    lanes(t, "integers", body + "}", results, cases, needs="sm_80", words=len(operations))
    some = [0x3F800000, 0xBF800000, 0, 0x80000000, 0x7F800000, 0xFF800000, 1, 0x80000001, 0x7FC00000, 0xFF800001, 0x42280000, 0xC2280000]
    floats = [(members, [random.choice(pool) for _ in LANES]) for members in MASKS for pool in (some, some[:8], some[2:4], some[8:10], some[10:])]
    body, place = "{ .reg .f32 v, w; ld.global.f32 v, [%i+4];\n", 0
    ways = [(op, magnitude, nan) for op in ("min", "max") for magnitude in ("", ".abs") for nan in ("", ".NaN")]
    for op, magnitude, nan in ways:
        body += f"redux.sync.{op}{magnitude}{nan}.f32 w, v, %m; st.global.f32 [%o+{place}], w;\n"
        place += 4

    def extremes(members, values, lane):
        words = []
        for op, magnitude, nan in ways:
            bits = [values[at] & (mask(31) if magnitude else mask(32)) for at in member_lanes(members)]
            numbers = [F32.decode(x) for x in bits]
            kept = [x for x in numbers if not x.is_nan]
            if not kept or (nan and len(kept) < len(numbers)):
                words.append(F32.nan)
                continue
            order = lambda x: (x.value, not x.negative)  # -0.0 is below +0.0
            words.append(F32.encode(max(kept, key=order) if op == "max" else min(kept, key=order)))
        return words

    lanes(t, "floats", body + "}", extremes, floats, needs="sm_100f", words=len(ways))
    return t


def elections():
    t = Table("warp/elect", SCRIPT)
    t.section("9.7.13.14 elect.sync")
    body = """{ .reg .b32 w, x; .reg .pred p; elect.sync w|p, %m; st.global.b32 [%o], w; selp.b32 w, 1, 0, p; st.global.b32 [%o+4], w; }"""
    note = [("e", "the manual says that the same lane is elected each time, not which: this is what the hardware does, the lowest")]
    lanes(t, "elect", body, lambda members, values, lane: [member_lanes(members)[0], int(lane == member_lanes(members)[0])],
          [(members, [0] * 32) for members in MASKS], needs="sm_90", words=2, notes=note)
    return t


def tables():
    return [votes(), shuffles(), matches(), redux(), elections()]
