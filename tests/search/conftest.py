"""The large corpus, with planner statistics and without."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest
from tests.support import databases, large

from veraz.engine import AsyncVeraz


@pytest.fixture(scope="session")
def large_database(server: str, template: str) -> str:
    """As it is right after loading, without planner statistics."""
    return databases.at(server, large.database(server, template))


@pytest.fixture(scope="session")
def analysed_database(server: str, template: str) -> Iterator[str]:
    with databases.fresh(server, large.database(server, template)) as url:
        asyncio.run(large.analyse(url))
        yield url


@pytest.fixture
async def large_engine(large_database: str) -> AsyncIterator[AsyncVeraz]:
    async with await databases.open_engine(large_database, large.embedder()) as engine:
        yield engine
