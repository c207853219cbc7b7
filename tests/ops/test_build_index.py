"""Another index for a space: built beside the one that serves, put into its place at once, nothing left behind by what fails."""

from __future__ import annotations

import asyncio
import re
import threading
import time
from collections.abc import AsyncIterator
from typing import Any, LiteralString

import psycopg
import pytest
from tests.support import bulk, databases
from tests.support.corpus import put, record
from tests.support.logins import login

from veraz.config import SearchConfig
from veraz.engine import AsyncVeraz
from veraz.errors import CheckFailed, DatabaseError, UsageError
from veraz.nouns.measure import IndexFigure
from veraz.ops import indexes
from veraz.ops.indexes import check_options, planned, signs_suffice
from veraz.schema import indexes as building

CHUNKS = 600
INDEXES: LiteralString = """
select i.relname, a.amname, x.indisvalid from pg_index x join pg_class i on i.oid = x.indexrelid join pg_am a on a.oid = i.relam
 where x.indrelid = 'veraz.embedding_1'::regclass and a.amname in ('hnsw', 'ivfflat') order by 1
"""
RECORDED: LiteralString = (
    "select index_kind, index_options, index_built_at is not null from veraz.embedding_space"
)


def truth(url: str, query: LiteralString) -> list[tuple[Any, ...]]:
    with psycopg.connect(url, autocommit=True) as connection:
        return connection.execute(query).fetchall()


def change(url: str, *commands: LiteralString) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for command in commands:
            connection.execute(command)


# ruff: noqa: ARG001 (a corpus is wanted, and asked through other engines)


LITTLE_SIGNS: LiteralString = """
update veraz.embedding_1 e
   set vec = (select array_agg((case when d <= 24 then 0.02 * (random() - 0.5) else random() end)::real)::vector::halfvec
                from generate_series(1, 384 + 0 * length(e.chunk_id::text)) d)
"""


@pytest.fixture(autouse=True)
def few_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexes, "QUERIES", 4)


@pytest.fixture
async def filled(database: str) -> AsyncIterator[AsyncVeraz]:
    """Vectors whose signs tell nothing: they are negative in few dimensions, and there hardly."""
    async with await databases.open_engine(database, search=SearchConfig(pool=10)) as engine:
        identity = await engine.identity()
        await bulk.without_index(engine, 1)
        async with engine._database.maintenance(identity.tenant_id) as connection:
            await connection.execute("select setseed(0.5)")
            await bulk.fill_tenant(
                connection, identity.tenant_id, space_id=1, documents=CHUNKS // 10, words=5, vocabulary=400
            )
            await connection.execute(LITTLE_SIGNS)
        await bulk.with_index(engine, 1)
        yield engine


async def test_each_kind_replaces_the_one_before_it_and_is_recorded(
    filled: AsyncVeraz, database: str
) -> None:
    assert truth(database, RECORDED) == [("hnsw", {}, False)]
    made = await filled.build_index("ivfflat", lists=12)
    assert (made.kind, made.options, made.vectors) == ("ivfflat", {"lists": 12, "probes": 12}, CHUNKS)
    assert made.size_bytes > 100_000
    assert truth(database, INDEXES) == [("embedding_1_ivfflat", "ivfflat", True)]
    assert truth(database, RECORDED) == [("ivfflat", {"lists": 12, "probes": 12}, True)]

    made = await filled.build_index("hnsw", m=8, ef_construction=40)
    assert truth(database, INDEXES) == [("embedding_1_hnsw", "hnsw", True)]
    options = truth(database, "select reloptions from pg_class where relname = 'embedding_1_hnsw'")
    assert options == [(["m=8", "ef_construction=40"],)]

    made = await filled.build_index("none")
    assert (made.size_bytes, truth(database, INDEXES)) == (0, [])
    assert truth(database, RECORDED) == [("none", {}, True)]


async def test_an_index_over_the_signs_needs_its_recall_first(filled: AsyncVeraz, database: str) -> None:
    with pytest.raises(CheckFailed) as refused:
        await filled.build_index("binary")
    message = str(refused.value)
    assert "oversampling 8" in message
    assert "recall@50 is 0." in message or "recall@10 is 0." in message
    enough = re.search(r"--oversampling (\d+) reaches (0\.9[5-9]|1\.0)", message)
    assert enough is not None, "the least that would do is named"
    assert truth(database, INDEXES) == [("embedding_1_hnsw", "hnsw", True)]
    assert truth(database, RECORDED) == [("hnsw", {}, False)]

    oversampling = int(enough[1])
    made = await filled.build_index("binary", oversampling=oversampling)
    assert min(made.recall.values()) >= 0.95
    assert set(made.recall) == {"recall@10", "recall@50"}
    assert truth(database, INDEXES) == [("embedding_1_binary", "hnsw", True)]
    assert truth(database, RECORDED)[0][1] == {"m": 16, "ef_construction": 64, "oversampling": oversampling}


