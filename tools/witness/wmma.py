"""`wmma.load`, `wmma.mma`, `wmma.store` (section 9.7.14.4 of the PTX manual): matrices in memory; how threads hold them is left open."""

import random

from matrix import ABI, bits_of, coded, drawn, product, vector
from table import Table

# Shapes with the registers of A and of B for halves, bfloats, bytes.
SHAPES = {"m16n16k16": (16, 16, 16), "m8n32k16": (8, 32, 16), "m32n8k16": (32, 8, 16)}
REGISTERS = {
    "f16": {shape: (8, 8) for shape in SHAPES},
    "bf16": {"m16n16k16": (4, 4), "m8n32k16": (2, 8), "m32n8k16": (8, 2)},
    "s8": {"m16n16k16": (2, 2), "m8n32k16": (1, 4), "m32n8k16": (4, 1)},
}
REGISTERS["u8"] = REGISTERS["s8"]


def memory(matrix, kind, order):
    """The words of a matrix by rows or columns, element by element, padded to 32 bytes."""
    bits = bits_of(kind)
    elements = [value for line in (matrix if order == "row" else zip(*matrix)) for value in line]
    whole = sum(value << (bits * n) for n, value in enumerate(elements))
    size = (len(elements) * bits + 255) // 256 * 8
    return [whole >> (32 * n) & 0xFFFFFFFF for n in range(size)]


def program(table, shape, dims, kinds, orders, registers, needs, name_more="", source=None, combine=None, satfinite=""):
    (m, n, k), (a_kind, b_kind, c_kind, d_kind), (a_order, b_order, c_order, d_order) = dims, kinds, orders
    a, b = drawn(m, k, a_kind, source, 3), drawn(k, n, b_kind, source, 3)
    c = drawn(m, n, c_kind, source, 40) if c_kind != "s32" else [[source.randint(-1000, 1000) for _ in range(n)] for _ in range(m)]
    if combine:
        d = [[sum(combine(x, y) for x, y in zip(row, column)) + c[i][j] for j, column in enumerate(zip(*b))] for i, row in enumerate(a)]
    else:
        d = product(a, b, c)
    parts = [memory(coded(matrix, kind), kind, order) for matrix, kind, order in ((a, a_kind, a_order), (b, b_kind, b_order), (c, c_kind, c_order))]
    stride = lambda order, rows, columns: columns if order == "row" else rows
    ra, rb, rc, rd = registers
    wide = "b64" if a_kind == "f64" else "b32"
    shown = {"u1": "b1"}
    at, bt, ct, dt = (shown.get(kind, kind) for kind in kinds)
    if at == "tf32":
        mma = f"{dt}.tf32.tf32.{ct}"
    elif at in ("f16",):
        mma = f"{dt}.{ct}"
    else:
        mma = f"{dt}.{at}.{bt}.{ct}"
    head = f"wmma.mma{name_more}.sync.aligned.{a_order}.{b_order}.{shape}"
    rounding = ".rn" if at == "f64" else ""
    lines = [
        f"{ABI} {{",
        f".reg .{wide} %a<{ra}>, %b<{rb}>, %c<{rc}>, %d<{rd}>; .reg .b64 %from, %to, %p;",
        "ld.param.u64 %from, [in]; ld.param.u64 %to, [out];",
        f"wmma.load.a.sync.aligned.{a_order}.{shape}.global.{at} {vector('a', ra)}, [%from], {stride(a_order, m, k)};",
        f"add.u64 %p, %from, {4 * len(parts[0])};",
        f"wmma.load.b.sync.aligned.{b_order}.{shape}.global.{bt} {vector('b', rb)}, [%p], {stride(b_order, k, n)};",
        f"add.u64 %p, %p, {4 * len(parts[1])};",
        f"wmma.load.c.sync.aligned.{c_order}.{shape}.global.{ct} {vector('c', rc)}, [%p], {stride(c_order, m, n)};",
        f"{head}{rounding}.{mma}{satfinite} {vector('d', rd)}, {vector('a', ra)}, {vector('b', rb)}, {vector('c', rc)};",
        f"wmma.store.d.sync.aligned.{d_order}.{shape}.global.{dt} [%to], {vector('d', rd)}, {stride(d_order, m, n)};",
        "ret; }",
    ]
    given = [word for part in parts for word in part]
    label = f"{head}{rounding}.{mma} c {c_order} d {d_order}"
    table.program(label, "\n".join(lines), [("small", "b32", given, "b32", memory(coded(d, d_kind), d_kind, d_order))], ["block 32"], needs)


def tables():
    source = random.Random(70)
    table = Table("matrix/wmma", "wmma.py")
    table.section("9.7.14.4 wmma")
    orders = [("row", "col", "row", "col"), ("col", "row", "col", "row"), ("row", "row", "col", "col"), ("col", "col", "row", "row")]
    for number, (shape, dims) in enumerate(SHAPES.items()):
        turn = orders[number:] + orders[:number]
        sums = (("f16", "f16"), ("f32", "f32"), ("f16", "f32"), ("f32", "f16"))
        for (c, d), order in list(zip(sums, turn))[number and 1 :: number and 2 or 1]:
            count = lambda kind: 4 if kind == "f16" else 8
            program(table, shape, dims, ("f16", "f16", c, d), order, (8, 8, count(c), count(d)), "sm_75", source=source)
        for kind, order in zip(("bf16", "s8", "u8"), turn):
            c = "f32" if kind == "bf16" else "s32"
            program(table, shape, dims, (kind, kind, c, c), order, (*REGISTERS[kind][shape], 8, 8), "sm_80" if kind == "bf16" else "sm_75", source=source)
    for order in orders[:2]:
        program(table, "m16n16k8", (16, 16, 8), ("tf32", "tf32", "f32", "f32"), order, (4, 4, 8, 8), "sm_80", source=source)
        program(table, "m8n8k4", (8, 8, 4), ("f64", "f64", "f64", "f64"), order, (1, 1, 2, 2), "sm_80", source=source)
    for kind in ("s4", "u4"):
        program(table, "m8n8k32", (8, 8, 32), (kind, kind, "s32", "s32"), ("row", "col", "row", "col"), (1, 1, 2, 2), "sm_75", source=source)
    for op, combine, needs in (("xor", lambda x, y: x ^ y, "sm_75"), ("and", lambda x, y: x & y, "sm_80")):
        program(table, "m8n8k128", (8, 8, 128), ("u1", "u1", "s32", "s32"), ("row", "col", "col", "row"), (1, 1, 2, 2), needs, f".{op}.popc", source, combine)
    return [table]
