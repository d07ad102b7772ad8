"""PyTorch's CUDA devices as the CPU, for programs that were written for a GPU; and where the tensors are that kernels point into."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import sys
import types
import weakref
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple

import numpy as np
from numpy.typing import NDArray

from ._arguments import Pointer

#: Multiprocessors of a device that the cycle model does not know.
_MULTIPROCESSORS = 1


def capability(target: str) -> Tuple[int, int]:
    """The compute capability of a target: 9 and 0 of `sm_90a`."""
    number = target[len("sm_"):].rstrip("af")
    return int(number[:-1]), int(number[-1])


#: `cudaMalloc` gives multiples of this.
_ALIGNMENT = 256


class _Stream:
    """Stands for `torch.cuda.Stream`: there is one, and launches end before they return."""

    cuda_stream = 0

    def __init__(self, *_: Any, **__: Any) -> None: ...

    def synchronize(self) -> None: ...

    def wait_stream(self, _: Any) -> None: ...

    def __enter__(self) -> _Stream:
        return self

    def __exit__(self, *_: Any) -> None: ...


#: What was put in place of PyTorch's own: entered once for the process.
_entered: List[Any] = []


def torch_on_cpu(target: str, device: Mapping[str, Optional[int]]) -> None:
    """From now on tensors "on CUDA" are made on the CPU, and `torch.cuda` tells of the target. Does nothing without PyTorch."""
    try:
        import torch
    except ImportError:
        return
    major_minor = capability(target)
    properties = types.SimpleNamespace(
        major=major_minor[0], minor=major_minor[1], name=f"Oriole's simulator of {target}",
        multi_processor_count=device["multiprocessors"] or _MULTIPROCESSORS,
        shared_memory_per_block_optin=device["shared_per_block"] or 0, warp_size=32,
        regs_per_multiprocessor=device["registers_per_sm"] or 0, total_memory=1 << 37, L2_cache_size=50 << 20,
        max_threads_per_multi_processor=32 * (device["warps_per_sm"] or 0))
    replaced: Dict[str, Any] = {
        "is_available": lambda: True, "device_count": lambda: 1, "current_device": lambda: 0, "init": lambda: None,
        "set_device": lambda *_: None, "synchronize": lambda *_, **__: None, "Stream": _Stream,
        "current_stream": lambda *_, **__: _Stream(), "default_stream": lambda *_, **__: _Stream(),
        "stream": lambda *_, **__: contextlib.nullcontext(), "get_device_capability": lambda *_, **__: major_minor,
        "get_device_name": lambda *_, **__: properties.name, "get_device_properties": lambda *_, **__: properties}
    for name, value in replaced.items():
        setattr(torch.cuda, name, value)
    if not _entered:
        _entered.append(_mode())
        _entered[0].__enter__()


def _mode() -> Any:
    """PyTorch's hook into its functions: devices of CUDA become the CPU, and its tensors say that they are on CUDA."""
    import torch
    from torch.overrides import TorchFunctionMode

    def moved(device: Any) -> Any:
        return "cpu" if str(device).startswith("cuda") or type(device) is int else device

    class OnCpu(TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, function: Any, kinds: Any, arguments: Any = (), named: Any = None) -> Any:
            named = dict(named or {})
            name = getattr(function, "__name__", "")
            if "device" in named:
                named["device"] = moved(named["device"])
            if function == torch.Tensor.is_cuda.__get__:
                return True
            if name == "cuda":
                return arguments[0]
            if name == "to":
                arguments = tuple(moved(each) if isinstance(each, (str, torch.device)) else each for each in arguments)
            return function(*arguments, **named)

    return OnCpu()


class Places:
    """Memory of the host that kernels may point into: that of PyTorch's tensors, of arrays of numpy that were handed over, and what
    host code has allocated."""

    def __init__(self) -> None:
        #: What host code has allocated, by address.
        self._allocated: Dict[int, NDArray[Any]] = {}
        #: Arrays of numpy that were handed over.
        self._arrays: List[weakref.ref[NDArray[Any]]] = []
        #: Address and size of all that is known.
        self._known: List[Tuple[int, int]] = []

    def allocate(self, size: int) -> int:
        """Memory for host code; its address."""
        # Arrays of numpy lie at multiples of 16, those of CUDA at multiples of 256.
        memory = np.empty(size + _ALIGNMENT, np.uint8)
        address = -(-memory.ctypes.data // _ALIGNMENT) * _ALIGNMENT
        start = address - memory.ctypes.data
        self._allocated[address] = memory[start:start + size]
        return address

    def free(self, address: int) -> bool:
        """Gives such memory back; whether there was any."""
        return self._allocated.pop(address, None) is not None

    def hand_over(self, array: NDArray[Any]) -> None:
        """An array of numpy that kernels may point into as long as it is there."""
        self._arrays.append(weakref.ref(array))

    def hand_over_memory(self, address: int, size: int) -> None:
        """Memory that others hold, for launches before the next `look`."""
        if size:
            self._known.append((address, size))

    def pointer(self, address: int) -> Optional[Pointer]:
        """An address as an argument of a launch; `None` if nothing that is known lies there. The place behind an array's last byte
        is one of it too, if no other begins there: reading there is a fault."""
        inside = [known for known in self._known if known[0] <= address < known[0] + known[1]]
        behind = [known for known in self._known if address == known[0] + known[1]]
        for start, size in (inside or behind)[:1]:
            memory = np.frombuffer((ctypes.c_char * size).from_address(start), np.uint8)
            return Pointer(memory, address - start)
        return None

    def pointers(self, data: bytes) -> Dict[int, Pointer]:
        """The addresses in the bytes of a parameter, at multiples of eight."""
        found = ((at, self.pointer(int.from_bytes(data[at:at + 8], "little"))) for at in range(0, len(data) - 7, 8))
        return {at: pointer for at, pointer in found if pointer is not None}

    def look(self) -> None:
        """Looks anew for what there is: before each launch, since nobody says when a tensor is made."""
        self._arrays = [array for array in self._arrays if array() is not None]
        arrays = [array for array in (*(array() for array in self._arrays), *self._allocated.values()) if array is not None]
        known = {(array.ctypes.data, array.nbytes) for array in arrays}
        self._known = sorted(each for each in known | set(_storages()) if each[1])


def _storages() -> Iterator[Tuple[int, int]]:
    """Address and size of the memory of each of PyTorch's tensors on the CPU."""
    torch: Any = sys.modules.get("torch")
    for each in gc.get_objects() if torch is not None else ():
        # By its type alone: `isinstance` asks objects, of which some answer by importing modules.
        if issubclass(type(each), torch.Tensor) and each.device.type == "cpu":
            try:
                storage = torch._C.TensorBase.untyped_storage(each)
                yield (storage.data_ptr(), storage.nbytes())
            except (RuntimeError, NotImplementedError):
                # A tensor without memory: a fake one, a sparse one.
                continue
