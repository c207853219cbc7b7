"""Each distance of a space against numpy, over vectors of unequal length: every way in which the semantic arm is asked, and the
plan of the approximate ones. And that of vectors of length 1 all three say the same."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, get_args
from uuid import UUID

import numpy as np
import numpy.typing as npt
import psycopg
import pytest
from psycopg import sql
from tests.support import bulk, databases
from tests.support.hashing import DIMENSION, HashingEmbedder, hashed
from tests.support.plans import explained, on, shown

from veraz.config import SearchConfig
from veraz.engine import AsyncVeraz
from veraz.errors import CheckFailed, ConfigError
from veraz.nouns.corpus import IndexKind, Vectors
from veraz.nouns.distance import Distance
from veraz.nouns.question import Filters
from veraz.ops import indexes

DISTANCES: tuple[Distance, ...] = get_args(Distance)
CHUNKS = 600
POOL = SearchConfig(pool=10, ef_search=1000)
"""So that this many vectors are too many to be compared one by one; and that a graph's walk reaches whatever it can."""
Floats = npt.NDArray[np.float64]
SCORE: Mapping[Distance, Callable[[Floats, Floats], Floats]] = {
    "cosine": lambda v, q: (v @ q) / np.linalg.norm(v, axis=1) / np.linalg.norm(q),
    "inner_product": lambda v, q: v @ q,
    "l2": lambda v, q: 1 - ((v - q) ** 2).sum(axis=1) / 2,
}


CENTRES = np.random.default_rng(1).standard_normal((50, DIMENSION))
"""Directions stand in clusters, as those of a model do: an index of evenly random ones finds less, by any distance."""


def place(text: str) -> Vectors:
    """The vectors of questions, of length 0.8."""
    vector = CENTRES[sum(map(ord, text)) % 50] + 0.7 * DIMENSION**0.5 * hashed("hash", text)
    return np.asarray(0.8 * vector / np.linalg.norm(vector), np.float32)


def embedder(distance: Distance) -> HashingEmbedder:
    return HashingEmbedder(place=place, distance=distance, normalised=False)


@dataclass(frozen=True)
class Stored:
    """A space as it is stored: what numpy needs to know."""

    url: str
    distance: Distance
    vectors: dict[UUID, Floats]
    bodies: dict[UUID, str]
    documents: dict[UUID, str]

    def scores(self, question: str) -> dict[UUID, float]:
        asked = embedder(self.distance).vector(question).astype(np.float16).astype(np.float64)
        found = SCORE[self.distance](np.stack([*self.vectors.values()]), asked)
        return dict(zip(self.vectors, map(float, found), strict=True))


async def made(url: str, distance: Distance, vectors: Floats, *, indexed: bool = True) -> None:
    """A space of these vectors, one a chunk."""
    async with await databases.open_engine(url, embedder(distance)) as engine:
        await engine.init()
        identity = await engine.identity()
        await bulk.without_index(engine, 1)
        async with engine._database.maintenance(identity.tenant_id) as connection:
            await connection.execute("select setseed(0.5)")
            await bulk.fill_tenant(
                connection, identity.tenant_id, space_id=1, documents=CHUNKS // 10, words=5, vocabulary=400
            )
            rows = await (
                await connection.execute(
                    "select c.chunk_id from veraz.chunk c join veraz.document d using (document_id)"
                    " order by d.external_id, c.ord"
                )
            ).fetchall()
            await connection.cursor().executemany(
                "update veraz.embedding_1 set vec = %s::real[]::halfvec where chunk_id = %s",
                [(vector.tolist(), row[0]) for vector, row in zip(vectors, rows, strict=True)],
            )
        if indexed:
            await engine.build_index("hnsw")
        await engine._analyze()


def stored(url: str, distance: Distance) -> Stored:
    with psycopg.connect(url) as admin:
        rows = admin.execute(
            "select e.chunk_id, e.vec::real[], c.body, d.external_id from veraz.embedding_1 e"
            " join veraz.chunk c using (chunk_id) join veraz.document d on d.document_id = c.document_id"
        ).fetchall()
    return Stored(
        url,
        distance,
        {row[0]: np.asarray(row[1], np.float64) for row in rows},
        {row[0]: row[2] for row in rows},
        {row[0]: row[3] for row in rows},
    )


