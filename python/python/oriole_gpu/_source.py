"""What language a source is in."""

from __future__ import annotations

import re
from typing import Optional, Union

#: Magic numbers of LLVM bitcode, bare and in its wrapper.
_BITCODE = (b"BC\xc0\xde", b"\xde\xc0\x17\x0b")

#: Blanks and comments of either language, of which neither begins a token of the other.
_BLANK = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/|;[^\n]*)*", re.DOTALL)

#: How an LLVM module can begin: its first entity.
_LLVM = re.compile(r"source_filename|target\b|define\b|declare\b|module\s+asm|attributes\b|[@%!$^]|uselistorder")

LANGUAGES = ("ptx", "llvm")


def prepared(source: Union[str, bytes, bytearray, memoryview], language: Optional[str]) -> Union[str, bytes]:
    """The source as the compiled half of the package wants it: PTX as `str`, LLVM IR as `bytes`.

    A NUL at the end of PTX, with which drivers are given it, is left out.

    :raises TypeError: it is neither text nor bytes.
    :raises ValueError: there is no such language, or PTX is not UTF-8.
    """
    if language is not None and language not in LANGUAGES:
        raise ValueError(f"language: {language!r} is none of {', '.join(LANGUAGES)}")
    if not isinstance(source, str):
        if not isinstance(source, (bytes, bytearray, memoryview)):
            raise TypeError(f"source: str or bytes, not {type(source).__name__}")
        source = bytes(source)
    if (language or recognised(source)) == "llvm":
        return source.encode() if isinstance(source, str) else source
    if isinstance(source, bytes):
        try:
            source = source.decode()
        except UnicodeDecodeError as error:
            raise ValueError(f"source: PTX is UTF-8 text: {error}") from None
    return source.rstrip("\0")


def recognised(source: Union[str, bytes]) -> str:
    """The language of a source: LLVM IR if it begins like bitcode or a module of LLVM assembly, else PTX."""
    if isinstance(source, bytes):
        if source.startswith(_BITCODE):
            return "llvm"
        source = source.decode(errors="replace")
    blank = _BLANK.match(source)
    begin = blank.end() if blank else 0
    return "llvm" if _LLVM.match(source, begin) else "ptx"
