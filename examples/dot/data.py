"""Writes what dot.ptx is launched on, as floats of 32 bits: a.bin and b.bin, and in expected.bin what the kernel is to leave."""

import array

COUNT, BLOCK = 2048, 256

a = [0.5] * COUNT
b = [float(number) for number in range(COUNT)]
sums = [sum(a[at] * b[at] for at in range(start, start + BLOCK)) for start in range(0, COUNT, BLOCK)]

for name, numbers in [("a.bin", a), ("b.bin", b), ("expected.bin", sums)]:
    with open(name, "wb") as file:
        array.array("f", numbers).tofile(file)