async def test_no_sample_of_the_signs_is_kept_for_the_planner(filled: AsyncVeraz, database: str) -> None:
    """Statistics of an expression hold values of it: they would outlive an erased text."""
    await filled.build_index("binary", oversampling=64)
    change(database, "analyze veraz.embedding_1")
    kept = truth(
        database,
        "select tablename, attname from pg_stats where tablename = 'embedding_1_binary' or attname = 'vec'",
    )
    assert kept == []


async def test_what_is_written_afterwards_is_found_by_each_kind(database: str) -> None:
    async with await databases.open_engine(database) as engine:
        await put(engine, *(record(f"d{n}", f"A text about number {n} and more.") for n in range(30)))
        for number, options in enumerate(({"kind": "ivfflat"}, {"kind": "binary"}, {"kind": "none"})):
            await engine.build_index(**options)  # type: ignore[arg-type]
            await put(engine, record(f"new{number}", f"Something new of kind {number}, about zebras."))
            found = await engine.search(
                f"Something new of kind {number}, about zebras.", lang="en", mode="semantic", k=31
            )
            assert found.hits[0].document.external_id == f"new{number}"
            assert found.config["semantic"]["index"] == options["kind"]


async def test_status_shows_the_index_and_says_when_it_is_gone(filled: AsyncVeraz, database: str) -> None:
    await filled.build_index("ivfflat", lists=12, probes=3)
    status = await filled.status()
    (space,) = status.spaces
    assert (space["index"].kind, space["index"].options) == ("ivfflat", {"lists": 12, "probes": 3})
    assert space["index"].bytes > 100_000
    assert space["index"].built_at is not None
    assert {c.check: c.ok for c in status.health}["semantic indexes"]

    change(database, "drop index veraz.embedding_1_ivfflat")
    (check,) = (c for c in (await filled.status()).health if c.check == "semantic indexes")
    assert not check.ok
    assert "no valid index of kind ivfflat" in check.detail
    assert check.fix == "veraz index build --kind ivfflat"


async def test_searches_go_on_while_indexes_are_exchanged(filled: AsyncVeraz, database: str) -> None:
    """Every one is answered, and none waits longer than one try of the exchange may take."""
    slowest, failed, done = [0.0], list[str](), threading.Event()

    async def ask() -> None:
        async with await databases.open_engine(database) as engine:
            n = 0
            while not done.is_set():
                n += 1
                started = time.perf_counter()
                found = await engine.search(f"w{n % 7} w{n % 5}", lang="en", mode="semantic", trace=False)
                slowest[0] = max(slowest[0], time.perf_counter() - started)
                if len(found.hits) != 10:
                    failed.append(f"{len(found.hits)} hits")

    asking = threading.Thread(target=lambda: asyncio.run(ask()))
    asking.start()
    try:
        for _ in range(2):
            await filled.build_index("ivfflat", lists=8)
            await filled.build_index("hnsw")
    finally:
        await asyncio.to_thread(done.set)
        await asyncio.to_thread(asking.join)
    assert failed == []
    assert 0 < slowest[0] < 5


async def test_an_exchange_waits_for_a_long_transaction_in_short_tries(
    filled: AsyncVeraz, database: str
) -> None:
    """A reader that stays in its transaction keeps the old index; new readers are not kept out meanwhile."""
    reader = psycopg.connect(database)
    reader.execute("select count(*) from veraz.embedding_1")
    building = asyncio.create_task(filled.build_index("ivfflat", lists=8))
    try:
        await asyncio.sleep(2)
        assert not building.done()
        assert [name for name, *_ in truth(database, INDEXES)] == ["embedding_1_hnsw", "embedding_1_next"]
        found = await asyncio.wait_for(filled.search("w1 w2", lang="en", mode="semantic", trace=False), 5)
        assert len(found.hits) == 10
    finally:
        reader.close()
    await building
    assert truth(database, INDEXES) == [("embedding_1_ivfflat", "ivfflat", True)]


# H03


PARALLEL: tuple[LiteralString, ...] = (
    "alter table veraz.embedding_1 set (parallel_workers = 2)",
    "do $$ begin execute format('alter database %I set maintenance_work_mem = ''2000GB''', current_database()); end $$",
    "do $$ begin execute format('alter database %I set max_parallel_maintenance_workers = 2', current_database()); end $$",
)
"""A parallel build asks for one shared segment of maintenance_work_mem, which no machine has."""


