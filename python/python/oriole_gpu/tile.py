"""CUDA Tile's kernels without a GPU: compiled by Oriole, run on its simulator.

::

    import oriole_gpu.tile
    oriole_gpu.tile.activate("sm_90")

    ct.launch(None, (4,), add, (a, b, c))               # numpy arrays or PyTorch's tensors of the CPU

`activate` puts a launch of its own in the place of `cuda.tile.launch`. `tileiras` makes PTX of a kernel and calls the `ptxas` beside it; a stand-in there
keeps the PTX for `oriole_gpu.compile`, NVIDIA's is not called. Parameters that the language's runtime fills in (`.hidden`, tensor maps
among them) are made by the host code that `tileiras` puts into each kernel, as a driver has it do. For cuda-tile 1.7 on Linux.
"""

from __future__ import annotations

import ctypes
import dataclasses
import importlib.metadata
import mmap
import os
import re
import shutil
import struct
import tempfile
from pathlib import Path
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from . import _compile, _host, _oriole
from ._arguments import Aggregate
from ._held import hold
from ._launch import Report, launch

__all__ = ["Driver", "activate"]

_DISTRIBUTION, _VERSIONS = "cuda-tile", ("1.7",)

#: The targets of `tileiras`, and what it makes PTX for.
_TARGETS = {"sm_80": "sm_80", "sm_86": "sm_86", "sm_89": "sm_89", "sm_90": "sm_90a", "sm_100": "sm_100a", "sm_103": "sm_103a",
            "sm_120": "sm_120a", "sm_121": "sm_121a"}

#: Stands for `ptxas`: keeps what it is given beside itself, and writes an empty file.
_PTXAS = """#!/bin/sh
folder=$(dirname "$0")
previous=
for word in "$@"; do
    case "$word" in
        *.ptx) cp "$word" "$folder/kernel.ptx" ;;
        --nv-host=*) cp "${word#--nv-host=}" "$folder/host.o" ;;
    esac
    [ "$previous" = -o ] && echo oriole > "$word"
    previous="$word"
done
exit 0
"""

#: Alignment that kernels are compiled for where addresses, sizes and strides have it: bytes of an address, else elements.
_DIVISOR = 16

#: What fills in the hidden parameters of a module's first kernel.
_FILLER = b"__CUDA_TILEIR_FUNC_ON_ARGUMENTS_CHANGE_0"


@dataclasses.dataclass(frozen=True)
class _Kernel:
    """A kernel that was compiled."""

    cubin: bytes
    name: str
    block: Tuple[int, int, int]
    #: Blocks of a cluster.
    cluster: Optional[Tuple[int, int, int]]
    #: How many of its parameters the program gives.
    given: int
    #: Offset and size of each of the others.
    hidden: Tuple[Tuple[int, int], ...]
    #: What fills these in.
    filler: Optional[_Filler]


