"""Passages of questions, on the database: neighbours of every chunker, and nothing that the reader may not see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from typing import Any

import pytest
from tests.support.corpus import put, record, rows

from veraz.engine import AsyncVeraz
from veraz.errors import UsageError
from veraz.nouns.context import Context
from veraz.nouns.corpus import Access
from veraz.nouns.evidence import Passage
from veraz.nouns.question import Filters

GUIDE = """# Metformin

## Dose

{n} tablets are the usual amount.

Take them with a meal in the evening.

## Kidneys

Halve it below an eGFR of 45. Zanzibar is the word of this section.

## Storage

Keep it dry.
"""
CHUNKERS = [
    "structure",
    "parent-child:size=16,parent=60",
    "sentence-window:sentences=1",
    "fixed:size=12,overlap=6",
]


async def exact(engine: AsyncVeraz, passages: Sequence[Passage]) -> None:
    """Every passage and each chunk's part of it is what the stored revision says there."""
    for passage in passages:
        [(text,)] = await rows(
            engine, "select text from veraz.revision where revision_id = %s", passage.document.revision_id
        )
        assert passage.text == "".join(text[s.start : s.end] for s in passage.spans)
        for chunk in passage.chunks:
            [(spans,)] = await rows(
                engine, "select spans from veraz.chunk where chunk_id = %s", chunk.chunk_id
            )
            assert all(spans[0] <= s.start < s.end <= spans[-1] for s in chunk.spans)
            assert chunk.whole == (list(sum(((s.start, s.end) for s in chunk.spans), ())) == spans)


def all_text(found: Context) -> str:
    return "\n".join(passage.text for passage in found.passages)


@pytest.mark.parametrize("chunker", CHUNKERS)
async def test_a_hit_with_what_stands_around_it(engine: AsyncVeraz, chunker: str) -> None:
    await put(engine, record("guide", GUIDE.format(n="Two"), format="markdown"), chunker=chunker)
    alone = await engine.context("Zanzibar", mode="lexical", neighbours=0, sections=False, k=1)
    around = await engine.context("Zanzibar", mode="lexical", neighbours=50, sections=False, k=1)
    await exact(engine, [*alone.passages, *around.passages])
    assert all_text(alone).count("Zanzibar") == 1
    [passage] = around.passages
    body = passage.text
    for said in ("Two tablets", "with a meal", "Halve it", "Zanzibar is", "Keep it dry."):
        assert body.count(said) == 1
    assert len([c for c in passage.chunks if c.rank == 1]) == 1
    assert around.tokens <= around.budget == 4000


async def test_a_section_comes_whole_and_neighbours_beyond_it_on_request(engine: AsyncVeraz) -> None:
    await put(
        engine,
        record("guide", GUIDE.format(n="Two"), format="markdown"),
        chunker="sentence-window:sentences=0",
    )
    found = await engine.context("Zanzibar", mode="lexical", neighbours=0, sections=True, k=1)
    assert all_text(found) == "Halve it below an eGFR of 45. Zanzibar is the word of this section."
    beyond = await engine.context("Zanzibar", mode="lexical", neighbours=2, sections=True, k=1)
    assert all_text(beyond).startswith("Take them with a meal")


async def test_two_revisions_and_two_documents_are_never_mixed(engine: AsyncVeraz) -> None:
    """On a day of the first revision its own neighbours come along, of today's only today's."""
    first = record("guide", GUIDE.format(n="Two"), format="markdown", revised_at="2023-01-01")
    await put(engine, first)
    await put(engine, {**first, "text": GUIDE.format(n="Nine"), "revised_at": "2024-01-01"})
    await put(
        engine, record("other", GUIDE.format(n="Five").replace("Zanzibar", "Nothing"), format="markdown")
    )
    now = await engine.context("Zanzibar", mode="lexical", neighbours=50, k=1)
    then = await engine.context("Zanzibar", mode="lexical", neighbours=50, k=1, as_of=date(2023, 6, 1))
    for found, own, foreign in ((now, "Nine", ("Two", "Five")), (then, "Two", ("Nine", "Five"))):
        assert f"{own} tablets" in all_text(found)
        assert not any(f"{word} tablets" in all_text(found) for word in foreign)
        await exact(engine, found.passages)
    assert then.as_of == date(2023, 6, 1)


async def test_what_the_reader_may_not_read_stands_around_nothing(engine: AsyncVeraz) -> None:
    """Labels are of documents: between the search and the reading of what stands around, access is taken away."""
    await put(engine, record("open", GUIDE.format(n="Two"), format="markdown"))
    other = GUIDE.format(n="Nine").replace("eGFR of 45", "eGFR of 44")  # equal texts would be one hit
    await put(engine, record("closed", other, format="markdown", acl=["secret"]))
    found = await engine.context("Zanzibar", mode="lexical", neighbours=50)
    assert "Two tablets" in all_text(found)
    assert "Nine" not in all_text(found)
    whole = engine.acting_as(replace(await engine.identity(), roles=("public", "secret")))
    assert "Nine tablets" in all_text(await whole.context("Zanzibar", mode="lexical", neighbours=50))

    given = engine._assembled

    async def taken_away(*arguments: Any) -> Any:
        await engine.set_access("open", source="s", access=Access(("secret",)))
        return await given(*arguments)

    engine._assembled = taken_away  # type: ignore[method-assign]
    late = await engine.context("Zanzibar", mode="lexical", neighbours=50)
    assert late.passages == ()
    assert [(one.document.external_id, one.why) for one in late.left_out] == [("open", "gone")]


