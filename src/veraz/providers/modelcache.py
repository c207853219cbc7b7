"""Files that are slow to make and safe to throw away, kept in one directory and shared by processes.

Beside each file stands `<name>.sha256`. A file that does not match it (half written, damaged, edited) is
made again.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from veraz.errors import ProviderError

_READ_BYTES = 1 << 22


def cached_file(path: Path, make: Callable[[Path], None]) -> Path:
    """`path`, made by `make(temporary_path)` unless an intact copy is there.

    Processes that need the same file at once wait for the first; a reader never sees an unfinished one.
    Raises ProviderError where the directory cannot be written or the disk is full.
    """
    if is_intact(path):
        return path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _lock(path.with_name(path.name + ".lock")):
            if not is_intact(path):
                _make(path, make)
    except OSError as error:
        raise ProviderError(
            f"cannot write {path.name} in {path.parent}: {error.strerror or error}",
            fix="free disk space there, make the directory writable, or set VERAZ_HOME to another one",
        ) from error
    return path


def is_intact(path: Path) -> bool:
    """Whether the file is there and equals its recorded digest."""
    try:
        return sha256_of(path) == _digest_path(path).read_text("ascii").strip()
    except (OSError, UnicodeDecodeError):
        return False


def sha256_of(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_READ_BYTES):
            digest.update(block)
    return digest.hexdigest()


def _make(path: Path, make: Callable[[Path], None]) -> None:
    """Called under the lock, so a `.partial` file found here belongs to a process that died."""
    partial = path.with_name(path.name + ".partial")
    try:
        make(partial)
        _flush(partial)
        digest = sha256_of(partial)
        partial.replace(path)
        partial.write_text(digest + "\n", "ascii")
        partial.replace(_digest_path(path))
    finally:
        partial.unlink(missing_ok=True)


def _flush(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def _digest_path(path: Path) -> Path:
    return path.with_name(path.name + ".sha256")


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    """Holds an exclusive lock on `path`; the system drops it when the process ends, however it ends."""
    with path.open("a+b") as file:
        _acquire(file.fileno())
        yield


if sys.platform == "win32":
    import msvcrt

    def _acquire(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1)

else:
    import fcntl

    def _acquire(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