class Driver:
    """What runs CUDA Tile's kernels; made by `activate`."""

    def __init__(self, target: str, settings: Mapping[str, Any]) -> None:
        if target not in _TARGETS:
            raise ValueError(f"{target} is no target of CUDA Tile's: one of {', '.join(_TARGETS)} is expected")
        self.target = target
        #: Keywords of `oriole_gpu.launch` for all launches; may be changed.
        self.settings: Dict[str, Any] = dict(settings)
        #: What the last launch left.
        self.report: Optional[Report] = None
        #: Launches so far.
        self.launches = 0
        self._kernels: Dict[Tuple[Any, ...], _Kernel] = {}

    def launch(self, stream: Any, grid: Sequence[int], kernel: Any, kernel_args: Sequence[Any], /, *,
               programmatic_dependent_launch: bool = False) -> None:
        """`cuda.tile.launch`. The stream may be anything: launches end before they return."""
        if programmatic_dependent_launch:
            raise NotImplementedError("oriole_gpu.tile has no dependent launches")
        constraints, data, places = _passed(kernel, kernel_args)
        key = (kernel, repr(constraints))
        if key not in self._kernels:
            self._kernels[key] = self._compiled(kernel, constraints)
        made = self._kernels[key]
        parameters = _oriole.Module(made.cubin).parameters(made.name) or []
        if len(data) != made.given:
            raise ValueError(f"{made.name} takes {made.given} values, {len(data)} were given")
        places_of_all = [*(parameter[:2] for parameter in parameters), *made.hidden]
        image = bytearray(max((offset + size for offset, size in places_of_all), default=0))
        for (offset, size, _), value in zip(parameters, data):
            image[offset:offset + size] = value
        if made.filler is not None:
            made.filler.fill(image)
        parts = [bytes(image[offset:offset + size]) for offset, size in places_of_all]
        values = [Aggregate(part, places.pointers(part)) for part in parts]
        arguments, unseen = values[:made.given], values[made.given:]
        settings = dict(self.settings) if made.cluster is None else {**self.settings, "cluster": made.cluster}
        cluster = made.cluster or (1, 1, 1)
        sizes = [size * blocks for size, blocks in zip((*grid, 1, 1), cluster)]
        self.report = None
        self.report = launch(made.cubin, made.name, sizes, made.block, *arguments,
                             hidden=[(offset, value) for (offset, _), value in zip(made.hidden, unseen)], **settings)
        self.launches += 1

    def _compiled(self, kernel: Any, constraints: Sequence[Any]) -> _Kernel:
        import cuda.tile._compile as tile
        from cuda.tile._cext import default_tile_context
        from cuda.tile.compilation import CallingConvention, KernelSignature

        signature = KernelSignature(constraints, CallingConvention.cutile_python_v1())
        signature = signature.with_mangled_symbol(kernel._annotated_function.pyfunc.__name__)
        first, context = tile._find_compiler_bin, default_tile_context
        with tempfile.TemporaryDirectory(prefix="oriole-tile-") as name:
            folder = _tools(Path(first().path), Path(name))

            def find() -> Any:
                return dataclasses.replace(first(), path=str(folder / "tileiras"))

            kept = context.config.cache_dir
            # Its cache would give a cubin back without the PTX.
            tile._find_compiler_bin, context.config.cache_dir = find, None
            try:
                tile.compile_tile(kernel._annotated_function, (signature,), self.target, kernel._compiler_options, context)
            finally:
                tile._find_compiler_bin, context.config.cache_dir = first, kept
            if not (folder / "kernel.ptx").exists():
                raise RuntimeError("tileiras has not called the ptxas that oriole_gpu.tile put beside it")
            ptx = (folder / "kernel.ptx").read_text().rstrip("\0")
            host = (folder / "host.o").read_bytes() if (folder / "host.o").exists() else b""
        return self._made(ptx, host, str(signature.symbol))

    def _made(self, ptx: str, host: bytes, name: str) -> _Kernel:
        found = re.search(r"^\.target (\w+)", ptx, re.MULTILINE)
        target = found[1] if found else _TARGETS[self.target]
        cubin = _compile.compile(ptx, target, lineinfo=True, extended_shared=True, file_name=f"{name}.ptx").cubin
        head = ptx[ptx.index(f".entry {name}("):]
        head = head[:head.index("\n{")]
        block = _sizes(head, "reqntid")
        if block is None:
            raise NotImplementedError(f"{name} does not say how many threads a block has")
        cluster = _sizes(head, "reqnctapercluster")
        given = len(re.findall(r"\.param\b", head)) - head.count(".hidden")
        ends = _oriole.Module(cubin).parameters(name) or [(0, 0, None)]
        hidden = _hidden(head, _parameters_at(target), max(offset + size for offset, size, _ in ends))
        if hidden and not host:
            raise NotImplementedError(f"{name} has hidden parameters, and tileiras gave no host code that fills them in")
        return _Kernel(cubin, name, block, cluster, given, hidden, _Filler(host) if hidden else None)


#: Where parameters begin in a kernel's bank of constants, from that chip on.
_PARAMETERS_AT = ((100, 0x380), (90, 0x210), (0, 0x160))


def _parameters_at(target: str) -> int:
    number = int(target[len("sm_"):].rstrip("af"))
    return next(at for first, at in _PARAMETERS_AT if number >= first)


