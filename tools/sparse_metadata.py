#!/usr/bin/env python3
"""Which lanes hold the metadata of a sparse A of 16-bit elements: the launch `mma_kinds`, computed by hand.

    sparse_metadata.py [--shared DIR] [--result FILE]

The sum of the kernel's three floating-point products (bf16 m16n8k16, tf32 m16n8k8, sparse f16 m16n8k32) in double
precision, from its inputs and the fragment tables of the PTX manual, twice:

* with the metadata where CUTLASS's `reorder_meta` puts them (tools/util/include/cutlass/util/host_reorder.h), for
  row-major words `source[row][k / 16]` of 16 bits; CUTLASS tests its sparse kernels on hardware with it;
* with all 32 bits of row g in lane 4g and of row g + 8 in lane 4g + 1.

Prints for each how many of the 128 sums agree with the expected file of shared/kernels and with FILE, the output
that a run has written (out:FILE:512), within the tolerances of launch.json.
"""
import argparse, json, pathlib, struct, sys

HERE = pathlib.Path(__file__).resolve().parent


def half(bits):
    return struct.unpack("<e", struct.pack("<H", bits))[0]


def single(bits):
    return struct.unpack("<f", struct.pack("<I", bits & 0xFFFFFFFF))[0]


def halves(word):
    return word & 0xFFFF, word >> 16


def dense_16(a, b):
    """A, 16 x 16, and B, 8 columns of 8 rows for each register, of 16-bit elements: the manual's tables."""
    left = [[0] * 16 for _ in range(16)]
    right = [[0] * (8 * len(b)) for _ in range(8)]
    for lane in range(32):
        group, thread = divmod(lane, 4)
        for register in range(4):
            for i, bits in enumerate(halves(a[register][lane])):
                left[group + register % 2 * 8][thread * 2 + i + register // 2 * 8] = bits
        for register in range(len(b)):
            for i, bits in enumerate(halves(b[register][lane])):
                right[group][register * 8 + thread * 2 + i] = bits
    return left, right


def by_cutlass(metadata):
    """The 32 bits of each row, `reorder_meta` undone."""
    rows = []
    for row in range(16):
        bits = 0
        for column in range(2):
            to_row, to_column = row % 8 * 4 + row // 8, column
            if to_row % 2 == 0 and to_column == 1:
                to_row, to_column = to_row + 1, 0
            elif to_row % 2 == 1 and to_column == 0:
                to_row, to_column = to_row - 1, 1
            bits |= (metadata[to_row] >> 16 * to_column & 0xFFFF) << 16 * column
        rows.append(bits)
    return rows


def a_row_each(metadata):
    return [metadata[row % 8 * 4 + row // 8] for row in range(16)]


def sums(a, b, metadata_of_rows):
    """The 16 x 8 sums of the three products."""
    a16, b16 = dense_16(a, b)
    stored, wide = dense_16(a, b + a[2:4])
    metadata = metadata_of_rows(b[0])
    tf32 = lambda bits: single(bits & ~0x1FFF)
    result = [[0.0] * 8 for _ in range(16)]
    for row in range(16):
        for column in range(8):
            total = sum(single(a16[row][k] << 16) * single(b16[column][k] << 16) for k in range(16))
            lane = row % 8 * 4
            for k in range(8):
                total += tf32(a[row // 8 + k // 4 * 2][lane + k % 4]) * tf32(b[k // 4][column * 4 + k % 4])
            for k in range(16):
                at = k // 2 * 4 + (metadata[row] >> 2 * k & 3)
                total += half(stored[row][k]) * half(wide[column][at])
            result[row][column] = total
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shared", type=pathlib.Path, default=HERE.parent.parent / "shared")
    parser.add_argument("--result", type=pathlib.Path)
    options = parser.parse_args()
    sys.path.insert(0, str(options.shared / "tools"))
    import run_kernels
    launches = json.loads((options.shared / "kernels" / "launch.json").read_text())["launches"]
    launch = next(row for row in launches if row["name"] == "mma_kinds")
    words = [struct.unpack(f"<{len(data) // 4}I", data) for data in map(run_kernels.buffer_bytes, launch["args"][:2])]
    a, b = [[list(data[at:at + 32]) for at in range(0, len(data), 32)] for data in words]
    check = launch["check"]["outputs"][0]
    files = {"expected file": options.shared / "kernels" / "expected" / "mma_kinds.0.bin"}
    if options.result:
        files["the run"] = options.result
    for name, reading in [("CUTLASS", by_cutlass), ("a row in each lane", a_row_each)]:
        result = sums(a, b, reading)
        for title, path in files.items():
            got, agree = struct.unpack("<128f", path.read_bytes()), 0
            for at in range(128):
                lane, i = divmod(at, 4)
                want = result[lane // 4 + i // 2 * 8][lane % 4 * 2 + i % 2]
                agree += abs(got[at] - want) <= check["abs"] + check["rel"] * abs(want)
            print(f"metadata as {name}: {agree} of 128 sums agree with {title}")


if __name__ == "__main__":
    main()
