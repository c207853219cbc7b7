"""Sampled searches, measured after they were answered: what they show, whom they cost nothing, and that nothing runs on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from tests.support import bulk, databases
from tests.support.corpus import maintenance_rows, put, record, rows
from tests.support.hashing import HashingEmbedder
from tests.support.lost import lose

from veraz.config import ObservabilityConfig, SearchConfig
from veraz.db.session import Database
from veraz.engine import AsyncVeraz
from veraz.engine import core as engine_module
from veraz.errors import UsageError
from veraz.nouns.corpus import Identity
from veraz.nouns.lifecycle import Retention
from veraz.nouns.question import Filters
from veraz.ops.measure.live import Sampler

ALWAYS = ObservabilityConfig(recall_sample=1.0, recall_k=10, recall_waiting=16)
WIDE = SearchConfig(pool=10, ef_search=1000)
SAMPLES = "select arm, expected, found, approximated, filtered, dropped from veraz.recall_sample order by measured_at, arm"
QUESTION = "w1 w3 w7"


@pytest.fixture
async def large(engine: AsyncVeraz, database: str) -> str:
    """The URL of a database whose tenant has too many vectors, of random directions, to compare them all."""
    identity, space = await engine.identity(), await engine.space()
    await bulk.without_index(engine, space.space_id)
    async with engine._database.maintenance(identity.tenant_id) as connection:
        await connection.execute("select setseed(0.5)")
        await bulk.fill_tenant(
            connection, identity.tenant_id, space_id=space.space_id, documents=150, words=20, vocabulary=400
        )
    await bulk.with_index(engine, space.space_id)
    return database


def sampling(url: str, **changes: Any) -> Any:
    changes.setdefault("observability", ALWAYS)
    return databases.open_engine(url, HashingEmbedder(), **changes)


def sampler_of(engine: AsyncVeraz) -> Sampler[Any]:
    assert engine._live is not None
    return engine._live


async def settled(engine: AsyncVeraz) -> None:
    await asyncio.wait_for(sampler_of(engine).settled(), 30)


# What it shows


async def test_what_an_index_misses_shows_and_a_healthy_one_shows_nothing_missed(large: str) -> None:
    async with await sampling(large, search=WIDE) as engine:
        for number in range(8):
            await engine.search(f"{QUESTION} w{number}", lang="en")
        await settled(engine)
        healthy = await engine.live_recall()
        assert healthy.arms == {"lexical": 1.0, "semantic": 1.0}
        assert (healthy.recall, healthy.worst, healthy.samples, healthy.approximated) == (1.0, 1.0, 16, 8)
        by_arm = {day.arm: day for day in healthy.days}
        assert (by_arm["lexical"].mean, by_arm["semantic"].mean) == (None, 1.0), (
            "the lexical arm had read everything"
        )
        assert by_arm["semantic"].exact_ms
        assert {row[1] for row in await rows(engine, SAMPLES)} == {10}

        begin = datetime.now(UTC)
        lose(large, 0.5)
        for number in range(8):
            await engine.search(f"{QUESTION} w{number}", lang="en", mode="semantic")
        await settled(engine)
        missing = await engine.live_recall(since=begin)
        assert 0.2 < missing.arms["semantic"] < 0.8
        assert missing.recall == missing.arms["semantic"]
        assert missing.worst is not None
        assert missing.worst <= missing.recall
        assert (missing.samples, missing.approximated, missing.dropped) == (8, 8, 0)
        both = await engine.live_recall(gates=("recall>=0.95",))
        assert both.samples == 24
        assert both.recall == pytest.approx((1 + missing.recall) / 2)
        assert [gate.passed for gate in both.gates] == [False]


async def test_what_a_tight_budget_misses_shows_in_the_lexical_arm(large: str) -> None:
    tight = SearchConfig(pool=10, budget=30, rescored=10)
    async with await sampling(large, search=tight) as engine:
        for number in range(8):
            await engine.search(f"w1 w2 w3 w{number + 10} w{number + 30}", lang="en", mode="lexical")
        await settled(engine)
        found = await engine.live_recall()
    assert found.arms["lexical"] < 0.95
    assert found.approximated == 8


async def test_what_was_written_since_is_no_miss(large: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both results are of one snapshot, whatever happened between the answer and the measurement."""
    async with await sampling(large, search=WIDE) as engine:
        begin, ready = gate(monkeypatch)
        await engine.search(QUESTION, lang="en", mode="semantic")
        with psycopg.connect(large) as connection:
            connection.execute("update veraz.embedding_1 set is_current = false where random() < 0.5")
        ready.set()
        await settled(engine)
        assert begin == ["asked again"]
        assert (await engine.live_recall()).recall == 1.0


async def test_small_tenants_are_read_whole_and_filters_are_noted(database: str) -> None:
    async with await sampling(database) as engine:
        await put(engine, record("a", "The fever of a."), record("b", "The fever of b."))
        await engine.search("fever", lang="en", filters=Filters(sources=("s",)))
        await settled(engine)
        assert await rows(engine, SAMPLES) == [
            ("lexical", 2, 2, False, True, 0),
            ("semantic", 2, 2, False, True, 0),
        ]
        found = await engine.live_recall(gates=("recall>=0.95", "semantic.recall>=0.95", "samples>=100"))
        assert [gate.passed for gate in found.gates] == [True, True, False]
        assert found.days[0].day == datetime.now(UTC).date()


