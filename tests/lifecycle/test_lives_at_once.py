"""Whatever four connections do to the same documents at once, every copy equals its definition afterwards."""

from __future__ import annotations

import time

import psycopg
import pytest
from tests.ingest.test_supersession import edition
from tests.support import life
from tests.support.corpus import put

from veraz.engine import AsyncVeraz


async def live_and_count(url: str, operations: int, *, seed: int, checkpoints: int) -> life.Tally:
    tally = await life.live(url, operations, seed=seed, checkpoints=checkpoints)
    print(f"\n{sum(tally.done.values())} done: {dict(tally.done)}")
    print(
        f"{sum(tally.refused.values())} refused; {tally.collisions} collisions run again; {deadlocks(url)} deadlocks"
    )
    assert tally.wrong == []
    assert deadlocks(url) <= tally.collisions, "a deadlock was not run again"
    assert tally.done.keys() == life.WEIGHTS.keys(), "every operation succeeded at least once"
    return tally


def deadlocks(url: str) -> int:
    """That the server counted in this database; it counts a moment late."""
    query = "select deadlocks from pg_stat_database where datname = current_database()"
    last = -1
    with psycopg.connect(url, autocommit=True) as connection:
        for _ in range(20):
            row = connection.execute(query).fetchone()
            assert row is not None
            if row[0] == last:
                break
            last = row[0]
            time.sleep(0.5)
    return last


DAMAGE = {
    "a pointer": "update veraz.document set superseded_by = null, superseded_at = null, superseded_from = null"
    " where external_id = 'old'",
    "a day": "update veraz.document set superseded_from = '2001-01-01' where external_id = 'old'",
    "a flag": "update veraz.chunk set is_current = false where is_current",
    "a copied flag": "update veraz.embedding_1 set is_current = true",
    "a posting": "update veraz.posting set n = n + 1 where ctid = (select min(ctid) from veraz.posting)",
    "a vector": "delete from veraz.embedding_1 where is_current",
    "a word": "delete from veraz.lexeme_stat where lexeme = 'fever'",
    "a text that was erased": "update veraz.document set current_revision_id = null, deleted_at = now()"
    " where external_id = 'old'",
}


@pytest.mark.parametrize("damage", DAMAGE)
async def test_the_check_sees_what_is_wrong(engine: AsyncVeraz, database: str, damage: str) -> None:
    await put(engine, edition("old"), edition("new", replaces="old"), edition("other"))
    await engine.merge_index()
    await life.check(engine)
    with psycopg.connect(database, autocommit=True) as superuser:
        superuser.execute(DAMAGE[damage])
    with pytest.raises(AssertionError):
        await life.check(engine)


async def test_five_hundred_operations(database: str) -> None:
    await live_and_count(database, 500, seed=5, checkpoints=5)
