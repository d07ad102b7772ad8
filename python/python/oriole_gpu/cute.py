"""CuTe DSL's programs without a GPU: compiled by Oriole, run on its simulator.

::

    import oriole_gpu.cute
    oriole_gpu.cute.activate("sm_90a")                  # before cutlass is imported

    a = torch.rand(128, 64, device="cuda")              # on the CPU
    kernel(from_dlpack(a), from_dlpack(b))              # as ever

`activate` names this package's compiled half as the DSL's runtime library (`CUTE_DSL_LIBS`) and has the DSL keep its PTX, which
`oriole_gpu.compile` takes; the cubin that the DSL makes of it is not run. PyTorch's CUDA devices become the CPU. For nvidia-cutlass-dsl
4.8 on Linux.
"""

from __future__ import annotations

import atexit
import ctypes
import functools
import importlib.metadata
import os
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

import numpy as np

from . import _compile, _host, _oriole
from ._cute_runtime import Runtime
from ._launch import Report, launch

__all__ = ["Compilation", "Driver", "activate"]

#: The distribution, and its versions whose runtime library is known.
_DISTRIBUTION, _VERSIONS = "nvidia-cutlass-dsl", ("4.8",)

#: The second-level cache, by which the DSL's examples choose how much they copy between measurements: that of an H100.
_L2_BYTES = 50 << 20

#: Who makes the cubins that are run.
_COMPILERS = ("oriole", "producer")

#: `kDLCUDA`, and where a capsule's tensor has its device: behind the address of the data, in the version 1 of DLPack behind three
#: words and a flag besides.
_CUDA, _DEVICE_AT, _DEVICE_AT_VERSIONED = 2, 8, 40


@dataclass(frozen=True)
class Compilation:
    """A module that host code has loaded."""

    #: `oriole`, or `producer`: NVIDIA's code, as the DSL brings it along.
    compiler: str
    #: Names of its kernels.
    kernels: Tuple[str, ...]
    #: What is run.
    cubin: bytes


class Driver:
    """What runs the DSL's kernels; made by `activate`."""

    def __init__(self, target: str, compiler: str, settings: Mapping[str, Any]) -> None:
        device = _oriole.device(target)
        if device is None:
            raise ValueError(f"{target} is no target; `oriole targets` of the command line prints them")
        if compiler not in _COMPILERS:
            raise ValueError(f"compiler: one of {', '.join(_COMPILERS)} is expected, not {compiler!r}")
        self.target = target
        self.compiler = compiler
        #: What the device has: registers, shared memory, multiprocessors.
        self.device: Mapping[str, Optional[int]] = device
        #: Keywords of `oriole_gpu.launch` for all launches; may be changed.
        self.settings: Dict[str, Any] = dict(settings)
        #: What the last launch left.
        self.report: Optional[Report] = None
        #: What all launches left, with the kernels' names.
        self.reports: List[Tuple[str, Report]] = []
        #: All modules that were loaded, and who compiled them.
        self.compilations: List[Compilation] = []
        self._folder = Path(tempfile.mkdtemp(prefix="oriole-cute-"))
        atexit.register(shutil.rmtree, self._folder, ignore_errors=True)
        self._runtime = Runtime(device, _host.capability(target), self._compiled, self._launched)

    @property
    def launches(self) -> int:
        """Launches so far."""
        return len(self.reports)

    def _compiled(self, fatbinary: bytes) -> bytes:
        """The cubin that is run for a fatbinary."""
        cubins = _oriole.cubins(fatbinary)
        if len(cubins) != 1:
            raise NotImplementedError(f"oriole_gpu.cute loads fatbinaries with one cubin, not with {len(cubins)}")
        cubin = cubins[0]
        if self.compiler == "oriole":
            path = self._kept_ptx(cubin)
            ptx = path.read_text().rstrip("\0")
            cubin = _compile.compile(ptx, self.target, lineinfo=True, file_name=path.name).cubin
        self.compilations.append(Compilation(self.compiler, tuple(_oriole.Module(cubin).kernels), cubin))
        return cubin

    def _kept_ptx(self, cubin: bytes) -> Path:
        """The PTX that the DSL made this cubin of: it lies beside the file with the same bytes."""
        for path in sorted(self._folder.rglob("*.cubin"), key=lambda path: path.stat().st_mtime_ns, reverse=True):
            if path.read_bytes().rstrip(b"\0") == cubin.rstrip(b"\0") and path.with_suffix(".ptx").exists():
                return path.with_suffix(".ptx")
        raise RuntimeError("the DSL has kept no PTX of this kernel, so Oriole cannot compile it: it comes from a cache or a file, "
                           "or cutlass was imported before oriole_gpu.cute.activate; compiler='producer' runs NVIDIA's code")

    def _launched(self, cubin: bytes, name: str, grid: Tuple[int, int, int], block: Tuple[int, int, int], shared: int,
                  cluster: Optional[Tuple[int, int, int]], arguments: List[Any]) -> None:
        settings = dict(self.settings) if cluster is None else {**self.settings, "cluster": cluster}
        self.report = None
        self.report = launch(cubin, name, grid, block, *arguments, shared=shared, **settings)
        self.reports.append((name, self.report))

    def _environment(self) -> Dict[str, str]:
        """What the DSL and the libraries above it read at their import."""
        short = self.target.rstrip("af")
        return {"CUTE_DSL_LIBS": str(_oriole.__file__), "CUTE_DSL_ARCH": self.target, "CUTE_DSL_KEEP": "ptx,cubin",
                "CUTE_DSL_DUMP_DIR": str(self._folder), "CUTE_DSL_NO_CACHE": "1",
                "QUACK_ARCH": short, "QUACK_CACHE_ENABLED": "0", "FLASH_ATTENTION_ARCH": short}

    def raise_error(self) -> None:
        """Raises what went wrong in a call of host code, if anything did."""
        error, self._runtime.error = self._runtime.error, None
        if error is not None:
            raise error


