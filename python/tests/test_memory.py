"""Memory of the host: what is taken as an array, that it is held, and that none is lost."""

import array
import ctypes
import mmap
import os
import subprocess
import sys
import threading
import time
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from kernels import ENDLESS, HEADER, SAXPY, TWICE_LLVM

import oriole_gpu

WANTED = np.arange(8, dtype=np.float32) + 1


def ones(kind: type = np.float32) -> Any:
    return np.ones(8, kind)


class Exporter:
    """What gives its memory by DLPack alone."""

    def __init__(self, memory: np.ndarray) -> None:
        self._memory = memory

    def __dlpack__(self, **words: Any) -> object:
        return self._memory.__dlpack__(**words)

    def __dlpack_device__(self) -> Any:
        return self._memory.__dlpack_device__()


def added(compiled: oriole_gpu.Compiled, x: Any, y: Any) -> None:
    oriole_gpu.launch(compiled, "saxpy", 1, 8, 1.0, x, y, 8)


def test_buffers_are_read_and_written(saxpy: oriole_gpu.Compiled) -> None:
    numbers = np.arange(8, dtype=np.float32)
    for x in (numbers.tobytes(), memoryview(numbers.tobytes()), array.array("f", numbers), (ctypes.c_float * 8)(*numbers)):
        for make in (bytearray, lambda y: array.array("f", y), lambda y: memoryview(bytearray(y)).cast("f")):
            y = make(ones().tobytes())
            added(saxpy, x, y)
            assert bytes(y) == WANTED.tobytes()
    with mmap.mmap(-1, 32) as pages:
        pages[:] = ones().tobytes()
        added(saxpy, numbers, pages)
        assert pages[:] == WANTED.tobytes()


def test_memory_by_dlpack(saxpy: oriole_gpu.Compiled) -> None:
    if not hasattr(np, "from_dlpack"):
        pytest.skip("this numpy does not take DLPack")
    x, y = np.arange(8, dtype=np.float32), ones()
    added(saxpy, Exporter(x), y)
    assert np.array_equal(y, WANTED)
    if tuple(map(int, np.__version__.split(".")[:2])) >= (2, 1):
        added(saxpy, oriole_gpu.Pointer(x), Exporter(y))
        assert np.array_equal(y, WANTED + x)
    with pytest.raises(ValueError, match="argument 1 of saxpy .*C-contiguous"):
        added(saxpy, Exporter(np.zeros(16, np.float32)[::2]), y)

    class OnDevice(Exporter):
        def __dlpack__(self, **words: Any) -> object:
            raise BufferError("it is on a GPU")

    with pytest.raises(TypeError, match="argument 1 of saxpy .*OnDevice .*it is on a GPU"):
        added(saxpy, OnDevice(x), y)


class FakeTensor:
    """As much of a tensor of PyTorch as is asked of one."""

    def __init__(self, memory: np.ndarray, device: str = "cpu", is_contiguous: bool = True) -> None:
        self._memory, self._is_contiguous = memory, is_contiguous
        self.device, self.layout = SimpleNamespace(type=device), "strided"

    def is_contiguous(self) -> bool:
        return self._is_contiguous

    def is_conj(self) -> bool:
        return False

    is_neg = is_conj

    def detach(self) -> "FakeTensor":
        return self

    def reshape(self, count: int) -> "FakeTensor":
        return FakeTensor(self._memory.reshape(count))

    def view(self, kind: str) -> "FakeTensor":
        return FakeTensor(self._memory.view(kind))

    def numpy(self) -> np.ndarray:
        return self._memory


def test_tensors_of_the_cpu(saxpy: oriole_gpu.Compiled, monkeypatch: pytest.MonkeyPatch) -> None:
    torch: Any = ModuleType("torch")
    torch.Tensor, torch.uint8, torch.strided = FakeTensor, "uint8", "strided"
    monkeypatch.setitem(sys.modules, "torch", torch)
    x, y = np.arange(8, dtype=np.float32), np.ones((2, 4), np.float32)
    added(saxpy, FakeTensor(x), FakeTensor(y))
    assert np.array_equal(y.ravel(), WANTED)
    with pytest.raises(TypeError, match="argument 2 of saxpy .*cpu"):
        added(saxpy, x, FakeTensor(y, device="cuda"))
    with pytest.raises(ValueError, match="argument 2 of saxpy .*contiguous"):
        added(saxpy, x, FakeTensor(y, is_contiguous=False))


