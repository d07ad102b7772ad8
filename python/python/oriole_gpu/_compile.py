"""Compiling, and what it gives."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Iterable, List, Mapping, Optional, Sequence, Tuple, TypeVar, Union

from . import _html, _oriole, _settings, _source, _threads
from ._errors import Diagnostic

#: A cubin, PTX or LLVM bitcode in memory.
Bytes = Union[bytes, bytearray, memoryview]

_Value = TypeVar("_Value")


@dataclass(frozen=True)
class Parameter:
    """A kernel's parameter."""

    #: Byte offset among the parameters, and size in bytes.
    offset: int
    size: int
    #: Type as PTX spells it, such as `f32`; `None` for aggregates, and where Oriole did not compile the cubin.
    type: Optional[str]


@dataclass(frozen=True)
class Live:
    """How many registers hold values at one instruction of a kernel's own code, in the order of the cubin. What it calls and
    padding are not among them."""

    #: Byte offset of the instruction in the kernel's code.
    offset: int
    #: The instruction in the text form of Oriole's intermediate representation.
    instruction: str
    #: Its line in the PTX, from 1, where it is known.
    line: Optional[int]
    #: General registers, uniform registers and predicates that hold a value before it or behind it, whichever are more. R1,
    #: the stack pointer, does not count; one that is first written under a guard counts from where it was written before.
    registers: int
    uniform_registers: int
    predicates: int


@dataclass(frozen=True)
class Kernel:
    """What one kernel needs, with the functions that it calls in its module. Bytes are bytes of a thread, those of shared
    memory of a block."""

    name: str
    #: General registers (R) of a thread, as the launch allocates them.
    registers: int
    #: Other registers by file: one more than the highest number used.
    uniform_registers: int
    predicates: int
    uniform_predicates: int
    convergence_barriers: int
    #: Bytes that the spilling instructions store and load.
    spill_stores: int
    spill_loads: int
    #: Bytes of the kernel's own stack frame, and of the deepest chain of calls as far as it is known.
    frame_bytes: int
    stack_bytes: int
    #: Bytes of static shared memory.
    shared_bytes: int
    #: Barriers of the block.
    barriers: int
    #: Bytes of constant bank 0 with the parameters; 0 from sm_100 on.
    bank0_bytes: int
    #: Bytes of code.
    code_bytes: int
    #: The parameters in order, without textures, surfaces and samplers.
    parameters: Tuple[Parameter, ...]
    #: How many registers hold values at each instruction, with `compile(..., live=True)`.
    live: Tuple[Live, ...] = field(repr=False)


class Compiled:
    """A compiled module. `launch` and `kernel` take it in the place of a cubin, and then know the types of parameters and
    the lines of the PTX, which the file does not say; pickled or copied too."""

    def __init__(self, module: _oriole.Module, described: Mapping[str, Any]) -> None:
        """For `compile` alone."""
        self._module = module
        #: What `ptxas -v` would say: the module's memory, then registers, stack and spills of each kernel, the last first.
        self.log: str = described["log"]
        #: The kernels, in the order of the module.
        self.kernels: Tuple[Kernel, ...] = tuple(_kernel(module, fields) for fields in described["kernels"])
        #: What may not be what was meant.
        self.warnings: Tuple[Diagnostic, ...] = tuple(Diagnostic._of(fields) for fields in described["warnings"])

    @property
    def cubin(self) -> bytes:
        """The cubin: an ELF file that the CUDA driver loads."""
        return self._module.cubin

    @property
    def target(self) -> str:
        """Name of the target, such as `sm_90a`."""
        return self._module.target

    def kernel(self, name: str) -> Kernel:
        """The kernel of that name.

        :raises ValueError: there is none.
        """
        for kernel in self.kernels:
            if kernel.name == name:
                return kernel
        raise ValueError(_no_kernel(name, [kernel.name for kernel in self.kernels]))

    def sass(self, kernel: Optional[str] = None) -> str:
        """The machine code of all kernels, or of one, as nvdisasm lists it, each instruction with its scheduling bits in
        front.

        :raises ValueError: there is no such kernel.
        """
        listing = _oriole.disassemble(self.cubin)
        return listing if kernel is None else _html.sections(listing)[self.kernel(kernel).name]

    def save(self, path: Union[str, os.PathLike[str]]) -> None:
        """Writes the cubin to a file.

        :raises OSError: it cannot be written.
        """
        Path(path).write_bytes(self.cubin)

    def __repr__(self) -> str:
        names = ", ".join(kernel.name for kernel in self.kernels) or "no kernels"
        return f"<oriole_gpu.Compiled for {self.target}: {names}, {len(self.cubin)} bytes>"

    def _repr_html_(self) -> str:
        """What notebooks show: the kernels with what they need, their code, and the live registers if `compile` was asked
        for them."""
        listing = _html.sections(_oriole.disassemble(self.cubin))
        lines = {kernel.name: dict(self._module.lines(kernel.name)) for kernel in self.kernels}
        return _html.document(self.target, self.kernels, listing, lines)


