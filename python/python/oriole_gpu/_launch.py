"""Running kernels on the simulator."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Mapping, Optional, Sequence, SupportsIndex, Tuple, Union

import numpy as np

from . import _compile, _cuda, _oriole, _settings, _threads
from ._arguments import Aggregate, Arguments
from ._compile import Bytes, Compiled
from ._errors import CheckError, Finding

#: Sizes in x, y and z: one number, two or three.
Dim = Union[SupportsIndex, Sequence[SupportsIndex]]


@dataclass(frozen=True)
class Timing:
    """How long a launch would take on a device, by Oriole's cycle model: an estimate, no measurement."""

    #: The chip that stands for the target.
    chip: str
    #: Its clock in MHz.
    clock_mhz: int
    #: Cycles from the first issue until the last warp has ended and memory has taken all writes.
    cycles: int
    #: Warp instructions issued.
    instructions: int
    #: Warps that a multiprocessor holds, as a share of those that it could hold: 0 to 1.
    occupancy: float
    #: Cycles that warps did not issue, by reason, added up over all warps.
    stalls: Mapping[str, int]
    #: What would help, in words, where the cause of lost time is plain.
    advice: Sequence[str]

    @property
    def microseconds(self) -> float:
        """The cycles at the chip's clock."""
        return self.cycles / self.clock_mhz


@dataclass(frozen=True)
class Report:
    """What a launch leaves besides its arrays."""

    #: What the kernel has printed, block after block.
    printed: str
    #: Blocks and warps that ran.
    blocks: int
    warps: int
    #: Instructions, each counted once per group of threads that executed it together.
    warp_instructions: int
    #: Instructions, each counted once per thread whose guard let it through.
    thread_instructions: int
    #: The estimate, with `timing=True`.
    timing: Optional[Timing]
    #: What the checks of memory noted, with `check=True`; errors are raised instead (`CheckError`).
    findings: Tuple[Finding, ...]

    @property
    def cycles(self) -> Optional[int]:
        """The estimate of cycles, with `timing=True`."""
        return None if self.timing is None else self.timing.cycles


