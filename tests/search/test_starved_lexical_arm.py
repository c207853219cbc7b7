"""The budget of the lexical arm is spent on postings that the reader may not see: it is repaired, and says so."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any

import pytest
from tests.support import databases
from tests.support.corpus import put, record

from veraz.config import SearchConfig
from veraz.engine import AsyncVeraz
from veraz.nouns.evidence import SearchResult
from veraz.nouns.question import Filters
from veraz.search import arms

SECTIONS = 50


def crowd(number: int) -> dict[str, Any]:
    """Many short passages that all say "metformin", better matches than the one that is looked for."""
    text = "\n\n".join(f"## Part {number}-{n}\n\nMetformin of part{n}." for n in range(SECTIONS))
    return record(f"secret{number}", text, format="markdown", acl=["secret"])


@pytest.fixture(scope="module")
def filled(server: str, template: str) -> Iterator[str]:
    async def fill(url: str) -> None:
        async with await databases.open_engine(url) as engine:
            await put(engine, *(crowd(n) for n in range(50)), source="s")
            words = " ".join(f"word{n}" for n in range(60))
            await put(
                engine,
                record("public", f"A long text that names metformin once. {words}."),
                source="t",
                authority=5,
            )
            await put(engine, record("other", "Something about insulin."), source="t", authority=5)
            await engine.merge_index()

    with databases.fresh(server, template) as url:
        asyncio.run(fill(url))
        yield url


@pytest.fixture
async def frugal(filled: str) -> AsyncIterator[AsyncVeraz]:
    """Reads half of the postings of "metformin"."""
    async with await databases.open_engine(filled, search=SearchConfig(budget=1300)) as engine:
        yield engine


async def insider(engine: AsyncVeraz) -> AsyncVeraz:
    return engine.acting_as(replace(await engine.identity(), roles=("public", "secret")))


def ids(result: SearchResult) -> list[str]:
    return [h.document.external_id for h in result.hits]


async def lexical(engine: AsyncVeraz, question: str = "metformin", **asked: Any) -> SearchResult:
    return await engine.search(question, lang="en", mode="lexical", trace=False, **asked)


async def test_a_reader_without_the_labels_finds_what_it_may_read(frugal: AsyncVeraz) -> None:
    found = await lexical(frugal)
    assert ids(found) == ["public"]
    assert found.shortfall == {"arm": "lexical", "approximate": 0, "exact": 1}
    assert found.config["lexical"]["exact"] is True
    assert found.notes == ()
    assert "repair" in found.timings_ms
    exact = await lexical(frugal, exact=True)
    assert exact.shortfall is None
    assert [(h.chunk_id, h.score, h.lexical) for h in exact.hits] == [
        (h.chunk_id, h.score, h.lexical) for h in found.hits
    ]


@pytest.mark.parametrize(
    "filters",
    [
        Filters(sources=("t",)),
        Filters(authority=5),
        Filters(where="authority > 4"),
        Filters(where="not source = 's' and not heading ~ 'part'"),
    ],
)
@pytest.mark.parametrize("estimated", [True, False])
async def test_a_filter_does_not_starve_it(
    frugal: AsyncVeraz, filters: Filters, estimated: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Documents that a filter leaves are found first where they are few; where nobody estimated that, the arm is repaired."""
    if not estimated:
        monkeypatch.setattr(arms, "SAMPLE", 0)
    found = await lexical(await insider(frugal), filters=filters)
    assert ids(found) == ["public"]
    assert (found.shortfall is None) == estimated
    assert found.config["filters"]["documents_first"] == estimated
    assert found.config["lexical"]["exact"] is True


async def test_where_enough_may_be_read_nothing_is_repeated(frugal: AsyncVeraz) -> None:
    found = await lexical(await insider(frugal), k=10)
    assert len(found.hits) == 10
    assert found.shortfall is None
    assert found.config["lexical"]["exact"] is False
    assert "repair" not in found.timings_ms


async def test_an_empty_arm_says_what_it_searched(frugal: AsyncVeraz) -> None:
    for filters, note in (
        (
            Filters(langs=("fr",)),
            "no word of the question occurs in what may be read and meets the filters (langs)",
        ),
        (None, None),
    ):
        found = await lexical(frugal, filters=filters)
        assert list(found.notes) == ([note] if note else [])
        assert found.config["lexical"]["exact"] is True
    nothing = await lexical(frugal, "zebra")
    assert nothing.notes == ("no word of the question occurs in the corpus that may be read",)
    assert nothing.config["lexical"]["exact"] is True
    both = await frugal.search("zebra", k=1)
    assert both.notes == (f"{nothing.notes[0]}; only the semantic arm found anything",)


async def test_a_source_that_does_not_exist_is_named(frugal: AsyncVeraz) -> None:
    found = await lexical(frugal, filters=Filters(sources=("t", "nihh")))
    assert ids(found) == ["public"]
    assert found.notes == ("no source is called 'nihh'",)


@pytest.mark.parametrize("question", ['"names metformin"', "metformin -insulin", "«metformin once»"])
async def test_marks_are_said_and_starve_nothing(frugal: AsyncVeraz, question: str) -> None:
    found = await lexical(frugal, question)
    assert found.notes[0].startswith("read as: ")
    assert ids(found) == ["public"]


@pytest.mark.parametrize(
    "question",
    [
        "metformin or insulin",
        "metformin OR insulin",
        "well-known metformin",
        "metformin - insulin",
        "5'10\" metformin",
    ],
)
async def test_ordinary_questions_get_no_such_note(frugal: AsyncVeraz, question: str) -> None:
    assert (await lexical(frugal, question)).notes == ()


async def test_an_empty_tenant_is_said_to_be_empty(engine: AsyncVeraz) -> None:
    """Rather than that no word was found: whoever mistyped a tenant's name would look in the wrong place."""
    for mode in ("hybrid", "lexical", "semantic"):
        found = await engine.search("zebra", mode=mode)
        assert (found.hits, found.notes) == ((), ("tenant default holds no documents yet",))
    await put(engine, record("a", "A horse."))
    assert (await engine.search("zebra", mode="lexical")).notes == (
        "no word of the question occurs in the corpus that may be read",
    )