def unequal() -> Floats:
    """The same for each distance, of lengths whose logarithm has a standard deviation of a half."""
    chance = np.random.default_rng(7)
    vectors = CENTRES[chance.integers(50, size=CHUNKS)] + 0.7 * chance.standard_normal((CHUNKS, DIMENSION))
    lengths = np.exp(chance.normal(0, 0.5, CHUNKS))
    return np.asarray(vectors * (lengths / np.linalg.norm(vectors, axis=1))[:, None])


@pytest.fixture(scope="module", params=DISTANCES)
def space(request: pytest.FixtureRequest, server: str) -> Iterator[Stored]:
    distance: Distance = request.param
    with databases.fresh(server) as url:
        asyncio.run(made(url, distance, unequal()))
        yield stored(url, distance)


def nearest(scores: Mapping[UUID, float], k: int) -> list[UUID]:
    return sorted(scores, key=lambda chunk: -scores[chunk])[:k]


async def found(engine: AsyncVeraz, question: str, **asked: Any) -> dict[UUID, float]:
    """The hits in their order, each with its semantic score."""
    result = await engine.search(question, lang="en", mode="semantic", trace=False, **asked)
    return {hit.chunk_id: hit.semantic.score for hit in result.hits if hit.semantic is not None}


def is_right(hits: Mapping[UUID, float], scores: Mapping[UUID, float], k: int) -> None:
    """The order and the scores are numpy's."""
    assert list(hits) == nearest(scores, k)
    assert [*hits.values()] == pytest.approx([scores[chunk] for chunk in hits], rel=1e-4, abs=1e-4)


# every way to ask


async def test_every_vector_is_compared_by_the_distance(space: Stored) -> None:
    async with await databases.open_engine(space.url, embedder(space.distance), search=POOL) as engine:
        for n in range(5):
            is_right(await found(engine, f"question {n}", exact=True), space.scores(f"question {n}"), 10)


async def test_the_three_orders_are_three(space: Stored) -> None:
    """So that these tests can fail: each distance has neighbours of its own here."""
    asked = embedder("cosine").vector("question 0").astype(np.float64)
    vectors = np.stack([*space.vectors.values()])
    tops = {frozenset(np.argsort(-score(vectors, asked))[:10]) for score in SCORE.values()}
    assert len(tops) == 3


async def test_a_graph_finds_nearly_the_same(space: Stored) -> None:
    kept = 0
    async with await databases.open_engine(space.url, embedder(space.distance), search=POOL) as engine:
        for n in range(10):
            hits, scores = await found(engine, f"question {n}"), space.scores(f"question {n}")
            assert len(hits) == 10
            assert list(hits) == nearest({chunk: scores[chunk] for chunk in hits}, 10)
            assert [*hits.values()] == pytest.approx([scores[c] for c in hits], rel=1e-4, abs=1e-4)
            kept += len(set(hits) & set(nearest(scores, 10)))
    assert kept >= 95


async def test_the_few_documents_of_a_filter_are_compared_by_it(space: Stored) -> None:
    async with await databases.open_engine(space.url, embedder(space.distance), search=POOL) as engine:
        result = await engine.search(
            "question 1",
            lang="en",
            mode="semantic",
            trace=False,
            filters=Filters(where="document in ('d3', 'd41')"),
        )
        assert result.config["filters"]["documents_first"]
    scores = space.scores("question 1")
    within = {c: s for c, s in scores.items() if space.documents[c] in ("d3", "d41")}
    hits = {hit.chunk_id: hit.semantic.score for hit in result.hits if hit.semantic is not None}
    assert len(within) == 20
    is_right(hits, within, 10)


async def test_what_holds_a_quoted_word_is_compared_by_it(space: Stored) -> None:
    async with await databases.open_engine(space.url, embedder(space.distance), search=POOL) as engine:
        hits = await found(engine, '"w1" above all')
    scores = space.scores("w1 above all")
    within = {c: s for c, s in scores.items() if "w1" in space.bodies[c].split()}
    assert len(within) > 10
    is_right(hits, within, 10)


