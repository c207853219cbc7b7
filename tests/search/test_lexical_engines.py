"""Another engine in the lexical arm: it orders, the runtime role permits, and the postings answer where it cannot."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from typing import Any
from uuid import UUID, uuid4

import msgspec
import pytest
from tests.support import databases
from tests.support.corpus import maintenance_rows, put, record
from tests.support.hashing import HashingEmbedder

from veraz.config import DatabaseConfig, SearchConfig
from veraz.engine import AsyncVeraz
from veraz.errors import ProviderError
from veraz.nouns.evidence import SearchResult
from veraz.nouns.lexical import EngineCandidates, EngineQuestion
from veraz.nouns.question import Filters

Answer = Callable[[EngineQuestion], EngineCandidates]


class Fake:
    """An engine in this process, or a service elsewhere: the port cannot tell. It ranks `chunks` as they stand."""

    name, version = "fake", "fake-1"

    def __init__(self, chunks: Sequence[UUID] = (), answer: Answer | None = None) -> None:
        self.chunks = list(chunks)
        self.asked: list[EngineQuestion] = []
        self.closed = False
        self._answer = answer

    async def best(self, question: EngineQuestion) -> EngineCandidates:
        self.asked.append(question)
        await asyncio.sleep(0)
        if self._answer is not None:
            return self._answer(question)
        scored = [(key, 100.0 - n) for n, key in enumerate(self.chunks[: question.depth])]
        return EngineCandidates(scored, exhausted=len(scored) < question.depth)

    async def close(self) -> None:
        self.closed = True


async def chunks(engine: AsyncVeraz) -> dict[str, UUID]:
    """Current chunks of every tenant, by the id of their document."""
    return dict(
        await maintenance_rows(
            engine,
            "select d.external_id, c.chunk_id from veraz.chunk c"
            " join veraz.document d using (tenant_id, document_id) where c.is_current",
        )
    )


def found_ids(result: SearchResult) -> list[str]:
    return [h.document.external_id for h in result.hits]


async def asking(
    database: str, fake: Fake, question: str = "metformin", *, search: SearchConfig | None = None, **how: Any
) -> SearchResult:
    opened = await databases.open_engine(database, lexical_engine=fake, search=search or SearchConfig())
    async with opened as engine:
        return await engine.search(question, **{"lang": "en", "mode": "lexical", "trace": False, **how})


def of_engine(result: SearchResult) -> dict[str, Any]:
    return dict(result.config["lexical"]["engine"])


async def test_its_order_is_the_arms_order_and_everything_says_whose_it_is(
    engine: AsyncVeraz, database: str
) -> None:
    texts = {
        "a": "Metformin.",
        "b": "Metformin and food.",
        "c": "Metformin and two other things.",
        "d": "Sleep.",
    }
    await put(engine, *(record(name, text) for name, text in texts.items()))
    keys = await chunks(engine)
    fake = Fake([keys["c"], keys["a"], keys["b"]])
    found = await asking(database, fake, explain=True)
    assert found_ids(found) == ["c", "a", "b"]
    assert [h.lexical.score for h in found.hits if h.lexical] == [100.0, 99.0, 98.0]
    assert of_engine(found) == {
        "name": "fake",
        "version": "fake-1",
        "outcome": "answered",
        "reason": None,
        "found": 3,
        "beside": 0,
    }
    assert found.config["lexical"]["exact"] is False
    assert (found.notes, found.shortfall) == ((), None)
    assert all(h.explain and h.explain["arms"]["lexical"]["engine"] == "fake" for h in found.hits)
    assert [(q.text, q.lang, q.depth) for q in fake.asked] == [("metformin", "en", 1000)]
    assert fake.closed
    hybrid = await asking(database, Fake([keys["c"], keys["a"], keys["b"]]), mode="hybrid")
    assert all(h.semantic for h in hybrid.hits)
    assert {h.document.external_id: h.lexical.rank for h in hybrid.hits if h.lexical} == {
        "c": 1,
        "a": 2,
        "b": 3,
    }


async def test_without_another_engine_nothing_speaks_of_one(engine: AsyncVeraz) -> None:
    await put(engine, record("a", "Metformin."))
    found = await engine.search("metformin", lang="en", explain=True, trace=False)
    assert found.config["lexical"]["engine"] is None
    assert "engine" not in (found.hits[0].explain or {})["arms"]["lexical"]


async def test_what_may_not_be_read_is_dropped_and_asked_past(engine: AsyncVeraz, database: str) -> None:
    """Labels, deletion, an older revision and filters: none of them the engine's to know, none counted towards k."""
    secret = [record(f"secret{n:02}", f"Metformin, number {n}.", acl=["secret"]) for n in range(20)]
    await put(engine, *secret)
    await put(
        engine, record("gone", "Metformin that is deleted."), record("old", "Metformin, first edition.")
    )
    keys = await chunks(engine)
    stale = keys["old"]
    await engine.delete("gone", source="s")
    await put(engine, record("old", "Insulin, second edition."))
    await put(
        engine,
        record("x", "Metformin, read me first."),
        record("y", "Metformin, read me second."),
        source="t",
    )
    keys = {**await chunks(engine), "stale": stale}
    order = [*(keys[f"secret{n:02}"] for n in range(20)), keys["gone"], stale, keys["y"], keys["x"]]
    fake = Fake(order)
    found = await asking(database, fake, search=SearchConfig(pool=2), k=2)
    assert found_ids(found) == ["y", "x"]
    assert [q.depth for q in fake.asked] == [20, 40]
    assert of_engine(found)["outcome"] == "answered"
    assert (found.shortfall, found.notes) == (None, ())
    # Nothing tells how many were dropped, which would be how many are hidden.
    assert set(of_engine(found)) == {"name", "version", "outcome", "reason", "found", "beside"}
    async with await databases.open_engine(database, lexical_engine=Fake(order)) as opened:
        insider = opened.acting_as(replace(await opened.identity(), roles=("public", "secret")))
        seen = await insider.search("metformin", lang="en", mode="lexical", k=30, trace=False)
    assert found_ids(seen) == [*(f"secret{n:02}" for n in range(20)), "y", "x"]
    only = await asking(database, Fake(order), filters=Filters(where="title = 'x'"))
    assert found_ids(only) == ["x"]