def _hidden(head: str, start: int, end: int) -> Tuple[Tuple[int, int], ...]:
    """Offset and size of each hidden parameter behind the others, which end at `end`: aligned by their address in the bank, where
    parameters begin at `start`."""
    found = []
    for align, bits, count in re.findall(r"\.hidden\s+\.param\s+(?:\.align (\d+)\s+)?\.[busf](\d+)\s+\w+(?:\[(\d+)\])?", head):
        size = int(bits) // 8
        step = int(align or size)
        end = -(-(start + end) // step) * step - start
        found.append((end, size * int(count or 1)))
        end += found[-1][1]
    return tuple(found)


def _tools(tileiras: Path, folder: Path) -> Path:
    """A tool kit like the one of that program, but for `ptxas`: the folder of its programs.

    `tileiras` calls the `ptxas` beside it and loads libraries from the tool kit around it, and sees through a symbolic link of itself.
    """
    programs = folder / tileiras.parent.name
    programs.mkdir()
    for there, here in ((tileiras.parent.parent, folder), (tileiras.parent, programs)):
        for path in there.iterdir():
            if path not in (tileiras, tileiras.parent) and path.name != "ptxas":
                (here / path.name).symlink_to(path)
    (programs / "ptxas").write_text(_PTXAS)
    (programs / "ptxas").chmod(0o755)
    try:
        (programs / tileiras.name).hardlink_to(tileiras)
    except OSError:
        # Another file system.
        shutil.copy2(tileiras, programs / tileiras.name)
    return programs


def _sizes(head: str, directive: str) -> Optional[Tuple[int, int, int]]:
    found = re.search(rf"\.{directive} ([\d, ]+)", head)
    if found is None:
        return None
    x, y, z = [*map(int, found[1].split(",")), 1, 1][:3]
    return (x, y, z)


def _passed(kernel: Any, arguments: Sequence[Any]) -> Tuple[List[Any], List[bytes], _host.Places]:
    """Of all arguments what the compiler assumes, the bytes of the parameters, and where addresses point to."""
    from cuda.tile.compilation import ScalarConstraint

    annotations = kernel._annotated_function.parameter_annotations
    if len(arguments) != len(annotations):
        raise TypeError(f"the kernel takes {len(annotations)} arguments, {len(arguments)} were given")
    constraints: List[Any] = []
    data: List[bytes] = []
    places = _host.Places()
    for position, (value, annotation) in enumerate(zip(arguments, annotations)):
        if getattr(annotation, "constant", False):
            constraints.append(value)
        elif isinstance(value, (bool, int, float)):
            constraint, code = _scalar(value)
            constraints.append(ScalarConstraint(constraint))
            data.append(struct.pack(code, value))
        else:
            held = hold(f"argument {position}", value)
            if held is None:
                raise TypeError(f"argument {position}: an array or a number, not {type(value).__name__}")
            places.hand_over_memory(held.start, held.size)
            constraints.append(_array(value, held.start, data))
    return constraints, data, places


def _scalar(value: Any) -> Tuple[Any, str]:
    """The type of a number, and its format: those that cuda.tile gives Python's."""
    import cuda.tile as ct

    if isinstance(value, bool):
        return ct.bool_, "<?"
    return (ct.int32, "<i") if isinstance(value, int) else (ct.float32, "<f")


def _array(value: Any, address: int, data: List[bytes]) -> Any:
    """An array's constraint; its parameters: the address, sizes and strides in elements."""
    import cuda.tile as ct
    from cuda.tile.compilation import ArrayConstraint

    shape = tuple(int(size) for size in value.shape)
    strides = [1]
    for size in shape[:0:-1]:
        strides.insert(0, strides[0] * size)
    strides = strides[:len(shape)]
    data.append(struct.pack("<Q", address))
    data.extend(struct.pack("<i", number) for number in (*shape, *strides))
    divisor = lambda number: _DIVISOR if number % _DIVISOR == 0 else 1  # noqa: E731
    kind = getattr(ct, str(value.dtype).replace("torch.", "").replace("bool", "bool_"), None)
    if kind is None:
        raise TypeError(f"cuda.tile has no arrays of {value.dtype}")
    return ArrayConstraint(
        kind, len(shape), index_dtype=ct.int32, stride_lower_bound_incl=0, alias_groups=(), may_alias_internally=False,
        stride_constant=tuple([None] * (len(shape) - 1) + [1] * bool(shape)),
        stride_divisible_by=tuple(1 if at == len(shape) - 1 else divisor(stride) for at, stride in enumerate(strides)),
        shape_divisible_by=tuple(map(divisor, shape)), base_addr_divisible_by=divisor(address))


class _Filler:
    """The host code that fills in the hidden parameters of a kernel: a function without references, in an object file of the host."""

    def __init__(self, elf: bytes) -> None:
        code, at = _function(elf)
        self._memory = mmap.mmap(-1, max(len(code), 1), prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        self._memory.write(code)
        start = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        # The fourth argument is the kernel's parameters; the others are the driver's, and not looked at.
        kind = ctypes.CFUNCTYPE(ctypes.c_uint64, *[ctypes.c_void_p] * 6)
        self._call = kind(start + at)

    def fill(self, image: bytearray) -> None:
        """Writes the hidden ones behind the others."""
        # Maps are written in whole words, of which the last may be padding.
        words = (ctypes.c_char * (len(image) + 64)).from_buffer_copy(bytes(image) + bytes(64))
        self._call(None, None, None, ctypes.addressof(words), None, None)
        image[:] = words.raw[:len(image)]


def _function(elf: bytes) -> Tuple[bytes, int]:
    """The machine code of a relocatable file, and where the filler begins in it."""
    sections = list(_sections(elf))
    strings = {index: elf[offset:offset + size] for index, (_, kind, offset, size, _, _) in enumerate(sections) if kind == 3}
    for _, kind, offset, size, link, _ in sections:
        if kind != 2:
            continue
        for at in range(offset, offset + size, 24):
            name, _info, _other, section, value, length = struct.unpack_from("<IBBHQQ", elf, at)
            if strings[link][name:].split(b"\0")[0] == _FILLER:
                _check_relocations(elf, sections, section, value, length)
                start, bytes_of_it = sections[section][2:4]
                return elf[start:start + bytes_of_it], value
    raise NotImplementedError("tileiras' host code has no function that fills in hidden parameters")


def _check_relocations(elf: bytes, sections: List[Any], section: int, value: int, length: int) -> None:
    for _, kind, offset, size, _, target in sections:
        if kind == 4 and target == section:
            places = (struct.unpack_from("<Q", elf, at)[0] for at in range(offset, offset + size, 24))
            if any(value <= place < value + length for place in places):
                raise NotImplementedError("tileiras' host code that fills in hidden parameters has references")


def _sections(elf: bytes) -> Iterator[Tuple[int, int, int, int, int, int]]:
    """Name, type, offset, size, link and info of each."""
    machine = {"x86_64": 62, "aarch64": 183}.get(os.uname().machine)
    if elf[:4] != b"\x7fELF" or struct.unpack_from("<H", elf, 18)[0] != machine:
        raise NotImplementedError("tileiras' host code is for another machine than this one")
    table = struct.unpack_from("<Q", elf, 40)[0]
    size, count = struct.unpack_from("<HH", elf, 58)
    for at in range(table, table + size * count, size):
        name, kind, _flags, _address, offset, length, link, info = struct.unpack_from("<IIQQQQII", elf, at)
        yield name, kind, offset, length, link, info


def activate(target: str = "sm_90", **settings: Any) -> Driver:
    """From now on `cuda.tile.launch` compiles by Oriole, for that target, and runs kernels on the simulator.

    Arguments are numpy arrays, PyTorch's tensors of the CPU, C-contiguous, and Python's numbers.

    :param target: one of `tileiras`' targets: `sm_80`, `sm_90`, `sm_120`; its PTX is for the target's own instructions (`sm_90a`).
    :param settings: keywords of `oriole_gpu.launch` for all launches: `strict`, `timing`, `check`, `threads`, `timeout`, `memory`.
    :raises ValueError: there is no such target.
    :raises RuntimeError: it does not know this version of cuda-tile.
    """
    try:
        version = importlib.metadata.version(_DISTRIBUTION)
    except importlib.metadata.PackageNotFoundError:
        raise ImportError(f"oriole_gpu.tile needs {_DISTRIBUTION}, which is not installed") from None
    if ".".join(version.split(".")[:2]) not in _VERSIONS:
        raise RuntimeError(f"oriole_gpu.tile knows {_DISTRIBUTION} {', '.join(_VERSIONS)}, and this is {version}")
    import cuda.tile

    driver = Driver(target, settings)
    cuda.tile.launch = driver.launch
    return driver