def launch(
    module: Union[Compiled, Bytes],
    entry: str,
    grid: Dim,
    block: Dim,
    *args: Any,
    shared: int = 0,
    cluster: Optional[Dim] = None,
    strict: bool = False,
    timing: bool = False,
    check: bool = False,
    deterministic: bool = False,
    threads: Optional[int] = None,
    timeout: Optional[float] = None,
    memory: Optional[int] = None,
    hidden: Sequence[Tuple[int, Aggregate]] = (),
) -> Report:
    """Runs a kernel on the simulator and writes its results into the arrays among the arguments.

    Arrays are numpy's, tensors of PyTorch on the CPU, what gives its memory by DLPack, and buffers such as `bytearray` and
    `array.array`; C-contiguous. Each becomes a buffer of device memory for the time of the launch, the kernel gets the address,
    and when it has ended the array gets what is in the buffer; until then it cannot be resized. Arrays that share memory, as
    views of one do, share it there too. Read-only ones are read: a kernel that writes to one is an error. Numbers are passed
    by value: Python's in the size of the parameter, numpy's in their own, which must be the parameter's. Aggregates are passed
    as `bytes`.

    Ctrl-C ends a launch, on other threads than the main one too. Other Python threads run meanwhile.

    :param module: what `compile` gave, or a cubin of whatever compiler; of the latter only sizes of parameters are known,
        and a Python float is an f32 where the parameter has 4 bytes and an f64 where it has 8.
    :param entry: name of the kernel.
    :param grid: blocks: a number, or two or three.
    :param block: threads of a block, likewise.
    :param args: one for each parameter.
    :param shared: bytes of dynamic shared memory.
    :param cluster: blocks of a cluster (sm_90 and later), where the kernel does not say it itself.
    :param strict: fault where a register is read before its producer's latency has passed or without the scoreboard wait
        that it needs.
    :param timing: estimate cycles too (`Report.timing`).
    :param check: look for races in shared memory, reads of what was never written, and accesses outside of variables.
        Accesses outside of all arrays are faults always.
    :param deterministic: one order of all accesses to memory, so that blocks that race give the same in every launch: they
        run on one host thread.
    :param threads: host threads that run blocks side by side, 1024 at most; else as many as the host has cores.
    :param timeout: seconds that the launch may take on the host.
    :param memory: bytes that the launch may take on the host for device memory and for the blocks that are under way: their
        registers, shared and local memory.
    :param hidden: parameters that a language's runtime fills in (`.hidden` of PTX), which cubins have no record of: of each the offset
        among the parameters, and what is there.
    :raises KernelFault: the kernel stopped: `LaunchTimeout` by the timeout, `CheckError` by `check`. The arrays are as they
        were before.
    :raises TypeError: arguments are too many, too few or of wrong types.
    :raises ValueError: an argument does not fit its parameter, or is read-only and was written to; the launch is impossible;
        there is no such kernel; or the bytes are no cubin.
    :raises MemoryError: the host has no more memory, or the launch needs more than `memory` allows. The arrays are as they were
        before.
    :raises InternalError: Oriole itself is at fault.
    """
    loaded = _module(module)
    settings = _settings.all_taken(
        {
            "entry": entry,
            "shared": shared,
            "strict": strict,
            "timing": timing,
            "check": check,
            "deterministic": deterministic,
            "threads": threads,
            "timeout": timeout,
            "memory": memory,
        }
    )
    settings["grid"] = _sizes("grid", grid)
    settings["block"] = _sizes("block", block)
    settings["cluster"] = None if cluster is None else _sizes("cluster", cluster)
    parameters = [*_compile.parameters(loaded, entry)]
    unseen = [_compile.Parameter(offset=offset, size=len(value.data), type=None) for offset, value in hidden]
    count = len(args)
    with Arguments(entry, [*parameters, *unseen], [*args, *(value for _, value in hidden)]) as arguments, _threads.waiting():
        settings["hidden"] = [(offset, *placed) for (offset, _), placed in zip(hidden, arguments.placed[count:])]
        fields = _oriole.launch(loaded, arguments.memories, arguments.placed[:count], settings)
    findings = tuple(Finding._of(finding) for finding in fields["findings"])
    if any(finding.is_error for finding in findings):
        raise CheckError(entry, fields["printed"], findings)
    estimate = None if fields["timing"] is None else Timing(**fields["timing"])
    return Report(**{**fields, "timing": estimate, "findings": findings})


def _module(module: Union[Compiled, Bytes]) -> _oriole.Module:
    if isinstance(module, Compiled):
        return module._module
    if not isinstance(module, (bytes, bytearray, memoryview)):
        raise TypeError(f"module: an oriole_gpu.Compiled or the bytes of a cubin, not {type(module).__name__}")
    return _oriole.Module(bytes(module))


def _sizes(name: str, sizes: Dim) -> Tuple[int, int, int]:
    given: Any = sizes
    # Arrays of numpy are no `Sequence`.
    listed = list(given) if isinstance(given, Sequence) or np.ndim(given) else [given]
    if not 1 <= len(listed) <= 3:
        raise ValueError(f"{name}: one size, two or three, not {len(listed)}")
    x, y, z = [*(_settings.size(name, size) for size in listed), 1, 1][:3]
    return (x, y, z)


