"""A database whose functions and policies are those of another version: nothing is asked of it but what is wrong."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import psycopg
import pytest
from tests.identity.test_runtime_login import serve
from tests.support import databases
from tests.support.corpus import put, record
from tests.support.logins import login

from veraz.engine import AsyncVeraz
from veraz.errors import DatabaseError


@pytest.fixture
def stale(database: str) -> str:
    """Tables of this version, and functions of an earlier one, which had no last_successor."""
    with psycopg.connect(database, autocommit=True) as admin:
        admin.execute("update veraz.migration set digest = 'earlier' where number = -1")
        admin.execute("drop function veraz.last_successor(uuid)")
    return database


@pytest.mark.parametrize(
    "asked",
    [
        lambda e: e.search("fever", lang="en"),
        lambda e: e.ask("What is fever?", lang="en"),
        lambda e: e.show("a"),
        lambda e: e.ingest("-", source="s"),
        lambda e: e.tenants(),
        lambda e: e.keys(),
    ],
)
async def test_it_is_said_with_what_to_do(stale: str, asked: Callable[[AsyncVeraz], Awaitable[Any]]) -> None:
    async with await databases.open_engine(stale) as engine:
        with pytest.raises(DatabaseError, match="functions and policies") as raised:
            await asked(engine)
    assert raised.value.fix is not None
    assert "veraz init" in raised.value.fix


async def test_who_presents_a_key_meets_it_too(database: str) -> None:
    async with await databases.open_engine(database) as engine:
        key = (await engine.add_key("portal", roles=["public"])).key
    with psycopg.connect(database, autocommit=True) as admin:
        admin.execute("update veraz.migration set digest = 'earlier' where number = -1")
    async with await databases.open_engine(database) as engine:
        with pytest.raises(DatabaseError, match="functions and policies"):
            await engine.authenticate(key=key)


async def test_status_says_it_and_init_mends_it(stale: str) -> None:
    async with await databases.open_engine(stale) as engine:
        [check] = [c for c in (await engine.status()).health if c.check == "functions and policies"]
        assert (check.ok, check.fix) == (False, "veraz init")
        assert (await engine.init()).replayed
        assert all(c.ok for c in (await engine.status()).health)
        await put(engine, record("a", "The fever rule."))
        assert len((await engine.search("fever rule", lang="en")).hits) == 1


async def test_it_is_not_served(stale: str) -> None:
    with (
        login(stale, member_of=("veraz_app",)) as url,
        pytest.raises(DatabaseError, match="functions and policies"),
    ):
        await serve(url)
