"""Triton's kernels on the simulator, where Triton is installed: results against numpy's."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

triton = pytest.importorskip("triton", minversion="3.6")
import triton.language as tl  # noqa: E402

import oriole_gpu.triton  # noqa: E402
from oriole_gpu.triton import tensor  # noqa: E402


@triton.jit
def scale(x, y, n, factor, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    tl.store(y + at, tl.load(x + at, mask=mask) * factor, mask=mask)


@triton.jit
def total(x, result, n, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    at = tl.arange(0, BLOCK)
    tl.store(result, tl.sum(tl.load(x + at, mask=at < n, other=0), axis=0))


@triton.autotune(configs=[triton.Config({"BLOCK": size}) for size in (64, 256)], key=["n"])
@triton.jit
def tuned(x, y, n, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n) + 1, mask=at < n)


@pytest.fixture(params=["sm_80", "sm_90"])
def driver(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(triton.knobs.cache, "dir", str(tmp_path))
    tuned.cache.clear()
    return oriole_gpu.triton.activate(request.param, strict=True)


def test_kernels_compute(driver: Any) -> None:
    x = np.arange(1000, dtype=np.float32)
    y = np.zeros(1000, np.float32)
    kernel = scale[(8,)](tensor(x), tensor(y), 1000, 1.5, BLOCK=128)
    assert np.array_equal(y, x * np.float32(1.5))
    assert f"sm_{kernel.metadata.target.arch}" == driver.arch
    assert kernel.n_regs > 0 and b"oriole\0" in kernel.asm["cubin"]
    assert driver.report.blocks == 8 and driver.launches == 1


def test_types_of_values_and_of_elements(driver: Any) -> None:
    for kind in (np.float16, np.float64, np.int8, np.int64):
        x, y = np.arange(100).astype(kind), np.zeros(100, kind)
        scale[(1,)](tensor(x), tensor(y), 100, 3, BLOCK=128)
        assert np.array_equal(y, x * kind(3)), kind


def test_shared_memory(driver: Any) -> None:
    x, result = np.arange(1000, dtype=np.int32), np.zeros(1, np.int32)
    total[(1,)](tensor(x), tensor(result), 1000, BLOCK=1024, num_warps=8)
    assert result[0] == 999 * 500


def test_autotuning_goes_by_the_cycle_model(driver: Any) -> None:
    x, y = np.arange(500, dtype=np.float32), np.zeros(500, np.float32)
    tuned[lambda meta: (triton.cdiv(500, meta["BLOCK"]),)](tensor(x), tensor(y), 500)
    assert np.array_equal(y, x + 1)
    assert len(tuned.configs_timings) == 2 and all(min(times) > 0 for times in tuned.configs_timings.values())
    assert driver.report.timing is None


def test_do_bench_answers_with_the_cycle_model_s_time(driver: Any) -> None:
    x, y = np.zeros(1000, np.float32), np.zeros(1000, np.float32)

    def call() -> None:
        scale[(8,)](tensor(x), tensor(y), 1000, 1.5, BLOCK=128)

    before = driver.launches
    once = triton.testing.do_bench(call, 10, 20)
    assert driver.launches == before + 1
    # The cycles of the launch, at the clock of the chip that the model has.
    driver.settings["timing"] = True
    call()
    timing = driver.report.timing
    assert once == pytest.approx(timing.cycles / (timing.clock_mhz * 1e3)) and timing.clock_mhz == driver.device["clock_mhz"]
    assert triton.testing.do_bench(call, quantiles=[0.2, 0.8]) == [once, once]
    assert triton.testing.do_bench(call, return_mode="all") == [once]

    def twice() -> None:
        call()
        call()

    assert triton.testing.do_bench(twice) == pytest.approx(2 * once)


def test_autotuning_within_a_measurement_does_not_count(driver: Any) -> None:
    x, y = np.zeros(500, np.float32), np.zeros(500, np.float32)

    def call() -> None:
        tuned[lambda meta: (triton.cdiv(500, meta["BLOCK"]),)](tensor(x), tensor(y), 500)

    first = triton.testing.do_bench(call)
    assert len(tuned.configs_timings) == 2
    assert first == triton.testing.do_bench(call) == min(min(times) for times in tuned.configs_timings.values())


@pytest.mark.parametrize("version", ["3.5.1", "3.10.0", "4.0.0"])
def test_a_version_that_is_not_known_is_one_line_at_once(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    active = triton.runtime.driver._active
    monkeypatch.setattr(triton, "__version__", version)
    with pytest.raises(RuntimeError, match=f"^oriole_gpu.triton knows Triton 3.6 to 3.9, and this is {version};[^\\n]*$"):
        oriole_gpu.triton.activate("sm_90")
    assert triton.runtime.driver._active is active


def test_faults_are_oriole_s(driver: Any) -> None:
    x, y = np.zeros(100, np.float32), np.zeros(64, np.float32)
    with pytest.raises(oriole_gpu.KernelFault, match="argument 1"):
        scale[(1,)](tensor(x), tensor(y), 100, 1.0, BLOCK=128)


def test_tensors_of_torch_are_views_of_their_storage(driver: Any) -> None:
    torch = pytest.importorskip("torch")
    memory = torch.arange(64, dtype=torch.float32)
    scale[(1,)](memory[:32], memory[32:], 32, 2.0, BLOCK=32)
    assert torch.equal(memory[32:], 2 * memory[:32])


def test_what_is_no_target() -> None:
    with pytest.raises(ValueError, match="sm_20"):
        oriole_gpu.triton.activate("sm_20")