async def test_a_day_is_compared_by_it(space: Stored) -> None:
    async with await databases.open_engine(space.url, embedder(space.distance), search=POOL) as engine:
        hits = await found(engine, "question 2", as_of=date(2020, 6, 1))
    is_right(hits, space.scores("question 2"), 10)


async def test_old_revisions_are_compared_by_it_where_nothing_is_current(space: Stored, server: str) -> None:
    """A tenant without a current chunk has no statistics; its space has a distance all the same."""
    name = str(psycopg.conninfo.conninfo_to_dict(space.url)["dbname"])
    with databases.fresh(server, name) as url:
        with psycopg.connect(url, autocommit=True) as admin:
            for table in ("embedding_1", "chunk_lexical", "chunk"):
                named = sql.Identifier("veraz", table)
                admin.execute(sql.SQL("update {} set is_current = false").format(named))
            admin.execute("delete from veraz.lexical_stat")
        async with await databases.open_engine(url, embedder(space.distance), search=POOL) as engine:
            hits = await found(engine, "question 2", as_of=date(2020, 6, 1))
    is_right(hits, space.scores("question 2"), 10)


# indexes


OPERATOR = {"cosine": "<=>", "inner_product": "<#>", "l2": "<->"}


@pytest.mark.parametrize("kind", ["hnsw", "ivfflat", "binary"])
async def test_each_index_is_walked_in_its_order_on_the_tenth_run(
    space: Stored, server: str, kind: IndexKind, monkeypatch: pytest.MonkeyPatch
) -> None:
    if space.distance == "cosine":
        pytest.skip("test_strategy_plans.py has the plans of cosines")
    monkeypatch.setattr(indexes, "QUERIES", 3)
    name = str(psycopg.conninfo.conninfo_to_dict(space.url)["dbname"])
    asked = {"ivfflat": {"probes": 2}, "binary": {"oversampling": 3}}.get(kind, {})
    options = {"ivfflat": {"lists": 12}, "binary": {"oversampling": 60}}.get(kind, {})
    config = SearchConfig(pool=10, ef_search=40)
    with databases.fresh(server, name) as url:
        async with await databases.open_engine(url, embedder(space.distance), search=config) as engine:
            built = await engine.build_index(kind, **options)  # type: ignore[arg-type]
            assert built.distance == space.distance
            await engine._analyze()
            await engine._database._pool.resize(1, 1)
            for n in range(9):
                await found(engine, f"question {n}", **asked)
            async with explained(engine) as plans:
                hits = await found(engine, "the tenth question", **asked)
    plan = plans.of("Purpose: the semantic arm")
    (scan,) = on(plan, f"embedding_1_{kind}")
    operator = "<~>" if kind == "binary" else OPERATOR[space.distance]
    assert scan["Node Type"] == "Index Scan", shown(plan)
    assert re.search(rf"{re.escape(operator)} B?'", scan.get("Order By", "")), shown(plan)
    assert scan["Actual Rows"] < CHUNKS / 2, shown(plan)
    scores = space.scores("the tenth question")
    assert [*hits.values()] == pytest.approx([scores[c] for c in hits], rel=1e-4, abs=1e-4)
    assert list(hits) == nearest({c: scores[c] for c in hits}, 10)


async def test_indexes_are_measured_by_the_distance(space: Stored) -> None:
    """What is built over a copy is compared with the exact scan: by another distance it would miss most."""
    async with await databases.open_engine(space.url, embedder(space.distance), search=POOL) as engine:
        measured = await engine.measure_index(
            methods=("exact", "hnsw", "hnsw_fresh", "ivfflat", "binary"),
            queries=10, ks=(10,), ef_search=(400,), lists=4, probes=(4,), oversampling=(60,), lexical=False,
        )  # fmt: skip
    recalls = {row.method: row.recall for row in measured.figures}
    assert measured.settings["distance"] == space.distance
    assert recalls["ivfflat"] == 1, "every cluster was read"
    assert recalls["binary"] == 1, "every vector was scored again"
    assert min(recalls.values()) > 0.9, recalls