async def test_answers_are_sampled_and_exact_searches_and_days_are_not(database: str) -> None:
    async with await sampling(database) as engine:
        await put(engine, record("a", "The fever of a is treated with rest."))
        await engine.search("fever", lang="en", exact=True)
        await engine.search("fever", lang="en", as_of=datetime.now(UTC).date())
        await engine.search("?!", lang="en")
        await settled(engine)
        assert await rows(engine, SAMPLES) == []
        await engine.ask("How is fever treated?", lang="en")
        await settled(engine)
        assert len(await rows(engine, SAMPLES)) == 2


async def test_no_question_and_no_id_is_kept(database: str) -> None:
    async with await sampling(database) as engine:
        await put(engine, record("zyxdocument", "The zyxquork fever."))
        await engine.search("zyxquork", lang="en", trace=False)
        await settled(engine)
        kept = await rows(engine, "select to_jsonb(s)::text from veraz.recall_sample s")
        chunks = await rows(engine, "select chunk_id::text, document_id::text from veraz.chunk")
        assert len(kept) == 2
        assert not [word for word in ("zyx", *chunks[0]) for (row,) in kept if word in row]


async def test_the_share_decides_which_are_sampled(database: str) -> None:
    async with await sampling(database, observability=ObservabilityConfig(recall_sample=0.25)) as engine:
        await put(engine, record("a", "The fever of a."))
        drawn = iter([0.1, 0.24, 0.25, 0.9] * 3)
        sampler_of(engine)._chance = lambda: next(drawn)
        for _ in range(12):
            await engine.search("fever", lang="en", mode="lexical")
            await settled(engine)
        assert len(await rows(engine, SAMPLES)) == 6
    async with await databases.open_engine(database) as plain:
        assert plain._live is None


# Whom it measures as


