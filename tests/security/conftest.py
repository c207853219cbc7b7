"""A database with two tenants, shared by the tests that only try to read or are refused."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest
from tests.support import databases
from tests.support.attack import world
from tests.support.attack.siege import Siege, besieging
from tests.support.attack.world import World
from tests.support.tenants import Tenants, fill, opened


@pytest.fixture(scope="session")
def tenants_database(server: str, template: str) -> Iterator[str]:
    async def prepare(url: str) -> None:
        async with await databases.open_engine(url) as engine:
            await fill(engine)

    with databases.fresh(server, template) as url:
        asyncio.run(prepare(url))
        yield url


@pytest.fixture
async def tenants(tenants_database: str) -> AsyncIterator[Tenants]:
    """For tests that commit nothing but traces."""
    async with opened(tenants_database) as found:
        yield found


async def stocked_world(url: str) -> World:
    async with await databases.open_engine(url) as engine:
        return await world.fill(engine)


@pytest.fixture(scope="session")
def besieged(server: str, template: str) -> Iterator[tuple[str, World]]:
    """A database with something to steal. Nothing that is done to it is committed."""
    with databases.fresh(server, template) as url:
        yield url, asyncio.run(stocked_world(url))


@pytest.fixture
def siege(besieged: tuple[str, World]) -> Iterator[Siege]:
    with besieging(*besieged) as opened_siege:
        yield opened_siege


@pytest.fixture(scope="session")
def visited(server: str, template: str) -> Iterator[tuple[str, World]]:
    """The same for engines, whose searches leave traces."""
    with databases.fresh(server, template) as url:
        yield url, asyncio.run(stocked_world(url))
