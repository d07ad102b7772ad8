"""cuda12.py LIBRARY: fatbinaries by libnvfatbin of CUDA 12, from the cubins and PTX that make.sh has made."""

import ctypes
import sys
from pathlib import Path

library = ctypes.CDLL(sys.argv[1])


def make(output, options, images):
    handle = ctypes.c_void_p()
    words = (ctypes.c_char_p * len(options))(*[option.encode() for option in options])
    check(library.nvFatbinCreate(ctypes.byref(handle), words, ctypes.c_size_t(len(options))))
    for arch, kind, name in images:
        data = Path(f"{arch}.{kind}").read_bytes()
        name = name and name.encode()
        if kind == "cubin":
            check(library.nvFatbinAddCubin(handle, data, ctypes.c_size_t(len(data)), arch.encode(), name))
        else:
            size = ctypes.c_size_t(len(data) + 1)
            check(library.nvFatbinAddPTX(handle, data + b"\0", size, arch.encode(), name, None))
    size = ctypes.c_size_t()
    check(library.nvFatbinSize(handle, ctypes.byref(size)))
    out = ctypes.create_string_buffer(size.value)
    check(library.nvFatbinGet(handle, out))
    Path(output).write_bytes(out.raw)


def check(status):
    assert status == 0, status


images = [(arch, "cubin", None) for arch in ("75", "80", "90a", "100a", "120")]
images += [(arch, "ptx", None) for arch in ("80", "90a", "120")]
make("cuda12-default.fatbin", ["-64"], images)
make("cuda12-lz4.fatbin", ["-64", "-compress-all"], images)
make("cuda12-zstd.fatbin", ["-64", "-compress-all", "-compress-mode=size"], images)
named = "dir/other file.cu"
make("cuda12-named.fatbin", ["-64", "-g"], [("80", "cubin", "saxpy.cu"), ("90a", "cubin", named), ("90a", "ptx", named)])