def test_tensors_of_pytorch(saxpy: oriole_gpu.Compiled) -> None:
    torch = pytest.importorskip("torch")
    x, y = torch.arange(8, dtype=torch.float32), torch.ones(2, 4, requires_grad=True)
    added(saxpy, x, y)
    assert np.array_equal(y.detach().numpy().ravel(), WANTED)
    halves = torch.zeros(8, dtype=torch.bfloat16)
    oriole_gpu.launch(saxpy, "saxpy", 1, 4, 1.0, halves, halves, 4)


def test_read_only_memory_is_read(saxpy: oriole_gpu.Compiled) -> None:
    x, y = np.arange(8, dtype=np.float32), ones()
    x.flags.writeable = False
    added(saxpy, x, y)
    assert np.array_equal(y, WANTED)
    for wrong in (x, x.tobytes(), memoryview(x.tobytes())):
        with pytest.raises(ValueError, match="argument 2 of saxpy: it is read-only.* first at byte 2"):
            added(saxpy, y, wrong)
    assert np.array_equal(y, WANTED) and np.array_equal(x, np.arange(8))


def test_of_arrays_that_share_memory_parts_are_read_only(saxpy: oriole_gpu.Compiled) -> None:
    memory = np.arange(16, dtype=np.float32)
    whole = memory[:]
    whole.flags.writeable = False
    oriole_gpu.launch(saxpy, "saxpy", 1, 4, 1.0, whole, memory[8:12], 4)
    assert list(memory[8:12]) == [8, 10, 12, 14]
    before = memory.copy()
    # Four elements too far: into what is written through no argument. 12 and 16 differ in the third byte of their floats.
    with pytest.raises(ValueError, match="arguments 1 and 2 of saxpy: it is read-only.* first at byte 50"):
        oriole_gpu.launch(saxpy, "saxpy", 1, 8, 1.0, whole, memory[8:12], 8)
    assert np.array_equal(memory, before)
    # Parts that touch.
    nothing = oriole_gpu.compile(HEADER + ".visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c) { ret; }")
    oriole_gpu.launch(nothing, "k", 1, 1, whole, memory[:8], oriole_gpu.Pointer(memory[8:]))
    assert np.array_equal(memory, before)


@pytest.mark.parametrize("dtype", [">f4", ">u8", "u1,>i2", "(2,)>i4", ">U4"])
def test_another_byte_order_is_refused(saxpy: oriole_gpu.Compiled, dtype: str) -> None:
    x = np.zeros(8, dtype)
    with pytest.raises(TypeError, match="argument 1 of saxpy .*byte order"):
        added(saxpy, x, ones())
    if dtype in (">f4", ">u8"):
        with pytest.raises(TypeError, match=f"argument 1 of saxpy .*dtype {dtype},.* byte order"):
            added(saxpy, x, ones())
        with pytest.raises(TypeError, match="argument 2 of saxpy .*byte order"):
            added(saxpy, ones(), memoryview(x))


def test_a_value_of_another_byte_order_is_refused() -> None:
    pair = HEADER + ".visible .entry k(.param .align 4 .b8 pair[8]) { ret; }"
    compiled = oriole_gpu.compile(pair)
    oriole_gpu.launch(compiled, "k", 1, 1, np.array([(3, 4)], "u4,u4")[0])
    with pytest.raises(TypeError, match="argument 0 of k .*byte order"):
        oriole_gpu.launch(compiled, "k", 1, 1, np.array([(3, 4)], ">u4,>u4")[0])


def test_what_has_no_memory(saxpy: oriole_gpu.Compiled) -> None:
    with pytest.raises(TypeError, match="argument 1 of saxpy .*an array, a buffer or a tensor .*c_ulong"):
        added(saxpy, ctypes.c_uint64(5), ones())
    with pytest.raises(TypeError, match="argument 1 of saxpy .*pointed into.* 5 .int"):
        added(saxpy, oriole_gpu.Pointer(5), ones())
    with pytest.raises(TypeError, match="argument 1 of saxpy .*offset.* 0.5 .float"):
        added(saxpy, oriole_gpu.Pointer(ones(), 0.5), ones())  # type: ignore[arg-type]
    # Eight bytes are a value, which is no address of anything.
    with pytest.raises(oriole_gpu.KernelFault, match="illegal address"):
        added(saxpy, b"12345678", ones())
    added(saxpy, oriole_gpu.Pointer(ones().tobytes()), ones())


