"""CuTe DSL's programs on the simulator, where the DSL is installed: results against numpy's. Each in a process of its own, since the
DSL reads its target once."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(importlib.util.find_spec("cutlass") is None, reason="CuTe DSL is not installed")

#: Before `cutlass` is imported.
HEAD = """
import sys
import oriole_gpu.cute
driver = oriole_gpu.cute.activate(sys.argv[1], strict=True)
import numpy as np
import cutlass, cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack
"""

ADD = """
@cute.kernel
def add_kernel(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, at_most: cutlass.Int32):
    x, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    size, _, _ = cute.arch.block_dim()
    i = block * size + x
    m, n = a.shape
    if i < at_most:
        c[i // n, i % n] = a[i // n, i % n] + b[i // n, i % n]

@cute.jit
def add(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, at_most: cutlass.Int32):
    m, n = a.shape
    add_kernel(a, b, c, at_most).launch(grid=((m * n + 127) // 128 + 1, 1, 1), block=(128, 1, 1))

random = np.random.default_rng(1)
a, b = random.random((40, 60), np.float32), random.random((40, 60), np.float32)
c = np.zeros_like(a)
tensors = [from_dlpack(each) for each in (a, b, c)]
"""

#: The example of a product of matrices by tensor cores of the DSL's tutorials, at its smallest: one warp, one instruction's tile.
PRODUCT = """
@cute.kernel
def product_kernel(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, mma: cute.TiledMma):
    x, _, _ = cute.arch.thread_idx()
    part = mma.get_slice(x)
    ga, gb, gc = part.partition_A(a), part.partition_B(b), part.partition_C(c)
    ra, rb, rc = mma.make_fragment_A(ga), mma.make_fragment_B(gb), mma.make_fragment_C(gc)
    cute.autovec_copy(ga, ra)
    cute.autovec_copy(gb, rb)
    rc.fill(0.0)
    cute.gemm(mma, rc, ra, rb, rc)
    cute.autovec_copy(rc, gc)

@cute.jit
def product(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    op = cute.nvgpu.warp.MmaF16BF16Op(cutlass.Float16, cutlass.Float32, (16, 8, 16))
    product_kernel(a, b, c, cute.make_tiled_mma(op)).launch(grid=(1, 1, 1), block=(32, 1, 1))

random = np.random.default_rng(1)
a, b = (random.standard_normal(shape, np.float32).astype(np.float16) for shape in ((16, 16), (8, 16)))
c = np.zeros((16, 8), np.float32)
product(*(from_dlpack(each) for each in (a, b, c)))
assert np.allclose(c, a.astype(np.float32) @ b.astype(np.float32).T, rtol=1e-3, atol=1e-3), c
"""


def run(folder: Path, target: str, code: str) -> str:
    # The DSL reads a kernel's source from its file.
    path = folder / "program.py"
    path.write_text(HEAD + code)
    done = subprocess.run([sys.executable, "-W", "ignore", path, target], cwd=folder, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "sm_120a"])
def test_a_sum(tmp_path: Path, target: str) -> None:
    run(tmp_path, target, ADD + """
cute.compile(add, *tensors, cutlass.Int32(2400))(*tensors, cutlass.Int32(2400))
assert np.array_equal(c, a + b)
assert driver.launches == 1 and driver.report.blocks == 20
assert [each.compiler for each in driver.compilations] == ["oriole"]
""")


def test_a_fault_is_raised_as_what_it_is(tmp_path: Path) -> None:
    run(tmp_path, "sm_80", ADD + """
try:
    add(*tensors, cutlass.Int32(2401))
except oriole_gpu.KernelFault as fault:
    assert "illegal address" in str(fault) and "past the end" in str(fault), fault
else:
    raise AssertionError("a read past the end is no fault")
""")


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_a_product_of_matrices(tmp_path: Path, target: str) -> None:
    run(tmp_path, target, PRODUCT)


def test_it_is_activated_once_and_first(tmp_path: Path) -> None:
    run(tmp_path, "sm_80", """
try:
    oriole_gpu.cute.activate("sm_90a")
except RuntimeError as error:
    assert "once, before cutlass is imported" in str(error), error
else:
    raise AssertionError("activated twice")
""")
