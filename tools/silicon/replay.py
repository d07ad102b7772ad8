#!/usr/bin/env python3
"""Run recorded launches on the GPU of this machine, through the CUDA driver alone.

    replay.py PACK... --out FILE [--workers N] [--patience SECONDS] [--limit SECONDS] [--repeat N] [--only REGEX]
    replay.py PACK... --serial [--only REGEX]

A pack (`pack.py` writes it) is an xz file of a pickled dictionary: "cubins", a list of bytes, and "jobs", a list of launches:

    id       what the launch is called
    cubin    number of its cubin
    entry    the kernel
    grid, block, cluster   three numbers each; the cluster may be missing
    shared   bytes of dynamic shared memory
    buffers  for each buffer its bytes before the launch, and whether it is read back
    params   for each parameter its bytes, and the places in them that get a buffer's address: (offset, buffer, added to it)
    maps     tensor maps, the last parameters: the driver makes their bytes
    patches  places in the cubin and the bytes that stand there instead
    want     for each buffer that is read back nothing, or its bytes, type, relative and absolute tolerance: "differ" counts elements
    globals  bytes of module variables, by name
    time     whether the launch is timed: the least of --repeat launches, in nanoseconds

The results are an xz file of a pickled dictionary: for each id "out" (the buffers that are read back), "error", or "ns".
With --serial all run in this process, one launch each, and the ids are printed in that order: for a profiler around it.
A launch that faults ends its process, since its context is of no use any more; one that does not end is killed. Others go on.
"""
import argparse, ctypes, lzma, multiprocessing, multiprocessing.connection, os, pickle, re, time

# CUDA's names: cuda.h.
MAX_DYNAMIC_SHARED = 8
CLUSTER_DIMENSION = 4
NON_PORTABLE_CLUSTER = 14
NOT_PORTABLE_FROM = 8
# Bytes of the one allocation that all buffers of a launch lie in, and to what they are aligned.
ARENA, ALIGN = 1 << 30, 512
# Codes of errors of the context: all calls after one of these fail (CUDA_ERROR_ILLEGAL_ADDRESS and what follows it).
FATAL = range(700, 720)


# The types of elements of tensor maps, and swizzles, by what this project calls them.
ELEMENTS = {"U8": 0, "U16": 1, "U32": 2, "S32": 3, "U64": 4, "S64": 5, "F16": 6, "F32": 7, "F64": 8, "Bf16": 9, "F32Ftz": 10, "Tf32": 11, "Tf32Ftz": 12}
SWIZZLES = {"None": 0, "B32": 1, "B64": 2, "B128": 3}
MAP_BYTES, MAP_ALIGN = 128, 64


class Attribute(ctypes.Structure):
    _fields_ = [("id", ctypes.c_int), ("pad", ctypes.c_char * 4), ("value", ctypes.c_uint * 16)]


class Config(ctypes.Structure):
    _fields_ = [("grid", ctypes.c_uint * 3), ("block", ctypes.c_uint * 3), ("shared", ctypes.c_uint), ("stream", ctypes.c_void_p),
                ("attributes", ctypes.POINTER(Attribute)), ("count", ctypes.c_uint)]  # fmt: skip


class Failed(Exception):
    def __init__(self, call, code, text):
        super().__init__(f"{call}: {text} ({code})")
        self.code = code


