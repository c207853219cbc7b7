"""Quoted phrases, -exclusions and OR, in both arms: what comes back meets them, and as much comes back as there is."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.support import databases
from tests.support.corpus import put, record, rows

from veraz.config import SearchConfig
from veraz.engine import AsyncVeraz
from veraz.nouns.evidence import SearchResult
from veraz.nouns.question import Filters

VOCABULARY = ("kidney", "failure", "insulin", "metformin", "gout", "uric", "acid", "fever", "stroke", "diet")
SECTIONS, DOCUMENTS = 20, 15


def made() -> list[dict[str, Any]]:
    """300 chunks of six words out of ten, so that every phrase and every exclusion leaves some and takes some."""
    chance = random.Random(3)
    return [
        record(
            f"d{n}",
            "\n\n".join(
                f"## part{n}x{s}\n\n{' '.join(chance.choices(VOCABULARY, k=6))}." for s in range(SECTIONS)
            ),
            format="markdown",
            acl=["public"] if n % 3 else ["secret"],
        )
        for n in range(DOCUMENTS)
    ]


@pytest.fixture(scope="module")
def filled(server: str, template: str) -> Iterator[str]:
    async def fill(url: str) -> None:
        async with await databases.open_engine(url) as engine:
            await put(engine, *made(), source="s")
            await engine.merge_index()

    with databases.fresh(server, template) as url:
        asyncio.run(fill(url))
        yield url


@pytest.fixture
async def reader(filled: str) -> AsyncIterator[AsyncVeraz]:
    async with await databases.open_engine(filled) as engine:
        yield engine


@pytest.fixture
async def frugal(filled: str) -> AsyncIterator[AsyncVeraz]:
    """Both arms stop early: a block of postings, ten vectors."""
    settings = SearchConfig(budget=1, rescored=1, pool=20, ef_search=1, max_scan_tuples=10)
    async with await databases.open_engine(filled, search=settings) as engine:
        yield engine


MATCHING = """
select c.chunk_id::text from veraz.chunk c join veraz.document d using (tenant_id, document_id)
 where to_tsvector('english', c.header || E'\n\n' || c.display) @@ websearch_to_tsquery('english', %s)
   and d.acl = '{public}' and c.is_current
"""


async def matching(engine: AsyncVeraz, question: str) -> set[str]:
    """What PostgreSQL's own reading of the question matches, of what the reader may see."""
    return {row[0] for row in await rows(engine, MATCHING, question)}


def found(result: SearchResult) -> set[str]:
    return {str(hit.chunk_id) for hit in result.hits}


async def ask(engine: AsyncVeraz, question: str, mode: Any, k: int = 500, **asked: Any) -> SearchResult:
    return await engine.search(question, lang="en", mode=mode, k=k, trace=False, **asked)


def questions() -> list[str]:
    """Of marks alone, and of one plain word with exclusions: where every plain word is required, PostgreSQL agrees."""
    chance = random.Random(5)

    made = []
    for _ in range(6):
        a, b, c, d, e, f = chance.sample(VOCABULARY, 6)
        made += [
            f'"{a} {b}"',
            f'"{a} {b}" -{c}',
            f'"{a}" -"{b} {c}"',
            f'"{a} {b}" OR "{c} {d}"',
            f'"{a} {b}" -{c} OR {d} {e} {f}',
            f'"{a}" "{b}"',
        ]
    return made


@pytest.mark.parametrize("mode", ["lexical", "semantic", "hybrid"])
async def test_marks_mean_what_they_mean_to_postgresql(reader: AsyncVeraz, mode: str) -> None:
    compared = 0
    for question in questions():
        wanted = await matching(reader, question)
        assert found(await ask(reader, question, mode, fusion="rrf")) == wanted, question
        compared += len(wanted)
    assert compared > 300


EXCLUSIONS = (
    "metformin -insulin",
    "gout diet -fever",
    'stroke -"uric acid"',
    "metformin -insulin -gout -diet",
)


@pytest.mark.parametrize("question", EXCLUSIONS)
async def test_an_excluded_word_comes_back_by_neither_arm(reader: AsyncVeraz, question: str) -> None:
    words, minus = question.split(" -", 1)
    kept = await matching(reader, f"-{minus}")
    lexical = await ask(reader, question, "lexical")
    assert found(lexical) == kept & await matching(reader, words.replace(" ", " or "))
    assert found(await ask(reader, question, "semantic")) <= kept
    hybrid = await ask(reader, question, "hybrid")
    assert found(hybrid) <= kept
    assert any(h.lexical is None for h in hybrid.hits) or len(lexical.hits) == len(kept)


