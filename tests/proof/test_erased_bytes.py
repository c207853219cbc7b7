"""After an erasure with `rewrite` the data files hold no byte of the text. On a server of its own: transactions of others
would keep dead rows alive."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from tests.support import databases
from tests.support.corpus import put, record

from veraz.db.embedded import EmbeddedServer
from veraz.engine import AsyncVeraz

pytestmark = pytest.mark.slow

MARK = "zyxquork"


@pytest.fixture
def own_server() -> Iterator[str]:
    folder = Path(tempfile.mkdtemp(prefix="veraz-proof-"))
    folder.chmod(0o711)
    server = EmbeddedServer(folder)
    try:
        yield server.ensure_running()
    finally:
        server.destroy()
        shutil.rmtree(folder)


def files_with(url: str, word: bytes) -> set[str]:
    """Data files of the database that hold the word, once every page is written."""
    with psycopg.connect(url, autocommit=True) as superuser:
        superuser.execute("checkpoint")
        row = superuser.execute(
            "select current_setting('data_directory'), oid from pg_database where datname = current_database()"
        ).fetchone()
    assert row is not None
    folder = Path(row[0]) / "base" / str(row[1])
    return {file.name for file in folder.iterdir() if word in file.read_bytes().lower()}


async def test_no_data_file_holds_a_byte_of_it(own_server: str) -> None:
    async with await databases.open_engine(own_server) as engine:
        await engine.init()
        await put(engine, *(record(f"d{n}", f"The plain fever rule {n}.") for n in range(50)))
        for n in range(3):
            await put(
                engine, record("secret", f"The {MARK} rule, version {n}. It is long enough.", title=MARK)
            )
        await engine.merge_index()
        await engine.search(f"the {MARK}", lang="en")
        assert len(files_with(own_server, MARK.encode())) >= 4
        erased = await _erased(engine)
        assert erased == (3, 3, None)
    assert files_with(own_server, MARK.encode()) == set()


async def _erased(engine: AsyncVeraz) -> tuple[int, int, str | None]:
    erasure = await engine.erase("secret", source="s", rewrite=True)
    assert erasure is not None
    return erasure.revisions, erasure.chunks, erasure.remains