async def test_a_search_is_asked_again_as_who_asked_it(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    acted: list[tuple[str, tuple[str, ...]]] = []
    plain = Database.transaction

    @asynccontextmanager
    async def watched(
        self: Database, identity: Identity, mode: Any = "read", **more: Any
    ) -> AsyncIterator[Any]:
        if self._pool.max_size == 1:
            acted.append((identity.tenant, identity.roles))
        async with plain(self, identity, mode, **more) as connection:
            yield connection

    async with await sampling(database) as engine:
        await put(engine, record("a", "The fever of a."), record("b", "The fever of b.", acl=["hr"]))
        beta = await engine.ensure_tenant("beta")
        await put(engine, record("c", "The fever of c."), identity=beta)
        mine = await engine.identity()
        monkeypatch.setattr(Database, "transaction", watched)
        for identity in (mine, replace(mine, roles=("public", "hr")), replace(mine, roles=()), beta):
            await engine.acting_as(identity).search("fever", lang="en", mode="lexical")
            await settled(engine)
        monkeypatch.undo()
        assert acted == [
            ("default", ("public",)),
            ("default", ("public", "hr")),
            ("default", ()),
            ("beta", ("public",)),
        ]
        found = await maintenance_rows(
            engine, "select slug, expected from veraz.recall_sample join veraz.tenant using (tenant_id) order by measured_at"
        )  # fmt: skip
        assert found == [("default", 1), ("default", 2), ("beta", 1)], (
            "who may read nothing has nothing to miss"
        )
        assert (await engine.acting_as(beta).live_recall()).samples == 1


async def test_who_presents_a_credential_sees_no_series(database: str) -> None:
    async with await sampling(database) as engine:
        caller = engine.acting_as(replace(await engine.identity(), operator=False))
        for call in (caller.live_recall(), caller.measure_index()):
            with pytest.raises(UsageError, match="may not do what is the operator's"):
                await call


# What it costs those who ask


def gate(monkeypatch: pytest.MonkeyPatch) -> tuple[list[str], asyncio.Event]:
    """Holds every measurement back until the event is set; lists those that began."""
    began, ready, plain = list[str](), asyncio.Event(), engine_module.ask_again

    async def held(*arguments: Any, **named: Any) -> Any:
        began.append("asked again")
        await ready.wait()
        return await plain(*arguments, **named)

    monkeypatch.setattr(engine_module, "ask_again", held)
    return began, ready


async def test_a_search_is_asked_again_only_after_it_was_answered(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []
    plain = engine_module.ask_again

    async def watched(*arguments: Any, **named: Any) -> Any:
        events.append("asked again")
        return await plain(*arguments, **named)

    monkeypatch.setattr(engine_module, "ask_again", watched)
    async with await sampling(database) as engine:
        await put(engine, record("a", "The fever of a."))
        for _ in range(3):
            await engine.search("fever", lang="en")
            events.append("answered")
            await settled(engine)
        await engine.ask("What is the fever of a?", lang="en")
        events.append("answered")
        await settled(engine)
    assert events == ["answered", "asked again"] * 4


async def test_searches_are_answered_however_long_a_measurement_takes(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where all requests share one connection: a measurement has its own."""
    began, ready = gate(monkeypatch)
    few = ObservabilityConfig(recall_sample=1.0, recall_waiting=3)
    async with await sampling(database, observability=few) as engine:
        await engine._database._pool.resize(1, 1)
        await put(engine, record("a", "The fever of a."))
        await engine.search("fever", lang="en", mode="lexical")
        await until(lambda: bool(began))
        for _ in range(10):
            assert (await engine.search("fever", lang="en", mode="lexical")).hits
        assert began == ["asked again"], "one at a time"
        assert sampler_of(engine).dropped == 7, "three wait"
        ready.set()
        await settled(engine)
        assert sampler_of(engine).dropped == 0
        found = await engine.live_recall(gates=("dropped<=6",))
        assert (found.samples, found.dropped) == (4, 7)
        assert [gate.passed for gate in found.gates] == [False]


async def test_whatever_goes_wrong_is_counted_and_the_next_is_measured(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, broken = engine_module.ask_again, True

    async def breaking(*arguments: Any, **named: Any) -> Any:
        if broken:
            raise ZeroDivisionError
        return await plain(*arguments, **named)

    monkeypatch.setattr(engine_module, "ask_again", breaking)
    async with await sampling(database) as engine:
        await put(engine, record("a", "The fever of a."))
        for _ in range(2):
            await engine.search("fever", lang="en", mode="lexical")
            await settled(engine)
        assert sampler_of(engine).dropped == 2
        broken = False
        await engine.search("fever", lang="en", mode="lexical")
        await settled(engine)
        found = await engine.live_recall()
        assert (found.samples, found.dropped) == (1, 2)


# What is left of it


def others(url: str) -> int:
    """Connections to the database besides the one that counts."""
    query = (
        "select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
    )
    with psycopg.connect(url) as connection:
        row = connection.execute(query).fetchone()
    assert row is not None
    return int(row[0])


async def until(condition: Callable[[], bool]) -> None:
    for _ in range(200):
        if condition():
            return
        await asyncio.sleep(0.05)
    raise AssertionError("it does not end")


async def test_nothing_runs_on_after_closing_and_what_was_abandoned_is_counted(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, _ = gate(monkeypatch)
    engine = await sampling(database)
    await put(engine, record("a", "The fever of a."))
    for _ in range(5):
        await engine.search("fever", lang="en", mode="lexical")
    await until(lambda: bool(began))
    sampler = sampler_of(engine)
    await engine.close()
    assert asyncio.all_tasks() == {asyncio.current_task()}
    await until(lambda: others(database) == 0)
    assert sampler.dropped == 0, "it is in the database"
    sampler.offer(Identity(None, "default", ()), None)  # type: ignore[arg-type]
    assert asyncio.all_tasks() == {asyncio.current_task()}
    await sampler.close()
    async with await databases.open_engine(database) as later:
        found = await later.live_recall()
        assert (found.samples, found.dropped, found.recall) == (0, 5, None)
    assert began == ["asked again"]


async def test_a_statement_that_runs_as_the_engine_closes_is_stopped(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def slow(connection: Any, *_: Any) -> Any:
        await connection.execute("select pg_sleep(60)")

    monkeypatch.setattr(engine_module, "ask_again", slow)
    engine = await sampling(database)
    await put(engine, record("a", "The fever of a."))
    await engine.search("fever", lang="en", mode="lexical")
    await until(lambda: "pg_sleep" in running(database))
    await asyncio.wait_for(engine.close(), 10)
    await until(lambda: others(database) == 0)


def running(url: str) -> str:
    query = "select query from pg_stat_activity where state = 'active' and pid <> pg_backend_pid()"
    with psycopg.connect(url) as connection:
        return repr(connection.execute(query).fetchall())


async def test_closing_where_nothing_was_sampled_writes_nothing(database: str) -> None:
    async with await sampling(database) as engine:
        await put(engine, record("a", "The fever of a."))
    async with await databases.open_engine(database) as later:
        assert await rows(later, SAMPLES) == []


async def test_samples_go_when_the_policy_says_so(database: str) -> None:
    async with await sampling(database) as engine:
        await put(engine, record("a", "The fever of a."))
        for days in (60, 0):
            await engine.search("fever", lang="en", mode="lexical")
            await settled(engine)
            async with engine._database.maintenance() as connection:
                await connection.execute(
                    "update veraz.recall_sample set measured_at = measured_at - make_interval(days => %s)",
                    [days],
                )
        assert (await engine.live_recall(since=datetime.now(UTC) - timedelta(days=90))).samples == 2
        assert (await engine.live_recall()).samples == 1
        assert (await engine.run_retention()).recall_samples == 0
        await engine.set_retention(Retention(recall_days=30))
        assert (await engine.run_retention(dry_run=True)).recall_samples == 1
        assert (await engine.run_retention()).recall_samples == 1
        assert (await engine.live_recall(since=datetime.now(UTC) - timedelta(days=90))).samples == 1
