"""Each kind of index that a space may have, as the semantic arm walks it: on the tenth run of a connection, as the runtime role.

And that these checks see what they are for: a generic plan, a vector that is joined, an index that is gone.
"""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
from psycopg import sql
from tests.support import bulk, databases
from tests.support.hashing import hashed
from tests.support.plans import Plans, explained, nodes, on, shown

from veraz.config import SearchConfig
from veraz.db.session import Database
from veraz.nouns.question import Filters
from veraz.ops import indexes
from veraz.search import store
from veraz.search.fusion import FusionSettings, fuse

NEAREST = "Purpose: the semantic arm. Nearest"
SIGNS = "Purpose: the semantic arm over an index of signs"
EXACT = "Purpose: the semantic arm without an approximate index"


@dataclass(frozen=True)
class Kind:
    name: str
    statement: str
    operator: str
    options: Mapping[str, int]
    asked: Mapping[str, int]
    """What a search states, so that it reads a part of the index alone."""


KINDS = {
    kind.name: kind
    for kind in (
        Kind("hnsw", NEAREST, "<=>", {}, {"ef_search": 80}),
        Kind("ivfflat", NEAREST, "<=>", {"lists": 12}, {"probes": 2}),
        Kind("binary", SIGNS, "<~>", {"oversampling": 64}, {"oversampling": 3}),
    )
}
FILTERS = {
    "no filter": Filters(),
    "expression": Filters(where="authority >= 2 and (lang = 'en' or title ~ 'x') and not license = 'closed'"),
}


CHUNKS = 1500
POOL = SearchConfig(pool=10)
"""So that this many vectors are too many to be compared one by one."""


async def fill(url: str) -> None:
    async with await databases.open_engine(url) as engine:
        identity = await engine.identity()
        await bulk.without_index(engine, 1)
        async with engine._database.maintenance(identity.tenant_id) as connection:
            await connection.execute("select setseed(0.5)")
            await bulk.fill_tenant(
                connection, identity.tenant_id, space_id=1, documents=CHUNKS // 10, words=5, vocabulary=400
            )


async def build(url: str, kind: Kind) -> None:
    """The vectors are random: with 64 times the pool, signs leave nothing out, so that they are not refused."""
    before, indexes.QUERIES = indexes.QUERIES, 3
    try:
        async with await databases.open_engine(url, search=POOL) as engine:
            await engine.build_index(kind.name, **kind.options)  # type: ignore[arg-type]
            await engine._analyze()
    finally:
        indexes.QUERIES = before


@pytest.fixture(scope="module")
def unindexed(server: str, template: str) -> Iterator[str]:
    """The name of a database whose space lost its index."""
    with databases.fresh(server, template) as url:
        asyncio.run(fill(url))
        yield str(psycopg.conninfo.conninfo_to_dict(url)["dbname"])


@pytest.fixture(scope="module", params=KINDS)
def built(request: pytest.FixtureRequest, server: str, unindexed: str) -> Iterator[tuple[str, Kind]]:
    kind = KINDS[request.param]
    with databases.fresh(server, unindexed) as url:
        asyncio.run(build(url, kind))
        yield url, kind


async def tenth_search(url: str, kind: Kind, filters: Filters) -> Plans:
    async with await databases.open_engine(url, search=POOL) as engine:
        await engine._database._pool.resize(1, 1)
        asked: dict[str, Any] = {
            "lang": "en",
            "mode": "semantic",
            "filters": filters,
            "trace": False,
            **kind.asked,
        }
        for n in range(9):
            await engine.search(f"question {n}", **asked)
        async with explained(engine) as plans:
            await engine.search("the tenth question", **asked)
    return plans


def walked(plans: Plans, kind: Kind) -> None:
    """The arm's own index, in its order, by a vector that stands in the plan, and no more of it than was asked for."""
    plan = plans.of(kind.statement)
    scans = on(plan, f"embedding_1_{kind.name}")
    assert len(scans) == 1, shown(plan)
    assert scans[0]["Node Type"] == "Index Scan", shown(plan)
    order = scans[0].get("Order By", "")
    assert re.search(rf"{re.escape(kind.operator)} B?'", order), (
        f"no vector in the plan: {order[:200]}\n{shown(plan)}"
    )
    read = [n for n in nodes(plan) if n.get("Relation Name") == "embedding_1"]
    assert len(read) == 1, shown(plan)
    assert scans[0]["Actual Rows"] < CHUNKS / 2, f"the whole space was read\n{shown(plan)}"


@pytest.mark.parametrize("filters", FILTERS)
async def test_each_index_is_walked_in_its_order_on_the_tenth_run(
    built: tuple[str, Kind], filters: str
) -> None:
    url, kind = built
    plans = await tenth_search(url, kind, FILTERS[filters])
    walked(plans, kind)
    plan = plans.of(kind.statement)
    for table, key in (("document", "document_id"), ("revision", "revision_id")):
        reads = on(plan, table)
        assert reads, "filters and permissions are inside the arm"
        assert all(key in n.get("Index Cond", "") for n in reads), shown(plan)
    if filters == "expression":
        conditions = [n.get("Filter", "") for n in nodes(plan)]
        assert any("license" in c and "authority" in c for c in conditions), shown(plan)


async def test_candidates_of_signs_are_sorted_by_their_vectors(built: tuple[str, Kind]) -> None:
    url, kind = built
    if kind.name != "binary":
        pytest.skip("only signs are scored again")
    plan = (await tenth_search(url, kind, Filters())).of(SIGNS)
    sorts = [n for n in nodes(plan) if n["Node Type"] == "Sort"]
    assert any("distance" in key for n in sorts for key in n["Sort Key"]), shown(plan)
    (scan,) = on(plan, "embedding_1_binary")
    assert scan["Actual Rows"] == 30, "three times the pool"


