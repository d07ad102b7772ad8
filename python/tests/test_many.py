"""Many compilations and launches, on this machine and by the executors of others."""

import multiprocessing
import xml.etree.ElementTree as ElementTree
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from typing import Iterator

import numpy as np
import pytest
from kernels import HEADER, SAXPY, TWICE_LLVM, reduction

import oriole_gpu

SOURCES = [SAXPY, TWICE_LLVM, TWICE_LLVM.encode(), reduction()]
BROKEN = HEADER + ".visible .entry broken() { add.u32 %r1, 1, 2; }"


@pytest.fixture(params=["none", "threads", "processes", "dask"], scope="module")
def executor(request: pytest.FixtureRequest) -> Iterator[object]:
    """Where work is done: two workers of each kind."""
    if request.param == "none":
        yield None
    elif request.param == "threads":
        with ThreadPoolExecutor(2) as pool:
            yield pool
    elif request.param == "processes":
        with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
            yield pool
    else:
        distributed = pytest.importorskip("distributed", reason="Dask is not installed")
        with distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster, distributed.Client(cluster) as client:
            assert len(client.scheduler_info()["workers"]) == 2
            yield client.get_executor()


def test_bytes_are_those_of_one_compilation(executor: Executor) -> None:
    alone = [oriole_gpu.compile(source, "sm_80", maxrregcount=40) for source in SOURCES]
    many = oriole_gpu.compile_many(SOURCES, "sm_80", executor=executor, maxrregcount=40)
    assert [one.cubin for one in many] == [one.cubin for one in alone]
    assert [(one.kernels, one.log) for one in many] == [(one.kernels, one.log) for one in alone]
    data = np.arange(4, dtype=np.uint32)
    oriole_gpu.launch(many[1], "twice", 1, 4, data, 3)
    assert list(data) == [0, 3, 6, 9]


def test_what_has_no_cubin(executor: Executor) -> None:
    results = oriole_gpu.compile_many([SAXPY, BROKEN, SAXPY], executor=executor, return_exceptions=True)
    assert [type(result) for result in results] == [oriole_gpu.Compiled, oriole_gpu.CompileError, oriole_gpu.Compiled]
    with pytest.raises(oriole_gpu.CompileError) as alone:
        oriole_gpu.compile(BROKEN)
    assert results[1].diagnostics == alone.value.diagnostics
    with pytest.raises(oriole_gpu.CompileError):
        oriole_gpu.compile_many([SAXPY, BROKEN], executor=executor)
    with pytest.raises(ValueError, match="sm_1"):
        oriole_gpu.compile_many([SAXPY], "sm_1", executor=executor)
    assert oriole_gpu.compile_many([], executor=executor) == []


#: Chains of products, whose loads may come in many orders, and the cycles of which a seed changes.
CHAINS = (
    HEADER
    + ".visible .entry chains(.param .u64 in, .param .u64 out) {\n"
    + ".reg .b64 %p, %q, %o; .reg .b32 %t, %s, %v; .reg .b32 %w<8>;\n"
    + "ld.param.u64 %p, [in]; ld.param.u64 %q, [out]; mov.u32 %t, %tid.x;\n"
    + "mul.wide.u32 %o, %t, 4; add.u64 %p, %p, %o; add.u64 %q, %q, %o; mov.u32 %s, 0;\n"
    + "".join(
        f"ld.global.u32 %v, [%p+{256 * word}];\n" + "mad.lo.u32 %v, %v, %v, 7;\n" * (word % 3 + 1) + "add.u32 %s, %s, %v;\n"
        for word in range(8)
    )
    + "st.global.u32 [%q], %s; ret; }\n"
)
WAYS = [{"knobs": {"order-seed": 0x0101010101010101 * seed}} for seed in range(1, 30)] + [{"opt_level": 0}]


def sums(words: np.ndarray) -> np.ndarray:
    """What the kernel leaves."""
    total = np.zeros(64, np.uint32)
    for word in range(8):
        value = words[64 * word : 64 * (word + 1)].copy()
        for _ in range(word % 3 + 1):
            value = value * value + np.uint32(7)
        total += value
    return total