class Driver:
    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        self("cuInit", 0)
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self("cuDeviceGet", ctypes.byref(device), 0)
        self("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self("cuCtxSetCurrent", context)
        arena = ctypes.c_uint64()
        self("cuMemAlloc_v2", ctypes.byref(arena), ctypes.c_size_t(ARENA))
        self.arena = arena.value

    def __call__(self, name, *arguments):
        code = getattr(self.cuda, name)(*arguments)
        if code:
            text = ctypes.c_char_p()
            self.cuda.cuGetErrorString(code, ctypes.byref(text))
            raise Failed(name, code, (text.value or b"?").decode())

    def upload(self, address, data):
        self("cuMemcpyHtoD_v2", ctypes.c_uint64(address), ctypes.c_char_p(data), ctypes.c_size_t(len(data)))

    def download(self, address, size):
        data = ctypes.create_string_buffer(max(size, 1))
        self("cuMemcpyDtoH_v2", data, ctypes.c_uint64(address), ctypes.c_size_t(size))
        return data.raw[:size]

    def tensor_map(self, spec, address):
        """The driver's 128 bytes of a tensor map."""
        room = ctypes.create_string_buffer(MAP_BYTES + MAP_ALIGN)
        at = -ctypes.addressof(room) % MAP_ALIGN
        words = lambda kind, values: (kind * max(len(values), 1))(*values)
        head = [ctypes.c_void_p(ctypes.addressof(room) + at), ELEMENTS[spec["element"]], spec["rank"], ctypes.c_void_p(address),
                words(ctypes.c_uint64, spec["dims"]), words(ctypes.c_uint64, spec["strides"])]  # fmt: skip
        steps = words(ctypes.c_uint32, spec["steps"])
        tail = [spec.get("interleave", 0), SWIZZLES[spec["swizzle"]], spec.get("promotion", 0), int(spec["fill"] == "Nan")]
        shape = spec["shape"]
        if "box" in shape:
            self("cuTensorMapEncodeTiled", *head, words(ctypes.c_uint32, shape["box"]), steps, *tail)
        else:
            corners = words(ctypes.c_int, shape["lower"]), words(ctypes.c_int, shape["upper"])
            self("cuTensorMapEncodeIm2col", *head, *corners, shape["channels"], shape["pixels"], steps, *tail)
        return room.raw[at : at + MAP_BYTES]

    def run(self, job, cubin, repeat):
        module = ctypes.c_void_p()
        self("cuModuleLoadData", ctypes.byref(module), ctypes.c_char_p(cubin))
        try:
            return self.launched(job, module, repeat)
        finally:
            self.cuda.cuModuleUnload(module)

    def launched(self, job, module, repeat):
        places, at = [], self.arena
        for data, _ in job["buffers"]:
            places.append(at)
            at += -(-(len(data) + 1) // ALIGN) * ALIGN

        def fill():
            for place, (data, _) in zip(places, job["buffers"]):
                if data:
                    self.upload(place, data)

        fill()
        for name, data in job.get("globals", {}).items():
            address, size = ctypes.c_uint64(), ctypes.c_size_t()
            self("cuModuleGetGlobal_v2", ctypes.byref(address), ctypes.byref(size), module, ctypes.c_char_p(name.encode()))
            self.upload(address.value, data)
        function = ctypes.c_void_p()
        self("cuModuleGetFunction", ctypes.byref(function), module, ctypes.c_char_p(job["entry"].encode()))
        if job["shared"]:
            self("cuFuncSetAttribute", function, MAX_DYNAMIC_SHARED, job["shared"])
        values = []
        maps = job.get("maps") or []
        for number, (data, patches) in enumerate(job["params"]):
            value = bytearray(data)
            for offset, buffer, added in patches:
                value[offset : offset + 8] = (places[buffer] + added).to_bytes(8, "little")
            if number >= len(job["params"]) - len(maps):
                value = self.tensor_map(maps[number - len(job["params"])], int.from_bytes(value[:8], "little"))
            values.append(ctypes.create_string_buffer(bytes(value), max(len(value), 1)))
        pointers = (ctypes.c_void_p * max(len(values), 1))(*[ctypes.addressof(value) for value in values])
        config = Config((ctypes.c_uint * 3)(*job["grid"]), (ctypes.c_uint * 3)(*job["block"]), job["shared"], None, None, 0)
        if cluster := job.get("cluster"):
            attribute = Attribute(CLUSTER_DIMENSION)
            attribute.value[0:3] = cluster
            config.attributes, config.count = ctypes.pointer(attribute), 1
            if cluster[0] * cluster[1] * cluster[2] > NOT_PORTABLE_FROM:
                self("cuFuncSetAttribute", function, NON_PORTABLE_CLUSTER, 1)
        launch = lambda: self("cuLaunchKernelEx", ctypes.byref(config), function, pointers, None)
        launch()
        self("cuCtxSynchronize")
        out = [self.download(place, len(data)) for place, (data, back) in zip(places, job["buffers"]) if back]
        result = {"differ": [differing(*pair) for pair in zip(out, job["want"])]} if "want" in job else {"out": out}
        if job.get("time"):
            result["ns"] = min(self.timed(fill, launch) for _ in range(repeat))
        return result

    def timed(self, fill, launch):
        """Nanoseconds of a launch on full buffers, with what the driver needs to start it."""
        fill()
        events = [ctypes.c_void_p(), ctypes.c_void_p()]
        for event in events:
            self("cuEventCreate", ctypes.byref(event), 0)
        self("cuEventRecord", events[0], None)
        launch()
        self("cuEventRecord", events[1], None)
        self("cuEventSynchronize", events[1])
        milliseconds = ctypes.c_float()
        self("cuEventElapsedTime_v2" if hasattr(self.cuda, "cuEventElapsedTime_v2") else "cuEventElapsedTime", ctypes.byref(milliseconds), *events)
        for event in events:
            self("cuEventDestroy_v2", event)
        return milliseconds.value * 1e6


def differing(got, want):
    """How many elements are not within the tolerance."""
    if want is None:
        return 0
    import numpy

    data, kind, relative, absolute = want
    types = {"f16": "<f2", "f32": "<f4", "f64": "<f8"}
    kinds = types.get(kind, f"<u{int(kind.lstrip('bfsu')) // 8}")
    got, want = (numpy.frombuffer(part[: len(data)], kinds) for part in (got, data))
    if kind == "bf16":
        got, want = ((part.astype(numpy.uint32) << 16).view(numpy.float32) for part in (got, want))
    elif kind not in types:
        return int((got != want).sum())
    got, want = got.astype(numpy.float64), want.astype(numpy.float64)
    with numpy.errstate(all="ignore"):
        right = (got == want) | (numpy.isnan(got) & numpy.isnan(want)) | (abs(got - want) <= absolute + relative * abs(want))
    return int((~right).sum())


def work(pipe, cubins, jobs, repeat):
    driver = Driver()
    while (number := pipe.recv()) is not None:
        job = jobs[number]
        fatal = False
        try:
            cubin = bytearray(cubins[job["cubin"]])
            for at, data in job.get("patches", ()):
                cubin[at : at + len(data)] = data
            result = driver.run(job, bytes(cubin), repeat)
        except Failed as error:
            result, fatal = {"error": str(error)}, error.code in FATAL
        pipe.send((result, fatal))
        if fatal:
            os._exit(0)


class Worker:
    def __init__(self, *rest):
        self.rest, self.process, self.number = rest, None, None

    def give(self, number):
        if not self.process:
            self.pipe, other = multiprocessing.Pipe()
            self.process = multiprocessing.Process(target=work, args=(other, *self.rest), daemon=True)
            self.process.start()
            other.close()
            self.starting = True
        self.pipe.send(number)
        self.number, self.since = number, time.monotonic()

    def end(self):
        self.process.kill()
        self.process.join()
        self.process = None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packs", nargs="+")
    parser.add_argument("--out")
    parser.add_argument("--serial", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--patience", type=float, default=8)
    parser.add_argument("--limit", type=float, default=500)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    began = time.monotonic()
    cubins, jobs = [], []
    for name in options.packs:
        pack = pickle.loads(lzma.open(name).read())
        jobs += [{**job, "cubin": job["cubin"] + len(cubins)} for job in pack["jobs"]]
        cubins += pack["cubins"]
    jobs = [job for job in jobs if re.search(options.only, job["id"])]
    print(f"{len(jobs)} launches, {len(cubins)} cubins, read in {time.monotonic() - began:.1f} s", flush=True)
    if options.serial:
        driver = Driver()
        for job in jobs:
            try:
                driver.run({**job, "time": False}, cubins[job["cubin"]], 0)
                print("ran", job["id"], flush=True)
            except Failed as error:
                print("failed", job["id"], error, flush=True)
                if error.code in FATAL:
                    return
        return
    results, waiting = {}, list(range(len(jobs)))[::-1]
    workers = [Worker(cubins, jobs, options.repeat) for _ in range(options.workers)]
    while waiting or any(worker.number is not None for worker in workers):
        for worker in workers:
            if worker.number is None and waiting:
                worker.give(waiting.pop())
        multiprocessing.connection.wait([worker.pipe for worker in workers if worker.number is not None], 0.5)
        for worker in workers:
            if worker.number is None:
                continue
            name = jobs[worker.number]["id"]
            try:
                if worker.pipe.poll():
                    results[name], fatal = worker.pipe.recv()
                    worker.number, worker.starting = None, False
                    if fatal:
                        worker.end()
                elif time.monotonic() - worker.since > options.patience + 20 * worker.starting:
                    results[name], worker.number = {"error": "it does not end"}, None
                    worker.end()
            except EOFError:
                results[name], worker.number = {"error": "its process ended"}, None
                worker.end()
        if time.monotonic() - began > options.limit:
            print(f"out of time: {len(waiting)} launches are left")
            break
    for worker in workers:
        if worker.process:
            worker.end()
    with lzma.open(options.out, "wb", preset=1) as file:
        pickle.dump(results, file)
    errors = [name for name, result in results.items() if "error" in result]
    print(f"{len(results)} results, {len(errors)} errors, {time.monotonic() - began:.1f} s", flush=True)


if __name__ == "__main__":
    main()
