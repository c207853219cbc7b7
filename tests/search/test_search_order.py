"""The order is total, repeatable and independent of how the corpus came in (public case H11)."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from tests.support import databases
from tests.support.corpus import Record, Words, put, record, shuffled

from veraz.engine import AsyncVeraz


def valves() -> list[Record]:
    words = Words(3, 200)
    filler = [
        record(f"filler{n}", f"{words.text(6)} The valve is there. {words.text(4)}", title="Plant")
        for n in range(400)
    ]
    best = record(
        "best",
        "Valve V-9: the valve closing torque. Close the valve; this valve, each valve.",
        title="Valve V-9 closing torque",
    )
    return [*filler, best]


@pytest.mark.parametrize("seed", [0, 1])
async def test_the_best_match_is_first_wherever_it_stands_in_the_corpus(
    engine: AsyncVeraz, seed: int
) -> None:
    documents = valves() if seed == 0 else shuffled(seed, valves())
    await put(engine, *documents)
    for question in ("valve closing torque", "valve"):
        found = await engine.search(question, lang="en", mode="lexical", k=5)
        assert found.hits[0].document.external_id == "best", question
        assert len(found.hits) == 5


def tied() -> list[Record]:
    """Equal texts, so that both arms score them alike; they differ in authority and date only."""
    dates = (None, "2020-01-01", "2023-01-01")
    return [
        record(
            f"t{n}",
            "The fever rule is the same everywhere.",
            title="Fever",
            **({"date": d} if (d := dates[n % 3]) else {}),
        )
        for n in range(30)
    ]


async def ranking(engine: AsyncVeraz, mode: Any, k: int = 50) -> list[tuple[str, UUID | None, float]]:
    """Documents that say the same share a hit, in the order in which they would have stood alone."""
    found = await engine.search("the fever rule", lang="en", mode=mode, k=k, trace=False)
    assert len(found.hits) == 1
    return [(d.external_id, d.document_id, h.score) for h in found.hits for d in (h.document, *h.also)]


@pytest.mark.parametrize("mode", ["lexical", "semantic", "hybrid"])
async def test_ties_are_broken_the_same_way_after_any_order_of_ingest(
    server: str, template: str, mode: str
) -> None:
    seen = []
    for seed in (None, 1, 2):
        documents = tied() if seed is None else shuffled(seed, tied())
        with databases.fresh(server, template) as url:
            async with await databases.open_engine(url) as engine:
                await put(engine, *documents[:15], source="high", authority=5)
                await put(engine, *tied()[:0], source="low", authority=1)
                await put(engine, *documents[15:], source="high")
                first = await ranking(engine, mode)
                assert await ranking(engine, mode) == first
                seen.append(first)
    assert len(seen[0]) == 30
    assert seen[0] == seen[1] == seen[2]


async def test_ties_go_to_authority_then_to_the_newer(engine: AsyncVeraz) -> None:
    await put(
        engine, record("low-new", "The fever rule.", title="F", date="2025-01-01"), source="low", authority=1
    )
    await put(
        engine,
        record("high-old", "The fever rule.", title="F", date="2019-01-01", source="low"),
        record("high-new", "The fever rule.", title="F", date="2024-01-01", source="low"),
        record("high-undated", "The fever rule.", title="F", source="low"),
        source="high",
        authority=5,
    )
    for mode in ("lexical", "semantic", "hybrid"):
        assert [name for name, _, _ in await ranking(engine, mode)] == [
            "high-new",
            "high-old",
            "high-undated",
            "low-new",
        ], mode


async def test_fewer_hits_are_the_beginning_of_more(engine: AsyncVeraz) -> None:
    words = Words(9, 100)
    await put(engine, *words.records(40))
    for _ in range(10):
        question = words.question(4)
        many = [h.chunk_id for h in (await engine.search(question, lang="en", k=30, trace=False)).hits]
        few = [h.chunk_id for h in (await engine.search(question, lang="en", k=7, trace=False)).hits]
        assert few == many[:7]


async def test_more_ties_than_an_arm_returns_are_cut_the_same_way(engine: AsyncVeraz, database: str) -> None:
    """130 equal chunks for a pool of 100: which of them the arms return must not depend on the moment either."""
    await put(
        engine,
        *(record(f"t{n}", "The fever rule is the same everywhere.", title="Fever") for n in range(130)),
    )
    for mode in ("lexical", "semantic", "hybrid"):
        seen = [await ranking(engine, mode) for _ in range(3)]
        async with await databases.open_engine(database) as other:
            seen.append(await ranking(other, mode))
        assert all(s == seen[0] for s in seen), mode
