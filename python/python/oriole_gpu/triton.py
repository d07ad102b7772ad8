"""Triton's kernels without a GPU: compiled by Oriole, run on its simulator.

::

    import oriole_gpu.triton
    oriole_gpu.triton.activate("sm_90")

    x = torch.rand(1000)                                # on the CPU
    kernel[(8,)](x, y, 1000, BLOCK=128)                 # as ever

`activate` puts a driver in place of Triton's own and has Triton make its cubins by `oriole_gpu.compile`; Triton's `ptxas` is not
called. Arguments are tensors of PyTorch on the CPU, or numpy arrays by `tensor`. Autotuning and `triton.testing.do_bench` go by the
cycle model. For Triton 3.6 to 3.9.
"""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, Mapping, Optional, Sequence, Tuple

import numpy as np
import triton
import triton.testing
from numpy.typing import NDArray
from triton.backends.compiler import GPUTarget
from triton.backends.driver import DriverBase

from . import _compile, _oriole
from ._arguments import Pointer, value_bytes
from ._launch import Report, launch

__all__ = ["Driver", "Tensor", "activate", "tensor"]

#: The versions of Triton whose driver and stages these are.
_VERSIONS = ("3.6", "3.7", "3.8", "3.9")

#: Bytes of Triton's types of values.
_SIZES = {"i1": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "u1": 1, "u8": 1, "u16": 2, "u32": 4, "u64": 8, "fp16": 2, "bf16": 2,
          "fp32": 4, "f32": 4, "fp64": 8}

#: The same as PTX calls those that are floats.
_FLOATS = {"fp16": "f16", "fp32": "f32", "f32": "f32", "fp64": "f64"}


class Tensor:
    """A numpy array as Triton takes arguments; made by `tensor`."""

    def __init__(self, array: NDArray[Any]) -> None:
        self.array = array
        #: Triton reads the type from its name.
        self.dtype = array.dtype

    def data_ptr(self) -> int:
        """Where the array lies on the host: Triton asks whether it is aligned."""
        return int(self.array.ctypes.data)


def tensor(array: NDArray[Any]) -> Tensor:
    """A numpy array as an argument of Triton's kernels, which write into it."""
    return Tensor(array)


@dataclass(frozen=True)
class _Function:
    """A kernel that was loaded."""

    cubin: bytes
    name: str


class _Utils:
    """What Triton asks of a driver besides launches."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    def get_device_properties(self, device: int) -> Dict[str, int]:
        """By the names that CUDA's driver has in Triton; of chips that the cycle model does not know, one multiprocessor."""
        known = self._driver.device
        return {
            "max_shared_mem": known["shared_per_block"] or 0,
            "max_num_regs": known["registers_per_sm"] or 0,
            "multiprocessor_count": known["multiprocessors"] or 1,
            "warpSize": 32,
            "sm_clock_rate": (known["clock_mhz"] or 1000) * 1000,
        }

    def load_binary(self, name: str, kernel: bytes, shared: int, device: int) -> Tuple[Any, _Function, int, int, int]:
        """Module, function, registers, spills (none that anyone could see here) and threads of a block."""
        module = _oriole.Module(kernel)
        threads = self._driver.device["threads_per_block"] or 1024
        return (module, _Function(kernel, name), module.registers(name) or 0, 0, threads)

    def unload_module(self, module: Any) -> None:
        """Of no concern: a module is its cubin, which goes with it."""

    def set_printf_fifo_size(self, size: int) -> None:
        """Of no concern: what kernels print has no bound."""


class _Launcher:
    """Runs one kernel, as often as it is launched."""

    def __init__(self, source: Any, metadata: Any) -> None:
        self._types = list(source.signature.values())
        self._metadata = metadata
        for name in ("launch_cooperative_grid", "launch_pdl"):
            if getattr(metadata, name, False):
                raise NotImplementedError(f"oriole_gpu.triton has no launches with {name}")
        if "gsan" in (getattr(metadata, "instrumentation_mode", None) or ""):
            raise NotImplementedError("oriole_gpu.triton has no launches with Triton's sanitizer of global memory; `check=True` is its own")

    def __call__(self, x: int, y: int, z: int, stream: int, function: _Function, packed: Any, told: Any, enter: Any, leave: Any,
                 *values: Any) -> None:
        metadata = self._metadata
        blocks = x * y * z * metadata.num_ctas
        arguments = list(_arguments(self._types, values))
        for size in (metadata.global_scratch_size, metadata.profile_scratch_size):
            arguments.append(np.zeros(blocks * size, np.uint8) if size else 0)
        if enter is not None:
            enter(told)
        if blocks:
            triton.runtime.driver.active.run(function, (x * metadata.num_ctas, y, z), metadata, arguments)
        if leave is not None:
            leave(told)