async def test_a_chunk_of_another_tenant_is_not_there(engine: AsyncVeraz, database: str) -> None:
    await put(engine, record("mine", "Metformin of mine."))
    other = await engine.ensure_tenant("other")
    await put(engine, record("theirs", "Metformin of theirs."), identity=other)
    keys = await chunks(engine)
    for foreign in (keys["theirs"], uuid4()):  # said in the same words
        found = await asking(database, Fake([foreign, keys["mine"]]))
        assert found_ids(found) == ["mine"]
        assert found.notes == (
            "the lexical engine fake was of no use (chunks that are not there); the postings answered",
        )
        assert (of_engine(found)["outcome"], of_engine(found)["found"]) == ("failed", 0)


async def test_an_engine_that_misses_something_is_completed(engine: AsyncVeraz, database: str) -> None:
    texts = {"a": "Metformin.", "b": "Metformin and much else to read.", "c": "Metformin and metformin."}
    await put(engine, *(record(name, text) for name, text in texts.items()))
    plain = await engine.search("metformin", lang="en", mode="lexical", trace=False)
    keys = await chunks(engine)
    fake = Fake([keys["b"]])
    found = await asking(database, fake, explain=True)
    assert found_ids(found) == ["b", *(name for name in found_ids(plain) if name != "b")]
    assert found.shortfall == {"arm": "lexical", "approximate": 1, "exact": 3}
    assert (of_engine(found)["outcome"], of_engine(found)["found"], of_engine(found)["beside"]) == (
        "answered",
        1,
        2,
    )
    assert [(h.explain or {})["arms"]["lexical"]["engine"] for h in found.hits] == [
        "fake",
        "postings",
        "postings",
    ]
    assert len(fake.asked) == 1  # it said that it has no more
    stubborn = Fake(answer=lambda _: EngineCandidates([(keys["b"], 1.0)]))
    assert found_ids(await asking(database, stubborn)) == found_ids(found)
    assert len(stubborn.asked) == 2  # nor is one asked for ever that gives no more


def raising(error: Exception) -> Answer:
    def answer(_: EngineQuestion) -> EngineCandidates:
        raise error

    return answer


