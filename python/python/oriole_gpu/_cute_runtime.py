"""CuTe DSL's runtime library: what its host code asks of CUDA, answered by the simulator.

The names and arguments are those of the CUDA runtime and driver, with the underline that the DSL's library puts in front. What is
not here says its name on standard error and is `cudaErrorNotSupported` (`python/src/cute.rs`).
"""

from __future__ import annotations

import ctypes
import struct
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

from . import _oriole
from ._arguments import Aggregate
from ._host import Places

#: Numbers of CUDA's errors, and their names.
SUCCESS, INVALID_VALUE, INVALID_HANDLE, SYMBOL_NOT_FOUND, LAUNCH_FAILURE, NOT_SUPPORTED = 0, 1, 400, 500, 719, 801
_NAMES = {SUCCESS: b"cudaSuccess", INVALID_VALUE: b"cudaErrorInvalidValue", INVALID_HANDLE: b"cudaErrorInvalidResourceHandle",
          SYMBOL_NOT_FOUND: b"cudaErrorSymbolNotFound", LAUNCH_FAILURE: b"cudaErrorLaunchFailure",
          NOT_SUPPORTED: b"cudaErrorNotSupported"}

#: Attributes of launches (`cudaLaunchAttributeID`).
_IGNORED, _COOPERATIVE, _CLUSTER, _PRIORITY, _SERIALIZATION, _PREFERRED_CLUSTER = 0, 2, 4, 8, 6, 11
#: Bytes of a `cudaLaunchAttribute`, and where in it the value stands.
_ATTRIBUTE_SIZE, _ATTRIBUTE_VALUE = 72, 8
#: `cudaLaunchConfig_t`: grid, block, bytes of shared memory, stream, attributes and how many.
_CONFIGURATION = struct.Struct("<3I3IQQQI")
#: The header of a fatbinary: magic, version, size of the header, size of what follows.
_FATBINARY = struct.Struct("<IHHQ")
_FATBINARY_MAGIC = 0xBA55ED50

#: Attributes of devices (`cudaDeviceAttr`) by their numbers: what they are called in `_oriole.device`.
_DEVICE_ATTRIBUTES = {1: "threads_per_block", 8: "shared_per_block", 12: "registers_per_sm", 16: "multiprocessors",
                      81: "shared_per_sm", 82: "registers_per_sm", 97: "shared_per_block"}
#: Attributes of kernels (`CUfunction_attribute`).
_KERNEL_THREADS, _KERNEL_SHARED, _KERNEL_REGISTERS = 0, 1, 4
_WARP_SIZE, _MAJOR, _MINOR = 10, 75, 76

#: One launch: cubin, kernel, grid, block, bytes of shared memory, blocks of a cluster, arguments.
Launch = Callable[[bytes, str, Tuple[int, int, int], Tuple[int, int, int], int, Optional[Tuple[int, int, int]], List[Any]], None]