class Launcher:
    """A kernel that is launched as `launcher[grid, block](*args)`, or `launcher[grid, block, shared](*args)` with bytes of
    dynamic shared memory. Made by `kernel`."""

    def __init__(self, module: Union[Compiled, Bytes], entry: str, **settings: Any) -> None:
        """`settings` are keywords of `launch` for all launches.

        :raises ValueError: there is no such kernel, or the bytes are no cubin.
        """
        self._parameters = _compile.parameters(_module(module), entry)
        #: The module, as it was given.
        self.module = module
        #: Name of the kernel.
        self.entry = entry
        #: Keywords of `launch` for all launches.
        self.settings = settings

    @property
    def parameters(self) -> Tuple[_compile.Parameter, ...]:
        """The kernel's parameters."""
        return self._parameters

    def __getitem__(self, shape: Tuple[Any, ...]) -> _Configured:
        if not isinstance(shape, tuple) or not 2 <= len(shape) <= 3:
            raise TypeError("a kernel is launched as kernel[grid, block](...) or kernel[grid, block, shared](...)")
        grid, block = shape[:2]
        shared = {"shared": shape[2]} if len(shape) == 3 else {}
        return _Configured(self, grid, block, {**self.settings, **shared})

    def __call__(self, *args: Any, **settings: Any) -> Report:
        raise TypeError(f"say how many blocks and threads: kernel[grid, block](...) for {self.entry}")

    def __repr__(self) -> str:
        return f"<oriole_gpu.Launcher of {self.entry}>"


class _Configured:
    """A kernel with the shape of its launch."""

    def __init__(self, launcher: Launcher, grid: Dim, block: Dim, settings: Mapping[str, Any]) -> None:
        self._launcher = launcher
        self._grid = grid
        self._block = block
        self._settings = settings

    def __call__(self, *args: Any, **settings: Any) -> Report:
        """Launches; keywords are those of `launch`."""
        launcher, merged = self._launcher, {**self._settings, **settings}
        return launch(launcher.module, launcher.entry, self._grid, self._block, *args, **merged)


def kernel(source: Union[str, Path], entry: Optional[str] = None, arch: str = "sm_90", **settings: Any) -> Launcher:
    """Compiles PTX, LLVM IR or CUDA C++ and gives one of its kernels, to be launched as `k[grid, block](*args)`.

    :param source: a path (`pathlib.Path`, or text of one line that ends with `.ptx`, `.ll`, `.bc` or `.cu`), or the source
        itself. Of `.cu` nvcc or clang++ makes PTX first: the one that `ORIOLE_CUDA_COMPILER` names, or that is on the path.
    :param entry: the kernel, as C++ or PTX calls it; may be left out where the module has but one.
    :param arch: target.
    :param settings: keywords of `launch` (`strict`, `timing`, `check`, `deterministic`, `threads`, `timeout`, `memory`, `cluster`,
        `shared`) for its launches; all others are those of `compile`.
    :raises ValueError: there is no such kernel, or several and none is named.
    :raises OSError: the file cannot be read, or there is no compiler for it.
    :raises CompileError: there is no cubin.
    """
    launching = {name: settings.pop(name) for name in LAUNCH_SETTINGS & settings.keys()}
    if _is_path(source):
        settings.setdefault("file_name", str(source))
        is_cuda = str(source).endswith(".cu")
        code: Union[str, bytes] = _cuda.ptx_of(Path(source), arch) if is_cuda else Path(source).read_bytes()
    else:
        code = str(source)
    compiled = _compile.compile(code, arch, **settings)
    return Launcher(compiled, _entry([kernel.name for kernel in compiled.kernels], entry), **launching)


def _entry(names: Sequence[str], wanted: Optional[str]) -> str:
    """The one of the kernels that is wanted, by its name in PTX or in C++."""
    if wanted is None:
        if len(names) != 1:
            raise ValueError(f"entry: name one of the module's kernels: {', '.join(names) or 'there are none'}")
        return names[0]
    # As C++'s linkage has it: the length of the name, then the name, then its types.
    mangled = [name for name in names if name.startswith(f"_Z{len(wanted)}{wanted}")]
    return mangled[0] if wanted not in names and len(mangled) == 1 else wanted


#: Keywords of `launch` that are settings.
LAUNCH_SETTINGS = frozenset(
    {"shared", "cluster", "strict", "timing", "check", "deterministic", "threads", "timeout", "memory"}
)


def _is_path(source: Union[str, Path]) -> bool:
    return isinstance(source, Path) or ("\n" not in source and source.endswith((".ptx", ".ll", ".bc", ".cu")))