def _kernel(module: _oriole.Module, fields: Mapping[str, Any]) -> Kernel:
    live = tuple(Live(*at) for at in fields["live"])
    return Kernel(**{**fields, "live": live, "parameters": parameters(module, fields["name"])})


def parameters(module: _oriole.Module, kernel: str) -> Tuple[Parameter, ...]:
    """The parameters of a kernel.

    :raises ValueError: there is no such kernel.
    """
    places = module.parameters(kernel)
    if places is None:
        raise ValueError(_no_kernel(kernel, module.kernels))
    return tuple(Parameter(*place) for place in places)


def _no_kernel(name: str, known: Sequence[str]) -> str:
    return f"no kernel {name!r}; the module has: {', '.join(known) or 'none'}"


def compile(
    source: Union[str, Bytes],
    arch: Optional[str] = "sm_90",
    *,
    language: Optional[str] = None,
    opt_level: Optional[int] = None,
    maxrregcount: Optional[int] = None,
    lineinfo: bool = False,
    debug: bool = False,
    fmad: bool = True,
    entries: Optional[Iterable[str]] = None,
    knobs: Optional[Mapping[str, object]] = None,
    disabled_passes: Iterable[str] = (),
    fast_compile: str = "off",
    file_name: Optional[str] = None,
    jobs: int = 1,
    verify: bool = False,
    relocatable: bool = False,
    extended_shared: bool = False,
    live: bool = False,
    ftz: bool = False,
    prec_div: bool = True,
    prec_sqrt: bool = True,
    libraries: Optional[Mapping[str, Bytes]] = None,
    timeout: Optional[float] = None,
    memory: Optional[int] = None,
) -> Compiled:
    """Compiles PTX or LLVM IR to a cubin. The same source and settings give the same bytes on every machine.

    Ctrl-C ends a compilation between two passes.

    :param source: PTX, LLVM assembly, or LLVM bitcode.
    :param arch: target such as `sm_90a`; `None` for the module's own.
    :param language: `"ptx"` or `"llvm"`, else it is recognised by how the source begins.
    :param opt_level: 0 to 3; else 3, and with `debug` 0.
    :param maxrregcount: upper bound of general registers of a thread.
    :param lineinfo: put source lines into the cubin for debuggers and profilers. Faults know the lines of PTX without it.
    :param debug: lines and functions for debuggers, with level 0.
    :param fmad: whether products and sums of floats may be fused, where PTX leaves it open and LLVM IR allows it.
    :param entries: compile these kernels alone.
    :param knobs: what can be tuned, by name; `oriole compile --knob list=1` of the command line prints all.
    :param disabled_passes: optional passes to leave out, by their published names.
    :param fast_compile: how much is left out to compile faster: `off`, `min`, `mid` or `max`.
    :param file_name: what messages and line information call the source; else `<ptx>` or `<llvm>`.
    :param jobs: threads that work on the functions of the module side by side, 1024 at most.
    :param verify: prove the code after every pass, and the allocation.
    :param relocatable: make an object file for a linker.
    :param extended_shared: static shared memory may be as large as a block can have.
    :param live: tell how many registers hold values at each instruction (`Kernel.live`); notebooks show it.
    :param ftz: of LLVM IR: subnormals of `float` become zero.
    :param prec_div: of LLVM IR: quotients of `float` are rounded correctly.
    :param prec_sqrt: of LLVM IR: square roots of `float` are rounded correctly.
    :param libraries: of LLVM IR: modules of which what is called is linked, such as libdevice, by the name in messages.
    :param timeout: seconds that it may take; looked at between passes.
    :param memory: bytes by which the process may grow meanwhile, other threads too; looked at between passes, on Linux only.
    :raises CompileError: there is no cubin; `diagnostics` say where.
    :raises MemoryError: it needs more than `memory` allows.
    :raises InternalError: Oriole itself is at fault.
    :raises ValueError: a setting makes no sense, such as an unknown target, knob or pass.
    :raises TypeError: the source is neither text nor bytes, or a setting is of a wrong type.
    """
    code = _source.prepared(source, _settings.taken("language", language))
    if opt_level is None:
        opt_level = 0 if debug else 3
    settings = _settings.all_taken(
        {
            "arch": arch,
            "opt_level": opt_level,
            "maxrregcount": maxrregcount,
            "lineinfo": lineinfo,
            "debug": debug,
            "fmad": fmad,
            "fast_compile": fast_compile,
            "file_name": file_name or ("<ptx>" if isinstance(code, str) else "<llvm>"),
            "jobs": jobs,
            "verify": verify,
            "relocatable": relocatable,
            "extended_shared": extended_shared,
            "live": live,
            "ftz": ftz,
            "prec_div": prec_div,
            "prec_sqrt": prec_sqrt,
            "timeout": timeout,
            "memory": memory,
        }
    )
    if settings["debug"] and settings["opt_level"] > 0:
        raise ValueError(f"debug: goes with opt_level 0, not {opt_level}")
    settings["entries"] = _names("entries", entries or ())
    settings["disabled_passes"] = _names("disabled_passes", disabled_passes)
    settings["knobs"] = [(name, _knob(value)) for name, value in _pairs("knobs", knobs)]
    settings["libraries"] = [(_library(name, library), name) for name, library in _pairs("libraries", libraries)]
    with _threads.waiting():
        made = _oriole.compile(code, settings)
    return Compiled(*made)


