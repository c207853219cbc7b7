"""Everything works through PgBouncer in transaction and in session mode, as the administrator and as the runtime login."""

from __future__ import annotations

from datetime import UTC, datetime

import psycopg
import pytest
from tests.db.server_fixture import test_home
from tests.support import databases
from tests.support.corpus import put, record
from tests.support.pgbouncer import PgBouncer

from veraz.config import Config, DatabaseConfig
from veraz.db.session import Database, Prepare
from veraz.engine import AsyncVeraz
from veraz.errors import DatabaseError, UsageError

ENOUGH = 8
"""Runs of a statement: psycopg prepares it for the sixth."""


async def threshold(url: str, prepare: Prepare = "auto") -> int | None:
    """What a connection that lay in the pool prepares after; None for nothing."""
    config = Config(home=str(test_home()), database=DatabaseConfig(url=url, prepare=prepare))
    async with (
        await AsyncVeraz.open(config=config) as engine,
        engine._database.administration() as connection,
    ):
        return connection.prepare_threshold


async def test_a_pooler_is_noticed(bouncer: PgBouncer, database: str) -> None:
    assert await threshold(bouncer.administrator(database)) is None
    assert await threshold(bouncer.runtime(database)) is None
    assert await threshold(database) == 5


async def test_the_configuration_may_know_better(bouncer: PgBouncer, database: str) -> None:
    assert await threshold(bouncer.administrator(database), "on") == 5
    assert await threshold(database, "on") == 5
    assert await threshold(database, "off") is None


async def repeat(databases: list[Database]) -> None:
    for database in databases:
        for _ in range(ENOUGH):
            async with database.administration() as connection:
                await connection.execute("select 'a statement worth preparing'")


async def two(url: str, prepare: Prepare) -> list[Database]:
    return [await Database.open(url, max_size=1, prepare=prepare) for _ in range(2)]


async def test_two_processes_do_not_meet_each_others_statements(
    transaction_bouncer: PgBouncer, database: str
) -> None:
    """Both use the one session that PgBouncer keeps: what one prepared there stands in the way of the other."""
    url = transaction_bouncer.administrator(database)
    prepared, plain = await two(url, "on"), await two(url, "auto")
    try:
        with pytest.raises(psycopg.errors.DuplicatePreparedStatement):
            await repeat(prepared)
        await repeat(plain)
    finally:
        for opened in (*prepared, *plain):
            await opened.close()


async def test_the_schema_is_made_through_it(bouncer: PgBouncer, empty_database: str) -> None:
    async with await databases.open_engine(bouncer.administrator(empty_database)) as engine:
        made = await engine.init()
        assert made.migrations
        assert not (await engine.init()).migrations
        await put(engine, record("a", "The pump is red."))
        assert [h.document.external_id for h in (await engine.search("pump")).hits] == ["a"]


@pytest.mark.parametrize("login", ["administrator", "runtime"])
async def test_every_verb_works_through_it(bouncer: PgBouncer, database: str, login: str) -> None:
    """More often than it takes for statements to be prepared."""
    url = bouncer.administrator(database) if login == "administrator" else bouncer.runtime(database)
    async with await databases.open_engine(url) as engine:
        for n in range(ENOUGH):
            report = await put(
                engine,
                record(f"pump{n}", f"The pump number{n} must be closed before the valve."),
                record("valve", f"The valve has {n} screws."),
            )
            assert (report.new, report.failed) == (2 if n == 0 else 1, 0)
            found = await engine.search(f"pump number{n}", explain=True)
            assert found.hits[0].document.external_id == f"pump{n}"
            assert {h.document.external_id for h in found.hits} == {
                "valve",
                *(f"pump{i}" for i in range(n + 1)),
            }
            answer = await engine.ask(f"Which pump number{n}?")
            assert (await engine.trace(str(answer.trace_id))).kind == "ask"
            shown = await engine.show("valve")
            assert [c.display for c in shown.chunks] == [f"The valve has {n} screws."]
            assert await engine.merge_index() == {"en": 0}, "an ingest merges what it wrote"
        today = await engine.search("valve screws", as_of=datetime.now(UTC).date())
        assert today.hits[0].body == shown.chunks[0].display
        assert await engine.delete("valve", source="s")
        assert "valve" not in {h.document.external_id for h in (await engine.search("valve screws")).hits}
        with pytest.raises(UsageError):
            await engine.show("valve")


async def test_a_session_is_handed_on_without_who_acted(bouncer: PgBouncer, database: str) -> None:
    """One session behind, many clients before it: none finds a role, a tenant or a setting of another."""
    async with await databases.open_engine(bouncer.administrator(database)) as engine:
        await put(engine, record("a", "The pump is red."))
        await engine._database._pool.resize(1, 1)
        for _ in range(3):
            assert (await engine.search("pump")).hits
            async with engine._database.administration() as connection:
                own = await (await connection.execute(STATE)).fetchone()
            assert own == (True, None, None, None, "auto")
            with psycopg.connect(bouncer.administrator(database), autocommit=True) as other:
                assert other.execute(STATE).fetchone() == (True, None, None, None, "auto")


STATE = """
select current_user = session_user, nullif(current_setting('veraz.tenant_id', true), ''),
       nullif(current_setting('veraz.roles', true), ''), nullif(current_setting('veraz.mode', true), ''),
       current_setting('plan_cache_mode')
"""


async def test_a_server_that_is_gone_is_named(transaction_bouncer: PgBouncer, server: str) -> None:
    with pytest.raises(
        DatabaseError, match=r"cannot reach PostgreSQL at .*:\d+/no_such_base: .*no_such_base"
    ):
        await Database.open(databases.at(transaction_bouncer.administrator(server), "no_such_base"))
