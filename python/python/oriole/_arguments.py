"""Arguments of kernels as the bytes of their parameters."""

from __future__ import annotations

import ctypes
import struct
from dataclasses import dataclass
from typing import Any, List, Optional, Sequence, Tuple, Union

import numpy as np
from numpy.typing import NDArray

from ._compile import Parameter

#: What the compiled half of the package takes: the bytes of a value, or the number of a memory and an offset into it.
Placed = Union[bytes, Tuple[int, int]]

#: `struct`'s formats of Python's floats by the size of the parameter.
_FLOATS = {4: "<f", 8: "<d"}

#: The same of floats of two bytes, where PTX has told which.
_HALVES = {"f16": "<e"}


@dataclass(frozen=True)
class Pointer:
    """An address inside of an array, as an argument of a launch: that of the byte `offset` after the array's first."""

    #: What lies there; C-contiguous and writeable, as all arrays of a launch.
    array: NDArray[Any]
    #: Bytes; those before the array and behind its end are addresses too, where reading is a fault.
    offset: int = 0


class Arguments:
    """The arguments of one launch: what to give to it, and memory to write back to.

    An array becomes device memory for the time of the launch, and its address the argument. Arrays that share memory on the
    host, as views of one array do, share it on the device.

    :raises TypeError: there are too many or too few, or one is of a wrong type.
    :raises ValueError: one is of a wrong size or does not fit, or an array cannot be written back.
    """

    def __init__(self, kernel: str, parameters: Sequence[Parameter], arguments: Sequence[Any]) -> None:
        if len(arguments) != len(parameters):
            said = ", ".join(map(_said, parameters)) or "none"
            raise TypeError(f"{kernel} takes {len(parameters)} arguments ({said}), {len(arguments)} were given")
        values: List[Union[bytes, Pointer]] = []
        for index, (parameter, argument) in enumerate(zip(parameters, arguments)):
            name = f"argument {index} of {kernel} ({_said(parameter)})"
            if isinstance(argument, (np.ndarray, Pointer)):
                values.append(_pointer(name, parameter, argument))
            else:
                values.append(value_bytes(name, parameter, argument))
        self._memories = _memories(values)
        #: One for each parameter.
        self.placed: List[Placed] = [value if isinstance(value, bytes) else self._place(value) for value in values]

    @property
    def memories(self) -> List[Tuple[str, bytes]]:
        """What faults call each memory, and its contents."""
        return [(memory.name, ctypes.string_at(memory.start, memory.end - memory.start)) for memory in self._memories]

    def _place(self, pointer: Pointer) -> Tuple[int, int]:
        start, end = _bounds(pointer.array)
        number = next(at for at, memory in enumerate(self._memories) if memory.start <= start and end <= memory.end)
        return (number, (start - self._memories[number].start + pointer.offset) % (1 << 64))

    def write_back(self, contents: Sequence[bytes]) -> None:
        """Writes to the arrays what their memory has after the launch."""
        for memory, left in zip(self._memories, contents):
            ctypes.memmove(memory.start, left, len(left))


@dataclass
class _Memory:
    """Bytes of the host that arrays cover together, and the positions of the arguments that have them."""

    start: int
    end: int
    arguments: List[int]

    @property
    def name(self) -> str:
        positions = [str(position) for position in sorted(self.arguments)]
        return f"argument {positions[0]}" if len(positions) == 1 else f"arguments {' and '.join(positions)}"


def _memories(values: Sequence[Union[bytes, Pointer]]) -> List[_Memory]:
    """Memory for all arrays, each byte once; in the order of the first arguments that have it."""
    arrays = [(*_bounds(value.array), index) for index, value in enumerate(values) if isinstance(value, Pointer)]
    memories: List[_Memory] = []
    for start, end, index in sorted(arrays):
        last = memories[-1] if memories else None
        if last and (start < last.end or (start, end) == (last.start, last.end)):
            last.end = max(last.end, end)
            last.arguments.append(index)
        else:
            memories.append(_Memory(start, end, [index]))
    return sorted(memories, key=lambda memory: min(memory.arguments))