def _names(setting: str, names: Iterable[str]) -> List[str]:
    # A string is an iterable of strings too, but never the names that were meant.
    is_list = isinstance(names, Iterable) and not isinstance(names, (str, bytes, bytearray))
    _settings.expect(setting, "a list of names", names, is_list)
    listed = list(names)
    for name in listed:
        _settings.expect(setting, "a list of names", name, isinstance(name, str))
    return listed


def _pairs(setting: str, mapping: Optional[Mapping[str, _Value]]) -> Iterable[Tuple[str, _Value]]:
    if mapping is None:
        return ()
    _settings.expect(setting, "a mapping of names", mapping, isinstance(mapping, Mapping))
    for name in mapping:
        _settings.expect(setting, "a mapping of names", name, isinstance(name, str))
    return mapping.items()


def _library(name: str, library: Bytes) -> bytes:
    is_bytes = isinstance(library, (bytes, bytearray, memoryview))
    _settings.expect(f"libraries: {name}", "LLVM bitcode as bytes", library, is_bytes)
    return bytes(library)


def _knob(value: object) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)


def disassemble(cubin: Union[Compiled, Bytes]) -> str:
    """The code of all kernels of a cubin, of whatever compiler, as nvdisasm lists it, each instruction with its scheduling
    bits in front.

    :raises ValueError: the bytes are no cubin of a known target.
    """
    return _oriole.disassemble(cubin.cubin if isinstance(cubin, Compiled) else bytes(cubin))
