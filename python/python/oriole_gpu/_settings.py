"""Settings of compilations and launches: what each takes, and what is said of another value."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any, Callable, Dict, Mapping, Optional

import numpy as np


@dataclass(frozen=True)
class _Kind:
    """What a setting takes."""

    #: In words.
    expected: str
    #: The value as the compiled half of the package wants it; `TypeError` or `ValueError` if it is none of the kind.
    convert: Callable[[Any], Any]


def _truth(value: Any) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError
    return bool(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _seconds(value: Any) -> float:
    if isinstance(value, (str, bytes, bytearray)):
        raise TypeError
    return float(value)


def _integer(least: int, most: int) -> _Kind:
    def convert(value: Any) -> int:
        number = operator.index(value)
        if not least <= number <= most:
            raise ValueError
        return number

    return _Kind(f"an integer from {least} to {most}", convert)


def _optional(kind: _Kind) -> _Kind:
    return _Kind(f"{kind.expected}, or None", lambda value: None if value is None else kind.convert(value))


_TRUTH = _Kind("True or False", _truth)
_TEXT = _Kind("a str", _text)
_SECONDS = _Kind("a number of seconds", _seconds)
_WORD = _integer(0, (1 << 32) - 1)
_COUNT = _integer(1, (1 << 32) - 1)
_BYTES = _integer(1, (1 << 64) - 1)

#: By name, for `compile` and `launch`.
_KINDS: Mapping[str, _Kind] = {
    "arch": _optional(_TEXT),
    "language": _optional(_TEXT),
    "opt_level": _integer(0, 3),
    "maxrregcount": _optional(_WORD),
    "lineinfo": _TRUTH,
    "debug": _TRUTH,
    "fmad": _TRUTH,
    "fast_compile": _TEXT,
    "file_name": _TEXT,
    "jobs": _COUNT,
    "verify": _TRUTH,
    "relocatable": _TRUTH,
    "extended_shared": _TRUTH,
    "live": _TRUTH,
    "ftz": _TRUTH,
    "prec_div": _TRUTH,
    "prec_sqrt": _TRUTH,
    "timeout": _optional(_SECONDS),
    "memory": _optional(_BYTES),
    "entry": _TEXT,
    "shared": _WORD,
    "strict": _TRUTH,
    "timing": _TRUTH,
    "check": _TRUTH,
    "deterministic": _TRUTH,
    "threads": _optional(_COUNT),
}


def taken(name: str, value: Any) -> Any:
    """The value of a setting.

    :raises TypeError: it is of a type that the setting does not take; the message names the setting, the value and what is
        expected.
    :raises ValueError: it is out of the setting's bounds.
    """
    return _converted(name, _KINDS[name], value)


def all_taken(settings: Mapping[str, Any]) -> Dict[str, Any]:
    """The values of several settings by name; raises as `taken` does."""
    return {name: taken(name, value) for name, value in settings.items()}


def size(name: str, value: Any) -> int:
    """A size of a grid, a block or a cluster; raises as `taken` does."""
    number: int = _converted(name, _WORD, value)
    return number


def _converted(name: str, kind: _Kind, value: Any) -> Any:
    try:
        return kind.convert(value)
    except (TypeError, ValueError, OverflowError) as error:
        wrong = TypeError if isinstance(error, TypeError) else ValueError
        raise wrong(f"{name}: {kind.expected} is expected, not {_shown(value)}") from None


def expect(name: str, expected: str, value: Any, is_right: bool) -> None:
    """For settings of kinds of their own.

    :raises TypeError: the value is not right.
    """
    if not is_right:
        raise TypeError(f"{name}: {expected} is expected, not {_shown(value)}")


def _shown(value: Any) -> str:
    text: Optional[str] = repr(value)
    if text is None or len(text) > 60:
        return f"a {type(value).__name__}"
    return f"{text} ({type(value).__name__})"