#: The one that is active.
_active: List[Driver] = []


def activate(target: str = "sm_90a", *, compiler: str = "oriole", **settings: Any) -> Driver:
    """From now on CuTe DSL's kernels are compiled by Oriole, for that target, and launches run on the simulator.

    To be called before `cutlass` is imported, which reads its settings then; once in a process.

    :param target: target such as `sm_80` or `sm_90a`: `CUTE_DSL_ARCH` of the DSL.
    :param compiler: `oriole`, or `producer` for the cubins that the DSL makes itself, with NVIDIA's compiler: to compare.
    :param settings: keywords of `oriole_gpu.launch` for all launches: `strict`, `timing`, `check`, `threads`, `timeout`, `memory`.
    :raises ValueError: there is no such target or compiler.
    :raises RuntimeError: it does not know this version of the DSL, `cutlass` is imported already, or another target is active.
    """
    _check_version()
    if _active or "cutlass" in sys.modules:
        was = f"for {_active[0].target}" if _active else "after cutlass was imported"
        raise RuntimeError(f"oriole_gpu.cute.activate is called once, before cutlass is imported; this is a call {was}: "
                           "begin another process")
    driver = Driver(target, compiler, settings)
    os.environ.update(driver._environment())
    driver._runtime.install()
    _host.torch_on_cpu(target, driver.device)
    _put_in(driver)
    _active.append(driver)
    return driver


