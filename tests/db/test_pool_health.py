"""Connections that were killed, and transactions that were cancelled: the next request meets neither."""

from __future__ import annotations

import asyncio
import os
import random
import socket
from collections.abc import AsyncIterator
from typing import Any

import psycopg
import pytest
from tests.support import databases
from tests.support.corpus import put, record

from veraz.db.session import Connection
from veraz.engine import AsyncVeraz
from veraz.errors import DatabaseError

WORD = "pump"


@pytest.fixture(params=["direct", "pooler"])
async def engine(database: str, request: pytest.FixtureRequest) -> AsyncIterator[AsyncVeraz]:
    """With one document, on the server itself and through PgBouncer in transaction mode."""
    url = database
    if request.param == "pooler":
        url = request.getfixturevalue("transaction_bouncer").administrator(database)
    async with await databases.open_engine(url) as opened:
        await put(opened, record("a", f"The {WORD} is red."))
        yield opened


def kill_all(url: str, *, cancel: bool = False) -> int:
    """Every session of the database but its own. Returns how many were told."""
    with psycopg.connect(url, autocommit=True) as admin:
        done = admin.execute(
            "select count(case when %s then pg_cancel_backend(pid) else pg_terminate_backend(pid, 5000) end)"
            " from pg_stat_activity"
            " where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'",
            [cancel],
        ).fetchone()
    assert done is not None
    return int(done[0])


async def search(engine: AsyncVeraz) -> list[str]:
    return [h.document.external_id for h in (await engine.search(WORD, lang="en", trace=False)).hits]


async def fill_pool(engine: AsyncVeraz) -> None:
    """Until every connection that the pool may have lies in it."""
    pool = engine._database._pool
    await pool.resize(pool.max_size, pool.max_size)
    await pool.wait()


async def test_connections_killed_while_idle_are_not_noticed_by_the_next_requests(
    engine: AsyncVeraz, database: str
) -> None:
    await fill_pool(engine)
    for _ in range(3):
        assert kill_all(database) >= 1
        assert await asyncio.gather(*(search(engine) for _ in range(8))) == [["a"]] * 8
        kill_all(database)
        assert (await engine.init()).migrations == ()
        kill_all(database)
        assert (await put(engine, record("a", f"The {WORD} is red."))).unchanged == 1


async def test_client_sockets_closed_by_the_network_are_not_noticed_either(engine: AsyncVeraz) -> None:
    await fill_pool(engine)
    for connection in list(engine._database._pool._pool):
        cut(connection)
    assert await asyncio.gather(*(search(engine) for _ in range(8))) == [["a"]] * 8


def cut(connection: Connection) -> None:
    with socket.socket(fileno=os.dup(connection.fileno())) as line:
        line.shutdown(socket.SHUT_RDWR)


async def test_searches_under_fire_give_the_right_rows_or_an_error_that_says_so(
    engine: AsyncVeraz, database: str
) -> None:
    chance, answered, refused = random.Random(3), 0, list[str]()
    stop = asyncio.Event()

    async def fire() -> None:
        while not stop.is_set():
            await asyncio.to_thread(kill_all, database, cancel=chance.random() < 0.5)
            await asyncio.sleep(chance.uniform(0, 0.05))

    async def ask() -> None:
        nonlocal answered
        for _ in range(40):
            try:
                assert await search(engine) == ["a"]
                answered += 1
            except DatabaseError as error:
                refused.append(str(error))

    firing = asyncio.create_task(fire())
    await asyncio.gather(*(ask() for _ in range(4)))
    stop.set()
    await firing
    assert answered + len(refused) == 160
    assert answered > 0
    assert [text for text in refused if "run the command again" not in text] == []
    assert await search(engine) == ["a"]


STATE = """
select current_user = session_user, nullif(current_setting('veraz.tenant_id', true), ''),
       nullif(current_setting('veraz.roles', true), ''), nullif(current_setting('veraz.mode', true), ''), pg_backend_pid()
"""


async def borrowed(engine: AsyncVeraz) -> tuple[list[Any], int]:
    """What the pool's only connection is as the next borrower finds it, and the process that serves it."""
    async with engine._database._pool.connection() as connection:
        status = connection.info.transaction_status
        *state, pid = await (await connection.execute(STATE)).fetchone() or ()
    return [status.name, *state], pid


CLEAN = ["IDLE", True, None, None, None]


