#!/usr/bin/env python3
"""Launches of kernels that shared/kernels/launch.json leaves out: textures, surfaces, special registers, Triton's.

    extra_launches.py [--shared DIR]

Writes tests/data/launches/extra.json and expected/NAME.I.bin beside it; tools/run_extra.py runs them. The format is that
of launch.json (shared/tools/run_kernels.py explains it, and makes the input data), with two more kinds of arguments:

    {"kind": "tex" or "surf", "shape": "2d", "size": [32, 16], "format": "f32x1", "options": ["linear"], "data": BUFFER}

The expected values are computed here in double precision from the kernels' CUDA source and from "Texture Fetching" of
the CUDA C++ Programming Guide; nothing of Oriole is used. What the guide leaves open, and the choice made here:
fractions of linear filtering are rounded to the nearest 1/256; a 2D read of a volume sees its first slice, a 1D
read of an image its first row.
"""
import argparse, itertools, json, math, pathlib, struct, sys

LAUNCHES = pathlib.Path(__file__).resolve().parent.parent / "tests" / "data" / "launches"
SHARED = LAUNCHES.parents[3] / "shared"
INTEGER_SCALE = {"un8": 255.0, "sn8": 127.0, "un16": 65535.0, "sn16": 32767.0}


def single(value):
    """The nearest number of single precision."""
    return struct.unpack("<f", struct.pack("<f", value))[0]


# ---------------------------------------------------------------- texture fetching

class Texture:
    """Texels as numbers: level after level, in each layer after layer, slice, row and texel."""

    def __init__(self, arg, values):
        self.size = (arg["size"] * 3 if arg["shape"] == "cube" else arg["size"] + [1, 1])[:3]
        if arg["shape"] == "cube":
            self.size = self.size[:2] + [1]
        kind, channels = arg["format"].split("x")
        self.channels, self.options = int(channels), arg["options"]
        named = dict(option.split("=") for option in self.options if "=" in option)
        self.layers, self.levels = int(named.get("layers", 1)), int(named.get("levels", 1))
        self.slices = self.layers * (6 if arg["shape"] == "cube" else 1)
        self.mode = next((m for m in ("wrap", "mirror", "border") if m in self.options), "clamp")
        scale = INTEGER_SCALE.get(kind)
        self.values = [max(value / scale, -1.0) for value in values] if scale else values

    def level_size(self, level):
        return [max(size >> level, 1) for size in self.size]

    def texel(self, level, slice, place):
        """All channels of one texel; None in `place` is outside of the image."""
        if None in place:
            return [0.0] * self.channels
        start = sum(math.prod(self.level_size(before)) for before in range(level)) * self.slices
        width, height, depth = self.level_size(level)
        x, y, z = (list(place) + [0, 0])[:3]
        number = start + ((slice * depth + z) * height + y) * width + x
        return self.values[number * self.channels:(number + 1) * self.channels]

    def led_back(self, texel, size):
        """The texel that stands for one that may lie outside of the image."""
        mode = self.mode if self.mode == "border" or "normalized" in self.options else "clamp"
        if mode == "wrap":
            return texel % size
        if mode == "mirror":
            return size - 1 - texel % size if texel // size % 2 else texel % size
        if mode == "border":
            return texel if 0 <= texel < size else None
        return max(0, min(texel, size - 1))

    def place(self, coordinate, size):
        return coordinate * size if "normalized" in self.options else coordinate

    def at_level(self, level, slice, coordinates):
        sizes = self.level_size(level)
        axes = []
        for coordinate, size in zip(coordinates, sizes):
            place = self.place(coordinate, size)
            if "linear" in self.options:
                first = math.floor(place - 0.5)
                share = math.floor((place - 0.5 - first) * 256 + 0.5) / 256
                axes.append([(self.led_back(first, size), 1 - share), (self.led_back(first + 1, size), share)])
            else:
                axes.append([(self.led_back(math.floor(place), size), 1.0)])
        total = [0.0] * self.channels
        for taps in itertools.product(*axes):
            share = math.prod(weight for _, weight in taps)
            texel = self.texel(level, slice, [at for at, _ in taps])
            total = [sum_ + share * value for sum_, value in zip(total, texel)]
        return total

    def read(self, coordinates, slice=0, lod=0.0):
        """A filtered read; a layer that does not exist is the last one."""
        slice = max(0, min(slice, self.slices - 1))
        lod = max(0.0, min(lod, self.levels - 1.0))
        if "mip" not in self.options:
            return self.at_level(math.floor(lod + 0.5), slice, coordinates)
        near = math.floor(lod)
        share = math.floor((lod - near) * 256 + 0.5) / 256
        far = self.at_level(min(near + 1, self.levels - 1), slice, coordinates)
        return [a * (1 - share) + b * share for a, b in zip(self.at_level(near, slice, coordinates), far)]

    def gather(self, coordinates, channel):
        """One channel of the four texels that a linear read would weigh, counter-clockwise from the lower left."""
        sizes = self.level_size(0)
        x, y = (math.floor(self.place(c, size) - 0.5) for c, size in zip(coordinates, sizes))
        corners = [(x, y + 1), (x + 1, y + 1), (x + 1, y), (x, y)]
        led = [[self.led_back(at, size) for at, size in zip(corner, sizes)] for corner in corners]
        return [self.texel(0, 0, place)[channel] for place in led]

    def cube(self, x, y, z):
        """A read in a direction: the table of faces in "Cubemap Textures"."""
        if abs(x) >= abs(y) and abs(x) >= abs(z):
            face, major, s, t = (0, x, -z, -y) if x >= 0 else (1, -x, z, -y)
        elif abs(y) >= abs(z):
            face, major, s, t = (2, y, x, z) if y >= 0 else (3, -y, x, -z)
        else:
            face, major, s, t = (4, z, x, -y) if z >= 0 else (5, -z, -x, -y)
        return self.read([(s / major + 1) / 2, (t / major + 1) / 2], face)

    def fetch(self, number):
        """A read by the number of a texel in the first row, unfiltered."""
        return self.texel(0, 0, [number])


