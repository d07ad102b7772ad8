"""Long jobs in pieces, for one machine or many: each takes a `concurrent.futures.Executor`, of whatever package."""

from __future__ import annotations

import copy
import hashlib
import os
import pickle
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, TypeVar, Union

from . import _compile, _launch, _settings
from ._compile import Bytes, Compiled
from ._errors import CompileError, KernelFault

_Piece = TypeVar("_Piece")
_Result = TypeVar("_Result")


def compile_many(
    sources: Iterable[Union[str, Bytes]],
    arch: Optional[str] = "sm_90",
    *,
    executor: Optional[Executor] = None,
    return_exceptions: bool = False,
    **settings: Any,
) -> List[Union[Compiled, CompileError]]:
    """Compiles many sources side by side. Each gets the bytes that it has when it is compiled alone, wherever that is.

    :param sources: what `compile` takes.
    :param executor: where the work is done: threads of this process if there is none. Pools of processes will do, and what other
        packages have for clusters, such as `dask.distributed.Client().get_executor()`; Oriole has to be installed there, in the
        same version.
    :param return_exceptions: put the `CompileError` of a source that has no cubin into its place of the list.
    :param settings: keywords of `compile`, the same for all.
    :returns: what `compile` gives, in the order of the sources.
    :raises CompileError: the first source that has no cubin has this; without `return_exceptions`.
    """
    jobs = [
        _Compilation(source if isinstance(source, str) else bytes(source), arch, dict(settings)) for source in sources
    ]
    results: List[Union[Compiled, CompileError]] = _each(executor, _compiled, jobs)
    for result in results:
        if isinstance(result, CompileError) and not return_exceptions:
            raise result
    return results


@dataclass(frozen=True)
class Candidate:
    """One way to compile a kernel, and what came of it."""

    #: Keywords of `compile`.
    settings: Mapping[str, Any]
    #: The launch's cycles by the model, and general registers of the kernel; `None` where the candidate does not count.
    cycles: Optional[int]
    registers: Optional[int]
    #: Why it does not count, in one line.
    refused: Optional[str] = None


@dataclass(frozen=True)
class Tuned:
    """What `tune` has found."""

    #: The code of the best candidate.
    compiled: Compiled
    #: The code that candidates have to agree with, and the best: itself where none is better.
    plain: Candidate
    best: Candidate
    #: All, in the order in which they were given.
    candidates: Tuple[Candidate, ...]


def tune(
    source: Union[str, Bytes],
    entry: str,
    grid: _launch.Dim,
    block: _launch.Dim,
    *args: Any,
    candidates: Iterable[Mapping[str, Any]],
    arch: Optional[str] = "sm_90",
    executor: Optional[Executor] = None,
    **settings: Any,
) -> Tuned:
    """Compiles a kernel in several ways, and says with which a launch takes the fewest cycles by the cycle model.

    A candidate counts if the launch leaves the same as with plain code, bit for bit, on the strict simulator. Of equals the first
    is the best. The result does not depend on the executor. The command `oriole tune` makes its candidates itself.

    >>> oriole_gpu.tune(ptx, "k", 64, 256, x, y, candidates=[{"maxrregcount": n} for n in (32, 48, 64)])  # doctest: +SKIP

    :param source: what `compile` takes.
    :param entry: the kernel.
    :param grid: its launch, as `launch` takes it; the arrays among `args` stay as they are. Each of them is copied: those that
        share memory do not share it in the launches.
    :param candidates: keywords of `compile` for each, over those of `settings`.
    :param arch: target.
    :param executor: where the work is done, as for `compile_many`; what is sent there are the source, the settings and the
        arguments.
    :param settings: keywords of `compile` for all, and of the launch (`shared`, `cluster`, `timeout`, `memory`).
    :raises CompileError: plain code has none.
    :raises KernelFault: the launch faults with plain code.
    """
    launching = {name: settings.pop(name) for name in _launch.LAUNCH_SETTINGS & settings.keys()}
    launching = {**launching, "strict": True, "timing": True, "threads": 1}
    code = source if isinstance(source, str) else bytes(source)
    ways: List[Dict[str, Any]] = [{}]
    for way in candidates:
        _settings.expect("candidates", "keywords of compile for each", way, isinstance(way, Mapping))
        ways.append(dict(way))
    jobs = [
        _Trial(_Compilation(code, arch, {**settings, **way}), (entry, grid, block), args, launching) for way in ways
    ]
    plain, *others = _each(executor, _tried, jobs)
    if plain.error is not None:
        raise plain.error
    judged = [_judged(way, trial, plain) for way, trial in zip(ways, [plain, *others])]
    best = min((at for at, one in enumerate(judged) if one.cycles is not None), key=lambda at: judged[at].cycles or 0)
    compiled = _compiled(jobs[best].compilation)
    if isinstance(compiled, CompileError):
        raise compiled
    return Tuned(compiled, judged[0], judged[best], tuple(judged[1:]))


@dataclass(frozen=True)
class _Compilation:
    """A compilation, as it is sent to who does it."""

    source: Union[str, bytes]
    arch: Optional[str]
    settings: Mapping[str, Any]


def _compiled(job: _Compilation) -> Union[Compiled, CompileError]:
    try:
        return _compile.compile(job.source, job.arch, **job.settings)
    except CompileError as error:
        return error


@dataclass(frozen=True)
class _Trial:
    """A compilation with a launch."""

    compilation: _Compilation
    #: Entry, grid, block.
    shape: Tuple[str, _launch.Dim, _launch.Dim]
    args: Sequence[Any]
    launching: Mapping[str, Any]


@dataclass(frozen=True)
class _Outcome:
    """What came of a trial."""

    error: Optional[Exception] = None
    cycles: Optional[int] = None
    registers: Optional[int] = None
    #: Of all that the launch left.
    left: str = ""


def _tried(job: _Trial) -> _Outcome:
    compiled = _compiled(job.compilation)
    if isinstance(compiled, CompileError):
        return _Outcome(error=compiled)
    # The launch writes to them, and those of the caller are of other trials too.
    args = copy.deepcopy(job.args)
    try:
        report = _launch.launch(compiled, *job.shape, *args, **job.launching)
    except KernelFault as error:
        return _Outcome(error=error)
    left = hashlib.sha256(pickle.dumps((args, report.printed)))
    return _Outcome(None, report.cycles, compiled.kernel(job.shape[0]).registers, left.hexdigest())


def _judged(way: Mapping[str, Any], trial: _Outcome, plain: _Outcome) -> Candidate:
    if trial.error is not None:
        return Candidate(way, None, None, str(trial.error).split("\n", 1)[0])
    if trial.left != plain.left:
        return Candidate(way, None, None, "the launch leaves something else than with plain code")
    return Candidate(way, trial.cycles, trial.registers)


def _each(executor: Optional[Executor], work: Callable[[_Piece], _Result], pieces: Sequence[_Piece]) -> List[_Result]:
    """What comes of each piece, in order. The first error is raised, and what has not begun then does not begin."""
    if executor is None:
        with ThreadPoolExecutor(os.cpu_count()) as threads:
            return _each(threads, work, pieces)
    futures: List[Future[_Result]] = [executor.submit(work, piece) for piece in pieces]
    try:
        return [future.result() for future in futures]
    finally:
        for future in futures:
            future.cancel()
