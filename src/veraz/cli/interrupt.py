"""Ctrl-C: one line that says what was kept, and exit code 130 at once.

The process leaves without unwinding: an embedding batch in a worker thread can take seconds, and nothing waits to be
cleaned up. Every document is committed by one transaction, and the server rolls back what a lost connection left open.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

EXIT_CODE = 130
NOTHING = "stopped: nothing was changed; run the command again to start over"

_message: Callable[[], str] = lambda: NOTHING  # noqa: E731


def install() -> None:
    signal.signal(signal.SIGINT, _leave)


@contextmanager
def saying(message: Callable[[], str]) -> Iterator[None]:
    """Within this block Ctrl-C prints `message()`."""
    global _message
    before, _message = _message, message
    try:
        yield
    finally:
        _message = before


def last_words() -> str:
    return _message()


def _leave(_signal: int, _frame: FrameType | None) -> None:
    shown_again = "\x1b[?25h" if sys.stderr and sys.stderr.isatty() else ""  # a progress bar hides the cursor
    # os.write: the signal may have come in the middle of a write to the buffered stream.
    os.write(2, f"{shown_again}\n{last_words()}\n".encode(errors="replace"))
    os._exit(EXIT_CODE)
