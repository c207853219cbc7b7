"""The lexical arm's scorers: BM25, and PostgreSQL's cover density where that is asked for."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from tests.support import databases
from tests.support.corpus import put, record, rows

from veraz.config import SearchConfig
from veraz.engine import AsyncVeraz
from veraz.nouns.question import Filters

NEAR = "Kidney failure needs care. " + "Other words stand here. " * 6
FAR = "Kidney stones are painful. " + "Other words stand here. " * 6 + "Failure of the heart."


async def test_cover_density_orders_by_nearness_where_bm25_does_not(
    engine: AsyncVeraz, database: str
) -> None:
    await put(engine, record("far", FAR + " Kidney.", title="t"), record("near", NEAR, title="t"))
    plain = await engine.search("kidney failure", lang="en", mode="lexical", trace=False)
    assert [h.document.external_id for h in plain.hits] == ["far", "near"]
    async with await databases.open_engine(database, search=SearchConfig(scorer="ts_rank_cd")) as dense:
        found = await dense.search("kidney failure", lang="en", mode="lexical", trace=False)
    assert found.config["lexical"]["scorer"] == "ts_rank_cd"
    scores = dict(
        await rows(
            engine,
            "select c.chunk_id, ts_rank_cd(l.tsv, 'kidney | failur') from veraz.chunk c"
            " join veraz.chunk_lexical l using (tenant_id, chunk_id)",
        )
    )
    assert len(found.hits) == 2
    for hit in found.hits:
        assert hit.lexical is not None
        assert hit.lexical.score == pytest.approx(scores[hit.chunk_id])
    assert found.hits[0].lexical.score >= found.hits[1].lexical.score  # type: ignore[union-attr]


async def test_marks_and_misspelt_words_count_under_any_scorer(engine: AsyncVeraz, database: str) -> None:
    await put(engine, record("a", "Metformin and insulin."), record("b", "Metformin alone."))
    await engine.merge_index()
    async with await databases.open_engine(database, search=SearchConfig(scorer="ts_rank_cd")) as dense:
        for question in ("metformin -insulin", "metfromin -insulin", '"metformin alone"'):
            found = await dense.search(question, lang="en", mode="lexical", trace=False)
            assert [h.document.external_id for h in found.hits] == ["b"], question


async def test_function_words_alone_are_said_to_be_that(engine: AsyncVeraz) -> None:
    await put(engine, record("a", "Metformin and insulin."))
    found = await engine.search("who is it", lang="en", mode="lexical", trace=False)
    assert found.notes == ("the question has function words alone, which are not searched for",)
    both = await engine.search("the", lang="en", trace=False)
    assert both.notes == (f"{found.notes[0]}; only the semantic arm found anything",)


async def test_the_semantic_arm_keeps_its_pool_under_any_scorer(engine: AsyncVeraz, database: str) -> None:
    """Cover density is asked of more candidates than the pool; that says nothing of the other arm."""
    await put(engine, *(record(f"d{n}", f"Metformin and kidneys, note {n}.") for n in range(40)))
    await engine.merge_index()
    settings = SearchConfig(scorer="ts_rank_cd", pool=10, rescored=60)
    async with await databases.open_engine(database, search=settings) as dense:
        for question, day in (
            ("metformin kidneys", None),
            ('"metformin and kidneys"', None),
            ("metformin", datetime.now(UTC).date()),
        ):
            run = await dense._search(
                await dense.identity(), question, 5, "hybrid", "en", Filters(), None, False, False, day, None
            )
            assert {arm: len(found) for arm, found in run.arms.items()} == {"lexical": 10, "semantic": 10}, (
                question
            )
