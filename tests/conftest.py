"""Fixtures that every test may use."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.db.server_fixture import test_server
from tests.support import databases
from tests.support.hashing import HashingEmbedder
from veraz.config import AnswerConfig
from veraz.engine import AsyncVeraz

# A shell that starts a job in the background has it ignore Ctrl-C, and children inherit that; tests of Ctrl-C need the default.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real corpora, judgements and cases: $VERAZ_SHARED, or `shared` beside the checkout."""
    folder = Path(os.environ.get("VERAZ_SHARED") or Path(__file__).resolve().parents[2] / "shared")
    if not (folder / "data").is_dir():
        pytest.skip(f"real corpora are not at {folder} (set VERAZ_SHARED)")
    return folder


@pytest.fixture(scope="session")
def cases(shared: Path) -> Path:
    """The files of the public failure reports."""
    return shared / "cases" / "files"


@pytest.fixture(scope="session")
def server() -> str:
    """The administrator's URL of the server that tests share: $VERAZ_TEST_SERVER, or an embedded one."""
    url = os.environ.get("VERAZ_TEST_SERVER")
    if not url and find_spec("pg0") is None:
        pytest.skip("the embedded server is not installed: pip install 'veraz[local]'")
    url = url or test_server()
    databases.sweep(url)
    return url


@pytest.fixture(scope="session")
def template(server: str) -> str:
    return databases.schema_template(server)


@pytest.fixture
def database(server: str, template: str) -> Iterator[str]:
    """The administrator's URL of a fresh database with the schema, one space and the tenant `default`."""
    with databases.fresh(server, template) as url:
        yield url


@pytest.fixture(scope="session")
def unchanged_database(server: str, template: str) -> Iterator[str]:
    """One database for all tests that commit nothing."""
    with databases.fresh(server, template) as url:
        yield url


@pytest.fixture
def empty_database(server: str) -> Iterator[str]:
    """The same without any schema."""
    with databases.fresh(server) as url:
        yield url


@pytest.fixture
def embedder() -> HashingEmbedder:
    return HashingEmbedder()


@pytest.fixture
async def engine(database: str, embedder: HashingEmbedder) -> AsyncIterator[AsyncVeraz]:
    """On a fresh database, acting in the tenant `default` with the role `public`."""
    async with await databases.open_engine(database, embedder) as opened:
        yield opened


@pytest.fixture
async def eager_engine(database: str, embedder: HashingEmbedder) -> AsyncIterator[AsyncVeraz]:
    """On the same database as `engine`, and it answers from evidence of any sufficiency: for tests of what an answer leaves
    behind, which calibration must not change."""
    settings = AnswerConfig(threshold=0)
    async with await databases.open_engine(database, embedder, answer=settings) as opened:
        yield opened