def _put_in(driver: Driver) -> None:
    """Puts our device in the place of CUDA's where the DSL asks for one without its runtime library."""
    import cutlass.base_dsl.runtime.cuda as cuda
    import cutlass.cute.runtime as runtime
    import cutlass.cutlass_dsl.cuda_jit_executor as executor
    from cutlass.base_dsl.jit_executor import JitExecutor
    from cutlass.utils.hardware_info import HardwareInfo

    for module in [module for name, module in sys.modules.items() if name.startswith("cutlass")]:
        if getattr(module, "initialize_cuda_context", None) is cuda.initialize_cuda_context and module is not cuda:
            module.initialize_cuda_context = _no_context  # type: ignore[attr-defined]
    cuda.initialize_cuda_context = _no_context
    executor.CudaDialectJitCompiledFunction.num_devices = property(lambda self: 1)
    multiprocessors = driver.device["multiprocessors"] or 1
    for name, value in {
        "__init__": lambda self, device_id=0: None,
        "get_max_active_clusters": lambda self, cluster_size, *_, **__: max(1, multiprocessors // cluster_size),
        "get_device_multiprocessor_count": lambda self: multiprocessors,
        "get_l2_cache_size_in_bytes": lambda self: _L2_BYTES,
    }.items():
        setattr(HardwareInfo, name, value)
    runtime._Tensor.__init__ = _handing_over(driver, runtime._Tensor.__init__)
    for owner in (JitExecutor, executor.CudaDialectJitCompiledFunction):
        for name in ("__call__", "run_compiled_program"):
            if name in vars(owner):
                setattr(owner, name, _raising(driver, vars(owner)[name]))
    try:
        import cutlass.cutlass_dsl.tvm_ffi_provider as provider
    except ImportError:
        return
    provider.TVMFFIJitCompiledFunction.__call__ = _raising(driver, provider.TVMFFIJitCompiledFunction.__call__, _moved_to_cuda)
    provider.TVMFFIJitCompiledFunctionWithKwargs.__call__ = _raising(
        driver, provider.TVMFFIJitCompiledFunctionWithKwargs.__call__, _moved_to_cuda)


def _no_context(*_: Any, **__: Any) -> None:
    """`initialize_cuda_context`: there is nothing to make ready."""


def _raising(driver: Driver, call: Callable[..., Any], convert: Callable[[Any], Any] = lambda value: value) -> Callable[..., Any]:
    """A call of host code whose faults are raised as what they are."""

    @functools.wraps(call)
    def wrapped(self: Any, *arguments: Any, **named: Any) -> Any:
        try:
            result = call(self, *map(convert, arguments), **{name: convert(value) for name, value in named.items()})
        except Exception:
            driver.raise_error()
            raise
        driver.raise_error()
        return result

    return wrapped


def _handing_over(driver: Driver, first: Callable[..., None]) -> Callable[..., None]:
    """`from_dlpack`: a tensor of the CPU says that it is one of the GPU."""

    def init(self: Any, tensor: Any, *arguments: Any, **named: Any) -> None:
        first(self, _moved(tensor) if named.get("enable_tvm_ffi") else tensor, *arguments, **named)
        _say_cuda(self._dlpack_data)
        if isinstance(tensor, np.ndarray):
            driver._runtime.places.hand_over(tensor)

    return init


def _say_cuda(capsule: Any) -> None:
    """Writes the device into a capsule of DLPack."""
    name_of, pointer_of = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    name = name_of(capsule)
    at = _DEVICE_AT if name == b"dltensor" else _DEVICE_AT_VERSIONED
    ctypes.c_int32.from_address(pointer_of(capsule, name) + at).value = _CUDA


class _OnCuda:
    """A tensor of the CPU that says that it is one of the GPU, for TVM's functions."""

    def __init__(self, tensor: Any) -> None:
        self._tensor = tensor

    def __dlpack__(self, **_: Any) -> Any:
        capsule = self._tensor.detach().__dlpack__()
        _say_cuda(capsule)
        return capsule

    def __dlpack_device__(self) -> Tuple[int, int]:
        return (_CUDA, 0)


def _moved(value: Any) -> Any:
    torch = sys.modules.get("torch")
    return _OnCuda(value) if torch is not None and isinstance(value, torch.Tensor) else value


def _moved_to_cuda(value: Any) -> Any:
    """An argument of TVM's functions."""
    moved = _moved(value)
    if moved is value:
        return value
    import tvm_ffi

    return tvm_ffi.from_dlpack(moved)


def _check_version() -> None:
    """That the DSL's runtime library is known."""
    try:
        version = importlib.metadata.version(_DISTRIBUTION)
    except importlib.metadata.PackageNotFoundError:
        raise ImportError(f"oriole_gpu.cute needs {_DISTRIBUTION}, which is not installed") from None
    if ".".join(version.split(".")[:2]) not in _VERSIONS:
        raise RuntimeError(f"oriole_gpu.cute knows {_DISTRIBUTION} {', '.join(_VERSIONS)}, and this is {version}")
    if not hasattr(_oriole, "cute_handle"):
        raise RuntimeError("oriole_gpu.cute is for Linux")