def _arguments(types: Sequence[Any], values: Sequence[Any]) -> Iterator[Any]:
    """What the kernel is given, parameter by parameter: constants are in the code, tuples one by one."""
    for kind, value in zip(types, values):
        if isinstance(kind, tuple):
            yield from _arguments(kind, value)
        elif kind == "constexpr":
            continue
        elif kind.startswith("*"):
            yield _pointer(value)
        elif kind in _SIZES:
            yield _scalar(kind, value)
        else:
            raise NotImplementedError(f"oriole_gpu.triton has no arguments of type {kind}")


def _pointer(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.array
    if value is None or isinstance(value, int):
        return value or 0
    address = value.data_ptr()
    storage = getattr(value, "untyped_storage", None)
    if storage is None or getattr(value, "is_cuda", False):
        raise TypeError(f"a tensor on the CPU or an oriole_gpu.triton.tensor, not {type(value).__name__}")
    start, size = storage().data_ptr(), storage().nbytes()
    if not size:
        return 0
    # All of the storage: a view's kernel may read beside it.
    memory = np.frombuffer((ctypes.c_char * size).from_address(start), np.uint8)
    return Pointer(memory, address - start)


def _scalar(kind: str, value: Any) -> bytes:
    value = value.item() if hasattr(value, "item") else value
    if kind == "bf16":
        # The upper half of an f32, rounded to the nearest even.
        bits = int(np.float32(value).view(np.uint32))
        return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16 & 0xFFFF).to_bytes(2, "little")
    value = float(value) if kind in _FLOATS else int(value)
    parameter = _compile.Parameter(offset=0, size=_SIZES[kind], type=_FLOATS.get(kind))
    return value_bytes(f"argument of type {kind}", parameter, value)


#: By target: the number of its device.
_NUMBERS: Dict[str, int] = {}


class Driver(DriverBase):  # type: ignore[misc]
    """Triton's driver of the simulator; made by `activate`."""

    def __init__(self, arch: str, settings: Mapping[str, Any]) -> None:
        device = _oriole.device(arch)
        if device is None:
            raise ValueError(f"{arch} is no target; `oriole targets` of the command line prints them")
        self.arch = arch
        self._number = _NUMBERS.setdefault(arch, len(_NUMBERS))
        #: What the device has: registers, shared memory, multiprocessors.
        self.device: Mapping[str, Optional[int]] = device
        #: Keywords of `oriole_gpu.launch` for all launches; may be changed.
        self.settings: Dict[str, Any] = dict(settings)
        #: What the last launch left.
        self.report: Optional[Report] = None
        #: Launches so far.
        self.launches = 0
        # Milliseconds of launches with timing, since measuring began.
        self._spent = 0.0
        self.utils = _Utils(self)
        self.launcher_cls = _Launcher

    def run(self, function: _Function, grid: Tuple[int, int, int], metadata: Any, arguments: Sequence[Any]) -> None:
        """One launch."""
        settings = dict(self.settings)
        if metadata.num_ctas > 1:
            settings["cluster"] = metadata.num_ctas
        self.report = launch(function.cubin, function.name, grid, metadata.num_warps * 32, *arguments, shared=metadata.shared,
                             **settings)
        self.launches += 1
        if self.report.timing is not None:
            self._spent += self.report.timing.microseconds / 1000

    @staticmethod
    def is_active() -> bool:
        """It is in use where `activate` was called, and nowhere by itself."""
        return False

    def map_python_to_cpp_type(self, ty: str) -> str:
        """For launchers in C++, which there are none of."""
        raise NotImplementedError("oriole_gpu.triton needs no launchers in C++")

    def get_current_target(self) -> GPUTarget:
        """The target by which Triton chooses its passes."""
        return GPUTarget("cuda", int(self.arch.removeprefix("sm_").rstrip("af")), 32)

    def get_current_device(self) -> int:
        """One for each target that was activated: Triton keeps what it has compiled by device."""
        return self._number

    def set_current_device(self, device: int) -> None:
        """There is but one at a time."""
        if device != self._number:
            raise ValueError(f"there is device {self._number} alone, not {device}")

    def get_current_stream(self, device: int = 0) -> int:
        """There is one: launches end before they return."""
        return 0

    def get_active_torch_device(self) -> Any:
        """Where tensors are made: on the CPU."""
        import torch

        return torch.device("cpu")

    def get_device_interface(self) -> Any:
        """PyTorch's module of a device, for measurements."""
        raise NotImplementedError("the simulator has no events; call triton.testing.do_bench by its module, which measures by the "
                                  "cycle model then, or read Driver.report")

    def get_benchmarker(self) -> Callable[..., Any]:
        """What autotuning measures with: the cycle model's milliseconds."""
        return _do_bench

    def milliseconds(self, call: Callable[[], Any]) -> float:
        """The cycle model's estimate for all that `call` launches, one after another, each with empty caches; what is measured within
        (autotuning at the first launch) does not count."""
        kept = self.settings, self._spent
        self.settings, self._spent = {**self.settings, "timing": True}, 0.0
        try:
            call()
            return self._spent
        finally:
            self.settings, self._spent = kept


