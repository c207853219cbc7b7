"""Which material is current: pointers that follow what current revisions declare, and copies that follow the pointers."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest
from tests.support import databases
from tests.support.corpus import put, record, rows

from veraz.engine import AsyncVeraz

# The definitions, written without the functions that keep them.

POINTERS_THAT_DISAGREE = """
with declared as (
    select d.document_id, array(select n.document_id from veraz.document n
                                  join veraz.revision r on r.revision_id = n.current_revision_id
                                 where r.supersedes = d.external_id and n.source_id = d.source_id) as by_documents
      from veraz.document d)
select d.external_id, d.superseded_by, by_documents from veraz.document d join declared using (document_id)
 where case when d.superseded_by is null then cardinality(by_documents) > 0 else not d.superseded_by = any (by_documents) end
"""
COPIES_THAT_DISAGREE = """
with wanted as (
    select c.chunk_id, c.revision_id = d.current_revision_id and d.superseded_by is null as current
      from veraz.chunk c join veraz.document d using (tenant_id, document_id))
select 'chunk', chunk_id from veraz.chunk join wanted using (chunk_id) where is_current <> current
union all select 'chunk_lexical', chunk_id from veraz.chunk_lexical join wanted using (chunk_id) where is_current <> current
union all select 'embedding', chunk_id from veraz.embedding_1 join wanted using (chunk_id) where is_current <> current
union all select 'lexical_stat', null
           where (select coalesce(sum(chunks), 0) from veraz.lexical_stat) <> (select count(*) from wanted where current)
union all select 'retired', revision_id from veraz.revision r join veraz.document d using (tenant_id, document_id)
           where (retired_at is null) <> (r.revision_id = d.current_revision_id)
"""

MEND = "mend what one of these documents says that it replaces"


async def check(engine: AsyncVeraz) -> None:
    assert await rows(engine, POINTERS_THAT_DISAGREE) == []
    assert await rows(engine, COPIES_THAT_DISAGREE) == []


def edition(name: str, *, replaces: str | None = None, says: str = "") -> dict[str, Any]:
    return record(name, f"The fever rule of {name}. {says}", **({"supersedes": replaces} if replaces else {}))


async def found(engine: AsyncVeraz) -> set[str]:
    lexical = await engine.search("fever rule", lang="en", mode="lexical", k=50)
    semantic = await engine.search("fever rule", lang="en", mode="semantic", k=50)
    by_arm = [{h.document.external_id for h in result.hits} for result in (lexical, semantic)]
    assert by_arm[0] == by_arm[1]
    return by_arm[0]


@pytest.mark.parametrize("order", [("old", "new"), ("new", "old")])
async def test_a_successor_hides_its_predecessor_whichever_comes_first(
    engine: AsyncVeraz, order: tuple[str, str]
) -> None:
    documents = {"old": edition("old"), "new": edition("new", replaces="old")}
    for name in order:
        await put(engine, documents[name])
    assert await found(engine) == {"new"}
    assert (await engine.show("old")).superseded_by == "new"
    assert (await engine.show("new")).supersedes == ("old",)
    await check(engine)


async def test_both_in_one_run_count_as_superseded(engine: AsyncVeraz) -> None:
    report = await put(engine, edition("old"), edition("new", replaces="old"))
    assert (report.new, report.superseded) == (2, 1)


async def test_a_declaration_that_is_withdrawn_brings_the_predecessor_back(engine: AsyncVeraz) -> None:
    await put(engine, edition("old"), edition("new", replaces="old"))
    await put(engine, edition("new"))
    assert await found(engine) == {"old", "new"}
    assert (await engine.show("old")).superseded_by is None
    await check(engine)


async def test_a_declaration_that_moves_on_frees_one_and_hides_the_other(engine: AsyncVeraz) -> None:
    await put(engine, edition("a"), edition("b"), edition("new", replaces="a"))
    await put(engine, edition("new", replaces="b"))
    assert await found(engine) == {"a", "new"}
    await check(engine)


async def test_of_a_chain_only_the_end_is_current(engine: AsyncVeraz) -> None:
    await put(engine, edition("3", replaces="2"), edition("1"), edition("2", replaces="1"))
    assert await found(engine) == {"3"}
    await put(
        engine, edition("2", replaces="1", says="Reworded.")
    )  # a new revision of replaced material stays replaced
    assert await found(engine) == {"3"}
    await check(engine)


async def test_one_of_two_successors_may_withdraw(engine: AsyncVeraz) -> None:
    await put(engine, edition("old"), edition("a", replaces="old"), edition("b", replaces="old"))
    assert await found(engine) == {"a", "b"}
    for withdrawn, left in (("a", {"a", "b"}), ("b", {"old", "a", "b"})):
        await put(engine, edition(withdrawn))
        assert await found(engine) == left, withdrawn
        await check(engine)


async def test_another_source_replaces_nothing(engine: AsyncVeraz) -> None:
    await put(engine, edition("old"))
    await put(engine, edition("new", replaces="old"), source="other")
    assert await found(engine) == {"old", "new"}
    await check(engine)


async def test_a_cycle_is_refused_and_named(engine: AsyncVeraz) -> None:
    await put(engine, edition("a"), edition("b", replaces="a"), edition("c", replaces="b"))
    before = await rows(engine, "select external_id, superseded_by from veraz.document order by 1")
    report = await put(engine, edition("a", replaces="c"), edition("d"), clean=False)
    assert [(e.external_id, e.stage, e.reason) for e in report.errors] == [
        ("a", "store", f"supersession would form a cycle: a → b → c → a (each replaced by the next); {MEND}")
    ]
    assert report.documents == 1
    assert (
        await rows(
            engine,
            "select external_id, superseded_by from veraz.document where external_id <> 'd' order by 1",
        )
    ) == before
    await check(engine)


async def test_a_document_that_replaces_itself_is_refused(engine: AsyncVeraz) -> None:
    report = await put(engine, edition("a", replaces="a"), clean=False)
    assert [(e.external_id, e.stage) for e in report.errors] == [("a", "store")]
    assert await rows(engine, "select count(*) from veraz.document") == [(0,)]


async def test_predecessor_and_successor_at_the_same_moment_are_linked(
    database: str, engine: AsyncVeraz
) -> None:
    """Neither transaction sees the other's document unless they wait for one another."""
    async with await databases.open_engine(database) as other:
        for n in range(25):
            await asyncio.gather(
                put(engine, edition(f"old{n}")), put(other, edition(f"new{n}", replaces=f"old{n}"))
            )
    await check(engine)
    assert await rows(engine, "select count(*) from veraz.document where superseded_by is not null") == [
        (25,)
    ]


