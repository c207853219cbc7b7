"""Bring files to the disk, so that a power cut after a rename finds what the new name promises."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path


def sync_file_system(path: Path) -> None:
    """Write out everything that waits for the disk of `path`; where the system cannot limit it, for every disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        _syncfs(descriptor)
    finally:
        os.close(descriptor)


def _syncfs(descriptor: int) -> None:
    syncfs = getattr(ctypes.CDLL(None), "syncfs", None)
    if syncfs is None or syncfs(descriptor) != 0:
        os.sync()


def sync_directory(path: Path) -> None:
    """Make renames within a directory permanent."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
