"""How compilations and launches on threads other than the main one end with the program.

Python tells Ctrl-C to the main thread alone. Other threads that wait for the compiled half of the package look a hundred times a
second whether the main thread has been interrupted, and end then: else a pool of threads that is left by `KeyboardInterrupt`
would wait for launches that nobody wants any more.
"""

from __future__ import annotations

import atexit

# Pools wait for their threads by a hook that runs when the program ends. The one below runs before it, being registered later.
import concurrent.futures.thread  # noqa: F401
import gc
import os
import sys
import threading
import time
from contextlib import contextmanager
from typing import Any, Dict, Iterator, Optional, Set

#: Seconds that the end of the program waits for threads that Python does not wait for.
_PATIENCE = 2.0

#: Numbers of the threads that wait for the compiled half of the package.
_waiting: Set[int] = set()

#: One thread at a time turns the collection of garbage off and on.
_looking = threading.Lock()

_is_ending = False


@contextmanager
def waiting() -> Iterator[None]:
    """While this thread waits for the compiled half of the package.

    :raises BaseException: what `check` raises.
    """
    check()
    number = threading.get_ident()
    _waiting.add(number)
    try:
        yield
    finally:
        _waiting.discard(number)


def check() -> None:
    """Whether this thread, if it is not the main one, may go on with what it does.

    :raises KeyboardInterrupt: the main thread is handling one.
    :raises SystemExit: the program ends; Python takes it from threads without a word.
    """
    main = threading.main_thread().ident
    if threading.get_ident() == main:
        return
    if _is_ending:
        raise SystemExit("the program ends")
    if _is_interruption(_handled(main)):
        raise KeyboardInterrupt("the main thread was interrupted")


def _handled(thread: Optional[int]) -> Optional[BaseException]:
    """The exception that a thread is handling, in an `except` or `finally` block or on its way out of a `with` block."""
    if sys.version_info < (3, 10):
        return None
    handled = None if thread is None else _current_exceptions().get(thread)
    return handled[1] if isinstance(handled, tuple) else handled


def _current_exceptions() -> Dict[int, Any]:
    """What all threads are handling. Where Python collects garbage in between, it hangs with threads that begin or end (its issue
    106883, mended in 3.12.1), so that it may not."""
    if sys.version_info >= (3, 13):
        return sys._current_exceptions()
    with _looking:
        collects = gc.isenabled()
        gc.disable()
        try:
            return sys._current_exceptions()
        finally:
            if collects:
                gc.enable()


def _is_interruption(error: Optional[BaseException]) -> bool:
    """Whether it is a `KeyboardInterrupt`, or came while one was handled."""
    seen: Set[int] = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, KeyboardInterrupt):
            return True
        seen.add(id(error))
        error = error.__context__
    return False


def _end_if_interrupted() -> None:
    """Before Python waits for its threads: if Ctrl-C has ended the main one, the others end what they do."""
    global _is_ending
    _is_ending = isinstance(getattr(sys, "last_value", None), KeyboardInterrupt)


def _end() -> None:
    """Before the interpreter goes: threads that Python does not wait for come out of the compiled half, which could not come
    back to an interpreter that is no more."""
    global _is_ending
    _is_ending = True
    limit = time.monotonic() + _PATIENCE
    while _waiting - {threading.get_ident()} and time.monotonic() < limit:
        time.sleep(0.005)


def _begin_anew() -> None:
    """In a child that was forked: there is one thread, and it waits for nothing."""
    global _looking
    if _looking.locked():
        gc.enable()
    _looking = threading.Lock()
    _waiting.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)
# Not there in all versions of Python: then Ctrl-C has to be told twice.
if hasattr(threading, "_register_atexit"):
    threading._register_atexit(_end_if_interrupted)
atexit.register(_end)
