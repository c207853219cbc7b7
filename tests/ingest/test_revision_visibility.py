"""A reader sees the whole old or the whole new revision; a deletion and a failure show nothing in between."""

from __future__ import annotations

import asyncio
from typing import Any

import psycopg
import pytest
from tests.support import databases
from tests.support.corpus import put, record, rows

from veraz.engine import AsyncVeraz
from veraz.nouns.evidence import SearchResult

SECTIONS = 5


def version(n: int) -> dict[str, Any]:
    """Every chunk says which version it belongs to."""
    parts = [f"## Part {i}\n\nThe valve rule of edition{n} in part {i}." for i in range(SECTIONS)]
    return record("doc", "\n\n".join(parts), title="Valves", format="markdown")


async def read_until(engine: AsyncVeraz, stop: asyncio.Event, mode: Any, seen: list[SearchResult]) -> None:
    while not stop.is_set():
        seen.append(await engine.search("valve rule", lang="en", mode=mode, k=50, trace=False))


async def count_until(engine: AsyncVeraz, stop: asyncio.Event, seen: list[tuple[Any, ...]]) -> None:
    """One statement, hence one snapshot: everything that is copied from the pointer must agree with it."""
    while not stop.is_set():
        seen += await rows(
            engine,
            "select (select count(*) from veraz.chunk where is_current),"
            " (select count(*) from veraz.chunk_lexical where is_current),"
            " (select count(*) from veraz.embedding_1 where is_current),"
            " (select count(*) from veraz.chunk c join veraz.document d on d.current_revision_id = c.revision_id"
            "   where c.is_current),"
            " (select count(*) from veraz.revision where retired_at is null), (select sum(chunks) from veraz.lexical_stat)",
        )


async def test_fifty_replacements_are_each_seen_whole_or_not_at_all(
    database: str, engine: AsyncVeraz
) -> None:
    await put(engine, version(0))
    stop = asyncio.Event()
    results: dict[str, list[SearchResult]] = {m: [] for m in ("hybrid", "lexical", "semantic")}
    counts: list[tuple[Any, ...]] = []
    async with await databases.open_engine(database) as writer:
        readers = [
            asyncio.create_task(read_until(engine, stop, mode, seen)) for mode, seen in results.items()
        ]
        readers.append(asyncio.create_task(count_until(engine, stop, counts)))
        for n in range(1, 51):
            await put(writer, version(n))
        stop.set()
        await asyncio.gather(*readers)
    assert set(counts) == {(SECTIONS, SECTIONS, SECTIONS, SECTIONS, 1, SECTIONS)}
    for mode, seen in results.items():
        assert len({r.hits[0].document.revision for r in seen}) > 5, (
            f"{mode}: the reader was too slow to see anything"
        )
        for result in seen:
            assert len({h.document.revision for h in result.hits}) == 1, mode
            assert {h.ord for h in result.hits} == set(range(SECTIONS)), mode
            assert all(h.document.is_current for h in result.hits), mode
            editions = {word for h in result.hits for word in h.body.split() if word.startswith("edition")}
            assert len(editions) == 1, mode


@pytest.mark.parametrize("mode", ["hybrid", "lexical", "semantic"])
async def test_a_deletion_hides_from_the_next_query_on(engine: AsyncVeraz, mode: Any) -> None:
    gone, kept = (
        record("gone", "The valve opens at nine bar."),
        record("kept", "The valve closes at two bar."),
    )
    await put(engine, gone, kept)

    async def found() -> set[str]:
        result = await engine.search("when does the valve open", lang="en", mode=mode, k=50)
        return {h.document.external_id for h in result.hits}

    assert await found() == {"gone", "kept"}
    assert await engine.delete("gone", source="s")
    assert await found() == {"kept"}
    assert not await engine.delete("gone", source="s")
    assert not await engine.delete("never", source="s")
    assert not await engine.delete("kept", source="another")
    assert await found() == {"kept"}
    report = await put(engine, gone)  # the same bytes bring it back
    assert (report.changed, report.unchanged) == (1, 0)
    assert await found() == {"gone", "kept"}


async def test_a_failure_in_the_transaction_leaves_the_old_revision_whole(engine: AsyncVeraz) -> None:
    await put(engine, version(1))
    before = await rows(engine, "select chunk_id, is_current from veraz.chunk order by 1")
    async with engine._database.administration() as connection:
        await connection.execute(
            "create function public.refuse() returns trigger language plpgsql as $$ begin raise check_violation using message ="
            " 'refused at the end'; end $$"
        )
        await connection.execute(
            "create trigger refuse before update on veraz.document for each row execute function public.refuse()"
        )
    report = await put(engine, version(2), clean=False)
    (error,) = report.errors
    assert (error.external_id, error.stage) == ("doc", "store")
    assert error.reason.startswith("the database does not take it: refused at the end; ")
    assert await rows(engine, "select chunk_id, is_current from veraz.chunk order by 1") == before
    assert await rows(engine, "select count(*), max(number) from veraz.revision") == [(1, 1)]
    assert await rows(engine, "select count(*) from veraz.chunk_lexical") == [(SECTIONS,)]
    async with engine._database.administration() as connection:
        await connection.execute("drop trigger refuse on veraz.document")
    assert (await put(engine, version(2))).changed == 1


# H32, within one process; eight processes do it in tests/proof


@pytest.mark.parametrize("same", [True, False])
async def test_eight_ingests_of_one_document_at_once_leave_one(database: str, same: bool) -> None:
    engines = [await databases.open_engine(database) for _ in range(8)]
    try:
        reports = await asyncio.gather(
            *(put(e, version(1 if same else n), clean=False) for n, e in enumerate(engines))
        )
        failures = [e.reason for r in reports for e in r.errors]
        assert all("already written by another ingest" in reason for reason in failures), failures
        assert len(failures) < (1 if same else len(engines)), "somebody's content was kept"
        engine = engines[0]
        assert await rows(engine, "select count(*) from veraz.document") == [(1,)]
        current = await rows(
            engine,
            "select count(*), count(distinct revision_id), count(distinct substring(body from 'edition[0-9]+'))"
            " from veraz.chunk where is_current",
        )
        assert current == [(SECTIONS, 1, 1)]
        numbers = [n for (n,) in await rows(engine, "select number from veraz.revision order by 1")]
        assert numbers == ([1] if same else list(range(1, len(numbers) + 1)))
        assert len((await engine.search("valve rule", lang="en", k=50)).hits) == SECTIONS
    finally:
        for engine in engines:
            await engine.close()


async def test_a_connection_that_is_cut_rolls_back_and_says_what_to_do(
    database: str, engine: AsyncVeraz
) -> None:
    from veraz.errors import DatabaseError

    await put(engine, version(1))

    async def cut() -> None:
        async with engine._database.transaction(await engine.identity(), "write") as connection:
            await connection.execute("update veraz.chunk set is_current = false")
            with psycopg.connect(database, autocommit=True) as admin:
                admin.execute("select pg_terminate_backend(%s)", [connection.info.backend_pid])
            await connection.execute("select 1")

    with pytest.raises(DatabaseError, match=r"stopped the work[\s\S]*fix: .*run the command again"):
        await cut()
    assert len((await engine.search("valve rule", lang="en", k=50)).hits) == SECTIONS
