"""Arguments of kernels as the bytes of their parameters."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, SupportsIndex, Tuple, Union

import numpy as np

from ._compile import Parameter
from ._held import Held, has_native_order, hold
from ._settings import expect

#: What the compiled half of the package takes: the bytes of a value, the number of a memory and an offset into it, or bytes with
#: places in them where such addresses stand.
Placed = Union[bytes, Tuple[int, int], Tuple[bytes, List[Tuple[int, int, int]]]]

#: `struct`'s formats of Python's floats by the size of the parameter.
_FLOATS = {4: "<f", 8: "<d"}

#: The same of floats of two bytes, where PTX has told which.
_HALVES = {"f16": "<e"}

#: What is passed by value.
_VALUES = (int, float, np.generic)

#: What is passed by its address, in words.
_TAKEN = "an array, a buffer or a tensor of the CPU"


@dataclass(frozen=True)
class Pointer:
    """An address inside of an array, as an argument of a launch: that of the byte `offset` after the array's first."""

    #: What lies there: whatever `launch` takes as an array, and `bytes`.
    array: Any
    #: Bytes; those before the array and behind its end are addresses too, where reading is a fault.
    offset: int = 0


@dataclass(frozen=True)
class Aggregate:
    """A parameter with addresses inside, as an argument of a launch: a view with its pointer and its strides, a tensor map."""

    #: The parameter's bytes; where addresses stand anything.
    data: bytes
    #: By place in `data`: where the eight bytes there point to.
    pointers: Mapping[int, Pointer]


class _Address(NamedTuple):
    """An argument that is an address."""

    memory: Held
    offset: int


class _Parts(NamedTuple):
    """An argument that has addresses inside."""

    data: bytes
    addresses: List[Tuple[int, _Address]]


#: An argument once its memory is held.
_Passed = Union[bytes, _Address, _Parts]


class Arguments:
    """The arguments of one launch, and the memory that they point into, held until the `with` block is left.

    An array becomes device memory for the time of the launch, and its address the argument. Arrays that share memory on the
    host, as views of one array do, share it on the device.

    :raises TypeError: there are too many or too few, or one is of a wrong type.
    :raises ValueError: one is of a wrong size or does not fit.
    """

    def __init__(self, kernel: str, parameters: Sequence[Parameter], arguments: Sequence[Any]) -> None:
        if len(arguments) != len(parameters):
            said = ", ".join(map(_said, parameters)) or "none"
            raise TypeError(f"{kernel} takes {len(parameters)} arguments ({said}), {len(arguments)} were given")
        self._held: List[Held] = []
        try:
            values = [
                self._passed(f"argument {index} of {kernel} ({_said(parameter)})", parameter, argument)
                for index, (parameter, argument) in enumerate(zip(parameters, arguments))
            ]
        except BaseException:
            self._release()
            raise
        self._memories = _memories(values)
        #: One for each parameter.
        self.placed: List[Placed] = [self._placed(value) for value in values]

    def __enter__(self) -> Arguments:
        return self

    def __exit__(self, *_: object) -> None:
        self._release()

    @property
    def memories(self) -> List[Dict[str, Any]]:
        """The memories as the compiled half of the package takes them."""
        return [memory.described for memory in self._memories]

    def _release(self) -> None:
        for held in self._held:
            held.release()

    def _passed(self, name: str, parameter: Parameter, argument: Any) -> _Passed:
        if isinstance(argument, Aggregate):
            return self._parts(name, parameter, argument)
        pointer = argument if isinstance(argument, Pointer) else Pointer(argument)
        if pointer is argument or isinstance(argument, np.ndarray) or _is_memory(parameter, argument):
            if not _takes_address(parameter):
                raise TypeError(f"{name}: an array is passed by its address, which is an integer of 8 bytes")
            address = self._address(name, pointer)
            if address is not None:
                return address
            expect(f"{name}: what is pointed into", _TAKEN, pointer.array, pointer is not argument)
        return value_bytes(name, parameter, argument)

    def _address(self, name: str, pointer: Pointer) -> Optional[_Address]:
        """Holds what is pointed into; `None` if that has no memory."""
        expect(f"{name}: offset", "an int", pointer.offset, isinstance(pointer.offset, SupportsIndex))
        held = hold(name, pointer.array)
        if held is None:
            return None
        self._held.append(held)
        return _Address(held, int(pointer.offset))

    def _parts(self, name: str, parameter: Parameter, argument: Aggregate) -> _Parts:
        data = _sized(name, parameter, bytes(argument.data), "an Aggregate")
        addresses = []
        for at, pointer in sorted(argument.pointers.items()):
            if not 0 <= at <= len(data) - 8:
                raise ValueError(f"{name}: a pointer at byte {at} of an Aggregate of {len(data)}")
            address = self._address(f"{name}: pointer at byte {at}", pointer)
            if address is None:
                raise TypeError(f"{name}: pointer at byte {at}: {_TAKEN} is expected, not {type(pointer.array).__name__}")
            addresses.append((at, address))
        return _Parts(data, addresses)

    def _placed(self, value: _Passed) -> Placed:
        if isinstance(value, bytes):
            return value
        if isinstance(value, _Address):
            return self._place(value)
        return (value.data, [(at, *self._place(address)) for at, address in value.addresses])

    def _place(self, address: _Address) -> Tuple[int, int]:
        start, end = address.memory.start, address.memory.end
        number = next(at for at, memory in enumerate(self._memories) if memory.start <= start and end <= memory.end)
        return (number, (start - self._memories[number].start + address.offset) % (1 << 64))