def test_memory_stays_where_it_is(saxpy: oriole_gpu.Compiled) -> None:
    endless = oriole_gpu.compile(ENDLESS.replace("endless()", "endless(.param .u64 a, .param .u64 b, .param .u64 c)"))
    owner, buffer, numbers = np.zeros(1 << 20, np.float32), bytearray(8), array.array("f", [0])
    ended = []

    def launch() -> None:
        try:
            oriole_gpu.launch(endless, "endless", 1, 1, owner[:8], buffer, numbers, timeout=1.0)
        except oriole_gpu.LaunchTimeout as error:
            ended.append(error)

    thread = threading.Thread(target=launch)
    thread.start()
    time.sleep(0.3)
    for resize in (lambda: owner.resize(1 << 22, refcheck=False), lambda: buffer.extend(bytes(8)), lambda: numbers.append(1)):
        with pytest.raises((BufferError, ValueError), match="re-?size"):
            resize()
    thread.join()
    assert len(ended) == 1
    # The error is still there, and holds nothing.
    owner.resize(1 << 22, refcheck=False)
    buffer.extend(bytes(8))
    numbers.append(1)


def test_memory_is_given_back_where_an_argument_is_wrong(saxpy: oriole_gpu.Compiled) -> None:
    buffer = bytearray(32)
    with pytest.raises(TypeError) as caught:
        oriole_gpu.launch(saxpy, "saxpy", 1, 8, 1.0, buffer, "wrong", 8)
    buffer.extend(bytes(8))
    assert "str" in str(caught.value)


def test_other_threads_run_while_memory_is_copied(saxpy: oriole_gpu.Compiled) -> None:
    """The longest that another thread waits for the lock, while 200 MB go in and come back."""
    large, stop, waits = np.zeros(50_000_000, np.float32), threading.Event(), []

    def watch() -> None:
        last = time.perf_counter()
        while not stop.is_set():
            time.sleep(0.0005)
            now = time.perf_counter()
            waits.append(now - last)
            last = now

    thread = threading.Thread(target=watch)
    thread.start()
    begin = time.perf_counter()
    try:
        oriole_gpu.launch(saxpy, "saxpy", 1, 8, 1.0, large, np.zeros(8, np.float32), 8)
    finally:
        took = time.perf_counter() - begin
        stop.set()
        thread.join()
    assert max(waits) < took / 2, (max(waits), took)


#: Each thread touches the far end of 400,000 bytes of its own.
LOCAL = (
    HEADER
    + """.visible .entry local(.param .u64 p) {
    .local .align 4 .b8 a[400000]; .reg .b64 %p, %a, %o; .reg .b32 %v, %w;
    ld.param.u64 %p, [p]; ld.global.u32 %v, [%p]; ld.global.u32 %w, [%p+4];
    mov.u64 %a, a; mul.wide.u32 %o, %v, 4; add.u64 %o, %a, %o; st.local.u32 [%o], %v;
    mul.wide.u32 %o, %w, 4; add.u64 %o, %a, %o; ld.local.u32 %v, [%o]; st.global.u32 [%p], %v; ret;
}
"""
)