async def test_a_filter_on_chunks_holds_for_what_stands_around(engine: AsyncVeraz) -> None:
    await put(engine, record("guide", GUIDE.format(n="Two"), format="markdown"))
    only = Filters(where="heading ~ 'Kidneys' and source = 's'")
    found = await engine.context("Zanzibar", mode="lexical", neighbours=50, filters=only)
    assert all_text(found) == "Halve it below an eGFR of 45. Zanzibar is the word of this section."
    mixed = Filters(where="heading ~ 'Storage' or (heading ~ 'Kidneys' and lang = 'en')")
    found = await engine.context("Zanzibar", mode="lexical", neighbours=50, filters=mixed)
    assert all_text(found).endswith("Keep it dry.")
    assert "tablets" not in all_text(found)


async def test_tokens_are_counted_by_who_will_read(engine: AsyncVeraz) -> None:
    await put(engine, *(record(f"d{n}", f"Zanzibar is number {n} of many. It is far.") for n in range(8)))
    found = await engine.context(
        "Zanzibar", mode="lexical", budget=300, count_tokens=lambda texts: [len(text) for text in texts]
    )
    assert found.tokens == len(found.text) <= 300
    assert len(found.passages) < 8 == len(found.passages) + len(found.left_out)
    assert {one.why for one in found.left_out} == {"budget"}
    trace = await engine.trace(str(found.trace_id))
    assert trace.record["context"]["tokens"] == found.tokens
    assert "number" not in str(trace.record["context"])


@pytest.mark.parametrize(
    "wrong",
    [{"budget": 1}, {"budget": True}, {"neighbours": -1}, {"per_document": 1.5}, {"sections": 1}, {"k": 0}],
)
async def test_an_argument_that_means_nothing(engine: AsyncVeraz, wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=next(iter(wrong))):
        await engine.context("Zanzibar", **wrong)


async def test_a_question_that_finds_nothing(engine: AsyncVeraz) -> None:
    await put(engine, record("d", "Something else."))
    found = await engine.context("Zanzibar", mode="lexical")
    assert (found.passages, found.documents, found.text, found.tokens) == ((), (), "", 0)


# By document


async def test_a_result_by_document_holds_as_many_documents_as_were_asked_for(engine: AsyncVeraz) -> None:
    long = "\n\n".join(f"## Part {n}\n\nZanzibar zanzibar zanzibar, time {n}." for n in range(30))
    await put(engine, record("long", long, format="markdown"))
    await put(
        engine,
        *(record(f"d{n}", f"Zanzibar is number {n} of the many places that are far.") for n in range(6)),
    )
    flat = await engine.search("Zanzibar", mode="lexical", k=5)
    assert {hit.document.external_id for hit in flat.hits} == {"long"}
    found = await engine.search("Zanzibar", mode="lexical", k=5, group="document", per_document=2)
    assert len(found.documents) == 5 == len({one.document.external_id for one in found.documents})
    best = found.documents[0]
    assert (best.document.external_id, best.rank, len(best.hits), best.more) == ("long", 1, 2, 28)
    assert best.score == found.hits[0].score
    assert [one.rank for one in found.documents] == sorted(one.rank for one in found.documents)
    assert sorted(rank for one in found.documents for rank in one.hits) == [hit.rank for hit in found.hits]
    await exact(engine, [p for one in found.documents for p in one.passages])
    every = await engine.search("Zanzibar", mode="lexical", k=50, group="document", per_document=0)
    assert (len(every.documents), len(every.hits)) == (7, 36)
    assert (await engine.search("nowhere", mode="lexical", group="document")).documents == ()
    with pytest.raises(UsageError, match="group is 'source'"):
        await engine.search("Zanzibar", group="source")  # type: ignore[arg-type]


# Of an answer


async def test_an_answer_reads_what_fits_its_budget_and_says_so(engine: AsyncVeraz) -> None:
    await put(engine, *(record(f"d{n}", f"The zanzibar dose of group {n} is {n} mg.") for n in range(1, 9)))
    whole = await engine.ask("What is the zanzibar dose?", mode="lexical")
    assert "budget" not in whole.usage
    small = await engine.ask("What is the zanzibar dose?", mode="lexical", budget=60)
    read = small.usage["evidence"]
    assert 0 < read < 8
    assert small.usage["budget"] == 60 >= small.usage["evidence_tokens"] > 0
    assert f"{8 - read} of 8 hits did not fit the budget of 60 tokens" in small.notes
    best = await engine.search("What is the zanzibar dose?", mode="lexical", k=read)
    assert {c.external_id for c in small.citations} <= {hit.document.external_id for hit in best.hits}
    assert await engine.explain_trace(str(small.trace_id))
    with pytest.raises(UsageError, match="budget"):
        await engine.ask("What is the zanzibar dose?", budget=0)