@pytest.mark.parametrize("question", [*EXCLUSIONS, '"gout diet"', '"kidney failure" -stroke OR "uric acid"'])
@pytest.mark.parametrize("k", [5, 20])
async def test_budget_and_shortfall_count_what_meets_the_marks(
    frugal: AsyncVeraz, question: str, k: int
) -> None:
    """An arm that stops early must not stop at what the marks then take away."""
    lexical = await ask(frugal, question, "lexical")
    plain = question.split(" -")[0].replace('"', "")
    matched = await matching(frugal, question)
    if '"' not in question.split(" -")[0]:
        matched = await matching(frugal, plain.replace(" ", " or ")) & await matching(
            frugal, "-" + question.split(" -", 1)[1]
        )
    assert matched
    for mode in ("lexical", "semantic", "hybrid"):
        result = await ask(frugal, question, mode, k=k)
        assert len(result.hits) >= min(k, len(matched)), mode
    assert len(lexical.hits) >= min(20, len(matched))


async def test_a_day_is_searched_under_the_same_marks(reader: AsyncVeraz) -> None:
    day = datetime.now(UTC).date()
    for question in ("metformin -insulin", '"gout diet"', '"kidney failure" OR "uric acid" -fever'):
        for mode in ("lexical", "semantic"):
            today = await ask(reader, question, mode)
            assert found(today)
            assert found(await ask(reader, question, mode, as_of=day)) == found(today), (question, mode)


async def test_filters_and_rights_hold_under_marks(reader: AsyncVeraz) -> None:
    assert found(
        await ask(reader, '"gout diet"', "hybrid", filters=Filters(sources=("s",)))
    ) == await matching(reader, '"gout diet"')
    assert found(await ask(reader, '"gout diet"', "hybrid", filters=Filters(authority=5))) == set()


async def test_what_the_marks_were_taken_for_is_said(reader: AsyncVeraz) -> None:
    result = await ask(reader, 'metformin "uric acid" -insulin', "hybrid")
    assert (
        result.notes[0]
        == "read as: only passages with “uric acid”, word for word; no passages with “insulin”"
    )
    assert result.question == 'metformin "uric acid" -insulin'
    nothing = await ask(reader, '"acid uric kidney stroke fever gout"', "hybrid")
    assert nothing.hits == ()
    assert "without the marks" in nothing.notes[1]
    assert (await ask(reader, "drug-drug metformin, or insulin?", "hybrid")).notes == ()


async def test_quotations_of_stop_words_demand_nothing(reader: AsyncVeraz) -> None:
    for question in ('"to be or not to be" gout', 'gout -"of the"'):
        assert found(await ask(reader, question, "lexical")) == await matching(reader, "gout"), question


async def test_an_answer_does_not_miss_what_its_question_excludes(eager_engine: AsyncVeraz) -> None:
    await put(
        eager_engine,
        record("a", "Metformin lowers the glucose of adults."),
        record("b", "Metformin lowers the glucose of adults with insulin."),
    )
    answer = await eager_engine.ask("What does metformin lower -insulin", lang="en")
    assert [c.text for c in answer.claims] == ["Metformin lowers the glucose of adults."]


PHRASES = {
    '"presión arterial"': {"es1", "es2"},
    '"presion arterial"': {"es1", "es2"},
    '"arterial presión"': set(),
    '"fault E-4021"': {"code", "joined", "apart"},
    '"fault E4021"': {"code", "joined", "apart"},
    '"E-4021"': {"code", "joined", "apart"},
    '"2,5 mg"': {"comma", "point", "unit"},
    '"2.5 mg"': {"comma", "point", "unit"},
    '"2.5mg"': {"comma", "point", "unit"},
    '"drug-drug interactions"': {"hyphen", "blank"},
    '"drug drug interaction"': {"hyphen", "blank"},
    '"treatment of pain"': {"stop"},
    '"treatment pain"': set(),
}


async def test_a_quotation_is_found_in_every_spelling(engine: AsyncVeraz) -> None:
    texts = {
        "code": "See fault E-4021 now.",
        "joined": "See fault E4021 now.",
        "apart": "See fault E 4021 now.",
        "other": "See fault E-4102 now, and code 4021.",
        "comma": "Give 2,5 mg twice.",
        "point": "Give 2.5 mg twice.",
        "unit": "Give 2.5mg twice.",
        "whole": "Give 2 mg, then 5 mg.",
        "hyphen": "Known drug-drug interactions.",
        "blank": "Known drug drug interactions.",
        "stop": "The treatment of pain.",
    }
    spanish = {
        "es1": "La presión arterial alta.",
        "es2": "La presion arterial baja.",
        "es3": "Presión de la arteria.",
    }
    await put(engine, *(record(k, v, title="t") for k, v in texts.items()))
    await put(engine, *(record(k, v, title="t", lang="es") for k, v in spanish.items()))
    for question, wanted in PHRASES.items():
        lang = "es" if "arterial" in question else "en"
        result = await engine.search(question, lang=lang, mode="lexical", k=50, trace=False)
        assert {h.document.external_id for h in result.hits} == wanted, question
