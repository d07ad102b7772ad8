"""Arguments of kernels as the bytes of their parameters."""

from __future__ import annotations

import struct
from typing import Any, List, Optional, Sequence, Tuple

import numpy as np
from numpy.typing import NDArray

from ._compile import Parameter

#: What the compiled half of the package takes: kind, bytes, position of an earlier argument.
Placed = Tuple[str, bytes, int]

#: `struct`'s formats of Python's floats by the size of the parameter.
_FLOATS = {4: "<f", 8: "<d"}

#: The same of floats of two bytes, where PTX has told which.
_HALVES = {"f16": "<e"}


class Arguments:
    """The arguments of one launch: bytes to give to it, and arrays to write back to.

    An array becomes a buffer of device memory for the time of the launch, and its address the argument. One that is given
    twice is one buffer.

    :raises TypeError: there are too many or too few, or one is of a wrong type.
    :raises ValueError: one is of a wrong size or does not fit, or an array cannot be written back or overlaps another.
    """

    def __init__(self, kernel: str, parameters: Sequence[Parameter], arguments: Sequence[Any]) -> None:
        if len(arguments) != len(parameters):
            said = ", ".join(map(_said, parameters)) or "none"
            raise TypeError(f"{kernel} takes {len(parameters)} arguments ({said}), {len(arguments)} were given")
        self.placed: List[Placed] = []
        self._buffers: List[Tuple[int, NDArray[Any]]] = []
        for index, (parameter, argument) in enumerate(zip(parameters, arguments)):
            name = f"argument {index} of {kernel} ({_said(parameter)})"
            if isinstance(argument, np.ndarray):
                self.placed.append(self._array(index, name, parameter, argument))
            else:
                self.placed.append(("value", value_bytes(name, parameter, argument), 0))

    def _array(self, index: int, name: str, parameter: Parameter, array: NDArray[Any]) -> Placed:
        if parameter.size != 8 or _is_float(parameter.type):
            raise TypeError(f"{name}: an array is passed by its address, which is an integer of 8 bytes")
        if array.dtype.hasobject:
            raise TypeError(f"{name}: an array of Python objects has no bytes that a kernel could read")
        if not array.flags.c_contiguous:
            raise ValueError(f"{name}: the array is not C-contiguous; pass numpy.ascontiguousarray of it")
        if not array.flags.writeable:
            raise ValueError(f"{name}: the array is read-only, but the kernel's memory is written back to it; pass a copy")
        for earlier, other in self._buffers:
            if _place(array) == _place(other) and array.nbytes:
                return ("again", b"", earlier)
            # Of contiguous arrays the bounds tell all.
            if np.may_share_memory(array, other):
                raise ValueError(f"{name}: the array overlaps argument {earlier} without being the same memory")
        self._buffers.append((index, array))
        return ("buffer", array.tobytes(), 0)

    def write_back(self, contents: Sequence[Optional[bytes]]) -> None:
        """Writes to the arrays what their buffers have after the launch."""
        for index, array in self._buffers:
            left = contents[index]
            if left is not None and array.size:
                np.asarray(array).reshape(-1).view(np.uint8)[:] = np.frombuffer(left, np.uint8)


def _place(array: NDArray[Any]) -> Tuple[int, int]:
    return (array.__array_interface__["data"][0], array.nbytes)


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