def _do_bench(call: Callable[[], Any], warmup: float = 25, rep: float = 100, grad_to_none: Optional[Sequence[Any]] = None,
              quantiles: Optional[Sequence[float]] = None, return_mode: str = "mean") -> Any:
    """`triton.testing.do_bench` by the driver that is active then: `call` runs once, since the cycle model says the same each time."""
    for gradient in grad_to_none or ():
        gradient.grad = None
    spent = triton.runtime.driver.active.milliseconds(call)
    if quantiles:
        return [spent] * len(quantiles)
    return [spent] if return_mode == "all" else spent


def _make_cubin(options: Any, arch: str) -> Callable[[str, Dict[str, Any]], bytes]:
    """Triton's last stage: PTX to a cubin."""
    if getattr(options, "ptx_options", None):
        raise NotImplementedError(f"oriole_gpu.triton does not read ptx_options ({options.ptx_options})")

    def stage(source: str, metadata: Dict[str, Any]) -> bytes:
        level = 0 if triton.knobs.nvidia.disable_ptxas_opt else None
        compiled = _compile.compile(source, arch, opt_level=level, lineinfo=not triton.knobs.compilation.disable_line_info,
                                    fmad=options.enable_fp_fusion, file_name=f"{metadata['name']}.ptx")
        return compiled.cubin

    return stage


def activate(arch: str = "sm_90", **settings: Any) -> Driver:
    """From now on Triton compiles by Oriole, for that target, and launches run on the simulator.

    Cubins get a folder of their own in Triton's cache.

    :param arch: target such as `sm_80`; Triton adds the suffix of the target's own instructions where it does so for a GPU.
    :param settings: keywords of `oriole_gpu.launch` for all launches: `strict`, `timing`, `check`, `threads`, `timeout`, `memory`.
    :raises ValueError: there is no such target.
    :raises RuntimeError: it does not know this version of Triton.
    """
    _check_version()
    driver = Driver(arch, settings)
    built = os.stat(_oriole.__file__)
    build = f"oriole-{built.st_size:x}-{built.st_mtime_ns:x}"

    def stages(backend: Any = None, stages: Optional[Dict[str, Any]] = None, options: Any = None, language: Any = None,
               capability: Optional[int] = None) -> Optional[Tuple[str, str]]:
        """Called with stages it changes them; without (from 3.7 on) it says what the kept results depend on."""
        if stages is None or capability is None:
            return build, build
        from triton.backends.nvidia.compiler import sm_arch_from_capability

        stages["cubin"] = _make_cubin(options, sm_arch_from_capability(capability))
        return None

    triton.knobs.runtime.add_stages_inspection_hook = stages
    folder = Path(triton.knobs.cache.dir)
    if not folder.name.startswith("oriole-"):
        triton.knobs.cache.dir = str(folder / build)
    triton.runtime.driver.set_active(driver)
    triton.testing.do_bench = _do_bench
    return driver


def _check_version() -> None:
    """That this Triton's driver and stages are known."""
    version = str(triton.__version__)
    if ".".join(version.split(".")[:2]) not in _VERSIONS:
        known = f"{_VERSIONS[0]} to {_VERSIONS[-1]}"
        raise RuntimeError(f"oriole_gpu.triton knows Triton {known}, and this is {version}; TRITON_PTXAS_PATH needs no version")