# ---------------------------------------------------------------- what the kernels do (textures.cu)

def tex_linear(threads, t, _out, n):
    sums = (t.fetch(i)[0] + t.read([i * 0.5])[0] for i in range(n))
    return [[single(sum_) for sum_ in sums]]


def tex_rotate(threads, t, _out, w, h, th):
    out = []
    for y in range(h):
        for x in range(w):
            u, v = single(x / w) - 0.5, single(y / h) - 0.5
            place = [u * math.cos(th) - v * math.sin(th) + 0.5, v * math.cos(th) + u * math.sin(th) + 0.5]
            out.append(t.read(place)[0])
    return [out]


def tex_more(threads, a, b, c, _out, n):
    out = []
    for i in range(n):
        x, y, z = (single(i * single(step)) for step in (0.1, 0.2, 0.3))
        p, q, r = a.read([x, y, z]), b.read([x, y], i & 3), a.read([x, y], 0, 1.5)
        s, g = c.cube(1.0, x, 0.0), a.gather([x, 0.5], 1)
        out += [p[0] + q[0] + r[0] + s[0] + g[0], p[1] + q[1] + r[1] + s[1] + g[1], p[2] + q[2], p[3] + r[3]]
    return [out]


def surf_copy(threads, source, target, w, h):
    """Bytes red and blue change places; then the first row is overwritten by its floats, doubled."""
    out = bytearray(target)
    for texel in range(w * h):
        red, green, blue, alpha = source[4 * texel:4 * texel + 4]
        out[4 * texel:4 * texel + 4] = bytes([blue, green, red, alpha])
    row = struct.unpack_from(f"<{w}f", source)
    struct.pack_into(f"<{w}f", out, 0, *(2 * value for value in row))
    return [list(struct.unpack(f"<{w * h}I", out))]


def tex_int(threads, t, _o, _u):
    read = [t.read([float(i), 1.0]) for i in range(threads)]
    return [[int(value) for texel in read for value in texel],
            [value & 0xFFFFFFFF for i in range(threads) for value in t.fetch(i)[:2]]]


# ---------------------------------------------------------------- what Triton's kernels do (triton/kernels.py)

def rows(values, length):
    return [values[start:start + length] for start in range(0, len(values), length)]


def vec_add(threads, x, y, _o, n, *_scratch):
    return [[single(a + b) if i < n else 0.0 for i, (a, b) in enumerate(zip(x, y))]]


def softmax(threads, x, _o, cols, sx, so, *_scratch):
    out = []
    for row in rows(x, sx):
        powers = [math.exp(value - max(row[:cols])) for value in row[:cols]]
        out += [power / sum(powers) for power in powers] + [0.0] * (so - cols)
    return [out]


def cumsum_rows(threads, x, _o, cols, *_scratch):
    return [[total for row in rows(x, cols) for total in itertools.accumulate(row)]]


def sort_rows(threads, x, _o, *_scratch):
    return [[value for row in rows(x, 512) for value in sorted(row)]]


def argmax_rows(threads, x, _v, _ix, cols, *_scratch):
    return [[max(row) for row in rows(x, cols)], [row.index(max(row)) for row in rows(x, cols)]]


def gelu_tanh(threads, x, _o, n, *_scratch):
    return [[0.5 * v * (1 + math.tanh(0.79788456 * (v + 0.044715 * v**3))) if i < n else 0.0 for i, v in enumerate(x)]]


