"""The plugin for pytest, in runs of pytest of its own."""

import pytest
from kernels import SAXPY, reduction

TESTS = """
import numpy as np, pytest, oriole_gpu

def run(kernel):
    data, sums = np.ones(256, np.uint32), np.zeros(1, np.uint32)
    kernel[1, 256](data, sums)
    assert sums[0] == 256

def test_plain(oriole_kernel):
    kernel = oriole_kernel("reduce.ptx", "reduce")
    assert kernel.module.target == "sm_90"
    run(kernel)

@pytest.mark.oriole(check=True, arch="sm_80", timeout=60)
def test_marked(oriole_kernel):
    kernel = oriole_kernel("reduce.ptx")
    assert kernel.module.target == "sm_80" and kernel.settings["check"] and kernel.settings["timeout"] == 60
    run(kernel)
"""


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """A folder with tests and kernels."""
    pytester.makefile(".ptx", reduce=reduction(), saxpy=SAXPY)
    pytester.makepyfile(TESTS)
    return pytester


def test_kernels_run_in_tests(project: pytest.Pytester) -> None:
    result = project.runpytest_subprocess("--strict-markers")
    result.assert_outcomes(passed=2)


def test_options_act_on_every_kernel(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_options="""
def test_options(oriole_kernel):
    kernel = oriole_kernel("saxpy.ptx")
    assert kernel.settings == {"strict": True, "check": True}
    assert kernel.module.target == "sm_100"
"""
    )
    options = ["--oriole-strict", "--oriole-check", "--oriole-arch", "sm_100", "test_options.py"]
    project.runpytest_subprocess(*options).assert_outcomes(passed=1)


def test_races_fail_with_the_option(project: pytest.Pytester) -> None:
    project.makefile(".ptx", reduce=reduction(""))
    result = project.runpytest_subprocess("-k", "plain", "--oriole-check")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*CheckError: the checks of memory have found*"])


def test_the_options_are_in_the_help(pytester: pytest.Pytester) -> None:
    pytester.runpytest_subprocess("--help").stdout.fnmatch_lines(["*--oriole-strict*"])


TRITON = """
import numpy as np, triton, triton.language as tl
from oriole_gpu.triton import tensor

@triton.jit
def add_one(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at, mask=at < n) + 1, mask=at < n)

def test_on_the_simulator(oriole_triton):
    driver = oriole_triton("sm_80", timeout=60)
    assert driver.settings == {"strict": True, "timeout": 60}
    x = np.zeros(100, np.float32)
    add_one[(1,)](tensor(x), 100, BLOCK=128)
    assert (x == 1).all()

def test_the_driver_is_gone():
    assert triton.runtime.driver._active is None
"""


def test_triton_runs_in_tests(pytester: pytest.Pytester) -> None:
    pytest.importorskip("triton", minversion="3.6")
    pytester.makepyfile(TRITON)
    pytester.runpytest_subprocess("--oriole-strict").assert_outcomes(passed=2)
