"""How many items an ingest will see, cheaply: files by name, collections by their lines. An estimate for a progress bar."""

from __future__ import annotations

import glob
import gzip
import os
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

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
        yield from (Path(name) for name in glob.glob(path, recursive=True) if not Path(name).is_dir())  # noqa: PTH207
    else:
        yield named


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
    if not name.endswith(_COLLECTIONS):
        return 1
    try:
        with gzip.open(file) if name.endswith(".gz") else file.open("rb") as rows:
            return sum(1 for row in rows if row.strip())
    except (OSError, EOFError, zlib.error):
        return 1