@dataclass
class _Memory:
    """Bytes of the host that arrays cover together, and the positions of the arguments that have them."""

    start: int
    end: int
    arguments: List[int]
    #: Where parts that may be written begin and end; they may overlap.
    writeable: List[Tuple[int, int]]

    @property
    def described(self) -> Dict[str, Any]:
        """As the compiled half of the package takes it."""
        parts = _joined([(start - self.start, end - self.start) for start, end in self.writeable])
        return {"name": self._name, "address": self.start, "size": self.end - self.start, "writeable": parts}

    @property
    def _name(self) -> str:
        positions = [str(position) for position in sorted(self.arguments)]
        return f"argument {positions[0]}" if len(positions) == 1 else f"arguments {' and '.join(positions)}"


def _addresses(value: _Passed) -> Iterator[_Address]:
    """Those in an argument."""
    if isinstance(value, _Address):
        yield value
    elif isinstance(value, _Parts):
        yield from (address for _, address in value.addresses)


def _memories(values: Sequence[_Passed]) -> List[_Memory]:
    """Memory for all arrays, each byte once; in the order of the first arguments that have it."""
    arrays = [(address.memory.start, address.memory.end, index, address.memory.is_writeable)
              for index, value in enumerate(values) for address in _addresses(value)]
    memories: List[_Memory] = []
    for start, end, index, is_writeable in sorted(arrays):
        last = memories[-1] if memories else None
        if last is None or not (start < last.end or (start, end) == (last.start, last.end)):
            last = _Memory(start, end, [], [])
            memories.append(last)
        last.end = max(last.end, end)
        if index not in last.arguments:
            last.arguments.append(index)
        if is_writeable:
            last.writeable.append((start, end))
    return sorted(memories, key=lambda memory: min(memory.arguments))


def _joined(parts: Sequence[Tuple[int, int]]) -> List[Tuple[int, int]]:
    """Parts that begin in ascending order, those that overlap as one."""
    joined: List[Tuple[int, int]] = []
    for start, end in parts:
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((start, end))
    return joined


def _takes_address(parameter: Parameter) -> bool:
    return parameter.size == 8 and not _is_float(parameter.type)


def _is_memory(parameter: Parameter, argument: Any) -> bool:
    """Whether it is passed by its address, if it has one: `bytes` are a value wherever they can be one."""
    if not _takes_address(parameter) or isinstance(argument, _VALUES):
        return False
    return not isinstance(argument, bytes) or (parameter.type is not None and len(argument) != parameter.size)


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
        return _sized(name, parameter, bytes(value), type(value).__name__)
    if isinstance(value, int):
        return _of_float(name, parameter, value) if _is_float(parameter.type) else _of_int(name, parameter, value)
    if isinstance(value, float):
        return _of_float(name, parameter, value)
    raise TypeError(f"{name}: takes {_TAKEN}, a number or bytes, not {type(value).__name__}")


def _of_numpy(name: str, parameter: Parameter, value: np.generic) -> bytes:
    kind = value.dtype.kind
    if kind not in "biufcV":
        raise TypeError(f"{name}: a numpy.{value.dtype} is no value that a kernel takes")
    if not has_native_order(value.dtype):
        raise TypeError(f"{name}: the value is of dtype {value.dtype}, whose byte order is not that of kernels")
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