async def sleep_in_transaction(engine: AsyncVeraz, begun: asyncio.Event | None = None) -> None:
    async with engine._database.transaction(await engine.identity(), "write") as connection:
        await connection.execute("update veraz.document set document_type = 'touched'")
        if begun:
            begun.set()
        await connection.execute("select pg_sleep(30)")


async def touched(engine: AsyncVeraz) -> list[Any]:
    async with engine._database.transaction(await engine.identity()) as connection:
        cursor = await connection.execute(
            "select external_id from veraz.document where document_type = 'touched'"
        )
        return await cursor.fetchall()


async def test_a_task_cancelled_in_a_transaction_leaves_the_connection_clean(engine: AsyncVeraz) -> None:
    await engine._database._pool.resize(1, 1)
    _, before = await borrowed(engine)
    begun = asyncio.Event()
    working = asyncio.create_task(sleep_in_transaction(engine, begun))
    await begun.wait()
    await asyncio.sleep(0.05)
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working
    state, after = await borrowed(engine)
    assert state == CLEAN
    assert after == before, "the connection was kept, so it is the one that was looked at"
    assert await touched(engine) == []


async def test_tasks_cancelled_at_any_moment_leave_the_connection_clean(engine: AsyncVeraz) -> None:
    await engine._database._pool.resize(1, 1)
    await search(engine)
    chance, cancelled = random.Random(5), 0
    for _ in range(120):
        working = asyncio.create_task(search(engine))
        await asyncio.sleep(chance.uniform(0, 0.02))
        working.cancel()
        try:
            assert await working == ["a"]
        except asyncio.CancelledError:
            cancelled += 1
        assert (await borrowed(engine))[0] == CLEAN
    assert cancelled > 20
    assert await search(engine) == ["a"]


@pytest.mark.parametrize("cancel", [True, False], ids=["cancelled", "killed"])
async def test_a_session_stopped_in_a_transaction_is_said_and_leaves_nothing(
    engine: AsyncVeraz, database: str, cancel: bool
) -> None:
    await engine._database._pool.resize(1, 1)
    begun = asyncio.Event()
    working = asyncio.create_task(sleep_in_transaction(engine, begun))
    await begun.wait()
    await asyncio.sleep(0.05)
    await asyncio.to_thread(kill_all, database, cancel=cancel)
    with pytest.raises(DatabaseError, match="stopped the work"):
        await working
    assert (await borrowed(engine))[0] == CLEAN
    assert await touched(engine) == []


async def test_work_that_was_sent_is_never_sent_again(engine: AsyncVeraz, database: str) -> None:
    runs = 0

    async def work() -> None:
        nonlocal runs
        async with engine._database.transaction(await engine.identity(), "write") as connection:
            runs += 1
            await connection.execute("update veraz.document set document_type = 'touched'")
            await asyncio.to_thread(kill_all, database)

    with pytest.raises(DatabaseError, match="run the command again"):
        await work()
    assert runs == 1
    assert await touched(engine) == []


async def test_a_borrower_that_leaves_before_it_has_begun_takes_no_connection_along(
    engine: AsyncVeraz,
) -> None:
    await engine._database._pool.resize(1, 1)
    held = asyncio.Event()

    async def hold() -> None:
        async with engine._database.transaction(await engine.identity()):
            held.set()
            await asyncio.sleep(0.3)

    holding = asyncio.create_task(hold())
    await held.wait()
    waiting = [asyncio.create_task(search(engine)) for _ in range(5)]
    await asyncio.sleep(0.05)
    for task in waiting[::2]:
        task.cancel()
    await holding
    done = await asyncio.gather(*waiting, return_exceptions=True)
    assert [isinstance(d, asyncio.CancelledError) for d in done] == [True, False, True, False, True]
    assert done[1] == ["a"]
    assert (await borrowed(engine))[0] == CLEAN


async def test_a_server_that_kills_every_new_connection_is_an_error_and_no_loop(
    engine: AsyncVeraz,
) -> None:
    """After as many tries as the pool has places, and one more."""
    tries = 0

    async def refuse(*_: object) -> None:
        nonlocal tries
        tries += 1
        raise psycopg.errors.QueryCanceled("canceling statement")

    database = engine._database
    with pytest.raises(DatabaseError, match="canceling statement"):
        async with database._borrow(refuse):
            raise AssertionError("it cannot begin")
    assert tries == database._pool.max_size + 1
