"""CUDA Tile's kernels on the simulator, where cuda-tile is installed: results against numpy's."""

from typing import Any

import numpy as np
import pytest

ct = pytest.importorskip("cuda.tile", minversion="1.7")

import oriole_gpu.tile  # noqa: E402


@ct.kernel
def add(a, b, c, n: ct.Constant[int]):  # type: ignore[no-untyped-def]
    at = ct.bid(0)
    ct.store(c, index=(at,), tile=ct.load(a, index=(at,), shape=(n,)) + ct.load(b, index=(at,), shape=(n,)))


@ct.kernel
def softmax(x, y):  # type: ignore[no-untyped-def]
    row = ct.bid(0)
    t = ct.load(x, index=(row, 0), shape=(1, 1024))
    e = ct.exp(t - ct.max(t, axis=1, keepdims=True))
    ct.store(y, index=(row, 0), tile=e / ct.sum(e, axis=1, keepdims=True))


@ct.kernel
def product(a, b, c):  # type: ignore[no-untyped-def]
    m, n = ct.bid(0), ct.bid(1)
    total = ct.zeros((64, 64), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(64, 32))):
        total = ct.mma(ct.load(a, index=(m, k), shape=(64, 32)), ct.load(b, index=(k, n), shape=(32, 64)), total)
    ct.store(c, index=(m, n), tile=total)


@pytest.fixture(params=["sm_80", "sm_90", "sm_120"])
def driver(request: pytest.FixtureRequest) -> Any:
    return oriole_gpu.tile.activate(request.param, strict=True)


def random(*shape: int) -> Any:
    return np.random.default_rng(1).standard_normal(shape, np.float32)


def test_a_sum(driver: Any) -> None:
    a, b, c = random(2048), random(2048)[::-1].copy(), np.zeros(2048, np.float32)
    ct.launch(None, (4,), add, (a, b, c, 512))
    assert np.array_equal(c, a + b)
    assert driver.launches == 1 and driver.report.blocks == 4


def test_softmax_with_hidden_tensor_maps(driver: Any) -> None:
    x = random(16, 1024)
    y = np.zeros_like(x)
    ct.launch(None, (16,), softmax, (x, y))
    e = np.exp(x - x.max(1, keepdims=True))
    assert np.allclose(y, e / e.sum(1, keepdims=True), rtol=1e-5, atol=1e-8)


def test_a_product_of_matrices(driver: Any) -> None:
    a, b, c = random(128, 96).astype(np.float16), random(96, 192).astype(np.float16), np.zeros((128, 192), np.float32)
    ct.launch(None, (2, 3), product, (a, b, c))
    assert np.allclose(c, a.astype(np.float32) @ b.astype(np.float32), rtol=1e-3, atol=1e-2)


def test_what_is_wrong_is_said() -> None:
    with pytest.raises(ValueError, match="sm_75 is no target"):
        oriole_gpu.tile.activate("sm_75")
    oriole_gpu.tile.activate("sm_80")
    with pytest.raises(TypeError, match="takes 4 arguments, 2 were given"):
        ct.launch(None, (1,), add, (random(8), random(8)))
    with pytest.raises(NotImplementedError, match="dependent launches"):
        ct.launch(None, (1,), add, (), programmatic_dependent_launch=True)