def quantize_s8(threads, x, _q, _s, cols, *_scratch):
    scales = [max(map(abs, row)) / 127 for row in rows(x, cols)]
    return [[round(value / scale) for row, scale in zip(rows(x, cols), scales) for value in row], scales]


# ---------------------------------------------------------------- the launches

def buffer(kind, type, count, fill=None, seed=0):
    arg = {"kind": kind, "type": type, "count": count}
    return arg | {"fill": fill, "seed": seed} if fill else arg


def image(kind, shape, size, format, options, data):
    return {"kind": kind, "shape": shape, "size": size, "format": format, "options": options, "data": data}


def value(type, number):
    return {"kind": "value", "type": type, "value": number}


def launch(name, file, entry, grid, block, args, check, shared=0):
    return {"name": name, "file": file, "entry": entry, "targets": ["sm_75", "sm_80", "sm_90"], "grid": grid, "block": block,
            "shared": shared, "args": args, "check": check}


CLOSE = {"mode": "close", "rel": 1e-5, "abs": 1e-5}
# The kernel's sine and cosine may lead to the next fraction of 1/256 for a place in the middle of two.
ROTATED = CLOSE | {"misses": 0.01}


def linear_launches():
    for filter in (["nearest"], ["linear"], ["linear", "border"]):
        row = image("tex", "1d", [96], "f32x1", filter, buffer("in", "f32", 96, "uniform(-1,1)", 11))
        args = [row, buffer("out", "f32", 96), value("s32", 96)]
        yield launch("tex_linear_" + "_".join(filter), "textures", "tex_linear", [3, 1, 1], [32, 1, 1], args, CLOSE)


def rotate_launches():
    data = {"f32x1": buffer("in", "f32", 512, "uniform(-1,1)", 21), "un8x1": buffer("in", "u8", 512, "bytes", 22),
            "sn16x1": buffer("in", "s16", 512, "integers(-32768,32768)", 23)}
    cases = [("f32x1", "wrap", 0.5), ("f32x1", "mirror", 2.25), ("f32x1", "clamp", -1.0), ("f32x1", "border", 0.75),
             ("un8x1", "mirror", 4.0), ("sn16x1", "wrap", 1.25)]
    for filter, (format, mode, angle) in itertools.product(("linear", "nearest"), cases):
        texture = image("tex", "2d", [32, 16], format, [filter, "normalized", mode], data[format])
        args = [texture, buffer("out", "f32", 768), value("s32", 24), value("s32", 32), value("f32", angle)]
        name = f"tex_rotate_{format}_{filter}_{mode}"
        yield launch(name, "textures", "tex_rotate", [2, 4, 1], [16, 8, 1], args, ROTATED)


def other_launches():
    texels = 8 * 8 * 4 + 4 * 4 * 2 + 2 * 2 * 1
    volume = image("tex", "3d", [8, 8, 4], "f32x4", ["linear", "normalized", "wrap", "mip", "levels=3"],
                   buffer("in", "f32", 4 * texels, "uniform(-1,1)", 31))
    layers = image("tex", "2d", [8, 8], "f32x4", ["linear", "layers=4"], buffer("in", "f32", 1024, "uniform(-1,1)", 32))
    cube = image("tex", "cube", [8], "f32x4", ["linear", "normalized"], buffer("in", "f32", 1536, "uniform(-1,1)", 33))
    # At element 10 two axes of the direction are equally long; which face it meets is not said.
    check = CLOSE | {"ranges": [[0, 40], [44, 400]]}
    args = [volume, layers, cube, buffer("out", "f32", 400), value("s32", 100)]
    yield launch("tex_more", "textures", "tex_more", [4, 1, 1], [32, 1, 1], args, check)
    source = image("surf", "2d", [32, 8], "u8x4", [], buffer("in", "f32", 256, "uniform(-1,1)", 41))
    target = image("surf", "2d", [32, 8], "u8x4", [], buffer("out", "u32", 256))
    args = [source, target, value("s32", 32), value("s32", 8)]
    yield launch("surf_copy", "textures", "surf_copy", [2, 2, 1], [16, 4, 1], args, {"mode": "exact"})
    texture = image("tex", "2d", [32, 4], "s32x4", [], buffer("in", "s32", 512, "integers(-2147483648,2147483648)", 51))
    args = [texture, buffer("out", "s32", 128), buffer("out", "u32", 64)]
    yield launch("tex_int", "textures", "tex_int", [1, 1, 1], [32, 1, 1], args, {"mode": "exact"})
    # At least one SM and 1024 bytes of dynamic shared memory; clocks may show anything.
    check = {"mode": "each", "outputs": [{"mode": "range", "min": 7 + 11 * 1024, "max": 2**32 - 1},
                                         {"mode": "range", "min": 1, "max": 2**63 - 1}]}
    args = [buffer("out", "u32", 256), buffer("out", "s64", 64)]
    yield launch("special_registers", "warp_ops", "special_registers", [2, 2, 1], [8, 4, 2], args, check, 1024)


