"""A plugin for pytest: kernels in tests, without a GPU.

It is there wherever the package is installed::

    def test_twice(oriole_kernel):
        twice = oriole_kernel("twice.ptx", "twice")
        data = numpy.arange(4, dtype=numpy.uint32)
        twice[1, 4](data)
        assert list(data) == [0, 2, 4, 6]

Triton's kernels run there by the fixture `oriole_triton`::

    def test_scale(oriole_triton):
        oriole_triton("sm_80")
        scale[(8,)](x, y, 1000, BLOCK=128)                  # tensors on the CPU, or oriole_gpu.triton.tensor(array)

`pytest --oriole-strict` and `--oriole-check` make every launch strict or checked, `--oriole-arch` sets the target where a test
names none. A test sets keywords of `oriole_gpu.kernel` for all its kernels by the marker `oriole`, such as
`@pytest.mark.oriole(strict=True, timeout=10)`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Iterator, Optional, Tuple, Union

import pytest

# The compiled half of the package is loaded by tests that need it alone: the plugin is loaded by every run of pytest.
if TYPE_CHECKING:
    from ._launch import Launcher
    from .triton import Driver

_DEFAULT_ARCH = "sm_90"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the plugin's options."""
    group = parser.getgroup("oriole", "kernels on the Oriole simulator")
    group.addoption("--oriole-strict", action="store_true", help="fault where a kernel reads a register before its time")
    group.addoption("--oriole-check", action="store_true", help="look for races, reads of nothing and accesses outside")
    group.addoption("--oriole-arch", metavar="ARCH", help=f"target where a test names none (default: {_DEFAULT_ARCH})")


def pytest_configure(config: pytest.Config) -> None:
    """Announces the marker."""
    config.addinivalue_line("markers", "oriole(**settings): keywords of oriole_gpu.kernel for the kernels of the test")


@pytest.fixture
def oriole_kernel(request: pytest.FixtureRequest) -> Callable[..., Launcher]:
    """Makes kernels: `oriole_kernel(path_or_source, entry=None, arch=None, **settings)` is `oriole_gpu.kernel` with the settings
    of the command line and of the test's marker. Relative paths are looked for beside the test first."""
    settings, named = _settings(request)

    def make(source: Union[str, Path], entry: Optional[str] = None, arch: Optional[str] = None, **more: Any) -> Launcher:
        from ._launch import kernel

        found = _beside(request.path.parent, source)
        return kernel(found, entry, arch or named, **{**settings, **more})

    return make


@pytest.fixture
def oriole_triton(request: pytest.FixtureRequest) -> Iterator[Callable[..., Driver]]:
    """Runs Triton's kernels on the simulator until the test ends: `oriole_triton(arch=None, **settings)` is
    `oriole_gpu.triton.activate` with the settings of the command line and of the test's marker."""
    triton = pytest.importorskip("triton", minversion="3.6")
    settings, named = _settings(request)
    testing = pytest.importorskip("triton.testing")
    kept = (triton.runtime.driver._active, triton.knobs.runtime.add_stages_inspection_hook, triton.knobs.cache.dir, testing.do_bench)

    def activate(arch: Optional[str] = None, **more: Any) -> Driver:
        from .triton import activate

        return activate(arch or named, **{**settings, **more})

    yield activate
    triton.runtime.driver._active, triton.knobs.runtime.add_stages_inspection_hook, triton.knobs.cache.dir, testing.do_bench = kept


def _settings(request: pytest.FixtureRequest) -> Tuple[dict[str, Any], str]:
    """The settings of the command line and of the test's marker, and the target."""
    options = request.config
    settings: dict[str, Any] = {}
    if options.getoption("--oriole-strict"):
        settings["strict"] = True
    if options.getoption("--oriole-check"):
        settings["check"] = True
    for marker in reversed(list(request.node.iter_markers("oriole"))):
        settings.update(marker.kwargs)
    return settings, settings.pop("arch", None) or options.getoption("--oriole-arch") or _DEFAULT_ARCH


def _beside(folder: Path, source: Union[str, Path]) -> Union[str, Path]:
    """The file of that relative path in the test's folder, if there is one."""
    if isinstance(source, str) and "\n" in source:
        return source
    beside = folder / source
    return beside if beside.is_file() else source
