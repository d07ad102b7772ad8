"""CUDA C++ to PTX, by whoever is installed: Oriole begins at PTX."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import List, Optional, Sequence

from ._errors import CompileError

#: Names the compiler where it is not on the path, or should be another than the first that is.
VARIABLE = "ORIOLE_CUDA_COMPILER"

#: Compilers in the order in which they are looked for.
_COMPILERS = ("nvcc", "clang++")


def ptx_of(source: Path, arch: str, options: Sequence[str] = ()) -> str:
    """The PTX of a file of CUDA C++.

    :param source: the file.
    :param arch: target such as `sm_90`.
    :param options: words for the compiler besides.
    :raises FileNotFoundError: there is no compiler, or no such file.
    :raises CompileError: the compiler refuses the file; what it says is the message.
    """
    if not source.is_file():
        raise FileNotFoundError(f"{source}: there is no such file")
    compiler = _compiler()
    if compiler is None:
        raise FileNotFoundError(
            f"{source} is CUDA C++, which nvcc or clang++ make into PTX: neither is on the path, and {VARIABLE} names none"
        )
    with tempfile.TemporaryDirectory(prefix="oriole.") as folder:
        output = Path(folder) / f"{source.stem}.ptx"
        ended = subprocess.run(
            [compiler, *_words(compiler, arch), *options, str(source), "-o", str(output)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if ended.returncode:
            raise CompileError(f"{Path(compiler).name}: {ended.stdout.strip() or f'exit status {ended.returncode}'}")
        return output.read_text()


def _compiler() -> Optional[str]:
    named = os.environ.get(VARIABLE)
    found = [shutil.which(name) for name in ([named] if named else _COMPILERS)]
    return next(filter(None, found), None)


def _words(compiler: str, arch: str) -> List[str]:
    if "nvcc" in Path(compiler).name:
        return ["--ptx", f"-arch={arch.replace('sm_', 'compute_', 1)}", "-O3", "-lineinfo"]
    return ["-x", "cuda", "--cuda-device-only", f"--cuda-gpu-arch={arch}", "-O3", "-S"]