def triton_launches():
    def case(name, entry, blocks, args, check):
        scratch = [value("u64", 0)] * 2
        made = launch("triton_" + name, "triton_" + name, entry, [blocks, 1, 1], [128, 1, 1], args + scratch, check, 16384)
        return made | {"targets": ["sm_80", "sm_90"]}

    def numbers(type, count, seed):
        return buffer("in", type, count, "uniform(-4,4)", seed)

    # Triton takes it that addresses and lengths of rows are multiples of 16.
    exact = {"mode": "exact"}
    args = [numbers("f32", 4096, 61), numbers("f32", 4096, 62), buffer("out", "f32", 4096), value("s32", 4000)]
    yield case("vec_add", "vec_add", 4, args, exact)
    args = [numbers("f32", 3072, 63), buffer("out", "f32", 2736), value("s32", 800), value("s32", 1024), value("s32", 912)]
    yield case("softmax_1k", "softmax", 3, args, {"mode": "close", "rel": 1e-5, "abs": 1e-9})
    args = [numbers("f32", 4512, 64), buffer("out", "f32", 4512), value("s32", 1504)]
    yield case("cumsum", "cumsum_rows", 3, args, {"mode": "close", "rel": 1e-5, "abs": 1e-3})
    yield case("sort_512", "sort_rows", 2, [numbers("f32", 1024, 65), buffer("out", "f32", 1024)], exact)
    args = [numbers("f32", 9024, 66), buffer("out", "f32", 3), buffer("out", "s32", 3), value("s32", 3008)]
    yield case("argmax", "argmax_rows", 3, args, exact)
    args = [numbers("bf16", 2048, 67), buffer("out", "bf16", 2048), value("s32", 2000)]
    yield case("gelu_tanh_bf16", "gelu_tanh", 2, args, {"mode": "close", "rel": 2**-7, "abs": 1e-4})
    args = [numbers("f16", 5424, 68), buffer("out", "s8", 5424), buffer("out", "f32", 3), value("s32", 1808)]
    # A quotient in the middle of two integers may become either.
    checks = [{"mode": "close", "rel": 0, "abs": 0, "misses": 0.005}, {"mode": "close", "rel": 1e-6, "abs": 0}]
    quantized = {"mode": "each", "outputs": checks}
    yield case("quantize_s8", "quantize_s8", 3, args, quantized)


KERNELS = {function.__name__: function for function in (
    tex_linear, tex_rotate, tex_more, surf_copy, tex_int,
    vec_add, softmax, cumsum_rows, sort_rows, argmax_rows, gelu_tanh, quantize_s8)}


def argument(arg, kernels):
    """What a kernel's Python function gets for an argument."""
    if arg["kind"] == "value":
        return single(arg["value"]) if arg["type"] == "f32" else arg["value"]
    if arg["kind"] == "surf":
        return kernels.buffer_bytes(arg["data"])
    if arg["kind"] == "tex":
        return Texture(arg, kernels.decode(kernels.buffer_bytes(arg["data"]), arg["data"]["type"]))
    return kernels.decode(kernels.buffer_bytes(arg), arg["type"]) if arg["kind"] == "in" else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--shared", type=pathlib.Path, default=SHARED)
    sys.path.insert(0, str(parser.parse_args().shared / "tools"))
    import run_kernels as kernels
    launches = [*linear_launches(), *rotate_launches(), *other_launches(), *triton_launches()]
    (LAUNCHES / "expected").mkdir(parents=True, exist_ok=True)
    for each in launches:
        if each["entry"] not in KERNELS:
            continue
        args = [argument(arg, kernels) for arg in each["args"]]
        outputs = KERNELS[each["entry"]](math.prod(each["block"]), *args)
        buffers = [arg.get("data", arg) for arg in each["args"] if arg["kind"] != "value"]
        written = [buffer for buffer in buffers if buffer["kind"] == "out"]
        for number, (values, arg) in enumerate(zip(outputs, written, strict=True)):
            data = kernels.cut(kernels.encode(values, arg["type"]), arg, each["check"])
            (LAUNCHES / "expected" / f"{each['name']}.{number}.bin").write_bytes(data)
    about = "Launches of kernels that launch.json leaves out. Made by tools/extra_launches.py, run by tools/run_extra.py."
    lines = ",\n".join("  " + json.dumps(each) for each in launches)
    (LAUNCHES / "extra.json").write_text(f'{{"format": 1, "about": {json.dumps(about)}, "launches": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
