"""Kernels that stop: where, and what is known of it; and those that do not end by themselves."""

import os
import pickle
import signal
import struct
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from kernels import ENDLESS, HEADER, SAXPY, reduction

import oriole_gpu

STORE_LINE = SAXPY.splitlines().index("    st.global.f32 [%y], %w;") + 1


@pytest.mark.parametrize("check", [False, True])
def test_a_fault_has_its_place(saxpy: oriole_gpu.Compiled, check: bool) -> None:
    wild = SAXPY.replace("st.global.f32 [%y], %w;", "add.u64 %y, %y, 64; st.global.f32 [%y], %w;")
    compiled = oriole_gpu.compile(wild, file_name="wild.ptx")
    x, y = np.ones(64, np.float32), np.zeros(64, np.float32)
    with pytest.raises(oriole_gpu.KernelFault) as caught:
        oriole_gpu.launch(compiled, "saxpy", 2, 32, 1.0, x, y, 64, check=check)
    fault = caught.value
    assert (fault.kind, fault.kernel) == ("illegal-address", "saxpy")
    # The store goes 16 elements too far: thread 16 of the second block is the first that leaves the array.
    assert (fault.block, fault.thread) == ((1, 0, 0), (16, 0, 0))
    assert fault.address is not None and f"{fault.address:#x}" in fault.message
    assert fault.instruction.startswith("STG.E") and fault.offset > 0
    assert (fault.file, fault.line) == ("wild.ptx", STORE_LINE)
    assert "argument 2" in str(fault) and f"wild.ptx:{STORE_LINE}" in str(fault)
    assert not y.any(), "the arrays are as they were"


def test_a_fault_of_a_cubin_has_the_line_of_its_table() -> None:
    located = SAXPY.replace(".visible .entry", '.file 1 "/src/wild.cu"\n.visible .entry').replace(
        "    st.global.f32 [%y], %w;", "add.u64 %y, %y, 64;\n.loc 1 77 3\n    st.global.f32 [%y], %w;"
    )
    x, y = np.ones(64, np.float32), np.zeros(64, np.float32)
    for lineinfo, place in ((True, ("/src/wild.cu", 77)), (False, (None, None))):
        cubin = oriole_gpu.compile(located, lineinfo=lineinfo).cubin
        with pytest.raises(oriole_gpu.KernelFault) as caught:
            oriole_gpu.launch(cubin, "saxpy", 2, 32, 1.0, x, y, 64)
        assert (caught.value.file, caught.value.line) == place


def test_a_race_is_found() -> None:
    compiled = oriole_gpu.compile(reduction(""))
    data, sums = np.ones(256, np.uint32), np.zeros(1, np.uint32)
    oriole_gpu.launch(compiled, "reduce", 1, 256, data, sums)
    sums[:] = 0
    with pytest.raises(oriole_gpu.CheckError, match="race") as caught:
        oriole_gpu.launch(compiled, "reduce", 1, 256, data, sums, check=True)
    error = caught.value
    assert error.kind == "race" and error.kernel == "reduce" and error.instruction and error.line
    (first, *_) = error.findings
    assert first.is_error and first.earlier is not None and first.access.thread != first.earlier.thread
    assert sums[0] == 0, "the arrays are as they were"


def test_errors_go_from_process_to_process() -> None:
    data = np.ones(256, np.uint32)
    calls = [
        lambda: oriole_gpu.compile(SAXPY.replace("st.global", "st.globe")),
        lambda: oriole_gpu.launch(oriole_gpu.compile(ENDLESS), "endless", 1, 1, timeout=0.01),
        lambda: oriole_gpu.launch(oriole_gpu.compile(reduction("")), "reduce", 1, 256, data, data[:1].copy(), check=True),
    ]
    for call, kind in zip(calls, (oriole_gpu.CompileError, oriole_gpu.LaunchTimeout, oriole_gpu.CheckError)):
        with pytest.raises(kind) as caught:
            call()
        again = pickle.loads(pickle.dumps(caught.value))
        assert type(again) is kind and str(again) == str(caught.value)
        assert vars(again) == vars(caught.value)


def test_strict_simulation_finds_what_luck_hides() -> None:
    compiled = oriole_gpu.compile(SAXPY)
    x, y = np.ones(4, np.float32), np.ones(4, np.float32)
    oriole_gpu.launch(compiled, "saxpy", 1, 4, 1.0, x, y, 4, strict=True)
    # A cubin that waits for no load.
    cubin = without_waits(compiled)
    with pytest.raises(oriole_gpu.KernelFault) as caught:
        oriole_gpu.launch(cubin, "saxpy", 1, 4, 1.0, x, y, 4, strict=True)
    assert caught.value.kind == "hazard"


