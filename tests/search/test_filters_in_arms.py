"""Filters inside the arms: never fewer than asked while there are more, the same as an exact scan (public cases H01 and H04)."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from datetime import date
from typing import Any

import pytest
from tests.support import databases, large
from tests.support.oracle import lexical_arm

from veraz.config import SearchConfig
from veraz.engine import AsyncVeraz
from veraz.nouns.evidence import SearchResult
from veraz.nouns.question import Filters
from veraz.search import arms, store


def ids(result: SearchResult) -> list[str]:
    return [h.document.external_id for h in result.hits]


@pytest.mark.parametrize(("k", "wanted"), [(10, 10), (20, 20), (100, 20)])
async def test_a_rare_source_far_from_the_question_is_found_whole(
    large_engine: AsyncVeraz, k: int, wanted: int
) -> None:
    rare = Filters(sources=("rare",))
    for question in ("anything at all", large.words().question(4)):
        found = await large_engine.search(question, lang="en", mode="semantic", k=k, filters=rare)
        exact = await large_engine.search(question, lang="en", mode="semantic", k=k, filters=rare, exact=True)
        assert {h.document.source for h in found.hits} == {"rare"}
        assert len(found.hits) == wanted
        assert ids(found) == ids(exact)


@pytest.mark.parametrize("mode", ["semantic", "hybrid"])
async def test_h01_a_key_of_the_metadata_far_from_the_question(large_engine: AsyncVeraz, mode: Any) -> None:
    """6,000 chunks of site A around the question, 20 of site B far from it: what an index meets last."""
    for where, wanted in (("meta.site = 'B'", 10), ("meta.site != 'A'", 10), ("meta.site = 'C'", 0)):
        asked: dict[str, Any] = {"lang": "en", "mode": mode, "k": 10, "filters": Filters(where=where)}
        found = await large_engine.search("anything at all", **asked)
        exact = await large_engine.search("anything at all", exact=True, **asked)
        assert len(found.hits) == wanted
        assert {h.document.source for h in found.hits} <= {"rare"}
        assert ids(found) == ids(exact)


@pytest.fixture
async def hurried(analysed_database: str) -> AsyncIterator[AsyncVeraz]:
    """An engine whose approximate scan gives up long before the rare source. With statistics: without them the planner may take
    the documents of the source first, and finds them all."""
    settings = SearchConfig(ef_search=10, max_scan_tuples=200)
    async with await databases.open_engine(analysed_database, large.embedder(), search=settings) as engine:
        yield engine


async def test_a_scan_that_came_up_short_is_repaired_and_says_so(
    hurried: AsyncVeraz, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arms, "SAMPLE", 0)
    found = await hurried.search(
        "anything", lang="en", mode="semantic", k=10, filters=Filters(sources=("rare",))
    )
    assert len(found.hits) == 10
    assert found.shortfall is not None
    assert found.shortfall["arm"] == "semantic"
    assert found.shortfall["approximate"] < found.shortfall["exact"] == large.RARE
    assert found.config["semantic"]["exact"] is True


@pytest.mark.parametrize(
    ("filters", "wanted"),
    [
        (Filters(sources=("rare",)), large.RARE),
        (Filters(authority=4), large.RARE),
        (Filters(authority=4, sources=("bulk",)), 0),
        (Filters(revised_from=date(2024, 1, 11)), 10),
        (Filters(revised_to=date(2024, 1, 5)), 5),
        (Filters(revised_from=date(2024, 1, 5), revised_to=date(2024, 1, 5)), 1),
        (Filters(revised_from=date(2030, 1, 1)), 0),
        (Filters(sources=()), 0),
        (Filters(sources=("nobody",)), 0),
        (Filters(langs=("fr",)), 0),
        (Filters(where="source = 'rare'"), large.RARE),
        (Filters(where="source = 'rare' and revised_at between 2024-01-03 and 2024-01-05"), 3),
        (Filters(sources=("rare",), where="document in ('rare3', 'bulk0')"), 1),
        (Filters(where="source = 'rare' and not kind = 'paragraph'"), 0),
        (Filters(where="authority > 5"), 0),
    ],
)
@pytest.mark.parametrize("exact", [False, True])
async def test_exactly_the_matching_documents(
    large_engine: AsyncVeraz, filters: Filters, wanted: int, exact: bool
) -> None:
    question = f"{large.FAR} and more"
    for mode in ("semantic", "lexical", "hybrid"):
        found = await large_engine.search(question, lang="en", mode=mode, k=100, filters=filters, exact=exact)
        assert len(found.hits) == wanted, mode
        assert found.outcome == ("found" if wanted else "nothing")


async def test_random_filtered_questions_are_in_order_and_as_many_as_exact(large_engine: AsyncVeraz) -> None:
    chance, words = random.Random(11), large.words()
    agreeing = total = 0
    for _ in range(40):
        filters = Filters(
            sources=chance.choice((None, ("bulk",), ("rare",), ("bulk", "rare"))),
            authority=chance.choice((None, 1, 3, 5)),
            revised_from=chance.choice((None, None, date(2024, 1, 10))),
            where=chance.choice(
                (
                    None,
                    "authority >= 3",
                    "not source = 'bulk'",
                    "title ~ '1' or source = 'rare'",
                    "heading ~ '7'",
                )
            ),
        )
        question = words.question(chance.randint(1, 6)) + chance.choice(("", f" {large.FAR}"))
        asked: dict[str, Any] = {
            "lang": "en",
            "mode": "semantic",
            "k": chance.choice((5, 20, 60)),
            "filters": filters,
            "trace": False,
        }
        found, exact = (
            await large_engine.search(question, **asked),
            await large_engine.search(question, **asked, exact=True),
        )
        scores = [h.semantic.score for h in found.hits if h.semantic]
        assert len(scores) == len(found.hits) == len(exact.hits)
        assert scores == sorted(scores, reverse=True)
        assert [h.semantic.rank for h in found.hits if h.semantic] == list(range(1, len(scores) + 1))
        agreeing += len({h.chunk_id for h in found.hits} & {h.chunk_id for h in exact.hits})
        total += len(exact.hits)
    assert total > 400
    assert agreeing / total >= 0.9, f"recall {agreeing / total:.3f}"


async def test_the_best_lexical_match_is_found_whatever_matches_before_it(large_engine: AsyncVeraz) -> None:
    """Filters act before the cut: with one, the arm gives the same chunks as without one, less those that it excludes."""
    question = f"{large.words().question(4)} {large.FAR}"
    everything = await lexical_arm(large_engine, question, "en")
    filtered = await lexical_arm(large_engine, question, "en", filters=Filters(sources=("rare",)))
    far = {c.chunk_id for c in filtered}
    assert len(far) == large.RARE
    assert [c for c in everything if c.chunk_id in far] == filtered


@pytest.mark.parametrize(
    "where", [None, "source = 'bulk'", "not title ~ 'nowhere'", "authority < 5 and heading is not null"]
)
@pytest.mark.parametrize("mode", ["semantic", "hybrid"])
async def test_three_hundred_are_three_hundred(
    large_engine: AsyncVeraz, where: str | None, mode: Any
) -> None:
    """Whatever the pool: k hits while so many match."""
    asked: dict[str, Any] = {"lang": "en", "mode": mode, "filters": Filters(where=where), "trace": False}
    question = large.words().question(5)
    whole = await large_engine.search(question, k=300, **asked)
    assert len(whole.hits) == 300
    assert len({h.chunk_id for h in whole.hits}) == 300
    scores = [h.score for h in whole.hits]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize(("where", "first"), [("source = 'rare'", True), ("source = 'bulk'", False)])
async def test_the_way_is_chosen_by_the_share_that_is_left(
    large_engine: AsyncVeraz, where: str, first: bool
) -> None:
    found = await large_engine.search(large.words().question(5), lang="en", filters=Filters(where=where))
    assert found.config["filters"]["documents_first"] is first
    assert (found.config["filters"]["share"] < 0.2) is first


@pytest.mark.parametrize("seen", [True, False])
async def test_what_is_left_far_from_the_question_is_found_exactly(
    hurried: AsyncVeraz, monkeypatch: pytest.MonkeyPatch, seen: bool
) -> None:
    """Where the estimate is wrong, the nearest vectors tell, or else the walk gives up and what is permitted is scored: the same
    as an exact search."""

    async def half(*_: Any) -> tuple[int, int]:
        return 200, 100

    monkeypatch.setattr(arms.store, "filter_share", half)
    monkeypatch.setattr(arms, "few_rows", lambda *_: False)
    if not seen:
        monkeypatch.setattr(arms, "AGAINST", 0)
    rare = Filters(where="source = 'rare'")
    for mode in ("semantic", "hybrid"):
        asked: dict[str, Any] = {"lang": "en", "mode": mode, "filters": rare, "k": 20, "trace": False}
        found = await hurried.search("anything at all", **asked)
        exact = await hurried.search("anything at all", exact=True, **asked)
        assert ids(found) == ids(exact)
        assert len(found.hits) == large.RARE
        assert found.config["filters"]["documents_first"] is False
        assert found.config["semantic"]["exact"] is True
        assert ("repair" in found.timings_ms) is not seen


@pytest.mark.parametrize(
    ("where", "passing"), [("source = 'bulk'", 100), ("source = 'rare'", 0), ("title ~ '1'", None)]
)
async def test_the_nearest_vectors_tell_what_a_filter_leaves_of_them(
    large_engine: AsyncVeraz, where: str, passing: int | None
) -> None:
    question, space = large.words().question(5), (await large_engine.space()).space_id
    nearest = await large_engine.search(question, lang="en", mode="semantic", k=100, exact=True)
    if passing is None:
        passing = sum("1" in (h.document.title or "") for h in nearest.hits)
        assert 0 < passing < 100
    filters = large_engine._resolved(Filters(where=where))
    asked = store.SemanticQuestion(large.place(question), space, 100, 1000, 20_000, exact=False)
    async with large_engine._database.transaction(await large_engine.identity()) as connection:
        sampled, found = await store.nearest_share(connection, filters, asked, 100)
    assert sampled == 100
    assert abs(found - passing) <= 3, "the index may take a few others for the nearest"