# that the check can fail


async def test_a_generic_plan_is_seen(built: tuple[str, Kind], monkeypatch: pytest.MonkeyPatch) -> None:
    url, kind = built
    of_identity = Database._of_identity

    def generic(self: Database, identity: Any, mode: Any) -> dict[str, str]:
        return {**of_identity(self, identity, mode), "plans": "force_generic_plan"}

    monkeypatch.setattr(Database, "_of_identity", generic)
    plans = await tenth_search(url, kind, Filters())
    with pytest.raises(AssertionError):
        walked(plans, kind)


async def test_a_vector_that_is_joined_is_seen(
    built: tuple[str, Kind], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, kind = built
    over_space = store._over_space

    def joined(name: str, question: store.SemanticQuestion, found: Any) -> Any:
        text = over_space(name, question, found).as_string(None)
        table = f'"veraz"."embedding_{question.space_id}" e'
        assert table in text
        text = text.replace("%(vector)s::halfvec", "j.asked")
        text = text.replace(table, f"(select %(vector)s::halfvec as asked offset 0) j cross join {table}")
        return sql.SQL(text)  # type: ignore[arg-type]

    monkeypatch.setattr(store, "_over_space", joined)
    plans = await tenth_search(url, kind, Filters())
    with pytest.raises(AssertionError):
        walked(plans, kind)


async def test_an_index_that_is_gone_is_seen_and_searches_are_answered(
    built: tuple[str, Kind], server: str
) -> None:
    whole, kind = built
    name = str(psycopg.conninfo.conninfo_to_dict(whole)["dbname"])
    with databases.fresh(server, name) as url:
        with psycopg.connect(url, autocommit=True) as admin:
            admin.execute(
                sql.SQL("drop index {}").format(sql.Identifier("veraz", f"embedding_1_{kind.name}"))
            )
        plans = await tenth_search(url, kind, Filters())
        with pytest.raises(AssertionError):
            walked(plans, kind)
        async with await databases.open_engine(url, search=POOL) as engine:
            found = await engine.search("anything", lang="en", mode="semantic", trace=False)
            exact = await engine.search("anything", lang="en", mode="semantic", exact=True, trace=False)
        assert [h.chunk_id for h in found.hits] == [h.chunk_id for h in exact.hits]


async def test_without_an_index_every_vector_is_compared(unindexed: str, server: str) -> None:
    with databases.fresh(server, unindexed) as url:
        async with await databases.open_engine(url, search=POOL) as engine:
            await engine.build_index("none")
            await engine._database._pool.resize(1, 1)
            async with explained(engine) as plans:
                found = await engine.search("anything", lang="en", mode="semantic", trace=False)
    assert plans.of(EXACT)
    assert found.config["semantic"] == {
        "distance": "cosine",
        "index": "none",
        "ef_search": 120,
        "exact": True,
    }
    assert len(found.hits) == 10


# H04


async def test_distances_never_decrease_on_two_thousand_filtered_questions(built: tuple[str, Kind]) -> None:
    """Whatever order a relaxed scan yields, and although PostgreSQL 17 trusts it and drops a sort above it."""
    url, kind = built
    chance, asked = random.Random(5), 0
    async with await databases.open_engine(url, search=POOL) as engine:
        filters = [engine._resolved(f) for f in every_filter()]
        identity = await engine.identity()
        for _ in range(20):
            async with engine._database.transaction(identity) as connection:
                for _ in range(100):
                    question = semantic_question(chance, kind)
                    chosen = chance.choice(filters)
                    arms = await store.run_arms(connection, chosen, None, question)
                    assert arms.semantic is not None
                    ranked = fuse({"semantic": arms.semantic}, FusionSettings("minmax", 1.0, 60))
                    scores = [entry.scores["semantic"] for entry in ranked]
                    assert scores == sorted(scores, reverse=True)
                    assert [entry.ranks["semantic"] for entry in ranked] == list(range(1, len(scores) + 1))
                    asked += bool(scores)
    assert asked > 1400, "most found something"


def every_filter() -> list[Filters]:
    return [
        Filters(),
        Filters(sources=("bulk",)),
        Filters(authority=3),
        Filters(where="title ~ '7'"),
        Filters(where="document = 'd3' or title ~ '11'"),
        Filters(where="lang = 'fr'"),
    ]


def semantic_question(chance: random.Random, kind: Kind) -> store.SemanticQuestion:
    return store.SemanticQuestion(
        hashed("order", str(chance.random())), 1, 10, ef_search=10, max_scan_tuples=200, exact=False,
        kind=kind.name, probes=1, cluster=100, oversampling=3,  # type: ignore[arg-type]
    )  # fmt: skip


@pytest.mark.parametrize(
    "filters", every_filter(), ids=["none", "source", "authority", "title", "few", "no language"]
)
async def test_as_many_as_match_and_nearly_those_of_an_exact_scan(
    built: tuple[str, Kind], filters: Filters
) -> None:
    """With what is recorded with the index."""
    url, kind = built
    kept = total = 0
    async with await databases.open_engine(url, search=POOL) as engine:
        for n in range(5):
            asked: dict[str, Any] = {"lang": "en", "mode": "semantic", "filters": filters, "trace": False}
            found = await engine.search(f"question {n}", **asked)
            exact = await engine.search(f"question {n}", exact=True, **asked)
            assert found.config["semantic"]["index"] == kind.name
            assert len(found.hits) == len(exact.hits)
            kept += len({h.chunk_id for h in found.hits} & {h.chunk_id for h in exact.hits})
            total += len(exact.hits)
    assert total == (0 if filters.where == "lang = 'fr'" else 50)
    assert kept >= 0.9 * total