async def test_replacement_across_languages_during_new_epochs_never_blocks_for_good(
    database: str, engine: AsyncVeraz
) -> None:
    """A writer that hides Spanish chunks from an English document, while Spanish vectors are computed again."""
    await put(engine, *(record(f"es{n}", f"La regla de la fiebre número {n}.", lang="es") for n in range(30)))
    stop = asyncio.Event()

    async def renew() -> None:
        length = 80
        while not stop.is_set():
            length = 180 - length
            async with other._database.transaction(await other.identity(), "write") as connection:
                await connection.execute("select pg_advisory_xact_lock(veraz.lexical_lock('epoch', 'es'))")
                await connection.execute("select veraz.start_epoch('es', %s)", [length])

    async with await databases.open_engine(database) as other:
        renewing = asyncio.create_task(renew())
        try:
            async with asyncio.timeout(60):
                for n in range(30):
                    await put(engine, edition(f"en{n}", replaces=f"es{n}"))
        finally:
            stop.set()
            await renewing
    await check(engine)


@pytest.mark.parametrize("seed", range(4))
async def test_after_any_history_every_copy_equals_its_definition(engine: AsyncVeraz, seed: int) -> None:
    chance = random.Random(seed)
    names = [f"d{i}" for i in range(6)]
    for step in range(40):
        name, other = chance.sample(names, 2)
        match chance.choices(("write", "supersede", "delete", "merge"), (4, 4, 2, 1))[0]:
            case "write":
                await put(engine, edition(name, says=f"Step {step}."))
            case "supersede":
                report = await put(engine, edition(name, replaces=other, says=f"Step {step}."), clean=False)
                assert all(e.reason.startswith("supersession would form a cycle: ") for e in report.errors)
            case "delete":
                await engine.delete(name, source="s")
            case "merge":
                await engine.merge_index()
        await check(engine)
