"""Oriole: PTX or LLVM IR to a cubin, and a simulator that runs it. No GPU, no NVIDIA software.

>>> import numpy as np, oriole_gpu
>>> compiled = oriole_gpu.compile(ptx, arch="sm_90")          # doctest: +SKIP
>>> x, y = np.ones(1000, np.float32), np.zeros(1000, np.float32)
>>> oriole_gpu.launch(compiled, "saxpy", 4, 256, 2.0, x, y, 1000)  # doctest: +SKIP

`compile` gives a `Compiled`, `launch` a `Report`; `kernel` makes something that is launched as `k[grid, block](*args)`.
`compile_many` and `tune` do many such, by whatever `concurrent.futures.Executor` they are given.
What goes wrong is a `CompileError`, a `KernelFault` (with `LaunchTimeout` and `CheckError`), or, where an argument makes no
sense, a `TypeError` or `ValueError`; `InternalError` where Oriole itself is at fault.
"""

from ._arguments import Aggregate, Pointer
from ._compile import Compiled, Kernel, Live, Parameter, compile, disassemble
from ._errors import Access, CheckError, CompileError, Diagnostic, Finding, InternalError, KernelFault, LaunchTimeout, Note
from ._launch import Launcher, Report, Timing, kernel, launch
from ._many import Candidate, Tuned, compile_many, tune

__version__ = "0.1.0"

__all__ = [
    "Access",
    "Aggregate",
    "Candidate",
    "CheckError",
    "CompileError",
    "Compiled",
    "Diagnostic",
    "Finding",
    "InternalError",
    "Kernel",
    "KernelFault",
    "LaunchTimeout",
    "Launcher",
    "Live",
    "Note",
    "Parameter",
    "Pointer",
    "Report",
    "Timing",
    "Tuned",
    "compile",
    "compile_many",
    "disassemble",
    "kernel",
    "launch",
    "tune",
]
