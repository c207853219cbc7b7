"""Disk space: what a new server needs, and how a full disk is told from other failures."""

from __future__ import annotations

import shutil
from pathlib import Path

from veraz.db.embedded.layout import Layout
from veraz.errors import DatabaseError

FREE_BYTES_NEEDED = 300 * 1024 * 1024
_HARDLY_ANY = 2 * 1024 * 1024


def check_space(layout: Layout) -> None:
    free = shutil.disk_usage(layout.base).free
    if free < FREE_BYTES_NEEDED:
        raise no_space(layout.base)


def is_full(base: Path, output: str) -> bool:
    """Whether a failed program ran out of space: it says so, or hardly any is left (pg0 does not say so)."""
    said = any(error in output for error in ("No space left on device", "Disk quota exceeded"))
    return said or shutil.disk_usage(base).free < _HARDLY_ANY


def no_space(base: Path) -> DatabaseError:
    free = shutil.disk_usage(base).free // (1024 * 1024)
    needed = FREE_BYTES_NEEDED // (1024 * 1024)
    return DatabaseError(
        f"the disk that holds {base} is full: {free} MB free, a new embedded server needs {needed} MB",
        fix="free some space, or set VERAZ_HOME to a directory on another disk",
    )
