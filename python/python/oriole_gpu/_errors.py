"""What goes wrong, as exceptions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Mapping, Optional, Sequence, Tuple


@dataclass(frozen=True)
class Note:
    """What else is to be said of a diagnostic."""

    message: str
    #: Line and column of the text that it is about, from 1, where it is about some.
    place: Optional[Tuple[int, int]]


@dataclass(frozen=True)
class Diagnostic:
    """One error or warning about a source."""

    #: `"error"` or `"warning"`.
    severity: str
    #: What is wrong, in one line.
    message: str
    #: Line and column (in characters) of the text that is wrong, from 1; `None` where it is no place of the source.
    line: Optional[int]
    column: Optional[int]
    #: The rule of PTX that is broken, by a short name such as `operand-type`.
    rule: Optional[str]
    notes: Tuple[Note, ...]
    #: Several lines for people: message, place, the line quoted with a caret, advice.
    text: str

    def __str__(self) -> str:
        return self.text

    @classmethod
    def _of(cls, fields: Mapping[str, Any]) -> Diagnostic:
        notes = tuple(Note(message, place) for message, place in fields["notes"])
        return cls(**{**fields, "notes": notes})


@dataclass(frozen=True)
class Access:
    """An access to memory that is part of a `Finding`."""

    #: What it does: `read`, `write`, `atomic` or `copy`.
    access: str
    #: The function that the instruction is in.
    function: str
    #: Coordinates of block and thread, x first.
    block: Tuple[int, int, int]
    thread: Tuple[int, int, int]
    #: Byte offset of the instruction in its function.
    offset: int
    #: The instruction as text.
    instruction: str
    #: Line of the PTX, from 1, where it is known.
    line: Optional[int]

    @classmethod
    def _of(cls, fields: Mapping[str, Any]) -> Access:
        return cls(**{**fields, "block": tuple(fields["block"]), "thread": tuple(fields["thread"])})


@dataclass(frozen=True)
class Finding:
    """What the checks of memory (`launch(..., check=True)`) found: the first of its kind at its instructions."""

    #: `race`, `uninitialised`, `outside-variable`, `outside-frame`, `outside-heap-block`, `use-after-free` or `leak`.
    kind: str
    #: Whether the kernel is wrong; else it is a note (`leak`).
    is_error: bool
    #: The memory: address, and variable or allocation with offset.
    place: str
    #: How often it happened: threads and executions.
    times: int
    #: The access at which it was found, and the earlier one where two belong to it (`race`).
    access: Access
    earlier: Optional[Access]
    #: All of it, in several lines.
    text: str

    def __str__(self) -> str:
        return self.text

    @classmethod
    def _of(cls, fields: Mapping[str, Any]) -> Finding:
        earlier = None if fields["earlier"] is None else Access._of(fields["earlier"])
        return cls(**{**fields, "access": Access._of(fields["access"]), "earlier": earlier})


class CompileError(Exception):
    """There is no cubin: the source is wrong, or has what is not supported, or the machine cannot hold it.

    `diagnostics` are all places that were found; none where the source is not to blame, such as for a kernel that is not in
    the module. As text the error has them all, each with its line quoted.
    """

    diagnostics: Tuple[Diagnostic, ...]

    def __init__(self, message: str, diagnostics: Sequence[Mapping[str, Any]] = ()) -> None:
        super().__init__(message)
        self._given = diagnostics
        self.diagnostics = tuple(Diagnostic._of(fields) for fields in diagnostics)

    # Exceptions go from process to process by their constructors' arguments.
    def __reduce__(self) -> Tuple[Any, ...]:
        return (type(self), (str(self), self._given))


class InternalError(RuntimeError):
    """Oriole itself is at fault: please report it. What was under way is undone; the package can be used on."""


class KernelFault(RuntimeError):
    """A kernel stopped. The arrays are as they were before the launch. As text it has everything, in several lines."""

    #: What kind of fault: `illegal-address`, `misaligned-address`, `trap`, `assertion`, `deadlock`, `instruction-limit`,
    #: `time-limit`, `output-limit`, `hazard`, `bad-jump`, `unsupported`, `misuse`; of a `CheckError` the finding's kind.
    kind: str
    #: What went wrong, with addresses, registers and the like.
    message: str
    kernel: str
    #: Coordinates of the block and of the (first) thread concerned, x first.
    block: Tuple[int, int, int]
    thread: Tuple[int, int, int]
    #: The address that was accessed, in its own space (global, shared, local), where the fault is one of an access.
    address: Optional[int]
    #: Byte offset of the instruction in its function.
    offset: int
    #: The instruction as text; empty where none is to blame.
    instruction: str
    #: File and line of the PTX, where Oriole compiled it from PTX; else those of the cubin's line table, if it has one.
    file: Optional[str]
    line: Optional[int]
    #: What the kernel had printed so far.
    printed: str

    def __init__(self, text: str, fields: Mapping[str, Any]) -> None:
        super().__init__(text)
        self._fields = fields
        self.kind = fields["kind"]
        self.message = fields["message"]
        self.kernel = fields["kernel"]
        self.block = tuple(fields["block"])
        self.thread = tuple(fields["thread"])
        self.address = fields["address"]
        self.offset = fields["offset"]
        self.instruction = fields["instruction"]
        self.file = fields["file"]
        self.line = fields["line"]
        self.printed = fields["printed"]

    def __reduce__(self) -> Tuple[Any, ...]:
        return (type(self), (str(self), self._fields))


class LaunchTimeout(KernelFault):
    """A launch took longer on the host than its `timeout`."""


class CheckError(KernelFault):
    """The checks of memory (`launch(..., check=True)`) found errors; the fields are those of the first."""

    #: Everything found, notes too.
    findings: Tuple[Finding, ...]

    def __init__(self, kernel: str, printed: str, findings: Sequence[Finding]) -> None:
        self.findings = tuple(findings)
        errors = [finding for finding in findings if finding.is_error]
        first = errors[0]
        text = "the checks of memory have found {} error{}\n{}".format(
            len(errors), "" if len(errors) == 1 else "s", "".join(finding.text for finding in errors).rstrip()
        )
        site = first.access
        place = {"block": site.block, "thread": site.thread, "offset": site.offset, "line": site.line}
        said = {"kind": first.kind, "message": f"{first.kind}: {first.place}", "instruction": site.instruction}
        super().__init__(text, {**place, **said, "kernel": kernel, "address": None, "file": None, "printed": printed})

    def __reduce__(self) -> Tuple[Any, ...]:
        return (type(self), (self.kernel, self.printed, self.findings))
