"""One database for all plants, each of which takes a tenant of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
from tests.support import databases

from veraz.engine import AsyncVeraz


@pytest.fixture(scope="session")
def planted_database(server: str, template: str) -> Iterator[str]:
    with databases.fresh(server, template) as url:
        yield url


@pytest.fixture
async def field(planted_database: str) -> AsyncIterator[AsyncVeraz]:
    async with await databases.open_engine(planted_database) as engine:
        yield engine
