"""What a policy lets go, what it keeps, and that nobody waits for it."""

from __future__ import annotations

import asyncio
from datetime import date
from typing import Any

import psycopg
import pytest
from tests.ingest.test_supersession import COPIES_THAT_DISAGREE, edition, found
from tests.support import databases, oracle
from tests.support.corpus import maintenance_rows, put, record, rows

from veraz.engine import AsyncVeraz
from veraz.errors import ItemError, UsageError
from veraz.nouns.lifecycle import Retention


async def age(engine: AsyncVeraz, days: int) -> None:
    """As if everything had happened so many days earlier."""
    async with engine._database.maintenance() as connection:
        for table, column in (
            ("revision", "retired_at"),
            ("document", "deleted_at"),
            ("trace", "created_at"),
        ):
            await connection.execute(
                psycopg.sql.SQL("update veraz.{} set {} = {} - make_interval(days => %s)").format(
                    psycopg.sql.Identifier(table), *[psycopg.sql.Identifier(column)] * 2
                ),
                [days],
            )


async def numbers(engine: AsyncVeraz, external_id: str) -> list[int]:
    found = await rows(
        engine,
        "select number from veraz.revision join veraz.document using (document_id) where external_id = %s order by 1",
        external_id,
    )
    return [row[0] for row in found]


async def versions(engine: AsyncVeraz, external_id: str, count: int, start: int = 1) -> None:
    for n in range(start, start + count):
        await put(engine, edition(external_id, says=f"Version {n}."))


async def run(engine: AsyncVeraz, **policy: int) -> Any:
    await engine.set_retention(Retention(**policy))
    return await engine.run_retention()


async def test_without_a_policy_everything_stays(engine: AsyncVeraz) -> None:
    await versions(engine, "a", 3)
    await engine.delete("a", source="s")
    await engine.search("fever", lang="en")
    await age(engine, 10_000)
    assert await engine.retention() == Retention()
    purged = await engine.run_retention()
    assert (purged.revisions, purged.documents, purged.traces) == (0, 0, 0)
    assert await numbers(engine, "a") == [1, 2, 3]


@pytest.mark.parametrize(
    ("policy", "kept"),
    [
        ({"history_days": 30}, [3, 4, 5]),
        ({"history_revisions": 1}, [4, 5]),
        ({"history_revisions": 0}, [5]),
        ({"history_days": 30, "history_revisions": 1}, [3, 4, 5]),
        ({"history_days": 30, "history_revisions": 3}, [2, 3, 4, 5]),
        ({"history_days": 0}, [5]),
        ({"history_days": 90}, [1, 2, 3, 4, 5]),
    ],
)
async def test_a_revision_goes_when_it_is_past_every_limit_that_is_set(
    engine: AsyncVeraz, policy: dict[str, int], kept: list[int]
) -> None:
    await versions(engine, "a", 3)
    await age(engine, 60)
    await versions(engine, "a", 2, start=4)
    await asyncio.sleep(0.01)
    purged = await run(engine, **policy)
    assert await numbers(engine, "a") == kept
    assert (purged.revisions, purged.chunks) == (5 - len(kept), 5 - len(kept))
    assert await found(engine) == {"a"}
    assert (await engine.run_retention()).revisions == 0
    assert await rows(engine, COPIES_THAT_DISAGREE) == []
    await oracle.check_postings(engine, merged=False)


async def test_a_purged_revision_is_said_to_be_purged(engine: AsyncVeraz, eager_engine: AsyncVeraz) -> None:
    await put(engine, record("a", "# Dose\n\nThe dose of metformin is eleven.", format="markdown"))
    answer = await eager_engine.ask("What is the dose of metformin?", lang="en")
    assert answer.citations
    await put(engine, record("a", "# Dose\n\nThe dose of metformin is twelve.", format="markdown"))
    await run(engine, history_revisions=0)
    with pytest.raises(UsageError, match=r"revision 1 of 'a' was purged.*\n.*revision 2"):
        await engine.show("a", source="s", revision=1)
    with pytest.raises(UsageError, match="has no revision 3"):
        await engine.show("a", source="s", revision=3)
    explained = await engine.explain_trace(str(answer.trace_id))
    assert [(c["quote"], c["purged"]) for c in explained["citations"]] == [(None, True)] * len(
        answer.citations
    )
    await put(engine, record("a", "# Dose\n\nThe dose of metformin is thirteen.", format="markdown"))
    assert await numbers(engine, "a") == [2, 3]


