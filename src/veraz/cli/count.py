"""How many items an ingest will see, cheaply: files by name, collections by their lines. An estimate for a progress bar."""

from __future__ import annotations

import glob
import gzip
import os
import zlib
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import takewhile
from pathlib import Path
from typing import BinaryIO, cast

_COLLECTIONS = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")


def count_items(paths: Sequence[str]) -> int | None:
    """None when standard input is among `paths`: nobody knows its length. What cannot be read counts as one item."""
    if "-" in paths:
        return None
    return sum(_count_file(file) for path in paths for file in _files(path))


def _files(path: str) -> Iterator[Path]:
    named = Path(path)
    if named.is_dir():
        yield from _below(named)
    elif not named.exists() and set("*?[") & set(path):
        yield from _matching(named)
    else:
        yield named


def _matching(pattern: Path) -> Iterator[Path]:
    """What fits a pattern. Where it holds `**`, what has the last part's name: `glob` would go round in linked folders."""
    if "**" not in pattern.parts:
        yield from (found for name in glob.glob(str(pattern)) if not (found := Path(name)).is_dir())  # noqa: PTH207
        return
    root = Path(*takewhile(lambda part: not set("*?[") & set(part), pattern.parts))
    last = "*" if pattern.name == "**" else pattern.name
    yield from (file for file in _below(root) if fnmatchcase(file.name, last))


def _below(root: Path) -> Iterator[Path]:
    """Without hidden names; a linked folder is entered once."""
    visited: set[tuple[int, int]] = set()
    for folder, folders, files in os.walk(root, followlinks=True):
        place = os.stat(folder)  # noqa: PTH116
        if (place.st_dev, place.st_ino) in visited:
            folders.clear()
            continue
        visited.add((place.st_dev, place.st_ino))
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (Path(folder, name) for name in files if not name.startswith("."))


def _count_file(file: Path) -> int:
    name = file.name.lower()
    if not name.endswith(_COLLECTIONS) or not file.is_file():  # what a pipe holds can be read once
        return 1
    try:
        with gzip.open(file) if name.endswith(".gz") else file.open("rb") as rows:
            return _count_lines(cast("BinaryIO", rows))
    except (OSError, EOFError, zlib.error):
        return 1


def _count_lines(rows: BinaryIO) -> int:
    """Lines that are not blank, none of them held as a whole."""
    count, blank = 0, True
    while part := rows.readline(1 << 20):
        blank = blank and not part.strip()
        if part.endswith(b"\n"):
            count, blank = count + (not blank), True
    return count + (not blank)