def test_the_best_is_the_same_everywhere(executor: Executor) -> None:
    words, out = np.arange(512, dtype=np.uint32) * np.uint32(2654435761), np.zeros(64, np.uint32)
    kept = words.copy()
    found = oriole_gpu.tune(CHAINS, "chains", 1, 64, words, out, candidates=WAYS, executor=executor)
    assert (words == kept).all() and not out.any()
    assert [one.settings for one in found.candidates] == WAYS
    # Each figure is that of a launch by hand.
    for one in [found.plain, *found.candidates[::7]]:
        left = np.zeros(64, np.uint32)
        compiled = oriole_gpu.compile(CHAINS, "sm_90", **one.settings)
        report = oriole_gpu.launch(compiled, "chains", 1, 64, words, left, strict=True, timing=True)
        assert (report.cycles, compiled.kernels[0].registers) == (one.cycles, one.registers)
        assert (left == sums(words)).all()
    cycles = [found.plain.cycles] + [one.cycles for one in found.candidates]
    assert found.best.cycles == min(cycles) and len(set(cycles)) > 1
    assert found.compiled.cubin == oriole_gpu.compile(CHAINS, "sm_90", **found.best.settings).cubin


TIMED = HEADER + (
    ".visible .entry timed(.param .u64 out) { .reg .b64 %p; .reg .b32 %a, %b; ld.param.u64 %p, [out]; mov.u32 %a, %clock;\n"
    "add.u32 %b, %a, MORE; st.global.u32 [%p], %b; mov.u32 %b, %clock; sub.u32 %b, %b, %a; st.global.u32 [%p+4], %b; ret; }"
)


def test_candidates_that_do_not_count(executor: Executor) -> None:
    ways = [{"opt_level": 0}, {"maxrregcount": 64}, {"knobs": {"nothing-like-it": 1}}]
    with pytest.raises(ValueError, match="nothing-like-it"):
        oriole_gpu.tune(SAXPY, "saxpy", 1, 1, 1.0, np.zeros(1, "f4"), np.zeros(1, "f4"), 1, candidates=ways, executor=executor)
    # It stores how long it takes: other code leaves something else.
    out = np.zeros(2, np.uint32)
    timed = TIMED.replace("MORE", "1")
    found = oriole_gpu.tune(timed, "timed", 1, 1, out, candidates=ways[:1], executor=executor)
    assert found.candidates[0].refused == "the launch leaves something else than with plain code"
    assert found.best == found.plain and found.candidates[0].cycles is None
    with pytest.raises(oriole_gpu.KernelFault):
        oriole_gpu.tune(SAXPY, "saxpy", 1, 32, 1.0, np.zeros(1, "f4"), np.zeros(1, "f4"), 32, candidates=[], executor=executor)
    with pytest.raises(TypeError, match="candidates"):
        oriole_gpu.tune(timed, "timed", 1, 1, out, candidates=["opt_level"], executor=executor)


TESTS = """
import numpy as np, pytest

@pytest.mark.parametrize("times", range(12))
def test_many(oriole_kernel, times):
    data = np.arange(4, dtype=np.uint32)
    oriole_kernel("twice.ll", "twice")[1, 4](data, times)
    assert list(data) == [0, times, 2 * times, 3 * times] or times == 5

def test_fails(oriole_kernel):
    assert oriole_kernel("twice.ll").entry == "thrice"
"""


def test_the_plugin_by_xdist_reports_what_one_process_does(pytester: pytest.Pytester) -> None:
    pytest.importorskip("xdist", reason="pytest-xdist is not installed")
    pytester.makefile(".ll", twice=TWICE_LLVM)
    pytester.makepyfile(TESTS)

    def cases(*options: str) -> list:
        result = pytester.runpytest_subprocess("--junitxml=report.xml", "--oriole-strict", *options)
        result.assert_outcomes(passed=12, failed=1)
        suite = ElementTree.parse(pytester.path / "report.xml").getroot()[0]
        counts = [suite.get(count) for count in ("tests", "failures", "errors", "skipped")]
        return [counts, sorted((case.get("classname"), case.get("name"), [part.tag for part in case]) for case in suite)]

    one = cases("-p", "no:xdist")
    assert one[0] == ["13", "1", "0", "0"]
    assert cases("-n", "2") == one