def test_a_launch_has_a_bound_of_memory(saxpy: oriole_gpu.Compiled) -> None:
    x, y = np.ones(1 << 16, np.float32), np.ones(1 << 16, np.float32)
    with pytest.raises(MemoryError, match="262144|out of memory"):
        oriole_gpu.launch(saxpy, "saxpy", 1, 8, 1.0, x, y, 8, memory=500_000)
    assert y[0] == 1
    oriole_gpu.launch(saxpy, "saxpy", 1, 8, 1.0, x, y, 8, memory=1 << 20, threads=1)
    assert y[0] == 2
    # 1,024 threads want 400 MB.
    local, words = oriole_gpu.compile(LOCAL), np.zeros(2, np.uint32)
    with pytest.raises(MemoryError, match="out of memory"):
        oriole_gpu.launch(local, "local", 1, 1024, words, memory=100 << 20)
    oriole_gpu.launch(local, "local", 1, 32, words, memory=100 << 20)
    with pytest.raises(ValueError, match="memory: an integer from 1 .*not 0"):
        oriole_gpu.launch(local, "local", 1, 32, words, memory=0)


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs Linux")
def test_memory_that_the_system_refuses_is_an_error() -> None:
    program = f"""
import resource, numpy as np, oriole_gpu
saxpy, local = oriole_gpu.compile({SAXPY!r}), oriole_gpu.compile({LOCAL!r})
x, y, words = np.ones(1 << 26, np.float32), np.ones(8, np.float32), np.zeros(2, np.uint32)
with open("/proc/self/statm") as pages:
    size = int(pages.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + (128 << 20), -1))
for launch in (
    lambda: oriole_gpu.launch(saxpy, "saxpy", 1, 8, 1.0, x, y, 8, threads=1),
    lambda: oriole_gpu.launch(local, "local", 1, 1024, words, threads=1),
):
    try:
        launch()
    except MemoryError as error:
        print(error)
oriole_gpu.launch(saxpy, "saxpy", 1, 8, 1.0, x[:8], y, 8, threads=1)
print(y[7])
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ended.returncode == 0 and ended.stdout.count("memory") >= 2 and ended.stdout.endswith("\n2.0\n"), ended


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs Linux")
def test_a_compilation_has_a_bound_of_memory() -> None:
    # In a process of its own, which holds no free memory that could be taken again.
    program = f"""
import oriole_gpu
sums = "".join(f"add.u32 %v{{at + 1}}, %v{{at}}, %v{{at // 2}};\\n" for at in range(20_000))
begin = ".reg .b32 %v<20001>; .reg .b64 %p; ld.param.u64 %p, [p]; ld.global.u32 %v0, [%p];"
source = {HEADER!r} + f".visible .entry k(.param .u64 p) {{{{ {{begin}} {{sums}} st.global.u32 [%p], %v20000; ret; }}}}"
try:
    oriole_gpu.compile(source, memory=4 << 20)
except MemoryError as error:
    print(error)
oriole_gpu.compile({SAXPY!r}, memory=1 << 30)
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ended.returncode == 0 and "4194304 bytes" in ended.stdout, ended


#: A module of twenty kernels.
LARGE = SAXPY + "".join(SAXPY[len(HEADER) :].replace("saxpy", f"saxpy{index}") for index in range(19))

#: What is done again and again, by name; `count` times each.
REPEATED = f"""
import gc, sys, numpy as np, oriole_gpu
SAXPY, LARGE, LLVM = {SAXPY!r}, {LARGE!r}, {TWICE_LLVM!r}
saxpy = oriole_gpu.compile(SAXPY)
x, y = np.zeros(4096, np.float32), np.zeros(4096, np.float32)

def refused():
    try:
        oriole_gpu.compile(SAXPY.replace("st.global", "st.globe"))
    except oriole_gpu.CompileError:
        pass

def faulty():
    try:
        oriole_gpu.launch(saxpy, "saxpy", 1, 8, 1.0, x, y[:4], 8)
    except oriole_gpu.KernelFault:
        pass

WORK = {{
    "compile": lambda: oriole_gpu.compile(SAXPY),
    "large": lambda: oriole_gpu.compile(LARGE),
    "llvm": lambda: oriole_gpu.compile(LLVM),
    "refused": refused,
    "launch": lambda: oriole_gpu.launch(saxpy, "saxpy", 16, 256, 1.0, x, y, 4096),
    "buffers": lambda: oriole_gpu.launch(saxpy, "saxpy", 1, 8, 1.0, bytes(32), bytearray(32), 8),
    "faulty": faulty,
}}

def pages():
    gc.collect()
    with open("/proc/self/statm") as numbers:
        return int(numbers.read().split()[1])

name, count = sys.argv[1], int(sys.argv[2])
for _ in range(100):
    WORK[name]()
before = pages()
for _ in range(count):
    WORK[name]()
print((pages() - before) * 4096)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs Linux")
@pytest.mark.parametrize("name", ["compile", "large", "llvm", "refused", "launch", "buffers", "faulty"])
def test_memory_is_flat(name: str) -> None:
    thorough = bool(os.environ.get("ORIOLE_THOROUGH"))
    count = 10_000 if thorough else 100 if name == "large" else 400
    ended = subprocess.run([sys.executable, "-c", REPEATED, name, str(count)], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    # What the allocator keeps for threads goes up and down by 4 MB; one kilobyte lost each time would be 10 MB in a full run.
    assert int(ended.stdout) < 8 << 20, f"{int(ended.stdout)} bytes in {count} times"
