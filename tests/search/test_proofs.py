"""A budget that was not enough for every posting, and what is proved all the same: never wrongly, and not never."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator

import pytest
from tests.support import databases
from tests.support.corpus import Words, put, record
from tests.support.oracle import lexical_arm

from veraz.config import SearchConfig
from veraz.engine import AsyncVeraz
from veraz.nouns.question import Filters
from veraz.search import store


@pytest.fixture(scope="module")
def filled(server: str, template: str) -> Iterator[str]:
    """1,500 chunks of a small vocabulary, merged, with a few deltas beside."""

    async def fill(url: str) -> None:
        words = Words(6, 40)
        async with await databases.open_engine(url) as engine:
            await put(engine, *words.records(30, sections=50, sentences=1))
            await engine.merge_index()
            await put(engine, *(record(f"late{n}", words.text(2)) for n in range(5)))
            await put(engine, record("d1", words.text(3)))

    with databases.fresh(server, template) as url:
        asyncio.run(fill(url))
        yield url


async def asked(engine: AsyncVeraz, question: str, pool: int, budget: int, rescored: int) -> store.ArmResults:
    lexical = store.LexicalQuestion(question, "en", pool, budget, rescored)
    async with engine._database.transaction(await engine.identity()) as connection:
        return await store.run_arms(connection, Filters(), lexical, None)


async def test_what_is_proved_is_true(filled: str) -> None:
    words, chance = Words(6, 40), random.Random(2)
    proved = unproved = whole = 0
    async with await databases.open_engine(filled) as engine:
        for _ in range(60):
            question = words.question(chance.randint(1, 5))
            pool, budget = chance.choice((1, 5, 20)), chance.choice((100, 700, 1500, 3000, 6000))
            rescored = chance.choice((pool, 50, 600))
            found = await asked(engine, question, pool, budget, max(pool, rescored))
            exact = await lexical_arm(engine, question, "en")
            assert found.lexical is not None
            best = [(c.chunk_id, c.score) for c in exact][: found.proven]
            assert [(c.chunk_id, c.score) for c in found.lexical][: found.proven] == best, (question, budget)
            proved += found.proven > 0
            unproved += found.proven < len(found.lexical)
            whole += found.lexical_exact
    assert proved > 10
    assert unproved > 10
    assert whole > 5


async def test_a_result_that_is_proved_whole_says_that_it_is_exact(filled: str) -> None:
    """One rare word and a very common one: what holds the rare one stands above all that the unread blocks can add."""
    words = Words(6, 40)
    rare, common = words.vocabulary[-1], words.vocabulary[0]
    settings = SearchConfig(pool=1, budget=700, rescored=600)
    async with await databases.open_engine(filled, search=settings) as engine:
        found = await engine.search(f"{rare} {rare} {common}", lang="en", mode="lexical", k=1, trace=False)
        every = await engine.search(
            f"{rare} {rare} {common}", lang="en", mode="lexical", k=1, exact=True, trace=False
        )
        postings = await asked(engine, f"{rare} {rare} {common}", 1, 700, 600)
    assert [h.chunk_id for h in found.hits] == [h.chunk_id for h in every.hits]
    assert found.config["lexical"]["proven"] == (1 if postings.proven else 0)
    assert found.config["lexical"]["exact"] is bool(postings.proven)