def _pointer(name: str, parameter: Parameter, argument: Union[NDArray[Any], Pointer]) -> Pointer:
    pointer = argument if isinstance(argument, Pointer) else Pointer(argument)
    array = pointer.array
    if parameter.size != 8 or _is_float(parameter.type):
        raise TypeError(f"{name}: an array is passed by its address, which is an integer of 8 bytes")
    if array.dtype.hasobject:
        raise TypeError(f"{name}: an array of Python objects has no bytes that a kernel could read")
    if not array.flags.c_contiguous:
        raise ValueError(f"{name}: the array is not C-contiguous; pass numpy.ascontiguousarray of it")
    if not array.flags.writeable:
        raise ValueError(f"{name}: the array is read-only, but the kernel's memory is written back to it; pass a copy")
    return pointer


def _bounds(array: NDArray[Any]) -> Tuple[int, int]:
    start: int = array.__array_interface__["data"][0]
    return (start, start + array.nbytes)


def _said(parameter: Parameter) -> str:
    what = f".{parameter.type}" if parameter.type else f"{parameter.size} bytes"
    return f"{what} at offset {parameter.offset}"


def _is_float(kind: Optional[str]) -> bool:
    return kind is not None and (kind.startswith("f") or kind.startswith("bf"))


def _is_integer(kind: Optional[str]) -> bool:
    return kind is not None and kind[0] in "us"


def value_bytes(name: str, parameter: Parameter, value: object) -> bytes:
    """The bytes of a parameter that is passed by value; `name` is what messages call it.

    :raises TypeError: the value is of a type that the parameter does not take.
    :raises ValueError: it has another size than the parameter, or does not fit into it.
    """
    if isinstance(value, np.generic):
        return _of_numpy(name, parameter, value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return _sized(name, parameter, bytes(value), "bytes")
    if isinstance(value, int):
        return _of_float(name, parameter, value) if _is_float(parameter.type) else _of_int(name, parameter, value)
    if isinstance(value, float):
        return _of_float(name, parameter, value)
    raise TypeError(f"{name}: takes a numpy array or scalar, an int, float or bool, or bytes, not {type(value).__name__}")


def _of_numpy(name: str, parameter: Parameter, value: np.generic) -> bytes:
    kind = value.dtype.kind
    if kind not in "biufcV":
        raise TypeError(f"{name}: a numpy.{value.dtype} is no value that a kernel takes")
    if (kind == "f" and _is_integer(parameter.type)) or (kind in "biu" and _is_float(parameter.type)):
        raise TypeError(f"{name}: the kernel's parameter is .{parameter.type}, given was numpy.{value.dtype}")
    if kind == "f" and parameter.type == "bf16":
        raise TypeError(f"{name}: numpy.{value.dtype} is another format than .bf16; pass its two bytes")
    return _sized(name, parameter, value.tobytes(), f"numpy.{value.dtype}")


def _sized(name: str, parameter: Parameter, content: bytes, what: str) -> bytes:
    if len(content) != parameter.size:
        raise ValueError(f"{name}: given were {len(content)} bytes ({what}), the parameter has {parameter.size}")
    return content


def _of_int(name: str, parameter: Parameter, value: int) -> bytes:
    """Signed or not: PTX's types say little about that."""
    bits = parameter.size * 8
    if bits not in (8, 16, 32, 64):
        raise TypeError(f"{name}: an aggregate of {parameter.size} bytes is passed as bytes, not as int")
    if not -(1 << (bits - 1)) <= value < 1 << bits:
        raise ValueError(f"{name}: {value} does not fit into {bits} bits")
    return (value & ((1 << bits) - 1)).to_bytes(parameter.size, "little")


def _of_float(name: str, parameter: Parameter, value: float) -> bytes:
    if _is_integer(parameter.type):
        raise TypeError(f"{name}: the kernel's parameter is .{parameter.type}, given was a float")
    form = _FLOATS.get(parameter.size) or _HALVES.get(parameter.type or "")
    if form is None:
        raise TypeError(f"{name}: a Python float is passed for 4 or 8 bytes or .f16; pass a numpy scalar or bytes")
    try:
        return struct.pack(form, value)
    except OverflowError:
        raise ValueError(f"{name}: {value} is too large for {parameter.size * 8} bits") from None
