"""How many items an ingest will see, cheaply: files by name, collections by their lines. An estimate for a progress bar."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Sequence
from pathlib import Path


def count_items(paths: Sequence[str], exclude: Sequence[str] = ()) -> int | None:
    """None when standard input is among `paths`: nobody knows its length. What cannot be read counts as one item; what is left
    out, by `exclude` or a .verazignore file, does not count. Raises UsageError for patterns that are none."""
    from veraz.errors import ItemError
    from veraz.ingest.discover import find  # not before a run begins: it loads more than a help text needs

    if "-" in paths:
        return None
    found = (file for path in paths for file in find(path, exclude))
    return sum(1 if isinstance(file, ItemError) else _count_file(file.path) for file in found)


def _count_file(file: Path) -> int:
    from veraz.ingest.discover import COLLECTIONS

    name = file.name.lower()
    if not name.endswith(COLLECTIONS):
        return 1
    try:
        with gzip.open(file) if name.endswith(".gz") else file.open("rb") as rows:
            return sum(1 for row in rows if row.strip())
    except (OSError, EOFError, zlib.error):
        return 1