async def test_a_purge_never_leaves_an_earlier_revision_to_stand_for_a_later_one(engine: AsyncVeraz) -> None:
    """Dated revisions arrive in any order: the one of 2020 was retired last, and must not answer for 2021 alone."""
    for day in ("2021-01-01", "2022-01-01"):
        await put(engine, record("a", f"The fever rule of {day}.", valid_from=day))
    await age(engine, 60)
    await put(engine, record("a", "The fever rule of 2020.", valid_from="2020-01-01"))
    purged = await run(engine, history_days=30)
    assert purged.revisions == 0
    assert (await engine.show("a", source="s", as_of=date(2021, 6, 1))).shown == 1


async def test_words_of_purged_text_leave_the_vocabulary(engine: AsyncVeraz) -> None:
    await put(engine, record("a", "The zyxquork fever."), record("b", "Another fever."))
    await engine.merge_index()
    await put(engine, record("a", "The plain fever."))
    await run(engine, history_revisions=0)
    await engine.merge_index()
    words = {row[0] for row in await rows(engine, "select lexeme from veraz.lexeme_stat")}
    assert "zyxquork" not in words
    assert {"fever", "plain"} <= words


async def test_deleted_documents_go_with_their_row_or_leave_a_tombstone(engine: AsyncVeraz) -> None:
    await put(engine, edition("old"), edition("new", replaces="old"), edition("alone"), edition("kept"))
    await engine.delete("new", source="s")
    await engine.delete("alone", source="s")
    await age(engine, 60)
    await engine.delete("kept", source="s")
    purged = await run(engine, deleted_days=30)
    assert (purged.documents, purged.tombstones, purged.revisions) == (2, 1, 2)
    left = await rows(
        engine,
        "select external_id, current_revision_id is null, supersession_pinned from veraz.document order by 1",
    )
    assert left == [("kept", False, False), ("new", True, False), ("old", False, True)]
    assert (await engine.run_retention()).documents == 0
    assert await found(engine) == set(), "what it replaced stays replaced"
    with pytest.raises(ItemError, match="was purged: its text is gone"):
        await engine.restore("new", source="s")
    await engine.restore("kept", source="s")
    assert (await put(engine, edition("new", replaces="old"))).documents == 1
    assert await found(engine) == {"new", "kept"}
    assert (await engine.show("new", source="s")).current_revision == 2
    await oracle.check_postings(engine, merged=False)


async def test_a_tombstone_goes_when_nothing_names_it_any_more(engine: AsyncVeraz) -> None:
    await put(engine, edition("old"), edition("new", replaces="old"))
    for name in ("new", "old"):
        await engine.delete(name, source="s")
    await age(engine, 60)
    purged = await run(engine, deleted_days=30)
    again = await engine.run_retention()
    assert purged.documents + again.documents >= 2
    assert await rows(engine, "select external_id from veraz.document") == []


async def test_an_erased_document_keeps_its_tombstone(engine: AsyncVeraz) -> None:
    await put(engine, edition("a"))
    await engine.erase("a", source="s")
    async with engine._database.maintenance() as connection:
        await connection.execute("update veraz.document set deleted_at = now() - interval '9 years'")
    assert (await run(engine, deleted_days=1)).documents == 0
    assert await rows(engine, "select external_id from veraz.document") == [("a",)]


async def test_traces_go_by_age_in_batches(engine: AsyncVeraz) -> None:
    await put(engine, edition("a"))
    for _ in range(5):
        await engine.search("fever", lang="en")
    await age(engine, 60)
    await engine.search("fever", lang="en")
    await engine.set_retention(Retention(trace_days=30))
    seen: list[tuple[int, int]] = []
    purged = await engine.run_retention(batch=2, progress=lambda done, total: seen.append((done, total)))
    assert purged.traces == 5
    assert seen == [(2, 5), (4, 5), (5, 5)]
    assert await rows(engine, "select count(*) from veraz.trace") == [(1,)]


