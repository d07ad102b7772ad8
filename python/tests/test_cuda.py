"""CUDA C++ by whichever compiler is installed, and by one that stands in for it."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from kernels import SAXPY

import oriole_gpu

SOURCE = """
#ifdef __clang__
#define __global__ __attribute__((global))
#define ID __nvvm_read_ptx_sreg_tid_x()
#else
#define ID threadIdx.x
#endif
__global__ void scale(float *x, float factor) { x[ID] *= factor; }
"""


def stand_in(folder: Path, script: str) -> str:
    """A program that is called as nvcc is."""
    path = folder / "nvcc"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.skipif(not shutil.which("nvcc") and not os.environ.get("ORIOLE_CUDA_COMPILER"), reason="no compiler of CUDA C++")
def test_a_kernel_of_cuda(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(SOURCE)
    x = np.arange(32, dtype=np.float32)
    oriole_gpu.kernel(tmp_path / "k.cu", "scale", "sm_80", strict=True)[1, 32](x, 3.0)
    assert np.array_equal(x, 3 * np.arange(32, dtype=np.float32))


def test_what_the_compiler_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "k.cu").write_text("unread")
    (tmp_path / "saxpy.ptx").write_text(SAXPY)
    script = f'echo "$@" > {tmp_path}/words\nwhile [ "$1" != -o ]; do shift; done\ncp {tmp_path}/saxpy.ptx "$2"'
    monkeypatch.setenv("ORIOLE_CUDA_COMPILER", stand_in(tmp_path, script))
    kernel = oriole_gpu.kernel(tmp_path / "k.cu", arch="sm_90a")
    assert kernel.entry == "saxpy"
    words = (tmp_path / "words").read_text().split()
    assert words[:2] == ["--ptx", "-arch=compute_90a"] and str(tmp_path / "k.cu") in words


def test_what_goes_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "k.cu"
    with pytest.raises(FileNotFoundError, match="k.cu: there is no such file"):
        oriole_gpu.kernel(source)
    source.write_text("no C++")
    monkeypatch.setenv("ORIOLE_CUDA_COMPILER", stand_in(tmp_path, "echo k.cu: wrong; exit 1"))
    with pytest.raises(oriole_gpu.CompileError, match="nvcc: k.cu: wrong"):
        oriole_gpu.kernel(source)
    monkeypatch.setenv("ORIOLE_CUDA_COMPILER", str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError, match="nvcc or clang"):
        oriole_gpu.kernel(source)