def without_waits(compiled: oriole_gpu.Compiled) -> bytes:
    """The cubin with the wait masks of the first kernel's instructions cleared: bits 116 to 121 of the 16 bytes of each."""
    cubin = bytearray(compiled.cubin)
    start = text_offset(cubin, f".text.{compiled.kernels[0].name}")
    for at in range(start, start + compiled.kernels[0].code_bytes, 16):
        word = int.from_bytes(cubin[at : at + 16], "little") & ~(0x3F << 116)
        cubin[at : at + 16] = word.to_bytes(16, "little")
    return bytes(cubin)


def text_offset(elf: bytes, section: str) -> int:
    """Where a section of an ELF file of 64 bits begins in the file."""
    (table,) = struct.unpack_from("<Q", elf, 40)
    size, count, names = struct.unpack_from("<HHH", elf, 58)
    # Of each section: offset of the name among the names, offset in the file.
    places = [struct.unpack_from("<I20xQ", elf, table + size * index) for index in range(count)]
    for name, offset in places:
        start = places[names][1] + name
        if elf[start : elf.index(b"\0", start)] == section.encode():
            return offset
    raise AssertionError(f"no section {section}")


def test_a_timeout_ends_a_launch() -> None:
    start = time.monotonic()
    with pytest.raises(oriole_gpu.LaunchTimeout) as caught:
        oriole_gpu.launch(oriole_gpu.compile(ENDLESS), "endless", 1, 32, timeout=0.2)
    assert 0.2 <= time.monotonic() - start < 20
    assert caught.value.kind == "time-limit" and isinstance(caught.value, oriole_gpu.KernelFault)
    with pytest.raises(ValueError, match="timeout"):
        oriole_gpu.launch(oriole_gpu.compile(ENDLESS), "endless", 1, 32, timeout=float("nan"))


@pytest.mark.skipif(os.name != "posix", reason="needs SIGINT")
def test_ctrl_c_ends_a_launch() -> None:
    program = f"""
import oriole_gpu
compiled = oriole_gpu.compile({ENDLESS!r})
print("running", flush=True)
try:
    oriole_gpu.launch(compiled, "endless", 1, 32)
except KeyboardInterrupt:
    print("interrupted")
"""
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None and process.stdout.readline() == "running\n"
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=30)
    finally:
        process.kill()
    assert (process.returncode, out) == (0, "interrupted\n")


def test_faults_of_oriole_itself_are_exceptions() -> None:
    program = """
import oriole_gpu, oriole_gpu._oriole as compiled_half, pickle
for message in ("first", "second"):
    try:
        compiled_half.panic(message)
    except Exception as error:
        print(type(error).__name__, message in str(error), ".rs:" in str(error), str(pickle.loads(pickle.dumps(error))) == str(error))
assert issubclass(oriole_gpu.InternalError, RuntimeError)
print(oriole_gpu.compile(".version 8.0\\n.target sm_80\\n.address_size 64\\n.visible .entry k() { ret; }").kernels[0].name)
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ended.stderr == ""
    assert ended.stdout.splitlines() == ["InternalError True True True"] * 2 + ["k"]


def test_other_threads_run_meanwhile() -> None:
    counted, stop = [0], threading.Event()

    def count() -> None:
        while not stop.is_set():
            counted[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    try:
        with pytest.raises(oriole_gpu.LaunchTimeout):
            oriole_gpu.launch(oriole_gpu.compile(ENDLESS), "endless", 1, 32, timeout=0.5)
    finally:
        stop.set()
        thread.join()
    assert counted[0] > 10


def test_traps_and_deadlocks_have_their_kinds() -> None:
    text = (
        HEADER
        + """.visible .entry traps() { trap; }
.visible .entry waits() { .reg .pred %p; .reg .b32 %t; mov.u32 %t, %tid.x; setp.gt.u32 %p, %t, 31; @%p ret;
    barrier.sync 0, 128; ret; }"""
    )
    compiled = oriole_gpu.compile(text)
    for entry, kind in (("traps", "trap"), ("waits", "deadlock")):
        with pytest.raises(oriole_gpu.KernelFault) as caught:
            oriole_gpu.launch(compiled, entry, 1, 64)
        assert (caught.value.kind, caught.value.address) == (kind, None)
