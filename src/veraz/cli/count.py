"""How many items an ingest will see, cheaply: files by name, collections by their lines. An estimate for a progress bar."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Sequence
from io import BufferedIOBase
from pathlib import Path

_PIECE = 1 << 20  # bytes: no line is held whole
_LOOK_UP = 4096  # rows


def count_items(
    paths: Sequence[str], exclude: Sequence[str] = (), stopped: Callable[[], bool] = lambda: False
) -> int | None:
    """None when standard input is among `paths`: nobody knows its length; and as soon as `stopped` says that nobody wants to
    know any more: no thread can be cancelled. What cannot be read counts as one item; what is left
    out, by `exclude` or a .verazignore file, does not count. Raises UsageError for patterns that are none."""
    from veraz.errors import ItemError
    from veraz.ingest.discover import find  # not before a run begins: it loads more than a help text needs

    if "-" in paths:
        return None
    total = 0
    for path in paths:
        for file in find(path, exclude):
            total += 1 if isinstance(file, ItemError) else _count_file(file.path, stopped)
            if stopped():
                return None
    return total


def _count_file(file: Path, stopped: Callable[[], bool]) -> int:
    from veraz.ingest.discover import COLLECTIONS

    name = file.name.lower()
    if not name.endswith(COLLECTIONS) or not file.is_file():
        return 1  # a pipe that is named is for the ingest alone to read
    try:
        with gzip.open(file) if name.endswith(".gz") else file.open("rb") as rows:
            return _count_rows(rows, stopped)
    except (OSError, EOFError, zlib.error):
        return 1


def _count_rows(rows: BufferedIOBase, stopped: Callable[[], bool]) -> int:
    found, filled = 0, False
    for n, piece in enumerate(iter(lambda: rows.readline(_PIECE), b"")):
        filled = filled or bool(piece.strip())
        if piece.endswith(b"\n"):
            found, filled = found + filled, False
        if (n % _LOOK_UP == 0 or len(piece) == _PIECE) and stopped():
            break
    return found + filled