class Runtime:
    """The library's functions, by their names; put in by `install`."""

    def __init__(self, device: Mapping[str, Optional[int]], capability: Tuple[int, int], compiled: Callable[[bytes], bytes],
                 launch: Launch) -> None:
        """
        :param device: what there is of each thing.
        :param compiled: the cubin that is run in the place of the one that host code has brought along.
        :param launch: runs a kernel.
        """
        self.device = device
        self.capability = capability
        self.places = Places()
        #: What went wrong in the last call of host code, which knows numbers of errors alone.
        self.error: Optional[BaseException] = None
        self._compiled = compiled
        self._launch = launch
        self._handles = 0
        # By handle: the cubin of a library; library and name of a kernel.
        self._libraries: Dict[int, Tuple[bytes, Any]] = {}
        self._kernels: Dict[int, Tuple[int, bytes]] = {}
        self._texts = {number: ctypes.create_string_buffer(name) for number, name in _NAMES.items()}

    def _handle(self) -> int:
        self._handles += 1
        # Numbers that are neither null nor addresses.
        return self._handles << 4

    # Libraries and kernels.

    def load(self, out: int, data: int, *_: int) -> int:
        """`cudaLibraryLoadData`."""
        cubin = self._compiled(_image(data))
        handle = self._handle()
        self._libraries[handle] = (cubin, _oriole.Module(cubin))
        _write(out, handle)
        return SUCCESS

    def unload(self, library: int, *_: int) -> int:
        """`cudaLibraryUnload`."""
        return INVALID_HANDLE if self._libraries.pop(library, None) is None else SUCCESS

    def kernel(self, out: int, library: int, name: int, *_: int) -> int:
        """`cudaLibraryGetKernel`."""
        if library not in self._libraries:
            return INVALID_HANDLE
        text = ctypes.string_at(name)
        if text.decode() not in self._libraries[library][1].kernels:
            return SYMBOL_NOT_FOUND
        handle = self._handle()
        self._kernels[handle] = (library, text)
        _write(out, handle)
        return SUCCESS

    def kernel_count(self, out: int, library: int, *_: int) -> int:
        """`cudaLibraryGetKernelCount`."""
        if library not in self._libraries:
            return INVALID_HANDLE
        _write(out, len(self._libraries[library][1].kernels), ctypes.c_uint32)
        return SUCCESS

    def kernel_attribute(self, out: int, number: int, kernel: int, *_: int) -> int:
        """`cuKernelGetAttribute`. Of static shared memory, which host code subtracts from what it then allows a kernel to take, there
        is said to be none: no such permission limits launches here."""
        if kernel not in self._kernels:
            return INVALID_HANDLE
        library, name = self._kernels[kernel]
        known = {_KERNEL_THREADS: self.device["threads_per_block"], _KERNEL_SHARED: 0,
                 _KERNEL_REGISTERS: self._libraries[library][1].registers(name.decode())}
        value = known.get(number & 0xFFFFFFFF)
        if value is None:
            raise NotImplementedError(f"oriole_gpu.cute does not know attribute {number & 0xFFFFFFFF} of kernels (CUfunction_attribute)")
        _write(out, value, ctypes.c_int32)
        return SUCCESS

    # Launches.

    def launch(self, configuration: int, kernel: int, arguments: int, *_: int) -> int:
        """`cudaLaunchKernelExC`."""
        *sizes, shared, _stream, attributes, count = _CONFIGURATION.unpack(ctypes.string_at(configuration, _CONFIGURATION.size))
        cluster = None
        for at in range(attributes, attributes + (count & 0xFFFFFFFF) * _ATTRIBUTE_SIZE, _ATTRIBUTE_SIZE):
            number = ctypes.c_uint32.from_address(at).value
            value = struct.unpack("<3I", ctypes.string_at(at + _ATTRIBUTE_VALUE, 12))
            if number in (_CLUSTER, _PREFERRED_CLUSTER):
                cluster = value if number == _CLUSTER and value != (1, 1, 1) else cluster
            elif number == _COOPERATIVE and value[0]:
                raise NotImplementedError("oriole_gpu.cute has no cooperative launches")
            elif number not in (_IGNORED, _COOPERATIVE, _PRIORITY, _SERIALIZATION):
                raise NotImplementedError(f"oriole_gpu.cute has no launches with attribute {number} (cudaLaunchAttributeID)")
        return self._run(kernel, (sizes[0], sizes[1], sizes[2]), (sizes[3], sizes[4], sizes[5]), shared, cluster, arguments)

    def launch_plain(self, kernel: int, grid_xy: int, grid_z: int, block_xy: int, block_z: int, arguments: int, shared: int,
                     *_: int) -> int:
        """`cudaLaunchKernel`: a `dim3` comes in two words."""
        low = (1 << 32) - 1
        grid, block = ((xy & low, xy >> 32, z & low) for xy, z in ((grid_xy, grid_z), (block_xy, block_z)))
        return self._run(kernel, grid, block, shared, None, arguments)

    def _run(self, kernel: int, grid: Tuple[int, int, int], block: Tuple[int, int, int], shared: int,
             cluster: Optional[Tuple[int, int, int]], arguments: int) -> int:
        if kernel not in self._kernels:
            return INVALID_HANDLE
        library, text = self._kernels[kernel]
        cubin, module = self._libraries[library]
        name = text.decode()
        parameters = module.parameters(name) or ()
        pointers = (ctypes.c_uint64 * len(parameters)).from_address(arguments) if parameters else ()
        self.places.look()
        values = []
        for pointer, (_, size, _type) in zip(pointers, parameters):
            data = ctypes.string_at(pointer, size)
            values.append(Aggregate(data, self.places.pointers(data)))
        self._launch(cubin, name, grid, block, shared, cluster, values)
        return SUCCESS

    # Devices.

    def device_attribute(self, out: int, number: int, *_: int) -> int:
        """`cudaDeviceGetAttribute`."""
        number &= 0xFFFFFFFF
        known = {_WARP_SIZE: 32, _MAJOR: self.capability[0], _MINOR: self.capability[1]}
        value = self.device[_DEVICE_ATTRIBUTES[number]] if number in _DEVICE_ATTRIBUTES else known.get(number)
        if value is None:
            raise NotImplementedError(f"oriole_gpu.cute does not know attribute {number} of devices (cudaDeviceAttr)")
        _write(out, value, ctypes.c_int32)
        return SUCCESS

    def zero(self, out: int, *_: int) -> int:
        """Functions that answer with the number of the device, which is 0."""
        _write(out, 0, ctypes.c_int32)
        return SUCCESS

    def one(self, out: int, *_: int) -> int:
        """`cudaGetDeviceCount`."""
        _write(out, 1, ctypes.c_int32)
        return SUCCESS

    def nothing(self, *_: int) -> int:
        """Functions that have nothing to do: launches and copies end before they return, and no attribute limits a kernel."""
        return SUCCESS

    def new_handle(self, out: int, *_: int) -> int:
        """Streams and events."""
        _write(out, self._handle())
        return SUCCESS

    # Memory.

    def allocate(self, out: int, size: int, *_: int) -> int:
        """`cudaMalloc` and its like."""
        _write(out, self.places.allocate(size) if size else 0)
        return SUCCESS

    def free(self, address: int, *_: int) -> int:
        """`cudaFree` and its like."""
        return SUCCESS if address == 0 or self.places.free(address) else INVALID_VALUE

    def copy(self, target: int, source: int, size: int, *_: int) -> int:
        """`cudaMemcpy`: host and device are one memory."""
        ctypes.memmove(target, source, size)
        return SUCCESS

    def fill(self, target: int, value: int, size: int, *_: int) -> int:
        """`cudaMemset`."""
        ctypes.memset(target, value & 0xFF, size)
        return SUCCESS

    def tensor_map(self, out: int, element: int, rank: int, address: int, sizes: int, strides: int, shape: int,
                   element_strides: int, interleave: int, swizzle: int, _promotion: int, fill: int) -> int:
        """`cuTensorMapEncodeTiled`."""
        low = (1 << 32) - 1
        rank &= low
        if interleave & low:
            raise NotImplementedError("oriole_gpu.cute has no tensor maps of interleaved tensors")
        words = lambda at, count, kind: list((kind * count).from_address(at)) if count else []  # noqa: E731
        made = _oriole.tensor_map({
            "address": address, "element": element & low, "sizes": words(sizes, rank, ctypes.c_uint64),
            "strides": words(strides, rank - 1, ctypes.c_uint64), "shape": words(shape, rank, ctypes.c_uint32),
            "element_strides": words(element_strides, rank, ctypes.c_uint32), "swizzle": swizzle & low, "nan": bool(fill & low)})
        ctypes.memmove(out, made, len(made))
        return SUCCESS

    # What the DSL's library adds.

    def load_once(self, state: int, load: int, to_device: int, _set_error: int, *_: int) -> int:
        """`cuda_dialect_init_library_once`: by two functions of the host code, unless `state` has a library already."""
        if ctypes.c_uint64.from_address(state).value:
            return SUCCESS
        library, device, error = ctypes.c_uint64(0), ctypes.c_int32(0), ctypes.c_int32(0)
        place = ctypes.c_uint64(ctypes.addressof(library))
        # Each is given an array with the addresses of its arguments, and behind them that of its result.
        for function, arguments in ((load, (place, error)), (to_device, (place, device, error))):
            packed = (ctypes.c_uint64 * len(arguments))(*map(ctypes.addressof, arguments))
            ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(function)(ctypes.addressof(packed))
            if error.value:
                return error.value
        _write(state, library.value)
        return SUCCESS

    def unload_once(self, state: int, *_: int) -> int:
        """`cuda_dialect_unload_library_once`."""
        self.unload(ctypes.c_uint64.from_address(state).value)
        _write(state, 0)
        return SUCCESS

    def error_name(self, number: int, *_: int) -> int:
        """`cudaGetErrorName`."""
        return ctypes.addressof(self._texts.get(number & 0xFFFFFFFF, self._texts[NOT_SUPPORTED]))

    def functions(self) -> Dict[str, Callable[..., int]]:
        """What there is, by the library's names."""
        done = {name: self.nothing for name in _NOTHING}
        return {
            **done,
            "_cudaLibraryLoadData": self.load, "_cuLibraryLoadData": self.load,
            "_cudaLibraryUnload": self.unload, "_cuLibraryUnload": self.unload,
            "_cudaLibraryGetKernel": self.kernel, "_cuLibraryGetKernel": self.kernel,
            "_cudaLibraryGetKernelCount": self.kernel_count, "_cuLibraryGetKernelCount": self.kernel_count,
            "_cuKernelGetAttribute": self.kernel_attribute,
            "_cudaLaunchKernelEx": self.launch, "_cudaLaunchKernel": self.launch_plain,
            "_cudaDeviceGetAttribute": self.device_attribute,
            "_cudaGetDevice": self.zero, "_cuDeviceGet": self.zero, "_cudaGetDeviceCount": self.one,
            "_cudaStreamCreate": self.new_handle, "_cudaEventCreate": self.new_handle,
            "_cudaMalloc": self.allocate, "_cudaMallocAsync": self.allocate, "_cudaMallocHost": self.allocate,
            "_cudaMallocManaged": self.allocate,
            "_cudaFree": self.free, "_cudaFreeAsync": self.free, "_cudaFreeHost": self.free,
            "_cudaMemcpy": self.copy, "_cudaMemcpyAsync": self.copy, "_cudaMemset": self.fill, "_cudaMemsetAsync": self.fill,
            "_cuTensorMapEncodeTiled": self.tensor_map,
            "cuda_dialect_init_library_once": self.load_once, "cuda_dialect_unload_library_once": self.unload_once,
            "cuda_dialect_get_error_name": self.error_name, "CuteDSLRT_GetErrorName": self.error_name,
            "CuteDSLRT_GetErrorString": self.error_name,
        }

    def _guarded(self, function: Callable[..., int]) -> Callable[..., int]:
        """Host code is no Python: what a function raises is kept until it is done."""

        def call(*words: int) -> int:
            try:
                return function(*words)
            except BaseException as error:
                self.error = self.error or error
                return NOT_SUPPORTED if isinstance(error, NotImplementedError) else LAUNCH_FAILURE

        return call

    def install(self) -> None:
        """From now on the library's functions are these."""
        words = dict(_oriole.cute_functions())
        for name, function in self.functions().items():
            kind = ctypes.CFUNCTYPE(ctypes.c_uint64, *[ctypes.c_uint64] * words[name])
            handler = kind(self._guarded(function))
            # Host code may call it until the process ends.
            _handlers.append(handler)
            _oriole.cute_handle(name, ctypes.cast(handler, ctypes.c_void_p).value or 0)


#: What ctypes made of all functions that were ever put in.
_handlers: List[Any] = []

#: Functions that have nothing to do.
_NOTHING = ("_cudaSetDevice", "_cudaDeviceSynchronize", "_cudaStreamSynchronize", "_cudaStreamDestroy", "_cudaStreamWaitEvent",
            "_cudaEventRecord", "_cudaEventDestroy", "_cudaFuncSetAttribute", "_cudaKernelSetAttributeForDevice",
            "_cudaProfilerStart", "_cudaProfilerStop", "cuda_dialect_print_on_error", "cuda_dialect_assert_success",
            "CuteDSLRT_TVMFFISetRaisedCudaError", "CuteDSLRT_TVMFFISetRaisedCudaLaunchError")


def _write(address: int, value: int, kind: Any = ctypes.c_uint64) -> None:
    kind.from_address(address).value = value


def _image(address: int) -> bytes:
    """What host code hands over to be loaded: a fatbinary."""
    magic, _, header, size = _FATBINARY.unpack(ctypes.string_at(address, _FATBINARY.size))
    if magic != _FATBINARY_MAGIC:
        raise NotImplementedError(f"oriole_gpu.cute loads fatbinaries, not what begins with {magic:#x}")
    return ctypes.string_at(address, header + size)
