"""Memory of arrays, tensors and buffers, held where it is for the time of a launch."""

from __future__ import annotations

import ctypes
import re
import sys
import weakref
from typing import Any, List, Optional

import numpy as np
from numpy.typing import NDArray


class Held:
    """Memory of an object, which nobody frees, moves or resizes until `release`."""

    def __init__(self, start: int, size: int, is_writeable: bool, keepers: List[Any]) -> None:
        #: Address on the host, and bytes.
        self.start = start
        self.size = size
        self.is_writeable = is_writeable
        self._keepers = keepers

    @property
    def end(self) -> int:
        """The address behind the last byte."""
        return self.start + self.size

    def release(self) -> None:
        """Gives the memory back to its owner."""
        for keeper in self._keepers:
            if isinstance(keeper, memoryview):
                keeper.release()
        self._keepers = []


def hold(name: str, value: object) -> Optional[Held]:
    """Holds the memory of an object; `None` if it has none that a kernel could be given the address of.

    :param name: what messages call it.
    :raises TypeError: its elements have no bytes that a kernel could read: Python objects, numbers of another byte order; or
        they are not on the host.
    :raises ValueError: they do not lie one after the other.
    """
    if isinstance(value, np.ndarray):
        return _of_array(name, value)
    view = _view(value)
    if view is not None:
        return _of_buffer(name, view)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return _of_tensor(name, value)
    if hasattr(value, "__dlpack__"):
        return _of_dlpack(name, value)
    return None


def _of_array(name: str, array: NDArray[Any]) -> Held:
    if array.dtype.hasobject:
        raise TypeError(f"{name}: an array of Python objects has no bytes that a kernel could read")
    if not has_native_order(array.dtype):
        raise TypeError(
            f"{name}: the array is of dtype {array.dtype}, whose byte order is not that of kernels; "
            "pass array.astype(array.dtype.newbyteorder('<'))"
        )
    if not array.flags.c_contiguous:
        raise ValueError(f"{name}: the array is not C-contiguous; pass numpy.ascontiguousarray of it")
    # Arrays that are weakly referenced refuse to be resized: numpy has no other way to hold them, buffers do not.
    keepers: List[Any] = [array]
    owner: Any = array
    while isinstance(owner, np.ndarray):
        keepers.append(weakref.ref(owner))
        owner = owner.base
    return Held(_address(array), array.nbytes, array.flags.writeable, keepers)


def has_native_order(dtype: np.dtype[Any]) -> bool:
    """Whether all of its numbers have their lowest byte first, as kernels have them."""
    if dtype.subdtype is not None:
        return has_native_order(dtype.subdtype[0])
    if dtype.fields is not None:
        return all(has_native_order(field[0]) for field in dtype.fields.values())
    return dtype.byteorder in "<|" or (dtype.byteorder == "=" and sys.byteorder == "little")


def _address(array: NDArray[Any]) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


def _view(value: object) -> Optional[memoryview]:
    # A number of ctypes would be passed by its address where its value is meant.
    if isinstance(value, ctypes._SimpleCData):
        return None
    try:
        return memoryview(value)  # type: ignore[arg-type]
    except TypeError:
        return None


def _of_buffer(name: str, view: memoryview) -> Held:
    # Names of fields stand between colons.
    letters = set(re.sub(":[^:]*:", "", view.format))
    if letters & {">", "!"}:
        raise TypeError(f"{name}: the buffer's format is {view.format!r}, whose byte order is not that of kernels")
    if "O" in letters:
        raise TypeError(f"{name}: a buffer of Python objects has no bytes that a kernel could read")
    if not view.c_contiguous:
        raise ValueError(f"{name}: the buffer is not C-contiguous; pass a copy")
    start = _address(np.frombuffer(view, np.uint8)) if view.nbytes else 0
    return Held(start, view.nbytes, not view.readonly, [view])


def _of_tensor(name: str, tensor: Any) -> Held:
    """A tensor of PyTorch. From `numpy()` on it refuses to resize its storage."""
    import torch

    if tensor.device.type != "cpu":
        raise TypeError(f"{name}: the tensor is on {tensor.device}; pass tensor.cpu()")
    if tensor.layout != torch.strided or not tensor.is_contiguous() or tensor.is_conj() or tensor.is_neg():
        raise ValueError(f"{name}: the tensor's elements do not lie one after the other; pass a contiguous copy")
    # As bytes, since numpy lacks some of its types.
    return _of_array(name, tensor.detach().reshape(-1).view(torch.uint8).numpy())


def _of_dlpack(name: str, value: Any) -> Held:
    if not hasattr(np, "from_dlpack"):
        raise TypeError(f"{name}: numpy {np.__version__} does not take DLPack, 1.22 does")
    try:
        array = np.from_dlpack(value)
    except (AttributeError, BufferError, RuntimeError, TypeError, ValueError) as error:
        raise TypeError(f"{name}: {type(value).__name__} does not give its memory: {error}") from None
    return _of_array(name, array)
