"""`wgmma.mma_async` (section 9.7.15 of the PTX manual): matrices in shared memory by descriptors, rows along K, each swizzle."""

import random

from fragments import rows_of
from matrix import ABI, bits_of, coded, drawn, product
from table import Table

# What the descriptor's two highest bits say of how many bytes of a row are swizzled.
SWIZZLES = {0: 0, 128: 1, 64: 2, 32: 3}
# The interpreter does not run them; sm_90a alone has them.
WITHOUT = [("interpreter", "does not run wgmma yet")]
THREADS = 128


def swizzled(address, width):
    """Where a byte of a tile with rows of `width` bytes is: chunks of 16 bytes change places by the row."""
    return address ^ (address >> 3 & (width - 16))


def image(matrix, bits, width, size):
    """A tile whose rows are along K, 32 bytes each, as shared memory holds it."""
    data = bytearray(size)
    for number, row in enumerate(matrix):
        whole = sum(value << (bits * n) for n, value in enumerate(row)).to_bytes(len(row) * bits // 8, "little")
        for n, byte in enumerate(whole):
            if width:
                at = swizzled(number * width + n, width)
            else:
                # Core matrices of eight rows of 16 bytes, those next along K first.
                at = number // 8 * 256 + n // 16 * 128 + number % 8 * 16 + n % 16
            data[at] = byte
    return bytes(data)


def descriptor(width):
    """All but the address: the distances of core matrices along K and across, in units of 16 bytes."""
    across = 8 * width if width else 256
    return SWIZZLES[width] << 62 | (across >> 4) << 32 | (128 >> 4) << 16


def place(thread, register, count):
    """The elements of the sums in a register: rows of the warp's sixteen, columns in pairs."""
    warp, lane = divmod(thread, 32)
    first = register * count
    return [(16 * warp + lane // 4 + 8 * (i // 2 % 2), 8 * (i // 4) + 2 * (lane % 4) + i % 2) for i in range(first, first + count)]


def program(table, source, n, depth, kind, c_kind, width, from_registers=False):
    bits, c_bits = bits_of(kind), bits_of(c_kind)
    count = 32 // c_bits
    a, b = drawn(64, depth, kind, source, 3), drawn(depth, n, kind, source, 3)
    c = [[source.randint(-40, 40) for _ in range(n)] for _ in range(64)]
    d = coded(product(a, b, c), c_kind)
    c = coded(c, c_kind)
    registers = 64 * n // THREADS // count
    pick = lambda matrix: [
        sum(matrix[row][column] << (c_bits * i) for i, (row, column) in enumerate(place(thread, register, count)))
        for thread in range(THREADS)
        for register in range(registers)
    ]
    a_size, b_size = 8192, 8192
    parts = image(coded(a, kind), bits, width, a_size) + image(coded([list(column) for column in zip(*b)], kind), bits, width, b_size)
    memory = [int.from_bytes(parts[at : at + 4], "little") for at in range(0, len(parts), 4)]
    # Only what is used goes into the table: tiles of 64 and n rows.
    used = (64 * (width or 32), n * (width or 32))
    given = memory[: used[0] // 4] + memory[a_size // 4 : (a_size + used[1]) // 4]
    fragments = rows_of(16, depth, 32 // bits)
    own = []
    if from_registers:
        packed = [fragments.pack(coded(a[16 * warp : 16 * warp + 16], kind), bits) for warp in range(4)]
        own = [word for warp in packed for word in warp]
    name = f"wgmma.mma_async.sync.aligned.m64n{n}k{depth}.{c_kind}.{kind}.{kind}"
    tail = "%one, 1, 1, 0, 0" if kind in ("f16", "bf16") else "%one, 1, 1" if kind not in ("s8", "u8") else "%one"
    if from_registers and kind in ("f16", "bf16"):
        tail = "%one, 1, 1, 0"
    vector = "{" + ", ".join(f"%c{i}" for i in range(registers)) + "}"
    first = "{%a0, %a1, %a2, %a3}" if from_registers else "%da"
    words = [len(given), len(own)]
    code = f""".shared .align 1024 .b8 tiles[{a_size + b_size}];
{ABI} {{
.reg .b32 %t, %i, %w, %s, %a<4>, %c<{registers}>; .reg .b64 %from, %to, %p, %da, %db; .reg .pred %one, %more;
ld.param.u64 %from, [in]; ld.param.u64 %to, [out]; mov.u32 %t, %tid.x; mov.u32 %i, %t;
COPY:
setp.ge.u32 %more, %i, {words[0]}; @%more bra COPIED;
mad.wide.u32 %p, %i, 4, %from; ld.global.b32 %w, [%p]; mov.u32 %s, tiles; mad.lo.u32 %s, %i, 4, %s;
setp.ge.u32 %more, %i, {used[0] // 4}; @%more add.u32 %s, %s, {a_size - used[0]};
st.shared.b32 [%s], %w; add.u32 %i, %i, {THREADS}; bra COPY;
COPIED:
fence.proxy.async; bar.sync 0;
"""
    if from_registers:
        code += f"mad.wide.u32 %p, %t, 16, %from; ld.global.v4.b32 {{%a0, %a1, %a2, %a3}}, [%p+{4 * words[0]}];\n"
    code += f"mad.wide.u32 %p, %t, {4 * registers}, %from; mad.wide.u32 %to, %t, {4 * registers}, %to;\n"
    code += "".join(f"ld.global.b32 %c{i}, [%p+{4 * (words[0] + words[1] + i)}];\n" for i in range(registers))
    code += f"""mov.u32 %s, tiles; shr.u32 %s, %s, 4; cvt.u64.u32 %p, %s; and.b64 %p, %p, 0x3fff;
mov.u64 %da, {descriptor(width):#x}; or.b64 %da, %da, %p; add.u64 %db, %da, {a_size >> 4}; mov.u32 %s, 1; setp.ne.u32 %one, %s, 0;
wgmma.fence.sync.aligned;
{name} {vector}, {first}, %db, {tail};
wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;
"""
    code += "".join(f"st.global.b32 [%to+{4 * i}], %c{i};\n" for i in range(registers)) + "ret; }"
    how = "from registers" if from_registers else f"swizzled {width}" if width else "not swizzled"
    table.program(f"{name} {how}", code, [("small", "b32", given + own + pick(c), "b32", pick(d))], [f"block {THREADS}"], "sm_90a", WITHOUT)


def tables():
    source = random.Random(90)
    table = Table("matrix/wgmma", "wgmma.py")
    table.section("9.7.15 wgmma")
    for width in SWIZZLES:
        program(table, source, 8, 16, "f16", "f32", width)
    program(table, source, 8, 16, "bf16", "f32", 32)
    program(table, source, 8, 8, "tf32", "f32", 32)
    program(table, source, 8, 32, "s8", "s32", 0)
    program(table, source, 8, 32, "e5m2", "f16", 32)
    program(table, source, 16, 16, "f16", "f16", 0)
    program(table, source, 8, 16, "f16", "f32", 32, True)
    program(table, source, 8, 32, "u8", "s32", 0, True)
    yield table