async def test_whatever_goes_wrong_the_postings_answer(engine: AsyncVeraz, database: str) -> None:
    await put(engine, record("a", "Metformin."), record("b", "Metformin and much else to read."))
    plain = await engine.search("metfromin -insulin", lang="en", mode="lexical", trace=False)
    a, b = (await chunks(engine)).values()
    wrong: dict[str, Answer] = {
        "a score that is not finite": lambda _: EngineCandidates([(b, math.nan), (a, 1.0)]),
        "the same chunk twice": lambda _: EngineCandidates([(b, 2.0), (b, 1.0)]),
        "it is being repaired": raising(ProviderError("it is being repaired", fix="wait")),
        "ValueError": raising(ValueError("https://key@host")),
    }
    for why, answer in wrong.items():
        found = await asking(database, Fake(answer=answer), "metfromin -insulin")
        assert [(h.chunk_id, h.score) for h in found.hits] == [(h.chunk_id, h.score) for h in plain.hits]
        assert found.spellings == plain.spellings == {"metfromin": "metformin"}
        note = f"the lexical engine fake was of no use ({why}); the postings answered"
        assert found.notes[:-1] == plain.notes
        assert found.notes[-1].startswith(note)
        assert "key@host" not in found.notes[-1]
        assert (of_engine(found)["outcome"], of_engine(found)["reason"]) == ("failed", why)


async def test_it_has_a_time_and_no_transaction_is_open_meanwhile(engine: AsyncVeraz, database: str) -> None:
    await put(engine, record("a", "Metformin."), record("b", "Metformin and food."))
    keys = await chunks(engine)

    class Slow(Fake):
        async def best(self, question: EngineQuestion) -> EngineCandidates:
            await asyncio.sleep(30)
            return await super().best(question)

    found = await asking(database, Slow(), search=SearchConfig(lexical_timeout=0.05))
    assert (found_ids(found), of_engine(found)["reason"]) == (["a", "b"], "no answer within 0.05 s")

    class Own(Fake):
        """It needs the pool's only connection."""

        async def best(self, question: EngineQuestion) -> EngineCandidates:
            async with opened._database.transaction(question.identity) as connection:
                await connection.execute("select 1")
            return await super().best(question)

    fake = Own([keys["b"], keys["a"]])
    config = msgspec.structs.replace(
        databases.config(database, search=SearchConfig(lexical_timeout=20)),
        database=DatabaseConfig(url=database, pool_size=1),
    )
    async with await AsyncVeraz.open(
        config=config, embedder=HashingEmbedder(), lexical_engine=fake
    ) as opened:
        found = await opened.search("metformin", lang="en", trace=False)
    assert of_engine(found)["outcome"] == "answered"


async def test_the_question_is_read_as_ever(engine: AsyncVeraz, database: str) -> None:
    texts = {"a": "Metformin and insulin.", "b": "Metformin alone.", "c": "Alone with metformin."}
    await put(engine, *(record(name, text) for name, text in texts.items()))
    await engine.merge_index()
    keys = await chunks(engine)
    for question, asked, expected in (
        ("metformin -insulin", "metformin", ["c", "b"]),
        ("metfromin -insulin", "metformin", ["c", "b"]),
        ('"metformin alone"', "metformin alone", ["b"]),
    ):
        fake = Fake([keys["a"], keys["c"], keys["b"]])
        found = await asking(database, fake, question)
        assert found_ids(found) == expected, question
        assert {q.text for q in fake.asked} == {asked}
    fake = Fake(list(keys.values()))
    nothing = await asking(database, fake, "the")
    assert nothing.notes == ("the question has function words alone, which are not searched for",)
    assert (nothing.hits, fake.asked, of_engine(nothing)["outcome"]) == ((), [], "not asked")


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ({"exact": True}, "--exact: every posting is read"),
        ({"as_of": date(2030, 1, 1)}, "the day that is asked for: an engine's index holds what is current"),
    ],
)
async def test_it_is_not_asked_what_is_not_its_to_answer(
    engine: AsyncVeraz, database: str, how: dict[str, Any], why: str
) -> None:
    await put(engine, record("a", "Metformin."))
    fake = Fake()
    found = await asking(database, fake, **how)
    assert (found_ids(found), fake.asked, found.notes) == (["a"], [], ())
    assert (of_engine(found)["outcome"], of_engine(found)["reason"]) == ("not asked", why)


async def test_repeated_texts_are_looked_past_in_its_order(engine: AsyncVeraz, database: str) -> None:
    same = [record(f"same{n}", "Metformin, word for word.", title="t") for n in range(3)]
    await put(engine, *same, record("other", "Metformin, in other words.", title="t"))
    keys = await chunks(engine)
    fake = Fake([*(keys[f"same{n}"] for n in range(3)), keys["other"]])
    found = await asking(database, fake, search=SearchConfig(pool=2), k=2)
    assert found_ids(found) == ["same0", "other"]
    assert [q.depth for q in fake.asked] == [20]
    assert found.shortfall is None
