"""Compiled modules as notebooks show them."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING, Dict, Iterable, List, Mapping, Sequence

if TYPE_CHECKING:
    from ._compile import Kernel, Live

_SECTION = "\n\t.section\t.text."

#: An instruction of a listing: address, scheduling bits, text.
_INSTRUCTION = re.compile(r"\s*/\*(?P<address>[0-9a-f]+)\*/ (?P<bits>\S+) (?P<text>.*) ;$")

#: Columns of the code that say how many registers hold values.
_LIVE = ("live registers", "uniform", "predicates")

#: Columns of the table of kernels: heading, field.
_RESOURCES = (
    ("kernel", "name"),
    ("registers", "registers"),
    ("uniform", "uniform_registers"),
    ("predicates", "predicates"),
    ("spill stores", "spill_stores"),
    ("spill loads", "spill_loads"),
    ("stack", "stack_bytes"),
    ("shared", "shared_bytes"),
    ("barriers", "barriers"),
    ("code", "code_bytes"),
)


def sections(listing: str) -> Dict[str, str]:
    """The kernels' parts of a listing, by name."""
    parts = listing.split(_SECTION)[1:]
    return {part.split("\n", 1)[0]: _SECTION + part for part in parts}


def document(
    target: str, kernels: Iterable[Kernel], listing: Mapping[str, str], lines: Mapping[str, Mapping[int, int]]
) -> str:
    """HTML of a module: a table of the kernels, and of each the code, folded up.

    :param listing: each kernel's code as text.
    :param lines: of each kernel the PTX's line of the instruction at an offset, where one is known.
    """
    listed = list(kernels)
    head = _row("th", [heading for heading, _ in _RESOURCES])
    rows = [_row("td", [str(getattr(kernel, field)) for _, field in _RESOURCES]) for kernel in listed]
    out = [f"<div><p>Oriole, {escape(target)}; sizes in bytes</p>", f"<table>{head}{''.join(rows)}</table>"]
    for kernel in listed:
        code = _code(listing[kernel.name], lines[kernel.name], kernel.live)
        out.append(f"<details><summary><code>{escape(kernel.name)}</code></summary>{code}</details>")
    return "".join(out) + "</div>"


def _code(listing: str, lines: Mapping[int, int], live: Sequence[Live]) -> str:
    """The listing; with the registers that hold values at each instruction, and the rows with most general ones in bold."""
    at_offset = {at.offset: at for at in live}
    peak = max((at.registers for at in live), default=0)
    rows: List[str] = [_row("th", ["offset", "scheduling", "instruction", *(_LIVE if live else ()), "PTX line"])]
    for line in listing.strip().splitlines()[1:]:
        found = _INSTRUCTION.match(line)
        offset = None if found is None else int(found["address"], 16)
        at = None if offset is None else at_offset.get(offset)
        words = ["", "", line.strip()] if found is None else [found["address"], found["bits"], found["text"]]
        counts = [""] * len(_LIVE) if at is None else [str(at.registers), str(at.uniform_registers), str(at.predicates)]
        source = None if offset is None else lines.get(offset)
        row = _row("td", [*words, *(counts if live else ()), "" if source is None else str(source)])
        is_peak = at is not None and at.registers == peak
        rows.append(row.replace("<tr>", "<tr style='font-weight: bold'>") if is_peak else row)
    return (f"<p>Live registers: at most {peak}</p>" if live else "") + _table(rows)


def _table(rows: Iterable[str]) -> str:
    return f"<table style='font-family: monospace'>{''.join(rows)}</table>"


def _row(cell: str, texts: Iterable[str]) -> str:
    cells = "".join(f"<{cell} style='text-align: left; white-space: pre'>{escape(text)}</{cell}>" for text in texts)
    return f"<tr>{cells}</tr>"
