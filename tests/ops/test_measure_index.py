"""Indexes measured against the exact scan: right figures, one snapshot, only what the reader may read, and nothing that stays."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, LiteralString

import numpy as np
import psycopg
import pytest
from tests.support import bulk, databases
from tests.support.corpus import put, record
from tests.support.hashing import HashingEmbedder
from tests.support.logins import login
from tests.support.lost import lose

from veraz.config import SearchConfig
from veraz.engine import AsyncVeraz
from veraz.errors import UsageError
from veraz.nouns.corpus import Identity
from veraz.nouns.measure import IndexFigure, IndexMeasurement
from veraz.nouns.question import Filters
from veraz.ops.measure import store
from veraz.ops.measure.methods import Setting

CHUNKS = 1500
EVERY = ("exact", "hnsw", "hnsw_fresh", "ivfflat", "binary", "binary_centred")
LEFT: LiteralString = """
select nspname from pg_namespace where nspname like 'veraz\\_measure%'
union all select relname from pg_class where relname in ('copy', 'tried')
"""


NARROW = SearchConfig(pool=10)
"""Where few candidates are asked for, an index that looks no farther shows what it misses."""


@pytest.fixture
async def filled(database: str) -> AsyncIterator[AsyncVeraz]:
    """Random vectors: the hardest for an index, so that a small reach misses much."""
    async with await databases.open_engine(database, search=NARROW) as engine:
        identity, space = await engine.identity(), await engine.space()
        await bulk.without_index(engine, space.space_id)
        async with engine._database.maintenance(identity.tenant_id) as connection:
            await connection.execute("select setseed(0.5)")
            await bulk.fill_tenant(
                connection, identity.tenant_id, space_id=1, documents=CHUNKS // 10, words=20, vocabulary=400
            )
        await bulk.with_index(engine, space.space_id)
        yield engine


def truth(url: str, query: LiteralString) -> list[tuple[Any, ...]]:
    with psycopg.connect(url, autocommit=True) as connection:
        return connection.execute(query).fetchall()


def of(found: IndexMeasurement, method: str, k: int = 10) -> list[IndexFigure]:
    return [row for row in found.figures if (row.arm, row.method, row.k) == ("semantic", method, k)]


async def test_each_method_is_measured_against_the_exact_scan(filled: AsyncVeraz, database: str) -> None:
    stages: list[str] = []
    found = await filled.measure_index(
        queries=30, methods=EVERY, ef_search=(1, 1000), lists=15, probes=(1, 15), oversampling=(1, 150), ks=(5, 10),
        progress=lambda stage, _done, _total: stages.append(stage),
    )  # fmt: skip
    assert (found.vectors, found.copied, found.permitted, found.queries) == (CHUNKS, CHUNKS, 1.0, 30)
    assert (found.origin, found.tenant, found.dimension) == ("chunks", "default", 384)
    assert {row.recall for row in of(found, "exact")} == {1.0}
    for method in ("hnsw", "hnsw_fresh"):
        near, far = of(found, method)
        assert near.worst <= near.low <= near.recall <= near.high
        assert near.recall < far.recall, (near, far)
        assert far.recall >= 0.99
    one, every = of(found, "ivfflat")
    assert one.recall < 0.9
    assert every.recall == 1.0, "every list was read"
    for method in ("binary", "binary_centred"):
        few, many = of(found, method)
        assert few.recall < 0.9 < 0.99 <= many.recall, (few, many)
    assert all(row.build_seconds for m in EVERY[2:] for row in of(found, m))
    assert [row.build_seconds for row in of(found, "hnsw")] == [None, None]
    assert all(row.size_bytes > 100_000 for m in EVERY[1:] for row in of(found, m))
    assert of(found, "binary")[0].size_bytes < of(found, "hnsw_fresh")[0].size_bytes / 2
    assert [(r.method, r.k) for r in found.figures if r.arm == "lexical"] == [
        ("exact", 5), ("exact", 10), ("budgeted", 5), ("budgeted", 10),
    ]  # fmt: skip
    assert {"copy", "build ivfflat", "binary_centred", "lexical"} <= set(stages)
    assert any(w.startswith("binary (") and "refused for this space" in w for w in found.warnings)
    assert truth(database, LEFT) == []


async def test_an_index_that_lost_rows_is_seen_and_so_is_what_a_new_one_would_bring(
    filled: AsyncVeraz, database: str
) -> None:
    lost = lose(database, 0.5)
    assert 0.4 * CHUNKS < lost < 0.6 * CHUNKS
    found = await filled.measure_index(
        queries=30, methods=("exact", "hnsw", "hnsw_fresh"), ef_search=(1000,), ks=(10,)
    )
    (stale,), (fresh,) = of(found, "hnsw"), of(found, "hnsw_fresh")
    assert 0.3 < stale.recall < 0.7
    assert stale.complete < 0.5
    assert (fresh.recall, fresh.worst) == (1.0, 1.0)
    assert [w for w in found.warnings if w.startswith("hnsw (") and "reindex index concurrently" in w]


async def test_the_figures_are_those_that_are_computed_without_the_database(filled: AsyncVeraz) -> None:
    """Brute force in numpy over the vectors that are stored, for the same drawn chunks."""
    found = await filled.measure_index(
        queries=60, methods=("exact", "hnsw"), ef_search=(2,), ks=(10,), lexical=False
    )
    identity, space = await filled.identity(), await filled.space()
    async with filled._database.transaction(identity) as connection:
        rows = await store.sample_chunks(connection, space.space_id, Filters(), 1, CHUNKS)
        vectors = np.array([json.loads(r.vector) for r in rows], dtype=np.float64)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        recalls = []
        for number in range(60):
            scores = vectors @ vectors[number]
            scores[number] = -2
            best = {rows[n].chunk_id for n in np.argsort(-scores)[:10]}
            # the same scan, asked here by itself
            await connection.execute("set local hnsw.ef_search = 2")
            await connection.execute("set local hnsw.iterative_scan = relaxed_order")
            await connection.execute("set local enable_sort = off")
            cursor = await connection.execute(
                "select chunk_id, vec <=> %(v)s::halfvec from veraz.embedding_1 where is_current"
                " order by vec <=> %(v)s::halfvec limit 11",
                {"v": rows[number].vector},
            )
            nearest = sorted((d, c) for c, d in await cursor.fetchall() if c != rows[number].chunk_id)[:10]
            recalls.append(len(best & {c for _, c in nearest}) / 10)
    (row,) = of(found, "hnsw")
    assert row.recall == pytest.approx(sum(recalls) / len(recalls), abs=1e-6)
    assert row.worst == pytest.approx(min(recalls))
    assert row.recall < 1


@pytest.fixture
async def mixed(engine: AsyncVeraz) -> AsyncVeraz:
    """Two tenants with near neighbours of each other, and labels."""
    texts = [f"fever {n} and the dose of {n * 7}" for n in range(60)]
    hidden = [record(f"h{n}", text, acl=["hr"]) for n, text in enumerate(texts[:20])]
    await put(engine, *(record(f"d{n}", text) for n, text in enumerate(texts)), *hidden)
    beta = await engine.ensure_tenant("beta")
    await put(engine, *(record(f"b{n}", text) for n, text in enumerate(texts)), identity=beta)
    return engine


async def test_only_what_the_reader_may_read_is_found_and_expected(mixed: AsyncVeraz) -> None:
    every = {
        "methods": EVERY,
        "queries": 20,
        "ef_search": (1000,),
        "lists": 1,
        "oversampling": (10,),
        "ks": (100,),
    }
    public = await mixed.measure_index(**every)  # type: ignore[arg-type]
    assert (public.vectors, public.copied) == (80, 140)
    assert public.permitted == 0.75
    for method in EVERY:
        (row,) = of(public, method, 100)
        assert (row.recall, row.short) == (1.0, 0), row
    own = await mixed.measure_index(scope="tenant", **every)  # type: ignore[arg-type]
    assert own.copied == 80
    some = await mixed.measure_index(filters=Filters(sources=("s",), authority=3), **every)  # type: ignore[arg-type]
    assert some.permitted == 0.75
    assert some.settings["filtered"]
    with pytest.raises(UsageError, match="no vector that these roles may read and these filters let through"):
        await mixed.measure_index(filters=Filters(authority=5), queries=5, origin="chunks")


async def test_scans_of_the_copy_show_no_row_of_another_tenant_or_label(mixed: AsyncVeraz) -> None:
    identity = await mixed.identity()
    async with mixed._database.transaction(identity) as connection:
        cursor = await connection.execute("select chunk_id from veraz.chunk")
        readable = {row[0] for row in await cursor.fetchall()}
        assert len(readable) == 60
    copy = store.Copy.named(1, 384, "cosine")
    async with mixed._database.experiment(identity) as experiment:
        connection = experiment.connection
        await experiment.as_login()
        await store.make_schema(connection, copy)
        await experiment.as_maintenance()
        copied, centre = await store.fill(connection, copy, None)
        assert copied == 140
        assert centre is not None
        vector = HashingEmbedder().vector("fever 3 and the dose of 21")
        for method, options in (
            ("ivfflat", {"lists": 1}),
            ("binary", {"m": 16, "ef_construction": 64}),
            ("binary_centred", {"m": 16, "ef_construction": 64}),
        ):
            await experiment.as_maintenance()
            await store.build(connection, copy, method, options)
            await experiment.as_reader()
            await store.scan_settings(connection, Setting({}, 1000), 40_000, sort=False)
            if method == "ivfflat":
                rows = await store.nearest(connection, copy, Filters(), vector, 500)
            else:
                rows = await store.nearest_by_signs(
                    connection, copy, Filters(), vector, 500, method=method, centre=centre, candidates=1000
                )
            assert {row[0] for row in rows} == readable, method
            await experiment.as_maintenance()
            await store.drop(connection, copy)


async def test_every_method_walks_its_own_index(filled: AsyncVeraz) -> None:
    """As the runtime role, whatever the planner believes of a table that was just filled."""
    identity = await filled.identity()
    copy = store.Copy.named(1, 384, "cosine")
    vector = np.ones(384, dtype=np.float32)
    async with filled._database.experiment(identity) as experiment:
        connection = experiment.connection
        await experiment.as_login()
        await store.make_schema(connection, copy)
        await experiment.as_maintenance()
        _, centre = await store.fill(connection, copy, None)
        assert centre is not None
        for method, options in (
            ("hnsw_fresh", {"m": 16, "ef_construction": 64}),
            ("ivfflat", {"lists": 5}),
            ("binary_centred", {"m": 16, "ef_construction": 64}),
        ):
            await experiment.as_maintenance()
            await store.build(connection, copy, method, options)
            await experiment.as_reader()
            await store.scan_settings(connection, None, 40_000, sort=False)
            before = await scans(connection)
            for _ in range(10):  # psycopg prepares a statement after its fifth run
                if method == "binary_centred":
                    await store.nearest_by_signs(
                        connection, copy, Filters(), vector, 10, method=method, centre=centre, candidates=80
                    )
                else:
                    await store.nearest(connection, copy, Filters(), vector, 10)
            assert await scans(connection) - before == 10, method
            await experiment.as_maintenance()
            await store.drop(connection, copy)


async def scans(connection: Any) -> int:
    """Of the index that is tried, in this transaction."""
    cursor = await connection.execute(
        "select pg_stat_get_xact_numscans(oid) from pg_class where relname = 'tried'"
    )
    return int((await cursor.fetchone())[0])


def once(stage: str, act: Callable[[], None]) -> Callable[[str, int, int], None]:
    """A progress that does something when a stage is first reported."""
    done: list[str] = []

    def progress(name: str, _done: int, _total: int) -> None:
        if name == stage and not done:
            done.append(name)
            act()

    return progress


async def test_what_others_write_meanwhile_changes_nothing(filled: AsyncVeraz, database: str) -> None:
    def hide() -> None:
        with psycopg.connect(database) as connection:
            connection.execute("update veraz.embedding_1 set is_current = false")

    found = await filled.measure_index(
        queries=5,
        methods=EVERY,
        ef_search=(1000,),
        lists=1,
        ks=(10,),
        lexical=False,
        progress=once("exact", hide),
    )
    assert [row.recall for row in of(found, "hnsw")] == [1.0]
    assert [row.recall for row in of(found, "ivfflat")] == [1.0]
    with pytest.raises(UsageError, match="no vector"):
        await filled.measure_index(queries=5, origin="chunks")


async def test_nobody_else_sees_the_copy_and_an_error_leaves_nothing(
    filled: AsyncVeraz, database: str
) -> None:
    seen: list[Any] = []

    def look() -> None:
        seen.append(truth(database, LEFT))
        raise RuntimeError("stop here")

    with pytest.raises(RuntimeError, match="stop here"):
        await filled.measure_index(queries=5, ks=(10,), progress=once("ivfflat", look))
    assert seen == [[]]
    assert truth(database, LEFT) == []
    assert (await filled.measure_index(queries=5, methods=("exact",), ks=(10,))).figures


KILLED = """
import asyncio, sys, time
from tests.support import databases
async def main():
    async with await databases.open_engine(sys.argv[1]) as engine:
        def progress(stage, done, total):
            print(stage, flush=True)
            if stage == "binary":
                time.sleep(60)
        await engine.measure_index(queries=5, ks=(10,), progress=progress)