async def test_a_dry_run_counts_and_removes_nothing(engine: AsyncVeraz) -> None:
    await versions(engine, "a", 3)
    await put(engine, edition("b"))
    await engine.delete("b", source="s")
    await engine.search("fever", lang="en")
    await age(engine, 60)
    await engine.set_retention(Retention(30, 0, 30, 30))
    planned = await engine.run_retention(dry_run=True)
    assert (planned.revisions, planned.documents, planned.traces, planned.dry_run) == (2, 1, 1, True)
    assert await numbers(engine, "a") == [1, 2, 3]
    done = await engine.run_retention()
    assert (done.documents, done.traces, done.dry_run) == (1, 1, False)


async def test_the_policy_belongs_to_the_tenant_and_is_checked(engine: AsyncVeraz) -> None:
    beta = engine.acting_as(await engine.ensure_tenant("beta"))
    await put(beta, edition("a"), identity=await beta.identity())
    await beta.delete("a", source="s")
    await age(engine, 60)
    assert (await run(engine, deleted_days=30)).documents == 0
    assert await beta.retention() == Retention()
    assert await rows(beta, "select count(*) from veraz.revision") == [(1,)]
    await engine.set_retention(Retention(history_days=7))
    assert await engine.retention() == Retention(history_days=7), "a limit that is not named any more is gone"
    for wrong in (Retention(history_days=-1), Retention(trace_days=10**9)):
        with pytest.raises(UsageError):
            await engine.set_retention(wrong)
    with pytest.raises(UsageError, match="batch"):
        await engine.run_retention(batch=0)


async def test_readers_and_writers_go_on_while_it_runs(database: str, engine: AsyncVeraz) -> None:
    """A reader that began before sees all it saw; a writer's document is left for later; nobody waits."""
    for n in range(4):
        await versions(engine, f"d{n}", 4)
    await engine.set_retention(Retention(history_revisions=0))
    history = "select count(*) from veraz.chunk where not is_current"
    identity = await engine.identity()
    async with await databases.open_engine(database) as other:
        async with other._database.transaction(identity) as reader:
            seen = await (await reader.execute(history)).fetchone()
            async with other._database.transaction(identity, "write") as writer:
                await writer.execute(
                    "update veraz.document set document_type = 'held' where external_id = 'd1'"
                )
                async with asyncio.timeout(20):
                    purged = await engine.run_retention(batch=2)
            assert (purged.revisions, purged.skipped) == (9, 1)
            assert await (await reader.execute(history)).fetchone() == seen == (12,)
        assert await rows(engine, history) == [(3,)]
        assert (await engine.run_retention()).revisions == 3
    assert await rows(engine, history) == [(0,)]


async def test_it_runs_beside_ingests_of_the_same_documents(database: str, engine: AsyncVeraz) -> None:
    await engine.set_retention(Retention(history_revisions=1))
    stop = asyncio.Event()
    failures: list[BaseException] = []

    async def purge(other: AsyncVeraz) -> None:
        while not stop.is_set():
            try:
                await other.run_retention(batch=3)
            except Exception as error:
                failures.append(error)
                return

    async with await databases.open_engine(database) as other:
        purging = asyncio.create_task(purge(other))
        async with asyncio.timeout(60):
            for n in range(15):
                await put(engine, *(edition(f"d{i}", says=f"Version {n}.") for i in range(4)))
        stop.set()
        await purging
    assert failures == []
    await engine.run_retention()
    for i in range(4):
        assert await numbers(engine, f"d{i}") == [14, 15]
    assert await rows(engine, COPIES_THAT_DISAGREE) == []
    await oracle.check_postings(engine, merged=False)


async def test_stopped_in_the_middle_it_has_kept_its_batches_and_goes_on(engine: AsyncVeraz) -> None:
    for n in range(6):
        await versions(engine, f"d{n}", 2)
    await engine.set_retention(Retention(history_revisions=0))

    class Stop(Exception):
        pass

    def stop(done: int, _total: int) -> None:
        if done >= 4:
            raise Stop

    with pytest.raises(Stop):
        await engine.run_retention(batch=2, progress=stop)
    assert await maintenance_rows(engine, "select count(*) from veraz.revision") == [(8,)]
    assert (await engine.run_retention(batch=2)).revisions == 2
    assert await rows(engine, COPIES_THAT_DISAGREE) == []