async def test_signs_that_lose_too_much_are_refused(space: Stored, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexes, "QUERIES", 4)
    async with await databases.open_engine(space.url, embedder(space.distance), search=POOL) as engine:
        with pytest.raises(CheckFailed, match="an index of signs is refused"):
            await engine.build_index("binary", oversampling=1)


# what a space keeps


async def test_another_distance_than_the_recorded_one_is_refused(space: Stored) -> None:
    other: Distance = "cosine" if space.distance == "l2" else "l2"
    says = (
        rf"(?s)space hash-384 was made with distance '{space.distance}', but the configuration says distance "
        rf"'{other}'.*fix: a space stays as it was made"
    )
    async with await databases.open_engine(space.url, embedder(other), search=POOL) as engine:
        for verb in (engine.search("question 1"), engine.build_index("hnsw"), engine.init()):
            with pytest.raises(ConfigError, match=says):
                await verb
        (shown_space,) = (await engine.status()).spaces
    assert shown_space["distance"] == space.distance


async def test_a_search_says_by_which_distance_it_compared(space: Stored) -> None:
    async with await databases.open_engine(space.url, embedder(space.distance), search=POOL) as engine:
        result = await engine.search("question 1", lang="en", trace=False)
    assert result.config["semantic"]["distance"] == space.distance


@pytest.mark.parametrize("factor", [1e-9, 1e9], ids=["vanishes", "overflows"])
async def test_a_question_that_half_precision_cannot_hold_is_told(space: Stored, factor: float) -> None:
    """Stored vectors are of half precision, and the question is compared as one."""
    lost = HashingEmbedder(
        place=lambda text: np.asarray(factor * hashed("hash", text), np.float32),
        distance=space.distance,
        normalised=False,
    )
    async with await databases.open_engine(space.url, lost, search=POOL) as engine:
        result = await engine.search("w1", lang="en", trace=False)
    assert any("its vector has no direction" in note for note in result.notes)
    assert result.hits, "the lexical arm answers"


def test_a_vector_of_no_length_is_refused_by_every_space(space: Stored) -> None:
    with psycopg.connect(space.url) as admin, pytest.raises(psycopg.errors.CheckViolation):
        admin.execute("update veraz.embedding_1 set vec = array_fill(0::real, array[384])::halfvec")


# vectors of length 1


async def test_of_vectors_of_length_one_all_distances_say_the_same(server: str) -> None:
    """Order, scores, and what is fused of them. The vectors have length 1 in half precision too: they are
    sixteen quarters."""
    chance = np.random.default_rng(11)
    vectors = np.zeros((CHUNKS, DIMENSION))
    for vector in vectors:
        vector[chance.choice(DIMENSION, 16, replace=False)] = chance.choice([-0.25, 0.25], 16)
    told: dict[Distance, list[list[tuple[UUID, float, float]]]] = {}
    with databases.fresh(server) as url:
        await made(url, "cosine", vectors, indexed=False)
        for distance in DISTANCES:
            with psycopg.connect(
                url, autocommit=True
            ) as admin:  # which Veraz never does: the chunks stay the same
                admin.execute("update veraz.embedding_space set distance = %s", [distance])
            whole = HashingEmbedder(distance=distance, normalised=False)
            async with await databases.open_engine(url, whole, search=POOL) as engine:
                told[distance] = [
                    [
                        (hit.chunk_id, hit.score, hit.semantic.score if hit.semantic else 0.0)
                        for hit in (
                            await engine.search(f"w{n} w9", lang="en", mode=mode, exact=True, trace=False)
                        ).hits
                    ]
                    for mode in ("semantic", "hybrid")
                    for n in range(5)
                ]
    for distance in DISTANCES[1:]:
        for one, other in zip(told["cosine"], told[distance], strict=True):
            assert len(one) == 10
            assert [hit[0] for hit in one] == [hit[0] for hit in other]
            for value in (1, 2):
                assert [h[value] for h in one] == pytest.approx([h[value] for h in other], abs=1e-3)
