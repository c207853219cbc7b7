"""The lexical arm against an independent BM25, at every event in the life of the inverted file."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest
from tests.support import databases
from tests.support.corpus import Record, Words, put, record, rows, shuffled
from tests.support.oracle import check_postings, check_scores, lexical_arm, question_terms

from veraz.engine import AsyncVeraz

SPANISH = ("medicación", "medicaciones", "riñón", "corazón", "presión", "niños", "fiebre", "de", "la", "con")
ENGLISH = (
    "kidneys",
    "medication",
    "medications",
    "pressure",
    "children",
    "fever",
    "running",
    "runs",
    "the",
    "of",
)


def corpus(seed: int) -> list[Record]:
    """Documents of two languages that share made-up words, with real words, numbers and codes among them."""
    words, chance = Words(seed, 300), random.Random(seed)

    def text(real: tuple[str, ...]) -> str:
        parts = [
            words.text(2),
            " ".join(chance.choices(real, k=6)),
            f"E-{chance.randint(4000, 4009)} {chance.randint(1, 9)},5 mg.",
        ]
        return "\n\n".join(f"## {words.sentence(1, 3)}\n\n{part} {words.sentence()}" for part in parts)

    return [
        record(f"{lang}{n}", text(real), lang=lang, format="markdown")
        for lang, real, count in (("en", ENGLISH, 40), ("es", SPANISH, 20))
        for n in range(count)
    ]


def questions(seed: int, count: int = 50) -> list[tuple[str, str]]:
    words, chance = Words(seed, 300), random.Random(seed + 1)
    real = (*ENGLISH, *SPANISH, "E-4003", "e4003", "2,5", "2.5 mg", "unknownword")
    return [
        (
            " ".join([words.question(chance.randint(1, 4)), *chance.choices(real, k=chance.randint(1, 4))]),
            chance.choice(("en", "es")),
        )
        for _ in range(count)
    ]


@pytest.mark.parametrize("seed", [1, 2])
async def test_scores_are_those_of_bm25_from_ingest_to_merge_to_replacement(
    engine: AsyncVeraz, seed: int
) -> None:
    asked = questions(seed)
    documents = shuffled(seed, corpus(seed))
    await put(engine, *documents)
    assert await check_scores(engine, asked) > 1000
    await check_postings(engine, merged=False)

    await engine.merge_index()
    assert await check_scores(engine, asked) > 1000
    await check_postings(engine, merged=True)

    changed = corpus(seed + 100)[5:25]
    await put(engine, *changed)
    await put(engine, *(record(f"new{n}", "A fever rule.", supersedes=f"en{n}") for n in range(5)))
    await put(engine, record("new0", "A fever rule."))  # en0 is current again: posted, taken away, posted
    assert await check_scores(engine, asked) > 1000
    await check_postings(engine, merged=False)

    await engine.merge_index()
    assert await check_scores(engine, asked) > 1000
    await check_postings(engine, merged=True)


async def test_deltas_with_removals_are_counted_before_any_merge(engine: AsyncVeraz) -> None:
    """Small runs merge by themselves; here the deltas are kept apart, as between the merges of a large one."""
    await put(engine, *corpus(3))
    async with engine._database.transaction(await engine.identity(), "write") as connection:
        await connection.execute(
            "update veraz.document set superseded_at = now(), superseded_by ="
            " (select document_id from veraz.document where external_id = 'en9') where external_id ~ '^e[ns][0-4]$'"
        )
        await connection.execute("select veraz.refresh_currency(document_id) from veraz.document")
    assert await rows(engine, "select count(*) > 0 from veraz.posting where n < 0") == [(True,)]
    assert await check_scores(engine, questions(3)) > 500
    await check_postings(engine, merged=False)
    async with engine._database.transaction(await engine.identity(), "write") as connection:
        await connection.execute("update veraz.document set superseded_at = null, superseded_by = null")
        await connection.execute("select veraz.refresh_currency(document_id) from veraz.document")
    assert await check_scores(engine, questions(3)) > 1000
    await check_postings(engine, merged=False)
    await engine.merge_index()
    assert await check_scores(engine, questions(3)) > 1000
    await check_postings(engine, merged=True)


async def test_scores_and_order_do_not_depend_on_the_order_of_ingest(server: str, template: str) -> None:
    """Both databases are copies of one template, so that the tenant and with it every id is the same."""
    documents, asked = corpus(4), questions(4, 25)
    seen: list[Any] = []
    for order, parts in ((documents, 1), (shuffled(1, documents), 1), (shuffled(2, documents), 5)):
        with databases.fresh(server, template) as url:
            async with await databases.open_engine(url) as engine:
                for part in range(parts):
                    await put(engine, *order[part::parts])
                await engine.merge_index()
                seen.append(
                    [[(c.chunk_id, c.score) for c in await lexical_arm(engine, q, lang)] for q, lang in asked]
                )
    assert seen[0] == seen[1] == seen[2]


async def test_terms_of_thousands_of_chunks_are_cut_into_full_blocks(engine: AsyncVeraz) -> None:
    words = Words(5, 40)
    await put(engine, *words.records(30, sections=50, sentences=1))
    await engine.merge_index()
    await check_postings(engine, merged=True)
    assert (await rows(engine, "select max(block) from veraz.posting"))[0][0] >= 1
    assert await check_scores(engine, [(words.question(), "en") for _ in range(5)]) > 2000


async def test_a_small_budget_says_so_and_still_scores_exactly(engine: AsyncVeraz) -> None:
    words = Words(6, 40)
    await put(engine, *words.records(30, sections=50, sentences=1))
    await engine.merge_index()
    question = words.question(4)
    exact = {c.chunk_id: c.score for c in await lexical_arm(engine, question, "en")}
    limited = await lexical_arm(engine, question, "en", pool=50, budget=700)
    assert 0 < len(limited) <= 50
    assert all(exact[c.chunk_id] == c.score for c in limited)
    result = await engine.search(question, lang="en", mode="lexical")
    assert result.config["lexical"]["exact"] is True


async def test_a_word_weighs_as_often_as_it_is_said(engine: AsyncVeraz) -> None:
    await put(engine, record("a", "The fever rule."), record("b", "The burn rule."))
    said = sorted(await question_terms(engine, "fever burn fever", "en"))
    assert said == [("en", "burn", 1.0), ("en", "fever", 2.0)]


async def test_writers_and_merges_at_the_same_time_lose_nothing(database: str, engine: AsyncVeraz) -> None:
    writing = asyncio.Event()
    merges = 0

    async def write(number: int) -> None:
        words = Words(number, 200)
        async with await databases.open_engine(database) as own:
            for round_ in range(4):
                await put(own, *words.records(5, prefix=f"w{number}-"), source=f"s{number % 2}")
                if round_ == 2:
                    await own.delete(f"w{number}-0", source=f"s{number % 2}")
            await put(
                own, record(f"w{number}-es", "La fiebre de los niños.", lang="es"), source=f"s{number % 2}"
            )

    async def merge() -> None:
        nonlocal merges
        async with await databases.open_engine(database) as own:
            while not writing.is_set():
                await own.merge_index()
                merges += 1

    async with asyncio.timeout(120):
        merging = [asyncio.create_task(merge()) for _ in range(2)]
        await asyncio.gather(*(write(n) for n in range(4)))
        writing.set()
        await asyncio.gather(*merging)
    assert merges > 10
    asked = [(Words(n, 200).question(), "en") for n in range(4)] + [("fiebre niños", "es")]
    assert await check_scores(engine, asked) > 20
    await check_postings(engine, merged=False)
    await engine.merge_index()
    assert await check_scores(engine, asked) > 20
    await check_postings(engine, merged=True)