asyncio.run(main())
"""


IDLE: LiteralString = """
select count(*) from pg_stat_activity where datname = current_database() and state like 'idle in%'
"""


@pytest.mark.usefixtures("filled")
def test_a_killed_measurement_leaves_nothing(database: str) -> None:
    root = str(Path(__file__).resolve().parents[2])
    environment = {**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    command = [sys.executable, "-c", KILLED, database]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root, env=environment) as process:
        assert process.stdout is not None
        assert any(line.strip() == "binary" for line in iter(process.stdout.readline, ""))
        assert truth(database, IDLE) == [(1,)], "its transaction is under way"
        process.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 20
    while truth(database, IDLE) != [(0,)]:
        assert time.monotonic() < deadline, "the server has not noticed"
        time.sleep(0.1)
    assert truth(database, LEFT) == []


# Where queries come from


async def test_questions_of_traces_are_asked_again_if_there_are_enough(mixed: AsyncVeraz) -> None:
    for number in range(25):
        await mixed.search(f"fever {number}", lang="en")
        await mixed.search(f"fever {number}", lang="en")
    asked = await mixed.measure_index(queries=100, methods=("exact", "hnsw"), ks=(5,))
    assert (asked.origin, asked.queries) == ("traces", 25)
    fewer = await mixed.measure_index(queries=10, methods=("exact",), ks=(5,))
    assert (fewer.origin, fewer.queries) == ("traces", 10)
    chunks = await mixed.measure_index(queries=10, methods=("exact",), ks=(5,), origin="chunks")
    assert (chunks.origin, chunks.queries) == ("chunks", 10)
    assert any("left out of its own result" in note for note in chunks.notes)
    beta = mixed.acting_as(await mixed.ensure_tenant("beta"))
    with pytest.raises(UsageError, match="holds a question"):
        await beta.measure_index(queries=10, methods=("exact",), origin="traces")


async def test_questions_that_other_roles_asked_are_not_read(mixed: AsyncVeraz) -> None:
    identity = await mixed.identity()
    reader = Identity(identity.tenant_id, identity.tenant, ("public", "hr"), operator=True)
    for number in range(25):
        await mixed.acting_as(reader).search(f"fever {number}", lang="en")
    assert (await mixed.measure_index(queries=30, methods=("exact",), ks=(5,))).origin == "chunks"
    asked = await mixed.acting_as(reader).measure_index(queries=30, methods=("exact",), ks=(5,))
    assert (asked.origin, asked.permitted) == ("traces", 1.0)


async def test_a_suites_queries_are_all_asked_unless_fewer_are_wanted(
    mixed: AsyncVeraz, tmp_path: Path
) -> None:
    lines = [json.dumps({"id": f"q{n}", "text": f"the dose of fever {n}"}) for n in range(7)]
    (tmp_path / "queries.jsonl").write_text("\n".join(lines))
    (tmp_path / "qrels.tsv").write_text("q0\td0\t1\n")
    found = await mixed.measure_index(suite=tmp_path, methods=("exact", "hnsw"), ks=(5,))
    assert (found.origin, found.queries) == ("suite", 7)
    assert (await mixed.measure_index(suite=tmp_path, queries=3, methods=("exact",), ks=(5,))).queries == 3


async def test_the_same_seed_draws_the_same(filled: AsyncVeraz, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[tuple[Any, ...]] = []
    sample = store.sample_chunks

    async def noted(*given: Any) -> Any:
        drawn.append(tuple(found := await sample(*given)))
        return found

    monkeypatch.setattr(store, "sample_chunks", noted)
    for seed in (1, 1, 2):
        await filled.measure_index(queries=20, methods=("exact",), ks=(10,), lexical=False, seed=seed)
    first, second, other = drawn
    assert len(first) == 20
    assert first == second != other


# The lexical arm, gates, logins


async def test_a_budget_that_is_exceeded_shows_in_the_lexical_arm(database: str, filled: AsyncVeraz) -> None:
    tight = SearchConfig(budget=60, rescored=20, pool=20)
    async with await databases.open_engine(database, search=tight) as engine:
        found = await engine.measure_index(queries=20, methods=("exact",), ks=(10,))
    (row,) = [r for r in found.figures if r.method == "budgeted"]
    assert row.recall < 0.9
    assert row.settings["read_everything"] < 0.5
    assert any(w.startswith("budgeted (") and "raise [search] budget" in w for w in found.warnings)
    whole = await filled.measure_index(queries=20, methods=("exact",), ks=(10,))
    (row,) = [r for r in whole.figures if r.method == "budgeted"]
    assert (row.recall, row.settings["read_everything"]) == (1.0, 1.0)


async def test_gates_are_evaluated_on_the_figures(filled: AsyncVeraz, database: str) -> None:
    lose(database, 0.5)
    found = await filled.measure_index(
        queries=10, methods=("exact", "hnsw"), ef_search=(1,), ks=(10,), lexical=False,
        gates=("recall@10>=0.95", "hnsw.worst@10>=0", "lexical.recall@10>=0"),
    )  # fmt: skip
    assert [(g.metric, g.passed, g.value is None) for g in found.gates] == [
        ("recall@10", False, False),
        ("hnsw.worst@10", True, False),
        ("lexical.recall@10", False, True),
    ]
    with pytest.raises(UsageError, match="unknown metric 'recall@20'"):
        await filled.measure_index(ks=(10,), gates=("recall@20>=0.9",))


@pytest.mark.usefixtures("filled")
async def test_a_login_that_may_not_build_measures_what_is_there(database: str) -> None:
    with login(database, member_of=("veraz_app",)) as url:
        async with await databases.open_engine(url) as engine:
            found = await engine.measure_index(queries=5, methods=("exact", "hnsw"), ks=(10,))
            assert of(found, "hnsw")
            with pytest.raises(UsageError, match="may not build indexes for comparison"):
                await engine.measure_index(queries=5, ks=(10,))
    assert truth(database, LEFT) == []


async def test_a_space_without_an_index_is_said_to_have_none(filled: AsyncVeraz) -> None:
    await bulk.without_index(filled, 1)
    found = await filled.measure_index(queries=5, methods=("exact", "hnsw"), ks=(10,))
    assert of(found, "hnsw") == []
    assert any("no valid index" in note for note in found.notes)


async def test_an_empty_tenant_has_nothing_to_measure(engine: AsyncVeraz) -> None:
    with pytest.raises(UsageError, match="tenant default has no vector"):
        await engine.measure_index()