async def test_a_build_that_shared_memory_cannot_hold_is_done_serially(
    filled: AsyncVeraz, database: str
) -> None:
    change(database, *PARALLEL)
    async with await databases.open_engine(database) as engine:
        made = await engine.build_index("hnsw", m=8)
        assert "without parallel workers" in made.notes[0]
        assert truth(database, INDEXES) == [("embedding_1_hnsw", "hnsw", True)]
        assert truth(database, RECORDED)[0][1]["m"] == 8


async def test_a_build_that_fails_serially_too_leaves_what_was_there(
    filled: AsyncVeraz, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message names shared memory and the setting; no index is left that is not valid, and searches go on."""
    change(database, *PARALLEL)
    attempt = building._attempt

    async def always_parallel(connection: Any, wanted: Any, *, serial: bool) -> None:
        await attempt(connection, wanted, serial=False)

    monkeypatch.setattr(building, "_attempt", always_parallel)
    async with await databases.open_engine(database) as engine:
        with pytest.raises(
            DatabaseError, match=r"maintenance_work_mem below the server's shared memory \(/dev/shm\)"
        ):
            await engine.build_index("hnsw", m=8)
        assert truth(database, INDEXES) == [("embedding_1_hnsw", "hnsw", True)]
        assert truth(database, RECORDED) == [("hnsw", {}, False)]
        assert len((await engine.search("w1 w2", lang="en", mode="semantic")).hits) == 10


# who and what may not


async def test_two_builds_at_once_are_refused(filled: AsyncVeraz, database: str) -> None:
    with psycopg.connect(database) as other:
        other.execute("select pg_advisory_xact_lock(1 + x'7665726178000000'::bigint)")
        with pytest.raises(UsageError, match="another build"):
            await filled.build_index("hnsw")
    await filled.build_index("hnsw")


async def test_the_runtime_login_may_not_build(filled: AsyncVeraz, database: str) -> None:
    with login(database, member_of=("veraz_app",)) as runtime:
        async with await databases.open_engine(runtime) as engine:
            with pytest.raises((UsageError, DatabaseError), match="administrator"):
                await engine.build_index("hnsw")
    assert truth(database, RECORDED) == [("hnsw", {}, False)]


@pytest.mark.parametrize(
    ("kind", "options", "said"),
    [
        ("annoy", {}, "kind is 'annoy'"),
        ("hnsw", {"lists": 5}, "lists is no option of hnsw"),
        ("ivfflat", {"m": 5}, "m is no option of ivfflat"),
        ("hnsw", {"oversampling": 8}, "oversampling is no option of hnsw"),
        ("none", {"m": 16}, "m is no option of none"),
        ("hnsw", {"m": 101}, "m is 101"),
        ("hnsw", {"m": True}, "m is True"),
        ("binary", {"m": 40, "ef_construction": 64}, "less than twice"),
        ("ivfflat", {"lists": 0}, "lists is 0"),
    ],
)
def test_options_that_mean_nothing_are_refused(kind: str, options: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        check_options(kind, options)


def test_what_is_not_stated_follows_from_the_number_of_vectors() -> None:
    plan = planned("ivfflat", {}, vectors=90_000, dimension=384)
    assert plan.options == {"lists": 90, "probes": 36}
    assert planned("ivfflat", {"lists": 2000}, vectors=90_000, dimension=384).memory > 64 * 2**20
    assert planned("ivfflat", {"lists": 4, "probes": 9}, vectors=90_000, dimension=384).options["probes"] == 4
    with pytest.raises(UsageError, match="no vectors"):
        planned("ivfflat", {}, vectors=0, dimension=384)


def test_the_least_of_the_cut_offs_decides() -> None:
    def row(oversampling: int, k: int, recall: float) -> IndexFigure:
        return IndexFigure(
            "semantic", "binary", {"oversampling": oversampling}, k, recall, 0, 1, 0, 0, 0, 1, 1, 1, 0.1
        )  # fmt: skip

    figures = [
        row(8, 10, 0.96),
        row(8, 50, 0.949),
        row(16, 10, 0.99),
        row(16, 50, 0.97),
        row(32, 10, 1),
        row(32, 50, 1),
    ]
    assert signs_suffice(figures, 16, "s") == {"recall@10": 0.99, "recall@50": 0.97}
    with pytest.raises(CheckFailed, match=r"recall@50 is 0\.949, under 0\.95") as refused:
        signs_suffice(figures, 8, "s")
    assert "--oversampling 16 reaches 0.970" in str(refused.value)
    with pytest.raises(
        CheckFailed, match="fix: keep a graph of whole vectors: veraz index build --kind hnsw"
    ):
        signs_suffice(figures[:2], 8, "s")
    with pytest.raises(UsageError, match="too few vectors"):
        signs_suffice([], 8, "s")
